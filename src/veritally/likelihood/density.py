"""How voters' means spread around the truth: the one place where σ, caps, noise and doubtful counts meet.

Everything else in the likelihood sees mixtures of normals with a common centre, ``Spread``, and nothing of the voter.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from veritally.arrays import Array, log_ndtr, namespace

_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2
_COMPONENTS = 8  # that stand for a distribution of true counts
_PER_OCTAVE = 3
_RARE = 1e-30  # a weight that stands for none
_MOST_WHOLE = 2000  # counts up to which whole numbers are summed one by one


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
                return xp.exp(z * z * (-0.5 / deviation**2)[..., None, None]), log
            peak = pull * deviation**2  # the exponent is complete to a square around there
            bell = xp.exp(-(((z - peak[..., None, None]) / (math.sqrt(2) * deviation)[..., None, None]) ** 2))
            return bell, log + peak * pull / 2 + pull * centre
        assert pull is None  # which is for normals alone
        peak = self._sum(xp.zeros_like(z[..., :1, :1]), 0)
        return self._sum(z, 0) / peak, xp.log(peak[..., 0, 0]) - _LOG_ROOT_TWO_PI

    def score(self, z: Array) -> Array:
        """Return −φ′(z)/φ(z)."""
        if self.weights is None:
            return z / (self.deviations[0] ** 2)[..., None, None]
        xp = namespace(z)
        whole = self._sum(z, 0)
        some = whole > 0
        return xp.where(some, z * self._sum(z, 2) / xp.where(some, whole, 1), 0)

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

    def _sum(self, z: Array, power: int) -> Array:
        """Σ_c weight φ_c(z)/s_c^power, one component after the other."""
        xp = namespace(z)
        assert self.weights is not None
        square = z * z
        factors = self.weights / self.deviations ** (power + 1.0)
        total = xp.zeros_like(z)
        for precision, factor in zip(self.deviations**-2.0, factors, strict=True):
            total = total + factor[..., None, None] * xp.exp(square * (-precision / 2)[..., None, None])
        return total


class Counts(Protocol):
    """What reported counts tell about true ones, and how wrong they may be."""

    @property
    def size(self) -> float:
        """The size of the error."""

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return possible true counts and their probabilities, ``(component, ...)``, for reported ones above 0."""


@dataclass(frozen=True)
class Means:
    """The distribution of a voter's mean of c observations with standard deviation σ.

    Attributes
    ----------
    sigma
        One for all alternatives, or one for each, ``(..., 1, alternative)`` if it is an array.
    cap
        The most that a count may count for; None for any.
    counts
        What the reported counts tell about the true ones; None if they are true.
    extra
        Variance that comes to that of the mean, ``(..., voter, alternative)``; None for none.
    """

    sigma: Any = 1.0
    cap: float | None = None
    counts: Counts | None = None
    extra: Array | None = None

    def spread(self, counts: Array) -> Spread:
        """Return the spreads of means by their counts, ``(..., voter, alternative)``; infinite for a count of 0."""
        xp = namespace(counts)
        seen = counts > 0
        sigma = xp.asarray(self.sigma, dtype=counts.dtype)
        if self.cap is not None:
            counts = xp.minimum(counts, xp.asarray(self.cap, dtype=counts.dtype))
        counts = xp.where(seen, counts, 1)
        true, weights = (counts[None], None) if self.counts is None else self.counts.mixture(counts)
        deviations = sigma / xp.sqrt(true)
        if self.extra is not None:
            deviations = xp.sqrt(deviations**2 + self.extra)
        return Spread(xp.where(seen, deviations, xp.inf), weights)


@dataclass(frozen=True)
class WithinPercentage:
    """Every count may be off by up to ± ``size`` of itself; true counts were equally likely from low to high.

    Reported counts are max(1, round(c · u)) with u uniform on 1 ± size, where all counts are ``whole`` numbers; else
    c · u.
    """

    size: float
    low: float
    high: float
    whole: bool = True

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return true counts and their probabilities."""
        xp = namespace(counts)
        largest = math.ceil(self.high * (1 + self.size))
        if self.whole and largest <= _MOST_WHOLE:
            table, weights = _percentage_table(self.size, int(self.low), int(self.high), largest)
            place = xp.astype(xp.clip(counts, 1, largest), xp.int32) - 1
            return tuple(
                xp.stack([xp.take(xp.asarray(column, dtype=counts.dtype), place) for column in x.T])
                for x in (table, weights)
            )
        # P(r | c) is 1/c on r/(1 + size) … r/(1 − size), so that log c is uniform there.
        least = xp.asarray(self.low, dtype=counts.dtype)
        most = xp.asarray(self.high, dtype=counts.dtype)
        low = xp.log(xp.maximum(xp.minimum(counts, most) / (1 + self.size), least))
        high = xp.log(xp.minimum(counts / (1 - self.size), most)) if self.size < 1 else xp.log(most)
        high = xp.maximum(high, low)
        u, weights = np.polynomial.legendre.leggauss(_COMPONENTS)
        true = xp.stack([xp.exp(low + (high - low) * (1 + node) / 2) for node in u.tolist()])
        return true, xp.stack([xp.full_like(counts, weight / 2) for weight in weights.tolist()])


@dataclass(frozen=True)
class Replaced:
    """Each count has with the probability ``size`` nothing to do with the true one, anywhere from low to high."""

    size: float
    low: float
    high: float
    whole: bool = True

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return true counts and their probabilities."""
        xp = namespace(counts)
        others, weights = _uniform(self.low, self.high, self.whole)
        true = xp.stack([counts, *(xp.full_like(counts, other) for other in others)])
        shares = [1 - self.size, *(self.size * weight for weight in weights)]
        return true, xp.stack([xp.full_like(counts, share) for share in shares])


@functools.cache
def _percentage_table(size: float, low: int, high: int, largest: int) -> tuple[Array, Array]:
    """For each reported count from 1 on, true counts and probabilities, ``(count, component)``."""
    true = np.arange(max(low, 1), high + 1, dtype=float)
    rows = []
    for reported in range(1, largest + 1):
        start, end = (reported - 0.5 if reported > 1 else 0.0), reported + 0.5
        overlap = np.minimum(end, true * (1 + size)) - np.maximum(start, true * (1 - size))
        chance = np.clip(overlap, 0, None) / true if size > 0 else (true == reported).astype(float)
        if not chance.any():  # beyond what any true count could have given
            chance = (true == np.clip(reported, true[0], true[-1])).astype(float)
        rows.append(_condensed(true, chance / chance.sum(), _COMPONENTS))
    return np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])


@functools.cache
def _uniform(low: float, high: float, whole: bool) -> tuple[list[float], list[float]]:
    """Return counts that stand for all from low to high, and their shares."""
    if low == high:
        return [low], [1.0]
    if whole and high <= _MOST_WHOLE:
        true = np.arange(max(math.ceil(low), 1), math.floor(high) + 1, dtype=float)
        weights = np.full(len(true), 1 / len(true))
    else:
        u, weights = np.polynomial.legendre.leggauss(64)
        true, weights = low + (high - low) * (1 + u) / 2, weights / 2
    octave = np.floor(np.log2(true / true[0]) + 1e-9)  # each by itself: where all others have faded, the lowest is left
    parts = [_condensed(true[octave == k], weights[octave == k], _PER_OCTAVE) for k in np.unique(octave)]
    points, shares = (np.concatenate(x) for x in zip(*parts, strict=True))
    return points[shares > 0].tolist(), shares[shares > 0].tolist()


def _condensed(points: Array, weights: Array, size: int) -> tuple[Array, Array]:
    """Return few points and weights with the same moments: the Gauss quadrature of a discrete distribution, by Lanczos.

    Normal densities are entire functions of the precision, so that their mixture hardly notices.
    """
    kept = weights > 0
    points, weights = points[kept], weights[kept]
    if len(points) <= size:
        spare = size - len(points)
        return np.append(points, np.full(spare, points[-1])), np.append(weights, np.zeros(spare))
    vectors = [np.sqrt(weights / weights.sum())]
    diagonal, off = [], []
    for _ in range(size):
        new = points * vectors[-1]
        diagonal.append(float(new @ vectors[-1]))
        for _ in range(2):  # orthogonalise twice: Lanczos loses it otherwise
            for old in vectors:
                new = new - (new @ old) * old
        off.append(float(np.linalg.norm(new)))
        vectors.append(new / off[-1])
    whole = weights.sum()
    nodes, basis = np.linalg.eigh(np.diag(diagonal) + np.diag(off[:-1], 1) + np.diag(off[:-1], -1))
    return nodes, whole * basis[0] ** 2
