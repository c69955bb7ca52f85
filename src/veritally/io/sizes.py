"""What is too large to be read: said from what a file tells about itself, before memory is taken for it."""

import re
from collections.abc import Iterable
from typing import Any

from veritally.errors import InputError

MOST_COLUMNS = 50_000  # some ten kilobytes each while they are read
MOST_CELLS = 2**28  # a few gigabytes
DEEPEST = 32  # levels of lists and objects within each other

_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]}]', re.DOTALL)


def require_cells(rows: int, columns: int, name: str) -> None:
    """Refuse a table with more columns, or more cells, than can be worked with."""
    if columns > MOST_COLUMNS:
        tidy = "give a row for each voter and alternative instead (voter, alternative, rank or value)"
        raise InputError(f"{name}: has {columns:,} columns, and at most {MOST_COLUMNS:,} are read; {tidy}")
    if rows * columns > MOST_CELLS:
        size = f"{rows:,} rows of {columns:,} columns"
        raise InputError(
            f"{name}: has {size}, and at most {MOST_CELLS:,} cells are read at once; write the answers of a "
            "Parquet file to a file, by decide --out or vt.decide_file, which take it in pieces"
        )


def require_flat(types: Iterable[Any], name: str) -> None:
    """Refuse columns of lists and structs that lie too deep within each other."""
    level, depth = [*types], 0
    while level := [inner for dtype in level for inner in _inner(dtype)]:
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"{name}: is nested more than {DEEPEST} deep; give columns of names and numbers")


def _inner(dtype: Any) -> list[Any]:
    if hasattr(dtype, "fields"):
        return [field.dtype for field in dtype.fields]
    return [dtype.inner] if hasattr(dtype, "inner") else []


def require_shallow(line: bytes, where: str) -> None:
    """Refuse JSON with lists and objects that lie too deep within each other."""
    if line.count(b"{") + line.count(b"[") <= DEEPEST:
        return
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(line):
        mark = found[0][:1]
        depth += (mark in b"[{") - (mark in b"]}")
        if depth > DEEPEST:
            raise InputError(f"{where}: is nested more than {DEEPEST} deep; give names and numbers, one object a line")
