"""The exact log-probability of votes of any kind, with gradient and curvature: one entry for each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.likelihood.comparisons import pair_derivatives, pair_information
from veritally.likelihood.doubt import doubted
from veritally.likelihood.information import (
    diagonal,
    each_information,
    favourite_information,
    relative_information,
    value_information,
)
from veritally.likelihood.numbers import difference_derivatives, value_derivatives
from veritally.likelihood.rankings import Derivatives, ranking
from veritally.model.means import VoterMeans
from veritally.model.observation import LaplaceNoise, NormalNoise
from veritally.votes.ballots import Ballots
from veritally.votes.differences import Differences
from veritally.votes.mixed import Mixed
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import Ordinal, Rankings
from veritally.votes.top import TopChoices
from veritally.votes.values import Values

_CHUNK = 1 << 17  # second derivatives that are summed at once


class LikelihoodSums(NamedTuple):
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


def derivatives(ballots: Ballots, truth: Array, means: VoterMeans, order: int = 1, rough: bool = False) -> Derivatives:
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
    rough
        Whether a rough idea will do, on the way to where the truths are: five digits, and second derivatives to some
        per cent.
    """
    entry = _ENTRIES[type(ballots)]
    found = (entry.rough or entry.derivatives if rough else entry.derivatives)(ballots, truth, means, order)
    return found if not means.doubt or isinstance(ballots, Mixed) else doubted(found, ballots, means.doubt)


def tally(ballots: Ballots, truth: Array, means: VoterMeans, order: int = 1, rough: bool = False) -> LikelihoodSums:
    """Σ_i multiplicity_i of each voter's derivatives; voters are worked through in pieces."""
    xp = namespace(ballots.counts, truth)
    voters, n = ballots.counts.shape[-2:]
    width = voters if order < 2 else max(1, _CHUNK * 8 // (n * n))
    parts = []
    for start in range(0, voters, width):
        piece = ballots.take_voters(slice(start, start + width)) if width < voters else ballots
        times = piece.multiplicity
        log_prob, gradient, second = derivatives(piece, truth, means, order, rough)
        information = _ENTRIES[type(piece)].information
        parts.append(
            (
                xp.sum(log_prob * times, axis=-1),
                None if gradient is None else xp.sum(gradient * times[..., None], axis=-2),
                None if second is None else xp.sum(second * times[..., None, None], axis=-3),
                information(piece, gradient, truth, means) if order == 1 else None,
            )
        )
    return LikelihoodSums(*_added(parts))


def check_noise(ballots: Ballots, noise: Any) -> None:
    """Refuse noise, None for normal, under which the density of these votes has no sound curvature."""
    refused = _ENTRIES[type(ballots)].refused
    if refused is not None and not isinstance(noise, NormalNoise | None) and isinstance(noise, refused[0]):
        raise InputError(refused[1])


def _added(parts: Sequence[tuple[Array | None, ...]]) -> list[Array | None]:
    """Add up, field by field; None where the first has None."""
    return [None if x[0] is None else sum(x[1:], x[0]) for x in zip(*parts, strict=True)]


def _order_derivatives(ballots: Ordinal, truth: Array, means: VoterMeans, order: int) -> Derivatives:
    """Probabilities of orders; a favourite stands above all else that was seen."""
    return ranking(ballots.tiers, truth, means.spread(ballots.counts), order)


def _rough_orders(ballots: Ordinal, truth: Array, means: VoterMeans, order: int) -> Derivatives:
    return ranking(ballots.tiers, truth, means.spread(ballots.counts), order, rough=True)


def _mixed(ballots: Mixed, truth: Array, means: VoterMeans, order: int, rough: bool = False) -> Derivatives:
    """Log-probabilities of votes of different kinds, added up."""
    return Derivatives(*_added([derivatives(part, truth, means, order, rough) for part in ballots.parts]))


def _mixed_information(ballots: Mixed, gradient: Array, truth: Array, means: VoterMeans) -> Array:
    """Guess the information of votes of different kinds, of which some may tell a common shift; add that of pairs."""
    pairs = ballots.part(Pairs)
    counts = ballots.counts if pairs is None else ballots.counts - pairs.counts
    guess = diagonal(each_information(counts, ballots.multiplicity, gradient, means))
    return guess if pairs is None else guess + pair_information(pairs, gradient, truth, means)


@dataclass(frozen=True)
class KindLikelihood:
    """What inference needs to know of votes of one kind.

    Attributes
    ----------
    derivatives
        Each voter's log-probability with its derivatives, of ballots, truths, means, and the order wanted.
    information
        A rough guess of the information of all, of ballots, gradients of each voter, truths and means.
    rough
        The same, roughly, where that is quicker.
    refused
        Noise under which the log-probability has no sound curvature, and what to say then.
    """

    derivatives: Callable[[Any, Array, VoterMeans, int], Derivatives]
    information: Callable[[Any, Array, Array, VoterMeans], Array]
    rough: Callable[[Any, Array, VoterMeans, int], Derivatives] | None = None
    refused: tuple[type, str] | None = None


_NO_LAPLACE = (
    LaplaceNoise,
    "laplace noise is for rankings and favourites; for values, use student:3, which has heavy tails too",
)
_ENTRIES: Mapping[type[Ballots], KindLikelihood] = {
    Pairs: KindLikelihood(pair_derivatives, pair_information),
    Values: KindLikelihood(value_derivatives, value_information, refused=_NO_LAPLACE),
    Differences: KindLikelihood(
        difference_derivatives,
        relative_information,
        refused=(
            object,
            "noise must be normal for differences; leave noise out, or give rankings, favourites or values",
        ),
    ),
    Mixed: KindLikelihood(_mixed, _mixed_information, partial(_mixed, rough=True), _NO_LAPLACE),
    Rankings: KindLikelihood(_order_derivatives, relative_information, _rough_orders),
    TopChoices: KindLikelihood(_order_derivatives, favourite_information, _rough_orders),
}
