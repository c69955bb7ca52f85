"""Expectation propagation: its evidence, the slope of that, and where it ends."""

import numpy as np
import pytest
from scipy import special, stats

import veritally as vt
from support import random_profile
from veritally.inference.linear import inverse
from veritally.inference.propagation import Near, moments, slope_of_evidence
from veritally.likelihood.votes import tally
from veritally.model.means import VoterMeans
from veritally.model.model import Model


def batch_of(profile, number):
    """The same ballots as so many decisions."""
    return profile.ballots.map(lambda x: np.stack([x] * number))


def model_of(ballots, sigma, tau):
    """Of decisions each with its own σ and τ."""
    shape = ballots.mask.shape
    sigma = np.broadcast_to(np.asarray(sigma, float)[..., None, None], (shape[0], 1, shape[-1]))
    return Model.of(ballots, np.broadcast_to(np.asarray(tau, float), shape[:1]), VoterMeans(sigma))


def propagated(profile, sigma, tau, **given):
    """Moments and model of a decision with each of several σ and τ."""
    number = len(np.broadcast_arrays(np.atleast_1d(sigma), tau)[0])
    ballots = batch_of(profile, number)
    model = model_of(ballots, np.broadcast_to(sigma, (number,)), tau)
    return moments(ballots, model, "mean", **given), model, ballots


THREE = {
    "rankings": vt.Profile(order=[[*"ABC"], [*"BAC"], [*"CAB"]], counts=[[1, 2, 3], [4, 1, 1], [9, 2, 5]]),
    "agreed": vt.Profile(order=[[*"ABC"]] * 3, counts=[[1, 2, 3], [4, 1, 1], [9, 2, 5]]),
    "favourites": vt.Profile(top=[*"AAC"], alternatives=[*"ABC"], counts=[[1, 2, 3], [4, 1, 1], [9, 2, 5]]),
    "partial": vt.Profile(ranks=[[1, 2, 0], [0, 2, 1], [2.5, 1, 2.5]], counts=[[3, 1, 0], [0, 2, 2], [1, 1, 4]]),
}


def brute_force(profile, sigma, tau):
    """The log of the exact likelihood, averaged over truths that fill their prior evenly."""
    truths = tau * special.ndtri(stats.qmc.Sobol(3, seed=0).random(2**10))
    ballots = batch_of(profile, len(truths))
    log = tally(ballots, truths, VoterMeans(np.asarray(sigma, float)), 0).log_likelihood
    return special.logsumexp(log) - np.log(len(truths))


# Evidence


@pytest.mark.parametrize(("sigma", "near"), [(0.5, 0.1), (2.0, 0.02)])
@pytest.mark.parametrize("case", THREE)
def test_evidence_against_brute_force(case, sigma, near):
    """Measured: up to 0.07 off where noise is little, and 0.013 where it is not."""
    found, *_ = propagated(THREE[case], sigma, 1.0)
    assert found.log_evidence[0] == pytest.approx(brute_force(THREE[case], sigma, 1.0), abs=near)


def test_evidence_of_values_is_that_of_a_normal():
    """But for a constant: truths are normal around a mean that could be anywhere, here with a variance of 10^6."""
    profile = random_profile(3, voters=4, alternatives=3, kind="values", zeros=True)
    taus = np.array([0.3, 1.0, 4.0])
    found, *_ = propagated(profile, 2.0, taus)
    own, which = np.nonzero(profile.counts > 0)
    noise = np.diag(4.0 / profile.counts[own, which])
    expected = [
        stats.multivariate_normal.logpdf(
            profile.values[own, which], cov=noise + tau**2 * (which[:, None] == which) + 1e6, allow_singular=False
        )
        for tau in taus
    ]
    np.testing.assert_allclose(np.diff(found.log_evidence), np.diff(expected), atol=1e-5)


def test_evidence_of_two_copies_is_that_of_a_multiplicity():
    once = THREE["rankings"]
    twice = vt.Profile(ranks=np.repeat(once.ranks, 2, axis=0), counts=np.repeat(once.counts, 2, axis=0))
    weighed = vt.Profile(ranks=once.ranks, counts=once.counts, multiplicity=[2, 2, 2])
    one, other = (propagated(profile, 1.0, 1.0)[0] for profile in (twice, weighed))
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, atol=1e-6)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-6)


# Its slope

SLOPES = {
    "rankings of three": (THREE["rankings"], 2e-3),
    "unanimous": (THREE["agreed"], 0.02),
    "favourites": (THREE["favourites"], 5e-3),
    "partial": (THREE["partial"], 2e-3),
    "two": (random_profile(2, voters=10, alternatives=2), 0.02),
    "eight": (random_profile(8, voters=10, alternatives=8), 0.03),
    "values": (random_profile(3, voters=4, alternatives=3, kind="values", zeros=True), 1e-3),
}


@pytest.mark.parametrize("sigma", [0.5, 2.0])
@pytest.mark.parametrize("case", SLOPES)
def test_the_slope_by_differences(case, sigma):
    """By a smaller τ; where votes are in no unit, also by a larger σ. Measured: a third of what is allowed."""
    profile, near = SLOPES[case]
    u = np.array([-0.02, 0, 0.02])
    by_tau, model, ballots = propagated(profile, sigma, np.exp(-u))
    slope = slope_of_evidence(by_tau.mean, inverse(by_tau.precision), model, ballots.mask)[1]
    assert slope == pytest.approx((by_tau.log_evidence[2] - by_tau.log_evidence[0]) / 0.04, abs=near)
    if case != "values":
        by_sigma, *_ = propagated(profile, sigma * np.exp(u), np.ones(3))
        assert slope == pytest.approx((by_sigma.log_evidence[2] - by_sigma.log_evidence[0]) / 0.04, abs=near)


def test_the_slope_of_what_nobody_saw_is_nothing():
    """Nor does it matter where evidence is padded."""
    profile = THREE["rankings"]
    padded = profile.ballots.padded(5, 6).map(lambda x: x[None])
    model = model_of(padded, np.ones(1), np.ones(1))
    wide = moments(padded, model, "mean")
    alone, own, ballots = propagated(profile, 1.0, 1.0)
    slopes = [
        slope_of_evidence(found.mean, inverse(found.precision), some, votes.mask)[0]
        for found, some, votes in ((wide, model, padded), (alone, own, ballots))
    ]
    assert slopes[0] == pytest.approx(slopes[1], abs=1e-4)
    assert wide.log_evidence[0] == pytest.approx(alone.log_evidence[0], abs=1e-4)


# Where it ends


FROM_NEAR = THREE | {
    "values": SLOPES["values"][0],
    "repeated": vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], multiplicity=[3, 0.5]),
    "eight": random_profile(8, voters=10, alternatives=8),
}


@pytest.mark.parametrize("case", FROM_NEAR)
def test_from_near_by_it_ends_at_the_same_place(case):
    """From what was found with another noise, and from far away. Measured: 0.0004 standard deviations."""
    profile = FROM_NEAR[case]
    n = profile.shape[-1]
    expected, *_ = propagated(profile, 1.0, 1.0)
    other, *_ = propagated(profile, 2.0, 0.7)
    deviation = np.sqrt(np.linalg.diagonal(inverse(expected.precision)))
    for near in (Near(other.mean, inverse(other.precision)), Near(np.linspace(1, -1, n)[None], np.eye(n)[None])):
        found, *_ = propagated(profile, 1.0, 1.0, near=near)
        assert not found.fell_back.any()
        np.testing.assert_allclose(found.mean / deviation, expected.mean / deviation, atol=1e-3)
        np.testing.assert_allclose(found.precision, expected.precision, atol=1e-3 * np.abs(expected.precision).max())
        assert found.log_evidence[0] == pytest.approx(expected.log_evidence[0], abs=2e-3)


def test_a_rough_look_is_near():
    """To a tenth of a standard deviation, and evidence to 0.1."""
    for profile in THREE.values():
        exact, rough = (propagated(profile, [0.5, 2.0], np.ones(2), rough=rough)[0] for rough in (False, True))
        deviation = np.sqrt(np.linalg.diagonal(inverse(exact.precision)))
        np.testing.assert_allclose(rough.mean / deviation, exact.mean / deviation, atol=0.1)
        np.testing.assert_allclose(rough.log_evidence, exact.log_evidence, atol=0.1)


@pytest.mark.parametrize("rough", [False, True])
def test_who_arrives_early_is_as_alone(rough):
    """Three easy decisions beside one whose sites take many turns to agree."""
    easy = [random_profile(seed, voters=6, alternatives=4) for seed in range(3)]
    hard = vt.Profile(ranks=np.tile(np.arange(1, 5), (6, 1)), counts=np.full((6, 4), 10**4))
    together = vt.stack([*easy, hard]).ballots
    whole = moments(together, model_of(together, np.ones(4), np.ones(4)), "mean", rough)
    for d in range(4):
        ballots = together.map(lambda x, d=d: x[d : d + 1])
        alone = moments(ballots, model_of(ballots, np.ones(1), np.ones(1)), "mean", rough)
        for name in ("mean", "precision", "pull", "without", "log_evidence", "missing"):
            np.testing.assert_allclose(
                getattr(whole, name)[d], getattr(alone, name)[0], rtol=1e-7, atol=1e-9, err_msg=name
            )


def test_a_batch_of_any_shape_is_flat_inside():
    profiles = [random_profile(seed, voters=4, alternatives=3) for seed in range(6)]
    flat = vt.stack(profiles).ballots
    model = model_of(flat, np.linspace(1, 3, 6), np.linspace(2, 1, 6))
    table, wide = (
        flat.map(lambda x: x.reshape(2, 3, *x.shape[1:])),
        model.map(lambda x: x.reshape(2, 3, *x.shape[1:]), (6,)),
    )
    for x, y in zip(moments(flat, model, "mean"), moments(table, wide, "mean"), strict=True):
        np.testing.assert_array_equal(np.reshape(y, x.shape), x)
