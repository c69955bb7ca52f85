"""Files that would be accepted in silence though something else is meant, and good ones that must not be suspected."""

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import veritally as vt
from support import random_profile
from veritally import datasets

EXAMPLES = Path(__file__).parents[2] / "examples"
RANKS = "voter,alternative,rank\n"
VALUES = "voter,alternative,value\n"
BOTH = "voter,alternative,rank,value\n"


def tidy(header, ballots):
    """A file from ballots such as u: 1 2 3, on A, B, C, …; a dash stands for no row, a dot for a blank."""
    rows = []
    for ballot in ballots.split("; "):
        voter, numbers = ballot.split(": ")
        for j, cell in enumerate(numbers.split()):
            fields = ["" if field == "." else field for field in cell.split("/")]
            rows += [",".join([voter, chr(65 + j), *fields])] if cell != "-" else []
    return header + "\n".join(rows) + "\n"


def remarks(votes, text, name="votes.csv", **options):
    """What reading a file warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        votes(text, name, **options)
    assert all("\n" not in str(warning.message) for warning in caught)
    return [str(warning.message).split("/")[-1] for warning in caught]


SUSPECTED = {
    "0-based": ("u: 0 1 2; v: 2 1 0", "2 voters, such as voter 'u', rank from 0 on, which is read as not ranked"),
    "0-based, one without 0": ("u: 0 1 2; v: 2 1 0; w: - 1 2", "2 voters, such as voter 'u', rank from 0 on"),
    "0-based, one with two": ("u: 0 0 1; v: 2 1 0; w: 1 0 2", "2 voters, such as voter 'v', rank from 0 on"),
    "scores": (
        "u: 92.5 80 71; v: 90 85 60",
        "votes.csv, line 4: the best rank of this voter is 71, but ranks start at 1",
    ),
    "scores with decimals": (
        "u: 1 2 3; v: 9.2 8.1 7",
        "votes.csv, line 5: 9.2 is no rank such as 1, 2, 3, or 2.5 for a",
    ),
    "one gives scores": ("u: 1 2 3; v: 8 9 7", "votes.csv, line 7: the best rank of this voter is 7"),
    "points of five": (
        "u: 5 4 4 3 5; v: 4 4 5 2 3; w: 3 3 2 5 4",
        "votes.csv, line 5: the best rank of this voter is 3",
    ),
}


@pytest.mark.parametrize("case", SUSPECTED)
def test_ranks_that_may_be_none(votes, case):
    ballots, message = SUSPECTED[case]
    (remark,) = remarks(votes, tidy(RANKS, ballots))
    assert remark.startswith(message)
    assert "call the column value" in remark or "add 1 if ranks start at 0" in remark


RANKINGS = {
    "favourites": "u: 1 . .; v: . 1 .; w: . . 1",
    "favourites and zeros": "u: 1 0 0; v: 0 1 0; w: 0 0 1",
    "two of three": "u: 1 2 .; v: 2 1 .; w: . 1 2",
    "midranks": "u: 1 2.5 2.5; v: 1.5 1.5 3; w: 2 2 2",
    "competition": "u: 1 2 2 4; v: 1 1 3 3; w: 4 1 1 1",
    "last of equals": "u: 2 2 3; v: 3 3 3; w: 1 3 3",
    "dense": "u: 1 1 2; v: 1 2 2; w: 1 1 1",
    "gaps": "u: 1 5 5; v: 10 1 20",
    "not all seen": "u: 1 2 -; v: - 1 2; w: 1 - -",
    "one left out a best": "u: 1 2 3; v: 2 3 -; w: 1 2 3",
    "a 0 is not ranked": "u: 0 1 2; v: 1 2 3; w: 3 1 2",
}


@pytest.mark.parametrize("case", RANKINGS)
def test_rankings_of_all_sorts_are_not_suspected(votes, case):
    assert remarks(votes, tidy(RANKS, RANKINGS[case])) == []


def test_scores_in_a_wide_table_of_ranks(votes):
    (remark,) = remarks(votes, "voter,A,B\nu,1,2\nv,81,92\n", ballots="rank")
    assert remark.startswith("votes.csv, line 3: the best rank of this voter is 81")
    assert "say --ballots value" in remark
    assert remarks(votes, "voter,A,B\nu,1,2\nv,81,92\n", ballots="value") == []


@pytest.mark.parametrize(
    "ballots", ["u: 1 2 3", "u: 1 2; v: 2 1", "u: 1 2 3; v: 3 1 2; w: 1 1 3", "u: 3 2 1; v: 1 - 2; w: - 1 -"]
)
def test_ranks_among_values(votes, ballots):
    text = tidy(VALUES, ballots)
    (remark,) = remarks(votes, text)
    assert remark.startswith("votes.csv, line 2: the values of each voter are 1, 2, 3, … like ranks")
    assert remark.endswith("call the column rank or say --lower-is-better, else say --ballots value")
    assert remarks(votes, text, ballots="value") == []
    assert remarks(votes, text, lower_is_better=True) == []
    assert remarks(votes, text.replace("value", "rank")) == []


@pytest.mark.parametrize(
    "ballots",
    [
        "u: 1 2",
        "u: 1 0; v: 0 1",
        "u: 1 2 4; v: 2 1 3",
        "u: 5 4 3; v: 1 2 3",
        "u: 1 2 2; v: 2 3 1; w: 1 1 2",
        "u: 0.5 1 2",
    ],
)
def test_values_that_are_no_ranks_are_not_suspected(votes, ballots):
    assert remarks(votes, tidy(VALUES, ballots)) == []


CONTRADICTIONS = {
    "one voter": (
        "u: 1/9 2/5; v: 1/3 2/8",
        {},
        "votes.csv, line 5: the value is larger, so better, than one this voter",
    ),
    "lower is better": ("u: 1/2 2/3; v: 1/8 2/5", {"lower_is_better": True}, "votes.csv, line 5: the value is smaller"),
    "all the other way": ("u: 1/3 2/5 3/7; v: 2/4 1/2", {}, "votes.csv, line 3: the value is larger"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_ranks_and_values_that_contradict_each_other(votes, case):
    ballots, options, message = CONTRADICTIONS[case]
    (remark,) = remarks(votes, tidy(BOTH, ballots), **options)
    assert remark.startswith(message)
    assert ("say --lower-is-better" in remark) == (case == "all the other way")
    assert remarks(votes, tidy(BOTH, ballots), ballots="rank") == []
    assert remarks(votes, tidy(BOTH, ballots), ballots="value") == []


@pytest.mark.parametrize(
    "ballots",
    ["u: 1/9 1/5 2/5", "u: 1/9 2/9 3/7", "u: 1/9 ./11 0/12", "u: 1/9 2/.", "u: 3/1 2/5 1/9", "u: 1/9 3/5 2/6"],
)
def test_ranks_and_values_that_agree(votes, ballots):
    assert remarks(votes, tidy(BOTH, ballots)) == []


def test_zeros_are_noticed_where_others_give_values(votes):
    text = tidy(BOTH, "t: ./9 ./7 ./8; u: 0/. 1/. 2/.; v: 1/. 0/. 2/.")
    (remark,) = remarks(votes, text)
    assert remark.startswith("2 voters, such as voter 'u', rank from 0 on")


# Columns of wide tables

COLUMNS = {
    "years": ("voter,A,B,years\nu,3,4,20\nv,5,2,7\n", "the column years is taken for an alternative"),
    "two": ("id,A,B,Total score,C\n1,3,4,9,2\n2,5,2,8,1\n", "the columns id, Total score are taken for alternatives"),
    "sum": ("A,B,C,S\n" + "1,2,3,6\n2,2,2,6\n5,1,4,10\n0,1,0,1\n", "the column S is taken for an alternative"),
    "mean": ("A,B,C,M\n" + "1,2,3,2\n2,2,5,3\n5,1,3,3\n0,1,0.5,0.5\n", "the column M is taken for an alternative"),
    "numbering": ("Q,A,B\n" + "".join(f"{i},3,{4 + i % 2}\n" for i in range(1, 9)), "the column Q is taken"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_that_may_be_no_alternatives(votes, case):
    text, message = COLUMNS[case]
    (remark,) = remarks(votes, text, ballots="value")
    assert remark.startswith(f"votes.csv: {message}")
    assert remark.endswith("leave it out if it is none, or call it voter if it names the voters")


@pytest.mark.parametrize(
    "text",
    [
        "mean,median,mode\n3,4,5\n4,2,3\n",
        "voter,Yes,No\nu,3,4\nv,5,2\n",
        "A,B,C,D\n" + "1,2,3,4\n2,3,4,1\n3,4,1,2\n4,1,2,3\n",  # a cycle: A counts up
        "A,B\n1,2\n2,3\n3,4\n4,5\n",
        "Total War,Judge 1,Dune\n1,2,3\n4,5,9\n",
        "A,B,C,D\n0,0,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0\n",
        "A,B\n1e308,1.7e308\n1e308,-1.7e308\n1,2\n1,2\n",
    ],
)
def test_columns_that_are_alternatives_are_not_suspected(votes, text):
    assert remarks(votes, text, ballots="value") == []


# Good files


@pytest.mark.parametrize(
    "path", sorted(set(EXAMPLES.glob("*.csv")) - {EXAMPLES / "judge_answers.csv"}), ids=lambda path: path.name
)
def test_the_examples_are_not_suspected(path):
    assert vt.read(path).alternatives


@pytest.mark.parametrize("name", datasets.names())
def test_the_data_sets_are_not_suspected(name, tmp_path):
    votes = datasets.load(name).table("votes")
    for suffix in ("csv", "jsonl"):
        getattr(votes, {"csv": "write_csv", "jsonl": "write_ndjson"}[suffix])(tmp_path / f"votes.{suffix}")
        assert vt.read(tmp_path / f"votes.{suffix}").kind == "values"


@pytest.mark.parametrize("kind", ["values", "rankings", "top"])
@pytest.mark.parametrize("form", ["tidy", "wide"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_what_we_write_ourselves_is_not_suspected(kind, form, suffix, tmp_path):
    ballots = {"values": "value", "rankings": "rank", "top": "top"}[kind]
    for seed in range(5):
        profile = random_profile(seed, voters=1 + 4 * seed, alternatives=2 + seed, kind=kind, zeros=True)
        vt.write(profile, tmp_path / f"votes.{suffix}", form=form)
        assert vt.read(tmp_path / f"votes.{suffix}", ballots=ballots).kind == kind
        if form == "tidy" and kind != "top":
            assert vt.read(tmp_path / f"votes.{suffix}").kind == kind


def test_a_large_batch_is_looked_at_as_a_whole():
    profile = random_profile(1, voters=3, alternatives=4, batch=(50,)).renamed("d", "v", "a")
    table = vt.to_frame(profile)
    last = pl.Series("rank", [*table["rank"][:-1], 7.3])
    with pytest.warns(vt.InputWarning, match=r"the frame, row 599: 7\.3 is no rank"):
        read = vt.read(table.with_columns(last))
    np.testing.assert_array_equal(read.counts, profile.counts)


def test_points_that_part_thousands_beside_decimal_commas_are_refused(votes):
    head = "voter;alternative;value;count\n"
    with pytest.raises(vt.InputError, match=r"line 2: '1\.250' in the column count may be 1250, since commas are"):
        votes(head + "u;A;3,5;1.250\nu;B;3,1;2.000\nv;A;3,2;300\nv;B;3,9;500\n")
    assert votes(head + "u;A;3,5;1.25\nu;B;3,1;2.5\n").counts.tolist() == [[1.25, 2.5]]


def test_ranks_from_zero_on_in_one_decision_of_many(votes):
    rows = ["d1,u,A,1", "d1,u,B,2", "d1,u,C,3", "d1,v,A,2", "d1,v,B,1", "d1,v,C,3", "d1,w,A,1", "d1,w,B,2", "d1,w,C,3"]
    rows += ["d2,u,A,0", "d2,u,B,1", "d2,u,C,2", "d2,v,A,1", "d2,v,B,0", "d2,v,C,2"]
    with pytest.warns(vt.InputWarning, match=r"2 voters, such as decision 'd2', voter 'u', rank from 0 on"):
        votes("decision,voter,alternative,rank\n" + "\n".join(rows) + "\n")


def test_a_value_far_from_all_others_is_pointed_out(tmp_path):
    rows = [f"v{i},{name},{(i + j) % 5 + 1}" for i in range(7) for j, name in enumerate("ABC")]
    path = tmp_path / "votes.csv"
    path.write_text("voter,alternative,value\n" + "\n".join(rows) + "\n")
    vt.read(path)
    path.write_text(path.read_text().replace("v3,B,5", "v3,B,55"))
    with pytest.warns(vt.InputWarning, match="line 12: 55 is far from all other values, 1 to 5; correct it"):
        vt.read(path)


def test_a_voter_on_another_scale_is_pointed_out(tmp_path):
    rows = [f"{voter},{name},{(i + j) % 9 + 1}" for i, voter in enumerate("uvw") for j, name in enumerate("ABCDE")]
    path = tmp_path / "votes.csv"
    path.write_text("voter,alternative,value\n" + "\n".join(rows) + "\n")
    vt.read(path)
    path.write_text("voter,alternative,value\n" + "\n".join(row + "0" * (row[0] == "v") for row in rows) + "\n")
    with pytest.warns(vt.InputWarning, match="all values of this voter are 20 to 60, those of all others 1 to 7"):
        vt.read(path)
