"""Whole rankings: how many pairs of one are expected to be in the wrong order, and which ranking has the fewest.

With P(j ≻ k) the probability that j is better than k, the expected Kendall distance of a ranking from the true one is
the sum of P(k ≻ j) over all pairs that it puts in the order j, k. The ranking that minimises it is Kemeny's for these
probabilities. Where majorities (P > ½) have no cycle it is their order. Else alternatives on a cycle are neighbours in
it, and their order among themselves is looked for.
"""

from collections.abc import Sequence

import numpy as np

from veritally.arrays import Array
from veritally.inference.belief import CLEAR

_EXACT = 12  # alternatives on one cycle, up to which all orders are gone through


def expected_kendall(order: Sequence[int], p_above: Array) -> float:
    """Return the expected number of pairs that a ranking, best first, has in the wrong order.

    >>> round(expected_kendall([0, 1, 2], np.array([[0.5, 0.9, 0.8], [0.1, 0.5, 0.7], [0.2, 0.3, 0.5]])), 9)
    0.6
    """
    ordered = np.asarray(p_above)[np.ix_(order, order)]
    return float(np.sum(np.triu(1 - ordered, k=1)))


def kendall_order(p_above: Array) -> list[int]:
    """Return the ranking with the fewest pairs expected in the wrong order, best first.

    On a cycle of more than 12 alternatives it is one that no move of a single alternative improves.

    >>> kendall_order(np.array([[0.5, 0.1, 0.2], [0.9, 0.5, 0.7], [0.8, 0.3, 0.5]]))
    [1, 2, 0]
    """
    from scipy.sparse.csgraph import connected_components

    p_above = np.asarray(p_above)
    beats = p_above > 0.5
    number, component = connected_components(beats | (p_above == 0.5), directed=True, connection="strong")
    # Majorities lead from each component to all later ones, so that it wins more often in all.
    wins = [np.sum(beats[component == c].mean(axis=0)) for c in range(number)]
    order: list[int] = []
    for c in np.argsort(np.negative(wins), kind="stable"):
        own = np.flatnonzero(component == c)
        within = p_above[np.ix_(own, own)]
        order += [int(own[j]) for j in (_exact if len(own) <= _EXACT else _improved)(within)]
    return order


def _exact(p_above: Array) -> list[int]:
    """Find the best order of few: that of each set puts one first and the rest in the set's own best order."""
    n = len(p_above)
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for chosen in range(1, 2**n):
        members = [j for j in range(n) if chosen >> j & 1]
        tried = []
        for j in members:
            loss, rest = best[chosen & ~(1 << j)]
            tried.append((loss + float(np.sum(p_above[rest, j])), [j, *rest]))
        best[chosen] = min(tried)
    return best[2**n - 1][1]


def _improved(p_above: Array) -> list[int]:
    """Move one alternative at a time to its best place, until nothing is gained."""
    order = [int(j) for j in np.argsort(-p_above.sum(axis=1), kind="stable")]
    while True:
        before = expected_kendall(order, p_above)
        for j in tuple(order):
            rest = [k for k in order if k != j]
            # At place r the first r of the others are above j, the rest below.
            losses = np.concat([[0], np.cumsum(p_above[j, rest])]) + np.concat(
                [np.cumsum(p_above[rest, j][::-1])[::-1], [0]]
            )
            order = [*rest[: (place := int(np.argmin(losses)))], j, *rest[place:]]
        if not expected_kendall(order, p_above) < before - 1e-12:
            return order


def tied_places(scores: Array, rounding: Array) -> Array:
    """Return the group of each score, ``(..., alternative)``, 0 for the best; scores too close to tell share one.

    Scores within rounding of a group's best share its group.

    >>> tied_places(np.array([1.0, 3.0, 1.0 + 1e-15]), np.full(3, 1e-14)).tolist()
    [1, 0, 1]
    """
    order = np.argsort(-scores, axis=-1, kind="stable")
    high, low = (np.take_along_axis(x, order, axis=-1) for x in (scores + rounding, scores - rounding))
    group, first = np.zeros(scores.shape, dtype=int), low[..., 0]
    for place in range(1, scores.shape[-1]):
        worse = high[..., place] < first
        group[..., place] = group[..., place - 1] + worse
        first = np.where(worse, low[..., place], first)
    found = np.empty_like(group)
    np.put_along_axis(found, order, group, axis=-1)
    return found


def clear_tiers(above: Array, order: Array) -> Array:
    """Return the tier of each alternative, ``(decision, alternative)``, from 1 on.

    The first of a tier, in the ``order`` of places, is not clearly better than the others of it, by the probabilities
    ``above`` that one is better than another.
    """
    place, decision = np.argsort(order, axis=-1), np.arange(len(order))
    tier = np.zeros(order.shape, dtype=int)
    for number in range(1, order.shape[-1] + 1):
        if tier.all():
            break
        first = np.argmin(np.where(tier == 0, place, place.shape[-1]), axis=-1)
        near = ~(above[decision, first] > CLEAR)
        near[decision, first] = True
        tier = np.where((tier == 0) & near, number, tier)
    return tier
