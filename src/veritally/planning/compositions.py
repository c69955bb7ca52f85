"""Compositions: how many voters a group has, who of them sees what, and what they report."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array

BALLOTS = ("values", "rankings", "favourites")
_STEPS = (1, 2, 5)  # numbers of voters to try, times powers of ten
MOST_VOTERS = 200  # tried unasked
MOST_NEEDED = 1000  # tried unasked where fewer cannot make all looks
_ROUNDING = 1e-9
_FAMILY = ("family", "families")


@dataclass(frozen=True)
class Composition:
    """A group of voters who share out looks.

    Looks are shared out evenly: every alternative gets as many as any other, and those who see it get equal parts of
    them, as far as whole looks allow.

    Parameters
    ----------
    voters
        How many there are.
    votes
        What they report: ``values``, ``rankings`` or ``favourites``.
    known
        How many alternatives a specialist knows; None for generalists, who all see everything.
    specialists
        The share of the voters who are specialists; the others are generalists.
    elsewhere
        The share of a specialist's looks that goes to alternatives that the specialist does not know.
    families
        The number of families that the voters come from, in turn; None if each voter is a family of their own.

    Examples
    --------
    >>> print(Composition(50, "rankings", known=2, elsewhere=0.5))
    50 voters, specialists in 2, 50% of looks elsewhere, rankings
    """

    voters: int
    votes: str = "values"
    known: int | None = None
    specialists: float = 1.0
    elsewhere: float = 0.0
    families: int | None = None

    @property
    def experience(self) -> str:
        """How looks are spread, in words."""
        if self.known is None:
            return "generalists"
        text = f"specialists in {self.known}"
        if self.specialists < 1:
            text = f"{self.specialists:.0%} {text}, {1 - self.specialists:.0%} generalists"
        return f"{text}, {self.elsewhere:.0%} of looks elsewhere" if self.elsewhere else text

    @property
    def family_count(self) -> int:
        """How many families there are."""
        return self.voters if self.families is None else min(self.families, self.voters)

    @property
    def family_of(self) -> Array:
        """The family of each voter, ``(voter,)``."""
        return np.arange(self.voters) % self.family_count

    def __str__(self) -> str:
        return f"{self.who}, {self.votes}"

    @property
    def who(self) -> str:
        """Who the voters are, in words."""
        families = "" if self.families is None else f" of {self.family_count} {_FAMILY[self.family_count > 1]}"
        if self.known is None:
            return f"{self.voters} {'generalist' if self.voters == 1 else 'generalists'}{families}"
        return f"{self.voters} {'voter' if self.voters == 1 else 'voters'}{families}, {self.experience}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects."""
        return {**asdict(self), "experience": self.experience}

    def counts(self, alternatives: int, looks: int) -> Array | None:
        """Share out looks: counts ``(voter, alternative)``, in the same way each time.

        None if there are too few looks: somebody would see nothing of what they should, or an alternative would be
        seen by nobody.
        """
        m, n, each = self.voters, alternatives, looks // alternatives
        special = 0 if self.known is None else round(m * self.specialists)
        specialist = np.arange(m)[:, None] < special
        expert = np.zeros((m, n), dtype=bool)
        expert[:special] = _who_knows_what(special, n, self.known or 0)
        generalist, other = np.repeat(~specialist, n, axis=1), specialist & ~expert
        # Of the looks at an alternative, generalists get a part, those who know it, and specialists in others.
        share = special / m
        parts = (1 - share, share * (1 - self.elsewhere), share * self.elsewhere)
        ends = np.floor(each * np.cumsum((0, *parts)) + _ROUNDING).astype(int)
        counts = np.zeros((m, n), dtype=int)
        for members, part, total in zip((generalist, expert, other), parts, np.diff(ends), strict=True):
            number = members.sum(axis=0)
            if part and not 1 <= number.min() <= number.max() <= total:
                return None
            for j in np.flatnonzero(part * number):
                counts[members[:, j], j] = even_parts(total, number[j])
        return counts


def even_parts(total: int, parts: int) -> Array:
    """Cut a number into equal parts, as far as whole numbers allow.

    >>> even_parts(10, 4).tolist()
    [2, 3, 2, 3]
    """
    return np.diff(np.arange(parts + 1) * total // max(parts, 1))


def _who_knows_what(specialists: int, alternatives: int, known: int) -> Array:
    """Let each specialist know some alternatives, ``(specialist, alternative)``.

    Each takes those that the fewest know so far, by lot where as many know them, so that all are known equally well and
    are met in many combinations.
    """
    random = np.random.default_rng((alternatives, known))
    knows = np.zeros((specialists, alternatives), dtype=bool)
    for row, lot in zip(knows, random.random((specialists, alternatives)), strict=True):
        row[np.argsort(knows.sum(axis=0) + lot)[:known]] = True
    return knows


def lattice(
    alternatives: int, votes: Sequence[str], voters: Sequence[int], known: Sequence[int], families: Sequence[int | None]
) -> Iterator[Composition]:
    """Yield compositions to try: generalists, specialists of every kind, and mixes."""
    for ballots in votes:
        for number in families:
            for m in voters:
                few = fewer_families(number, m)
                yield Composition(m, ballots, families=few)
                for k in known:
                    if k == 1 and ballots != "values":  # who has seen one alternative has nothing to compare
                        continue
                    yield Composition(m, ballots, k, families=few)
                    if m > 1:
                        yield Composition(m, ballots, k, specialists=0.5, families=few)
                    if 2 * k < alternatives:  # else half of the looks elsewhere is as much as others have, or more
                        yield Composition(m, ballots, k, elsewhere=0.5, families=few)


def fewer_families(families: int | None, voters: int) -> int | None:
    """Return the number of families, None if it leaves each voter a family of their own."""
    return None if families is None or families >= voters else families


def usual_knowledge(alternatives: int) -> tuple[int, ...]:
    """Return how many alternatives specialists may know, unasked.

    >>> usual_knowledge(10), usual_knowledge(2)
    ((1, 2, 3, 5), (1,))
    """
    return tuple(sorted({k for k in (1, 2, 3, alternatives // 2) if k < alternatives}))


def usual_numbers(most: int, needed: int = 1) -> tuple[int, ...]:
    """Return numbers of voters to try, up to ``most``, and no more than are tried unasked.

    Where so many are ``needed`` to make all looks, more are tried, up to the next step, since that number may not
    share them out evenly.

    >>> usual_numbers(30), usual_numbers(1000, needed=334)
    ((1, 2, 5, 10, 20, 30), (1, 2, 5, 10, 20, 50, 100, 200, 334, 500))
    """
    steps = sorted(step * 10**power for power in range(len(str(MOST_NEEDED))) for step in _STEPS)
    limit, more = min(most, MOST_VOTERS), {needed} if needed > MOST_VOTERS else set()
    if more:
        limit = min(most, MOST_NEEDED, next((step for step in steps if step >= needed), MOST_NEEDED))
    return tuple(sorted(m for m in {*steps, limit, *more} if m <= limit))
