"""Files that appear whole or not at all."""

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from veritally.errors import InputError


def write_whole(path: str | PathLike[str], data: bytes) -> None:
    """Write beside the file and put it in its place once it is complete."""
    write_together({Path(path): data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write several files beside their places, and put them there once all are complete."""
    parts = {path.with_name(f".{path.name}.part"): path for path in files}
    path = Path()
    try:
        for part, path in parts.items():
            if path.is_dir():
                raise InputError(f"{path}: is a folder; name a file")
            with part.open("wb") as file:
                file.write(files[path])
                file.flush()
                os.fsync(file.fileno())
        for part, path in parts.items():
            part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
