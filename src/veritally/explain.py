"""Explanation: who decided an outcome, and what would change it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.arrays import Array, namespace
from veritally.inference.leniency import of_voters
from veritally.rules.protocol import Fit, Rule
from veritally.rules.sums import SumRule
from veritally.votes.ballots import Ballots

if TYPE_CHECKING:
    from veritally.outcome import Outcome


_DECIDED_ANEW = 10  # voters without whom it is decided anew, where leaving out is approximate
_UNSEEN = -1e100  # the score of what nobody else saw
_FEWEST_VALUES = 3  # of a voter who is called harsh or lenient


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reasons for a single decision, computed when asked for.

    If several are chosen, it is about the cut: the last of the chosen against the first of the others.
    """

    outcome: "Outcome"

    @property
    def _order(self) -> list[Any]:
        return list(self.outcome.ordered)

    @property
    def winner(self) -> Any:
        """The last of the chosen, which for one choice is the winner; equals in the order of the alternatives."""
        return self._order[self.outcome.choose - 1]

    @property
    def runner_up(self) -> Any:
        """The first of those not chosen; None if there is none."""
        return self._order[self.outcome.choose] if len(self._order) > self.outcome.choose else None

    @property
    def _pair(self) -> list[int]:
        """Where the winner and, if there is one, the runner-up stand among the alternatives."""
        column = {name: j for j, name in enumerate(self.outcome.profile.alternatives)}
        return [column[name] for name in (self.winner, self.runner_up) if name is not None]

    @property
    def adds_up(self) -> bool:
        """Whether contributions are parts of the lead, as they are for rules that are sums."""
        return isinstance(self.outcome.method, SumRule)

    @cached_property
    def _without(self) -> Fit:
        """What the votes say without each voter in turn."""
        return self.outcome.method.leave_one_out(self.outcome.profile.ballots, self.outcome.fit)

    @cached_property
    def _parts(self) -> Array:
        """What each voter adds to the lead, or for rules that are not sums, what it loses without the voter."""
        return self._pulls if self.adds_up or self.runner_up is None else self._losses

    @cached_property
    def _losses(self) -> Array:
        """What the lead loses without each voter; all of it where nobody else saw the winner."""
        scores, (first, second) = np.asarray(self._without.scores, dtype=float), self._pair
        full = np.asarray(self.outcome.fit.scores, dtype=float)
        known = np.isfinite(scores[:, first]) & np.isfinite(scores[:, second])
        lead = np.where(known, scores[:, first], 0) - np.where(known, scores[:, second], 0)
        unseen = np.where(np.isfinite(scores[:, first]), 0.0, full[first] - full[second])
        votes = np.asarray(self.outcome.profile.ballots.effective_multiplicity) > 0
        return np.where(votes, np.where(known, full[first] - full[second] - lead, unseen), 0.0)

    @cached_property
    def _pulls(self) -> Array:
        """What each voter adds to the winner's score, less what to the runner-up's.

        Where scores are means, they are measured from halfway between the two, so that a voter who puts both where they
        came out pulls neither way.
        """
        pair = self._pair
        halfway = float(np.mean(np.asarray(self.outcome.fit.scores)[pair]))
        weights = np.asarray(self.outcome.contributions(halfway), dtype=float)
        return weights[:, pair[0]] - (weights[:, pair[1]] if len(pair) > 1 else 0)

    @cached_property
    def lead(self) -> float:
        """Score of the winner less that of the runner-up; 0 where they tie or there is none."""
        if self.runner_up is None:
            return 0.0
        tied = any({self.winner, self.runner_up} <= set(tier) for tier in self.outcome.ranking)
        first, second = np.asarray(self.outcome.fit.scores)[self._pair]
        return 0.0 if tied else float(first - second)

    @cached_property
    def contributions(self) -> dict[Any, float]:
        """What each voter does to the lead, largest first; negative for voters who reduce it.

        For rules that are sums it is what the voter adds, and the parts add up to the lead (:attr:`adds_up`). For other
        rules it is what the lead loses without the voter. If that is more than the lead, the runner-up would be ahead.
        """
        voters = self.outcome.profile.voters
        return {voters[i]: float(self._parts[i]) for i in np.argsort(-self._parts, kind="stable")}

    @property
    def shares(self) -> dict[Any, float]:
        """The contributions as shares of the lead; empty if there is no lead, or they do not add up."""
        if self.lead <= 0 or not self.adds_up:
            return {}
        return {name: part / self.lead for name, part in self.contributions.items()}

    @cached_property
    def pivotal(self) -> dict[Any, list[Any]]:
        """Voters without whom others would be chosen, each with those who would then be chosen.

        If several tie for the last place, all of them count as chosen. A ballot that stands for several voters is
        removed as a whole.
        """
        profile = self.outcome.profile
        without = self._chosen_without
        changing = np.any(without != self._actual, axis=-1)
        changing &= np.asarray(profile.multiplicity) > 0
        return {profile.voters[i]: self._named(without[i]) for i in np.flatnonzero(changing)}

    @property
    def approximate(self) -> list[Any]:
        """Those of :attr:`pivotal` for whom the noise is kept as it was found with them; others are decided anew."""
        sure = set(range(len(self.outcome.profile.voters)) if self._is_exact else self._nearest)
        place = {name: i for i, name in enumerate(self.outcome.profile.voters)}
        return [name for name in self.pivotal if place[name] not in sure]

    @property
    def _is_exact(self) -> bool:
        """Whether leaving a voter out is the same as deciding anew for all voters."""
        return self.outcome.method.leaves_out_exactly

    @cached_property
    def _chosen_without(self) -> Array:
        """Who is chosen without each voter, ``(voter, alternative)``: decided anew where it is nearest to a change."""
        chosen = self._chosen(self._without)
        if self._is_exact:
            return chosen
        outcome = self.outcome
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for i in self._nearest:
                chosen[i] = self._chosen(outcome.method.fit(outcome.profile.ballots.leaving_out(range(i, i + 1))))[0]
        return chosen

    @cached_property
    def _nearest(self) -> list[int]:
        """Places of the voters whose absence comes nearest to a change of the chosen, as far as decided anew."""
        if self.outcome.batch is not None and self.outcome.method.joint:
            return []
        scores, actual = np.nan_to_num(np.asarray(self._without.scores, dtype=float), neginf=_UNSEEN), self._actual
        lead = np.min(scores[:, actual], axis=-1)
        if not actual.all():
            lead = lead - np.max(scores[:, ~actual], axis=-1)
        votes = np.asarray(self.outcome.profile.ballots.effective_multiplicity) > 0
        order = np.argsort(np.where(votes, lead, np.inf), kind="stable")
        return [int(i) for i in order[: min(_DECIDED_ANEW, np.sum(votes))]]

    @property
    def effective_voters_without(self) -> dict[Any, float]:
        """What :attr:`Outcome.effective_voters` would be without each voter; empty without a panel."""
        worth = self.outcome.worth
        return {} if worth is None else dict(zip(self.outcome.profile.voters, map(float, worth[1]), strict=True))

    @cached_property
    def leniency(self) -> dict[Any, float]:
        """How lenient each voter is (below 0: harsh), in the unit of the values; empty if that is not estimated.

        With a panel, leniency cannot be separated from shared errors.
        """
        return {name: by for name, (by, _) in self._leniency.items()}

    @cached_property
    def clear_leniency(self) -> dict[Any, float]:
        """The same of voters of whom it is clear: with at least three values, and a 95% interval that leaves 0 out."""
        ballots = self.outcome.profile.ballots
        votes = dict(zip(self.outcome.profile.voters, np.sum(np.asarray(ballots.counts) > 0, axis=-1), strict=True))
        clear = (name for name, (by, error) in self._leniency.items() if abs(by) > 1.96 * error)
        return {name: self.leniency[name] for name in clear if votes[name] >= _FEWEST_VALUES}

    @cached_property
    def _leniency(self) -> dict[Any, tuple[float, float]]:
        """How lenient each voter is, and the standard deviation of that."""
        outcome = self.outcome
        if not outcome.details.get("leniency", 0) > 0 or outcome.panel is not None or outcome.fit.posterior is None:
            return {}
        found, error = of_voters(outcome.profile.ballots, outcome.fit.posterior)
        return {
            name: (float(by), float(own)) for name, by, own in zip(outcome.profile.voters, found, error, strict=True)
        }

    @cached_property
    def equal_counts(self) -> list[Any]:
        """Who would be chosen if all counts above 0 were equal to their mean."""
        ballots = self.outcome.profile.ballots
        xp = namespace(ballots.counts)
        seen = ballots.counts > 0
        mean = xp.sum(ballots.counts) / xp.sum(xp.astype(seen, ballots.counts.dtype))
        return self._rechosen(self.outcome.method, ballots.with_counts(xp.where(seen, mean, 0)))

    @cached_property
    def without_leniency(self) -> list[Any] | None:
        """Who would be chosen if leniency were not allowed for; None if it is not, and for one decision of a batch."""
        outcome = self.outcome
        if not outcome.details.get("leniency", 0) > 0 or outcome.batch is not None:
            return None
        return self._rechosen(replace(outcome.method, leniency=0.0), outcome.profile.ballots)  # type: ignore[type-var]

    def _rechosen(self, method: Rule, ballots: Ballots) -> list[Any]:
        """Return who is chosen then; one decision of a batch, whose noise may be pooled, keeps its noise."""
        if self.outcome.batch is not None:
            return self._named(self._chosen(method.refit(ballots, self.outcome.fit)))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._named(self._chosen(method.fit(ballots)))

    @property
    def counts_mattered(self) -> bool:
        """Whether equal counts would have changed the chosen."""
        return bool(self.equal_counts != self._named(self._actual))

    @cached_property
    def _actual(self) -> Array:
        return self._chosen(self.outcome.fit)

    def _chosen(self, fit: Fit) -> Array:
        return among_best(np.asarray(fit.scores), np.asarray(fit.rounding), self.outcome.choose)

    def _named(self, marks: Array) -> list[Any]:
        return [self.outcome.profile.alternatives[j] for j in np.flatnonzero(marks)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects with names as text, ready for JSON."""
        return {
            "winner": str(self.winner),
            "runner_up": None if self.runner_up is None else str(self.runner_up),
            "lead": self.lead,
            "contributions": {str(name): part for name, part in self.contributions.items()},
            "shares": {str(name): part for name, part in self.shares.items()},
            "pivotal": {str(name): list(map(str, winners)) for name, winners in self.pivotal.items()},
            "equal_counts": list(map(str, self.equal_counts)),
            "counts_mattered": self.counts_mattered,
        } | self._of_voters()

    def _of_voters(self) -> dict[str, Any]:
        said = {} if self.without_leniency is None else {"without_leniency": list(map(str, self.without_leniency))}
        found = {"effective_voters_without": self.effective_voters_without, "leniency": self.leniency}
        return {key: {str(name): x for name, x in own.items()} for key, own in found.items() if own} | said

    def __repr__(self) -> str:
        return f"Explanation({self.winner} ahead of {self.runner_up} by {self.lead:.4g})"


def among_best(scores: Array, rounding: Array, k: int = 1) -> Array:
    """Mark the k best, including all that tie with the last of them, ``(..., alternative)``."""
    last = np.argsort(scores, axis=-1, kind="stable")[..., -k, None]
    lowest = np.take_along_axis(scores - rounding, last, axis=-1)
    return (scores + rounding >= lowest) & (scores > -np.inf)
