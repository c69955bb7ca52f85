"""Leniency, a constant of each voter in all its values: against algebra, and what must and must not depend on it."""

import numpy as np
import pytest
from algebra import conditioned
from hypothesis import given, settings
from hypothesis import strategies as st

import veritally as vt
from veritally.inference.leniency import chance_of_levels
from veritally.report import sentences
from veritally.rules.posterior import _BETWEEN, Posterior


def reviews(seed, voters=6, alternatives=7, each=4, deviation=1.5):
    """Return values and counts of voters who saw different alternatives, NaN and 0 for the others."""
    random = np.random.default_rng(seed)
    seen = np.argsort(random.random((voters, alternatives)), axis=1).argsort(axis=1) < each
    counts = np.where(seen, random.integers(1, 6, seen.shape), 0).astype(float)
    lenient = deviation * random.standard_normal((voters, 1))
    x = 5 + random.standard_normal(alternatives) + lenient + random.standard_normal(seen.shape)
    seen[0, :], counts[0, :] = True, 2  # so that every alternative is seen
    return np.where(seen, x, np.nan), counts


def expected(x, counts, sigma, tau, leniency, omega=0.0):
    variance = sigma**2 / np.where(counts > 0, counts, 1) + omega**2
    return conditioned(x, variance, np.zeros((*x.shape, 0)), tau, leniency)


def covariance_of(outcome):
    return np.linalg.inv(np.asarray(outcome.fit.posterior.moments.precision)[0])


@settings(max_examples=15)
@given(
    st.integers(0, 1000),
    st.sampled_from([0.5, 1.0, 4.0]),
    st.sampled_from([0.3, 1.0]),
    st.sampled_from([0.0, 0.2, 3.0]),
)
def test_by_algebra(seed, sigma, tau, leniency):
    x, counts = reviews(seed)
    mean, covariance = expected(x, counts, sigma, tau, leniency)
    outcome = vt.decide(vt.Profile(values=x, counts=counts), sigma=sigma, tau=tau, leniency=leniency)
    np.testing.assert_allclose(outcome.scores, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(covariance_of(outcome), covariance, rtol=1e-8, atol=1e-9)


def test_beside_omega():
    x, counts = reviews(1)
    mean, covariance = expected(x, counts, 1.3, 0.9, 1.1, omega=0.6)
    outcome = vt.decide(vt.Profile(values=x, counts=counts), sigma=1.3, tau=0.9, leniency=1.1, omega=0.6)
    np.testing.assert_allclose(outcome.scores, mean, rtol=1e-9)
    np.testing.assert_allclose(covariance_of(outcome), covariance, rtol=1e-8, atol=1e-9)


def test_many_decisions_are_as_each_alone():
    each = [reviews(seed) for seed in range(5)]
    x, counts = (np.stack(part) for part in zip(*each, strict=True))
    outcome = vt.decide(vt.Profile(values=x, counts=counts), sigma=1.0, tau=1.0, leniency=1.5)
    for d, own in enumerate(each):
        np.testing.assert_allclose(outcome.scores[d], expected(*own, 1.0, 1.0, 1.5)[0], rtol=1e-9)


def test_a_voter_twice_is_two_voters_alike():
    """A multiplicity of 2 stands for two voters, each lenient by itself, who say the same."""
    x, counts = reviews(2)
    times = np.array([1.0, 2, 1, 1, 2, 1])
    twice = np.repeat(np.arange(6), times.astype(int))
    mean, _ = expected(x[twice], counts[twice], 1.0, 1.0, 1.5)
    outcome = vt.decide(vt.Profile(values=x, counts=counts, multiplicity=times), sigma=1.0, tau=1.0, leniency=1.5)
    np.testing.assert_allclose(outcome.scores, mean, rtol=1e-9)


def test_a_harsh_voter_changes_little_where_leniency_is_large():
    """Of a leniency that may be anything only differences within a voter tell."""
    x, counts = reviews(3)
    harsh = x.copy()
    harsh[2] -= 4
    given = {"sigma": 1.0, "tau": 1.0, "leniency": 1e4}
    one, other = (vt.decide(vt.Profile(values=values, counts=counts), **given).scores for values in (x, harsh))
    np.testing.assert_allclose(one - np.mean(one), other - np.mean(other), atol=1e-5)


def test_leniency_is_the_default_where_voters_saw_different_alternatives():
    """With all reviewers alike but for a constant, plain means go wrong and the default does not."""
    truth = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    seen = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]])
    noise = 0.01 * np.random.default_rng(4).standard_normal(seen.shape)
    x = np.where(seen, truth + np.array([[6.0], [-6.0], [0.0], [0.0]]) + noise, np.nan)
    profile = vt.Profile(values=x, counts=seen)
    assert vt.decide(profile, leniency=0).winner == 2
    assert vt.decide(profile).winner == 5


# Where all saw the same


def scored(levels, seed=1, counts=None):
    random = np.random.default_rng(seed)
    counts = np.ones((len(levels), 6)) if counts is None else counts
    values = random.normal(size=6) + np.array(levels)[:, None] + random.normal(size=counts.shape) / np.sqrt(counts)
    return vt.Profile(values=values, counts=counts)


def test_levels_that_differ_are_remarked_on():
    """It makes an answer unsure that need not be so; told, or where levels are alike, nothing is said."""
    harsh = scored([0, 0, -6, 0, 6])
    with pytest.warns(vt.InputWarning, match="values differ in level .* set leniency to estimated"):
        plain = vt.decide(harsh)
    found = vt.decide(harsh, leniency="estimated")
    np.testing.assert_allclose(
        found.fit.scores - found.fit.scores.mean(), plain.fit.scores - plain.fit.scores.mean(), atol=1.0
    )
    assert found.p_best.max() > plain.p_best.max() + 0.1
    vt.decide(scored([0] * 5))


def test_levels_of_honest_voters_are_seldom_remarked_on():
    """A thousand tables, half of which have voters who differ however much they saw: 1 each is expected."""
    random = np.random.default_rng(3)
    for omega in (0.0, 1.0):
        counts = random.integers(1, 50, (1000, 5, 4)).astype(float)
        values = random.normal(size=(1000, 1, 4)) + np.sqrt(omega + 1 / counts) * random.normal(size=counts.shape)
        chances = chance_of_levels(vt.Profile(values=values, counts=counts).ballots)
        assert np.mean(chances < 0.05) < 0.08
        assert np.mean(chances < 0.001) < 0.005


def test_who_is_harsh():
    """As by plain algebra: the mean of the constants given the values, where all variances are known."""
    profile, deviation = scored([0, 0, -3, 0, 2], counts=np.array([[1.0, 2, 3, 4, 5, 6]] * 5)), 2.0
    values, counts = np.array(profile.values), np.array(profile.counts)
    outcome = vt.decide(profile, sigma=1, tau=1e3, leniency=deviation)
    mean, _ = conditioned(values, 1 / counts, np.zeros((*values.shape, 0)), 1e3, deviation, flat_mean=True)
    share = deviation**2 / (1 + deviation**2 * counts.sum(axis=1))
    harshness = share * np.sum(counts * (values - mean), axis=1)
    np.testing.assert_allclose(list(outcome.explain().leniency.values()), harshness, atol=1e-6)
    assert list(outcome.explain().to_dict()["leniency"]) == ["0", "1", "2", "3", "4"]
    assert vt.decide(profile, leniency=0).explain().leniency == {}


@pytest.mark.parametrize(
    ("votes", "given", "message"),
    [
        ({"ranks": [[1, 2], [2, 1]]}, {"leniency": "estimated"}, "for values, and these votes are rankings"),
        ({"values": [[1, 2], [2, 1]]}, {"leniency": 1}, "a number for leniency needs sigma"),
        (
            {"values": [[1, 2], [2, 1]]},
            {"leniency": "estimated", "noise": "student:3"},
            "cannot be combined with noise or count_error",
        ),
        ({"values": [[1, 2], [2, np.nan]], "counts": [[1, 1], [1, 1]]}, {"leniency": "estimated"}, "some are blank"),
    ],
)
def test_what_leniency_is_not_for(votes, given, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(vt.Profile(**votes), **given)


def test_sigma_is_that_of_the_residuals_however_large_leniency_is():
    """REML of the same table with levels as fixed effects."""
    profile = scored([0, 0, 0, 0, 0], seed=4)
    values = np.array(profile.values)
    rest = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    expected = np.sqrt(np.sum(rest**2) / 20)
    for size in (0, 3, 30):
        shifted = vt.Profile(values=values + size * np.array([0, 1, -1, 2, -2])[:, None])
        found = vt.decide(shifted, leniency="estimated").belief.sigma
        assert np.exp(np.log(found).mean()) == pytest.approx(expected, rel=0.15)


def test_one_omega_for_all_decisions():
    """Also where voters saw different alternatives in some of them only."""
    random = np.random.default_rng(5)
    counts = random.integers(1, 9, (24, 5, 4)).astype(float)
    values = random.normal(size=(24, 1, 4)) + 2 * random.normal(size=counts.shape)
    counts[:12, 0, 0] = 0
    values[:12, 0, 0] = np.nan
    profile = vt.Profile(values=values, counts=counts)
    chosen = vt.decide(profile, omega="estimated").fit.posterior
    typical = np.exp(np.mean([np.log(own[own > 0]).mean() for own in counts]))
    evidence = {
        ratio: Posterior(between=ratio / typical).fit(profile.ballots).posterior.log_evidence.sum()
        for ratio in _BETWEEN
    }
    best = max(evidence, key=evidence.get)
    assert best > 0
    assert chosen.means.between == pytest.approx(best / typical)
    assert chosen.log_evidence.sum() == pytest.approx(evidence[best])


def test_only_clear_leniency_is_named():
    """Of ten reviewers who each saw most of twelve papers one is harsh; one with a single value is not named."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=12) + 0.3 * rng.normal(size=(11, 12))
    values[0] -= 3
    values[10] += 3
    counts = (rng.random((11, 12)) < 0.7) * 1.0
    counts[10] = np.arange(12) == 4
    profile = vt.Profile(values=np.where(counts > 0, values, np.nan), counts=counts, voters=[*"ABCDEFGHIJK"])
    explanation = vt.decide(profile).explain()
    assert "A" in explanation.clear_leniency
    assert "K" not in explanation.clear_leniency
    assert abs(explanation.leniency["K"]) > 1
    assert "Harshest: A (" in sentences.leniency(explanation)[0]


def test_nobody_is_called_harsh_by_one_value_each():
    rng = np.random.default_rng(1)
    counts = np.repeat(np.eye(10), 4, axis=0)
    truth, own = rng.normal(size=10), rng.normal(size=(40, 1))
    profile = vt.Profile(values=np.where(counts > 0, truth + own, np.nan), counts=counts)
    explanation = vt.decide(profile, leniency="estimated").explain()
    assert sentences.leniency(explanation) == ["No single voter is clearly harsh or lenient."]
