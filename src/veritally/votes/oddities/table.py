"""The ballots of all decisions in one table, voters known by name."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.votes.profile import Profile
from veritally.votes.values import Values


@dataclass(frozen=True, eq=False)
class BallotTable:
    """Ballots of D decisions by up to m voters on up to n alternatives.

    Attributes
    ----------
    ranks
        Midranks among what each voter saw, ``(decision, voter, alternative)``, 0 for unseen and for ballots that say
        nothing.
    counts
        The harmonic mean of each voter's counts, ``(decision, voter)``: what goes with the variance of means.
    voters
        Who it is, ``(decision, voter)``: a place among ``names``, −1 for nobody.
    names
        The names of all voters.
    values
        Values where votes are such, ``(decision, voter, alternative)``, NaN for blank; else None.
    """

    ranks: Array
    counts: Array
    voters: Array
    names: tuple[Any, ...]
    values: Array | None

    @classmethod
    def of(cls, profile: Profile) -> "BallotTable":
        """Make the table of a profile."""
        shape = (-1, *profile.shape[-2:])
        ballots = profile.ballots
        ranks, counts = (np.asarray(x, dtype=float).reshape(shape) for x in ballots.ranked())
        present = np.asarray(ballots.multiplicity).reshape(shape[:2]) > 0
        ranks = np.where(present[..., None] & (counts > 0), ranks, 0.0)
        distinct = np.max(ranks, axis=-1) > np.min(np.where(ranks > 0, ranks, np.inf), axis=-1)
        seen = ranks > 0
        with np.errstate(over="ignore"):  # of counts beyond all measure
            noise = np.sum(np.where(seen, 1 / np.where(seen, counts, 1), 0), axis=-1)
        mean = np.sum(seen, axis=-1) / np.where(noise > 0, noise, 1)
        names, places = _named(profile, len(ranks))
        part = ballots.part(Values)
        values = None
        if part is not None:
            own = np.asarray(part.votes, dtype=float).reshape(shape)
            values = np.where((np.asarray(part.counts).reshape(shape) > 0) & present[..., None], own, np.nan)
        kept = np.where(distinct[..., None], ranks, 0.0)
        return cls(kept, np.where(distinct, mean, 0.0), np.where(present, places, -1), names, values)

    def part(self, decisions: Array) -> "BallotTable":
        """Return the table of some decisions."""
        values = None if self.values is None else self.values[decisions]
        return BallotTable(self.ranks[decisions], self.counts[decisions], self.voters[decisions], self.names, values)

    @cached_property
    def speaking(self) -> Array:
        """Who puts something above something else, ``(decision, voter)``."""
        return np.asarray(np.max(self.ranks, axis=-1) > 0)


def _named(profile: Profile, decisions: int) -> tuple[tuple[Any, ...], Array]:
    """Return the names of all voters, and the place of each voter of each decision among them."""
    m = profile.shape[-2]
    labels = profile.voter_labels
    if not labels.each:
        return labels.at(), np.broadcast_to(np.arange(m), (decisions, m))
    names = tuple(dict.fromkeys(chain.from_iterable(labels.at())))
    place = {name: i for i, name in enumerate(names)}
    rows = [[place[name] for name in own] + [-1] * (m - len(own)) for own in labels.at()]
    return names, np.asarray(rows, dtype=int)


def orders(ranks: Array) -> tuple[Array, Array]:
    """Say of each pair of alternatives which is above, +1 the first and −1 the second, and whether both were seen.

    Both arrays are ``(..., pair)``; 0 for level ones and for those of which one was not seen.
    """
    first, second = np.triu_indices(ranks.shape[-1], k=1)
    one, other = ranks[..., first], ranks[..., second]
    both = (one > 0) & (other > 0)
    return np.where(both, np.sign(other - one), 0.0), both
