"""Reading ballots: what is given to the universal network, and what it sees of each vote."""

from typing import NamedTuple

from veritally.arrays import Array, namespace, ndtri
from veritally.learned.neighbours import Neighbours
from veritally.votes.ballots import Ballots


class Setting(NamedTuple):
    """What is given of a decision, all ``(...)`` but the first, ``(..., alternative)``.

    Attributes
    ----------
    log_sigma
        log σ/τ; where that is not known, how it differs between alternatives.
    sigma_known
        Whether it is: 1 or 0.
    error_size, replacement
        The size of percentage errors of counts, and the probability of their replacement.
    low, high
        From where to where true counts may lie.
    """

    log_sigma: Array
    sigma_known: Array
    error_size: Array
    replacement: Array
    low: Array
    high: Array


class Reading(NamedTuple):
    """What the network reads on ballots, ``(..., voter, alternative)``.

    Attributes
    ----------
    neighbours
        Who stands next to whom.
    score
        Normal score of the place, best high.
    place
        The place itself, from 1 to −1.
    length
        How many alternatives the voter ranks, ``(..., voter, 1)``.
    root_count
        Expected square root of the count; 1 for unseen.
    count_doubt
        How far the count may be off: the logarithm of its mean over the square of the root.
    multiplicity
        How many voters each ballot stands for; none where it compares nothing, ``(..., voter)``.
    """

    neighbours: Neighbours
    score: Array
    place: Array
    length: Array
    root_count: Array
    count_doubt: Array
    multiplicity: Array


def read(ballots: Ballots, setting: Setting) -> Reading:
    """Read rankings."""
    ranks, counts = ballots.votes, ballots.counts
    xp = namespace(counts)
    seen = ranks > 0
    score, length = place_scores(ranks)
    root, mean = expected_counts(ballots, setting)
    return Reading(
        neighbours=Neighbours.of(ranks),
        score=score,
        place=xp.where(seen, (length + 1 - 2 * ranks) / (length + 1), 0),
        length=length,
        root_count=xp.where(seen, root, 1),
        count_doubt=xp.where(seen, xp.log(mean / root**2), 0),
        multiplicity=ballots.effective_multiplicity,
    )


def place_scores(ranks: Array) -> tuple[Array, Array]:
    """Return the normal scores of places, best high and 0 for unseen, and how many each voter ranks.

    They are Blom's (1958): Φ⁻¹((length − rank + 5/8)/(length + 1/4)), close to the expected order statistics.
    """
    xp = namespace(ranks)
    seen = ranks > 0
    length = xp.sum(xp.astype(seen, ranks.dtype), axis=-1, keepdims=True)
    return ndtri(xp.where(seen, (length - ranks + 0.625) / (length + 0.25), 0.5)), length


def expected_counts(ballots: Ballots, setting: Setting) -> tuple[Array, Array]:
    """Return the expected square root and mean of true counts; those of 1 where nothing was seen."""
    counts = namespace(ballots.counts).where(ballots.votes > 0, ballots.counts, 1)
    return expected_root_and_mean(counts, *(x[..., None, None] for x in setting[2:]))


def expected_root_and_mean(
    counts: Array, error_size: Array, replacement: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Return the expected square root and mean of true counts beside reported ones.

    With percentage errors they are log-uniform where the report allows it; replaced ones are uniform between ``low``
    and ``high``.
    """
    xp = namespace(counts)
    # From where to where a true count may lie if it was not replaced.
    least = xp.maximum(counts / (1 + error_size), xp.minimum(low, counts))
    share = xp.maximum(1 - error_size, xp.asarray(1e-6, dtype=counts.dtype))
    most = xp.minimum(counts / share, xp.maximum(high, counts))
    span = xp.log(most / least)
    vague = span > 1e-3  # below, the report is as good as exact
    span = xp.where(vague, span, 1)
    root = xp.where(vague, 2 * (xp.sqrt(most) - xp.sqrt(least)) / span, xp.sqrt(counts))
    mean = xp.where(vague, (most - least) / span, counts)
    # The mean of √c for c uniform between both ends.
    width = xp.maximum(high - low, xp.asarray(1e-3, dtype=counts.dtype))
    other = 2 / 3 * ((low + width) ** 1.5 - low**1.5) / width
    return root * (1 - replacement) + other * replacement, mean * (1 - replacement) + (low + high) / 2 * replacement
