"""Description: what a profile holds, and what in it should be checked."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from veritally.errors import quoted, short
from veritally.votes.claims import believable
from veritally.votes.labels import first_few
from veritally.votes.oddities.finding import odd_voters
from veritally.votes.profile import Profile
from veritally.votes.rankings import Ordinal, Rankings
from veritally.votes.values import Values

_ABSURD = 100  # times the median count: worth a second look
_PLAIN = 1e9  # numbers that are written with all their digits
_SHOWN = 5  # names in a sentence
_SHORTEST, _LONGEST = 7, 100  # names, in characters, whose misspellings are looked for: A1 and A2 are none


@dataclass(frozen=True)
class Description:
    """What a profile of votes holds.

    Attributes
    ----------
    decisions
        How many decisions there are.
    voters, alternatives
        The fewest and the most in a decision.
    kind
        The kind of votes.
    ballots
        How many ballots there are of each shape: complete, with ties (or several left blank), partial.
    counts
        The smallest, the median and the largest count of what was seen.
    oddities
        What should be checked, a sentence each.
    multiplicity
        How many voters all ballots stand for.
    groups, items
        Groups of voters, and items that they looked at, in words; None if there are none.
    values
        The range of the values, in words; None if votes are of another kind.
    """

    decisions: int
    voters: tuple[int, int]
    alternatives: tuple[int, int]
    kind: str
    ballots: dict[str, int]
    counts: tuple[float, float, float]
    oddities: tuple[str, ...]
    multiplicity: float
    groups: str | None = None
    items: str | None = None
    values: str | None = None

    @property
    def _standing(self) -> str:
        """Say so where ballots stand for other numbers of voters than one each."""
        number = sum(self.ballots.values())
        return "" if self.multiplicity == number else f"; {number:,} ballots stand for {_number(self.multiplicity)}"

    def lines(self) -> list[tuple[str, str]]:
        """Return labels and texts for people to read."""
        low, median, high = self.counts
        shapes = ", ".join(f"{number:,} {shape}" for shape, number in self.ballots.items() if number)
        counts = (
            f"all {low:g}, so that no voter counts for more than another"
            if low == high
            else f"{low:g} to {high:g}, median {median:g}"
        )
        facts = {"Values": self.values, "Counts": counts, "Groups": self.groups, "Items": self.items}
        return [
            ("Decisions", f"{self.decisions:,}"),
            ("Voters", _span(self.voters) + self._standing),
            ("Alternatives", _span(self.alternatives)),
            ("Votes", f"{self.kind}: {shapes}"),
            *((label, text) for label, text in facts.items() if text is not None),
        ]


@np.errstate(over="ignore")  # of numbers beyond all measure
def describe(profile: Profile) -> Description:
    """Describe one decision or a batch.

    >>> describe(Profile(ranks=[[1, 2, 3], [1, 0, 0]], counts=[[3, 3, 3], [1, 1, 0]])).ballots
    {'complete': 1, 'with ties or several blanks': 0, 'partial': 1, 'empty': 0}
    """
    kind, values = profile.kind, _values(profile)
    found = odd_voters(profile)
    of_voters = [oddity.sentence for oddity in found]
    constant = [name for oddity in found if oddity.what == "constant" for name in oddity.voters]
    profile = profile if isinstance(profile.ballots, Ordinal) else profile.as_rankings()
    singles = profile.unstack() if profile.batch else [profile]
    shapes = dict.fromkeys(("complete", "with ties or several blanks", "partial", "empty"), 0)
    oddities: list[str] = []
    for name, one in zip(profile.decision_names if profile.batch else ("",), singles, strict=True):
        where = f"decision {quoted(name)}: " if profile.batch else ""
        for shape, number in _shapes(one).items():
            shapes[shape] += number
        oddities += [where + oddity for oddity in _oddities(one, constant)]
    seen = np.concat([np.asarray(one.counts)[np.asarray(one.counts) > 0] for one in singles])
    counts = (float(seen.min()), float(np.median(seen)), float(seen.max())) if len(seen) else (0.0, 0.0, 0.0)
    return Description(
        decisions=len(singles),
        voters=_range([one.shape[0] for one in singles]),
        alternatives=_range([one.shape[1] for one in singles]),
        kind=kind,
        ballots=shapes,
        counts=counts,
        oddities=(*oddities, *of_voters),
        multiplicity=sum(float(np.sum(one.multiplicity)) for one in singles),
        groups=_groups(profile),
        items=_items(profile),
        values=values,
    )


def _values(profile: Profile) -> str | None:
    """Say from where to where values go."""
    if not isinstance(profile.ballots, Values):
        return None
    given = np.asarray(profile.values)[np.isfinite(np.asarray(profile.values))]
    return f"{given.min():g} to {given.max():g}" if given.size else None


def _groups(profile: Profile) -> str | None:
    """Say how many groups there are among those who vote, and how large they are."""
    if not profile.groups:
        return None
    labels = profile.voter_labels
    voters = {name for own in labels.at() for name in own} if labels.each else set(labels.at())
    sizes = Counter(group for voter, group in profile.groups.items() if voter in voters)
    if not sizes:
        return None
    members = _span(_range(list(sizes.values())))
    voters_each = f"of {members} voter{'' if members == '1' else 's'}"
    alone = len(voters) - sizes.total()
    return f"{len(sizes):,}, {voters_each}" + (f"; {alone:,} in none" if alone else "")


def _items(profile: Profile) -> str | None:
    """Say at how many items voters looked, how often at each, and what part of the noise belongs to them."""
    items = profile.items
    if items is None:
        return None
    cells = {
        *zip(items.decisions or (None,) * len(items.voters), items.alternatives, items.items.tolist(), strict=True)
    }
    looks = float(items.times.sum())
    text = f"{len(np.unique(items.items)):,}, looked at {looks / len(cells):.3g} times for each alternative on average"
    return text if items.share is None else f"{text}; {items.share:.0%} of the noise of a look comes from the item"


def _shapes(profile: Profile) -> dict[str, int]:
    """Count the ballots of one decision by their shape."""
    counts, mask = np.asarray(profile.counts), np.asarray(profile.ballots.mask)
    seen = counts > 0
    empty = ~seen.any(axis=-1)
    partial = ~empty & (seen.sum(axis=-1) < mask.sum())
    tied = np.asarray(_ordinal(profile).tied())
    whole = ~empty & ~partial
    return {
        "complete": int((whole & ~tied).sum()),
        "with ties or several blanks": int((whole & tied).sum()),
        "partial": int(partial.sum()),
        "empty": int(empty.sum()),
    }


@np.errstate(over="ignore")
def claims(profile: Profile) -> list[str]:
    """Name the voters of a single decision who claim far more than others."""
    counts = np.asarray(profile.counts)
    seen = counts > 0
    if not seen.any() or counts.max() / _ABSURD <= counts[seen].min():
        return []
    median = np.median(counts[seen])
    absurd = [str(profile.voters[i]) for i in np.flatnonzero((counts / _ABSURD > median).any(axis=-1))]
    if not absurd:
        return []
    times = counts.max() / median
    most = f"{times:,.0f}" if times < _PLAIN else f"{times:.2g}"
    several = "voters {} claim" if len(absurd) > 1 else "voter {} claims"
    return [f"{several.format(first_few(absurd, 5))} up to {most} times the median count"]


def _oddities(profile: Profile, constant: Sequence[Hashable]) -> list[str]:
    """Say what should be checked in one decision, except for voters known to give everything the same value."""
    found = [*profile.warnings]
    counts = np.asarray(profile.counts)
    seen = counts > 0
    voters = seen.sum(axis=0)
    for number, words in ((0, "nobody saw {}"), (1, "only one voter saw {}")):
        names = [str(name) for name, saw in zip(profile.alternatives, voters, strict=True) if saw == number]
        if names and len(profile) > 1:
            twins = _twins(names[:_SHOWN], profile.alternatives)
            found.append(words.format(first_few(names, _SHOWN, partial(_with_twin, twins=twins))))
    if len(profile) == 1:
        found.append("there is a single voter")
    found += believable(profile)[1].values() or claims(profile)
    ballots = _ordinal(profile)
    level = (seen.sum(axis=-1) > 1) & ~np.asarray(ballots.says_something())
    level &= ~np.isin(np.array(list(map(str, profile.voters))), list(map(str, constant)))
    if level.any() and isinstance(ballots, Rankings):
        names = [str(profile.voters[i]) for i in np.flatnonzero(level)]
        several = "voters {} rank" if len(names) > 1 else "voter {} ranks"
        what = "everything" if seen[level].all() else "all that they saw"
        found.append(f"{several.format(first_few(names, 5))} {what} equally")
    return found


def _ordinal(profile: Profile) -> Ordinal:
    """Return the rankings or favourites that are described."""
    assert isinstance(profile.ballots, Ordinal)
    return profile.ballots


def _with_twin(name: str, twins: Mapping[str, str]) -> str:
    """Add to a name another one it may be a misspelling of."""
    return short(name) + (f" (another is named {short(twins[name])})" if name in twins else "")


def _twins(names: Sequence[str], others: Iterable[Hashable]) -> dict[str, str]:
    """Return for those of the names that may be misspelt, or have been the model, another one like it."""
    owners: dict[str, list[str]] = {}
    for name in names:
        for slip in _slips(name):
            owners.setdefault(slip, []).append(name)
    twins: dict[str, str] = {}
    for other in map(str, others):
        for name in (name for slip in _slips(other) for name in owners.get(slip, ())):
            if _without_digits(name) != _without_digits(other):  # Paper 1 and Paper 12 are two papers
                twins.setdefault(name, other)
    return twins


def _without_digits(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())


def _slips(name: str) -> set[str]:
    """Return a name and what is left of it without one of its characters; nothing of one too short, or too long.

    Two names have one of these in common if a character was left out, added or changed, or two neighbours swapped. So
    misspellings are found without comparing each name with each other.
    """
    if not _SHORTEST <= len(name) <= _LONGEST:
        return set()
    return {name} | {name[:place] + name[place + 1 :] for place in range(len(name))}


def _range(sizes: list[int]) -> tuple[int, int]:
    return min(sizes), max(sizes)


def _span(sizes: tuple[int, int]) -> str:
    low, high = sizes
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _number(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) and number < _PLAIN else f"{number:g}"
