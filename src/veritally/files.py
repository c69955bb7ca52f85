"""Files that appear whole or not at all, and files of others that are left alone.

A function that is given the name of a file replaces it, as everywhere in Python. The command, and functions that choose
names themselves, replace only what they wrote, unless they are forced to.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path

from veritally.errors import InputError


def write_whole(path: str | PathLike[str], data: bytes) -> None:
    """Write beside the file and put it in its place once it is complete."""
    write_together({Path(path): data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write several files beside their places, and put them there once all are complete.

    Each time under other names, so that several processes can write the same file, and others read it meanwhile.
    """
    parts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, data in files.items():
            require_no_other(path)
            parts[path] = Path(os.path.realpath(path)).with_name(f".{secrets.token_hex(8)}.part")
            with parts[path].open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for path, part in parts.items():
            part.replace(os.path.realpath(path))  # what a link points to, not the link
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def require_no_other(path: Path) -> None:
    """Refuse a name, or a link to it, of what is there and is no file."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is a device, a pipe or a socket; name a file")


def require_place(path: str | PathLike[str]) -> None:
    """Refuse a file that cannot be written where it should be, before there is any work to lose."""
    require_no_other(Path(path))
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"{path}: cannot be written (there is no folder {Path(path).parent})")
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        part.open("xb").close()
        part.unlink()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def require_other(out: Path, files: Iterable[Path], read: str = "the votes", written: str = "the answers") -> None:
    """Refuse to write over one of the files that are read, by whatever name."""
    if out.exists() and any(file.is_file() and out.samefile(file) for file in files):
        raise InputError(f"{out}: is the file of {read}; write {written} to another")


def refuse_to_replace(path: Path, is_ours: Callable[[Path], bool]) -> None:
    """Refuse to replace a file that is there, unless it is one of ours."""
    if path.is_file() and not is_ours(path):
        problem = "exists, and is not what this command wrote"
        raise InputError(f"{path}: {problem}; choose another name, or replace it with --force")
