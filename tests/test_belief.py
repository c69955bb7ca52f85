"""Belief: weighted draws summarised, and the smallest set that holds the best."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veritally as vt
from veritally.inference.belief import CLEAR, smallest_set, stacked, summarised


def summary(draws, weights, mask=None, winner=0, unit=None):
    draws, weights = np.asarray(draws, dtype=float), np.asarray(weights, dtype=float)
    mask = np.ones(draws.shape[1:], dtype=bool) if mask is None else np.asarray(mask)
    batch = mask.shape[:-1]
    besides = {"sigma": np.ones(mask.shape), "scale": np.ones((*batch, 3))}
    besides |= {name: np.ones(batch) for name in ("tau", "count_error", "omega", "efficiency", "in_sigma")}
    unit = np.ones(weights.shape) if unit is None else np.asarray(unit)
    return summarised(draws, weights, mask, winner=np.broadcast_to(winner, batch), unit=unit, **besides)


def test_three_draws_by_hand():
    belief = summary([[3, 1, 0], [0, 2, 1], [5, 4, 9]], [0.5, 0.3, 0.2])
    np.testing.assert_allclose(belief.mean, [2.5, 1.9, 2.1])
    np.testing.assert_allclose(belief.p_best, [0.5, 0.3, 0.2])
    np.testing.assert_allclose(belief.p_rank, [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])
    np.testing.assert_allclose(belief.p_among(1), belief.p_best)
    np.testing.assert_allclose(belief.p_among(2), [0.7, 0.8, 0.5])
    np.testing.assert_allclose(
        belief.p_above, [[0, 0.7, 0.5], [0.3, 0, 0.8], [0.5, 0.2, 0]] + np.eye(3) * belief.p_above
    )
    np.testing.assert_allclose(belief.regret, 0.5 * 3 + 0.3 * 2 + 0.2 * 9 - np.array([2.5, 1.9, 2.1]))
    np.testing.assert_allclose(belief.deviation[0], np.sqrt(0.5 * 0.25 + 0.3 * 6.25 + 0.2 * 6.25))
    np.testing.assert_array_equal(belief.low, [0, 1, 0])
    np.testing.assert_array_equal(belief.high, [5, 4, 9])


def test_distances_by_hand():
    belief = summary([[3, 1, 0], [0, 2, 1], [5, 4, 9]], [0.5, 0.3, 0.2], winner=1, unit=[1, 2, 4])
    np.testing.assert_allclose(belief.distance, [-2 * 0.5 + 1 * 0.3 - 0.25 * 0.2, 0, 1 * 0.5 + 0.5 * 0.3 - 1.25 * 0.2])
    np.testing.assert_array_equal(belief.distance_low, [-2, 0, -1.25])
    np.testing.assert_array_equal(belief.distance_high, [1, 0, 1])


@pytest.mark.parametrize(
    ("weights", "low", "clear"),
    [
        ([0.02, 0.0, 0.98], 5.0, True),
        ([0.03, 0.0, 0.97], -1.0, False),
        ([0.01, 0.02, 0.97], 1.0, True),  # a tie is half a win
        ([0.01, 0.04, 0.95], 0.0, False),
        ([0.0, 1.0, 0.0], 0.0, False),
        ([-0.02, 0.06, 0.96], 1.0, True),
    ],
)
def test_the_level_of_the_interval_by_hand(weights, low, clear):
    """Against an alternative that is 1 better, equal, or 5 worse."""
    belief = summary([[0, 1], [0, 0], [0, -5]], weights)
    assert (belief.p_above[0, 1] > CLEAR) == clear
    assert belief.distance_low[1] == low


@st.composite
def weighted_draws(draw):
    """Few values, so that draws tie, and weights of which some are below 0."""
    size, n = draw(st.integers(1, 40)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    draws = rng.integers(0, draw(st.sampled_from([1, 3, 1000])), (size, n), endpoint=True).astype(float)
    draws[:, 0] += draw(st.sampled_from([0, 1, 3, 1000])) * (rng.random(size) > draw(st.sampled_from([0, 0.02, 0.1])))
    weights = rng.dirichlet(np.ones(size)) + draw(st.sampled_from([0, 0.1, 1])) * rng.normal(size=size) / size
    return draws, weights + (1 - weights.sum()) / size, rng.uniform(0.1, 9, size), draw(st.integers(0, n - 1))


@settings(max_examples=300)  # which take a second
@given(weighted_draws())
def test_an_interval_leaves_0_out_exactly_where_the_winner_is_clearly_better(drawn):
    draws, weights, unit, winner = drawn
    belief = summary(draws, weights, winner=winner, unit=unit)
    low, high = belief.distance_low, belief.distance_high
    np.testing.assert_array_equal((low > 0) | (high < 0), belief.p_above[winner] > CLEAR)
    assert np.all(low <= high)
    assert low[winner] == belief.distance[winner] == high[winner] == 0


@given(st.integers(0, 2**32 - 1))
def test_without_ties_the_ends_are_quantiles(seed):
    rng = np.random.default_rng(seed)
    draws, unit = rng.normal(size=(400, 2)), rng.uniform(0.1, 9, 400)
    belief = summary(draws, np.full(400, 1 / 400), unit=unit)
    gaps = np.sort((draws[:, 0] - draws[:, 1]) / unit)
    assert gaps[9] <= belief.distance_low[1] <= gaps[10]  # 10 of 400 are 2.5%
    assert gaps[389] <= belief.distance_high[1] <= gaps[390]
    assert belief.distance[1] == pytest.approx(gaps.mean())


@pytest.mark.parametrize("n", [3, 20])
def test_many_draws_against_loops(n):
    """Also beyond the size up to which all pairs are held at once."""
    rng = np.random.default_rng(n)
    draws, weights = rng.normal(size=(200, n)), rng.dirichlet(np.ones(200))
    belief = summary(draws, weights)
    p_rank, p_above = np.zeros((n, n)), np.zeros((n, n))
    for draw, weight in zip(draws, weights, strict=True):
        for rank, j in enumerate(np.argsort(-draw)):
            p_rank[j, rank] += weight
        for j, k in itertools.permutations(range(n), 2):
            p_above[j, k] += weight * (draw[j] > draw[k])
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(belief.p_rank, p_rank, atol=1e-12)
    np.testing.assert_allclose(belief.p_above[off], p_above[off], atol=1e-12)
    np.testing.assert_allclose(belief.p_best, p_rank[:, 0], atol=1e-12)
    np.testing.assert_allclose(belief.p_rank.sum(axis=0), 1)
    np.testing.assert_allclose(belief.p_rank.sum(axis=1), 1)
    assert belief.regret.argmin() == belief.mean.argmax()


def test_what_is_masked_is_never_best():
    belief = summary([[1, 99, 0], [0, 99, 1]], [0.6, 0.4], mask=[True, False, True])
    np.testing.assert_allclose(belief.p_best, [0.6, 0, 0.4])
    assert belief.regret[1] == np.inf
    np.testing.assert_allclose(belief.regret[[0, 2]], [1 - 0.6, 1 - 0.4])
    np.testing.assert_array_equal(np.isnan(belief.distance), [False, True, False])
    kept = belief.columns([0, 2])
    assert kept.distance[1] == pytest.approx(0.6 - 0.4)
    np.testing.assert_allclose(kept.p_rank, [[0.6, 0.4], [0.4, 0.6]])
    assert kept.p_above[0, 1] == pytest.approx(0.6)
    assert kept.mean.shape == kept.low.shape == kept.sigma.shape == (2,)


def test_decisions_of_a_batch_are_their_own():
    rng = np.random.default_rng(0)
    draws, weights = rng.normal(size=(50, 2, 3)), rng.dirichlet(np.ones(50), 2).T
    unit, winner = rng.uniform(1, 2, size=(50, 2)), [2, 0]
    both = summary(draws, weights, winner=winner, unit=unit)
    alone = [summary(draws[:, d], weights[:, d], winner=winner[d], unit=unit[:, d]) for d in range(2)]
    distances = ("distance", "distance_low", "distance_high")
    for name in ("mean", "deviation", "low", "high", "p_best", "p_rank", "p_above", "regret", *distances):
        np.testing.assert_allclose(
            getattr(both, name), getattr(stacked(alone, 3), name), rtol=1e-9, atol=1e-12, err_msg=name
        )


def test_a_smaller_decision_is_padded():
    large, small = (summary(np.eye(n), np.full(n, 1 / n)) for n in (3, 2))
    both = stacked([large, small], 3)
    np.testing.assert_allclose(both.p_best[1], [*small.p_best, 0])
    np.testing.assert_allclose(both.p_above[1, 2], 0.5)
    assert both.regret[1, 2] == np.inf
    assert np.isnan(both.distance[1, 2])
    np.testing.assert_allclose(both.p_rank[1, :2, :2], small.p_rank)


def test_smallest_set_by_hand():
    assert smallest_set(np.array([0.2, 0.5, 0.3]), 0.5) == [1]
    assert smallest_set(np.array([0.2, 0.5, 0.3]), 0.8) == [1, 2]
    assert smallest_set(np.array([0.2, 0.5, 0.3]), 0.81) == [1, 2, 0]
    assert smallest_set(np.array([0.5, 0.5]), 0.5) == [0]
    assert smallest_set(np.array([0.4, 0.4]), 0.95) == [0, 1]  # for want of more


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=5), st.floats(0.05, 0.99))
def test_no_smaller_set_reaches_the_level(given_, level):
    p_best = np.array(given_) / sum(given_)
    chosen = smallest_set(p_best, level)
    assert p_best[chosen].sum() >= level - 1e-9
    for fewer in itertools.combinations(range(len(p_best)), len(chosen) - 1):
        assert p_best[list(fewer)].sum() < level


def test_outcomes_tell_their_belief_in_plain_objects():
    outcome = vt.decide(vt.Profile(order=[["A", "B"], ["A", "B"], ["B", "A"]]), sigma=1, tau=1)
    told = outcome.to_dict()
    assert told["p_best"]["A"] == outcome.p_best[0]
    assert told["p_best"]["A"] + told["p_best"]["B"] == pytest.approx(1)
    assert told["intervals"]["A"][0] < told["scores"]["A"] < told["intervals"]["A"][1]
    assert told["expected_regret"]["A"] < told["expected_regret"]["B"]
    assert told["credible"][0] == "A"
    assert told["indistinct"] == ["B"]
    assert told["distance"] == {"A": 0, "B": outcome.belief.distance[1]}
    assert told["distance_intervals"]["A"] == [0, 0]
    assert told["distance_intervals"]["B"][0] < 0 < told["distance"]["B"] < told["distance_intervals"]["B"][1]
    assert told["distance_unit"] == "noise of one observation"
    assert told["sigma"] == {"A": 1, "B": 1}
    assert told["tau"] == 1
    assert told["sigma_over_tau"] == {"estimate": 1, "low": 1, "high": 1}
    assert 0 < told["efficiency"] <= 1
    assert "p_best" not in vt.decide(vt.Profile(order=[["A", "B"]]), "borda").to_dict()
