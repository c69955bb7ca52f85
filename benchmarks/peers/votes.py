"""The votes of one decision, in the forms that other libraries take."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np


class Judgements(NamedTuple):
    """Comparisons of pairs: who compared what, and the score of the left one, 1 if it won, ½ for a tie, 0 if it lost.

    ``weight`` is what counts say of how well the two can be told apart, √(c c′/(c + c′)).
    """

    voter: list[int]
    left: list[int]
    right: list[int]
    score: list[float]
    weight: list[float]


@dataclass(frozen=True, eq=False)
class Votes:
    """Values and counts ``(voter, alternative)`` of one decision, NaN and 0 for what was not seen.

    ``sigma`` and ``tau`` are the noise of one observation and the spread of the truths, for those who want to know;
    ``sampling`` is the noise by sampling alone, where voters may differ besides. ``judged`` are comparisons, where
    voters made such; else a ranking stands for one of each pair.
    """

    values: np.ndarray
    counts: np.ndarray
    sigma: float
    tau: float
    sampling: float
    judged: Judgements | None = None

    @property
    def alternatives(self) -> int:
        return self.values.shape[1]

    @cached_property
    def tiers(self) -> list[list[list[int]]]:
        """For each voter who saw two or more: alternatives, best first, those that tie together."""
        return [self._tiers(i) for i in range(len(self.values)) if np.sum(self.counts[i] > 0) > 1]

    def _tiers(self, voter: int) -> list[list[int]]:
        own = self.values[voter]
        seen = np.flatnonzero(self.counts[voter] > 0)
        levels = np.unique(own[seen])[::-1]
        return [seen[own[seen] == level].tolist() for level in levels]

    @cached_property
    def noises(self) -> list[dict[int, float]]:
        """For each of these voters: σ/√c of each alternative seen."""
        able = [row for row in self.counts if np.sum(row > 0) > 1]
        return [{int(j): self.sigma / row[j] ** 0.5 for j in np.flatnonzero(row > 0)} for row in able]

    @cached_property
    def orders(self) -> list[list[int]]:
        """The same with ties broken by lot, for those who know no ties."""
        rng = np.random.default_rng(0)
        return [[int(j) for tier in tiers for j in rng.permutation(tier)] for tiers in self.tiers]

    @property
    def strict(self) -> bool:
        """Whether all voters ranked all alternatives, without ties."""
        return len(self.tiers) == len(self.values) and all(len(tiers) == self.alternatives for tiers in self.tiers)

    @cached_property
    def judgements(self) -> Judgements:
        """Comparisons of pairs, left and right by lot."""
        return self.judged or self._implied()

    def _implied(self) -> Judgements:
        rng = np.random.default_rng(0)
        rows = []
        for i, (own, counts) in enumerate(zip(self.values, self.counts, strict=True)):
            for pair in itertools.combinations(np.flatnonzero(counts > 0), 2):
                j, k = rng.permutation(pair)
                score = (np.sign(own[j] - own[k]) + 1) / 2
                weight = (counts[j] * counts[k] / (counts[j] + counts[k])) ** 0.5
                rows.append((i, int(j), int(k), float(score), float(weight)))
        return Judgements(*map(list, zip(*rows, strict=True)))

    @cached_property
    def wins(self) -> np.ndarray:
        """How often each alternative was judged better than each other, half a time each for a tie."""
        _, left, right, score, _ = self.judgements
        wins = np.zeros((self.alternatives,) * 2)
        np.add.at(wins, (left, right), score)
        np.add.at(wins, (right, left), 1 - np.array(score))
        return wins

    def prepare(self) -> None:
        """Bring the votes into all forms, so that this takes no time later."""
        _ = self.orders, self.noises, self.wins
