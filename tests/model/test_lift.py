"""Lifting what voters say to truths and shared errors, against plain matrices."""

import numpy as np
import pytest

from veritally.model.lift import Lift, shared_errors
from veritally.model.means import VoterMeans
from veritally.votes.rankings import Rankings

BATCH, VOTERS, ALTERNATIVES, FACTORS = 2, 4, 3, 2


@pytest.fixture
def random():
    return np.random.default_rng(1)


def maps(loadings):
    """Return the matrices A_i that take θ to what voter i sees, written out."""
    weights = np.concatenate([np.ones_like(loadings[..., :1]), loadings], axis=-1)
    n, f = weights.shape[-2:]
    found = np.zeros((*weights.shape[:-2], n, f * n))
    for j in range(n):
        for k in range(f):
            found[..., j, k * n + j] = weights[..., j, k]
    return found


def test_gathering_and_seeing(random):
    loadings = random.normal(size=(BATCH, VOTERS, ALTERNATIVES, FACTORS))
    lift, a = Lift.of(loadings), maps(loadings)
    pulls = random.normal(size=(BATCH, VOTERS, ALTERNATIVES))
    np.testing.assert_allclose(lift.gather(pulls), np.einsum("bijt,bij->bt", a, pulls))
    matrices = random.normal(size=(BATCH, VOTERS, ALTERNATIVES, ALTERNATIVES))
    np.testing.assert_allclose(lift.gather_matrix(matrices), np.einsum("bijs,bijk,bikt->bst", a, matrices, a))
    theta = random.normal(size=(BATCH, lift.size(ALTERNATIVES)))
    np.testing.assert_allclose(lift.see(theta), np.einsum("bijt,bt->bij", a, theta))
    covariance = random.normal(size=(BATCH, 9, 9))
    seen, crossed = lift.see_matrix(covariance)
    np.testing.assert_allclose(seen, np.einsum("bijs,bst,bikt->bijk", a, covariance, a))
    np.testing.assert_allclose(crossed, np.einsum("bjt,bikt->bijk", covariance[:, :ALTERNATIVES], a))


def test_without_shared_errors_it_is_a_sum(random):
    lift, pulls = Lift(), random.normal(size=(VOTERS, ALTERNATIVES))
    np.testing.assert_allclose(lift.gather(pulls), pulls.sum(axis=0))
    assert lift.size(ALTERNATIVES) == ALTERNATIVES


@pytest.mark.parametrize("between", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_the_total_variance_is_kept_at_the_typical_count(between, rho):
    """And the correlation of two members there is ρ, with or without ω."""
    typical = 8.0
    counts = np.full((3, 2), typical)
    counts[2] = 1.0
    ballots = Rankings.made(np.array([[1.0, 2.0]] * 3), counts, np.ones(3))
    loadings, sharing = np.zeros((3, 2, 1)), np.zeros((3, 2))
    loadings[:2], sharing[:2] = typical**-0.5, 1.0
    own, extra = shared_errors(ballots.with_shared_errors(loadings, sharing), VoterMeans(2.0, between=between), rho)
    alone = 2.0**2 * (1 / counts + between) + extra
    shared = own[..., 0] ** 2
    np.testing.assert_allclose((alone + shared)[:2], 4 * (1 / typical + between))
    np.testing.assert_allclose((shared / (alone + shared))[:2], rho)
    np.testing.assert_allclose(alone[2], 4 * (1 + between))
