"""Files that could be taken for something else: each is read as a careful person would, or refused."""

import json

import numpy as np
import polars as pl
import pytest

import veritally as vt

pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputNote")


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="votes.csv", **options):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else "\n".join(map(json.dumps, text)))
        return vt.read(path, **options)

    return write_and_read


def test_criteria_are_no_alternatives(read):
    rows = [{"judge": "j", "item": "q", "model": m, "scores": {"helpful": 7, "accurate": 5}} for m in ("A", "B")]
    with pytest.raises(vt.InputError, match="scores has helpful, accurate for each model; give one number"):
        read(rows, "log.jsonl")


def test_the_order_shown_is_no_ranking(read):
    row = {"judge": "j", "item": "q", "order": ["B", "A", "C"], "candidates": ["A", "B", "C"], "winner": "A"}
    assert vt.decide(read([row, row | {"judge": "k"}], "log.jsonl"), "plurality").winner == "A"


def test_not_a_number_is_a_blank(read):
    frame = pl.DataFrame({"reviewer": [*"uuvv"], "paper": [*"ABAB"], "rating": [7.0, np.nan, 4, 6]})
    np.testing.assert_array_equal(vt.read(frame).counts, [[1, 0], [1, 1]])
    text = "reviewer,paper,rating\nu,A,7\nu,B,NaN\nv,A,4\nv,B,6\n"
    np.testing.assert_array_equal(read(text).counts, [[1, 0], [1, 1]])


def test_the_text_of_a_review_is_no_voter(read):
    text = "paper,reviewer,review,rating\nA,ann,I like it,7\nB,ann,Not so good,3\nA,bo,Great,8\nB,bo,fine,4\n"
    assert read(text).voters == ("ann", "bo")


def test_reviewers_with_numbers_are_the_same_for_all_papers(read):
    text = "paper,reviewer,rating\nA,Reviewer_0001,7\nB,Reviewer_0001,3\nA,Reviewer_0002,6\nB,Reviewer_0002,5\n"
    assert read(text).voters == ("Reviewer_0001", "Reviewer_0002")


def test_recommendations_are_no_decisions(read):
    text = "reviewer,paper,rating,decision\nann,A,7,accept\nann,B,3,reject\nbo,A,4,reject\nbo,B,6,accept\n"
    assert read(text).batch == ()


def test_a_number_called_order_is_no_order(read):
    text = "reviewer,paper,rating,order\nann,A,7,1\nann,B,3,2\nbo,A,4,1\nbo,B,6,2\n"
    assert read(text).alternatives == ("A", "B")


def test_keys_that_are_there_twice_are_refused(read):
    with pytest.raises(vt.InputError, match="an object has the key 'value' twice"):
        read('[{"voter": "u", "alternative": "A", "value": 1, "value": 9}]', "votes.json")


@pytest.mark.parametrize("stamps", [("2024-01-05 9:30", "2024-01-05 10:30"), ("10:30 AM", "09:30 PM")])
def test_times_that_are_no_order_as_text_decide_nothing(read, stamps):
    rows = f"u,A,7,{stamps[0]}\nu,A,2,{stamps[1]}\nu,B,3,{stamps[0]}\n"
    with pytest.raises(vt.InputError, match="appear twice"):
        read(f"reviewer,paper,rating,timestamp\n{rows}")


def test_a_blank_in_the_last_version_brings_back_no_earlier_one(read):
    text = "reviewer,paper,rating,version\nu,A,7,1\nu,A,,2\nu,B,3,1\nv,A,5,1\nv,B,4,1\n"
    np.testing.assert_array_equal(read(text).select(alternatives=["A", "B"]).counts, [[0, 1], [1, 1]])


@pytest.mark.parametrize("winner", ["A", "A>B"])
def test_a_winner_that_is_neither_is_refused(read, winner):
    text = f"judge,left,right,winner\nu,B,C,{winner}\nu,A,B,A\n"
    with pytest.raises(vt.InputError, match="line 2: the winner is"):
        read(text)


def test_a_column_that_says_nothing_gives_way(read):
    text = "reviewer,paper,final score,score\nu,A,0,7\nu,B,0,3\nv,A,0,6\nv,B,0,5\n"
    np.testing.assert_array_equal(read(text).values, [[7, 3], [6, 5]])
