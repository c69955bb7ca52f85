"""One noise for many decisions: what all of them tell together."""

import math
from dataclasses import replace
from functools import partial
from operator import itemgetter

import numpy as np

from veritally.arrays import Array
from veritally.inference.dispersion import common_dispersion, geometric_mean
from veritally.inference.mixture import grouped
from veritally.inference.noise import (
    Assumptions,
    Unknown,
    kind_of,
    known_sigma,
    look_at,
    some_voters,
    unknown_noise,
)
from veritally.inference.scale import REACH, WEAK, Looks, PooledNoise, look_around, pooled
from veritally.votes.ballots import Ballots

POOLED = 20  # decisions of a kind, from which on their noise is pooled where that is asked
_UNLIKE = 1.5  # standard deviation of the logarithm from which on decisions tell each other nothing: other units, say
TELLING = 256  # of them that tell it


def evenly(number: int, most: int) -> Array:
    """Return the places of so many of a number of things, or of all, evenly spaced in their order.

    >>> evenly(10, 4)
    array([0, 3, 6, 9])
    """
    return np.unique(np.linspace(0, number - 1, min(number, most)).astype(int))


def pool(ballots: Ballots, given: Assumptions) -> dict[str, PooledNoise]:
    """Find one noise for all decisions of a kind, by kind, where there are at least twenty."""
    found, batch = {}, ballots.mask.shape[:-1]
    flat = ballots.map(lambda x: x.reshape(math.prod(batch), *x.shape[len(batch) :]))
    for group in grouped(flat, flat.composition(), cut=not isinstance(given.sigma, tuple)):
        noise = _pool_alike(group.ballots.simplest(), given)
        if noise is not None:
            found[noise.votes] = noise
    return found


def _pool_alike(ballots: Ballots, given: Assumptions) -> PooledNoise | None:
    """Do so for decisions of one kind; None where they are few or too unlike, or nothing is unknown."""
    level = ballots.level()
    ballots = ballots if level is None else ballots.shifted(-level)
    number = len(ballots.mask)
    chosen = evenly(number, TELLING)
    few, kind = some_voters(ballots.map(itemgetter(chosen))), kind_of(ballots)
    sigma, freedom = known_sigma(few, given)
    if number < POOLED or (sigma is not None and given.tau is not None):
        return None
    common: tuple[float, ...] = ()
    usable = np.isfinite(freedom) & (freedom > 0)
    if sigma is not None and np.sum(usable) >= POOLED:
        common = common_dispersion(geometric_mean(sigma, few.mask)[usable], freedom[usable])
        given = replace(given, pooled={kind: PooledNoise(kind, "tau", 0, 0, 0, 0, number, *common)})
        sigma, _ = known_sigma(few, given)
    unknown = unknown_noise(few, given, sigma)
    seen = look_around(partial(look_at, few, given, unknown), WEAK, len(chosen), unknown.middle)
    ends = [float(end(unknown.middle + by)) for end, by in ((np.min, min(REACH[0], -REACH[1])), (np.max, REACH[1]))]
    centre = pooled(partial(_evidence, unknown, seen), *ends)
    if centre[1] > _UNLIKE:
        return None
    return PooledNoise(kind, "sigma" if sigma is None else "tau", *centre, number, *common)


def _evidence(unknown: Unknown, seen: Looks, logarithm: Array) -> Array:
    """Return the log-evidence where log σ, or log τ, is known; level beyond where it was looked at."""
    return seen.evidence(np.clip(unknown.u(logarithm), *REACH))
