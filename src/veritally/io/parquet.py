"""Parquet."""

import io
from pathlib import Path

import polars as pl

from veritally.errors import InputError
from veritally.io.text import first_line

FIRST_ROW = 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read a Parquet file."""
    try:
        return pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{name}: is not a readable Parquet file ({first_line(error)})") from error


def write(table: pl.DataFrame, path: Path, suffix: str) -> None:
    """Write Parquet."""
    table.write_parquet(path)
