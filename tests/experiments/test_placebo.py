"""The placebo: counts change hands, and nothing else does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from support import random_profile, values_profiles
from veritally.arrays import Random
from veritally.experiments.placebo import exchange_counts


@given(values_profiles(), st.integers(0, 100))
def test_who_saw_what_and_the_counts_of_each_alternative_stay(profile, seed):
    counts = profile.counts
    new = exchange_counts(counts, Random.of(counts, seed))
    np.testing.assert_array_equal(new > 0, counts > 0)
    np.testing.assert_array_equal(np.sort(new, axis=-2), np.sort(counts, axis=-2))


@given(st.integers(2, 8), st.integers(0, 100))
def test_where_all_saw_the_same_rows_change_hands_whole(voters, seed):
    counts = 1.0 + np.arange(3 * voters).reshape(1, voters, 3)
    counts[..., 1] = 0
    new = exchange_counts(counts, Random.of(counts, seed))
    assert sorted(map(tuple, new[0])) == list(map(tuple, counts[0]))
    assert not (new == counts).all(axis=-1).any()  # nobody keeps their own


@given(st.integers(0, 100))
def test_nobody_keeps_a_count_that_another_could_take(seed):
    counts = random_profile(seed, voters=6, zeros=True).counts.copy()
    counts[counts > 0] = 1 + np.arange(np.count_nonzero(counts))
    new = exchange_counts(counts, Random.of(counts, seed))
    others = np.count_nonzero(counts, axis=0) > 1
    assert not ((new == counts) & (counts > 0) & others).any()


def test_every_decision_has_a_circle_of_its_own():
    counts = np.broadcast_to(np.arange(1.0, 6)[:, None], (200, 5, 2))
    new = exchange_counts(counts, Random.of(counts, 0))
    # Each of the other four counts is as likely: 50 ± 6.1, four standard errors; false alarms in 1 of 4,000.
    assert all(abs(np.count_nonzero(new[:, 0, 0] == count) - 50) < 25 for count in (2, 3, 4, 5))


def test_the_worth_of_counts_is_what_exchanging_them_costs():
    trials = vt.simulate("high-variance", voters=10, instances=2000, experience="stratified:1:49", seed=1)
    comparison = vt.compare(trials, rules=["mean", "borda"], placebo=1)
    rows = {row["rule"]: row for row in comparison.rows()}
    assert rows["mean"]["worth"] > 4 * rows["mean"]["worth_se"] > 0
    assert rows["borda"]["worth"] == rows["borda"]["worth_se"] == 0  # which knows no counts
    other = vt.Profile(
        values=trials.profile.values, counts=exchange_counts(trials.counts, Random.of(trials.truth, 0, 1))
    )
    again = vt.compare(other, truth=trials.truth, rules=["mean"]).rows()[0]
    np.testing.assert_allclose(rows["mean"]["regret"] + rows["mean"]["worth"], again["regret"])
