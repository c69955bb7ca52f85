"""Nodes for one-dimensional integrals that run on into each other: panels placed where a ballot's means gather.

A function is given by its values at Gauss–Legendre nodes on each of several panels, ``(ballot, panel, node)``.
Integrating it cumulatively is a product with one small matrix within panels, and a running sum over them.
"""

import functools
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, inner, is_jax, namespace, product, trajectory

_GRADED = 0.2  # how much wider panels may become for each unit of distance from what they have to resolve
_SCALES = 14.0  # e-folds between widest and narrowest that make panels half as wide
_CROWDED = 36.0  # alternatives that a panel may resolve, for each local scale of its width; see breakpoints
_ROUGH_MANY = 64  # alternatives, up to which few nodes do for a rough idea
_MOST = 20_000  # panels of a ballot, whatever it is like
_FEW = 10  # alternatives
_STEEP = 2.0  # exponent for half a panel beyond which exponentials blow up rounding


class Fineness(NamedTuple):
    """How densely nodes lie: nodes a panel, panel width in local scales, reach in standard deviations.

    ``panels`` is the number of panels where it must be known beforehand, in JAX, for up to ten alternatives; panels
    that are found in up to ``most`` steps become as few.
    """

    nodes: int
    width: float
    reach: float
    panels: int
    most: int

    def for_size(self, n: int) -> "Fineness":
        """Return the same for n alternatives."""
        more = max(0, n - _FEW)
        crowded = 2 * n - 100  # where panels become narrower with each alternative
        return self._replace(panels=self.panels + max(more // 2, crowded), most=self.most + 4 * more)


DOUBLE = Fineness(nodes=16, width=8.0, reach=6.2, panels=40, most=160)
SINGLE = Fineness(nodes=16, width=5.0, reach=5.0, panels=7, most=80)
ROUGH = Fineness(nodes=10, width=8.0, reach=5.0, panels=10, most=80)  # some five digits


def fineness(like: Array, rough: bool = False) -> Fineness:
    """Return how densely nodes must lie for the precision of ``like``, ``(alternative, ...)``, or for a rough idea."""
    chosen = ROUGH if rough else DOUBLE if like.dtype.itemsize == 8 else SINGLE
    if rough and len(like) > _ROUGH_MANY:  # of which many meet in a panel
        chosen = ROUGH._replace(nodes=DOUBLE.nodes)
    return chosen.for_size(len(like))


class Legendre(NamedTuple):
    """What the polynomial through Gauss–Legendre nodes on [−1, 1] has.

    The nodes; weights for its integral; matrices, to be multiplied from the right, for its integrals from −1 to each
    node and from each node to 1; for its slopes at the nodes; and for its values at −1 and 1.
    """

    nodes: Array
    weights: Array
    below: Array
    above: Array
    slopes: Array
    ends: Array


@functools.cache
def _legendre(nodes: int) -> Legendre:
    u, weights = np.polynomial.legendre.leggauss(nodes)
    values = np.polynomial.legendre.legvander(u, nodes)
    degrees = np.arange(nodes)
    coefficients = (degrees + 0.5)[:, None] * (values[:, :nodes].T * weights)
    integrals = np.empty((nodes, nodes))
    integrals[:, 0] = u + 1
    integrals[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degrees[1:] + 1)
    below = (integrals @ coefficients).T
    slopes = np.polynomial.legendre.legval(u, np.polynomial.legendre.legder(coefficients)).T
    ends = np.polynomial.legendre.legvander(np.array([-1.0, 1.0]), nodes - 1) @ coefficients
    return Legendre(u, weights, below.copy(), weights[:, None] - below, slopes, ends)


def _legendre_in(nodes: int, like: Array) -> Legendre:
    """Return the same in the library and precision of ``like``."""
    rules = _legendre(nodes)
    if not is_jax(like) and like.dtype == np.float64:
        return rules
    return Legendre(*(namespace(like).asarray(x, dtype=like.dtype) for x in rules))


class Grid(NamedTuple):
    """Panels of each ballot, and their nodes.

    Attributes
    ----------
    x
        The nodes, ``(ballot, panel, node)``.
    half
        Half the width of each panel, ``(ballot, panel, 1)``.
    """

    x: Array
    half: Array

    def total(self, f: Array) -> Array:
        """∫ f, ``(ballot,)``; like all functions here, ``f`` has half the width of the panel in it."""
        xp = namespace(f)
        return xp.sum(self._wholes(f), axis=-1)

    def totals(self, f: Array, g: Array) -> Array:
        """∫ f_r g_s for all r and s, ``(r, s, ballot)``, of functions stacked first; ``f`` has half the width in it."""
        xp = namespace(f)
        weights = _legendre_in(self.x.shape[-1], f).weights
        one, other = ((x.reshape(*x.shape[:2], -1)) for x in (f * weights, g))
        return xp.moveaxis(inner(xp.moveaxis(one, 0, 1), xp.moveaxis(other, 0, 1)), 0, -1)

    def contact(self, f: Array, g: Array) -> Array:
        """∫ f g, where both have half the width of the panel in them."""
        xp = namespace(f)
        half = self.half[..., 0]
        return xp.sum(self._wholes(f * g) / xp.where(half > 0, half, 1), axis=-1)

    def above(self, f: Array, decay: Array | None = None) -> Array:
        """∫_t^∞ f(u) exp(−decay (u − t)) du at each node t."""
        return self._running(f, decay, upward=False)

    def below(self, f: Array, decay: Array | None = None) -> Array:
        """∫_−∞^t f(u) exp(−decay (t − u)) du at each node t."""
        return self._running(f, decay, upward=True)

    def _wholes(self, f: Array) -> Array:
        """∫ f over each panel."""
        return product(f, _legendre_in(self.x.shape[-1], f).weights[:, None])[..., 0]

    def _running(self, f: Array, decay: Array | None, upward: bool) -> Array:
        rules = _legendre_in(self.x.shape[-1], f)
        matrix = rules.below if upward else rules.above
        if decay is not None:
            rate = namespace(f).broadcast_to(decay[..., None, None] * self.half, (*f.shape[:-1], 1))
            return self._fading(f, rate, matrix, upward)
        within = product(f, matrix)
        within += _passed(self._wholes(f), upward)[..., None]  # in place, where there is one
        return within

    def _fading(self, f: Array, rate: Array, matrix: Array, upward: bool) -> Array:
        """Integrate ``f``, times half the panel's width, as it fades at a ``rate`` for each half panel.

        Within a panel, exponentials from its end do, unless they would blow up rounding: then the polynomial that
        solves y′ = ±(rate y − f) does, corrected where the integral arrives. Across panels, it all fades. For NumPy.
        """
        xp = namespace(f)
        u, weights, *_, slope, ends = _legendre_in(self.x.shape[-1], f)
        gone, left = (1 + u, 1 - u) if not upward else (1 - u, 1 + u)  # towards where it goes, from where it comes
        mild = rate <= _STEEP
        slow = xp.where(mild, rate, 0)
        bent = f * xp.exp(-slow * gone)
        inside = product(bent, matrix) * xp.exp(slow * gone)
        total = xp.sum(bent * weights, axis=-1)
        fast = ~mild[..., 0]
        if xp.any(fast):
            rates = rate[fast]
            system = rates[..., None] * xp.eye(len(u)) + (slope if upward else -slope)
            solved = xp.linalg.solve(system, f[fast][..., None])[..., 0]
            first, last = (xp.sum(solved * end, axis=-1) for end in (ends if upward else xp.flip(ends, axis=0)))
            inside[fast] = solved - first[..., None] * xp.exp(-rates * left)
            total[fast] = last - first * xp.exp(-2 * rates[..., 0])
        arriving = _faded(total, xp.exp(-2 * rate[..., 0]), upward)
        return inside + arriving[..., None] * xp.exp(-rate * left)


def _passed(whole: Array, upward: bool) -> Array:
    """Sum the panels before each, on the way up or down."""
    xp = namespace(whole)
    run = whole if upward else xp.flip(whole, axis=-1)
    before = xp.concat([xp.zeros_like(run[..., :1]), xp.cumulative_sum(run, axis=-1)[..., :-1]], axis=-1)
    return before if upward else xp.flip(before, axis=-1)


def _faded(whole: Array, fading: Array, upward: bool) -> Array:
    """Sum the panels before each, fading on the way."""
    xp = namespace(whole)
    panels = range(whole.shape[-1])
    arriving = {}
    carried = xp.zeros_like(whole[..., 0])
    for p in panels if upward else reversed(panels):
        arriving[p] = carried
        carried = carried * fading[..., p] + whole[..., p]
    return xp.stack([arriving[p] for p in panels], axis=-1)


def breakpoints(centre: Array, width: Array, reach: Array, closer: Array, fine: Fineness) -> tuple[Array, Array]:
    """Cut the line into panels that resolve features of these centres and widths, all ``(alternative, ballot)``.

    Local scales add up like precisions, h(x)⁻² = Σ_k 1/w_k(x)² with w_k(x)² = w_k² + (0.2 (x − m_k))², and are divided
    by ``closer``.

    Where many alternatives meet, panels are narrower still, 36/Σ_k 1/w_k(x). For integrating n times over a panel
    divides by n!, but the matrix that does so on 16 nodes divides by no more than about 21 each time (its eigenvalues
    are the poles of the Padé approximation of exp). Rounding that is divided less than what is true would take over.

    Returns
    -------
    The ends of the panels, ``(ballot, ends)``, and how many panels each ballot needs; further ones are empty.
    """
    xp = namespace(centre)
    low = xp.min(centre - fine.reach * reach, axis=0)
    high = xp.max(centre + fine.reach * reach, axis=0)
    square = width**2
    # The more scales lie within each other, the more of them meet in one panel.
    ratio = xp.max(reach, axis=0) / xp.min(width, axis=0)
    coarse = fine.width / closer / (1 + xp.log(xp.maximum(ratio, xp.asarray(1, dtype=ratio.dtype))) / _SCALES)

    def scale(x: Array) -> Array:
        precision = 1 / (square + (_GRADED * (x - centre)) ** 2)
        crowd = xp.sum(xp.sqrt(precision), axis=0)
        return xp.minimum(coarse / xp.sqrt(xp.sum(precision, axis=0)), _CROWDED / crowd)

    def step(x: Array) -> Array:
        size = scale(x)
        size = xp.minimum(size, xp.minimum(scale(x + size / 2), scale(x + size)))
        return xp.minimum(x + size, high)

    turns = fine.most if is_jax(low) else _MOST
    ends = trajectory(step, low, turns, done=lambda x: xp.all(x >= high))
    needed = xp.sum(xp.astype(ends[..., :-1] < high[..., None], xp.int32), axis=-1)
    return ends, xp.maximum(needed, 1)


def grid(ends: Array, needed: Array, panels: int, fine: Fineness) -> Grid:
    """Lay nodes on ``panels`` panels; where a ballot needs more, several become one."""
    xp = namespace(ends)
    share = xp.maximum(needed / panels, xp.asarray(1.0, dtype=xp.asarray(0.0).dtype))
    place = xp.ceil(share[..., None] * xp.arange(panels + 1) - 1e-6)
    last = ends.shape[-1] - 1
    place = xp.astype(xp.minimum(place, xp.asarray(last, dtype=place.dtype)), xp.int32)
    cut = xp.take_along_axis(ends, place, axis=-1)
    cut = xp.where(xp.arange(panels + 1) == panels, ends[..., -1:], cut)
    half = (cut[..., 1:] - cut[..., :-1])[..., None] / 2
    u = _legendre_in(fine.nodes, ends).nodes
    return Grid(cut[..., :-1, None] + half * (1 + u), half)
