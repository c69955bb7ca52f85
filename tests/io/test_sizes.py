"""Files that are large, wide or deep: read in time that grows with them, or refused before they take memory."""

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veritally as vt
from veritally.arrays import midranks
from veritally.io import decisions, sizes
from veritally.io.frames import Place
from veritally.votes.description import describe


class Lines(Sequence):
    """Line numbers that count how often they are looked up."""

    def __init__(self, number):
        self.number, self.looked_up = number, 0

    def __len__(self):
        return self.number

    def __getitem__(self, row):
        self.looked_up += 1
        if row >= self.number:
            raise IndexError(row)
        return row


def test_lines_are_looked_up_once_however_many_decisions_there_are():
    table = pl.DataFrame({"decision": [k // 2 for k in range(200)], "voter": ["u", "v"] * 100})
    lines = Lines(table.height)
    decisions.each_decision(
        table, Place("votes.csv", "line", lines), lambda own, place: {"top": ["A", "B"], "voters": own["voter"]}
    )
    assert lines.looked_up <= 2 * table.height


def test_decisions_that_are_not_sorted_keep_their_lines(votes):
    text = "decision,voter,A,B\nd,u,-1,2\ne,u,1,2\nd,v,1,2\ne,v,2,x\n"
    with pytest.raises(vt.InputError, match="line 5: 'x' in the column B"):
        votes(text, ballots="value")
    with pytest.raises(vt.InputError, match=r"decision 'd', line 4: voter 'u' stands twice"):
        votes(text.replace("d,v", "d,u").replace("x", "1"), ballots="value")


def test_long_rows_are_ranked_alike(monkeypatch):
    x = np.random.default_rng(1).integers(0, 9, (3, 4, 20)).astype(float)
    x[x == 0] = np.nan
    x[0, 0], x[1, 1, 3] = np.nan, np.inf
    expected = midranks(x)
    monkeypatch.setattr("veritally.arrays.special._MANY", 10)
    np.testing.assert_array_equal(midranks(x), expected)


def test_too_many_columns_are_refused_in_a_sentence(votes):
    names = [f"a{j}" for j in range(sizes.MOST_COLUMNS + 1)]
    sentence = r"has 50,001 columns, and at most 50,000 are read; give a row for each voter and alternative instead"
    with pytest.raises(vt.InputError, match=sentence):
        votes(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    with pytest.raises(vt.InputError, match=sentence):
        votes("{" + ",".join(f'"{name}":1' for name in names) + "}\n", "votes.jsonl")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("votes.csv", ",".join(f"a{j}" for j in range(100)) + "\n" + "1\n" * 50),
        ("votes.jsonl", "".join(f'{{"a{j}":1}}\n' for j in range(100))),
    ],
)
def test_cells_that_nobody_wrote_take_no_memory(votes, monkeypatch, name, text):
    for module in ("sizes", "jsonl"):
        monkeypatch.setattr(f"veritally.io.{module}.MOST_CELLS", 5000 - 1)
    with pytest.raises(vt.InputError, match=r"rows of 100 columns, and at most 4,999 cells are read at once"):
        votes(text, name)


def test_rows_of_a_parquet_file_are_counted_before_they_are_read(tmp_path, monkeypatch):
    path = tmp_path / "votes.parquet"
    pl.DataFrame({"voter": ["v"] * 3000, "alternative": ["a"] * 3000}).write_parquet(path)
    monkeypatch.setattr("veritally.io.sizes.MOST_CELLS", 5999)
    monkeypatch.setattr(pl, "read_parquet", lambda source: pytest.fail("the rows were read"))
    with pytest.raises(vt.InputError, match=r"has 3,000 rows of 2 columns, and at most 5,999 cells are read at once"):
        vt.read(path)


def test_room_for_pairs_is_that_of_all_their_cells(votes, monkeypatch):
    large = "".join(f"d,A{j},A{j + 1},left\n" for j in range(30))
    small = "".join(f"e{k},A,B,left\n" for k in range(20))
    monkeypatch.setattr("veritally.io.frames._MOST_PADDING", 10_000)
    assert votes(f"decision,left,right,winner\n{large}").shape == (1, 1, 31)
    with pytest.raises(vt.InputError, match="would fill a table of 21 × 1 × 31 × 31 cells; write the answers"):
        votes(f"decision,left,right,winner\n{large}{small}")


@pytest.mark.parametrize("deep", ['{"a":' * 900 + "1" + "}" * 900, '{"a":' + "[" * 900 + "]" * 900 + "}"])
def test_deep_nesting_is_refused_in_a_sentence(tmp_path, deep):
    path = tmp_path / "votes.jsonl"
    path.write_text('{"voter": "u"}\n' + deep)
    command = [sys.executable, "-m", "veritally", "check", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith(f"Error: {path}, row 2: is nested more than 32 deep; ")


@pytest.mark.parametrize("within", [pa.list_, lambda inner: pa.struct([("a", inner)])])
def test_deep_columns_are_refused_in_a_sentence(tmp_path, within):
    dtype = pa.int64()
    for _ in range(100):
        dtype = within(dtype)
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({"voter": pa.array([None], dtype)}), path)
    with pytest.raises(vt.InputError, match="is nested more than 32 deep; give columns of names and numbers"):
        vt.read(path)


def test_brackets_in_names_are_no_nesting(votes):
    name = "[{" * 50 + r"\"" + "[" * 50
    rows = (f'{{"voter":"u","alternative":"{other}","value":{k}}}' for k, other in enumerate((name, "B")))
    assert votes("\n".join(rows), "votes.jsonl").alternatives == (name.replace("\\", ""), "B")


LONG = "x" * 5000
QUOTING = {
    "a cell": ("voter,alternative,value\nu,A,%s\n", {}),
    "a voter": ("voter,alternative,value\n%s,A,1\n%s,A,2\n", {}),
    "an alternative": ("voter,alternative,value,count\nu,%s,1,0\n", {}),
    "a column": ("voter,alternative,%s\nu,A,1\n", {}),
    "a column twice": ("voter,%s,%s\nu,A,1\n", {}),
    "a decision": ("decision,voter,alternative,value\n%s,u,A,1\n", {}),
    "a wide column": ("voter,%s,B\nu,1,x\nv,1,2\nw,1,2\n%s,1,2\n%s,1,2\n", {"ballots": "value"}),
    "an outcome": ("left,right,winner\nA,B,%s\n", {}),
    "an order": ("order\n%s > > B\n", {}),
    "an order that lists it twice": ("order\n%s > %s\n", {}),
}


@pytest.mark.parametrize("what", QUOTING)
def test_messages_quote_a_short_part_of_a_cell(votes, what):
    text, options = QUOTING[what]
    with pytest.raises(vt.InputError) as caught:
        votes(text.replace("%s", LONG), **options)
    message = str(caught.value).split("votes.csv", 1)[1]
    assert len(message) < 500
    assert "x" * 81 not in message


def test_warnings_and_oddities_quote_a_short_part_of_a_name(votes):
    with pytest.warns(vt.InputWarning) as caught:
        profile = votes(f"voter,alternative,value,{LONG}\nu,A,1,1\nu,B,2,1\n{LONG},A,,1\n{LONG},B,,1\n")
    texts = [str(one.message) for one in caught]
    assert len(texts) == 2
    for text in (*texts, *describe(profile).oddities):
        assert "xxx" not in text or "…" in text
        assert "x" * 81 not in text


def test_a_number_of_thousands_of_digits_is_refused_in_a_sentence():
    with pytest.raises(vt.InputError, match="voters must be a whole number, 1 or more, not a long int"):
        vt.Scenario(voters=-(10**5000))
