"""Rows that belong together, as pieces of a bounded size: whole decisions, or all rows of a voter.

Mostly they stand together in the file, and a piece is a stretch of it. Where they do not, they are brought together on
disk first, by a hash of their name.
"""

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError
from veritally.files import write_whole
from veritally.inference.pooling import evenly
from veritally.progress import report
from veritally.streams.rows import Rows

_NUMBER, _PIECE, _OWN = "number of the row", "piece of the row", "folder of the row"  # columns beside a user's
_MOST_FILES = 256  # that a table is cut into
_MOST_ROWS = 1 << 21  # that are cut again at a time
_FEW = 64  # stretches of rows that are read one by one
COMPLETE = "complete"


@dataclass(frozen=True)
class Piece:
    """Some rows that belong together.

    Attributes
    ----------
    index
        Which piece it is.
    start, stop
        The rows of the file, where they stand together.
    before
        How many decisions, or voters, come before it.
    files
        Where the rows were brought together on disk; else none.
    """

    index: int
    start: int
    stop: int
    before: int
    files: tuple[Path, ...] = ()

    def read(self, rows: Rows) -> tuple[pl.DataFrame, Array]:
        """Return the rows and their numbers."""
        if not self.files:
            return rows.read(self.start, self.stop), np.arange(self.start, self.stop)
        table = pl.concat([pl.read_ipc(file) for file in self.files])
        return table.drop(_NUMBER, _PIECE), table[_NUMBER].to_numpy()


@dataclass(frozen=True)
class Runs:
    """Stretches of rows with the same name in a column: the hash of the name, where each begins, how long it is."""

    hashes: Array
    starts: Array
    lengths: Array

    @classmethod
    def of(cls, rows: Rows, column: str) -> "Runs":
        """Find them."""
        hashes, starts = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
        for first, batch in rows.batches([column]):
            names = batch.to_series()
            new = names.ne_missing(names.shift(1)).to_numpy(writable=True)
            new[:1] = True
            places = np.flatnonzero(new)
            hashes.append(_hashes(rows, batch[places], column))
            starts.append(places + first)
            report((first + batch.height) / max(rows.height, 1))
        known, begun = np.concat(hashes), np.concat(starts)
        changed = np.diff(known, prepend=~known[:1]) != 0  # not where a batch, or another spelling, goes on with a name
        known, begun = known[changed], begun[changed]
        return cls(known, begun, np.diff(begun, append=rows.height))

    @cached_property
    def names(self) -> Array:
        """The hashes of all different names, in the order in which they first appear."""
        return self.hashes[pl.Series(self.hashes).is_first_distinct().to_numpy()]

    @property
    def together(self) -> bool:
        """Whether all rows of a name stand together."""
        return len(self.names) == len(self.hashes)

    def pieces(self, size: int) -> list[Piece]:
        """Cut the rows between names, into pieces of at most so many rows, or of one name."""
        found: list[Piece] = []
        ends, first = self.starts + self.lengths, 0
        while first < len(ends):
            last = int(np.searchsorted(ends, self.starts[first] + size, side="right"))
            last = max(last, first + 1)
            found.append(Piece(len(found), int(self.starts[first]), int(ends[last - 1]), first))
            first = last
        return found


def bring_together(rows: Rows, column: str, runs: Runs, size: int, folder: Path) -> list[Piece]:
    """Bring rows of the same name together on disk, in pieces of about so many rows; what lies there is used again.

    Very many pieces are made in two steps, since each table that is cut becomes as many files as there are pieces.
    """
    number = max(1, -(-rows.height // size))
    together = -(-number // _MOST_FILES)  # pieces that stay together in the first step
    done = folder / COMPLETE
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _cut(_numbered(rows, column, number), together, folder if together == 1 else folder / "first")
            for own in range(-(-number // together) if together > 1 else 0):
                files = sorted((folder / "first" / str(own)).glob("*.ipc"))
                _cut(_joined(files), 1, folder)
                shutil.rmtree(folder / "first" / str(own), ignore_errors=True)
                report((1 + (own + 1) * together / number) / 2)
        except (OSError, pl.exceptions.PolarsError) as error:
            problem = getattr(error, "strerror", None) or error
            raise InputError(f"{folder}: rows cannot be brought together there ({problem})") from error
        getattr(os, "sync", bool)()  # so that what is said to be there is, whatever happens next
        write_whole(done, b"")
    names = np.bincount((runs.names % np.uint64(number)).astype(int), minlength=number)
    before = np.cumsum(names) - names
    return [
        Piece(int(own), 0, 0, int(before[own]), tuple(sorted((folder / str(own)).glob("*.ipc"))))
        for own in np.flatnonzero(names)
    ]


def _numbered(rows: Rows, column: str, number: int) -> Iterator[pl.DataFrame]:
    """Go through all rows, with their numbers and the pieces that they go to."""
    for first, batch in rows.batches():
        numbers = pl.Series(_NUMBER, np.arange(first, first + batch.height))
        piece = pl.Series(_PIECE, (_hashes(rows, batch.select(column), column) % np.uint64(number)).astype(np.uint32))
        yield rows.spelt(batch).with_columns(numbers, piece)
        report((first + batch.height) / rows.height / (1 if number <= _MOST_FILES else 2))


def _joined(files: Sequence[Path]) -> Iterator[pl.DataFrame]:
    """Go through the rows of files, many at a time."""
    tables, height = list[pl.DataFrame](), 0
    for file in files:
        tables.append(pl.read_ipc(file))
        height += tables[-1].height
        if height >= _MOST_ROWS or file == files[-1]:
            yield pl.concat(tables)
            tables, height = [], 0


def _cut(tables: Iterable[pl.DataFrame], together: int, folder: Path) -> None:
    """Write the rows of each piece, or of so many together, to files in a folder of their own."""
    known = set[int]()
    for place, table in enumerate(tables):
        keyed = table.with_columns((pl.col(_PIECE) // together).alias(_OWN))
        for (own,), part in keyed.partition_by(_OWN, as_dict=True, include_key=False).items():
            if own not in known:
                (folder / str(own)).mkdir(parents=True, exist_ok=True)
                known.add(own)
            part.write_ipc(folder / str(own) / f"{place:06}.ipc", compression="lz4")


def sample(rows: Rows, column: str, runs: Runs, most: int, also: Collection[str] = ()) -> tuple[pl.DataFrame, Array]:
    """Return all rows of so many names, evenly spaced in the order in which they appear, and the numbers of the rows.

    ``also`` are names that are wanted beside them.
    """
    wanted = np.sort(runs.names[evenly(len(runs.names), most)])
    near = np.searchsorted(wanted, runs.hashes)  # isin would sort all hashes
    chosen = wanted[np.minimum(near, len(wanted) - 1)] == runs.hashes
    if also:
        chosen |= _called(rows, column, runs, also)
    starts, lengths = runs.starts[chosen], runs.lengths[chosen]
    if len(starts) <= _FEW:
        ends = [(int(start), int(start + length)) for start, length in zip(starts, lengths, strict=True)]
        return pl.concat([rows.read(*end) for end in ends]), np.concat([np.arange(*end) for end in ends])
    numbers = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(np.sum(lengths))
    tables = []
    for first, batch in rows.batches():
        low, high = np.searchsorted(numbers, (first, first + batch.height))
        tables.append(batch[numbers[low:high] - first])
    return rows.spelt(pl.concat(tables)), numbers


def _called(rows: Rows, column: str, runs: Runs, names: Collection[str]) -> Array:
    """Mark the stretches of rows that have one of these names."""
    found = [np.zeros(0, dtype=bool)]
    for first, batch in rows.batches([column]):
        low, high = np.searchsorted(runs.starts, (first, first + batch.height))
        heads = rows.spelt(batch[runs.starts[low:high] - first]).to_series()
        found.append(heads.cast(pl.String).is_in(list(names)).fill_null(False).to_numpy())
    return np.concat(found)


def _hashes(rows: Rows, table: pl.DataFrame, column: str) -> Array:
    """Return what stands for the names in a column, however they are spelt."""
    return rows.spelt(table.select(column))[column].hash().to_numpy()
