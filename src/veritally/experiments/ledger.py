"""Finished chunks, kept in a file from which an interrupted run goes on."""

import json
import os
import zlib
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from veritally.errors import InputError
from veritally.experiments.chunks import Chunk
from veritally.experiments.measures import MeasureSums
from veritally.locks import held

_START = b'{"key": '  # of each line


class Ledger:
    """A file with a line of JSON for each finished chunk, under the key of its whole configuration.

    It is held by one process at a time. Lines are appended whole and pushed to the disk. One that was cut off by the
    end of the process, whose checksum is wrong, or which is not of the chunk it names is skipped, and of several with
    the same key the last stands. Without any it leaves no file. Only their places are held in memory.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._places = path, dict[str, int]()
        with ExitStack() as stack:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(path))
                stack.callback(_remove_if_empty, path)
                self._file = stack.enter_context(path.open("a+b"))
                self._note_places()
            except OSError as error:
                raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
            self._open = stack.pop_all()

    def _note_places(self) -> None:
        self._file.seek(0)
        place, known, line = 0, False, b"\n"
        for line in self._file:
            known = known or line.startswith(_START)
            key = _key(line) if line.endswith(b"\n") else None
            if key is not None:
                self._places[key] = place
            place += len(line)
        if place and not known:
            raise InputError(f"{self._path}: exists, but is not a record of finished chunks; choose another folder")
        if not line.endswith(b"\n"):
            self._file.write(b"\n")  # ends what was cut off

    def __contains__(self, chunk: Chunk) -> bool:
        return self._found(chunk) is not None

    def __getitem__(self, chunk: Chunk) -> MeasureSums:
        sums = self._found(chunk)
        if sums is None:
            raise InputError(f"{self._path}: was changed by another program in the meantime; start again")
        return sums

    def _found(self, chunk: Chunk) -> MeasureSums | None:
        """Return what is kept of a chunk, if it is what such a chunk gives."""
        if chunk.key not in self._places:
            return None
        self._file.seek(self._places[chunk.key])
        line = self._file.readline()
        return _sums(line, chunk) if _key(line) == chunk.key else None

    def add(self, chunk: Chunk, sums: MeasureSums) -> None:
        """Keep the result of a chunk."""
        numbers = sums.to_dict()
        line = json.dumps({"key": chunk.key, "check": _check(numbers), "sums": numbers}).encode() + b"\n"
        try:
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror or error})") from error
        self._places[chunk.key] = place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and leave it to others."""
        self._open.close()


def _remove_if_empty(path: Path) -> None:
    with suppress(OSError):
        if not path.stat().st_size:
            path.unlink()


def _check(numbers: Any) -> int:
    """Return a checksum of what was measured."""
    return zlib.crc32(json.dumps(numbers).encode())


def _key(line: bytes) -> str | None:
    """Return the key of a whole line; None for what is none."""
    try:
        found = json.loads(line)
        return str(found["key"]) if found["check"] == _check(found["sums"]) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _sums(line: bytes, chunk: Chunk) -> MeasureSums | None:
    """Return the sums in a line; None if a chunk like this one cannot have them."""
    numbers, rules = json.loads(line)["sums"], len(chunk.rule_set.labels)
    shapes: dict[str, tuple[int, ...]] = {name: (len(chunk.measures), rules) for name in ("totals", "squares")}
    shapes["products"] = (rules * (rules + 1) // 2,)
    try:
        right = numbers["instances"] == chunk.stop - chunk.start and all(
            np.shape(numbers[name]) == shape and np.isfinite(numbers[name]).all() for name, shape in shapes.items()
        )
    except (ValueError, TypeError, KeyError):
        return None
    return MeasureSums.from_dict(numbers) if right else None
