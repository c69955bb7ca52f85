"""Ties that stand for few orders: the probabilities of these, added up. For NumPy."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.model.means import Spread

Plain: TypeAlias = Callable[[Array, Array, Spread, int], tuple[Array, ...]]
"""Gives log P and its derivatives of ballots without ties in the middle: of ranks, truths, spreads and an order."""

_FEW = 24  # orders of one ballot


def orders(rank: Array) -> list[Array]:
    """Return all orders of what is tied in the middle of a ballot, as places of alternatives; none if they are many."""
    tiers = [np.flatnonzero(rank == own) for own in np.unique(rank[np.isfinite(rank)])]
    if math.prod(math.factorial(len(tier)) for tier in tiers[1:-1]) > _FEW:
        return []
    sequences = [np.arange(len(rank))]
    for tier in tiers[1:-1]:
        sequences = [_with(sequence, tier, order) for sequence in sequences for order in permutations(tier)]
    return sequences


def _with(sequence: Array, tier: Array, order: tuple[Any, ...]) -> Array:
    changed = sequence.copy()
    changed[tier] = order
    return changed


def added_up(
    rank: Array, truth: Array, spread: Spread, order: int, plain: Plain, sequences: dict[int, list[Array]]
) -> list[Array]:
    """Return log P and its derivatives of the ballots that have their orders in ``sequences``, in that sequence.

    Arrays are ``(alternative, ballot)``, in the order of the ballot.
    """
    numbers = [len(some) for some in sequences.values()]
    ballot = np.repeat(list(sequences), numbers)
    places = np.stack([place for some in sequences.values() for place in some], axis=1)
    given = rank[:, ballot]
    last = np.max(given, axis=0, where=np.isfinite(given), initial=0)
    after = np.arange(len(rank))[:, None] / len(rank)  # less than the next tier
    strict = given + np.where((given > given[0]) & (given < last), after, 0)
    own = Spread(*(None if x is None else x[:, places, ballot] for x in spread))
    log, *rest = plain(strict, truth[places, ballot], own, order)

    group = np.repeat(np.arange(len(numbers)), numbers)
    starts = np.concatenate([[0], np.cumsum(numbers)[:-1]])
    largest = np.maximum.reduceat(log, starts)
    share = np.exp(log - largest[group])
    whole = np.add.reduceat(share, starts)
    share = share / whole[group]
    results = [largest + np.log(whole)]
    back = np.argsort(places, axis=0)
    if order > 0:
        slope = np.take_along_axis(rest[0], back, axis=0)
        results.append(np.add.reduceat(share * slope, starts, axis=-1))
    if order > 1:
        bend = np.take_along_axis(np.take_along_axis(rest[1], back[:, None], axis=0), back[None], axis=1)
        both = np.add.reduceat(share * (bend + slope[:, None] * slope[None]), starts, axis=-1)
        results.append(both - results[1][:, None] * results[1][None])
    return results
