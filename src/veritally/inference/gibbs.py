"""Truths drawn from their exact posterior, where ballots have few tiers: Gibbs sampling.

Where votes tell few alternatives apart, as favourites among many do, the posterior is far from normal: what nobody
chose lies below, but nobody knows how far. Given the truths, each voter's means are normal within what the ballot
allows; given the means, the truths are normal. Drawn in turn, again and again, they come to follow the posterior.
"""

import numpy as np

from veritally.arrays import Array, ndtr, ndtri
from veritally.model.means import VoterMeans
from veritally.votes.ballots import Ballots
from veritally.votes.rankings import Ordinal

_CHAINS = 16
_FORGOTTEN = 200  # sweeps, until chains no longer know where they began
_KEPT = 256  # sweeps, each after
_BETWEEN = 4  # sweeps
_TIERS = 8  # of a ballot, at most
_UNSEEN = -9  # in place of a tier, next to none
_VOTES = 4000  # for each value of the scale, at most: some ten seconds
_LEAST, _MOST = 1e-300, 1 - 1e-16  # of a probability that has a quantile


def sample(ballots: Ballots, means: VoterMeans, tau: Array, start: Array, rng: np.random.Generator) -> Array | None:
    """Draw truths of a single decision, ``(draw, value, alternative)``; None where that is out of reach.

    Parameters
    ----------
    ballots
        Rankings or favourites.
    means
        How voters' means spread, at each value of the scale.
    tau
        The spread of the truths, ``(value,)``.
    start
        Truths to begin with, ``(draw, value, alternative)``.
    """
    times = ballots.multiplicity
    if not isinstance(ballots, Ordinal) or means.counts is not None or np.any(times % 1):
        return None
    each = np.repeat(np.arange(len(times)), times.astype(int))
    tier = _tiers(ballots.tiers[each])
    if tier.max(initial=_UNSEEN) >= _TIERS or len(tau) * tier.size > _VOTES:
        return None
    deviation = means.spread(ballots.counts).deviations[0][..., each, :]  # (value, voter, alternative)
    seen = tier >= 0
    scale, precision = np.where(seen, deviation, 1), np.where(seen, deviation**-2.0, 0)
    whole = tau[:, None] ** -2.0 + np.sum(precision, axis=-2)
    truth = start[:_CHAINS]
    x = _allowed(np.repeat(truth[..., None, :], len(each), axis=-2), tier)
    draws = []
    for sweep in range(_FORGOTTEN + _KEPT * _BETWEEN):
        for t in range(tier.max() + 1):
            x = np.where(tier == t, _between(x, tier, t, truth[..., None, :], scale, rng), x)
        truth = np.sum(precision * x, axis=-2) / whole + rng.normal(size=truth.shape) / np.sqrt(whole)
        if sweep >= _FORGOTTEN and sweep % _BETWEEN == 0:
            draws.append(truth)
    return np.concat(draws)


def _tiers(ranks: Array) -> Array:
    """Return the tier of each alternative on each ballot, 0 for the best."""
    tiers = [np.unique(row[row > 0]).searchsorted(row) for row in ranks]
    return np.where(ranks > 0, np.reshape(tiers, ranks.shape), _UNSEEN)


def _allowed(x: Array, tier: Array) -> Array:
    """Move means to where the ballot allows them: each tier below the one above it."""
    for t in range(1, tier.max() + 1):
        above = np.min(np.where(tier == t - 1, x, np.inf), axis=-1, keepdims=True)
        x = np.where(tier == t, np.minimum(x, above), x)
    return x


def _between(x: Array, tier: Array, t: int, centre: Array, scale: Array, rng: np.random.Generator) -> Array:
    """Draw the means of one tier from normals between those of the tiers next to it."""
    above = np.min(np.where(tier == t - 1, x, np.inf), axis=-1, keepdims=True)
    below = np.max(np.where(tier == t + 1, x, -np.inf), axis=-1, keepdims=True)
    low, high = (below - centre) / scale, (above - centre) / scale
    sign = np.where(low > -high, -1.0, 1.0)  # on the side where small probabilities keep their digits
    ends = ndtr(np.where(sign > 0, low, -high)), ndtr(np.where(sign > 0, high, -low))
    chance = np.clip(ends[0] + rng.random(low.shape) * (ends[1] - ends[0]), _LEAST, _MOST)
    return centre + scale * np.clip(sign * ndtri(chance), low, high)
