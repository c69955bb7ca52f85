"""Draws of the truths: points that are spread evenly, and two alternatives on a line."""

import numpy as np
import pytest
from scipy import integrate, special

import veritally as vt
from veritally.inference import sampling
from veritally.inference.belief import summarised
from veritally.model.means import VoterMeans

DRAWS = 1024

# Points


@pytest.mark.parametrize("seed", [0, 7])
def test_each_coordinate_is_spread_evenly(seed):
    """Also beyond those that the lattice has."""
    points = sampling.lattice(60, seed)
    assert points.shape == (60, DRAWS)
    np.testing.assert_allclose(np.diff(np.sort(points, axis=-1)), 1 / DRAWS, atol=1e-12)
    assert ((points > 0) & (points < 1)).all()


def test_coordinates_do_not_depend_on_how_many_there_are():
    np.testing.assert_array_equal(sampling.lattice(60, 3)[:5], sampling.lattice(5, 3))
    assert not np.array_equal(sampling.lattice(5, 3), sampling.lattice(5, 4))


def test_coordinates_have_little_to_do_with_each_other():
    """Of ten alternatives; 1024 independent draws would be correlated by 0.03, and by 0.1 for the worst of 66 pairs."""
    for seed in range(5):
        together = np.corrcoef(special.ndtri(sampling.lattice(12, seed)))
        assert np.max(np.abs(together - np.eye(12))) < 0.07


MEANS, DEVIATIONS = np.array([0.5, 0.0, -1.0]), np.array([1.0, 2.0, 0.5])


def best_of_normals():
    """P(best) of independent normals, by integration over the best of them."""

    def density(x, j):
        z = (x - MEANS) / DEVIATIONS
        others = np.prod(np.delete(special.ndtr(z), j))
        return np.exp(-(z[j] ** 2) / 2) / np.sqrt(2 * np.pi) / DEVIATIONS[j] * others

    return [integrate.quad(density, -15, 15, args=(j,))[0] for j in range(3)]


@pytest.mark.parametrize("seed", range(5))
def test_who_is_best_of_three_normals(seed):
    """Within 0.01; independent draws would have a standard error of 0.016. Measured: 0.004."""
    draws = MEANS[:, None] + DEVIATIONS[:, None] * special.ndtri(sampling.lattice(5, seed)[2:])
    nothing = dict.fromkeys(("sigma", "tau", "scale", "count_error", "omega", "exact", "in_sigma"), np.zeros(1))
    belief = summarised(
        draws[None], np.ones((1, 3), dtype=bool), winner=np.zeros(1, int), unit=np.ones((1, DRAWS)), **nothing
    )
    np.testing.assert_allclose(belief.p_best[0], best_of_normals(), atol=0.01)
    np.testing.assert_allclose(belief.mean[0], MEANS, atol=0.01)
    np.testing.assert_allclose(belief.deviation[0], DEVIATIONS, rtol=0.01)


# Two alternatives on a line

LINES = {
    "unanimous": ([1, 1, 1, 1], [[1, 1], [1, 4], [2, 2], [9, 1]]),
    "one against three": ([1, 1, 1, -1], [[1, 1], [1, 4], [2, 2], [9, 1]]),
    "one who saw much": ([1, 1, 1, -1], [[1, 1], [1, 4], [2, 2], [900, 900]]),
    "one": ([1], [[1, 1]]),
}
LITTLE_NOISE = [
    (case, sigma, tau) for case in LINES for sigma, tau in ((0.01, 1.0), (0.1, 1.0), (0.3, 3.0), (2.0, 1.0))
]


def pair(wins, counts):
    return vt.Profile(ranks=[[1, 2] if win > 0 else [2, 1] for win in wins], counts=counts)


def exact_gap(wins, counts, sigma, tau):
    """P(first is better), the mean of the difference, and its standard deviation, by a sum that is fine around 0."""
    s = sigma * np.sqrt(np.sum(1 / np.array(counts), axis=-1))
    x = np.linspace(-1, 1, 100_000) * np.arcsinh(12 * tau / s.min())
    gap = s.min() * np.sinh(x)
    log = sum(special.log_ndtr(win * gap / own) for win, own in zip(wins, s, strict=True)) - (gap / tau) ** 2 / 4
    weight = np.exp(log - log.max()) * np.cosh(x)
    weight /= weight.sum()
    mean = np.sum(weight * gap)
    return np.sum(weight[gap > 0]), mean, np.sqrt(np.sum(weight * (gap - mean) ** 2))


@pytest.mark.parametrize(("case", "sigma", "tau"), LITTLE_NOISE)
def test_two_alternatives_are_drawn_from_the_exact_density(case, sigma, tau):
    """From about the right place. Measured: 0.0024 of P, 0.002 of a standard deviation, itself to 1%."""
    wins, counts = LINES[case]
    better, mean, deviation = exact_gap(wins, counts, sigma, tau)
    points = sampling.lattice(4, 0)
    start = (mean + 0.5 * deviation + 1.3 * deviation * special.ndtri(points[2])) / 2
    ballots = pair(wins, counts).ballots.map(lambda x: x[None])
    means = VoterMeans(np.full((1, 1, 2), sigma))
    first, second = sampling._on_a_line(points, ballots, means, np.array([tau]), np.stack([start, -start])[None])[0]
    assert np.mean(first > second) == pytest.approx(better, abs=0.003)
    assert np.all(np.diff((first - second)[np.argsort(points[2])]) >= 0)  # so that it goes with its point
    assert np.mean(first - second) == pytest.approx(mean, abs=0.01 * deviation)
    assert np.std(first - second) == pytest.approx(deviation, rel=0.02)
    assert np.mean(first + second) == pytest.approx(0, abs=0.02 * tau)  # of which votes tell nothing
    assert np.std(first + second) == pytest.approx(tau * 2**0.5, rel=0.02)


def test_lines_of_several_decisions_are_their_own():
    wins, counts = LINES["unanimous"]
    profiles = [pair(wins, counts), pair([-win for win in wins], counts), pair(wins, np.array(counts) * 5)]
    outcome = vt.decide(vt.stack(profiles), sigma=0.1, tau=1)
    assert outcome.belief.exact.all()
    for d, profile in enumerate(profiles):
        np.testing.assert_allclose(outcome.unstack()[d].p_best, vt.decide(profile, sigma=0.1, tau=1).p_best, atol=1e-9)


@pytest.mark.parametrize("sigma", [0.1, 0.001])
def test_the_unanimous_are_sure_where_there_is_little_noise(sigma):
    wins, counts = LINES["unanimous"]
    outcome = vt.decide(pair(wins, counts), sigma=sigma, tau=1)
    assert outcome.belief.exact
    assert outcome.p_best[0] == pytest.approx(exact_gap(wins, counts, sigma, 1.0)[0], abs=0.003)
