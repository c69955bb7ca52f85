"""Tables of docs/next/README.md, from what ``benchmarks/next_looks.py`` measured."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent / "next" / "results.json"
_NAMES = {
    "next": "by worth",
    "top-two": "top-two Thompson",
    "rejects": "successive rejects",
    "balanced": "balanced",
    "random": "random",
    "uncertainty": "uncertainty",
}


def _rows() -> dict[str, dict[str, Any]]:
    return json.loads(_RESULTS.read_text(encoding="utf-8"))


def areas() -> Iterable[str]:
    """Table the mean regret over all looks."""
    yield f"| condition | {' | '.join(_NAMES.values())} | best other | by worth − best other |"
    yield f"|---|{'---:|' * len(_NAMES)}---|---:|"
    for condition, row in _rows().items():
        if "policies" in row:
            cells = [f"{row['policies'][name]['area']:.3f}" for name in _NAMES]
            more = f"{row['more']:+.4f} ± {row['more_se']:.4f}"
            yield f"| {condition} | {' | '.join(cells)} | {_NAMES[row['best']]} | {more} |"


def needed() -> Iterable[str]:
    """Table the looks needed to come down to a regret of 0.2."""
    yield f"| condition | {' | '.join(_NAMES.values())} | by worth / balanced |"
    yield f"|---|{'---:|' * len(_NAMES)}---:|"
    for condition, row in _rows().items():
        if "low variance" in condition:
            looks = [row["policies"][name]["looks"] for name in _NAMES]
            cells = [f"over {row['budget']:,}" if x is None else f"{x:,}" for x in looks]
            yield f"| {condition} | {' | '.join(cells)} | {row['share']:.0%} ± {row['share_se']:.0%} |"


def sureness() -> Iterable[str]:
    """Table what is said and what is right where looking stops."""
    yield "| looks | stop at | stopped, of 1,000 | looks, median | said | right | said − right |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for condition, row in _rows().items():
        for own in row.get("levels", []):
            figures = [f"{own[name]:.3f} ± {own[f'{name}_se']:.3f}" for name in ("said", "right")]
            gap = f"{own['gap']:+.3f} ± {own['gap_se']:.3f}"
            about = f"{condition.removeprefix('sureness of ')} | {own['level']:g} | {own['stopped']}"
            yield f"| {about} | {own['looks']:,.0f} | {' | '.join(figures)} | {gap} |"


TABLES: dict[str, Callable[[], Iterable[str]]] = {"areas": areas, "needed": needed, "sureness": sureness}
