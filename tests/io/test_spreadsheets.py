"""CSV that a spreadsheet can open: names are no formulas there, and the same names when they are read back."""

import csv
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from veritally.io.truth import read_truth, write_truth

MARKS = "=+-@＝＋－＠\t\r"
LOST = ("", "A ", " A", "\tA", "A\t", "\r=A", "A\rB", "A\0")
NAMES = st.one_of(st.text(), st.text(alphabet="'=+-@＝＠\t\n \"A1", max_size=4)).filter(
    lambda name: name and name == unicodedata.normalize("NFC", name).strip() and "\r" not in name and "\0" not in name
)
SUFFIXES = {".csv": ",", ".tsv": "\t"}


def cells(path):
    """What a spreadsheet finds."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=SUFFIXES[path.suffix]))


@given(names=st.lists(NAMES, min_size=2, max_size=4, unique=True), suffix=st.sampled_from(list(SUFFIXES)))
def test_names_are_no_formulas_and_come_back(names, suffix):
    profile = vt.Profile(values=[[-1.5 - j for j in range(len(names))]], alternatives=names, voters=[names[0]])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"votes{suffix}"
        vt.write(profile, path)
        back = vt.read(path)
        header, *rows = cells(path)
    assert list(back.alternatives) == names
    assert list(back.voters) == names[:1]
    assert (back.values == profile.values).all()
    assert not [row for row in rows if row[0].startswith(tuple(MARKS)) or row[1].startswith(tuple(MARKS))]
    assert [row[header.index("value")] for row in rows] == [str(-1.5 - j) for j in range(len(names))]


@pytest.mark.parametrize("name", LOST)
def test_names_that_would_not_come_back_are_refused(tmp_path, name):
    with pytest.raises(vt.InputError, match=r"has what CSV loses|has outer spaces, which files lose"):
        vt.write(vt.Profile(ranks=[[1, 2]], alternatives=[name, "B"]), tmp_path / "votes.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_of_columns_are_no_formulas_either(tmp_path, suffix):
    names = ["=cmd()", "+1", "-1", "@x", "'=", "'plain"]
    path = tmp_path / f"votes{suffix}"
    profile = vt.Profile(values=[[-1.0] * len(names)], alternatives=names, voters=["=v"])
    vt.write(profile, path, form="wide")
    header, row = cells(path)
    assert not [cell for cell in (*header, row[0]) if cell.startswith(tuple(MARKS))]
    assert row[1] == "-1.0"
    back = vt.read(path, ballots="value")
    assert (list(back.alternatives), list(back.voters)) == (names, ["=v"])


def test_truth_and_batches_too(tmp_path):
    profile = vt.Profile(ranks=[[[1, 2]]], alternatives=["=A", "B"], voters=["-v"], decisions=["+d"])
    vt.write(profile, tmp_path / "votes.csv")
    assert pl.read_csv(tmp_path / "votes.csv")["decision"].to_list() == ["'+d", "'+d"]
    assert vt.read(tmp_path / "votes.csv").decision_names == ("+d",)
    write_truth(np.array([[-1.0, 2.0]]), profile, tmp_path / "truth.csv")
    assert "'+d,'=A,-1.0" in (tmp_path / "truth.csv").read_text()
    assert read_truth(tmp_path / "truth.csv", profile).tolist() == [[-1.0, 2.0]]


def test_other_formats_have_names_as_they_are(tmp_path):
    profile = vt.Profile(ranks=[[1, 2]], alternatives=["=A", "'=B"], voters=["@v"])
    for suffix in ("parquet", "jsonl"):
        vt.write(profile, tmp_path / f"votes.{suffix}")
        assert list(vt.read(tmp_path / f"votes.{suffix}").alternatives) == ["=A", "'=B"]
