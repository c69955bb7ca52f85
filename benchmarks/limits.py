"""Up to which sizes rules are practical, and how sure favourites among many are.

``python benchmarks/limits.py sizes`` measures CPU seconds of one decision, one thread, into docs/limits/sizes.json;
``python benchmarks/limits.py favourites`` measures how often winners are right beside how often they are said to be,
into docs/limits/favourites.json. Rows that are there are kept. ``python docs/pages.py`` makes tables of them.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from rows import Row, measure_rows

import veritally as vt

FOLDER = Path(__file__).parents[1] / "docs" / "limits"
RULES = {
    "borda": {},
    "pairwise": {},
    "learned-universal": {},
    "score": {"sigma": 10.0},
    "mle": {"sigma": 10.0},
    "posterior, σ and τ given": {"sigma": 10.0, "tau": 1.0},
    "posterior": {},
}
SIZES = [(10, 10), (100, 10), (1_000, 10), (10_000, 10), (100_000, 10), (30, 30), (10, 50), (10, 100), (10, 200)]
LONG = 60.0  # seconds; where a smaller size took as long, a larger one is left out
FAVOURITES = [(12, 60), (40, 30), (60, 40), (100, 50), (300, 30), (400, 10)]
COUNTS = ("uniform:1:1", "uniform:1:100")


def sizes() -> None:
    for rule in RULES:
        plan = [{"rule": rule, "voters": m, "alternatives": n} for m, n in SIZES]
        measure_rows(FOLDER / "sizes.json", plan, partial(_seconds, {}))


def _seconds(took: dict[tuple[int, int], float], row: Row) -> Row:
    """Decide once; ``took`` holds what smaller sizes took."""
    m, n = size = row["voters"], row["alternatives"]
    before = max((seconds for other, seconds in took.items() if other[0] <= m and other[1] <= n), default=0.0)
    if before > LONG:
        took[size] = before
        return {"seconds": None}
    scenario = vt.Scenario(voters=m, alternatives=n, sigma=10, votes="rankings")
    profile = vt.simulate(scenario, instances=1, seed=1).profile.decision(0)
    start = time.process_time()
    _ = vt.decide(profile, row["rule"].partition(",")[0], tie_break="first", **RULES[row["rule"]]).p_best
    took[size] = time.process_time() - start
    return {"seconds": took[size]}


def favourites(workers: int) -> None:
    with ProcessPoolExecutor(workers) as pool:

        def measure(row: Row) -> Row:
            found = np.array(list(pool.map(_sure, [row] * row["instances"], range(row["instances"]))))
            said, right, expected, regret = found.mean(axis=0)
            errors = found.std(axis=0, ddof=1) / len(found) ** 0.5
            return {
                "said": said,
                "right": right,
                "right_se": errors[1],
                "expected_regret": expected,
                "regret": regret,
                "regret_se": errors[3],
            }

        plan = [
            {"voters": m, "alternatives": n, "experience": counts, "sigma": 1.0, "instances": 200}
            for counts in COUNTS
            for m, n in FAVOURITES
        ]
        measure_rows(FOLDER / "favourites.json", plan, measure)


def _sure(row: Row, seed: int) -> tuple[float, float, float, float]:
    """What is said of the winner of one decision, and whether it is so."""
    scenario = vt.Scenario(
        voters=row["voters"],
        alternatives=row["alternatives"],
        sigma=row["sigma"],
        experience=row["experience"],
        votes="top",
    )
    trials = vt.simulate(scenario, instances=1, seed=seed)
    truth = trials.truth[0]
    outcome = vt.decide(trials.profile.decision(0), sigma=row["sigma"], tau=1.0, tie_break="first")
    winner = outcome.alternatives.index(outcome.winner)
    lost = float(truth.max() - truth[outcome.winner])
    return float(outcome.p_best[winner]), float(lost == 0), float(outcome.expected_regret[winner]), lost


if __name__ == "__main__":
    warnings.simplefilter("ignore", vt.InputWarning)
    sizes() if sys.argv[1:] == ["sizes"] else favourites(os.cpu_count() or 1)
