"""Who may look at what, what it costs, and in which blocks it can be bought."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.checks import positive, real, whole
from veritally.errors import InputError, quoted
from veritally.planning.looks import EVERYBODY, NEW, Looks
from veritally.votes.ballots import SingleKind
from veritally.votes.labels import require_known
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile
from veritally.votes.rankings import Ordinal

BLOCKS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
_ROUNDING, _DIGITS = 1e-9, 9
SOMEBODY, ALL, ANYBODY = "somebody new", "everybody", "anybody"
Cost: TypeAlias = float | Mapping[Any, float]


class Look(NamedTuple):
    """Looks that one voter, or several, could make.

    Attributes
    ----------
    voter
        Who looks: a name, ``"somebody new"`` or ``"everybody"``.
    voters
        How many they are.
    alternatives
        At what: one alternative, two that are compared, or all.
    looks
        How many looks it is in all.
    cost
        Of all of them.
    gain
        By how much they lower expected regret, beside what is planned before them.
    times
        How often each of the voters looks at each of the alternatives, or compares the two.
    """

    voter: Any
    voters: int
    alternatives: tuple[Any, ...]
    looks: float
    cost: float
    gain: float
    times: tuple[float, ...]

    @property
    def each(self) -> float:
        """How many looks each of the voters makes."""
        return plain(self.looks / self.voters)

    @property
    def compared(self) -> bool:
        """Whether two alternatives are compared."""
        return len(self.alternatives) == 2 and self.voter != SOMEBODY

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Who looks at what how often, one alternative or comparison a row."""
        who = {"voter": str(self.voter), "voters": self.voters}
        names = list(map(str, self.alternatives))
        if self.compared:
            return [who | {"alternative": names[0], "against": names[1], "looks": self.times[0]}]
        return [who | {"alternative": name, "looks": times} for name, times in zip(names, self.times, strict=True)]

    @property
    def per_cost(self) -> float:
        """The gain for each unit of cost."""
        return self.gain / self.cost


class Used(NamedTuple):
    """What is planned already: looks by voter, by voter and alternative, in all, and what they cost."""

    voters: dict[int, float]
    cells: dict[tuple[int, tuple[int, ...]], float]
    looks: float
    cost: float

    def more(self, one: Looks) -> "Used":
        """Add looks, ``(1, …)``."""
        voter, each = int(one.voter[0]), float(one.number[0] / one.voters[0])
        voters, cells = dict(self.voters), dict(self.cells)
        if voter != NEW:
            cell = voter, _at(one.added[0])
            voters[voter] = voters.get(voter, 0) + each
            cells[cell] = cells.get(cell, 0) + each
        return Used(voters, cells, self.looks + float(one.number[0]), self.cost + float(one.cost[0]))


@dataclass(frozen=True)
class Limits:
    """Who may look at what, what it costs, and how much of it there can be."""

    profile: Profile
    budget: float
    costs: dict[Any, float]
    default: float
    may: frozenset[tuple[int, int]] | None
    newcomers: bool
    newcomer: tuple[float, ...] | None
    per_voter: int | None
    per_pair: float | None
    a_round: int | None
    sizes: Array  # what a look adds to a count, of each voter and, at last, of somebody new

    @classmethod
    def of(
        cls,
        profile: Profile,
        budget: float,
        cost: Cost,
        may: Iterable[tuple[Any, Any]] | None,
        conflicts: Iterable[tuple[Any, Any]],
        newcomers: bool,
        newcomer: Mapping[Any, float] | float | None,
        per_voter: int | None,
        per_pair: float | None,
        a_round: int | None,
        look: float | Literal["usual"],
    ) -> "Limits":
        """Check what a user gave."""
        names, alternatives = list(profile.voters), list(profile.alternatives)
        for name in (SOMEBODY, ALL, ANYBODY):
            if name in names:
                raise InputError(f"a voter is called {quoted(name)}, as plans call others; give the voter another name")
        costs: dict[Any, float] = {}
        if isinstance(cost, Mapping):
            for name in cost.keys() - {SOMEBODY}:
                require_known(name, names, "voter")
            costs = {name: positive(x, f"the cost of a look by {quoted(name)}") for name, x in cost.items()}
        default = 1.0 if isinstance(cost, Mapping) else positive(cost, "the cost of a look")
        who = {x: i for i, x in enumerate(names)} | {SOMEBODY: NEW}
        places = who, {x: j for j, x in enumerate(alternatives)}
        allowed = None if may is None else _cells(may, places, "may")
        refused = _cells(conflicts, places, "conflicts")
        if refused:
            every = frozenset((i, j) for i in who.values() for j in range(len(alternatives)))
            allowed = (every if allowed is None else allowed) - refused
        row: tuple[float, ...] | None = None
        if newcomer is not None:
            if profile.kind == "pairs":
                raise InputError("comparisons are of two, whoever makes them; leave newcomer out")
            if isinstance(newcomer, Mapping):
                for name in newcomer:
                    require_known(name, alternatives, "alternative")
                row = tuple(real(newcomer.get(name, 0), "a newcomer's count", least=0) for name in alternatives)
            else:
                row = (positive(newcomer, "a newcomer's count"),) * len(alternatives)
            if not any(row):
                raise InputError("a newcomer who looks at nothing tells nothing; give counts above 0")
        per_voter = None if per_voter is None else whole(per_voter, "the looks of a voter", least=1)
        per_pair = None if per_pair is None else positive(per_pair, "the looks of a voter at an alternative")
        a_round = None if a_round is None else whole(a_round, "the looks of a round", least=1)
        sizes = _sizes(profile, look)
        return cls(profile, budget, costs, default, allowed, newcomers, row, per_voter, per_pair, a_round, sizes)

    def looks(self, rows: SingleKind) -> Looks:
        """Return all looks that could be made and paid for, in blocks."""
        pairs, ordinal = isinstance(rows, Pairs), isinstance(rows, Ordinal)
        n = rows.counts.shape[-1]
        names, found = list(self.profile.voters), []
        for voter, name in enumerate(names[:1] if self._alike(rows) else names):
            for at in combinations(range(n), 2) if pairs else [(j,) for j in range(n)]:
                if self._may(voter, at):
                    found += self._blocks(voter, 1, _row(at, n), self._cost(name), 1)
        if (
            ordinal and len(names) > 1 and np.all(np.asarray(self.profile.multiplicity) == 1)
        ):  # one alone may change nothing
            for j in range(n):
                if all(self._may(i, (j,)) for i in range(len(names))):
                    each = float(np.mean([self._cost(name) for name in names]))
                    found += self._blocks(EVERYBODY, len(names), _row((j,), n), each, 1)
        if self.newcomers and not pairs:
            found += self._of_newcomers(ordinal)
        if not found:
            if self.budget < self.cheapest:
                raise InputError(
                    f"no look can be made: the cheapest costs {self.cheapest:g}, the budget is {self.budget:g}"
                )
            raise InputError("no look can be made: the budget, the limits or who may look at what rule all of them out")
        who, several, added, number, costs = zip(*found, strict=True)
        return Looks(np.array(who), np.array(several), np.stack(added), np.array(number, float), np.array(costs, float))

    def _of_newcomers(self, ordinal: bool) -> list[tuple[int, int, Array, float, float]]:
        """Return what somebody new could look at, in blocks."""
        cost, n = self._cost(SOMEBODY), self.profile.shape[-1]
        at = tuple(j for j in range(n) if self._may(NEW, (j,)))
        if self.newcomer is not None:
            row = np.asarray(self.newcomer)
            wanted = self._may(NEW, tuple(np.flatnonzero(row)))
            each = [self._blocks(NEW, voters, row, cost, float(np.sum(row)), (1,)) for voters in BLOCKS if wanted]
        elif ordinal:
            each = [self._blocks(NEW, voters, _row(at, n), cost, len(at)) for voters in BLOCKS if len(at) > 1]
        else:
            each = [self._blocks(NEW, 1, _row((j,), n), cost, 1) for j in at]
        return [block for blocks in each for block in blocks]

    def _may(self, voter: int, at: tuple[int, ...]) -> bool:
        return self.may is None or all((voter, j) in self.may for j in at)

    def _blocks(
        self, voter: int, voters: int, row: Array, cost: float, looks: float, sizes: tuple[int, ...] = BLOCKS
    ) -> list[tuple[int, int, Array, float, float]]:
        """Return a look in blocks, as far as it can be paid for; ``row`` of each voter is so many ``looks``."""
        found = []
        for size in sizes:
            number = size * looks * voters
            # What goes beyond a round is begun in it; not so what several look at, or one at several.
            fits = self.a_round is None or (voters == 1 and looks <= np.max(row)) or number <= self.a_round
            if (
                fits
                and number * cost <= self.budget * (1 + _ROUNDING)
                and (self.per_voter is None or size * looks <= self.per_voter)
                and size * np.max(row) <= self._room(voter, _at(row), _NOTHING_USED)
            ):
                found.append((voter, voters, size * row, number, number * cost))
        return found

    @property
    def cheapest(self) -> float:
        """What the cheapest look costs of those who can be asked."""
        names = [
            name for i, name in enumerate(self.profile.voters) if self.may is None or any(i == v for v, _ in self.may)
        ]
        some = [*names, *([SOMEBODY] if self.newcomers and self.profile.kind != "pairs" else [])]
        return min([self._cost(name) for name in some], default=self.default)

    def _cost(self, name: Any) -> float:
        return self.costs.get(name, self.default)

    def allowed(self, looks: Looks, used: Used) -> Array:
        """Say which looks can still be made after others."""
        fits = looks.cost <= self.budget * (1 + _ROUNDING) - used.cost
        if self.a_round is not None:
            begun = (looks.voters == 1) & (looks.number <= np.max(looks.added, axis=-1))
            fits &= np.where(begun, 1, looks.number) <= self.a_round - used.looks
        if self.per_voter is not None:
            spent = [_spent(int(voter), used) for voter in looks.voter]
            fits &= looks.number / looks.voters <= self.per_voter - np.asarray(spent)
        if self.per_pair is not None:
            rooms = [
                self._room(int(voter), _at(row), used) for voter, row in zip(looks.voter, looks.added, strict=True)
            ]
            fits &= np.max(looks.added, axis=-1) <= np.asarray(rooms)
        return fits

    def _room(self, voter: int, at: tuple[int, ...], used: Used) -> float:
        """Return how often a voter may still look at an alternative, or compare two."""
        if self.per_pair is None or voter == NEW:
            return math.inf if self.per_pair is None else self.per_pair
        before, every = self.profile.ballots, range(len(self.profile.voters)) if voter == EVERYBODY else (voter,)
        if isinstance(before, Pairs):
            j, k = at
            seen = [float(before.votes[i, j, k] + before.votes[i, k, j]) for i in every]
        else:
            made = [float(before.counts[i, at[0]] / self.sizes[i]) for i in every]
            seen = [max(math.floor(number + 0.5), 1) if number else 0 for number in made]
        most = max(count + used.cells.get((i, at), 0) for i, count in zip(every, seen, strict=True))
        return self.per_pair - most - used.cells.get((EVERYBODY, at), 0)

    def within_round(self, one: Looks, used: Used) -> tuple[Looks, float]:
        """Return as much of a look, ``(1, …)``, as the round has room for, and which share of it that is."""
        number = float(one.number[0])
        room = number if self.a_round is None else min(number, self.a_round - used.looks)
        share = room / number
        return one._replace(added=one.added * share, number=one.number * share, cost=one.cost * share), share

    def used_up(self, looks: Looks, used: Used) -> Literal["budget", "round", "limits"]:
        """Say why no look can be made any more."""
        if self.a_round is not None and self.a_round - used.looks < 1:
            return "round"
        return "budget" if np.min(looks.cost) > self.budget * (1 + _ROUNDING) - used.cost else "limits"

    def named(self, rows: SingleKind, looks: Looks, k: int, gain: float) -> Look:
        """Return one of them with names; ``rows`` are the ballots that they were made for."""
        voter, names = int(looks.voter[k]), self.profile.alternatives
        who: Any = {NEW: SOMEBODY, EVERYBODY: ALL}.get(voter)
        if who is None:
            who = ANYBODY if self._alike(rows) else self.profile.voters[voter]
        at = tuple(names[int(j)] for j in np.flatnonzero(looks.added[k]))
        times = tuple(plain(float(x)) for x in looks.added[k] if x > 0)
        return Look(who, int(looks.voters[k]), at, plain(float(looks.number[k])), float(looks.cost[k]), gain, times)

    def _alike(self, ballots: SingleKind) -> bool:
        """Say whether it does not matter who looks: at comparisons, where nothing tells voters apart."""
        limited = self.may is not None or self.per_voter is not None or self.per_pair is not None
        return isinstance(ballots, Pairs) and not (self.costs or limited or ballots.loadings is not None)


def plain(number: float) -> float:
    """Return a number without what rounding adds, a whole one as such."""
    near = round(number, _DIGITS)
    return int(near) if near == int(near) else near


_ONE_COMPARISON = "a look at comparisons is one comparison; leave out what it adds to a count"
_NOTHING_USED = Used({}, {}, 0, 0.0)


def _at(added: Array) -> tuple[int, ...]:
    """Return what a look is at."""
    return tuple(int(j) for j in np.flatnonzero(added))


def _spent(voter: int, used: Used) -> float:
    if voter == NEW:
        return 0.0
    if voter == EVERYBODY:
        alone = max((number for who, number in used.voters.items() if who != EVERYBODY), default=0.0)
        return alone + used.voters.get(EVERYBODY, 0.0)
    return used.voters.get(voter, 0.0) + used.voters.get(EVERYBODY, 0.0)


def _cells(pairs: Any, places: tuple[dict[Any, int], dict[Any, int]], what: str) -> frozenset[tuple[int, int]]:
    """Return pairs of a voter and an alternative as numbers."""
    try:
        given = [(voter, alternative) for voter, alternative in pairs]
    except (TypeError, ValueError):
        raise InputError(f"{what} takes pairs of a voter and an alternative, such as ('Ada', 'Paper A')") from None
    for voter, alternative in given:
        require_known(voter, places[0], "voter")
        require_known(alternative, places[1], "alternative")
    return frozenset((places[0][voter], places[1][alternative]) for voter, alternative in given)


def _sizes(profile: Profile, look: Any) -> Array:
    """Return what a look adds to a count: ``usual`` is the mean of what a voter has; of others, that of these means."""
    voters = len(profile.voters)
    if look != "usual":
        if isinstance(look, str):
            raise InputError(f"what a look adds to a count is a number or usual, not {quoted(look)}")
        size = positive(look, "what a look adds to a count")
        if size != 1 and profile.kind == "pairs":
            raise InputError(_ONE_COMPARISON)
        return np.full(voters + 1, size)
    if profile.kind == "pairs":
        raise InputError(_ONE_COMPARISON)
    counts = np.asarray(profile.counts, dtype=float)
    number = np.sum(counts > 0, axis=-1)
    means = np.sum(counts, axis=-1)[number > 0] / number[number > 0]
    sizes = np.full(voters + 1, np.mean(means))
    sizes[:-1][number > 0] = means
    return sizes


def _row(at: tuple[int, ...], n: int) -> Array:
    row = np.zeros(n)
    row[list(at)] = 1
    return row
