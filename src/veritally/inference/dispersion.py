"""What votes tell about their noise at a glance: typical counts, and the dispersion of values."""

from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, namespace
from veritally.votes.ballots import Ballots

_PRIOR_FREEDOM = 0.5, 1e4  # least and most degrees of freedom that what decisions have in common counts for
_SHARED = 5.0  # degrees of freedom that all alternatives together lend to each


def log_typical_count(ballots: Ballots) -> Array:
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
    return from_squares(xp.sum(weight * (filled - mean[..., None, :]) ** 2, axis=-2), times)


def from_squares(squares: Array, times: Array) -> Dispersion:
    """Do so from squares of residuals, ``(..., alternative)``, and how many voters gave each value.

    Squares are over the variance that they would have if σ were 1.
    """
    xp = namespace(squares)
    freedom = xp.maximum(xp.sum(times, axis=-2) - 1, xp.asarray(0, dtype=times.dtype))
    number = xp.sum(freedom, axis=-1)
    some = number > 0
    pooled = xp.where(some, xp.sum(squares, axis=-1) / xp.where(some, number, 1), 0)
    known = pooled > 0
    pooled = xp.where(known, pooled, 1)[..., None]
    own = (squares + _SHARED * pooled) / (freedom + _SHARED)
    return Dispersion(xp.sqrt(xp.where(known[..., None], own, pooled)), xp.where(known, number, 0))


def common_dispersion(sigma: Array, freedom: Array) -> tuple[float, float]:
    """Return the σ that decisions have in common, and how many degrees of freedom that counts for in each.

    Of each decision, σ and its degrees of freedom, ``(decision,)``, are known. Variances over decisions are taken for
    inverse chi-squared, by mean and variance of their logarithms (Smyth 2004).
    """
    from scipy.optimize import brentq
    from scipy.special import polygamma

    half, logs = freedom / 2, 2 * np.log(sigma)
    logs = logs - polygamma(0, half) + np.log(half)
    rest = float(np.var(logs, ddof=1) - np.mean(polygamma(1, half)))
    least, most = _PRIOR_FREEDOM
    if rest <= polygamma(1, most / 2):
        prior = most
    else:
        prior = max(least, 2 * brentq(lambda x: polygamma(1, x) - rest, 1e-3, most / 2))
    return float(np.exp((np.mean(logs) + polygamma(0, prior / 2) - np.log(prior / 2)) / 2)), float(prior)


def geometric_mean(sigma: Array, mask: Array) -> Array:
    """Return the geometric mean over the alternatives."""
    xp = namespace(sigma)
    number = xp.sum(xp.astype(mask, sigma.dtype), axis=-1)
    return xp.exp(xp.sum(xp.where(mask, xp.log(sigma), 0), axis=-1) / xp.where(number > 0, number, 1))


def spread_of_means(values: Array, counts: Array, multiplicity: Array) -> Array:
    """Return the standard deviation between the alternatives' mean values, ``(...)``; 1 where there is none.

    A single column holds differences of two alternatives.
    """
    xp = namespace(counts)
    given = ~xp.isnan(values) & (counts > 0)
    times = xp.where(given, multiplicity[..., None], 0)
    if values.shape[-1] == 1:
        number = xp.sum(times, axis=(-2, -1))
        mean = xp.sum(xp.where(given, values, 0) * times, axis=(-2, -1)) / xp.where(number > 0, number, 1)
        spread = xp.abs(mean) / 2**0.5
        return xp.where(spread > 0, spread, 1)
    weight = counts * times
    whole = xp.sum(weight, axis=-2)
    known = whole > 0
    mean = xp.sum(weight * xp.where(given, values, 0), axis=-2) / xp.where(known, whole, 1)
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
    return geometric_mean(sigma, ballots.mask) / xp.sqrt(xp.where(typical > 0, typical, 1))
