"""Finished chunks, kept in a file from which an interrupted run goes on."""

import json
import os
import zlib
from pathlib import Path
from typing import Any

from veritally.errors import InputError
from veritally.experiments.chunks import Chunk
from veritally.experiments.measures import Moments


class Ledger:
    """A file with a line of JSON for each finished chunk, under the key of its whole configuration.

    Lines are appended whole and pushed to the disk. One that was cut off by the end of the process or whose checksum is
    wrong is skipped, and of several with the same key the first stands. Only their places are held in memory.
    """

    def __init__(self, path: Path) -> None:
        self._places: dict[str, int] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
        self._file.seek(0)
        place = 0
        for line in self._file:
            if line.endswith(b"\n"):
                key = _key(line)
                if key is not None:
                    self._places.setdefault(key, place)
            else:
                self._file.write(b"\n")  # ends what was cut off
            place += len(line)

    def __contains__(self, chunk: Chunk) -> bool:
        return chunk.key in self._places

    def __getitem__(self, chunk: Chunk) -> Moments:
        self._file.seek(self._places[chunk.key])
        return Moments.from_dict(json.loads(self._file.readline())["moments"])

    def add(self, chunk: Chunk, moments: Moments) -> None:
        """Keep the result of a chunk."""
        numbers = moments.to_dict()
        line = json.dumps({"key": chunk.key, "check": _check(numbers), "moments": numbers}).encode() + b"\n"
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._places.setdefault(chunk.key, place)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _check(numbers: Any) -> int:
    """Return a checksum of what was measured."""
    return zlib.crc32(json.dumps(numbers).encode())


def _key(line: bytes) -> str | None:
    """Return the key of a whole line; None for what is none."""
    try:
        found = json.loads(line)
        return str(found["key"]) if found["check"] == _check(found["moments"]) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
