"""How many independent voters like its best a panel is worth."""

from dataclasses import replace

import numpy as np

from veritally.arrays import Array
from veritally.model.lift import shared_errors
from veritally.model.means import VoterMeans, effective
from veritally.votes.ballots import Ballots


def effective_voters(ballots: Ballots, means: VoterMeans, strength: float) -> tuple[float, Array]:
    """Return what a panel of a single decision is worth, and what it would be worth without each voter.

    About alternative j the panel tells I_j = aᵀ(C_j + diag v_j)⁻¹ a, where a are the slopes of voters (1 if nothing
    else is known), C is the covariance of errors that voters share, and v the variance of each voter's own; its best
    voter alone tells I*_j = max_i a_i²/(C_ii + v_i).
    The panel is worth the mean over alternatives of I_j/I*_j: the number of voters if they are independent equals,
    m/(1 + (m − 1)ρ) if they are equals whose errors have the correlation ρ. Copies add nothing. Without a voter, I*_j
    stays what it is.

    Parameters
    ----------
    ballots
        Votes of a single decision, which know the errors that voters share.
    means
        How voters' means spread, in any unit.
    strength
        Of the shared errors.
    """
    means = replace(means, sigma=1.0)
    slopes = np.ones(ballots.counts.shape)
    if ballots.traits is not None:
        slopes, extra = slopes * np.asarray(ballots.traits.slopes)[:, None], ballots.traits.extra
        loadings = strength * np.asarray(ballots.loadings)
    elif ballots.loadings is not None:
        loadings, extra = shared_errors(ballots, means, strength)
    else:
        loadings, extra = np.zeros((*slopes.shape, 1)), np.zeros(slopes.shape)
    times = np.where(ballots.says_something(), np.asarray(ballots.multiplicity), 0)
    seen = (np.asarray(ballots.counts) > 0) & (times > 0)[:, None]
    looks = np.where(seen, np.asarray(ballots.looks), 1)
    own = 1 / effective(looks if means.cap is None else np.minimum(looks, means.cap), means.between) + extra
    weight = np.where(seen, times[:, None] / own, 0)  # (voter, alternative)
    alone = np.max(np.where(seen, slopes**2 / (own + np.sum(loadings**2, axis=-1)), 0), axis=0)
    squares = loadings[..., None] * loadings[..., None, :] * weight[..., None, None]
    pulls = loadings * (slopes * weight)[..., None]  # (voter, alternative, factor)
    precision = slopes**2 * weight
    whole = _information(precision.sum(axis=0), pulls.sum(axis=0), squares.sum(axis=0))
    without = _information(precision.sum(axis=0) - precision, pulls.sum(axis=0) - pulls, squares.sum(axis=0) - squares)
    known = alone > 0
    return float(np.mean(whole[known] / alone[known])), np.mean(without[:, known] / alone[known], axis=-1)


def _information(precision: Array, pulls: Array, squares: Array) -> Array:
    """Return aᵀ(L Lᵀ + diag v)⁻¹ a from Σ a²/v, Lᵀ(a/v) and Lᵀ diag(1/v) L (Woodbury)."""
    rest = np.linalg.solve(squares + np.eye(squares.shape[-1]), pulls[..., None])[..., 0]
    return np.asarray(precision - np.sum(pulls * rest, axis=-1))
