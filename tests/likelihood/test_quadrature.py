"""Integrals on panels against closed forms."""

import numpy as np
import pytest
from scipy import special

from veritally.likelihood.quadrature import DOUBLE, SINGLE, Grid, breakpoints, fineness, grid


def panels(ends, nodes=16):
    """One ballot's grid with these panels."""
    ends = np.asarray(ends, float)
    half = np.diff(ends)[None, :, None] / 2
    return Grid(ends[None, :-1, None] + half * (1 + np.polynomial.legendre.leggauss(nodes)[0]), half)


@pytest.mark.parametrize("power", [0, 1, 7, 15])
def test_polynomials_are_integrated_exactly(power):
    nodes = panels([-1, -0.4, 0.5, 0.5, 1])  # with an empty panel
    f = nodes.x**power * nodes.half
    antiderivative = nodes.x ** (power + 1) / (power + 1)
    np.testing.assert_allclose(nodes.below(f), antiderivative - (-1) ** (power + 1) / (power + 1), atol=1e-14)
    np.testing.assert_allclose(nodes.above(f), 1 / (power + 1) - antiderivative, atol=1e-14)
    np.testing.assert_allclose(nodes.total(f), [(1 - (-1) ** (power + 1)) / (power + 1)], atol=1e-14)
    if power < 15:
        np.testing.assert_allclose(
            nodes.contact(f, nodes.x * nodes.half), [(1 - (-1) ** power) / (power + 2)], atol=1e-14
        )


@pytest.mark.parametrize("decay", [0.0, 0.3, 5.0, 29.0, 31.0, 100.0, 1e4, 1e8])
def test_fading_integrals_of_exponentials(decay):
    """∫_t^b exp(a u) exp(−λ(u − t)) du in closed form, on both sides of where the method changes."""
    nodes = panels([0, 0.4, 0.8, 1.2])
    rate = np.array([decay])
    for a in (0.5, -2.0):
        f = np.exp(a * nodes.x) * nodes.half
        x = nodes.x
        above = np.exp(a * x) * (1.2 - x) * special.exprel((a - decay) * (1.2 - x))
        below = np.exp(a * x) * x * special.exprel(-(a + decay) * x)
        np.testing.assert_allclose(nodes.above(f, rate), above, rtol=1e-9)
        np.testing.assert_allclose(nodes.below(f, rate), below, rtol=1e-9)


@pytest.mark.parametrize("fine", [DOUBLE, SINGLE])
def test_panels_cover_all_means_and_resolve_the_narrowest(fine):
    centre, width = np.array([[0.0, 3.0], [0.1, -2.0], [5.0, 3.0]]), np.array([[1.0, 0.001], [0.001, 1.0], [30.0, 0.1]])
    ends, needed = breakpoints(centre, width, width, np.ones(1), fine)
    assert (np.diff(ends) >= 0).all()
    np.testing.assert_allclose(ends[:, 0], (centre - fine.reach * width).min(axis=0))
    np.testing.assert_allclose(ends[:, -1], (centre + fine.reach * width).max(axis=0))
    nodes = grid(ends, needed, int(needed.max()), fine)
    for k, ballot in np.ndindex(3, 2):
        bell = np.exp(-(((nodes.x[ballot] - centre[k, ballot]) / width[k, ballot]) ** 2) / 2)
        area = (bell * nodes.half[ballot] * np.polynomial.legendre.leggauss(fine.nodes)[1]).sum()
        expected = np.sqrt(2 * np.pi) * width[k, ballot]
        assert area == pytest.approx(expected, rel=1e-8 if fine is DOUBLE else 1e-5)


def test_too_few_panels_become_wider_ones():
    ends, needed = breakpoints(np.zeros((1, 1)), np.full((1, 1), 0.01), np.ones((1, 1)), np.ones(1), DOUBLE)
    nodes = grid(ends, needed, 2, DOUBLE)
    assert needed[0] > 2
    assert nodes.x.shape == (1, 2, DOUBLE.nodes)
    np.testing.assert_allclose(2 * nodes.half.sum(), 2 * DOUBLE.reach)


def test_fineness_follows_the_precision():
    assert fineness(np.zeros(1)) == DOUBLE
    assert fineness(np.zeros(1, np.float32)) == SINGLE
