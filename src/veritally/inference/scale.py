"""How noisy voters are, from the votes themselves.

Rankings tell only σ/τ, through how much more the well-informed agree. Its posterior is one-dimensional: the evidence of
the votes by Laplace's method times a weak prior, log-normal around noise that is as large as the differences between
the alternatives after a typical number of observations. It is found in a few rounds of five values, each round closer.
"""

from collections.abc import Callable
from typing import NamedTuple

from veritally.arrays import Array, for_loop, is_jax, namespace
from veritally.inference.optimiser import NEWTON, Peak
from veritally.progress import report

_WEAK = 2.0  # standard deviation of the prior of the logarithm: a factor of 50 either way
_ROUNDS = 3
_FIRST = 1.2  # spacing of the first round
_ROUGH = 1e-2  # how far from the peak to stop on the way, in standard deviations
_POINTS = 5
_SPACING = 1.25  # between values, in standard deviations of the posterior
_NARROW = 0.02  # of a spacing
_SEARCH = 0.6  # of the whole work, about


class Scales(NamedTuple):
    """Several values of the unknown scale, ``(value, ...)``, with what follows from each.

    Attributes
    ----------
    log
        Logarithm of the scale.
    weight
        Its posterior probability among these values.
    log_evidence
        Of the votes, ``(...)``: that at each value, averaged over the prior of the scale.
    peak
        The mode of the truths and what is known there.
    """

    log: Array
    weight: Array
    log_evidence: Array
    peak: Peak


class _Range(NamedTuple):
    """Where the scale lies: its middle, between which values to look closer, and how far it reaches to both sides."""

    middle: Array
    spacing: Array
    below: Array
    above: Array
    start: Array


def search(at: Callable[[Array, Array, float], Peak], centre: Array, start: Array) -> Scales:
    """Find the values of a scale that matter.

    Parameters
    ----------
    at
        Gives the peak at logarithms of the scale, ``(value, ...)``, climbing from a start with a tolerance.
    centre
        Where the prior of the logarithm has its middle, ``(...)``.
    start
        Truths to start from, ``(..., alternative)``.
    """
    xp = namespace(centre)
    places = xp.arange(_POINTS, dtype=centre.dtype) - (_POINTS - 1) / 2
    places = places.reshape(-1, *([1] * centre.ndim))
    start = xp.broadcast_to(start, (_POINTS, *start.shape))

    def values(middle: Array, below: Array, above: Array) -> Array:
        return middle + places * xp.where(places < 0, below, above)

    def weighed(log: Array, start: Array, tolerance: float) -> tuple[Array, Peak]:
        peak = at(log, start, tolerance)
        return peak.log_evidence - ((log - centre) / _WEAK) ** 2 / 2, peak

    def closer(turn: Array, state: _Range) -> _Range:
        if not is_jax(start):
            report(_SEARCH * turn / (_ROUNDS + 1))
        middle, spacing, _, _, begin = state
        log = values(middle, spacing, spacing)
        height, peak = weighed(log, begin, _ROUGH)
        best = xp.argmax(height[1:-1], axis=0)[None] + 1
        left, top, right = (xp.take_along_axis(height, best + k, axis=0)[0] for k in (-1, 0, 1))
        bend = xp.maximum(2 * top - left - right, xp.asarray(1e-3, dtype=top.dtype))
        move = xp.clip((right - left) / (2 * bend), -2.5, 2.5)
        middle = xp.take_along_axis(log, best, axis=0)[0] + move * spacing
        deviation = xp.clip(spacing / xp.sqrt(bend), _NARROW, _WEAK)
        # By the height at each value, that may lie farther out: where votes hardly tell the noise, it may be large.
        away = log - middle
        drop = xp.maximum(top + bend * move**2 / 2 - height, xp.asarray(1e-3, dtype=top.dtype))
        reach = xp.where(xp.abs(away) > spacing / 2, xp.abs(away) / xp.sqrt(2 * drop), 0)
        below, above = (
            xp.clip(xp.maximum(deviation, xp.max(xp.where(side, reach, 0), axis=0)), _NARROW, _WEAK)
            for side in (away < 0, away > 0)
        )
        nearest = xp.broadcast_to(best[..., None], (1, *peak.truth.shape[1:]))
        best_start = xp.broadcast_to(xp.take_along_axis(peak.truth, nearest, axis=0), peak.truth.shape)
        return _Range(middle, _SPACING * deviation, _SPACING * below, _SPACING * above, best_start)

    wide = xp.full_like(centre, _FIRST)
    found = for_loop(_ROUNDS, closer, _Range(centre, wide, wide, wide, start))
    log = values(found.middle, found.below, found.above)
    height, peak = weighed(log, found.start, NEWTON)
    width = xp.where(places < 0, found.below, xp.where(places > 0, found.above, (found.below + found.above) / 2))
    highest = xp.max(height, axis=0)
    weight = width * xp.exp(height - highest)
    whole = xp.sum(weight, axis=0)
    return Scales(log, weight / whole, highest + xp.log(whole), peak)


def interval(mean: Array, deviation: Array) -> Array:
    """Return exp of the mean, and of the ends of a 95% interval, of a logarithm that is about normal, ``(..., 3)``."""
    xp = namespace(mean)
    reach = 1.96 * deviation
    return xp.exp(xp.stack([mean, mean - reach, mean + reach], axis=-1))
