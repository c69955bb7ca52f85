"""Reading and writing votes, whatever they stand in."""

import importlib
import io
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from veritally.checks import usable_path
from veritally.errors import InputError, InputWarning, quoted
from veritally.files import write_whole
from veritally.io.options import BallotColumn, Form, Options, Unranked, words_given
from veritally.records import framed
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

if TYPE_CHECKING:
    import polars as pl

    from veritally.io.frames import Place

_TABLES = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json_file",
}
_READ_ONLY = {".xlsx": "excel", ".xlsm": "excel"}
_ORDERS = {".orders": "orders", ".soc": "preflib", ".soi": "preflib", ".toc": "preflib", ".toi": "preflib"}
_FORMATS = _TABLES | _ORDERS


def read(
    source: Any,
    *,
    ballots: BallotColumn | None = None,
    lower_is_better: bool = False,
    counts: Any = None,
    unranked: Unranked | None = None,
    groups: Any = None,
    confidence: Mapping[Any, float] | None = None,
    columns: Mapping[str, str] | None = None,
    verdicts: Sequence[str] | None = None,
) -> Profile:
    """Read votes from a file or data frame.

    Parameters
    ----------
    source
        The path of a file, ``"-"`` for standard input, or a pandas, polars or pyarrow frame. Tables (CSV, TSV, Parquet,
        JSON Lines, a JSON array, Excel, frames) may be tidy, with a row per voter and alternative and the columns
        ``voter``, ``alternative``, ``rank`` and/or ``value``, and optionally ``count``, ``multiplicity``, ``decision``,
        ``group`` (of the voter) and ``role`` (of the alternative on this ballot); have single looks, with a row per
        voter, alternative and ``item`` and its ``value``; be wide, with a row per voter and a column per alternative;
        have a column ``order`` such as ``A > B = C``; or have pairwise comparisons (``worker, left, right, winner``).
        Other files hold orders as text (``.orders``, ``.txt``), or are PrefLib's (``.soc``, ``.soi``, ``.toc``,
        ``.toi``; needs the extra ``preflib``).
    ballots
        Which column of a tidy table is the vote where both stand: ``"value"`` (the default) or ``"rank"``; what the
        cells of a wide table are. ``"top"`` keeps only each voter's favourite.
    lower_is_better
        Whether small values are good, as with delays or errors; the values are then negated.
    counts
        For a wide table, the counts: a path or frame of the same shape.
    unranked
        Where neither rows nor counts say what was seen: whether an alternative that a voter leaves out is
        ``"below"`` all that this voter ranks or ``"unknown"`` to the voter. PrefLib's files that leave some out need
        it; otherwise it is ``"unknown"``.
    groups
        Which voters belong together, for votes without a column ``group``: a path or frame with the columns ``voter``
        and ``group``.
    confidence
        What each level of a column ``confidence``, which stands in place of ``count``, is worth: numbers or words to
        counts above 0. By default levels from 1 to 5 are worth 1, 2.4, 4.9, 8 and 8.4, with a note.
    columns
        Which column of the file is which of ours, such as ``{"voter": "reviewer", "value": "rating"}``; an empty name
        leaves one out. Common names are recognised without it, and so are exports of conference systems, logs of
        judges and answers of web forms; an :class:`InputNote` says what was read as what.
    verdicts
        In a log of judges, the words that are verdicts, such as ``["correct", "incorrect"]``; rows with other words,
        such as error messages, are left out. By default all words that are there.

    Returns
    -------
    Profile
        With a ``decision`` column, a batch with an entry for each decision, else a single decision. Names are text.
        ``groups`` has the group of each voter who is in one; ``items`` who looked at what, of single looks or of
        comparisons with a column ``item``.

    Notes
    -----
    An empty rank or value of a seen alternative (count > 0) puts it below everything that voter ranked. In a tidy table
    without a ``count`` column a row is a sighting and all counts are equal; an alternative without a row for a voter is
    unseen.
    """
    from veritally.io import spelling
    from veritally.io.columns import checked
    from veritally.io.confidence import checked_map
    from veritally.io.groups import read_groups

    levels = None if confidence is None else checked_map(confidence)
    table = None if counts is None else load(counts, "count")
    said = Options(ballots, lower_is_better, table, unranked, levels, checked(columns), verdicts=words_given(verdicts))
    profile = _profile(source, said)
    if groups is not None:
        profile = read_groups(groups, profile)
    for remark in spelling.look_alikes(profile):
        warnings.warn(remark, InputWarning, stacklevel=2)
    return profile.as_top() if ballots == "top" else profile


def _profile(source: Any, said: Options) -> Profile:
    from veritally.io import forms, preflib

    if not isinstance(source, str | PathLike):
        return forms.to_profile(*load(source), said)
    file = _opened(source, "vote")
    if file.format == "preflib":
        said.refuse(file.name, "orders", "verdicts")
        return preflib.to_profile(file.data, file.name, said)
    return forms.to_profile(*_table_in(file), said)


def write(profile: Profile, path: str | PathLike[str], *, form: Form = "tidy", drop_counts: bool = False) -> None:
    """Write a profile to a file; the suffix of the path chooses the format.

    The file appears whole or not at all. What a format cannot hold is refused.

    Parameters
    ----------
    profile
        The votes. ``read`` gives the same votes back, favourites with ``ballots="top"``, with groups and roles; who
        looked at which items is not written.
    path
        Tables (``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``) hold everything but differences. Orders (``.orders``)
        hold one decision, counts, and of values the order; PrefLib's files (``.soc``, ``.soi``, ``.toc``, ``.toi``)
        the same without counts. Neither has names of voters.
    form
        Of a table: ``"tidy"``, or ``"wide"`` with a row per voter and a column per alternative.
    drop_counts
        Whether to write all that was seen as seen once.
    """
    if not isinstance(profile, Profile):
        raise InputError(f"write takes a Profile, not {type(profile).__name__}; an outcome has to_json and to_frame")
    if drop_counts:
        profile = profile.seen_once()
    format_ = _format_for(path, _FORMATS)
    if format_ not in _ORDERS.values():
        return write_whole(path, encoded(lambda: _table_of(profile, form), path))
    if form != "tidy":
        raise InputError(f"{path}: is not a table, so that form says nothing about it; leave it out")
    return write_whole(path, _module(format_).encoded(profile, path))


def to_frame(profile: Profile, backend: str = "polars", form: Form = "tidy") -> Any:
    """Return the votes as a frame that ``read`` takes, ``"tidy"`` or ``"wide"``.

    ``backend`` is ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

    Examples
    --------
    >>> to_frame(Profile(top=["A", "B"], counts=[[5, 1], [2, 2]]), form="wide").rows()
    [('0', 1.0, None, 5, 1), ('1', None, 1.0, 2, 2)]
    """
    table = _table_of(profile, form)
    return framed(table.to_dict(as_series=False), backend)


def _table_of(profile: Profile, form: Form) -> "pl.DataFrame":
    from veritally.io import comparisons, frames, wide

    if form not in get_args(Form):
        raise InputError(f"form can be tidy or wide, not {quoted(form)}")
    if form == "tidy" and isinstance(profile.ballots, Pairs):
        return comparisons.from_profile(profile)
    return wide.from_profile(profile) if form == "wide" else frames.from_profile(profile)


def encoded(table: "Callable[[], pl.DataFrame]", path: str | PathLike[str]) -> bytes:
    """Return a table in the format that the suffix of a path stands for; it is made once that is known."""
    module = _module(_format_for(path, _TABLES))
    buffer = io.BytesIO()
    module.write(table(), buffer, Path(path).suffix)
    return buffer.getvalue()


def holds_orders(path: Path) -> bool:
    """Whether a file is one of PrefLib's, which is no table."""
    return _opened(path, "vote").format == "preflib"


def load(source: Any, what: str = "vote") -> "tuple[pl.DataFrame, Place]":
    """Return the table in a file or frame, and how a person would name its rows."""
    if isinstance(source, str | PathLike):
        return _table_in(_opened(source, what))
    from veritally.io import frames, spelling

    table = spelling.in_one_form(frames.from_native(source), "the frame")
    return table, frames.Place("the frame", "row", range(table.height))


class _File(NamedTuple):
    data: bytes
    name: str
    format: str


def _opened(source: str | PathLike[str], what: str) -> _File:
    """Return what stands in a file."""
    if str(source) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file")
        name, data, suffix = "standard input", sys.stdin.buffer.read(), ""
    else:
        path = usable_path(source)
        name, suffix = str(source), path.suffix
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise InputError(f"{name}: there is no such file") from None
        except IsADirectoryError:
            parts = sorted(path.glob("*.parquet")) if what == "vote" else []
            one = f", such as {shlex.quote(str(parts[0]))}" if parts else ""
            also = "; decide --out takes a folder of Parquet files" if what == "vote" else ""
            raise InputError(f"{name}: is a folder; give a {what} file{one}{also}") from None
        except OSError as error:
            raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error
    if not data.strip():
        raise InputError(f"{name}: the {what} file is empty; it needs a header and a row for each entry")
    return _File(data, name, _recognised(data, suffix.lower()))


def _recognised(data: bytes, suffix: str) -> str:
    """Tell the format from the content, and where that leaves it open from the suffix."""
    from veritally.io import excel, json_file, orders, preflib

    if data[:4] == b"PAR1":
        return "parquet"
    if excel.recognised(data) or suffix in _READ_ONLY:
        return "excel"
    if json_file.recognised(data):
        return "json_file"
    if suffix in _FORMATS and suffix != ".txt":
        return _FORMATS[suffix]
    if preflib.recognised(data):
        return "preflib"
    if data.lstrip()[:1] == b"{":
        return "jsonl"
    return "orders" if orders.recognised(data) else "text"


def _table_in(file: _File) -> "tuple[pl.DataFrame, Place]":
    """Return the table in a file, and how a person would name its rows."""
    from veritally.io import frames, spelling

    if file.format == "preflib":
        raise InputError(f"{file.name}: holds orders; a table is needed here")
    module = _module(file.format)
    table = spelling.in_one_form(module.read(file.data, file.name), file.name)
    first = module.FIRST_ROW
    lines = range(first, first + table.height)
    if file.format == "text":
        lines = module.lines(file.data, table.height)
    return table, frames.Place(file.name, module.UNIT, lines)


def _format_for(path: str | PathLike[str], formats: dict[str, str]) -> str:
    """Tell the format from the suffix."""
    suffix = usable_path(path).suffix.lower()
    if suffix not in formats:
        raise InputError(f"{path}: cannot tell the format from the suffix; use one of {', '.join(formats)}")
    return formats[suffix]


def _module(format_: str) -> ModuleType:
    return importlib.import_module(f"veritally.io.{format_}")
