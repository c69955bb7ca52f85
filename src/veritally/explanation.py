"""Explanation: who decided an outcome, and what would have changed it."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.arrays import Array, namespace

if TYPE_CHECKING:
    from veritally.outcome import Outcome


@dataclass(frozen=True)
class Explanation:
    """The reasons of a single decision.

    Attributes
    ----------
    winner, runner_up
        The first two of the ranking; ``runner_up`` is None if only one alternative has any evidence.
    lead
        Score of the winner less that of the runner-up; 0 where they tie.
    contributions
        What each voter adds to the lead, negative for those who pulled the other way, largest first. They sum to it.
    pivotal
        Voters whose ballot, removed, would change the winners, with the winners there would be without it. A ballot
        that stands for several voters is removed whole.
    equal_counts
        The winners if every voter had seen everything they saw equally often.
    counts_mattered
        Whether these differ from the actual winners.
    """

    winner: Any
    runner_up: Any
    lead: float
    contributions: dict[Any, float]
    pivotal: dict[Any, list[Any]]
    equal_counts: list[Any]
    counts_mattered: bool

    def shares(self) -> dict[Any, float]:
        """Return the contributions as parts of the lead; empty where there is no lead."""
        return {name: part / self.lead for name, part in self.contributions.items()} if self.lead > 0 else {}

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects with names as text, ready for JSON."""
        plain = asdict(self)
        plain["winner"] = str(self.winner)
        plain["runner_up"] = None if self.runner_up is None else str(self.runner_up)
        plain["contributions"] = {str(name): part for name, part in self.contributions.items()}
        plain["shares"] = {str(name): part for name, part in self.shares().items()}
        plain["pivotal"] = {str(name): list(map(str, winners)) for name, winners in self.pivotal.items()}
        plain["equal_counts"] = list(map(str, self.equal_counts))
        return plain


def explain(outcome: "Outcome") -> Explanation:
    """Explain a single decision."""
    profile, ballots = outcome.profile, outcome.profile.ballots
    order = [name for tier in outcome.ranking for name in tier]
    first, second = order[0], (order[1] if len(order) > 1 else None)
    column = {name: j for j, name in enumerate(outcome.alternatives)}
    weights = np.asarray(outcome.weights, dtype=float)
    pulls = weights[:, column[first]] - (0 if second is None else weights[:, column[second]])

    def winning(scores: Array) -> Array:
        """Mark the alternatives that share the highest score, ``(..., alternative)``."""
        scores = np.asarray(scores)
        best = np.max(scores, axis=-1, keepdims=True)
        return (scores >= best - np.asarray(outcome.resolution)) & (best > -np.inf)

    def named(marks: Array) -> list[Any]:
        return [profile.alternatives[j] for j in np.flatnonzero(marks)]

    actual = winning(outcome.raw_scores)
    without = winning(outcome.method.leave_one_out(ballots))
    changing = np.any(without != actual, axis=-1) & (np.asarray(ballots.multiplicity) > 0)
    once = namespace(ballots.counts).astype(ballots.counts > 0, ballots.counts.dtype)
    equal = winning(outcome.method.score(ballots._replace(counts=once))[0])
    return Explanation(
        winner=first,
        runner_up=second,
        lead=float(np.sum(pulls)) if len(outcome.winners) == 1 else 0.0,
        contributions={profile.voters[i]: float(pulls[i]) for i in np.argsort(-pulls, kind="stable")},
        pivotal={profile.voters[i]: named(without[i]) for i in np.flatnonzero(changing)},
        equal_counts=named(equal),
        counts_mattered=bool(np.any(equal != actual)),
    )
