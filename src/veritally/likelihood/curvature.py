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
        new = xp.zeros((1, *walk.nodes.x.shape), dtype=whole.dtype)
        otherwise = (xp.concat([changes.moved, new]), xp.concat([changes.edges, new]), changes.pairs)
        step = partial(_passed, walk, changes, places[:], k, (above[k], above[k + 1], below[k + 1]), whole)
        changes = _Changes(*if_any(single, step, otherwise))
        places.append(k)
    pairs = changes.pairs - _tied_last(walk, bottom, above[n], changes.edges, places, whole)
    return logarithmic(pairs + xp.moveaxis(pairs, 0, 1), slope)


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
    own = (bent * above.product)[None]
    change = xp.exp(above.log - next_above.log)[:, None, None]
    step = xp.concat([moved * walk.density[k], own]) * change
    run = walk.nodes.above(step, walk.pressure[k] if walk.steep else None)
    if possible(~single):
        wide, new = single[:, None, None], xp.zeros_like(own)
        run = xp.where(wide, run, xp.concat([moved, new]))
        step = xp.where(wide, step, xp.concat([edges, new]))
    return run, step, pairs


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

    return _Changes(*if_any(top.members, changes, (none, none, xp.zeros((n, n, len(whole)), dtype=whole.dtype))))


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

    return if_any(bottom.members, changes, (xp.zeros((n, n, len(whole)), dtype=whole.dtype),))[0]


def _without_each(x: Array) -> Array:
    """Sum over the first axis, without each in turn: subtracting from the whole would cancel digits."""
    xp = namespace(x)
    return xp.stack([sum((x[k] for k in range(len(x)) if k != j), xp.zeros_like(x[0])) for j in range(len(x))])


def logarithmic(pairs: Array, slope: Array) -> Array:
    """Turn second derivatives of P over P, but for the diagonal, into those of log P.

    A common shift of all truths changes nothing, so that rows sum to 0.
    """
    xp = namespace(pairs)
    n = len(pairs)
    apart = ~xp.eye(n, dtype=bool)[..., None]
    second = xp.where(apart, pairs - slope[:, None] * slope[None], 0)
    return xp.where(apart, second, -xp.sum(second, axis=1)[:, None])
