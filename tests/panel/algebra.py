"""The posterior of truths given values, by the joint covariance of both (generalised least squares)."""

import numpy as np


def conditioned(x, variance, loadings, tau, leniency=0.0, flat_mean=True):
    """Return mean and covariance of the truths of one decision given values, ``(voter, alternative)``, NaN for none.

    Truths are N(0, τ²), or around a common mean that may be anything; ``variance`` is that of a voter's own noise,
    ``loadings`` are by ``(voter, alternative, factor)``, ``leniency`` is the deviation of a constant of each voter.
    """
    n = x.shape[1]
    seen = np.argwhere(~np.isnan(x))
    voter, place = seen.T
    same = place[:, None] == place
    shared = np.einsum("af,bf->ab", loadings[voter, place], loadings[voter, place])
    noise = np.diag(variance[voter, place]) + leniency**2 * (voter[:, None] == voter)
    whole = same * (tau**2 + shared) + noise
    cross = tau**2 * (np.arange(n)[:, None] == place)
    gain = np.linalg.solve(whole, cross.T).T
    x, ones = x[voter, place], np.ones(len(seen))
    covariance = tau**2 * np.eye(n) - gain @ cross.T
    if not flat_mean:
        return gain @ x, covariance
    weight = np.linalg.solve(whole, ones)
    common = weight @ x / weight.sum()
    left = 1 - gain @ ones
    return common + gain @ (x - common), covariance + np.outer(left, left) / weight.sum()
