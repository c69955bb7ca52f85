"""Equal values: how surprising it is that voters give the very same numbers."""

import numpy as np

from veritally.arrays import Array
from veritally.votes.oddities.table import BallotTable

_LAMBDAS = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 40.0])  # of Chernoff's bound
_FEW_LEVELS = 0.3  # of the others' values that are among those of one voter
_MOST_DECISIONS = 100  # by which a group is judged
_KEPT = 4.0  # cells that the rate of all alternatives stands for, beside those of one


def surprise_of_equal_values(table: BallotTable, group: list[int]) -> float:
    """Return −log of the probability that members of a group give so many values that the first of them gives.

    On a scale of few levels equal values are common. How common is taken from the others: how often two of them give an
    alternative the same value, and how many of their values are among those of the first member, so that its levels
    would be met at all. Where that is so for most, a scale has few levels, and nothing is said; nor without values.
    """
    if table.values is None:
        return 0.0
    rows = np.flatnonzero(np.isin(table.voters, group).sum(axis=-1) > 1)[:_MOST_DECISIONS]
    values, voters = table.values[rows], table.voters[rows]
    inside = np.isin(voters, group)
    base = _ballots_of(group[0], values, voters)[:, None]
    equal, pairs = _alike(np.where(inside[..., None], np.nan, values), base)
    rate = (equal.sum() + 1) / (pairs.sum() + 2)
    chance = (equal + _KEPT * rate) / (pairs + _KEPT)
    levels = _met_by_others(np.where(inside[..., None], np.nan, values), base)
    if levels > _FEW_LEVELS:
        return 0.0
    surprise = 0.0
    for voter in group[1:]:
        own = np.where((voters == voter)[..., None], values, np.nan)
        own = np.where(
            (voters == voter).any(axis=-1)[:, None], np.nanmax(np.nan_to_num(own, nan=-np.inf), axis=1), np.nan
        )
        both = np.isfinite(own) & np.isfinite(base[:, 0])
        same = int(np.sum(both & (own == base[:, 0])))
        by_level = np.minimum(_share_of_levels(base[:, 0][both]) * levels, 1)
        p = np.minimum(np.maximum(chance[both], by_level), 1)
        bounds = np.sum(np.log1p(p * np.expm1(_LAMBDAS[:, None])), axis=-1) - _LAMBDAS * same
        surprise -= min(float(bounds.min()), 0.0)
    return surprise


def _ballots_of(voter: int, values: Array, voters: Array) -> Array:
    """Return the values of a voter, ``(decision, alternative)``, NaN where there are none."""
    mine = voters == voter
    own = np.take_along_axis(values, mine.argmax(axis=-1)[:, None, None], axis=1)[:, 0]
    return np.where(mine.any(axis=-1)[:, None], own, np.nan)


def _alike(values: Array, base: Array) -> tuple[Array, Array]:
    """Count equal pairs among voters and the group's first, and all pairs, ``(decision, alternative)``."""
    values = np.concatenate([values, base], axis=1)
    given = ~np.isnan(values)
    number = given.sum(axis=1)
    ordered = np.sort(values, axis=1)
    runs = np.zeros_like(number)
    length = np.ones_like(number)
    for place in range(1, ordered.shape[1]):
        same = ordered[:, place] == ordered[:, place - 1]
        length = np.where(same, length + 1, 1)
        runs = runs + np.where(same, length - 1, 0)
    return runs.astype(float), number * (number - 1) / 2


def _met_by_others(values: Array, base: Array) -> float:
    """Return about which part of the others' values are among those that the first member gives."""
    met = np.isin(values, base[~np.isnan(base)])
    return float((met.sum() + 1) / ((~np.isnan(values)).sum() + 2))


def _share_of_levels(values: Array) -> float:
    """Return how probable it is that two of the values are the same, drawn with replacement."""
    if not len(values):
        return 1.0
    _, number = np.unique(values, return_counts=True)
    return float(np.sum((number / len(values)) ** 2))
