"""Comparing rules on the same votes with a known truth."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, Random
from veritally.ballots import KINDS, Kind
from veritally.errors import InputError
from veritally.experiments.chunks import check_workers, merged, plan
from veritally.experiments.lineup import Lineup
from veritally.experiments.measures import MEASURES, Moments
from veritally.experiments.run import judge_ballots
from veritally.noise.scenario import Scenario, scenario
from veritally.noise.simulation import Backend, Trials, whole
from veritally.profile import Profile
from veritally.registry import coarsened

_BASELINES = ("borda", "plurality")
_CONFIDENCE = 0.975  # of the one-sided bound within which a rule may be the best


@dataclass(frozen=True)
class Comparison:
    """How well several rules choose, all on the same instances.

    Attributes
    ----------
    rules
        Their names, in the order of their regret.
    baseline
        The rule that paired differences are taken to.
    instances
        How many decisions were measured.
    """

    lineup: Lineup
    moments: Moments
    baseline: str

    @property
    def instances(self) -> int:
        """How many decisions were measured."""
        return self.moments.instances

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, that of the lowest regret first."""
        order = np.argsort(self.moments.means[0], kind="stable")
        return tuple(self.lineup.labels[r] for r in order)

    @property
    def best(self) -> tuple[str, ...]:
        """The rules that may be the best.

        Those whose paired difference to the lowest regret lies within a 95% confidence interval around 0.
        """
        from scipy.special import stdtrit

        lowest = int(np.argmin(self.moments.means[0]))
        difference, error = self.moments.differences(lowest)
        bound = stdtrit(max(self.instances - 1, 1), _CONFIDENCE) * np.where(np.isnan(error), np.inf, error)
        best = {label for label, within in zip(self.lineup.labels, difference <= bound, strict=True) if within}
        return tuple(label for label in self.rules if label in best)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each rule, that of the lowest regret first."""
        labels = self.lineup.labels
        kinds = {entry.label: entry.info.votes for entry in self.lineup.entries}
        means, errors = self.moments.means, self.moments.errors
        difference, difference_error = self.moments.differences(labels.index(self.baseline))
        best = self.best
        rows = []
        for label in self.rules:
            r = labels.index(label)
            row: dict[str, Any] = {"rule": label, "votes": kinds[label]}
            for m, name in enumerate(MEASURES):
                row[name] = float(means[m, r])
                row["se" if name == "regret" else f"{name}_se"] = float(errors[m, r])
            row["difference"] = float(difference[r])
            row["difference_se"] = float(difference_error[r])
            row |= {"best": label in best, "baseline": self.baseline, "instances": self.instances}
            rows.append(row)
        return rows

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a tidy frame with a row for each rule; ``backend`` is ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Columns: ``rule``, ``votes``, ``regret``, ``se``, ``accuracy``, ``accuracy_se``, ``correlation``,
        ``correlation_se``, ``difference`` (paired, to the baseline), ``difference_se``, ``best`` (whether the rule may
        be the best), ``baseline``, ``instances``.
        """
        import narwhals as nw

        rows = self.rows()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Comparison({len(self.rules)} rules, {self.instances} instances, best: {', '.join(self.best)})"


def compare(
    votes: Scenario | str | Trials | Profile,
    *,
    truth: Any = None,
    rules: Iterable[str] | None = None,
    baseline: str | None = None,
    instances: int = 1000,
    seed: int = 0,
    workers: int | None = 1,
    backend: Backend = "numpy",
    progress: Callable[[float], None] | None = None,
    **changes: Any,
) -> Comparison:
    """Compare rules by regret, accuracy and rank correlation, all on the same instances.

    Parameters
    ----------
    votes
        A scenario or the name of one, trials of :func:`veritally.simulate`, or a profile with its ``truth``.
    truth
        For a profile: ``(..., alternative)``, the true quality of each alternative of each decision.
    rules
        Names of rules; by default all that can use the votes. ``borda+`` stands for all its variants,
        ``top-monte-carlo:samples=1000`` tells a rule its parameter.
    baseline
        The rule that paired differences are taken to; by default ``borda``.
    instances, seed, workers, backend
        For scenarios: how many to draw, from which seed, with how many processes (None: one a core; a script that uses
        several must guard its main part by ``if __name__ == "__main__"``), and in which library. The seed also breaks
        ties, and changing the number of workers changes nothing.
    progress
        Called with the share of the work that is done.
    **changes
        Fields of the scenario to set, such as ``voters=30``.

    Examples
    --------
    >>> comparison = compare("low-variance", voters=3, rules=["borda", "pairwise-normalized"], instances=2000)
    >>> comparison.rules, comparison.best
    (('pairwise-normalized', 'borda'), ('pairwise-normalized',))
    """
    seed = whole(seed, "seed")
    names = None if rules is None else [rules] if isinstance(rules, str) else list(rules)
    if isinstance(votes, Profile | Trials):
        if changes or (truth is None) == isinstance(votes, Profile):
            raise InputError("compare takes a scenario, trials, or a profile with its truth")
        profile, truth = (votes, truth) if isinstance(votes, Profile) else (votes.profile, votes.truth)
        lineup, named = _lineup(names, baseline, profile.kind, profile.shape[-1])
        return Comparison(lineup, _measured(profile, np.asarray(truth, dtype=float), lineup, seed), named)
    if truth is not None:
        raise InputError("a scenario has its own truth; give truth= with a profile")
    chosen = scenario(votes, **changes)
    lineup, named = _lineup(names, baseline, chosen.votes, chosen.alternatives)
    chunks = plan(chosen, lineup, MEASURES, whole(instances, "instances", least=1), seed, backend)
    for chunk, total in merged(chunks, check_workers(workers)):
        moments = total
        if progress is not None:
            progress(chunk.stop / instances)
    return Comparison(lineup, moments, named)


def _lineup(rules: list[str] | None, baseline: str | None, kind: Kind, n: int) -> tuple[Lineup, str]:
    """Return the rules with the baseline among them."""
    lineup = Lineup.of(rules, kind, n)
    if baseline is not None:
        lineup = Lineup.of([*lineup.labels, baseline], kind, n)
        return lineup, Lineup.of([baseline], kind, n).labels[0]
    return lineup, next((name for name in _BASELINES if name in lineup.labels), lineup.labels[0])


def _measured(profile: Profile, truth: Array, lineup: Lineup, seed: int) -> Moments:
    """Measure the rules on given votes."""
    if truth.shape != (*profile.batch, profile.shape[-1]):
        raise InputError(
            f"the truth has the shape {truth.shape}; these votes need {(*profile.batch, profile.shape[-1])}"
        )
    exists = np.broadcast_to(profile._alternatives.existing(), truth.shape)
    if not np.isfinite(truth[exists]).all():
        raise InputError("the truth must be a finite number for each alternative")
    truth = np.where(exists, truth, np.nan).reshape(-1, truth.shape[-1])
    lots = Random.of(truth, seed).uniform(truth.shape)
    coarse = sorted(lineup.kinds, key=KINDS.index)
    ballots = {kind: coarsened(profile, kind).ballots for kind in coarse}
    flat = {kind: type(b)(*(_flat(np.asarray(x), len(profile.batch)) for x in b)) for kind, b in ballots.items()}
    return Moments.of(judge_ballots(lineup, MEASURES, flat, truth, lots, seed=seed))


def _flat(x: Array, depth: int) -> Array:
    """Fold the batch axes into one."""
    return x.reshape(-1, *x.shape[depth:])
