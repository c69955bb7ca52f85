"""CSV and TSV."""

import io
from pathlib import Path

import polars as pl

from veritally.errors import InputError

FIRST_ROW = 2  # a person counts the header as line 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read separated values, all as text: what should be a number is said later, with its line."""
    decode(data, name)
    header = data.lstrip().split(b"\n", 1)[0]
    separator = max(",\t;", key=lambda mark: header.count(mark.encode()))
    try:
        table = pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{name}: is not a well-formed table ({str(error).splitlines()[0]})") from error
    return table.rename(str.strip).with_columns(pl.all().str.strip_chars().replace("", None))


def write(table: pl.DataFrame, path: Path, suffix: str) -> None:
    """Write separated values."""
    table.write_csv(path, separator="," if suffix.lower() == ".csv" else "\t")


def decode(data: bytes, name: str) -> str:
    """Return the text, or say where it is none."""
    if (nul := data.find(b"\0")) >= 0:
        raise InputError(f"{name}, line {_line(data, nul)}: NUL bytes; vote files are plain UTF-8 text")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        place = f"{name}, line {_line(data, error.start)}"
        raise InputError(f"{place}: the bytes are not UTF-8; save the file as UTF-8 text") from error


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
