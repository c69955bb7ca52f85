"""The exact probability of rankings as voters give them: partial, with ties, of what each of them saw."""

from typing import NamedTuple

from veritally.arrays import Array, by_cost, if_any, is_jax, keep_memory, namespace
from veritally.ballots import Ballots
from veritally.likelihood.chain import Tiers, chain, panels_for
from veritally.likelihood.density import Spread
from veritally.likelihood.quadrature import fineness
from veritally.likelihood.tied import tied_chain

_HARD = 64  # times as many cells as others that ballots are counted for if they are extreme


class Derivatives(NamedTuple):
    """Of each voter's log-probability: the value, its gradient and its second derivatives by the truths.

    ``(..., voter)``, ``(..., voter, alternative)`` and ``(..., voter, alternative, alternative)``.
    """

    log_prob: Array
    gradient: Array | None = None
    curvature: Array | None = None


def ranking(ranks: Array, truth: Array, spread: Spread, order: int = 1) -> Derivatives:
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
    """
    xp = namespace(ranks, truth)
    batch, n = ranks.shape[:-1], ranks.shape[-1]
    truth = xp.broadcast_to(truth[..., None, :], ranks.shape)
    by_place = [x.reshape(*x.shape[: x.ndim - ranks.ndim], -1, n) for x in (ranks, truth)]
    ranks, truth = (xp.moveaxis(x, -1, 0) for x in by_place)
    deviations, weights = (
        None if x is None else xp.moveaxis(xp.broadcast_to(x, (len(x), *batch, n)).reshape(len(x), -1, n), -1, 1)
        for x in spread
    )
    # Within a tier the order does not matter, but the fit along the ballot takes the highest truth first.
    sequence = xp.argsort(-truth, axis=0)
    rank = xp.take_along_axis(xp.where(ranks > 0, ranks, xp.inf), sequence, axis=0)
    sequence = xp.take_along_axis(sequence, xp.argsort(rank, axis=0, stable=True), axis=0)
    rank, truth = (xp.take_along_axis(x, sequence, axis=0) for x in (xp.where(ranks > 0, ranks, xp.inf), truth))
    own = Spread(*(None if x is None else xp.take_along_axis(x, sequence[None], axis=1) for x in (deviations, weights)))
    results = _in_order(rank, truth, own, order)
    back = xp.argsort(sequence, axis=0)
    log_prob = results[0].reshape(batch)
    if order == 0:
        return Derivatives(log_prob)
    gradient = xp.moveaxis(xp.take_along_axis(results[1], back, axis=0), 0, -1).reshape(*batch, n)
    if order == 1:
        return Derivatives(log_prob, gradient)
    second = xp.take_along_axis(xp.take_along_axis(results[2], back[:, None], axis=0), back[None], axis=1)
    return Derivatives(log_prob, gradient, xp.moveaxis(second, -1, 0).reshape(*batch, n, n))


def _in_order(rank: Array, truth: Array, spread: Spread, order: int) -> tuple[Array, ...]:
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

    fine = fineness(truth)
    ends, needed, pressure = panels_for(xp.where(seen, truth, 0), spread, fine)

    def run(truth: Array, deviations: Array, *rest: Array) -> tuple[Array, ...]:
        *weights, tiers, ends, pressure, needed = rest
        panels = fine.panels if is_jax(truth) else int(needed.max())
        result = chain(
            truth[0], Spread(deviations, *weights), Tiers(*tiers), ends[0].T, needed, pressure[0], panels, order
        )
        return tuple(x for x in result if x is not None)

    mixed = () if spread.weights is None else (spread.weights,)
    parts = (truth[None], spread.deviations, *mixed, tiers, ends.T[None], pressure[None], needed)
    cost = xp.where(xp.any(pressure > 0, axis=0), needed * _HARD, needed)  # so that these go by themselves
    keep_memory()
    results = by_cost(run, cost, *parts, cells=2 * fine.nodes)
    tied_results = if_any(
        tied,
        lambda: tied_chain(rank, truth, spread, tied, order),
        tuple(xp.zeros_like(x) for x in results),
    )
    return tuple(xp.where(tied, other, x) for x, other in zip(results, tied_results, strict=True))


def tied_in_the_middle(ballots: Ballots) -> Array:
    """Say which voters have ties that are neither first nor last, ``(..., voter)``; they take far longer."""
    xp = namespace(ballots.counts)
    if ballots.kind not in ("rankings", "mixed"):
        return xp.zeros(ballots.counts.shape[:-1], dtype=bool)
    ranks = ballots.votes[..., 2] if ballots.kind == "mixed" else ballots.votes
    seen = ranks > 0
    first = xp.min(xp.where(seen, ranks, xp.inf), axis=-1, keepdims=True)
    middle = seen & (ranks > first) & (ranks < xp.max(ranks, axis=-1, keepdims=True))
    ordered = xp.sort(xp.where(middle, ranks, xp.nan), axis=-1)
    return xp.any(ordered[..., 1:] == ordered[..., :-1], axis=-1)
