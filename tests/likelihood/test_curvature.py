"""What is found roughly, on the way to where the truths are, against what is exact."""

import numpy as np
import pytest
from scipy import stats

from veritally.likelihood.rankings import ranking
from veritally.model.means import Spread, VoterMeans


def drawn(n, noise, voters=200):
    """Rankings of means that spread around the truths, of which some were not seen; as for :func:`ranking`."""
    rng = np.random.default_rng(n)
    truth, counts = rng.normal(size=n), rng.integers(1, 50, (voters, n)).astype(float)
    counts[: voters // 4, 0] = 0
    spread = VoterMeans(np.asarray(5 * noise)).spread(counts)
    seen = counts > 0
    means = np.where(seen, truth + rng.normal(size=counts.shape) * np.where(seen, spread.deviations[0], 0), -np.inf)
    return np.where(seen, stats.rankdata(-means, axis=-1), 0), truth, spread


@pytest.mark.parametrize(("n", "noise"), [(4, 3), (8, 1), (12, 1)])
def test_rough_derivatives_of_noisy_ballots(n, noise):
    """Measured: 1e-5 of log P and of gradients; of curvatures, in operator norm, 0.13 of one and 0.03 of all."""
    ballots = drawn(n, noise)
    exact, rough = (ranking(*ballots, 2, rough=rough) for rough in (False, True))
    np.testing.assert_allclose(rough.log_prob, exact.log_prob, atol=1e-4)
    np.testing.assert_allclose(rough.gradient, exact.gradient, atol=1e-4 * np.abs(exact.gradient).max())
    off, size = rough.curvature - exact.curvature, exact.curvature
    each = np.linalg.norm(off, 2, axis=(-2, -1)) / np.linalg.norm(size, 2, axis=(-2, -1))
    assert 0.01 < np.max(each) < 0.15  # it is not exact, or this test could not tell
    assert np.linalg.norm(off.sum(axis=0), 2) < 0.06 * np.linalg.norm(size.sum(axis=0), 2)
    np.testing.assert_allclose(rough.curvature.sum(axis=-1), 0, atol=1e-12)
    np.testing.assert_array_equal(rough.curvature, np.swapaxes(rough.curvature, -1, -2))


@pytest.mark.parametrize("noise", [0.3, 1, 3])
def test_neighbours_on_the_ballot_have_their_exact_covariance(noise):
    """Measured: 8e-5 of the largest second derivative, as the nodes are."""
    ranks, truth, spread = drawn(6, noise)
    exact, rough = (ranking(ranks, truth, spread, 2, rough=rough).curvature for rough in (False, True))
    neighbours = (np.abs(ranks[:, :, None] - ranks[:, None]) == 1) & np.all(ranks[:, None] > 0, axis=1)[..., None]
    neighbours &= np.swapaxes(neighbours, -1, -2)
    assert neighbours.sum() >= 150 * 5 * 2
    size = np.max(np.abs(exact), axis=(-2, -1), keepdims=True)
    np.testing.assert_allclose((rough / size)[neighbours], (exact / size)[neighbours], atol=3e-4)


def test_truths_far_in_order_and_far_out_of_it():
    """Far in order, the ballot was certain and tells nothing. Far out of it, means are pressed together, so that
    ballots tell only that truths are one: −1/s² + 1/(5 s²), and 1/(5 s²) beside it. Measured: 4e-6 from exact."""
    ranks, spread = np.arange(1.0, 6)[None], Spread(np.ones((1, 1, 5)))
    in_order = ranking(ranks, -20 * np.arange(5.0), spread, 2, rough=True)
    np.testing.assert_allclose(in_order.curvature, 0, atol=1e-8)
    exact, rough = (ranking(ranks, 4 * np.arange(5.0), spread, 2, rough=rough) for rough in (False, True))
    np.testing.assert_allclose(rough.log_prob, exact.log_prob, rtol=1e-5)
    np.testing.assert_allclose(rough.curvature, exact.curvature, atol=1e-4)
    np.testing.assert_allclose(rough.curvature, [0.2 - np.eye(5)], atol=0.02)


@pytest.mark.parametrize("ranks", [[1.5, 1.5, 3, 4], [1, 2, 3.5, 3.5], [1, 2.5, 2.5, 4]])
def test_ties_are_exact_also_roughly(ranks):
    """Measured: 2e-5."""
    truth, spread = np.array([0.5, -0.3, 0.2, 0.0]), Spread(np.ones((1, 1, 4)))
    exact, rough = (ranking(np.array([ranks], float), truth, spread, 2, rough=rough) for rough in (False, True))
    np.testing.assert_allclose(rough.curvature, exact.curvature, atol=2e-4)


def test_who_saw_less_than_two_says_nothing():
    ranks = np.array([[1.0, 0, 0], [0, 0, 0], [1, 2, 3]])
    rough = ranking(ranks, np.zeros(3), VoterMeans().spread((ranks > 0).astype(float)), 2, rough=True)
    for x in rough:
        np.testing.assert_array_equal(x[:2], 0)
        assert np.all(np.isfinite(x[2]))


@pytest.mark.parametrize("n", [60, 100, 200])
def test_rough_derivatives_of_long_ballots(n):
    """Of which many alternatives meet in a panel. Measured: 1e-5 of log P, 3e-6 of gradients."""
    rng = np.random.default_rng(n)
    truth, ranks = rng.normal(size=n), rng.permuted(np.tile(np.arange(1.0, n + 1), (2, 1)), axis=1)
    spread = VoterMeans(np.asarray(10.0)).spread(np.ones((2, n)))
    exact, rough = (ranking(ranks, truth, spread, 1, rough=rough) for rough in (False, True))
    np.testing.assert_allclose(rough.log_prob, exact.log_prob, atol=1e-3)
    np.testing.assert_allclose(rough.gradient, exact.gradient, atol=1e-4 * np.abs(exact.gradient).max())
