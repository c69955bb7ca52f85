"""The exact log-probability of votes of any kind, with gradient and curvature."""

from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, inner, namespace
from veritally.errors import InputError
from veritally.likelihood.rankings import Derivatives, ranking
from veritally.model.means import Means, Spread
from veritally.votes.ballots import CARDINAL, Ballots, ranks_in, values_in

_CHUNK = 1 << 17  # second derivatives that are summed at once


class Tally(NamedTuple):
    """Sums over voters.

    Attributes
    ----------
    log_likelihood
        ``(...)``.
    gradient
        By the truth, ``(..., alternative)``.
    curvature
        Second derivatives, ``(..., alternative, alternative)``.
    information
        A rough idea of minus these, where they were not asked for.
    """

    log_likelihood: Array
    gradient: Array | None = None
    curvature: Array | None = None
    information: Array | None = None


def derivatives(ballots: Ballots, truth: Array, means: Means, order: int = 1) -> Derivatives:
    """Return each voter's log-probability of their vote, and its derivatives by the truth.

    Parameters
    ----------
    ballots
        Of any kind.
    truth
        ``(..., alternative)``.
    means
        How voters' means spread around the truth.
    order
        How many derivatives are wanted: 0, 1 or 2.
    """
    xp = namespace(ballots.counts, truth)
    votes, counts = ballots.votes, ballots.counts
    spread = means.spread(counts)
    kind = ballots.kind
    if kind == "pairs":
        return _pairs(votes, truth, means, order)
    if kind == "values":
        return _values(votes, counts, truth, spread, order)
    if kind == "differences":
        return _differences(votes, counts, truth, spread, order)
    ordinal = ranking(ranks_in(ballots), truth, spread, order)
    if kind != "mixed":
        return ordinal
    values = values_in(ballots)
    cardinal = xp.any(~xp.isnan(values), axis=-1)[..., None]
    parts = [_values(values, xp.where(cardinal, counts, 0), truth, spread, order), ordinal]
    if counts.shape[-1] == 2:
        parts.append(_differences(votes[..., 1, 1], counts, truth, spread, order))
    return Derivatives(*(None if x[0] is None else sum(x[1:], x[0]) for x in zip(*parts, strict=True)))


def tally(ballots: Ballots, truth: Array, means: Means, order: int = 1) -> Tally:
    """Σ_i multiplicity_i of each voter's derivatives; voters are worked through in pieces."""
    xp = namespace(ballots.counts, truth)
    *batch, voters, n = ballots.counts.shape
    width = voters if order < 2 else max(1, _CHUNK * 8 // (n * n))
    axis = len(batch)
    parts = []
    for start in range(0, voters, width):
        cut = (slice(None),) * axis + (slice(start, start + width),)
        piece = ballots
        if width < voters:
            votes, counts, multiplicity = (x[cut] for x in ballots[:3])
            piece = type(ballots)(votes, counts, multiplicity, ballots.mask)
        times = piece.multiplicity
        log_prob, gradient, second = derivatives(piece, truth, means, order)
        parts.append(
            (
                xp.sum(log_prob * times, axis=-1),
                None if gradient is None else xp.sum(gradient * times[..., None], axis=-2),
                None if second is None else xp.sum(second * times[..., None, None], axis=-3),
                _information(piece, gradient, truth, means) if order == 1 else None,
            )
        )
    return Tally(*(None if x[0] is None else sum(x[1:], x[0]) for x in zip(*parts, strict=True)))


def _information(ballots: Ballots, gradient: Array, truth: Array, means: Means) -> Array:
    """Guess the information about the truths, ``(..., alternative, alternative)``, from the gradients of voters.

    For pairs it is known. Else it is Σ_i κ_i/s_ij² for each alternative, with κ_i the mean of (g_ij s_ij)², which would
    be 1 for values; rankings say nothing about a common shift. Favourites, which say little about most alternatives,
    are better described by Σ_i g_ij g_ik, the more of them there are.
    """
    xp = namespace(gradient)
    counts, times = ballots.counts, ballots.multiplicity[..., None]
    if ballots.kind == "pairs":
        together = xp.sum(ballots.votes * times[..., None], axis=-3, keepdims=True)
        return -_pairs(together, truth, means, 2).curvature[..., 0, :, :]  # type: ignore[index]
    seen = counts > 0
    precision = xp.where(seen, means.spread(counts).precision, 0)
    number = xp.sum(xp.astype(seen, precision.dtype), axis=-1, keepdims=True)
    square = xp.sum(gradient**2 / xp.where(seen, precision, 1), axis=-1, keepdims=True)
    share = xp.minimum(square / xp.where(number > 0, number, 1), xp.asarray(1, dtype=square.dtype))
    each = xp.sum(share * times * precision, axis=-2)
    guess = each[..., None] * xp.eye(each.shape[-1], dtype=each.dtype)
    if ballots.kind in CARDINAL:
        return guess
    whole = xp.sum(each, axis=-1)[..., None, None]
    guess = guess - each[..., None] * each[..., None, :] / xp.where(whole > 0, whole, 1)
    if ballots.kind != "top":
        return guess
    together = inner(xp.moveaxis(gradient * times, -1, -2), xp.moveaxis(gradient, -1, -2))
    voters = xp.sum(xp.where(number > 0, times, 0), axis=(-2, -1))
    alternatives = xp.sum(xp.astype(ballots.mask, times.dtype), axis=-1)
    part = (voters / xp.where(voters > 0, voters + alternatives, 1))[..., None, None]
    return guess + part * (together - guess)


def _pairs(pairs: Array, truth: Array, means: Means, order: int) -> Derivatives:
    """Log-probabilities Φ((μ_j − μ_k)/√(s_j² + s_k²)) of comparisons, each of one observation of both, added up."""
    xp = namespace(pairs, truth)
    if means.counts is not None or means.cap is not None or np.any(means.between):
        raise InputError(
            "comparisons of pairs are of one observation each, with normal noise: cap, count_error, noise and omega "
            "are for other votes; leave them out"
        )
    square = means.spread(xp.ones(pairs.shape[:-1], dtype=pairs.dtype)).deviations[0] ** 2
    apart = truth[..., None, :, None] - truth[..., None, None, :]
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


def _values(votes: Array, counts: Array, truth: Array, spread: Spread, order: int) -> Derivatives:
    """Densities of values; what was seen and left blank lies below all that has a value."""
    xp = namespace(votes, truth)
    given = ~xp.isnan(votes) & (counts > 0)
    z = xp.where(given, votes, 0) - truth[..., None, :]
    own = Spread(*(None if x is None else xp.where(given, x, 1) for x in spread))
    log, score, bend = own.derivatives(z)
    log, score, bend = (xp.where(given, x, 0) for x in (log, score, bend))
    blank = (counts > 0) & ~given & xp.any(given, axis=-1, keepdims=True)
    lowest = xp.min(xp.where(given, votes, xp.inf), axis=-1, keepdims=True)
    z = xp.where(blank, lowest, 0) - truth[..., None, :]
    own = Spread(*(None if x is None else xp.where(blank, x, 1) for x in spread))
    under = own.under(xp.where(blank, z, 0))
    log, score, bend = (x + xp.where(blank, y, 0) for x, y in zip((log, score, bend), under, strict=True))
    second = bend[..., None] * xp.eye(votes.shape[-1], dtype=bend.dtype) if order > 1 else None
    return Derivatives(xp.sum(log, axis=-1), score if order else None, second)


def _differences(votes: Array, counts: Array, truth: Array, spread: Spread, order: int) -> Derivatives:
    """Densities of differences of two alternatives."""
    xp = namespace(votes, truth)
    given = ~xp.isnan(votes) & xp.all(counts > 0, axis=-1)
    z = xp.where(given, votes, 0) - (truth[..., 1] - truth[..., 0])[..., None]
    squares = xp.where(given[..., None], spread.deviations, 1) ** 2
    # Each component of the one with each of the other.
    both = (squares[:, None, ..., 0] + squares[None, ..., 1]).reshape(-1, *squares.shape[1:-1])
    weights = None
    if spread.weights is not None:
        weights = (spread.weights[:, None, ..., 0] * spread.weights[None, ..., 1]).reshape(both.shape)
    log, score, bend = Spread(xp.sqrt(both), weights).derivatives(z)
    log, score, bend = (xp.where(given, x, 0) for x in (log, score, bend))
    gradient = xp.stack([-score, score], axis=-1)
    sign = xp.asarray([[1.0, -1.0], [-1.0, 1.0]], dtype=bend.dtype)
    return Derivatives(log, gradient if order else None, bend[..., None, None] * sign if order > 1 else None)
