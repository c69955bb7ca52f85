"""The exact probability of rankings as voters give them: partial, with ties, of what each of them saw."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, by_cost, if_any, is_jax, keep_memory, namespace
from veritally.errors import InputError
from veritally.likelihood.chain import chain
from veritally.likelihood.panels import panels_for
from veritally.likelihood.quadrature import fineness
from veritally.likelihood.tied import tied_chain
from veritally.likelihood.walk import Tiers
from veritally.model.means import Spread
from veritally.votes.ballots import Ballots
from veritally.votes.rankings import Rankings

_AT_ONCE = 1 << 13  # ballots
_MOST_TIERS = 1000  # of a ballot: up to here integrals were measured to keep their digits
_HARD = 64  # times as many cells as others that ballots are counted for if they are extreme


class Derivatives(NamedTuple):
    """Of each voter's log-probability: the value, its gradient and its second derivatives by the truths.

    ``(..., voter)``, ``(..., voter, alternative)`` and ``(..., voter, alternative, alternative)``.
    """

    log_prob: Array
    gradient: Array | None = None
    curvature: Array | None = None


def ranking(ranks: Array, truth: Array, spread: Spread, order: int = 1, rough: bool = False) -> Derivatives:
    """Return the log-probability of each ranking.

    Parameters
    ----------
    ranks
        Midranks among what each voter saw, 0 for unseen, ``(..., voter, alternative)``.
    truth
        ``(..., alternative)``.
    spread
        Of the voters' means, ``(component, ..., voter, alternative)``.
    order
        How many derivatives are wanted: 0, 1 or 2.
    rough
        Whether some five digits, and second derivatives to some per cent, will do.
    """
    if ranks.shape[-1] == 2 and spread.weights is None:
        return _of_two(ranks, truth, spread, order)
    xp = namespace(ranks, truth)
    batch, n = ranks.shape[:-1], ranks.shape[-1]
    if n > _MOST_TIERS and not is_jax(ranks):
        _refuse_long(ranks)
    truth = xp.broadcast_to(truth[..., None, :], ranks.shape)
    ranks, truth = (xp.moveaxis(x.reshape(-1, n), -1, 0) for x in (ranks, truth))
    mixtures = [
        xp.moveaxis(xp.broadcast_to(x, (len(x), *batch, n)).reshape(len(x), -1, n), -1, 1)
        for x in spread
        if x is not None
    ]
    ballots = ranks.shape[1]
    width = ballots if is_jax(ranks) else _AT_ONCE
    pieces = [
        _sorted(*(x[..., start : start + width] for x in (ranks, truth, *mixtures)), order=order, rough=rough)
        for start in range(0, max(ballots, 1), max(width, 1))
    ]
    results = pieces[0] if len(pieces) == 1 else [xp.concat(x, axis=-1) for x in zip(*pieces, strict=True)]
    return Derivatives(*(xp.moveaxis(x, -1, 0).reshape(*batch, *x.shape[:-1]) for x in results))


def _of_two(ranks: Array, truth: Array, spread: Spread, order: int) -> Derivatives:
    """Return log Φ((μ_1 − μ_2)/√(s_1² + s_2²)), or of μ_2 − μ_1, of voters who saw and told apart both."""
    xp = namespace(ranks, truth)
    tells = xp.all(ranks > 0, axis=-1) & (ranks[..., 0] != ranks[..., 1])
    sign = xp.where(ranks[..., 0] < ranks[..., 1], 1, -1)
    deviation = xp.where(tells, xp.hypot(spread.deviations[..., 0], spread.deviations[..., 1]), 1)
    both = Spread(deviation).under(sign * (truth[..., None, 0] - truth[..., None, 1]))
    log_prob, rate, bend = (xp.where(tells, x, 0) for x in both)
    if not order:
        return Derivatives(log_prob)
    towards = xp.asarray([1, -1], dtype=log_prob.dtype)
    gradient = -(sign * rate)[..., None] * towards
    return Derivatives(log_prob, gradient, bend[..., None, None] * towards[:, None] * towards if order > 1 else None)


def _refuse_long(ranks: Array) -> None:
    """Refuse ballots of more tiers than the integrals can tell apart."""
    ordered = np.sort(ranks, axis=-1)
    tiers = int(np.max(np.sum(np.diff(ordered, axis=-1, prepend=0) > 0, axis=-1), initial=0))
    if tiers > _MOST_TIERS:
        raise InputError(
            f"a ballot has {tiers} different ranks, and exact rules take up to {_MOST_TIERS}; choose a rule that adds "
            "up points, such as pairwise-normalized, or leave out alternatives that cannot win"
        )


def _sorted(
    ranks: Array, truth: Array, deviations: Array, *weights: Array, order: int, rough: bool
) -> tuple[Array, ...]:
    """Return derivatives by ballots ``(alternative, ballot)``, which are brought into order for it.

    Within a tier the order does not matter, but the fit along the ballot takes the highest truth first.
    """
    xp = namespace(ranks, truth)
    known = xp.where(ranks > 0, ranks, xp.inf)
    sequence = xp.argsort(-truth, axis=0)
    tiers = xp.take_along_axis(known, sequence, axis=0)
    sequence = xp.take_along_axis(sequence, xp.argsort(tiers, axis=0, stable=True), axis=0)
    known, truth = (xp.take_along_axis(x, sequence, axis=0) for x in (known, truth))
    own = Spread(*(xp.take_along_axis(x, sequence[None], axis=1) for x in (deviations, *weights)))
    results = list(_in_order(known, truth, own, order, rough))
    back = xp.argsort(sequence, axis=0)
    if order > 0:
        results[1] = xp.take_along_axis(results[1], back, axis=0)
    if order > 1:
        half = xp.take_along_axis(results[2], back[:, None], axis=0)
        results[2] = xp.take_along_axis(half, back[None], axis=1)
    return tuple(results)


def _in_order(rank: Array, truth: Array, spread: Spread, order: int, rough: bool = False) -> tuple[Array, ...]:
    """Return derivatives by ballots in order, ``(alternative, ballot)``."""
    xp = namespace(rank, truth)
    seen = xp.isfinite(rank)
    lowest = xp.max(xp.where(seen, rank, 0), axis=0)
    several = lowest > rank[0]  # else there is one tier, which says nothing
    first, last = seen & (rank == rank[0]) & several, seen & (rank == lowest) & several
    alone_first, alone_last = (xp.sum(xp.astype(x, xp.int32), axis=0) == 1 for x in (first, last))
    middle = seen & ~first & ~last & several
    same = xp.concat([xp.zeros_like(seen[:1]), rank[1:] == rank[:-1]]) & seen
    tied = xp.any(middle & same, axis=0)
    single = middle | (first & alone_first) | (last & alone_last)
    tiers = xp.stack([single, first & ~alone_first, last & ~alone_last]) & ~tied

    fine = fineness(truth, rough)
    ends, needed, pressure = panels_for(xp.where(seen, truth, 0), spread, xp.any(tiers[1] | tiers[2], axis=0), fine)

    def run(truth: Array, deviations: Array, *rest: Array) -> tuple[Array, ...]:
        *weights, tiers, ends, pressure, needed = rest
        panels = fine.panels if is_jax(truth) else int(needed.max())
        own = Spread(deviations, *weights)
        result = chain(truth[0], own, Tiers(*tiers), ends[0].T, needed, pressure[0], panels, fine, order, rough)
        return tuple(x for x in result if x is not None)

    mixed = () if spread.weights is None else (spread.weights,)
    parts = (truth[None], spread.deviations, *mixed, tiers, ends.T[None], pressure[None], needed)
    cost = xp.where(xp.any(pressure > 0, axis=0), needed * _HARD, needed)  # so that these go by themselves
    held = 1 if order < 2 or rough else max(1, len(rank) // 4)  # second derivatives, of which some are held at once
    keep_memory()
    pieces = partial(by_cost, run, cells=2 * fine.nodes * held)
    groups = xp.any(tiers[1] | tiers[2], axis=0)
    if rough and order > 1 and not is_jax(groups) and np.any(groups) and not np.all(groups):
        results = _apart(pieces, groups, cost, *parts)  # whose second derivatives are exact, unlike those of others
    else:
        results = pieces(cost, *parts)
    tied_results = if_any(
        tied,
        lambda: tied_chain(rank, truth, spread, tied, order, _in_order),
        lambda: tuple(xp.zeros_like(x) for x in results),
    )
    return tuple(xp.where(tied, other, x) for x, other in zip(results, tied_results, strict=True))


def _apart(function: Callable[..., tuple[Array, ...]], mask: Array, *arrays: Array) -> tuple[Array, ...]:
    """Run a function of arrays ``(..., ballot)`` for ballots within a mask, and for those without; for NumPy."""
    places = np.concat([np.flatnonzero(mask), np.flatnonzero(~mask)])
    parts = [function(*(x[..., some] for x in arrays)) for some in (mask, ~mask)]
    back = np.argsort(places)
    return tuple(np.concat(pair, axis=-1)[..., back] for pair in zip(*parts, strict=True))


def tied_in_the_middle(ballots: Ballots) -> Array:
    """Say which voters have ties that are neither first nor last, ``(..., voter)``; they take far longer."""
    xp = namespace(ballots.counts)
    rankings = ballots.part(Rankings)
    if rankings is None:
        return xp.zeros(ballots.multiplicity.shape, dtype=bool)
    ranks = rankings.votes
    seen = ranks > 0
    first = xp.min(xp.where(seen, ranks, xp.inf), axis=-1, keepdims=True)
    middle = seen & (ranks > first) & (ranks < xp.max(ranks, axis=-1, keepdims=True))
    ordered = xp.sort(xp.where(middle, ranks, xp.nan), axis=-1)
    return xp.any(ordered[..., 1:] == ordered[..., :-1], axis=-1)
