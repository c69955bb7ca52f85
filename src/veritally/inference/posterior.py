"""From votes and assumptions to the posterior: the scale where it is unknown, the mode, and from there the mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.inference.dispersion import (
    Dispersion,
    common_dispersion,
    dispersion,
    geometric_mean,
    log_typical_count,
    noise_of_means,
    spread_of_means,
)
from veritally.inference.linear import inverse
from veritally.inference.mixture import PosteriorMixture, grouped, joined
from veritally.inference.optimiser import mode
from veritally.inference.propagation import Estimate, Moments, Near, moments, reach, slope_of_evidence
from veritally.inference.scale import (
    DOUBTFUL,
    REACH,
    WEAK,
    Looks,
    NoisePrior,
    PooledNoise,
    look_around,
    pooled,
    stand_ins,
)
from veritally.model.means import Counts, VoterMeans, effective
from veritally.model.model import Model
from veritally.votes.ballots import Ballots
from veritally.votes.mixed import Mixed

_MANY = 3000  # votes beyond which a part of the voters tells the scale well enough
_LEAST = 100  # voters who do so
POOLED = 20  # decisions of a kind, from which on their noise is pooled where that is asked
_TELLING = 256  # of them that tell it
_COMMON = 3  # values that do where many decisions have told the noise better than one can
_ROUGH = 3.0  # by which log-evidence may be off where it was looked at roughly


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
    """

    sigma: float | tuple[float, ...] | None
    tau: float | None
    cap: float | None = None
    counts: Counts | None = None
    between: Any = 0.0
    estimate: Estimate = "mean"
    scale: float | None = None
    pooled: Mapping[str, PooledNoise] = field(default_factory=dict)

    def means(self, sigma: Array) -> VoterMeans:
        """Return how voters' means spread for this σ, ``(..., alternative)``."""
        return VoterMeans(sigma[..., None, :], self.cap, self.counts, self.between)


@dataclass(frozen=True)
class _Unknown:
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

    def take(self, rows: Array) -> "_Unknown":
        """Keep some decisions."""
        return replace(self, middle=self.middle[rows], sigma=None if self.sigma is None else self.sigma[rows])

    def u(self, logarithm: Array | float) -> Array:
        """Return u where log σ, or log τ, is known, ``(..., decision)``."""
        return logarithm - self.middle if self.sigma is None else self.middle - logarithm

    def prior(self, pooled: PooledNoise | None) -> NoisePrior:
        """Return what is known of u beforehand; that votes may be nothing but noise, where they do not tell σ."""
        if pooled is None:
            return DOUBTFUL if self.sigma is None else WEAK
        return NoisePrior(self.u(pooled.centre), pooled.deviation, 0.0)

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


def infer(ballots: Ballots, given: Assumptions) -> PosteriorMixture:
    """Find mean and precision of the truths, and the scale where it is not known.

    ``ballots`` have their effective multiplicity. Decisions of a batch that alone would go another way go by
    themselves, so that what else is in the batch does not matter.
    """
    way = None if is_jax(ballots.counts) else _way(ballots)
    if way is None or len(np.unique(way)) <= 1:
        return _infer_alike(ballots.simplest(), given)
    groups = grouped(ballots, way, cut=not isinstance(given.sigma, tuple))  # else there is one σ for each alternative
    groups = [group._replace(ballots=group.ballots.simplest()) for group in groups]
    return joined(groups, [_infer_alike(group.ballots, given) for group in groups], ballots)


def infer_mode(ballots: Ballots, given: Assumptions) -> Array:
    """Return the mode alone, where σ and τ are known, to a thousandth of a standard deviation."""
    xp = namespace(ballots.counts)
    sigma, _ = _known_sigma(_worth(ballots, given), given)
    assert sigma is not None
    assert given.tau is not None
    tau = xp.full(ballots.mask.shape[:-1], float(given.tau), dtype=ballots.counts.dtype)
    return mode(ballots, Model.of(ballots, tau, given.means(sigma)))


def most_probable(posteriors: Sequence[PosteriorMixture]) -> PosteriorMixture:
    """Return the one of several, each with another value of a nuisance parameter, that makes the votes most probable.

    The parameter is one for all decisions; its evidence is that of all of them, averaged over their scales.
    """
    if len(posteriors) == 1:
        return posteriors[0]
    return posteriors[int(np.argmax([float(np.sum(np.asarray(one.log_evidence))) for one in posteriors]))]


def pool(ballots: Ballots, given: Assumptions) -> dict[str, PooledNoise]:
    """Find one noise for all decisions of a kind, by kind, where there are at least twenty."""
    found = {}
    flat = ballots.map(lambda x: x.reshape(-1, *x.shape[ballots.mask.ndim - 1 :]))
    for group in grouped(flat, _way(flat), cut=not isinstance(given.sigma, tuple)):
        votes = group.ballots.simplest()
        number = len(votes.mask)
        chosen = np.unique(np.linspace(0, number - 1, min(number, _TELLING)).astype(int))
        few, kind = _some_voters(votes.map(itemgetter(chosen))), _kind(votes)
        sigma, freedom = _known_sigma(_worth(few, given), given)
        if number < POOLED or (sigma is not None and given.tau is not None):
            continue
        common: tuple[float, float] | tuple[()] = ()
        if sigma is not None and np.sum(np.isfinite(freedom) & (freedom > 0)) >= POOLED:
            told = np.isfinite(freedom) & (freedom > 0)
            common = common_dispersion(geometric_mean(sigma, few.mask)[told], freedom[told])
            known = PooledNoise(kind, "tau", 0, 0, 0, 0, number, *common)
            sigma, _ = _known_sigma(_worth(few, given), replace(given, pooled={kind: known}))
        unknown = _unknown_noise(few, given, sigma)
        seen = look_around(partial(_look, few, given, unknown), WEAK, len(chosen), unknown.middle)
        ends = np.concat([np.ravel(unknown.middle + end) for end in REACH])

        def evidence(log: Array, unknown: _Unknown = unknown, seen: Looks = seen) -> Array:
            return seen.evidence(np.clip(unknown.u(log), *REACH))

        what = "sigma" if sigma is None else "tau"
        middle = pooled(evidence, float(np.min(ends)), float(np.max(ends)))
        found[kind] = PooledNoise(kind, what, *middle, number, *common)
    return found


def _kind(ballots: Ballots) -> str:
    """Return the kinds of votes that there are."""
    parts = ballots.parts if isinstance(ballots, Mixed) else (ballots,)
    return "+".join(type(part).__name__.lower() for part in parts)


def _look(few: Ballots, given: Assumptions, unknown: _Unknown, u: Array, rows: Array, near: Looks | None) -> Looks:
    """Look at values of u of some decisions, roughly."""
    several = (few if len(rows) == len(few.mask) else few.map(itemgetter(rows))).stacked(len(u))
    sigma, tau = unknown.at(u, rows)
    model = Model.of(several, tau, given.means(sigma))
    start = None if near is None else Near(near.mean, near.covariance)
    known = moments(several, model, given.estimate, rough=True, near=start)
    covariance = inverse(known.precision)
    slope = slope_of_evidence(known.mean, covariance, model, several.mask)
    return Looks(u, known.log_evidence, slope, known.mean, covariance)


def _infer_alike(ballots: Ballots, given: Assumptions) -> PosteriorMixture:
    """Do so for decisions that go the same way, along one batch axis."""
    batch = ballots.mask.shape[:-1]
    if len(batch) != 1:
        flat = ballots.map(lambda x: x.reshape(-1, *x.shape[len(batch) :]))
        return _infer_alike(flat, given).in_shape(batch)
    xp = namespace(ballots.counts)
    few = _some_voters(ballots)
    sigma, freedom = _known_sigma(_worth(few, given), given)
    tau = None if given.tau is None else xp.full(batch, float(given.tau), dtype=ballots.counts.dtype)
    if given.scale is not None:
        if sigma is None:
            tau = xp.ones(batch, dtype=ballots.counts.dtype) if tau is None else tau
            sigma = xp.broadcast_to((given.scale * tau)[:, None], ballots.mask.shape)
        tau = geometric_mean(sigma, ballots.mask) / given.scale if tau is None else tau
    if sigma is not None and tau is not None:
        return _at_scales(ballots, given, sigma[None], tau[None], xp.ones_like(tau[None]), freedom)
    unknown = _unknown_noise(few, given, sigma)
    common = given.pooled.get(_kind(ballots))
    prior = unknown.prior(common)
    every = np.arange(batch[0])
    if few is ballots and common is not None and common.deviation <= _told_apart(ballots):
        return _at_common_noise(ballots, given, unknown, prior, freedom)
    values = stand_ins(look_around(partial(_look, few, given, unknown), prior, batch[0], unknown.middle), prior)
    near = values.near
    said = {"scale": unknown.scale(values.quantiles, ballots.mask), "p_noise": values.p_noise}
    if few is ballots:
        start = Near(near.mean, near.covariance)
        found = _at_scales(ballots, given, *unknown.at(near.u, every), values.weight, freedom, start)
        more = found.moments.log_evidence - near.log_evidence
        weight = values.weight * xp.exp(xp.where(xp.isnan(more), 0, xp.clip(more, -_ROUGH, _ROUGH)))
        weight = weight / xp.sum(weight, axis=0)
        return found._replace(weight=weight, log_evidence=values.log_evidence, **said)
    # Of very many voters, some have told the noise; all of them tell the truths.
    u = values.quantiles[:1]
    return _at_scales(ballots, given, *unknown.at(u, every), xp.ones_like(u), freedom)._replace(**said)


def _told_apart(ballots: Ballots) -> float:
    """Return how well one decision tells the logarithm of the noise at best, as a standard deviation."""
    return float((2 * max(ballots.mask.shape[-1] - 1, 1)) ** -0.5)


def _at_common_noise(
    ballots: Ballots, given: Assumptions, unknown: _Unknown, prior: NoisePrior, freedom: Array
) -> PosteriorMixture:
    """Find what the truths are where many decisions have told the noise: three values of it will do."""
    nodes, chances = np.polynomial.hermite_e.hermegauss(_COMMON)
    u = prior.centre + prior.deviation * nodes[:, None] + 0 * unknown.middle
    weight = np.repeat(chances[:, None] / np.sum(chances), u.shape[1], axis=1)
    found = _at_scales(ballots, given, *unknown.at(u, np.arange(u.shape[1])), weight, freedom)
    evidence = np.nan_to_num(found.moments.log_evidence, nan=-np.inf)
    top = np.max(evidence, axis=0)
    weight = np.where(np.isinf(top), weight, weight * np.exp(evidence - np.where(np.isinf(top), 0, top)))
    whole = np.sum(weight, axis=0)
    mean = np.sum(weight * u, axis=0) / whole
    reach = 1.96 * np.sqrt(np.sum(weight * (u - mean) ** 2, axis=0) / whole)
    scale = unknown.scale(np.stack([mean, mean - reach, mean + reach]), ballots.mask)
    return found._replace(weight=weight / whole, log_evidence=top + np.log(whole), scale=scale)


def _at_scales(
    ballots: Ballots,
    given: Assumptions,
    sigma: Array,
    tau: Array,
    weight: Array,
    freedom: Array,
    near: Near | None = None,
) -> PosteriorMixture:
    """Find what the truths are at each value of the scale that has a weight, ``(value, decision)``."""
    if is_jax(tau) or (weight > 0).all():
        several, number = ballots.stacked(len(tau)), np.full(tau.shape[1], len(tau))
        model = Model.of(several, tau, given.means(sigma))
        known = moments(several, model, given.estimate, near=near)
        single = known.log_evidence[0], freedom, number, _scale(sigma[0], tau[0], ballots.mask), 0 * tau[0]
        return PosteriorMixture(weight, sigma, tau, known, *single, model.means)
    # The others are as one that has.
    value, decision = np.nonzero(weight > 0)
    place = np.zeros(weight.shape, dtype=int)
    place[value, decision] = np.arange(len(value))
    place = np.where(weight > 0, place, np.max(place, axis=0))
    some = ballots.map(lambda x: x[decision])
    sigma, tau = sigma[value, decision], tau[value, decision]
    near = None if near is None else Near(*(x[value, decision] for x in near))
    known = moments(some, Model.of(some, tau, given.means(sigma)), given.estimate, near=near)
    known = Moments(*(None if x is None else x[place] for x in known))
    number = np.full(weight.shape[1], len(weight))
    sigma, tau = sigma[place], tau[place]
    single = known.log_evidence[0], freedom, number, _scale(sigma[0], tau[0], ballots.mask), 0 * tau[0]
    return PosteriorMixture(weight, sigma, tau, known, *single, given.means(sigma))


def _scale(sigma: Array, tau: Array, mask: Array) -> Array:
    """Return σ/τ where it is known, three times, ``(decision, 3)``."""
    ratio = geometric_mean(sigma, mask) / tau
    return namespace(ratio).stack([ratio] * 3, axis=-1)


def _worth(ballots: Ballots, given: Assumptions) -> Ballots:
    """Count observations for what they are worth if voters differ besides."""
    return ballots.with_counts(effective(ballots.counts, given.between))


def _known_sigma(ballots: Ballots, given: Assumptions) -> tuple[Array | None, Array]:
    """Return σ as given or as values tell it, ``(..., alternative)``, None if unknown, and its freedom."""
    xp = namespace(ballots.counts)
    shape = ballots.mask.shape
    sure = xp.full(shape[:-1], xp.inf, dtype=ballots.counts.dtype)
    if given.sigma is not None:
        return xp.broadcast_to(xp.asarray(given.sigma, dtype=sure.dtype), shape), sure
    measured = ballots.measurements()
    if measured is None:
        return None, sure
    found = _shrunk(dispersion(*measured, ballots.multiplicity), ballots.mask, given.pooled.get(_kind(ballots)))
    # Where nothing tells σ, the noise of a typical mean is taken to be as large as the spread of the truths.
    level = xp.exp(log_typical_count(ballots) / 2) * spread_of_means(*measured, ballots.multiplicity) / 2**0.5
    sigma = xp.where((found.freedom > 0)[..., None], found.sigma, level[..., None])
    return xp.broadcast_to(sigma, shape), found.freedom


def _shrunk(found: Dispersion, mask: Array, common: PooledNoise | None) -> Dispersion:
    """Draw σ to what decisions have in common."""
    if common is None or common.sigma is None or common.freedom is None:
        return found
    level = geometric_mean(found.sigma, mask)
    freedom = found.freedom + common.freedom
    square = (common.freedom * common.sigma**2 + found.freedom * level**2) / freedom
    return Dispersion(found.sigma * (np.sqrt(square) / level)[..., None], freedom)


def _unknown_noise(ballots: Ballots, given: Assumptions, sigma: Array | None) -> _Unknown:
    """Return what is to be searched for: σ if nothing tells it, with τ given or 1, else τ."""
    xp = namespace(ballots.counts)
    worth = _worth(ballots, given)
    n = ballots.mask.shape[-1]
    if sigma is None:
        tau = 1.0 if given.tau is None else float(given.tau)
        return _Unknown(log_typical_count(worth) / 2 + np.log(tau), None, tau, n)
    measured = worth.measurements()
    middle = xp.log(geometric_mean(sigma, ballots.mask)) - log_typical_count(worth) / 2
    if measured is not None:
        spread = spread_of_means(*measured, worth.multiplicity)
        middle = xp.log(xp.maximum(spread, noise_of_means(worth, sigma)))
    return _Unknown(middle, sigma, np.nan, n)


def _way(ballots: Ballots) -> Array:
    """Return a number for the way that each decision of a batch goes, ``(...)``, which is the way it would go alone."""
    wanted, reached = reach(ballots)
    many = _voters(ballots) > _most_voters(ballots)
    return (wanted & reached) + 2 * many + 4 * ballots.composition()


def _voters(ballots: Ballots) -> Array:
    """Return how many ballots say something, ``(...)``; in JAX, whose programs have one shape, how many there are."""
    if is_jax(ballots.counts):
        return np.full(ballots.mask.shape[:-1], ballots.counts.shape[-2])
    return np.sum(ballots.multiplicity > 0, axis=-1)


def _most_voters(ballots: Ballots) -> Array:
    """Return of how many voters the scale is found, at most, ``(...)``."""
    n = ballots.counts.shape[-1] if is_jax(ballots.counts) else np.sum(ballots.mask, axis=-1)
    return np.maximum(_LEAST, _MANY // np.maximum(n, 1))


def _some_voters(ballots: Ballots) -> Ballots:
    """Return some of the voters where there are very many, evenly chosen from those who say something."""
    voters, most = _voters(ballots), _most_voters(ballots)
    if not np.any(voters > most):
        return ballots
    xp = namespace(ballots.counts)
    step = xp.asarray(-(-voters // most))[..., None]
    present = xp.ones(ballots.multiplicity.shape, dtype=bool) if is_jax(ballots.counts) else ballots.multiplicity > 0
    place = xp.cumulative_sum(xp.astype(present, xp.int32), axis=-1) - 1
    chosen = present & (place % step == 0)
    number = int(np.max(-(-voters // -(-voters // most))))
    first = xp.argsort(xp.astype(~chosen, xp.int32), axis=-1, stable=True)[..., :number]
    return ballots.weighed(xp.where(chosen, ballots.multiplicity, 0)).take_voters(first)
