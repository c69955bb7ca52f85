"""Position: voters who prefer what stands first, whatever it is."""

from math import log

import numpy as np

from veritally.arrays import Array

_CHANCE = 0.005  # of naming somebody where all are honest
_STRONG = 0.1  # of comparisons, by which the first place is preferred beyond what the alternatives explain


def position_lovers(first: Array, number: Array, expected: Array | None = None) -> Array:
    """Return which voters prefer one place: +1 the first, −1 the second, 0 neither, ``(voter,)``.

    Parameters
    ----------
    first
        How often each voter preferred the alternative in the first place, half a time for a tie.
    number
        In how many comparisons.
    expected
        How often that would be by the alternatives alone, half of the times unless it is said.

    Notes
    -----
    The probability to be so far from p = expected/number is at most exp(−N KL(f, p)), by Chernoff's bound.

    >>> position_lovers(np.array([28.0, 16.0, 2.0]), np.array([30.0, 30.0, 30.0])).tolist()
    [1, 0, -1]
    """
    many = np.maximum(number, 1)
    share = first / many
    by_chance = np.clip(0.5 if expected is None else expected / many, 1e-6, 1 - 1e-6)
    divergence = _times_log(share, share / by_chance) + _times_log(1 - share, (1 - share) / (1 - by_chance))
    asked = max(int(np.sum(number > 0)), 1)
    named = (number > 0) & (number * divergence > log(2 * asked / _CHANCE)) & (np.abs(share - by_chance) > _STRONG)
    return np.where(named, np.sign(share - by_chance), 0).astype(int)


def counted(pairs: Array, positions: Array) -> tuple[Array, Array, Array]:
    """Count by voter how often the first was preferred, comparisons, and how often the first is expected to be.

    Parameters
    ----------
    pairs
        How often each voter preferred the one to the other, ``(..., voter, alternative, alternative)``.
    positions
        How many of these had the preferred one first.

    Notes
    -----
    What is expected goes by how often all voters preferred the one to the other, in whatever order they were shown,
    one vote for each side added: who always sees the better one first is no lover of the first place.
    """
    wins = np.sum(pairs, axis=-3, keepdims=True)
    better = (wins + 1) / (wins + np.swapaxes(wins, -1, -2) + 2)
    shown_first = positions + np.swapaxes(pairs - positions, -1, -2)  # j first, whether it won or lost against k
    both = (-2, -1)
    return np.sum(positions, axis=both), np.sum(pairs, axis=both), np.sum(shown_first * better, axis=both)


def _times_log(x: Array, y: Array) -> Array:
    return np.where(x > 0, x * np.log(np.where(x > 0, y, 1)), 0)
