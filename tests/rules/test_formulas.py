"""Every rule against loops written from the paper's formulas, and every estimate against another method."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

import references
import veritally as vt
from support import COUNTS, random_profile, scores, values_profiles
from veritally.arrays import Random
from veritally.rules.positional import VOTER_WEIGHTS

SIGMAS = st.lists(st.sampled_from([0.3, 1.0, 2.5]), min_size=5, max_size=5)
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


@given(values_profiles())
def test_mean(profile):
    expected = references.mean_rule(profile.values.tolist(), profile.counts.tolist())
    np.testing.assert_allclose(scores(profile, "mean"), expected, **CLOSE)


@given(values_profiles(alternatives=(2, 2), blanks=False), SIGMAS)
def test_difference(profile, sigma):
    delta = references.difference_rule(profile.values.tolist(), profile.counts.tolist(), sigma)
    np.testing.assert_allclose(scores(profile, "difference", sigma=sigma[:2]), [-delta / 2, delta / 2], **CLOSE)


@pytest.mark.parametrize("name", ["pairwise", "pairwise-normalized"])
@given(profile=values_profiles(), sigma=SIGMAS)
def test_pairwise(name, profile, sigma):
    sigma = sigma[: profile.shape[-1]]
    expected = references.pairwise_rule(
        profile.ranks.tolist(), profile.counts.tolist(), sigma, normalized=name != "pairwise"
    )
    np.testing.assert_allclose(scores(profile, name, sigma=sigma), expected, **CLOSE)


@pytest.mark.parametrize("name", ["top-zero", "top-lower-bound"])
@given(profile=values_profiles(), sigma=SIGMAS)
def test_closed_top_rules(name, profile, sigma):
    sigma = sigma[: profile.shape[-1]]
    one = {"top-zero": references.top_zero, "top-lower-bound": references.top_lower_bound}[name]
    ranks, counts = profile.ranks.tolist(), profile.counts.tolist()
    expected = references.top_rule(ranks, counts, lambda c, j: one(c, j, sigma))
    np.testing.assert_allclose(scores(profile, name, sigma=sigma), expected, **CLOSE)


@pytest.mark.parametrize(
    ("counts", "sigma"),
    [
        ([1, 1], [1, 1]),
        ([3, 1, 7], [1, 2, 0.5]),
        pytest.param([49, 1, 1, 20, 5], [1] * 5, marks=pytest.mark.slow),
        ([1, 1_000_000, 30], [1] * 3),
        ([1_000_000, 1, 1, 1], [1] * 4),
        ([5, 0, 2, 9], [1] * 4),
        pytest.param([1, 7, 1000, 2, 3, 10], [1] * 6, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("favourite", [0, 2])
def test_top_gradient_to_eight_digits(counts, sigma, favourite):
    favourite = min(favourite, len(counts) - 1)
    with mpmath.workdps(20):
        expected = references.top_gradient(counts, favourite, sigma, mpmath)
    got = scores(vt.Profile(top=[favourite], counts=[counts]), "top-gradient", sigma=sigma)
    seen = np.array(counts) > 0
    np.testing.assert_allclose(got[seen], np.array(expected)[seen], rtol=1e-8, atol=0)


def gradient_of_equal_rivals(own, n):
    """One favourite with its count, n − 1 rivals with count 1, by mpmath, in logarithms so as not to underflow."""
    r = 1 / mpmath.sqrt(own)

    def log_integrand(z):
        return -(z**2) / 2 + (n - 1) * mpmath.log(mpmath.ncdf(r * z))

    peak = max(log_integrand(mpmath.mpf(i) / 4) for i in range(-20, 160))
    grid = [mpmath.mpf(i) / 2 for i in range(-20, 80)]
    whole = mpmath.quad(lambda z: mpmath.exp(log_integrand(z) - peak), grid)
    part = mpmath.quad(lambda z: mpmath.exp(log_integrand(z) - peak) * mpmath.npdf(r * z) / mpmath.ncdf(r * z), grid)
    return float(-part / whole)


@pytest.mark.parametrize(
    ("own", "n"),
    [
        (5, 10),
        (200, 500),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((8.9, 30), (12.6, 50), (80, 200))),
    ],
)
def test_top_gradient_with_many_rivals(own, n):
    with mpmath.workdps(20):
        expected = gradient_of_equal_rivals(own, n)
    got = scores(vt.Profile(top=[0], counts=[[own] + [1] * (n - 1)]), "top-gradient")
    np.testing.assert_allclose(got, [-(n - 1) * expected] + [expected] * (n - 1), rtol=1e-8)


@pytest.mark.parametrize("name", ["top-gradient", "top-monte-carlo"])
def test_products_of_many_small_probabilities_do_not_underflow(name):
    counts = np.float32([[1e6] + [1] * 300])
    got = scores(vt.Profile(top=[0], counts=counts), name)
    assert np.isfinite(got).all()
    assert got.argmax() == 0


def test_top_gradient_of_ties_is_the_average_of_the_favourites():
    counts = [[4, 9, 1]]
    tied = scores(vt.Profile(ranks=[[1, 1, 2]], counts=counts), "top-gradient")
    each = [scores(vt.Profile(top=[j], counts=counts), "top-gradient") for j in (0, 1)]
    np.testing.assert_allclose(tied, (each[0] + each[1]) / 2, rtol=1e-12)


def test_monte_carlo_is_the_published_estimate():
    counts, sigma, favourite, samples = [4.0, 9.0, 1.0], [1.0, 2.0, 0.5], 1, 50
    z = Random.of(np.zeros(1), 3).normal((1, samples))[0]
    s = [sigma[j] / math.sqrt(counts[j]) for j in range(3)]
    top = sum_s = 0.0
    others = {0: 0.0, 2: 0.0}
    for x in z * s[favourite]:
        cdf = {k: special.ndtr(x / s[k]) for k in others}
        product = cdf[0] * cdf[2]
        sum_s += product
        top += x / s[favourite] ** 2 * product
        for k, other in ((0, 2), (2, 0)):
            others[k] -= math.exp(-((x / s[k]) ** 2) / 2) / (s[k] * math.sqrt(2 * math.pi)) * cdf[other]
    expected = [others[0] / sum_s, top / sum_s, others[2] / sum_s]
    profile = vt.Profile(top=[favourite], counts=[counts])
    np.testing.assert_allclose(
        scores(profile, "top-monte-carlo", sigma=sigma, samples=samples, seed=3), expected, rtol=1e-12
    )


def test_monte_carlo_tends_to_the_gradient():
    """Within five standard errors over 30 independent seeds in each of 5 scores: false alarms below 1 in 5,000.

    With 30 seeds the statistic is Student's t with 29 degrees of freedom, P(|t| > 5) < 3e-5. At 2,000 samples the bias
    of the ratio, of order 1/2,000 of a score, is far below a standard error.
    """
    profile = random_profile(5, voters=4, kind="top")
    exact = scores(profile, "top-gradient")
    draws = np.array([scores(profile, "top-monte-carlo", samples=2000, seed=seed) for seed in range(30)])
    error = draws.std(axis=0, ddof=1) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - exact) < 5 * error).all()
    assert (error > 0).all()


@given(values_profiles())
def test_borda(profile):
    expected = np.sum([references.borda_points(r, profile.shape[-1]) for r in profile.ranks.tolist()], axis=0)
    np.testing.assert_allclose(scores(profile, "borda"), expected, **CLOSE)


@given(values_profiles())
def test_borda_sqrt_count(profile):
    points = np.array([references.centred_points(r, profile.shape[-1]) for r in profile.ranks.tolist()])
    expected = (points * np.sqrt(profile.counts)).sum(axis=0)
    np.testing.assert_allclose(scores(profile, "borda-sqrt-count"), expected, **CLOSE)


@given(values_profiles())
def test_plurality(profile):
    expected = references.top_rule(
        profile.ranks.tolist(), profile.counts.tolist(), lambda c, j: [float(k == j) for k in range(len(c))]
    )
    np.testing.assert_allclose(scores(profile, "plurality"), expected, **CLOSE)


@pytest.mark.parametrize("experience", VOTER_WEIGHTS)
@given(profile=values_profiles())
def test_experience(experience, profile):
    weights = [references.experience(experience, c) for c in profile.counts.tolist()]
    points = [references.borda_points(r, profile.shape[-1]) for r in profile.ranks.tolist()]
    expected = np.sum([w * np.array(p) for w, p in zip(weights, points, strict=True)], axis=0)
    np.testing.assert_allclose(scores(profile, f"borda+{experience}"), expected, **CLOSE)
    favourites = np.sum([w * top for w, top in zip(weights, profile.top, strict=True)], axis=0)
    np.testing.assert_allclose(scores(profile, f"plurality+{experience}"), favourites, **CLOSE)


@given(values_profiles(zeros=False), st.lists(st.floats(-5, 5), min_size=5, max_size=5))
def test_positional(profile, vector):
    vector = vector[: profile.shape[-1]]
    expected = np.sum([references.positional_points(r, vector) for r in profile.ranks.tolist()], axis=0)
    np.testing.assert_allclose(scores(profile, "positional", points=vector), expected, **CLOSE)


@given(values_profiles())
def test_positional_with_borda_points_is_borda(profile):
    n = profile.shape[-1]
    np.testing.assert_allclose(
        scores(profile, "positional", points=range(n - 1, -1, -1))[None]
        - scores(profile, "positional", points=[0] * n),
        scores(profile, "borda")[None] if (profile.counts > 0).all() else _stretched(profile),
        **CLOSE,
    )


def _stretched(profile):
    """Borda points on a partial ballot, stretched so that the ends of the vector are kept."""
    n = profile.shape[-1]
    total = np.zeros(n)
    for ranks in profile.ranks.tolist():
        seen = sum(r > 0 for r in ranks)
        points = np.array(references.borda_points(ranks, n))
        total += points * ((n - 1) / (seen - 1) if 1 < seen < n else 1)
    return total[None]


def test_veto_counts_last_places():
    profile = vt.Profile(ranks=[[1, 2, 3], [1, 3, 3], [3, 1, 2]])
    np.testing.assert_allclose(scores(profile, "veto"), [-1, -0.5, -1.5])


def log_likelihood(delta, profile, sigma):
    """Case 3's Σ_i log Φ(±Δ/s_i), as a loop."""
    total = 0.0
    for ranks, (c1, c2), times in zip(profile.ranks, profile.counts, profile.multiplicity, strict=True):
        if c1 > 0 and c2 > 0 and ranks[0] != ranks[1]:
            s = math.sqrt(sigma[0] ** 2 / c1 + sigma[1] ** 2 / c2)
            total += times * special.log_ndtr((delta if ranks[1] < ranks[0] else -delta) / s)
    return total


@given(values_profiles(alternatives=(2, 2), voters=(2, 6), counts=COUNTS), SIGMAS)
def test_majority_delta_maximises_the_likelihood(profile, sigma):
    sigma = tuple(sigma[:2])
    delta = float(vt.rule("majority", sigma=sigma).difference(profile.as_rankings().ballots))
    sides = np.sign(profile.ranks[:, 0] - profile.ranks[:, 1])[(profile.counts > 0).all(axis=1)]
    if math.isinf(delta):
        assert (sides * math.copysign(1, delta) >= 0).all()
        assert (sides != 0).any()
    elif {-1, 1} <= set(sides):
        best = optimize.minimize_scalar(
            lambda d: -log_likelihood(d, profile, sigma), bracket=(delta - 1, delta + 1), tol=1e-12
        )
        assert delta == pytest.approx(best.x, rel=1e-5, abs=1e-6)
    else:
        assert delta == 0


@pytest.mark.parametrize(
    ("counts", "times"),
    [((1000, 1), (1e6, 1)), ((1e5, 0.1), (1000, 1)), ((1e6, 1e-6), (1, 1)), ((1, 0.5), (1, 1e6)), ((1, 1), (1e9, 1))],
)
@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-8), (np.float32, 1e-6)])
def test_majority_delta_of_very_unequal_sides(counts, times, dtype, digits):
    s = [math.sqrt(2 / c) for c in counts]

    def gradient(delta):  # of log Φ(Δ/s_1) + log Φ(−Δ/s_2), by the scaled complementary error function
        up, down = (
            times[i] / s[i] / special.erfcx(sign * delta / s[i] / math.sqrt(2)) for i, sign in ((0, -1), (1, 1))
        )
        return up - down

    expected = optimize.brentq(gradient, -1e3, 1e3, xtol=1e-15, rtol=1e-14)
    profile = vt.Profile(
        ranks=dtype([[2, 1], [1, 2]]), counts=dtype([[c, c] for c in counts]), multiplicity=dtype(times)
    )
    assert vt.decide(profile, "majority").details["delta"] == pytest.approx(expected, rel=digits)


def test_majority_delta_of_a_lopsided_vote():
    """With equal counts Φ(Δ/s) is the share of the votes: 999 to 1 at s = √2."""
    profile = vt.Profile(ranks=[[2, 1], [1, 2]], multiplicity=[999, 1])
    delta = vt.decide(profile, rule="majority").details["delta"]
    assert delta == pytest.approx(math.sqrt(2) * special.ndtri(0.999), rel=1e-8)


def test_majority_delta_of_a_vote_of_very_many_to_one():
    """With equal counts Φ(Δ/s) is the share of the votes: 10¹⁵ to 1 at s = √2."""
    profile = vt.Profile(ranks=[[2, 1], [1, 2]], multiplicity=[1e15, 1])
    outcome = vt.decide(profile, rule="majority")
    assert outcome.status == "converged"
    assert outcome.details["delta"] == pytest.approx(-math.sqrt(2) * special.ndtri(1e-15), rel=1e-6)
