"""What the learned rules are worth, beside the tables: python benchmarks/learned.py grid|calibration|estimated|uniform.

Writes docs/learned/<name>.json, a row after each measurement; rows that are there are not measured again.
"""

import json
import math
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import veritally as vt
from veritally.experiments.calibration import Calibration, calibrate

RESULTS = Path(__file__).parents[1] / "docs" / "learned"
TABLES = ("high-variance", "low-variance", "count-noise", "count-replacement")
Row = dict[str, Any]
_PARTS = 20  # of a measurement, which processes share

# Conditions that nobody trained on: other numbers of voters and alternatives, other counts, other noise.
GRID: dict[str, Row] = {
    "two": {"alternatives": 2, "voters": 15, "experience": "uniform:1:9", "sigma": 2.0},
    "four": {"alternatives": 4, "voters": 40, "experience": "stratified:1:200", "sigma": 10.0},
    "specialists": {"alternatives": 6, "voters": 7, "experience": "specialists:2:40:1", "sigma": 4.0},
    "fifteen": {"alternatives": 15, "voters": 20, "experience": "uniform:1:20", "sigma": 3.0},
    "twenty-five": {"alternatives": 25, "voters": 12, "experience": "uniform:1:1000", "sigma": 12.0},
    "forty": {"alternatives": 40, "voters": 30, "experience": "constant:10", "sigma": 6.0},
    "single sightings": {"alternatives": 8, "voters": 150, "experience": "constant:1", "sigma": 3.0},
    "six hundred": {"alternatives": 5, "voters": 600, "experience": "uniform:1:49", "sigma": 40.0},
    "zeros": {"alternatives": 10, "voters": 25, "experience": "specialists:4:20:0", "sigma": 5.0},
    "favourites": {"alternatives": 12, "voters": 50, "experience": "uniform:1:49", "sigma": 4.0, "votes": "top"},
    "laplace": {"alternatives": 10, "voters": 20, "experience": "uniform:1:6", "sigma": 3.0, "noise": "laplace"},
    "student": {"alternatives": 7, "voters": 60, "experience": "uniform:1:4", "sigma": 5.0, "noise": "student:4"},
    "percentage": {
        "alternatives": 9, "voters": 60, "experience": "uniform:1:2000", "sigma": 100.0, "count_error": "percentage:0.8"
    },
    "replacement": {
        "alternatives": 7, "voters": 40, "experience": "stratified:1:300", "sigma": 15.0,
        "count_error": "replacement:0.2",
    },
}  # fmt: skip


def grid() -> Iterator[Row]:
    """Yield where to compare with the posterior."""
    for name in GRID:
        yield {"scenario": name, "instances": 10_000}


def _scenario(name: str) -> vt.Scenario:
    return vt.scenario(name) if name in TABLES else vt.Scenario(**GRID[name])


def _rule(name: str, rule: str) -> str:
    """Give a rule that takes any votes those that the network sees."""
    return rule if _scenario(name).votes == "top" else rule.replace("posterior", "posterior:votes=rankings", 1)


def _compared(row: Row, rules: tuple[str, str]) -> Row:
    """Return both regrets, their ratio, and the paired difference."""
    given = _scenario(row["scenario"])
    base, other = (_rule(row["scenario"], rule) for rule in rules)
    options = {key: row[key] for key in ("voters", "instances", "backend") if key in row}
    rules = [base, other, "borda"][: 2 if given.votes == "top" else 3]
    found = vt.compare(given, rules=rules, baseline=base, workers=None if "backend" not in row else 1, **options)
    rows = {entry["rule"]: entry for entry in found.rows()}
    result = {"posterior": rows[base]["regret"], "learned": rows[other]["regret"]}
    result |= {"ratio": rows[other]["regret"] / rows[base]["regret"], "difference": rows[other]["difference"]}
    result |= {"se": rows[other]["difference_se"], "ratio_se": rows[other]["difference_se"] / rows[base]["regret"]}
    return result | ({"borda": rows["borda"]["regret"]} if "borda" in rows else {})


def estimated() -> Iterator[Row]:
    """Yield where to compare the network that is not told σ and τ with the posterior that is."""
    for name in GRID:
        yield {"scenario": name, "instances": 4000}


def calibration() -> Iterator[Row]:
    """Yield what to calibrate: P(best), all alternatives counted."""
    for name in (*TABLES, *GRID):
        for rule in ("learned-universal", "learned-universal:sigma=estimated"):
            yield {"scenario": name, "rule": rule, "instances": 20_000}


def _calibrated(row: Row) -> Row:
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = sum(pool.map(partial(_part, row), range(_PARTS)), start=Calibration.nothing())
    return {"error": found.error, "chance": found.chance, "rows": list(found.rows())}


def _part(row: Row, seed: int) -> Calibration:
    return calibrate(_scenario(row["scenario"]), row["rule"], instances=row["instances"] // _PARTS, seed=seed)


WHAT: dict[str, tuple[Callable[[], Iterator[Row]], Callable[[Row], Row]]] = {
    "grid": (grid, partial(_compared, rules=("posterior", "learned-universal"))),
    "estimated": (estimated, partial(_compared, rules=("posterior", "learned-universal:sigma=estimated"))),
    "calibration": (calibration, _calibrated),
}


def main(name: str) -> None:
    """Measure what is not there yet."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    done = json.loads(path.read_text()) if path.exists() else []
    plan, measure = WHAT[name]
    for row in plan():
        if any(all(other.get(key) == value for key, value in row.items()) for other in done):
            continue
        done.append(row | measure(row))
        path.write_text(json.dumps(done, indent=1) + "\n")
        print({key: round(value, 5) if isinstance(value, float) and math.isfinite(value) else value
               for key, value in done[-1].items() if key != "rows"}, flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
