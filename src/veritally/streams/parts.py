"""Finished parts of a file of answers, kept beside it until all are there."""

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from veritally.checks import usable_path
from veritally.errors import InputError
from veritally.files import refuse_to_replace, require_no_other, require_other, write_whole
from veritally.io.text import first_line
from veritally.likelihood.votes import LikelihoodSums
from veritally.locks import held
from veritally.streams.decisions import Part
from veritally.streams.pieces import COMPLETE
from veritally.streams.voters import LookAround, Pass, Survey

_OURS = {"alternative", "score", "rank", "winner", "chosen"}  # columns of answers
_ROWS = 1 << 17  # of a row group
_COUNTS = ("voters", "count")
_LARGEST = 2**53  # whole number that a float holds exactly

_KEY = re.compile(r"[0-9a-f]{16}")
_OURS_ALONE = re.compile(  # names of parts
    r"[0-9a-f]{16}(-\d{8,}\.npz)?|\d{8,}\.(arrow|json)|\.[0-9a-f]{16}\.part|rows|panel\.(json|search)"
)
_FINISHED = (".json", ".npz", ".search")

Sink = Callable[[pl.LazyFrame, Path], Any]
_SINKS: dict[str, Sink] = {
    ".parquet": lambda table, path: table.sink_parquet(path, row_group_size=_ROWS),
    ".csv": lambda table, path: table.sink_csv(path),
    ".tsv": lambda table, path: table.sink_csv(path, separator="\t"),
    ".jsonl": lambda table, path: table.sink_ndjson(path),
}


def folder_of(out: Path) -> Path:
    """Return where the finished parts of a file are kept."""
    return out.with_name(f"{out.name}.parts")


class Parts:
    """The parts of ``out`` that are finished, held by one process at a time.

    They are kept for one work, known by its key; those of another are removed. With ``best_only``, the file gets the
    rows of what is chosen, and of decisions that could not be decided.
    """

    def __init__(self, out: Path, key: str, best_only: bool = False) -> None:
        self.out, self.folder, self._best_only = out, folder_of(out), best_only
        self._key = hashlib.sha256(key.encode()).hexdigest()[:16]
        with ExitStack() as stack:
            stack.enter_context(held(out))
            try:
                if self.folder.exists() and not (self.folder / self._key).exists():
                    if any(not _OURS_ALONE.fullmatch(path.name) for path in self.folder.iterdir()):
                        problem = "is needed for what is finished, and holds other files"
                        raise InputError(f"{self.folder}: {problem}; move them")
                    self._remove()
                self.folder.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(f"{self.folder}: cannot be written ({error.strerror or error})") from error
            stack.callback(self._leave)
            write_whole(self.folder / self._key, b"")
            self._open = stack.pop_all()

    @property
    def rows(self) -> Path:
        """Where rows may be brought together."""
        return self.folder / "rows"

    @property
    def panel(self) -> Path:
        """Where a panel that was learned is kept."""
        return self.folder / "panel.json"

    @property
    def search(self) -> Path:
        """Where the search for one is kept."""
        return self.folder / "panel.search"

    def __contains__(self, index: int) -> bool:
        return self._note(index).exists()

    def add(self, index: int, part: Part) -> None:
        """Keep a finished part, which is there once its note is."""
        self._write(self._part(index), part.table)
        self._write(self._note(index), json.dumps(part.note).encode())

    def keep(self, task: Pass, index: int, found: Survey | LikelihoodSums) -> None:
        """Keep what a pass over voters found in a piece."""
        arrays = found.arrays() if isinstance(found, Survey) else found._asdict()
        buffer = io.BytesIO()
        np.savez(buffer, **{name: x for name, x in arrays.items() if x is not None})
        self._write(self._found(task, index), buffer.getvalue())

    def kept(self, task: Pass, index: int) -> Survey | LikelihoodSums | None:
        """Return what is kept of that; None if it is to be found."""
        try:
            with np.load(self._found(task, index), allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except FileNotFoundError:
            return None
        return Survey.of_arrays(arrays) if isinstance(task, LookAround) else LikelihoodSums(**arrays)

    def _found(self, task: Pass, index: int) -> Path:
        return self.folder / f"{hashlib.sha256(task.key.encode()).hexdigest()[:16]}-{index:08}.npz"

    def notes(self) -> list[dict[str, Any]]:
        """Return the notes of all finished parts, in order."""
        return [json.loads(path.read_bytes()) for path in sorted(self.folder.glob("[0-9]*.json"))]

    def finish(self) -> None:
        """Put the file of answers in its place, made of all parts in their order, and remove them."""
        parts = [pl.scan_ipc(path) for path in sorted(self.folder.glob("*.arrow"))]
        goal = Path(os.path.realpath(self.out))  # what a link points to, perhaps on another disk
        part = goal.with_name(f".{goal.name}.{self._key}")
        try:
            table = pl.concat(_alike(parts), how="vertical")
            if self._best_only:
                table = table.filter(pl.col("chosen").fill_null(True))
            whole = [name for name in _COUNTS if name in table.collect_schema()]
            tests = [((pl.col(name) % 1 == 0) & (pl.col(name) < _LARGEST)).all().alias(name) for name in whole]
            found = table.select(tests).collect(engine="streaming")
            table = table.with_columns(pl.col(name).cast(pl.Int64) for name in whole if found[name].all())
            _SINKS[self.out.suffix.lower()](table, part)
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(goal)
        except (OSError, pl.exceptions.PolarsError) as error:
            problem = getattr(error, "strerror", None) or first_line(error)
            raise InputError(f"{self.out}: cannot be written ({problem}){self._kept}") from error
        finally:
            part.unlink(missing_ok=True)
        self._remove()

    def _remove(self) -> None:
        """Remove the folder, first what says for which work it is: what is left by a sudden end is then not used."""
        for path in self.folder.glob("[!.]*"):
            if _KEY.fullmatch(path.name):
                path.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _part(self, index: int) -> Path:
        return self.folder / f"{index:08}.arrow"

    def _note(self, index: int) -> Path:
        return self.folder / f"{index:08}.json"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def _kept(self) -> str:
        """Where what is finished is kept, to be said with what went wrong; nothing if there is none."""
        finished = any(path.suffix in _FINISHED for path in self.folder.glob("*")) or (self.rows / COMPLETE).exists()
        return f"; what is finished is kept in {self.folder}" if finished else ""

    def _leave(self) -> None:
        """Remove the folder if nothing in it is finished."""
        if self.folder.exists() and not self._kept:
            self._remove()

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_whole(path, data)
        except InputError as error:
            raise InputError(f"{error}{self._kept}") from error


def _alike(parts: Iterable[pl.LazyFrame]) -> list[pl.LazyFrame]:
    """Give all parts the same columns: those of decisions that could not be decided have only an error."""
    parts = list(parts)
    columns: dict[str, Any] = {}
    for part in parts:
        columns |= {name: kind for name, kind in part.collect_schema().items() if columns.get(name, pl.Null) == pl.Null}
    if "error" in columns:  # last
        columns["error"] = columns.pop("error")
    found = []
    for part in parts:
        own = part.collect_schema()
        missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in columns.items() if name not in own]
        found.append(part.with_columns(missing).select(list(columns)))
    return found


def require_out(out: Path, source: Any, force: bool) -> None:
    """Refuse what cannot be written, or is in the folder that is read, before there is any work to lose."""
    if out.suffix.lower() not in _SINKS:
        raise InputError(f"{out}: cannot tell the format from the suffix; use one of {', '.join(_SINKS)}")
    require_no_other(out)
    if not out.parent.is_dir():
        raise InputError(f"{out}: cannot be written (there is no folder {out.parent})")
    folder = source if isinstance(source, str | PathLike) and Path(source).is_dir() else None
    if folder is not None and Path(os.path.realpath(folder)) in Path(os.path.realpath(out)).parents:
        raise InputError(f"{out}: is in the folder of the votes, where it would be read as votes; write it elsewhere")
    if isinstance(source, str | PathLike):
        require_other(out, [usable_path(source)])
    if not force:
        refuse_to_replace(out, _are_answers)


def _are_answers(path: Path) -> bool:
    """Whether a file has the columns of answers."""
    try:
        if path.suffix.lower() == ".parquet":
            return set(pl.read_parquet_schema(path)) >= _OURS
        with path.open("rb") as file:
            start = file.readline(4096).decode(errors="replace")
        return all(name in start for name in _OURS)
    except (OSError, pl.exceptions.PolarsError):
        return False
