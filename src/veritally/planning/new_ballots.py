"""What a voter's next ranking or favourite may be, after more looks at one alternative.

A ranking hides the means behind it. They are drawn given the ballot and what is known otherwise. More looks move the
mean of one alternative, and with it that alternative to another place; the others keep their order. So there are only
as many new ballots as there are places. Each has a chance. Who decides again, with the new ballot in place of the
former one, finds the means moved by

    C (g(new) − g(old)),

where g is the gradient of the log-probability of a ballot, given what all others say. But the former ballot is not
forgotten by the world: where the new one contradicts it, the truths have moved less than that. So what is chosen
afterwards goes by these moves, and what it is worth by the truths that are expected given both ballots.
"""

import math
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, ndtr, ndtri
from veritally.planning.knowledge import Knowledge, Seen, voting
from veritally.votes.rankings import Ordinal
from veritally.votes.top import TopChoices

_DRAWS = 64  # of means behind a ballot, and of ballots of new voters
_SWEEPS = 6  # of Gibbs sampling, from means in order
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
    truths
        Where the truths are expected, given these means, ``(voter, draw, n)``, but for what is the same for all draws.
    limit
        What voters' means are expected to tend to with very many looks, given these means, ``(voter, draw, n)``.
    left
        The variance of that, ``(voter, n)``.
    along
        Its covariance with the truths, ``(voter, truth, n)``.
    one_look
        The variance of one look, ``(voter, n)``, but for the errors that a voter makes each time, shared or not.
    """

    rows: Ordinal
    cavity: Seen
    gradient: Array
    means: Array
    truths: Array
    limit: Array
    left: Array
    along: Array
    one_look: Array

    @classmethod
    def of(cls, knowledge: Knowledge, rows: Ordinal, pull: Array) -> "Behind":
        """Draw means behind ballots."""
        cavity = knowledge.without(rows, pull)
        lasting = knowledge.own_variance(rows.with_counts(np.full_like(rows.counts, _MANY)))
        one_look = knowledge.own_variance(rows.with_counts(np.ones_like(rows.counts))) - lasting
        deviation = np.sqrt(knowledge.tilted_variance(rows, cavity))
        means = _behind(knowledge, rows.tiers, cavity.mean, deviation)
        # What tends to the limit, with the means now: B = Z + lasting errors, beside their own covariance K.
        there, each = rows.counts > 0, np.eye(rows.counts.shape[-1])
        tending = cavity.covariance + lasting[..., None] * each
        noise = np.where(there, np.maximum(knowledge.own_variance(rows) - lasting, _TAIL), one_look * _MANY)
        whole = tending + noise[..., None] * each
        centred = np.where(there[:, None], means - cavity.mean[:, None], 0)
        told = np.linalg.solve(whole, np.swapaxes(centred, -1, -2))
        known = np.linalg.solve(whole, tending)
        return cls(
            rows,
            cavity,
            knowledge.gradient(rows, cavity),
            means,
            np.swapaxes(np.matmul(cavity.crossed, told), -1, -2),
            cavity.mean[:, None] + np.swapaxes(np.matmul(tending, told), -1, -2),
            np.maximum(np.diagonal(tending, axis1=-2, axis2=-1) - np.sum(tending * known, axis=-2), _TAIL),
            cavity.crossed - np.matmul(cavity.crossed, known),
            one_look,
        )


def new_ballots(
    knowledge: Knowledge, behind: Behind, voter: Array, alternative: Array, looks: Array
) -> tuple[Array, Array, Array]:
    """Return what ballots may follow: chances, moves of the means that are found then, and those of the truths.

    They are ``(look, ballot)``, ``(look, ballot, n)``, and so again (but for the mean of each look).
    ``voter``, ``alternative`` and ``looks`` say who looks at what how often.
    """
    n = knowledge.alternatives
    rows = behind.rows.take_voters(voter)
    assert isinstance(rows, Ordinal)
    before = rows.counts[np.arange(len(voter)), alternative]
    # The mean after more looks, (look, draw); they show what the mean tends to.
    own, limit = behind.means[voter, :, alternative], behind.limit[voter, :, alternative]
    part = (looks / (before + looks))[:, None]
    deviation = np.sqrt(behind.left[voter, alternative] + behind.one_look[voter, alternative] / looks)[:, None]
    # The ballots that may follow, with what the others have.
    here = np.arange(n) == alternative[:, None]
    others = np.where((rows.counts > 0) & ~here, 1.0, np.nan)[:, None, :] * behind.means[voter]
    follow = _favourites if isinstance(rows, TopChoices) else _places
    each, shown = follow(others, here, own + part * (limit - own), part * deviation)
    chance = np.mean(each, axis=1)
    along = behind.along[voter, :, alternative] / deviation
    truths = np.matmul(np.swapaxes(each, -1, -2), behind.truths[voter]) / each.shape[1]
    truths = truths + np.mean(shown, axis=1)[..., None] * along[:, None]
    truths = np.where((chance > _RARE)[..., None], truths / np.maximum(chance, _RARE)[..., None], 0)
    chance = np.where(chance > _RARE, chance, 0)
    moves = _moves(knowledge, behind, voter, alternative, looks, chance > 0)
    return chance / np.sum(chance, axis=-1, keepdims=True), moves, truths


def _moves(
    knowledge: Knowledge, behind: Behind, voter: Array, alternative: Array, looks: Array, possible: Array
) -> Array:
    """Return how possible ballots, ``(look, ballot)``, move the means that are found, ``(look, ballot, n)``.

    The number of looks matters only by the noise that they leave, so that moves are found for one look and for very
    many, and lie between for others. That is enough to tell what will be chosen.
    """
    n = knowledge.alternatives
    cell, place = np.unique(voter * n + alternative, return_inverse=True)
    any_of = np.zeros((len(cell), possible.shape[-1]), dtype=bool)
    np.logical_or.at(any_of, place, possible)
    one, many = np.ones(len(cell)), np.full(len(cell), _MANY)
    low, high = (_moves_after(knowledge, behind, cell // n, cell % n, x, any_of)[place] for x in (one, many))
    before = behind.rows.counts[voter, alternative]
    share = (before + 1) / (before + looks)  # of the noise after one look
    return np.asarray(high + share[:, None, None] * (low - high))


def _moves_after(
    knowledge: Knowledge, behind: Behind, voter: Array, alternative: Array, looks: Array, possible: Array
) -> Array:
    """Return how possible ballots move the means that are found, each after so many looks."""
    rows, n = behind.rows.take_voters(voter), knowledge.alternatives
    here = np.arange(n) == alternative[:, None]
    cell, which = np.nonzero(possible)
    some = rows.with_counts(rows.counts + looks[:, None] * here).take_voters(cell)
    if isinstance(rows, TopChoices):
        means = (np.arange(n) == which[:, None]).astype(float)
    else:  # it stands below so many of the others
        assert isinstance(rows, Ordinal)
        means = np.where(here[cell], 0.5 - which[:, None], _spaced(np.where(here, np.nan, -rows.tiers))[cell])
    apart = behind.cavity.take(voter[cell])
    change = knowledge.gradient(voting(some, means), apart) - behind.gradient[voter[cell]]
    moves = np.zeros((*possible.shape, n))
    moves[cell, which] = np.matmul(apart.crossed, change[..., None])[..., 0]
    return moves


def first_ballots(knowledge: Knowledge, rows: Ordinal) -> tuple[Array, Array]:
    """Return the same for the ballots of new voters, who have these counts: some that they may give."""
    number, n = rows.counts.shape
    many = rows.take_voters(np.repeat(np.arange(number), _DRAWS))
    seen = knowledge.seen(many)
    drawn = seen.mean + np.sqrt(knowledge.tilted_variance(many, seen)) * np.tile(knowledge.normals(_DRAWS), (number, 1))
    moves = np.matmul(seen.crossed, knowledge.gradient(voting(many, drawn), seen)[..., None])[..., 0]
    return np.full((number, _DRAWS), 1 / _DRAWS), moves.reshape(number, _DRAWS, n)


def _places(others: Array, here: Array, middle: Array, width: Array) -> tuple[Array, Array]:
    """Return the chance that one comes to stand below so many of the others, ``(look, draw, place)``.

    With it the part that this has in the mean of what looks show, in standard deviations: ∫ z φ(z) dz over that place.
    """
    falling = -np.sort(-np.where(np.isnan(others), -np.inf, others), axis=-1)[..., :-1]  # unseen last, and itself
    z = (falling - middle[..., None]) / width[..., None]
    ends = np.full((*z.shape[:-1], 1), np.inf)
    edges = np.concat([ends, z, -ends], axis=-1)
    below, density = ndtr(edges), np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
    return below[..., :-1] - below[..., 1:], density[..., 1:] - density[..., :-1]


def _favourites(others: Array, here: Array, middle: Array, width: Array) -> tuple[Array, Array]:
    """Return the chance of each to be the favourite, ``(look, draw, n)``, and its part as :func:`_places` does."""
    others = np.where(np.isnan(others), -np.inf, others)
    best = np.max(others, axis=-1)
    z = (best - middle) / width
    below, density = ndtr(z)[..., None], (np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))[..., None]
    kept, mine = others == best[..., None], here[:, None]
    return np.where(mine, 1 - below, below * kept), np.where(mine, density, -density * kept)


def _spaced(score: Array) -> Array:
    """Return scores as whole numbers from 0 down, by their order, ties at one of them."""
    falling = -np.sort(-np.nan_to_num(score, nan=-np.inf), axis=-1)
    return np.where(np.isnan(score), np.nan, -np.sum(falling[:, None, :] > score[..., None], axis=-1).astype(float))


def _behind(knowledge: Knowledge, tiers: Array, centre: Array, deviation: Array) -> Array:
    """Draw normals, ``(voter, draw, n)``, that stand in the order of ``tiers``, ``(voter, n)``, 0 for none."""
    there = tiers > 0
    points = ndtri(knowledge.points(2, _DRAWS)[:, 0])
    start = centre[:, None, :] + deviation[:, None, :] * points
    # In order from the start: the draws of each ballot, sorted, are handed out by tier.
    falling = -np.sort(-np.where(there[:, None], start, -np.inf), axis=-1)
    place = np.argsort(np.argsort(np.where(there, tiers, np.inf), axis=-1, kind="stable"), axis=-1)
    means = np.take_along_axis(falling, np.broadcast_to(place[:, None], start.shape), axis=-1)
    means = np.where(there[:, None], means, 0)
    uniform = knowledge.points(3, _DRAWS, _SWEEPS)  # (draw, sweep, n)
    above, below = tiers[:, :, None] > tiers[:, None, :], tiers[:, :, None] < tiers[:, None, :]
    for sweep in range(_SWEEPS):
        for j in np.argsort(knowledge.places):
            high = np.min(np.where((above[:, j] & there)[:, None], means, np.inf), axis=-1)
            low = np.max(np.where((below[:, j] & there)[:, None], means, -np.inf), axis=-1)
            scale, middle = np.where(there[:, j], deviation[:, j], 1)[:, None], centre[:, j, None]
            start, end = ndtr((low - middle) / scale), ndtr((high - middle) / scale)
            drawn = middle + scale * ndtri(np.clip(start + (end - start) * uniform[:, sweep, j], 1e-13, 1 - 1e-13))
            drawn = np.clip(drawn, np.where(np.isfinite(low), low, drawn), np.where(np.isfinite(high), high, drawn))
            means[..., j] = np.where(there[:, j, None], drawn, 0)
    return means
