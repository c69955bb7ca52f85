"""Probabilities of votes against closed formulas, SciPy, mpmath, and sums over all that could have happened."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integrals import Pivot, middle_out, mixed, orders, orthant
from scipy import special, stats

import veritally as vt
from support import values_profiles
from veritally.errors import InputError
from veritally.likelihood import derivatives, log_likelihood, log_prob

COUNTS = (1, 2, 7, 49, 1000, 10**6)
ALL_COUNTS = (0, 0.5, *COUNTS)
TRUTHS = st.lists(st.one_of(st.sampled_from([-10.0, -1.0, 0.0, 1.0]), st.floats(-10, 10)), min_size=5, max_size=5)


def draws(seed, number, n, spread=1.0):
    """Counts and truths of several decisions."""
    rng = np.random.default_rng(seed)
    return rng.choice(COUNTS, (number, n)).astype(float), rng.normal(size=(number, n)) * spread


def ballots(ranks, counts):
    """The same votes in several decisions, in each all voters with the same counts: a batch."""
    ranks = np.asarray(ranks, dtype=float)
    shape = (len(counts), *ranks.shape)
    return vt.Profile(ranks=np.broadcast_to(ranks, shape), counts=np.broadcast_to(counts[:, None], shape))


def rankings(n):
    return np.array(list(itertools.permutations(range(1, n + 1))))


# Two alternatives: the paper's Case 3


def test_two_alternatives_are_a_normal_distribution_function_far_into_its_tails():
    """Measured: 1e-9 of the logarithm or of the probability, and 2e-7 of the gradient, from z = −1000 to 10."""
    z = np.array([-1000, -100, -38, -37, -20, -9, -5.5, -4.5, -2, -1, -0.1, 0, 0.1, 1, 2, 4, 6, 10])
    pairs = np.array(list(itertools.product(COUNTS, COUNTS)), dtype=float)
    s = np.sqrt((1 / pairs).sum(axis=-1))
    profile = vt.Profile(
        ranks=np.broadcast_to([1.0, 2.0], (18, 36, 1, 2)), counts=np.tile(pairs[:, None], (18, 1, 1, 1))
    )
    truth = np.stack([0.5 + z[:, None] * s / 2, 0.5 - z[:, None] * s / 2], axis=-1)
    got, gradient, curvature = derivatives(profile, truth=truth)
    log = special.log_ndtr(z)[:, None, None]
    np.testing.assert_allclose(got, np.broadcast_to(log, got.shape), rtol=1e-9, atol=2e-9)
    rate = (math.sqrt(2 / math.pi) / special.erfcx(-z / math.sqrt(2)))[:, None]  # φ(z)/Φ(z)
    np.testing.assert_allclose(gradient[..., 0, 0], rate / s, rtol=2e-7)
    np.testing.assert_allclose(gradient[..., 0, 1], -rate / s, rtol=2e-7)
    bend = -rate * (z[:, None] + rate)
    close = {"rtol": 1e-4, "atol": 1e-8}  # at z = −1000, bend = −1 is a difference of millions
    for j, k in itertools.product((0, 1), repeat=2):
        np.testing.assert_allclose(
            curvature[..., 0, j, k] * s**2, np.broadcast_to((-1) ** (j + k) * bend, (18, 36)), **close
        )


# Full rankings


@pytest.mark.parametrize("truth", [(0, 0, 0), (0.3, -0.2, 0.5), (5, 0, -5), (-5, 0, 5), (0.5, 0, -4), (-0.02, 0.03, 0)])
def test_three_alternatives_are_one_integral(truth):
    """Measured: 4e-9 of the probability and of the largest gradient, down to probabilities of exp(−2.5e7)."""
    counts = np.array(list(itertools.product((1, 30, 10**6), repeat=3)), dtype=float)
    expected = [Pivot(truth, c**-0.5, [0], 1, [2]) for c in counts]
    got = derivatives(ballots([[1, 2, 3]], counts), truth=truth, order=1)
    np.testing.assert_allclose(got.log_prob[:, 0], [x.log_prob() for x in expected], rtol=1e-12, atol=1e-8)
    gradient = np.array([x.gradient() for x in expected])
    largest = np.abs(gradient).max(axis=-1, keepdims=True) + 1e-30
    np.testing.assert_allclose(got.gradient[:, 0] / largest, gradient / largest, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("truth", "counts"), [((0, 0, 0), (1, 10**6, 1)), ((-5, 0, 5), (10**6, 1, 10**6))])
def test_three_alternatives_by_mpmath(truth, counts):
    expected = float(Pivot(truth, np.array(counts) ** -0.5, [0], 1, [2]).by_mpmath())
    assert log_prob(vt.Profile(ranks=[[1, 2, 3]], counts=[counts]), truth=truth)[0] == pytest.approx(
        expected, rel=1e-14, abs=2e-9
    )


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_rankings_are_orthants_of_differences(n):
    """SciPy is exact for two differences; for three it is asked for 1e-8. Measured: 3e-9."""
    counts, truth = draws(n, 6, n)
    truth = truth / np.sqrt(counts)
    got = np.exp(log_prob(ballots([np.arange(1, n + 1)], counts), truth=truth))[:, 0]
    expected = [orthant(mu, c**-0.5) for mu, c in zip(truth, counts, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9 if n == 3 else 1e-7)


@pytest.mark.parametrize("n", [4, 5])
def test_rankings_are_integrals_of_bivariate_distributions(n):
    """Measured: 1e-9 of the probability."""
    counts, truth = draws(10 + n, 12, n)
    truth = truth / np.sqrt(counts)
    got = np.exp(log_prob(ballots([np.arange(1, n + 1)], counts), truth=truth))[:, 0]
    expected = [middle_out(mu, c**-0.5) for mu, c in zip(truth, counts, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("n", "number"), [(2, 30), (3, 30), (4, 8), (5, 2)])
@pytest.mark.parametrize("spread", [0, 1])
def test_rankings_sum_to_one(n, number, spread):
    """Measured: 3e-9, which is what lies beyond 6.2 standard deviations."""
    counts, truth = draws(n, number, n, spread)
    got = np.exp(log_prob(ballots(rankings(n), counts), truth=truth))
    np.testing.assert_allclose(got.sum(axis=-1), 1, rtol=0, atol=1e-8)


@pytest.mark.parametrize("sigma", [0.3, (2.0, 0.5, 1.0)])
def test_sigma_and_counts_meet_in_the_deviations(sigma):
    counts, truth = np.array([[4.0, 9.0, 1.0]]), [0.4, 0.1, 0.2]
    deviation = np.broadcast_to(sigma, 3) / np.sqrt(counts[0])
    order = list(itertools.permutations(range(3)))
    expected = [Pivot(truth, deviation, [first], own, [last]).log_prob() for first, own, last in order]
    got = log_prob(ballots(np.argsort(order) + 1, counts), truth=truth, sigma=sigma)
    np.testing.assert_allclose(got[0], expected, rtol=0, atol=1e-8)


# Top choices, lists and ties


@pytest.mark.parametrize(("n", "number"), [(2, 30), (3, 30), (4, 20), (5, 10), (10, 2), (20, 1)])
@pytest.mark.parametrize("spread", [0, 1])
def test_top_choices_sum_to_one(n, number, spread):
    """Measured: 1.2e-8 here, less with equal truths; at worst 2.7e-8 among 5,000 other draws, for 3 alternatives."""
    counts, truth = draws(n, number, n, spread)
    shape = (number, n, n)
    profile = vt.Profile(top=np.broadcast_to(np.eye(n) > 0, shape), counts=np.broadcast_to(counts[:, None], shape))
    got = np.exp(log_prob(profile, truth=truth))
    np.testing.assert_allclose(got.sum(axis=-1), 1, rtol=0, atol=5e-8 if spread else 1e-8)


@pytest.mark.parametrize("ranks", [(1, 2, 2), (1, 1, 2), (1, 1, 2, 3, 3), (1, 2, 2, 2, 2, 2), (1, 1, 1, 1, 2)])
@pytest.mark.parametrize("spread", [0, 1, 5])
def test_tiers_around_one_alternative_are_one_integral(ranks, spread):
    """Measured: 3e-7 of the probability and 3e-7 of the largest gradient, mostly a hundred times better."""
    n = len(ranks)
    own = next(j for j in range(n) if ranks.count(ranks[j]) == 1)
    above, below = ([j for j in range(n) if sign * ranks[j] < sign * ranks[own]] for sign in (1, -1))
    counts, truth = draws(20 + n, 4, n, spread)
    if n == 3:
        counts[0], truth[0] = (49, 1000, 1000), (0.3, -0.2, 0.5)  # the worst known
    expected = [Pivot(mu, c**-0.5, above, own, below) for mu, c in zip(truth, counts, strict=True)]
    got = derivatives(ballots([ranks], counts), truth=truth, order=1)
    np.testing.assert_allclose(got.log_prob[:, 0], [x.log_prob() for x in expected], rtol=1e-12, atol=1e-6)
    gradient = np.array([x.gradient() for x in expected])
    largest = np.abs(gradient).max(axis=-1, keepdims=True) + 1e-30
    np.testing.assert_allclose(got.gradient[:, 0] / largest, gradient / largest, rtol=0, atol=1e-6)


TIES = [
    (1, 2, 2),
    (1, 1, 2),
    (1, 2, 2, 3),
    (1, 1, 2, 2),
    (2, 1, 3, 2),
    (1, 2, 2, 2),
    (1, 2, 2, 2, 3),
    (1, 2, 2, 3, 3),
    (1, 1, 2, 2, 3),
    (1, 2, 3, 3, 4),
    (1, 2, 3, 3, 3),  # as a list of two
    (1, 1, 1, 1, 2),
]


@pytest.mark.parametrize("ranks", TIES)
def test_ties_are_the_sum_of_their_orders(ranks):
    """Equal truths, and truths a few of their own standard deviations apart; all in units of these.

    Measured: 1e-9 of the probability, 6e-9 of the gradient, 1e-8 of the curvature where no gradient is 0.
    """
    counts, truth = draws(len(ranks), 3, len(ranks), 2)
    counts[0], truth[0] = [1000.0, *[1.0] * (len(ranks) - 2), 1000.0], 0
    truth = truth / np.sqrt(counts)
    got = derivatives(ballots([ranks], counts), truth=truth)
    every = derivatives(ballots(orders(ranks), counts), truth=truth)
    expected = mixed(*(np.moveaxis(x, 1, 0) for x in every))
    unit = np.sqrt(counts)
    np.testing.assert_allclose(got.log_prob[:, 0], expected[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(got.gradient[:, 0] / unit, expected[1] / unit, rtol=1e-7, atol=1e-7)
    units = unit[:, :, None] * unit[:, None]
    np.testing.assert_allclose(got.curvature[:, 0] / units, expected[2] / units, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ranks", [(1, 2, 2, 3), (1, 2, 2, 3, 3)])
def test_unlikely_ties_are_the_sum_of_their_orders(ranks):
    """Truths run against the ballot; below what numbers hold, middle ties keep only the leading order."""
    n = len(ranks)
    counts = np.array([[1, 2, 1, 2, 1], [1, 2, 7, 1, 2], [49, 7, 30, 1, 49], [1000, 1, 49, 1000, 7]], float)[:, :n]
    truth = np.linspace(-4, 4, n) + np.array([0, 0.3, -0.2, 0.1, 0])[:n]
    got = derivatives(ballots([ranks], counts), truth=truth, order=1)
    every = derivatives(ballots(orders(ranks), counts), truth=truth, order=1)
    expected = special.logsumexp(every.log_prob, axis=1)
    assert (expected < -20).all()
    assert expected.min() < -1000
    gradient = np.einsum("ik,ikj->ij", np.exp(every.log_prob - expected[:, None]), every.gradient)
    held = expected > -300
    assert 2 <= held.sum() < len(held)
    np.testing.assert_allclose(got.log_prob[held, 0], expected[held], rtol=1e-7)
    np.testing.assert_allclose(got.log_prob[~held, 0], expected[~held], rtol=0.05)
    np.testing.assert_allclose(got.gradient[held, 0], gradient[held], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_favourite_is_the_sum_of_the_rankings_that_start_with_it(n):
    """Measured: 1e-8."""
    counts, truth = draws(30 + n, 4 if n < 5 else 1, n, 0.5)
    every = np.exp(log_prob(ballots(rankings(n), counts), truth=truth))
    expected = [every[:, rankings(n)[:, j] == 1].sum(axis=1) for j in range(n)]
    shape = (len(counts), n, n)
    tops = vt.Profile(top=np.broadcast_to(np.eye(n) > 0, shape), counts=np.broadcast_to(counts[:, None], shape))
    np.testing.assert_allclose(np.exp(log_prob(tops, truth=truth)), np.transpose(expected), rtol=0, atol=1e-7)


@pytest.mark.parametrize("ranks", [(1, 0, 0), (0, 1, 2, 0), (2, 0, 1, 0, 0), (2, 0, 3, 0, 1), (1, 1, 0, 0, 0)])
def test_a_list_is_the_sum_of_the_rankings_that_begin_with_it(ranks):
    """Blank, but seen: below all that is ranked, in no order. Measured: 1e-8."""
    n = len(ranks)
    counts, truth = draws(40 + n, 5, n, 0.5)
    got = np.exp(log_prob(ballots([ranks], counts), truth=truth))[:, 0]
    begun = orders([rank or n for rank in ranks])
    expected = np.exp(log_prob(ballots(begun, counts), truth=truth)).sum(axis=1)
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (20, 1), (1, 20), (20, 1, 1), (1, 20, 1), (1, 1, 20), (3, 20, 5), (2, 8, 8, 2), (8, 1, 8, 1)]
)
def test_with_equal_truths_and_counts_all_orders_are_equally_likely(sizes):
    """P = Π (tier sizes)!/n!; with 20 tied there are 2e18 orders. Measured: 2e-8."""
    ranks = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    expected = sum(special.gammaln(size + 1) for size in sizes) - special.gammaln(len(ranks) + 1)
    counts = np.full((1, len(ranks)), 7.0)
    log, gradient, curvature = derivatives(ballots([ranks], counts), truth=np.full(len(ranks), 0.3))
    assert log[0, 0] == pytest.approx(expected, abs=1e-7)
    np.testing.assert_allclose(gradient.sum(axis=-1), 0, atol=1e-6)
    assert np.isfinite(curvature).all()


def test_everything_tied_says_nothing():
    for profile in (
        vt.Profile(ranks=[[1, 1, 1], [0, 2, 2]], counts=[[3, 10**6, 1], [0, 1, 5]]),
        vt.Profile(top=[[True] * 3, [False, True, True]], counts=[[3, 10**6, 1], [0, 1, 5]]),
        vt.Profile(ranks=[[1, 0, 0], [0, 0, 1]], counts=[[3, 0, 0], [0, 0, 1]]),
    ):
        for got in derivatives(profile, truth=[5, -1, 2]):
            np.testing.assert_array_equal(got, 0)


# What was not seen


@pytest.mark.parametrize("ranks", [(1, 2, 3), (3, 1, 2), (1, 2, 2), (1, 1, 2), (1, 2, 2, 3), (1, 2, 0, 0)])
def test_unseen_alternatives_change_nothing(ranks):
    n = len(ranks)
    counts, truth = draws(50 + n, 2, n)
    expected = derivatives(ballots([ranks], counts), truth=truth)
    where = [1, *range(3, n + 2)]  # among unseen ones at 0, 2 and n + 2

    def widened(x, fill=0.0):
        wide = np.full((*np.shape(x)[:-1], n + 3), fill)
        wide[..., where] = x
        return wide

    got = derivatives(ballots([widened(ranks)], widened(counts)), truth=widened(truth, np.nan))
    np.testing.assert_allclose(got.log_prob, expected.log_prob, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got.gradient, widened(expected.gradient), rtol=1e-10, atol=1e-10)
    square = np.zeros((2, 1, n + 3, n + 3))
    square[..., np.ix_(where, where)[0], np.ix_(where, where)[1]] = expected.curvature
    np.testing.assert_allclose(got.curvature, square, rtol=1e-8, atol=1e-8)


# Values and differences


def test_values_have_normal_densities_and_blanks_lie_below_the_lowest():
    counts = np.array([[4, 9, 1, 10**6], [2, 3, 1000, 0], [1, 1, 5, 7]], dtype=float)
    values = np.array([[0.5, -1.0, 2.0, 0.1], [1.5, np.nan, -0.3, np.nan], [np.nan, 0.2, np.nan, 60.0]])
    truth, sigma = np.array([0.1, -0.2, 0.3, 0.2]), np.array([1.0, 2.0, 0.5, 3.0])
    s = sigma / np.sqrt(np.maximum(counts, 1))
    expected = [
        stats.norm.logpdf(values[0], truth, s[0]).sum(),
        stats.norm.logpdf(values[1], truth, s[1])[[0, 2]].sum() + stats.norm.logcdf(-0.3, truth[1], s[1, 1]),
        stats.norm.logpdf(values[2], truth, s[2])[[1, 3]].sum()
        + stats.norm.logcdf(0.2, truth[[0, 2]], s[2, [0, 2]]).sum(),
    ]
    got = derivatives(vt.Profile(values=values, counts=counts), truth=truth, sigma=sigma)
    np.testing.assert_allclose(got.log_prob, expected, rtol=1e-12)
    np.testing.assert_allclose(got.gradient[0], (values[0] - truth) / s[0] ** 2, rtol=1e-12)
    np.testing.assert_allclose(got.curvature[0], -np.diag(s[0] ** -2), rtol=1e-12)
    assert got.gradient[1, 3] == 0
    assert got.gradient[1, 1] < 0


def test_differences_are_normal_with_both_variances():
    counts = np.array([[4.0, 9.0], [10**6, 1.0], [2.0, 2.0]])
    differences = np.array([0.3, -2.0, np.nan])
    with pytest.warns(vt.InputWarning, match="no usable vote"):
        profile = vt.Profile(differences=differences, counts=counts)
    got = derivatives(profile, truth=[0.1, 0.4], sigma=[1.0, 2.0])
    variance = 1 / counts[:, 0] + 4 / counts[:, 1]
    expected = stats.norm.logpdf(differences, 0.3, np.sqrt(variance))
    np.testing.assert_allclose(got.log_prob, [*expected[:2], 0], rtol=1e-12)
    pull = (differences - 0.3) / variance
    np.testing.assert_allclose(got.gradient, np.nan_to_num(np.stack([-pull, pull], axis=-1)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got.curvature[0], np.array([[-1, 1], [1, -1]]) / variance[0], rtol=1e-12)


@given(values_profiles(alternatives=(2, 3), voters=(1, 3)), TRUTHS)
def test_votes_of_different_kinds_keep_their_probabilities(profile, truth):
    truth = truth[: profile.shape[-1]]
    kinds = ["values", "rankings", "top", *(["differences"] if profile.shape[-1] == 2 else [])]
    profiles = [profile.coarsened(kind) for kind in kinds]
    each = [log_prob(one, truth=truth) for one in profiles]
    np.testing.assert_allclose(log_prob(vt.concat(profiles), truth=truth), np.concat(each), rtol=1e-10, atol=1e-10)


# Arguments


def test_a_cap_is_the_same_as_capped_counts():
    counts, truth = draws(60, 2, 4)
    ranks = [[1, 2, 3, 4], [2, 1, 2, 3], [1, 2, 2, 2]]
    expected = derivatives(ballots(ranks, np.minimum(counts, 30.5)), truth=truth)
    for got, want in zip(derivatives(ballots(ranks, counts), truth=truth, cap=30.5), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_multiplicity_is_the_same_as_copies():
    ranks, counts = np.array([[1, 2, 3], [3, 1, 2], [1, 2, 2]]), np.array([[4, 9, 1], [1, 1, 1], [2, 30, 5]])
    times = [2, 0, 3]
    got = log_likelihood(vt.Profile(ranks=ranks, counts=counts, multiplicity=times), truth=[0.1, 0.5, 0])
    copies = vt.Profile(ranks=np.repeat(ranks, times, axis=0), counts=np.repeat(counts, times, axis=0))
    each = log_prob(copies, truth=[0.1, 0.5, 0])
    assert got == pytest.approx(log_likelihood(copies, truth=[0.1, 0.5, 0]), rel=1e-12)
    assert got == pytest.approx(math.fsum(each), rel=1e-12)


def test_truth_and_sigma_by_name():
    profile = vt.Profile(order=[["b", "a", "c"], ["c", "b", "a"]], alternatives=["a", "b", "c"])
    got = log_prob(profile, truth={"c": 0.3, "a": 0.1, "b": 0.2}, sigma={"b": 2, "a": 1, "c": 3})
    np.testing.assert_array_equal(got, log_prob(profile, truth=[0.1, 0.2, 0.3], sigma=[1, 2, 3]))


def test_a_batch_is_a_loop():
    counts, truth = draws(61, 2, 4)
    ranks = [[1, 2, 3, 4], [2, 1, 2, 3]]
    whole = derivatives(ballots(ranks, counts), truth=truth)
    for i in range(2):
        one = derivatives(vt.Profile(ranks=ranks, counts=[counts[i]] * 2), truth=truth[i])
        for got, want in zip(whole, one, strict=True):
            np.testing.assert_allclose(got[i], want, rtol=1e-10, atol=1e-10)
    shared = log_prob(ballots(ranks, counts), truth=truth[0])
    np.testing.assert_allclose(shared[0], whole.log_prob[0], rtol=1e-12)


def test_surprising_rankings_beside_ties():
    """What is done for one ballot does not reach another of the same batch."""
    ranks, counts, truth = [[1, 2, 3], [1, 2, 2], [1, 1, 2]], [[0.5, 1000, 49], [7, 1000, 1], [1, 49, 30]], [8, -3, 10]
    whole = derivatives(vt.Profile(ranks=ranks, counts=counts), truth=truth)
    for i in range(3):
        one = derivatives(vt.Profile(ranks=ranks[i : i + 1], counts=counts[i : i + 1]), truth=truth)
        for got, want in zip(whole, one, strict=True):
            np.testing.assert_allclose(got[i], want[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": [1, 2]}, "shape"),
        ({"truth": [[1, 2, 3]] * 2}, "shape"),
        ({"truth": [1, math.nan, 3]}, "finite"),
        ({"truth": [1, 2, math.inf]}, "finite"),
        ({"truth": ["x", "y", "z"]}, "numbers"),
        ({"truth": {"a": 1, "b": 2}}, "name each alternative"),
        ({"truth": [1, 2, 3], "sigma": -1}, "sigma must be a finite number above 0"),
        ({"truth": [1, 2, 3], "sigma": [1, 0, 1]}, "sigma must be a finite number above 0"),
        ({"truth": [1, 2, 3], "sigma": [1, 1]}, "sigma has 2 numbers for 3 alternatives"),
        ({"truth": [1, 2, 3], "cap": 0}, "cap must be"),
        ({"truth": [1, 2, 3], "count_error": "percent:0.5"}, "count_error"),
        ({"truth": [1, 2, 3], "count_error": lambda random, counts, experience: counts}, "percentage or replacement"),
    ],
)
def test_errors(options, message):
    with pytest.raises(InputError, match=message):
        log_prob(vt.Profile(ranks=[[1, 2, 3]], alternatives=["a", "b", "c"]), **options)


# Nothing breaks


@given(values_profiles(alternatives=(2, 4), voters=(1, 3), counts=ALL_COUNTS), TRUTHS, st.sampled_from([None, 30]))
def test_no_vote_gives_nan_or_a_warning(profile, truth, cap):
    truth = truth[: profile.shape[-1]]
    for kind in ("values", "rankings", "top", *(["differences"] if profile.shape[-1] == 2 else [])):
        got = derivatives(profile.coarsened(kind), truth=truth, cap=cap)
        assert all(np.isfinite(x).all() for x in got)
        assert kind in ("values", "differences") or (got.log_prob <= 1e-7).all()
