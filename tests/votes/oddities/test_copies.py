"""Copies: found where nothing else explains them, and never among those who merely know the truth."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from veritally.votes.oddities.copies import copies
from veritally.votes.oddities.finding import odd_voters
from veritally.votes.oddities.nearness import _log_means
from veritally.votes.oddities.table import BallotTable


def found(profile):
    return [set(oddity.voters) for oddity in odd_voters(profile) if oddity.what == "copies"]


def drawn(decisions, voters, alternatives, sigma, seed=0, counts=25.0):
    random = np.random.default_rng(seed)
    truth = random.standard_normal((decisions, 1, alternatives))
    return truth + sigma / np.sqrt(counts) * random.standard_normal((decisions, voters, alternatives))


def ranked(values, **given):
    return vt.Profile(values=values, **given).as_rankings()


@pytest.mark.parametrize("seed", range(5))
def test_two_copies_among_ten(seed):
    values = drawn(1, 10, 10, 20.0, seed)[0]
    values[7] = values[2]
    assert found(ranked(values)) == [{2, 7}]


@pytest.mark.parametrize("seed", range(5))
def test_ten_renamed_copies_among_twelve(seed):
    values = drawn(1, 12, 10, 5.0, seed)[0]
    values[2:] = values[2]
    (group,) = found(ranked(values))
    assert group == set(range(2, 12))


def test_near_copies_are_said_to_be_near():
    values = drawn(1, 10, 12, 30.0)[0]
    order = np.argsort(values[0])
    values[1] = values[0]
    values[1, order[3]], values[1, order[4]] = values[0, order[4]], values[0, order[3]]
    assert [
        own for own in (oddity.sentence for oddity in odd_voters(ranked(values))) if "nearly the same ballot" in own
    ]


def test_those_who_know_the_truth_are_not_accused():
    values = drawn(1, 10, 8, 0.01)[0]
    values[9] = drawn(1, 1, 8, 1.0, seed=1)[0, 0]  # the only one who does not
    assert found(ranked(values)) == []
    assert found(ranked(values, counts=[[1000] * 8] * 9 + [[1] * 8])) == []


def test_experts_among_novices_agree_by_their_counts():
    random = np.random.default_rng(3)
    counts = np.where(np.arange(12)[:, None] < 3, 2000.0, 1.0) * np.ones(9)
    values = random.standard_normal(9) + 3 / np.sqrt(counts) * random.standard_normal((12, 9))
    values[1] = values[0]  # the experts saw enough to agree
    assert found(ranked(values, counts=counts)) == []
    assert found(ranked(values)) == [{0, 1, 2}]  # not so if nobody saw more than the others


def test_nothing_is_said_of_those_who_are_all_alike():
    assert found(vt.Profile(ranks=[[1, 2, 3, 4, 5, 6, 7, 8]] * 12)) == []


def test_a_favourite_tells_nothing_and_favourites_of_many_decisions_do():
    values = drawn(60, 8, 5, 10.0)
    values[:, 5] = values[:, 1]
    many = vt.Profile(values=values).as_top()
    assert found(many.decision(0)) == []
    assert found(many) == [{1, 5}]


def test_voters_are_known_by_name_over_decisions():
    values = drawn(100, 8, 2, 1.0, counts=1.0)
    values[:, 3] = values[:, 0]
    names = np.array([*"abcdefgh"])
    turns = [np.random.default_rng(d).permutation(8) for d in range(100)]
    decisions = [ranked(own[turn], voters=names[turn]) for own, turn in zip(values, turns, strict=True)]
    assert found(vt.stack(decisions)) == [{"a", "d"}]


def test_skilled_judges_of_many_decisions_are_not_accused():
    random = np.random.default_rng(5)
    truth = np.sign(random.standard_normal((200, 1)))
    right = random.random((200, 12)) < np.where(np.arange(12) < 3, 0.985, 0.6)
    answers = truth * np.where(right, 1, -1)
    profile = ranked(np.stack([-answers, answers], axis=-1))
    assert found(profile) == []


def test_equal_numbers_give_copies_away_where_orders_do_not():
    values = drawn(1, 10, 5, 5.0)[0]
    values[4] = values[6]
    assert found(vt.Profile(values=values)) == [{4, 6}]
    assert found(ranked(values)) == []
    scale = np.round(values / 2)  # of few levels, on which many agree
    assert found(vt.Profile(values=scale)) == []


def test_a_group_that_is_told_is_no_news():
    values = drawn(1, 10, 10, 20.0)[0]
    values[7] = values[2]
    profile = ranked(values, voters=[*"abcdefghij"])
    assert found(profile.with_facts(groups={"c": "one lab", "h": "one lab"})) == []
    assert found(profile.with_facts(groups={"c": "one lab", "h": "another"})) == [{"c", "h"}]


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
def test_nearness_is_a_probability_by_choices(seed, n, tied):
    """The generating function at λ = ∞ sums to one over all ballots, and at λ = 0 is one."""
    expected = np.random.default_rng(seed).standard_normal((1, 1, 1, n))
    orders = np.array(list(itertools.permutations(range(1, n + 1))), dtype=float)
    ranks = np.where(orders > 1, (n + 2) / 2, 1.0) if tied else orders
    ranks = np.unique(ranks, axis=0)
    log_mean = _log_means(ranks, np.repeat(expected, len(ranks), axis=0), np.array([0.0, 60.0]))
    np.testing.assert_allclose(log_mean[..., 0], 0, atol=1e-9)
    np.testing.assert_allclose(np.exp(log_mean[..., 1]).sum(), 1, rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_order_of_voters_and_names_of_alternatives_do_not_matter(seed):
    random = np.random.default_rng(seed)
    values = drawn(1, 8, 9, 8.0, seed)[0]
    values[5] = values[1]
    turn, columns = random.permutation(8), random.permutation(9)
    names = np.array([*"abcdefgh"])
    plain, turned = ranked(values, voters=names), ranked(values[turn][:, columns], voters=names[turn])
    assert found(plain) == found(turned)


def test_multiplicity_zero_is_absent_and_blank_ballots_are_no_copies():
    values = drawn(1, 10, 10, 20.0)[0]
    values[7] = values[2]
    assert found(ranked(values, multiplicity=[1] * 7 + [0, 1, 1])) == []
    level = np.ones((4, 10))
    assert copies(BallotTable.of(vt.Profile(ranks=[[1] * 10] * 4))) == []
    assert found(vt.Profile(values=np.concatenate([values[:5], level]))) == []
