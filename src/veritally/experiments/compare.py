"""Comparing rules on the same votes with a known truth."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from typing import Any, overload

import numpy as np

from veritally.arrays import Random
from veritally.checks import whole
from veritally.datasets import Dataset
from veritally.document import Cell, Table, html_table, latex_table
from veritally.errors import InputError
from veritally.experiments.chunks import Chunk, plan_chunks, running_sums
from veritally.experiments.labelled_votes import LabelledVotes
from veritally.experiments.measures import MEASURES, ClusteredMeasures, MeasureSums, summarize, with_error
from veritally.experiments.rule_set import Entry, RuleSet
from veritally.experiments.sweep import Sweep, varied
from veritally.model.scenario import Scenario, scenario
from veritally.model.simulation import Backend, Trials, checked_seed
from veritally.plots import PAGE
from veritally.records import framed
from veritally.rules.protocol import Rule
from veritally.votes.ballots import Ballots, Kind
from veritally.votes.profile import Profile
from veritally.votes.rankings import Rankings
from veritally.work import check_executor, check_workers

_BASELINES = ("borda", "plurality")
_WITH_POSTERIOR = ("all", "posterior")
_FEW, _FEW_RANKED = 10_000, 1000  # votes, which posterior decides within a few seconds: rankings take it longest
_EXCHANGES = 1  # the stream of those who exchange counts, beside that of tie breakers
_CONFIDENCE = 0.975  # of the one-sided bound within which a rule may be the best


@dataclass(frozen=True)
class Comparison:
    """How well several rules choose, all on the same instances.

    Attributes
    ----------
    rule_set
        The rules.
    summary
        Means and standard errors of what was measured.
    baseline
        The rule that the others are compared with, by paired differences.
    voters
        How many voters each decision has; None if the decisions differ.
    worth
        With a placebo, what the counts are worth: by how much each rule's regret grows if voters swap them.
    """

    rule_set: RuleSet
    summary: MeasureSums | ClusteredMeasures
    baseline: str
    voters: int | None
    worth: MeasureSums | ClusteredMeasures | None = None

    @property
    def about(self) -> str:
        """What was compared on, in a line."""
        decisions = "1 decision" if self.instances == 1 else f"{self.instances:,} decisions"
        clusters = "" if self.clusters is None else f" in {self.clusters} clusters"
        return decisions + clusters + ("" if self.voters is None else f", {self.voters} voters each")

    @property
    def instances(self) -> int:
        """How many decisions were measured."""
        return self.summary.instances

    @property
    def clusters(self) -> int | None:
        """How many clusters the decisions are in; None if there are none."""
        return self.summary.independent if isinstance(self.summary, ClusteredMeasures) else None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, lowest regret first."""
        order = np.argsort(self.summary.means[0], kind="stable")
        return tuple(self.rule_set.labels[r] for r in order)

    @property
    def best(self) -> tuple[str, ...]:
        """The rules that may be the best.

        The 95% confidence interval of their paired difference to the lowest regret includes 0.
        """
        from scipy.special import stdtrit

        lowest = int(np.argmin(self.summary.means[0]))
        difference, error = self.summary.differences(lowest)
        bound = stdtrit(max(self.summary.independent - 1, 1), _CONFIDENCE) * np.where(np.isnan(error), np.inf, error)
        best = {label for label, within in zip(self.rule_set.labels, difference <= bound, strict=True) if within}
        return tuple(label for label in self.rules if label in best)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each rule, lowest regret first."""
        difference, error = self.summary.differences(self.rule_set.labels.index(self.baseline))
        best, rows = self.best, []
        for label in self.rules:
            r = self.rule_set.labels.index(label)
            row: dict[str, Any] = {"rule": label, "votes": self.rule_set.entries[r].votes or "any"}
            for m, name in enumerate(MEASURES):
                row[name] = float(self.summary.means[m, r])
                row["se" if name == "regret" else f"{name}_se"] = _or_none(self.summary.errors[m, r])
            row |= {"difference": float(difference[r]), "difference_se": _or_none(error[r])}
            row |= {"best": label in best, "baseline": self.baseline, "instances": self.instances}
            if self.clusters is not None:
                row["clusters"] = self.clusters
            if self.worth is not None:
                row |= {"worth": float(self.worth.means[0, r]), "worth_se": _or_none(self.worth.errors[0, r])}
            rows.append(row)
        return rows

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a tidy frame with a row for each rule; ``backend`` is ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Columns: ``rule``, ``votes``, ``regret``, ``se``, ``accuracy``, ``accuracy_se``, ``correlation``,
        ``correlation_se``, ``difference`` (paired, to the baseline), ``difference_se``, ``best`` (whether the rule may
        be the best), ``baseline``, ``instances``; if they apply, also ``clusters``, and ``worth`` (of the counts) with
        ``worth_se``.
        """
        rows = self.rows()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return framed(columns, backend)

    def table(self) -> Table:
        """Return the comparison as a table of texts: numbers with their standard errors, the best rules in bold."""
        titles = {"regret": "regret", "accuracy": "accuracy", "correlation": "correlation"}
        titles["difference"] = f"− {self.baseline}"
        if self.worth is not None:
            titles["worth"] = "worth of counts"
        rows = self.rows()
        size = max(row["regret"] for row in rows)

        def text(row: dict[str, Any], name: str) -> str:
            if name == "difference" and row["rule"] == self.baseline:
                return ""
            return with_error(row[name], row["se" if name == "regret" else f"{name}_se"], size)

        cells = [
            [Cell((f"{row['rule']} *" if row["best"] else row["rule"],), row["best"])]
            + [Cell((text(row, name),)) for name in titles]
            for row in rows
        ]
        return Table(["rule", *titles.values()], cells)

    def to_latex(self) -> str:
        """Return a LaTeX table; it needs the package booktabs."""
        return latex_table(self.table())

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        return html_table(self.table(), f"{self.about}; ± standard errors; * may have the lowest regret (95%)")

    def plot(self, path: str | PathLike[str], *, width: float = PAGE) -> None:
        """Save a plot of the regrets, of a width in inches; needs the extra ``plot``."""
        from veritally.plots import save_comparison

        save_comparison(self, path, width)

    def __repr__(self) -> str:
        return f"Comparison({len(self.rules)} rules, {self.instances} instances, best: {', '.join(self.best)})"


def _or_none(error: float) -> float | None:
    """Return a standard error, None where a single decision has none."""
    return None if np.isnan(error) else float(error)


@overload
def compare(votes: Any, *, vary: None = None, **settings: Any) -> Comparison: ...


@overload
def compare(votes: Any, *, vary: Mapping[str, Iterable[Any]], **settings: Any) -> Sweep: ...


def compare(
    votes: Any,
    *,
    vary: Mapping[str, Iterable[Any]] | None = None,
    truth: Any = None,
    rules: Iterable[str | Rule] | None = None,
    baseline: str | None = None,
    clusters: Sequence[Hashable] | None = None,
    placebo: int = 0,
    instances: int = 2000,
    seed: int = 0,
    workers: int | None = 1,
    executor: Executor | None = None,
    backend: Backend = "numpy",
    progress: Callable[[float], None] = lambda share: None,
    **changes: Any,
) -> Comparison | Sweep:
    """Compare rules by regret, accuracy and rank correlation, all on the same instances.

    Parameters
    ----------
    votes
        A scenario or its name, trials from :func:`veritally.simulate`, one of :mod:`veritally.datasets`, or, with
        ``truth``, a profile, a vote file or a data frame of votes.
    vary
        For scenarios: a quantity and its levels, such as ``{"voters": [3, 10, 30]}`` or ``{"sigma": [1, 3, 10]}``, to
        compare at each of them; the result is a :class:`Sweep`. It can be ``voters``, ``alternatives``, ``sigma`` (one
        number for all alternatives), ``prior``, ``experience``, ``noise`` or ``count_error``, one at a time. Levels
        with the same numbers of voters and alternatives share the draws of what does not vary.
    truth
        For votes that are not simulated: the true quality of each alternative of each decision, as an array
        ``(..., alternative)``, a truth file or a data frame.
    rules
        Names of rules, in a list or separated by commas. Default: all that can use the votes, except ``mle`` and
        ``score``, which are slower, and ``posterior``, unless the votes are your own and so few that it takes seconds.
        ``borda+`` means all its variants; ``top-monte-carlo:samples=1000`` sets a parameter.
    baseline
        The rule to compare the others with, by paired differences. Default: ``borda``, or else the first rule.
    clusters
        For votes with ``truth``: the cluster of each decision. Decisions of a cluster may err together, and the
        standard errors allow for that. Data sets have their own clusters; so do truth files and frames with a column
        ``cluster``.
    placebo
        How many times the voters of each decision swap their counts at random, to measure what the counts are worth: by
        how much the regret of a rule grows, averaged over the swaps. Not for scenarios; use their trials instead.
    instances
        For scenarios: how many decisions to simulate.
    seed
        Seed of simulated votes, random rules, swapped counts and broken ties. Trials have their own tie breakers.
    workers
        For scenarios: the number of processes; None for one per core. It does not change the results. With more than
        one, the main part of a script must be under ``if __name__ == "__main__"``.
    executor
        For scenarios: who works instead of processes of our own: a ``concurrent.futures.Executor``, such as that of a
        Dask cluster. It does not change the results.
    backend
        For scenarios: the array library, ``numpy`` or ``jax``.
    progress
        Called with the share of the work that is done.
    **changes
        Fields of the scenario to set, such as ``voters=30``. For other votes only ``sigma``: one number, or one for
        each alternative, in order or by name.

    Examples
    --------
    >>> comparison = compare("low-variance", voters=3, rules=["borda", "pairwise-normalized"], instances=2000)
    >>> comparison.rules, comparison.best
    (('pairwise-normalized', 'borda'), ('pairwise-normalized',))
    """
    seed, times = checked_seed(seed, backend), whole(placebo, "placebo")
    if truth is not None or isinstance(votes, Profile | Trials | Dataset):
        if vary is not None:
            raise InputError("vary is for scenarios, from which votes can be simulated anew")
        labelled = LabelledVotes.of(votes, truth, clusters, changes, seed)
        if rules is None and truth is not None and _are_few(labelled.ballots, times + 1):
            rules = _WITH_POSTERIOR
        return _compare_on_votes(labelled, rules, baseline, times, seed)
    if times or clusters is not None:
        raise InputError("placebo and clusters need votes, not a scenario; make some with vt.simulate first")
    chosen = scenario(votes, **changes)
    rules = list(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else rules
    quantity, levels, scenarios = ("", (), [chosen]) if vary is None else varied(chosen, vary, changes)
    rule_set, named = _rules_and_baseline(_usable(rules, scenarios), baseline, chosen.votes, scenarios[0].alternatives)
    instances = whole(instances, "instances", least=1)
    plans = [plan_chunks(one, rule_set, MEASURES, instances, seed, backend) for one in scenarios]
    sums = _sum_chunks([chunk for plan in plans for chunk in plan], workers, executor, progress)
    comparisons = [Comparison(rule_set, total, named, one.voters) for total, one in zip(sums, scenarios, strict=True)]
    if vary is None:
        return comparisons[0]
    return Sweep(quantity, levels, tuple(comparisons), _named(rules, baseline, chosen.votes, scenarios[0].alternatives))


def _named(rules: Iterable[str | Rule] | None, baseline: str | None, kind: Kind, alternatives: int) -> tuple[str, ...]:
    """Return the rules that are asked for by name, and not as some of all."""
    texts = [*(rules.split(",") if isinstance(rules, str) else rules or ()), *([] if baseline is None else [baseline])]
    own = [text for text in texts if text != "all"]
    return RuleSet.of(own, kind, alternatives).labels if own else ()


def _are_few(ballots: Ballots, times: int) -> bool:
    """Whether posterior decides these votes so many times within seconds."""
    most = _FEW_RANKED if isinstance(ballots, Rankings) else _FEW
    return bool(times * np.asarray(ballots.counts).size <= most)


def _usable(rules: Iterable[str | Rule] | None, scenarios: Sequence[Scenario]) -> Iterable[str | Rule | Entry] | None:
    """Return the rules that can be used in all scenarios; those that are named must be."""
    first, *others = (RuleSet.of(rules, one.votes, one.alternatives) for one in scenarios)
    return [entry for entry in first.entries if all(entry.label in other.labels for other in others)]


def _sum_chunks(
    chunks: Sequence[Chunk], workers: int | None, executor: Executor | None, progress: Callable[[float], None]
) -> list[MeasureSums]:
    """Do all chunks, and add the measures of each scenario up."""
    sums: list[MeasureSums] = []
    work, done = sum(chunk.cells for chunk in chunks), 0
    for chunk, total in running_sums(chunks, check_workers(workers), check_executor(executor)):
        if chunk.start == 0:  # of the next scenario
            sums.append(total)
        sums[-1] = total
        done += chunk.cells
        progress(done / work)
    return sums


def _compare_on_votes(
    labelled: LabelledVotes, rules: Iterable[str | Rule] | None, baseline: str | None, times: int, seed: int
) -> Comparison:
    """Compare rules on votes that are there, with so many placebos."""
    rule_set, named = _rules_and_baseline(rules, baseline, labelled.ballots.kind, labelled.truth.shape[-1])
    measured = labelled.measure(rule_set, seed)
    worth = None
    if times:
        random = Random.of(labelled.truth, seed, _EXCHANGES)
        others = [labelled.exchange_counts(random).measure(rule_set, seed) for _ in range(times)]
        worth = summarize(sum(others) / times - measured, labelled.clusters)
    return Comparison(rule_set, summarize(measured, labelled.clusters), named, labelled.voters, worth)


def _rules_and_baseline(
    rules: Iterable[str | Rule | Entry] | None, baseline: str | None, kind: Kind, n: int
) -> tuple[RuleSet, str]:
    """Return the rules with the baseline among them."""
    rule_set = RuleSet.of(rules, kind, n)
    if baseline is None:
        return rule_set, next((name for name in _BASELINES if name in rule_set.labels), rule_set.labels[0])
    named = Entry.of(baseline)
    return RuleSet.of([*rule_set.entries, named], kind, n), named.label
