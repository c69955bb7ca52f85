"""Files that appear whole or not at all."""

from os import PathLike
from pathlib import Path

from veritally.errors import InputError


def write_whole(path: str | PathLike[str], data: bytes) -> None:
    """Write beside the file and put it in its place once it is complete."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        part.unlink(missing_ok=True)
