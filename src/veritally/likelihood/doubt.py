"""Doubt: a vote may be any of those that were possible, so that no single ballot can decide alone."""

import math

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.likelihood.rankings import Derivatives
from veritally.votes.ballots import Ballots
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import Ordinal


def doubted(found: Derivatives, ballots: Ballots, doubt: float) -> Derivatives:
    """Return the log-probability (1 − π) P + π/N of votes of which N were possible, with its derivatives.

    The gradient is that of log P times the probability that the vote was meant.
    """
    xp = namespace(found.log_prob)
    meant, any_vote = math.log1p(-doubt) + found.log_prob, math.log(doubt) - log_possible(ballots)
    largest = xp.maximum(meant, any_vote)
    log_prob = largest + xp.log(xp.exp(meant - largest) + xp.exp(any_vote - largest))
    share = xp.exp(meant - log_prob)[..., None]
    gradient = None if found.gradient is None else share * found.gradient
    if found.curvature is None or found.gradient is None:
        return Derivatives(log_prob, gradient)
    square = found.gradient[..., None] * found.gradient[..., None, :]
    share = share[..., None]
    return Derivatives(log_prob, gradient, share * (found.curvature + (1 - share) * square))


def log_possible(ballots: Ballots) -> Array:
    """Return the logarithm of how many votes of the same shape there are, ``(..., voter)``.

    For rankings these have tiers of the same sizes, for favourites as many favourites, of what the voter saw; for pairs
    each comparison has two ends.
    """
    xp = namespace(ballots.counts)
    if isinstance(ballots, Pairs):
        return math.log(2) * xp.sum(ballots.votes, axis=(-2, -1))
    if not isinstance(ballots, Ordinal):
        raise InputError(
            "doubt is for rankings, favourites and comparisons; for values, noise student:3 limits a single vote"
        )
    tiers = ballots.tiers
    seen = tiers > 0
    alike = xp.sum(xp.astype(tiers[..., None] == tiers[..., None, :], xp.int32), axis=-1)
    logs = xp.asarray([math.lgamma(k + 1) for k in range(tiers.shape[-1] + 1)], dtype=tiers.dtype)
    number = xp.sum(xp.astype(seen, xp.int32), axis=-1)
    within = xp.where(seen, xp.take(logs, alike.reshape(-1)).reshape(alike.shape) / alike, 0)
    return xp.take(logs, number.reshape(-1)).reshape(number.shape) - xp.sum(within, axis=-1)
