"""Pairs: how often a voter preferred the one alternative to the other."""

from typing import Any, Self

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.layout import Field
from veritally.votes.rankings import midranks_of
from veritally.votes.validation import Where, numbers, reject


class Pairs(SingleKind):
    """How often a voter preferred j to k, ``(..., voter, alternative, alternative)``, half a time each for a tie.

    Each comparison is one observation of both. Counts are comparisons: those in which an alternative took part. Where
    the order is known in which two were shown, ``positions[..., i, j, k]`` says how many of these had j first.
    """

    kind = "pairs"
    measured = True
    layout = Field(("voter", "alternative", "alternative"), 0.0)

    @property
    def looks(self) -> Array:
        """One observation of each for a comparison."""
        return namespace(self.counts).astype(self.counts > 0, self.counts.dtype)

    def says_something(self) -> Array:
        """Say who compared anything."""
        return namespace(self.votes).any(self.votes > 0, axis=(-2, -1))

    def above(self) -> Array:
        """Say which alternative somebody preferred to which."""
        xp = namespace(self.votes)
        return xp.any((self.votes > 0) & (self.multiplicity > 0)[..., None, None], axis=-3)

    def compared(self) -> Array:
        """Say which alternatives met."""
        xp = namespace(self.votes)
        met = xp.sum(self.votes * self.multiplicity[..., None, None], axis=-3)
        return (met + xp.moveaxis(met, -1, -2) > 0) | xp.eye(self.counts.shape[-1], dtype=bool)

    def closed_up(self, kept: list[int]) -> Self:
        """Count the comparisons that are left."""
        return self._replace(counts=comparisons(self.votes))

    def with_positions(self, positions: Array | None) -> Self:
        """Return the same pairs, of which is known how often the preferred one stood in the first place."""
        return self._replace(positions=positions)

    @classmethod
    def made_from(cls, ballots: Ballots) -> "Pairs":
        """Refuse: nothing is finer."""
        raise InputError(f"{ballots.kind} cannot become pairs: votes can be made coarser, not finer")

    def shares(self) -> Array:
        """Return the share of its comparisons that each alternative won, NaN for none."""
        xp = namespace(self.counts)
        seen = self.counts > 0
        return xp.where(seen, xp.sum(self.votes, axis=-1) / xp.where(seen, self.counts, 1), xp.nan)

    def ranked(self) -> tuple[Array, Array]:
        """Return the midranks of the shares won."""
        return midranks_of(self.shares(), self.counts), self.counts

    @classmethod
    def shape_of(cls, votes: Array) -> tuple[int, ...]:
        """Return ``(..., voters, alternatives)``."""
        return tuple(votes.shape[:-1])

    @classmethod
    def counts_in(cls, votes: Array, exists: Array, where: Where) -> Array:
        """Count the comparisons; require numbers of times, none of an alternative to itself."""
        xp = namespace(votes)
        reject(~xp.isfinite(votes) | (votes < 0), "the number of comparisons must be finite, 0 or more", where)
        itself = votes * xp.eye(votes.shape[-1], dtype=votes.dtype)
        reject(itself > 0, "compared with itself; set this to 0", where)
        counts = comparisons(votes)
        message = "comparisons with an alternative that is not in this decision; set them to 0"
        reject((counts > 0) & ~xp.asarray(exists), message, where)
        return counts

    @classmethod
    def read(cls, votes: Array, counts: Array, where: Where) -> tuple[Array, Array]:
        """Take pairs that are counted; the caller's own array stays the caller's."""
        return namespace(votes).asarray(votes, copy=True), counts > 0


def comparisons(pairs: Array) -> Array:
    """Count the comparisons in which each alternative took part, ``(..., voter, alternative)``."""
    xp = namespace(pairs)
    return xp.sum(pairs, axis=-1) + xp.sum(pairs, axis=-2)


def square(pairs: Any) -> Array:
    """Turn what a user gave as pairs into an array with two alternative axes."""
    made = numbers(pairs, "pairs")
    if made.ndim < 3 or made.shape[-1] != made.shape[-2]:
        raise InputError(
            "pairs say how often each voter preferred the one alternative to the other: give an array (voter, "
            f"alternative, alternative), not the shape {tuple(made.shape)}"
        )
    return made
