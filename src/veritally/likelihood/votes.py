"""The exact log-probability of votes of any kind, with gradient and curvature: one entry for each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, inner, namespace
from veritally.errors import InputError
from veritally.likelihood.rankings import Derivatives, ranking
from veritally.model.means import Means, Spread
from veritally.model.observation import LaplaceNoise, NormalNoise
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.differences import Differences
from veritally.votes.mixed import Mixed
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import Ordinal, Rankings
from veritally.votes.top import TopChoices
from veritally.votes.values import Values

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
        Of any kind; the log-probabilities of different kinds add up.
    truth
        ``(..., alternative)``.
    means
        How voters' means spread around the truth.
    order
        How many derivatives are wanted: 0, 1 or 2.
    """
    return _ENTRIES[type(ballots)].derivatives(ballots, truth, means, order)


def tally(ballots: Ballots, truth: Array, means: Means, order: int = 1) -> Tally:
    """Σ_i multiplicity_i of each voter's derivatives; voters are worked through in pieces."""
    xp = namespace(ballots.counts, truth)
    voters, n = ballots.counts.shape[-2:]
    width = voters if order < 2 else max(1, _CHUNK * 8 // (n * n))
    parts = []
    for start in range(0, voters, width):
        piece = ballots.take_voters(slice(start, start + width)) if width < voters else ballots
        times = piece.multiplicity
        log_prob, gradient, second = derivatives(piece, truth, means, order)
        information = _ENTRIES[type(piece)].information
        parts.append(
            (
                xp.sum(log_prob * times, axis=-1),
                None if gradient is None else xp.sum(gradient * times[..., None], axis=-2),
                None if second is None else xp.sum(second * times[..., None, None], axis=-3),
                information(piece, gradient, truth, means) if order == 1 else None,
            )
        )
    return Tally(*_added(parts))


def check_noise(ballots: Ballots, noise: Any) -> None:
    """Refuse noise, None for normal, under which the density of these votes has no sound curvature."""
    refused = _ENTRIES[type(ballots)].refused
    if refused is not None and not isinstance(noise, NormalNoise | None) and isinstance(noise, refused[0]):
        raise InputError(refused[1])


def _added(parts: Sequence[tuple[Array | None, ...]]) -> list[Array | None]:
    """Add up, field by field; None where the first has None."""
    return [None if x[0] is None else sum(x[1:], x[0]) for x in zip(*parts, strict=True)]


# Pairs


def _pairs(ballots: Pairs, truth: Array, means: Means, order: int) -> Derivatives:
    """Log-probabilities Φ((μ_j − μ_k)/√(s_j² + s_k²)) of comparisons, each of one observation of both, added up."""
    return _comparisons(ballots.votes, truth, means, order)


def _comparisons(pairs: Array, truth: Array, means: Means, order: int) -> Derivatives:
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


def _pairs_information(ballots: Pairs, gradient: Array, truth: Array, means: Means) -> Array:
    """Return the information of all comparisons taken together, which is known."""
    together = namespace(gradient).sum(ballots.votes * ballots.multiplicity[..., None, None], axis=-3, keepdims=True)
    return -_comparisons(together, truth, means, 2).curvature[..., 0, :, :]  # type: ignore[index]


# Values


def _values(ballots: Values, truth: Array, means: Means, order: int) -> Derivatives:
    """Densities of values; what was seen and left blank lies below all that has a value."""
    votes, counts, spread = ballots.votes, ballots.counts, means.spread(ballots.counts)
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


def _value_information(ballots: Values, gradient: Array, truth: Array, means: Means) -> Array:
    """Guess the information of values."""
    return _diagonal(_each_information(ballots.counts, ballots.multiplicity, gradient, means))


def _each_information(counts: Array, multiplicity: Array, gradient: Array, means: Means) -> Array:
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


def _diagonal(x: Array) -> Array:
    return x[..., None] * namespace(x).eye(x.shape[-1], dtype=x.dtype)


# Differences


def _differences(ballots: Differences, truth: Array, means: Means, order: int) -> Derivatives:
    """Densities of differences of the first two alternatives."""
    votes, given = ballots.votes, ballots.given
    xp = namespace(votes, truth)
    spread = means.spread(ballots.counts)
    z = xp.where(given, votes, 0) - (truth[..., 1] - truth[..., 0])[..., None]
    squares = xp.where(given[..., None], spread.deviations[..., :2], 1) ** 2
    # Each component of the one with each of the other.
    both = (squares[:, None, ..., 0] + squares[None, ..., 1]).reshape(-1, *squares.shape[1:-1])
    weights = None
    if spread.weights is not None:
        weights = (spread.weights[:, None, ..., 0] * spread.weights[None, ..., 1]).reshape(both.shape)
    log, score, bend = Spread(xp.sqrt(both), weights).derivatives(z)
    log, score, bend = (xp.where(given, x, 0) for x in (log, score, bend))
    sign = xp.asarray([-1.0, 1.0] + [0.0] * (truth.shape[-1] - 2), dtype=bend.dtype)  # of each alternative
    gradient = score[..., None] * sign if order else None
    return Derivatives(log, gradient, bend[..., None, None] * sign[:, None] * sign if order > 1 else None)


# Rankings and favourites


def _rankings(ballots: Ordinal, truth: Array, means: Means, order: int) -> Derivatives:
    """Probabilities of orders; a favourite stands above all else that was seen."""
    return ranking(ballots.tiers, truth, means.spread(ballots.counts), order)


def _relative_information(ballots: SingleKind, gradient: Array, truth: Array, means: Means) -> Array:
    """Guess the information of votes that say nothing about a common shift."""
    xp = namespace(gradient)
    each = _each_information(ballots.counts, ballots.multiplicity, gradient, means)
    whole = xp.sum(each, axis=-1)[..., None, None]
    return _diagonal(each) - each[..., None] * each[..., None, :] / xp.where(whole > 0, whole, 1)


def _top_information(ballots: TopChoices, gradient: Array, truth: Array, means: Means) -> Array:
    """Guess the information of favourites, which say little about most alternatives.

    It is better described by Σ_i g_ij g_ik, the more of them there are.
    """
    xp = namespace(gradient)
    guess = _relative_information(ballots, gradient, truth, means)
    times = ballots.multiplicity[..., None]
    together = inner(xp.moveaxis(gradient * times, -1, -2), xp.moveaxis(gradient, -1, -2))
    voting = xp.any(ballots.counts > 0, axis=-1)
    voters = xp.sum(xp.where(voting, ballots.multiplicity, 0), axis=-1)
    alternatives = xp.sum(xp.astype(ballots.mask, times.dtype), axis=-1)
    part = (voters / xp.where(voters > 0, voters + alternatives, 1))[..., None, None]
    return guess + part * (together - guess)


# Mixed votes


def _mixed(ballots: Mixed, truth: Array, means: Means, order: int) -> Derivatives:
    """Log-probabilities of votes of different kinds, added up."""
    return Derivatives(*_added([derivatives(part, truth, means, order) for part in ballots.parts]))


def _mixed_information(ballots: Mixed, gradient: Array, truth: Array, means: Means) -> Array:
    """Guess the information of votes of different kinds, of which some may tell a common shift; add that of pairs."""
    pairs = ballots.part(Pairs)
    counts = ballots.counts if pairs is None else ballots.counts - pairs.counts
    guess = _diagonal(_each_information(counts, ballots.multiplicity, gradient, means))
    return guess if pairs is None else guess + _pairs_information(pairs, gradient, truth, means)


@dataclass(frozen=True)
class Entry:
    """What inference needs to know of votes of one kind.

    Attributes
    ----------
    derivatives
        Each voter's log-probability with its derivatives, of ballots, truths, means, and the order wanted.
    information
        A rough guess of the information of all, of ballots, gradients of each voter, truths and means.
    refused
        Noise under which the log-probability has no sound curvature, and what to say then.
    """

    derivatives: Callable[[Any, Array, Means, int], Derivatives]
    information: Callable[[Any, Array, Array, Means], Array]
    refused: tuple[type, str] | None = None


_NO_LAPLACE = (
    LaplaceNoise,
    "laplace noise is for rankings and favourites; for values, student:3 has heavy tails too",
)
_ENTRIES: Mapping[type[Ballots], Entry] = {
    Pairs: Entry(_pairs, _pairs_information),
    Values: Entry(_values, _value_information, _NO_LAPLACE),
    Differences: Entry(
        _differences,
        _relative_information,
        (object, "noise that is not normal is for rankings, favourites and values, not for differences"),
    ),
    Mixed: Entry(_mixed, _mixed_information, _NO_LAPLACE),
    Rankings: Entry(_rankings, _relative_information),
    TopChoices: Entry(_rankings, _top_information),
}
