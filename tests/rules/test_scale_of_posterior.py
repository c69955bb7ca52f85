"""The noise that the posterior is told, finds for each decision, or pools over many."""

import warnings

import numpy as np
import pytest

import veritally as vt
from support import random_profile
from veritally.decide import evaluate
from veritally.inference import posterior
from veritally.rules.posterior import Posterior

KINDS = ["rankings", "top"]


def simulated(instances, seed=0, voters=15, sigma=3.0, **given):
    """Decisions about two alternatives, whose truths have a standard deviation of 1."""
    return vt.simulate(
        "high-variance", voters=voters, alternatives=2, sigma=sigma, instances=instances, seed=seed, **given
    )


def assert_same(one, other):
    for name in ("scores", "p_best", "scale"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)


# A number


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_is_sigma_where_tau_is_1(kind):
    profile = random_profile(1, voters=5, alternatives=4, kind=kind)
    assert_same(vt.decide(profile, scale=2), vt.decide(profile, sigma=2, tau=1))
    assert_same(vt.decide(profile, scale=2, tau=3), vt.decide(profile, sigma=6, tau=3))


def test_beside_values_a_number_tells_tau():
    profile = random_profile(2, voters=5, alternatives=4, kind="values")
    outcome, expected = vt.decide(profile, scale=2), vt.decide(profile)
    np.testing.assert_allclose(outcome.belief.sigma, expected.belief.sigma)
    np.testing.assert_allclose(outcome.scale, 2)
    np.testing.assert_allclose(outcome.belief.tau, np.exp(np.mean(np.log(outcome.belief.sigma))) / 2)


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2)])
def test_any_number_will_do_for_the_rule_itself(number):
    ballots = random_profile(1, voters=5, alternatives=4).ballots
    for rule in (Posterior(scale=number), vt.rule("posterior", scale=number)):
        np.testing.assert_allclose(rule.fit(ballots).scale, 2)


# Each decision


def test_each_is_the_default():
    profile = vt.stack([random_profile(seed, voters=4, alternatives=2) for seed in range(3)])
    assert_same(vt.decide(profile, scale="each"), vt.decide(profile))


# Many decisions


def test_pooled_noise_is_nearer_to_the_truth():
    """Six sets of 30 decisions by 15 voters. Log loss: each 0.26, pooled 0.22, with σ told 0.22."""
    losses = {"each": [], "pooled": [], "told": []}
    for seed in range(6):
        trials = simulated(30, seed, votes="rankings")
        best = np.argmax(trials.truth, axis=-1)[:, None]
        for way, own in losses.items():
            given = {"sigma": 3, "tau": 1} if way == "told" else {"scale": way}
            p_best = np.take_along_axis(vt.decide(trials.profile, **given).p_best, best, axis=-1)
            own.append(-np.mean(np.log(np.maximum(p_best, 1e-3))))
    loss = {way: np.mean(own) for way, own in losses.items()}
    assert loss["pooled"] < loss["each"] - 0.02
    assert loss["pooled"] == pytest.approx(loss["told"], abs=0.01)


def test_what_was_pooled_is_told():
    """σ/τ is 3, and here within the interval."""
    outcome = vt.decide(simulated(40, votes="rankings").profile, scale="pooled")
    (noise,) = outcome.pooled_noise
    told = noise.to_dict()
    assert (told["votes"], told["unknown"], told["decisions"]) == ("rankings", "sigma", 40)
    assert told["low"] < 3 < told["high"] < 4 * told["low"]
    one = outcome.unstack()[7]
    assert one.pooled_noise == outcome.pooled_noise
    assert one.to_dict()["pooled_noise"] == [told]
    assert np.all((outcome.scale[:, 0] > told["low"] / 2) & (outcome.scale[:, 0] < told["high"] * 2))


def test_values_pool_tau():
    """Where σ is told, and truths have a standard deviation of 1, here within the interval."""
    outcome = vt.decide(simulated(40, votes="values").profile, sigma=3, scale="pooled")
    (noise,) = outcome.pooled_noise
    assert noise.unknown == "tau"
    assert noise.to_dict()["low"] < 1 < noise.to_dict()["high"] < 3 * noise.to_dict()["low"]


@pytest.mark.parametrize(("number", "pooled"), [(19, False), (20, True)])
def test_from_twenty_decisions_on_noise_is_pooled(number, pooled):
    profile = simulated(number, votes="rankings").profile
    outcome, each = vt.decide(profile, scale="pooled"), vt.decide(profile)
    assert bool(outcome.pooled_noise) == pooled
    if pooled:
        assert np.abs(outcome.p_best - each.p_best).max() > 0.02
    else:
        assert_same(outcome, each)
        assert "pooled_noise" not in outcome.unstack()[0].to_dict()


def test_kinds_are_pooled_apart():
    rankings, values = (simulated(20, votes=kind).profile for kind in ("rankings", "values"))
    both = vt.decide(vt.stack([*rankings.unstack(), *values.unstack()]), scale="pooled").pooled_noise
    expected = [vt.decide(profile, scale="pooled").pooled_noise[0] for profile in (rankings, values)]
    for noise in expected:
        assert noise.decisions == 20
        (same,) = (one for one in both if one.votes == noise.votes)
        assert same.typical == pytest.approx(noise.typical)


def test_decisions_of_one_kind_are_pooled_whatever_their_size():
    small, large = (simulated(20, votes="rankings", voters=voters).profile.unstack() for voters in (15, 1600))
    prepared = Posterior(scale="pooled").prepared(vt.stack([*small, *large]).ballots)
    assert prepared.pooled["rankings"].decisions == 40


def test_nothing_is_pooled_where_all_is_told():
    profile = simulated(20, votes="rankings").profile
    outcome = vt.decide(profile, scale="pooled", sigma=3, tau=1)
    assert outcome.pooled_noise == ()
    assert_same(outcome, vt.decide(profile, sigma=3, tau=1))


def test_three_values_of_pooled_noise_do_for_all(monkeypatch):
    """Against looking at the evidence of each decision. Measured: 0.005 of P(best), 5% of σ/τ."""
    profile = simulated(30, votes="rankings").profile
    quick = vt.decide(profile, scale="pooled")
    assert quick.fit.posterior.weight.shape[0] == 3
    monkeypatch.setattr(posterior, "_told_apart", lambda ballots: 0.0)
    thorough = vt.decide(profile, scale="pooled")
    assert thorough.fit.posterior.weight.shape[0] == 5
    np.testing.assert_allclose(quick.p_best, thorough.p_best, atol=0.02)
    np.testing.assert_allclose(quick.scale[:, 0], thorough.scale[:, 0], rtol=0.1)


def test_all_that_a_rule_says_is_by_pooled_noise():
    ballots = simulated(25, votes="rankings").profile.ballots
    rule = Posterior(scale="pooled")
    prepared = rule.prepared(ballots)
    np.testing.assert_array_equal(prepared.fit(ballots).scores, rule.fit(ballots).scores)
    assert prepared.prepared(ballots) is prepared


def test_scores_alone_are_by_pooled_noise():
    profile = simulated(25, votes="rankings").profile
    rule = Posterior(scale="pooled")
    expected = rule.fit(profile.ballots)
    np.testing.assert_allclose(rule.scores(profile.ballots), expected.scores, atol=1e-6)
    np.testing.assert_allclose(
        evaluate(profile, ["posterior"], scale="pooled")["posterior"], expected.scores, atol=1e-6
    )


def test_votes_that_are_nothing_but_noise_are_pooled_too():
    profile = vt.stack([vt.Profile(order=[[*"AB"], [*"BA"]] * 5)] * 20)
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):  # of voters who always contradict others
        outcome = vt.decide(profile, scale="pooled")
    np.testing.assert_allclose(outcome.p_best, 0.5, atol=0.02)
    assert outcome.pooled_noise[0].to_dict()["typical"] > 3


# What is wrong


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": 2, "sigma": 1}, "scale is sigma over tau; give scale, or sigma and tau, not both"),
        ({"scale": 0}, "scale must be a finite number above 0, not 0"),
        ({"scale": "pool"}, "scale must be a number, each or pooled, not 'pool'"),
    ],
)
def test_messages(given, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(random_profile(1, voters=3, alternatives=3), **given)
