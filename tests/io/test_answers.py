"""Answers to some decisions: under our names, and under those that keys have."""

import numpy as np
import polars as pl
import pytest

import veritally as vt

VOTES = vt.stack([vt.Profile(ranks=[[1, 2], [2, 1]], alternatives=["yes", "no"])] * 3, decisions=["q1", "q2", "q3"])
EXPECTED = [[0, 1], [np.nan, np.nan], [1, 0]]


def key(decision, best, **others):
    return pl.DataFrame({decision: ["q1", "q3"], best: ["no", "yes"], **others})


def test_our_names_need_no_note():
    np.testing.assert_array_equal(vt.read_answers(key("decision", "best"), VOTES), EXPECTED)


@pytest.mark.parametrize("decision", ["question", "item", "Question ID", "id", "prompt_id", "decision"])
@pytest.mark.parametrize("best", ["answer", "Correct", "gold", "truth", "correct answer", "label", "ground_truth"])
def test_names_of_keys_are_recognised_with_a_note(decision, best):
    with pytest.warns(vt.InputNote, match=f"{best} is read as best|{best} as best"):
        found = vt.read_answers(key(decision, best, source=["book", "web"], points=[1, 2]), VOTES)
    np.testing.assert_array_equal(found, EXPECTED)


def test_truths_of_alternatives_under_other_names():
    table = pl.DataFrame({"question": ["q1"] * 2, "option": ["yes", "no"], "truth": [0.2, 0.7]})
    with pytest.warns(vt.InputNote, match="question is read as decision, option as alternative"):
        found = vt.read_answers(table, VOTES)
    np.testing.assert_array_equal(found[0], [0.2, 0.7])


@pytest.mark.parametrize(
    "table",
    [
        key("question", "answer", gold=["yes", "yes"]),  # either may be meant
        key("question", "answer", model=["A", "B"]),  # perhaps what this model answered
        key("row", "answer"),
    ],
)
@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_what_may_be_meant_otherwise_is_refused(table):
    with pytest.raises(vt.InputError, match=r"found the columns .*; answers need decision and best"):
        vt.read_answers(table, VOTES)


def test_the_error_names_the_column_as_the_file_does():
    table = key("question", "answer").with_columns(question=pl.Series(["q1", None]))
    with pytest.warns(vt.InputNote), pytest.raises(vt.InputError, match="the question is empty"):
        vt.read_answers(table, VOTES)
