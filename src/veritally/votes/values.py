"""Values: each voter's mean observation of each alternative."""

import math

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.layout import Field
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import midranks_of
from veritally.votes.validation import Where, reject

_FAR = 100.0  # times as far from 0 as values are from each other, from which on digits would be lost


class Values(SingleKind):
    """Values x_ij, ``(..., voter, alternative)``, NaN for blank: below all that has a value if it was seen."""

    kind = "values"
    measured = True
    cardinal = True
    layout = Field(("voter", "alternative"), math.nan)

    @property
    def given(self) -> Array:
        """Where there is a value, ``(..., voter, alternative)``."""
        return ~namespace(self.votes).isnan(self.votes) & (self.counts > 0)

    @property
    def blank(self) -> Array:
        """What somebody who votes saw and gave no value, ``(..., voter, alternative)``."""
        return (self.counts > 0) & ~self.given & (self.multiplicity > 0)[..., None]

    @property
    def anchored(self) -> Array:
        """In which decisions somebody gives a value, ``(...)``."""
        xp = namespace(self.counts)
        return xp.any(self.given & (self.multiplicity > 0)[..., None], axis=(-2, -1))

    def says_something(self) -> Array:
        """Say which ballots have a value."""
        return namespace(self.counts).any(self.given, axis=-1)

    def above(self) -> Array:
        """Say which alternative somebody puts above which; those that have values, both ways."""
        xp = namespace(self.counts)
        valued = xp.any(self.given & (self.multiplicity > 0)[..., None], axis=-2)
        both: Array = valued[..., None] & valued[..., None, :]
        return both | self.coarsened("rankings").above()

    def measurements(self) -> tuple[Array, Array]:
        """Return the values and their counts."""
        return self.votes, self.counts

    def level(self) -> Array | None:
        """Return the mean of the values of each decision; None where it is near 0, or in JAX."""
        if is_jax(self.votes):
            return None
        given = self.given
        number = np.maximum(np.sum(given, axis=(-2, -1)), 1)
        mean = np.sum(np.where(given, self.votes, 0), axis=(-2, -1)) / number
        away = np.max(np.where(given, np.abs(self.votes - mean[..., None, None]), 0), axis=(-2, -1))
        far = np.abs(mean) > _FAR * away
        return np.where(far, mean, 0) if np.any(far) else None

    def shifted(self, by: Array) -> "Values":
        """Return the same with all values shifted."""
        return self._replace(votes=self.votes + by[..., None, None])

    def columns(self) -> dict[str, Array]:
        """Return the values."""
        return {"value": namespace(self.counts).where(self.counts > 0, self.votes, math.nan)}

    @classmethod
    def made_from(cls, ballots: Ballots) -> "Values":
        """Make values of pairs: the share of its comparisons that each alternative won."""
        assert isinstance(ballots, Pairs)  # which alone are finer
        return cls(ballots.shares(), ballots.counts, ballots.multiplicity, ballots.mask)

    def ranked(self) -> tuple[Array, Array]:
        """Return the midranks of the values."""
        return midranks_of(self.votes, self.counts), self.counts

    @classmethod
    def read(cls, votes: Array, counts: Array, where: Where) -> tuple[Array, Array]:
        """Refuse infinite values; the caller's own array stays the caller's."""
        xp = namespace(votes)
        reject(xp.isinf(votes), "the value is infinite; values are finite numbers", where)
        return xp.asarray(votes, copy=True), ~xp.isnan(votes)
