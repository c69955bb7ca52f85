"""The evidence of rankings, slice by slice, so that several processes or machines can work on it.

Expectation propagation for rankings takes nearly all of the time of learning; of other votes, less than sending them
elsewhere does. Where slices begin and end depends on nothing but the votes, and they are added up in their order, so
that results do not depend on who works on them, nor on how many do.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from veritally.arrays import Array
from veritally.panel.evidence import PanelVotes, RankedVotes
from veritally.panel.parameters import Parameters, ScoreTable
from veritally.progress import report
from veritally.work import in_order

_CELLS = 4000  # decisions × voters × alternatives in a slice: some tenths of a second of work

Piece = tuple[RankedVotes, Parameters, Any]


@dataclass(frozen=True, eq=False)
class SlicedVotes(PanelVotes):
    """Rankings whose evidence is found slice by slice, by an executor if there is one."""

    whole: RankedVotes
    executor: Executor | None = None

    @classmethod
    def of(cls, votes: PanelVotes, executor: Executor | None) -> PanelVotes:
        """Slice what is worth it."""
        return cls(votes.facts, votes, executor) if isinstance(votes, RankedVotes) else votes

    @property
    def exact(self) -> bool:
        """Whether slopes are exactly those of the evidence."""
        return self.whole.exact

    def take(self, rows: Array) -> Self:
        """Keep some decisions."""
        some = self.whole.take(rows)
        return type(self)(some.facts, some, self.executor)

    @cached_property
    def slices(self) -> Sequence[RankedVotes]:
        """The votes, in slices of so many decisions each."""
        decisions, voters, n = self.facts.counts.shape
        size = max(1, _CELLS // (voters * n))
        return [self.whole.take(np.arange(start, min(start + size, decisions))) for start in range(0, decisions, size)]

    def evidence(self, now: Parameters, near: Any = None) -> tuple[Array, ScoreTable, Any]:
        """Return the log-evidence of each decision, its slopes, and where to start from near by, a part a slice."""
        slices = self.slices
        pieces = [(own, now, sites) for own, sites in zip(slices, near or [None] * len(slices), strict=True)]
        found = []
        for one in in_order(_evidence, pieces, executor=self.executor if len(pieces) > 1 else None):
            found.append(one)
            report(len(found) / len(pieces))
        logs, tables, sites = zip(*found, strict=True)
        table = ScoreTable(*(np.concat(parts) for parts in zip(*tables, strict=True)))
        return np.concat(logs), table, sites


def _evidence(piece: Piece) -> tuple[Array, ScoreTable, Any]:
    votes, now, near = piece
    return votes.evidence(now, near)
