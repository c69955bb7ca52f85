"""Functions that the array API standard lacks: the normal distribution, ranks along an axis, log-softmax."""

import functools
from importlib import import_module
from types import ModuleType

import numpy as np

from veritally.arrays.libraries import Array, is_jax, namespace, require_jax
from veritally.arrays.pieces import by_alternative

_MANY = 512  # alternatives, from which on sorting each row is quicker than comparing all with all


def ndtr(x: Array) -> Array:
    """Return the standard normal distribution function Φ."""
    return _special(x).ndtr(x)


def log_ndtr(x: Array) -> Array:
    """Return log Φ, accurate far into the lower tail."""
    return _special(x).log_ndtr(x)


def ndtri(p: Array) -> Array:
    """Return the inverse of the standard normal distribution function."""
    return _special(p).ndtri(p)


def _special(x: Array) -> ModuleType:
    return require_jax("jax.scipy.special") if is_jax(x) else import_module("scipy.special")


def log_softmax(x: Array) -> Array:
    """Return x less the logarithm of the sum of exp(x), along the last axis."""
    return require_jax().nn.log_softmax(x) if is_jax(x) else _special(x).log_softmax(x, axis=-1)


@functools.cache
def normal_scores(number: int) -> list[float]:
    """Return the expected values of so many independent normals in order, the largest first.

    E[x_(k)] = ∫ x φ(x) Φ(x)^(n−k) (1 − Φ(x))^(k−1) dx / B(n − k + 1, k), by trapezoids, exact for bells.

    >>> [round(z, 4) for z in normal_scores(3)]
    [0.8463, 0.0, -0.8463]
    """
    from scipy.special import betaln, log_ndtr

    x = np.linspace(-12, 12, 4001)
    place = np.arange(1, number + 1)[:, None]
    exponent = -(x**2) / 2 + (number - place) * log_ndtr(x) + (place - 1) * log_ndtr(-x)
    density = np.exp(exponent - betaln(number - place + 1, place)) / np.sqrt(2 * np.pi)
    mean = (density * x).sum(axis=1) * (x[1] - x[0])
    return list(((mean - mean[::-1]) / 2).tolist())


def midranks(x: Array, near: Array | None = None) -> Array:
    """Rank along the last axis, the smallest first; equals share the average of their ranks.

    NaN entries are left out and get rank 0. Entries that differ by no more than ``near``, ``(..., 1)``, are equal.

    >>> midranks(np.array([[30.0, 10.0, np.nan, 10.0]]))
    array([[3. , 1.5, 0. , 1.5]])
    """
    xp = namespace(x)
    if near is None and x.shape[-1] > _MANY and not is_jax(x):
        return _sorted_midranks(x)

    def kernel(x: Array, near: Array | None = None) -> tuple[Array]:
        twice = xp.ones(x.shape, dtype=xp.int8 if x.shape[0] < 64 else xp.int32)
        above, below = (x, x) if near is None else (x - near, x + near)
        for rival in range(x.shape[0]):
            twice = twice + xp.astype(x[rival] < above, xp.int8) + xp.astype(x[rival] <= below, xp.int8)
        return (xp.where(xp.isnan(x), 0, xp.astype(twice, x.dtype) / 2),)

    return by_alternative(kernel, x)[0] if near is None else by_alternative(kernel, x, near)[0]


def _sorted_midranks(x: Array) -> Array:
    """Rank long rows: comparing each entry with each other would take too long."""
    ranks = np.zeros(x.shape, dtype=x.dtype)
    for row, own in zip(x.reshape(-1, x.shape[-1]), ranks.reshape(-1, x.shape[-1]), strict=True):
        known = ~np.isnan(row)
        order = np.sort(row[known])
        own[known] = (np.searchsorted(order, row[known]) + np.searchsorted(order, row[known], side="right") + 1) / 2
    return ranks
