"""How noisy voters are, from the votes themselves.

Rankings tell only σ/τ, through how much more the well-informed agree. Its posterior is one-dimensional: the evidence of
the votes by Laplace's method times a weak prior, log-normal around noise that is as large as the differences between
the alternatives after a typical number of observations. It is found in a few rounds of five values, each round closer.
"""

from collections.abc import Callable
from typing import NamedTuple

from veritally.arrays import Array, for_loop, is_jax, namespace
from veritally.inference.optimiser import Peak
from veritally.progress import report
from veritally.votes.ballots import Ballots
from veritally.votes.differences import Differences
from veritally.votes.values import Values

_WEAK = 2.0  # standard deviation of the prior of the logarithm: a factor of 50 either way
_ROUNDS = 3
_FIRST = 1.2  # spacing of the first round
_ROUGH, _FINE = 1e-2, 1e-9  # how far from the peak to stop, in standard deviations, on the way and at the end
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
    peak
        The mode of the truths and what is known there.
    """

    log: Array
    weight: Array
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
    height, peak = weighed(log, found.start, _FINE)
    width = xp.where(places < 0, found.below, xp.where(places > 0, found.above, (found.below + found.above) / 2))
    weight = width * xp.exp(height - xp.max(height, axis=0))
    return Scales(log, weight / xp.sum(weight, axis=0), peak)


def typical(ballots: Ballots) -> Array:
    """Return the logarithm of the typical count of each decision: the mean of the logarithms."""
    xp = namespace(ballots.counts)
    seen = ballots.counts > 0
    times = xp.where(seen, ballots.multiplicity[..., None], 0)
    whole = xp.sum(times, axis=(-2, -1))
    logs = xp.log(xp.where(seen, ballots.looks, 1))
    return xp.sum(times * logs, axis=(-2, -1)) / xp.where(whole > 0, whole, 1)


class Dispersion(NamedTuple):
    """What values tell about σ: one for each alternative, ``(..., alternative)``, from so many degrees of freedom."""

    sigma: Array
    freedom: Array


_SHARED = 5.0  # degrees of freedom that all alternatives together lend to each


def dispersion(values: Array, counts: Array, multiplicity: Array) -> Dispersion:
    """Estimate σ_j from the dispersion of values around their count-weighted means.

    Each alternative's own estimate is drawn towards that of all together, the more the fewer voters it has. Where
    nobody's values can be compared, there are no degrees of freedom and σ is 1.
    """
    xp = namespace(values)
    given = ~xp.isnan(values) & (counts > 0)
    times = xp.where(given, multiplicity[..., None], 0)
    weight = times * counts
    whole = xp.sum(weight, axis=-2)
    filled = xp.where(given, values, 0)
    mean = xp.sum(weight * filled, axis=-2) / xp.where(whole > 0, whole, 1)
    squares = xp.sum(weight * (filled - mean[..., None, :]) ** 2, axis=-2)
    freedom = xp.maximum(xp.sum(times, axis=-2) - 1, xp.asarray(0, dtype=times.dtype))
    number = xp.sum(freedom, axis=-1)
    some = number > 0
    pooled = xp.where(some, xp.sum(squares, axis=-1) / xp.where(some, number, 1), 0)
    known = pooled > 0
    pooled = xp.where(known, pooled, 1)[..., None]
    own = (squares + _SHARED * pooled) / (freedom + _SHARED)
    return Dispersion(xp.sqrt(xp.where(known[..., None], own, pooled)), xp.where(known, number, 0))


def interval(mean: Array, deviation: Array) -> Array:
    """Return exp of the mean, and of the ends of a 95% interval, of a logarithm that is about normal, ``(..., 3)``."""
    xp = namespace(mean)
    reach = 1.96 * deviation
    return xp.exp(xp.stack([mean, mean - reach, mean + reach], axis=-1))


def middle(sigma: Array, mask: Array) -> Array:
    """Return the geometric mean over the alternatives."""
    xp = namespace(sigma)
    number = xp.sum(xp.astype(mask, sigma.dtype), axis=-1)
    return xp.exp(xp.sum(xp.where(mask, xp.log(sigma), 0), axis=-1) / xp.where(number > 0, number, 1))


def spread_of_means(ballots: Ballots) -> Array:
    """Return the standard deviation between the alternatives' mean values; 1 where there is none."""
    xp = namespace(ballots.counts)
    values, differences = ballots.part(Values), ballots.part(Differences)
    if values is None:
        assert differences is not None  # as in all votes that have measurements
        times = xp.where(differences.given, differences.multiplicity, 0)
        number = xp.sum(times, axis=-1)
        total = xp.sum(xp.where(times > 0, differences.votes, 0) * times, axis=-1)
        spread = xp.abs(total / xp.where(number > 0, number, 1)) / 2**0.5
        return xp.where(spread > 0, spread, 1)
    weight = xp.where(values.given, values.counts * values.multiplicity[..., None], 0)
    whole = xp.sum(weight, axis=-2)
    known = whole > 0
    mean = xp.sum(weight * xp.where(values.given, values.votes, 0), axis=-2) / xp.where(known, whole, 1)
    number = xp.maximum(xp.sum(xp.astype(known, mean.dtype), axis=-1, keepdims=True), xp.asarray(1, dtype=mean.dtype))
    middle = xp.sum(xp.where(known, mean, 0), axis=-1, keepdims=True) / number
    square = xp.sum(xp.where(known, mean - middle, 0) ** 2, axis=-1) / number[..., 0]
    return xp.where(square > 0, xp.sqrt(square), 1)


def noise_of_means(ballots: Ballots, sigma: Array) -> Array:
    """Return the standard deviation that noise alone gives the alternatives' mean values."""
    xp = namespace(ballots.counts)
    seen = xp.sum(ballots.counts * ballots.multiplicity[..., None], axis=-2)
    number = xp.sum(xp.astype(ballots.mask, seen.dtype), axis=-1)
    typical = xp.sum(seen, axis=-1) / xp.where(number > 0, number, 1)
    return middle(sigma, ballots.mask) / xp.sqrt(xp.where(typical > 0, typical, 1))
