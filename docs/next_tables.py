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


def plans() -> Iterable[str]:
    """Table what plans of next_looks itself need, in rounds, beside the loop of the replays and balanced looks."""
    names = {"plan": "`next_looks` in rounds of 10", "next": "by worth", "balanced": "balanced"}
    yield "| condition | policy | mean regret | less than balanced | looks to 0.2 | of those of balanced |"
    yield "|---|---|---:|---:|---:|---:|"
    for condition, row in _rows().items():
        for name, own in row.get("ways", {}).items():
            less = "" if name == "balanced" else f"{-own['less']:.3f} ± {own['less_se']:.3f}"
            share = "" if name == "balanced" else f"{own['share']:.0%} ± {own['share_se']:.0%}"
            about = f"{condition.removeprefix('plans, ')} | {names[name]} | {own['area']:.3f}"
            yield f"| {about} | {less} | {own['looks']:,} | {share} |"


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "areas": areas,
    "needed": needed,
    "plans": plans,
    "sureness": sureness,
}
