"""The mode of the exact log-posterior, and what the curvature there says about how sure it is.

State: the truths μ. Encode: each voter's gradient (and curvature) of log P(vote | μ). Tally: their sums. Update: a step
of Newton's method, or of one that learns the curvature on its way. All decisions of a batch go together; those that
have arrived stay where they are.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, is_jax, namespace, while_loop
from veritally.likelihood.votes import Tally, tally
from veritally.model.means import Means
from veritally.votes.ballots import Ballots

_STEPS = 100  # the most
_APPROACH = 12  # of which without curvature, before it is asked for
_GUESSED = 3  # of which with a rough guess of it
_HALVINGS = 30
_NEAR = 1e-2  # standard deviations of the posterior, a step for which gradients are enough
_ALSO = 5.0  # times as far a step may be by a rough guess
_LAST = 1e-4  # and one that Newton's method may end with
_SOUND = 1e-8  # of the change expected: less tells nothing
_FLAT = 1e-12  # of the largest precision: a direction about which nothing is known


class Prior(NamedTuple):
    """Truths are normal around a common mean with precision 1/τ², ``(...)``; 0 for no prior.

    Attributes
    ----------
    precision
        1/τ².
    free
        Whether the common mean is unknown, ``(...)``; else it is 0.
    """

    precision: Array
    free: Array

    def matrix(self, mask: Array) -> Array:
        """Return the precision matrix ``(..., alternative, alternative)``; those outside the mask stand alone."""
        xp = namespace(mask, self.precision)
        dtype = self.precision.dtype
        exists = xp.astype(mask, dtype)
        eye = xp.eye(mask.shape[-1], dtype=dtype)
        precision = self.precision[..., None, None]
        number = xp.maximum(xp.sum(exists, axis=-1), xp.asarray(1, dtype=dtype))[..., None, None]
        common = xp.where(self.free[..., None, None], exists[..., None] * exists[..., None, :] / number, 0)
        return precision * (eye * exists[..., None] - common) + eye * (1 - exists)[..., None]

    def log_density(self, truth: Array, mask: Array) -> Array:
        """Return the log-density up to a constant that does not depend on τ."""
        xp = namespace(truth)
        number = xp.sum(xp.astype(mask, truth.dtype), axis=-1) - xp.astype(self.free, truth.dtype)
        square = xp.sum(truth * applied(self.matrix(mask), truth), axis=-1)
        return number * xp.log(self.precision) / 2 - square / 2


class Peak(NamedTuple):
    """Where the posterior is highest, ``(..., alternative)``, and what is known there.

    Attributes
    ----------
    truth
        The mode; 0 where nothing was seen.
    precision
        Minus the second derivatives of the log-posterior, ``(..., alternative, alternative)``.
    log_evidence
        The log marginal likelihood of the votes by Laplace's method, up to a constant.
    """

    truth: Array
    precision: Array
    log_evidence: Array


class _State(NamedTuple):
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


def mode(ballots: Ballots, means: Means, prior: Prior, start: Array | None = None) -> Array:
    """Return the mode, to about a thousandth of a standard deviation, by gradients alone.

    Parameters
    ----------
    ballots
        Votes of any kind.
    means
        How voters' means spread around the truth.
    prior
        Of the truths.
    start
        Where to begin; by default at 0.
    """
    return _climb(ballots, means, prior, _start(ballots, start), 1, _NEAR, _STEPS).truth


def peak(ballots: Ballots, means: Means, prior: Prior, start: Array | None = None, tolerance: float = 0.0) -> Peak:
    """Climb to the mode: near it by gradients alone, then by Newton's method with the exact curvature.

    Parameters
    ----------
    ballots, means, prior
        As for :func:`mode`.
    start
        Where to begin with Newton's method; by default, where gradients lead.
    tolerance
        How small the last step must be, in standard deviations of the posterior; what is left is about its square.
    """
    tolerance = max(tolerance, _LAST if ballots.counts.dtype.itemsize == 8 else _NEAR)
    if start is None:
        start = _climb(ballots, means, prior, _start(ballots, None), 1, _NEAR, _APPROACH).truth
    state = _climb(ballots, means, prior, _start(ballots, start), 2, tolerance, _STEPS)
    mask = ballots.mask
    evidence = state.likelihood + prior.log_density(state.truth, mask) - _log_determinant(state.precision) / 2
    return Peak(state.truth, state.precision, evidence)


def _start(ballots: Ballots, truth: Array | None) -> _State:
    xp = namespace(ballots.counts)
    zero = xp.zeros(ballots.mask.shape, dtype=ballots.counts.dtype)
    truth = zero if truth is None else truth
    single = xp.zeros(ballots.mask.shape[:-1], dtype=zero.dtype)
    return _State(
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


def _climb(
    ballots: Ballots, means: Means, prior: Prior, state: _State, order: int, tolerance: float, most: int
) -> _State:
    """Climb until the next step is within the tolerance, and take it.

    With ``order`` 2 by Newton's method. With 1, second derivatives are a rough guess at the start, from what votes tell
    about equal truths, and learn from each step how the slope has changed (the update of Broyden, Fletcher, Goldfarb
    and Shanno).
    """
    xp = namespace(ballots.counts)
    mask = ballots.mask
    matrix = prior.matrix(mask)

    def body(state: _State) -> _State:
        told = _still_climbing(ballots, state.trial, means, state.arrived, order)
        value = told.log_likelihood - xp.sum(state.trial * applied(matrix, state.trial), axis=-1) / 2
        margin = xp.finfo(value.dtype).eps * 64 * (1 + xp.abs(value))
        better = (value >= state.value - margin) & ~state.arrived
        slope = xp.where(mask, told.gradient - applied(matrix, state.trial), 0)
        if order > 1:
            precision = matrix - told.curvature
        else:
            guess = matrix + told.information
            learnt = _secant(state.precision, state.trial - state.truth, state.slope - slope)
            precision = xp.where(state.turn < _GUESSED, guess, learnt)
        precision = xp.where(better[..., None, None], precision, state.precision)
        step = xp.where(better[..., None], solve(precision, slope), state.step / 2)
        small = better & xp.all(xp.abs(step) <= tolerance / xp.sqrt(_diagonal(precision)), axis=-1)
        if order == 1:  # what was learnt on the way may be far more than what holds here
            small = small & xp.all(xp.abs(slope) <= _ALSO * tolerance * xp.sqrt(_diagonal(guess)), axis=-1)
        truth = xp.where(better[..., None], state.trial, state.truth)
        halvings = xp.where(better, 0, state.halvings + 1)
        return _State(
            truth=xp.where(small[..., None], truth + step, truth),
            trial=xp.where(state.arrived[..., None], truth, truth + step),
            value=xp.where(better, value, state.value),
            likelihood=xp.where(better, told.log_likelihood, state.likelihood),
            slope=xp.where(better[..., None], slope, state.slope),
            step=step,
            precision=precision,
            arrived=state.arrived | small | (halvings > _HALVINGS),
            halvings=halvings,
            turn=state.turn + 1,
        )

    return while_loop(lambda state: (state.turn < most) & ~xp.all(state.arrived), body, state)


def _secant(precision: Array, step: Array, change: Array) -> Array:
    """Update a matrix so that it takes the step to the change that was seen; it stays positive."""
    xp = namespace(precision)
    seen = xp.sum(step * change, axis=-1)[..., None, None]
    expected = applied(precision, step)
    square = xp.sum(step * expected, axis=-1)[..., None, None]
    sound = (square > 0) & (seen > _SOUND * square)
    new = change[..., None] * change[..., None, :] / xp.where(sound, seen, 1)
    old = expected[..., None] * expected[..., None, :] / xp.where(sound, square, 1)
    return xp.where(sound, precision + new - old, precision)


def _still_climbing(ballots: Ballots, truth: Array, means: Means, arrived: Array, order: int) -> Tally:
    """Tally the decisions that have not arrived; the others are 0. JAX, whose programs have one shape, tallies all."""
    if is_jax(truth) or not np.any(arrived):
        return tally(ballots, truth, means, order)
    depth = arrived.ndim
    rest = np.flatnonzero(~arrived)

    def kept(x: Array) -> Array:
        return np.broadcast_to(x, (*arrived.shape, *x.shape[depth:])).reshape(-1, *x.shape[depth:])[rest]

    sigma = means.sigma
    if np.ndim(sigma) > depth:
        sigma = kept(sigma)
    few = tally(ballots.map(kept), kept(truth), replace(means, sigma=sigma), order)

    def put_back(x: Array) -> Array:
        whole = np.zeros((arrived.size, *x.shape[1:]), dtype=x.dtype)
        whole[rest] = x
        return whole.reshape(*arrived.shape, *x.shape[1:])

    return Tally(*(None if x is None else put_back(x) for x in few))


def solve(matrix: Array, vector: Array) -> Array:
    """Solve a symmetric system, whatever its signs: directions in which nothing is known are left alone."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    size = xp.abs(values)
    known = size > _FLAT * xp.max(size, axis=-1, keepdims=True)
    parts = xp.sum(vectors * vector[..., None], axis=-2)
    return xp.sum(vectors * xp.where(known, parts / xp.where(known, size, 1), 0)[..., None, :], axis=-1)


def _log_determinant(matrix: Array) -> Array:
    xp = namespace(matrix)
    values = xp.abs(xp.linalg.eigh(matrix)[0])
    tiny = xp.asarray(xp.finfo(values.dtype).smallest_normal, dtype=values.dtype)
    return xp.sum(xp.log(xp.maximum(values, tiny)), axis=-1)


def applied(matrix: Array, vector: Array) -> Array:
    """Multiply vectors by matrices, ``(..., alternative, alternative)``."""
    return namespace(matrix).sum(matrix * vector[..., None, :], axis=-1)


def _diagonal(matrix: Array) -> Array:
    xp = namespace(matrix)
    return xp.maximum(xp.abs(xp.linalg.diagonal(matrix)), xp.asarray(xp.finfo(matrix.dtype).smallest_normal))
