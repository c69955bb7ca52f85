"""The mean of the truths, and how far they may lie from it: expectation propagation.

The mode of a posterior is not its mean where votes leave room on one side only: what everybody ranks last may be far
below, but not above. So each voter's vote is asked what it says about the truths given what all *others* say.

- **Cavity**: the truths without voter i, taken for normal.
- **Tilted**: x_ij then spreads around the mean of the cavity with s_ij² + d_ij², d_ij² the variance of the cavity,
  and the exact probability of the vote under that has a gradient and a curvature.
- **Site**: the normal likelihood exp(r_i·μ − μ·Λ_i μ/2) that has the same effect on mean and variance.

This is repeated until all sites agree, with **damping** where they overshoot: first by probabilities and curvatures
that are rough, then by exact ones. Decisions that have arrived leave the batch.

Encode: r_i and Λ_i. Tally: their sums. Decode: the mean V Σ_i r_i, where V⁻¹ is 1/τ² + Σ_i Λ_i. So the mean is τ² times
the sum of the voters' pulls r_i − Λ_i μ̂.

The cavity is taken as independent between the alternatives of one ballot, up to a common shift, which does not matter
to a ranking: an approximation for more than three alternatives. Values are normal as they are, and stay in the cavity.

A ballot that stands for k voters is k equal sites, of which one is taken out at a time. If it stands for a part of a
voter, its probability counts to that power; then, too, a whole site is taken out (fractional, or power, EP), so that
two halves come to the same as one. Where others say too little for that, only the part is.
"""

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array, is_jax, namespace, possible, while_loop
from veritally.inference.linear import from_diagonal, inverse, multiply, solve
from veritally.inference.optimiser import Peak, peak
from veritally.likelihood.chain import FEW
from veritally.likelihood.votes import derivatives
from veritally.model.lift import Lift
from veritally.model.model import Model
from veritally.progress import report, stretch
from veritally.votes.ballots import Ballots
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import Ordinal
from veritally.votes.values import Values

Estimate: TypeAlias = Literal["mean", "mode"]

_ROUGH_SHARE = 0.3  # of the work that rough probabilities take, about
_LOOK = 0.1  # standard deviations that the mean may still move where a look is enough, ...
_SOME = 20.0  # voters, up to which that is; of more, less
_ROUGHLY = 0.03  # ... where rough probabilities are left, and ...
_SMALL = 3e-3  # ... where exact ones are; and of itself that a precision may
_TURNS = {True: 12, False: 60}  # with rough probabilities, and with exact ones
_UNSETTLED = 0.3  # standard deviations that the mean still moved: too far for evidence
_PARTS = 0.05, 1.3  # least and most of the way to where sites lead that is gone in one turn
_GROWTH = 2.0  # times as far as before that may be, at most
_BACK = 4.0  # times less far it is after a step that could not be taken
_LEAST = 1e-9  # of the variance: that of one alternative apart from a common shift
_FAR_FROM_SURE = 0.9  # of that, up to which matrices have inverses without more ado
_MOST_SURE = 1 - 1e-9  # of what is known to be known from one voter
_AT_ONCE = 4096  # voters
_CELLS = 30_000  # voters × alternatives² up to which it is always done
_FEW = 8.0  # comparisons of each alternative with others: beyond, with more cells, the mode replaces the mean
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
    log_evidence
        The log marginal likelihood of the votes, ``(...)``, up to a constant; NaN where it was not found.
    missing
        How far the mean would still have moved, ``(..., alternative)``, where the search did not arrive; else about 0.
    fell_back
        Whether the mode stands in for a mean that was wanted but could not be found, ``(...)``.
    """

    mean: Array
    precision: Array
    pull: Array | None
    without: Array | None
    log_evidence: Array
    missing: Array
    fell_back: Array

    def shifted(self, by: Array) -> "Moments":
        """Return the same with all truths shifted, by ``(..., alternative)``."""
        without = None if self.without is None else self.without + by[..., None, :]
        return self._replace(mean=self.mean + by, without=without)


class Near(NamedTuple):
    """About what the truths are: mean ``(..., alternative)``, covariance ``(..., alternative, alternative)``."""

    mean: Array
    covariance: Array


class Sites(NamedTuple):
    """What each voter says, as a normal likelihood, and the mean that follows.

    Attributes
    ----------
    mean
        Of the truths, ``(..., alternative)``.
    shift, precision
        r_i and Λ_i, ``(..., voter, alternative)`` and ``(..., voter, alternative, alternative)``.
    without
        The mean without one voter of each ballot, ``(..., voter, alternative)``.
    log_size
        Σ_i of the logarithm of what the normal likelihoods have to be multiplied by, ``(...)``.
    step
        How far the mean would have come last, undamped, and by how much of themselves the precisions of its entries,
        ``(..., 2, alternative)``; the mean in standard deviations of each alternative given the others.
    moved
        The largest of that, ``(...)``.
    part
        How far to go next, ``(...)``, of the way to where the sites lead.
    turn
        How many turns were made.
    """

    mean: Array
    shift: Array
    precision: Array
    without: Array
    log_size: Array
    step: Array
    moved: Array
    part: Array
    turn: Array


class Problem(NamedTuple):
    """What stays the same from turn to turn.

    Attributes
    ----------
    ballots, model
        The votes, and how they come about.
    prior
        The precision matrix of truths and shared errors.
    times
        How many voters each ballot stands for, ``(..., voter, 1)``.
    fixed_shift, fixed_precision
        Of what needs no approximation: values, ``(..., voter, alternative)`` and ``(..., voter, alternative,
        alternative)``.
    strictness
        How many times less far sites may still move than elsewhere, ``(...)``: over many voters, evidence adds that up.
    """

    ballots: Ballots
    model: Model
    prior: Array
    times: Array
    fixed_shift: Array
    fixed_precision: Array
    strictness: Array

    @property
    def lift(self) -> Lift:
        """How voters see truths and shared errors."""
        return self.model.lift

    @classmethod
    def of(cls, ballots: Ballots, model: Model, look: bool) -> "Problem":
        """Return votes of which the values, if there are any, are known."""
        xp = namespace(ballots.counts)
        times = ballots.multiplicity[..., None]
        number = xp.sum(ballots.multiplicity, axis=-1) / _SOME
        strict = xp.clip(number if look else 0 * number, 1, _LOOK / _SMALL)
        prior = model.lifted_precision(ballots.mask)
        return cls(ballots, model, prior, times, *exact_sites(ballots, model), strict)

    def take(self, rows: Array) -> "Problem":
        """Keep some decisions of a flat batch."""
        return Problem(self.ballots.map(lambda x: x[rows]), self.model.take(rows), *(x[rows] for x in self[2:]))

    def total(self, precision: Array) -> Array:
        """Return the precision of truths and shared errors by prior and sites."""
        return self.prior + self.lift.gather_matrix(self.times[..., None] * precision)

    def seen(self, total: Array) -> Array:
        """Return the precision of what each voter sees, ``(..., voter, alternative, alternative)``."""
        if self.lift.weights is None:
            return total[..., None, :, :]
        return inverse(self.lift.see_matrix(inverse(total))[0])

    def without(self, sites: Sites, shift: Array, precision: Array) -> tuple[Array, Array]:
        """Return mean and covariance of what each voter sees without so much of the voter's own."""
        mean = self.lift.see(sites.mean)
        pull = shift - multiply(precision, mean)
        covariance = inverse(self.seen(self.total(sites.precision)) - precision)
        return mean - multiply(covariance, pull), covariance

    def start(self, near: Near | None) -> Sites:
        """Return what values say, and nothing of other votes; or equal shares of what was found near by."""
        xp = namespace(self.prior)
        shift, precision = self.fixed_shift, self.fixed_precision
        if near is not None and self.lift.weights is None:
            whole = inverse(near.covariance)
            rest = multiply(whole, near.mean) - xp.sum(self.times * shift, axis=-2)
            says = xp.any(self.ballots.counts > 0, axis=-1) & ~xp.any(self.fixed_precision != 0, axis=(-2, -1))
            number = xp.sum(xp.where(says, self.times[..., 0], 0), axis=-1, keepdims=True)
            share = xp.where(says & (number > 0), 1 / xp.where(number > 0, number, 1), 0)
            precision = precision + share[..., None, None] * (whole - self.total(precision))[..., None, :, :]
            shift = shift + share[..., None] * rest[..., None, :]
        mean = solve(self.total(precision), self.lift.gather(self.times * shift))
        one = xp.ones(mean.shape[:-1], dtype=mean.dtype)
        step = xp.zeros((*mean.shape[:-1], 2, mean.shape[-1]), dtype=mean.dtype)
        everywhere = xp.broadcast_to(self.lift.see(mean), shift.shape)
        return Sites(mean, shift, precision, everywhere, 0 * one, step, xp.inf * one, one, xp.asarray(0))


def moments(
    ballots: Ballots, model: Model, estimate: Estimate, rough: bool = False, near: Near | None = None
) -> Moments:
    """Find mean and precision of the truths, or the mode where that is all but the same, or wanted.

    Parameters
    ----------
    ballots, model
        The votes, and how they come about.
    estimate
        Whether the mean is wanted, or the mode.
    rough
        Whether a rough idea will do: to a tenth of a standard deviation.
    near
        About what will be found, to start from.
    """
    found = _moments(ballots, model, estimate, rough, near)
    return found if ballots.traits is None else found.shifted(ballots.traits.expected)


def _moments(ballots: Ballots, model: Model, estimate: Estimate, rough: bool, near: Near | None) -> Moments:
    """Do so for truths as they are measured by the model: from where they are expected."""
    fell_back = np.zeros(ballots.mask.shape[:-1], dtype=bool)
    # Values that are mixtures have no normal shape, and of pairs one voter has many that are independent.
    shapeless = ballots.cardinal and model.means.counts is not None
    if estimate == "mean" and not shapeless and ballots.part(Pairs) is None:
        wanted, reached = reach(ballots)
        if possible(wanted & reached):
            return _propagated(ballots, model, rough, near)
        fell_back = wanted
    return _at_mode(ballots, model, fell_back, rough, near)


def with_shared_errors(ballots: Ballots, model: Model) -> tuple[Array, Array]:
    """Return mean and precision of truths and shared errors, ``(..., θ)`` and ``(..., θ, θ)``, for a flat batch.

    Of the truths they are about those of :func:`moments`: by expectation propagation with rough probabilities where
    that is how means are found, else those of the mode.
    """
    top = peak(ballots, model, None)
    if (
        not isinstance(ballots, Ordinal)
        or model.means.counts is not None
        or not np.all(np.logical_and(*reach(ballots)))
    ):
        return top.truth, top.precision
    votes = Problem.of(ballots, model, False)
    sites = settle(votes, votes.start(None), True, _SMALL)
    precision = votes.total(sites.precision)
    sound = np.isfinite(sites.mean).all() and np.isfinite(precision).all() and np.linalg.eigvalsh(precision).min() > 0
    return (sites.mean, precision) if sound else (top.truth, top.precision)


def slope_of_evidence(mean: Array, covariance: Array, model: Model, mask: Array) -> Array:
    """Return the slope of the log-evidence by log(σ/τ), ``(...)``: how much less truths spread than the prior says."""
    xp = namespace(mean)
    prior = model.prior_precision(mask)
    square = xp.sum(mean * multiply(prior, mean), axis=-1) + xp.sum(prior * covariance, axis=(-2, -1))
    return xp.asarray(prior.shape[-1], dtype=square.dtype) - xp.astype(model.free, square.dtype) - square


def reach(ballots: Ballots) -> tuple[Array, Array]:
    """Say for which decisions the mode would not do for the mean, and which are small enough for it, both ``(...)``.

    If each alternative is compared with others often, the posterior is nearly normal around its mode. A ballot
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


def _at_mode(
    ballots: Ballots, model: Model, fell_back: Array, rough: bool = False, near: Near | None = None
) -> Moments:
    """Return mode and curvature there for mean and precision."""
    n, lift = ballots.mask.shape[-1], model.lift
    start = None if near is None or lift.weights is not None else near.mean
    if model.means.counts is not None:  # whose curvatures may have any sign far from the mode
        found = peak(ballots, model, start)
    else:
        shape = (*ballots.mask.shape[:-1], lift.size(n))
        zero = namespace(ballots.counts).zeros(shape, dtype=ballots.counts.dtype)
        found = peak(ballots, model, zero if start is None else start, _LOOK, rough=True)
        if not (rough or (lift.weights is not None and _are_normal(ballots))):  # else the first step has arrived
            found = peak(ballots, model, found.truth)
        if model.means.doubt and not rough:
            found = _higher(found, peak(ballots, model, peak(_capped_at_median(ballots), model, zero).truth))
    truth, precision, missing = found.truth[..., :n], _of_truths(found.precision, n), found.missing[..., :n]
    known = Moments(truth, precision, None, None, found.log_evidence, missing, fell_back)
    return known if lift.weights is None or rough else known._replace(**_voters_part(ballots, model, found))


def _are_normal(ballots: Ballots) -> bool:
    """Say whether votes are values for all that was seen, so that their likelihood is normal."""
    return (
        isinstance(ballots, Values)
        and not is_jax(ballots.counts)
        and bool(np.all(ballots.given == (ballots.counts > 0)))
    )


def _capped_at_median(ballots: Ballots) -> Ballots:
    """Return votes in which nobody has seen more than the median count: where doubt leaves several modes."""
    xp = namespace(ballots.counts)
    median = np.nanmedian(np.where(ballots.counts > 0, ballots.counts, np.nan), axis=(-2, -1), keepdims=True)
    return ballots.with_counts(xp.minimum(ballots.counts, xp.asarray(np.nan_to_num(median, nan=1.0))))


def _higher(one: Peak, other: Peak) -> Peak:
    """Return, of two modes of each decision, that which makes the votes more probable."""
    xp = namespace(one.truth)
    better = other.log_evidence > one.log_evidence
    return Peak(
        *(
            xp.where(better.reshape(*better.shape, *[1] * (x.ndim - better.ndim)), y, x)
            for x, y in zip(one, other, strict=True)
        )
    )


def _voters_part(ballots: Ballots, model: Model, found: Peak) -> dict[str, Array]:
    """Return what each voter adds at the mode, and the means without, where voters share errors."""
    seen = model.lift.see(found.truth)
    each = derivatives(
        ballots.each_voter(), model.lift.facing(seen), model.within(namespace(seen).zeros_like(seen)).means, 2
    )
    pull, own = each.gradient[..., 0, :], -each.curvature[..., 0, :, :]  # type: ignore[index]
    times = ballots.multiplicity[..., None]
    without = _left(model.lift, found.truth, found.precision, times * pull, times[..., None] * own)
    return {"pull": pull, "without": without}


def _propagated(ballots: Ballots, model: Model, rough: bool, near: Near | None) -> Moments:
    """Repeat until all sites agree; where that fails, all is as at the mode."""
    batch = ballots.mask.shape[:-1]
    if is_jax(ballots.counts) or len(batch) == 1:
        return _settled(ballots, model, rough, near)

    def flat(x: Array) -> Array:
        return np.reshape(x, (math.prod(batch), *np.shape(x)[len(batch) :]))

    near = None if near is None else Near(*map(flat, near))
    found = _settled(ballots.map(flat), model.map(flat, batch), rough, near)
    return Moments(*(None if x is None else np.reshape(x, (*batch, *x.shape[1:])) for x in found))


def _settled(ballots: Ballots, model: Model, rough: bool, near: Near | None) -> Moments:
    """Do so for a flat batch."""
    xp = namespace(ballots.counts)
    votes = Problem.of(ballots, model, rough)
    few = ballots.mask.shape[-1] <= FEW
    with stretch(0, _ROUGH_SHARE):
        sites = settle(votes, votes.start(near), True, _LOOK if rough else _SMALL if few else _ROUGHLY)
    if not rough and not few:
        ones = xp.ones_like(sites.part)
        sites = settle(votes, sites._replace(moved=xp.inf * ones, part=ones, turn=xp.asarray(0)), False, _SMALL)
    precision, times = votes.total(sites.precision), votes.times
    values = xp.linalg.eigvalsh(xp.where(xp.isfinite(precision), precision, 0))
    sound = xp.all(xp.isfinite(sites.mean), axis=-1) & xp.all(values > 0, axis=-1) & xp.isfinite(sites.log_size)
    pull = sites.shift - multiply(sites.precision, votes.lift.see(sites.mean))
    left = sites.without
    if votes.lift.weights is not None:
        left = _left(votes.lift, sites.mean, precision, times * pull, times[..., None] * sites.precision)
    elif ballots.part(Values) is not None or possible((times > 0) & (times != 1)):  # what cavities keep goes too
        left = votes.without(sites, times * sites.shift, times[..., None] * sites.precision)[0]
    square = xp.sum(sites.mean * multiply(precision, sites.mean), axis=-1)
    settled = xp.all(xp.abs(sites.step) <= _UNSETTLED, axis=(-2, -1)) & xp.isfinite(sites.moved)
    evidence = xp.where(sound & settled, sites.log_size, xp.nan)
    evidence = evidence + (square - xp.sum(xp.log(xp.abs(values)), axis=-1)) / 2 + model.log_size(ballots.mask)
    missing = xp.abs(sites.step[..., 0, :]) / xp.sqrt(xp.abs(xp.linalg.diagonal(precision)))
    n = ballots.mask.shape[-1]
    found = Moments(sites.mean[..., :n], _of_truths(precision, n), pull, left, evidence, missing[..., :n], ~sound)
    return found if not possible(~sound) else _replaced(found, ballots, model, sound)


def _of_truths(precision: Array, n: int) -> Array:
    """Return the precision of the truths, which come first, whatever the shared errors are."""
    if precision.shape[-1] == n:
        return precision
    xp = namespace(precision)
    aside = precision[..., :n, n:]
    rest = xp.linalg.solve(precision[..., n:, n:], xp.moveaxis(aside, -1, -2))
    return precision[..., :n, :n] - xp.matmul(aside, rest)


def _left(lift: Lift, mean: Array, precision: Array, pull: Array, own: Array) -> Array:
    """Return the mean of the truths without each voter, ``(..., voter, alternative)``, who pulls, with a precision."""
    xp = namespace(mean)
    seen, crossed = lift.see_matrix(inverse(precision))
    rest = xp.eye(own.shape[-1], dtype=own.dtype) - xp.matmul(own, seen)
    moved = xp.matmul(crossed, xp.linalg.solve(rest, pull[..., None]))[..., 0]
    return mean[..., None, : own.shape[-1]] - moved


def _replaced(found: Moments, ballots: Ballots, model: Model, sound: Array) -> Moments:
    """Replace what is no posterior at the end by what Laplace's method says."""
    xp = namespace(sound)
    known = _at_mode(ballots, model, ~sound)
    if known.pull is None:
        known = known._replace(pull=pulls(ballots, model, known), without=means_without(ballots, model, known))

    def chosen(x: Array, other: Array) -> Array:
        return xp.where(sound.reshape(*sound.shape, *[1] * (x.ndim - sound.ndim)), x, other)

    return Moments(*map(chosen, found, known))


def settle(votes: Problem, sites: Sites, rough: bool, small: float) -> Sites:
    """Repeat until all sites agree; decisions that have arrived leave the batch, but for JAX."""
    xp, turns = namespace(sites.mean), _TURNS[rough]
    if is_jax(sites.mean):

        def going(sites: Sites) -> Array:
            return (sites.turn < turns) & ~xp.all(sites.moved <= small)

        return while_loop(going, lambda sites: _turn(votes, sites, rough, small), sites)
    whole, rows, some = [x.copy() for x in sites[:-1]], np.arange(len(sites.mean)), votes
    while len(rows) and sites.turn < turns:
        report(float(sites.turn) / turns)
        sites = _turn(some, sites, rough, small)
        still = ~(sites.moved <= small)
        if still.all() and sites.turn < turns:
            continue
        for old, new in zip(whole, sites[:-1], strict=True):
            old[rows] = new
        rows, kept = rows[still], np.flatnonzero(still)
        some, sites = some.take(kept), Sites._make([*(x[kept] for x in sites[:-1]), sites.turn])
    return Sites._make([*whole, sites.turn])


def exact_sites(ballots: Ballots, model: Model) -> tuple[Array, Array]:
    """Return shifts and precisions of what needs no approximation: values.

    ``(..., voter, alternative)`` and ``(..., voter, alternative, alternative)``.
    """
    xp = namespace(ballots.counts)
    values = ballots.part(Values)
    if values is None:
        return xp.zeros_like(ballots.counts), from_diagonal(xp.zeros_like(ballots.counts))
    precision = xp.where(values.given, model.means.spread(values.counts).precision, 0)
    matrix = from_diagonal(precision)
    if not isinstance(model.means.leniency, float) or model.means.leniency > 0:
        leniency = xp.asarray(model.means.leniency, dtype=precision.dtype)[..., None]
        share = leniency / (1 + leniency * xp.sum(precision, axis=-1))
        matrix = matrix - share[..., None, None] * precision[..., None] * precision[..., None, :]
    return multiply(matrix, xp.where(values.given, values.votes, 0)), matrix


def _turn(votes: Problem, sites: Sites, rough: bool, small: float) -> Sites:
    """Let each voter say anew what the vote tells, given what the others say."""
    xp = namespace(sites.mean)
    # Cavity: one voter out of each ballot.
    shift, precision = sites.shift - votes.fixed_shift, sites.precision - votes.fixed_precision
    once = taken_out(votes, sites, precision)
    mean, covariance = votes.without(sites, once * shift, once[..., None] * precision)
    variance = variances_within(covariance, votes.ballots, xp.any(votes.fixed_precision != 0, axis=(-2, -1)))
    proper, variance = xp.all(variance > 0, axis=-1), xp.abs(variance)
    # Tilted: the exact probability of the vote in the cavity.
    tilted = derivatives(
        votes.ballots.each_voter(), votes.lift.facing(mean), votes.model.within(variance).means, 2, rough
    )
    log, gradient, curvature = tilted.log_prob[..., 0], tilted.gradient[..., 0, :], tilted.curvature[..., 0, :, :]  # type: ignore[index]
    # Sites that match it, damped; one that is no number stays as it was.
    precision, widened = site_precision(curvature, variance)
    ahead = variance * gradient
    shift = gradient + multiply(precision, mean + ahead)
    pull = gradient + multiply(precision, ahead)
    log_size = (
        log
        + xp.sum(mean * (multiply(precision, mean) / 2 - shift), axis=-1)
        + (widened - xp.sum(pull * ahead, axis=-1)) / 2
    )
    fine = proper & xp.all(xp.isfinite(shift), axis=-1) & xp.all(xp.isfinite(precision), axis=(-2, -1))
    shift = xp.where(fine[..., None], shift, sites.shift)
    precision = xp.where(fine[..., None, None], precision, sites.precision)
    part = xp.where(sites.moved <= small, 0, sites.part)
    shift = sites.shift + part[..., None, None] * (shift - sites.shift)
    precision = sites.precision + part[..., None, None, None] * (precision - sites.precision)
    # Decode; a step to what is no posterior is not taken.
    total, before = votes.total(precision), votes.total(sites.precision)
    sound = xp.all(xp.linalg.eigvalsh(xp.where(xp.isfinite(total), total, -1)) > 0, axis=-1)
    new = xp.where(sound[..., None], solve(total, votes.lift.gather(votes.times * shift)), sites.mean)
    shift = xp.where(sound[..., None, None], shift, sites.shift)
    precision = xp.where(sound[..., None, None, None], precision, sites.precision)
    total = xp.where(sound[..., None, None], total, before)
    # See how far mean and precisions would have moved.
    old, own = (xp.linalg.diagonal(x) for x in (before, total))
    gone = xp.where(part > 0, part, 1)[..., None, None]
    step = xp.stack([(new - sites.mean) * xp.sqrt(xp.abs(own)), (own - old) / own], axis=-2) / gone
    step = xp.where((sound & (part > 0))[..., None, None], step, sites.step)
    moved = xp.where(sound, votes.strictness * xp.max(xp.abs(step), axis=(-2, -1)), xp.inf)
    following = xp.where(sound, _next_part(sites, step), xp.maximum(sites.part / _BACK, xp.asarray(_PARTS[0])))
    log_size = xp.sum(votes.times[..., 0] * log_size, axis=-1)
    return Sites(new, shift, precision, mean, log_size, step, moved, following, sites.turn + 1)


def _next_part(sites: Sites, step: Array) -> Array:
    """Return how far to go next: less where sites overshot, more where they crawl (Aitken's relaxation)."""
    xp = namespace(step)
    change = step - sites.step
    along, square = -xp.sum(sites.step * change, axis=(-2, -1)), xp.sum(change**2, axis=(-2, -1))
    known = (sites.turn > 0) & (square > 0) & xp.isfinite(square)
    part = sites.part * xp.minimum(along / xp.where(known, square, 1), xp.asarray(_GROWTH, dtype=step.dtype))
    least, most = (xp.asarray(x, dtype=step.dtype) for x in _PARTS)
    return xp.where(known, xp.clip(part, least, most), sites.part)


def taken_out(votes: Problem, sites: Sites, precision: Array) -> Array:
    """Return how much of each ballot is taken out: one voter, also of a part of one if others say enough without."""
    xp = namespace(precision)
    times = votes.times
    once = xp.minimum(times, xp.asarray(1, dtype=times.dtype))
    fractional = (times > 0) & (times < 1)
    if is_jax(precision) or not possible(fractional):
        return once
    least = xp.linalg.eigvalsh(votes.seen(votes.total(sites.precision)) - precision)[..., :1]
    return xp.where(fractional & (least > 0), 1, once)


def variances_within(covariance: Array, ballots: Ballots, valued: Array) -> Array:
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


def site_precision(curvature: Array, variance: Array) -> tuple[Array, Array]:
    """Return Λ = −H (1 + D H)⁻¹, and log|1 + D Λ|.

    Λ is what curvature H under the spread of the others, D, says about the truth itself.
    """
    xp = namespace(curvature)
    root = xp.sqrt(variance)
    scaled = -curvature * root[..., None] * root[..., None, :]
    if not is_jax(scaled) and np.max(np.sum(np.abs(scaled), axis=-1), initial=0) < _FAR_FROM_SURE:
        rest = np.eye(scaled.shape[-1]) - scaled
        site = (np.linalg.inv(rest) - np.eye(scaled.shape[-1])) / (root[..., None] * root[..., None, :])
        return site, -np.linalg.slogdet(rest)[1]
    values, vectors = xp.linalg.eigh(xp.where(xp.isfinite(scaled), scaled, 0))  # what is not finite comes out as such
    values = xp.minimum(values, xp.asarray(_MOST_SURE, dtype=values.dtype))
    vectors = vectors / root[..., None]
    site = xp.matmul(vectors * (values / (1 - values))[..., None, :], xp.moveaxis(vectors, -1, -2))
    return xp.where(xp.isfinite(scaled), site, xp.nan), -xp.sum(xp.log1p(-values), axis=-1)
