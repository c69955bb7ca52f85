"""Cells: what voters saw, laid out flat for drawing their means, and what truths may move together with them.

A cell is one alternative that one voter saw, with the mean of what was seen. A ballot bounds its cells by those of the
neighbouring tiers, and by nothing else.
"""

from typing import NamedTuple

import numpy as np

from veritally.arrays import Array
from veritally.votes.rankings import Ordinal


class Tiers(NamedTuple):
    """Every other tier of all ballots: their cells, where each tier starts, and the tiers next to that of each cell.

    ``above`` and ``below`` are places among the remaining tiers, beyond the last of them for none.
    """

    cells: Array
    start: Array
    above: Array
    below: Array


class Cells(NamedTuple):
    """What voters saw, ballot by ballot, the best tier first.

    Attributes
    ----------
    ballot, truth
        Where each cell belongs; truths are numbered through all decisions.
    row
        Its random numbers: the first cell of each decision has the first.
    deviation
        Of the mean, ``(cell, 1)``.
    even, odd
        Half of the tiers each: given the one, all of the other may change at once.
    upper, lower
        All pairs of cells in neighbouring tiers of a ballot.
    """

    ballot: Array
    truth: Array
    row: Array
    deviation: Array
    even: Tiers
    odd: Tiers
    upper: Array
    lower: Array


class Move(NamedTuple):
    """Truths that move in groups, each group by a step of its own.

    Attributes
    ----------
    truths, group, first
        The truths, the group of each, and where each group starts.
    row
        The random numbers of each group.
    pairs, sign, taker
        Pairs of cells that come apart (1) or closer (−1), and the group that moves one of them.
    limit, start
        Which steps the pairs limit, numbered first as steps down, then as steps up, and where the pairs of each start.
    """

    truths: Array
    group: Array
    first: Array
    row: Array
    pairs: Array
    sign: Array
    taker: Array
    limit: Array
    start: Array


def size(ballots: Ordinal) -> Array:
    """Return the number of cells, and of pairs of them, ``(decision,)``."""
    _, tier = _in_tiers(ballots.tiers)
    each = np.stack([np.sum(tier == t, axis=-1) for t in range(tier.shape[-1])], axis=-1)
    pairs = np.sum(each[..., 1:] * each[..., :-1], axis=-1)
    return np.asarray(np.sum(ballots.effective_multiplicity * (np.sum(each, axis=-1) + pairs), axis=-1))


def laid_out(ballots: Ordinal, deviation: Array) -> Cells:
    """Lay out the ballots that say something, ``(decision, voter, alternative)``, each as often as it was cast."""
    times, n = ballots.effective_multiplicity.astype(int), ballots.mask.shape[-1]
    decision, voter = (np.repeat(x, times[times > 0]) for x in np.nonzero(times))
    order, tier = _in_tiers(ballots.tiers[decision, voter])
    ballot, place = np.nonzero(tier >= 0)
    alternative, owner = order[ballot, place], decision[ballot]
    # Tiers have numbers of which the next is the next tier of the same ballot, or missing.
    names, which, each = np.unique(ballot * (n + 1) + tier[ballot, place], return_inverse=True, return_counts=True)
    odd, joined = names % (n + 1) % 2, np.diff(names, prepend=-9, append=-9) == 1
    turn = np.where(odd, np.cumsum(odd), np.cumsum(1 - odd)) - 1
    none = np.where(odd, np.sum(1 - odd), np.sum(odd))
    above = np.where(joined[:-1], np.roll(turn, 1), none)[which]
    below = np.where(joined[1:], np.roll(turn, -1), none)[which]
    halves = []
    for half in (0, 1):
        own, cells = each[odd == half], np.flatnonzero(odd[which] == half)
        halves.append(Tiers(cells, np.cumsum(own) - own, above[cells], below[cells]))
    # Each cell meets all of the next tier, which begins where its own ends.
    beside = np.where(joined[1:], np.roll(each, -1), 0)[which]
    upper = np.repeat(np.arange(len(which)), beside)
    within = np.arange(len(upper)) - np.repeat(np.cumsum(beside) - beside, beside)
    return Cells(
        ballot,
        owner * n + alternative,
        np.arange(len(owner)) - np.searchsorted(owner, owner),
        deviation[owner, voter[ballot], alternative][:, None],
        halves[0],
        halves[1],
        upper,
        np.cumsum(each)[which][upper] + within,
    )


def moves(cells: Cells, mask: Array, middle: Array) -> list[Move]:
    """Say what moves: each alternative alone, and the best k together, as the ``middle`` has them.

    What nobody puts above anything has no order, and comes last. Such truths do not meet, and move at the same time.
    """
    n = mask.shape[-1]
    compared = np.zeros(mask.size, dtype=bool)
    compared[cells.truth[cells.upper]] = True
    compared = compared.reshape(mask.shape)
    place = np.argsort(np.argsort(np.where(compared, -middle, np.inf), axis=-1, kind="stable"), axis=-1)
    place = np.where(compared, place, np.sum(compared, axis=-1, keepdims=True))
    last = np.max(np.where(mask, place, 0), axis=-1, keepdims=True)
    found = []
    for k in range(np.max(last) + 1):
        alone, best = np.flatnonzero((place == k) & mask), np.flatnonzero((place <= k) & (k <= last) & mask)
        found.append(_move(cells, mask.size, alone, alone, 2 * (alone % n)))
        found.append(_move(cells, mask.size, best, best // n, np.full_like(best, 2 * k + 1)))
    return found


def _move(cells: Cells, number: int, truths: Array, name: Array, row: Array) -> Move:
    """Move some of so many truths in groups of the same name."""
    _, first, group = np.unique(name, return_index=True, return_inverse=True)
    mover = np.full(number, -1)
    mover[truths] = group
    upper, lower = mover[cells.truth[cells.upper]], mover[cells.truth[cells.lower]]
    sign, taker = (upper >= 0).astype(int) - (lower >= 0), np.maximum(upper, lower)
    limit = taker + len(first) * (sign < 0)
    pairs = np.flatnonzero(sign)
    pairs = pairs[np.argsort(limit[pairs], kind="stable")]
    limit, start = np.unique(limit[pairs], return_index=True)
    return Move(truths, group, first, row[first], pairs, sign[pairs, None], taker[pairs], limit, start)


def _in_tiers(ranks: Array) -> tuple[Array, Array]:
    """Return the alternatives of each ballot, the best first, and their tiers, from 0 on; −1 for unseen, at the end."""
    known = np.where(ranks > 0, ranks, np.inf)
    order = np.argsort(known, axis=-1, kind="stable")
    known = np.take_along_axis(known, order, axis=-1)
    lower = np.cumsum(known[..., 1:] > known[..., :-1], axis=-1)
    tier = np.concat([np.zeros_like(lower, shape=(*lower.shape[:-1], 1)), lower], axis=-1)
    return order, np.where(np.isfinite(known), tier, -1)
