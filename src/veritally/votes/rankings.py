"""Rankings: who was put above whom, ties and blanks allowed."""

import math
import warnings
from abc import abstractmethod
from typing import Self

import numpy as np

from veritally.arrays import Array, midranks, namespace
from veritally.errors import InputWarning
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.layout import Field, somebody_saw
from veritally.votes.validation import Where, reject


class Ordinal(SingleKind):
    """Votes that say nothing but what is better than what."""

    layout = Field(("voter", "alternative"), 0.0)

    @property
    @abstractmethod
    def tiers(self) -> Array:
        """Numbers by which to compare what a voter saw, smaller for better, 0 for unseen."""

    def says_something(self) -> Array:
        """Say which ballots have more than one tier."""
        xp = namespace(self.counts)
        tiers = self.tiers
        return xp.max(tiers, axis=-1) > xp.min(xp.where(tiers > 0, tiers, xp.inf), axis=-1)

    def above(self) -> Array:
        """Say which alternative somebody puts above which."""
        xp = namespace(self.counts)
        tiers, present = self.tiers, (self.multiplicity > 0)[..., None]
        rows = []
        for j in range(tiers.shape[-1]):
            own = tiers[..., j : j + 1]
            rows.append(xp.any((own < tiers) & (own > 0) & present, axis=-2))
        return xp.stack(rows, axis=-2)

    @abstractmethod
    def tied(self) -> Array:
        """Say which voters leave alternatives tied that they could have told apart, ``(..., voter)``."""

    def distinctions(self) -> Array:
        """Return how often ballots tell alternatives apart: the tiers but one, added up."""
        ordered = np.sort(self.tiers, axis=-1)
        number = np.sum(np.diff(ordered, axis=-1, prepend=0) > 0, axis=-1)
        return np.asarray(np.sum(self.multiplicity * np.maximum(number - 1, 0), axis=-1))


class Rankings(Ordinal):
    """Midranks among what each voter saw, ``(..., voter, alternative)``, 0 for unseen."""

    kind = "rankings"

    @property
    def tiers(self) -> Array:
        """The midranks."""
        return self.votes

    def tied(self) -> Array:
        """Say which voters give the same rank twice."""
        xp = namespace(self.votes)
        ranks = xp.sort(self.votes, axis=-1)
        return xp.any((ranks[..., 1:] == ranks[..., :-1]) & (ranks[..., 1:] > 0), axis=-1)

    def closed_up(self, kept: list[int]) -> Self:
        """Close the ranks up over what was left out."""
        xp = namespace(self.votes)
        return self._replace(votes=midranks(xp.where(self.votes > 0, self.votes, xp.nan)))

    def columns(self) -> dict[str, Array]:
        """Return the midranks."""
        return {"rank": namespace(self.votes).where(self.votes > 0, self.votes, math.nan)}

    @classmethod
    def made_from(cls, ballots: Ballots) -> "Rankings":
        """Keep only who was put above whom."""
        ranks, counts = ballots.ranked()
        return cls(ranks, counts, ballots.multiplicity, ballots.mask & somebody_saw(counts, ballots.multiplicity))

    def ranked(self) -> tuple[Array, Array]:
        """Return the midranks as they are."""
        return self.votes, self.counts

    @classmethod
    def read(cls, votes: Array, counts: Array, where: Where) -> tuple[Array, Array]:
        """Turn ranks as users write them (1 the best, 0 or NaN not ranked) into preferences, NaN for blank."""
        xp = namespace(votes)
        if (zeros := _from_zero_on(votes, counts)) is not None:
            warnings.warn(_zeros_sentence(np.asarray(zeros), where), InputWarning, stacklevel=5)
        reject(votes < 0, "the rank is negative; ranks are 1 for the best, 0 for not ranked", where)
        reject(xp.isinf(votes), "the rank is infinite; leave it 0 for not ranked", where)
        preference = xp.where(votes == 0, xp.nan, -votes)
        return preference, ~xp.isnan(preference)

    @classmethod
    def resolved(cls, votes: Array, counts: Array) -> Array:
        """Return midranks of preferences."""
        return midranks_of(votes, counts)


def midranks_of(preference: Array, counts: Array) -> Array:
    """Midranks of ``preference`` (larger is better, NaN for blank) among what each voter saw.

    A blank for a seen alternative stands below everything ranked; an unseen one gets 0.
    """
    xp = namespace(preference)
    below = xp.where(xp.isnan(preference), xp.inf, -preference)
    return midranks(xp.where(counts > 0, below, xp.nan))


def _from_zero_on(ranks: Array, counts: Array) -> Array | None:
    """Return whose ranks look like 0, 1, …, as sorting functions number what they saw.

    None unless those of most voters of a decision do.
    """
    xp = namespace(ranks)
    given = ~xp.isnan(ranks) & (counts > 0)
    if not bool(xp.any(given & (ranks < 1))):
        return None
    number = xp.count_nonzero(given, axis=-1)
    zeros = xp.count_nonzero(given & (ranks == 0), axis=-1)
    next_ = xp.min(xp.where(given & (ranks > 0), ranks, xp.inf), axis=-1)
    first = (zeros == 1) | ((zeros > 1) & (next_ > 1)) | (next_ < 1)  # several 0, or 0.5, where they tie
    last = xp.max(xp.where(given, ranks, 0), axis=-1) == number - 1
    so = first & last & (number > 0)
    many = xp.count_nonzero(so, axis=-1)
    most = (many > 1) & (2 * many > xp.count_nonzero(number > 0, axis=-1)) & (xp.max(number, axis=-1) > 2)
    so = so & most[..., None]
    return so if bool(xp.any(so)) else None


def _zeros_sentence(zeros: Array, where: Where) -> str:
    """Say that ranks may start at 0, and whose do."""
    found = np.argwhere(zeros)
    whose = f"{len(found)} voters, such as {where(tuple(map(int, found[0])))}, rank from 0 on"
    return f"{whose}, which is read as not ranked: add 1 if ranks start at 0, or else leave what is not ranked blank"
