"""Limits: what a network was trained on, and what lies outside of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.learned.reading import Setting, expected_counts, place_scores
from veritally.votes.ballots import Ballots

_SEVERAL = 5  # voters, who can outvote one that knows more
_NAMES = {"voters": "voters", "alternatives": "alternatives", "counts": "counts", "sigma": "σ/τ"}


@dataclass(frozen=True)
class Limits:
    """From where to where numbers were trained on: voters, alternatives, counts, σ/τ (``sigma``)."""

    ranges: Mapping[str, tuple[float, float]]

    def crossed(self, ballots: Ballots, ratio: tuple[float, ...] = ()) -> Any:
        """Say which decisions lie outside, ``(...)``; ``ratio`` is σ/τ if it is given."""
        outside = np.zeros(ballots.mask.shape[:-1], dtype=bool)
        for name, (low, high) in self._ends(ballots, ratio).items():
            least, most = self.ranges[name]
            outside = outside | (low < least) | (high > most)
        return outside

    def warnings(self, ballots: Ballots, ratio: tuple[float, ...] = ()) -> list[str]:
        """Say of a single decision what lies outside, and what to do."""
        parts = []
        for name, ends in self._ends(ballots, ratio).items():
            (low, high), (least, most) = map(float, ends), self.ranges[name]
            if low < least or high > most:
                here = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                parts.append(f"{_NAMES[name]} {here} (trained on {least:g} to {most:g})")
        if not parts:
            return []
        return [f"outside of what the network learned: {'; '.join(parts)}; the rule posterior has no such limits"]

    def _ends(self, ballots: Ballots, ratio: tuple[float, ...]) -> dict[str, tuple[Any, Any]]:
        """Return the lowest and the highest of each, by decision."""
        counts, multiplicity = np.asarray(ballots.counts), np.asarray(ballots.multiplicity)
        seen = (counts > 0) & (multiplicity > 0)[..., None]
        voters = np.sum(np.where(seen.any(axis=-1), multiplicity, 0), axis=-1)
        alternatives = np.sum(np.asarray(ballots.mask), axis=-1)
        least = np.min(counts, axis=(-2, -1), initial=np.inf, where=seen)
        most = np.max(counts, axis=(-2, -1), initial=0, where=seen)
        found = {"voters": (voters, voters), "alternatives": (alternatives, alternatives), "counts": (least, most)}
        if ratio:
            each, mask = np.broadcast_to(ratio, ballots.mask.shape), np.asarray(ballots.mask)
            lowest = np.min(each, axis=-1, initial=np.inf, where=mask)
            found["sigma"] = lowest, np.max(each, axis=-1, initial=0, where=mask)
        return {name: ends for name, ends in found.items() if name in self.ranges}


def contrast(ballots: Ballots) -> Any:
    """Return by what factor the least and the second highest count on one ballot differ at most, by decision.

    If only one is high, nothing is told by it that others on the ballot could stand in the way of.
    """
    counts, multiplicity = np.asarray(ballots.counts), np.asarray(ballots.effective_multiplicity)
    seen = (counts > 0) & (multiplicity > 0)[..., None]
    least = np.min(counts, axis=-1, initial=np.inf, where=seen)
    second = np.sort(np.where(seen, counts, 0), axis=-1)[..., -2:-1]
    return np.max(second / least[..., None], axis=(-2, -1), initial=1)


def contrast_of_voters(ballots: Ballots) -> Any:
    """Return how many times as much as the median voter the best informed one saw, by decision; 1 for a few voters.

    What a voter saw is the geometric mean of the counts on the ballot.
    """
    counts, multiplicity = np.asarray(ballots.counts), np.asarray(ballots.effective_multiplicity)
    seen = counts > 0
    logs = np.sum(np.log(np.where(seen, counts, 1)), axis=-1) / np.maximum(np.sum(seen, axis=-1), 1)
    logs = np.where(multiplicity > 0, logs, -np.inf)
    order = np.argsort(logs, axis=-1)
    ordered, shares = (np.take_along_axis(x, order, axis=-1) for x in (logs, multiplicity))
    half = np.cumsum(shares, axis=-1) >= np.sum(multiplicity, axis=-1, keepdims=True) / 2
    median = np.take_along_axis(ordered, np.argmax(half & (ordered > -np.inf), axis=-1)[..., None], axis=-1)[..., 0]
    some = np.sum(multiplicity, axis=-1) >= _SEVERAL
    return np.exp(np.where(some, ordered[..., -1] - np.where(some, median, 0), 0))


def agreement_probability(ballots: Ballots, setting: Setting) -> Any:
    """Return about how probable it is, rather too much than too little, that voters agree so well if σ/τ is as given.

    Normal scores of two voters for the same alternative correlate by about √(r r'), where r = 1/(1 + v) and v is the
    variance of what one of them saw, in units of τ². Squares of their sums, weighed by √r, are then like χ², with as
    many degrees of freedom as there are alternatives but one, or fewer where some are seen by more voters than others.
    """
    from scipy.special import gammaincc

    score, _ = place_scores(ballots.votes)
    root, _ = expected_counts(ballots, setting)
    # r of each vote, and the expected square of each alternative's sum, if all scores have variance 1.
    r = np.where(ballots.votes > 0, 1 / (1 + np.exp(2 * setting.log_sigma)[..., None, :] / root**2), 0)
    multiplicity = np.asarray(ballots.effective_multiplicity, dtype=float)[..., None]
    sums = np.sum(multiplicity * r, axis=-2)
    expected = sums + sums**2 - np.sum(multiplicity * r**2, axis=-2)
    total, alone = np.sum(expected, axis=-1), np.sum(multiplicity * r * score**2, axis=(-2, -1))
    some = (total > 0) & (alone > 0)
    # What is found beside what is expected, and its degrees of freedom.
    found = np.sum(np.sum(multiplicity * np.sqrt(r) * score, axis=-2) ** 2, axis=-1) / np.where(some, alone, 1)
    ratio = found * np.sum(sums, axis=-1) / np.where(some, total, 1)
    freedom = np.maximum(total**2 / np.where(some, np.sum(expected**2, axis=-1), 1) - 1, 1)
    return np.where(some, gammaincc(freedom / 2, freedom / 2 * ratio), 1)
