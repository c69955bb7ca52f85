"""What breaks files: bytes, cells, JSON values, columns of tables, and cards of weights."""

import datetime
import io
import json
from random import Random
from typing import Any

import polars as pl

_LONG = "x" * 3000
CELLS = (
    *(
        "",
        " ",
        "\t",
        "0",
        "-0",
        "1",
        "-1",
        "2",
        "2.5",
        "1e400",
        "1e308",
        "-1e308",
        "1e-400",
        "nan",
        "NaN",
        "inf",
        "-inf",
    ),
    *("0x10", "1_000", "1,000", "1.000,5", "1,5", "½", "１", "٣", "9" * 30, "9" * 400, "+1", "1.", ".5", "1e", "--1"),
    *("null", "None", "NA", "true", "FALSE", "A", "B", "a", "A ", "Α", "é", "e\u0301", "🗳", "\u202eabc", "\u200b"),
    *(
        "=1+1",
        "@x",
        "\x1b[2J",
        "\x07",
        "\x7f",
        "a\nb",
        "a\r\nb",
        '"',
        '""',
        "'",
        "\\",
        "\\n",
        ",",
        ";",
        "|",
        "#",
        "# x",
    ),
    *(
        "6: weak accept",
        "-2: reject",
        "8 (yes)",
        "4/5",
        "7/10",
        "1/0",
        "85 %",
        "1st",
        "Rank 2",
        "Expert (4)",
        "both_bad",
    ),
    *("A > B", "A=B", ">", "=", "2: A", "(3)", "A (3)", "A (-1)", "A (1e999)", "A ()", "{1,2}", "{", "}", "{}", "[]"),
    *("tie", "left", "right", "model_a", "a", "b", "u", "2020-01-01", "10:30", "voter", "A_count", "_count", _LONG),
)
NUMBERS = (
    "",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "0.5",
    "2.5",
    "10",
    "1e6",
    "1e300",
    "1e-300",
    "-1e300",
    "100000",
    "1e15",
    "007",
)
NAMES = ("A", "B", "C", "D", "u", "v", "w", "X", "d1", "d2", "d", "e", "a", "1", "2", "A B", "é", "A_count")
HEADERS = (
    *("voter", "alternative", "rank", "value", "count", "multiplicity", "decision", "order", "truth", "left", "right"),
    *("winner", "label", "judge", "worker", "model_a", "model_b", "times", "A", "B", "A_count", "A_count_count", ""),
    *(
        "reviewer",
        "paper",
        "rating",
        "score",
        "confidence",
        "expertise",
        "version",
        "scores",
        "content",
        "item",
        "name",
    ),
    *(
        "email",
        "result",
        "option_a",
        "option_b",
        "ranking",
        "candidates",
        "Timestamp",
        "Q [A]",
        "Q [B]",
        "date",
        "review",
    ),
    *("Voter", " voter ", "VALUE", "counts", "a_duplicated_0", "_duplicated_", "column_1", _LONG, "\ufeffvoter", "1"),
)
BYTES = (
    *(
        b"\0",
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b"\r\n",
        b"\n\n\n",
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"#",
    ),
    *(b"PAR1", b"PK\x03\x04", b"[", b"{", b"}", b"]", b"\\", b"\x1a", b"\x0b", b"\x0c", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(b"\xf0\x9f", b"\xed\xa0\x80", b"9" * 50, b" " * 200, b"[" * 50, b'{"a":' * 40, b"# FILE NAME:", b">", b"=", b":"),
)


def some_bytes(random: Random, data: bytes) -> bytes:
    """Change, cut out, double, move or add a few bytes."""
    if not data:
        return random.choice(BYTES)
    start = random.randrange(len(data))
    stop = min(len(data), start + random.choice((1, 1, 2, 5, 20, 200)))
    before, piece, after = data[:start], data[start:stop], data[stop:]
    match random.randrange(9):
        case 0:
            return before + bytes([piece[0] ^ 1 << random.randrange(8)]) + piece[1:] + after
        case 1:
            return before + after
        case 2:
            return before + piece * random.choice((2, 3, 50)) + after
        case 3:
            return before + random.choice(BYTES) + data[start:]
        case 4:
            return before + random.choice(BYTES) + after
        case 5:
            return before
        case 6:
            return piece + before + after
        case 7:
            return before + random.randbytes(len(piece)) + after
        case _:
            return data + data[random.randrange(len(data)) :]


def some_cells(random: Random, data: bytes) -> bytes:
    """Change, drop, add or move cells, rows and columns of separated values."""
    text = data.decode("utf-8", "replace")
    separator = max(",\t;>", key=text.count)
    rows = [line.split(separator) for line in text.split("\n")]
    i = random.randrange(len(rows))
    row = rows[i]
    j = random.randrange(len(row))
    match random.randrange(18):
        case 0 | 1 | 2:
            row[j] = random.choice(CELLS)
        case 14 | 15 | 16 | 17:
            row[j] = plausible(random, row[j])
        case 4:
            rows[0][min(j, len(rows[0]) - 1)] = random.choice(HEADERS)
        case 5:
            del row[j]
        case 6:
            row.insert(j, random.choice(CELLS))
        case 7:
            rows.insert(i, list(row))
        case 8:
            del rows[i]
        case 9:
            random.shuffle(rows)
        case 10:
            rows = [own[:j] + own[j + 1 :] for own in rows]
        case 11:
            name = random.choice(HEADERS)
            rows = [[*own, random.choice(CELLS) if k else name] for k, own in enumerate(rows)]
        case 12:
            value = random.choice(CELLS)
            rows = [[*own[:j], value, *own[j + 1 :]] if k else own for k, own in enumerate(rows)]
        case _:
            rows = _many(random, rows, i, j)
    return "\n".join(map(separator.join, rows)).encode()


def plausible(random: Random, cell: str) -> str:
    """Return another number for a number, another name for a name."""
    return random.choice(NAMES if cell.strip('-."')[:1].isalpha() else NUMBERS)


def _many(random: Random, rows: list[list[str]], i: int, j: int) -> list[list[str]]:
    """Repeat a row, or a column, many times under other names."""
    number = random.choice((20, 300))
    if random.random() < 0.7:
        return rows[:i] + [[*rows[i][:j], f"n{k}", *rows[i][j + 1 :]] for k in range(number)] + rows[i:]
    cell = random.choice(CELLS[:30])
    return [[*own, *(cell if k else f"n{copy}" for copy in range(number))] for k, own in enumerate(rows)]


def json_value(random: Random, depth: int = 0) -> Any:
    """Return whatever JSON can hold."""
    simple = (None, True, False, 0, -1, 1.5, 10**25, 10**400, 1e308, float("nan"), float("inf"), "A", "", "1", _LONG)
    if depth > 3 or random.random() < 0.7:
        return random.choice((*simple, random.choice(CELLS)))
    inner = [json_value(random, depth + 1) for _ in range(random.randrange(4))]
    if random.random() < 0.5:
        return inner
    deep = inner if random.random() < 0.9 else []
    for _ in range(0 if deep is inner else random.choice((20, 100, 700))):
        deep = [deep]
    return {random.choice(HEADERS): deep}


def some_json(random: Random, data: bytes) -> bytes:
    """Change, drop or add values and keys of JSON Lines."""
    lines = data.decode("utf-8", "replace").split("\n")
    i = random.randrange(len(lines))
    try:
        row = json.loads(lines[i])
    except (ValueError, RecursionError):
        row = {}
    if not isinstance(row, dict):
        row = {"voter": row}
    key = random.choice([*row, random.choice(HEADERS)])
    match random.randrange(6):
        case 0 | 1:
            row[key] = json_value(random)
        case 2:
            row.pop(key, None)
        case 3:
            lines.insert(i, lines[i])
        case 4:
            return "\n".join([*lines[:i], json.dumps(json_value(random)), *lines[i:]]).encode()
        case _:
            own = json.dumps({random.choice(HEADERS): json_value(random)})
            lines[i] = json.dumps(row)[:-1] + ", " + own[1:]  # perhaps with a key twice
            return "\n".join(lines).encode()
    lines[i] = json.dumps(row)
    return "\n".join(lines).encode()


_CASTS = (
    *(pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.Boolean, pl.Date, pl.Datetime, pl.Duration, pl.Time, pl.Binary),
    *(
        pl.Categorical,
        pl.String,
        pl.Decimal(20, 2),
        pl.List(pl.Int64),
        pl.Struct({"a": pl.String}),
        pl.Null,
        pl.Enum(["A"]),
    ),
    pl.Array(pl.Int64, 2),
)


def some_columns(random: Random, table: pl.DataFrame) -> pl.DataFrame:
    """Change types, names, cells and numbers of columns and rows of a table."""
    if not table.width:
        return pl.DataFrame({random.choice(HEADERS): [random.choice(CELLS)]})
    column = random.choice(table.columns)
    try:
        match random.randrange(8):
            case 0 | 1:
                return table.with_columns(_cast(table[column], random.choice(_CASTS)).alias(column))
            case 2:
                return table.rename({column: random.choice(HEADERS)})
            case 3:
                return table.drop(column)
            case 4:
                return table.with_columns(pl.Series(random.choice(HEADERS), random.choices(CELLS, k=table.height)))
            case 5:
                return table.sample(random.choice((0, 1, table.height)), seed=random.randrange(100))
            case 6:
                return table.with_columns(pl.when(pl.col(column).is_null()).then(None).otherwise(None).alias(column))
            case _:
                return pl.concat([table] * random.choice((2, 100))) if table.height < 1000 else table
    except pl.exceptions.PolarsError:
        return table


def _cast(column: pl.Series, dtype: Any) -> pl.Series:
    """Return a column of another type, with what can be made of its cells."""
    made = {
        pl.Duration: [datetime.timedelta(k) for k in range(len(column))],
        pl.Binary: [bytes([k % 256, 255]) for k in range(len(column))],
        pl.Time: [datetime.time(k % 24) for k in range(len(column))],
    }
    if dtype in made:
        return pl.Series(made[dtype])
    if dtype.is_nested():
        return pl.Series([None if k % 3 == 0 else _nested(dtype) for k in range(len(column))], dtype=dtype)
    return column.cast(dtype, strict=False)


def _nested(dtype: Any) -> Any:
    return {"a": "b"} if isinstance(dtype, pl.Struct) else [1, 2]


def parquet(random: Random, table: pl.DataFrame) -> bytes:
    """Write a table as Parquet, one way or another."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression=random.choice(("zstd", "snappy", "uncompressed", "gzip", "lz4")))
    return buffer.getvalue()


def some_entries(random: Random, card: Any) -> Any:
    """Change, drop or add entries of a card, at any depth."""
    if not isinstance(card, dict) or not card or random.random() < 0.2:
        return json_value(random)
    key = random.choice([*card])
    match random.randrange(4):
        case 0:
            return {name: value for name, value in card.items() if name != key}
        case 1:
            return card | {random.choice(HEADERS): json_value(random)}
        case _:
            return card | {key: some_entries(random, card[key])}
