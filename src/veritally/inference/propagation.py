"""The mean of the truths, and how far they may lie from it: expectation propagation.

The mode of a posterior is not its mean where votes leave room on one side only: what everybody ranks last may be far
below, but not above. So each voter's vote is asked what it says about the truths given what all *others* say. The
truths without voter i are taken for normal, x_ij then spreads around their mean with s_ij² + d_ij², d_ij² being the
variance of what the others say, and the exact probability of the vote under that, with its derivatives, gives a normal
likelihood, exp(r_i·μ − μ·Λ_i μ/2), that has the same effect on mean and variance. This is repeated until all agree.

Encode: r_i and Λ_i. Tally: their sums. Decode: the mean V Σ_i r_i, where V⁻¹ is 1/τ² + Σ_i Λ_i. So the mean is τ² times
the sum of the voters' pulls r_i − Λ_i μ̂.

What others say is taken as independent between the alternatives of one ballot, up to a common shift, which does not
matter to a ranking: an approximation for more than three alternatives. Values are normal as they are, and are left in
what the others say.

A ballot that stands for k voters is k equal sites, of which one is taken out at a time. If it stands for a part of a
voter, its probability counts to that power; then, too, a whole site is taken out (fractional, or power, EP), so that
two halves come to the same as one. Where others say too little for that, only the part is.
"""

from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array, is_jax, namespace, possible, while_loop
from veritally.inference.optimiser import Peak, Prior, applied, solve
from veritally.likelihood.votes import derivatives
from veritally.model.means import Means
from veritally.progress import report
from veritally.votes.ballots import Ballots
from veritally.votes.pairs import Pairs
from veritally.votes.values import Values

Estimate: TypeAlias = Literal["mean", "mode"]

_TURNS = 20
_START = 0.6  # of the whole work that is done before, about
_DAMPING = 0.8  # how far to go each turn
_SMALL = 3e-3  # standard deviations that the mean may still move, and of itself that a precision may
_LEAST = 1e-9  # of the variance: that of one alternative apart from a common shift
_RIDGE = 1e-10  # of the largest precision
_MOST_SURE = 1 - 1e-9  # of what is known to be known from one voter
_AT_ONCE = 4096  # voters
_CELLS = 30_000  # voters × alternatives² up to which it is always done
_FEW = 8.0  # times that each alternative is told from others: beyond, of more cells, the mode will do for the mean
_MOST_CELLS = 1_000_000  # up to which it is done where votes tell less


class Moments(NamedTuple):
    """Mean and precision of the truths, what each voter adds, and what would be left without them.

    Attributes
    ----------
    mean, precision
        ``(..., alternative)`` and ``(..., alternative, alternative)``.
    pull
        r_i − Λ_i μ̂ of one voter, ``(..., voter, alternative)``: the gradient of the log-probability of the vote given
        what all others say. None at the mode, where :func:`pulls` finds it.
    without
        The mean without each voter, ``(..., voter, alternative)``. None at the mode, where :func:`withouts` finds it.
    fell_back
        Whether the mode stands in for a mean that was wanted but could not be found, ``(...)``.
    """

    mean: Array
    precision: Array
    pull: Array | None = None
    without: Array | None = None
    fell_back: Array | bool = False


class _Sites(NamedTuple):
    """What each voter says, as a normal likelihood, and the mean that follows."""

    mean: Array
    shift: Array
    precision: Array
    arrived: Array
    turn: Array


def moments(ballots: Ballots, means: Means, prior: Prior, peak: Peak, estimate: Estimate) -> Moments:
    """Go on from the mode to the mean, unless there are so many votes that they are the same."""
    doubtful = ballots.cardinal and means.counts is not None  # values that are mixtures have no normal shape
    doubtful = doubtful or ballots.part(Pairs) is not None  # of which one voter has many that are independent
    if estimate == "mean" and not doubtful:
        wanted, reached = reach(ballots)
        if possible(wanted & reached):
            return _propagated(ballots, means, prior, peak)
        return Moments(peak.truth, peak.precision, fell_back=wanted)
    return Moments(peak.truth, peak.precision)


def reach(ballots: Ballots) -> tuple[Array, Array]:
    """Say for which decisions the mode would not do for the mean, and which are small enough for it, both ``(...)``.

    Where each alternative is told apart from others often, the posterior is nearly normal around its mode. A ballot
    tells as many alternatives apart as it has tiers but one: a favourite tells one. In JAX, whose programs have one
    shape, it goes by the size of the arrays.
    """
    batch, (m, n) = ballots.mask.shape[:-1], ballots.counts.shape[-2:]
    if is_jax(ballots.counts):
        size, told = m * n * n, m * (ballots.most_tiers - 1)
        return np.full(batch, size <= _CELLS or told < _FEW * n), np.full(batch, size <= _MOST_CELLS)
    voters, alternatives = np.sum(ballots.multiplicity > 0, axis=-1), np.sum(ballots.mask, axis=-1)
    cells = voters * alternatives**2
    small = cells <= _CELLS
    if small.all():
        return small, small
    return small | tells_little(ballots), cells <= _MOST_CELLS


def tells_little(ballots: Ballots) -> Array:
    """Say in which decisions rankings or favourites tell each alternative apart only a few times, ``(...)``."""
    return np.asarray(ballots.tiers_told() < _FEW * np.sum(ballots.mask, axis=-1))


def pulls(ballots: Ballots, means: Means, known: Moments) -> Array:
    """Return what each voter adds: at the mode, the gradient there."""
    return derivatives(ballots, known.mean, means).gradient if known.pull is None else known.pull


def withouts(ballots: Ballots, means: Means, known: Moments) -> Array:
    """Return the mean without each voter: from the mode, by one step of Newton's method, some voters at a time."""
    if known.without is not None:
        return known.without
    xp = namespace(ballots.counts)
    results = []
    for start in range(0, ballots.counts.shape[-2], _AT_ONCE):
        some = ballots.take_voters(slice(start, start + _AT_ONCE))
        told = derivatives(some, known.mean, means, 2)
        times = some.multiplicity[..., None]
        rest = known.precision[..., None, :, :] + told.curvature * times[..., None]
        results.append(known.mean[..., None, :] - solve(rest, told.gradient * times))
    return xp.concat(results, axis=-2)


def _propagated(ballots: Ballots, means: Means, prior: Prior, peak: Peak) -> Moments:
    """Repeat until all agree; where that fails, all is as at the mode."""
    xp = namespace(ballots.counts)
    matrix, times = prior.matrix(ballots.mask), ballots.multiplicity[..., None]
    part_of_one = xp.minimum(times, xp.asarray(1, dtype=times.dtype))
    fractional = (times > 0) & (times < 1)
    told = derivatives(ballots, peak.truth, means, 2)
    valued, known = _values(ballots, means)

    def total(precision: Array) -> Array:
        return matrix + xp.sum(times[..., None] * precision, axis=-3)

    def decoded(shift: Array, precision: Array) -> Array:
        return solve(total(precision), xp.sum(times * shift, axis=-2))

    def without(sites: _Sites, shift: Array, precision: Array) -> tuple[Array, Array]:
        """Return mean and covariance without so much of each voter."""
        pull = shift - applied(precision, sites.mean[..., None, :])
        covariance = _inverse(total(sites.precision)[..., None, :, :] - precision)
        return sites.mean[..., None, :] - applied(covariance, pull), covariance

    def body(sites: _Sites) -> _Sites:
        if not is_jax(sites.mean):
            report(_START + (1 - _START) * float(sites.turn) / _TURNS)
        shift, precision = sites.shift - valued, sites.precision - _diagonal(known)
        once = part_of_one
        if not is_jax(shift) and possible(fractional):
            least = xp.linalg.eigvalsh(total(sites.precision)[..., None, :, :] - precision)[..., :1]
            once = xp.where(fractional & (least > 0), 1, part_of_one)
        mean, covariance = without(sites, once * shift, once[..., None] * precision)
        variance = _apart(covariance, ballots, xp.any(known > 0, axis=-1))
        one = derivatives(ballots.each_voter(), mean, _each_of(means, variance), 2)
        gradient, curvature = one.gradient[..., 0, :], one.curvature[..., 0, :, :]  # type: ignore[index]
        precision = _site(curvature, variance)
        shift = gradient + applied(precision, mean + variance * gradient)
        part = xp.where(sites.turn == 0, xp.asarray(1, dtype=mean.dtype), _DAMPING)
        part = xp.where(sites.arrived, 0, part)[..., None, None]
        fine = xp.all(xp.isfinite(shift), axis=-1) & xp.all(xp.isfinite(precision), axis=(-2, -1))  # else it stays
        shift = xp.where(fine[..., None], shift, sites.shift)
        precision = xp.where(fine[..., None, None], precision, sites.precision)
        shift = sites.shift + part * (shift - sites.shift)
        precision = sites.precision + part[..., None] * (precision - sites.precision)
        new = decoded(shift, precision)
        old, own = (xp.linalg.diagonal(total(x)) for x in (sites.precision, precision))
        moved = xp.maximum(xp.abs(new - sites.mean) * xp.sqrt(own), xp.abs(own - old) / own)
        return _Sites(new, shift, precision, xp.all(moved <= _SMALL, axis=-1), sites.turn + 1)

    start = -told.curvature  # type: ignore[operator]
    sites = _Sites(
        peak.truth,
        told.gradient + applied(start, peak.truth[..., None, :]),
        start,
        xp.zeros(peak.truth.shape[:-1], dtype=bool),
        xp.asarray(0),
    )
    sites = while_loop(lambda sites: (sites.turn < _TURNS) & ~xp.all(sites.arrived), body, sites)
    precision = total(sites.precision)
    values = xp.linalg.eigvalsh(xp.where(xp.isfinite(precision), precision, 0))
    sound = xp.all(xp.isfinite(sites.mean), axis=-1) & xp.all(values > 0, axis=-1)
    pull = sites.shift - applied(sites.precision, sites.mean[..., None, :])
    every = sound[..., None, None]
    left = without(sites, times * sites.shift, times[..., None] * sites.precision)[0]
    step = solve(peak.precision[..., None, :, :] - start * times[..., None], told.gradient * times)
    return Moments(
        xp.where(sound[..., None], sites.mean, peak.truth),
        xp.where(every, precision, peak.precision),
        xp.where(every, pull, told.gradient),
        xp.where(every, left, peak.truth[..., None, :] - step),
        ~sound,
    )


def _values(ballots: Ballots, means: Means) -> tuple[Array, Array]:
    """Return shifts and precisions of what needs no approximation, ``(..., voter, alternative)``: values."""
    xp = namespace(ballots.counts)
    values = ballots.part(Values)
    if values is None:
        return xp.zeros_like(ballots.counts), xp.zeros_like(ballots.counts)
    precision = xp.where(values.given, means.spread(values.counts).precision, 0)
    return precision * xp.where(values.given, values.votes, 0), precision


def _diagonal(x: Array) -> Array:
    return x[..., None] * namespace(x).eye(x.shape[-1], dtype=x.dtype)


def _each_of(means: Means, variance: Array) -> Means:
    xp = namespace(variance)
    sigma = xp.asarray(means.sigma, dtype=variance.dtype)
    return replace(means, sigma=sigma if sigma.ndim == 0 else sigma[..., None, :], extra=variance[..., None, :])


def _apart(covariance: Array, ballots: Ballots, valued: Array) -> Array:
    """Return the variances within a ballot, ``(..., voter, alternative)``, apart from a common shift.

    They are the d_j for which d_j + d_k fits the variance of each difference best, by least squares, if these are
    positive; for up to three alternatives that is exact. Else the shift is the mean covariance. Who gives values
    (``valued``) means them without a shift.
    """
    xp = namespace(covariance)
    own = xp.linalg.diagonal(covariance)
    seen = xp.astype(ballots.counts > 0, own.dtype)
    number = xp.sum(seen, axis=-1, keepdims=True)
    together = number * own + xp.sum(seen * own, axis=-1, keepdims=True) - 2 * applied(covariance, seen)
    half = xp.sum(seen * together, axis=-1, keepdims=True) / 2 / xp.where(number > 1, number - 1, 1)
    apart = xp.where(number > 2, (together - half) / xp.where(number > 2, number - 2, 1), together / 2)
    pairs = xp.where(number > 1, number * (number - 1), 1)
    shift = xp.sum(seen * (applied(covariance, seen) - own), axis=-1, keepdims=True) / pairs
    fitting = xp.all((apart > _LEAST * own) | (seen == 0), axis=-1, keepdims=True)
    apart = xp.maximum(xp.where(fitting, apart, own - shift), _LEAST * own)
    return xp.where(valued[..., None], own, apart)


def _site(curvature: Array, variance: Array) -> Array:
    """Return Λ = −H (1 + D H)⁻¹: what curvature H under the spread of the others, D, says about the truth itself."""
    xp = namespace(curvature)
    root = xp.sqrt(variance)
    scaled = -curvature * root[..., None] * root[..., None, :]
    values, vectors = xp.linalg.eigh(xp.where(xp.isfinite(scaled), scaled, 0))  # what is not finite comes out as such
    values = xp.minimum(values, xp.asarray(_MOST_SURE, dtype=values.dtype))
    vectors = vectors / root[..., None]
    site = xp.matmul(vectors * (values / (1 - values))[..., None, :], xp.moveaxis(vectors, -1, -2))
    return xp.where(xp.isfinite(scaled), site, xp.nan)


def _inverse(matrix: Array) -> Array:
    xp = namespace(matrix)
    size = xp.max(xp.abs(xp.linalg.diagonal(matrix)), axis=-1)[..., None, None]
    return xp.linalg.inv(matrix + _RIDGE * size * xp.eye(matrix.shape[-1], dtype=matrix.dtype))
