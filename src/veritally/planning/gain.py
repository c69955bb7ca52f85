"""What more looks are worth: by how much they are expected to raise the truth of what is chosen.

Before they are made, nobody knows where the means of the truths will be afterwards. They will have moved, by N(0, M),
where M is what the looks take away from the covariance. Whoever then chooses the highest mean gains

    E max_j (m_j + δ_j) − max_j m_j,    δ ~ N(0, M),

which is by how much expected regret falls. Expected regret itself is what perfect knowledge would gain, with the whole
covariance for M. If the best k are chosen, it is the sum of the k highest.
"""

import math

import numpy as np

from veritally.arrays import Array, log_ndtr, ndtr, ndtri
from veritally.inference.linear import root
from veritally.inference.sampling import lattice

DRAWS = 512
_NODES = 24  # of a difference that verdicts are about


def gain_along(mean: Array, slopes: Array, choose: int = 1) -> Array:
    """Return the gain of one number, ``(...)``: the means move along a line, by ``slopes`` times a standard normal.

    The highest of n lines is their upper envelope: each is the highest from where it overtakes the last of those that
    rise less to where the first of those that rise more overtakes it, and the normal density over that stretch is known
    (Frazier, Powell and Dayanik, 2009, find the same stretches one after the other).

    Parameters
    ----------
    mean, slopes
        ``(..., alternative)``; −inf for the mean of what cannot be chosen.
    choose
        How many are chosen; of more than one, by numbers spread evenly over the normal.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> round(float(gain_along(np.array([0.0, 0.0]), np.array([1.0, 0.0]))) * math.sqrt(2 * math.pi), 12)
    1.0
    """
    if choose > 1:
        points = ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
        return gain_of_moves(mean, slopes[..., None, :] * points[:, None], choose)
    lead = mean - np.max(mean, axis=-1, keepdims=True)  # from the highest now
    lead = np.where(np.isfinite(lead), lead, -np.inf)
    first = np.argmax(lead, axis=-1)[..., None]
    rise = slopes - np.take_along_axis(slopes, first, axis=-1)  # beside it
    ahead, more = lead[..., None, :] - lead[..., None], rise[..., None] - rise[..., None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = ahead / more  # where j and k are equal
    start = np.max(np.where(more > 0, meet, -np.inf), axis=-1)
    end = np.min(np.where(more < 0, meet, np.inf), axis=-1)
    order = np.arange(mean.shape[-1])
    beaten = np.any((more == 0) & ((ahead > 0) | ((ahead == 0) & (order < order[:, None]))), axis=-1)
    there = (start < end) & ~beaten & np.isfinite(lead)
    start, end = np.where(there, start, 0), np.where(there, end, 0)
    part = np.where(there, lead, 0) * (ndtr(end) - ndtr(start)) + rise * (_density(start) - _density(end))
    return np.maximum(np.sum(np.where(there, part, 0), axis=-1), 0)


def gain_of_moves(
    mean: Array, moves: Array, choose: int = 1, chances: Array | None = None, truths: Array | None = None
) -> Array:
    """Return the gain of moves of the means, ``(..., move, alternative)``, equally probable or with ``chances``.

    It is measured beside what is chosen now, so that moves that change no choice are worth nothing, however few. Where
    the moves that are found say too much, ``truths`` has those that are to be expected: what is chosen goes by the
    former, and what it is worth by the latter.
    """
    n = mean.shape[-1]
    now = np.argsort(-mean, axis=-1, kind="stable")[..., :choose]
    moved = mean[..., None, :] + moves
    if truths is not None:
        then = np.argsort(-moved, axis=-1, kind="stable")[..., :choose]
        moved = mean[..., None, :] + truths
        most = np.sum(np.take_along_axis(moved, then, -1), -1)
    kept = np.sum(np.take_along_axis(moved, np.broadcast_to(now[..., None, :], (*moved.shape[:-1], choose)), -1), -1)
    if truths is not None:
        best = most
    elif choose == 1:
        best = np.max(moved, axis=-1)
    else:
        best = np.sum(np.partition(moved, n - choose, axis=-1)[..., n - choose :], axis=-1)
    more = best - kept
    return np.mean(more, axis=-1) if chances is None else np.sum(chances * more, axis=-1)


def gain(mean: Array, covariance: Array, choose: int = 1, points: Array | None = None) -> Array:
    """Return the gain of moves with a covariance, ``(..., alternative, alternative)``, by draws spread evenly."""
    points = normals(mean.shape[-1]) if points is None else points
    return gain_of_moves(mean, np.matmul(points, root(covariance)), choose)


def verdicts(mean: Array, variance: Array, noise: Array, number: int) -> tuple[Array, Array]:
    """Return what so many verdicts of two may be: the chance of each number of wins, and the mean that follows.

    Both are ``(..., wins)``. A difference of this ``mean`` and ``variance``, ``(...)``, is judged with the standard
    deviation ``noise`` each time.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    difference = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    won, lost = (log_ndtr(sign * difference / noise[..., None])[..., None, :] for sign in (1, -1))
    wins = np.arange(number + 1)[:, None]
    ways = np.array([math.log(math.comb(number, k)) for k in range(number + 1)])[:, None]
    joint = np.exp(ways + wins * won + (number - wins) * lost) * (weights / np.sum(weights))
    chance = np.sum(joint, axis=-1)
    after = np.sum(joint * difference[..., None, :], axis=-1) / np.maximum(chance, np.finfo(float).tiny)
    return chance, after


def normals(n: int, draws: int = DRAWS, seed: int = 0) -> Array:
    """Return draws of n standard normals that fill the space evenly, each with its opposite, ``(draw, n)``."""
    half = ndtri(lattice(n, seed, draws // 2)).T
    return np.concat([half, -half])


def _density(x: Array) -> Array:
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
