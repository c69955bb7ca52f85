"""Budget: what a group may cost."""

import math
from dataclasses import dataclass
from typing import Any

from veritally.checks import positive, real, whole
from veritally.errors import InputError
from veritally.planning.dealing import Group

_LOOKS = 1000
_MOST = 10**12  # looks, so that they can be counted without rounding
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Budget:
    """What a group may cost.

    Attributes
    ----------
    amount
        What there is to spend.
    voter_cost, look_cost
        What each voter costs, and each look.
    most_looks
        The most looks that one voter can make; None for no limit.

    Examples
    --------
    >>> Budget(100, voter_cost=10).looks(4)
    60
    """

    amount: float
    voter_cost: float = 0.0
    look_cost: float = 1.0
    most_looks: int | None = None

    @classmethod
    def checked(
        cls, looks: Any, budget: Any, voter_cost: Any, look_cost: Any, most_looks: Any, alternatives: int
    ) -> "Budget":
        """Return the budget that a user gave, as looks or as an amount to spend."""
        voter = real(voter_cost, "the cost of a voter", least=0)
        look = positive(look_cost, "the cost of a look")
        limit = None if most_looks is None else whole(most_looks, "the most looks of one voter", least=1)
        if budget is None:
            if voter or look != 1:
                raise InputError("voters or looks have a cost, so give what may be spent as a budget, not looks")
            made = cls(whole(_LOOKS if looks is None else looks, "the number of looks", least=1), most_looks=limit)
        else:
            if looks is not None:
                raise InputError("give either looks or a budget, not both")
            made = cls(positive(budget, "the budget"), voter, look, limit)
        if made.looks(1) > _MOST or made.looks(alternatives) > _MOST:
            raise InputError(f"at most {_MOST:,} looks can be shared out; give fewer looks, or a smaller budget")
        if (best := max(made.looks(1), made.looks(alternatives))) < alternatives:
            text = f"{max(best, 0)} look{'' if best == 1 else 's'}"
            raise InputError(f"{alternatives} alternatives need a look each, but this budget has {text}; give more")
        return made

    def looks(self, voters: int) -> int:
        """Return how many looks so many voters can have together; below 0 if they cost too much themselves."""
        afforded = math.floor((self.amount - voters * self.voter_cost) / self.look_cost + _ROUNDING)
        return afforded if self.most_looks is None else min(afforded, voters * self.most_looks)

    @property
    def needed(self) -> int:
        """The fewest voters who can make all looks that are left once they are paid, each as many as one can."""
        if self.most_looks is None:
            return 1
        # m voters make them if m · most ≥ (amount − m · voter cost) / look cost.
        each = self.most_looks * self.look_cost + self.voter_cost
        return max(1, math.ceil(self.amount / each - _ROUNDING))

    def cost(self, group: Group) -> float:
        """Return what a group costs."""
        return group.composition.voters * self.voter_cost + group.looks * self.look_cost

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        if not self.voter_cost and self.look_cost == 1:
            text = f"{self.amount:,.0f} looks"
        else:
            text = f"a budget of {self.amount:,g}, {self.voter_cost:g} a voter and {self.look_cost:g} a look"
        return text if self.most_looks is None else f"{text}, at most {self.most_looks:,} looks a voter"
