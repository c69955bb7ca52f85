"""What looks are worth, against loops and draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from veritally.planning.gain import gain, gain_along, gain_of_moves, normals, verdicts

numbers = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 3))


def by_integration(mean, slopes, choose=1):
    """E of the best of lines, on a fine grid of a normal."""
    z = np.linspace(-9, 9, 200_001)
    lines = np.sort(mean[:, None] + slopes[:, None] * z, axis=0)[-choose:]
    return float(np.trapezoid(np.sum(lines, axis=0) * norm.pdf(z), z) - np.sum(np.sort(mean)[-choose:]))


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=6))
def test_one_number_is_worth_the_envelope_of_its_lines(lines):
    mean, slopes = map(np.array, zip(*lines, strict=True))
    assert gain_along(mean, slopes) == pytest.approx(by_integration(mean, slopes), abs=2e-6)


def test_two_lines_have_a_textbook_formula():
    """E max(0, X) of a normal is s φ(m/s) + m Φ(m/s)."""
    gap, slope = 0.7, 0.4
    expected = slope * norm.pdf(gap / slope) - gap * norm.sf(gap / slope)
    assert gain_along(np.array([gap, 0.0]), np.array([0.0, slope])) == pytest.approx(expected, abs=1e-12)


def test_batches_are_loops():
    rng = np.random.default_rng(1)
    mean, slopes = rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 5, 4))
    alone = [[gain_along(mean[i, j], slopes[i, j]) for j in range(5)] for i in range(3)]
    np.testing.assert_allclose(gain_along(mean, slopes), alone, atol=1e-12)


@pytest.mark.parametrize("choose", [1, 2, 3])
def test_draws_agree_with_lines(choose):
    rng = np.random.default_rng(2)
    mean, slopes = rng.normal(size=5), rng.normal(size=5)
    moves = gain(mean, np.outer(slopes, slopes), choose)
    assert gain_along(mean, slopes, choose) == pytest.approx(by_integration(mean, slopes, choose), rel=0.01)
    assert moves == pytest.approx(by_integration(mean, slopes, choose), rel=0.05)


def test_perfect_knowledge_is_worth_the_expected_regret():
    rng = np.random.default_rng(3)
    mean, root = rng.normal(size=4), rng.normal(size=(4, 4))
    draws = mean + rng.normal(size=(400_000, 4)) @ root.T
    lost = np.max(draws, axis=1) - draws[:, np.argmax(mean)]
    error = np.std(lost) / len(lost) ** 0.5
    assert gain(mean, root @ root.T, points=normals(len(mean), 1 << 13)) == pytest.approx(
        np.mean(lost), rel=0.005, abs=4 * error
    )
    assert gain(mean, root @ root.T) == pytest.approx(np.mean(lost), rel=0.05)


def test_moves_that_change_no_choice_are_worth_nothing():
    moves = np.array([[0.1, 0.0], [-0.1, 0.0]])
    assert gain_of_moves(np.array([1.0, 0.0]), moves) == 0
    assert gain_along(np.array([1.0, 0.0]), np.array([0.3, 0.3])) == 0


def test_verdicts_average_to_what_is_known():
    mean, variance, noise = np.array([0.3, -1.0]), np.array([0.5, 2.0]), np.array([1.2, 0.7])
    for number in (1, 4, 30):
        chance, after = verdicts(mean, variance, noise, number)
        np.testing.assert_allclose(np.sum(chance, axis=-1), 1, atol=1e-9)
        np.testing.assert_allclose(np.sum(chance * after, axis=-1), mean, atol=1e-9)
    won = verdicts(mean, variance, noise, 1)[0][:, 1]
    np.testing.assert_allclose(won, norm.cdf(mean / np.sqrt(variance + noise**2)), atol=1e-5)
