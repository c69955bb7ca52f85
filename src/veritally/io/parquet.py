"""Parquet."""

import io
from pathlib import Path

import polars as pl

from veritally.errors import InputError
from veritally.io.frames import COLUMNS

FIRST_ROW = 1


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read the columns of a vote file; others are left where they are."""
    try:
        names = list(pl.read_parquet_schema(io.BytesIO(data)))
        return pl.read_parquet(
            io.BytesIO(data), columns=[column for column in names if column in COLUMNS] or names
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{name}: is not a readable Parquet file ({str(error).splitlines()[0]})") from error


def write(table: pl.DataFrame, path: Path, suffix: str) -> None:
    """Write Parquet."""
    table.write_parquet(path)
