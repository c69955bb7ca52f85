"""Belief: how sure an answer is. What a posterior says about who is best."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from veritally.arrays import Array

LEVEL = 0.95
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
        winner itself. In units of σ, by which it is told the better the more votes there are, or of the votes where
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
    efficiency
        The share of importance samples that count, 1 for a posterior of exactly the shape assumed; NaN where not
        asked.
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
    efficiency: Array

    def p_among(self, k: int) -> Array:
        """Return the probability that each alternative is among the k best, ``(..., alternative)``."""
        return np.sum(np.asarray(self.p_rank)[..., :k], axis=-1)

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


def stacked(beliefs: list[Belief], n: int) -> Belief:
    """Make one of the beliefs of several decisions, padded to n alternatives."""

    def padded(name: str, one: Belief) -> Array:
        value = np.asarray(getattr(one, name))
        axes = _AXES.get(name, 0)
        grown = [(0, 0)] * (value.ndim - axes) + [(0, n - value.shape[axis]) for axis in range(-axes, 0)]
        return np.pad(value, grown, constant_values=_FILLS.get(name, 0.0)) if axes else value

    return Belief(**{field.name: np.stack([padded(field.name, one) for one in beliefs]) for field in fields(Belief)})


DISTANCES = ("distance", "distance_low", "distance_high")
_FILLS = {  # of alternatives that a decision does not have
    "p_above": 0.5,
    "regret": np.inf,
    "sigma": np.nan,
} | dict.fromkeys(DISTANCES, np.nan)

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


def percent(share: float) -> str:
    """Write a probability as a person would: never a certainty that it is not.

    >>> percent(0.283), percent(0.999), percent(0.001)
    ('28%', '> 99%', '< 1%')
    """
    if share > 0.995:
        return "> 99%"
    return "< 1%" if share < 0.005 else f"{share:.0%}"


def smallest_set(p_best: Array, level: float = LEVEL) -> list[int]:
    """Return the fewest alternatives that contain the best with a probability of at least ``level``.

    >>> smallest_set(np.array([0.6, 0.1, 0.3]), 0.85)
    [0, 2]
    """
    order = np.argsort(-p_best, kind="stable")
    reached = np.cumsum(p_best[order]) >= level - 1e-12
    return [int(j) for j in order[: int(np.argmax(reached)) + 1 if reached.any() else len(order)]]


def summarised(
    draws: Array, weights: Array, mask: Array, *, winner: Array | int, unit: Array, **besides: Array
) -> Belief:
    """Summarise weighted draws ``(draw, ..., alternative)`` of the truths; weights ``(draw, ...)`` sum to 1.

    Distances are from the truth of the ``winner``, its place ``(...)``, in the ``unit`` of each draw, ``(draw, ...)``.
    ``besides`` is what else a :class:`Belief` has.
    """
    n = draws.shape[-1]
    known = np.where(mask, draws, -np.inf)
    w = weights[..., None]
    mean = np.sum(w * np.where(mask, draws, 0), axis=0)
    deviation = np.sqrt(np.maximum(np.sum(w * np.where(mask, draws - mean, 0) ** 2, axis=0), 0))
    best = np.max(known, axis=-1)
    above = np.stack([np.sum(w * (known[..., j : j + 1] > known), axis=0) for j in range(n)], axis=-2)
    above = np.clip((above + 1 - np.swapaxes(above, -1, -2)) / 2, 0, 1)
    above = np.where(mask[..., None] & mask[..., None, :], above, 0.5)
    rank = np.sum(known[..., None, :] > known[..., :, None], axis=-1) if n <= _SMALL else None
    if rank is None:
        rank = np.stack([np.sum(known > known[..., j : j + 1], axis=-1) for j in range(n)], axis=-1)
    p_rank = np.stack([np.sum(w * (rank == r), axis=0) for r in range(n)], axis=-1)
    p_rank = _doubly(np.clip(p_rank, 0, 1))  # corrections may go beyond
    p_best = np.where(mask, p_rank[..., 0], 0)
    low, high = _intervals(np.where(mask, draws, 0), weights)
    place = np.asarray(winner)[..., None]
    gaps = (np.take_along_axis(draws, place[None], axis=-1) - draws) / unit[..., None]
    better = np.take_along_axis(above, place[..., None], axis=-2)[..., 0, :]
    distances = _distances(np.where(mask, gaps, 0), weights, better)
    return Belief(
        mean=mean,
        deviation=deviation,
        low=low,
        high=high,
        p_best=p_best / np.sum(p_best, axis=-1, keepdims=True),
        p_rank=p_rank,
        p_above=above,
        **{name: np.where(mask, x, np.nan) for name, x in zip(DISTANCES, distances, strict=True)},
        regret=np.where(mask, np.maximum(np.sum(weights * best, axis=0)[..., None] - mean, 0), np.inf),
        **besides,
    )


_SMALL = 16
_ROUNDS = 1000
_CLOSE = 1e-9
_TINY = 1e-300


def _doubly(p_rank: Array) -> Array:
    """Make rows and columns sum to 1 again: each alternative has one rank, and each rank one alternative."""
    for _ in range(_ROUNDS):
        p_rank = p_rank / np.maximum(np.sum(p_rank, axis=-2, keepdims=True), _TINY)
        rows = np.sum(p_rank, axis=-1, keepdims=True)
        p_rank = p_rank / np.maximum(rows, _TINY)
        if np.max(np.abs(rows - 1)) < _CLOSE:
            break
    return p_rank


def _distances(gaps: Array, weights: Array, better: Array) -> tuple[Array, Array, Array]:
    """Return the mean of weighted gaps ``(draw, ..., alternative)`` and the ends of their intervals.

    These are made to leave 0 out exactly where the winner is ``better`` with more than 97.5%: quantiles do so but for
    ties, which count half, and for weights below 0. An end on the wrong side moves to 0, or past it as far as the
    smallest gap.
    """
    low, high = _intervals(gaps, weights)
    nearest = np.min(np.abs(gaps), axis=0, where=gaps != 0, initial=np.inf)
    low = np.where(better > CLEAR, np.maximum(low, nearest), np.minimum(low, 0))
    return np.sum(weights[..., None] * gaps, axis=0), low, np.maximum(high, np.maximum(low, 0))


def _intervals(draws: Array, weights: Array) -> tuple[Array, Array]:
    """Return the ends of central intervals."""
    order = np.argsort(draws, axis=0)
    ordered = np.take_along_axis(draws, order, axis=0)
    share = np.cumsum(np.take_along_axis(np.broadcast_to(weights[..., None], draws.shape), order, axis=0), axis=0)
    tail = (1 - LEVEL) / 2
    ends = []
    for level in (tail, 1 - tail):
        place = np.minimum(np.sum(share < level, axis=0, keepdims=True), len(draws) - 1)
        ends.append(np.take_along_axis(ordered, place, axis=0)[0])
    return ends[0], ends[1]
