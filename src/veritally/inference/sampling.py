"""Draws of the truths, and what they say: how sure a single decision is.

Around each mean the posterior is taken for normal. For not too many votes that is checked, and mended, by importance
sampling: some of the draws are weighed by the exact posterior. Where few of these count, or votes are more, and they
tell little about each alternative, all draws are Gibbs sampling's.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, Random, namespace
from veritally.inference.belief import Belief, summarised
from veritally.inference.dispersion import geometric_mean
from veritally.inference.gibbs import sample
from veritally.inference.linear import inverse_root
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.propagation import tells_little
from veritally.likelihood.rankings import tied_in_the_middle
from veritally.likelihood.votes import tally
from veritally.votes.ballots import Ballots

_DRAWS = 4096
_STREAM = 11  # of random numbers
_CELLS = 1 << 23  # of draws that are held at once
_SOUND = 200  # draws that count, beyond which they mend what is not normal
_USABLE = 0.05  # of the draws that count, and
_ENOUGH = 50  # draws that count, below which they say less than the normal does
_TAILS = 7.0  # degrees of freedom of the draws by which the shape is checked
_CHECKED = 20_000  # votes whose likelihood is asked to check the shape of the posterior
_CHECKS = 64  # draws, the fewest to check by
_MIXED = 16  # normals in a mixture that are hardly dearer than one


class _Correction(NamedTuple):
    """Draws that reach further than a normal, the difference that exact weights make, and how many of them count."""

    draws: Array
    weights: Array
    efficiency: Array
    number: int


def believe(ballots: Ballots, posterior: PosteriorMixture, seed: int) -> Belief:
    """Say how sure a single decision is, from draws of the posterior."""
    found = _in_numpy(posterior)
    merged, mask = ballots.merged(), np.asarray(ballots.mask)
    random = Random.of(found.moments.mean, seed, _STREAM)
    size = int(np.clip(_CELLS // max(found.moments.mean.size, 1), _CHECKS, _DRAWS))
    # Normal draws, and their correction or, where that says too little, exact ones.
    draws = draw(found, size, random)
    weights = np.broadcast_to(found.weight / len(draws), draws.shape[:-1])
    correction = _corrected(merged, found, mask, random)
    efficiency = correction.efficiency
    exact = None if efficiency * correction.number > _SOUND else _exact(merged, found, draws, seed)
    if exact is not None:
        draws, weights = exact, np.broadcast_to(found.weight / len(exact), exact.shape[:-1])
        efficiency = np.asarray(np.nan)
    elif len(correction.draws):
        draws = np.concat([draws, correction.draws])
        weights = np.concat([weights, correction.weights])
    flat = draws.reshape(-1, draws.shape[-1])
    if not ballots.anchored:
        flat = flat - np.mean(flat, axis=-1, keepdims=True, where=mask)
    # What is known of the noise.
    level = np.exp(found.average(np.log(found.sigma)))
    between, counts = np.sqrt(np.asarray(found.means.between)), found.means.counts
    return summarised(
        flat,
        weights.ravel(),
        mask,
        sigma=level,
        tau=np.exp(found.average(np.log(found.tau))),
        scale=found.scale(mask),
        count_error=np.asarray(np.nan if counts is None else counts.size),
        omega=geometric_mean(between * level, mask) if np.any(between) else np.asarray(np.nan),
        efficiency=efficiency,
    )


def normal_p_best(posterior: PosteriorMixture, mask: Array, size: int, seed: int) -> Array:
    """Return P(best) alone, ``(..., alternative)``, by so many draws from normals; compiles under ``jax.jit``."""
    weight = posterior.weight
    xp = namespace(mask, weight)
    draws = draw(posterior, size, Random.of(weight, seed, _STREAM))
    known = xp.where(mask, draws, -xp.inf)
    first = xp.astype(known == xp.max(known, axis=-1, keepdims=True), weight.dtype)
    return xp.sum(weight[..., None] * xp.sum(first, axis=0), axis=0) / len(draws)


def draw(posterior: PosteriorMixture, size: int, random: Random) -> Array:
    """Draw truths from normals, ``(draw, value, ..., alternative)``, in opposite pairs."""
    known = posterior.moments
    xp = namespace(known.mean)
    half = random.normal((size // 2, known.mean.shape[-1]))
    moved = xp.moveaxis(xp.matmul(inverse_root(known.precision), half.T), -1, 0)
    moved = moved * _inflation(random, posterior.freedom, size // 2)[:, None, ..., None]
    return known.mean + xp.concat([moved, -moved])


def _inflation(random: Random, freedom: Array, size: int) -> Array:
    """Draw how much wider errors are for an estimate of σ with so many degrees of freedom."""
    xp = namespace(freedom)
    known = xp.isinf(freedom)
    shape = xp.broadcast_to(xp.where(known, 1, freedom + 1) / 2, (size, *freedom.shape))
    least = xp.asarray(1e-3, dtype=shape.dtype)
    return xp.where(known, 1, 1 / xp.sqrt(xp.maximum(random.gamma(shape) / shape, least)))


def _corrected(ballots: Ballots, found: PosteriorMixture, mask: Array, random: Random) -> _Correction:
    """Weigh draws from Student's t by the exact posterior.

    None are drawn of too many votes; if too few count, a few draws would decide, so that none are used.
    """
    known, weight, (values, n) = found.moments, found.weight, found.moments.mean.shape
    none = np.empty((0, values, n)), np.empty((0, values))
    counts = found.means.counts
    seen = np.where(ballots.counts > 0, ballots.counts, 1)
    components = 1 if counts is None else len(counts.mixture(seen)[0])
    cost = values * ballots.counts.size * max(1, components // _MIXED)
    checks = min(_DRAWS, _CHECKED // max(1, cost))
    few = not len(ballots.counts) or checks < _CHECKS
    if few or not np.isinf(found.freedom) or bool(np.any(tied_in_the_middle(ballots))):
        return _Correction(*none, np.asarray(np.nan), 0)
    # Draws with heavier tails than a normal, and their density.
    normal = random.normal((checks, values, n))
    reach = np.sum(np.where(mask, normal, 0) ** 2, axis=-1)
    stretch = np.sqrt(_TAILS / 2 / random.gamma(np.full((checks, values), _TAILS / 2)))
    draws = known.mean + np.einsum("vjk,svk->svj", inverse_root(known.precision), normal) * stretch[..., None]
    reach = reach * stretch**2
    density = (_TAILS + mask.sum()) / 2 * np.log1p(reach / _TAILS)
    # Weights by the exact posterior, less those by the normal, whose draws they are added to.
    exact, efficiency = _normalised(_log_posterior(ballots, found, draws) + density, weight)
    plain, _ = _normalised(density - reach / 2, weight)
    if efficiency <= _USABLE or efficiency * exact.size <= _ENOUGH:
        return _Correction(*none, efficiency, 0)
    return _Correction(draws, exact - plain, efficiency, exact.size)


def _log_posterior(ballots: Ballots, found: PosteriorMixture, draws: Array) -> Array:
    """Return the exact log-posterior of draws ``(draw, value, alternative)``, from its value at the mean on."""
    truth, mask = found.moments.mean, np.asarray(ballots.mask)
    several = ballots.stacked(draws.shape[1])
    model = found.model(several)
    log_likelihood = tally(several.stacked(len(draws)), draws, model.means, 0).log_likelihood
    top = tally(several, truth, model.means, 0).log_likelihood
    return np.asarray(log_likelihood - top + model.log_prior(draws, mask) - model.log_prior(truth, mask))


def _normalised(logs: Array, weight: Array) -> tuple[Array, Array]:
    """Return weights ``(draw, value)`` that sum to 1, and the share of the draws that count."""
    weights = weight * np.exp(logs - logs.max())
    weights = weights / weights.sum()
    return weights, np.asarray(1 / np.sum(weights**2 / (weight / len(logs))))


def _exact(ballots: Ballots, found: PosteriorMixture, start: Array, seed: int) -> Array | None:
    """Draw from the exact posterior where votes tell so little that it is far from normal, and it is in reach."""
    if not len(ballots.counts) or not np.any(tells_little(ballots)):
        return None
    return sample(ballots.stacked(len(found.tau)), found.means, found.tau, start, seed)


def _in_numpy(posterior: PosteriorMixture) -> PosteriorMixture:
    """Return the same in NumPy, without what voters add."""
    known = posterior.moments
    moments = known._replace(
        mean=np.asarray(known.mean), precision=np.asarray(known.precision), pull=None, without=None
    )
    weight, sigma, tau, freedom = (
        np.asarray(x) for x in (posterior.weight, posterior.sigma, posterior.tau, posterior.freedom)
    )
    means = replace(posterior.means, sigma=np.asarray(posterior.means.sigma))
    return posterior._replace(weight=weight, sigma=sigma, tau=tau, moments=moments, freedom=freedom, means=means)
