"""What one voter who claims a million looks does to a decision: python benchmarks/claims.py.

Nine honest voters rank five alternatives (truths N(0, 1), σ = 5, counts 1 to 49), and one more claims 10^6 looks at
each: honest (a ranking of means with that noise), random, or reversed; or nobody does. Writes docs/panel/claims.json, a
row after each measurement; rows that are there are kept. ``python docs/pages.py`` makes a table of them.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import Row, measure_rows

import veritally as vt

RESULTS = Path(__file__).parents[1] / "docs" / "panel" / "claims.json"
VOTERS, ALTERNATIVES, SIGMA, MOST, CLAIM = 9, 5, 5.0, 49, 10.0**6
DECISIONS, AT_ONCE = 2000, 200
ASKED = {
    "borda": ("borda", {}),
    "posterior": ("posterior", {}),
    "posterior, σ and τ given": ("posterior", {"sigma": SIGMA, "tau": 1.0}),
    "posterior, σ and τ given, cap none": ("posterior", {"sigma": SIGMA, "tau": 1.0, "cap": "none"}),
    "posterior, doubt 0.02": ("posterior", {"doubt": 0.02}),
    "posterior, doubt 0.02, cap none": ("posterior", {"doubt": 0.02, "cap": "none"}),
}


def plan() -> Iterator[Row]:
    """Yield what to measure; doubt only where there is such a parameter."""
    known = next(info for info in vt.rules() if info.name == "posterior").parameters
    for asked, (_, given) in ASKED.items():
        for claimant in ("nobody", "honest", "random", "reversed"):
            if set(given) - {"cap"} <= set(known) and (claimant != "nobody" or "cap" not in given):
                command = "python benchmarks/claims.py"
                yield {"claimant": claimant, "asked": asked, "instances": DECISIONS, "command": command}


def drawn(claimant: str) -> tuple[np.ndarray, vt.Profile]:
    """Return truths and votes, the same truths and honest votes whoever claims."""
    random = np.random.default_rng(19)
    truth = random.standard_normal((DECISIONS, ALTERNATIVES))
    counts = random.integers(1, MOST, (DECISIONS, VOTERS, ALTERNATIVES), endpoint=True).astype(float)
    seen = truth[:, None] + SIGMA / np.sqrt(counts) * random.standard_normal(counts.shape)
    exact = truth + SIGMA / np.sqrt(CLAIM) * random.standard_normal(truth.shape)
    if claimant == "nobody":
        return truth, vt.Profile(values=seen, counts=counts).as_rankings()
    said = {"honest": exact, "random": random.standard_normal(truth.shape), "reversed": -exact}[claimant]
    values = np.concatenate([seen, said[:, None]], axis=1)
    claimed = np.concatenate([counts, np.full((DECISIONS, 1, ALTERNATIVES), CLAIM)], axis=1)
    return truth, vt.Profile(values=values, counts=claimed).as_rankings()


def measure(row: Row) -> Row:
    """Decide, and compare with the truth."""
    truth, profile = drawn(row["claimant"])
    rule, given = ASKED[row["asked"]]
    winners, said = [], []
    for start in range(0, DECISIONS, AT_ONCE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", vt.InputWarning)  # of the claim
            outcome = vt.decide(profile.part(start, start + AT_ONCE), rule, tie_break="first", **given)
        winner = outcome.fit.winner
        winners.append(winner)
        if outcome.p_best is not None:
            said.append(np.take_along_axis(outcome.p_best, winner[:, None], axis=-1)[:, 0])
    winner = np.concatenate(winners)
    regret = truth.max(axis=-1) - np.take_along_axis(truth, winner[:, None], axis=-1)[:, 0]
    right = (winner == truth.argmax(axis=-1)).astype(float)
    found = {"regret": regret, "right": right}
    if said:
        found |= {"said": np.concatenate(said), "gap": np.concatenate(said) - right}
    means = {name: float(x.mean()) for name, x in found.items()}
    return means | {f"{name}_se": float(x.std(ddof=1) / np.sqrt(DECISIONS)) for name, x in found.items()}


if __name__ == "__main__":
    measure_rows(RESULTS, plan(), measure)
