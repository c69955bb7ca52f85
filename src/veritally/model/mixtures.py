"""Mixtures of normals: what counts stand for if they are doubtful, or if observations are not normal.

Whatever makes the mean of observations a mixture of normals around the truth is written as counts: N(μ, σ²/c) for
several c, each with a probability.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.errors import InputError
from veritally.model.errors import Percentage, Replacement
from veritally.model.means import Counts
from veritally.model.observation import NormalNoise, Observation

_COMPONENTS = 8  # that stand for a distribution of true counts
_PER_OCTAVE = 3
_MOST_WHOLE = 2000  # counts up to which whole numbers are summed one by one
_FINELY = 4  # values for each octave of the variance of observations
_MOST_ADDED = 10**6  # observations
_OCTAVES = range(-20, 64)  # of the variance of one observation
_PIECES = 16  # of an octave, in which one distribution is smooth
_NEVER = 1e-14  # a probability that need not be counted


def mixture(count_error: Any, noise: Observation | None, counts: Array, *limits: float) -> Counts | None:
    """Return what counts stand for; None if they are exact and observations are normal.

    True counts are taken to have been equally likely between the ``limits``, by default the lowest and the highest of
    the counts.
    """
    plain = noise is None or isinstance(noise, NormalNoise)
    if count_error is None and plain:
        return None
    if not limits and is_jax(counts):
        raise InputError(
            "in JAX, a count error or noise that is not normal needs the range of true counts, count_range"
        )
    seen = counts[counts > 0] if not limits else np.asarray(limits)
    whole = bool((seen % 1 == 0).all())
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (1.0, 1.0)
    if plain:
        return _doubtful(count_error, low, high, whole)
    assert noise is not None
    if count_error is not None:
        raise InputError("count_error cannot be combined with noise that is not normal; leave one of them out")
    if not whole or high > _MOST_ADDED:
        raise InputError(f"noise that is not normal needs whole counts up to {_MOST_ADDED:,}; round or cap them")
    return Varying(noise, int(high))


def _doubtful(error: Any, low: float, high: float, whole: bool) -> Counts:
    if isinstance(error, Percentage):
        return WithinPercentage(error.size, low, high, whole)
    if isinstance(error, Replacement):
        return Replaced(error.probability, low, high, whole)
    raise InputError("count_error can be percentage or replacement here; give one of these")


@dataclass(frozen=True)
class _Doubtful:
    """An error of counts of some size; true counts were equally likely from low to high, perhaps ``whole`` numbers."""

    size: float
    low: float
    high: float
    whole: bool = True


class WithinPercentage(_Doubtful):
    """Every count may be off by up to ± ``size`` of itself.

    Reported counts are max(1, round(c · u)) with u uniform on 1 ± size, where all counts are ``whole`` numbers; else
    c · u.
    """

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return true counts and their probabilities."""
        xp = namespace(counts)
        largest = math.ceil(self.high * (1 + self.size))
        if self.whole and largest <= _MOST_WHOLE:
            table = _percentage_table(self.size, int(self.low), int(self.high), largest)
            return _looked_up(table, _places(counts, largest), counts)
        # P(r | c) is 1/c on r/(1 + size) … r/(1 − size), so that log c is uniform there.
        least = xp.asarray(self.low, dtype=counts.dtype)
        most = xp.asarray(self.high, dtype=counts.dtype)
        low = xp.log(xp.maximum(xp.minimum(counts, most) / (1 + self.size), least))
        high = xp.log(xp.minimum(counts / (1 - self.size), most)) if self.size < 1 else xp.log(most)
        high = xp.maximum(high, low)
        u, weights = np.polynomial.legendre.leggauss(_COMPONENTS)
        true = xp.stack([xp.exp(low + (high - low) * (1 + node) / 2) for node in u.tolist()])
        return true, xp.stack([xp.full_like(counts, weight / 2) for weight in weights.tolist()])


class Replaced(_Doubtful):
    """Each count has with the probability ``size`` nothing to do with the true one, anywhere from low to high."""

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return true counts and their probabilities."""
        xp = namespace(counts)
        others, weights = _uniform(self.low, self.high, self.whole)
        true = xp.stack([counts, *(xp.full_like(counts, other) for other in others)])
        shares = [1 - self.size, *(self.size * weight for weight in weights)]
        return true, xp.stack([xp.full_like(counts, share) for share in shares])


@dataclass(frozen=True)
class Varying:
    """Observations that are normal with a variance of their own each: Laplace, Student's t.

    Given the variances σ² w_1, …, σ² w_c the mean of c observations is normal with variance σ² Σ w/c²: as if there were
    c²/Σ w of them.
    """

    noise: Observation
    most: int

    size = math.nan

    def mixture(self, counts: Array) -> tuple[Array, Array]:
        """Return by which counts of normal observations the mean would be as sure, and their probabilities."""
        if is_jax(counts):
            known = tuple(range(1, self.most + 1))
            return _looked_up(_varying_table(self.noise, known), _places(counts, self.most), counts)
        each, place = np.unique(counts, return_inverse=True)
        known = tuple(each.astype(int).tolist())
        return _looked_up(_varying_table(self.noise, known), place.reshape(counts.shape), counts)


def _places(counts: Array, most: int) -> Array:
    """Return where counts stand in a table that begins with 1."""
    xp = namespace(counts)
    return xp.astype(xp.clip(counts, 1, most), xp.int32) - 1


def _looked_up(table: tuple[Array, Array], places: Array, like: Array) -> tuple[Array, Array]:
    """Return counts and their probabilities, ``(component, ...)``, from a table ``(component, count)``."""
    xp = namespace(like)
    true, weights = (xp.take(xp.asarray(x, dtype=like.dtype), places, axis=-1) for x in table)
    return true, weights


@functools.lru_cache(maxsize=64)
def _varying_table(noise: Observation, counts: tuple[int, ...]) -> tuple[Array, Array]:
    """Return counts of normal observations and their probabilities, ``(component, count)``."""
    sums = [_variances(noise, count) for count in counts]
    size = max(len(points) for points, _ in sums)
    table = np.ones((2, size, len(counts)))
    for k, (points, weights) in enumerate(sums):
        filled = np.append(points, np.full(size - len(points), points[0]))
        table[0, :, k] = counts[k] ** 2 / filled
        table[1, :, k] = np.append(weights, np.zeros(size - len(points)))
    return table[0], table[1]


@functools.cache
def _variances(noise: Observation, count: int) -> tuple[Array, Array]:
    """Return values and probabilities that stand for the sum of the variances of so many observations, over σ²."""
    if count == 1:
        u, weights = np.polynomial.legendre.leggauss(32)
        ends = 2.0 ** np.asarray(_OCTAVES)
        ends = np.append(0, np.linspace(ends[:-1], ends[1:], _PIECES, endpoint=False).T)
        points = (ends[:-1, None] + np.diff(ends)[:, None] * (1 + u) / 2).ravel()
        weights = (np.diff(ends)[:, None] / 2 * weights).ravel() * noise.variance_density(points)
        points = np.maximum(points, ends[1] / 2)
    else:
        (one, its), (other, their) = (_variances(noise, part) for part in (count // 2, count - count // 2))
        points, weights = np.add.outer(one, other).ravel(), np.multiply.outer(its, their).ravel()
    points, weights = _by_octave(points, weights / weights.sum(), _FINELY)
    kept = weights > _NEVER
    return points[kept], weights[kept] / weights[kept].sum()


@functools.cache
def _percentage_table(size: float, low: int, high: int, largest: int) -> tuple[Array, Array]:
    """For each reported count from 1 on, true counts and probabilities, ``(component, count)``."""
    true = np.arange(max(low, 1), high + 1, dtype=float)
    rows = []
    for reported in range(1, largest + 1):
        start, end = (reported - 0.5 if reported > 1 else 0.0), reported + 0.5
        overlap = np.minimum(end, true * (1 + size)) - np.maximum(start, true * (1 - size))
        chance = np.clip(overlap, 0, None) / true if size > 0 else (true == reported).astype(float)
        if not chance.any():  # beyond what any true count could have given
            chance = (true == np.clip(reported, true[0], true[-1])).astype(float)
        rows.append(_condensed(true, chance / chance.sum(), _COMPONENTS))
    return np.stack([row[0] for row in rows], axis=1), np.stack([row[1] for row in rows], axis=1)


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
    points, shares = _by_octave(true / true[0], weights, _PER_OCTAVE)
    return (points * true[0]).tolist(), shares.tolist()


def _by_octave(points: Array, weights: Array, size: int) -> tuple[Array, Array]:
    """Condense each octave by itself: where the others have faded, one is left."""
    octave = np.floor(np.log2(points) + 1e-9)
    parts = [_condensed(points[octave == k], weights[octave == k], size) for k in np.unique(octave[weights > 0])]
    points, shares = (np.concatenate(x) for x in zip(*parts, strict=True))
    return points[shares > 0], shares[shares > 0]


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
