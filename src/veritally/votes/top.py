"""Top choices: each voter's favourite, or favourites where they tie."""

import math
from typing import Any, Self

from veritally.arrays import Array, namespace
from veritally.votes.ballots import Ballots
from veritally.votes.rankings import Ordinal, Rankings, midranks_of
from veritally.votes.validation import Where


class TopChoices(Ordinal):
    """Each voter's share for each alternative, ``(..., voter, alternative)``: 1/k each for k favourites."""

    kind = "top"

    @property
    def tiers(self) -> Array:
        """1 for favourites, 2 for what else was seen."""
        xp = namespace(self.counts)
        tiers = xp.where(self.counts > 0, xp.where(self.votes > 0, 1, 2), 0)
        return xp.astype(tiers, self.counts.dtype)

    @property
    def most_tiers(self) -> int:
        """Favourites and the rest."""
        return 2

    def tied(self) -> Array:
        """Say which voters have several favourites."""
        return namespace(self.votes).max(self.votes, axis=-1) < 1

    def closed_up(self, kept: list[int]) -> Self:
        """Share among the favourites that are left."""
        return self._replace(votes=shared(self.votes > 0, self.votes.dtype))

    def columns(self) -> dict[str, Array]:
        """Return rank 1 for favourites alone."""
        return {"rank": namespace(self.votes).where(self.votes > 0, 1.0, math.nan)}

    @classmethod
    def made_from(cls, ballots: Ballots) -> "TopChoices":
        """Keep each voter's best, tied ones sharing."""
        ranks, *rest = Rankings.made_from(ballots)
        xp = namespace(ranks)
        best = xp.min(xp.where(ranks > 0, ranks, xp.inf), axis=-1, keepdims=True)
        return cls(shared(ranks == best, ranks.dtype), *rest)

    def ranked(self) -> tuple[Array, Array]:
        """Return midranks of two tiers."""
        xp = namespace(self.votes)
        return midranks_of(xp.where(self.votes > 0, 1.0, xp.nan), self.counts), self.counts

    @classmethod
    def read(cls, votes: Array, counts: Array, where: Where) -> tuple[Array, Array]:
        """Take favourites that are marked."""
        return votes, votes

    @classmethod
    def resolved(cls, votes: Array, counts: Array) -> Array:
        """Share each vote among the marked ones."""
        return shared(votes, counts.dtype)


def shared(favourites: Array, dtype: Any) -> Array:
    """Divide one vote equally among the marked alternatives of each voter."""
    xp = namespace(favourites)
    marks = xp.astype(favourites, dtype)
    return marks / xp.maximum(xp.sum(marks, axis=-1, keepdims=True), xp.asarray(1, dtype=dtype))
