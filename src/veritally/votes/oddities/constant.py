"""Constant scorers: voters who give everything the same value."""

from dataclasses import dataclass
from math import log

import numpy as np

from veritally.votes.oddities.table import BallotTable

_CHANCE = 0.005  # of naming somebody where all are honest


@dataclass(frozen=True)
class ConstantScorer:
    """A voter who gives the same value to so many alternatives."""

    voter: int
    value: float
    alternatives: int


def constant_scorers(table: BallotTable) -> list[ConstantScorer]:
    """Find voters whose values are all the same, over more alternatives than the others' habits explain.

    How often a voter gives two neighbouring values alike, sorted, is taken from the others; a ballot of k equal values
    has k − 1 such, in all decisions of the voter together.
    """
    if table.values is None:
        return []
    number = len(table.names)
    there = table.voters >= 0
    values = np.sort(np.where(there[..., None], table.values, np.nan), axis=-1)
    given = np.sum(~np.isnan(values), axis=-1)
    links = np.maximum(given - 1, 0)
    equal = np.sum(values[..., 1:] == values[..., :-1], axis=-1)
    who = table.voters[there]
    all_links, all_equal, seen = (np.bincount(who, x[there], number) for x in (links, equal, given))
    low, high = np.full(number, np.inf), np.full(number, -np.inf)
    valued = there & (given > 0)
    np.minimum.at(low, table.voters[valued], values[valued][:, 0])
    np.maximum.at(high, table.voters[valued], np.nanmax(values[valued], axis=-1))
    level = (low == high) & (all_links > 0)
    others_links, others_equal = all_links[~level].sum(), all_equal[~level].sum()
    rate = (others_equal + 1) / (others_links + 2)
    asked = max(int(np.sum(all_links > 0)), 1)
    named = level & (all_links * -log(rate) > log(asked / _CHANCE))
    return [ConstantScorer(int(i), float(low[i]), int(seen[i])) for i in np.flatnonzero(named)]
