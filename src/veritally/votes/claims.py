"""Claims: counts of one voter that exceed those of all others a hundredfold are not taken at their word."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, is_traced, namespace, over_alternatives
from veritally.errors import short
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.mixed import Mixed
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

ABSURD = 100  # times the largest count of all others
_FEWEST = 2  # others with counts, beside whom a claim can be absurd


def believable(profile: Profile) -> tuple[Profile, dict[int, str]]:
    """Take absurd counts for the largest of the others; return the votes, and what to say of which decision.

    Counts of a voter are absurd if the largest is more than a hundred times the largest of all others in that decision,
    and at least two others have counts. Pairs are comparisons, each of which is there, and stay as they are. Decisions
    are known by their place in the flattened batch; where nothing is absurd, the votes are returned as they were given.

    >>> profile = Profile(order=[[*"AB"], [*"AB"], [*"BA"]], counts=[[20, 20], [9, 9], [1e6, 1e6]], voters=[*"uvw"])
    >>> believable(profile)[0].counts.tolist()[2]
    [20.0, 20.0]
    """
    if profile.shape[-2] <= _FEWEST or is_traced(profile.counts) or not _far_apart(profile.ballots):
        return profile, {}
    most = claimed(profile.ballots)
    ordered = np.sort(most, axis=-1)
    first, second = ordered[..., -1], ordered[..., -2]
    absurd = (first / ABSURD > second) & (np.sum(most > 0, axis=-1) > _FEWEST)
    if not absurd.any():
        return profile, {}
    voter = np.argmax(most, axis=-1)
    limit = np.where(absurd[..., None] & (np.arange(most.shape[-1]) == voter[..., None]), second[..., None], np.inf)
    believed = profile.with_ballots(capped(profile.ballots, limit[..., None]))
    sentences = {}
    for index in map(tuple, np.argwhere(absurd)):
        place = int(np.ravel_multi_index(index, absurd.shape)) if index else 0
        names = profile.voter_labels.at(int(index[0]) if index else None)
        sentences[place] = _sentence(short(names[int(voter[index])]), float(first[index]), float(second[index]))
    return believed, sentences


def _far_apart(ballots: Ballots) -> bool:
    """Whether some counts are so large beside others that it has to be looked at whose they are."""
    counts = [np.asarray(part.counts) for part in ballots.parts if not isinstance(part, Pairs)]
    least = min((float(np.min(x, where=x > 0, initial=np.inf)) for x in counts), default=np.inf)
    return sum(float(np.max(x)) for x in counts) > ABSURD * least


def claimed(ballots: Ballots) -> Array:
    """Return the largest count of each voter, ``(..., voter)``; 0 of those who only compared."""
    counts = np.zeros((*ballots.mask.shape[:-1], *ballots.multiplicity.shape[-1:], ballots.mask.shape[-1]))
    for part in ballots.parts:
        counts = counts if isinstance(part, Pairs) else counts + np.asarray(part.counts)
    return np.where(np.asarray(ballots.multiplicity) > 0, over_alternatives(np.maximum, counts), 0)


class Claim(NamedTuple):
    """An absurd claim in one decision: the most that counts are then taken for, and what to say."""

    cap: float
    sentence: str

    def capped(self, profile: Profile) -> Profile:
        """Return the votes with counts up to that."""
        return profile.with_ballots(capped(profile.ballots, np.array(self.cap)))


def claim_of(largest: Sequence[tuple[float, str]], voters: int) -> Claim | None:
    """Return the absurd claim among so many voters, of whom two with the largest counts are known, the largest first.

    >>> claim_of([(1e6, "w"), (20.0, "u")], 3).cap
    20.0
    """
    if voters <= _FEWEST or len(largest) < 2:
        return None
    (first, name), (second, _) = largest[:2]
    return Claim(second, _sentence(short(name), first, second)) if first / ABSURD > second else None


def capped(ballots: Ballots, limit: Array) -> Ballots:
    """Return the same votes with no counts above the limit, ``(..., voter, 1)``, but for pairs."""

    def cut(part: SingleKind) -> SingleKind:
        if isinstance(part, Pairs):
            return part
        xp = namespace(part.counts)
        return part.with_counts(xp.minimum(part.counts, xp.asarray(limit, dtype=part.counts.dtype)))

    return ballots.each_part(cut) if isinstance(ballots, Mixed) else cut(*ballots.parts)


def _sentence(name: str, claimed: float, taken: float) -> str:
    many = f"{claimed:,.0f}" if claimed < 1e12 and math.isclose(claimed, round(claimed)) else f"{claimed:.3g}"
    return (
        f"voter {name} claims up to {many} observations, more than {ABSURD} times as many as anybody else: counted as "
        f"{taken:g}, the most of the others; to use the claim as it is, set cap to none"
    )
