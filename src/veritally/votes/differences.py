"""Differences: how much better a voter found the second of two alternatives."""

import math

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.layout import Field
from veritally.votes.rankings import midranks_of
from veritally.votes.validation import Where, reject
from veritally.votes.values import Values


class Differences(SingleKind):
    """Differences x_i2 − x_i1, ``(..., voter)``, NaN for blank.

    They are about the first two alternatives; more there can only be as padding, or among votes of other kinds.
    """

    kind = "differences"
    measured = True
    layout = Field(("voter",), math.nan)

    @property
    def given(self) -> Array:
        """Which voters give a difference, ``(..., voter)``."""
        xp = namespace(self.counts)
        return ~xp.isnan(self.votes) & xp.all(self.counts[..., :2] > 0, axis=-1)

    def says_something(self) -> Array:
        """Say which ballots have a difference."""
        return self.given

    def above(self) -> Array:
        """Say whether somebody gives a difference, which links the two both ways."""
        xp = namespace(self.counts)
        n = self.counts.shape[-1]
        first = xp.arange(n) < 2
        some = xp.any(self.given & (self.multiplicity > 0), axis=-1)[..., None, None]
        return some & first[:, None] & first & ~xp.eye(n, dtype=bool)

    def measurements(self) -> tuple[Array, Array]:
        """Return the differences as one column, each counting as one observation of the variance of both means."""
        xp = namespace(self.counts)
        counts = self.counts[..., :2]
        seen = xp.all(counts > 0, axis=-1, keepdims=True)
        harmonic = 1 / xp.sum(1 / xp.where(counts > 0, counts, 1), axis=-1, keepdims=True)
        return self.votes[..., None], xp.where(seen, harmonic, 0)

    def closed_up(self, kept: list[int]) -> "Differences":
        """Turn differences if the two changed places; drop them if one is left out."""
        if kept[:2] == [0, 1]:
            return self
        if kept[:2] == [1, 0]:
            return self._replace(votes=-self.votes)
        if {0, 1} <= set(kept):
            raise InputError("differences are about the first two alternatives; keep these first")
        return self._replace(votes=namespace(self.votes).full_like(self.votes, math.nan))

    @classmethod
    def made_from(cls, ballots: Ballots) -> "Differences":
        """Make differences of values."""
        n = ballots.counts.shape[-1]
        if n != 2:
            raise InputError(f"differences are for two alternatives, and there are {n}")
        values = ballots.coarsened("values")
        assert isinstance(values, Values)
        return cls(values.votes[..., 1] - values.votes[..., 0], values.counts, values.multiplicity, values.mask)

    def ranked(self) -> tuple[Array, Array]:
        """Return the midranks of the two."""
        xp = namespace(self.votes)
        others = xp.full((*self.votes.shape, self.counts.shape[-1] - 2), xp.nan, dtype=self.votes.dtype)
        preference = xp.concat([xp.stack([-self.votes, self.votes], axis=-1), others], axis=-1)
        return midranks_of(preference, self.counts), self.counts

    @classmethod
    def shape_of(cls, votes: Array) -> tuple[int, ...]:
        """Return ``(..., voters, 2)``."""
        return (*votes.shape, 2)

    @classmethod
    def read(cls, votes: Array, counts: Array, where: Where) -> tuple[Array, Array]:
        """Refuse infinite differences; the caller's own array stays the caller's."""
        xp = namespace(votes)
        reject(xp.isinf(votes), "the difference is infinite; differences are finite numbers", where)
        return xp.asarray(votes, copy=True), xp.broadcast_to(~xp.isnan(votes)[..., None], counts.shape)
