"""Where the weights of a training are kept, and the files next to them."""

from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from veritally.checks import usable_path
from veritally.errors import InputError, quoted

SUFFIX = ".safetensors"


def checked_path(given: Any) -> Path:
    """Require a name that weights can have, in a folder that can be written to."""
    if not isinstance(given, str | PathLike):
        raise InputError(f"weights are kept in a file; give its name, not {quoted(given)}")
    path = usable_path(given)
    if path.suffix != SUFFIX:
        raise InputError(f"{path}: weights are kept in a file whose name ends in {SUFFIX}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def card_path(path: Path) -> Path:
    """Return where the card of weights is written."""
    return path.with_name(f"{path.stem}-card.md")


def search_path(path: Path) -> Path:
    """Return where the losses of a search are written; the weights are in a folder of that name."""
    return path.with_name(f"{path.stem}-search.json")


def checkpoint_path(path: Path) -> Path:
    """Return where the state of an unfinished training is kept."""
    return path.with_suffix(".checkpoint")
