"""Rows of votes that are read some at a time: of Parquet files, or of a table of any other form."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import numpy as np
import polars as pl
from polars.selectors import by_name

from veritally.checks import usable_path
from veritally.errors import InputError, short
from veritally.io.frames import Place
from veritally.io.sizes import MOST_COLUMNS, require_flat
from veritally.io.spelling import in_one_form, plain_columns
from veritally.io.text import first_line
from veritally.io.votes import holds_orders, load

_BATCH = 1 << 19  # rows that are looked at together
_NOTHING = "__HIVE_DEFAULT_PARTITION__"  # in the name of a folder: the column is empty there

Partition: TypeAlias = dict[str, str | None]
"""Columns that are the same in all rows of a file, as the folders say that it lies in."""


@dataclass(frozen=True)
class Rows:
    """Rows of votes: those of ``table``, or those that Parquet files hold.

    Attributes
    ----------
    name
        How a person calls them.
    files
        The Parquet files, in order.
    starts
        The row at which each of them begins, and how many rows there are.
    columns
        The names of the columns in one form, with what the files call them.
    cast
        The types of those columns of which files have different ones.
    partitions
        What the folders of each file say, such as ``decision=q1``, where they say something.
    others
        How many other files lie in the folder.
    table, place
        The rows themselves, where they are not in Parquet files, and how a person calls each.
    """

    name: str
    files: tuple[Path, ...]
    starts: tuple[int, ...]
    columns: Mapping[str, str]
    cast: Mapping[str, Any] = field(default_factory=dict)
    partitions: tuple[Partition, ...] = ()
    others: int = 0
    table: pl.DataFrame | None = None
    place: Place | None = None

    @classmethod
    def of(cls, source: Any) -> "Rows":
        """Look at a file, a folder of Parquet files, or a frame."""
        path = usable_path(source) if isinstance(source, str | PathLike) and str(source) != "-" else None
        if path is not None and path.is_dir():
            every = [own for own in path.rglob("*") if own.is_file() and not _is_hidden(own.relative_to(path))]
            files = sorted(own for own in every if own.suffix.lower() == ".parquet")
            if not files:
                raise InputError(f"{path}: holds no file that ends in .parquet; give a file, or a folder of such files")
            partitions = [_partition(own.relative_to(path)) for own in files]
            return replace(cls._of_parquet(str(source), files, partitions), others=len(every) - len(files))
        if path is not None and path.is_file() and _is_parquet(path):
            return cls._of_parquet(str(source), [path], [{}])
        table, place = load(source)
        names = {name: name for name in table.columns}
        return cls(place.name, (), (0, table.height), names, table=table, place=place)

    @classmethod
    def _of_parquet(cls, name: str, files: Sequence[Path], partitions: Sequence[Partition]) -> "Rows":
        lengths, schemas = [], list[dict[str, Any]]()
        for file, partition in zip(files, partitions, strict=True):
            try:
                lazy = _scan(file, partition)
                types = lazy.collect_schema()
                lengths.append(int(lazy.select(pl.len()).collect().item()))  # as its footer has it
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                raise InputError(f"{file}: is not a readable Parquet file ({first_line(error)})") from error
            schemas.append(dict(types))
            if schemas[-1].keys() != schemas[0].keys():
                raise InputError(f"{file}: has other columns than {files[0]}; write them alike")
        columns = {column: _common(column, [own[column] for own in schemas], files) for column in schemas[0]}
        cast = {column: kind for column, kind in columns.items() if any(own[column] != kind for own in schemas)}
        if len(columns) > MOST_COLUMNS:
            raise InputError(f"{name}: has {len(columns):,} columns; give a row for each voter and alternative instead")
        require_flat(columns.values(), name)
        called = dict(zip(plain_columns(columns, name), columns, strict=True))
        told = tuple(partitions) if any(partitions) else ()
        return cls(name, tuple(files), tuple(accumulate(lengths, initial=0)), called, cast, told)

    @property
    def height(self) -> int:
        """How many there are."""
        return self.starts[-1]

    @property
    def identity(self) -> str:
        """What is the same only for the same rows: of files their names, sizes and times."""
        made = hashlib.sha256(json.dumps(self.columns).encode())
        if self.table is not None:
            made.update(self.table.hash_rows().to_numpy().tobytes())
        for file in self.files:
            state = file.stat()
            made.update(json.dumps([str(file), state.st_size, state.st_mtime_ns]).encode())
        return made.hexdigest()

    def require(self, identity: str) -> None:
        """Refuse rows that are no longer those of an earlier identity, of which some answers would be about others."""
        try:
            same = not self.files or self.identity == identity
        except OSError:  # they are gone
            same = False
        if not same:
            raise InputError(f"{self.name}: was changed while it was decided; give the command again, for all its rows")

    def read(self, start: int, stop: int) -> pl.DataFrame:
        """Return some of the rows, names in one form."""
        return self.spelt(self.raw(start, stop))

    def raw(self, start: int, stop: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return some of the rows as they are in the files."""
        wanted = {self.columns[name]: name for name in (self.columns if columns is None else columns)}
        if self.table is not None:
            return self.table.slice(start, stop - start).select(by_name(*wanted))
        parts, partitions = [], self.partitions or ({},) * len(self.files)
        for file, partition, (first, last) in zip(self.files, partitions, pairwise(self.starts), strict=True):
            low, high = max(start, first), min(stop, last)
            if low < high or (start == stop == first):
                try:
                    lazy = _scan(file, partition).select(by_name(*wanted)).slice(low - first, high - low)
                    lazy = lazy.cast({column: kind for column, kind in self.cast.items() if column in wanted})
                    parts.append(lazy.collect())
                    if parts[-1].height != high - low:
                        raise InputError(f"{file}: has other rows than it had; give the command again")
                except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                    raise InputError(f"{file}: cannot be read ({first_line(error)})") from error
        table = parts[0] if len(parts) == 1 else pl.concat(parts)
        return table.rename(wanted)

    def spelt(self, table: pl.DataFrame) -> pl.DataFrame:
        """Put names in one form, in rows as they are in the files."""
        return table if self.table is not None else in_one_form(table, self.name)  # which a table here is already

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Go through all rows as they are in the files, some at a time, each time with the number of the first."""
        for start in range(0, self.height, _BATCH):
            yield start, self.raw(start, min(start + _BATCH, self.height), columns)

    def numbers(self, column: str) -> dict[str | None, int]:
        """Return how often each name is in a column."""
        found = [
            self.spelt(batch).to_series().cast(pl.String).rename("").value_counts(name="number")
            for _, batch in self.batches([column])
        ]
        return dict(pl.concat(found).group_by("", maintain_order=True).sum().rows())

    def names(self, columns: Sequence[str]) -> Iterator[str]:
        """Go through the different names in some columns, as they first occur."""
        known = set[str]()
        for _, batch in self.batches(columns):
            for column in columns:
                found = self.spelt(batch[column].unique(maintain_order=True).to_frame()).to_series()
                for name in found.drop_nulls().cast(pl.String):
                    if name not in known:
                        known.add(name)
                        yield name

    def places(self, numbers: Any) -> Place:
        """Say how a person would call rows of these numbers."""
        if self.place is not None:
            return self.place.at(np.asarray(numbers))
        if len(self.files) == 1:
            return Place(self.name, "row", np.asarray(numbers) + 1)
        return Place(self.name, "row", np.asarray(numbers) + 1, parts=(self.starts, tuple(map(str, self.files))))


def _scan(file: Path, partition: Partition) -> pl.LazyFrame:
    """Look at a file; what its folders say is a column where it has none of that name."""
    lazy = pl.scan_parquet(file, glob=False)
    if not partition:
        return lazy
    known = lazy.collect_schema()
    own = [pl.lit(text, dtype=pl.String).alias(name) for name, text in partition.items() if name not in known]
    return lazy.with_columns(own)


def _partition(path: Path) -> Partition:
    """Return what the folders of a file say, as the programs write it that part tables by folders.

    >>> _partition(Path("decision=who%3F/judge=b/part-0.parquet"))
    {'decision': 'who?', 'judge': 'b'}
    """
    said = [folder.partition("=") for folder in path.parts[:-1]]
    return {unquote(name): None if text == _NOTHING else unquote(text) for name, sign, text in said if sign and name}


def _common(column: str, types: Sequence[Any], files: Sequence[Path]) -> Any:
    """Return the type in which all files can give a column: the widest of numbers of a kind; empty ones have any."""
    known = list(dict.fromkeys(kind for kind in types if kind != pl.Null)) or [pl.Null()]
    if all(kind.is_integer() for kind in known) or all(kind.is_float() for kind in known):
        widest = pl.concat([pl.Series(dtype=kind).to_frame() for kind in known], how="vertical_relaxed").dtypes[0]
        known = [widest] if widest.is_float() == known[0].is_float() else known
    if len(known) > 1 or (len(set(types)) > 1 and known[0].is_nested()):
        other = next(file for file, kind in zip(files, types, strict=True) if kind != types[0])
        raise InputError(f"{other}: has another type in the column {short(column)} than {files[0]}; write them alike")
    return known[0]


def is_table(source: Any) -> bool:
    """Whether a source has rows, as all but PrefLib's files have."""
    if not isinstance(source, str | PathLike) or str(source) == "-":
        return True
    path = usable_path(source)
    return not path.is_file() or _is_parquet(path) or not holds_orders(path)


def _is_hidden(path: Path) -> bool:
    """Whether a file, or a folder that it is in, is hidden, or for the use of a program that writes such folders."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"
