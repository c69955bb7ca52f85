"""What a voter's next ranking or favourite may be, after more looks at one alternative.

A ranking hides the means behind it. They are drawn given the ballot and what is known otherwise. More looks move the
mean of one alternative, and with it that alternative to another place; the others keep their order. So there are only
as many new ballots as there are places. Each has a chance, and moves the means of the truths by

    C (g(new) − g(old)),

where g is the gradient of the log-probability of a ballot, given what all others say.
"""

from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, ndtr, ndtri
from veritally.inference.sampling import lattice
from veritally.planning.gain import normals
from veritally.planning.knowledge import Knowledge, Seen, voting
from veritally.votes.rankings import Ordinal
from veritally.votes.top import TopChoices

_DRAWS = 64  # of means behind a ballot, and of ballots of new voters
_SWEEPS = 8  # of Gibbs sampling, from means in order
_RARE = 2e-3  # a chance of a ballot that is left out
_TAIL = 1e-9
_MANY = 1e12  # looks, after which only lasting errors are left


class Behind(NamedTuple):
    """What may stand behind the ballots of voters, given what is known without them.

    Attributes
    ----------
    rows
        The ballots.
    cavity
        What their voters see, without them.
    gradient
        Of the ballots, there.
    means
        Draws of voters' means, ``(voter, draw, n)``; 0 for what was not seen.
    lasting
        The variance of a voter's own lasting error, ``(voter, n)``.
    variance
        The variance of one look, ``(n,)``.
    """

    rows: Ordinal
    cavity: Seen
    gradient: Array
    means: Array
    lasting: Array
    variance: Array

    @classmethod
    def of(cls, knowledge: Knowledge, rows: Ordinal, pull: Array) -> "Behind":
        """Draw means behind ballots."""
        cavity = knowledge.without(rows, pull)
        variance = knowledge.noise.sigma[0] ** 2
        many = rows.with_counts(np.full_like(rows.counts, _MANY))
        far = knowledge.model(many).means.spread(many.counts[None]).deviations[0].reshape(rows.counts.shape)
        lasting = np.maximum(far**2 - variance / _MANY, 0)
        deviation = np.sqrt(knowledge.tilted_variance(rows, cavity))
        means = _behind(rows.tiers, cavity.mean, deviation)
        return cls(rows, cavity, knowledge.gradient(rows, cavity), means, lasting, variance)


def new_ballots(
    knowledge: Knowledge, behind: Behind, voter: Array, alternative: Array, looks: Array
) -> tuple[Array, Array]:
    """Return chances ``(look, ballot)`` and moves of the means ``(look, ballot, n)`` of what ballots may follow.

    ``voter``, ``alternative`` and ``looks`` say who looks at what how often.
    """
    n = knowledge.alternatives
    rows = behind.rows.take_voters(voter)
    assert isinstance(rows, Ordinal)
    seen, order = behind.cavity.take(voter), np.arange(len(voter))
    before = rows.counts[order, alternative]
    within = np.maximum(knowledge.tilted_variance(rows.with_counts(np.ones_like(rows.counts)), seen), _TAIL)
    within = within[order, alternative] - behind.lasting[voter, alternative] - behind.variance[alternative]
    # What the voter's mean tends to: what is seen of the truth and the voter's own lasting error, given the mean now.
    own = behind.means[voter, :, alternative]  # (look, draw)
    prior = (np.maximum(within, _TAIL) + behind.lasting[voter, alternative])[:, None]
    share = prior * before[:, None] / (prior * before[:, None] + behind.variance[alternative][:, None])
    centre = seen.mean[order, alternative][:, None]
    limit, left = centre + share * (own - centre), prior * (1 - share)
    # The mean after more looks.
    part = (looks / (before + looks))[:, None]
    middle = np.where(before[:, None] > 0, own + part * (limit - own), limit)
    width = part * np.sqrt(left + behind.variance[alternative][:, None] / looks[:, None])
    # The ballots that may follow, with what the others have.
    here = np.arange(n) == alternative[:, None]
    others = np.where((rows.counts > 0) & ~here, 1.0, np.nan)[:, None, :] * behind.means[voter]
    chance = (_favourites if isinstance(rows, TopChoices) else _places)(others, here, middle, width)
    look, which = np.nonzero(chance > _RARE)
    some = rows.with_counts(rows.counts + looks[:, None] * here).take_voters(look)
    if isinstance(rows, TopChoices):
        means = (np.arange(n) == which[:, None]).astype(float)
    else:  # it stands below so many of the others
        means = np.where(here[look], 0.5 - which[:, None], _spaced(np.where(here, np.nan, -rows.tiers))[look])
    apart = seen.take(look)
    change = knowledge.gradient(voting(some, means), apart) - behind.gradient[voter[look]]
    moves = np.zeros((*chance.shape, n))
    moves[look, which] = np.matmul(apart.crossed, change[..., None])[..., 0]
    chance = np.where(chance > _RARE, chance, 0)
    return chance / np.sum(chance, axis=-1, keepdims=True), moves


def first_ballots(knowledge: Knowledge, rows: Ordinal) -> tuple[Array, Array]:
    """Return the same for the ballots of new voters, who have these counts: some that they may give."""
    number, n = rows.counts.shape
    many = rows.take_voters(np.repeat(np.arange(number), _DRAWS))
    seen = knowledge.seen(many)
    drawn = seen.mean + np.sqrt(knowledge.tilted_variance(many, seen)) * np.tile(normals(n, _DRAWS), (number, 1))
    moves = np.matmul(seen.crossed, knowledge.gradient(voting(many, drawn), seen)[..., None])[..., 0]
    return np.full((number, _DRAWS), 1 / _DRAWS), moves.reshape(number, _DRAWS, n)


def _places(others: Array, here: Array, middle: Array, width: Array) -> Array:
    """Return the chance that one comes to stand below so many of the others, ``(look, place)``."""
    falling = -np.sort(-np.where(np.isnan(others), -np.inf, others), axis=-1)[..., :-1]  # unseen last, and itself
    below = ndtr((falling - middle[..., None]) / width[..., None])
    ends = np.ones((*below.shape[:-1], 1)), np.zeros((*below.shape[:-1], 1))
    edges = np.concat([ends[0], below, ends[1]], axis=-1)
    return np.mean(edges[..., :-1] - edges[..., 1:], axis=1)


def _favourites(others: Array, here: Array, middle: Array, width: Array) -> Array:
    """Return the chance of each to be the favourite, ``(look, n)``."""
    others = np.where(np.isnan(others), -np.inf, others)
    best = np.max(others, axis=-1)
    below = ndtr((best - middle) / width)
    kept = np.mean(below[..., None] * (others == best[..., None]), axis=1)
    return np.where(here, np.mean(1 - below, axis=1)[:, None], kept)


def _spaced(score: Array) -> Array:
    """Return scores as whole numbers from 0 down, by their order, ties at one of them."""
    falling = -np.sort(-np.nan_to_num(score, nan=-np.inf), axis=-1)
    return np.where(np.isnan(score), np.nan, -np.sum(falling[:, None, :] > score[..., None], axis=-1).astype(float))


def _behind(tiers: Array, centre: Array, deviation: Array) -> Array:
    """Draw normals, ``(voter, draw, n)``, that stand in the order of ``tiers``, ``(voter, n)``, 0 for none."""
    n = tiers.shape[-1]
    there = tiers > 0
    points = ndtri(lattice(n, 2, _DRAWS)).T
    start = centre[:, None, :] + deviation[:, None, :] * points
    # In order from the start: the draws of each ballot, sorted, are handed out by tier.
    falling = -np.sort(-np.where(there[:, None], start, -np.inf), axis=-1)
    place = np.argsort(np.argsort(np.where(there, tiers, np.inf), axis=-1, kind="stable"), axis=-1)
    means = np.take_along_axis(falling, np.broadcast_to(place[:, None], start.shape), axis=-1)
    means = np.where(there[:, None], means, 0)
    uniform = lattice(n * _SWEEPS, 3, _DRAWS).reshape(_SWEEPS, n, _DRAWS)
    above, below = tiers[:, :, None] > tiers[:, None, :], tiers[:, :, None] < tiers[:, None, :]
    for sweep in range(_SWEEPS):
        for j in range(n):
            high = np.min(np.where((above[:, j] & there)[:, None], means, np.inf), axis=-1)
            low = np.max(np.where((below[:, j] & there)[:, None], means, -np.inf), axis=-1)
            scale, middle = np.where(there[:, j], deviation[:, j], 1)[:, None], centre[:, j, None]
            start, end = ndtr((low - middle) / scale), ndtr((high - middle) / scale)
            drawn = middle + scale * ndtri(np.clip(start + (end - start) * uniform[sweep, j], 1e-13, 1 - 1e-13))
            drawn = np.clip(drawn, np.where(np.isfinite(low), low, drawn), np.where(np.isfinite(high), high, drawn))
            means[..., j] = np.where(there[:, j, None], drawn, 0)
    return means
