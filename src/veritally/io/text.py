"""CSV and TSV."""

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, InputWarning, quoted, short
from veritally.io.sizes import require_cells

# An apostrophe before what a spreadsheet would calculate, also in wide letters; one more before what has some already.
FORMULA = r"'*[=+\-@＝＋－＠]"
_PUT = (f"^({FORMULA})", "'${1}")
_TAKEN_OFF = (f"^'({FORMULA})", "${1}")
_NAMES = {"decision", "voter", "alternative"}
_COMMA = r"^([-+]?\d*),(\d+)$"
_THOUSAND_POINTS = r"^[-+]?[1-9]\d?\d?(\.\d{3})+$"
THOUSANDS = r"[-+]?[1-9]\d?\d?(,\d{3})+"
"""Numbers whose commas part thousands, unless one of them is a decimal point."""

UNIT, FIRST_ROW = "line", 2  # a person counts the header as line 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read separated values, all as text: what should be a number is said later, with its line."""
    require_text(data, name)
    if data.lstrip().startswith(b"["):
        raise InputError(f"{name}: is a JSON array, but not of objects; write one JSON object for each row")
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = data.split(b"\n", 1)[0]
    separator = max(",\t;", key=lambda mark: header.count(mark.encode()))
    require_cells(data.count(b"\n"), header.count(separator.encode()) + 1, name)
    try:
        table = pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problem = "a row has more fields than the header" if "more fields" in str(error) else first_line(error)
        raise InputError(f"{name}: is not a well-formed table ({problem})") from error
    names = _replaced([column.strip() for column in table.columns], _TAKEN_OFF)
    times = Counter(names)
    twice = [column.split("_duplicated_")[0] for column in names if "_duplicated_" in column or times[column] > 1]
    if twice:
        raise InputError(f"{name}: the column {short(twice[0])} stands twice; name each column once")
    table.columns = names
    table = table.with_columns(pl.all().str.strip_chars().replace("", None).str.replace(*_TAKEN_OFF))
    _require_all_fields(table, data, separator, name)
    if separator == ";":
        table = _with_points(table, name)
    return table


def lines(data: bytes, height: int) -> Sequence[int]:
    r"""Return the line on which each row begins: those with line breaks in quotes take several.

    >>> lines(b'voter,note\nu,"one\ntwo"\nv,three\n', 2)
    [2, 4]
    """
    regular = range(FIRST_ROW, FIRST_ROW + height)
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    if text.strip("\n").count("\n") == height:
        return regular
    header = text.split("\n", 1)[0]
    rows = csv.reader(io.StringIO(text), delimiter=max(",\t;", key=header.count))
    found, end = [], 0
    for row in rows:
        found += [end + 1] if row else []
        end = rows.line_num
    return found[1:] if len(found) == height + 1 else regular


def _with_points(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Turn decimal commas into points; where they may part thousands they stay, and nobody takes that for a number.

    Where commas are decimal, points may part thousands: columns of such numbers are refused.
    """
    cells = pl.all().str
    clear = table.select((cells.contains(_COMMA) & ~cells.contains(f"^{THOUSANDS}$")).any()).row(0)
    points = table.select(cells.contains(_THOUSAND_POINTS).any()).row(0)
    found = [row for row in zip(table.columns, clear, points, strict=True) if row[0].lower() not in _NAMES]
    decimal = [column for column, comma, point in found if comma and not point]
    for column in (column for column, comma, point in found if decimal and point and not comma):
        doubtful = table[column].str.contains(_THOUSAND_POINTS).arg_true()
        if table[column].str.contains(r"^[-+]?[\d.]+$").all():
            cell = table[column][doubtful[0]]
            raise InputError(
                f"{name}, {UNIT} {doubtful[0] + FIRST_ROW}: {quoted(cell)} in the column {short(column)} may be "
                f"{short(cell.replace('.', ''))}, since commas are decimal here; write it without the point"
            )
    return table.with_columns(pl.col(decimal).str.replace(_COMMA, "$1.$2"))


def _require_all_fields(table: pl.DataFrame, data: bytes, separator: str, name: str) -> None:
    """Refuse rows that end early, since what they lack would be read as blank, and doubt a last line that may."""
    last = table.to_series(-1)
    if not last.null_count():
        return
    ending = table.select(pl.col(last.name).is_null() & ~pl.all_horizontal(pl.all().is_null())).to_series().arg_true()
    fields = _number_of_fields(data.lstrip(b"\n"), separator)[1:]
    if len(fields) != table.height:  # quotes that are none leave it open which is whose
        return
    for row in ending.filter(pl.Series(fields)[ending] < table.width).to_list()[:1]:
        found = f"{fields[row]} fields where the header has {table.width}"
        raise InputError(f"{name}, {UNIT} {row + FIRST_ROW}: has {found}; leave a field empty if it is blank")
    if len(ending) == last.null_count() == 1 and ending[0] == table.height - 1 and not data.endswith(b"\n"):
        where = f"{name}, {UNIT} {table.height - 1 + FIRST_ROW}"
        message = (
            f"{where}: the {last.name} is empty here alone, where the file ends without a line break; was it cut off?"
        )
        warnings.warn(message, InputWarning, stacklevel=6)


def _number_of_fields(data: bytes, separator: str) -> Array:
    """Count the fields of each row."""
    if b'"' in data:  # what stands in quotes, at the beginning of a field, parts neither fields nor rows
        data = re.sub(rb'(?<![^%b\n])"(?:[^"]|"")*"' % separator.encode(), b"", data)
    characters = np.frombuffer(data.removesuffix(b"\n") + b"\n", dtype=np.uint8)
    ends, marks = (np.flatnonzero(characters == ord(mark)) for mark in ("\n", separator))
    return np.diff(np.searchsorted(marks, ends), prepend=0) + 1


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write separated values, names so that a spreadsheet takes none for a formula."""
    names = table.select(pl.col(pl.String))
    for name in (*table.columns, *(name for column in names for name in column.unique().drop_nulls())):
        if not name or name != name.strip() or "\r" in name or "\0" in name:
            lost = "an empty name, outer spaces, carriage returns and NUL"
            raise InputError(f"the name {quoted(name)} has what CSV loses ({lost}); rename it")
    table = table.with_columns(names.with_columns(pl.all().str.replace(*_PUT)))
    table = table.rename(dict(zip(table.columns, _replaced(table.columns, _PUT), strict=True)))
    table.write_csv(buffer, separator="," if suffix.lower() == ".csv" else "\t")


def _replaced(names: list[str], change: tuple[str, str]) -> list[str]:
    return pl.Series(names, dtype=pl.String).str.replace(*change).to_list()


def require_text(data: bytes, name: str) -> None:
    """Refuse what is not UTF-8 text, and say where."""
    if data.startswith(b"PK\x03\x04"):
        raise InputError(f"{name}: is a workbook or archive; save the table as CSV (UTF-8)")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}: is UTF-16 text; save the table as CSV (UTF-8)")
    if (nul := data.find(b"\0")) >= 0:
        raise InputError(f"{name}, line {_line(data, nul)}: NUL bytes; vote files are plain UTF-8 text")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        place = f"{name}, line {_line(data, error.start)}"
        raise InputError(f"{place}: the bytes are not UTF-8; save the file as UTF-8 text") from error


def first_line(error: Exception) -> str:
    """Return what an error says, in a short line."""
    return short((str(error).splitlines() or [type(error).__name__])[0])


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
