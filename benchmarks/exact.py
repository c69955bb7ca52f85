"""What the exact posterior is worth, beside its regret: python benchmarks/exact.py calibration|estimated|mean.

Writes docs/exact/<name>.json, a row after each measurement; rows that are there are not measured again.
"""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from calibration import Calibration, calibrate
from rows import Row, measure_rows

import veritally as vt

RESULTS = Path(__file__).parents[1] / "docs" / "exact"
TABLES = ("high-variance", "low-variance", "count-noise", "count-replacement")
_PARTS, _EACH = 100, 200  # decisions to calibrate on, in parts that processes share


def calibration() -> Iterator[Row]:
    """Yield what to calibrate: P(best) of 10 voters on 10 alternatives."""
    for table in TABLES:
        yield {"scenario": table, "rule": "posterior", "votes": "rankings"}
    yield {"scenario": "low-variance", "rule": "posterior", "votes": "rankings", "noise": "student:3"}
    for table in TABLES[:2]:
        yield {"scenario": table, "rule": "posterior", "votes": "top"}
    for table in TABLES:
        yield {"scenario": table, "rule": "posterior:sigma=estimated", "votes": "rankings"}


def calibrated(row: Row) -> Row:
    """Return the expected calibration error, what chance alone would give, and the bins."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = sum(pool.map(partial(_part, row), range(_PARTS)), start=Calibration.nothing())
    return {"instances": _PARTS * _EACH, "error": found.error, "chance": found.chance, "rows": list(found.rows())}


def _part(row: Row, seed: int) -> Calibration:
    options = dict(row)
    return calibrate(options.pop("scenario"), options.pop("rule"), voters=10, instances=_EACH, seed=seed, **options)


def estimated() -> Iterator[Row]:
    """Yield where to compare the posterior that is told σ with one that is not; many voters need an accelerator."""
    for table, number in zip(TABLES, (4000, 3000, 1500, 150), strict=True):
        yield {"scenario": table, "voters": 10, "instances": number}
    for voters, number in ((30, 8000), (100, 6000), (300, 3000)):
        for table in TABLES:
            yield {"scenario": table, "voters": voters, "instances": number, "backend": "jax"}


def mean() -> Iterator[Row]:
    """Yield where to compare the mean with the mode."""
    for voters in (3, 10):
        for table, number in zip(TABLES, (3000, 3000, 500, 300), strict=True):
            yield {"scenario": table, "voters": voters, "instances": number}


def compared(other: str) -> Callable[[Row], Row]:
    """Return the regrets of the posterior and of another one, and their paired difference."""

    def measure(row: Row) -> Row:
        rules = ["posterior:votes=rankings", f"posterior:votes=rankings:{other}"]
        options = dict(row)
        found = vt.compare(options.pop("scenario"), rules=rules, baseline=rules[0], **options)
        first, second = ({entry["rule"]: entry for entry in found.rows()}[rule] for rule in rules)
        return {
            "regret": first["regret"],
            "other": second["regret"],
            "difference": second["difference"],
            "se": second["difference_se"],
        }

    return measure


WHAT: dict[str, tuple[Callable[[], Iterator[Row]], Callable[[Row], Row]]] = {
    "calibration": (calibration, calibrated),
    "estimated": (estimated, compared("sigma=estimated")),
    "mean": (mean, compared("estimate=mean")),
}


def main(name: str) -> None:
    """Measure what is not there yet."""
    plan, measure = WHAT[name]
    measure_rows(RESULTS / f"{name}.json", plan(), measure)


if __name__ == "__main__":
    main(sys.argv[1])
