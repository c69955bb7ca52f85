"""Rough guesses of how much votes tell about the truths, from the gradients of voters, to climb by."""

from veritally.arrays import Array, inner, namespace
from veritally.model.means import VoterMeans
from veritally.votes.ballots import SingleKind
from veritally.votes.top import TopChoices
from veritally.votes.values import Values


def value_information(ballots: Values, gradient: Array, truth: Array, means: VoterMeans) -> Array:
    """Guess the information of values."""
    return diagonal(each_information(ballots.counts, ballots.multiplicity, gradient, means))


def relative_information(ballots: SingleKind, gradient: Array, truth: Array, means: VoterMeans) -> Array:
    """Guess the information of votes that say nothing about a common shift."""
    xp = namespace(gradient)
    each = each_information(ballots.counts, ballots.multiplicity, gradient, means)
    whole = xp.sum(each, axis=-1)[..., None, None]
    return diagonal(each) - each[..., None] * each[..., None, :] / xp.where(whole > 0, whole, 1)


def favourite_information(ballots: TopChoices, gradient: Array, truth: Array, means: VoterMeans) -> Array:
    """Guess the information of favourites, which say little about most alternatives.

    It is better described by Σ_i g_ij g_ik, the more of them there are.
    """
    xp = namespace(gradient)
    guess = relative_information(ballots, gradient, truth, means)
    times = ballots.multiplicity[..., None]
    together = inner(xp.moveaxis(gradient * times, -1, -2), xp.moveaxis(gradient, -1, -2))
    voting = xp.any(ballots.counts > 0, axis=-1)
    voters = xp.sum(xp.where(voting, ballots.multiplicity, 0), axis=-1)
    alternatives = xp.sum(xp.astype(ballots.mask, times.dtype), axis=-1)
    part = (voters / xp.where(voters > 0, voters + alternatives, 1))[..., None, None]
    return guess + part * (together - guess)


def each_information(counts: Array, multiplicity: Array, gradient: Array, means: VoterMeans) -> Array:
    """Guess the information about each truth from the gradients of voters: Σ_i κ_i/s_ij², ``(..., alternative)``.

    κ_i is the mean of (g_ij s_ij)², which would be 1 for values.
    """
    xp = namespace(gradient)
    seen = counts > 0
    precision = xp.where(seen, means.spread(counts).precision, 0)
    number = xp.sum(xp.astype(seen, precision.dtype), axis=-1, keepdims=True)
    square = xp.sum(gradient**2 / xp.where(seen, precision, 1), axis=-1, keepdims=True)
    share = xp.minimum(square / xp.where(number > 0, number, 1), xp.asarray(1, dtype=square.dtype))
    return xp.sum(share * multiplicity[..., None] * precision, axis=-2)


def diagonal(x: Array) -> Array:
    """Put numbers on the diagonal of a matrix, ``(..., alternative, alternative)``."""
    return x[..., None] * namespace(x).eye(x.shape[-1], dtype=x.dtype)
