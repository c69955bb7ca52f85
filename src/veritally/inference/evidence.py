"""The evidence of rankings and favourites by voters of a panel, and its slopes by what the panel says of each voter.

Where all sites of expectation propagation agree, the evidence does not change with them. So its slope by how a voter
sees the truths is that of the voter's own tilted normaliser, with the cavity held fixed: by the mean of what the voter
sees, g; by its variances, (g² + H)/2, since a density that spreads obeys the heat equation.
"""

from typing import NamedTuple

import numpy as np

from veritally.arrays import Array
from veritally.inference.linear import inverse, multiply
from veritally.inference.propagation import Problem, Sites, settle, taken_out, variances_within
from veritally.likelihood.chain import FEW
from veritally.likelihood.votes import derivatives
from veritally.model.model import Model
from veritally.votes.ballots import Ballots

_ROUGHLY, _SMALL = 0.03, 1e-4  # standard deviations that the mean may still move
_EXACTLY = 1e-7  # where slopes are exact


class LiftedEvidence(NamedTuple):
    """What votes tell of voters who see truths and shared errors in their own ways.

    Attributes
    ----------
    log_evidence
        The log-probability of all votes of a decision, ``(decision,)``.
    weights
        Its slope by how each voter sees each number, ``(decision, voter, 1 + factor, alternative)``.
    offset, variance
        By what is added to what the voter sees, and by the variance of the voter's own, ``(decision, voter,
        alternative)``.
    sites
        To start from near by.
    """

    log_evidence: Array
    weights: Array
    offset: Array
    variance: Array
    sites: Sites


def lifted_evidence(ballots: Ballots, model: Model, near: Sites | None = None) -> LiftedEvidence:
    """Return the evidence of votes, and its slopes. ``ballots`` are a flat batch; the model has a lift."""
    problem = Problem.of(ballots, model, False)
    sites = problem.start(None)
    if near is not None:
        restarted = {"moved": sites.moved, "part": sites.part, "turn": sites.turn, "step": sites.step}
        sites = near._replace(**restarted)
    else:
        sites = settle(problem, sites, True, _ROUGHLY)
        sites = sites._replace(moved=np.inf * sites.part, part=np.ones_like(sites.part), turn=np.asarray(0))
    small = _EXACTLY if ballots.mask.shape[-1] <= FEW else _SMALL
    sites = settle(problem, sites, False, small)
    total = problem.total(sites.precision)
    values = np.linalg.eigvalsh(total)
    square = np.sum(sites.mean * multiply(total, sites.mean), axis=-1)
    evidence = sites.log_size + (square - np.sum(np.log(np.abs(values)), axis=-1)) / 2 + model.log_size(ballots.mask)
    # The cavity of each voter, of all numbers and of what the voter sees of them.
    once = taken_out(problem, sites, sites.precision)
    own = once[..., None] * sites.precision
    seen, covariance = problem.without(sites, once * sites.shift, own)
    weights = model.lift.weights
    assert weights is not None
    number, n = weights.shape[-2:]
    whole = inverse(total)
    design = (weights[..., None] * np.eye(n)).reshape(*weights.shape[:2], number * n, n)  # z = designᵀ θ
    crossed = np.matmul(whole[:, None], design)  # (decision, voter, θ, alternative)
    gain = np.linalg.solve(
        np.swapaxes(np.eye(n) - np.matmul(own, np.matmul(np.swapaxes(design, -1, -2), crossed)), -1, -2),
        np.swapaxes(crossed, -1, -2),
    )
    left = np.swapaxes(gain, -1, -2)  # covariances of θ with what the voter sees, in the cavity
    pull = once * sites.shift - multiply(own, problem.lift.see(sites.mean))
    mean_left = sites.mean[:, None] - np.sum(left * pull[..., None, :], axis=-1)
    # The tilted normaliser and its slopes.
    variance = np.abs(variances_within(covariance, ballots, np.zeros(ballots.multiplicity.shape, dtype=bool)))
    tilted = derivatives(ballots.each_voter(), model.lift.facing(seen), model.within(variance).means, 2)
    gradient, curvature = tilted.gradient[..., 0, :], tilted.curvature[..., 0, :, :]  # type: ignore[index]
    times = ballots.multiplicity[..., None]
    spread = (gradient**2 + np.linalg.diagonal(curvature)) / 2
    matrix = _by_covariance(spread, ballots.counts > 0)
    moved = 2 * np.sum(np.matmul(left, matrix) * _own_column(n, number), axis=-1)
    by_weights = (gradient[..., None, :] * mean_left.reshape(*seen.shape[:-1], number, n)) + moved.reshape(
        *seen.shape[:-1], number, n
    )
    return LiftedEvidence(evidence, times[..., None] * by_weights, times * gradient, times * spread, sites)


def _own_column(n: int, number: int) -> Array:
    """Pick, for each number of θ, the alternative that it belongs to, ``(θ, alternative)``."""
    return np.tile(np.eye(n), (number, 1))


def _by_covariance(spread: Array, seen: Array) -> Array:
    """Return slopes by the covariances of what a voter sees, from those by the variances that stand for these.

    The variances are the d_j for which d_j + d_k fits the variance of each difference best: linear in the covariances.
    """
    s = np.where(seen, 1.0, 0.0)
    number = np.sum(s, axis=-1, keepdims=True)
    w = spread * s
    two = number <= 2
    more = np.where(two, 1, number - 2)
    t = np.where(two, w / 2, (w - s * np.sum(w, axis=-1, keepdims=True) / 2 / np.maximum(number - 1, 1)) / more)
    diagonal = number * t + s * np.sum(t, axis=-1, keepdims=True)
    return diagonal[..., None] * np.eye(s.shape[-1]) - t[..., None] * s[..., None, :] - s[..., None] * t[..., None, :]
