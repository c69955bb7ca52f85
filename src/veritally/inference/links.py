"""Links: which alternatives are compared by votes, directly or by way of others."""

from typing import Any

import numpy as np

from veritally.arrays import Array, namespace
from veritally.votes.ballots import Ballots


def compared(ballots: Ballots) -> Array:
    """Say which alternatives are linked by voters who saw both, ``(..., alternative, alternative)``."""
    xp = namespace(ballots.counts)
    n = ballots.counts.shape[-1]
    absent = ~(ballots.mask[..., None] & ballots.mask[..., None, :])
    linked = ballots.compared()
    for _ in range(n.bit_length()):
        way = xp.astype(linked, ballots.counts.dtype)
        linked = xp.matmul(way, way) > 0
    return linked | absent | ballots.anchored[..., None, None]


def broken(ballots: Ballots) -> Array:
    """Say in which decisions no votes compare some alternatives."""
    return ~namespace(ballots.counts).all(compared(ballots), axis=(-2, -1))


def remarks(ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
    """Name the alternatives of a single decision that no votes compare with the largest group of those linked."""
    linked, mask = np.asarray(compared(ballots)), np.asarray(ballots.mask)
    largest = int(np.argmax(np.where(mask, np.sum(linked & mask, axis=-1), 0)))
    apart = [str(name) for j, name in enumerate(names) if mask[j] and not linked[largest, j]]
    if not apart:
        return []
    return [f"no votes compare {', '.join(apart)} with the others: what stands between them is the prior alone"]
