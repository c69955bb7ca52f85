"""How well groups choose that share out the same budget, all on the same decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.planning.budget import Budget
from veritally.planning.compositions import Composition
from veritally.planning.dealing import Circumstances, Group
from veritally.records import framed

USUAL = ("everybody sees everything once", "one voter sees everything", "equal counts")
_CLEARLY = 2  # standard errors


@dataclass(frozen=True)
class ComparedGroup:
    """How well one group chooses.

    Attributes
    ----------
    composition
        Who the voters are.
    looks, cost
        How many looks they have together, and what the group costs.
    regret, se
        The mean regret and its standard error.
    difference, difference_se
        How much higher that is than the best group's, paired, and its standard error.
    clearly_worse
        Whether the difference is more than two standard errors.
    instances
        How many decisions were simulated.
    asked
        Whether it may be the best. Where numbers of voters are given, the usual groups of other numbers may not: they
        are there to be compared with.
    """

    composition: Composition
    looks: int
    cost: float
    regret: float
    se: float
    difference: float
    difference_se: float
    clearly_worse: bool
    instances: int
    asked: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        own = {name: value for name, value in vars(self).items() if name != "composition"}
        return {**self.composition.to_dict(), **own}


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """Which group chooses best with a budget; what :func:`veritally.compose` returns.

    Attributes
    ----------
    circumstances, budget
        What the groups are up against, and what they may cost.
    groups
        All that were simulated.
    regrets
        Of each group, its regret in each decision; groups that were clearly worse have fewer decisions.
    """

    circumstances: Circumstances
    budget: Budget
    groups: Sequence[Group]
    regrets: Sequence[Array]

    @cached_property
    def rows(self) -> tuple[ComparedGroup, ...]:
        """The groups, lowest regret first; of equal ones the cheapest and smallest first."""
        best = self.regrets[best_of(self.groups, self.regrets)]
        rows = []
        for group, own in zip(self.groups, self.regrets, strict=True):
            cost = self.budget.cost(group)
            difference, error = paired(own, best)
            rows.append(
                ComparedGroup(
                    group.composition,
                    group.looks,
                    cost,
                    *_mean(own),
                    difference,
                    error,
                    clearly_worse(own, best),
                    len(own),
                    group.asked,
                )
            )
        return tuple(sorted(rows, key=lambda row: (row.clearly_worse, row.regret, row.cost, row.composition.voters)))

    @property
    def best(self) -> ComparedGroup:
        """The group with the lowest regret."""
        number = best_of(self.groups, self.regrets)
        return next(row for row in self.rows if row.composition == self.groups[number].composition)

    @property
    def not_clearly_worse(self) -> tuple[ComparedGroup, ...]:
        """The groups whose paired difference to the best is within two standard errors, the best among them."""
        return tuple(row for row in self.rows if row.asked and not row.clearly_worse)

    @property
    def votes(self) -> tuple[str, ...]:
        """The kinds of votes that the groups report."""
        return tuple(dict.fromkeys(group.composition.votes for group in self.groups))

    def among(self, votes: str) -> "GroupComparison":
        """Compare only the groups that report one kind of votes."""
        chosen = [i for i, group in enumerate(self.groups) if group.composition.votes == votes]
        groups, regrets = ([every[i] for i in chosen] for every in (self.groups, self.regrets))
        return GroupComparison(self.circumstances, self.budget, groups, regrets)

    @property
    def usual(self) -> dict[str, ComparedGroup]:
        """What groups are commonly like, as far as they were simulated; their ``difference`` is their price."""
        found: dict[str, ComparedGroup] = {}
        names = {group.composition: usual_names(group) for group in self.groups}
        for row in sorted(self.rows, key=lambda row: not row.asked):
            for name in names[row.composition]:
                found.setdefault(name, row)
        return {name: found[name] for name in USUAL if name in found}

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a tidy frame with a row for each group; ``backend`` is ``"polars"``, ``"pandas"`` or ``"pyarrow"``."""
        rows = [row.to_dict() for row in self.rows]
        return framed({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        return {
            "circumstances": vars(self.circumstances),
            "budget": self.budget.to_dict(),
            "best": self.best.to_dict(),
            "votes": {
                kind: {
                    "best": part.best.to_dict(),
                    "not_clearly_worse": [row.to_dict() for row in part.not_clearly_worse],
                    "usual": {name: row.to_dict() for name, row in part.usual.items()},
                }
                for kind, part in ((kind, self.among(kind)) for kind in self.votes)
            },
            "rows": [row.to_dict() for row in self.rows],
        }

    def __repr__(self) -> str:
        return f"GroupComparison({len(self.groups)} groups, best: {self.best.composition})"


def usual_names(group: Group) -> tuple[str, ...]:
    """Say which of the usual groups a group is, if any."""
    if group.composition.known is not None:
        return ()
    is_it = (bool(np.all(group.counts == 1)), group.composition.voters == 1, True)
    return tuple(name for name, holds in zip(USUAL, is_it, strict=True) if holds)


def is_reference(group: Group) -> bool:
    """Say whether a group is one of the usual ones whose price is always wanted."""
    return bool(set(usual_names(group)) & set(USUAL[:2]))


def best_of(groups: Sequence[Group], regrets: Sequence[Array], votes: str | None = None) -> int:
    """Return the number of the group with the lowest regret, among those with the most decisions that may be best."""
    there = [i for i, group in enumerate(groups) if group.asked and votes in (None, group.composition.votes)]
    most = max(len(regrets[i]) for i in there)
    candidates = [i for i in there if len(regrets[i]) == most]
    return min(candidates, key=lambda i: (float(np.mean(regrets[i])), groups[i].looks, groups[i].composition.voters))


def paired(one: Array, other: Array) -> tuple[float, float]:
    """Return the mean difference in the decisions that both have, and its standard error."""
    number = min(len(one), len(other))
    return _mean(one[:number] - other[:number])


def clearly_worse(one: Array, best: Array) -> bool:
    """Say whether regrets are more than two standard errors above those of the best."""
    difference, error = paired(one, best)
    return difference > _CLEARLY * error


def _mean(numbers: Array) -> tuple[float, float]:
    return float(np.mean(numbers)), float(np.std(numbers, ddof=1) / np.sqrt(len(numbers)))
