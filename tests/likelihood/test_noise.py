"""Observations that are not normal, against densities of SciPy and characteristic functions."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import veritally as vt
from veritally.likelihood import derivatives, log_likelihood, log_prob

NOISE = {
    "laplace": stats.laplace(scale=math.sqrt(1 / 2)),
    "student:3": stats.t(3, scale=math.sqrt(1 / 3)),
    "student:2.1": stats.t(2.1, scale=math.sqrt(0.1 / 2.1)),
    "student:30": stats.t(30, scale=math.sqrt(28 / 30)),
}


def characteristic(noise, t):
    """E exp(itx) of one observation with standard deviation 1."""
    if noise == "laplace":
        return 1 / (1 + t * t / 2)
    freedom = float(noise.partition(":")[2])
    x = np.maximum(math.sqrt(freedom - 2) * np.abs(t), 1e-9)
    return special.kv(freedom / 2, x) * x ** (freedom / 2) / (special.gamma(freedom / 2) * 2 ** (freedom / 2 - 1))


def ahead(noise, counts, difference):
    """P(x_1 > x_2) by the inversion of Gil-Pelaez."""

    def integrand(t):
        both = math.prod(characteristic(noise, t / c) ** c for c in counts)
        return np.sin(t * difference) * both / t

    u, weights = np.polynomial.legendre.leggauss(40)
    ends = np.concatenate([np.arange(0, 50, 0.5), np.arange(50, 1500, 2.0)])
    half = np.diff(ends)[:, None] / 2
    return 0.5 + np.sum(integrand(ends[:-1, None] + half * (1 + u)) * weights * half) / math.pi


@pytest.mark.parametrize("noise", NOISE)
def test_values(noise):
    """Measured: 8e-6 of a density of 2e-5, 2e-7 of others. Laplace's cusp at 0 is rounded off by 6e-4."""
    x = np.array([0.05, 0.5, 2, 5.0])
    got = log_prob(vt.Profile(values=x[:, None] * [1, 1]), truth=[0, 0], noise=noise) / 2
    np.testing.assert_allclose(got, NOISE[noise].logpdf(x), rtol=0, atol=2e-5)


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("difference", [-8.0, -1.0, -0.01, 0.3])
def test_two_alternatives(noise, difference):
    """Measured: 1e-7 of probabilities of 1e-7, 1e-8 of others."""
    one = NOISE[noise]
    parts = (
        [(-np.inf, 0), (0, np.inf)]
        if difference == 0
        else [(-np.inf, 0), (0, abs(difference)), (abs(difference), np.inf)]
    )
    expected = sum(
        integrate.quad(lambda x: one.pdf(x) * one.sf(x - difference), *part, epsabs=0, epsrel=1e-11, limit=500)[0]
        for part in parts
    )
    got = np.exp(log_prob(vt.Profile(ranks=[[1, 2]]), truth=[difference, 0], noise=noise))[0]
    assert got == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("noise", ["laplace", "student:3"])
@pytest.mark.parametrize("counts", [(1, 2), (2, 2), (5, 3), (20, 30)])
@pytest.mark.parametrize("difference", [0.01, 0.3, 1.0])
def test_means_of_several_observations(noise, counts, difference):
    """Measured: 2e-8."""
    got = np.exp(log_prob(vt.Profile(ranks=[[1, 2]], counts=[counts]), truth=[difference, 0], noise=noise))[0]
    assert got == pytest.approx(ahead(noise, counts, difference), rel=1e-7)


@pytest.mark.parametrize("noise", ["laplace", "student:3"])
def test_what_can_happen_sums_to_one(noise):
    counts, truth = [[1, 3, 20]], [0.3, -1, 0]

    def total(votes):
        return sum(np.exp(log_prob(vt.Profile(**vote, counts=counts), truth=truth, noise=noise))[0] for vote in votes)

    assert total({"ranks": [list(order)]} for order in itertools.permutations((1, 2, 3))) == pytest.approx(1, abs=1e-12)
    assert total({"top": [j]} for j in range(3)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("noise", ["laplace", "student:3"])
def test_derivatives_are_those_of_the_probability(noise):
    """Measured: 2e-9."""
    profile = vt.Profile(
        ranks=[[1, 2, 3, 4], [2, 1, 3, 0], [3, 4, 1, 2]], counts=[[1, 2, 30, 4], [7, 1, 1, 0], [9] * 4]
    )
    truth, h = np.array([0.5, -0.3, 0.2, 1.0]), 1e-4
    told = derivatives(profile, truth=truth, noise=noise)
    for j in range(4):
        step = h * np.eye(4)[j]
        above, below = (derivatives(profile, truth=truth + sign * step, noise=noise) for sign in (1, -1))
        np.testing.assert_allclose(told.gradient[:, j], (above.log_prob - below.log_prob) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(told.curvature[:, j], (above.gradient - below.gradient) / (2 * h), atol=1e-6)


def test_many_observations_are_normal():
    profile = vt.Profile(ranks=[[1, 3, 2]], counts=[[10**5, 10**6, 10**5]])
    truth = [0.001, 0, -0.001]
    for noise in ("laplace", "student:5"):
        assert log_likelihood(profile, truth=truth, noise=noise) == pytest.approx(
            log_likelihood(profile, truth=truth), abs=1e-4
        )
    assert log_likelihood(profile, truth=truth, noise="normal") == log_likelihood(profile, truth=truth)


@pytest.mark.parametrize("freedom", [2.01, 1000, 100_000])
def test_freedom_near_its_limits(freedom):
    """Measured: 6e-8; at 0 with 2.01 degrees, where the peak is sharp, 4e-7."""
    x = np.array([0.0, 0.5, 3.0])
    got = log_prob(vt.Profile(values=x[:, None] * [1, 1]), truth=[0, 0], noise=f"student:{freedom}") / 2
    scale = math.sqrt((freedom - 2) / freedom)
    np.testing.assert_allclose(got, stats.t(freedom, scale=scale).logpdf(x), atol=2e-6)


def test_noise_that_the_posterior_cannot_take():
    with pytest.raises(vt.InputError, match="laplace noise is for rankings"):
        vt.decide(vt.Profile(values=[[1.0, 0.0], [0.0, 1.1]]), noise="laplace", sigma=1, tau=1)
    with pytest.raises(vt.InputError, match="noise must be normal for differences"):
        vt.decide(vt.Profile(differences=[1.0, -0.5]), noise="student:3", sigma=1, tau=1)


def test_outliers_do_not_count_for_much():
    values = [[1.0, 0.0], [1.1, 0.1], [0.9, -0.1], [1.0, 0.0], [-30.0, 0.0]]
    told = {"sigma": 0.5, "tau": 3}
    assert vt.decide(vt.Profile(values=values), **told).winner == 1
    heavy = vt.decide(vt.Profile(values=values), **told, noise="student:3")
    assert heavy.winner == 0
    assert heavy.scores[0] == pytest.approx(1, abs=0.2)


def test_given_in_experiments():
    """One mean of each alternative with heavy tails, of which a normal makes too much."""
    rules = ["posterior", "posterior:noise=given"]
    found = vt.compare(
        vt.Scenario(voters=5, alternatives=3, experience="constant:1", noise="student:2.2", sigma=3),
        rules=rules,
        baseline="posterior",
        instances=600,
    )
    told = {row["rule"]: row for row in found.rows()}["posterior:noise=given"]
    assert told["difference"] < -3 * told["difference_se"]


@pytest.mark.parametrize(
    ("told", "counts", "message"),
    [
        ({"noise": "uniform"}, 1, "noise can be normal, laplace or student"),
        ({"noise": "bernoulli"}, 1, "noise can be normal, laplace or student"),
        ({"noise": "cauchy"}, 1, "cauchy"),
        ({"noise": "student:2"}, 1, "more than 2 degrees"),
        ({"noise": "laplace", "count_error": "replacement:0.1"}, 1, "leave one of them out"),
        ({"noise": "laplace"}, 1.5, "whole counts"),
        ({"noise": "laplace"}, 1e300, "whole counts up to 1,000,000"),
        ({"noise": "student:1e10"}, 1, "2.01 to 100,000 degrees"),
        ({"noise": "student:2.001"}, 1, "2.01 to 100,000 degrees"),
        ({"noise": "laplace", "cap": 2.5}, 3, "whole counts"),
    ],
)
def test_what_cannot_be_told(told, counts, message):
    profile = vt.Profile(ranks=[[1, 2]], counts=[[counts, counts]])
    with pytest.raises(vt.InputError, match=message):
        log_prob(profile, truth=[0, 0], **told)
    with pytest.raises(vt.InputError, match=message):
        vt.decide(profile, **told)
