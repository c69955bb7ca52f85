"""Votes whose counts may be wrong, against explicit sums over all true counts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import veritally as vt
from support import values_profiles
from veritally.likelihood import derivatives, log_prob

COUNTS = (0, 0.5, 1, 2, 7, 49, 1000, 10**6)
TRUTHS = st.lists(st.floats(-10, 10), min_size=5, max_size=5)


def posterior(error, reported, high):
    """P(c | reported), c = 1 … high, which were equally likely."""
    kind, size = error.split(":")
    size = float(size)
    true = np.arange(1, high + 1.0)
    if kind == "replacement":
        return (1 - size) * (true == reported) + size / high
    # max(1, round(c · u)) is the reported count, with u uniform on 1 ± size.
    low, high = (reported - 0.5 if reported > 1 else 0.0), reported + 0.5
    chance = np.clip(np.minimum(high, true * (1 + size)) - np.maximum(low, true * (1 - size)), 0, None) / (
        2 * size * true
    )
    return chance / chance.sum()


def double_sum(error, reported, difference, high):
    """Log of Σ Σ P(c_1 | r_1) P(c_2 | r_2) Φ(Δ/√(1/c_1 + 1/c_2)), and its slope by Δ."""
    weights = np.multiply.outer(*(posterior(error, r, high) for r in reported))
    true = np.arange(1, high + 1.0)
    s = np.sqrt(1 / true[:, None] + 1 / true)
    logs = special.log_ndtr(difference / s)
    rate = math.sqrt(2 / math.pi) / special.erfcx(-difference / s / math.sqrt(2)) / s
    log = special.logsumexp(logs, b=weights)
    return log, float((weights * np.exp(np.minimum(logs - log, 700)) * rate).sum())


def against_double_sum(error, difference, high):
    pairs = np.array(list(itertools.product((1, 2, high // 3 + 1, high), repeat=2)), dtype=float)
    expected = np.array([double_sum(error, pair, difference, high) for pair in pairs])
    profile = vt.Profile(ranks=np.broadcast_to([1.0, 2.0], pairs.shape), counts=pairs)
    log, gradient, _ = derivatives(profile, truth=[difference + 0.3, 0.3], count_error=error, order=1)
    np.testing.assert_allclose(gradient[:, 1], -gradient[:, 0], rtol=1e-9)
    return log, gradient[:, 0], *expected.T


@pytest.mark.parametrize("high", [5, 49])
@pytest.mark.parametrize(
    ("error", "digits"),
    [("percentage:0.5", 1e-6), ("percentage:0.1", 1e-6), ("replacement:0.33", 1e-4), ("replacement:1", 1e-4)],
)
@pytest.mark.parametrize("z", [-2, 0, 0.5, 2])
def test_two_alternatives_are_a_double_sum(error, digits, z, high):
    """Truths up to two standard deviations of the largest count's mean apart.

    Measured: 1e-9 of the probability and of the gradient for percentages, 6e-6 and 9e-6 for replacement.
    """
    log, gradient, expected, slope = against_double_sum(error, z * math.sqrt(2 / high), high)
    np.testing.assert_allclose(log, expected, rtol=0, atol=digits)
    np.testing.assert_allclose(gradient, slope, rtol=digits)


@pytest.mark.parametrize("high", [5, 49, 200])
@pytest.mark.parametrize("error", ["percentage:0.5", "replacement:0.33"])
@pytest.mark.parametrize("difference", [-8, -3, -1, 3])
def test_surprising_votes_are_a_double_sum(error, difference, high):
    """Far apart, where few counts stand for many: within 2% of the logarithm and 5% of its slope, down to 1e-40."""
    log, gradient, expected, slope = against_double_sum(error, difference, high)
    held = expected > -100
    assert held.any()
    np.testing.assert_allclose(log[held], expected[held], rtol=0.02, atol=1e-4)
    np.testing.assert_allclose(gradient[held], slope[held], rtol=0.05, atol=1e-6)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("error", ["percentage:0.5", "replacement:0.33"])
def test_fractional_counts_are_a_double_integral(error):
    """Prior and error are then uniform over an interval; with percentages, log c is. Measured: 8e-7."""
    low, high, reported, difference = 0.5, 20.5, (3.5, 8.25), -0.4
    size = float(error.split(":")[1])

    def pair(x, y):
        return float(special.ndtr(difference / math.sqrt(1 / x + 1 / y)))

    if error.startswith("percentage"):
        ends = [(math.log(max(r / (1 + size), low)), math.log(min(r / (1 - size), high))) for r in reported]
        area = math.prod(b - a for a, b in ends)
        expected = integrate.dblquad(lambda y, x: pair(math.exp(x), math.exp(y)) / area, *ends[0], *ends[1])[0]
    else:
        r1, r2 = reported
        wide = high - low
        one = [integrate.quad(lambda x, r=r: pair(x, r) / wide, low, high)[0] for r in reported]
        both = integrate.dblquad(lambda y, x: pair(x, y) / wide**2, low, high, low, high)[0]
        expected = (1 - size) ** 2 * pair(r1, r2) + size * (1 - size) * sum(one) + size**2 * both
    counts = [reported, (low, high)]  # the second voter sets the range
    got = log_prob(vt.Profile(ranks=[[1, 2]] * 2, counts=counts), truth=[difference, 0], count_error=error)[0]
    assert math.exp(got) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("error", "digits"), [("percentage:0.5", 1e-6), ("replacement:0.33", 1e-4)])
def test_values_and_differences_have_mixtures_for_densities(error, digits):
    counts, values = np.array([[4.0, 49.0], [1.0, 20.0]]), np.array([[0.3, -0.1], [1.2, 0.2]])
    true = np.arange(1, 50.0)
    weights = np.array([[posterior(error, r, 49) for r in row] for row in counts])
    density = (weights * stats.norm.pdf(values[..., None] - 0.1, scale=2 / np.sqrt(true))).sum(axis=-1)
    profile = vt.Profile(values=values, counts=counts)
    options = {"truth": [0.1, 0.1], "sigma": 2, "count_error": error}
    np.testing.assert_allclose(log_prob(profile, **options), np.log(density).sum(axis=-1), rtol=0, atol=digits)
    s = 2 * np.sqrt(1 / true[:, None] + 1 / true)
    apart = np.diff(values)[:, 0]
    both = [(np.multiply.outer(*w) * stats.norm.pdf(d, scale=s)).sum() for w, d in zip(weights, apart, strict=True)]
    np.testing.assert_allclose(log_prob(profile.as_differences(), **options), np.log(both), rtol=0, atol=digits)


@pytest.mark.parametrize("error", ["percentage:0", "replacement:0"])
def test_no_error_is_none(error):
    profile = vt.Profile(ranks=[[1, 2, 3], [1, 2, 2]], counts=[[1, 5, 30], [2, 2, 9]])
    expected = derivatives(profile, truth=[0.1, 0.3, 0])
    for got, want in zip(derivatives(profile, truth=[0.1, 0.3, 0], count_error=error), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("count", [1, 7.5, 10**6])
@pytest.mark.parametrize("error", ["percentage:0.5", "replacement:0.33"])
def test_with_one_possible_count_there_is_no_doubt(error, count):
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 2]], counts=np.full((2, 3), count))
    truth = np.array([0.1, 0.3, 0]) / math.sqrt(count)
    got = log_prob(profile, truth=truth, count_error=error)
    np.testing.assert_allclose(got, log_prob(profile, truth=truth), rtol=0, atol=1e-8)


def test_rankings_with_doubtful_counts_sum_to_one():
    counts = np.array([[1, 9, 30], [4, 2, 2], [49, 49, 1]], float)
    ranks = np.array(list(itertools.permutations((1.0, 2, 3))))
    profile = vt.Profile(ranks=np.broadcast_to(ranks, (3, 6, 3)), counts=np.broadcast_to(counts[:, None], (3, 6, 3)))
    for error in ("percentage:0.5", "replacement:0.33"):
        chance = np.exp(log_prob(profile, truth=[0.1, 0.4, 0], count_error=error))
        np.testing.assert_allclose(chance.sum(axis=-1), 1, rtol=0, atol=1e-8)


@pytest.mark.parametrize("error", ["percentage:0.5", "replacement:0.33"])
@settings(phases=[Phase.explicit, Phase.generate])  # shrinking takes a minute
@given(profile=values_profiles(alternatives=(2, 3), voters=(1, 3), counts=COUNTS), truth=TRUTHS)
def test_no_vote_gives_nan_or_a_warning(error, profile, truth):
    truth = truth[: profile.shape[-1]]
    for kind in ("values", "rankings", "top", *(["differences"] if profile.shape[-1] == 2 else [])):
        got = derivatives(profile.coarsened(kind), truth=truth, count_error=error)
        assert all(np.isfinite(x).all() for x in got)
        assert kind in ("values", "differences") or (got.log_prob <= 1e-7).all()
