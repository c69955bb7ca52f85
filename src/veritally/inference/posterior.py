"""From votes and assumptions to the posterior: mean and covariance of the truths at each value the noise may have."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.inference.dispersion import geometric_mean, noise_of_means
from veritally.inference.mixture import PosteriorMixture, grouped, joined
from veritally.inference.noise import (
    Assumptions,
    Unknown,
    are_many,
    evidence_of_noise,
    kind_of,
    known_sigma,
    look_at,
    some_voters,
    unknown_noise,
)
from veritally.inference.optimiser import mode
from veritally.inference.propagation import Moments, Near, moments, reach
from veritally.inference.scale import REACH, NoisePrior, look_around, stand_ins
from veritally.likelihood.chain import FEW
from veritally.progress import stretch
from veritally.votes.ballots import Ballots

_COMMON = 3  # values that are enough if many decisions give the noise better than one can
_ROUGH = 3.0  # by which log-evidence may be off where it was looked at roughly
_NEGLIGIBLE = 1e-3  # probability
_SEARCH = 0.5  # of the work, about, to find the noise


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
    found = []
    for number, group in enumerate(groups):
        with stretch(number / len(groups), (number + 1) / len(groups)):
            found.append(_infer_alike(group.ballots, given))
    return joined(groups, found, ballots)


def infer_mode(ballots: Ballots, given: Assumptions) -> Array:
    """Return the mode alone, where σ and τ are known, to a thousandth of a standard deviation."""
    xp = namespace(ballots.counts)
    sigma, _ = known_sigma(ballots, given)
    assert sigma is not None
    assert given.tau is not None
    tau = xp.full(ballots.mask.shape[:-1], float(given.tau), dtype=ballots.counts.dtype)
    return mode(ballots, given.model(ballots, sigma, tau))


def most_probable(posteriors: Sequence[PosteriorMixture]) -> PosteriorMixture:
    """Return the one of several, each with another value of a nuisance parameter, that makes the votes most probable.

    The parameter is one for all decisions; its evidence is that of all of them, averaged over their scales.
    """
    if len(posteriors) == 1:
        return posteriors[0]
    return posteriors[int(np.argmax([float(np.sum(np.asarray(one.log_evidence))) for one in posteriors]))]


def _infer_alike(ballots: Ballots, given: Assumptions) -> PosteriorMixture:
    """Do so for decisions that go the same way, along one batch axis."""
    batch = ballots.mask.shape[:-1]
    if len(batch) != 1:
        flat = ballots.map(lambda x: x.reshape(math.prod(batch), *x.shape[len(batch) :]))
        return _infer_alike(flat, given).in_shape(batch)
    level = ballots.level()
    if level is not None:  # from which values are measured, so that no digits are lost
        found = _infer_alike(ballots.shifted(-level), given)
        return found._replace(moments=found.moments.shifted(level[..., None]))
    xp = namespace(ballots.counts)
    few = some_voters(ballots)
    sigma, freedom = known_sigma(ballots, given)  # which is quick, so that all voters tell it
    tau = None if given.tau is None else xp.full(batch, float(given.tau), dtype=ballots.counts.dtype)
    if given.scale is not None:
        if sigma is None:
            tau = xp.ones(batch, dtype=ballots.counts.dtype) if tau is None else tau
            sigma = xp.broadcast_to((given.scale * tau)[:, None], ballots.mask.shape)
        tau = geometric_mean(sigma, ballots.mask) / given.scale if tau is None else tau
    if sigma is not None and tau is not None:
        return _at_scales(ballots, given, sigma[None], tau[None], xp.ones_like(tau[None]), freedom)
    unknown = unknown_noise(few, given, sigma)
    common = given.pooled.get(kind_of(ballots))
    prior = unknown.prior(common)
    every = np.arange(batch[0])
    if few is ballots and common is not None and common.log_deviation <= _told_apart(ballots):
        return _at_common_noise(ballots, given, unknown, prior, freedom)
    with stretch(0, _SEARCH):
        seen = look_around(partial(look_at, few, given, unknown), prior, batch[0], unknown.middle)
    values = stand_ins(seen, prior, evidence_of_noise(few, given, unknown) if prior.nothing else None)
    near = values.near
    quantiles = values.quantiles if sigma is None else _wider(values.quantiles, ballots, unknown, freedom)
    noise_found = {"scale": unknown.scale(quantiles, ballots.mask), "p_noise": values.p_noise}
    if few is ballots:
        start = Near(near.mean, near.covariance)
        with stretch(_SEARCH, 1):
            found = _at_scales(ballots, given, *unknown.at(near.u, every), values.weight, freedom, start)
        more = found.moments.log_evidence - near.log_evidence
        weight = values.weight * xp.exp(xp.where(xp.isnan(more), 0, xp.clip(more, -_ROUGH, _ROUGH)))
        weight = weight / xp.sum(weight, axis=0)
        return found._replace(weight=weight, log_evidence=values.log_evidence, **noise_found)
    # Of very many voters, some were enough for the noise; all of them are used for the truths.
    u = xp.stack([values.quantiles[0], xp.full_like(values.p_noise, REACH[1])])
    noise = xp.where(values.p_noise > _NEGLIGIBLE, values.p_noise, 0)
    return _at_scales(ballots, given, *unknown.at(u, every), xp.stack([1 - noise, noise]), freedom)._replace(
        **noise_found
    )


def _wider(quantiles: Array, ballots: Ballots, unknown: Unknown, freedom: Array) -> Array:
    """Return quantiles of u, ``(3, decision)``, that allow for the error of σ, which was estimated too.

    Where σ is larger than estimated, τ is smaller: by the part of the variance between mean values that is noise.
    """
    xp = namespace(quantiles)
    sigma, tau = unknown.at(quantiles[:1], np.arange(len(freedom)))
    noise = (noise_of_means(ballots, sigma[0]) / tau[0]) ** 2
    known = xp.isfinite(freedom) & (freedom > 0)
    error = xp.where(known, 1.96 * (1 + noise) / xp.sqrt(2 * xp.where(known, freedom, 1)), 0)
    middle = quantiles[0]
    low, high = (xp.sqrt((end - middle) ** 2 + error**2) for end in (quantiles[1], quantiles[2]))
    return xp.stack([middle, middle - low, middle + high])


def _told_apart(ballots: Ballots) -> float:
    """Return how well one decision tells the logarithm of the noise at best, as a standard deviation."""
    return float((2 * max(ballots.mask.shape[-1] - 1, 1)) ** -0.5)


def _at_common_noise(
    ballots: Ballots, given: Assumptions, unknown: Unknown, prior: NoisePrior, freedom: Array
) -> PosteriorMixture:
    """Find what the truths are if the noise is known from many decisions: three values of it are enough."""
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
        known = moments(several, given.model(several, sigma, tau), given.estimate, near=near)
        return _found(ballots, given, weight, sigma, tau, known, freedom, number)
    # The others are as one that has.
    value, decision = np.nonzero(weight > 0)
    place = np.zeros(weight.shape, dtype=int)
    place[value, decision] = np.arange(len(value))
    place = np.where(weight > 0, place, np.max(place, axis=0))
    some = ballots.map(lambda x: x[decision])
    sigma, tau = sigma[value, decision], tau[value, decision]
    near = None if near is None else Near(*(x[value, decision] for x in near))
    known = moments(some, given.model(some, sigma, tau), given.estimate, near=near)
    known = Moments(*(None if x is None else x[place] for x in known))
    number = np.full(weight.shape[1], len(weight))
    return _found(ballots, given, weight, sigma[place], tau[place], known, freedom, number)


def _found(
    ballots: Ballots,
    given: Assumptions,
    weight: Array,
    sigma: Array,
    tau: Array,
    known: Moments,
    freedom: Array,
    number: Array,
) -> PosteriorMixture:
    """Put together what was found at values of the scale."""
    xp = namespace(tau)
    return PosteriorMixture(
        weight,
        sigma,
        tau,
        known,
        known.log_evidence[0],
        freedom,
        number,
        _scale(sigma[0], tau[0], ballots.mask),
        0 * tau[0],
        given.means(sigma[0]),
        xp.full(tau.shape, given.strength, dtype=tau.dtype),
        given.leniency_for(ballots, sigma),
    )


def _scale(sigma: Array, tau: Array, mask: Array) -> Array:
    """Return σ/τ where it is known, three times, ``(decision, 3)``."""
    ratio = geometric_mean(sigma, mask) / tau
    return namespace(ratio).stack([ratio] * 3, axis=-1)


def _way(ballots: Ballots) -> Array:
    """Return a number for the way that each decision of a batch goes, ``(...)``, which is the way it would go alone."""
    wanted, reached = reach(ballots)
    few = np.minimum(np.sum(ballots.mask, axis=-1), FEW + 1)  # alternatives, for which there are closed forms
    return (wanted & reached) + 2 * are_many(ballots) + 4 * few + 4 * (FEW + 2) * ballots.composition()
