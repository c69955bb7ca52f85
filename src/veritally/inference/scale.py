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
from veritally.progress import stretch

_BLOCKS = ((5.6, 3.6, 1.6, -0.4), (-2.4, -4.4))  # where evidence is looked at, all at once in each
REACH = -4.4, 5.6  # the ends, beyond which it is about level
_FALLEN = 6.0  # below the highest, from which on nothing matters
_STEEP = 20.0  # slope of what was not looked at, since it has fallen
_CLOSER = 2  # further looks, at the highest, where that is sharp
_SHARP = 0.6  # standard deviations of u
_COARSE, _FINE = 101, 81  # points of a density
_SHOWN = 18.0  # below the highest, up to which a density is laid out
_VALUES = {5: math.inf, 3: 0.7, 1: 0.15}  # how many values stand for a density, up to which standard deviation
_NEGLIGIBLE = 1e-3  # probability of a value that is left out
_STEP = 0.05  # between points of a logarithm that is pooled
_SPREADS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0)  # over decisions
_TINY = 1e-300
_SHARES = (0.5, 0.025, 0.975)


class NoisePrior(NamedTuple):
    """What is known of u beforehand: normal, but for a probability that votes are nothing but noise.

    Attributes
    ----------
    centre
        Where it is expected, a number or one for each decision, ``(decision,)``.
    deviation
        Its standard deviation.
    nothing
        The probability of pure noise.
    """

    centre: Array | float
    deviation: float
    nothing: float = 0.0

    def log_density(self, u: Array) -> Array:
        """Return the logarithm of the density at values of u, ``(value, decision)``, but for pure noise."""
        normal = -(((u - self.centre) / self.deviation) ** 2) / 2
        return normal + math.log((1 - self.nothing) / (self.deviation * math.sqrt(2 * math.pi)))


WEAK = NoisePrior(0.0, 2.0)  # a factor of 50 either way (95%)
DOUBTFUL = WEAK._replace(nothing=0.5)  # the same, and as likely as not it is all noise


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
        u, slope, first = whole.u, whole.slope, whole.log_evidence[0]
        known = [xp.where(xp.isfinite(first), first, 0)]
        for k in range(1, len(u)):
            guess = known[-1] + (u[k] - u[k - 1]) * (slope[k] + slope[k - 1]) / 2
            known.append(xp.where(xp.isfinite(whole.log_evidence[k]), whole.log_evidence[k], guess))
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


class ScaleValues(NamedTuple):
    """A few values of u that stand for all it may be, with their probabilities, ``(value, decision)``.

    Attributes
    ----------
    near
        About what is to be found there.
    weight
        Their probabilities.
    log_evidence
        Of the votes, averaged over the prior, ``(decision,)``.
    quantiles
        The median of u, and the ends of its 95% interval, ``(3, decision)``, if votes are not pure noise.
    p_noise
        The probability that they are, ``(decision,)``.
    """

    near: Looks
    weight: Array
    log_evidence: Array
    quantiles: Array
    p_noise: Array


def look_around(look: Look, prior: NoisePrior, decisions: int, like: Array) -> Looks:
    """Look at the evidence of votes from pure noise downwards, until it has fallen, and closer where it is sharp."""
    xp = namespace(like)
    rows = np.arange(decisions)
    if is_jax(like):  # whose programs have one shape
        u = xp.asarray([value for block in _BLOCKS for value in block], dtype=like.dtype)
        return _closer(look(u[:, None] + 0 * like, rows, None).joined(), look, prior)
    seen: Looks | None = None
    for turn, block in enumerate(_BLOCKS):
        share = stretch(turn / (len(_BLOCKS) + 1), (turn + 1) / (len(_BLOCKS) + 1))
        u = np.repeat(np.asarray(block)[:, None], decisions, axis=1)
        if seen is None:
            with share:
                seen = look(u, rows, None).joined()
            continue
        # Lower, where it has not fallen yet; elsewhere it falls on.
        height = seen.log_evidence + prior.log_density(seen.u)
        rows = np.flatnonzero((seen.slope[-1] < 0) | (height[-1] > height.max(axis=0) - _FALLEN))
        last = Looks(*(np.repeat(x[-1:], len(u), axis=0) for x in seen))
        new = last._replace(u=u, log_evidence=last.log_evidence + _STEEP * (u - last.u), slope=np.full_like(u, _STEEP))
        if len(rows):
            near = Looks(*(x[:, rows] for x in last))
            with share:
                some = look(u[:, rows], rows, near)
            for old, found in zip(new, some, strict=True):
                old[:, rows] = found
        seen = seen.joined(new)
    assert seen is not None
    with stretch(len(_BLOCKS) / (len(_BLOCKS) + 1), 1):
        return _closer(seen, look, prior)


def _closer(seen: Looks, look: Look, prior: NoisePrior) -> Looks:
    """Look where the density is highest, of decisions where it is sharp; in JAX, of all."""
    for turn in range(_CLOSER):
        u, weight, _ = _density(seen, prior._replace(nothing=0.0))
        xp = namespace(u)
        near = seen.at(xp.take_along_axis(u, xp.argmax(weight, axis=0)[None], axis=0))
        sharp = np.arange(u.shape[1]) if is_jax(u) else np.flatnonzero(_deviation(u, weight) < _SHARP)
        if not len(sharp):
            break
        with stretch(turn / _CLOSER, (turn + 1) / _CLOSER):
            if len(sharp) == u.shape[1]:
                seen = seen.joined(look(near.u, sharp, near))
                continue
            some = Looks(*(x[:, sharp] for x in near))
            for old, found in zip(near, look(some.u, sharp, some), strict=True):  # others stay what they were about
                old[:, sharp] = found
            seen = seen.joined(near)
    return seen


def stand_ins(seen: Looks, prior: NoisePrior, noise: Array | None = None) -> ScaleValues:
    """Return a few values of u, with their probabilities, that stand for its posterior: five, fewer if it is narrow.

    ``noise`` is the log-evidence of pure noise, ``(decision,)``, if it is not that of the largest u.
    """
    u, weight, log_evidence = _density(seen, prior, noise)
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
    some = weight[:-1] / xp.sum(weight[:-1], axis=0)
    passed = xp.cumulative_sum(some, axis=0)
    places = [xp.minimum(xp.sum(xp.astype(passed < share, xp.int32), axis=0), len(u) - 2) for share in _SHARES]
    quantiles = xp.take_along_axis(u, xp.stack(places), axis=0)
    return ScaleValues(seen.at(nodes), chances / xp.sum(chances, axis=0), log_evidence, quantiles, weight[-1])


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
    values, vectors = xp.linalg.eigh(xp.where(xp.isfinite(matrix), matrix, 0))
    return xp.moveaxis(values, -1, 0), xp.moveaxis(vectors[..., 0, :] ** 2, -1, 0)


def _density(seen: Looks, prior: NoisePrior, noise: Array | None = None) -> tuple[Array, Array, Array]:
    """Return points, their probabilities, ``(point, decision)``, and the evidence averaged over the prior.

    The last of the points stands for pure noise.
    """
    xp = namespace(seen.u)
    coarse = xp.linspace(REACH[0], REACH[1], _COARSE, dtype=seen.u.dtype)[:, None] + 0 * seen.u[0]
    height = seen.evidence(coarse) + prior.log_density(coarse)
    matters = height > xp.max(height, axis=0) - _SHOWN
    step = (REACH[1] - REACH[0]) / (_COARSE - 1)
    low = xp.clip(xp.min(xp.where(matters, coarse, REACH[1]), axis=0) - step, *REACH)
    high = xp.clip(xp.max(xp.where(matters, coarse, REACH[0]), axis=0) + step, *REACH)
    fine = low + (high - low) * xp.linspace(0, 1, _FINE, dtype=coarse.dtype)[:, None]
    mass = seen.evidence(fine) + prior.log_density(fine) + xp.log((high - low) / (_FINE - 1))
    pure = seen.log_evidence[:1] if noise is None else noise[None]
    mass = xp.concat([mass, pure + (math.log(prior.nothing) if prior.nothing else -math.inf)])
    top = xp.max(mass, axis=0)
    weight = xp.exp(mass - top)
    whole = xp.sum(weight, axis=0)
    return xp.concat([fine, coarse[-1:]]), weight / whole, top + xp.log(whole)


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


class PooledNoise(NamedTuple):
    """One noise for many decisions of a kind: the logarithm of what is unknown is normal around a centre.

    Attributes
    ----------
    votes
        The kind of votes.
    unknown
        What was unknown, ``"sigma"`` (beside τ, given or 1) or ``"tau"``.
    log_centre, log_deviation
        Of the logarithm, over decisions; what is not known of the centre is in the deviation.
    log_low, log_high
        The ends of the 95% interval of the centre.
    decisions
        How many there are.
    sigma, freedom
        Of values, the σ that decisions have in common, and how many degrees of freedom it counts for in each.
    """

    votes: str
    unknown: str
    log_centre: float
    log_deviation: float
    log_low: float
    log_high: float
    decisions: int
    sigma: float | None = None
    freedom: float | None = None

    @property
    def typical(self) -> float:
        """What is unknown, of a typical decision."""
        return math.exp(self.log_centre)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95% interval of the typical."""
        return math.exp(self.log_low), math.exp(self.log_high)

    @property
    def factor(self) -> float:
        """By how many times a decision's own may be more or less than the typical (95%)."""
        return math.exp(1.96 * self.log_deviation)

    def to_dict(self) -> dict[str, str | float | None]:
        """Return it as plain objects."""
        low, high = self.interval
        numbers = {"decisions": self.decisions, "typical": self.typical, "low": low, "high": high}
        return {"votes": self.votes, "unknown": self.unknown, **numbers, "factor": self.factor, "sigma": self.sigma}


def pooled(evidence: Callable[[Array], Array], low: float, high: float) -> tuple[float, float, float, float]:
    """Return the centre and spread of a logarithm over decisions, and the ends of the 95% interval of the centre.

    They are those that make the votes most probable. ``evidence`` gives the log-evidence at values of the logarithm,
    ``(value, decision)``, which lies within ``low`` and ``high``. Priors are weak: level for the centre, and half a
    normal for the spread, with a standard deviation of 1. What is not known of the centre is added to the spread.
    """
    points = np.linspace(low, high, max(2, round((high - low) / _STEP) + 1))
    heights = evidence(points[:, None])
    likelihood = np.exp(heights - np.max(heights, axis=0))  # (point, decision)
    centres, spreads = points, np.asarray(_SPREADS)
    away = (points - centres[:, None, None]) / spreads[:, None]  # (centre, spread, point)
    kernel = np.exp(-(away**2) / 2)
    kernel /= np.sum(kernel, axis=-1, keepdims=True)
    logs = np.sum(np.log(kernel @ likelihood + _TINY), axis=-1) - spreads**2 / 2 + np.log(np.gradient(spreads))
    weight = np.exp(logs - np.max(logs))
    weight /= np.sum(weight)
    centre = float(np.sum(weight * centres[:, None]))
    variance = float(np.sum(weight * (centres[:, None] - centre) ** 2)) + _STEP**2 / 12  # within a step
    spread = math.sqrt(float(np.sum(weight * spreads**2)) + variance)
    reach = 1.96 * math.sqrt(variance)
    return centre, spread, centre - reach, centre + reach
