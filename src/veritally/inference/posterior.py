"""From votes and assumptions to the posterior: the scale where it is unknown, the mode, and from there the mean."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.inference.dispersion import (
    dispersion,
    geometric_mean,
    log_typical_count,
    noise_of_means,
    spread_of_means,
)
from veritally.inference.mixture import PosteriorMixture, grouped, joined
from veritally.inference.optimiser import Peak, mode, peak
from veritally.inference.propagation import Estimate, moments, reach
from veritally.inference.scale import search
from veritally.model.means import Counts, VoterMeans, effective
from veritally.model.model import Model
from veritally.votes.ballots import Ballots

_MANY = 3000  # votes beyond which a part of the voters tells the scale well enough
_LEAST = 100  # voters who do so


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
    """

    sigma: float | tuple[float, ...] | None
    tau: float | None
    cap: float | None = None
    counts: Counts | None = None
    between: Any = 0.0
    estimate: Estimate = "mean"

    def means(self, sigma: Array) -> VoterMeans:
        """Return how voters' means spread for this σ, ``(..., alternative)``."""
        return VoterMeans(sigma[..., None, :], self.cap, self.counts, self.between)


@dataclass(frozen=True)
class _Scale:
    """The one-dimensional unknown: σ, where τ is known or no votes tell σ by their dispersion, else τ.

    Attributes
    ----------
    centre
        Where its logarithm is expected, ``(...)``.
    sigma, tau
        What both are at logarithms of the scale, ``(value, ...)``.
    """

    centre: Array
    sigma: Callable[[Array], Array]
    tau: Callable[[Array], Array]


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


def _infer_alike(ballots: Ballots, given: Assumptions) -> PosteriorMixture:
    """Do so for decisions that go the same way."""
    xp = namespace(ballots.counts)
    few = _some_voters(ballots)
    sigma, freedom = _known_sigma(_worth(few, given), given)
    if sigma is not None and given.tau is not None:
        tau = xp.full((1, *ballots.mask.shape[:-1]), float(given.tau), dtype=ballots.counts.dtype)
        return _at_scales(ballots, given, sigma[None], tau, freedom)
    scale = _unknown_scale(few, given, sigma)

    def at(log: Array, start: Array, tolerance: float) -> Peak:
        several = few.stacked(len(log))
        model = Model.of(several, scale.tau(log), given.means(scale.sigma(log)))
        return peak(several, model, start, tolerance)

    scales = search(at, scale.centre, xp.zeros(few.mask.shape, dtype=scale.centre.dtype))
    if few is ballots:
        found = _at_scales(ballots, given, scale.sigma(scales.log), scale.tau(scales.log), freedom, scales.peak)
        return found._replace(weight=scales.weight, log_evidence=scales.log_evidence)
    # Of very many voters, some have told the scale; all of them tell the truths.
    log = xp.sum(scales.weight * scales.log, axis=0)[None]
    start = scales.peak.truth[:1]
    return _at_scales(ballots, given, scale.sigma(log), scale.tau(log), freedom, start=start)


def _at_scales(
    ballots: Ballots,
    given: Assumptions,
    sigma: Array,
    tau: Array,
    freedom: Array,
    found: Peak | None = None,
    start: Array | None = None,
) -> PosteriorMixture:
    """Go on from the peak at each value of the scale, where it is found, to the mean; values have equal weights."""
    xp = namespace(tau)
    several = ballots.stacked(len(tau))
    model = Model.of(several, tau, given.means(sigma))
    found = peak(several, model, start) if found is None else found
    known = moments(several, model, found, given.estimate)
    weight = xp.ones_like(tau) / len(tau)
    number = np.full(ballots.mask.shape[:-1], len(tau))
    return PosteriorMixture(weight, sigma, tau, known, found.log_evidence[0], freedom, number, model.means)


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
    found = dispersion(*measured, ballots.multiplicity)
    # Where nothing tells σ, the noise of a typical mean is taken to be as large as the spread of the truths.
    level = xp.exp(log_typical_count(ballots) / 2) * spread_of_means(*measured, ballots.multiplicity) / 2**0.5
    sigma = xp.where((found.freedom > 0)[..., None], found.sigma, level[..., None])
    return xp.broadcast_to(sigma, shape), found.freedom


def _unknown_scale(ballots: Ballots, given: Assumptions, sigma: Array | None) -> _Scale:
    """Return what is to be searched for: σ if nothing tells it, with τ given or 1, else τ."""
    xp = namespace(ballots.counts)
    worth = _worth(ballots, given)
    n = ballots.mask.shape[-1]
    if sigma is None:
        tau = 1.0 if given.tau is None else float(given.tau)
        return _Scale(
            log_typical_count(worth) / 2 + np.log(tau),
            lambda log: xp.broadcast_to(xp.exp(log)[..., None], (*log.shape, n)),
            lambda log: xp.full_like(log, tau),
        )
    measured = worth.measurements()
    centre = xp.log(geometric_mean(sigma, ballots.mask)) - log_typical_count(worth) / 2
    if measured is not None:
        spread = spread_of_means(*measured, worth.multiplicity)
        centre = xp.log(xp.maximum(spread, noise_of_means(worth, sigma)))
    return _Scale(centre, lambda log: xp.broadcast_to(sigma, (len(log), *sigma.shape)), xp.exp)


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
