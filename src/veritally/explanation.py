"""Explanation: who decided an outcome, and what would have changed it."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.arrays import Array, namespace

if TYPE_CHECKING:
    from veritally.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reasons of a single decision, worked out as they are asked for."""

    outcome: "Outcome"

    @cached_property
    def _order(self) -> list[Any]:
        return [name for tier in self.outcome.ranking for name in tier]

    @property
    def winner(self) -> Any:
        """The first of the ranking; of several winners, the first in the order of the alternatives."""
        return self._order[0]

    @property
    def runner_up(self) -> Any:
        """The second of the ranking; None if only one alternative has any evidence."""
        return self._order[1] if len(self._order) > 1 else None

    @cached_property
    def _pulls(self) -> Array:
        """What each voter adds to the winner's score, less what to the runner-up's."""
        weights = np.asarray(self.outcome.weights, dtype=float)
        column = {name: j for j, name in enumerate(self.outcome.alternatives)}
        rival = 0 if self.runner_up is None else weights[:, column[self.runner_up]]
        return weights[:, column[self.winner]] - rival

    @cached_property
    def lead(self) -> float:
        """Score of the winner less that of the runner-up; 0 where they tie."""
        return float(np.sum(self._pulls)) if len(self.outcome.winners) == 1 else 0.0

    @cached_property
    def contributions(self) -> dict[Any, float]:
        """What each voter adds to the lead, negative for those who pulled the other way, largest first.

        They sum to the lead.
        """
        voters = self.outcome.profile.voters
        return {voters[i]: float(self._pulls[i]) for i in np.argsort(-self._pulls, kind="stable")}

    @property
    def shares(self) -> dict[Any, float]:
        """The contributions as parts of the lead; empty where there is no lead."""
        return {name: part / self.lead for name, part in self.contributions.items()} if self.lead > 0 else {}

    @cached_property
    def pivotal(self) -> dict[Any, list[Any]]:
        """Voters whose ballot, removed, would change the winners, with the winners there would be without it.

        A ballot that stands for several voters is removed whole.
        """
        profile = self.outcome.profile
        without = self._winning(self.outcome.method.leave_one_out(profile.ballots))
        changing = np.any(without != self._winning(self.outcome.raw_scores), axis=-1)
        changing &= np.asarray(profile.multiplicity) > 0
        return {profile.voters[i]: self._named(without[i]) for i in np.flatnonzero(changing)}

    @cached_property
    def equal_counts(self) -> list[Any]:
        """The winners if every voter had seen everything they saw equally often."""
        ballots = self.outcome.profile.ballots
        once = namespace(ballots.counts).astype(ballots.counts > 0, ballots.counts.dtype)
        scores, resolution = self.outcome.method.score(ballots._replace(counts=once))
        return self._named(self._winning(scores, resolution))

    @property
    def counts_mattered(self) -> bool:
        """Whether equal counts would have given other winners."""
        return bool(self.equal_counts != self.outcome.winners)

    def _winning(self, scores: Array, resolution: Array | None = None) -> Array:
        """Mark the alternatives that share the highest score, ``(..., alternative)``."""
        scores = np.asarray(scores)
        best = np.max(scores, axis=-1, keepdims=True)
        tie = np.asarray(self.outcome.resolution if resolution is None else resolution)
        return (scores >= best - tie) & (best > -np.inf)

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
        }

    def __repr__(self) -> str:
        return f"Explanation({self.winner} ahead of {self.runner_up} by {self.lead:.4g})"
