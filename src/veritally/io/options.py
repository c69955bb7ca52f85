"""What a caller says about votes, where a file or frame leaves it open."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError, quoted
from veritally.votes.ballots import Kind

BallotColumn: TypeAlias = Literal["value", "rank", "top"]
Unranked: TypeAlias = Literal["below", "unknown"]
Form: TypeAlias = Literal["tidy", "wide"]

_KINDS: Mapping[BallotColumn, Kind] = {"value": "values", "rank": "rankings", "top": "top"}


@dataclass(frozen=True)
class Options:
    """The options of ``read``, checked; each form of votes refuses those that say nothing about it.

    With ``apart`` each decision is read as if it stood alone, so that its names have an order of their own. ``order``
    are the alternatives in the order of all rows, and ``words`` the different verdicts in a log of judges, where these
    are read in parts. ``verdicts`` are those that a user says there are.
    """

    ballots: BallotColumn | None = None
    lower_is_better: bool = False
    counts: Any = None
    unranked: Unranked | None = None
    confidence: Mapping[str, float] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False
    verdicts: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        own = self.verdicts
        if own is not None and not (len(set(own)) == len(own) > 1 and all(isinstance(one, str) and one for one in own)):
            raise InputError(f"verdicts takes two or more different words, such as yes and no, not {quoted(list(own))}")
        if self.ballots not in (None, *get_args(BallotColumn)):
            raise InputError(f"ballots can be value, rank or top, not {quoted(self.ballots)}")
        if self.unranked not in (None, *get_args(Unranked)):
            raise InputError(f"unranked can be below or unknown, not {quoted(self.unranked)}")

    @property
    def kind(self) -> Kind | None:
        """The kind of votes that is asked for; None for the finest there is."""
        return None if self.ballots is None else _KINDS[self.ballots]

    def refuse(self, name: str, what: str, *options: str) -> None:
        """Refuse options that say nothing about ``what``."""
        for option in options:
            if getattr(self, option) is not None:
                raise InputError(f"{name}: {option} is not for {what}; leave it out")

    def require_ranks(self, name: str) -> None:
        """Refuse options that only say something about values."""
        if self.lower_is_better:
            raise InputError(f"{name}: lower-is-better is about values; in ranks 1 is the best in any case")
        if self.ballots == "value":
            raise InputError(f"{name}: holds orders and no values; leave ballots out")

    def require_unranked(self, name: str, complete: bool) -> None:
        """Ask what an unranked alternative means, unless there is none."""
        if not complete and self.unranked is None:
            raise InputError(
                f"{name}: some leave alternatives unranked; say that these are below all they rank (unranked below) "
                "or that they have no opinion of them (unranked unknown)"
            )

    def sightings(self, voted: Array) -> Array:
        """Return counts for votes that come without: what was voted on is seen, and so is what stands below it."""
        return np.where(voted | (self.unranked == "below"), 1.0, 0.0)


def words_given(verdicts: Any) -> tuple[str, ...] | None:
    """Return the words that a user says are verdicts, as they stand in a table."""
    if verdicts is None:
        return None
    if isinstance(verdicts, str) or not isinstance(verdicts, Iterable):
        raise InputError(f"verdicts takes a list of words, such as ['yes', 'no'], not {quoted(verdicts)}")
    return tuple(one.strip() if isinstance(one, str) else one for one in verdicts)
