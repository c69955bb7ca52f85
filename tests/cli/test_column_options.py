"""Columns of other names on the command line."""

import json

import pytest
from click.testing import CliRunner

from veritally.cli import cli

TEXT = "who,what it is,score,grade\nann,p1,6,1\nann,p2,3,2\nbo,p1,8,3\nbo,p2,9,1\n"
OPTIONS = [
    ["--columns", "voter=who,alternative=what it is,value=score"],
    ["--columns", "voter=who", "--columns", "alternative=what it is, value = score"],
]


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text(TEXT)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


@pytest.mark.parametrize("options", OPTIONS)
def test_columns_are_given(reviews, options):
    decided = run("decide", reviews, "--rule", "mean", "--json", *options)
    assert json.loads(decided.stdout)["scores"] == {"p1": 7.0, "p2": 6.0}
    assert decided.stderr == ""
    assert "Voters:        2" in run("check", reviews, *options).output
    truth = reviews.parent / "truth.csv"
    truth.write_text("alternative,truth\np1,2\np2,1\n")
    compared = run("compare", "--votes", reviews, "--truth", truth, "--rules", "mean", "--json", *options)
    assert json.loads(compared.stdout)["regret"] == 0


def test_what_was_recognised_is_a_note(reviews):
    reviews.write_text(TEXT.replace("who,what it is", "reviewer,paper").replace("grade", "soundness"))
    said = "reviewer is read as voter, paper as alternative, score as value"
    decided = run("decide", reviews, "--rule", "mean", "--json")
    assert decided.stderr == f"Note: {reviews}: {said}\n"
    assert json.loads(decided.stdout)["warnings"] == []
    checked = run("check", reviews)
    assert f"Note:          {reviews}: {said}" in checked.output
    assert not [line for line in checked.output.splitlines() if line.startswith("Odd:") and said in line]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("who", "--columns takes our name = yours, such as voter=reviewer,alternative=paper,value=rating, not 'who'"),
        ("voter=who,voter=score", "--columns has 'voter' twice; give one column for it"),
        ("person=who", "columns has 'person', which is not one of our names (decision, voter"),
        ("voter=nobody", "has no column 'nobody' for voter; its columns are who, what it is, score, grade"),
        ("voter=who,value=who", "columns gives who for voter and for value; give each column for one of them"),
        ("voter=who,alternative=what it is", "score and grade may both be the value; say which: --columns value=score"),
    ],
)
def test_bad_columns(reviews, columns, sentence):
    result = run("decide", reviews, "--columns", columns)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_columns_are_about_a_file(reviews):
    assert "--columns, --counts, --unranked, --confidence and" in run("compare", "--columns", "voter=who").stderr
