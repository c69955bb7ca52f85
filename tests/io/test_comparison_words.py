"""Battles in the spellings that people use, and what is said of those that are not understood."""

import polars as pl
import pytest

import veritally as vt

FORMS = {
    "A>B": 1.0,
    "A >> B": 1.0,
    "b>a": 0.0,
    "A=B": 0.5,
    "[[A]]": 1.0,
    "[[C]]": 0.5,
    "response_b": 0.0,
    "Both are bad": 0.5,
}


@pytest.mark.parametrize("word", FORMS)
@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_words_of_judges(word):
    table = pl.DataFrame({"judge": ["u", "u"], "model_1": ["X", "Y"], "model_2": ["Y", "X"], "preferred": [word, "X"]})
    assert vt.read(table).pairs[0].tolist() == [[0, FORMS[word] + 1], [1 - FORMS[word], 0]]


def test_an_unknown_word_is_named_with_its_row():
    table = pl.DataFrame({"judge": ["u"], "model_1": ["X"], "model_2": ["Y"], "preferred": ["maybe"]})
    with (
        pytest.raises(vt.InputError, match="row 0: the preferred is 'maybe'; it can be 'X', 'Y' or tie"),
        pytest.warns(vt.InputNote),
    ):
        vt.read(table)


def test_columns_that_seem_to_be_compared_are_suggested():
    table = pl.DataFrame(
        {"q": [1, 2, 3], "llm_x": ["X", "Y", "X"], "llm_y": ["Y", "X", "Y"], "human_pick": ["X", "X", "Y"]}
    )
    with pytest.raises(vt.InputError, match="--columns left=llm_x,right=llm_y,winner=human_pick"):
        vt.read(table)


def test_rows_that_were_pasted_twice_are_pointed_out():
    columns = {"question_id": [*"abcd"], "model_a": [*"XYXY"], "model_b": [*"YXYX"], "winner": ["model_a"] * 4}
    table = pl.DataFrame(columns)
    with pytest.warns(vt.InputWarning, match="4 of 8 rows repeat another one in all columns, question_id too"):
        vt.read(pl.concat([table, table]))


def test_few_judges_with_many_comparisons_may_be_too_sure():
    profile = vt.Profile(pairs=[[[0, 40], [20, 0]]] * 2)
    with pytest.warns(vt.InputWarning, match="2 voters made about 60 comparisons each; a voter's own taste counts"):
        vt.decide(profile)
