"""JAX, and single precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import veritally as vt
from veritally.likelihood import derivatives
from veritally.likelihood.rankings import ranking
from veritally.model.means import VoterMeans

# Rankings, ties first, in the middle and last, unseen alternatives.
RANKS = np.array(
    [[1, 2, 3, 4], [4, 1, 3, 2], [1, 2.5, 2.5, 4], [1.5, 1.5, 3, 4], [2.5, 1, 2.5, 0], [1, 0, 0, 2], [1, 3, 3, 3]],
    float,
)
COUNTS = np.array(
    [[1, 2, 7, 49], [9, 1, 1, 1000], [3, 5, 1, 9], [1, 1, 1, 1], [4, 8, 2, 0], [1, 0, 0, 1000], [7, 2, 1, 1]], float
)
TRUTH = np.array([0.5, -0.3, 1.0, 0.0])
NAMES = ("log_prob", "gradient", "curvature")


@pytest.fixture(scope="module")
def expected():
    return derivatives(vt.Profile(ranks=RANKS, counts=COUNTS), truth=TRUTH)


def compiled(order):
    """The likelihood of rankings as JAX compiles it, which is quicker than to do it step by step."""
    return jax.jit(lambda ranks, counts, truth: ranking(ranks, truth, VoterMeans().spread(counts), order))


@pytest.mark.usefixtures("x64")
def test_jax_agrees_with_numpy(expected):
    """Measured: 8e-15."""
    rows = [0, 1, 3, 4, 5, 6]
    got = compiled(2)(*(jnp.asarray(x) for x in (RANKS[rows], COUNTS[rows], TRUTH)))
    for name in NAMES:
        ours = getattr(expected, name)[rows]
        np.testing.assert_allclose(getattr(got, name), ours, rtol=1e-9, atol=1e-9, err_msg=name)


def test_jax_in_single_precision(expected):
    """Measured: 2e-6. NumPy is asked about the one that is tied in the middle."""
    rows = [0, 2, 4, 5]
    got = compiled(1)(*(jnp.asarray(x, dtype=jnp.float32) for x in (RANKS[rows], COUNTS[rows], TRUTH)))
    assert got.log_prob.dtype == got.gradient.dtype == jnp.float32
    np.testing.assert_allclose(got.log_prob, expected.log_prob[rows], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got.gradient, expected.gradient[rows], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_numpy_in_single_precision(name, expected):
    """Measured: 2e-6 of log P and the gradient."""
    got = derivatives(vt.Profile(ranks=np.float32(RANKS), counts=np.float32(COUNTS)), truth=TRUTH)
    assert getattr(got, name).dtype == np.float32
    np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-4, atol=1e-3)
