"""A job: what is decided, where it is kept, and who works on it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from veritally.streams.columns import Columns
from veritally.streams.decisions import Votes
from veritally.streams.parts import Parts
from veritally.streams.pieces import Piece, Runs, bring_together
from veritally.streams.rows import Rows
from veritally.work import worked

_AHEAD = 2  # pieces handed out for each worker


@dataclass(frozen=True)
class Job:
    """What is decided, where it is kept, who works, and who is told how far it is.

    Attributes
    ----------
    rows, columns
        The votes, and how they are to be read.
    asked
        What a :class:`Question` is to be asked, besides.
    strict
        Whether a tie among the chosen is an error.
    parts
        Where what is finished is kept.
    """

    rows: Rows
    columns: Columns
    asked: Mapping[str, Any]
    strict: bool
    parts: Parts
    workers: int
    executor: Executor | None
    progress: Callable[[float], None]

    def cut(self, column: str, runs: Runs, size: int) -> list[Piece]:
        """Cut the rows into pieces, brought together on disk where they have to be."""
        return runs.pieces(size) if runs.together else bring_together(self.rows, column, runs, size, self.parts.rows)

    def do(self, task: Callable[[Votes], Any], pieces: Sequence[Piece]) -> Iterator[tuple[int, Any]]:
        """Yield what a task makes of each piece, with its index, as it is finished."""
        for votes, found in worked(task, self._votes(pieces), self.workers, self.executor, _AHEAD):
            yield votes.piece, found

    def _votes(self, pieces: Iterable[Piece]) -> Iterator[Votes]:
        for piece in pieces:
            table, numbers = piece.read(self.rows)
            yield Votes(table, self.rows.places(numbers), piece.before, piece.index)
