"""Contradiction: voters who put things the other way round than all others."""

from dataclasses import dataclass
from functools import cache
from math import log

import numpy as np

from veritally.arrays import Array
from veritally.votes.oddities.table import BallotTable, orders

_LAMBDAS = np.array([0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 20.0])  # of Chernoff's bound
_MOST = 0.6  # of pairs in which a voter may differ from the others without a closer look
_FEWEST = 2  # others who make a consensus
_MOST_WORK = 30_000_000  # voters × pairs of all decisions
_CHANCE = 0.005  # of naming somebody where all are honest, or vote at random


@dataclass(frozen=True)
class Contradiction:
    """A voter who contradicts the others: in how many pairs of alternatives, of how many."""

    voter: int
    differing: int
    pairs: int
    surprise: float


def contradictions(table: BallotTable) -> list[Contradiction]:
    """Find voters who contradict the consensus of the others more than one does who votes at random.

    The consensus is the order of the others' mean ranks. The number of pairs in which a random order with given tiers
    differs from a fixed one has the generating function [n]!/Π [t]! of q-factorials, over the sizes t of tiers; for
    several decisions these multiply, and Chernoff's bound is the probability to differ in so many.
    """
    number = len(table.names)
    differing, pairs = np.zeros(number), np.zeros(number)
    log_mean = np.zeros((number, len(_LAMBDAS)))
    decisions, m, n = table.ranks.shape
    size = max(1, 1_000_000 // (m * n * n))
    affordable = min(decisions, _MOST_WORK // max(m * n * n // 2, 1))
    for start in range(0, affordable, size):
        part = slice(start, min(start + size, affordable))
        apart, ordered, usable = _compared(table.ranks[part])
        usable &= table.voters[part] >= 0
        who = table.voters[part][usable]
        differing += np.bincount(who, apart[usable], number)
        pairs += np.bincount(who, ordered[usable], number)
        np.add.at(log_mean, who, _log_mean(table.ranks[part][usable]))
    asked = np.flatnonzero(pairs > 0)
    if not len(asked):
        return []
    surprise = np.max(_LAMBDAS * differing[asked, None] - log_mean[asked], axis=-1)
    named = (surprise > log(len(asked) / _CHANCE)) & (differing[asked] > _MOST * pairs[asked])
    found = zip(asked[named], surprise[named], strict=True)
    return [Contradiction(int(i), int(differing[i]), int(pairs[i]), float(own)) for i, own in found]


def _compared(ranks: Array) -> tuple[Array, Array, Array]:
    """Return in how many pairs each voter differs from the others' consensus, of how many, and where there is one."""
    seen = ranks > 0
    speaking = seen.any(axis=-1)
    middle = (np.sum(seen, axis=-1, keepdims=True) + 1) / 2
    scores = np.where(seen, (middle - ranks) / np.maximum(middle, 1), 0)
    others = np.sum(scores, axis=-2, keepdims=True) - scores
    number = np.sum(seen, axis=-2, keepdims=True) - seen
    mean = np.where(number > 0, others / np.maximum(number, 1), np.nan)
    first, second = np.triu_indices(ranks.shape[-1], k=1)
    with np.errstate(invalid="ignore"):
        consensus = np.nan_to_num(np.sign(np.round(mean[..., first] - mean[..., second], 12)))
    sign, _ = orders(ranks)
    ordered = np.sum(sign != 0, axis=-1)
    apart = np.sum((sign * consensus) < 0, axis=-1)
    usable = speaking & (np.sum(speaking, axis=-1, keepdims=True) > _FEWEST)
    return apart.astype(float), ordered.astype(float), usable


def _log_mean(ranks: Array) -> Array:
    """Return log E exp(λ T) of each ballot, ``(ballot, λ)``, T the pairs in which it differs from a fixed order."""
    table = _log_q_factorials(ranks.shape[-1])
    found = table[np.sum(ranks > 0, axis=-1)]
    ordered = np.sort(ranks, axis=-1)
    size = np.zeros(len(ranks), dtype=int)
    for place in range(ranks.shape[-1]):  # ends of tiers, in order
        here = ordered[:, place]
        size = np.where(here > 0, size + 1, 0)
        last = np.ones(len(ranks), dtype=bool) if place == ranks.shape[-1] - 1 else ordered[:, place + 1] != here
        found = found - np.where((last & (here > 0))[:, None], table[size], 0)
        size = np.where(last, 0, size)
    return found


@cache
def _log_q_factorials(n: int) -> Array:
    """Return log of Π_k [k]/k up to n, ``(number, λ)``, with [k] = 1 + q + … + q^(k−1) and q = exp(λ)."""
    k = np.arange(1, n + 1)[:, None]
    ratio = _LAMBDAS * (k - 1) + np.log(-np.expm1(-_LAMBDAS * k)) - np.log(-np.expm1(-_LAMBDAS)) - np.log(k)
    return np.concatenate([np.zeros((1, len(_LAMBDAS))), np.cumsum(ratio, axis=0)])
