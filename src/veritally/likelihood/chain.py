"""The exact probability of a ranking: a chain of one-dimensional integrals.

Voter i's means x_k are independent around the truth μ_k. With the ballot 1 ≻ 2 ≻ … ≻ n the n-dimensional integral over
x_1 > … > x_n falls apart, since each mean meets only its neighbours:

    up_1 = 1,    up_{k+1}(t) = ∫_t^∞ φ_k up_k        everything above t, in order
    down_n = 1,  down_{k−1}(t) = ∫_−∞^t φ_k down_k   everything below t, in order
    P = ∫ φ_k up_k down_k    for any k

The gradient is a balance of contacts: f_k = ∫ φ_k up_k φ_{k+1} down_{k+1} / P is the density of x_k = x_{k+1}, and

    ∂ log P/∂μ_k = f_k − f_{k−1}

where no digits cancel however small it is. Second derivatives are carried through the same recursion. Alternatives tied
first contribute Π (1 − Φ_j) to what is above, those tied last (or seen and not ranked) Π Φ_j to what is below; groups
tied in the middle are in :mod:`veritally.likelihood.tied`.

All arrays have alternatives first, in the order of the ballot, and all ballots last: ``(alternative, ballot)``.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from veritally.arrays import Array, if_any, is_jax, namespace, possible
from veritally.likelihood.density import Spread
from veritally.likelihood.quadrature import Fineness, Grid, breakpoints, fineness, grid

_LOST = 1e6  # of the smallest numbers: probabilities below have lost their digits
_SURPRISING = 5.0  # standard deviations from where a mean should be: from here on, exponentials are taken out


class Tiers(NamedTuple):
    """Which places of a ballot are a tier of their own, tied first, or tied last, ``(alternative, ballot)``.

    Places that are none of these were not seen. A ballot of a single tier says nothing: it has no places.
    """

    single: Array
    first: Array
    last: Array


class Chain(NamedTuple):
    """log P of each ballot, ``(ballot,)``, and perhaps its gradient ``(alternative, ballot)`` and second derivatives.

    The latter are ``(alternative, alternative, ballot)``.
    """

    log_prob: Array
    gradient: Array | None = None
    curvature: Array | None = None


class Place(NamedTuple):
    """Where the means of a ballot gather, given the ballot, all ``(alternative, ballot)``.

    Attributes
    ----------
    centre
        The decreasing fit to the truths along the ballot, weighed by precision.
    pressure
        How hard each mean is pressed upon the next, in units of density: multipliers of x_k ≥ x_{k+1}.
    """

    centre: Array
    pressure: Array


def place(truth: Array, precision: Array) -> Place:
    """Fit decreasing values to the truths: m_k = min_{a ≤ k} max_{b ≥ k} mean of truths a … b."""
    xp = namespace(truth)
    n = truth.shape[0]
    weighed, weight = xp.cumulative_sum(truth * precision, axis=0), xp.cumulative_sum(precision, axis=0)
    fit = xp.full_like(truth, xp.inf)
    places = xp.arange(n)[:, None]
    for a in range(n):
        before = (weighed[a - 1], weight[a - 1]) if a else (0.0, 0.0)
        total = weight - before[1]
        mean = xp.where(total > 0, (weighed - before[0]) / xp.where(total > 0, total, 1), -xp.inf)
        highest, rows = mean[n - 1], [mean[n - 1]]
        for b in range(n - 2, a - 1, -1):
            highest = xp.maximum(highest, mean[b])
            rows.append(highest)
        rows += [rows[-1]] * a
        fit = xp.where(places >= a, xp.minimum(fit, xp.stack(rows[::-1])), fit)
    fit = xp.where(precision > 0, fit, 0)
    pressure = xp.maximum(xp.cumulative_sum((fit - truth) * precision, axis=0), xp.asarray(0, dtype=truth.dtype))
    followed = xp.concat([precision[1:] > 0, precision[:1] < 0])
    return Place(fit, xp.where(followed, pressure, 0))


def panels_for(truth: Array, spread: Spread, groups: Array, fine: Fineness) -> tuple[Array, Array, Array]:
    """Return ends of panels ``(ballot, ends)``, how many are needed, and the pressures where they are extreme.

    ``groups``, ``(ballot,)``, are the ballots in which some are tied first or last: products need more nodes.
    """
    xp = namespace(truth)
    closer = xp.where(groups, xp.asarray(1.5, dtype=truth.dtype), 1)
    seen = xp.isfinite(spread.wide)
    narrow, wide = (xp.where(seen, x, 1) for x in (spread.narrow, spread.wide))
    # A surprising mean of a mixture comes from its widest component.
    centre, pressure = place(xp.where(seen, truth, 0), xp.where(seen, wide**-2, 0))
    above = xp.concat([xp.zeros_like(pressure[:1]), pressure[:-1]])
    unseen = xp.astype(xp.where(xp.any(seen, axis=0), xp.inf, 1), truth.dtype)
    width = xp.where(seen, 1 / xp.sqrt(narrow**-2 + pressure**2 + above**2), unseen)
    somewhere = xp.max(xp.where(seen, centre, -xp.inf), axis=0)
    somewhere = xp.where(xp.isfinite(somewhere), somewhere, 0)
    centre, reach = xp.where(seen, centre, somewhere), xp.where(seen, wide, 0)
    if spread.weights is not None:  # whose narrow core stays where it is
        core = xp.where(seen, truth, somewhere), xp.where(seen, narrow, unseen), 0 * reach
        centre, width, reach = (xp.concat(pair) for pair in zip((centre, width, reach), core, strict=True))
        return *breakpoints(centre, width, reach, closer, fine), 0 * pressure
    surprise = xp.max(xp.where(seen, xp.abs(centre - truth) / narrow, 0), axis=0)
    return *breakpoints(centre, width, reach, closer, fine), xp.where(surprise > _SURPRISING, pressure, 0)


def chain(
    truth: Array,
    spread: Spread,
    tiers: Tiers,
    ends: Array,
    needed: Array,
    pressure: Array,
    panels: int,
    order: int = 1,
) -> Chain:
    """Return log P and its derivatives with respect to the truths, all in the order of the ballot.

    Parameters
    ----------
    truth
        μ_k, ``(alternative, ballot)``.
    spread
        Of the means, ``(component, alternative, ballot)``.
    tiers
        Which places are single, tied first or tied last.
    ends, needed, pressure
        From :func:`panels_for`.
    panels
        How many panels to use.
    order
        How many derivatives to return: 0, 1 or 2.
    """
    xp = namespace(truth)
    n = len(truth)
    nodes = grid(ends, needed, panels, fineness(truth))
    walk = _Walk(nodes, truth, spread, tiers, pressure)
    top, bottom = walk.group(tiers.first, nodes.above, 1), walk.group(tiers.last, nodes.below, -1)
    above = walk.downwards(top)
    product = nodes.total(above[n].edge * bottom.product)
    lost = product < _LOST * xp.finfo(product.dtype).smallest_normal
    whole = above[n].log + bottom.log + xp.log(_positive(product))
    told = xp.any(tiers.single | tiers.first | tiers.last, axis=0)
    log_prob = xp.where(told, walk.offset + whole, 0)
    rough = improbable(truth, spread, order) if possible(lost & told) else None
    if rough is not None:
        log_prob = xp.where(lost & told, rough.log_prob, log_prob)
    if order == 0:
        return Chain(log_prob)
    below = walk.upwards(bottom)
    contacts = [
        nodes.contact(a.edge, b.edge) * xp.exp(a.log + b.log - whole) for a, b in zip(above, below, strict=True)
    ]
    slope = xp.stack([xp.where(tiers.single[k], contacts[k + 1] - contacts[k], 0) for k in range(n)])
    for group, met, sign in ((top, below[0], 1), (bottom, above[n], -1)):
        slope = slope + sign * walk.share(group, met, whole)
    slope = xp.where(told & ~lost, slope, 0)
    second = None
    if order > 1:
        second = logarithmic(walk.second(top, bottom, above, below, xp.where(lost, xp.inf, whole)), slope)
    if rough is not None:
        slope = xp.where(lost & told, rough.gradient, slope)
        second = None if second is None else xp.where(lost & told, rough.curvature, second)
    return Chain(log_prob, slope, second)


def improbable(truth: Array, spread: Spread, order: int) -> Chain:
    """Return log P and its derivatives to leading order, for ballots whose probability is out of reach of numbers.

    It is how far the means lie from their fit along the ballot, −½ Σ_k (m_k − μ_k)²/s_k².
    """
    xp = namespace(truth)
    seen = xp.isfinite(spread.wide)
    precision = xp.where(seen, xp.where(seen, spread.wide, 1) ** -2, 0)
    centre = place(xp.where(seen, truth, 0), precision).centre
    off = xp.where(seen, centre - truth, 0)
    log_prob, gradient = -xp.sum(precision * off**2, axis=0) / 2, precision * off
    if order < 2:
        return Chain(log_prob, gradient)
    together = xp.where((centre[:, None] == centre[None]) & seen[:, None] & seen[None], precision[None], 0)
    whole = xp.sum(together, axis=1)
    shares = precision[:, None] * together / xp.where(whole > 0, whole, 1)[:, None]
    return Chain(log_prob, gradient, shares - precision[:, None] * xp.eye(len(truth), dtype=truth.dtype)[..., None])


class _State(NamedTuple):
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

    def rescaled(self, where: Array) -> "_State":
        """Bring the largest product to 1 in some of the ballots."""
        xp = namespace(self.product)
        size = xp.max(self.product, axis=(-2, -1))
        size = xp.where(where & (size > 0), size, 1)
        wide = size[:, None, None]
        return _State(self.product / wide, self.edge / wide, self.log + xp.log(size))


class _Group(NamedTuple):
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


class _Walk:
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
        for k in range(len(truth)):
            density, log = self.spread.at(k).scaled(nodes.x, truth[k], None if pull is None else pull[k])
            self.density.append(density * nodes.half)
            self.offset = self.offset + xp.where(seen[k], log, 0)

    def group(self, members: Array, beyond: Callable[[Array, Array | None], Array], sign: int) -> _Group:
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
                    product, edge, log = _State(product, edge, log).rescaled(xp.any(members, axis=0))
                divisor = tail * self.nodes.half
                rates.append(xp.where(own & (divisor > 0), self.density[k] / xp.where(divisor > 0, divisor, 1), 0))
            return product, edge, log, xp.stack(rates)

        none = xp.zeros((len(places), *one.shape), dtype=one.dtype)
        nobody = (one, xp.zeros_like(one), xp.zeros_like(self.truth[0]), none)
        product, edge, log, rates = if_any(members, together, nobody)
        return _Group(product, edge, log, rates, places, members)

    def share(self, group: _Group, met: _State, whole: Array) -> Array:
        """Return what those tied lose with what they meet, ``(alternative, ballot)``."""
        xp = namespace(whole)
        n = len(self.truth)

        def shares() -> tuple[Array]:
            scale = xp.exp(group.log + met.log - whole)
            lost = self.nodes.total(group.rates * (group.product * met.edge)) * scale
            return (_placed(lost[:, None], group.places, [0], n)[:, 0],)

        return if_any(group.members, shares, (xp.zeros_like(self.truth),))[0]

    def downwards(self, top: _Group) -> list[_State]:
        """Return what lies above each boundary, from before the first place to after the last."""
        return self._states(top, range(len(self.truth)), self.nodes.above, self.pressure)

    def upwards(self, bottom: _Group) -> list[_State]:
        """Return what lies below each boundary, from before the first place to after the last."""
        places = reversed(range(len(self.truth)))
        return self._states(bottom, places, self.nodes.below, self.before)[::-1]

    def _states(
        self, start: _Group, places: Iterable[int], beyond: Callable[[Array, Array | None], Array], pressure: Array
    ) -> list[_State]:
        xp = namespace(self.truth)
        states = [_State(start.product, start.edge, start.log)]
        for turn, k in enumerate(places, start=1):
            state, single = states[-1], self.tiers.single[k]

            def passed(
                state: _State = state, single: Array = single, turn: int = turn, k: int = k
            ) -> tuple[Array, ...]:
                joined = self.density[k] * state.product
                last = turn == len(self.truth)  # beyond which lies nothing that would ask for the product
                run = state.product if last else beyond(joined, pressure[k] if self.steep else None)
                if possible(~single):
                    wide = single[:, None, None]
                    run, joined = xp.where(wide, run, state.product), xp.where(wide, joined, state.edge)
                return run, joined

            run, joined = if_any(single, passed, (state.product, state.edge))
            new = _State(run, joined, state.log)
            states.append(new if turn % self.often else new.rescaled(single))
        return states

    def second(self, top: _Group, bottom: _Group, above: list[_State], below: list[_State], whole: Array) -> Array:
        """Return ∂²P/∂μ_j∂μ_k over P for j ≠ k, ``(alternative, alternative, ballot)``.

        ``moved`` and ``edges`` hold, for each of the ``places`` passed, how the product above the boundary changes with
        its truth, and how the edge does. A place tied first in some ballots and not in others stands there twice.
        """
        xp = namespace(self.truth)
        n = len(self.truth)
        pairs = xp.zeros((n, n, len(whole)), dtype=whole.dtype)
        places = list(top.places)
        moved, edges, told = self._tied_first(top, below[0], whole)
        pairs = pairs + told
        for k in range(n):
            single = self.tiers.single[k]
            if not possible(single):
                continue

            def passed(
                moved: Array = moved, edges: Array = edges, places: list[int] = places[:], k: int = k
            ) -> tuple[Array, ...]:
                single = self.tiers.single[k]
                bent = self._score(k) * self.density[k]
                met = xp.zeros((n, n, len(whole)), dtype=whole.dtype)
                if places:
                    scale = xp.exp(above[k].log + below[k + 1].log - whole)
                    told = self.nodes.total(moved * (bent * below[k + 1].product)) * xp.where(single, scale, 0)
                    met = _placed(told[:, None], places, [k], n)
                own = (bent * above[k].product)[None]
                change = xp.exp(above[k].log - above[k + 1].log)[:, None, None]
                step = xp.concat([moved * self.density[k], own]) * change
                run = self.nodes.above(step, self.pressure[k] if self.steep else None)
                if possible(~single):
                    wide, new = single[:, None, None], xp.zeros_like(own)
                    run = xp.where(wide, run, xp.concat([moved, new]))
                    step = xp.where(wide, step, xp.concat([edges, new]))
                return run, step, met

            new = xp.zeros((1, *self.nodes.x.shape), dtype=whole.dtype)
            none = (xp.concat([moved, new]), xp.concat([edges, new]), xp.zeros_like(pairs))
            moved, edges, told = if_any(single, passed, none)
            pairs = pairs + told
            places.append(k)
        pairs = pairs - self._tied_last(bottom, above[n], edges, places, whole)
        return pairs + xp.moveaxis(pairs, 0, 1)

    def _tied_first(self, top: _Group, below: _State, whole: Array) -> tuple[Array, ...]:
        """Return how product and edge of those tied first change with their truths, and what pairs of them add."""
        xp = namespace(whole)
        n = len(self.truth)
        none = xp.zeros_like(top.rates)

        def told() -> tuple[Array, ...]:
            scores = xp.stack([self._score(j) for j in top.places])
            bend = top.rates * (scores + _without_each(top.rates)) * self.nodes.half
            moved, scale = top.product * top.rates, xp.exp(top.log + below.log - whole)
            met = self.nodes.totals(moved * below.edge, top.rates) * scale
            return moved, top.product * bend, _placed(met, top.places, top.places, n) / 2

        return if_any(top.members, told, (none, none, xp.zeros((n, n, len(whole)), dtype=whole.dtype)))

    def _tied_last(self, bottom: _Group, above: _State, edges: Array, places: list[int], whole: Array) -> Array:
        """Return what those tied last take away with all above them, and with each other."""
        xp = namespace(whole)
        n = len(self.truth)

        def told() -> tuple[Array]:
            scale = xp.exp(above.log + bottom.log - whole)
            reach = bottom.rates * bottom.product
            met = _placed(self.nodes.totals(edges, reach) * scale, places, bottom.places, n)
            own = self.nodes.totals(bottom.rates * above.edge, reach) * scale
            return (met - _placed(own, bottom.places, bottom.places, n) / 2,)

        return if_any(bottom.members, told, (xp.zeros((n, n, len(whole)), dtype=whole.dtype),))[0]

    def _score(self, k: int) -> Array:
        return self.spread.at(k).score(self.nodes.x - self.truth[k][:, None, None])


def _without_each(x: Array) -> Array:
    """Sum over the first axis, without each in turn: subtracting from the whole would cancel digits."""
    xp = namespace(x)
    return xp.stack([sum((x[k] for k in range(len(x)) if k != j), xp.zeros_like(x[0])) for j in range(len(x))])


def _placed(x: Array, rows: list[int], columns: list[int], n: int) -> Array:
    """Add up entries ``(row, column, ballot)`` where they belong, ``(alternative, alternative, ballot)``."""
    xp = namespace(x)
    marks = [
        xp.asarray([[place == j for place in places] for j in range(n)], dtype=x.dtype) for places in (rows, columns)
    ]
    half = xp.sum(marks[0][:, :, None, None] * x[None], axis=1)
    return xp.sum(marks[1][None, :, :, None] * half[:, None], axis=2)


def logarithmic(pairs: Array, slope: Array) -> Array:
    """Turn second derivatives of P over P, but for the diagonal, into those of log P.

    A common shift of all truths changes nothing, so that rows sum to 0.
    """
    xp = namespace(pairs)
    n = len(pairs)
    apart = ~xp.eye(n, dtype=bool)[..., None]
    second = xp.where(apart, pairs - slope[:, None] * slope[None], 0)
    return xp.where(apart, second, -xp.sum(second, axis=1)[:, None])


def _positive(x: Array) -> Array:
    """Keep what is to be divided by away from 0."""
    xp = namespace(x)
    return xp.maximum(x, xp.asarray(xp.finfo(x.dtype).smallest_normal, dtype=x.dtype))
