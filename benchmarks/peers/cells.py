"""Where rules and libraries are compared: the paper's scenarios, and the data sets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

import veritally as vt
from peers.votes import Judgements, Votes
from veritally.model.known import KnownParameters

SCENARIOS = ("high-variance", "low-variance", "count-noise", "count-replacement")
INSTANCES = {10: 2000, 30: 800, 100: 250}  # by the number of voters
_SEED = 2020
DATASETS = {"flights13": 1, "llmfao": 1, "polls538": 100}  # what a share is of
_LEAST = 1e-6  # of a scale, where all values are the same
_SCORES = {"left": 1.0, "tie": 0.5, "right": 0.0}


@dataclass(frozen=True, eq=False)
class Cell:
    """Decisions with their truth.

    Attributes
    ----------
    profile
        The votes, as values.
    truth, tie_breakers
        ``(decision, alternative)``: what is true, and what ties are broken by.
    known
        What our rules may know: of scenarios all, of data sets nothing.
    each
        The votes of each decision, for other libraries.
    clusters
        Of decisions that err together; None if each stands for itself.
    """

    profile: vt.Profile
    truth: np.ndarray
    tie_breakers: np.ndarray
    known: KnownParameters
    each: list[Votes]
    clusters: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.each)

    def first(self, number: int) -> "Cell":
        """Return the first decisions."""
        return self._part(slice(number)) if number < len(self) else self

    def singles(self, number: int) -> Iterator["Cell"]:
        """Yield the first decisions one by one."""
        for d in range(min(number, len(self))):
            yield self._part(slice(d, d + 1))

    def _part(self, which: slice) -> "Cell":
        singles = [self.profile.decision(d) for d in range(len(self))[which]]
        profile = vt.stack(singles)
        n = profile.shape[-1]
        clusters = None if self.clusters is None else self.clusters[which]
        return replace(
            self,
            profile=profile,
            truth=self.truth[which, :n],
            tie_breakers=self.tie_breakers[which, :n],
            each=self.each[which],
            clusters=clusters,
        )

    @cached_property
    def votes(self) -> dict[str, np.ndarray]:
        """Arrays that a profile can be made from, by the kind of votes."""
        found = {"values": np.asarray(self.profile.values), "ranks": np.asarray(self.profile.as_rankings().ranks)}
        if self.each[0].judged:
            found["pairs"] = np.stack([_pairs(votes, self.profile.shape[-2]) for votes in self.each])
        return found


def scenario(name: str, voters: int) -> Cell:
    """Draw a scenario of the paper."""
    trials = vt.simulate(name, voters=voters, instances=INSTANCES[voters], seed=_SEED)
    known = KnownParameters.of(trials.scenario)
    values, counts = np.asarray(trials.profile.values), np.asarray(trials.profile.counts)
    each = [Votes(x, c, known.sigma, known.tau, known.sigma) for x, c in zip(values, counts, strict=True)]
    return Cell(trials.profile, np.asarray(trials.truth), np.asarray(trials.tie_breakers), known, each)


def dataset(name: str) -> Cell:
    """Load a data set; for other libraries, σ and τ are estimated from the values."""
    data = vt.datasets.load(name)
    singles = data.profile.unstack()
    judged = _judged(data, singles) if name == "llmfao" else [None] * len(singles)
    each = [
        Votes(np.asarray(one.values), np.asarray(one.counts), *_scales(one, DATASETS[name]), own)
        for one, own in zip(singles, judged, strict=True)
    ]
    tie_breakers = np.random.default_rng(_SEED).random(data.truth.shape)
    return Cell(data.profile, np.asarray(data.truth), tie_breakers, KnownParameters(), each, data.clusters)


def _scales(profile: vt.Profile, whole: float) -> tuple[float, float, float]:
    """Return σ by how values vary around the means of alternatives, τ by how these means vary, and √(p(1 − p))."""
    seen = profile.counts > 0
    values = np.where(seen, profile.values, 0)
    total = profile.counts.sum(axis=0)
    means = (profile.counts * values).sum(axis=0) / total
    freedom = seen.sum() - len(means)
    sigma = np.sqrt((profile.counts * (values - means) ** 2).sum() / freedom)
    share = (total @ means) / total.sum()
    scales = (sigma, means.std(ddof=1), np.sqrt(share * (whole - share)))
    return tuple(max(float(scale), _LEAST) for scale in scales)


def _judged(data: Any, singles: list[vt.Profile]) -> Iterator[Judgements]:
    """Yield the judgements behind each split of llmfao, found again as its SOURCE.md says they were split."""
    table = data.table("comparisons")
    ids = np.sort(table["id"].unique().to_numpy())
    for split, one in enumerate(singles):
        half = np.random.default_rng(split).permutation(ids)[: len(ids) // 2]
        own = table.filter(pl.col("id").is_in(half.tolist()))
        models, workers = ({name: at for at, name in enumerate(names)} for names in (one.alternatives, one.voters))
        yield Judgements(
            [workers[f"w{worker:03d}"] for worker in own["worker"]],
            [models[name] for name in own["left"]],
            [models[name] for name in own["right"]],
            [_SCORES[winner] for winner in own["winner"]],
            [1.0] * own.height,
        )


def _pairs(votes: Votes, voters: int) -> np.ndarray:
    """Return how often each voter preferred the one to the other."""
    voter, left, right, score, _ = votes.judgements
    pairs = np.zeros((voters, votes.alternatives, votes.alternatives))
    np.add.at(pairs, (voter, left, right), score)
    np.add.at(pairs, (voter, right, left), 1 - np.array(score))
    return pairs
