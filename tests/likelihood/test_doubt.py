"""Doubt: any vote may have been any other."""

import math
from itertools import permutations

import numpy as np
import pytest

import veritally as vt
from veritally.likelihood.doubt import log_possible
from veritally.likelihood.votes import derivatives
from veritally.model.means import VoterMeans

DOUBTFUL = VoterMeans(1.5, doubt=0.1)
TRUTH = np.array([0.4, -0.3, 0.1, 0.9])


def test_votes_are_counted():
    ranks = [[1, 2, 3, 4], [1, 2, 2, 4], [1, 2, 0, 0], [1, 1, 1, 1]]
    counts = np.ones((4, 4))
    counts[2, 3] = 0  # three were seen, two of them above the third
    ballots = vt.Profile(ranks=ranks, counts=counts).ballots
    np.testing.assert_allclose(np.exp(log_possible(ballots)), [24, 12, 6, 1])
    favourites = vt.Profile(top=[0, 1], alternatives=list(range(4))).ballots
    np.testing.assert_allclose(np.exp(log_possible(favourites)), [4, 4])


def test_probabilities_still_sum_to_one():
    ranks = [[1 + order.index(j) for j in range(4)] for order in permutations(range(4))]
    log_prob = derivatives(vt.Profile(ranks=ranks).ballots, TRUTH, DOUBTFUL, 0).log_prob
    assert np.sum(np.exp(log_prob)) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("kind", ["ranks", "top", "pairs"])
def test_derivatives_by_finite_differences(kind):
    if kind == "pairs":
        times = np.zeros((1, 4, 4))
        times[0, 0, 1], times[0, 2, 3], times[0, 3, 1] = 2, 1, 3
        profile = vt.Profile(pairs=times)
    elif kind == "top":
        profile = vt.Profile(top=[1], alternatives=list(range(4)), counts=[[3, 1, 2, 5]])
    else:
        profile = vt.Profile(ranks=[[2, 1, 4, 3]], counts=[[3, 1, 2, 5]])
    found = derivatives(profile.ballots, TRUTH, DOUBTFUL, 2)
    step = 1e-5
    for j in range(4):
        up, down = (derivatives(profile.ballots, TRUTH + sign * step * np.eye(4)[j], DOUBTFUL, 1) for sign in (1, -1))
        slope = (up.log_prob - down.log_prob) / (2 * step)
        np.testing.assert_allclose(found.gradient[..., j], slope, atol=1e-7)
        bend = (up.gradient - down.gradient) / (2 * step)
        np.testing.assert_allclose(found.curvature[..., j], bend, atol=1e-6)


def test_one_ballot_can_do_only_so_much():
    """However much it claims to know, its log-probability has a floor, log π/n!."""
    profile = vt.Profile(ranks=[[4, 3, 2, 1]], counts=[[1e6] * 4])
    log_prob = derivatives(profile.ballots, np.array([3.0, 2.0, 1.0, 0.0]), DOUBTFUL, 0).log_prob
    assert float(log_prob[0]) == pytest.approx(math.log(0.1 / 24))


def test_a_liar_is_outvoted():
    profile = vt.Profile(ranks=[[1, 2, 3, 4]] * 5 + [[4, 3, 2, 1]], counts=[[20] * 4] * 5 + [[1000] * 4])
    assert vt.decide(profile, sigma=5, tau=1).winner == 3
    assert vt.decide(profile, sigma=5, tau=1, doubt=0.02).winner == 0


def test_the_mode_of_doubted_votes_is_the_higher_one():
    profile = vt.Profile(ranks=[[1, 2, 3, 4]] * 5 + [[4, 3, 2, 1]], counts=[[20] * 4] * 5 + [[1000] * 4])
    assert vt.decide(profile, sigma=5, tau=1, doubt=0.02, estimate="mode").winner == 0


def test_values_are_not_doubted():
    with pytest.raises(vt.InputError, match="doubt is for rankings"):
        vt.decide(vt.Profile(values=[[1.0, 2.0], [2.0, 1.5]]), doubt=0.1)
