"""The most probable parameters of a panel: first by a quasi-Newton method, then with the curvature that scores tell.

The slopes of single decisions, u_d, tell both where to go, Σ w_d u_d, and how curved the log-evidence is, about
Σ w_d u_d u_dᵀ (Berndt, Hall, Hall & Hausman 1974). Their spread around 0 gives standard errors that hold where the
model is wrong (the sandwich).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.panel.evidence import PanelVotes
from veritally.panel.parameters import Layout
from veritally.progress import report

_STEPS = 300
_APPROACH, _APPROACH_INEXACT = 150, 12  # steps in the units of what is expected, where slopes are exact or not
_FIRST, _SCORING = 12, 60  # steps by scoring after these, where slopes are exact or not
_WHOLE, _PART = 1.0, 0.5  # of such a step that is gone: scores may tell half the curvature, and steps then swing
_MEMORY = 30  # steps from which curvature is learned
_FLAT, _NEARLY_FLAT = 0.01, 0.3  # slope at the end, in units in which the curvature is about 1
_REACH = 3.0  # prior standard deviations that one step may go, all numbers together, over the root of how many
_SMALL, _SMALL_INEXACT = 2e-4, 1e-3  # of log-probability that the next step would bring, for each number
_MOST = 500  # parameters whose curvature is found by differences
_DIFFERENCE = 1e-3
_TELLING = 1000  # decisions without answers by which it is found
_ROTATING = 0.2  # curvature, over that of the prior
_LOST = 0.5  # times as far after a step that brought less than nothing
_GROWTH = 1.5  # times as far after one that did not


class Point(NamedTuple):
    """A point of the search.

    Attributes
    ----------
    x
        The parameters.
    value
        The log-probability of votes and parameters, up to a constant.
    slope
        Of it, by the parameters that are learned.
    scores
        Slopes of the log-evidence of each decision, ``(decision, parameter)``.
    log_evidence
        ``(decision,)``.
    near
        Where to start from near by.
    """

    x: Array
    value: float
    slope: Array
    scores: Array
    log_evidence: Array
    near: Any


At: TypeAlias = Callable[[Array, Any], Point]


class Found(NamedTuple):
    """What a search found: parameters, whether it arrived, their covariance, and how probable the votes then are.

    Attributes
    ----------
    x
        The parameters, ``(parameter,)``.
    converged
        Whether the search arrived.
    covariance
        Of the parameters, ``(parameter, parameter)``, 0 for those that are not learned.
    log_evidence
        Of the votes with parameters integrated out, by Laplace's method.
    """

    x: Array
    converged: bool
    covariance: Array
    log_evidence: float


def search(
    votes: PanelVotes,
    layout: Layout,
    start: Array,
    weights: Array,
    expected: Array,
    heard: Callable[[Array, int], None] | None = None,
) -> Found:
    """Climb from ``start``, where the evidence of each decision counts with its weight, ``(decision,)``."""
    free = layout.free
    prior = layout.precision()[np.ix_(free, free)]
    root = np.sqrt(np.diag(prior))

    def at(x: Array, near: Any) -> Point:
        log, table, sites = votes.evidence(layout.unpack(x), near)
        scores = layout.scores(table, votes.facts.members)[:, free]
        away = (x - expected)[free]
        value = float(weights @ log - away @ prior @ away / 2)
        return Point(x, value, weights @ scores - prior @ away, scores, log, sites)

    def curvature(now: Point) -> Array:
        return (now.scores * weights[:, None]).T @ now.scores + prior

    # Far away, the slopes of all decisions point one way and tell no curvature: units are those of the prior.
    near_enough = {"maxiter": _APPROACH} if votes.exact else {"maxiter": _APPROACH_INEXACT, "maxls": 5, "ftol": 1e-5}
    now, _ = _climbed(at(start, None), at, free, np.linalg.cholesky(prior), heard, **near_enough)
    reach, converged = _REACH, False
    turns, part, small = (_FIRST, _WHOLE, _SMALL) if votes.exact else (_SCORING, _PART, _SMALL_INEXACT)
    for turn in range(turns):
        step = np.linalg.solve(curvature(now), now.slope)
        gain = float(now.slope @ step) / 2
        converged = gain < small * len(step)
        if heard is not None:
            heard(now.x, turn)
        if converged:
            break
        length = float(np.sqrt(np.mean((step * root) ** 2)))
        step = step * min(part, reach / length)
        trial = now.x.copy()
        trial[free] += step
        new = at(trial, now.near)
        if not np.isfinite(new.value) or new.value < now.value - max(0.5, 0.05 * abs(gain)):
            reach = min(reach, length) * _LOST
            if reach < 1e-4:
                break
            continue
        now, reach = new, min(_REACH, reach * _GROWTH)
    if votes.exact and not converged:
        now, slope = _climbed(now, at, free, np.linalg.cholesky(curvature(now)), heard, maxiter=_STEPS)
        converged = slope < _NEARLY_FLAT
    away = (now.x - expected)[free]
    covariance = _covariance(now, curvature(now), free, weights, prior)
    return Found(now.x, converged, covariance, _integrated(now, away, prior))


def covariance_at(votes: PanelVotes, layout: Layout, found: Found, weights: Array) -> Array:
    """Return the covariance of the parameters with the curvature by differences of slopes, ``(parameter, parameter)``.

    It is that of other decisions of the kind (the sandwich). Directions in which the curvature is next to nothing are
    those in which shared errors rotate into each other: they change nothing that is reported, and are left out. Of very
    many parameters, the curvature is that of the search.
    """
    free = layout.free
    if not votes.exact:
        return found.covariance
    prior = layout.precision()[np.ix_(free, free)]
    every = layout.scores(votes.evidence(layout.unpack(found.x))[1], votes.facts.members)[:, free]
    spread = (every * weights[:, None] ** 2).T @ every + prior
    if np.count_nonzero(free) > _MOST:
        return _placed(np.linalg.inv((every * weights[:, None]).T @ every + prior), spread, free)
    rows = votes.telling(_TELLING)
    rest = np.count_nonzero(~votes.answered)
    more = np.where(votes.answered, 1.0, max(1.0, rest / _TELLING)) * weights  # each of the others counts for several
    votes, weights = votes.take(rows), more[rows]
    _, table, near = votes.evidence(layout.unpack(found.x))
    scores = layout.scores(table, votes.facts.members)[:, free]
    curvature = prior.copy()
    for row, k in enumerate(np.flatnonzero(free)):
        moved = found.x.copy()
        moved[k] += _DIFFERENCE
        own = layout.scores(votes.evidence(layout.unpack(moved), near)[1], votes.facts.members)[:, free]
        curvature[row] -= weights @ (own - scores) / _DIFFERENCE
        report(row / len(prior))
    # In units in which the curvature of what is expected is 1 all round.
    units = np.linalg.inv(np.linalg.cholesky(prior))
    values, vectors = np.linalg.eigh(units @ (curvature + curvature.T) @ units.T / 2)
    vectors = units.T @ vectors
    inverse = (vectors * np.where(values > _ROTATING, 1 / np.maximum(values, _ROTATING), 0)) @ vectors.T
    return _placed(inverse, spread, free)


def _placed(inverse: Array, spread: Array, free: Array) -> Array:
    """Return the sandwich, with 0 for parameters that are not learned."""
    made = np.zeros((len(free), len(free)))
    made[np.ix_(free, free)] = inverse @ spread @ inverse
    return made


def _climbed(
    now: Point, at: At, free: Array, root: Array, heard: Callable[[Array, int], None] | None, **options: Any
) -> tuple[Point, float]:
    """Climb by a method that learns the curvature on its way, in coordinates in which ``root`` rootᵀ is 1.

    Returns the highest point, and the largest slope where the climb ended.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    best, last = [now], [now]

    def downhill(y: Array) -> tuple[float, Array]:
        x = now.x.copy()
        x[free] += solve_triangular(root, y, lower=True, trans="T")
        last[0] = at(x, last[0].near)
        if last[0].value > best[0].value:
            best[0] = last[0]
        return -last[0].value, -solve_triangular(root, last[0].slope, lower=True)

    def passed(y: Array) -> None:
        if heard is not None:
            heard(best[0].x, 0)

    options = {"maxcor": _MEMORY, "gtol": _FLAT, "ftol": 1e-10} | options
    found = minimize(downhill, np.zeros(len(now.slope)), jac=True, method="L-BFGS-B", callback=passed, options=options)
    return best[0], float(np.max(np.abs(found.jac)))


def _covariance(now: Point, curvature: Array, free: Array, weights: Array, prior: Array) -> Array:
    """Return how parameters vary if other decisions of the kind had been given."""
    spread = (now.scores * weights[:, None] ** 2).T @ now.scores + prior
    return _placed(np.linalg.inv(curvature), spread, free)


def _integrated(now: Point, away: Array, prior: Array) -> float:
    """Return the log-probability of all votes, each decision counted in full, by Laplace's method."""
    value = float(np.sum(now.log_evidence) - away @ prior @ away / 2)
    curvature = now.scores.T @ now.scores + prior
    return value + float(np.linalg.slogdet(prior)[1] - np.linalg.slogdet(curvature)[1]) / 2
