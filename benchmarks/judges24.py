"""Panels of two-way judges, learned: python benchmarks/judges24.py [200 odd 50 800 0] [--seeds N] [--factors 2].

Votes are simulated from the parameters of judges24.json: 24 judges of 5,000 two-way questions, fitted to a public panel
of language models, names left out. For each seed and number of answers a panel is learned and decides all questions
without an answer; beside it stand the true parameters, the majority, linear discriminant analysis with a shrunk
covariance (scikit-learn) and Dawid & Skene's model (crowd-kit). ``odd`` adds a random, a copied and a reversed judge,
and says who is named as what. Writes docs/panel/judges24-PART.json, a row after each measurement; rows that are there
are kept. It needs the environment of `make peers`.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from rows import Row, measure_rows

import veritally as vt
from veritally.panel.verdicts import verdicts

HERE = Path(__file__).parent
FOLDER = HERE.parent / "docs" / "panel"
DECISIONS = 5000
PARTS = ("200", "odd", "50", "800", "0")
ODD = ("coin", "twin", "contrary")
_COPIED, _REVERSED = 7, 3  # the judge whose votes `twin` copies but for 5%, and whose skill `contrary` has with a minus


def recipe() -> dict[str, np.ndarray]:
    given = json.loads((HERE / "judges24.json").read_text())
    judges = given["judges"]
    return {
        "slope": np.array([judge["slope"] for judge in judges]),
        "leaning": np.array([judge["leaning"] for judge in judges]),
        "shared": np.array([judge["shared"] for judge in judges]),
        "mean": np.array(given["truth_mean"]),
    }


def simulate(seed: int, odd: bool = False) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw truths and, by judge, 1 for the second alternative and −1 for the first."""
    known = recipe()
    random = np.random.default_rng(seed)
    truth = known["mean"] + random.normal(size=DECISIONS)
    errors = random.normal(size=(DECISIONS, 2))
    slope, leaning, shared = known["slope"], known["leaning"], known["shared"]
    seen = slope * truth[:, None] + leaning + errors @ shared.T + random.normal(size=(DECISIONS, len(slope)))
    votes = {f"judge{i + 1:02d}": np.where(seen[:, i] > 0, 1, -1) for i in range(len(slope))}
    if odd:
        flipped = np.where(random.random(DECISIONS) < 0.05, -1, 1)
        against = -slope[_REVERSED] * truth + errors @ shared[_REVERSED] + random.normal(size=DECISIONS)
        votes["coin"] = np.where(random.random(DECISIONS) < 0.5, 1, -1)
        votes["twin"] = flipped * votes[f"judge{_COPIED + 1:02d}"]
        votes["contrary"] = np.where(against > 0, 1, -1)
    return truth, votes


def profile_of(votes: dict[str, np.ndarray]) -> vt.Profile:
    signs = np.stack(list(votes.values()), axis=1)
    ranks = np.stack([np.where(signs > 0, 2, 1), np.where(signs > 0, 1, 2)], axis=-1)
    return vt.Profile(ranks=ranks, voters=list(votes), alternatives=["no", "yes"])


def answers_of(truth: np.ndarray, number: int) -> np.ndarray | None:
    if not number:
        return None
    answers = np.full((len(truth), 2), np.nan)
    answers[:number, 0], answers[:number, 1] = truth[:number] <= 0, truth[:number] > 0
    return answers


def judged(p_second: np.ndarray, truth: np.ndarray, number: int, name: str) -> Row:
    """Return how often a method is right, how often it says so, log loss and calibration error (bins of 0.05)."""
    p, truth = np.clip(p_second[number:], 1e-6, 1 - 1e-6), truth[number:]
    right, said = (p > 0.5) == (truth > 0), np.maximum(p, 1 - p)
    place = np.minimum((said - 0.5) // 0.05, 9)
    gaps = [abs(np.sum(right[place == k] * 1.0 - said[place == k])) for k in range(10)]
    loss = -np.log(np.where(truth > 0, p, 1 - p))
    values = (np.mean(right), np.mean(said), np.mean(loss), np.sum(gaps) / len(p))
    return {f"{name} {what}": float(x) for what, x in zip(("right", "said", "loss", "gap"), values, strict=True)}


def p_by_panel(profile: vt.Profile, panel: vt.LearnedPanel) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vt.InputWarning)
        return np.asarray(vt.decide(profile, panel=panel, tie_break="first").p_best)[:, 1]


def true_panel(panel: vt.LearnedPanel) -> vt.LearnedPanel:
    """Return the panel that made the votes."""
    known = recipe()
    zero = np.zeros(len(known["slope"]))
    half = known["leaning"] / 2**0.5  # ours is of one alternative beside the mean, theirs of the difference over √2
    return replace(
        panel,
        slope=known["slope"],
        slope_error=zero,
        leaning=np.stack([-half, half], axis=1),
        leaning_error=np.zeros((len(zero), 2)),
        loadings=known["shared"],
        loading_variance=zero,
        mean_loadings=np.mean(known["shared"], axis=0),
        base=np.array([-1, 1]) * known["mean"] / 2**0.5,
        answers=DECISIONS,
        copies=(),
    )


def by_discriminant(signs: np.ndarray, truth: np.ndarray, number: int) -> np.ndarray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    rule = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(signs[:number], truth[:number] > 0)
    return rule.predict_proba(signs)[:, 1]


def by_dawid_skene(votes: dict[str, np.ndarray], truth: np.ndarray, number: int) -> np.ndarray:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    rows = [pd.DataFrame({"task": np.arange(len(own)), "worker": name, "label": own}) for name, own in votes.items()]
    known = pd.Series(np.where(truth[:number] > 0, 1, -1), index=np.arange(number)) if number else None
    return DawidSkene(n_iter=100).fit_predict_proba(pd.concat(rows), true_labels=known).sort_index()[1].to_numpy()


def measure(row: Row) -> Row:
    return named(row) if row["part"] == "odd" else predicted(row)


def predicted(row: Row) -> Row:
    truth, votes = simulate(row["seed"])
    profile, number = profile_of(votes), row["answers"]
    signs = np.stack(list(votes.values()), axis=1)
    start = time.perf_counter()
    panel = vt.learn_panel(profile, answers_of(truth, number), factors=row["given"], roles="alternatives")
    found: Row = {"seconds": time.perf_counter() - start, "factors": panel.loadings.shape[1]}
    found |= {"converged": panel.converged}
    found |= judged(p_by_panel(profile, panel), truth, number, "learned")
    found |= judged(p_by_panel(profile, true_panel(panel)), truth, number, "true")
    found |= judged(np.mean(signs > 0, axis=1), truth, number, "majority")
    found |= judged(by_dawid_skene(votes, truth, number), truth, number, "dawid-skene")
    if number:
        found |= judged(by_discriminant(signs, truth, number), truth, number, "lda")
        error = (panel.slope - recipe()["slope"]) / panel.slope_error
        found |= {"slopes within 2 errors": float(np.mean(np.abs(error) < 2))}
    return found


def named(row: Row) -> Row:
    """Say who is named as what, where a random, a copied and a reversed judge are added."""
    truth, votes = simulate(row["seed"], odd=True)
    panel = vt.learn_panel(
        profile_of(votes), answers_of(truth, row["answers"]), factors=row["given"], roles="alternatives"
    )
    found = {verdict.what: set() for verdict in verdicts(panel)}
    for verdict in verdicts(panel):
        found[verdict.what] |= set(verdict.voters)
    slope = dict(zip(votes, recipe()["slope"], strict=False))
    copied = f"judge{_COPIED + 1:02d}"
    wrongly = [name for name, own in slope.items() if abs(own) >= 0.6 and name in found.get("random", ())]
    wrongly += [name for name, own in slope.items() if own >= 0.6 and name in found.get("reversed", ())]
    return {
        "coin": "coin" in found.get("random", ()),
        "twin": found.get("copies", set()) == {"twin", copied},
        "contrary": "contrary" in found.get("reversed", ()),
        "wrongly": wrongly,
        "reversed": sorted(found.get("reversed", ())),
        "random": sorted(found.get("random", ())),
        "factors": panel.loadings.shape[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--factors", default="auto", help="a number is four times as fast as auto")
    given = parser.parse_args()
    factors = given.factors if given.factors == "auto" else int(given.factors)
    for part in given.parts or PARTS:
        answers = 200 if part == "odd" else int(part)
        own = factors if answers else "auto"
        plan = [{"part": part, "answers": answers, "given": own, "seed": seed} for seed in range(given.seeds)]
        measure_rows(FOLDER / f"judges24-{part}.json", plan, measure)


if __name__ == "__main__":
    main()
