"""Draws from the exact posterior: against closed forms, against brute force, alone and in a batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veritally as vt
from support import values_profiles
from veritally.arrays.special import normal_scores
from veritally.inference import gibbs
from veritally.inference.gibbs import sample, saturation, within_reach
from veritally.inference.noise import Assumptions
from veritally.inference.posterior import infer
from veritally.model.means import VoterMeans
from veritally.model.mixtures import mixture
from veritally.model.observation import StudentNoise

DRAWS = 3200
SLOW = 8  # times that draws of a chain repeat themselves, at most, here


def ballots_of(profile):
    """The ballots of a profile as a batch of one, if it is not a batch."""
    ballots = profile.ballots
    return ballots if ballots.mask.ndim > 1 else ballots.map(lambda x: x[None])


def drawn(ballots, sigma, tau=1.0, seed=0, **besides):
    d, n = ballots.mask.shape
    start = tau * np.random.default_rng(5).normal(size=(32, 1, 50))[..., :n].repeat(d, axis=1)
    return sample(ballots, VoterMeans(np.full((d, 1, n), sigma)), np.full(d, tau), start, seed, **besides)


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


# Closed forms


@pytest.mark.parametrize("ratio", [0.1, 1.0, 10.0])
def test_one_comparison(ratio):
    """μ_1 − μ_2 and x_1 − x_2 are normal with correlation τ/√(τ² + σ²); the chance that signs agree is an arcsine."""
    draws = drawn(ballots_of(vt.Profile(ranks=[[1, 2]])), sigma=2 * ratio, tau=2.0)[:, 0]
    expected = 0.5 + np.arcsin(1 / np.hypot(1, ratio)) / np.pi
    assert np.mean(draws[:, 0] > draws[:, 1]) == pytest.approx(expected, abs=0.03)
    np.testing.assert_allclose(draws.sum(axis=-1).std(), 2 * 2**0.5, rtol=0.08)  # of which the vote says nothing


@pytest.mark.parametrize("kind", ["rankings", "top"])
def test_unanimous_voters_without_noise_leave_normals_in_order(kind):
    """Truths in order have normal scores for means; a favourite is the best of n, and the rest are like each other."""
    n, voters = 6, 20
    scores = np.array(normal_scores(n))
    order = [list(range(n) if kind == "rankings" else [0])] * voters
    draws = drawn(ballots_of(vt.Profile(order=order, alternatives=list(range(n)))), sigma=1e-3)[:, 0]
    expected = scores if kind == "rankings" else np.array([scores[0], *[-scores[0] / (n - 1)] * (n - 1)])
    np.testing.assert_allclose(draws.mean(axis=0), expected, atol=0.1)
    assert np.all(np.argmax(draws, axis=-1) == 0)


def test_with_next_to_no_evidence_draws_are_those_of_the_prior():
    draws = drawn(ballots_of(vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]])), sigma=1e6, tau=3.0)[:, 0]
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=0.3)
    np.testing.assert_allclose(np.cov(draws.T), 9 * np.eye(3), atol=0.9)


# Brute force

AGREED = vt.Profile(order=[[*"ABC"]] * 3, counts=[[1, 2, 3], [1, 1, 1], [4, 1, 9]])
TORN = vt.Profile(order=[[*"ABC"], [*"CBA"], [*"ACB"]], counts=[[1, 2, 3], [1, 1, 1], [4, 1, 9]])
TIED = vt.Profile(ranks=[[1, 2, 2, 3], [1, 1, 2, 3], [2, 1, 2, 2], [4, 3, 2, 1]])
PARTIAL = vt.Profile(
    order=[[*"AB"], [*"BC"], [*"CA"]], alternatives=[*"ABCD"], counts=[[3, 1, 2, 0], [0, 2, 2, 1], [1, 0, 1, 0]]
)
FAVOURITES = vt.Profile(top=[*"AABC"], alternatives=[*"ABCD"], counts=[[1, 2, 1, 3]] * 4)
REPEATED = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], multiplicity=[3, 2])


def brute_force(profile, sigma, number, besides=None):
    """Truths from the prior with the weights that the exact likelihood gives them, and how many of them count."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(number, profile.shape[-1]))
    many = vt.stack([profile] * 1000)
    logs = [
        vt.likelihood.log_likelihood(many, truth=some, sigma=sigma) for some in truth.reshape(-1, 1000, truth.shape[-1])
    ]
    logs = np.concat(logs)
    if besides is not None:
        logs = logs + truth @ besides[0, 0] - truth**2 @ besides[1, 0] / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return truth, weights, 1 / np.sum(weights**2)


def check(profile, sigma, number, besides=None):
    draws = drawn(ballots_of(profile), sigma, **({} if besides is None else {"besides": besides}))[:, 0]
    truth, weights, count = brute_force(profile, sigma, number, besides)
    error = 4 * np.sqrt(1 / count + SLOW / DRAWS)
    mean, deviation = weights @ truth, np.sqrt(weights @ truth**2 - (weights @ truth) ** 2)
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean), error * deviation)
    np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=error)
    best = np.arange(truth.shape[-1])
    expected = weights @ (np.argmax(truth, axis=-1)[:, None] == best)
    found = np.mean(np.argmax(draws, axis=-1)[:, None] == best, axis=0)
    np.testing.assert_array_less(np.abs(found - expected), error * np.sqrt(expected * (1 - expected)) + 1e-3)


@pytest.mark.parametrize("profile", [AGREED, TORN, TIED, PARTIAL, FAVOURITES, REPEATED])
def test_draws_are_as_by_brute_force(profile):
    check(profile, 0.7, 5000)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.3, 3.0])
@pytest.mark.parametrize("profile", [AGREED, TORN, TIED, PARTIAL, FAVOURITES, REPEATED])
def test_draws_are_as_by_longer_brute_force(profile, sigma):
    check(profile, sigma, 20_000)


def test_what_is_known_besides_counts():
    check(TORN, 1.0, 5000, besides=np.array([[[2.0, 0, -1]], [[4.0, 0, 0.5]]]))


@pytest.mark.slow
@pytest.mark.parametrize("votes", ["rankings", "top"])
@pytest.mark.parametrize("sigma", [1.0, 3.0, 30.0])
def test_larger_decisions_are_as_by_brute_force(votes, sigma):
    scenario = vt.Scenario(voters=8, alternatives=5, sigma=sigma, experience="uniform:1:3", votes=votes)
    check(vt.simulate(scenario, instances=1, seed=2).profile.decision(0), sigma, 60_000)


@pytest.mark.slow
@pytest.mark.parametrize("votes", ["rankings", "top"])
@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_intervals_contain_as_many_truths_as_they_say(votes, sigma):
    scenario = vt.Scenario(voters=8, alternatives=5, sigma=sigma, experience="uniform:1:50", votes=votes)
    trials = vt.simulate(scenario, instances=400, seed=4)
    low, high = np.quantile(centred(drawn(trials.profile.ballots, sigma)), [0.025, 0.975], axis=0)
    truth = centred(trials.truth)
    inside = np.mean((low < truth) & (truth < high), axis=-1)
    assert np.mean(inside) == pytest.approx(0.95, abs=4 * np.std(inside) / 400**0.5)


# What draws depend on


def test_a_decision_is_the_same_alone_and_in_a_batch(monkeypatch):
    monkeypatch.setattr(gibbs, "_AT_ONCE", 60)  # so that there are several pieces
    profiles = [TORN, TIED, FAVOURITES, PARTIAL, REPEATED, AGREED]
    batch = vt.stack([profile.coarsened("rankings") for profile in profiles]).ballots
    together = drawn(batch, 0.5)
    for d, profile in enumerate(profiles):
        alone = drawn(ballots_of(profile), 0.5)[:, 0]
        np.testing.assert_allclose(together[:, d, : alone.shape[-1]], alone, atol=1e-9)


def test_a_ballot_for_three_voters_is_three_ballots():
    apart = vt.Profile(ranks=[[1, 2, 3]] * 3 + [[2, 1, 3]] * 2)
    np.testing.assert_array_equal(drawn(ballots_of(REPEATED), 0.5), drawn(ballots_of(apart), 0.5))


def test_draws_depend_on_the_seed_alone():
    ballots = ballots_of(TORN)
    np.testing.assert_array_equal(drawn(ballots, 1.0), drawn(ballots, 1.0))
    assert not np.any(drawn(ballots, 1.0) == drawn(ballots, 1.0, seed=1))


def test_ballots_that_say_nothing_change_nothing():
    more = vt.Profile(order=[[*"ABC"], [*"CBA"], [*"ACB"], ["A"]], counts=[*TORN.counts, [5, 0, 0]])
    np.testing.assert_array_equal(drawn(ballots_of(more), 1.0), drawn(ballots_of(TORN), 1.0))


@settings(max_examples=12, deadline=None)
@given(profile=values_profiles(), kind=st.sampled_from(["rankings", "top"]), sigma=st.sampled_from([1e-4, 1.0, 1e4]))
def test_any_ballots_give_truths_that_are_numbers(profile, kind, sigma):
    ballots = ballots_of(profile.coarsened(kind))
    draws = drawn(ballots, sigma)
    assert (draws is None) == (not np.any(ballots.effective_multiplicity))
    assert draws is None or np.all(np.isfinite(draws))


# Where it is out of reach


def test_parts_of_voters_other_noise_and_numbers_are_out_of_reach():
    ballots, means = ballots_of(TORN), VoterMeans(1.0)
    assert within_reach(ballots, means).all()
    half = ballots.weighed(ballots.multiplicity / 2)
    assert not within_reach(half, means).any()
    assert drawn(half, 1.0) is None
    assert not within_reach(ballots, VoterMeans(1.0, counts=mixture(None, StudentNoise(3), ballots.counts))).any()
    assert not within_reach(ballots_of(vt.Profile(values=[[1.0, 2.0]])), means).any()


def test_each_decision_is_within_reach_by_itself():
    large = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], multiplicity=[3000, 2000])
    both = vt.stack([large, REPEATED]).ballots
    np.testing.assert_array_equal(within_reach(both, VoterMeans(1.0)), [False, True])
    assert drawn(both, 1.0) is None


# Where it is needed


def test_saturation_is_one_without_evidence_and_grows_with_repeated_bounds():
    """Of a decision with a padded alternative; unanimous voters without noise tell bounds alone."""
    profile = vt.Profile(order=[[*"ABC"]] * 4)
    ballots = ballots_of(profile).padded(5, 4)
    for sigma, low, high in [(1e3, 0.999, 1.001), (3.0, 1, 2), (0.1, 50, np.inf)]:
        found = infer(ballots_of(profile), Assumptions(sigma, 2.0))
        precision = np.eye(4)[None]
        precision[:, :3, :3] = found.moments.precision[0]
        (ratio,) = saturation(ballots, VoterMeans(sigma), np.array([2.0]), precision)
        assert low <= ratio <= high
