"""The mode of the exact log-posterior, and what the curvature there says about how sure it is.

State: the truths μ. Encode: each voter's gradient (and curvature) of log P(vote | μ). Tally: their sums. Update: a step
of Newton's method. All decisions of a batch go together; those that have arrived stay where they are.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, is_jax, namespace, while_loop
from veritally.ballots import Ballots
from veritally.likelihood.density import Means
from veritally.likelihood.votes import Tally, tally

_STEPS = 100  # the most of Newton's method
_HALVINGS = 30
_FLAT = 1e-12  # of the largest precision: a direction about which nothing is known


class Prior(NamedTuple):
    """Truths are normal around a common mean with precision 1/τ², ``(...)``; 0 for no prior.

    Attributes
    ----------
    precision
        1/τ².
    free
        Whether the common mean is unknown; else it is 0.
    """

    precision: Array
    free: bool

    def matrix(self, mask: Array) -> Array:
        """Return the precision matrix ``(..., alternative, alternative)``; those outside the mask stand alone."""
        xp = namespace(mask, self.precision)
        dtype = self.precision.dtype
        exists = xp.astype(mask, dtype)
        eye = xp.eye(mask.shape[-1], dtype=dtype)
        precision = self.precision[..., None, None]
        matrix = precision * eye * exists[..., None]
        if self.free:
            number = xp.maximum(xp.sum(exists, axis=-1), xp.asarray(1, dtype=dtype))[..., None, None]
            matrix = matrix - precision * exists[..., None] * exists[..., None, :] / number
        return matrix + eye * (1 - exists)[..., None]

    def log_density(self, truth: Array, mask: Array) -> Array:
        """Return the log-density up to a constant that does not depend on τ."""
        xp = namespace(truth)
        number = xp.sum(xp.astype(mask, truth.dtype), axis=-1) - int(self.free)
        square = xp.sum(truth * _times(self.matrix(mask), truth), axis=-1)
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
    arrived
        Whether the steps became negligible.
    """

    truth: Array
    precision: Array
    log_evidence: Array
    arrived: Array


class _State(NamedTuple):
    """Where the climb is, where it tries to go next, and what it knows there."""

    truth: Array
    trial: Array
    value: Array
    likelihood: Array
    step: Array
    precision: Array
    arrived: Array
    halvings: Array
    turn: Array


def peak(ballots: Ballots, means: Means, prior: Prior, start: Array | None = None, tolerance: float = 0.0) -> Peak:
    """Climb to the mode.

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
    tolerance
        When to stop: a step this small, in standard deviations of the posterior; by default as near as numbers go.
    """
    xp = namespace(ballots.counts)
    mask = ballots.mask
    matrix = prior.matrix(mask)
    zero = xp.zeros(mask.shape, dtype=ballots.counts.dtype)
    start = zero if start is None else start
    tolerance = max(tolerance, 1e-9 if zero.dtype.itemsize == 8 else 1e-3)

    state = _State(
        truth=start,
        trial=start,
        value=xp.full(mask.shape[:-1], -xp.inf, dtype=zero.dtype),
        likelihood=xp.zeros(mask.shape[:-1], dtype=zero.dtype),
        step=zero,
        precision=matrix,
        arrived=xp.zeros(mask.shape[:-1], dtype=bool),
        halvings=xp.zeros(mask.shape[:-1], dtype=zero.dtype),
        turn=xp.asarray(0),
    )

    def body(state: _State) -> _State:
        told = _still_climbing(ballots, state.trial, means, state.arrived)
        assert told.gradient is not None
        assert told.curvature is not None
        value = told.log_likelihood - xp.sum(state.trial * _times(matrix, state.trial), axis=-1) / 2
        margin = xp.finfo(value.dtype).eps * 64 * (1 + xp.abs(value))
        better = (value >= state.value - margin) & ~state.arrived
        precision = matrix - told.curvature
        slope = xp.where(mask, told.gradient - _times(matrix, state.trial), 0)
        step = xp.where(better[..., None], solve(precision, slope), state.step / 2)
        small = xp.all(xp.abs(step) <= tolerance / xp.sqrt(_diagonal(precision)), axis=-1)
        truth = xp.where(better[..., None], state.trial, state.truth)
        halvings = xp.where(better, 0, state.halvings + 1)
        arrived = state.arrived | (better & small) | (halvings > _HALVINGS)
        return _State(
            truth=truth,
            trial=xp.where(arrived[..., None], truth, truth + step),
            value=xp.where(better, value, state.value),
            likelihood=xp.where(better, told.log_likelihood, state.likelihood),
            step=step,
            precision=xp.where(better[..., None, None], precision, state.precision),
            arrived=arrived,
            halvings=halvings,
            turn=state.turn + 1,
        )

    state = while_loop(lambda state: (state.turn < _STEPS) & ~xp.all(state.arrived), body, state)
    evidence = state.likelihood + prior.log_density(state.truth, mask) - _log_determinant(state.precision) / 2
    return Peak(state.truth, state.precision, evidence, state.arrived)


def _still_climbing(ballots: Ballots, truth: Array, means: Means, arrived: Array) -> Tally:
    """Tally the decisions that have not arrived; the others are 0. JAX, whose programs have one shape, tallies all."""
    if is_jax(truth) or not np.any(arrived):
        return tally(ballots, truth, means, 2)
    depth = arrived.ndim
    rest = np.flatnonzero(~arrived)

    def kept(x: Array) -> Array:
        return np.broadcast_to(x, (*arrived.shape, *x.shape[depth:])).reshape(-1, *x.shape[depth:])[rest]

    sigma = means.sigma
    if np.ndim(sigma) > depth:
        sigma = kept(sigma)
    few = tally(type(ballots)(*map(kept, ballots)), kept(truth), replace(means, sigma=sigma), 2)
    results = []
    for x in map(np.asarray, few):
        whole = np.zeros((arrived.size, *x.shape[1:]), dtype=x.dtype)
        whole[rest] = x
        results.append(whole.reshape(*arrived.shape, *x.shape[1:]))
    return Tally(*results)


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


def _times(matrix: Array, vector: Array) -> Array:
    return namespace(matrix).sum(matrix * vector[..., None, :], axis=-1)


def _diagonal(matrix: Array) -> Array:
    xp = namespace(matrix)
    return xp.maximum(xp.abs(xp.linalg.diagonal(matrix)), xp.asarray(xp.finfo(matrix.dtype).smallest_normal))
