"""The noise of votes: what is taken as given of it, what values tell, and what is left unknown."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.inference.dispersion import (
    Dispersion,
    dispersion,
    from_squares,
    geometric_mean,
    log_typical_count,
    noise_of_means,
    spread_of_means,
)
from veritally.inference.linear import from_diagonal, inverse, solve
from veritally.inference.mixture import with_leniency
from veritally.inference.propagation import Estimate, Near, exact_sites, moments, slope_of_evidence
from veritally.inference.scale import DOUBTFUL, REACH, WEAK, Looks, NoisePrior, PooledNoise
from veritally.model.means import Counts, VoterMeans, effective
from veritally.model.model import Model
from veritally.votes.ballots import Ballots
from veritally.votes.mixed import Mixed
from veritally.votes.values import Values

_MANY = 3000  # votes beyond which a part of the voters tells the noise well enough
_LEAST = 100  # voters who do so
_VERY_MANY = 10_000  # voters, on few ballots
_ROUNDING = 1e-24  # of squares


@dataclass(frozen=True)
class Assumptions:
    """What is taken as given of how votes come about, and what is asked.

    Attributes
    ----------
    sigma
        The standard deviation of one observation, one for all alternatives or one for each; None if unknown.
    tau
        The standard deviation of the truths; None if unknown.
    cap
        The most that a count may count for; None for any.
    counts
        What counts stand for, where they are doubtful or observations are not normal; else None.
    between
        ω²/σ², by which voters differ however much they saw.
    estimate
        Whether the mean of the truths is asked for, or only their mode.
    scale
        σ/τ, where it is known though σ or τ is not.
    pooled
        What all decisions of a kind tell about the noise, by kind; empty where each tells its own.
    strength
        Of the errors that voters share.
    leniency
        The standard deviation of the constant that voters add to all their values.
    lenient
        Its variance over that of a mean of typical count, where σ is unknown.
    doubt
        The probability that a vote is any of those that were possible.
    """

    sigma: float | tuple[float, ...] | None
    tau: float | None
    cap: float | None = None
    counts: Counts | None = None
    between: Any = 0.0
    estimate: Estimate = "mean"
    scale: float | None = None
    pooled: Mapping[str, PooledNoise] = field(default_factory=dict)
    strength: float = 0.0
    leniency: float = 0.0
    lenient: float = 0.0
    doubt: float = 0.0

    def means(self, sigma: Array) -> VoterMeans:
        """Return how voters' means spread for this σ, ``(..., alternative)``, but for their leniency."""
        return VoterMeans(sigma[..., None, :], self.cap, self.counts, self.between, doubt=self.doubt)

    def leniency_for(self, ballots: Ballots, sigma: Array) -> Array:
        """Return the variance of voters' leniency, ``(...)``."""
        xp = namespace(ballots.counts)
        if not self.lenient:
            return xp.full(sigma.shape[:-1], self.leniency**2, dtype=sigma.dtype)
        typical = xp.exp(log_typical_count(ballots))
        return self.leniency**2 + self.lenient * geometric_mean(sigma, ballots.mask) ** 2 / typical

    def model(self, ballots: Ballots, sigma: Array, tau: Array) -> Model:
        """Return how votes come about at some σ and τ."""
        means = with_leniency(self.means(sigma), self.leniency_for(ballots, sigma))
        return Model.of(ballots, tau, means, self.strength)


@dataclass(frozen=True)
class Unknown:
    """What is unknown of the noise, u = log(σ/τ) from a middle on: σ, where nothing tells it, else τ.

    Attributes
    ----------
    middle
        Where its logarithm is expected, ``(decision,)``.
    sigma
        σ where it is known, ``(decision, alternative)``, so that τ is not; else None.
    tau
        τ where σ is not known.
    alternatives
        How many there are.
    """

    middle: Array
    sigma: Array | None
    tau: float
    alternatives: int

    def u(self, logarithm: Array | float) -> Array:
        """Return u where log σ, or log τ, is known, ``(..., decision)``."""
        return logarithm - self.middle if self.sigma is None else self.middle - logarithm

    def prior(self, pooled: PooledNoise | None) -> NoisePrior:
        """Return what is known of u beforehand; that votes may be nothing but noise, where they do not tell σ."""
        if pooled is None:
            return DOUBTFUL if self.sigma is None else WEAK
        return NoisePrior(self.u(pooled.log_centre), pooled.log_deviation)

    def scale(self, quantiles: Array, mask: Array) -> Array:
        """Return σ/τ at quantiles of u, ``(decision, quantile)``."""
        sigma, tau = self.at(quantiles, np.arange(len(self.middle)))
        return namespace(tau).moveaxis(geometric_mean(sigma, mask) / tau, 0, -1)

    def at(self, u: Array, rows: Array) -> tuple[Array, Array]:
        """Return σ ``(value, decision, alternative)`` and τ ``(value, decision)`` of some decisions."""
        xp = namespace(u)
        if self.sigma is None:
            sigma = xp.exp(self.middle[rows] + u)[..., None]
            return xp.broadcast_to(sigma, (*u.shape, self.alternatives)), xp.full_like(u, self.tau)
        return xp.broadcast_to(self.sigma[rows], (len(u), *self.sigma[rows].shape)), xp.exp(self.middle[rows] - u)


def kind_of(ballots: Ballots) -> str:
    """Return the kinds of votes that there are."""
    parts = ballots.parts if isinstance(ballots, Mixed) else (ballots,)
    return "+".join(type(part).__name__.lower() for part in parts)


def known_sigma(ballots: Ballots, given: Assumptions) -> tuple[Array | None, Array]:
    """Return σ as given or as values tell it, ``(..., alternative)``, None if unknown, and its freedom."""
    xp = namespace(ballots.counts)
    shape = ballots.mask.shape
    sure = xp.full(shape[:-1], xp.inf, dtype=ballots.counts.dtype)
    if given.sigma is not None:
        return xp.broadcast_to(xp.asarray(given.sigma, dtype=sure.dtype), shape), sure
    counted = worth(ballots, given)
    measured = counted.measurements()
    if measured is None:
        return None, sure
    found = _shrunk(_dispersion(ballots, given, *measured), ballots.mask, given.pooled.get(kind_of(ballots)))
    # Where nothing tells σ, the noise of a typical mean is taken to be as large as the spread of the truths.
    level = xp.exp(log_typical_count(counted) / 2) * spread_of_means(*measured, ballots.multiplicity) / 2**0.5
    sigma = xp.where((found.freedom > 0)[..., None], found.sigma, level[..., None])
    return xp.broadcast_to(sigma, shape), found.freedom


def _dispersion(ballots: Ballots, given: Assumptions, values: Array, counts: Array) -> Dispersion:
    """Estimate σ from values, ``(..., voter, column)``, whose errors voters may share, or add a constant to."""
    own = ballots.part(Values)
    shared = ballots.loadings is not None and given.strength > 0
    if own is None or not (shared or given.lenient):
        return dispersion(values, counts, ballots.multiplicity)
    xp = namespace(values)
    # Truths of which nothing is known, and shared errors, by least squares where σ is 1.
    sigma = xp.ones(own.mask.shape, dtype=values.dtype)
    model = given.model(own, sigma, sigma[..., 0])
    times = own.multiplicity[..., None]
    shift, precision = exact_sites(own, model)
    total = model.lift.gather_matrix(times[..., None] * precision)
    total = total + _without_truths(model, own)
    theta = solve(total, model.lift.gather(times * shift))
    rest = xp.where(own.given, own.votes - model.lift.see(theta), 0)
    n = own.mask.shape[-1]
    errors = theta[..., n:].reshape(*theta.shape[:-1], -1, n)
    squares = xp.sum(times * _own_squares(own, model, rest), axis=-2) + xp.sum(errors**2, axis=-2)
    # Of voters who all say the same, only rounding is left.
    rounding = _ROUNDING * xp.sum(xp.where(own.given, times * own.counts * own.votes**2, 0), axis=(-2, -1))
    squares = xp.where(xp.sum(squares, axis=-1) > rounding, 1.0, 0.0)[..., None] * squares
    return from_squares(squares, xp.where(own.given, times, 0))


def _own_squares(values: Values, model: Model, rest: Array) -> Array:
    """Return squares of residuals over their variances, ``(..., voter, alternative)``, leniency taken out.

    With precisions p_j and a variance v of leniency, whose estimate is β = v Σ p_j r_j/(1 + v Σ p_j), they come to
    Σ p_j (r_j − β)² + β²/v, of which each value has an equal share of the last.
    """
    xp = namespace(rest)
    precision = xp.where(values.given, model.means.spread(values.counts).precision, 0)
    variance = xp.asarray(model.means.leniency, dtype=rest.dtype)[..., None]
    known = 1 + variance * xp.sum(precision, axis=-1)
    pull = xp.sum(precision * rest, axis=-1)
    number = xp.sum(xp.astype(values.given, rest.dtype), axis=-1)
    prior = variance * pull**2 / known**2 / xp.where(number > 0, number, 1)
    lenient = (variance * pull / known)[..., None]
    return xp.where(values.given, precision * (rest - lenient) ** 2 + prior[..., None], 0)


def _without_truths(model: Model, ballots: Ballots) -> Array:
    """Return the precision of shared errors alone, before votes, and of truths that nobody saw."""
    xp = namespace(ballots.counts)
    seen = xp.any((ballots.counts > 0) & (ballots.multiplicity > 0)[..., None], axis=-2)
    size, n = model.lift.size(seen.shape[-1]), seen.shape[-1]
    alone = xp.concat([~seen, xp.ones((*seen.shape[:-1], size - n), dtype=bool)], axis=-1)
    return from_diagonal(xp.astype(alone, ballots.counts.dtype))


def unknown_noise(ballots: Ballots, given: Assumptions, sigma: Array | None) -> Unknown:
    """Return what is to be searched for: σ if nothing tells it, with τ given or 1, else τ."""
    xp = namespace(ballots.counts)
    counted = worth(ballots, given)
    n = ballots.mask.shape[-1]
    if sigma is None:
        tau = 1.0 if given.tau is None else float(given.tau)
        return Unknown(log_typical_count(counted) / 2 + np.log(tau), None, tau, n)
    measured = counted.measurements()
    middle = xp.log(geometric_mean(sigma, ballots.mask)) - log_typical_count(counted) / 2
    if measured is not None:
        spread = spread_of_means(*measured, counted.multiplicity)
        middle = xp.log(xp.maximum(spread, noise_of_means(counted, sigma)))
    return Unknown(middle, sigma, np.nan, n)


def look_at(few: Ballots, given: Assumptions, unknown: Unknown, u: Array, rows: Array, near: Looks | None) -> Looks:
    """Look at values of u of some decisions, roughly."""
    several = (few if len(rows) == len(few.mask) else few.map(itemgetter(rows))).stacked(len(u))
    sigma, tau = unknown.at(u, rows)
    model = given.model(several, sigma, tau)
    start = None if near is None else Near(near.mean, near.covariance)
    known = moments(several, model, given.estimate, rough=True, near=start)
    covariance = inverse(known.precision)
    slope = slope_of_evidence(known.mean, covariance, model, several.mask)
    return Looks(u, known.log_evidence, slope, known.mean, covariance)


def evidence_of_noise(few: Ballots, given: Assumptions, unknown: Unknown) -> Array | None:
    """Return the log-evidence of votes that are nothing but noise, if that is another than at the largest u; else None.

    Who shares errors, even with no truth behind them, does not vote by pure noise.
    """
    if few.loadings is None or not given.strength:
        return None
    every = np.arange(len(few.mask))
    u = namespace(few.counts).full((1, len(every)), REACH[1], dtype=few.counts.dtype)
    return look_at(few, replace(given, strength=0.0), unknown, u, every, None).log_evidence[0]


def are_many(ballots: Ballots) -> Array:
    """Say in which decisions there are so many votes that some voters tell the noise, ``(...)``."""
    many = voters_of(ballots) > most_voters(ballots)
    return many if is_jax(ballots.counts) else many | (np.sum(ballots.multiplicity, axis=-1) > _VERY_MANY)


def some_voters(ballots: Ballots) -> Ballots:
    """Return some of the voters where there are very many votes, evenly chosen from those who say something.

    Evenly by how they agree with all others, so that the order of voters and alternatives does not matter.
    """
    if not np.any(are_many(ballots)):
        return ballots
    voters, most = voters_of(ballots), most_voters(ballots)
    if not is_jax(ballots.counts):  # ballots that stand for very many tell no more than those that stand for many
        whole = np.sum(ballots.multiplicity, axis=-1, keepdims=True)
        ballots = ballots.weighed(ballots.multiplicity * np.minimum(1, _VERY_MANY / np.maximum(whole, 1)))
    if not np.any(voters > most):
        return ballots
    xp = namespace(ballots.counts)
    step = xp.asarray(-(-voters // most))[..., None]
    if is_jax(ballots.counts):  # simulated voters, of whom anyone is as good as another
        present = xp.ones(ballots.multiplicity.shape, dtype=bool)
        place = xp.cumulative_sum(xp.astype(present, xp.int32), axis=-1) - 1
    else:
        present = ballots.multiplicity > 0
        place = _places_by_agreement(ballots, present)
    chosen = present & (place % step == 0)
    number = int(np.max(-(-voters // -(-voters // most))))
    first = xp.argsort(xp.astype(~chosen, xp.int32), axis=-1, stable=True)[..., :number]
    return ballots.weighed(xp.where(chosen, ballots.multiplicity, 0)).take_voters(first)


def _places_by_agreement(ballots: Ballots, present: Array) -> Array:
    """Return the place of each voter among those present, ``(..., voter)``, by how the ballot agrees with all others.

    An alternative's standing is the mean share of alternatives that voters put it above. Ballots that agree with that
    equally are ordered by further sums that do not depend on the order of alternatives.
    """
    ranks, counts = ballots.ranked()
    seen = (counts > 0) & present[..., None]
    number = np.sum(seen, axis=-1, keepdims=True)
    above = np.where(seen, (number + 1 - 2 * ranks) / np.maximum(number, 1), 0)  # from −1, the last, to 1, the first
    times = np.where(seen, ballots.multiplicity[..., None], 0)
    whole = np.sum(times, axis=-2, keepdims=True)
    standing = np.sum(times * above, axis=-2, keepdims=True) / np.where(whole > 0, whole, 1)
    details = [above, seen, np.where(seen, counts, 0)]
    measured = ballots.measurements()
    if measured is not None:
        details.append(np.where(np.isnan(measured[0]), 0, measured[0]))
    keys = [
        _sums(standing**power * detail if detail.shape == seen.shape else detail)
        for power in (1, 2, 3, 0)
        for detail in details
    ]
    order = np.lexsort((ballots.multiplicity, *reversed(keys), ~present), axis=-1)
    return np.argsort(order, axis=-1)


def _sums(x: Array) -> Array:
    """Return sums over alternatives, ``(..., voter)``, rounded so that their order does not matter."""
    size = np.max(np.sum(np.abs(x), axis=-1), axis=-1, keepdims=True)
    return np.round(np.sum(x, axis=-1) / np.where(size > 0, size, 1), 9)


def voters_of(ballots: Ballots) -> Array:
    """Return how many ballots say something, ``(...)``; in JAX, whose programs have one shape, how many there are."""
    if is_jax(ballots.counts):
        return np.full(ballots.mask.shape[:-1], ballots.counts.shape[-2])
    return np.sum(ballots.multiplicity > 0, axis=-1)


def most_voters(ballots: Ballots) -> Array:
    """Return of how many voters the scale is found, at most, ``(...)``: the fewer, the more each of them says."""
    if is_jax(ballots.counts):
        return np.maximum(_LEAST, _MANY // np.full(ballots.mask.shape[:-1], max(ballots.counts.shape[-1], 1)))
    votes = np.sum((ballots.counts > 0) & (ballots.multiplicity > 0)[..., None], axis=(-2, -1))
    return np.maximum(_LEAST, _MANY * voters_of(ballots) // np.maximum(votes, 1))


def worth(ballots: Ballots, given: Assumptions) -> Ballots:
    """Count observations for what they are worth if voters differ besides."""
    return ballots.with_counts(effective(ballots.counts, given.between))


def _shrunk(found: Dispersion, mask: Array, common: PooledNoise | None) -> Dispersion:
    """Draw σ to what decisions have in common."""
    if common is None or common.sigma is None or common.freedom is None:
        return found
    level = geometric_mean(found.sigma, mask)
    freedom = found.freedom + common.freedom
    square = (common.freedom * common.sigma**2 + found.freedom * level**2) / freedom
    return Dispersion(found.sigma * (np.sqrt(square) / level)[..., None], freedom)
