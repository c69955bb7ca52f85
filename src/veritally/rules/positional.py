"""Rules that give points for positions: the anonymous baselines, and their count-weighted modifications."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from veritally.arrays import Array, namespace
from veritally.rules.sums import Encoder, Encoding, VoterWeight
from veritally.votes.ballots import Ballots
from veritally.votes.top import shared


def arithmetic(counts: Array) -> Array:
    """Arithmetic mean of each voter's counts over what the voter saw."""
    xp = namespace(counts)
    return xp.sum(counts, axis=-1) / xp.maximum(_seen(counts), xp.asarray(1, dtype=counts.dtype))


def harmonic(counts: Array) -> Array:
    """Harmonic mean of each voter's counts over what the voter saw."""
    xp = namespace(counts)
    inverse = xp.sum(1 / xp.where(counts > 0, counts, xp.inf), axis=-1)
    return _seen(counts) / xp.where(inverse > 0, inverse, 1)


def _seen(counts: Array) -> Array:
    xp = namespace(counts)
    return xp.astype(xp.count_nonzero(counts, axis=-1), counts.dtype)


def _root(mean: Array) -> Array:
    return namespace(mean).sqrt(mean)


def _logarithm(mean: Array) -> Array:
    """Logarithm, but never a negative weight: an experience below 1 counts nothing."""
    xp = namespace(mean)
    return xp.log(xp.maximum(mean, xp.asarray(1, dtype=mean.dtype)))


def _plain(mean: Array) -> Array:
    return mean


_MEANS: dict[str, Callable[[Array], Array]] = {"arithmetic": arithmetic, "harmonic": harmonic}
_SHAPES: dict[str, Callable[[Array], Array]] = {"": _plain, "-sqrt": _root, "-log": _logarithm}
VOTER_WEIGHTS = {
    mean + shape: VoterWeight(_MEANS[mean], _SHAPES[shape]) for mean, shape in itertools.product(_MEANS, _SHAPES)
}
"""How a voter's experience may weigh the voter's points: a mean of the counts, or its square root or logarithm."""


@dataclass(frozen=True)
class Plurality(Encoder):
    """One point for the favourite, shared if several tie.

        score_j = Σ_i 1/(number of favourites of voter i), over the voters with j among them

    Anonymous: counts only say what was seen. ``plurality+…`` multiplies the point by the voter's experience, a mean of
    the counts or its square root or logarithm: an unjustified but plausible use of them (the paper's "Plurality+").

    References
    ----------
    Pitis & Zhang (2020), Experiments.

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(top=[0, 1, 1], counts=[[9, 1], [1, 1], [1, 1]])
    >>> vt.decide(profile, rule="plurality").scores, vt.decide(profile, rule="plurality+").scores
    (array([1., 2.]), array([5., 2.]))
    """

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        return Encoding(ballots.votes)


@dataclass(frozen=True)
class Borda(Encoder):
    """As many points as alternatives beaten, half a point for each one tied with.

        score_j = Σ_i (n − rank_ij)

    Anonymous; ``borda+…`` is weighed by the voter's experience as ``plurality+…`` is (the paper's "Borda+"). On a
    ballot whose voter has not seen all alternatives, points are centred, (beaten − beaten by) / 2, so that the unseen
    ones, which get 0, are neither above nor below.

    References
    ----------
    Pitis & Zhang (2020), Experiments.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3], [2, 2, 1]]), rule="borda").scores
    array([2.5, 1.5, 2. ])
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3], [1, 2, 0]], counts=[[1, 1, 1], [1, 1, 0]]), rule="borda").scores
    array([2.5, 0.5, 0. ])
    """

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        ranks, n = ballots.votes, _seen(ballots.votes)
        whole = n == _seen(xp.astype(ballots.mask, ranks.dtype))[..., None]
        return Encoding(xp.where(ranks > 0, xp.where(whole, n, (n + 1) / 2)[..., None] - ranks, 0))


@dataclass(frozen=True)
class BordaSqrtCount(Encoder):
    """Centred Borda points times the square root of the count of each alternative.

    A heuristic in O(mn) that comes near the exact gradient at V = 0 where noise dominates, and there beats the O(mn²)
    ``pairwise``:

        w_ij = √c_ij · ((n + 1)/2 − rank_ij)

    with n the number of alternatives the voter saw.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3]], counts=[[4, 9, 1]]), rule="borda-sqrt-count").scores
    array([ 2.,  0., -1.])
    """

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        return Encoding(centred(ballots) * namespace(ballots.counts).sqrt(ballots.counts))


@dataclass(frozen=True)
class Positional(Encoder):
    """Points by position, from any scoring vector; tied alternatives share the points of the positions they cover.

        score_j = Σ_i points[rank_ij]

    Anonymous. ``points`` has one number for each alternative, the best position first. On a ballot whose voter has not
    seen all alternatives the vector is stretched over those seen, its ends kept (linear interpolation), and centred as
    for ``borda``.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3], [3, 1, 2]]), rule="positional", points=[3, 1, 0]).scores
    array([3., 4., 1.])
    """

    points: tuple[float, ...]

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        ranks = ballots.votes
        seen = ranks > 0
        n = _seen(ranks)[..., None]
        rivals = range(ranks.shape[-1])
        tied = xp.maximum(
            sum(xp.astype(seen & (ranks == ranks[..., k : k + 1]), ranks.dtype) for k in rivals), n * 0 + 1
        )
        points = xp.zeros_like(ranks)
        for k in rivals:
            covers = seen & (xp.abs(ranks - (k + 1)) <= (tied - 1) / 2)
            points = points + xp.where(covers, self._points(k, n) / tied, 0)
        return Encoding(_centred_where_partial(points, ballots))

    def _points(self, k: int, n: Array) -> Array:
        """Points for the position ``k`` (0 the best) on ballots of ``n`` alternatives."""
        xp = namespace(n)
        points = xp.asarray(self.points, dtype=n.dtype)
        last = points.shape[0] - 1
        place = xp.clip(k * last / xp.maximum(n - 1, n * 0 + 1), 0, last)
        left = xp.floor(place)
        left_points, right_points = (points[xp.astype(end, xp.int32)] for end in (left, xp.clip(left + 1, 0, last)))
        return left_points + (place - left) * (right_points - left_points)


@dataclass(frozen=True)
class Veto(Encoder):
    """Minus a point for the last position, shared if several tie for it.

        score_j = −Σ_i 1/(number of last ones of voter i), over the voters with j among them

    Anonymous. On a ballot whose voter has not seen all alternatives the points are centred as for ``borda``.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3], [3, 1, 2]]), rule="veto").scores
    array([-1.,  0., -1.])
    """

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        ranks, xp = ballots.votes, namespace(ballots.votes)
        last = (ranks > 0) & (ranks == xp.max(ranks, axis=-1, keepdims=True))
        return Encoding(_centred_where_partial(-shared(last, ranks.dtype), ballots))


def _centred_where_partial(points: Array, ballots: Ballots) -> Array:
    """Take each voter's mean off the points on ballots that leave alternatives out."""
    xp = namespace(points)
    n = _seen(ballots.votes)[..., None]
    partial = n < _seen(xp.astype(ballots.mask, points.dtype))[..., None, None]
    mean = xp.where(partial, xp.sum(points, axis=-1, keepdims=True) / xp.maximum(n, n * 0 + 1), 0)
    return xp.where(ballots.votes > 0, points - mean, 0)


def centred(ballots: Ballots) -> Array:
    """(beaten − beaten by) / 2 among what each voter saw; 0 for unseen."""
    xp = namespace(ballots.votes)
    n = _seen(ballots.votes)[..., None]
    return xp.where(ballots.votes > 0, (n + 1) / 2 - ballots.votes, 0)
