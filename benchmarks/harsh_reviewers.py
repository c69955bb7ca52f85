"""Reviewers some of whom are harsh: 25 of them read 5 of 40 papers each, and 8 are to be chosen."""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import veritally as vt

sys.path.append(str(Path(__file__).parents[1] / "tests" / "panel"))

from algebra import conditioned

PAPERS, REVIEWERS, EACH, CHOSEN = 40, 25, 5, 8
PANELS = 400
DEVIATIONS = (0.0, 1.0, 2.0)  # of leniency; σ = τ = 1
METHODS = (
    "mixed model",
    "means",
    "z-scores",
    "rankings, borda",
    "rankings, posterior",
    "package, leniency 0",
    "package",
)


def reviews(deviation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return truths and values, NaN for what was not read; each paper is read by about three."""
    random = np.random.default_rng([25, seed])
    truth, lenient = random.standard_normal(PAPERS), random.standard_normal((REVIEWERS, 1))
    x = truth + deviation * lenient + random.standard_normal((REVIEWERS, PAPERS))
    read, times = np.zeros(x.shape, dtype=bool), np.zeros(PAPERS)
    for own in read:
        own[np.lexsort((random.random(PAPERS), times))[:EACH]] = True  # those that fewest have read so far
        times += own
    return truth, np.where(read, x, np.nan)


def hits(method: str, deviation: float, seed: int) -> float:
    """Return how many of the truly best papers are chosen in one panel."""
    truth, x = reviews(deviation, seed)
    best = np.argsort(-truth)[:CHOSEN]
    return float(len(np.intersect1d(best, _chosen(method, deviation, x))))


def _chosen(method: str, deviation: float, x: np.ndarray) -> Any:
    if method == "mixed model":
        mean, _ = conditioned(x, np.ones(x.shape), np.zeros((*x.shape, 0)), 1.0, deviation)
        return np.argsort(-mean)[:CHOSEN]
    if method == "means":
        return np.argsort(-np.nanmean(x, axis=0), kind="stable")[:CHOSEN]
    if method == "z-scores":
        own = (x - np.nanmean(x, axis=1, keepdims=True)) / np.nanstd(x, axis=1, keepdims=True)
        return np.argsort(-np.nanmean(own, axis=0), kind="stable")[:CHOSEN]
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):
        profile = vt.Profile(values=x, counts=~np.isnan(x))
        if method.startswith("rankings"):
            profile = profile.as_rankings()
        rule = "borda" if method.endswith("borda") else "posterior"
        given = {"leniency": 0.0} if method.endswith("leniency 0") else {}
        return vt.decide(profile, rule, choose=CHOSEN, tie_break="first", **given).chosen
