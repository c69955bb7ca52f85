"""CSV and TSV."""

import io
from collections import Counter

import polars as pl

from veritally.errors import InputError, short
from veritally.io.sizes import require_cells

_NAMES = {"decision", "voter", "alternative"}

UNIT, FIRST_ROW = "line", 2  # a person counts the header as line 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read separated values, all as text: what should be a number is said later, with its line."""
    require_text(data, name)
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = data.split(b"\n", 1)[0]
    separator = max(",\t;", key=lambda mark: header.count(mark.encode()))
    require_cells(data.count(b"\n"), header.count(separator.encode()) + 1, name)
    try:
        table = pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problem = "a row has more fields than the header" if "more fields" in str(error) else first_line(error)
        raise InputError(f"{name}: is not a well-formed table ({problem})") from error
    names = [column.strip() for column in table.columns]
    times = Counter(names)
    twice = [column.split("_duplicated_")[0] for column in names if "_duplicated_" in column or times[column] > 1]
    if twice:
        raise InputError(f"{name}: the column {short(twice[0])} stands twice; name each column once")
    table.columns = names
    table = table.with_columns(pl.all().str.strip_chars().replace("", None))
    if separator == ";":  # where semicolons separate, commas are decimal points
        numeric = [column for column in names if column.lower() not in _NAMES]
        table = table.with_columns(pl.col(numeric).str.replace(r"^([-+]?\d*),(\d+)$", "$1.$2"))
    return table


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write separated values."""
    table.write_csv(buffer, separator="," if suffix.lower() == ".csv" else "\t")


def require_text(data: bytes, name: str) -> None:
    """Refuse what is not UTF-8 text, and say where."""
    if data.startswith(b"PK\x03\x04"):
        raise InputError(f"{name}: is a workbook or archive; save the table as CSV (UTF-8)")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}: is UTF-16 text; save the table as CSV (UTF-8)")
    if data.lstrip().startswith(b"["):
        raise InputError(f"{name}: is a JSON array; write one JSON object a line")
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
