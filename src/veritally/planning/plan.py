"""What to ask next, and when to stop."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.checks import positive, real, whole
from veritally.decide import decide
from veritally.errors import InputError, quoted
from veritally.inference.belief import percent
from veritally.inference.linear import inverse
from veritally.outcome import Outcome
from veritally.panel.base import AnyPanel
from veritally.planning.gain import gain
from veritally.planning.looks import EVERYBODY, NEW, Looks, Situation
from veritally.progress import report
from veritally.records import framed
from veritally.votes.ballots import SingleKind
from veritally.votes.labels import require_known
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile
from veritally.votes.rankings import Ordinal

_BLOCKS = (1, 3, 10, 30, 100, 300, 1000)
_SHORT = 200  # looks that are valued again after each that is planned
_STEPS = 20  # into which a budget is parted, about: smaller blocks are not planned
_MOST_STEPS = 100
_NOTHING = 1e-9  # of expected regret: what looks cannot be worth less than
SOMEBODY, ALL = "somebody new", "everybody"
Stop: TypeAlias = Literal["budget", "round", "sure", "nothing"]
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
    """

    voter: Any
    voters: int
    alternatives: tuple[Any, ...]
    looks: int
    cost: float
    gain: float

    @property
    def per_cost(self) -> float:
        """The gain for each unit of cost."""
        return self.gain / self.cost


@dataclass(frozen=True, repr=False)
class Plan:
    """Which looks to make, and what they are worth.

    Attributes
    ----------
    looks
        The looks that are planned, in the order in which they were chosen.
    offers
        All that could be made, each valued alone, the best for its cost first.
    regret
        What choosing now costs, expected; in the unit of the votes where these are numbers, else in σ, the noise of one
        look.
    regret_after
        What it costs after the planned looks.
    sureness
        The chance that what would be chosen now is best.
    stop
        Why the plan ends: ``"budget"`` or ``"round"`` if that is used up, ``"sure"`` if the winner is sure enough now,
        ``"nothing"`` if no looks that can be paid for are worth their cost.
    unit
        Of regret.
    """

    looks: tuple[Look, ...]
    offers: tuple[Look, ...]
    regret: float
    regret_after: float
    sureness: float
    stop: Stop
    unit: str

    @property
    def cost(self) -> float:
        """What the planned looks cost."""
        return sum(look.cost for look in self.looks)

    @property
    def curve(self) -> list[tuple[float, float]]:
        """What is spent, and the expected regret then, from now on."""
        points = [(0.0, self.regret)]
        for look in self.looks:
            points.append((points[-1][0] + look.cost, max(points[-1][1] - look.gain, 0.0)))
        return points

    @property
    def reason(self) -> str:
        """Why the plan ends, as a sentence."""
        if self.stop == "sure":
            return f"Stop: what is chosen is best with {percent(self.sureness)} already."
        if self.stop == "nothing":
            return "Stop here: no looks that can be paid for are worth their cost."
        return "The budget is used up." if self.stop == "budget" else "The round is full."

    def assignments(self) -> list[dict[str, Any]]:
        """Return who looks at what how often, a row each, looks of the same added up."""
        rows: dict[tuple[Any, Any], dict[str, Any]] = {}
        for number, look in enumerate(self.looks):
            each = look.looks // look.voters
            apart = number if look.voter == SOMEBODY else 0  # another person each time
            at = " / ".join(map(str, look.alternatives))
            row = rows.setdefault(
                (look.voter, at, apart), {"voter": look.voter, "voters": look.voters, "alternative": at, "looks": 0}
            )
            row["looks"] += each
        return list(rows.values())

    def to_frame(self, backend: str = "polars") -> Any:
        """Return the planned looks as a frame, in the order in which they were chosen."""
        names = ("voter", "voters", "alternatives", "looks", "cost", "gain")
        columns: dict[str, list[Any]] = {name: [getattr(look, name) for look in self.looks] for name in names}
        columns["alternatives"] = [" / ".join(map(str, own)) for own in columns["alternatives"]]
        columns["voter"] = list(map(str, columns["voter"]))
        columns["regret"] = [after for _, after in self.curve[1:]]
        return framed(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""

        def plain(look: Look) -> dict[str, Any]:
            own = look._asdict() | {"alternatives": list(map(str, look.alternatives)), "voter": str(look.voter)}
            return own | {"gain_per_cost": look.per_cost}

        return {
            "looks": list(map(plain, self.looks)),
            "offers": list(map(plain, self.offers)),
            "cost": self.cost,
            "regret": self.regret,
            "regret_after": self.regret_after,
            "sureness": self.sureness,
            "stop": self.stop,
            "reason": self.reason,
            "unit": self.unit,
            "curve": [{"cost": cost, "regret": regret} for cost, regret in self.curve],
        }

    def to_json(self) -> str:
        """Return one JSON object."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        return f"Plan({len(self.looks)} looks planned for {self.cost:g}, stop: {self.stop})"


def next_looks(
    profile: Profile,
    *,
    budget: float,
    cost: Cost = 1.0,
    panel: AnyPanel | None = None,
    choose: int = 1,
    until: float | None = None,
    price: float = 0.0,
    may: Iterable[tuple[Any, Any]] | None = None,
    newcomers: bool = True,
    newcomer: Mapping[Any, float] | float | None = None,
    per_voter: int | None = None,
    a_round: int | None = None,
    seed: int = 0,
    **parameters: Any,
) -> Plan:
    """Say which looks are worth most: who should look at what again, or who else should be asked.

    The value of looks is by how much they lower expected regret: the true quality that is lost by choosing now. Single
    looks are often worth nothing, since they cannot change the choice; so blocks of 1, 3, 10, 30, … looks are valued,
    and the block with the most value for its cost is planned first, then the next beside it, until the budget is used.

    Parameters
    ----------
    profile
        The votes of one decision: values, rankings, favourites or comparisons.
    budget
        What may be spent.
    cost
        Of one look (of one comparison): a number, or a number for each voter by name; ``"somebody new"`` names those
        who have not voted.
    panel
        Which voters share errors, or a learned panel.
    choose
        How many alternatives are chosen.
    until
        The chance of being best from which on nothing is asked.
    price
        What one unit of cost is worth in units of regret: looks that are worth less are not planned.
    may
        Pairs of a voter and an alternative: who may look at what. Default: everybody at everything.
    newcomers
        Whether people who have not voted can be asked.
    newcomer
        How often somebody new looks at each alternative: a number, or one for each by name. Default: for values, looks
        at one alternative; else 1, 3, 10, … at all.
    per_voter, a_round
        The most looks of one voter, and of all, in this plan.
    seed, **parameters
        As :func:`decide` takes them; ``sigma`` and ``tau`` where they are known.

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(values=[[5.0, 4.6, 1.0], [4.4, 4.5, 0.5]], counts=[[4, 4, 4], [3, 1, 3]])
    >>> plan = next_looks(profile, budget=10, sigma=1.0, newcomers=False)
    >>> {alternative for look in plan.looks for alternative in look.alternatives}
    {0, 1}
    """
    budget = real(budget, "the budget")
    if not budget > 0:
        raise InputError("a budget of nothing buys no looks; give a budget above 0")
    price, seed = real(price, "the price", least=0), whole(seed, "seed")
    if until is not None and not 0 < real(until, "until") < 1:
        raise InputError(f"until is a chance between 0 and 1, not {until:g}")
    _require_one(profile)
    limits = Limits.of(profile, budget, cost, may, newcomers, newcomer, per_voter, a_round)
    outcome = decide(profile, "posterior", panel=panel, choose=choose, tie_break="first", seed=seed, **parameters)
    _require_kind(outcome)
    situation, unit = Situation.of(outcome), _unit(outcome)
    regret = _regret(outcome) / unit
    sureness = float(outcome.sureness)
    looks = limits.looks(situation.rows)
    gains = situation.gains(looks) / unit
    order = np.argsort(-gains / looks.cost, kind="stable")
    offers = tuple(limits.named(looks, int(k), float(gains[k])) for k in order)
    planned: tuple[Look, ...] = ()
    stop: Stop = "sure"
    if until is None or sureness < until:
        short = order[looks.number[order] >= _least(looks, budget)][:_SHORT]
        planned, stop = _planned(situation, limits, looks.take(short), gains[short], unit, price)
    after = regret - sum(look.gain for look in planned)
    in_sigma = outcome.distance_unit != "votes"
    return Plan(
        planned, offers, regret, max(after, 0.0), sureness, stop, "σ of one look" if in_sigma else "unit of the votes"
    )


def _planned(
    situation: Situation, limits: "Limits", looks: Looks, gains: Array, unit: float, price: float
) -> tuple[tuple[Look, ...], Stop]:
    """Take the block that is worth most for its cost, then the next beside it, as far as limits go."""
    planned: list[Look] = []
    used = Used({}, 0, 0.0)
    for step in range(_MOST_STEPS):
        left = limits.allowed(looks, used)
        if not left.any():
            full = limits.a_round is not None and used.looks >= limits.a_round
            return tuple(planned), "round" if full else "budget"
        if step:
            gains = np.zeros(len(left))
            gains[left] = situation.gains(looks.take(left)) / unit
        worth = np.where(left, gains / looks.cost, -1)
        best = int(np.argmax(worth))
        if gains[best] <= max(price * looks.cost[best], _NOTHING):
            return tuple(planned), "nothing"
        report(min(used.cost / limits.budget, 1.0))
        one = looks.take(np.array([best]))
        planned.append(limits.named(looks, best, float(gains[best])))
        used, situation = used.more(one), situation.after(one)
    return tuple(planned), "budget"


class Used(NamedTuple):
    """What is planned already: looks by voter, looks in all, and what they cost."""

    voters: dict[int, float]
    looks: float
    cost: float

    def more(self, one: Looks) -> "Used":
        """Add looks, ``(1, …)``."""
        voter, each = int(one.voter[0]), float(one.number[0] / one.voters[0])
        voters = dict(self.voters)
        if voter != NEW:
            voters[voter] = voters.get(voter, 0) + each
        return Used(voters, self.looks + float(one.number[0]), self.cost + float(one.cost[0]))


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
    a_round: int | None

    @classmethod
    def of(
        cls,
        profile: Profile,
        budget: float,
        cost: Cost,
        may: Iterable[tuple[Any, Any]] | None,
        newcomers: bool,
        newcomer: Mapping[Any, float] | float | None,
        per_voter: int | None,
        a_round: int | None,
    ) -> "Limits":
        """Check what a user gave."""
        names, alternatives = list(profile.voters), list(profile.alternatives)
        costs: dict[Any, float] = {}
        if isinstance(cost, Mapping):
            for name in cost.keys() - {SOMEBODY}:
                require_known(name, names, "voter")
            costs = {name: positive(x, f"the cost of a look by {quoted(name)}") for name, x in cost.items()}
        default = 1.0 if isinstance(cost, Mapping) else positive(cost, "the cost of a look")
        allowed = None
        if may is not None:
            pairs = list(may)
            for voter, alternative in pairs:
                require_known(voter, names, "voter")
                require_known(alternative, alternatives, "alternative")
            place, at = {x: i for i, x in enumerate(names)}, {x: j for j, x in enumerate(alternatives)}
            allowed = frozenset((place[voter], at[alternative]) for voter, alternative in pairs)
        row = None
        if newcomer is not None:
            if isinstance(newcomer, Mapping):
                for name in newcomer:
                    require_known(name, alternatives, "alternative")
                row = tuple(real(newcomer.get(name, 0), "a newcomer's count", least=0) for name in alternatives)
            else:
                row = (positive(newcomer, "a newcomer's count"),) * len(alternatives)
            if not any(row):
                raise InputError("a newcomer who looks at nothing tells nothing; give counts above 0")
        per_voter = None if per_voter is None else whole(per_voter, "the looks of a voter", least=1)
        a_round = None if a_round is None else whole(a_round, "the looks of a round", least=1)
        return cls(profile, budget, costs, default, allowed, newcomers, row, per_voter, a_round)

    def looks(self, rows: SingleKind) -> Looks:
        """Return all looks that could be made and paid for, in blocks."""
        pairs, ordinal = isinstance(rows, Pairs), isinstance(rows, Ordinal)
        n = rows.counts.shape[-1]
        names, found = list(self.profile.voters), []
        alike = pairs and rows.loadings is None and not self.costs and self.may is None and self.per_voter is None
        for voter, name in enumerate(names[:1] if alike else names):
            for at in combinations(range(n), 2) if pairs else [(j,) for j in range(n)]:
                if self.may is None or all((voter, j) in self.may for j in at):
                    found += self._blocks(voter, 1, _row(at, n), self._cost(name), 1)
        if ordinal:  # one voter alone may change nothing
            for j in range(n):
                if self.may is None:
                    each = float(np.mean([self._cost(name) for name in names]))
                    found += self._blocks(EVERYBODY, len(names), _row((j,), n), each, 1)
        if self.newcomers and self.newcomer is not None:
            row = np.asarray(self.newcomer)
            for voters in _BLOCKS:
                found += self._blocks(NEW, voters, row, self._cost(SOMEBODY), float(np.sum(row)), (1,))
        elif self.newcomers and ordinal:
            for voters in _BLOCKS:
                found += self._blocks(NEW, voters, np.ones(n), self._cost(SOMEBODY), n)
        elif self.newcomers and not pairs:
            for j in range(n):
                found += self._blocks(NEW, 1, _row((j,), n), self._cost(SOMEBODY), 1)
        if not found:
            raise InputError("no look can be made: the budget, the limits or who may look at what rule all of them out")
        voter, voters, added, number, cost = zip(*found, strict=True)
        return Looks(np.array(voter), np.array(voters), np.stack(added), np.array(number, float), np.array(cost, float))

    def _blocks(
        self, voter: int, voters: int, row: Array, cost: float, looks: float, sizes: tuple[int, ...] = _BLOCKS
    ) -> list[tuple[int, int, Array, float, float]]:
        """Return a look in blocks, as far as it can be paid for; ``row`` of each voter is so many ``looks``."""
        found = []
        for size in sizes:
            number = size * looks * voters
            within = number * cost <= self.budget and (self.a_round is None or number <= self.a_round)
            if within and (self.per_voter is None or size * looks <= self.per_voter):
                found.append((voter, voters, size * row, number, number * cost))
        return found

    def _cost(self, name: Any) -> float:
        return self.costs.get(name, self.default)

    def allowed(self, looks: Looks, used: Used) -> Array:
        """Say which looks can still be made after others."""
        fits = looks.cost <= self.budget - used.cost + 1e-9
        if self.a_round is not None:
            fits &= looks.number <= self.a_round - used.looks
        if self.per_voter is not None:
            spent = [_spent(int(voter), used) for voter in looks.voter]
            fits &= looks.number / looks.voters <= self.per_voter - np.asarray(spent)
        return fits

    def named(self, looks: Looks, k: int, gain: float) -> Look:
        """Return one of them with names."""
        voter, names = int(looks.voter[k]), self.profile.alternatives
        who = {NEW: SOMEBODY, EVERYBODY: ALL}.get(voter)
        if who is None:
            alike = self.profile.kind == "pairs" and self.profile.ballots.loadings is None
            who = "anybody" if alike and self.may is None and not self.costs else self.profile.voters[voter]
        at = tuple(names[int(j)] for j in np.flatnonzero(looks.added[k]))
        return Look(who, int(looks.voters[k]), at, round(float(looks.number[k])), float(looks.cost[k]), gain)


def _spent(voter: int, used: Used) -> float:
    if voter == NEW:
        return 0.0
    if voter == EVERYBODY:
        return max(used.voters.values(), default=0.0)
    return used.voters.get(voter, 0.0) + used.voters.get(EVERYBODY, 0.0)


def _row(at: tuple[int, ...], n: int) -> Array:
    row = np.zeros(n)
    row[list(at)] = 1
    return row


def _require_one(profile: Any) -> None:
    if not isinstance(profile, Profile):
        raise InputError(f"next_looks takes a Profile, not {type(profile).__name__}; read files with vt.read")
    if profile.batch:
        raise InputError("looks are planned for one decision at a time; take one of them, as profile.decision(0)")


def _require_kind(outcome: Outcome) -> None:
    if not isinstance(outcome.profile.ballots, SingleKind):
        raise InputError("looks are planned for votes of one kind; coarsen these, as profile.coarsened('rankings')")


def _least(looks: Looks, budget: float) -> float:
    """Return the least number of looks that is planned at once: a large budget is not spent one by one."""
    each = float(np.min(looks.cost / looks.number))
    return max((size for size in _BLOCKS if size * each <= budget / _STEPS), default=1)


def _regret(outcome: Outcome) -> float:
    """Return what choosing now costs, expected."""
    found = outcome.fit.posterior
    assert found is not None
    mean, covariance = found.average(found.moments.mean), found.average(inverse(found.moments.precision))
    apart = found.moments.mean - mean
    covariance = covariance + found.average(apart[..., None] * apart[..., None, :])
    mean = np.where(outcome.profile.ballots.mask, mean, -np.inf)
    return float(gain(mean, covariance, outcome.choose))


def _unit(outcome: Outcome) -> float:
    """Return what regret is measured in."""
    assert outcome.belief is not None
    return float(np.exp(np.mean(np.log(outcome.belief.sigma)))) if outcome.belief.in_sigma else 1.0
