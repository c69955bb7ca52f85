"""Truths drawn from their exact posterior, given rankings or favourites: Gibbs sampling, interwoven.

Votes that repeat the same order tell where the truths lie by bounds alone, and favourites among many do not tell how
far below the others lie: such posteriors are far from normal. So truths are drawn along with the voters' means, in
turn:

- **Means given truths** are normal between the tiers above and below: every other tier of all ballots at once.
- **Truths given means** are normal.
- **Truths given errors**, which are means less truths: some truths move and take their means along, by as much as the
  prior likes and all ballots allow. What moves is one alternative, or the best k of them together.

The second moves the truths far where there is much noise, the third where there is little (ancillarity–sufficiency
interweaving, Yu & Meng 2011). Decisions share their random numbers, so that what else is in a batch does not matter.
"""

from operator import itemgetter

import numpy as np

from veritally.arrays import Array, ndtr, ndtri
from veritally.inference.cells import Cells, Move, Tiers, laid_out, moves, size
from veritally.inference.linear import inverse
from veritally.model.means import VoterMeans
from veritally.votes.ballots import Ballots
from veritally.votes.rankings import Ordinal

_CHAINS = 32
_FORGOTTEN = 40  # sweeps, until chains no longer know where they began
_KEPT = 100  # sweeps, each after
_BETWEEN = 2  # sweeps
_MOST = 18_000  # cells and pairs of them in one decision: some ten seconds
_AT_ONCE = 4000  # of them, which fit into the memory next to the processor
_STREAM = 13  # of random numbers
_LEAST, _LARGEST = 1e-300, 1 - 1e-16  # of a probability that has a quantile


def sample(
    ballots: Ballots, means: VoterMeans, tau: Array, start: Array, seed: int, besides: Array | None = None
) -> Array | None:
    """Draw truths, ``(draw, decision, alternative)``; None unless all decisions are :func:`within_reach`.

    Parameters
    ----------
    ballots
        Rankings or favourites, ``(decision, voter, alternative)``.
    means
        How voters' means spread.
    tau
        The spread of the truths around 0, ``(decision,)``.
    start
        Truths to begin with, ``(chain, decision, alternative)``, about where they may be.
    seed
        Of the random numbers.
    besides
        What else is known of the truths, as a normal likelihood exp(shift · μ − precision · μ²/2): shifts and
        precisions, ``(2, decision, alternative)``.
    """
    if not isinstance(ballots, Ordinal) or not np.all(within_reach(ballots, means)):
        return None
    known = np.zeros((2, *ballots.mask.shape)) if besides is None else besides
    known = np.stack([known[0], known[1] + tau[:, None] ** -2.0])
    deviation = means.spread(ballots.counts).deviations[0]
    piece, parts = np.cumsum(size(ballots)) // _AT_ONCE, []
    for number in np.unique(piece):
        own = np.flatnonzero(piece == number)
        some, begin = ballots.map(itemgetter(own)), start[:_CHAINS, own]
        cells = laid_out(some, deviation[own])
        steps = moves(cells, some.mask, np.mean(begin, axis=0))
        parts.append(_draws(cells, steps, known[:, own], begin, seed))
    return np.concat(parts, axis=1)


def within_reach(ballots: Ballots, means: VoterMeans) -> Array:
    """Say which decisions are small enough, of whole voters, some of whom say something, with normal means."""
    if not isinstance(ballots, Ordinal) or means.counts is not None:
        return np.zeros(ballots.mask.shape[:-1], dtype=bool)
    number = size(ballots)
    return (number > 0) & (number <= _MOST) & ~np.any(ballots.effective_multiplicity % 1, axis=-1)


def saturation(ballots: Ballots, means: VoterMeans, tau: Array, precision: Array) -> Array:
    """Say how much less is known of some truth than if the means themselves were known, ``(decision,)``.

    It is the variance of a truth, from the mean of all, times the precision that voters' means and prior would give it,
    where that is largest. Near 1 noise hides the rest, and the posterior is nearly normal; where it is large, ballots
    repeat each other, and bounds are all that they tell. ``precision`` is that of the truths, ``(decision, n, n)``.
    """
    exists = ballots.mask.astype(float)
    share = exists / np.maximum(np.sum(exists, axis=-1, keepdims=True), 1)
    centring = np.eye(exists.shape[-1]) - share[:, None, :]
    variance = np.linalg.diagonal(centring @ inverse(precision) @ np.swapaxes(centring, -1, -2))
    times = ballots.effective_multiplicity[..., None]
    complete = tau[:, None] ** -2.0 + np.sum(times * means.spread(ballots.counts).precision, axis=-2)
    return np.max(np.where(ballots.mask, variance * complete / np.maximum(1 - share, 0.5), 1), axis=-1)


def _draws(cells: Cells, steps: list[Move], known: Array, begin: Array, seed: int) -> Array:
    """Draw truths, ``(draw, decision, alternative)``, from shifts and precisions and truths to begin with.

    Inside, arrays are ``(truth, chain)``, ``(cell, chain)`` or ``(truth, 1)``.
    """
    chains, decisions, n = begin.shape
    truth = begin.reshape(chains, -1).T
    shift, precision = known.reshape(2, -1, 1)
    # What cells tell of the truths.
    order = np.argsort(cells.truth, kind="stable")
    seen, start = np.unique(cells.truth[order], return_index=True)
    weight = cells.deviation[order] ** -2.0
    whole = precision.copy()
    whole[seen] += np.add.reduceat(weight, start, axis=0)
    variances = [1 / np.add.reduceat(precision[move.truths], move.first, axis=0) for move in steps]
    # Means that agree with the ballots: the truths of what was seen, in another order.
    x = truth[cells.truth]
    ballot = np.broadcast_to(cells.ballot[:, None], x.shape)
    x = np.take_along_axis(x, np.lexsort((-x, ballot), axis=0), axis=0)
    draws = []
    for sweep in range(_FORGOTTEN + _KEPT * _BETWEEN):
        chance = np.random.default_rng((seed, _STREAM, sweep, 0)).random((np.max(cells.row) + 1, chains))
        centre = truth[cells.truth]
        for tiers, others in ((cells.even, cells.odd), (cells.odd, cells.even)):
            at = tiers.cells
            low, high = _bounds(x, tiers, others)
            x[at] = _between(low, high, centre[at], cells.deviation[at], chance[cells.row[at]])
        chance = np.random.default_rng((seed, _STREAM, sweep, 1)).random((n, 3, chains))
        normal = ndtri(np.clip(chance[:, 2], _LEAST, _LARGEST))
        total = np.repeat(shift, chains, axis=-1)
        total[seen] += np.add.reduceat(weight * x[order], start, axis=0)
        truth = total / whole + np.tile(normal, (decisions, 1)) / np.sqrt(whole)
        error, gap = x - truth[cells.truth], x[cells.upper] - x[cells.lower]
        chance = chance[:, :2].reshape(-1, chains)
        for move, variance in zip(steps, variances, strict=True):
            pull = shift[move.truths] - precision[move.truths] * truth[move.truths]
            step = variance * np.add.reduceat(pull, move.first, axis=0)
            _take(move, truth, gap, step, variance, chance[move.row])
        x = error + truth[cells.truth]
        if sweep >= _FORGOTTEN and sweep % _BETWEEN == 0:
            draws.append(truth.T)
    return np.concat(draws).reshape(-1, decisions, n)


def _take(move: Move, truth: Array, gap: Array, mean: Array, variance: Array, chance: Array) -> None:
    """Let truths move by steps with mean and variance, as far as gaps between means allow; change both in place."""
    room, near = np.full((2 * len(variance), chance.shape[-1]), np.inf), gap[move.pairs]
    if len(near):
        room[move.limit] = np.minimum.reduceat(near, move.start, axis=0)
    step = _between(-room[: len(variance)], room[len(variance) :], mean, np.sqrt(variance), chance)
    truth[move.truths] += step[move.group]
    gap[move.pairs] = near + move.sign * step[move.taker]


def _bounds(x: Array, tiers: Tiers, others: Tiers) -> tuple[Array, Array]:
    """Return what each cell of some tiers lies between, by those of the others."""
    near, none = x[others.cells], np.full((1, x.shape[-1]), np.inf)
    highest = np.concat([np.maximum.reduceat(near, others.start, axis=0), -none])
    lowest = np.concat([np.minimum.reduceat(near, others.start, axis=0), none])
    return highest[tiers.below], lowest[tiers.above]


def _between(low: Array, high: Array, centre: Array, scale: Array, chance: Array) -> Array:
    """Turn uniform random numbers into normal ones between two ends."""
    low, high = (low - centre) / scale, (high - centre) / scale
    upper = low > -high  # on the other side, small probabilities keep their digits
    low, high = np.where(upper, -high, low), np.where(upper, -low, high)
    under = ndtr(low)
    z = ndtri(np.clip(under + chance * (ndtr(high) - under), _LEAST, _LARGEST))
    z = np.minimum(np.maximum(z, low), high)
    return centre + scale * np.where(upper, -z, z)
