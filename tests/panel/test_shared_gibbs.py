"""The sampler that others are checked with, against integrals, draws from the prior that fit the votes, and algebra.

Standard errors are those of how chains differ; differences of four of them, over the numbers compared here, come about
by chance once in some hundred seeds, and the seed is fixed.
"""

import numpy as np
import pytest
from algebra import conditioned
from gibbs import Comparisons, Rankings, Sampler, Values, summary
from scipy.special import ndtr

PRIOR = 1_500_000  # draws from the prior, of which those are kept that vote alike
ERRORS = 4


def near(found, expected, error=0.0):
    """Means, deviations or probabilities agree to within standard errors of both."""
    value, own = found
    np.testing.assert_array_less(np.abs(value[0] - expected), ERRORS * np.hypot(own[0], error) + 1e-12)


def loadings_of(groups, strength, n):
    """One factor for each group; −1 is nobody's."""
    groups = np.array(groups)
    each = groups[:, None] == np.arange(groups.max() + 1)
    return np.broadcast_to(strength * each[None, :, None, :], (1, len(groups), n, groups.max() + 1)).astype(float)


# Two alternatives: the difference of truths and those of shared errors, integrated


@pytest.mark.parametrize("wins", [(1, 1, 1), (1, 1, -1), (-1, 1, 1)])
def test_two_alternatives_by_integration(wins):
    """Δ ~ N(0, 2τ²), the difference of the shared errors is N(0, 2), and voter i prefers the first with Φ of both."""
    tau, wins = 0.8, np.array(wins)
    variance = np.array([[0.3, 0.5], [1.0, 0.2], [0.4, 0.4]])
    strength = np.array([1.2, 0.7, 0.0])
    tiers = np.where(wins[:, None] > 0, [0, 1], [1, 0])[None]
    loadings = np.broadcast_to(strength[None, :, None, None], (1, 3, 2, 1))
    grid = np.linspace(-8, 8, 801)
    delta, shared = (tau * 2**0.5 * grid)[:, None], 2**0.5 * grid
    density = np.exp(-(grid[:, None] ** 2 + grid**2) / 2)
    for win, own, loading in zip(wins, variance, strength, strict=True):
        density = density * ndtr(win * (delta + loading * shared) / np.sqrt(own.sum()))
    weight = density.sum(axis=1) / density.sum()
    mean = np.sum(weight * delta[:, 0])
    square = np.sum(weight * delta[:, 0] ** 2) - mean**2
    above = np.sum(weight[grid > 0]) + weight[grid == 0] / 2
    sampler = Sampler([Rankings(tiers, variance[None], loadings)], tau=tau, chains=100, seed=1)
    means, deviations, best = summary(sampler, 400, 50)
    near(means, [mean / 2, -mean / 2])
    near(deviations, np.sqrt(tau**2 / 2 + square / 4))  # of the sum, which nobody tells, and of the difference
    near(best, np.r_[above, 1 - above])


# More alternatives: draws from the prior whose votes are those given


def prior_draws(random, n, factors, tau):
    return tau * random.standard_normal((PRIOR, n)), random.standard_normal((PRIOR, factors, n))


def in_order(x, tiers):
    """Whether x is in the order of the tiers, ties being any."""
    fits = np.ones(len(x), dtype=bool)
    for tier in range(max(tiers)):
        upper, lower = ([j for j, own in enumerate(tiers) if own == tier + step] for step in (0, 1))
        fits &= x[:, upper].min(axis=1) > x[:, lower].max(axis=1)
    return fits


def of_accepted(truth):
    """Means, deviations and P(best) of draws, with their standard errors."""
    number = len(truth)
    assert number > 2000
    best = truth == truth.max(axis=1, keepdims=True)
    deviation = truth.std(axis=0)
    return (
        (truth.mean(axis=0), deviation / number**0.5),
        (deviation, deviation / (2 * number) ** 0.5),
        (best.mean(axis=0), best.std(axis=0) / number**0.5),
    )


BALLOTS = {
    "full rankings of a group": ([[0, 1, 2], [0, 2, 1], [2, 1, 0]], [0, 0, -1]),
    "two groups": ([[0, 1, 2], [0, 1, 2], [1, 0, 2], [0, 1, 2]], [0, 0, 1, 1]),
    "ties": ([[0, 0, 1], [0, 1, 1], [0, 1, 2]], [0, 0, -1]),
    "ties in the middle": ([[0, 1, 1, 2], [1, 0, 1, 2]], [0, 0]),
    "partial": ([[0, 1, -1], [-1, 0, 1], [1, -1, 0], [0, 1, 2]], [0, 0, 0, -1]),
    "favourites": ([[0, 1, 1, 1], [1, 0, 1, 1], [0, 1, 1, -1]], [0, -1, 0]),
}


@pytest.mark.parametrize("case", BALLOTS)
def test_rankings_by_draws_that_fit(case):
    ballots, groups = BALLOTS[case]
    m, n = np.shape(ballots)
    random = np.random.default_rng(2)
    variance = random.uniform(0.2, 1.0, (m, n))
    loadings = loadings_of(groups, 0.9, n)
    truth, shared = prior_draws(random, n, loadings.shape[-1], 1.0)
    fits = np.ones(PRIOR, dtype=bool)
    for own, tiers in enumerate(ballots):
        seen = np.flatnonzero(np.array(tiers) >= 0)
        z = truth[fits] + np.einsum("jf,dfj->dj", loadings[0, own], shared[fits])
        x = z + np.sqrt(variance[own]) * random.standard_normal(z.shape)
        fits[fits] = in_order(x[:, seen], [tiers[j] for j in seen])
    sampler = Sampler([Rankings(np.array(ballots)[None], variance[None], loadings)], tau=1.0, chains=100, seed=3)
    for found, (expected, error) in zip(summary(sampler, 600, 60), of_accepted(truth[fits]), strict=True):
        near(found, expected, error)


def test_comparisons_by_draws_that_fit():
    """Each is a fresh look at both; the error that a voter shares with another stays the same."""
    random = np.random.default_rng(4)
    voter, winner, loser = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 1, 2, 1]), np.array([1, 2, 0, 1, 2])
    variance, loadings = random.uniform(0.2, 1.0, (3, 3)), loadings_of([0, 0, -1], 1.1, 3)
    truth, shared = prior_draws(random, 3, 1, 1.3)
    fits = np.ones(PRIOR, dtype=bool)
    for i, j, k in zip(voter, winner, loser, strict=True):
        looks = [
            truth[:, a]
            + loadings[0, i, a, 0] * shared[:, 0, a]
            + np.sqrt(variance[i, a]) * random.standard_normal(PRIOR)
            for a in (j, k)
        ]
        fits &= looks[0] > looks[1]
    block = Comparisons(voter[None], winner[None], loser[None], variance[None], loadings)
    sampler = Sampler([block], tau=1.3, chains=100, seed=5)
    for found, (expected, error) in zip(summary(sampler, 600, 60), of_accepted(truth[fits]), strict=True):
        near(found, expected, error)


# Values: algebra


@pytest.mark.parametrize("leniency", [0.0, 1.5])
@pytest.mark.parametrize("flat_mean", [False, True])
def test_values_by_algebra(leniency, flat_mean):
    random = np.random.default_rng(6)
    x, variance = 3 + random.standard_normal((4, 5)), random.uniform(0.1, 1.0, (4, 5))
    x[0, 3] = x[2, 1] = np.nan
    loadings = random.standard_normal((4, 5, 2))
    mean, covariance = conditioned(x, variance, loadings, 0.7, leniency, flat_mean)
    block = Values(x[None], variance[None], loadings[None])
    sampler = Sampler([block], tau=0.7, chains=100, seed=7, leniency=leniency, flat_mean=flat_mean)
    exact = sampler.exact()
    np.testing.assert_allclose(exact[0][0], mean, rtol=1e-9)
    np.testing.assert_allclose(exact[1][0], covariance, rtol=1e-8, atol=1e-10)
    means, deviations, _ = summary(sampler, 200, 1)
    near(means, mean)
    near(deviations, np.sqrt(np.diag(covariance)))


def test_values_beside_rankings():
    """Of the draws that values leave, those are kept in which the rankings come out as given."""
    random = np.random.default_rng(8)
    x, variance = random.standard_normal((2, 3)), random.uniform(0.2, 1.0, (2, 3))
    loadings = loadings_of([0, -1], 0.8, 3)
    mean, covariance = Sampler([Values(x[None], variance[None], loadings)], tau=1.0, flat_mean=True).exact()
    # A voter of the same group besides: the error is drawn given the truth and the values of the first voter.
    truth = random.multivariate_normal(mean[0], covariance[0], PRIOR)
    share = 0.8**2 / (0.8**2 + variance[0])
    error = share * (x[0] - truth) + np.sqrt(0.8**2 * (1 - share)) * random.standard_normal(truth.shape)
    votes = truth + error + 0.5 * random.standard_normal(truth.shape)
    fits = in_order(votes, [0, 2, 1])
    blocks = [
        Values(x[None], variance[None], loadings),
        Rankings(np.array([[[0, 2, 1]]]), np.full((1, 1, 3), 0.25), loadings[:, :1]),
    ]
    sampler = Sampler(blocks, tau=1.0, chains=100, seed=9, flat_mean=True)
    for found, (expected, error) in zip(summary(sampler, 600, 60), of_accepted(truth[fits]), strict=True):
        near(found, expected, error)


def test_decisions_of_a_batch_do_not_meet():
    """A decision among others is as one alone, to within standard errors."""
    ballots = np.array([[[0, 1, 2], [0, 1, 2]], [[2, 1, 0], [1, 0, -1]]])
    variance, loadings = np.full((2, 2, 3), 0.4), np.repeat(loadings_of([0, 0], 0.7, 3), 2, axis=0)
    both = summary(Sampler([Rankings(ballots, variance, loadings)], tau=1, chains=60, seed=10), 500, 50)
    alone = summary(Sampler([Rankings(ballots[1:], variance[1:], loadings[1:])], tau=1, chains=60, seed=11), 500, 50)
    for (value, error), one in zip(both, alone, strict=True):
        near(one, value[1], error[1])
