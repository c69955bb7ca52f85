"""Rules for top choices: the paper's Case 5.

A voter with several favourites tied counts as the average of voters with one of them each.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from veritally.arrays import Array, by_alternative, by_cost, for_loop, namespace, ndtr, normals, while_loop
from veritally.rules.sums import Encoder, Encoding, Sigma
from veritally.votes.ballots import Ballots

_NEGLIGIBLE = 24.0  # minus the logarithm of what may lie beyond the ends of the quadrature, relative to its peak


@dataclass(frozen=True)
class TopZero(Encoder):
    """The favourite's own precision.

        w_ij = √c_ij/σ_j for the favourite j, 0 for the others

    A heuristic: the gradient at V = 0 of the probability that the favourite's mean is above 0, instead of above all
    others (the "zero approximation").

    References
    ----------
    Pitis & Zhang (2020), Case 5.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(top=[0, 1], counts=[[4, 1, 1], [1, 9, 1]]), rule="top-zero").scores
    array([2., 3., 0.])
    """

    sigma: Sigma = 1.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        return Encoding(ballots.votes / xp.sqrt(ballots.variances(self.sigma)))


@dataclass(frozen=True)
class TopLowerBound(Encoder):
    """The favourite compared with each other alternative in turn.

    A heuristic: the gradient at V = 0 of a lower bound, the product of the probabilities of the single comparisons
    (the "lower bound approximation").

        w_ij = Σ_k 1/√(s_ij² + s_ik²) for the favourite j,    w_ik = −1/√(s_ij² + s_ik²) for each other k seen

    References
    ----------
    Pitis & Zhang (2020), Case 5. The text conditions on a union of events; their intersection is meant.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(top=[0], counts=[[1, 1, 1]]), rule="top-lower-bound").scores.round(4)
    array([ 1.4142, -0.7071, -0.7071])
    """

    sigma: Sigma = 1.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)

        def kernel(variance: Array, favourite: Array) -> Array:
            own = xp.sum(xp.where(favourite, variance, 0), axis=0)
            power = xp.where(favourite, 0, 1 / xp.sqrt(own + variance))
            return xp.where(favourite, xp.sum(power, axis=0), -power)

        return Encoding(_shared_among_favourites(ballots.votes, kernel, ballots.variances(self.sigma)))


@dataclass(frozen=True)
class TopGradient(Encoder):
    """The exact gradient at V = 0 of the log-probability of the favourites.

    Voter i prefers j with probability P = ∫ φ_ij(x) Π_k Φ_ik(x) dx. The gradient has, for each other alternative,

        w_ik = −∫ φ_ij(x) φ_ik(x) Π_{l≠j,k} Φ_il(x) dx / P

    and minus their sum for the favourite. What ``top-monte-carlo`` estimates by sampling is computed here by the
    trapezoid rule in u with x = a·sinh u: near 0, where all Φ_ik turn at once, it has the finest of their scales, and
    further out it grows to the widest. The relative error is below 1e-8 for counts that differ by factors up to 10⁶
    and up to some hundred alternatives.

    References
    ----------
    Pitis & Zhang (2020), Case 5, whose Monte Carlo estimate this replaces.

    Examples
    --------
    With two alternatives it is Case 3, up to the factor √(2/π):

    >>> import veritally as vt
    >>> vt.decide(vt.Profile(top=[0], counts=[[1, 1]]), rule="top-gradient").scores.round(4)
    array([ 0.5642, -0.5642])
    """

    sigma: Sigma = 1.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        deviations = xp.sqrt(ballots.variances(self.sigma))

        def kernel(deviation: Array, favourite: Array) -> Array:
            ratio = _ratios(deviation, favourite)
            scale = 1 / xp.maximum(xp.max(ratio, axis=0), xp.asarray(1, dtype=ratio.dtype))
            rivals = xp.sum(xp.astype(ratio > 0, ratio.dtype), axis=0)
            # The more rivals, the further out and the narrower (in u) the peak; errors stay below 6e-9 with this step.
            step = 0.2 * xp.maximum(rivals / 8, xp.asarray(1, dtype=ratio.dtype)) ** -0.4
            first, nodes = _extent(ratio, scale, step)
            probability, losses = by_cost(_quadrature, nodes, ratio, scale, step, first, nodes)
            own = xp.sum(xp.where(favourite, deviation, 0), axis=0)
            alone = math.sqrt(2 / math.pi) / xp.sqrt(own**2 + deviation**2)  # against one rival, without any error
            loss = xp.where(rivals == 1, xp.where(ratio > 0, alone, 0), losses / (probability * deviation))
            return xp.where(favourite, xp.sum(loss, axis=0), -loss)

        return Encoding(_shared_among_favourites(ballots.votes, kernel, deviations))


@dataclass(frozen=True, eq=False)  # equal only to itself: what one rule draws is no other's to share
class TopMonteCarlo(Encoder):
    """The gradient at V = 0 of the log-probability of the favourites, estimated from random draws.

    As published: ``samples`` draws x of the favourite's mean for each voter, s(x) = Π_k Φ_ik(x), and

        w_ij = Σ_x (x/s_ij²) s(x) / Σ_x s(x),    w_ik = −Σ_x φ_ik(x) Π_{l≠j,k} Φ_il(x) / Σ_x s(x)

    ``top-gradient`` computes the same without chance and at lower cost. The direction does not depend on a σ that is
    equal for all alternatives. The draws take memory for ``samples`` numbers per voter. ``seed`` may be a key of
    several numbers, the last of them an array with one for each decision of a batch.

    References
    ----------
    Pitis & Zhang (2020), Case 5, Monte Carlo approximation.

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(top=[0, 0, 1], counts=[[4, 1, 1], [1, 1, 1], [9, 9, 9]])
    >>> vt.decide(profile, rule="top-monte-carlo", samples=1000, seed=1).winners
    [1]
    """

    sigma: Sigma = 1.0
    samples: int = 100
    seed: tuple[Array | int, ...] | int = 0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        deviations = xp.sqrt(ballots.variances(self.sigma))
        key = self.seed if isinstance(self.seed, tuple) else (self.seed,)
        draws = normals(key, (*deviations.shape[:-1], self.samples), like=deviations)

        def kernel(deviation: Array, draw: Array, favourite: Array) -> Array:
            probability, losses, mean = _integrate(_ratios(deviation, favourite), lambda g: (draw[g], 0), self.samples)
            return xp.where(favourite, mean, -losses) / (probability * deviation)

        return Encoding(_shared_among_favourites(ballots.votes, kernel, deviations, draws))


def _shared_among_favourites(shares: Array, kernel: Callable[..., Array], *arrays: Array) -> Array:
    """Average ``kernel``, what a vote for one favourite alone adds, over each voter's favourites.

    Takes as many turns as the longest tie has favourites, in most cases one.
    """
    xp = namespace(shares)
    n = shares.shape[-1]
    small = xp.int8 if n < 127 else xp.int32
    positions = xp.arange(n, dtype=small)[:, None]

    def average(shares: Array, *arrays: Array) -> tuple[Array]:
        def turn(state: tuple[Array, Array]) -> tuple[Array, Array]:
            left, weights = state
            favourite = positions == xp.min(xp.where(left, positions, xp.asarray(n, dtype=small)), axis=0)
            added = xp.where(xp.any(left, axis=0), kernel(*arrays, favourite), 0)
            return left & ~favourite, weights + added

        weights = while_loop(lambda state: xp.any(state[0]), turn, (shares > 0, xp.zeros_like(shares)))[1]
        return (weights * xp.max(shares, axis=0),)

    return by_alternative(average, shares, *arrays)[0]


def _ratios(deviation: Array, favourite: Array) -> Array:
    """Return s_ij/s_ik of the favourite j to each rival k, ``(alternative, voter)``; 0 for itself and the unseen."""
    xp = namespace(deviation)
    own = xp.sum(xp.where(favourite, deviation, 0), axis=0)
    own = xp.where(xp.isinf(own), 0, own)
    return xp.where(favourite, 0, own / deviation)


def _extent(ratio: Array, scale: Array, step: Array) -> tuple[Array, Array]:
    """First node, and number of nodes, of the grid z = scale · sinh(step · g) that matter to each of the voters.

    Towards −∞ the integrands, φ(z) Π_k Φ(r_k z) and those with φ in place of one Φ, fall at least as fast as
    exp(−a z² − b|z|), from −log Φ(−x) ≥ log 2 + √(2/π) x + x²/π. Towards +∞ they fall below their value at 0, which is
    φ(0)/2 to the number of rivals, once φ(z) does.
    """
    xp = namespace(ratio)
    a = 1 / 2 + xp.sum(ratio**2, axis=0) / math.pi
    b = math.sqrt(2 / math.pi) * (xp.sum(ratio, axis=0) - xp.max(ratio, axis=0))
    low = 2 * _NEGLIGIBLE / (b + xp.sqrt(b**2 + 4 * a * _NEGLIGIBLE))
    high = xp.sqrt(2 * (_NEGLIGIBLE + math.log(2) * xp.sum(xp.astype(ratio > 0, ratio.dtype), axis=0)))
    first, last = (xp.ceil(xp.asinh(end / scale) / step) for end in (low, high))
    return -first, first + last + 1


def _quadrature(ratio: Array, scale: Array, step: Array, first: Array, nodes: Array) -> tuple[Array, Array]:
    """Return the probability of the favourites and its losses to each rival, up to one factor, by the trapezoids."""
    xp = namespace(ratio)

    def node(g: Array) -> tuple[Array, Array]:
        grown = xp.exp((first + g) * step)
        z = scale * (grown - 1 / grown) / 2
        return z, xp.log(grown + 1 / grown) - z**2 / 2

    probability, losses, _ = _integrate(ratio, node, xp.astype(xp.max(nodes), xp.int32))
    return probability, losses


def _integrate(ratio: Array, node: Callable[[Array], tuple[Array, Array]], nodes: Array) -> tuple[Array, Array, Array]:
    """Sum s(z), s(z) φ(r_k z)/Φ(r_k z) and z s(z) over weighted nodes z, where s(z) = Π_k Φ(r_k z) over the rivals k.

    ``ratio`` is ``(alternative, voter)``; ``node(g)`` gives the g-th z, in units of the favourite's standard deviation,
    and the logarithm of its weight, each ``(voter,)``. The sums are relative to the largest term met, kept as
    ``peak`` along the way, so that a product of hundreds of Φ does not underflow.
    """
    xp = namespace(ratio)
    rival = ratio > 0
    info = xp.finfo(ratio.dtype)

    def add(g: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        peak, probability, losses, mean = sums
        z, weight = node(g)
        x = ratio * z
        below = xp.maximum(xp.where(rival, ndtr(x), 1), info.smallest_normal)
        rate = xp.where(rival, xp.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), 0) / below
        term = weight + xp.sum(xp.log(below), axis=0)
        new = xp.maximum(peak, term)
        kept, mass = xp.exp(peak - new), xp.exp(term - new)
        return new, kept * probability + mass, kept * losses + mass * rate, kept * mean + mass * z

    zero = xp.zeros_like(ratio[0])
    return for_loop(nodes, add, (zero - info.max, zero, xp.zeros_like(ratio), zero))[1:]
