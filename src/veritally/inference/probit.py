"""Comparisons of two at a time, by expectation propagation with one number for each: the evidence, and its slopes.

A comparison says that x·θ + o + ε is above 0, where θ are truths and shared errors, normal around 0, and ε is the noise
of the comparison. Its probability given θ is Φ((x·θ + o)/s), so that all sites are along one direction each, and
cavities, tilted moments and the evidence have closed forms (Rasmussen & Williams 2006, section 3.6).

At the fixed point the evidence does not change with the sites, so its slope by what describes a comparison is that of
the comparison's own tilted normaliser, log Φ((x·m + o)/√(s² + x·V x)), with its cavity (m, V) held fixed.
"""

import math
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, log_ndtr
from veritally.progress import report

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_TURNS = 100
_UNDAMPED = 4  # turns; later ones go a part of the way, since sites may overshoot
_PART = 0.6
_SMALL = 1e-6  # standard deviations that a site may still move
_CELLS = 4_000_000  # comparisons × numbers that are worked on at once


class Comparisons(NamedTuple):
    """Comparisons of many decisions, each ``(decision, comparison)``.

    Attributes
    ----------
    design
        x, towards what was preferred, ``(decision, comparison, number)``.
    offset, variance
        o and s².
    times
        How often the comparison was made; 0 for none.
    """

    design: Array
    offset: Array
    variance: Array
    times: Array

    def part(self, rows: slice) -> "Comparisons":
        """Keep some decisions."""
        return Comparisons(*(x[rows] for x in self))


class Sites(NamedTuple):
    """What comparisons say of x·θ, as normal likelihoods exp(ν u − t u²/2): ``(decision, comparison)`` each."""

    precision: Array
    shift: Array

    @classmethod
    def none(cls, comparisons: Comparisons) -> "Sites":
        """Say nothing."""
        return cls(np.zeros_like(comparisons.offset), np.zeros_like(comparisons.offset))


class ProbitEvidence(NamedTuple):
    """What comparisons tell.

    Attributes
    ----------
    log_evidence
        The log-probability of all comparisons, ``(decision,)``.
    design, offset, variance
        Its slopes by what describes each comparison, in the shapes of these.
    sites
        To start from near by.
    converged
        Whether sites agree, ``(decision,)``.
    """

    log_evidence: Array
    design: Array
    offset: Array
    variance: Array
    sites: Sites
    converged: Array


def probit_evidence(comparisons: Comparisons, variance: float, near: Sites | None = None) -> ProbitEvidence:
    """Return the evidence of comparisons, and its slopes, where each number of θ has the same prior ``variance``."""
    decisions, number, width = comparisons.design.shape
    size = max(1, _CELLS // max(1, number * width))
    near = Sites.none(comparisons) if near is None else near
    pieces = []
    for start in range(0, decisions, size):
        rows = slice(start, start + size)
        pieces.append(_evidence(comparisons.part(rows), variance, Sites(*(x[rows] for x in near))))
        report(min(1.0, (start + size) / decisions))
    if len(pieces) == 1:
        return pieces[0]
    sites = Sites(*(np.concat([piece.sites[k] for piece in pieces]) for k in range(2)))
    evidence, design, offset, spread = (np.concat([piece[k] for piece in pieces]) for k in range(4))
    converged = np.concat([piece.converged for piece in pieces])
    return ProbitEvidence(evidence, design, offset, spread, sites, converged)


def _evidence(given: Comparisons, variance: float, sites: Sites) -> ProbitEvidence:
    x, times = given.design, given.times
    once = np.minimum(times, 1)  # of a comparison is taken out at a time
    eye = np.eye(x.shape[-1]) / variance
    t, shift = sites
    for turn in range(_TURNS):
        # Decode: what all sites say of θ.
        precision = np.matmul(np.swapaxes(x * (times * t)[..., None], 1, 2), x) + eye
        covariance = np.linalg.inv(precision)
        mean = np.matmul(covariance, np.matmul(np.swapaxes(x, 1, 2), (times * shift)[..., None]))[..., 0]
        along = np.matmul(x, covariance)  # (decision, comparison, number)
        v, u = np.sum(along * x, axis=-1), np.matmul(x, mean[..., None])[..., 0]
        # Cavity: without one comparison of its kind.
        rest = 1 / (1 - once * t * v)
        v_left, u_left = v * rest, (u - v * once * shift) * rest
        # Tilted: its exact probability in the cavity, and its derivatives by u.
        width = np.sqrt(given.variance + v_left)
        z = (u_left + given.offset) / width
        log = log_ndtr(z)
        first = np.exp(-z * z / 2 - log) / _ROOT_TWO_PI / width
        second = -first * (first + z / width)
        # Sites that match it.
        new_t = -second / (1 + v_left * second)
        new_shift = first + new_t * (u_left + v_left * first)
        moved = np.maximum(np.abs(new_t - t) * v, np.abs(new_shift - shift) * np.sqrt(v)) * (times > 0)
        far = np.max(moved, axis=-1, initial=0)
        if np.max(far, initial=0) < _SMALL:
            break
        part = 1.0 if turn < _UNDAMPED else _PART
        t, shift = t + part * (new_t - t), shift + part * (new_shift - shift)
    stretched = 1 + new_t * v_left
    normalisers = (
        log + (np.log(stretched) + (new_t * u_left**2 - 2 * new_shift * u_left - v_left * new_shift**2) / stretched) / 2
    )
    whole = np.sum(mean * np.matmul(precision, mean[..., None])[..., 0], axis=-1) - np.linalg.slogdet(precision)[1]
    evidence = np.sum(times * normalisers, axis=-1) + (whole - x.shape[-1] * math.log(variance)) / 2
    left = along * rest[..., None]  # the cavity's covariance times x
    mean_left = mean[:, None] - left * (once * (shift - t * u))[..., None]
    bend = first**2 + second
    return ProbitEvidence(
        evidence,
        times[..., None] * (first[..., None] * mean_left + bend[..., None] * left),
        times * first,
        times * bend / 2,
        Sites(t, shift),
        far < 1e-3,
    )
