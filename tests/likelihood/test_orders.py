"""Ties in the middle: orders added up, where there are few, against the chain of two-dimensional kernels."""

import numpy as np
import pytest

import veritally as vt
from veritally.likelihood import derivatives, orders

RANKS = [
    [1, 2.5, 2.5, 4, 5],
    [5, 3, 3, 3, 1],
    [1.5, 1.5, 3.5, 3.5, 5],
    [1, 2.5, 0, 2.5, 4],
    [1, 2.5, 2.5, 4.5, 4.5],
    [1, 3.5, 3.5, 3.5, 3.5],
]
COUNTS = [[1, 2, 7, 49, 3], [9, 1, 1, 1000, 4], [3, 5, 1, 9, 1], [1, 1, 0, 5, 2], [1] * 5, [7, 2, 1, 1, 10**6]]


@pytest.mark.parametrize(("most", "told"), [(10**6, {}), (3, {"count_error": "replacement:0.2"})])
def test_both_ways_agree(most, told, monkeypatch):
    """Measured: 2e-9."""
    profile, truth = vt.Profile(ranks=RANKS, counts=np.minimum(COUNTS, most)), [0.5, -0.3, 1.0, 0.0, 2.0]
    quick = derivatives(profile, truth=truth, **told)
    monkeypatch.setattr(orders, "_FEW", 0)
    slow = derivatives(profile, truth=truth, **told)
    for one, other in zip(quick, slow, strict=True):
        assert (one != other).any()
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def test_which_orders_there_are():
    assert len(orders.orders(np.array([1, 2.5, 2.5, 4.5, 4.5, 6]))) == 4
    assert len(orders.orders(np.array([1.5, 1.5, 4, 4, 4, 6.5, 6.5, np.inf]))) == 6
    assert orders.orders(np.array([1, 4, 4, 4, 4, 4, 7])) == []  # 120
