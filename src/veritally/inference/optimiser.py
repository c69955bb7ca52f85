"""The mode of the exact log-posterior, and what the curvature there says about how sure it is.

State: the truths μ. Encode: each voter's gradient (and curvature) of log P(vote | μ). Tally: their sums. Update: a step
of Newton's method, or of one that learns the curvature on its way. All decisions of a batch go together; those that
have arrived stay where they are.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array, is_jax, namespace, while_loop
from veritally.inference.linear import diagonal, log_determinant, multiply, solve
from veritally.likelihood.votes import LikelihoodSums, derivatives, tally
from veritally.model.model import Model
from veritally.votes.ballots import Ballots

NEWTON = 1e-4  # standard deviations of the posterior: a step that Newton's method may end with
_NEAR = 1e-2  # and one that gradients alone may
_NEAR_ENOUGH = 1e-3  # and one that may still be missing where the climb did not end by itself
_ALSO = 5.0  # times as far a step may be by a rough guess
_STEPS = 100  # the most
_APPROACH = 12  # of which without curvature, before it is asked for
_GUESSED = 3  # of which with a rough guess of it
_HALVINGS = 30  # of a step that leads down, before the search along it is given up
_SOUND = 1e-8  # of the change expected: less tells nothing


Tallying: TypeAlias = Callable[[Array, Array, int, bool], LikelihoodSums]
"""Sums over all voters at some truths, of decisions that have not arrived; how many derivatives; whether roughly."""


class Peak(NamedTuple):
    """Where the posterior is highest, ``(..., alternative)``, and what is known there.

    Where voters share errors, these stand behind the truths.

    Attributes
    ----------
    truth
        The mode; 0 where nothing was seen.
    precision
        Minus the second derivatives of the log-posterior, ``(..., alternative, alternative)``.
    log_evidence
        The log marginal likelihood of the votes by Laplace's method, ``(...)``, up to a constant.
    missing
        How far the next step would have led, ``(..., alternative)``, where the climb did not arrive; else 0.
    """

    truth: Array
    precision: Array
    log_evidence: Array
    missing: Array

    @property
    def converged(self) -> Array:
        """Whether the climb arrived, or gave up where rounding hides how little is missing, ``(...)``."""
        xp = namespace(self.truth)
        return xp.all(self.missing * xp.sqrt(diagonal(self.precision)) <= _NEAR_ENOUGH, axis=-1)


class _Climb(NamedTuple):
    """Where the climb is, where it tries to go next, and what it knows there."""

    truth: Array
    trial: Array
    value: Array
    likelihood: Array
    slope: Array
    step: Array
    precision: Array
    arrived: Array
    halvings: Array
    turn: Array


def mode(ballots: Ballots, model: Model) -> Array:
    """Return the mode, to about a thousandth of a standard deviation, by gradients alone."""
    return _climb(partial(_tally_climbing, ballots, model), ballots.mask, model, None, 1, _NEAR, _STEPS).truth


def peak(
    ballots: Ballots, model: Model, start: Array | None = None, tolerance: float = NEWTON, rough: bool = False
) -> Peak:
    """Climb to the mode: near it by gradients alone, then by Newton's method with the exact curvature.

    Parameters
    ----------
    ballots
        Votes of any kind.
    model
        How they come about.
    start
        Where to begin with Newton's method; by default, where gradients lead.
    tolerance
        How small the last step must be, in standard deviations of the posterior; what is left is about its square.
    rough
        Whether rough probabilities and curvatures will do.
    """
    return peak_of(partial(_tally_climbing, ballots, model), ballots.mask, model, start, tolerance, rough)


def peak_of(
    tallying: Tallying,
    mask: Array,
    model: Model,
    start: Array | None = None,
    tolerance: float = NEWTON,
    rough: bool = False,
) -> Peak:
    """Climb so where the votes are somewhere else, known only by their sums; ``mask`` says what somebody saw."""
    if model.precision.dtype.itemsize < 8:
        tolerance = max(tolerance, _NEAR)
    if start is None and model.lift.weights is None:
        start = _climb(tallying, mask, model, None, 1, _NEAR, _APPROACH).truth
    end = _climb(tallying, mask, model, start, 2, tolerance, _STEPS, rough)
    evidence = end.likelihood + model.log_prior(end.truth, mask) - log_determinant(end.precision) / 2
    xp = namespace(end.truth)
    arrived = end.arrived & (end.halvings <= _HALVINGS)
    missing = xp.where(arrived[..., None], 0, xp.abs(end.step) * 2.0 ** end.halvings[..., None])
    return Peak(end.truth, end.precision, evidence, missing)


def _climb(
    tallying: Tallying,
    seen: Array,
    model: Model,
    start: Array | None,
    order: int,
    tolerance: float,
    most: int,
    rough: bool = False,
) -> _Climb:
    """Climb until the next step is within the tolerance, and take it.

    With ``order`` 2 by Newton's method. With 1, second derivatives are a rough guess at the start, from what votes tell
    about equal truths, and learn from each step how the slope has changed (the update of Broyden, Fletcher, Goldfarb
    and Shanno).
    """
    prior = model.lifted_precision(seen)
    xp = namespace(prior)
    mask = xp.concat([seen] * (model.lift.size(seen.shape[-1]) // seen.shape[-1]), axis=-1)

    def turn(now: _Climb) -> _Climb:
        # Value, slope and curvature where the last step led; decisions that have arrived are left out.
        votes = tallying(now.trial, now.arrived, order, rough)
        value = votes.log_likelihood - xp.sum(now.trial * multiply(prior, now.trial), axis=-1) / 2
        slope = xp.where(mask, votes.gradient - multiply(prior, now.trial), 0)
        margin = xp.finfo(value.dtype).eps * 64 * (1 + xp.abs(value))
        better = (value >= now.value - margin) & ~now.arrived
        if order > 1:
            guess = precision = prior - votes.curvature
        else:
            guess = prior + votes.information
            learnt = _secant(now.precision, now.trial - now.truth, now.slope - slope)
            precision = xp.where(now.turn < _GUESSED, guess, learnt)
        # Where it led up, the next step; else half of the last one.
        precision = xp.where(better[..., None, None], precision, now.precision)
        half = xp.where(now.arrived[..., None], now.step, now.step / 2)
        step = xp.where(better[..., None], solve(precision, slope), half)
        halvings = xp.where(better, 0, xp.where(now.arrived, now.halvings, now.halvings + 1))
        # The end: a small step, which is taken, or no way up.
        small = better & xp.all(xp.abs(step) <= tolerance / xp.sqrt(diagonal(precision)), axis=-1)
        if order == 1:  # what was learnt on the way may be far more than what holds here
            small = small & xp.all(xp.abs(slope) <= _ALSO * tolerance * xp.sqrt(diagonal(guess)), axis=-1)
        truth = xp.where(better[..., None], now.trial, now.truth)
        return _Climb(
            truth=xp.where(small[..., None], truth + step, truth),
            trial=xp.where(now.arrived[..., None], truth, truth + step),
            value=xp.where(better, value, now.value),
            likelihood=xp.where(better, votes.log_likelihood, now.likelihood),
            slope=xp.where(better[..., None], slope, now.slope),
            step=step,
            precision=precision,
            arrived=now.arrived | small | (halvings > _HALVINGS),
            halvings=halvings,
            turn=now.turn + 1,
        )

    return while_loop(lambda now: (now.turn < most) & ~xp.all(now.arrived), turn, _foot(mask, prior, start))


def _foot(mask: Array, prior: Array, truth: Array | None) -> _Climb:
    """Return where the climb begins, by default at equal truths."""
    xp = namespace(prior)
    zero = xp.zeros(mask.shape, dtype=prior.dtype)
    truth = zero if truth is None else truth
    single = xp.zeros(mask.shape[:-1], dtype=zero.dtype)
    return _Climb(
        truth=truth,
        trial=truth,
        value=single - xp.inf,
        likelihood=single,
        slope=zero,
        step=zero,
        precision=xp.zeros((*zero.shape, zero.shape[-1]), dtype=zero.dtype),
        arrived=xp.zeros(single.shape, dtype=bool),
        halvings=single,
        turn=xp.asarray(0),
    )


def _secant(precision: Array, step: Array, change: Array) -> Array:
    """Update a matrix so that it takes the step to the change that was seen; it stays positive."""
    xp = namespace(precision)
    seen = xp.sum(step * change, axis=-1)[..., None, None]
    expected = multiply(precision, step)
    square = xp.sum(step * expected, axis=-1)[..., None, None]
    sound = (square > 0) & (seen > _SOUND * square)
    new = change[..., None] * change[..., None, :] / xp.where(sound, seen, 1)
    old = expected[..., None] * expected[..., None, :] / xp.where(sound, square, 1)
    return xp.where(sound, precision + new - old, precision)


def _tally_climbing(
    ballots: Ballots, model: Model, truth: Array, arrived: Array, order: int, rough: bool
) -> LikelihoodSums:
    """Tally the decisions that have not arrived; the others are 0. JAX, whose programs have one shape, tallies all."""
    if is_jax(truth) or not np.any(arrived):
        return tally_at(ballots, truth, model, order, rough)
    depth = arrived.ndim
    rest = np.flatnonzero(~arrived)

    def climbing(x: Array) -> Array:
        return np.broadcast_to(x, (*arrived.shape, *x.shape[depth:])).reshape(-1, *x.shape[depth:])[rest]

    few = tally_at(ballots.map(climbing), climbing(truth), model.map(climbing, arrived.shape), order, rough)

    def put_back(x: Array) -> Array:
        whole = np.zeros((arrived.size, *x.shape[1:]), dtype=x.dtype)
        whole[rest] = x
        return whole.reshape(*arrived.shape, *x.shape[1:])

    return LikelihoodSums(*(None if x is None else put_back(x) for x in few))


def tally_at(ballots: Ballots, theta: Array, model: Model, order: int, rough: bool) -> LikelihoodSums:
    """Tally all votes; where voters share errors, each at what this voter sees, lifted to truths and errors."""
    xp, lift = namespace(theta), model.lift
    if lift.weights is None:
        return tally(ballots, theta, model.means, order, rough)
    seen = lift.see(theta)
    found = derivatives(ballots.each_voter(), lift.facing(seen), model.within(xp.zeros_like(seen)).means, 2, rough)
    times = ballots.multiplicity
    assert found.gradient is not None
    assert found.curvature is not None
    return LikelihoodSums(
        xp.sum(times * found.log_prob[..., 0], axis=-1),
        lift.gather(times[..., None] * found.gradient[..., 0, :]),
        lift.gather_matrix(times[..., None, None] * found.curvature[..., 0, :, :]),
    )
