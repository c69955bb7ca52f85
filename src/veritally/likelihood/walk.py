"""The recursion along ballots, from above and from below, on one grid of nodes."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, TypeAlias

from veritally.arrays import Array, if_any, is_jax, namespace, possible
from veritally.likelihood.quadrature import Grid
from veritally.model.means import Spread

_Beyond: TypeAlias = Callable[[Array, Array | None], Array]
"""Integrates a function from each node on, fading or not."""


class Tiers(NamedTuple):
    """Which places of a ballot are a tier of their own, tied first, or tied last, ``(alternative, ballot)``.

    Places that are none of these were not seen. A ballot of a single tier says nothing: it has no places.
    """

    single: Array
    first: Array
    last: Array


class State(NamedTuple):
    """What lies on one side of a boundary between two places of the ballot.

    Attributes
    ----------
    product
        The probability, up to scale, that all of it is beyond t, in order.
    edge
        The density of the nearest mean, times half the width of the panel.
    log
        The logarithm of the scale.
    """

    product: Array
    edge: Array
    log: Array

    def rescaled(self, where: Array) -> "State":
        """Bring the largest product to 1 in some of the ballots."""
        xp = namespace(self.product)
        size = xp.max(self.product, axis=(-2, -1))
        size = xp.where(where & (size > 0), size, 1)
        wide = size[:, None, None]
        return State(self.product / wide, self.edge / wide, self.log + xp.log(size))


class Group(NamedTuple):
    """Alternatives tied first or last, as a state.

    Attributes
    ----------
    rates
        φ/P(beyond t) of each of the ``places`` that are tied so in some ballots, ``(place, ballot, panel, node)``.
    members
        Which these are, ``(alternative, ballot)``.
    """

    product: Array
    edge: Array
    log: Array
    rates: Array
    places: list[int]
    members: Array


class Walk:
    """The recursion along ballots, on one grid."""

    def __init__(self, nodes: Grid, truth: Array, spread: Spread, tiers: Tiers, pressure: Array) -> None:
        xp = namespace(truth)
        self.nodes, self.truth, self.tiers = nodes, truth, tiers
        self.steep = not is_jax(truth) and possible(pressure > 0)  # JAX would have to compile, and do, both
        self.pressure = pressure
        self.before = xp.concat([xp.zeros_like(pressure[:1]), pressure[:-1]])
        self.often = 1 if self.steep else 8 if truth.dtype.itemsize == 8 else 2
        seen = tiers.single | tiers.first | tiers.last
        self.spread = Spread(*(None if x is None else xp.where(seen, x, 1) for x in spread))
        pull = pressure - self.before if self.steep else None
        self.density, self.offset = [], xp.zeros_like(truth[0])  # densities have half the panel's width in them
        half = nodes.half + xp.zeros_like(nodes.x)
        for k in range(len(truth)):
            density, log = self.spread.at(k).scaled(nodes.x, truth[k], None if pull is None else pull[k])
            density *= half
            self.density.append(density)
            self.offset = self.offset + xp.where(seen[k], log, 0)

    def group(self, members: Array, beyond: _Beyond, sign: int) -> Group:
        """Put together those tied first or last."""
        xp = namespace(members)
        places = [k for k in range(len(members)) if possible(members[k])]
        one = xp.ones_like(self.nodes.x)

        def together() -> tuple[Array, ...]:
            product, edge, log = one, xp.zeros_like(one), xp.zeros_like(self.truth[0])
            rates = []
            for turn, k in enumerate(places, start=1):
                own = members[k][:, None, None]
                decay = xp.where(members[k], sign * (self.pressure[k] - self.before[k]), 0) if self.steep else None
                tail = beyond(self.density[k], decay)
                tail = xp.maximum(tail, xp.asarray(0, dtype=tail.dtype))
                both, passed = edge * tail + product * self.density[k], product * tail
                some = possible(~members[k])
                edge, product = (xp.where(own, both, edge), xp.where(own, passed, product)) if some else (both, passed)
                if turn % self.often == 0 or turn == len(places):
                    product, edge, log = State(product, edge, log).rescaled(xp.any(members, axis=0))
                divisor = tail * self.nodes.half
                rates.append(xp.where(own & (divisor > 0), self.density[k] / xp.where(divisor > 0, divisor, 1), 0))
            return product, edge, log, xp.stack(rates)

        none = xp.zeros((len(places), *one.shape), dtype=one.dtype)
        nobody = (one, xp.zeros_like(one), xp.zeros_like(self.truth[0]), none)
        product, edge, log, rates = if_any(members, together, lambda: nobody)
        return Group(product, edge, log, rates, places, members)

    def share(self, group: Group, met: State, whole: Array) -> Array:
        """Return what those tied lose with what they meet, ``(alternative, ballot)``."""
        xp = namespace(whole)
        n = len(self.truth)

        def shares() -> tuple[Array]:
            scale = xp.exp(group.log + met.log - whole)
            lost = self.nodes.total(group.rates * (group.product * met.edge)) * scale
            return (placed(lost[:, None], group.places, [0], n)[:, 0],)

        return if_any(group.members, shares, lambda: (xp.zeros_like(self.truth),))[0]

    def downwards(self, top: Group) -> list[State]:
        """Return what lies above each boundary, from before the first place to after the last."""
        return self._states(top, range(len(self.truth)), self.nodes.above, self.pressure)

    def upwards(self, bottom: Group) -> list[State]:
        """Return what lies below each boundary, from before the first place to after the last."""
        places = reversed(range(len(self.truth)))
        return self._states(bottom, places, self.nodes.below, self.before)[::-1]

    def _states(self, start: Group, places: Iterable[int], beyond: _Beyond, pressure: Array) -> list[State]:
        states = [State(start.product, start.edge, start.log)]
        for turn, k in enumerate(places, start=1):
            state, single = states[-1], self.tiers.single[k]
            last = turn == len(self.truth)  # beyond which lies nothing that would ask for the product
            step = partial(self._passed, state, k, None if last else beyond, pressure[k] if self.steep else None)
            product, edge = if_any(single, step, partial(tuple, state[:2]))
            new = State(product, edge, state.log)
            states.append(new if turn % self.often else new.rescaled(single))
        return states

    def _passed(self, state: State, k: int, beyond: _Beyond | None, decay: Array | None) -> tuple[Array, Array]:
        """Return product and edge on the other side of a place, where that is single."""
        single = self.tiers.single[k]
        edge = self.density[k] * state.product
        product = state.product if beyond is None else beyond(edge, decay)
        if possible(~single):
            xp, wide = namespace(single), single[:, None, None]
            product, edge = xp.where(wide, product, state.product), xp.where(wide, edge, state.edge)
        return product, edge

    def score(self, k: int) -> Array:
        """Return −φ′/φ of one place at the nodes."""
        return self.spread.at(k).score(self.nodes.x - self.truth[k][:, None, None])


def placed(x: Array, rows: list[int], columns: list[int], n: int) -> Array:
    """Add up entries ``(row, column, ballot)`` where they belong, ``(alternative, alternative, ballot)``."""
    xp = namespace(x)
    marks = [
        xp.asarray([[place == j for place in places] for j in range(n)], dtype=x.dtype) for places in (rows, columns)
    ]
    half = xp.sum(marks[0][:, :, None, None] * x[None], axis=1)
    return xp.sum(marks[1][None, :, :, None] * half[:, None], axis=2)
