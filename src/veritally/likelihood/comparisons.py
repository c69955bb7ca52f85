"""The exact probability of comparisons of pairs."""

import numpy as np

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.likelihood.rankings import Derivatives
from veritally.model.means import Spread, VoterMeans
from veritally.votes.pairs import Pairs


def pair_derivatives(ballots: Pairs, truth: Array, means: VoterMeans, order: int) -> Derivatives:
    """Log-probabilities Φ((μ_j − μ_k)/√(s_j² + s_k²)) of comparisons, each of one observation of both, added up.

    A voter who leans to the first place adds so much to what stands there, where it is known what does.
    """
    if ballots.leaning is None or ballots.positions is None:
        return _comparisons(ballots.votes, truth, means, order)
    lead = namespace(truth).asarray(means.sigma)[..., 0] * ballots.leaning  # (..., voter)
    first, second = ballots.positions, ballots.votes - ballots.positions
    parts = (_comparisons(first, truth, means, order, lead), _comparisons(second, truth, means, order, -lead))
    return Derivatives(*(None if x is None else x + y for x, y in zip(*parts, strict=True)))


def _comparisons(pairs: Array, truth: Array, means: VoterMeans, order: int, lead: Array | None = None) -> Derivatives:
    """Do so for one table; what was preferred is ahead by a ``lead`` of each voter's, ``(..., voter)``."""
    xp = namespace(pairs, truth)
    if means.counts is not None or means.cap is not None or np.any(means.between):
        raise InputError(
            "each comparison of a pair is one observation with normal noise, so cap, count_error, noise and omega do "
            "not apply; leave them out"
        )
    square = means.spread(xp.ones(pairs.shape[:-1], dtype=pairs.dtype)).deviations[0] ** 2
    apart = truth[..., None, :, None] - truth[..., None, None, :]
    apart = apart if lead is None else apart + lead[..., None, None]
    log, rate, bend = Spread(xp.sqrt(square[..., None] + square[..., None, :])[None]).under(apart)
    log_prob = xp.sum(pairs * log, axis=(-2, -1))
    if not order:
        return Derivatives(log_prob)
    pull = -pairs * rate  # of the one that was preferred, and as much the other way for the other
    gradient = xp.sum(pull, axis=-1) - xp.sum(pull, axis=-2)
    if order < 2:
        return Derivatives(log_prob, gradient)
    both = pairs * bend + xp.moveaxis(pairs * bend, -1, -2)
    second = xp.sum(both, axis=-1)[..., None] * xp.eye(pairs.shape[-1], dtype=both.dtype) - both
    return Derivatives(log_prob, gradient, second)


def pair_information(ballots: Pairs, gradient: Array, truth: Array, means: VoterMeans) -> Array:
    """Return the information of all comparisons taken together, which is known."""
    together = namespace(gradient).sum(ballots.votes * ballots.multiplicity[..., None, None], axis=-3, keepdims=True)
    return -_comparisons(together, truth, means, 2).curvature[..., 0, :, :]  # type: ignore[index]
