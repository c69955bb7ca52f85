"""Maximum likelihood: the truths under which the votes are most probable."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veritally.arrays import Array, is_traced, namespace
from veritally.inference.linear import diagonal
from veritally.inference.optimiser import NEWTON, Peak, peak
from veritally.likelihood.votes import derivatives
from veritally.model.means import VoterMeans
from veritally.model.model import Model
from veritally.rules.protocol import Fit, Rule, Status, status_of
from veritally.rules.sums import Sigma
from veritally.votes.ballots import Ballots, Kind

_NO_PRIOR, _WIDE_PRIOR = 1e-12, 1e-4  # precisions of the truths, in units of that of the least certain vote
_ROUNDING, _ROUNDING_SINGLE = 1e-7, 1e-3  # of the largest score, and of the standard deviation of the surest
_LISTED = 5  # in a message, at most


@dataclass(frozen=True)
class MaximumLikelihood(Rule):
    """The truths under which the votes are most probable, with a mean of 0 if only their differences matter.

    The log-likelihood is concave. With rankings its maximum is finite only if every alternative is connected to every
    other by a chain in which some voter ranks each above the next. Otherwise the outcome warns, names the alternatives
    without a finite score, and gives the scores with a very wide prior instead.

    At the maximum what voter i adds to the score is its summand in

        μ̂_j = Σ_i E[x_ij | vote_i]/s_ij² / Σ_i 1/s_ij²

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(ranks=[[1, 2], [2, 1], [1, 2]])
    >>> vt.decide(profile, rule="mle").scores.round(4)  # √2 Φ⁻¹(2/3), halved
    array([ 0.3046, -0.3046])
    """

    sigma: Sigma = 1.0
    cap: float | None = None
    votes: Kind | None = None

    normalized = True
    internal: ClassVar[frozenset[str]] = frozenset({"votes"})

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say."""
        xp = namespace(ballots.counts)
        found = self.peak(ballots)
        scores = xp.where(ballots.mask, _centred(found.truth, ballots), -xp.inf)
        size = xp.max(xp.where(scores > -xp.inf, xp.abs(scores), 0), axis=-1, keepdims=True)
        size = size + 1 / xp.sqrt(xp.max(diagonal(found.precision), axis=-1, keepdims=True))
        unit = _ROUNDING if scores.dtype.itemsize == 8 else _ROUNDING_SINGLE
        bounded = xp.all(_ways_up(ballots), axis=(-2, -1))
        status = xp.where(bounded, status_of(found.converged), int(Status.UNBOUNDED))
        warnings = {} if is_traced(scores) else _warnings(ballots, bounded)
        return Fit(scores, xp.where(scores > -xp.inf, unit * size, 0), status, warnings=warnings)

    def contributions(self, ballots: Ballots, fit: Fit, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``; they sum to it, less the origin."""
        xp = namespace(ballots.counts)
        truth = xp.where(ballots.mask, fit.scores, 0)
        votes = derivatives(ballots, truth, self._means).gradient
        precision = xp.where(ballots.counts > 0, self._means.spread(ballots.looks).precision, 0)
        precision = precision * ballots.multiplicity[..., None]
        whole = xp.sum(precision, axis=-2, keepdims=True) + self._prior(ballots)[..., None, None]
        parts = precision * (truth[..., None, :] - origin) + votes * ballots.multiplicity[..., None]
        return parts / whole

    @property
    def _means(self) -> VoterMeans:
        return VoterMeans(self.sigma, self.cap)

    def peak(self, ballots: Ballots, tolerance: float = NEWTON) -> Peak:
        """Return where the likelihood is highest; only differences of the truths mean something without values."""
        fixed = namespace(ballots.counts).zeros_like(ballots.anchored)  # at 0, since the prior says next to nothing
        return peak(ballots, Model(self._prior(ballots), fixed, self._means), tolerance=tolerance)

    def _prior(self, ballots: Ballots) -> Array:
        """Return the precision of the truths: next to nothing where a maximum exists, little where it does not."""
        xp = namespace(ballots.counts)
        deviations = self._means.spread(ballots.looks).deviations[0]
        given = xp.isfinite(deviations) & (ballots.multiplicity > 0)[..., None]
        largest = xp.max(xp.where(given, deviations, 0), axis=(-2, -1))
        unit = xp.where(largest > 0, largest, 1) ** -2.0
        bounded = xp.all(_ways_up(ballots), axis=(-2, -1))
        return xp.where(bounded, unit * _NO_PRIOR, unit * _WIDE_PRIOR)


def _centred(truth: Array, ballots: Ballots) -> Array:
    """Measure truths from their mean where only their differences matter; 0 for what nobody saw."""
    xp = namespace(truth)
    number = xp.sum(xp.astype(ballots.mask, truth.dtype), axis=-1, keepdims=True)
    mean = xp.sum(xp.where(ballots.mask, truth, 0), axis=-1, keepdims=True) / xp.where(number > 0, number, 1)
    return xp.where(ballots.mask, xp.where(ballots.anchored[..., None], truth, truth - mean), 0)


def _ways_up(ballots: Ballots) -> Array:
    """Say from which alternative a way leads to which, each ranked above the next by somebody, ``(..., n, n)``.

    Alternatives that have values are linked both ways; those that nobody saw, with everything.
    """
    xp = namespace(ballots.counts)
    n = ballots.counts.shape[-1]
    absent = ~(ballots.mask[..., None] & ballots.mask[..., None, :])
    way = xp.eye(n, dtype=bool) | ballots.above()
    for _ in range(math.ceil(math.log2(n)) + 1):
        way = way | xp.any(way[..., :, :, None] & way[..., None, :, :], axis=-2)
    return way | absent


def _warnings(ballots: Ballots, bounded: Array) -> dict[int, tuple[str, ...]]:
    """Say of decisions without a maximum who runs off or cannot be compared."""
    n = ballots.counts.shape[-1]
    ways, masks = np.reshape(np.asarray(_ways_up(ballots)), (-1, n, n)), np.reshape(np.asarray(ballots.mask), (-1, n))
    return {int(d): (_message(ways[d], masks[d]),) for d in np.flatnonzero(~np.asarray(bounded))}


def _message(ways: Array, mask: Array) -> str:
    """Name the parts of a single decision between which there is no way back."""
    parts: list[list[int]] = []
    for j in map(int, np.flatnonzero(mask)):
        home = next((part for part in parts if ways[part[0], j] and ways[j, part[0]]), None)
        parts.append([j]) if home is None else home.append(j)
    pairs = [(one, other) for one in parts for other in parts if one is not other]
    above = [f"{_names(one)} above {_names(other)}" for one, other in pairs if ways[one[0], other[0]]]
    apart = [
        f"{_names(one)} and {_names(other)}"
        for one, other in pairs
        if one[0] < other[0] and not (ways[one[0], other[0]] or ways[other[0], one[0]])
    ]
    text = Status.UNBOUNDED.message
    if above:
        text += f": nobody contradicts {'; '.join(above[:_LISTED])}{' and so on' if len(above) > _LISTED else ''}"
    if apart:
        text += f"; no votes compare {'; '.join(apart[:_LISTED])}"
    return f"{text}. The scores are those with a very wide prior instead"


def _names(part: list[int]) -> str:
    return " and ".join(f"{{{j}}}" for j in part)
