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


SIDES = [("qwen-w", "gpt-x"), ("gpt-x", "claude-y"), ("claude-y", "qwen-w"), ("qwen-w", "gpt-x")]


def battles(outcome, words, sides=("model_a", "model_b"), **others):
    """Return judged battles, in which the first won, the second won, and then nobody, twice."""
    rows = [dict(zip(sides, pair, strict=True)) | {outcome: words(*pair)[min(k, 2)]} for k, pair in enumerate(SIDES)]
    return pl.DataFrame([{"question": k // 2, "judge": f"judge-{'ab'[k % 2]}", **row} for k, row in enumerate(rows)])


SAID = {
    "letters": lambda a, b: ("A", "B", "tie"),
    "brackets": lambda a, b: ("[[A]]", "[[B]]", "[[C]]"),
    "names": lambda a, b: (a, b, "tie"),
}


@pytest.mark.parametrize("outcome", ["verdict", "answer", "winner", "preference", "choice", "judgment", "vote"])
@pytest.mark.parametrize("words", SAID)
@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_a_verdict_on_two_models_compares_them(outcome, words):
    table = battles(outcome, SAID[words])
    for columns in (None, {"winner": outcome}, {"left": "model_a", "voter": "judge"}):
        profile = vt.read(table, columns=columns)
        assert profile.voters == ("judge-a", "judge-b")
        assert profile.alternatives == ("qwen-w", "gpt-x", "claude-y")
        assert profile.pairs.tolist() == [
            [[0, 1, 0.5], [0, 0, 0], [0.5, 0, 0]],
            [[0, 0.5, 0], [0.5, 0, 0], [0, 1, 0]],
        ]
    assert vt.read(table.drop("question")).pairs.tolist() == profile.pairs.tolist()


def test_sides_of_unknown_names_are_no_reason_to_choose_among_letters():
    for outcome in ("verdict", "choice"):
        table = battles(outcome, SAID["letters"], sides=("llm_x", "llm_y"))
        with pytest.raises(vt.InputError, match=f"--columns left=llm_x,right=llm_y,winner={outcome}$"):
            vt.read(table)


def test_the_outcome_that_is_suggested_is_not_the_judge():
    table = battles("pick", SAID["letters"]).drop("question")
    with pytest.raises(vt.InputError, match=r"--columns left=model_a,right=model_b,winner=pick$"):
        vt.read(table)
    table = battles("pick", lambda a, b: ("yes", "no", "no")).drop("question")
    with pytest.raises(vt.InputError, match=r"columns judge, model_a, model_b, pick; .*,winner=pick$"):
        vt.read(table, columns={"voter": "judge"})
    with pytest.raises(vt.InputError, match=r"--columns left=model_a,right=model_b,winner=judgment$"):
        vt.read(table.rename({"pick": "judgment"}).with_columns(question=pl.lit("q")))


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_the_options_of_a_question_are_chosen_from():
    options = {"option_a": ["Paris", "Paris", "1", "1"], "option_b": ["Rome", "Rome", "2", "2"]}
    table = pl.DataFrame({"judge": [*"uvuv"], "question": [*"qqrr"], **options, "answer": [*"ABAA"]})
    assert vt.read(table).decision(0).alternatives == ("A", "B")


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_a_label_of_the_question_is_no_outcome():
    table = battles("verdict", SAID["letters"]).rename({"judge": "annotator"})
    table = table.with_columns(label=pl.Series(["maths", "maths", "prose", "prose"]))
    assert vt.read(table).alternatives == ("qwen-w", "gpt-x", "claude-y")
