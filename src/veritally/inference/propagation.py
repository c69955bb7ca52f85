"""The mean of the truths, and how far they may lie from it: expectation propagation.

The mode of a posterior is not its mean where votes leave room on one side only: what everybody ranks last may be far
below, but not above. So each voter's vote is asked what it says about the truths given what all *others* say.

- **Cavity**: the truths without voter i, taken for normal.
- **Tilted**: x_ij then spreads around the mean of the cavity with s_ij² + d_ij², d_ij² the variance of the cavity,
  and the exact probability of the vote under that has a gradient and a curvature.
- **Site**: the normal likelihood exp(r_i·μ − μ·Λ_i μ/2) that has the same effect on mean and variance.

This is repeated, with **damping**, until all sites agree. Encode: r_i and Λ_i. Tally: their sums. Decode: the mean
V Σ_i r_i, where V⁻¹ is 1/τ² + Σ_i Λ_i. So the mean is τ² times the sum of the voters' pulls r_i − Λ_i μ̂.

The cavity is taken as independent between the alternatives of one ballot, up to a common shift, which does not matter
to a ranking: an approximation for more than three alternatives. Values are normal as they are, and stay in the cavity.

A ballot that stands for k voters is k equal sites, of which one is taken out at a time. If it stands for a part of a
voter, its probability counts to that power; then, too, a whole site is taken out (fractional, or power, EP), so that
two halves come to the same as one. Where others say too little for that, only the part is.
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array, is_jax, namespace, possible, while_loop
from veritally.inference.linear import from_diagonal, inverse, multiply, solve
from veritally.inference.optimiser import Peak
from veritally.likelihood.votes import derivatives
from veritally.model.model import Model
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
        The mean without each voter, ``(..., voter, alternative)``. None at the mode, where :func:`means_without` finds
        it.
    missing
        How far the mean would still have moved, ``(..., alternative)``, where the search did not arrive; else about 0.
    fell_back
        Whether the mode stands in for a mean that was wanted but could not be found, ``(...)``.
    """

    mean: Array
    precision: Array
    pull: Array | None
    without: Array | None
    missing: Array
    fell_back: Array


class _Sites(NamedTuple):
    """What each voter says, as a normal likelihood, and the mean that follows.

    ``step`` is how far the mean came last, ``(..., alternative)``, and ``moved`` how far that and the precisions are by
    what is known of each alternative given the others, ``(...)``.
    """

    mean: Array
    shift: Array
    precision: Array
    step: Array
    moved: Array
    turn: Array


class _Votes(NamedTuple):
    """What stays the same from turn to turn.

    Attributes
    ----------
    ballots, model
        The votes, and how they come about.
    prior
        The precision matrix of the truths.
    times
        How many voters each ballot stands for, ``(..., voter, 1)``.
    fixed_shift, fixed_precision
        Of what needs no approximation: values, ``(..., voter, alternative)``.
    """

    ballots: Ballots
    model: Model
    prior: Array
    times: Array
    fixed_shift: Array
    fixed_precision: Array

    def total(self, precision: Array) -> Array:
        """Return the precision of the truths by prior and sites."""
        return self.prior + namespace(precision).sum(self.times[..., None] * precision, axis=-3)

    def without(self, sites: _Sites, shift: Array, precision: Array) -> tuple[Array, Array]:
        """Return mean and covariance of the truths without so much of each voter."""
        pull = shift - multiply(precision, sites.mean[..., None, :])
        covariance = inverse(self.total(sites.precision)[..., None, :, :] - precision)
        return sites.mean[..., None, :] - multiply(covariance, pull), covariance


def moments(ballots: Ballots, model: Model, peak: Peak, estimate: Estimate) -> Moments:
    """Go on from the mode to the mean, unless there are so many votes that they are the same."""
    fell_back = np.zeros(ballots.mask.shape[:-1], dtype=bool)
    # Values that are mixtures have no normal shape, and of pairs one voter has many that are independent.
    shapeless = ballots.cardinal and model.means.counts is not None
    if estimate == "mean" and not shapeless and ballots.part(Pairs) is None:
        wanted, reached = reach(ballots)
        if possible(wanted & reached):
            return _propagate(ballots, model, peak)
        fell_back = wanted
    return Moments(peak.truth, peak.precision, None, None, peak.missing, fell_back)


def reach(ballots: Ballots) -> tuple[Array, Array]:
    """Say for which decisions the mode would not do for the mean, and which are small enough for it, both ``(...)``.

    Where each alternative is told apart from others often, the posterior is nearly normal around its mode. A ballot
    tells as many alternatives apart as it has tiers but one: a favourite tells one. In JAX, whose programs have one
    shape, it goes by the size of the arrays.
    """
    batch, (m, n) = ballots.mask.shape[:-1], ballots.counts.shape[-2:]
    if is_jax(ballots.counts):
        size, tiers = m * n * n, m * (ballots.most_tiers - 1)
        return np.full(batch, size <= _CELLS or tiers < _FEW * n), np.full(batch, size <= _MOST_CELLS)
    voters, alternatives = np.sum(ballots.multiplicity > 0, axis=-1), np.sum(ballots.mask, axis=-1)
    cells = voters * alternatives**2
    small = cells <= _CELLS
    if small.all():
        return small, small
    return small | tells_little(ballots), cells <= _MOST_CELLS


def tells_little(ballots: Ballots) -> Array:
    """Say in which decisions rankings or favourites tell each alternative apart only a few times, ``(...)``."""
    return np.asarray(ballots.distinctions() < _FEW * np.sum(ballots.mask, axis=-1))


def pulls(ballots: Ballots, model: Model, known: Moments) -> Array:
    """Return what each voter adds: at the mode, the gradient there."""
    return derivatives(ballots, known.mean, model.means).gradient if known.pull is None else known.pull


def means_without(ballots: Ballots, model: Model, known: Moments) -> Array:
    """Return the mean without each voter: from the mode, by one step of Newton's method, some voters at a time."""
    if known.without is not None:
        return known.without
    results = []
    for start in range(0, ballots.counts.shape[-2], _AT_ONCE):
        some = ballots.take_voters(slice(start, start + _AT_ONCE))
        votes = derivatives(some, known.mean, model.means, 2)
        times = some.multiplicity[..., None]
        rest = known.precision[..., None, :, :] + votes.curvature * times[..., None]
        results.append(known.mean[..., None, :] - solve(rest, votes.gradient * times))
    return namespace(ballots.counts).concat(results, axis=-2)


def _propagate(ballots: Ballots, model: Model, peak: Peak) -> Moments:
    """Repeat until all sites agree; where that fails, all is as at the mode."""
    xp = namespace(ballots.counts)
    fixed = _exact_sites(ballots, model)
    votes = _Votes(ballots, model, model.prior_precision(ballots.mask), ballots.multiplicity[..., None], *fixed)
    # Start from the sites that Laplace's method gives: gradient and curvature at the mode.
    at_mode = derivatives(ballots, peak.truth, model.means, 2)
    start = -at_mode.curvature  # type: ignore[operator]
    sites = _Sites(
        peak.truth,
        at_mode.gradient + multiply(start, peak.truth[..., None, :]),
        start,
        xp.zeros_like(peak.truth),
        xp.full(peak.truth.shape[:-1], xp.inf, dtype=peak.truth.dtype),
        xp.asarray(0),
    )
    sites = while_loop(
        lambda sites: (sites.turn < _TURNS) & ~xp.all(sites.moved <= _SMALL), lambda sites: _turn(votes, sites), sites
    )
    # What is no posterior at the end is replaced by what Laplace's method says.
    precision, times = votes.total(sites.precision), votes.times
    values = xp.linalg.eigvalsh(xp.where(xp.isfinite(precision), precision, 0))
    sound = xp.all(xp.isfinite(sites.mean), axis=-1) & xp.all(values > 0, axis=-1)
    every = sound[..., None, None]
    pull = sites.shift - multiply(sites.precision, sites.mean[..., None, :])
    left = votes.without(sites, times * sites.shift, times[..., None] * sites.precision)[0]
    step = solve(peak.precision[..., None, :, :] - start * times[..., None], at_mode.gradient * times)
    return Moments(
        xp.where(sound[..., None], sites.mean, peak.truth),
        xp.where(every, precision, peak.precision),
        xp.where(every, pull, at_mode.gradient),
        xp.where(every, left, peak.truth[..., None, :] - step),
        xp.where(sound[..., None], xp.abs(sites.step), peak.missing),
        ~sound,
    )


def _exact_sites(ballots: Ballots, model: Model) -> tuple[Array, Array]:
    """Return shifts and precisions of what needs no approximation, ``(..., voter, alternative)``: values."""
    xp = namespace(ballots.counts)
    values = ballots.part(Values)
    if values is None:
        return xp.zeros_like(ballots.counts), xp.zeros_like(ballots.counts)
    given = ~xp.isnan(values.votes) & (values.counts > 0)
    precision = xp.where(given, model.means.spread(values.counts).precision, 0)
    return precision * xp.where(given, values.votes, 0), precision


def _turn(votes: _Votes, sites: _Sites) -> _Sites:
    """Let each voter say anew what the vote tells, given what the others say."""
    xp = namespace(sites.mean)
    if not is_jax(sites.mean):
        report(_START + (1 - _START) * float(sites.turn) / _TURNS)
    # Cavity: one voter out of each ballot.
    shift, precision = sites.shift - votes.fixed_shift, sites.precision - from_diagonal(votes.fixed_precision)
    once = _taken_out(votes, sites, precision)
    mean, covariance = votes.without(sites, once * shift, once[..., None] * precision)
    variance = _variances_within(covariance, votes.ballots, xp.any(votes.fixed_precision > 0, axis=-1))
    # Tilted: the exact probability of the vote in the cavity.
    tilted = derivatives(votes.ballots.each_voter(), mean, votes.model.within(variance).means, 2)
    gradient, curvature = tilted.gradient[..., 0, :], tilted.curvature[..., 0, :, :]  # type: ignore[index]
    # Sites that match it, damped; one that is no number stays as it was.
    precision = _site_precision(curvature, variance)
    shift = gradient + multiply(precision, mean + variance * gradient)
    part = xp.where(sites.turn == 0, xp.asarray(1, dtype=mean.dtype), _DAMPING)
    part = xp.where(sites.moved <= _SMALL, 0, part)[..., None, None]
    fine = xp.all(xp.isfinite(shift), axis=-1) & xp.all(xp.isfinite(precision), axis=(-2, -1))
    shift = xp.where(fine[..., None], shift, sites.shift)
    precision = xp.where(fine[..., None, None], precision, sites.precision)
    shift = sites.shift + part * (shift - sites.shift)
    precision = sites.precision + part[..., None] * (precision - sites.precision)
    # Decode, and see how far mean and precisions have moved.
    total = votes.total(precision)
    new = solve(total, xp.sum(votes.times * shift, axis=-2))
    old, own = (xp.linalg.diagonal(x) for x in (votes.total(sites.precision), total))
    moved = xp.maximum(xp.abs(new - sites.mean) * xp.sqrt(own), xp.abs(own - old) / own)
    return _Sites(new, shift, precision, new - sites.mean, xp.max(moved, axis=-1), sites.turn + 1)


def _taken_out(votes: _Votes, sites: _Sites, precision: Array) -> Array:
    """Return how much of each ballot is taken out: one voter, also of a part of one if others say enough without."""
    xp = namespace(precision)
    times = votes.times
    once = xp.minimum(times, xp.asarray(1, dtype=times.dtype))
    fractional = (times > 0) & (times < 1)
    if is_jax(precision) or not possible(fractional):
        return once
    least = xp.linalg.eigvalsh(votes.total(sites.precision)[..., None, :, :] - precision)[..., :1]
    return xp.where(fractional & (least > 0), 1, once)


def _variances_within(covariance: Array, ballots: Ballots, valued: Array) -> Array:
    """Return the variances within a ballot, ``(..., voter, alternative)``, apart from a common shift.

    They are the d_j for which d_j + d_k fits the variance of each difference best, by least squares, if these are
    positive; for up to three alternatives that is exact. Else the shift is the mean covariance. Who gives values
    (``valued``) means them without a shift.
    """
    xp = namespace(covariance)
    own = xp.linalg.diagonal(covariance)
    seen = xp.astype(ballots.counts > 0, own.dtype)
    number = xp.sum(seen, axis=-1, keepdims=True)
    together = number * own + xp.sum(seen * own, axis=-1, keepdims=True) - 2 * multiply(covariance, seen)
    half = xp.sum(seen * together, axis=-1, keepdims=True) / 2 / xp.where(number > 1, number - 1, 1)
    apart = xp.where(number > 2, (together - half) / xp.where(number > 2, number - 2, 1), together / 2)
    pairs = xp.where(number > 1, number * (number - 1), 1)
    shift = xp.sum(seen * (multiply(covariance, seen) - own), axis=-1, keepdims=True) / pairs
    fitting = xp.all((apart > _LEAST * own) | (seen == 0), axis=-1, keepdims=True)
    apart = xp.maximum(xp.where(fitting, apart, own - shift), _LEAST * own)
    return xp.where(valued[..., None], own, apart)


def _site_precision(curvature: Array, variance: Array) -> Array:
    """Return Λ = −H (1 + D H)⁻¹: what curvature H under the spread of the others, D, says about the truth itself."""
    xp = namespace(curvature)
    root = xp.sqrt(variance)
    scaled = -curvature * root[..., None] * root[..., None, :]
    values, vectors = xp.linalg.eigh(xp.where(xp.isfinite(scaled), scaled, 0))  # what is not finite comes out as such
    values = xp.minimum(values, xp.asarray(_MOST_SURE, dtype=values.dtype))
    vectors = vectors / root[..., None]
    site = xp.matmul(vectors * (values / (1 - values))[..., None, :], xp.moveaxis(vectors, -1, -2))
    return xp.where(xp.isfinite(scaled), site, xp.nan)
