"""Confidence in place of counts."""

import numpy as np
import pytest

import veritally as vt
from veritally.io.confidence import DEFAULT

NUMBERS = "voter,alternative,value,confidence\nu,A,1.5,1\nu,B,2.5,4\nv,A,3,5\nv,B,1,2\nw,A,1,3\nw,B,,\n"
WORDS = "voter,alternative,rank,Confidence\nu,A,1,low\nu,B,2,High\nv,A,1,high\nv,B,2,low\n"
LEVELS = {"low": 1, "High": 3}


def test_the_default_is_that_of_the_correlations():
    r = np.array([0.20, 0.30, 0.41, 0.50, 0.51])
    worth = r**2 / (1 - r**2)
    np.testing.assert_allclose(list(DEFAULT.values()), worth / worth[0], atol=0.06)


def test_levels_from_1_to_5_have_a_default_that_is_said(votes):
    with pytest.warns(vt.InputNote, match=r"1, 2\.4, 4\.9, 8, 8\.4 \(a default.*ICLR 2018.*--confidence"):
        profile = votes(NUMBERS)
    np.testing.assert_array_equal(profile.counts, [[1, 8], [8.4, 2.4], [4.9, 0]])


@pytest.mark.parametrize("keys", [int, float, str])
def test_a_map_says_what_levels_are_worth(votes, keys):
    levels = {keys(level): 10 * level for level in range(1, 6)}
    np.testing.assert_array_equal(votes(NUMBERS, confidence=levels).counts, [[10, 40], [50, 20], [30, 0]])


def test_words(votes):
    np.testing.assert_array_equal(votes(WORDS, confidence=LEVELS).counts, [[1, 3], [3, 1]])


def test_in_tables_with_a_row_for_each_voter_it_is_of_the_voter(votes):
    wide = votes("voter,A,B,confidence\nu,1.5,2,low\nv,3,,high\n", ballots="value", confidence=LEVELS)
    np.testing.assert_array_equal(wide.counts, [[1, 1], [3, 0]])
    orders = votes("voter,order,confidence\nu,A > B,low\nv,C > A,high\n", confidence=LEVELS, unranked="below")
    np.testing.assert_array_equal(orders.counts, [[1, 1, 1], [3, 3, 3]])


def test_comparisons_have_no_use_for_it(votes):
    text = "worker,left,right,winner,confidence\nu,A,B,A,3\n"
    assert votes(text).counts.tolist() == [[1, 1]]
    with pytest.raises(vt.InputError, match="confidence is not for comparisons"):
        votes(text, confidence=LEVELS)


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("voter,alternative,rank,confidence,count\nu,A,1,1,1\n", {}, "has a column count and a column confidence"),
        ("voter,A,B,A_count,B_count,confidence\nu,1,2,3,4,1\n", {"confidence": {1: 2}}, "has counts and a column conf"),
        ("voter,order,confidence\nu,A (1) > B (2),1\n", {"confidence": {1: 2}}, "has counts in the orders and"),
        (WORDS, {}, "line 2: the confidence 'low' is not a whole number from 1 to 5; say what each level is worth"),
        (NUMBERS.replace("B,1,2", "B,1,2.5"), {}, r"line 5: the confidence '2\.5' is not a whole number"),
        (NUMBERS.replace("B,1,2", "B,1,0"), {}, "line 5: the confidence '0' is not a whole number"),
        (
            WORDS,
            {"confidence": {"low": 1}},
            "line 3: the confidence 'High' is not among the levels that are given, low",
        ),
        ("voter,A,B,confidence\nu,1,2,\n", {"confidence": {1: 2}}, "line 2: the confidence is empty, as in all rows"),
        ("voter,alternative,rank\nu,A,1\nu,B,2\n", {"confidence": {1: 2}}, "there is no column confidence"),
    ],
)
def test_bad_confidence(votes, text, options, sentence):
    with pytest.raises(vt.InputError, match=sentence):
        votes(text, ballots="rank" if "voter,A,B" in text else None, **options)


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ({}, "confidence needs a dictionary"),
        ([1, 2], "confidence needs a dictionary"),
        ({"low": 0}, "the count for the confidence 'low' must be above 0, not 0"),
        ({"low": float("inf")}, "the count for the confidence 'low'"),
        ({"low": "many"}, "the count for the confidence 'low'"),
        ({"1": 1, 1.0: 2}, r"confidence has the level 1\.0 twice"),
    ],
)
def test_bad_maps(votes, levels, sentence):
    with pytest.raises(vt.InputError, match=sentence):
        votes(NUMBERS, confidence=levels)


def test_an_empty_level_is_worth_the_median_of_the_others(votes):
    levels = {level: 10.0 * level for level in range(1, 6)}
    with pytest.warns(vt.InputNote, match="line 5: the confidence is empty and counts as the median of the others, 35"):
        profile = votes(NUMBERS.replace("B,1,2", "B,1,"), confidence=levels)
    np.testing.assert_array_equal(profile.counts, [[10, 40], [50, 35], [30, 0]])
