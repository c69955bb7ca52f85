"""How a group should be composed, measured: python benchmarks/composition.py [PART...] writes docs/composition.

Parts are voters, many, errors, experience, shares and clones. Each has a file PART.json, written after each setting;
settings that are there are not measured again. Then come the pictures; python docs/pages.py fills the page.
"""

import argparse
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from rows import Row, measure_rows, read_rows

from veritally.planning.compositions import BALLOTS, Composition
from veritally.planning.dealing import BLOCK, Circumstances, Dealing, Group
from veritally.plots import save_curves

FOLDER = Path(__file__).parents[1] / "docs" / "composition"
_VOTERS = (1, 2, 3, 5, 10, 20, 50, 100)
_SIGMAS = (3.0, 10.0, 31.6)
_SPECIALISTS = ((2, 0.0), (3, 0.0), (5, 0.0), (2, 0.5), (3, 0.5))  # how many are known, which share goes elsewhere
_SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
_CLONES, _INDEPENDENT, _FAMILIES = (1, 2, 3, 5, 10), (4, 5, 6, 7, 8, 10), 4
_LOOKS = 1000


def plan(part: str) -> Iterator[Row]:
    """Yield the settings of a part."""
    match part:
        case "voters":
            for sigma in _SIGMAS:
                yield {"sigma": sigma, "omega": 0.0, "instances": 2000}
        case "many":  # as with σ = 10 and 1,000 looks, but with ten times as many noisier looks
            yield {"sigma": math.sqrt(1000), "voters": 1000, "looks": 10000, "instances": 1000}
        case "errors":
            for omega in (0.3, 1.0):
                yield {"sigma": 10.0, "omega": omega, "instances": 2000}
        case "experience":
            for sigma in _SIGMAS:
                yield {"sigma": sigma, "voters": 50, "instances": 2000}
        case "shares":
            yield {
                "alternatives": 2,
                "known": 1,
                "sigma": math.sqrt(1000),
                "looks": 2000,
                "voters": 50,
                "instances": 4000,
            }
            yield {
                "alternatives": 10,
                "known": 5,
                "sigma": math.sqrt(500),
                "looks": 5000,
                "voters": 50,
                "instances": 2000,
            }
        case "clones":
            for votes, instances in (("rankings", 4000), ("values", 20_000)):
                yield {"sigma": 3.0, "omega": 1.0, "looks_each": 9, "votes": votes, "instances": instances}


def measure(part: str, row: Row) -> Row:
    """Measure the groups of a setting, all on the same decisions."""
    match part:
        case "voters" | "errors":
            tried = [(Composition(m, votes), _LOOKS) for votes in BALLOTS for m in _VOTERS]
        case "many":
            tried = [(Composition(row["voters"], votes), row["looks"]) for votes in ("rankings", "favourites")]
        case "experience":
            tried = [(one, _LOOKS) for votes in BALLOTS for one in _kinds(row["voters"], votes)]
        case "shares":
            tried = [
                (Composition(row["voters"], votes, row["known"], elsewhere=share), row["looks"])
                for votes in ("rankings", "favourites")
                for share in _SHARES
                if share or row["known"] > 1  # who sees one alternative has nothing to compare
            ]
        case _:
            each = row["looks_each"] * 10
            clones = [Composition(_FAMILIES * size, row["votes"], families=_FAMILIES) for size in _CLONES]
            apart = [Composition(m, row["votes"]) for m in _INDEPENDENT]
            tried = [(one, each * one.voters) for one in (*clones, *apart)]
    n = row.get("alternatives", 10)
    groups = [Group(one, counts) for one, looks in tried if (counts := one.counts(n, looks)) is not None]
    dealing = Dealing(Circumstances(n, row["sigma"], omega=row.get("omega", 0.0)), groups, seed=1)
    return {"rows": list(_measured(dealing, row["instances"]))}


def _kinds(voters: int, votes: str) -> Iterator[Composition]:
    yield Composition(voters, votes)
    for known, elsewhere in _SPECIALISTS:
        yield Composition(voters, votes, known, elsewhere=elsewhere)
    for known in (2, 3, 5):
        yield Composition(voters, votes, known, specialists=0.5)


def _measured(dealing: Dealing, instances: int) -> Iterable[Row]:
    """Yield the regret of each group, and its paired difference to the first group with the same votes."""
    first: dict[str, np.ndarray] = {}
    for number, group in enumerate(dealing.groups):
        own = np.concat([dealing.regrets(number, block) for block in range(instances // BLOCK)])
        difference = own - first.setdefault(group.composition.votes, own)
        yield {
            **group.composition.to_dict(),
            "looks": group.looks,
            "regret": float(own.mean()),
            "se": _error(own),
            "difference": float(difference.mean()),
            "difference_se": _error(difference),
        }


def _error(numbers: np.ndarray) -> float:
    return float(numbers.std(ddof=1) / math.sqrt(len(numbers)))


def draw() -> None:
    """Draw regret against the number of voters, without and with errors of their own."""
    for part, symbol in (("voters", "sigma"), ("errors", "omega")):
        panels = {
            f"{'σ' if symbol == 'sigma' else 'ω'} = {setting[symbol]:g}": {
                votes: [(row["voters"], row["regret"], row["se"]) for row in setting["rows"] if row["votes"] == votes]
                for votes in BALLOTS
            }
            for setting in read_rows(FOLDER / f"{part}.json")
        }
        save_curves(panels, FOLDER / f"{part}.svg", "voters", "regret")


if __name__ == "__main__":
    parts = ("voters", "many", "errors", "experience", "shares", "clones")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=parts)
    for part in parser.parse_args().parts:
        measure_rows(FOLDER / f"{part}.json", plan(part), lambda row, part=part: measure(part, row))
    if all((FOLDER / f"{part}.json").exists() for part in ("voters", "errors")):
        draw()
