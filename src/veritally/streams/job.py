"""A job: what is decided, where it is kept, and who works on it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from veritally.streams.columns import Columns
from veritally.streams.decisions import Votes
from veritally.streams.parts import Parts
from veritally.streams.pieces import Piece, Runs, bring_together
from veritally.streams.rows import Rows
from veritally.work import require_sendable, worked

_AHEAD = 2  # pieces handed out for each worker


@dataclass(frozen=True)
class Job:
    """What is decided, where it is kept, who works, and who is told how far it is.

    Attributes
    ----------
    rows, columns, identity
        The votes, how they are to be read, and what they were known by when that was found out.
    asked
        What a :class:`Question` is to be asked, besides.
    strict
        Whether a tie among the chosen is an error.
    parts
        Where what is finished is kept.
    executor, here
        Who works, if not this process alone; and whether these are processes of our own, which can read the files.
    """

    rows: Rows
    columns: Columns
    identity: str
    asked: Mapping[str, Any]
    strict: bool
    parts: Parts
    executor: Executor | None
    here: bool
    progress: Callable[[float], None]

    def cut(self, column: str, runs: Runs, size: int) -> list[Piece]:
        """Cut the rows into pieces, brought together on disk where they have to be."""
        return runs.pieces(size) if runs.together else bring_together(self.rows, column, runs, size, self.parts.rows)

    def finish(self) -> None:
        """Put the file of answers in its place, if the votes are still the same."""
        self.rows.require(self.identity)
        self.parts.finish()

    def do(self, task: Callable[[Votes], Any], pieces: Sequence[Piece]) -> Iterator[tuple[int, Any]]:
        """Yield what a task makes of each piece, with its index, as it is finished."""
        reading = Reading(self.rows, task)
        executor = self.executor
        if self.here:
            executor = executor if len(pieces) > 1 else None
            if executor is not None:
                require_sendable(task)
        if executor is None or (self.here and self.rows.files):
            for piece, found in worked(reading, pieces, executor=executor, ahead=_AHEAD):
                yield piece.index, found
        else:
            for votes, found in worked(task, map(reading.votes, pieces), executor=executor, ahead=_AHEAD):
                yield votes.piece, found


@dataclass(frozen=True)
class Reading:
    """A task that reads its piece itself."""

    rows: Rows
    task: Callable[[Votes], Any]

    def __call__(self, piece: Piece) -> Any:
        """Do so."""
        return self.task(self.votes(piece))

    def votes(self, piece: Piece) -> Votes:
        """Read a piece."""
        table, numbers = piece.read(self.rows)
        return Votes(table, self.rows.places(numbers), piece.before, piece.index)


def awaken(executor: Executor, workers: int) -> None:
    """Let processes of our own start, and load this package, while this one looks at the rows."""
    for _ in range(workers):
        executor.submit(_awake)


def _awake() -> None:
    """Be found in this module, which is loaded to find it."""
