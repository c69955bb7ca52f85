"""Links: which alternatives are compared by votes, directly or by way of others."""

import numpy as np

from veritally.arrays import Array, namespace
from veritally.votes.ballots import Ballots


def linked(ballots: Ballots) -> Array:
    """Say which alternatives are linked by voters who compare both, ``(..., alternative, alternative)``."""
    xp = namespace(ballots.counts)
    n = ballots.counts.shape[-1]
    absent = ~(ballots.mask[..., None] & ballots.mask[..., None, :])
    ways = ballots.compared()
    for _ in range(n.bit_length()):
        way = xp.astype(ways, ballots.counts.dtype)
        ways = xp.matmul(way, way) > 0
    return ways | absent | ballots.anchored[..., None, None]


def warnings(ballots: Ballots) -> dict[int, tuple[str, ...]]:
    """Name the alternatives that no votes compare with the largest group of those linked, in decisions by place."""
    ways, mask = np.asarray(linked(ballots)), np.asarray(ballots.mask)
    n = mask.shape[-1]
    found: dict[int, tuple[str, ...]] = {}
    for d in np.flatnonzero(~ways.all(axis=(-2, -1))):
        way, own = ways.reshape(-1, n, n)[d], mask.reshape(-1, n)[d]
        largest = int(np.argmax(np.where(own, np.sum(way & own, axis=-1), 0)))
        names = [f"{{{j}}}" for j in range(n) if own[j] and not way[largest, j]]
        if names:
            apart = ", ".join(names)
            found[int(d)] = (f"no votes compare {apart} with the others, so only the prior does",)
    return found
