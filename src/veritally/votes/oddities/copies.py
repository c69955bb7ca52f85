"""Copies: voters whose ballots are more alike than the votes of the others explain."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log

import numpy as np

from veritally.arrays import Array
from veritally.votes.oddities.equal_values import surprise_of_equal_values
from veritally.votes.oddities.nearness import Sequence, surprise_at_random, surprise_of_nearness
from veritally.votes.oddities.table import BallotTable, orders

NEAR = 0.05  # of pairs, up to which ballots are nearly the same
_STEPS = (NEAR, 0.02, 0.0)  # how near ballots of a group are, tried in turn
_MOST_MEMBERS = 20  # by whom a group is judged: more say no more
_MOST_DECISIONS = 100  # by which a group is judged
_MOST_WORK = 30_000_000  # voters × pairs, and voters × voters, of all decisions that are compared
_MOST_CELLS = 200_000  # of ballots by which groups are judged, all together
_CHANCE = 0.002  # of an accusation where all are honest


@dataclass(frozen=True)
class Copies:
    """Voters who cast nearly the same ballots.

    Attributes
    ----------
    voters
        Their places among the names of the table.
    differing, pairs
        In how many pairs of alternatives they differ from the first of them, of how many, all added up.
    surprise
        −log of the probability to be so alike by what the others' votes explain.
    """

    voters: tuple[int, ...]
    differing: int
    pairs: int
    surprise: float


def copies(table: BallotTable) -> list[Copies]:
    """Find groups of voters whose ballots are more alike than the others' votes explain."""
    table = _affordable(table)
    found: list[Copies] = []
    if not len(table.ranks):
        return found
    near = _Nearness.of(table)
    accused: set[int] = set()
    judged: set[frozenset[int]] = set()
    cost, left = table.speaking.sum(axis=-1) * table.ranks.shape[-1], float(_MOST_CELLS)
    for step in _STEPS:
        for group in near.groups(step, accused):
            if frozenset(group) in judged or left < 0:
                continue
            judged.add(frozenset(group))
            together = np.isin(table.voters, group).sum(axis=-1) > 1
            left -= float(np.sort(cost[together])[-_MOST_DECISIONS:].sum())
            own = _judged(table, group, len(near.voters))
            if own is not None:
                found.append(own)
                accused |= set(own.voters)
    return found


def _affordable(table: BallotTable) -> BallotTable:
    """Return as many decisions, from the first on, as can be compared in a moment."""
    speaking = table.speaking.sum(axis=-1)
    m, n = table.ranks.shape[1:]
    work = np.cumsum(np.maximum(speaking, 1) * max(m, n * (n - 1) // 2))
    return table.part(np.flatnonzero((work <= _MOST_WORK) & (speaking > 2)))


@dataclass(frozen=True, eq=False)
class _Nearness:
    """In how many pairs of alternatives pairs of voters differ, of how many; one row for each pair of voters."""

    one: Array
    other: Array
    differing: Array
    pairs: Array

    @classmethod
    def of(cls, table: BallotTable) -> "_Nearness":
        """Compare all ballots of each decision, and add up over decisions by name."""
        number = len(table.names)
        keys, differing, pairs = [], [], []
        for start, end in _chunks(table):
            ranks, voters = table.ranks[start:end], table.voters[start:end]
            sign, both = orders(ranks)
            up, down = (sign > 0).astype(np.float32), (sign < 0).astype(np.float32)
            level = (both & (sign == 0)).astype(np.float32)
            ordered = up + down
            same = up @ _turned(up) + down @ _turned(down)
            half = ordered @ _turned(level)
            apart = up @ _turned(down) + down @ _turned(up) + half + _turned(half)
            d, i, k = np.nonzero(np.triu(same + apart > 0, k=1))
            a, b = voters[d, i], voters[d, k]
            there = (a >= 0) & (b >= 0)
            low, high = np.minimum(a, b)[there], np.maximum(a, b)[there]
            keys.append(low.astype(np.int64) * number + high)
            differing.append(apart[d, i, k][there])
            pairs.append((same + apart)[d, i, k][there])
        key, place = np.unique(np.concatenate(keys), return_inverse=True)
        sums = (np.bincount(place, np.concatenate(x), len(key)) for x in (differing, pairs))
        return cls(key // number, key % number, *sums)

    @cached_property
    def voters(self) -> Array:
        """All voters that are compared with somebody."""
        return np.unique(np.concatenate([self.one, self.other]))

    def groups(self, step: float, without: set[int]) -> Iterator[list[int]]:
        """Go through groups of voters who differ from one of them in no more than such a part of their pairs.

        That one stands first; the one with the most such neighbours is taken, and so on with those who are left.
        """
        close = self.differing <= step * self.pairs
        edges: dict[int, set[int]] = {}
        for a, b in zip(self.one[close].tolist(), self.other[close].tolist(), strict=True):
            if a not in without and b not in without:
                edges.setdefault(a, set()).add(b)
                edges.setdefault(b, set()).add(a)
        while edges:
            first = max(edges, key=lambda voter: (len(edges[voter]), -voter))
            group = [first, *sorted(edges[first])]
            yield group
            for voter in group:
                for neighbour in edges.pop(voter, ()):
                    if neighbour in edges:
                        edges[neighbour].discard(voter)
            edges = {voter: own for voter, own in edges.items() if own}


def _turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _chunks(table: BallotTable) -> Iterator[tuple[int, int]]:
    """Cut the decisions into pieces that fit into memory."""
    decisions, m, n = table.ranks.shape
    size = max(1, 2_000_000 // (m * max(m, n * n // 2)))
    for start in range(0, decisions, size):
        yield start, min(start + size, decisions)


def _judged(table: BallotTable, group: list[int], voters: int) -> Copies | None:
    """Return a group if its ballots are more alike than the others explain."""
    members = group[:_MOST_MEMBERS]
    sequences = _sequences(table, group, members)
    if not any(len(own.others) for own in sequences):
        return None
    by_chance = surprise_at_random(sequences, len(members))
    telling = [voter for voter, own in zip(members, by_chance, strict=True) if own > log(voters)]
    if len(telling) < len(members) - 1:  # some have too little in common with the first to say anything
        group = members = [members[0], *telling]
        sequences = _sequences(table, group, members)
    k = len(members)
    if k < 2:
        return None
    ways = lgamma(voters + 1) - lgamma(k + 1) - lgamma(voters - k + 1)
    needed = ways + log(k * (k - 1) / _CHANCE)  # chances of groups of all sizes add up to one
    surprise = surprise_of_equal_values(table, members)
    several = max(len(own.others) for own in sequences) > 1  # else it may be the single other one who is odd
    if surprise < needed and several and by_chance.sum() > needed:  # else it may be chance
        surprise = surprise_of_nearness(sequences, k)
    if surprise < needed:
        return None
    compared = np.sum([np.sum(own.differing(), axis=-1) for own in sequences], axis=0)
    return Copies(tuple(group), int(compared[0]), int(compared[1]), surprise)


def _sequences(table: BallotTable, group: list[int], members: list[int]) -> list[Sequence]:
    """Return the ballots of the decisions in which several members vote."""
    rows = np.flatnonzero((np.isin(table.voters, members) & table.speaking).sum(axis=-1) > 1)
    if len(rows) > _MOST_DECISIONS:
        rows = rows[np.linspace(0, len(rows) - 1, _MOST_DECISIONS).astype(int)]
    return [Sequence.of(table, int(d), group, members) for d in rows]
