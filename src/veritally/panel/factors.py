"""Factors: covariances between voters as errors that they share."""

import numpy as np

from veritally.arrays import Array

_NOTHING = 1e-12  # of the largest eigenvalue
_LEFT = 0.01  # of a correlation that may be left unexplained
_TURNS = 200


def factors(covariance: Array) -> Array:
    """Return loadings L with L Lᵀ = covariance, ``(..., voter, factor)``, the strongest factor first."""
    values, vectors = np.linalg.eigh(covariance)
    largest = np.max(values, axis=-1, keepdims=True)
    roots = np.sqrt(np.where(values > _NOTHING * largest, np.maximum(values, 0), 0))
    loadings = (vectors * roots[..., None, :])[..., ::-1]
    used = np.any(loadings != 0, axis=tuple(range(loadings.ndim - 1)))
    return loadings[..., : max(1, int(used.sum()))]


def principal_factors(kernel: Array, most: int) -> Array:
    """Return loadings whose products are about the correlations of a kernel, ``(voter, factor)``.

    As few factors as leave no correlation unexplained by more than a hundredth, but at ``most`` so many. What each
    voter has for itself is left to the voter (principal factors, iterated).
    """
    apart = ~np.eye(len(kernel), dtype=bool)
    shared = np.max(np.abs(np.where(apart, kernel, 0)), axis=-1)
    found = np.zeros((len(kernel), 1))
    for number in range(1, min(most, len(kernel)) + 1):
        part = shared
        for _ in range(_TURNS):
            values, vectors = np.linalg.eigh(np.where(apart, kernel, np.diag(part)))
            found = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :number]
            new = np.minimum(np.sum(found**2, axis=-1), 1)
            if np.max(np.abs(new - part)) < _NOTHING**0.5:
                break
            part = new
        found = found * np.minimum(1, 1 / np.sqrt(np.maximum(np.sum(found**2, axis=-1, keepdims=True), 1)))
        if np.max(np.abs(np.where(apart, kernel - found @ found.T, 0))) <= _LEFT:
            break
    return found
