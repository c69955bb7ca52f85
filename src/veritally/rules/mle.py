"""Maximum likelihood: the truths under which the votes are most probable."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, namespace
from veritally.inference.optimiser import Prior, peak
from veritally.likelihood.votes import derivatives
from veritally.model.means import Means
from veritally.rules.rule import Clonable, Scores, Sigma
from veritally.votes.ballots import Ballots, Kind

_NO_PRIOR, _WIDE_PRIOR = 1e-12, 1e-4  # precisions of the truths, in units of that of the least certain vote


@dataclass(frozen=True)
class MaximumLikelihood(Clonable):
    """Truths under which the votes are most probable, with a mean of 0 where only their differences matter.

    The log-likelihood is concave. With rankings its maximum is finite only if from each alternative to each other there
    is a way on which each is ranked above the next by some voter. Where there is none, the outcome says so, names
    those that run off, and its scores are those with a very wide prior instead.

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
    alternatives = None

    @property
    def _means(self) -> Means:
        return Means(self.sigma, self.cap)

    def _prior(self, ballots: Ballots) -> Array:
        """Return the precision of the truths: next to nothing where a maximum exists, little where it does not."""
        xp = namespace(ballots.counts)
        deviations = self._means.spread(ballots.looks).deviations[0]
        told = xp.isfinite(deviations) & (ballots.multiplicity > 0)[..., None]
        largest = xp.max(xp.where(told, deviations, 0), axis=(-2, -1))
        unit = xp.where(largest > 0, largest, 1) ** -2.0
        finite = xp.all(_linked(ballots), axis=(-2, -1))
        return xp.where(finite, unit * _NO_PRIOR, unit * _WIDE_PRIOR)

    def _truth(self, ballots: Ballots) -> Array:
        xp = namespace(ballots.counts)
        anchor = ballots.anchored
        truth = peak(ballots, self._means, Prior(self._prior(ballots), xp.zeros_like(anchor))).truth
        number = xp.sum(xp.astype(ballots.mask, truth.dtype), axis=-1, keepdims=True)
        middle = xp.sum(xp.where(ballots.mask, truth, 0), axis=-1, keepdims=True) / xp.where(number > 0, number, 1)
        return xp.where(ballots.mask, xp.where(anchor[..., None], truth, truth - middle), 0)

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone."""
        xp = namespace(ballots.counts)
        return xp.where(ballots.mask, self._truth(ballots), -xp.inf)

    def score(self, ballots: Ballots) -> Scores:
        """Return the scores, and how far the climb may have stopped from the top."""
        scores = self.scores(ballots)
        xp = namespace(scores)
        size = xp.max(xp.where(scores > -xp.inf, xp.abs(scores), 0), axis=-1, keepdims=True)
        unit = 1e-7 if scores.dtype.itemsize == 8 else 1e-3
        return Scores(scores, xp.where(scores > -xp.inf, unit * size, 0))

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``; they sum to it, less the origin."""
        xp = namespace(ballots.counts)
        truth = self._truth(ballots)
        told = derivatives(ballots, truth, self._means).gradient
        seen = ballots.counts > 0
        precision = xp.where(seen, self._means.spread(ballots.looks).precision, 0) * ballots.multiplicity[..., None]
        whole = xp.sum(precision, axis=-2, keepdims=True) + self._prior(ballots)[..., None, None]
        parts = precision * (truth[..., None, :] - origin) + told * ballots.multiplicity[..., None]
        return parts / whole

    def leave_one_out(self, ballots: Ballots) -> Scores:
        """Return the scores without each voter in turn, ``(..., voter, alternative)``."""
        xp = namespace(ballots.counts)
        m = ballots.counts.shape[-2]
        results = []
        for i in range(m):
            others = xp.where(xp.arange(m) == i, 0, ballots.multiplicity)
            results.append(self.score(ballots.weighed(others).masked()))
        return Scores(*(xp.stack(list(x), axis=-2) for x in zip(*results, strict=True)))

    def details(self, ballots: Ballots) -> dict[str, Array]:
        """Return nothing beside the scores."""
        return {}

    def fitted(self, ballots: Ballots, seed: int = 0) -> "MaximumLikelihood":
        """Return the rule itself, which has nothing to remember."""
        return self

    def decision(self, d: int, ballots: Ballots) -> "MaximumLikelihood":
        """Return the rule itself."""
        return self

    def odd(self, ballots: Ballots) -> Array:
        """Say which decisions have no maximum."""
        return ~namespace(ballots.counts).all(_linked(ballots), axis=(-2, -1))

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Say of a single decision who runs off or cannot be compared."""
        linked = np.asarray(_linked(ballots))
        kept = [j for j in range(len(names)) if np.asarray(ballots.mask)[j]]
        if linked[np.ix_(kept, kept)].all():
            return []
        parts: list[list[int]] = []
        for j in kept:
            home = next((part for part in parts if linked[part[0], j] and linked[j, part[0]]), None)
            parts.append([j]) if home is None else home.append(j)

        def named(part: list[int]) -> str:
            return " and ".join(str(names[j]) for j in part)

        messages = [
            f"{named(one)} above {named(other)}"
            for one in parts
            for other in parts
            if one is not other and linked[one[0], other[0]]
        ]
        apart = [
            f"{named(one)} and {named(other)}"
            for i, one in enumerate(parts)
            for other in parts[i + 1 :]
            if not (linked[one[0], other[0]] or linked[other[0], one[0]])
        ]
        text = "the likelihood has no finite maximum"
        if messages:
            text += f": nobody contradicts {'; '.join(messages[:5])}{' and so on' if len(messages) > 5 else ''}"
        if apart:
            text += f"; no votes compare {'; '.join(apart[:5])}"
        return [f"{text}. The scores are those with a very wide prior"]


def _linked(ballots: Ballots) -> Array:
    """Say from which alternative a way leads to which, each ranked above the next by somebody, ``(..., n, n)``.

    Alternatives that have values are linked both ways; those that nobody saw, with everything.
    """
    xp = namespace(ballots.counts)
    n = ballots.counts.shape[-1]
    absent = ~(ballots.mask[..., None] & ballots.mask[..., None, :])
    linked = xp.eye(n, dtype=bool) | xp.zeros_like(absent)
    way = linked | ballots.above()
    for _ in range(math.ceil(math.log2(n)) + 1):
        way = way | xp.any(way[..., :, :, None] & way[..., None, :, :], axis=-2)
    return way | absent
