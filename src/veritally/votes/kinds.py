"""The kinds of votes: one list, from the finest to the coarsest."""

from collections.abc import Iterable

from veritally.errors import InputError, quoted
from veritally.votes.ballots import Ballots, Kind, SomeKind
from veritally.votes.differences import Differences
from veritally.votes.mixed import Mixed
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import Rankings
from veritally.votes.top import TopChoices
from veritally.votes.values import Values

_CLASSES: tuple[type[Ballots], ...] = (Pairs, Values, Differences, Mixed, Rankings, TopChoices)
KINDS: tuple[Kind, ...] = tuple(kind.kind for kind in _CLASSES)
"""The names of the kinds, from the finest to the coarsest; mixed are some of each."""


def kind_named(name: Kind) -> type[Ballots]:
    """Return the kind of a name."""
    try:
        return _CLASSES[KINDS.index(name)]
    except ValueError:
        raise InputError(f"there are no votes of the kind {quoted(name)}; kinds are {', '.join(KINDS)}") from None


def finer(one: type[Ballots], other: type[Ballots]) -> bool:
    """Whether the one kind says more than the other."""
    return _CLASSES.index(one) < _CLASSES.index(other)


def finest_first(kinds: Iterable[type[SomeKind]]) -> list[type[SomeKind]]:
    """Sort kinds, the finest first."""
    return sorted(kinds, key=_CLASSES.index)


def by_kind(ballots: Ballots, kinds: Iterable[Kind | None]) -> dict[Kind | None, Ballots]:
    """Coarsen to each of the kinds, ranking no more than once; None stands for the votes as they are."""
    made: dict[Kind | None, Ballots] = {None: ballots}
    for kind in sorted({kind for kind in kinds if kind}, key=KINDS.index):
        ranked = made.get(Rankings.kind, ballots)
        made[kind] = (ranked if kind == TopChoices.kind else ballots).coarsened(kind)
    return made
