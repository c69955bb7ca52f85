"""The tables of the page on composing a group, from what ``benchmarks/composition.py`` measured."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from veritally.planning.compositions import BALLOTS
from veritally.planning.dealing import Circumstances, least_regret
from veritally.planning.information import worth_of_a_look

_FOLDER = Path(__file__).parent / "composition"
Row = dict[str, Any]


def _settings(part: str) -> list[Row]:
    return json.loads((_FOLDER / f"{part}.json").read_text(encoding="utf-8"))


def _regret(row: Row, name: str = "regret", sign: str = "") -> str:
    """Write a figure with its standard error; exact ones have none."""
    error = row["se" if name == "regret" else f"{name}_se"]
    return f"{row[name]:{sign}.4f}" if error < 1e-9 else f"{row[name]:{sign}.4f} ± {error:.4f}"


def _by_voters(part: str, symbol: str, letter: str) -> Iterator[str]:
    """Regret by the number of generalists."""
    settings = _settings(part)
    numbers = list(dict.fromkeys(row["voters"] for row in settings[0]["rows"]))
    yield f"| {letter} | votes | {' | '.join(map(str, numbers))} |"
    yield f"|---:|---|{'---:|' * len(numbers)}"
    for setting in settings:
        for votes in BALLOTS:
            own = [_regret(row) for row in setting["rows"] if row["votes"] == votes]
            yield f"| {setting[symbol]:g} | {votes} | {' | '.join(own)} |"


def voters() -> Iterator[str]:
    """Regret by the number of voters, who differ only in what they see."""
    return _by_voters("voters", "sigma", "σ")


def errors() -> Iterator[str]:
    """Regret by the number of voters, who have errors of their own."""
    return _by_voters("errors", "omega", "ω")


def limit() -> Iterator[str]:
    """Regret of many voters, and what the formula says."""
    yield "| voters | looks of each | σ | votes | regret | formula |"
    yield "|---:|---:|---:|---|---:|---:|"
    for setting in (*_settings("voters"), *_settings("many")):
        for row in setting["rows"]:
            if row["voters"] >= 100 and row["votes"] != "values":
                worth = worth_of_a_look(row["votes"], 10, 10)
                said = least_regret(Circumstances(10, setting["sigma"]), worth * row["looks"] / 10)
                size = f"{row['voters']:,} | {row['looks'] // row['voters']}"
                yield f"| {size} | {setting['sigma']:.3g} | {row['votes']} | {_regret(row)} | {said:.4f} |"


def worth() -> Iterator[str]:
    """Table what a look is worth, by how many alternatives a ballot is about."""
    known = range(2, 11)
    yield f"| votes | {' | '.join(map(str, known))} |"
    yield f"|---|{'---:|' * len(known)}"
    for votes in ("rankings", "favourites"):
        yield f"| {votes} | {' | '.join(f'{worth_of_a_look(votes, k, 10):.3f}' for k in known)} |"


def experience() -> Iterator[str]:
    """Table what specialised experience costs, against equal counts."""
    settings = _settings("experience")
    titles = [f"σ = {setting['sigma']:g}" for setting in settings]
    yield f"| votes | experience | {' | '.join(titles)} |"
    yield f"|---|---|{'---:|' * len(settings)}"
    for same in zip(*(setting["rows"] for setting in settings), strict=True):
        if same[0]["votes"] == "values":
            continue
        first = same[0]["known"] is None
        own = [_regret(row) if first else _regret(row, "difference", "+") for row in same]
        yield f"| {same[0]['votes']} | {same[0]['experience']} | {' | '.join(own)} |"


def shares() -> Iterator[str]:
    """Regret by how unequal counts on a ballot are."""
    two, ten = _settings("shares")
    yield "| looks at the others | n = 2 | formula | n = 10, rankings | n = 10, favourites |"
    yield "|---:|---:|---:|---:|---:|"
    of_two = {row["elsewhere"]: row for row in two["rows"] if row["votes"] == "rankings"}
    for row in ten["rows"]:
        if row["votes"] != "rankings":
            continue
        share = row["elsewhere"]
        favourites = next(own for own in ten["rows"] if own["votes"] == "favourites" and own["elsewhere"] == share)
        looks = two["looks"] / 2 * worth_of_a_look("rankings", 2, 2) * 4 * share * (1 - share)
        said = f"{least_regret(Circumstances(2, two['sigma']), looks):.4f}" if share else ""
        pair = _regret(of_two[share]) if share else ""
        yield f"| {share:.0%} | {pair} | {said} | {_regret(row)} | {_regret(favourites)} |"


def clones() -> Iterator[str]:
    """How many independent voters families of clones are worth."""
    settings = _settings("clones")
    own = settings[0]["sigma"] ** 2 / settings[0]["looks_each"]
    rho = settings[0]["omega"] ** 2 / (own + settings[0]["omega"] ** 2)
    found = {setting["votes"]: _equivalents(setting["rows"]) for setting in settings}
    yield "| clones in each of four families | m/(1 + (m − 1)ρ) | formula | values | rankings |"
    yield "|---:|---:|---:|---:|---:|"
    for voters in found["values"]:
        size = voters // 4
        each = size / (1 + (size - 1) * rho)
        yield f"| {size} | {each:.2f} | {4 * each:.2f} | {found['values'][voters]} | {found['rankings'][voters]} |"


def _equivalents(rows: list[Row]) -> dict[int, str]:
    """Return how many independent voters have the same regret as so many clones, from a curve that falls."""
    apart = [row for row in rows if row["families"] is None]
    x, y = (np.log([row[name] for row in apart]) for name in ("voters", "regret"))
    errors, found = [row["se"] for row in apart], {}
    for row in rows:
        if row["families"] is None:
            continue
        at = float(np.interp(-math.log(row["regret"]), -y, x))
        k = int(np.clip(np.searchsorted(x, at), 1, len(x) - 1))
        slope = (y[k] - y[k - 1]) / (x[k] - x[k - 1])
        error = math.hypot(row["se"], float(np.interp(at, x, errors))) / row["regret"] / abs(slope)
        found[row["voters"]] = f"{math.exp(at):.2f} ± {math.exp(at) * error:.2f}"
    return found


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "voters": voters,
    "limit": limit,
    "errors": errors,
    "worth": worth,
    "experience": experience,
    "shares": shares,
    "clones": clones,
}
"""The tables by the names that mark them on the page."""
