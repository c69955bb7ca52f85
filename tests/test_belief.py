"""Belief: draws summarised, and the smallest set that holds the best."""

import itertools
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veritally as vt
from veritally.inference.belief import CLEAR, Belief, smallest_set, stacked, summarised


def summary(draws, mask=None, winner=0, unit=None):
    """Of draws ``(decision, draw, alternative)``, as one would write them down."""
    draws = np.swapaxes(np.asarray(draws, dtype=float), 1, 2)
    decisions, n, size = draws.shape
    mask = np.ones((decisions, n), dtype=bool) if mask is None else np.asarray(mask)
    besides = {"sigma": np.ones(mask.shape), "scale": np.ones((decisions, 3))}
    besides |= {name: np.arange(decisions) for name in ("tau", "count_error", "omega", "exact", "in_sigma")}
    unit = np.ones((decisions, size)) if unit is None else np.asarray(unit)
    return summarised(draws, mask, winner=np.broadcast_to(winner, (decisions,)), unit=unit, **besides)


def single(draws, mask=None, winner=0, unit=None):
    """The same of one decision, ``(draw, alternative)``."""
    mask, unit = (None if x is None else [x] for x in (mask, unit))
    return summary([draws], mask, winner, unit).decision(0, np.shape(draws)[-1])


TEN = [[3, 1, 0]] * 5 + [[0, 2, 1]] * 3 + [[5, 4, 9]] * 2  # draws, of three kinds


def test_ten_draws_by_hand():
    belief = single(TEN)
    np.testing.assert_allclose(belief.mean, [2.5, 1.9, 2.1])
    np.testing.assert_allclose(belief.p_best, [0.5, 0.3, 0.2])
    np.testing.assert_allclose(belief.p_rank, [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])
    np.testing.assert_allclose(belief.p_among(1), belief.p_best)
    np.testing.assert_allclose(belief.p_among(2), [0.7, 0.8, 0.5])
    np.testing.assert_allclose(belief.p_above, [[0.5, 0.7, 0.5], [0.3, 0.5, 0.8], [0.5, 0.2, 0.5]])
    np.testing.assert_allclose(belief.regret, 0.5 * 3 + 0.3 * 2 + 0.2 * 9 - np.array([2.5, 1.9, 2.1]))
    np.testing.assert_allclose(belief.deviation[0], np.sqrt(0.5 * 0.25 + 0.3 * 6.25 + 0.2 * 6.25))
    np.testing.assert_array_equal(belief.low, [0, 1, 0])
    np.testing.assert_array_equal(belief.high, [5, 4, 9])


def test_distances_by_hand():
    belief = single(TEN, winner=1, unit=[1] * 5 + [2] * 3 + [4] * 2)
    np.testing.assert_allclose(belief.distance, [-2 * 0.5 + 1 * 0.3 - 0.25 * 0.2, 0, 1 * 0.5 + 0.5 * 0.3 - 1.25 * 0.2])
    np.testing.assert_array_equal(belief.distance_low, [-2, 0, -1.25])
    np.testing.assert_array_equal(belief.distance_high, [1, 0, 1])


@pytest.mark.parametrize(
    ("times", "low", "clear"),
    [
        ([2, 0, 98], 5.0, True),
        ([3, 0, 97], -1.0, False),
        ([1, 2, 97], 1.0, True),  # a tie is half a win
        ([1, 4, 95], 0.0, False),
        ([0, 100, 0], 0.0, False),
    ],
)
def test_the_level_of_the_interval_by_hand(times, low, clear):
    """Against an alternative that is 1 better, equal, or 5 worse."""
    belief = single(np.repeat([[0, 1], [0, 0], [0, -5]], times, axis=0))
    assert (belief.p_above[0, 1] > CLEAR) == clear
    assert belief.distance_low[1] == low


@st.composite
def tied_draws(draw):
    """Few values, so that draws tie, and a first alternative that is better in about 97.5% of them, or 95%."""
    size, n = draw(st.sampled_from([1, 20, 40, 41, 120, 1024])), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    draws = rng.integers(0, draw(st.sampled_from([1, 3, 1000])), (size, n), endpoint=True).astype(float)
    above = rng.random(size) > draw(st.sampled_from([0, 0.02, 0.025, 0.05, 0.1]))
    draws[:, 0] += draw(st.sampled_from([0, 1, 3, 1000])) * above
    return draws, rng.uniform(0.1, 9, size), draw(st.integers(0, n - 1))


@settings(max_examples=300)  # which take a second
@given(tied_draws())
def test_an_interval_leaves_0_out_exactly_where_the_winner_is_clearly_better(drawn):
    draws, unit, winner = drawn
    belief = single(draws, winner=winner, unit=unit)
    low, high = belief.distance_low, belief.distance_high
    np.testing.assert_array_equal((low > 0) | (high < 0), belief.p_above[winner] > CLEAR)
    assert np.all(low <= high)
    assert low[winner] == belief.distance[winner] == high[winner] == 0


@given(st.integers(0, 2**32 - 1))
def test_without_ties_the_ends_are_quantiles(seed):
    rng = np.random.default_rng(seed)
    draws, unit = rng.normal(size=(400, 2)), rng.uniform(0.1, 9, 400)
    belief = single(draws, unit=unit)
    gaps = np.sort((draws[:, 0] - draws[:, 1]) / unit)
    assert gaps[9] <= belief.distance_low[1] <= gaps[10]  # 10 of 400 are 2.5%
    assert gaps[389] <= belief.distance_high[1] <= gaps[390]
    assert belief.distance[1] == pytest.approx(gaps.mean())


@pytest.mark.parametrize("n", [3, 20, 130])
def test_many_draws_against_loops(n):
    """Also of more alternatives than a small number has room for."""
    draws = np.random.default_rng(n).normal(size=(50, n))
    belief = single(draws)
    p_rank, p_above = np.zeros((n, n)), np.full((n, n), 0.5)
    for draw in draws:
        for rank, j in enumerate(np.argsort(-draw)):
            p_rank[j, rank] += 1 / 50
    for j, k in itertools.permutations(range(n), 2):
        p_above[j, k] = sum(draw[j] > draw[k] for draw in draws) / 50
    np.testing.assert_allclose(belief.p_rank, p_rank, atol=1e-12)
    np.testing.assert_allclose(belief.p_above, p_above, atol=1e-12)
    np.testing.assert_allclose(belief.p_best, p_rank[:, 0], atol=1e-12)
    np.testing.assert_allclose(belief.p_rank.sum(axis=0), 1)
    np.testing.assert_allclose(belief.p_rank.sum(axis=1), 1)
    assert belief.regret.argmin() == belief.mean.argmax()


def test_what_is_masked_is_never_best():
    belief = single([[1, 99, 0]] * 3 + [[0, 99, 1]] * 2, mask=[True, False, True])
    np.testing.assert_allclose(belief.p_best, [0.6, 0, 0.4])
    assert belief.regret[1] == np.inf
    np.testing.assert_allclose(belief.regret[[0, 2]], [1 - 0.6, 1 - 0.4])
    np.testing.assert_allclose(belief.p_above[1], 0.5)
    np.testing.assert_array_equal(np.isnan(belief.distance), [False, True, False])
    kept = belief.columns([0, 2])
    assert kept.distance[1] == pytest.approx(0.6 - 0.4)
    np.testing.assert_allclose(kept.p_rank, [[0.6, 0.4], [0.4, 0.6]])
    assert kept.p_above[0, 1] == pytest.approx(0.6)
    assert kept.mean.shape == kept.low.shape == kept.sigma.shape == (2,)


NAMES = [field.name for field in fields(Belief)]


def assert_equal(one, other):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_decisions_of_a_batch_are_their_own():
    rng = np.random.default_rng(0)
    draws, unit, winner = rng.normal(size=(2, 50, 3)), rng.uniform(1, 2, size=(2, 50)), [2, 0]
    both = summary(draws, winner=winner, unit=unit)
    for d in range(2):
        alone = single(draws[d], winner=winner[d], unit=unit[d])
        for name in set(NAMES) - {"tau", "count_error", "omega", "exact", "in_sigma"}:
            np.testing.assert_allclose(getattr(both.decision(d, 3), name), getattr(alone, name), rtol=1e-12)


def test_pieces_make_a_batch_again():
    whole = summary(np.random.default_rng(1).normal(size=(6, 20, 3)))
    pieces = [Belief(**{name: getattr(whole, name)[rows] for name in NAMES}) for rows in (slice(4), slice(4, 6))]
    assert_equal(stacked(pieces, (6,)), whole)
    table = stacked(pieces, (2, 3))
    for d in range(6):
        assert_equal(table.decision(d // 3, 3).decision(d % 3, 3), whole.decision(d, 3))


def test_a_decision_is_taken_out_without_its_padding():
    """Two alternatives of three, of which one pads, are as two."""
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(1, 30, 3))
    padded, two = summary(draws, mask=[[True, True, False]]), summary(draws[..., :2])
    assert_equal(padded.decision(0, 2), two.decision(0, 2))
    assert padded.decision(0, 2).p_rank.shape == (2, 2)


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
    assert told["exact_draws"] is False
    assert "p_best" not in vt.decide(vt.Profile(order=[["A", "B"]]), "borda").to_dict()
