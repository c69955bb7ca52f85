"""Rows that belong together, as pieces of a bounded size: whole decisions, or all rows of a voter.

Mostly they stand together in the file, and a piece is a stretch of it. Where they do not, they are brought together on
disk first, by a hash of their name.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError
from veritally.files import write_whole
from veritally.progress import report
from veritally.streams.rows import Rows

_NUMBER = "number of the row"  # a column of what lies on disk
_MOST_BUCKETS = 256
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
        return table.drop(_NUMBER), table[_NUMBER].to_numpy()


@dataclass(frozen=True)
class Runs:
    """Stretches of rows with the same name in a column: the hash of the name, where each begins, how long it is."""

    hashes: Array
    starts: Array
    lengths: Array

    @classmethod
    def of(cls, rows: Rows, column: str) -> "Runs":
        """Find them."""
        hashes, starts = list[Array](), list[Array]()
        for first, batch in rows.batches([column]):
            names = batch.to_series()
            new = names.ne_missing(names.shift(1)).to_numpy(writable=True)
            new[:1] = True
            places = np.flatnonzero(new)
            own = names.gather(places).hash().to_numpy()
            same = bool(hashes and len(own) and hashes[-1][-1] == own[0])  # goes on from the batch before
            hashes.append(own[same:])
            starts.append(places[same:] + first)
            report((first + batch.height) / max(rows.height, 1))
            hashes, starts = (hashes, starts) if len(hashes[-1]) else (hashes[:-1], starts[:-1])
        begun = np.concat(starts) if starts else np.zeros(0, dtype=np.int64)
        known = np.concat(hashes) if hashes else np.zeros(0, dtype=np.uint64)
        return cls(known, begun, np.diff(begun, append=rows.height))

    @cached_property
    def names(self) -> Array:
        """The hashes of all different names, in order of size."""
        ordered = np.sort(self.hashes)
        return ordered[np.diff(ordered, prepend=~ordered[:1]) != 0]

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
    """Bring rows of the same name together on disk, in pieces of about so many rows; what lies there is used again."""
    number = max(1, min(-(-rows.height // size), _MOST_BUCKETS))
    names = np.bincount((runs.names % np.uint64(number)).astype(int), minlength=number)
    before = np.cumsum(names) - names
    done = folder / COMPLETE
    if not done.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for place, (first, batch) in enumerate(rows.batches()):
                numbers = pl.Series(_NUMBER, np.arange(first, first + batch.height))
                bucket = (batch[column].hash() % number).alias("bucket")
                parts = batch.with_columns(numbers, bucket).partition_by("bucket", as_dict=True, include_key=False)
                for (own,), part in parts.items():
                    part.write_ipc(folder / f"{own:04}-{place:06}.ipc", compression="lz4")
                report((first + batch.height) / rows.height)
        except (OSError, pl.exceptions.PolarsError) as error:
            problem = getattr(error, "strerror", None) or error
            raise InputError(f"{folder}: rows cannot be brought together there ({problem})") from error
        getattr(os, "sync", bool)()  # so that what is said to be there is, whatever happens next
        write_whole(done, b"")
    return [
        Piece(index, 0, 0, int(before[index]), tuple(sorted(folder.glob(f"{index:04}-*.ipc"))))
        for index in range(number)
        if names[index]
    ]


def sample(rows: Rows, column: str, runs: Runs, most: int, also: Collection[str] = ()) -> tuple[pl.DataFrame, Array]:
    """Return all rows of some names, and their numbers: of those of the smallest hash, which is by chance, and others.

    ``also`` are names that are wanted beside them.
    """
    limit = int(runs.names[:most][-1])
    chosen = np.flatnonzero(runs.hashes <= np.uint64(limit))
    if len(chosen) <= _FEW and not also:
        ends = [(int(runs.starts[k]), int(runs.starts[k] + runs.lengths[k])) for k in chosen]
        return pl.concat([rows.read(*end) for end in ends]), np.concat([np.arange(*end) for end in ends])
    tables, numbers = [], []
    for first, batch in rows.batches():
        kept = batch[column].hash() <= limit
        if also:
            kept |= batch[column].cast(pl.String).is_in(list(also))
        tables.append(batch.filter(kept))
        numbers.append(kept.arg_true().to_numpy() + first)
    return pl.concat(tables), np.concat(numbers)
