"""Parquet."""

import io

import polars as pl

from veritally.errors import InputError
from veritally.io.sizes import require_cells, require_flat
from veritally.io.text import first_line

UNIT, FIRST_ROW = "row", 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read a Parquet file."""
    try:
        types = pl.read_parquet_schema(io.BytesIO(data))
        require_flat(types.values(), name)
        rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()  # as its footer has it
        require_cells(rows, len(types), name)
        return pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{name}: is not a readable Parquet file ({first_line(error)})") from error


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write Parquet."""
    table.write_parquet(buffer)
