"""Reading ballots: what the universal network is told, and what it sees of each vote."""

from typing import NamedTuple

from veritally.arrays import Array, namespace, ndtri
from veritally.learned.layers import Chain
from veritally.votes.ballots import Ballots


class Setting(NamedTuple):
    """What the rule is told of a decision, all ``(...)`` but the first, ``(..., alternative)``.

    Attributes
    ----------
    log_sigma
        log σ/τ; where that is not told, how it differs between alternatives.
    told
        Whether it is.
    size, replaced
        The size of percentage errors of counts, and the probability of their replacement.
    low, high
        From where to where true counts may lie.
    """

    log_sigma: Array
    told: Array
    size: Array
    replaced: Array
    low: Array
    high: Array


class Reading(NamedTuple):
    """What the network reads on ballots, ``(..., voter, alternative)``.

    Attributes
    ----------
    chain
        Who stands next to whom.
    score
        Normal score of the place, best high.
    place
        The place itself, from 1 to −1.
    length
        How many alternatives the voter ranks, ``(..., voter, 1)``.
    root
        Expected square root of the count; 1 for unseen.
    doubt
        How far the count may be off: the logarithm of its mean over the square of the root.
    times
        How many voters each ballot stands for; none where it compares nothing, ``(..., voter)``.
    """

    chain: Chain
    score: Array
    place: Array
    length: Array
    root: Array
    doubt: Array
    times: Array


def read(ballots: Ballots, setting: Setting) -> Reading:
    """Read rankings."""
    ranks, counts = ballots.votes, ballots.counts
    xp = namespace(counts)
    seen = ranks > 0
    score, length = scored(ranks)
    root, mean = seen_by(ballots, setting)
    return Reading(
        Chain.of(ranks),
        score,
        xp.where(seen, (length + 1 - 2 * ranks) / (length + 1), 0),
        length,
        xp.where(seen, root, 1),
        xp.where(seen, xp.log(mean / root**2), 0),
        ballots.effective_multiplicity,
    )


def scored(ranks: Array) -> tuple[Array, Array]:
    """Return the normal scores of places, best high and 0 for unseen, and how many each voter ranks."""
    xp = namespace(ranks)
    seen = ranks > 0
    length = xp.sum(xp.astype(seen, ranks.dtype), axis=-1, keepdims=True)
    return ndtri(xp.where(seen, (length - ranks + 0.625) / (length + 0.25), 0.5)), length


def seen_by(ballots: Ballots, setting: Setting) -> tuple[Array, Array]:
    """Return the expected square root and mean of true counts; those of 1 where nothing was seen."""
    counts = namespace(ballots.counts).where(ballots.votes > 0, ballots.counts, 1)
    return expected(counts, *(x[..., None, None] for x in setting[2:]))


def expected(counts: Array, size: Array, replaced: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the expected square root and mean of true counts, which are log-uniform where the report allows it."""
    xp = namespace(counts)
    floor = xp.minimum(low, counts)
    ceiling = xp.maximum(high, counts)
    least = xp.maximum(counts / (1 + size), floor)
    most = xp.minimum(counts / xp.maximum(1 - size, xp.asarray(1e-6, dtype=counts.dtype)), ceiling)
    span = xp.log(most / least)
    some = span > 1e-3
    span = xp.where(some, span, 1)
    root = xp.where(some, 2 * (xp.sqrt(most) - xp.sqrt(least)) / span, xp.sqrt(counts))
    mean = xp.where(some, (most - least) / span, counts)
    wide = xp.maximum(high - low, xp.asarray(1e-3, dtype=counts.dtype))
    other = 2 / 3 * ((low + wide) ** 1.5 - low**1.5) / wide
    return root * (1 - replaced) + other * replaced, mean * (1 - replaced) + (low + high) / 2 * replaced
