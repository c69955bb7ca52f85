"""JSON Lines: one object a line."""

import io
import json
import re
from collections import Counter
from contextlib import suppress

import polars as pl

from veritally.errors import InputError, quoted
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
        table = pl.read_ndjson(io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        where = f"{name}{_first_bad(data)}"
        raise InputError(f"{where}: is not one JSON object a line ({first_line(error)})") from error
    full = not any(column.null_count() for column in table.get_columns())
    if not full or data.count(b'":') != table.height * table.width:  # else each object has each key, once
        _no_key_twice(data, name)
    return table


def _first_bad(data: bytes) -> str:
    """Name the first line that holds no object; nothing if all do."""
    for number, line in enumerate(data.decode("utf-8-sig", errors="replace").split("\n"), 1):
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return f", line {number}"
        except (ValueError, RecursionError):
            return f", line {number}"
    return ""


def _no_key_twice(data: bytes, name: str) -> None:
    """Refuse objects that have a key twice, of which only one would be read."""
    lines = pl.Series([line for line in data.decode("utf-8-sig").split("\n") if line.strip()])
    keys = lines.str.replace_all(r'"\s+:', '":').str.extract_all(r'"(?:[^"\\]|\\.)*":').list
    for row in (keys.n_unique() < keys.len()).arg_true().to_list():  # among them keys of objects within objects
        for key in _keys_given_twice(lines[row]):
            raise InputError(
                f"{name}, {UNIT} {row + FIRST_ROW}: the key {quoted(key)} stands twice; give each key once"
            )


def _keys_given_twice(line: str) -> list[str]:
    """Return the keys that stand twice in an object of a line.

    >>> _keys_given_twice('{"a": {"b": 1}, "b": 2, "c": 3, "c": 4}')
    ['c']
    """
    found: list[str] = []

    def look_at(pairs: list[tuple[str, object]]) -> None:
        found.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)

    with suppress(ValueError, RecursionError):  # what reads the table takes some things that this does not
        json.loads(line, object_pairs_hook=look_at)
    return found


def write(table: pl.DataFrame, buffer: io.BytesIO, suffix: str) -> None:
    """Write one object a line."""
    table.write_ndjson(buffer)
