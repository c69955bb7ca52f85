"""The exact probability of ballots with ties in the middle.

A tied group T is a set in no order between its neighbours. With the lowest mean above it at a and the highest below it
at t, it contributes K(a, t) = Π_{j∈T} [Φ_j(a) − Φ_j(t)], so that the chain becomes one of two-dimensional kernels:

    d′(t) = ∫_t^∞ d(a) (−∂K/∂t) da     density of the lowest mean of everything down to the group
    e′(a) = ∫_−∞^a (∂K/∂a) e(t) dt     density of the highest mean of everything from the group down

A tier of one has K = Φ(a) − Φ(t), and gives the chain of :mod:`veritally.likelihood.chain` back. One ballot at a time,
in NumPy: each takes nodes². Ties of two or three have few orders, which are added up instead.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, namespace, through_numpy
from veritally.likelihood.chain import Chain, improbable
from veritally.likelihood.curvature import logarithmic
from veritally.likelihood.orders import Plain, added_up, orders
from veritally.likelihood.panels import panels_for
from veritally.likelihood.quadrature import Grid, fineness, grid
from veritally.model.means import Spread

_SMALLEST = float(np.finfo(float).smallest_normal)


def tied_chain(rank: Array, truth: Array, spread: Spread, tied: Array, order: int, plain: Plain) -> tuple[Array, ...]:
    """Return log P and so many of its derivatives for the ``tied`` ballots, 0 for the others.

    Arrays are ``(alternative, ballot)``, in order, as for the chain; ranks of the unseen are infinite. ``plain`` does
    the same for ballots without ties in the middle, by which ties that stand for few orders are computed.
    """
    xp = namespace(rank, truth)
    n, ballots = rank.shape
    like = [xp.zeros((*[n] * k, ballots), dtype=truth.dtype) for k in range(order + 1)]
    mixed = [] if spread.weights is None else [spread.weights]

    def each(rank: Array, truth: Array, tied: Array, *spread: Array) -> tuple[Array, ...]:
        results = [np.zeros(x.shape) for x in like]
        means = Spread(*(x.astype(float) for x in spread))
        known = {i: orders(rank[:, i]) for i in np.flatnonzero(tied).tolist()}
        few = {i: sequences for i, sequences in known.items() if sequences}
        if few:
            found = added_up(rank, truth.astype(float), means, order, plain, few)
            for result, own in zip(results, found, strict=True):
                result[..., list(few)] = own
        for i in known.keys() - few.keys():
            seen = np.isfinite(rank[:, i])
            own = Spread(*(None if x is None else x[:, seen, i] for x in means))
            ballot = _Ballot(rank[seen, i], truth[seen, i].astype(float), own).chain(order)
            for k, result in enumerate(results):
                result[np.ix_(*[seen] * k, [i])] = np.asarray(ballot[k])[..., None]
        return tuple(x.astype(truth.dtype) for x in results)

    return through_numpy(each, tuple(like), rank, truth, tied, spread.deviations, *mixed)


class _Messages(NamedTuple):
    """What is passed along a ballot.

    Attributes
    ----------
    down, up
        Densities of lowest means after each tier but the last, of highest ones from each tier but the first.
    sizes
        What ``down`` was divided by before each middle tier.
    log_prob, whole
        log P, and P up to the scale that the last of ``down`` has.
    """

    down: list[Array]
    up: list[Array]
    sizes: list[float]
    log_prob: float
    whole: float


@dataclass(frozen=True)
class _Ballot:
    """One ballot: ranks in order, truths and spreads of what was seen."""

    rank: Array
    truth: Array
    spread: Spread

    @cached_property
    def tiers(self) -> list[list[int]]:
        """Places of each tier, best first."""
        return [list(np.flatnonzero(self.rank == rank)) for rank in np.unique(self.rank)]

    @cached_property
    def grid(self) -> Grid:
        spread = Spread(*(None if x is None else x[..., None] for x in self.spread))
        fine = fineness(self.truth)
        fine = fine._replace(width=fine.width / 2)  # kernels vary on both sides
        ends, needed, _ = panels_for(self.truth[:, None], spread, np.ones(1, dtype=bool), fine)
        return grid(ends, needed, int(needed[0]), fine)

    @cached_property
    def x(self) -> Array:
        return self.grid.x.ravel()

    def _each_unit(self, upward: bool) -> Array:
        """Integrals from each node on of a function with a 1 at one node: ``(node, node)``."""
        units = np.eye(self.x.size).reshape(-1, *self.grid.x.shape[1:]) * self.grid.half
        whole = Grid(
            np.broadcast_to(self.grid.x, units.shape),
            np.broadcast_to(self.grid.half, (len(units), *self.grid.half.shape[1:])),
        )
        return (whole.below(units) if upward else whole.above(units)).reshape(self.x.size, -1).T

    @cached_property
    def above(self) -> Array:
        """Weights of ∫_t^∞, ``(t, node)``."""
        return self._each_unit(upward=False)

    @cached_property
    def below(self) -> Array:
        """Weights of ∫_−∞^a, ``(a, node)``."""
        return self._each_unit(upward=True)

    @cached_property
    def weights(self) -> Array:
        """Weights of the whole integral."""
        units = np.eye(self.x.size).reshape(-1, *self.grid.x.shape[1:]) * self.grid.half
        return np.asarray(self.grid.total(units))

    @cached_property
    def _densities(self) -> tuple[Array, Array]:
        pairs = [
            Spread(*(None if x is None else x[:, j, None] for x in self.spread)).scaled(
                self.grid.x, self.truth[j, None], None
            )
            for j in range(len(self.truth))
        ]
        return np.stack([density.ravel() for density, _ in pairs]), np.array([log[0] for _, log in pairs])

    @property
    def density(self) -> Array:
        """φ_j at the nodes, up to scale, ``(alternative, node)``."""
        return self._densities[0]

    @cached_property
    def bent(self) -> Array:
        """∂φ_j/∂μ_j at the nodes."""
        z = self.grid.x - self.truth[:, None, None]
        scores = [
            Spread(*(None if x is None else x[:, j, None] for x in self.spread)).score(z[j]) for j in range(len(z))
        ]
        return np.stack([score.ravel() for score in scores]) * self.density

    @cached_property
    def under(self) -> Array:
        """Φ_j at the nodes."""
        return np.maximum(self.density @ self.below.T, 0)

    @cached_property
    def over(self) -> Array:
        """1 − Φ_j at the nodes."""
        return np.maximum(self.density @ self.above.T, 0)

    def between(self, j: int) -> Array:
        """Φ_j(a) − Φ_j(t), ``(a, t)``, by whichever of both tails loses fewer digits."""
        by_under = self.under[j][:, None] - self.under[j][None]
        by_over = self.over[j][None] - self.over[j][:, None]
        return np.where((self.x > self.truth[j])[None], by_over, by_under)

    def _kernels(self, tier: list[int]) -> tuple[Array, dict[int, Array], dict[int, Array]]:
        """Return K(a, t), the same without each member, and the differences φ_j(t) − φ_j(a)."""
        gaps = {j: self.between(j) for j in tier}
        kernel = np.prod(np.stack(list(gaps.values())), axis=0)
        without = {j: _divided(kernel, gap, len(tier) == 1) for j, gap in gaps.items()}
        return kernel, without, {j: self.density[j][None] - self.density[j][:, None] for j in tier}

    @cached_property
    def _middle(self) -> list[tuple[Array, dict[int, Array], dict[int, Array]]]:
        return [self._kernels(tier) for tier in self.tiers[1:-1]]

    def _ends(self, tier: list[int], tails: Array) -> tuple[Array, dict[int, Array]]:
        """Product of tails of the first or last tier, and the same without each member."""
        product = np.prod(tails[tier], axis=0)
        return product, {j: _divided(product, tails[j], len(tier) == 1) for j in tier}

    def _lowest(self, index: int, density: Array) -> Array:
        """Pass a density of lowest means through a middle tier."""
        _, without, _ = self._middle[index]
        kernel = sum(self.density[j][None] * part for j, part in without.items())
        return np.asarray((self.above * (density[:, None] * kernel).T).sum(axis=1))

    @cached_property
    def _messages(self) -> "_Messages":
        first, last = self.tiers[0], self.tiers[-1]
        _, over = self._ends(first, self.over)
        _, under = self._ends(last, self.under)
        down, sizes = [sum(self.density[j] * over[j] for j in first)], []
        log = float(np.sum(self._densities[1]))
        for index in range(len(self._middle)):
            size = down[-1].max() or 1.0
            sizes.append(size)
            down[-1] = down[-1] / size
            log += float(np.log(size))
            down.append(self._lowest(index, down[-1]))
        up = [sum(self.density[j] * under[j] for j in last)]
        for _, without, _ in reversed(self._middle):
            kernel = sum(self.density[j][:, None] * part for j, part in without.items())
            passed = (self.below * kernel * up[-1][None]).sum(axis=1)
            up.append(passed / (passed.max() or 1.0))
        whole = max(float(self.weights @ (down[-1] * self._ends(last, self.under)[0])), _SMALLEST)
        return _Messages(down, up[::-1], sizes, log + float(np.log(whole)), whole)

    @property
    def log_prob(self) -> float:
        """Log P."""
        return self._messages.log_prob

    def chain(self, order: int) -> Chain:
        """Return log P and so many of its derivatives."""
        if self._messages.whole <= _SMALLEST:
            spread = Spread(*(None if x is None else x[..., None] for x in self.spread))
            rough = improbable(self.truth[:, None], spread, order)
            return Chain(*(None if x is None else x[..., 0] for x in rough))
        return Chain(np.asarray(self.log_prob), self.gradient if order else None, self.curvature if order > 1 else None)

    def _through(self, index: int, density: Array, kernel: Array) -> float:
        """Return ∫∫_{a > t} density(a) kernel(a, t) e(t), e of what lies below the middle tier."""
        after = self._messages.up[index + 1]
        return float((self.weights * density) @ ((self.below * kernel) @ after))

    @cached_property
    def gradient(self) -> Array:
        """∂ log P/∂μ_j."""
        down, up, _, _, whole = self._messages
        gradient = np.zeros(len(self.truth))
        _, over = self._ends(self.tiers[0], self.over)
        _, under = self._ends(self.tiers[-1], self.under)
        top = max(float(self.weights @ (self._ends(self.tiers[0], self.over)[0] * up[0])), _SMALLEST)
        for j, part in over.items():
            gradient[j] = self.weights @ (self.density[j] * part * up[0]) / top
        for j, part in under.items():
            gradient[j] = -self.weights @ (down[-1] * self.density[j] * part) / whole
        for index, (kernel, without, moved) in enumerate(self._middle):
            middle = max(self._through(index, down[index], kernel), _SMALLEST)
            for j, part in without.items():
                gradient[j] = self._through(index, down[index], part * moved[j]) / middle
        return gradient

    @cached_property
    def curvature(self) -> Array:
        """∂² log P/∂μ_j∂μ_k."""
        down, up, sizes, _, whole = self._messages
        n = len(self.truth)
        pairs = np.zeros((n, n))
        product, over = self._ends(self.tiers[0], self.over)
        top = max(float(self.weights @ (product * up[0])), _SMALLEST)
        moved: dict[int, Array] = {}
        for j, part in over.items():
            others = [k for k in over if k != j]
            both = {k: _divided(part, self.over[k], len(over) == 2) for k in others}
            moved[j] = self.bent[j] * part + sum(self.density[j] * self.density[k] * both[k] for k in others)
            for k in others:
                pairs[j, k] = self.weights @ (self.density[j] * self.density[k] * both[k] * up[0]) / top
        for index, (kernel, without, shift) in enumerate(self._middle):
            moved = {j: density / sizes[index] for j, density in moved.items()}
            middle = max(self._through(index, down[index], kernel), _SMALLEST)
            for k, part in without.items():
                for j, density in moved.items():
                    pairs[j, k] = pairs[k, j] = self._through(index, density, part * shift[k]) / middle
            stepped = {j: self._lowest(index, density) for j, density in moved.items()}
            for j, part in without.items():
                others = [k for k in without if k != j]
                both = {k: _divided(part, self.between(k), len(without) == 2) for k in others}
                for k in others:
                    pairs[j, k] = self._through(index, down[index], shift[j] * shift[k] * both[k]) / middle
                slope = sum((self.density[k][None] * both[k] for k in others), np.zeros_like(kernel))
                bend = self.bent[j][None] * part + shift[j] * slope
                stepped[j] = (self.above * (down[index][:, None] * bend).T).sum(axis=1)
            moved = stepped
        _, under = self._ends(self.tiers[-1], self.under)
        for k, part in under.items():
            for j, density in moved.items():
                pairs[j, k] = pairs[k, j] = -self.weights @ (density * self.density[k] * part) / whole
            for j in under:
                if j != k:
                    both = _divided(part, self.under[j], len(under) == 2)
                    pairs[j, k] = self.weights @ (down[-1] * self.density[j] * self.density[k] * both) / whole
        return np.asarray(logarithmic(pairs[..., None], self.gradient[:, None])[..., 0])


def _divided(product: Array, factor: Array, alone: bool) -> Array:
    """Take a factor out of a product; where it is 0 so is the rest, unless it was ``alone``."""
    if alone:
        return np.ones_like(product)
    return np.divide(product, factor, out=np.zeros_like(product), where=factor != 0)
