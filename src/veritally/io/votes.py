"""Reading and writing votes, whatever they stand in."""

import importlib
import io
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from veritally.errors import InputError
from veritally.files import write_whole
from veritally.profile import Profile

if TYPE_CHECKING:
    import polars as pl

BallotColumn: TypeAlias = Literal["value", "rank", "top"]

_FORMATS = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def read(source: Any, *, ballots: BallotColumn | None = None, lower_is_better: bool = False) -> Profile:
    """Read votes from a tidy vote file or data frame.

    Parameters
    ----------
    source
        The path of a CSV, TSV, Parquet or JSON Lines file, ``"-"`` for standard input, or a pandas, polars or pyarrow
        frame. One row per voter and alternative, with columns ``voter``, ``alternative``, ``rank`` and/or ``value``,
        and optionally ``count``, ``multiplicity`` and ``decision``; further columns are ignored.
    ballots
        Which column is the vote where both stand: ``"value"`` (the default) or ``"rank"``; ``"top"`` keeps only each
        voter's favourite.
    lower_is_better
        Whether small values are good, as with delays or errors; the values are then negated.

    Returns
    -------
    Profile
        With a ``decision`` column, a batch with an entry for each decision, else a single decision. Names are text.

    Notes
    -----
    An empty rank or value of a seen alternative (count > 0) puts it below everything that voter ranked. Without a
    ``count`` column a row is a sighting and all counts are equal; an alternative without a row for a voter is unseen.
    """
    from veritally.io import frames

    if ballots not in (None, "value", "rank", "top"):
        raise InputError(f"ballots can be value, rank or top, not {ballots!r}")
    if isinstance(source, str | PathLike):
        table, name, first_row = load(source)
    else:
        table, name, first_row = frames.from_native(source), "the frame", 0
    return frames.to_profile(table, name, first_row, ballots, lower_is_better)


def write(profile: Profile, path: str | PathLike[str]) -> None:
    """Write a profile as a tidy vote file; the suffix of the path chooses the format.

    The file appears whole or not at all. ``read`` gives the same votes back, favourites with ``ballots="top"``.
    """
    from veritally.io import frames

    if not isinstance(profile, Profile):
        raise InputError(f"write takes a Profile, not {type(profile).__name__}; an outcome has to_json and to_frame")
    write_whole(path, encoded(lambda: frames.from_profile(profile), path))


def encoded(table: "Callable[[], pl.DataFrame]", path: str | PathLike[str]) -> bytes:
    """Return a table in the format that the suffix of a path stands for; it is made once that is known."""
    suffix = Path(path).suffix
    if suffix.lower() not in _FORMATS:
        raise InputError(f"{path}: cannot tell the format from the suffix; use one of {', '.join(_FORMATS)}")
    buffer = io.BytesIO()
    _recognised(b"", suffix).write(table(), buffer, suffix)
    return buffer.getvalue()


def load(source: str | PathLike[str], what: str = "vote") -> "tuple[pl.DataFrame, str, int]":
    """Return the table in a file, a name for it, and the number a person would give its first row."""
    if str(source) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file")
        name, data, suffix = "standard input", sys.stdin.buffer.read(), ""
    else:
        path = Path(source)
        name, suffix = str(source), path.suffix
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise InputError(f"{name}: there is no such file") from None
        except IsADirectoryError:
            raise InputError(f"{name}: is a folder; give a {what} file") from None
        except OSError as error:
            raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error
    if not data.strip():
        raise InputError(f"{name}: the {what} file is empty; it needs a header and a row for each entry")
    module = _recognised(data, suffix)
    return module.read(data, name), name, module.FIRST_ROW


def _recognised(data: bytes, suffix: str) -> ModuleType:
    """Tell the format from the content, and where that leaves it open from the suffix."""
    if data[:4] == b"PAR1":
        kind = "parquet"
    else:
        kind = _FORMATS.get(suffix.lower()) or ("jsonl" if data.lstrip()[:1] == b"{" else "text")
    return importlib.import_module(f"veritally.io.{kind}")
