"""Numbers with words, parts, percent and decimal commas."""

import numpy as np
import pytest

import veritally as vt

FORMS = {
    "words after a colon": (["6: weak accept", "3: reject, not good enough", "10: 2nd best of all"], [6, 3, 10]),
    "negative": (["-2: reject", "-1: weak reject", "3: accept"], [-2, -1, 3]),
    "words after a dash": (["6 - weak accept", "3 – reject", "7.5 — fine"], [6, 3, 7.5]),
    "words in brackets": (["8 (strong accept)", "1 (reject)", "5 (so-so)"], [8, 1, 5]),
    "percent": (["85 %", "85.5%", "7%"], [85, 85.5, 7]),
    "parts of one whole": (["4/5", "3 / 5", "4.5/5"], [4, 3, 4.5]),
    "parts of several": (["4/5", "7/10", "1 out of 2"], [0.8, 0.7, 0.5]),
    "decimal commas": (["1,5", "0,25", "3"], [1.5, 0.25, 3]),
}


def cells(texts):
    return [f'"{text}"' for text in texts]


def tidy(texts):
    rows = zip(("u,A", "u,B", "v,A"), cells(texts), strict=True)
    return "voter,alternative,value\n" + "".join(f"{row},{cell}\n" for row, cell in rows)


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_in_all_tables(votes, form):
    texts, numbers = FORMS[form]
    values = votes(tidy(texts)).values
    np.testing.assert_allclose(values[np.isfinite(values)], numbers)
    looks = "".join(f"u,A,{k},{cell}\n" for k, cell in enumerate(cells(texts)))
    mean = votes(f"voter,alternative,item,value\n{looks}u,B,0,{cells(texts)[0]}\n").values[0, 0]
    np.testing.assert_allclose(mean, np.mean(numbers))
    wide = votes(f"voter,A,B\nu,{cells(texts)[0]},{cells(texts)[1]}\nv,{cells(texts)[2]},\n", ballots="value")
    np.testing.assert_allclose(wide.values, [numbers[:2], [numbers[2], np.nan]])


def test_parts_of_different_wholes_in_different_columns_are_shares(votes):
    wide = votes("voter,A,B\nu,4/5,7/10\nv,3/5,9/10\n", ballots="value")
    np.testing.assert_allclose(wide.values, [[0.8, 0.7], [0.6, 0.9]])


def test_places(votes):
    for places in (("1st", "2nd"), ("1st choice", "2nd choice"), ("Rank 1", "Rank 2"), ("Choice 1", "choice 2")):
        one, two = places
        wide = votes(f"voter,A,B\nu,{one},{two}\nv,{two},{one}\n")
        assert wide.ranks.tolist() == [[1, 2], [2, 1]]
        assert votes(f"voter,alternative,rank\nu,A,{two}\nu,B,{one}\n").ranks.tolist() == [[2, 1]]
    assert votes("voter,A,B\nu,First choice,second choice\n").ranks.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (["6: weak", "3: bad", "7"], "line 4: '7' in the column value is not written like '6: weak'; write all"),
        (["85%", "85%", "4/5"], "line 4: '4/5' in the column value is not written like '85%'"),
        (["6", "3", "7: good"], "line 4: '7: good' in the column value is not a number"),
        (["1,250", "990", "3"], "line 2: '1,250' in the column value is not a number: it may be 1250 or 1.250"),
        (["1,250", "1.5", "3"], "line 2: '1,250' in the column value is not a number"),
        (["4/0", "1/0", "2/0"], "line 2: '4/0' in the column value is not a number"),
        (["10:30", "11:15", "12:00"], "line 2: '10:30' in the column value is not a number"),
        (["2020-01-01", "2020-01-02", "1"], "line 2: '2020-01-01' in the column value is not a number"),
        (["1st", "2nd", "3rd"], "line 2: '1st' in the column value is not a number"),
    ],
)
def test_a_column_has_one_form(votes, value, sentence):
    with pytest.raises(vt.InputError, match=sentence):
        votes(tidy(value))


def test_a_message_names_the_column_as_the_file_does(votes):
    with (
        pytest.warns(vt.InputNote),
        pytest.raises(vt.InputError, match="line 4: 'x' in the column Overall merit is not"),
    ):
        votes("reviewer,paper,Overall merit\nann,p1,1\nann,p2,2\nbo,p1,x\n")


def test_columns_of_a_wide_table_have_one_form(votes):
    with pytest.raises(vt.InputError, match="'85%' in the column A and '7' in the column B are written in diff"):
        votes("voter,A,B\nu,85%,7\nv,70%,8\n", ballots="value")


def test_counts_and_multiplicities_are_digits_alone(votes):
    for column in ("count", "multiplicity"):
        with pytest.raises(vt.InputError, match=f"'4/5' in the column {column} is not a number"):
            votes(f"voter,alternative,value,{column}\nu,A,1,4/5\nu,B,2,4/5\n")
