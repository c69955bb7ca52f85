"""Whole rankings: the expected Kendall loss, and the ranking that minimises it."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veritally.inference import ordering
from veritally.inference.ordering import expected_kendall, kendall_order


def chances(rng, n):
    above = np.triu(rng.uniform(size=(n, n)), k=1)
    return above + np.tril(1 - above.T, k=-1) + np.eye(n) / 2


def loss(order, above):
    return sum(above[k, j] for j, k in combinations(order, 2))


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_other_ranking_has_fewer_wrong_pairs(seed, n):
    above = chances(np.random.default_rng(seed), n)
    least = min(loss(order, above) for order in permutations(range(n)))
    found = kendall_order(above)
    assert sorted(found) == list(range(n))
    assert loss(found, above) == pytest.approx(least)
    assert expected_kendall(found, above) == pytest.approx(least)


def test_draws_count_the_same():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(4, 501)) + np.array([[1.0], [0.5], [0.2], [0.0]])
    above = np.mean(draws[:, None] > draws[None], axis=-1) + np.eye(4) / 2
    order = [1, 0, 3, 2]
    wrong = [sum(draw[k] > draw[j] for j, k in combinations(order, 2)) for draw in draws.T]
    assert expected_kendall(order, above) == pytest.approx(np.mean(wrong))


def test_equal_chances_leave_the_order_as_it_was():
    assert kendall_order(np.full((4, 4), 0.5)) == [0, 1, 2, 3]


def test_a_long_cycle_is_left_where_no_move_helps(monkeypatch):
    above = chances(np.random.default_rng(3), 9)
    least = loss(kendall_order(above), above)
    monkeypatch.setattr(ordering, "_EXACT", 2)
    found = kendall_order(above)
    assert sorted(found) == list(range(9))
    for j in range(9):
        rest = [k for k in found if k != j]
        moved = [loss([*rest[:place], j, *rest[place:]], above) for place in range(9)]
        assert min(moved) == pytest.approx(loss(found, above))
    assert loss(found, above) < 1.1 * least
