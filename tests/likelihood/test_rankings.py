"""Rankings of two alternatives in closed form against the integrals of three, one of which nobody saw."""

import numpy as np
import pytest

from veritally.likelihood.rankings import ranking
from veritally.model.means import VoterMeans

COUNTS = (0, 0.5, 1, 3, 50, 1e4)


def two(sigma=1.5):
    """All pairs of counts, ranked in both orders, tied or not told apart by who saw one or none."""
    counts = np.array([[a, b] for a in COUNTS for b in COUNTS]).repeat(3, axis=0)
    ranks = np.tile([[1, 2], [2, 1], [1.5, 1.5]], (len(COUNTS) ** 2, 1))
    ranks = np.where(np.all(counts > 0, axis=-1, keepdims=True), ranks, counts > 0)
    return ranks, counts, VoterMeans(np.asarray(sigma)).spread(counts)


@pytest.mark.parametrize("truth", [[0.0, 0.0], [0.4, -0.2], [-3.0, 2.0]])
def test_two_alternatives_are_three_of_which_one_was_not_seen(truth):
    """Measured: 2e-9 of the log-probability, and of derivatives in units of those of the narrowest."""
    sigma = np.array([1.5, 0.7, 1.0])
    ranks, counts, spread = two(sigma[:2])
    more = [np.pad(x, ((0, 0), (0, 1))) for x in (ranks, counts)]
    expected = ranking(more[0], np.array([*truth, 9.0]), VoterMeans(sigma).spread(more[1]), 2)
    log, gradient, curvature = ranking(ranks, np.array(truth), spread, 2)
    size = np.max(np.abs(expected.gradient), axis=-1) + 1
    np.testing.assert_allclose(log, expected.log_prob, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(gradient / size[:, None], expected.gradient[:, :2] / size[:, None], atol=1e-7)
    wide = size[:, None, None] ** 2
    np.testing.assert_allclose(curvature / wide, expected.curvature[:, :2, :2] / wide, atol=1e-7)


def test_derivatives_of_two_by_differences():
    """Each ballot with truths of its own, moved by a part of the standard deviation of their difference."""
    ranks, counts, _ = two()
    told = np.all(ranks > 0, axis=-1)
    ranks, counts = ranks[told, None], counts[told, None]
    spread = VoterMeans(np.asarray(1.5)).spread(counts)
    unit = np.hypot(*np.moveaxis(spread.deviations[0, :, 0], -1, 0))[:, None]
    truth = unit * np.array([0.3, -0.5])
    _, gradient, curvature = ranking(ranks, truth, spread, 2)
    for j in range(2):
        nudge = 1e-4 * unit * np.eye(2)[j]
        ahead, behind = (ranking(ranks, truth + sign * nudge, spread, 1) for sign in (1, -1))
        slope = (ahead.log_prob - behind.log_prob)[:, 0] / 2e-4
        bend = (ahead.gradient - behind.gradient)[:, 0] / 2e-4
        np.testing.assert_allclose(gradient[:, 0, j] * unit[:, 0], slope, atol=1e-7)
        np.testing.assert_allclose(curvature[:, 0, j] * unit**2, bend * unit, atol=1e-7)


def test_who_does_not_tell_two_apart_says_nothing():
    ranks, _, spread = two()
    silent = np.any(ranks == 0, axis=-1) | (ranks[:, 0] == ranks[:, 1])
    for x in ranking(ranks, np.array([0.3, -0.3]), spread, 2):
        np.testing.assert_array_equal(x[silent], 0)
        assert np.all(np.abs(x[~silent]) > 0)


def test_decisions_about_two_go_with_their_own_truths():
    ranks, counts, spread = two()
    truths = np.array([[0.4, -0.2], [-1.0, 1.0]])
    both = ranking(np.stack([ranks] * 2), truths, VoterMeans(np.asarray(1.5)).spread(np.stack([counts] * 2)), 2)
    for d, truth in enumerate(truths):
        for whole, alone in zip(both, ranking(ranks, truth, spread, 2), strict=True):
            np.testing.assert_array_equal(whole[d], alone)
