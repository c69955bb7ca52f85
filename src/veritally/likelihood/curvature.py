"""Second derivatives of the probability of a ranking, carried through the same recursion.

``moved`` and ``edges`` hold, for each of the ``places`` passed, how the product above the boundary changes with its
truth, and how the edge does. A place tied first in some ballots and not in others stands there twice.
"""

from functools import partial
from typing import NamedTuple

from veritally.arrays import Array, if_any, namespace, possible
from veritally.likelihood.walk import Group, State, Walk, placed


class _Changes(NamedTuple):
    """What was passed: see above. ``pairs`` are second derivatives over P, ``(alternative, alternative, ballot)``."""

    moved: Array
    edges: Array
    pairs: Array


def curvature(
    walk: Walk, top: Group, bottom: Group, above: list[State], below: list[State], whole: Array, slope: Array
) -> Array:
    """Return the second derivatives of log P, ``(alternative, alternative, ballot)``, where its ``slope`` is known.

    ``whole`` is the logarithm of P on the scale of the states ``above`` and ``below`` each boundary.
    """
    xp = namespace(walk.truth)
    n = len(walk.truth)
    places = list(top.places)
    changes = _tied_first(walk, top, below[0], whole)
    for k in range(n):
        single = walk.tiers.single[k]
        if not possible(single):
            continue
        step = partial(_passed, walk, changes, places[:], k, (above[k], above[k + 1], below[k + 1]), whole)
        changes = _Changes(*if_any(single, step, partial(_left, changes)))
        places.append(k)
    pairs = changes.pairs - _tied_last(walk, bottom, above[n], changes.edges, places, whole)
    return logarithmic(pairs + xp.moveaxis(pairs, 0, 1), slope)


def chained_curvature(walk: Walk, above: list[State], below: list[State], whole: Array, slope: Array) -> Array:
    """Return about the second derivatives of log P of ballots without ties, from neighbours on the ballot alone.

    They are Cov(ψ_j, ψ_k) of the scores ψ = −φ′/φ given the ballot, along which the means are a chain in which each
    meets only its neighbours. For those farther apart, covariances are multiplied up as if the chain were normal: some
    per cent off, at the cost of a gradient.
    """
    xp = namespace(whole)
    n = len(walk.truth)
    column, variance = xp.zeros_like(slope), xp.zeros_like(whole)  # Cov(ψ_j, ψ_k) for all j < k, and Var(ψ_k)
    moved, columns = xp.zeros_like(walk.nodes.x), []
    for k in range(n):
        single = walk.tiers.single[k]
        scale = xp.where(single, xp.exp(above[k].log + below[k + 1].log - whole), 0)
        score = walk.score(k)
        bent = score * walk.density[k]
        beyond = bent * below[k + 1].product
        met = walk.nodes.total(moved * beyond) * scale
        covariance = xp.where(single, met - slope[k] * slope[k - 1], 0)
        known = variance > 0
        column = column * xp.where(known, covariance / xp.where(known, variance, 1), 0)
        if k:
            column = xp.concat([column[: k - 1], covariance[None], column[k:]])
        columns.append(column)
        variance = walk.nodes.total(score * above[k].product * beyond) * scale - slope[k] ** 2
        change = xp.exp(above[k].log - above[k + 1].log)[:, None, None]
        moved = walk.nodes.above(bent * above[k].product * change, walk.pressure[k] if walk.steep else None)
    second = xp.stack(columns, axis=1)
    return _unmoved(second + xp.moveaxis(second, 0, 1))


def _passed(
    walk: Walk, changes: _Changes, places: list[int], k: int, states: tuple[State, State, State], whole: Array
) -> tuple[Array, ...]:
    """Pass a place that is single: its truth joins those before it, and what these meet below is added to the pairs."""
    xp = namespace(whole)
    above, next_above, below = states
    moved, edges, pairs = changes
    single = walk.tiers.single[k]
    bent = walk.score(k) * walk.density[k]
    if places:
        scale = xp.exp(above.log + below.log - whole)
        met = walk.nodes.total(moved * (bent * below.product)) * xp.where(single, scale, 0)
        pairs = pairs + placed(met[:, None], places, [k], len(walk.truth))
    change = xp.exp(above.log - next_above.log)[:, None, None]
    own = (bent * (above.product * change))[None]
    step = xp.concat([moved * (walk.density[k] * change), own])
    run = walk.nodes.above(step, walk.pressure[k] if walk.steep else None)
    if possible(~single):
        wide, new = single[:, None, None], xp.zeros_like(own)
        run = xp.where(wide, run, xp.concat([moved, new]))
        step = xp.where(wide, step, xp.concat([edges, new]))
    return run, step, pairs


def _left(changes: _Changes) -> tuple[Array, ...]:
    """Leave a place out that is single in no ballot."""
    xp = namespace(changes.pairs)
    moved, edges = (xp.concat([x, xp.zeros((1, *x.shape[1:]), dtype=x.dtype)]) for x in changes[:2])
    return moved, edges, changes.pairs


def _tied_first(walk: Walk, top: Group, below: State, whole: Array) -> _Changes:
    """Return how product and edge of those tied first change with their truths, and what pairs of them add."""
    xp = namespace(whole)
    n = len(walk.truth)
    none = xp.zeros_like(top.rates)

    def changes() -> tuple[Array, ...]:
        scores = xp.stack([walk.score(j) for j in top.places])
        bend = top.rates * (scores + _without_each(top.rates)) * walk.nodes.half
        moved, scale = top.product * top.rates, xp.exp(top.log + below.log - whole)
        met = walk.nodes.totals(moved * below.edge, top.rates) * scale
        return moved, top.product * bend, placed(met, top.places, top.places, n) / 2

    pairs = xp.zeros((n, n, len(whole)), dtype=whole.dtype)
    return _Changes(*if_any(top.members, changes, lambda: (none, none, pairs)))


def _tied_last(walk: Walk, bottom: Group, above: State, edges: Array, places: list[int], whole: Array) -> Array:
    """Return what those tied last take away with all above them, and with each other."""
    xp = namespace(whole)
    n = len(walk.truth)

    def changes() -> tuple[Array]:
        scale = xp.exp(above.log + bottom.log - whole)
        reach = bottom.rates * bottom.product
        met = placed(walk.nodes.totals(edges, reach) * scale, places, bottom.places, n)
        own = walk.nodes.totals(bottom.rates * above.edge, reach) * scale
        return (met - placed(own, bottom.places, bottom.places, n) / 2,)

    return if_any(bottom.members, changes, lambda: (xp.zeros((n, n, len(whole)), dtype=whole.dtype),))[0]


def _without_each(x: Array) -> Array:
    """Sum over the first axis, without each in turn: subtracting from the whole would cancel digits."""
    xp = namespace(x)
    return xp.stack([sum((x[k] for k in range(len(x)) if k != j), xp.zeros_like(x[0])) for j in range(len(x))])


def logarithmic(pairs: Array, slope: Array) -> Array:
    """Turn second derivatives of P over P, but for the diagonal, into those of log P."""
    return _unmoved(pairs - slope[:, None] * slope[None])


def _unmoved(second: Array) -> Array:
    """Put the diagonal in, by which a common shift of all truths changes nothing: rows sum to 0."""
    xp = namespace(second)
    apart = ~xp.eye(len(second), dtype=bool)[..., None]
    second = xp.where(apart, second, 0)
    return xp.where(apart, second, -xp.sum(second, axis=1)[:, None])
