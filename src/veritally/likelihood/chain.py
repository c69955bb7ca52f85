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

from typing import NamedTuple

from veritally.arrays import Array, namespace, possible
from veritally.likelihood.curvature import chained_curvature, curvature
from veritally.likelihood.panels import isotonic_fit
from veritally.likelihood.quadrature import Fineness, grid
from veritally.likelihood.walk import Tiers, Walk
from veritally.model.means import Spread

FEW = 3  # alternatives, whose second derivatives are hardly dearer than about what they are
_LOST = 1e6  # of the smallest numbers: probabilities below have lost their digits


class Chain(NamedTuple):
    """log P of each ballot, ``(ballot,)``, and perhaps its gradient ``(alternative, ballot)`` and second derivatives.

    The latter are ``(alternative, alternative, ballot)``.
    """

    log_prob: Array
    gradient: Array | None = None
    curvature: Array | None = None


def chain(
    truth: Array,
    spread: Spread,
    tiers: Tiers,
    ends: Array,
    needed: Array,
    pressure: Array,
    panels: int,
    fine: Fineness,
    order: int = 1,
    rough: bool = False,
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
    panels, fine
        How many panels to use, and how finely they are cut.
    order
        How many derivatives to return: 0, 1 or 2.
    rough
        Whether second derivatives may come from neighbours on the ballot alone.
    """
    xp = namespace(truth)
    n = len(truth)
    nodes = grid(ends, needed, panels, fine)
    walk = Walk(nodes, truth, spread, tiers, pressure)
    top, bottom = walk.group(tiers.first, nodes.above, 1), walk.group(tiers.last, nodes.below, -1)
    above = walk.downwards(top)
    product = nodes.total(above[n].edge * bottom.product)
    lost = product < _LOST * xp.finfo(product.dtype).smallest_normal
    whole = above[n].log + bottom.log + xp.log(_positive(product))
    informative = xp.any(tiers.single | tiers.first | tiers.last, axis=0)
    log_prob = xp.where(informative, walk.offset + whole, 0)
    guess = improbable(truth, spread, order) if possible(lost & informative) else None
    if guess is not None:
        log_prob = xp.where(lost & informative, guess.log_prob, log_prob)
    if order == 0:
        return Chain(log_prob)
    below = walk.upwards(bottom)
    contacts = [
        nodes.contact(a.edge, b.edge) * xp.exp(a.log + b.log - whole) for a, b in zip(above, below, strict=True)
    ]
    slope = xp.stack([xp.where(tiers.single[k], contacts[k + 1] - contacts[k], 0) for k in range(n)])
    for group, met, sign in ((top, below[0], 1), (bottom, above[n], -1)):
        slope = slope + sign * walk.share(group, met, whole)
    slope = xp.where(informative & ~lost, slope, 0)
    second = None
    if order > 1:
        found = xp.where(lost, xp.inf, whole)
        if rough and n > FEW and not possible(tiers.first | tiers.last):
            second = chained_curvature(walk, above, below, found, slope)
        else:
            second = curvature(walk, top, bottom, above, below, found, slope)
    if guess is not None:
        slope = xp.where(lost & informative, guess.gradient, slope)
        second = None if second is None else xp.where(lost & informative, guess.curvature, second)
    return Chain(log_prob, slope, second)


def improbable(truth: Array, spread: Spread, order: int) -> Chain:
    """Return log P and its derivatives to leading order, for ballots whose probability is out of reach of numbers.

    It is how far the means lie from their fit along the ballot, −½ Σ_k (m_k − μ_k)²/s_k².
    """
    xp = namespace(truth)
    seen = xp.isfinite(spread.wide)
    precision = xp.where(seen, xp.where(seen, spread.wide, 1) ** -2, 0)
    centre = isotonic_fit(xp.where(seen, truth, 0), precision).centre
    off = xp.where(seen, centre - truth, 0)
    log_prob, gradient = -xp.sum(precision * off**2, axis=0) / 2, precision * off
    if order < 2:
        return Chain(log_prob, gradient)
    together = xp.where((centre[:, None] == centre[None]) & seen[:, None] & seen[None], precision[None], 0)
    whole = xp.sum(together, axis=1)
    shares = precision[:, None] * together / xp.where(whole > 0, whole, 1)[:, None]
    return Chain(log_prob, gradient, shares - precision[:, None] * xp.eye(len(truth), dtype=truth.dtype)[..., None])


def _positive(x: Array) -> Array:
    """Keep what is to be divided by away from 0."""
    xp = namespace(x)
    return xp.maximum(x, xp.asarray(xp.finfo(x.dtype).smallest_normal, dtype=x.dtype))
