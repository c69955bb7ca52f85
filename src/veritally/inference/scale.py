"""How noisy voters are, from the votes themselves.

Rankings tell only σ/τ, through how much more the well-informed agree. What is unknown is u = log(σ/τ), from where its
prior has its middle. The votes' evidence is known, with its slope, at a few values of u, from pure noise downwards
until it has fallen; between them it is a cubic. Times the prior it is a density, which a few values with their weights
stand for (Gauss's quadrature), so that what is wanted is averaged over all that u may be.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.progress import report

_WEAK = 2.0  # standard deviation of the prior of u
_BLOCKS = ((5.6, 3.6, 1.6, -0.4), (-2.4, -4.4))  # where evidence is looked at, all at once in each
_LOW, _HIGH = -4.4, 5.6  # the ends, beyond which it is about level
_FALLEN = 6.0  # below the highest, from which on nothing matters
_STEEP = 20.0  # slope of what was not looked at, since it has fallen
_CLOSER = 2  # further looks, at the highest, where that is sharp
_SHARP = 0.6  # standard deviations of u
_COARSE, _FINE = 101, 81  # points of a density
_SHOWN = 18.0  # below the highest, up to which a density is laid out
_VALUES = {5: math.inf, 3: 0.7, 1: 0.1}  # how many values stand for a density, up to which standard deviation
_NEGLIGIBLE = 1e-3  # probability of a value that is left out
_SEARCH = 0.6  # of the whole work, about

LogDensity = Callable[[Array], Array]
"""Gives the logarithm of a density at values of u, ``(value, ...)``, up to a constant."""


def weak_prior(u: Array) -> Array:
    """Return the logarithm of a weak prior of u: normal, a factor of 50 either way (95%)."""
    return -((u / _WEAK) ** 2) / 2


class Looks(NamedTuple):
    """What is found at values of u, ``(value, decision)``, in falling order.

    Attributes
    ----------
    u
        The values.
    log_evidence, slope
        Of the votes, and its slope by u.
    mean, covariance
        About those of the truths, ``(value, decision, alternative)`` and ``(value, decision, alternative,
        alternative)``.
    """

    u: Array
    log_evidence: Array
    slope: Array
    mean: Array
    covariance: Array

    def joined(self, *others: "Looks") -> "Looks":
        """Put further looks in, and evidence that is not known from what slopes say."""
        xp = namespace(self.u)
        whole = Looks(*(xp.concat(parts) for parts in zip(self, *others, strict=True)))
        order = xp.argsort(-whole.u, axis=0)
        whole = Looks(*(xp.take_along_axis(x, _wide(order, x), axis=0) for x in whole))
        u, slope, known = whole.u, whole.slope, [whole.log_evidence[0]]
        for k in range(1, len(u)):
            guess = known[-1] + (u[k] - u[k - 1]) * (slope[k] + slope[k - 1]) / 2
            known.append(xp.where(xp.isnan(whole.log_evidence[k]), guess, whole.log_evidence[k]))
        return whole._replace(log_evidence=xp.stack(known))

    def at(self, u: Array) -> "Looks":
        """Return about what is to be found at other values: evidence by cubics between those that are known."""
        xp = namespace(u)
        place = xp.sum(xp.astype(self.u[1:-1, None] >= u, xp.int32), axis=0)
        (a, b), (y, z), (p, q), *rest = (
            (xp.take_along_axis(x, _wide(place, x), axis=0), xp.take_along_axis(x, _wide(place + 1, x), axis=0))
            for x in self
        )
        width = xp.where(b == a, 1, b - a)
        t = (u - a) / width
        left = y * (1 + 2 * t) + p * width * t
        right = z * (3 - 2 * t) - q * width * (1 - t)
        slope = 6 * t * (1 - t) * (z - y) / width + (1 - t) * (1 - 3 * t) * p + t * (3 * t - 2) * q
        between = (one + _wide(t, one) * (other - one) for one, other in rest)
        return Looks(u, left * (1 - t) ** 2 + right * t**2, slope, *between)

    def evidence(self, u: Array) -> Array:
        """Return the log-evidence at other values."""
        return self._replace(mean=self.u, covariance=self.u).at(u).log_evidence


Look = Callable[[Array, Array, Looks | None], Looks]
"""Looks at values of u of some decisions, given by their places, perhaps from looks near by."""


class Values(NamedTuple):
    """A few values of u that stand for all it may be, with their probabilities, ``(value, decision)``.

    Attributes
    ----------
    near
        About what is to be found there.
    weight
        Their probabilities.
    log_evidence
        Of the votes, averaged over the prior, ``(decision,)``.
    """

    near: Looks
    weight: Array
    log_evidence: Array


def look_around(look: Look, prior: LogDensity, decisions: int, like: Array) -> Looks:
    """Look at the evidence of votes from pure noise downwards, until it has fallen, and closer where it is sharp."""
    xp = namespace(like)
    rows = np.arange(decisions)
    if is_jax(like):  # whose programs have one shape
        u = xp.asarray([value for block in _BLOCKS for value in block], dtype=like.dtype)
        return _closer(look(u[:, None] + 0 * like, rows, None).joined(), look, prior)
    seen: Looks | None = None
    for turn, block in enumerate(_BLOCKS):
        report(_SEARCH * turn / (len(_BLOCKS) + 1))
        u = np.repeat(np.asarray(block)[:, None], decisions, axis=1)
        if seen is None:
            seen = look(u, rows, None).joined()
            continue
        # Lower, where it has not fallen yet; elsewhere it falls on.
        height = seen.log_evidence + prior(seen.u)
        rows = np.flatnonzero((seen.slope[-1] < 0) | (height[-1] > height.max(axis=0) - _FALLEN))
        last = Looks(*(np.repeat(x[-1:], len(u), axis=0) for x in seen))
        new = last._replace(u=u, log_evidence=last.log_evidence + _STEEP * (u - last.u), slope=np.full_like(u, _STEEP))
        if len(rows):
            near = Looks(*(x[:, rows] for x in last))
            for old, found in zip(new, look(u[:, rows], rows, near), strict=True):
                old[:, rows] = found
        seen = seen.joined(new)
    assert seen is not None
    return _closer(seen, look, prior)


def _closer(seen: Looks, look: Look, prior: LogDensity) -> Looks:
    """Look where the density is highest, of decisions where it is sharp; in JAX, of all."""
    for _ in range(_CLOSER):
        u, weight, _ = _density(seen, prior)
        xp = namespace(u)
        near = seen.at(xp.take_along_axis(u, xp.argmax(weight, axis=0)[None], axis=0))
        sharp = np.arange(u.shape[1]) if is_jax(u) else np.flatnonzero(_deviation(u, weight) < _SHARP)
        if not len(sharp):
            break
        if len(sharp) == u.shape[1]:
            seen = seen.joined(look(near.u, sharp, near))
            continue
        some = Looks(*(x[:, sharp] for x in near))
        for old, found in zip(near, look(some.u, sharp, some), strict=True):  # others stay what they were about
            old[:, sharp] = found
        seen = seen.joined(near)
    return seen


def stand_ins(seen: Looks, prior: LogDensity) -> Values:
    """Return a few values of u, with their probabilities, that stand for its posterior: five, fewer if it is narrow."""
    u, weight, log_evidence = _density(seen, prior)
    xp = namespace(u)
    deviation, most = _deviation(u, weight), max(_VALUES)
    nodes = chances = xp.zeros((most, u.shape[1]), dtype=u.dtype)
    for number, narrow in _VALUES.items():
        if is_jax(u) and number < most:
            break
        some, shares = gauss(u, weight, number)
        some = xp.concat([some, xp.repeat(some[:1], most - number, axis=0)])
        shares = xp.concat([shares, xp.zeros((most - number, u.shape[1]), dtype=u.dtype)])
        nodes, chances = (xp.where(deviation <= narrow, x, y) for x, y in ((some, nodes), (shares, chances)))
    chances = xp.where(chances < _NEGLIGIBLE, 0, chances)
    return Values(seen.at(nodes), chances / xp.sum(chances, axis=0), log_evidence)


def gauss(x: Array, weight: Array, number: int) -> tuple[Array, Array]:
    """Return so many values, and their weights, that integrate polynomials against weighted points exactly.

    Points, weights (which sum to 1) and results are ``(value, ...)``. The values are eigenvalues of the matrix of the
    recursion of the points' orthogonal polynomials (Golub and Welsch).
    """
    xp = namespace(x)
    before, now, size = xp.zeros_like(x), xp.ones_like(x), xp.ones_like(x[0])
    beside = xp.zeros_like(size)
    eye = xp.eye(number, dtype=x.dtype)
    matrix = xp.zeros((*size.shape, number, number), dtype=x.dtype)
    for k in range(number):
        middle = xp.sum(weight * x * now**2, axis=0) / size
        matrix = matrix + middle[..., None, None] * eye[k][:, None] * eye[k]
        before, now = now, (x - middle) * now - beside * before
        new = xp.sum(weight * now**2, axis=0)
        beside, size = new / size, xp.where(new > 0, new, 1)
        if k + 1 < number:
            step = eye[k][:, None] * eye[k + 1]
            matrix = matrix + xp.sqrt(beside)[..., None, None] * (step + step.T)
    values, vectors = xp.linalg.eigh(matrix)
    return xp.moveaxis(values, -1, 0), xp.moveaxis(vectors[..., 0, :] ** 2, -1, 0)


def _density(seen: Looks, prior: LogDensity) -> tuple[Array, Array, Array]:
    """Return points, their probabilities, ``(point, decision)``, and the evidence averaged over the prior."""
    xp = namespace(seen.u)
    coarse = xp.linspace(_LOW, _HIGH, _COARSE, dtype=seen.u.dtype)[:, None] + 0 * seen.u[0]
    height = seen.evidence(coarse) + prior(coarse)
    matters = height > xp.max(height, axis=0) - _SHOWN
    step = (_HIGH - _LOW) / (_COARSE - 1)
    low = xp.maximum(xp.min(xp.where(matters, coarse, _HIGH), axis=0) - step, xp.asarray(_LOW, dtype=coarse.dtype))
    high = xp.minimum(xp.max(xp.where(matters, coarse, _LOW), axis=0) + step, xp.asarray(_HIGH, dtype=coarse.dtype))
    fine = low + (high - low) * xp.linspace(0, 1, _FINE, dtype=coarse.dtype)[:, None]
    height = seen.evidence(fine) + prior(fine)
    top = xp.max(height, axis=0)
    weight = xp.exp(height - top)
    whole = xp.sum(weight, axis=0)
    return fine, weight / whole, top + xp.log(whole * (high - low) / (_FINE - 1))


def _deviation(u: Array, weight: Array) -> Array:
    """Return the standard deviation of weighted points, ``(decision,)``."""
    xp = namespace(u)
    return xp.sqrt(xp.sum(weight * (u - xp.sum(weight * u, axis=0)) ** 2, axis=0))


def _wide(x: Array, like: Array) -> Array:
    """Give ``x``, ``(value, decision)``, further axes to go with ``like``."""
    return x.reshape(*x.shape, *[1] * (like.ndim - 2))


def interval(mean: Array, deviation: Array) -> Array:
    """Return exp of the mean, and of the ends of a 95% interval, of a logarithm that is about normal, ``(..., 3)``."""
    xp = namespace(mean)
    reach = 1.96 * deviation
    return xp.exp(xp.stack([mean, mean - reach, mean + reach], axis=-1))
