"""Belief: how sure an answer is. What a posterior says about who is best."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from veritally.arrays import Array

LEVEL = 0.95
SURE_LEVELS = (LEVEL, 1 - LEVEL)  # in for sure and out
DRAWS = 1024  # of the posterior, from which chances come
CLEAR = (1 + LEVEL) / 2  # the probability from which on one is clearly better: its distance's interval leaves 0 out


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the truths of one decision, or of each of a batch.

    Attributes
    ----------
    mean, deviation
        Of each truth, ``(..., alternative)``; for rankings, measured from the mean of all alternatives.
    low, high
        The ends of each truth's 95% interval.
    p_best
        The probability that each alternative is the best.
    p_rank
        ``(..., alternative, rank)``: the probability that it comes first, second, ….
    p_above
        ``(..., alternative, alternative)``: the probability that one is better than another.
    distance
        How far the truth of each alternative lies below that of the winner, expected, ``(..., alternative)``; 0 for the
        winner itself. In units of σ, which is known the better the more votes there are, or of the votes where
        these are numbers.
    distance_low, distance_high
        The ends of its 95% interval. It leaves 0 out exactly where the winner is better with more than 97.5%.
    in_sigma
        Whether distances are in units of σ, ``(...)``; else of the votes.
    regret
        What choosing each alternative would cost, expected.
    sigma, tau
        The standard deviation of one observation, ``(..., alternative)``, and the spread of the truths, as given or
        estimated.
    scale
        σ/τ, and the ends of its 95% interval, ``(..., 3)``; equal where both were given.
    count_error
        The size of the error of counts, as given or estimated; NaN where they are taken at their word.
    omega
        The standard deviation by which voters differ however much they saw, as given or estimated; NaN where they are
        taken not to.
    exact
        Whether all this comes from the exact posterior, ``(...)``, else from a normal with its mean and covariance.
    """

    mean: Array
    deviation: Array
    low: Array
    high: Array
    p_best: Array
    p_rank: Array
    p_above: Array
    distance: Array
    distance_low: Array
    distance_high: Array
    in_sigma: Array
    regret: Array
    sigma: Array
    tau: Array
    scale: Array
    count_error: Array
    omega: Array
    exact: Array

    def p_among(self, k: int) -> Array:
        """Return the probability that each alternative is among the k best, ``(..., alternative)``."""
        return np.sum(np.asarray(self.p_rank)[..., :k], axis=-1)

    def decision(self, d: int, alternatives: int) -> "Belief":
        """Return what is believed of one decision along the first batch axis, without its padding."""
        changes = {}
        for field in fields(self):
            value, axes = np.asarray(getattr(self, field.name))[d], _AXES.get(field.name, 0)
            changes[field.name] = value[(..., *[slice(alternatives)] * axes)]
        return Belief(**changes)

    def columns(self, kept: list[int]) -> "Belief":
        """Keep some alternatives of a single decision."""
        changes: dict[str, Any] = {}
        for name, axes in _AXES.items():
            value = np.asarray(getattr(self, name))
            for axis in range(-axes, 0):
                value = np.take(value, kept, axis=axis)
            changes[name] = value
        changes["p_rank"] = np.asarray(self.p_rank)[..., kept, : len(kept)]
        return replace(self, **changes)


def stacked(beliefs: list[Belief], batch: tuple[int, ...], order: Array | None = None) -> Belief:
    """Make one of the beliefs of pieces of a batch, of this shape, perhaps brought into an order."""

    def whole(name: str) -> Array:
        parts = [np.asarray(getattr(one, name)) for one in beliefs]
        joined = parts[0] if len(parts) == 1 else np.concat(parts)
        joined = joined if order is None else joined[order]
        return joined.reshape((*batch, *joined.shape[1:]))

    return Belief(**{field.name: whole(field.name) for field in fields(Belief)})


DISTANCES = ("distance", "distance_low", "distance_high")
_MOST_DIGITS = 6
_AXES = {
    "mean": 1,
    "deviation": 1,
    "low": 1,
    "high": 1,
    "p_best": 1,
    "p_rank": 2,
    "p_above": 2,
    "regret": 1,
    "sigma": 1,
} | dict.fromkeys(DISTANCES, 1)


def percent(share: float, levels: Sequence[float] = ()) -> str:
    """Write a probability as a person would: never a certainty that it is not, nor a level that it does not reach.

    >>> percent(0.283), percent(0.999), percent(0.001)
    ('28%', '> 99%', '< 1%')
    >>> percent(0.947), percent(0.947, [0.95]), percent(0.053, [0.05]), percent(0.053, [0.9])
    ('95%', '94.7%', '5.3%', '5%')
    """
    for level in levels:
        if level > share and (round(share, 2) >= level or share > 0.995) and level > 0.5:
            return apart(share, level)
        if level < share and (round(share, 2) <= level or share < 0.005) and level < 0.5:
            return apart(share, level)
    if share > 0.995:
        return "> 99%"
    return "< 1%" if share < 0.005 else f"{share:.0%}"


def apart(share: float, level: float) -> str:
    """Write a probability with as many digits as show on which side of a level it is, at least one.

    >>> apart(0.948, 0.95), apart(0.94976, 0.95), apart(0.951, 0.95)
    ('94.8%', '94.98%', '95.1%')
    """
    for digits in range(1, _MOST_DIGITS):
        if np.sign(round(share, digits + 2) - level) == np.sign(share - level):
            return f"{share:.{digits}%}"
    return f"{'<' if share < level else '>'} {100 * level:g}%"


def smallest_set(p_best: Array, level: float = LEVEL) -> list[int]:
    """Return the fewest alternatives that contain the best with a probability of at least ``level``.

    >>> smallest_set(np.array([0.6, 0.1, 0.3]), 0.85)
    [0, 2]
    """
    order = np.argsort(-p_best, kind="stable")
    reached = np.cumsum(p_best[order]) >= level - 1e-12
    return [int(j) for j in order[: int(np.argmax(reached)) + 1 if reached.any() else len(order)]]


_MANY = 128  # alternatives


def summarised(draws: Array, mask: Array, *, winner: Array, unit: Array, **besides: Array) -> Belief:
    """Summarise draws of the truths, ``(decision, alternative, draw)``, of alternatives within a ``mask``.

    Distances are from the truth of the ``winner``, its place ``(decision,)``, in the ``unit`` of each draw,
    ``(decision, draw)``. ``besides`` is what else a :class:`Belief` has.
    """
    decisions, n, size = draws.shape
    there = mask[..., None]
    known = draws if mask.all() else np.where(there, draws, -np.inf)
    mean = np.mean(draws, axis=-1)
    above, rank = np.empty((decisions, n, n)), np.zeros(draws.shape, dtype=np.int8 if n < _MANY else np.int32)
    for j in range(n):
        better = known[:, j, None] > known
        above[:, j] = np.count_nonzero(better, axis=-1) / size
        rank += better
    above = (above + 1 - np.swapaxes(above, -1, -2)) / 2  # ties count half
    above = np.where(there & mask[:, None], above, 0.5)
    p_rank = np.stack([np.count_nonzero(rank == r, axis=-1) for r in range(n)], axis=-1) / size
    p_best = np.where(mask, p_rank[..., 0], 0)
    low, high = _intervals(draws)
    own = np.asarray(winner)[:, None]
    first = np.take_along_axis(draws, own[..., None], axis=1)
    gaps = (first - draws) / unit[:, None]
    distances = _distances(gaps, np.take_along_axis(above, own[..., None], axis=1)[:, 0])
    return Belief(
        mean=np.where(mask, mean, 0),
        deviation=np.where(mask, np.std(draws, axis=-1), 0),
        low=np.where(mask, low, 0),
        high=np.where(mask, high, 0),
        p_best=p_best / np.sum(p_best, axis=-1, keepdims=True),
        p_rank=p_rank,
        p_above=above,
        **{name: np.where(mask, x, np.nan) for name, x in zip(DISTANCES, distances, strict=True)},
        regret=np.where(mask, np.maximum(np.mean(np.max(known, axis=1), axis=-1)[:, None] - mean, 0), np.inf),
        **besides,
    )


def _distances(gaps: Array, better: Array) -> tuple[Array, Array, Array]:
    """Return the mean of gaps ``(..., draw)`` and the ends of their intervals.

    These leave 0 out exactly where the winner is ``better`` with more than 97.5%, as quantiles do but for ties, which
    count half: an end on the wrong side moves to 0, or past it as far as the smallest gap.
    """
    low, high = _intervals(gaps)
    clear = better > CLEAR
    if np.any(clear & (low <= 0)):
        nearest = np.min(np.abs(gaps), axis=-1, where=gaps != 0, initial=np.inf)
        low = np.where(clear, np.maximum(low, nearest), low)
    low = np.where(clear, low, np.minimum(low, 0))
    return np.mean(gaps, axis=-1), low, np.maximum(high, np.maximum(low, 0))


def _intervals(draws: Array) -> tuple[Array, Array]:
    """Return the ends of central intervals, over the last axis."""
    tail = (1 - LEVEL) / 2
    size = draws.shape[-1]
    ends = [max(math.ceil(share * size) - 1, 0) for share in (tail, 1 - tail)]
    ordered = np.sort(draws, axis=-1)  # which is quicker than finding both ends alone
    return ordered[..., ends[0]], ordered[..., ends[1]]
