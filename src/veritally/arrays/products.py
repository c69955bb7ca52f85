"""Sums and products over voters and alternatives, in full precision on every device."""

import numpy as np

from veritally.arrays.libraries import Array, is_jax, namespace, require_jax

_ONE_THREAD = 1 << 18  # multiplications up to which OpenBLAS stays on one thread: several take longer, for so little


_FEW = 16  # voters or alternatives, which are taken one by one


def voter_sum(x: Array) -> Array:
    """Σ_i x_ij: the sum of ``(..., voter, alternative)`` over voters.

    Of many decisions with a few voters each, NumPy would add every few cells on their own, which takes far longer.
    """
    if is_jax(x) or not 1 < x.shape[-2] <= _FEW or x.ndim == 2:
        return namespace(x).sum(x, axis=-2)
    found = np.add(x[..., 0, :], x[..., 1, :], dtype=np.result_type(x, np.int64) if x.dtype == bool else None)
    for i in range(2, x.shape[-2]):
        found += x[..., i, :]
    return found


def over_alternatives(function: np.ufunc, x: Array) -> Array:
    """Put ``(..., alternative)`` together by a NumPy function of two, such as ``np.maximum``, over alternatives.

    Of a few alternatives each, this is many times quicker than NumPy's own way.

    >>> over_alternatives(np.maximum, np.array([[1, 3, 2], [5, 4, 6]]))
    array([3, 6])
    """
    if not 1 < x.shape[-1] <= _FEW:
        return np.asarray(function.reduce(x, axis=-1))
    found = function(x[..., 0], x[..., 1])
    for j in range(2, x.shape[-1]):
        found = function(found, x[..., j])
    return np.asarray(found)


def over_voters(x: Array, times: Array) -> Array:
    """Σ_i times_i · x_ij: the sum of ``(..., voter, alternative)`` weighed by ``(..., voter)``."""
    if is_jax(x) or is_jax(times):  # where a matrix product may be computed in lower precision
        return namespace(x, times).sum(x * times[..., None], axis=-2)
    return np.vecdot(x, times[..., None], axis=-2)  # type: ignore[call-overload]


def product(x: Array, matrix: Array) -> Array:
    """Multiply ``(..., k)`` by a matrix ``(k, l)``, in full precision also where an accelerator would take less."""
    if is_jax(x):
        return namespace(x).matmul(x, matrix, precision="highest")
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty((len(rows), matrix.shape[-1]), dtype=np.result_type(x, matrix))
    step = max(1, _ONE_THREAD // matrix.size)
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], matrix, out=result[start : start + step])
    return result.reshape(*x.shape[:-1], matrix.shape[-1])


def inner(x: Array, y: Array) -> Array:
    """Σ_k x[..., i, k] y[..., j, k], in full precision also where an accelerator would take less."""
    return inner_product(x, namespace(y).moveaxis(y, -1, -2))


def inner_product(x: Array, y: Array) -> Array:
    """Σ_k x[..., i, k] y[..., k, j], in full precision also where an accelerator would take less."""
    xp = namespace(x)
    return xp.matmul(x, y, precision="highest") if is_jax(x) else xp.matmul(x, y)


def gathered(x: Array, index: Array) -> Array:
    """Return ``x[..., index[..., j], :]`` for x ``(..., k, feature)``; zeros where the index is −1."""
    if is_jax(x):  # as a product, whose gradient is one too
        return inner_product(require_jax().nn.one_hot(index, x.shape[-2], dtype=x.dtype), x)
    rows = x.reshape(-1, x.shape[-1])
    first = np.arange(len(rows) // x.shape[-2]).reshape(*index.shape[:-1], 1) * x.shape[-2]
    taken = np.take(rows, np.where(index < 0, 0, first + index).ravel(), axis=0, mode="clip").reshape(*index.shape, -1)
    taken[index < 0] = 0
    return taken
