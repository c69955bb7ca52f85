"""Votes that need not be simulated, with their truth."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from veritally.arrays import Array, Random, is_jax
from veritally.datasets import Dataset
from veritally.errors import InputError, quoted
from veritally.experiments.measures import MEASURES
from veritally.experiments.placebo import exchange_counts
from veritally.experiments.rule_set import RuleSet
from veritally.experiments.run import judge
from veritally.io.truth import read_truth_and_clusters
from veritally.io.votes import read
from veritally.model.known import KnownParameters
from veritally.model.parameters import checked_parameters
from veritally.model.scenario import Scenario
from veritally.model.simulation import Trials
from veritally.votes.ballots import Ballots
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile
from veritally.votes.validation import numbers


@dataclass(frozen=True, eq=False)
class LabelledVotes:
    """Votes that need not be simulated, of one decision or a batch, with their truth.

    Attributes
    ----------
    ballots
        The votes.
    truth, tie_breakers
        ``(..., alternative)``: the true qualities, and numbers that break ties.
    known
        What rules may know of how the votes came about.
    voters
        How many voters each decision has; None where they differ.
    clusters
        The cluster of each decision; None if there are no clusters.
    """

    ballots: Ballots
    truth: Array
    tie_breakers: Array
    known: KnownParameters
    voters: int | None
    clusters: Sequence[Hashable] | None = None

    @classmethod
    def of(
        cls, votes: Any, truth: Any, clusters: Sequence[Hashable] | None, changes: Mapping[str, Any], seed: int
    ) -> "LabelledVotes":
        """Check what was given."""
        if isinstance(votes, Scenario):
            raise InputError("a scenario has its own truth; leave truth= out")
        if isinstance(votes, Trials):
            if truth is not None or clusters is not None or changes:
                raise InputError("trials have their own truth and scenario; leave out truth=, clusters= and changes")
            return cls._of_trials(votes)
        if isinstance(votes, Dataset):
            if truth is not None or clusters is not None:
                raise InputError(f"the data set {votes.name} has its own truth and clusters; leave them out")
            votes, truth, clusters = votes.profile, votes.truth, votes.clusters
        if truth is None:
            raise InputError("comparing rules on votes needs the truth; give truth=")
        if others := sorted(changes.keys() - {"sigma"}):
            raise InputError(f"{others[0]} is for simulated votes; other votes take only sigma")
        profile = votes if isinstance(votes, Profile) else read(votes)
        true, found = _truth(truth, profile)
        clusters = found if clusters is None else clusters
        clusters = None if clusters is None else _clusters(clusters, math.prod(profile.batch))
        known = KnownParameters(checked_parameters(changes, profile).get("sigma"))
        sizes = set(np.ravel(_lengths(profile.voters, len(profile))).tolist())
        voters = sizes.pop() if len(sizes) == 1 else None
        tie_breakers = Random.of(true, seed, 0).uniform(true.shape)
        return cls(profile.ballots, true, tie_breakers, known, voters, clusters)

    @classmethod
    def _of_trials(cls, trials: Trials) -> "LabelledVotes":
        truth, tie_breakers = np.asarray(trials.truth), np.asarray(trials.tie_breakers)
        known = KnownParameters.of(trials.scenario)
        return cls(trials.profile.ballots, truth, tie_breakers, known, trials.scenario.voters)

    def exchange_counts(self, random: Random) -> "LabelledVotes":
        """Return the same after the voters of each decision exchanged their counts."""
        if self.ballots.part(Pairs) is not None:
            raise InputError("voters cannot swap the counts of pairs, which are their comparisons; leave placebo out")
        counts = exchange_counts(np.asarray(self.ballots.counts), random)
        return replace(self, ballots=self.ballots.with_counts(counts))

    def measure(self, rule_set: RuleSet, seed: int) -> Array:
        """Measure the rules, with all batch axes folded into one: ``(measure, rule, instance)``."""
        depth = self.truth.ndim - 1

        def folded(x: Array) -> Array:
            return np.asarray(x).reshape(-1, *x.shape[depth:])

        truth, tie_breakers = folded(self.truth), folded(self.tie_breakers)
        return judge(rule_set, MEASURES, self.known, self.ballots.map(folded), truth, tie_breakers, seed)


def _truth(given: Any, profile: Profile) -> tuple[Array, Sequence[Hashable] | None]:
    """Return the truth of a profile, from an array, a file or a frame, and the clusters that the latter may have."""
    if isinstance(given, str | PathLike) or _is_frame(given):
        return read_truth_and_clusters(given, profile)
    truth = np.asarray(numbers(given, "the truth"))
    shape = (*profile.batch, profile.shape[-1])
    if truth.shape != shape:
        raise InputError(f"the truth has the shape {truth.shape}; these votes need {shape}")
    lengths = _lengths(profile.alternatives, shape[-1])
    exists = np.broadcast_to(np.arange(shape[-1]) < lengths[..., None], shape)
    if not np.isfinite(truth[exists]).all():
        raise InputError("the truth must be a finite number for each alternative")
    return np.where(exists, truth, np.nan), None


def _is_frame(given: Any) -> bool:
    if isinstance(given, Sequence | np.ndarray) or is_jax(given):
        return False
    import narwhals as nw

    return isinstance(nw.from_native(given, pass_through=True), nw.DataFrame | nw.LazyFrame)


def _lengths(names: Sequence[Any], size: int) -> Array:
    """Return how many names there are: one number, or one for each decision where decisions differ in them."""
    return np.array([len(own) for own in names] if names and isinstance(names[0], tuple) else size)


def _clusters(given: Any, decisions: int) -> tuple[Hashable, ...]:
    """Require the name of a cluster for each decision."""
    try:
        names = tuple(given)
        hash(names)
    except TypeError:
        raise InputError(f"clusters must be a list with a name for each decision, not {quoted(given)}") from None
    if len(names) != decisions:
        raise InputError(f"there are {len(names)} clusters for {decisions} decisions; give one for each decision")
    return names
