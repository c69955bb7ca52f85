"""CSV and TSV."""

import io

import polars as pl

from veritally.errors import InputError

# An apostrophe before what a spreadsheet would calculate, or a reader strip; one more before what has some already.
_PUT = (r"^('*[=+\-@\s\x1c-\x1f])", "'${1}")
_TAKEN_OFF = (r"^'('*[=+\-@\s\x1c-\x1f])", "${1}")
_NAMES = {"decision", "voter", "alternative"}

UNIT, FIRST_ROW = "line", 2  # a person counts the header as line 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read separated values, all as text: what should be a number is said later, with its line."""
    require_text(data, name)
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = data.split(b"\n", 1)[0]
    separator = max(",\t;", key=lambda mark: header.count(mark.encode()))
    try:
        table = pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problem = "a row has more fields than the header" if "more fields" in str(error) else first_line(error)
        raise InputError(f"{name}: is not a well-formed table ({problem})") from error
    names = _replaced([column.strip() for column in table.columns], _TAKEN_OFF)
    twice = [column.split("_duplicated_")[0] for column in names if "_duplicated_" in column or names.count(column) > 1]
    if twice:
        raise InputError(f"{name}: the column {twice[0]} stands twice; name each column once")
    table.columns = names
    table = table.with_columns(pl.all().str.strip_chars().replace("", None).str.replace(*_TAKEN_OFF))
    if separator == ";":  # where semicolons separate, commas are decimal points
        numeric = [column for column in names if column.lower() not in _NAMES]
        table = table.with_columns(pl.col(numeric).str.replace(r"^([-+]?\d*),(\d+)$", "$1.$2"))
    return table


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write separated values, names so that a spreadsheet takes none for a formula."""
    names = table.select(pl.col(pl.String))
    for name in (*table.columns, *(name for column in names for name in column.unique().drop_nulls())):
        if not name or name != name.rstrip() or "\r" in name or "\0" in name:
            lost = "an empty name, spaces at the end, carriage returns and NUL"
            raise InputError(
                f"the name {name!r} has what CSV loses ({lost}); rename it, or write Parquet or JSON Lines"
            )
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
    """Return what an error says, in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
