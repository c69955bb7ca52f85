"""Symmetric systems of equations, many at once, whose matrices may be singular."""

from veritally.arrays import Array, namespace

_FLAT = 1e-12  # of the largest eigenvalue: a direction about which nothing is known
_RIDGE = 1e-13  # of the largest diagonal entry, by which an inverse is kept finite


def solve(matrix: Array, vector: Array) -> Array:
    """Solve a symmetric system, whatever its signs: directions in which nothing is known are left alone."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    size = xp.abs(values)
    known = size > _FLAT * xp.max(size, axis=-1, keepdims=True)
    parts = xp.sum(vectors * vector[..., None], axis=-2)
    return xp.sum(vectors * xp.where(known, parts / xp.where(known, size, 1), 0)[..., None, :], axis=-1)


def multiply(matrix: Array, vector: Array) -> Array:
    """Multiply vectors ``(..., n)`` by matrices ``(..., n, n)``."""
    return namespace(matrix).sum(matrix * vector[..., None, :], axis=-1)


def inverse(matrix: Array) -> Array:
    """Return inverses, of nearly singular matrices with a small ridge."""
    xp = namespace(matrix)
    size = xp.max(xp.abs(xp.linalg.diagonal(matrix)), axis=-1)[..., None, None]
    return xp.linalg.inv(matrix + _RIDGE * size * xp.eye(matrix.shape[-1], dtype=matrix.dtype))


def log_determinant(matrix: Array) -> Array:
    """Return the logarithms of the absolute determinants."""
    xp = namespace(matrix)
    values = xp.abs(xp.linalg.eigh(matrix)[0])
    tiny = xp.asarray(xp.finfo(values.dtype).smallest_normal, dtype=values.dtype)
    return xp.sum(xp.log(xp.maximum(values, tiny)), axis=-1)


def inverse_root(matrix: Array) -> Array:
    """Return symmetric square roots of the inverses: of covariances, given precisions."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    values = xp.maximum(xp.abs(values), xp.max(xp.abs(values), axis=-1, keepdims=True) * _FLAT)
    return xp.matmul(vectors / xp.sqrt(values)[..., None, :], xp.moveaxis(vectors, -1, -2))


def root(matrix: Array) -> Array:
    """Return symmetric square roots of covariances; what rounding made negative counts as nothing."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    values = xp.maximum(values, xp.zeros_like(values))
    return xp.matmul(vectors * xp.sqrt(values)[..., None, :], xp.moveaxis(vectors, -1, -2))


def diagonal(matrix: Array) -> Array:
    """Return the absolute diagonals, above 0."""
    xp = namespace(matrix)
    return xp.maximum(xp.abs(xp.linalg.diagonal(matrix)), xp.asarray(xp.finfo(matrix.dtype).smallest_normal))


def from_diagonal(x: Array) -> Array:
    """Return diagonal matrices."""
    return x[..., None] * namespace(x).eye(x.shape[-1], dtype=x.dtype)
