"""The paper's own statements, as tests (Pitis & Zhang 2020); slips in its text are corrected as noted."""

import math

import numpy as np
import pytest
from scipy import special

import veritally as vt
from support import random_profile, scores


def test_case_1_weighs_each_value_inversely_to_its_variance():
    profile = random_profile(0, kind="values")
    outcome = vt.decide(profile, rule="case1")
    per_value = outcome.weights / profile.values
    sigma = np.array([0.5, 1, 2, 3, 4])
    precision = profile.counts / sigma**2
    np.testing.assert_allclose(per_value, precision / precision.sum(axis=0), rtol=1e-12)


def test_case_1_is_the_mean_of_all_pulls():
    rng = np.random.default_rng(1)
    pulls = [[rng.normal(size=c) for c in (3, 7)], [rng.normal(size=c) for c in (5, 2)]]
    profile = vt.Profile(
        values=[[x.mean() for x in voter] for voter in pulls], counts=[[len(x) for x in voter] for voter in pulls]
    )
    pooled = [np.concatenate([pulls[0][j], pulls[1][j]]).mean() for j in range(2)]
    np.testing.assert_allclose(vt.decide(profile, rule="oracle").scores, pooled, rtol=1e-12)


def case_2_weight(counts, sigma):
    """The share a voter has in Case 2 beside another whose weight is fixed."""
    profile = vt.Profile(differences=[1.0, 0.0], counts=[counts, [10, 10]])
    return vt.decide(profile, rule="case2", sigma=sigma).scores[1]


def test_case_2_equal_pulls_weigh_most_for_equal_sigma():
    shares = {c: case_2_weight([c, 20 - c], (1.5, 1.5)) for c in range(1, 20)}
    assert max(shares, key=shares.get) == 10


def test_case_2_pulls_in_proportion_to_sigma_weigh_most():
    """The text says "equally" without the condition of equal σ; in general it is c_1 : c_2 = σ_1 : σ_2."""
    shares = {c: case_2_weight([c, 20 - c], (1.0, 3.0)) for c in range(1, 20)}
    assert max(shares, key=shares.get) == 5


def case_3_gradient(delta, sides, s):
    return sum(
        y / si * math.exp(-((delta / si) ** 2) / 2 - special.log_ndtr(y * delta / si))
        for y, si in zip(sides, s, strict=True)
    )


def test_case_3_likelihood_is_concave_and_its_gradient_at_zero_has_the_sign_of_the_maximum():
    for seed in range(30):
        profile = random_profile(seed, voters=9, alternatives=2)
        sides = np.sign(profile.ranks[:, 0] - profile.ranks[:, 1])
        s = np.sqrt((1 / profile.counts).sum(axis=1))
        gradients = [case_3_gradient(delta, sides, s) for delta in np.linspace(-3, 3, 41)]
        assert (np.diff(gradients) < 0).all()
        delta = float(vt.rule("majority").difference(profile.ballots))
        direction = scores(profile, "case3")
        assert np.sign(delta) == np.sign(direction[1] - direction[0]) == np.sign(case_3_gradient(0.0, sides, s))


def test_case_3_weights_are_the_inverse_standard_deviations():
    """w_i = √(c_1 c_2 / (σ_2² c_1 + σ_1² c_2)); the text prints σ_i for σ_1."""
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], counts=[[4, 9], [1, 2]])
    weights = vt.decide(profile, rule="case3", sigma=(2.0, 3.0)).weights
    expected = [math.sqrt(4 * 9 / (9 * 4 + 4 * 9)), math.sqrt(1 * 2 / (9 * 1 + 4 * 2))]
    np.testing.assert_allclose(weights, [[expected[0], -expected[0]], [-expected[1], expected[1]]], rtol=1e-12)


def test_case_3_has_its_maximum_at_infinity_when_all_agree():
    with pytest.warns(vt.InputWarning, match="all voters agree"):
        outcome = vt.decide(vt.Profile(ranks=[[2, 1], [2, 1]]), rule="majority")
    assert outcome.details["delta"] == math.inf
    assert outcome.winner == 1


def test_case_4_prefers_the_second_best_of_one_voter_and_the_normalised_rule_does_not():
    """The text gives counts 1, 10, 10, which do not show it; 1, 20, 20 do."""
    profile = vt.Profile(ranks=[[1, 2, 3]], counts=[[1, 20, 20]])
    assert vt.decide(profile, rule="case4").winner == 1
    np.testing.assert_allclose(vt.decide(profile, rule="case4").scores, [1.952, 2.186, -4.138], atol=5e-4)
    assert vt.decide(profile, rule="case4-normalized").winner == 0
    as_printed = vt.Profile(ranks=[[1, 2, 3]], counts=[[1, 10, 10]])
    np.testing.assert_allclose(vt.decide(as_printed, rule="case4").scores, [1.907, 1.283, -3.190], atol=5e-4)


def test_case_4_with_two_alternatives_is_case_3():
    profile = random_profile(7, alternatives=2)
    np.testing.assert_array_equal(
        scores(profile, "case4", sigma=(1.0, 2.0)), scores(profile, "case3", sigma=(1.0, 2.0))
    )


def test_equal_counts_reduce_case_4_to_borda_and_case_5_to_plurality():
    rankings = vt.Profile(ranks=random_profile(8).ranks)
    borda = scores(rankings, "borda")
    for name in ("case4", "case4-normalized"):
        assert np.argsort(scores(rankings, name)).tolist() == np.argsort(borda).tolist()
    plurality = scores(rankings, "plurality")
    for name in ("case5-zero", "case5-lower-bound"):
        correlation = np.corrcoef(scores(rankings, name), plurality)[0, 1]
        assert correlation == pytest.approx(1, abs=1e-12)


def test_case_5_zero_is_the_limit_of_case_3_as_the_other_count_grows():
    own = scores(vt.Profile(top=[0], counts=[[7, 1]]), "case5-zero", sigma=2.0)[0]
    limit = scores(vt.Profile(ranks=[[1, 2]], counts=[[7, 1e12]]), "case3", sigma=2.0)[0]
    assert own == pytest.approx(limit, rel=1e-9)
    assert own == pytest.approx(math.sqrt(7) / 2)


def test_case_5_lower_bound_is_case_4_on_the_pairs_of_the_favourite():
    """A favourite is a ranking that leaves the rest level."""
    profile = random_profile(9)
    favourites_first = vt.Profile(ranks=np.where(profile.top == 1, 1, 0), counts=profile.counts)
    np.testing.assert_allclose(scores(profile, "case5-lower-bound"), scores(favourites_first, "case4"), rtol=1e-12)


def test_case_5_gradient_at_zero_does_not_depend_on_a_common_sigma():
    profile = random_profile(10)
    for name in ("case5-monte-carlo", "top-gradient"):
        one, ten = scores(profile, name), scores(profile, name, sigma=10.0)
        np.testing.assert_allclose(one, 10 * ten, rtol=1e-7)


def test_each_paper_label_is_an_alias():
    labels = {
        "case1": "mean",
        "oracle": "mean",
        "case2": "difference",
        "case3": "majority",
        "case4": "pairwise",
        "case4-normalized": "pairwise-normalized",
        "case5-lower-bound": "top-lower-bound",
        "case5-zero": "top-zero",
        "case5-monte-carlo": "top-monte-carlo",
        "borda+": "borda+arithmetic",
        "plurality+": "plurality+arithmetic",
    }
    assert {alias: info.name for info in vt.rules() for alias in info.aliases} == labels
