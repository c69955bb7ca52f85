"""What to ask next, and when to stop."""

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.checks import positive, real, whole
from veritally.decide import decide
from veritally.errors import InputError, InputWarning
from veritally.inference.belief import percent
from veritally.outcome import Outcome
from veritally.panel.base import AnyPanel
from veritally.planning.limits import BLOCKS, SOMEBODY, Cost, Limits, Look, Used
from veritally.planning.looks import Looks, shared_out
from veritally.planning.situations import Situations
from veritally.progress import report
from veritally.records import framed
from veritally.votes.ballots import SingleKind
from veritally.votes.profile import Profile

_OFFERED = 300  # looks that are valued in full
_SHORT = 100  # of these, that are valued again after each block that is planned
_STEPS = 20  # into which a budget is parted, about: smaller blocks are planned only where no large one is worth it
_MOST_STEPS = 100
_NOTHING = 1e-6  # of expected regret: what looks cannot be worth less than
_ROUNDING = 1e-9  # of the largest standard deviation of a truth: so little is an error of computing
Stop: TypeAlias = Literal["budget", "round", "limits", "steps", "sure", "nothing", "all"]

_REASONS: Mapping[Stop, str] = {
    "budget": "The budget is used up.",
    "round": "The round is full.",
    "limits": "Nobody may look any more: those who may have all the looks they can have.",
    "steps": "The plan is as long as one can be: make these looks, and ask again.",
    "nothing": "Stop here: no further looks that the budget pays for are worth their cost.",
    "all": "All alternatives are chosen: there is nothing to choose, and no look is worth anything.",
}


@dataclass(frozen=True, repr=False)
class Plan:
    """Which looks to make, and what they are worth.

    Attributes
    ----------
    looks
        The looks that are planned, in the order in which they were chosen.
    offers
        What could be made, each valued alone, the best for its cost first; of very many, the best 300.
    regret
        What choosing now costs, expected; in the unit of the votes where these are numbers, else in σ, the noise of one
        look, or of one unit of count where a look is another.
    sureness
        The chance that what would be chosen now is best; of several, that the least sure of them is among the best so
        many. That all of them are is less sure.
    stop
        Why the plan ends: ``"budget"`` or ``"round"`` if that is used up, ``"limits"`` if nobody may look any more,
        ``"steps"`` if it is as long as a plan can be, ``"sure"`` if the winner is sure enough now, ``"nothing"`` if no
        looks that can be paid for are worth their cost, ``"all"`` if all alternatives are chosen.
    unit
        Of regret.
    choose
        How many are chosen.
    """

    looks: tuple[Look, ...]
    offers: tuple[Look, ...]
    regret: float
    sureness: float
    stop: Stop
    unit: str
    choose: int = 1

    @property
    def cost(self) -> float:
        """What the planned looks cost."""
        return sum(look.cost for look in self.looks)

    @property
    def curve(self) -> list[tuple[float, float]]:
        """What is spent, and the expected regret then, from now on."""
        points = [(0.0, self.regret)]
        for look in self.looks:
            points.append((points[-1][0] + look.cost, points[-1][1] - look.gain))
        return points

    @property
    def regret_after(self) -> float:
        """What choosing costs after the planned looks, expected."""
        return self.curve[-1][1]

    @property
    def reason(self) -> str:
        """Why the plan ends, as a sentence."""
        if self.stop == "sure":
            return f"Stop: {self.chance} already."
        return _REASONS[self.stop]

    @property
    def chance(self) -> str:
        """How sure the choice is now, in words."""
        if self.choose == 1:
            return f"what is chosen is best with a chance of {percent(self.sureness)}"
        k = self.choose
        return f"the least sure of the {k} chosen is among the best {k} with a chance of {percent(self.sureness)}"

    @property
    def tasks(self) -> tuple[Look, ...]:
        """The planned looks, those of the same voter at the same added up; what is to be done first stands first."""
        found: dict[tuple[Any, ...], Look] = {}
        for look in self.looks:
            new = look.voter == SOMEBODY  # who is another person each time
            key = (look.voter, look.alternatives, look.times if new else None)
            if (before := found.get(key)) is not None:
                voters = before.voters + look.voters if new else look.voters
                sums = {name: getattr(before, name) + getattr(look, name) for name in ("looks", "cost", "gain")}
                times = look.times if new else tuple(map(sum, zip(before.times, look.times, strict=True)))
                look = look._replace(voters=voters, times=times, **sums)
            found[key] = look
        return tuple(found.values())

    def assignments(self, backend: str = "polars") -> Any:
        """Return a frame of who looks at what how often, one alternative a row, or one comparison.

        ``voters`` says how many somebody new, or everybody, stands for; ``looks`` are those of each of them. Two that
        are compared stand in ``alternative`` and ``against``.
        """
        rows = self._rows
        names = list(rows[0]) if rows else ["voter", "voters", "alternative", "looks"]
        return framed({name: [row[name] for row in rows] for name in names}, backend)

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [row for task in self.tasks for row in task.rows]

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
            "assignments": self._rows,
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
        return f"Plan({sum(look.looks for look in self.looks)} looks planned for {self.cost:g}, stop: {self.stop})"


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
    conflicts: Iterable[tuple[Any, Any]] = (),
    newcomers: bool = True,
    newcomer: Mapping[Any, float] | float | None = None,
    per_voter: int | None = None,
    per_pair: float | None = None,
    a_round: int | None = None,
    look: float | Literal["usual"] = 1.0,
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
        The chance of being best from which on nothing is asked; of several that are chosen, the chance of the least
        sure of them to be among the best so many.
    price
        What one unit of cost is worth in units of regret: looks that are worth less are not planned.
    may
        Pairs of a voter and an alternative: who may look at what. Default: everybody at everything.
    conflicts
        Pairs of a voter and an alternative: who may not look at what.
    newcomers
        Whether people who have not voted can be asked.
    newcomer
        How often somebody new looks at each alternative: a number, or one for each by name. Default: for values, looks
        at one alternative; else 1, 3, 10, … at all.
    per_voter, a_round
        The most looks of one voter, and of all, in this plan.
    per_pair
        The most looks of one voter at one alternative (the most comparisons of the same two), with those made already:
        1 where nobody reviews the same twice.
    look
        What one look adds to a count, which is what budget, cost, limits and plan are in: a number, or ``"usual"`` for
        the mean of the counts that a voter has, and for somebody new the mean over voters. So a look is one more review
        where reviews have counts of their own, such as those that confidence stands for. What is there already counts
        as so many looks, rounded, and as one at least. Not for comparisons.
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
    budget = positive(budget, "the budget")
    price, seed = real(price, "the price", least=0), whole(seed, "seed")
    if until is not None and not 0 < real(until, "until") < 1:
        raise InputError(f"until is a chance between 0 and 1, not {until:g}")
    _require_one(profile)
    limits = Limits.of(profile, budget, cost, may, conflicts, newcomers, newcomer, per_voter, per_pair, a_round, look)
    outcome = _decided(profile, panel, choose, seed, parameters)
    _require_kind(outcome)
    unit = _unit(outcome)
    situations = Situations.of(outcome, budget / limits.cheapest, limits.sizes)
    tiny = _ROUNDING * situations.deviation / unit
    now = situations.regret / unit
    now = now if now > tiny else 0.0
    sureness = float(outcome.sureness)
    looks = situations.best(limits.looks(situations.rows), _OFFERED)
    gains = np.minimum(situations.gains(looks) / unit, now)
    least = max(_NOTHING * now, tiny)
    gains = np.where(gains > least, gains, 0)
    order = np.argsort(-gains / looks.cost, kind="stable")
    offers = tuple(limits.named(situations.rows, looks, int(k), float(gains[k])) for k in order)
    planned: tuple[Look, ...] = ()
    stop: Stop = "sure"
    if choose == profile.shape[-1]:
        stop = "all"
    elif until is None or sureness < until or not outcome.profile.ballots.mask.all():  # what nobody saw may be best
        planned, stop = _planned(situations, limits, looks, gains, now, unit, price, least)
    in_sigma = outcome.distance_unit != "votes"
    noise = "σ of one look" if look == 1 else "σ of one unit of count"
    unit_name = noise if in_sigma else "unit of the votes"
    return Plan(planned, offers, now, sureness, stop, unit_name, choose)


def _planned(
    situations: Situations,
    limits: Limits,
    looks: Looks,
    gains: Array,
    regret: float,
    unit: float,
    price: float,
    least: float,
) -> tuple[tuple[Look, ...], Stop]:
    """Take the block that is worth most for its cost, then the next beside it, as far as limits go.

    None is worth more than the regret that those before it leave.
    """
    planned: list[Look] = []
    used, large = Used({}, {}, 0, 0.0), looks.number >= _least(looks, limits.budget)
    at, known = looks.at, np.array(gains)  # of the last step that looked at them
    for _ in range(_MOST_STEPS):
        left = limits.allowed(looks, used)
        if not left.any():
            return tuple(planned), limits.used_up(looks, used)
        if not np.any(left & large):  # what is left is parted anew
            large = looks.number >= _least(looks, limits.budget - used.cost)
        for some in (left & large, left & ~large):  # small blocks only where no large one is worth its cost
            places = np.flatnonzero(some)
            if not len(places):
                continue
            short = places[shared_out(known[places] / looks.cost[places], at[places])[:_SHORT]]
            if planned:
                known[short] = np.minimum(situations.gains(looks.take(short)) / unit, regret)
            best = int(short[np.argmax(known[short] / looks.cost[short])])
            if known[best] > max(price * looks.cost[best], least):
                break
        else:
            return tuple(planned), "nothing"
        report(min(used.cost / limits.budget, 1.0))
        one, share = limits.within_round(looks.take(np.array([best])), used)
        planned.append(limits.named(situations.rows, one, 0, share * float(known[best])))
        regret -= planned[-1].gain
        used, situations = used.more(one), situations.after(one)
    return tuple(planned), "steps"


def _decided(profile: Profile, panel: AnyPanel | None, choose: int, seed: int, parameters: dict[str, Any]) -> Outcome:
    """Decide as it stands; alternatives without evidence are left out of that, but not of the plan."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no evidence about", InputWarning)
        return decide(profile, "posterior", panel=panel, choose=choose, tie_break="first", seed=seed, **parameters)


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
    return max((size for size in BLOCKS if size * each <= budget / _STEPS), default=1)


def _unit(outcome: Outcome) -> float:
    """Return what regret is measured in."""
    assert outcome.belief is not None
    return float(np.exp(np.mean(np.log(outcome.belief.sigma)))) if outcome.belief.in_sigma else 1.0
