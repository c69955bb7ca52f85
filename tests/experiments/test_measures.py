"""Measures and their sums, against loops and SciPy."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veritally.experiments.measures import ClusteredMeasures, MeasureSums, measure, summarize


@st.composite
def instances(draw):
    """Scores and truths with ties, unseen alternatives and padding."""
    n = draw(st.integers(2, 6))
    number = st.integers(-8, 8).map(lambda quarters: quarters / 4)
    row = st.lists(st.one_of(number, st.just(-np.inf)), min_size=n, max_size=n)
    truths = draw(st.lists(st.lists(number, min_size=n, max_size=n), min_size=1, max_size=4))
    scores = draw(st.lists(st.lists(row, min_size=len(truths), max_size=len(truths)), min_size=1, max_size=3))
    truth, scores = np.array(truths), np.array(scores)
    padding = draw(st.integers(0, n - 2))
    truth[0, n - padding :] = np.nan
    scores[:, 0, n - padding :] = -np.inf
    return scores, truth


@given(instances(), st.integers(0, 100))
def test_measures_against_a_loop(case, seed):
    scores, truth = case
    tie_breakers = np.random.default_rng(seed).random(truth.shape)
    regret, accuracy, correlation = measure(scores, truth, tie_breakers, voters=1)
    for r in range(len(scores)):
        for i in range(len(truth)):
            there = np.flatnonzero(~np.isnan(truth[i]))
            own, true = scores[r, i, there], truth[i, there]
            best = [j for j in range(len(there)) if own[j] == own.max()]
            chosen = max(best, key=lambda j: tie_breakers[i, there[j]])
            assert regret[r, i] == true.max() - true[chosen]
            assert accuracy[r, i] == (true[chosen] == true.max())
            constant = len(set(own)) == 1 or len(set(true)) == 1
            expected = 0 if constant else stats.spearmanr(stats.rankdata(own), true).statistic
            assert correlation[r, i] == pytest.approx(expected, abs=1e-12)


def test_ties_are_broken_uniformly():
    truth = np.tile([3.0, 2.0, 1.0], (30_000, 1))
    scores = np.tile([1.0, 1.0, 0.0], (1, len(truth), 1))
    tie_breakers = np.random.default_rng(0).random(truth.shape)
    chosen = measure(scores, truth, tie_breakers, voters=1, names=("regret",))[0, 0]
    assert set(chosen) == {0, 1}
    assert stats.binomtest(int(chosen.sum()), len(chosen)).pvalue > 1e-4


def test_scores_that_rounding_alone_separates_are_tied():
    truth = np.tile([1.0, 0.0], (200, 1))
    scores = np.tile([0.1 + 0.2, 0.3], (1, len(truth), 1))
    tie_breakers = np.random.default_rng(0).random(truth.shape)
    assert 0.3 < measure(scores, truth, tie_breakers, voters=2, names=("accuracy",)).mean() < 0.7


@given(st.integers(2, 30), st.integers(1, 29), st.integers(0, 100))
def test_moments_give_means_errors_and_paired_differences(n, cut, seed):
    x = np.random.default_rng(seed).normal(size=(2, 3, n)) ** 2
    cut = min(cut, n - 1)
    sums = MeasureSums.of(x[..., :cut]) + MeasureSums.of(x[..., cut:])
    assert sums.instances == n
    np.testing.assert_allclose(sums.means, x.mean(axis=-1))
    np.testing.assert_allclose(sums.errors, stats.sem(x, axis=-1), atol=1e-7)
    difference, error = sums.differences(1)
    np.testing.assert_allclose(difference, (x[0] - x[0, 1]).mean(axis=-1), atol=1e-12)
    np.testing.assert_allclose(error, stats.sem(x[0] - x[0, 1], axis=-1), atol=1e-7)


def test_moments_survive_json_bit_for_bit():
    sums = MeasureSums.of(np.random.default_rng(0).normal(size=(2, 3, 7)))
    back = MeasureSums.from_dict(json.loads(json.dumps(sums.to_dict())))
    for one, other in zip(vars(sums).values(), vars(back).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_instance_has_no_standard_error():
    assert np.isnan(MeasureSums.of(np.ones((1, 2, 1))).errors).all()


def test_clustered_errors_by_hand():
    """Three clusters of 1, 2 and 3 instances."""
    regret = np.array([[4.0, 1.0, 3.0, 2.0, 2.0, 0.0], [2.0, 1.0, 1.0, 2.0, 1.0, 2.0]])
    known = ClusteredMeasures.of(regret[None], ["1998", "2000", "2000", "2002", "2002", "2002"])
    assert (known.instances, known.independent) == (6, 3)
    np.testing.assert_allclose(known.means[0], [2.0, 1.5])
    # Deviations from 2, by cluster: 2, −1 + 1, 0 + 0 − 2; from 1.5: 0.5, −1, 0.5; squares times 3/2, over 6².
    np.testing.assert_allclose(known.errors[0] ** 2, [1.5 * (4 + 0 + 4) / 36, 1.5 * (0.25 + 1 + 0.25) / 36])
    difference, error = known.differences(1)
    np.testing.assert_allclose(difference, [0.5, 0])
    # Differences 2; 0, 2; 0, 1, −2: deviations from 0.5 by cluster 1.5, −0.5 + 1.5, −0.5 + 0.5 − 2.5.
    np.testing.assert_allclose(error**2, [1.5 * (1.5**2 + 1 + 2.5**2) / 36, 0])


def test_a_cluster_for_each_instance_is_none_at_all():
    x = np.random.default_rng(0).normal(size=(2, 3, 9))
    ours, plain = summarize(x, range(9)), summarize(x)
    np.testing.assert_allclose(ours.errors, plain.errors)
    np.testing.assert_allclose(ours.differences(1), plain.differences(1), atol=1e-12)
    assert ours.independent == plain.independent == 9


def test_copies_of_instances_add_no_certainty():
    x = np.random.default_rng(1).normal(size=(1, 2, 5))
    np.testing.assert_allclose(summarize(np.repeat(x, 4, axis=-1), np.repeat(range(5), 4)).errors, summarize(x).errors)
    assert np.isnan(summarize(x, ["all"] * 5).errors).all()
