"""What is found odd about voters, as sentences."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from veritally.arrays import is_traced
from veritally.errors import short
from veritally.votes.claims import believable
from veritally.votes.labels import first_few
from veritally.votes.oddities.constant import ConstantScorer, constant_scorers
from veritally.votes.oddities.contradiction import Contradiction, contradictions
from veritally.votes.oddities.copies import Copies, copies
from veritally.votes.oddities.position import counted, position_lovers
from veritally.votes.oddities.table import BallotTable
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

_SHOWN = 5  # names in a sentence
_COPIES_SHOWN = 20  # of copies, for whom a group is to be made

What = Literal["copies", "contradiction", "constant", "position"]


@dataclass(frozen=True)
class Oddity:
    """One thing that is odd about some voters.

    Attributes
    ----------
    what
        ``"copies"``, ``"contradiction"``, ``"constant"`` or ``"position"``.
    voters
        Their names.
    sentence
        The same for people to read, with what to do.
    """

    what: What
    voters: tuple[Hashable, ...]
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        return {"what": self.what, "voters": list(map(str, self.voters)), "sentence": self.sentence}


def odd_voters(profile: Profile, groups: Mapping[Any, str] | None = None) -> tuple[Oddity, ...]:
    """Find voters who copied, contradict all others, or score everything alike, in one decision or many.

    A voter is judged by all decisions together, known by name. Each kind of oddity is found by mistake in fewer than
    one in a hundred profiles of honest voters; voters who agree because they know the truth are not accused. That those
    of a group, as the votes or ``groups`` say, cast the same ballot is not odd.

    >>> profile = Profile(ranks=[[1, 2, 3, 4, 5, 6, 7]] * 3 + [[7, 6, 5, 4, 3, 2, 1]], voters=[*"ABCD"])
    >>> [oddity.what for oddity in odd_voters(profile)]
    ['contradiction']
    """
    if is_traced(profile.counts):
        return ()
    table = BallotTable.of(believable(profile)[0])
    group_of = {**(profile.groups or {}), **(groups or {})}
    found = [_copies(own, table) for own in copies(table) if not _in_one_group(own, table, group_of)]
    found += [_contradiction(own, table) for own in contradictions(table)]
    if constant := constant_scorers(table):
        found.append(_constant(constant, table))
    return (*found, *_positions(profile, table))


def _in_one_group(own: Copies, table: BallotTable, groups: Any) -> bool:
    """Whether these voters are known to belong together."""
    named = {groups.get(table.names[i]) for i in own.voters}
    return len(named) == 1 and None not in named


def _copies(own: Copies, table: BallotTable) -> Oddity:
    names = tuple(table.names[i] for i in own.voters)
    alike = "nearly the same ballot" if own.differing else "the same ballot"
    return Oddity(
        "copies",
        names,
        f"voters {listed(names, _COPIES_SHOWN)} cast {alike}, more alike than the others' votes explain: they may "
        "know more than their counts say, share a source (make them a group) or be copies (leave all but one out)",
    )


def _contradiction(own: Contradiction, table: BallotTable) -> Oddity:
    name = table.names[own.voter]
    return Oddity(
        "contradiction",
        (name,),
        f"voter {short(name)} contradicts the others in {own.differing:,} of {own.pairs:,} pairs, more than a random "
        "voter would: if this voter used the scale the wrong way round, reverse these votes",
    )


def _constant(found: list[ConstantScorer], table: BallotTable) -> Oddity:
    names = tuple(table.names[own.voter] for own in found)
    verb = "gives" if len(names) == 1 else "give"
    return Oddity(
        "constant",
        names,
        f"voter{'s' if len(names) > 1 else ''} {listed(names)} {verb} everything the same value, which says nothing "
        "about what is better: if this was not intended, leave these votes out",
    )


def _positions(profile: Profile, table: BallotTable) -> list[Oddity]:
    """Say who prefers one place, where the order is known in which pairs were shown."""
    part = profile.ballots.part(Pairs)
    if part is None or part.positions is None:
        return []
    who = table.voters.ravel()
    numbers = (np.asarray(x).ravel() for x in counted(np.asarray(part.votes), np.asarray(part.positions)))
    first, number, expected = (np.bincount(who[who >= 0], x[who >= 0], len(table.names)) for x in numbers)
    lovers = position_lovers(first, number, expected)
    found = []
    for side, word in ((1, "first"), (-1, "second")):
        own = np.flatnonzero(lovers == side)
        if not len(own):
            continue
        names = tuple(table.names[i] for i in own)
        preferred = first[own].sum() if side > 0 else (number - first)[own].sum()
        found.append(
            Oddity(
                "position",
                names,
                f"voter{'s' if len(names) > 1 else ''} {listed(names)} preferred the {word} of two in {preferred:,.0f} "
                f"of {number[own].sum():,.0f} comparisons, more than the alternatives explain: show each pair in both "
                "orders, or leave these votes out",
            )
        )
    return found


def listed(names: Sequence[Any], shown: int = _SHOWN) -> str:
    """List names as in "A, B and C", of many the first few."""
    if len(names) > shown or len(names) == 1:
        return first_few(names, shown)
    *most, last = map(short, names)
    return f"{', '.join(most)} and {last}"
