"""JSON Lines: one object a line."""

import io
import re

import polars as pl

from veritally.errors import InputError
from veritally.io.sizes import MOST_CELLS, MOST_COLUMNS, require_cells, require_shallow
from veritally.io.text import first_line, require_text

UNIT, FIRST_ROW = "row", 1
_KEY = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:')


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read one object a line."""
    require_text(data, name)
    for number, line in enumerate(data.split(b"\n"), FIRST_ROW):
        require_shallow(line, f"{name}, {UNIT} {number}")
    rows, keys = data.count(b"\n") + 1, data.count(b":")
    if keys > MOST_COLUMNS or rows * keys > MOST_CELLS:  # as many columns, where lines differ in their keys
        require_cells(rows, len(set(_KEY.findall(data))), name)
    try:
        return pl.read_ndjson(io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{name}: is not one JSON object a line ({first_line(error)})") from error


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write one object a line."""
    table.write_ndjson(buffer)
