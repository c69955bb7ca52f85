"""Gradients and curvatures against finite differences, identities of scores, and concavity."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integrals import outer

import veritally as vt
from support import values_profiles
from veritally.likelihood import derivatives

TRUTHS = st.lists(st.floats(-10, 10), min_size=5, max_size=5)
STENCIL = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}  # exact for polynomials of degree 4
NAN = math.nan


def finite_differences(votes, counts, truth, step, **options):
    """Derivatives of log P and of its gradient by each truth, ``(voter, alternative)`` and ``(voter, ·, alternative)``.

    ``step`` is by alternative. All nudged truths are one batch.
    """
    truth, counts = np.asarray(truth, float), np.asarray(counts, float)
    n = len(truth)
    nudges = np.einsum("k,jl,j->jkl", list(STENCIL), np.eye(n), step)
    votes = {kind: np.broadcast_to(x, (n, 4, *np.shape(x))) for kind, x in votes.items()}
    profile = vt.Profile(**votes, counts=np.broadcast_to(counts, (n, 4, *counts.shape)))
    log, gradient, _ = derivatives(profile, truth=truth + nudges, order=1, **options)
    weights = np.array(list(STENCIL.values())) / step[:, None]
    return np.einsum("jkv,jk->vj", log, weights), np.einsum("jkvl,jk->vlj", gradient, weights)


VOTES = {
    "rankings": ({"ranks": [[1, 2, 3, 4], [4, 2, 1, 3], [2, 1, 3, 0]]}, [[1, 30, 4, 9], [7, 7, 7, 7], [2, 1, 40, 0]]),
    "equal middle": ({"ranks": [[1, 2, 3], [1, 2, 3]]}, [[49, 1e6, 49], [1000, 1, 1000]]),
    "tied first": ({"ranks": [[1, 1, 2, 3], [1, 1, 1, 2]]}, [[1, 30, 4, 9], [2, 3, 4, 50]]),
    "tied last": ({"ranks": [[1, 2, 3, 3], [1, 2, 2, 2], [1, 2, 0, 0]]}, [[1, 30, 4, 9], [2, 3, 4, 50], [9, 9, 1, 1]]),
    "tied in the middle": ({"ranks": [[1, 2, 2, 3], [3, 2, 2, 1]]}, [[1, 30, 4, 9], [5, 1, 8, 50]]),
    "several ties": ({"ranks": [[1, 2, 2, 3, 3]]}, [[5, 1, 8, 1, 50]]),
    "tops": ({"top": [[True, False, False], [False, True, True]]}, [[1, 30, 4], [9, 9, 1]]),
    "a top of many": ({"top": [[j == 3 for j in range(10)]]}, [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]),
    "a list of many": ({"ranks": [[1, 2, 3, *[0] * 7]]}, [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]),
    "many": ({"ranks": [range(1, 11)]}, [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]),
    "values": ({"values": [[0.5, NAN, 1, NAN], [0.3, 0.1, -4, 0.2]]}, [[1, 30, 4, 9], [2, 3, 4, 50]]),
    "differences": ({"differences": [0.3, -1.0]}, [[1, 30], [4, 4]]),
}


FEW = [name for name in VOTES if "many" not in name]


@pytest.mark.parametrize(
    ("name", "at", "error"),
    [
        *((name, at, None) for name in VOTES for at in (0, 1)),
        *((name, 1, error) for name in FEW for error in ("percentage:0.5", "replacement:0.33")),
    ],
)
def test_finite_differences(name, at, error):
    """In units of the standard deviations. Measured: 6e-8 of the gradient, 5e-7 of the curvature."""
    votes, counts = VOTES[name]
    n = np.shape(counts)[-1]
    unit = np.sqrt(np.max(counts, axis=0))
    truth = at * np.array([0.5, -0.3, 0.2, 0.0, -0.6, 0.1, 0.4, -0.2, 0.3, -0.1])[:n] * (0.01 if "equal" in name else 1)
    options = {"sigma": 1.5, "count_error": error}
    step = 0.05 / (unit if error is None else np.full(n, unit.max()))  # any count may be the true one
    log, slopes = finite_differences(votes, counts, truth, step, **options)
    _, gradient, curvature = derivatives(vt.Profile(**votes, counts=counts), truth=truth, **options)
    np.testing.assert_allclose(gradient / unit, log / unit, rtol=0, atol=1e-6)
    np.testing.assert_allclose(curvature / outer(unit), slopes / outer(unit), rtol=0, atol=1e-5)
    np.testing.assert_allclose(curvature, np.swapaxes(curvature, -1, -2), rtol=1e-12, atol=1e-12)


ARC = math.asin(1 / 3) / math.pi
ROOT_PI = math.sqrt(math.pi)
NORMAL_SCORES = [  # expected normal order statistics, closed up to five
    [1 / ROOT_PI],
    [1.5 / ROOT_PI, 0],
    [3 / ROOT_PI * (0.5 + ARC), 3 / ROOT_PI * (0.5 - 3 * ARC)],
    [5 / ROOT_PI * (0.25 + 1.5 * ARC), 10 / ROOT_PI * (0.25 - 1.5 * ARC), 0],
]


@pytest.mark.parametrize("counts", [1, 49, 10**6])
@pytest.mark.parametrize("scores", NORMAL_SCORES)
def test_at_equal_truths_and_counts_gradients_are_normal_scores(scores, counts):
    """Measured: 2e-9."""
    expected = [*scores, *[-x for x in scores[::-1] if x]]
    n = len(expected)
    got = derivatives(vt.Profile(ranks=[range(1, n + 1)], counts=[[counts] * n]), truth=[0.2] * n).gradient[0]
    np.testing.assert_allclose(got / math.sqrt(counts), expected, rtol=0, atol=5e-9)


@given(values_profiles(alternatives=(2, 4), voters=(1, 3)), TRUTHS)
def test_only_differences_of_truths_matter_to_rankings(profile, truth):
    """Gradients and curvatures sum to 0. Measured: 8e-8 of the gradient."""
    truth = np.array(truth[: profile.shape[-1]]) / 3
    for kind in ("rankings", "top"):
        _, gradient, curvature = derivatives(profile.coarsened(kind), truth=truth, cap=10)
        size = np.abs(gradient).sum(axis=-1) + 1e-6
        np.testing.assert_allclose(gradient.sum(axis=-1) / size, 0, atol=1e-6)
        sizes = np.abs(curvature).sum(axis=-1) + 1e-6
        np.testing.assert_allclose(curvature.sum(axis=-1) / sizes, 0, atol=1e-9)


@given(values_profiles(alternatives=(2, 4), voters=(1, 3)), TRUTHS)
def test_log_probabilities_are_concave(profile, truth):
    """Prékopa: up to the rounding of second derivatives, which are differences of squares of the gradient."""
    for kind in ("values", "rankings", "top", *(["differences"] if profile.shape[-1] == 2 else [])):
        _, gradient, curvature = derivatives(profile.coarsened(kind), truth=truth[: profile.shape[-1]])
        size = np.max(np.abs(gradient), axis=-1) ** 2 + np.max(profile.counts, axis=-1)
        assert (np.linalg.eigvalsh(curvature).max(axis=-1) <= 1e-6 * size).all()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_scores_have_mean_zero_and_curvature_is_minus_their_variance(n):
    """Σ P g = 0 and Σ P (H + g gᵀ) = 0 over all rankings. Measured: 6e-11 and 1e-9, in standard deviations."""
    rng = np.random.default_rng(n)
    counts = rng.choice([1.0, 2, 7, 49, 1000, 10**6], (6, 1, n))
    counts[0], counts[1, 0] = 1, [7, *[1] * (n - 2), 7]
    truth = rng.normal(size=(6, n)) * np.array([0, 0, 1, 1, 1, 1])[:, None]
    ranks = np.array(list(itertools.permutations(range(1, n + 1))), float)
    shape = (6, *ranks.shape)
    profile = vt.Profile(ranks=np.broadcast_to(ranks, shape), counts=np.broadcast_to(counts, shape))
    log, gradient, curvature = derivatives(profile, truth=truth)
    unit = np.sqrt(counts[:, 0])
    chance = np.exp(log)
    mean = np.einsum("ik,ikj->ij", chance, gradient)
    np.testing.assert_allclose(mean / unit, 0, atol=1e-8)
    second = np.einsum("ik,ikjl->ijl", chance, curvature + outer(gradient))
    np.testing.assert_allclose(second / outer(unit), 0, atol=1e-8)


@pytest.mark.parametrize("name", ["rankings", "tied first", "tied last", "tops", "values"])
def test_finite_differences_of_surprising_votes(name):
    """Truths run far against the votes. Measured: 1e-10 of the largest gradient, 4e-10 of its square."""
    votes, counts = VOTES[name]
    n = np.shape(counts)[-1]
    unit = np.sqrt(np.max(counts, axis=0))
    for truth in (np.arange(n) * 4.0, np.arange(n)[::-1] * 4.0):
        log, slopes = finite_differences(votes, counts, truth, 0.05 / unit)
        _, gradient, curvature = derivatives(vt.Profile(**votes, counts=counts), truth=truth)
        size = np.abs(gradient).max(axis=-1, keepdims=True) + unit.max()
        np.testing.assert_allclose(gradient / size, log / size, rtol=0, atol=1e-6)
        np.testing.assert_allclose(curvature / size[..., None] ** 2, slopes / size[..., None] ** 2, rtol=0, atol=1e-6)
