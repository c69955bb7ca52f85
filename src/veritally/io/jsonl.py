"""JSON Lines: one object a line."""

import io

import polars as pl

from veritally.errors import InputError
from veritally.io.text import first_line, require_text

UNIT, FIRST_ROW = "row", 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read one object a line."""
    require_text(data, name)
    try:
        return pl.read_ndjson(io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{name}: is not one JSON object a line ({first_line(error)})") from error


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write one object a line."""
    table.write_ndjson(buffer)
