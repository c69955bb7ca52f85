"""How voters' means spread around the truth: the one place where σ, caps, noise and doubtful counts meet.

Everything else in the likelihood sees mixtures of normals with a common centre, ``Spread``, and nothing of the voter.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from veritally.arrays import Array, log_ndtr, namespace

_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2
_RARE = 1e-30  # a weight that stands for none


class Spread(NamedTuple):
    """Mixtures of normals around a common centre: standard deviations and weights, ``(component, ...)``.

    Cells where nothing was seen have infinite deviations.
    """

    deviations: Array
    weights: Array | None = None

    @property
    def narrow(self) -> Array:
        """The smallest deviation of each mixture."""
        return namespace(self.deviations).min(self.deviations, axis=0)

    @property
    def wide(self) -> Array:
        """The largest deviation of each mixture."""
        return namespace(self.deviations).max(self.deviations, axis=0)

    @property
    def precision(self) -> Array:
        """The mean precision of each mixture."""
        xp = namespace(self.deviations)
        precision = self.deviations**-2
        return precision[0] if self.weights is None else xp.sum(precision * self.weights, axis=0)

    def at(self, k: Any) -> "Spread":
        """Return the mixtures of one alternative, where these lead after the components."""
        return Spread(self.deviations[:, k], None if self.weights is None else self.weights[:, k])

    def scaled(self, x: Array, centre: Array, pull: Array | None) -> tuple[Array, Array]:
        """Return the density φ(x − centre), or φ(x − centre) exp(pull · x), over about its largest value.

        Beside it stands the logarithm of that value. ``x`` has two axes more than the centre, the last.
        """
        xp = namespace(x)
        z = x - centre[..., None, None]
        if self.weights is None:
            deviation = self.deviations[0]
            log = -xp.log(deviation) - _LOG_ROOT_TWO_PI
            if pull is None:
                z *= z  # in place, where there is one
                z *= (-0.5 / deviation**2)[..., None, None]
                return xp.exp(z), log
            peak = pull * deviation**2  # the exponent is complete to a square around there
            bell = xp.exp(-(((z - peak[..., None, None]) / (math.sqrt(2) * deviation)[..., None, None]) ** 2))
            return bell, log + peak * pull / 2 + pull * centre
        assert pull is None  # which is for normals alone
        (peak,), (whole,) = self._sums(xp.zeros_like(z[..., :1, :1]), 0), self._sums(z, 0)
        return whole / peak, xp.log(peak[..., 0, 0]) - _LOG_ROOT_TWO_PI

    def score(self, z: Array) -> Array:
        """Return −φ′(z)/φ(z)."""
        if self.weights is None:
            return z / (self.deviations[0] ** 2)[..., None, None]
        xp = namespace(z)
        whole, sharp = self._sums(z, 0, 2)
        some = whole > 0
        return xp.where(some, z * sharp / xp.where(some, whole, 1), 0)

    def derivatives(self, z: Array) -> tuple[Array, Array, Array]:
        """Return log φ(z), −φ′/φ, and the second derivative of log φ, for ``z`` of the shape of the mixtures."""
        xp = namespace(z)
        if self.weights is None:
            s = self.deviations[0]
            return -((z / s) ** 2) / 2 - xp.log(s) - _LOG_ROOT_TWO_PI, z / s**2, -(s**-2) + 0 * z
        logs = xp.log(xp.maximum(self.weights, xp.asarray(_RARE)) / self.deviations) - (z / self.deviations) ** 2 / 2
        return self._mixed(logs - _LOG_ROOT_TWO_PI, z / self.deviations**2, -(self.deviations**-2) + 0 * z)

    def under(self, z: Array) -> tuple[Array, Array, Array]:
        """Return log Φ(z) and its first two derivatives by the centre, for ``z`` of the shape of the mixtures."""
        xp = namespace(z)
        y = z / self.deviations
        log = log_ndtr(y)
        rate = xp.exp(-(y**2) / 2 - log - _LOG_ROOT_TWO_PI) / self.deviations
        bend = -rate * (y / self.deviations + rate)
        if self.weights is None:
            return log[0], -rate[0], bend[0]
        return self._mixed(log + xp.log(xp.maximum(self.weights, xp.asarray(_RARE))), -rate, bend)

    def _mixed(self, logs: Array, first: Array, second: Array) -> tuple[Array, Array, Array]:
        """Put logarithms of components and their derivatives together."""
        xp = namespace(logs)
        largest = xp.max(logs, axis=0)
        shares = xp.exp(logs - largest)
        whole = xp.sum(shares, axis=0)
        slope = xp.sum(shares * first, axis=0) / whole
        bend = xp.sum(shares * (second + first**2), axis=0) / whole - slope**2
        return largest + xp.log(whole), slope, bend

    def _sums(self, z: Array, *powers: int) -> list[Array]:
        """Σ_c weight φ_c(z)/s_c^power for each power, one component after the other."""
        xp = namespace(z)
        assert self.weights is not None
        square = z * z
        totals = [xp.zeros_like(z) for _ in powers]
        for deviation, weight in zip(self.deviations, self.weights, strict=True):
            bell = xp.exp(square * (-0.5 / deviation**2)[..., None, None])
            for k, power in enumerate(powers):
                totals[k] = totals[k] + (weight / deviation ** (power + 1.0))[..., None, None] * bell
        return totals


class Counts(Protocol):
    """What reported counts stand for: several counts that normal observations may have had, each with a probability."""

    @property
    def size(self) -> float:
        """The size of the error of counts; NaN if they have none."""

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return counts and their probabilities, ``(component, ...)``, for reported ones above 0."""


@dataclass(frozen=True)
class VoterMeans:
    """The distribution of a voter's mean of c observations with standard deviation σ.

    Attributes
    ----------
    sigma
        One for all alternatives, or one for each, ``(..., 1, alternative)`` if it is an array.
    cap
        The most that a count may count for; None for any.
    counts
        What the counts stand for, where they are doubtful or observations are not normal; else None.
    between
        ω²/σ², the variance by which voters differ however much they saw, in units of that of one observation; one for
        all alternatives, or one for each.
    extra
        Variance that comes to that of the mean, ``(..., voter, alternative)``; None for none.
    leniency
        The variance of a constant that a voter adds to all values, a number or one for each decision, ``(...)``.
    doubt
        The probability that a vote is any of those that were possible.
    """

    sigma: Any = 1.0
    cap: float | None = None
    counts: Counts | None = None
    between: Any = 0.0
    extra: Array | None = None
    leniency: Any = 0.0
    doubt: float = 0.0

    def spread(self, counts: Array) -> Spread:
        """Return the spreads of means by their counts, ``(..., voter, alternative)``; infinite for a count of 0."""
        xp = namespace(counts)
        seen = counts > 0
        sigma = xp.asarray(self.sigma, dtype=counts.dtype)
        if self.cap is not None:
            counts = xp.minimum(counts, xp.asarray(self.cap, dtype=counts.dtype))
        counts = xp.where(seen, counts, 1)
        true, weights = (counts[None], None) if self.counts is None else self.counts.mixture(counts)
        deviations = sigma / xp.sqrt(effective(true, self.between))
        if self.extra is not None:
            deviations = xp.sqrt(deviations**2 + self.extra)
        return Spread(xp.where(seen, deviations, xp.inf), weights)


def effective(counts: Array, between: Any) -> Array:
    """Return how many observations a mean is worth if voters differ by ω besides: 1/(1/c + ω²/σ²)."""
    xp = namespace(counts)
    return counts / (1 + xp.asarray(between, dtype=counts.dtype) * counts)
