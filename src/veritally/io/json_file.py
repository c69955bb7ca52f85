"""A JSON file: an array of objects, or an object that has one such array, as answers of a server do."""

import json
from collections import Counter
from typing import Any

import polars as pl

from veritally.errors import InputError, quoted
from veritally.io import jsonl
from veritally.io.sizes import require_shallow
from veritally.io.text import first_line, require_text

UNIT, FIRST_ROW = "row", 1


def recognised(data: bytes) -> bool:
    """Whether it begins as an array of objects does."""
    return b"".join(data[:1000].removeprefix(b"\xef\xbb\xbf").split()).startswith(b"[{")


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read the objects as a table, each as a row."""
    require_text(data, name)
    require_shallow(data, name)
    try:
        whole = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_with_keys_once)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except (ValueError, RecursionError) as error:
        if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):  # one object a line, then
            return jsonl.read(data, name)
        raise InputError(f"{name}: is not a well-formed JSON file ({first_line(error)})") from error
    rows = _rows(whole)
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{name}: holds no array of JSON objects; give one object for each row")
    return jsonl.read("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode(), name)


def _with_keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; refuse one that has a key twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise InputError(f"an object has the key {quoted(twice)} twice; give each key once")
    return made


def _rows(whole: Any) -> list[Any]:
    """Return the array, or the only array of objects within an object, or the object alone."""
    if isinstance(whole, dict):
        arrays = [value for value in whole.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        return arrays[0] if len(arrays) == 1 else [whole]
    return whole if isinstance(whole, list) else []


def write(table: pl.DataFrame, buffer: Any, suffix: str) -> None:
    """Write an array of objects."""
    table.write_json(buffer)
