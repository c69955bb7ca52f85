"""The posterior against closed forms, brute force and numerical integration."""

import json
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

import veritally as vt
from support import random_profile, values_profiles
from veritally import likelihood
from veritally.inference import propagation
from veritally.inference.dispersion import dispersion
from veritally.model import Percentage, Replacement
from veritally.rules.posterior import Posterior

CYCLE = vt.Profile(order=[["A", "B", "C"], ["B", "C", "A"], ["C", "A", "B"]], counts=[[3, 5, 7], [7, 3, 5], [5, 7, 3]])


def posterior(profile, **given):
    return vt.decide(profile, "posterior", **given)


# Closed forms


def gaussian(values, counts, sigma, tau):
    """Mean and covariance of the truths, with their common mean as one more unknown that has a flat prior."""
    n = values.shape[-1]
    precision = np.zeros((n + 1, n + 1))
    precision[:n, :n] = np.diag(counts.sum(axis=0) / np.square(sigma) + tau**-2)
    precision[:n, n] = precision[n, :n] = -(tau**-2)
    precision[n, n] = n * tau**-2
    right = np.append(np.nansum(counts * values, axis=0) / np.square(sigma), 0)
    return np.linalg.solve(precision, right)[:n], np.linalg.inv(precision)[:n, :n]


@settings(max_examples=20)
@given(
    values_profiles(blanks=False),
    st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=5, max_size=5),
    st.sampled_from([0.3, 1.0, 10.0]),
)
def test_values_have_a_gaussian_posterior(profile, sigma, tau):
    sigma = sigma[: profile.shape[-1]]
    rule = vt.rule("posterior", sigma=tuple(sigma), tau=tau, leniency=0)
    expected, _ = gaussian(profile.values, profile.counts, sigma, tau)
    np.testing.assert_allclose(rule.scores(profile.ballots), expected, rtol=1e-8, atol=1e-8)


def test_belief_of_values_is_the_gaussian_posterior():
    """By 1024 draws that are spread evenly."""
    profile = random_profile(3, voters=4, alternatives=3, kind="values", zeros=True)
    belief = posterior(profile, sigma=2.0, tau=0.7, leniency=0).belief
    mean, covariance = gaussian(profile.values, profile.counts, 2.0, 0.7)
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(belief.mean, mean, atol=0.05 * deviation.min())
    np.testing.assert_allclose(belief.deviation, deviation, rtol=0.05)
    np.testing.assert_allclose(belief.low, mean - 1.96 * deviation, atol=0.2 * deviation.max())
    np.testing.assert_allclose(belief.high, mean + 1.96 * deviation, atol=0.2 * deviation.max())
    gap = mean[0] - mean[1]
    spread = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert belief.p_above[0, 1] == pytest.approx(special.ndtr(gap / spread), abs=0.03)


def test_differences_have_a_gaussian_posterior():
    """Both truths are N(0, τ²), so that Δ is N(0, 2τ²)."""
    x, counts, tau = np.array([1.0, -0.5, 2.0]), np.array([[1, 2], [4, 4], [9, 1]]), 0.8
    s2 = (1 / counts).sum(axis=1)
    delta = (x / s2).sum() / ((1 / s2).sum() + 1 / (2 * tau**2))
    outcome = posterior(vt.Profile(differences=x, counts=counts), sigma=1, tau=tau)
    np.testing.assert_allclose(outcome.scores, [-delta / 2, delta / 2], rtol=1e-9)


# Brute force on rankings


def pair_log_posterior(delta, wins, s, tau):
    """log P(Δ | votes) on two alternatives: Δ ~ N(0, 2τ²), and voter i says the truth with Φ(Δ/s_i)."""
    return sum(special.log_ndtr(w * delta / si) for w, si in zip(wins, s, strict=True)) - delta**2 / (4 * tau**2)


PAIRS = {
    "one voter": ([1], [[1, 1]], 1.0),
    "five voters": ([1, 1, -1, 1, -1], [[1, 1], [4, 9], [2, 1], [7, 1], [1, 1]], 1.0),
    "unanimous": ([1] * 5, [[3, 3]] * 5, 2.0),
}


def pair_profile(wins, counts):
    return vt.Profile(ranks=[[1, 2] if w > 0 else [2, 1] for w in wins], counts=counts)


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("sigma", [(1.0, 1.0), (0.5, 3.0)])
def test_mode_of_two_alternatives(case, sigma):
    wins, counts, tau = PAIRS[case]
    s = np.sqrt((np.square(sigma) / counts).sum(axis=1))
    best = optimize.minimize_scalar(
        lambda delta: -pair_log_posterior(delta, wins, s, tau), bracket=(-1, 1), options={"xtol": 1e-12}
    ).x
    got = posterior(pair_profile(wins, counts), sigma=sigma, tau=tau, estimate="mode").scores
    np.testing.assert_allclose(got, [best / 2, -best / 2], atol=1e-6)


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize(("sigma", "near"), [((1.0, 1.0), 0.03), ((0.5, 3.0), 0.03), ((0.05, 0.05), 0.16)])
def test_mean_of_two_alternatives(case, sigma, near):
    """Against the integral of the exact posterior, in standard deviations; that of an all but certain order is half a
    normal, which is harder to match."""
    wins, counts, tau = PAIRS[case]
    s = np.sqrt((np.square(sigma) / counts).sum(axis=1))
    delta = np.linspace(-12 * tau, 12 * tau, 100_001)
    log = pair_log_posterior(delta, wins, s, tau)
    weight = np.exp(log - log.max())
    mean = np.average(delta, weights=weight)
    deviation = np.sqrt(np.average((delta - mean) ** 2, weights=weight))
    outcome = posterior(pair_profile(wins, counts), sigma=sigma, tau=tau)
    np.testing.assert_allclose(outcome.scores, [mean / 2, -mean / 2], atol=near * deviation / 2)
    np.testing.assert_allclose(outcome.belief.deviation, deviation / 2, rtol=0.05)


@pytest.mark.parametrize("case", PAIRS)
def test_probability_and_regret_of_two_alternatives(case):
    """Against the integral of the exact posterior: over 12 seeds p_best is at most 0.01 off for all three cases."""
    wins, counts, tau = PAIRS[case]
    s = np.sqrt((1 / np.array(counts)).sum(axis=1))
    density = lambda delta: math.exp(pair_log_posterior(delta, wins, s, tau))  # noqa: E731
    below, above = (integrate.quad(density, *ends)[0] for ends in ((-20 * tau, 0), (0, 20 * tau)))
    lost = [
        integrate.quad(lambda d: max(-d, 0) * density(d), -20 * tau, 0)[0] / (below + above),
        integrate.quad(lambda d: max(d, 0) * density(d), 0, 20 * tau)[0] / (below + above),
    ]
    outcome = posterior(pair_profile(wins, counts), sigma=1, tau=tau)
    np.testing.assert_allclose(outcome.p_best, np.array([above, below]) / (below + above), atol=0.02)
    np.testing.assert_allclose(outcome.expected_regret, lost, atol=0.03 * tau)
    assert outcome.expected_regret.argmin() == outcome.scores.argmax()


def test_one_voter_on_two_alternatives_has_a_closed_form():
    """P(Δ > 0 | x > 0) = 1/2 + arctan(√2 τ/s)/π for a normal x around a normal Δ."""
    for count in (1, 10, 100):
        expected = 0.5 + math.atan(math.sqrt(2) / math.sqrt(2 / count)) / math.pi
        p_best = posterior(vt.Profile(ranks=[[1, 2]], counts=[[count, count]]), sigma=1, tau=1).p_best
        assert p_best[0] == pytest.approx(expected, abs=0.02)


GRID = np.linspace(-15, 15, 6001)


def log_chain(truth, order, s):
    """log P(x_a > x_b > x_c), integrated over the middle one by the trapezoidal rule."""
    a, b, c = order
    logs = stats.norm.logpdf(GRID, truth[b], s[b])
    logs = logs + special.log_ndtr((truth[a] - GRID) / s[a]) + special.log_ndtr((GRID - truth[c]) / s[c])
    return special.logsumexp(logs) + math.log(GRID[1] - GRID[0])


@pytest.mark.parametrize(
    ("sigma", "tau"), [pytest.param((1.0, 1.0, 1.0), 1.0, marks=pytest.mark.slow), ((2.0, 0.7, 1.0), 0.5)]
)
def test_mode_of_three_alternatives(sigma, tau):
    orders = [(0, 1, 2), (1, 0, 2), (2, 0, 1), (0, 2, 1)]
    counts = np.array([[1, 1, 1], [2, 5, 1], [9, 1, 3], [1, 2, 4]])
    s = np.array(sigma) / np.sqrt(counts)

    def negative(truth):
        told = sum(log_chain(truth, order, own) for order, own in zip(orders, s, strict=True))
        return np.square(truth).sum() / (2 * tau**2) - told

    best = optimize.minimize(negative, np.zeros(3), method="BFGS", options={"gtol": 1e-6}).x
    profile = vt.Profile(order=[list(order) for order in orders], counts=counts)
    np.testing.assert_allclose(posterior(profile, sigma=sigma, tau=tau, estimate="mode").scores, best, atol=1e-5)

    # The mean, over a grid of both differences; what is left, the common shift, is 0 on average.
    axis = np.linspace(-5, 5, 25) * tau
    first, second = (x.ravel() for x in np.meshgrid(axis, axis))
    truths = np.stack([(2 * first - second) / 3, (2 * second - first) / 3, -(first + second) / 3], axis=-1)
    weight = np.exp(-np.array([negative(truth) for truth in truths]) + negative(best))
    mean = np.average(truths, weights=weight, axis=0)
    deviation = np.sqrt(np.average((truths - mean) ** 2, weights=weight, axis=0))
    np.testing.assert_allclose(posterior(profile, sigma=sigma, tau=tau).scores, mean, atol=0.03 * deviation.min())


@pytest.mark.parametrize("kind", ["rankings", "top"])
def test_scores_are_the_pull_of_the_voters_at_the_mode(kind):
    profile = random_profile(4, voters=7, alternatives=4, kind=kind, zeros=True)
    outcome = posterior(profile, sigma=2.0, tau=0.6, estimate="mode")
    pulls = likelihood.derivatives(profile, truth=outcome.scores, sigma=2.0, order=1).gradient
    np.testing.assert_allclose(0.6**2 * pulls.sum(axis=0), outcome.scores, atol=1e-8)
    np.testing.assert_allclose(outcome.weights, 0.6**2 * pulls, atol=1e-8)


@pytest.mark.parametrize("given", [{"sigma": 2.0, "tau": 0.6}, {}], ids=["given", "estimated"])
@pytest.mark.parametrize("kind", ["rankings", "top", "values"])
def test_weights_sum_to_the_mean(kind, given):
    profile = random_profile(4, voters=7, alternatives=4, kind=kind, zeros=True)
    outcome = posterior(profile, **given)
    np.testing.assert_allclose(outcome.weights.sum(axis=0), outcome.scores, atol=1e-9)


@pytest.mark.parametrize("case", ["unanimous", "favourites", "sparse", "surprising"])
def test_mean_lies_where_exact_draws_are(case):
    """By ballots that leave room on one side only, to a quarter of a standard deviation; the mode is up to 1.5 off."""
    profile = {
        "unanimous": vt.Profile(ranks=[[1, 2, 3, 4]] * 3, counts=[[50] * 4] * 3),
        "favourites": vt.Profile(top=[0, 0, 1], counts=[[30] * 4] * 3),
        "sparse": vt.Profile(
            ranks=[[1, 2, 0, 0], [1, 0, 0, 2], [0, 1, 2, 0], [0, 0, 1, 2]],
            counts=[[9, 9, 0, 0], [9, 0, 0, 9], [0, 9, 9, 0], [0, 0, 9, 9]],
        ),
        "surprising": vt.Profile(ranks=[[1, 2, 3, 4], [4, 3, 2, 1]], counts=[[400] * 4, [9] * 4]),
    }[case]
    outcome = posterior(profile, sigma=1, tau=1)
    belief = outcome.belief
    assert belief.exact
    np.testing.assert_allclose(outcome.scores, belief.mean, atol=0.25 * belief.deviation.min())


# What it says about itself


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("kind", ["values", "rankings", "top"])
def test_probabilities_add_up(kind, seed):
    belief = posterior(random_profile(seed, voters=4, alternatives=4, kind=kind)).belief
    assert belief.p_best.sum() == pytest.approx(1)
    np.testing.assert_allclose(belief.p_rank.sum(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(belief.p_rank.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(belief.p_rank[:, 0], belief.p_best, atol=1e-6)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose((belief.p_above + belief.p_above.T)[off], 1, atol=1e-9)
    assert (belief.low <= belief.mean).all()
    assert (belief.mean <= belief.high).all()
    assert belief.scale[1] <= belief.scale[0] <= belief.scale[2]


@pytest.mark.parametrize(
    "votes",
    [{"ranks": [[1, 2, 3]]}, {"top": [0], "counts": [[1, 1, 1]]}, {"values": [[3.0, 2.0, 1.0]]}],
    ids=["ranking", "top", "values"],
)
def test_one_voter_is_not_certain(votes):
    outcome = posterior(vt.Profile(**votes))
    assert outcome.winners == [0]
    assert 1 / 3 < outcome.p_best[0] < 0.99


def unanimous(voters):
    """P(best) where all say 0 > 1 > 2 once seen and σ is unknown: by draws of μ ~ N(0, 1) and log σ.

    The latter is as likely as not that of pure noise, else it is N(0, 2²).
    """
    rng = np.random.default_rng(0)
    truth, sigma = rng.normal(size=(20_000, 3)), np.exp(2 * rng.normal(size=20_000))
    sigma[::2] = 1e6
    a, b, c = (truth / sigma[:, None]).T[..., None]
    z = np.linspace(-8, 8, 201)
    chain = stats.norm.pdf(z) * special.ndtr(a - b - z) * special.ndtr(z + b - c)
    weight = (chain.sum(axis=1) * (z[1] - z[0])) ** voters
    return np.bincount(truth.argmax(axis=1), weight, minlength=3) / weight.sum()


@pytest.mark.parametrize("voters", [1, 3, 10, 50])
def test_unanimity_is_as_sure_as_its_voters_are_many(voters):
    """About 0.49, 0.90, 1.00 and 1.00 for the first."""
    p_best = posterior(vt.Profile(ranks=[[1, 2, 3]] * voters)).p_best
    np.testing.assert_allclose(p_best, unanimous(voters), atol=0.03)


def test_a_small_unanimous_panel_is_not_certain():
    assert posterior(vt.Profile(ranks=[[1, 2, 3]] * 3)).p_best[0] < 0.99


def test_best_choice_regrets_least():
    outcome = posterior(random_profile(6, voters=5, alternatives=4))
    assert outcome.expected_regret.argmin() == outcome.scores.argmax()


@pytest.mark.parametrize("seed", [2, 10])
def test_regret_is_never_negative(seed):
    outcome = posterior(random_profile(seed, voters=4, alternatives=4), seed=seed)
    assert (outcome.expected_regret >= 0).all()


def test_credible_and_indistinct_follow_from_the_belief():
    outcome = posterior(random_profile(7, voters=8, alternatives=4), sigma=1, tau=1)
    order = np.argsort(-outcome.p_best)
    k = len(outcome.credible)
    assert outcome.credible == [int(j) for j in order[:k]]
    assert outcome.p_best[order[:k]].sum() >= 0.95 > outcome.p_best[order[: k - 1]].sum()
    best = outcome.winner
    assert set(outcome.indistinct) == {j for j in range(4) if j != best and outcome.belief.p_above[best, j] <= 0.975}
    assert vt.decide(random_profile(7, voters=3), "borda").belief is None


SOME = {
    "values": vt.Profile(values=[[3.0, 2.0, 1.0], [3.5, 1.0, 1.5], [2.0, 2.5, 1.0]]),
    "differences": vt.Profile(differences=[2.0, 1.5, 3.0], counts=[[1, 1]] * 3),
    "rankings": vt.Profile(ranks=[[1, 2, 3], [1, 3, 2], [2, 1, 3]]),
    "top": vt.Profile(top=[0, 0, 1], counts=[[1, 1, 1]] * 3),
    "pairs": vt.Profile(pairs=[[[0, 5, 6], [1, 0, 4], [1, 2, 0]]]),
}


@pytest.mark.parametrize("kind", SOME)
def test_an_interval_leaves_0_out_exactly_where_the_winner_is_clearly_better(kind):
    outcome = posterior(SOME[kind])
    belief, names, first = outcome.belief, outcome.alternatives, outcome.alternatives.index(outcome.winner)
    assert belief.distance[first] == belief.distance_low[first] == belief.distance_high[first] == 0
    np.testing.assert_array_equal(belief.distance_low > 0, belief.p_above[first] > 0.975)
    near = [
        name for name, low in zip(names, belief.distance_low, strict=True) if not low > 0 and name != outcome.winner
    ]
    assert sorted(outcome.indistinct) == near
    others = np.arange(len(names)) != first
    assert (belief.distance_low < belief.distance)[others].all()
    assert (belief.distance < belief.distance_high)[others].all()


@pytest.mark.parametrize("kind", SOME)
def test_distances_are_in_the_unit_of_votes_that_have_one_and_else_in_sigma(kind):
    """So that another unit for σ and τ changes no distance of ordinal votes."""
    profile = SOME[kind]
    once, tenfold = (posterior(profile, sigma=2 * unit, tau=1 * unit) for unit in (1, 10))
    numbers = kind in ("values", "differences")
    assert once.distance_unit == ("votes" if numbers else "noise of one observation")
    expected = (once.belief.mean[once.winner] - once.belief.mean) / (1 if numbers else 2)
    np.testing.assert_allclose(once.belief.distance, expected, atol=1e-9)
    if not numbers:
        np.testing.assert_allclose(tenfold.belief.distance, once.belief.distance, rtol=1e-5)
        np.testing.assert_allclose(tenfold.belief.distance_low, once.belief.distance_low, rtol=1e-5)


def test_mixed_votes_have_the_unit_of_the_numbers_among_them():
    told = {"sigma": 1, "tau": 1}
    assert posterior([SOME["rankings"], SOME["values"]], **told).distance_unit == "votes"
    assert posterior([SOME["rankings"], SOME["top"]], **told).distance_unit == "noise of one observation"
    batch = posterior(vt.stack([SOME["rankings"], SOME["values"]]), **told)
    assert batch.distance_unit == ["noise of one observation", "votes"]
    assert batch.to_frame()["distance_unit"].to_list() == ["noise of one observation"] * 3 + ["votes"] * 3


def test_intervals_of_distances_shrink_with_votes_though_those_of_truths_do_not():
    """A hundred times the votes leave a tenth of the width; of the first truth in τ, nearly all."""
    ranks, times = [[1, 2, 3], [2, 1, 3], [1, 3, 2], [2, 3, 1]], np.array([5, 3, 4, 1])
    few, many = (posterior(vt.Profile(ranks=ranks, multiplicity=times * k)).belief for k in (1, 100))
    widths = [(one.distance_high - one.distance_low)[1:] for one in (few, many)]
    assert (widths[1] < 0.15 * widths[0]).all()
    assert many.high[0] - many.low[0] > 0.5 * (few.high[0] - few.low[0])


@pytest.mark.parametrize("tie_break", ["error", "first", "random"])
def test_distances_are_from_the_first_of_those_that_tie(tie_break):
    profile = vt.Profile(order=[["A", "C", "B"], ["C", "A", "B"]], alternatives=["B", "A", "C"])
    for seed in range(4):
        outcome = posterior(profile, tie_break=tie_break, seed=seed)
        assert outcome.winners == ["A", "C"]
        assert outcome.fit.winner == outcome.tier_positions[0][0] == 1
        assert outcome.belief.distance[1] == 0 != outcome.belief.distance[2]
        assert set(outcome.indistinct) >= {"A", "C"} - {outcome.ordered[0]}
        assert outcome.ordered[0] not in outcome.indistinct


@pytest.mark.filterwarnings("ignore:no evidence about A")
def test_an_alternative_that_nobody_saw_is_no_winner_and_has_no_distance():
    profile = vt.Profile(ranks=[[0, 2, 1], [0, 2, 1]], counts=[[0, 1, 1]] * 2, alternatives=["A", "B", "C"])
    outcome = posterior(profile, choose=2)
    assert outcome.fit.winner == 2
    assert outcome.belief.distance.shape == (2,)
    assert outcome.to_dict()["distance"] == {"B": pytest.approx(outcome.belief.distance[0]), "C": 0}


def test_belief_is_the_same_for_the_same_seed():
    profile = random_profile(8, voters=4, alternatives=3)
    first, again, other = (posterior(profile, seed=seed).p_best for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# The scale


TRUTHS = (1.4, 0.7, 0.0, -0.7, -1.4)  # of standard deviation 0.99


@pytest.mark.parametrize("name", ["low-variance", "high-variance"])
def test_sigma_is_found_from_many_rankings(name):
    """σ/τ within half again its 95% interval: 3 standard deviations, a false alarm in 300 for an unknown seed."""
    trials = vt.simulate(name, voters=200, alternatives=5, prior=TRUTHS, votes="rankings", instances=1, seed=1)
    low, high = (math.log(end) for end in posterior(trials.profile.unstack()[0]).belief.scale[1:])
    truth = math.log(trials.scenario.sigma / np.std(TRUTHS))
    assert abs(truth - (low + high) / 2) < 1.5 * (high - low) / 2
    assert high - low < math.log(10)


def two_sigmas():
    trials = vt.simulate(
        "low-variance", voters=200, alternatives=2, prior=(0.0, 1.0), sigma=(1.0, 4.0), instances=1, seed=2
    )
    return trials.profile.unstack()[0]


def test_sigma_of_each_alternative_is_found_from_values():
    """A standard deviation from 200 values has a standard error of 5%; four of them, and 5% for what is shared."""
    profile = two_sigmas()
    told = dispersion(profile.values, profile.counts, profile.multiplicity)
    np.testing.assert_allclose(told.sigma, [1, 4], rtol=0.25)
    assert told.freedom == 398
    np.testing.assert_allclose(posterior(profile).belief.sigma, told.sigma, rtol=1e-6)


def test_dispersion_by_hand():
    """Squares of 1 and −1 around 0 with counts 1 and 1: 2 from one degree; the other alternative was seen once."""
    told = dispersion(np.array([[1.0, 5.0], [-1.0, np.nan]]), np.array([[1.0, 3.0], [1.0, 0.0]]), np.ones(2))
    assert told.freedom == 1
    np.testing.assert_allclose(told.sigma, math.sqrt(2))


def test_only_the_ratio_of_sigma_and_tau_matters_for_rankings():
    profile = random_profile(10, voters=5, alternatives=3)
    one, ten = posterior(profile, sigma=3, tau=1), posterior(profile, sigma=30, tau=10)
    np.testing.assert_allclose(ten.scores, 10 * one.scores, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ten.p_best, one.p_best, atol=0.01)
    np.testing.assert_allclose(posterior(profile, tau=10).scores, 10 * posterior(profile).scores, rtol=1e-4, atol=1e-5)


def test_tau_is_found_where_sigma_is_given():
    """Where the truths of many values are nearly known, τ is near their standard deviation: 20 truths, 16% each way."""
    trials = vt.simulate("high-variance", sigma=1, voters=50, alternatives=20, prior="normal:0:3", instances=1, seed=3)
    belief = posterior(trials.profile.unstack()[0], sigma=1).belief
    assert belief.tau == pytest.approx(np.std(trials.truth), rel=0.3)
    assert belief.tau == pytest.approx(3, rel=0.5)


# Counts


@pytest.mark.parametrize("given", [{"sigma": 1, "tau": 1}, {"sigma": 1}, {}], ids=["given", "tau", "sigma"])
def test_a_cap_is_capped_counts(given):
    profile = random_profile(11, voters=5, alternatives=3)
    capped = vt.Profile(ranks=profile.ranks, counts=np.minimum(profile.counts, 7))
    np.testing.assert_allclose(posterior(profile, cap=7, **given).scores, posterior(capped, **given).scores, atol=1e-6)


def test_a_cap_is_capped_counts_for_values():
    profile = random_profile(11, voters=5, alternatives=3, kind="values")
    capped = vt.Profile(values=profile.values, counts=np.minimum(profile.counts, 7))
    np.testing.assert_allclose(posterior(profile, cap=7).scores, posterior(capped).scores, rtol=1e-5)


BOAST = vt.Profile(
    order=[["A", "B"], ["B", "A"], ["B", "A"], ["A", "B"], ["B", "A"]],
    counts=[[49, 49], [2, 3], [4, 3], [1, 2], [5, 1]],
    voters=["boaster", "u", "v", "w", "x"],
)


@pytest.mark.parametrize("error", ["replacement:0.33", Replacement(0.33), "replacement"])
def test_a_claim_of_very_many_counts_for_less_where_counts_may_be_replaced(error):
    plain = posterior(BOAST, sigma=1, tau=1)
    doubted = posterior(BOAST, sigma=1, tau=1, count_error=error)
    lead = [one.scores[0] - one.scores[1] for one in (plain, doubted)]
    assert lead[0] > 0
    assert lead[1] < lead[0] - 0.01
    assert doubted.p_best[0] < plain.p_best[0]


def test_replaced_more_often_is_believed_less():
    errors = ["replacement:0", "replacement:0.2", "replacement:0.5", "replacement:1"]
    signed = [posterior(BOAST, sigma=1, tau=1, count_error=error).scores[0] for error in errors]
    assert signed == sorted(signed, reverse=True)
    np.testing.assert_allclose(signed[0], posterior(BOAST, sigma=1, tau=1).scores[0], atol=1e-7)


@pytest.mark.parametrize("error", ["percentage:0.5", Percentage(0.5), "percentage"])
def test_percentages_change_little(error):
    plain, doubted = (posterior(BOAST, sigma=1, tau=1, count_error=e).scores for e in (None, error))
    assert np.abs(plain - doubted).max() < 0.3 * np.abs(plain).max()
    assert (plain != doubted).any()


def test_mode_with_doubtful_counts_is_a_mode():
    """Central differences of the log-posterior vanish there; their error is of order h² = 1e-8."""
    given = {"sigma": 1.0, "count_error": "replacement:0.4"}
    mode = posterior(BOAST, tau=1, estimate="mode", **given).scores
    np.testing.assert_allclose(slopes([BOAST], mode, 1.0, given), 0, atol=1e-6)


@pytest.mark.parametrize("error", ["replacement:0.3", "replacement", "percentage:0.5"])
def test_doubtful_counts_and_an_unknown_sigma(error):
    """Sigmas far below the differences are tried on the way, under which some ballots are next to impossible."""
    profile = vt.Profile(
        ranks=[[3, 2, 1], [3, 2, 1], [3, 1, 2], [3, 2, 1]],
        counts=[[31, 24, 13], [8, 34, 36], [2, 6, 23], [20, 44, 26]],
    )
    outcome = posterior(profile, count_error=error)
    assert outcome.ranking == [[2], [1], [0]]
    assert np.abs(outcome.scores).max() < 3


# Leaving out, ties, kinds


@pytest.mark.parametrize(("estimate", "voters"), [("mean", 5), ("mean", 60), ("mode", 60)])
@pytest.mark.parametrize("kind", ["rankings", "top"])
def test_leaving_one_out_is_near_fitting_again(kind, estimate, voters):
    """What the others say is kept as it was, which costs some hundredths of a standard deviation."""
    given = {"sigma": 3, "tau": 1, "estimate": estimate}
    profile = random_profile(12, voters=voters, alternatives=3, kind=kind)
    outcome = posterior(profile, **given)
    without = outcome.method.leave_one_out(profile.ballots, outcome.fit).scores
    for i in (0, voters // 2):
        rest = posterior(profile.select(voters=[v for v in range(voters) if v != i]), **given)
        np.testing.assert_allclose(without[i], rest.scores, atol=0.1 * rest.belief.deviation.max())


@pytest.mark.parametrize("given", [{}, {"sigma": 1, "tau": 1}], ids=["estimated", "given"])
def test_symmetric_votes_tie(given):
    assert posterior(CYCLE, **given).winners == ["A", "B", "C"]
    pair = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[4, 9, 1], [9, 4, 1]])
    assert posterior(pair, **given).ranking == [[0, 1], [2]]
    np.testing.assert_allclose(posterior(CYCLE, **given).p_best, 1 / 3, atol=0.04)


def test_what_nobody_saw_is_left_out():
    profile = vt.Profile(ranks=[[1, 2, 0], [1, 2, 0]], counts=[[3, 3, 0]] * 2, alternatives=[*"ABC"])
    with pytest.warns(vt.InputWarning, match="no evidence about C"):
        outcome = posterior(profile)
    assert outcome.alternatives == ("A", "B")
    assert len(outcome.p_best) == 2
    assert outcome.p_best.sum() == pytest.approx(1)
    assert outcome.belief.p_rank.shape == outcome.belief.p_above.shape == (2, 2)
    alone = posterior(profile.select(alternatives=["A", "B"]))
    np.testing.assert_allclose(outcome.scores, alone.scores, atol=1e-5)


def test_voters_with_the_most_to_say_are_heard_most():
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], counts=[[9, 9], [1, 1]], voters=["knows", "guesses"])
    outcome = posterior(profile)
    assert outcome.winner == 0
    assert outcome.explain().pivotal == {"knows": [1]}


def slopes(profiles, mode, tau, given, common=False):
    """Central differences of the log-posterior of several groups of voters together."""

    def value(truth):
        told = sum(float(likelihood.log_likelihood(profile, truth=truth, **given)) for profile in profiles)
        return told - np.square(truth - (truth.mean() if common else 0)).sum() / (2 * tau**2)

    steps = 1e-4 * np.eye(len(mode))
    return [(value(mode + h) - value(mode - h)) / 2e-4 for h in steps]


def test_votes_of_different_kinds_are_added():
    """Each kind by its own likelihood, on the same alternatives; with values among them the common mean is unknown."""
    values = random_profile(14, voters=3, alternatives=3, kind="values")
    groups = [
        vt.Profile(values=values.values, counts=values.counts, voters=["a", "b", "c"]),
        vt.Profile(ranks=[[1, 2, 3], [3, 1, 2]], counts=[[5, 5, 1], [2, 2, 9]], voters=["d", "e"]),
        vt.Profile(top=[2], counts=[[1, 2, 3]], voters=["f"]),
    ]
    outcome = posterior(groups, sigma=2.0, tau=1.5, estimate="mode")
    assert outcome.profile.kind == "mixed"
    assert outcome.profile.voters == tuple("abcdef")
    assert set(outcome.explain().contributions) == set("abcdef")
    np.testing.assert_allclose(slopes(groups, outcome.scores, 1.5, {"sigma": 2.0}, common=True), 0, atol=1e-6)
    np.testing.assert_allclose(outcome.weights.sum(axis=0), outcome.scores, atol=1e-8)


def test_rankings_and_favourites_mix():
    groups = [
        vt.Profile(ranks=[[1, 2, 3], [3, 1, 2]], counts=[[5, 5, 1], [2, 2, 9]]),
        vt.Profile(top=[2, 0], counts=[[1, 2, 3], [4, 4, 4]]),
    ]
    scores = posterior(groups, sigma=2.0, tau=1.5, estimate="mode").scores
    gaps = np.diff(slopes(groups, scores, 1.5, {"sigma": 2.0}, common=True))
    np.testing.assert_allclose(gaps, 0, atol=1e-6)


def test_differences_mix_with_rankings_of_the_pair():
    groups = [vt.Profile(differences=[1.0, -0.3], counts=[[2, 3], [9, 9]]), vt.Profile(ranks=[[1, 2]])]
    scores = posterior(groups, sigma=1.0, tau=1.0, estimate="mode").scores
    np.testing.assert_allclose(slopes(groups, scores, 1.0, {"sigma": 1.0}, common=True), 0, atol=1e-6)


def test_a_list_of_one_kind_is_that_kind():
    first, second = random_profile(15, voters=3, alternatives=3), random_profile(16, voters=2, alternatives=3)
    together = vt.concat([first, second])
    np.testing.assert_array_equal(
        posterior([first, second], sigma=1, tau=1).scores, posterior(together, sigma=1, tau=1).scores
    )


@pytest.mark.slow
def test_jax_arrays_have_a_belief_too():
    values, counts = [[1.0, 2.0], [3.0, 1.0]], [[4.0, 4.0], [1.0, 1.0]]
    outcome = posterior(vt.Profile(values=jnp.array(values), counts=jnp.array(counts)), sigma=1, tau=1)
    expected = posterior(vt.Profile(values=values, counts=counts), sigma=1, tau=1)
    assert isinstance(outcome.scores, jax.Array)
    np.testing.assert_allclose(outcome.scores, expected.scores, atol=1e-3)
    np.testing.assert_allclose(outcome.p_best, expected.p_best, atol=0.02)


# What is wrong


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": -1}, "tau must be a finite number above 0, not -1"),
        ({"tau": "wide"}, "tau must be a finite number above 0"),
        ({"cap": 0}, "cap must be a finite number above 0, not 0"),
        ({"sigma": -2}, "sigma must be a finite number above 0"),
        ({"count_error": "foo"}, "count_error 'foo' is unknown; choose one of 'percentage', 'replacement'"),
        ({"count_error": "replacment"}, "did you mean 'replacement'"),
        ({"count_error": "replacement:2"}, "probability of replacement must be a finite number from 0 to 1"),
        (
            {"count_error": lambda random, counts, experience: counts},
            "can be percentage or replacement here",
        ),
        ({"votes": "top"}, "has no parameter votes; it takes sigma, tau, cap, count_error"),
        ({"count_range": (1, 2)}, "has no parameter count_range"),
    ],
)
def test_messages(given, message):
    with pytest.raises(vt.InputError, match=message):
        posterior(CYCLE, **given)


def test_what_nobody_compares_is_said():
    seen = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    profile = vt.Profile(ranks=[[1, 2, 0], [1, 2, 0], [0, 0, 1]], counts=seen, alternatives=[*"ABC"])
    with pytest.warns(vt.InputWarning, match="no votes compare C with the others"):
        posterior(profile, sigma=1, tau=1)


def test_a_replaced_count_of_a_million_gives_numbers():
    profile = vt.Profile(order=[[*"ABC"]] * 9 + [[*"CBA"]], counts=[[10] * 3] * 9 + [[10**6] * 3])
    outcome = posterior(profile, sigma=30, tau=1, count_error="replacement:0.1", cap="none")
    assert outcome.status == "converged"
    assert np.isfinite(outcome.scores).all()
    np.testing.assert_allclose(outcome.weights.sum(axis=0), outcome.scores, atol=1e-6)


@pytest.mark.parametrize(
    ("ranks", "counts", "mean", "deviation"),
    [  # by integration, and by adaptive importance sampling
        ([[1, 2], [2, 1], [2, 1]], [[1e6] * 2, [1e4] * 2, [1e4] * 2], [0.00263, -0.00263], 0.00247),
        (
            [[1, 2, 3], [2, 1, 3], [3, 2, 1]],
            [[1, 1e6, 1], [1e6, 1, 1e3], [1e3, 1e3, 1e6]],
            [-0.0003, -0.0112, 0.0115],
            0.017,
        ),
    ],
    ids=["two", "three"],
)
def test_well_informed_voters_who_contradict_each_other(ranks, counts, mean, deviation):
    outcome = posterior(vt.Profile(ranks=ranks, counts=counts), sigma=1, tau=1)
    np.testing.assert_allclose(outcome.scores, mean, atol=0.2 * deviation)


def test_one_value_beside_rankings_moves_no_differences():
    ranks = [[2, 3, 1], [1, 2, 3], [2, 3, 1], [2, 3, 1]]
    counts = [[110, 10707, 212], [73435, 14406, 51926], [2986, 151, 421], [178, 18398, 42905]]
    ranked = vt.Profile(ranks=ranks, counts=counts)
    value = vt.Profile(values=[[0.0, np.nan, np.nan]], counts=[[1, 0, 0]], voters=["v"])
    alone, both = (posterior(votes, sigma=30, tau=1).scores for votes in (ranked, [ranked, value]))
    np.testing.assert_allclose(both - both.mean(), alone, atol=0.02)


def test_values_with_doubtful_counts_have_the_mode():
    values, counts = [[0, 1, 2], [1, 0, 1.0], [-1, 0, 5]], [[1, 100, 10], [100, 1, 10], [10, 10, 100]]
    profile = vt.Profile(values=values, counts=counts)
    given = {"sigma": 2, "tau": 1, "count_error": "replacement:0.3"}
    np.testing.assert_array_equal(
        posterior(profile, **given).scores, posterior(profile, estimate="mode", **given).scores
    )


def test_gradients_alone_lead_to_the_mode_of_unanimous_favourites():
    """Where the curvature falls by a hundred on the way. Measured: 0.001 standard deviations."""
    profile = vt.Profile(top=[0], alternatives=[0, 1, 2, 3], counts=[[5] * 4], multiplicity=[100])
    quick = Posterior(sigma=0.05, tau=1.0, estimate="mode").scores(profile.ballots)
    np.testing.assert_allclose(quick, vt.decide(profile, sigma=0.05, tau=1, estimate="mode").scores, rtol=0.02)


def test_means_that_happen_to_be_equal_do_not_make_all_truths_equal():
    """The prior of τ is never narrower around 0 than what noise alone would show."""
    near, equal = (
        vt.decide(vt.Profile(values=[[x, 10.0], [10.0, 10.0 + 2 * d]], counts=[[100, 100], [100, 100]]), sigma=50)
        for x, d in ((10.5, 0.0), (10.0, 0.0))
    )
    assert equal.belief.tau == pytest.approx(near.belief.tau, rel=0.2)
    assert equal.belief.deviation[0] == pytest.approx(near.belief.deviation[0], rel=0.2)


def test_noise_that_is_not_normal_has_a_belief_where_somebody_saw_less():
    profile = vt.Profile(ranks=[[1, 2, 0], [2, 1, 3], [1, 3, 2]], counts=[[2, 3, 0], [4, 1, 2], [3, 3, 3]])
    belief = posterior(profile, sigma=1.0, tau=1.0, noise="student:3").belief
    assert belief.p_best.sum() == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:the search stopped at its limit")
def test_a_search_that_does_not_arrive_says_so(monkeypatch):
    """Thirty voters of one mind, and hardly any turns for the sites of expectation propagation to agree."""
    monkeypatch.setattr(propagation, "_TURNS", {True: 2, False: 1})
    counts = np.random.default_rng(3).integers(1, 50, (30, 4))
    outcome = vt.decide(vt.Profile(ranks=np.tile(np.arange(1, 5), (30, 1)), counts=counts), sigma=0.3, tau=1)
    assert outcome.status == "stopped at a limit"
    assert any("probabilities may be off" in said for said in outcome.warnings)
    assert json.loads(outcome.to_json())["status"] == "stopped at a limit"


def test_a_fit_is_data_that_can_be_sent_to_another_process():
    profile = vt.stack([random_profile(1, voters=3, alternatives=3), random_profile(2, voters=4, alternatives=4)])
    rule = vt.rule("posterior")
    fit = rule.fit(profile.ballots)
    sent = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(sent.scores, fit.scores)
    here, there = (rule.contributions(profile.ballots, one) for one in (fit, sent))
    np.testing.assert_array_equal(here, there)
