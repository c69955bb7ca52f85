"""How noisy voters are: quadrature, evidence between the places where it is known, and noise that is pooled."""

import math

import numpy as np
import pytest
from scipy import special

from veritally.inference.scale import (
    DOUBTFUL,
    REACH,
    WEAK,
    Looks,
    NoisePrior,
    PooledNoise,
    gauss,
    look_around,
    pooled,
    stand_ins,
)

# Gauss's quadrature


@pytest.mark.parametrize("number", [1, 3, 5])
def test_polynomials_are_averaged_exactly(number):
    """Up to the degree 2k − 1, for each of several sets of points."""
    rng = np.random.default_rng(number)
    x = rng.normal([[0.0, 4.0]], [[1.0, 0.1]], (60, 2))
    weight = rng.dirichlet(np.ones(60), 2).T
    values, shares = gauss(x, weight, number)
    assert values.shape == shares.shape == (number, 2)
    for power in range(2 * number):
        np.testing.assert_allclose(np.sum(shares * values**power, axis=0), np.sum(weight * x**power, axis=0), rtol=1e-9)
    power = 2 * number
    assert not np.allclose(np.sum(shares * values**power, axis=0), np.sum(weight * x**power, axis=0), rtol=1e-9)


def test_five_values_for_a_normal_are_gauss_and_hermite_s():
    nodes, chances = np.polynomial.hermite_e.hermegauss(5)
    x = np.linspace(-9, 9, 2001)[:, None]
    values, shares = gauss(x, np.exp(-(x**2) / 2) / np.sum(np.exp(-(x**2) / 2)), 5)
    np.testing.assert_allclose(values[:, 0], nodes, atol=1e-9)
    np.testing.assert_allclose(shares[:, 0], chances / chances.sum(), atol=1e-9)


@pytest.mark.parametrize(
    ("places", "chances"),
    [
        ([2.0], [1.0]),
        ([-3.0, 5.6], [0.5, 0.5]),
        ([-1.0, 0.0, 5.6], [0.1, 0.2, 0.7]),
        ([0.0, 1e-3, 5.6], [0.3, 0.3, 0.4]),
    ],
)
def test_a_few_atoms_keep_their_weight(places, chances):
    """Where there are fewer points than values, which then have to do with what there is."""
    x, weight = (np.array(given)[:, None] for given in (places, chances))
    values, shares = gauss(x, weight, 5)
    assert np.isfinite(values).all()
    assert shares.sum() == pytest.approx(1)
    for power in range(1, 5):
        assert np.sum(shares * values**power) == pytest.approx(np.sum(weight * x**power), rel=1e-6)


def test_a_density_beside_an_atom():
    """A part of 0.3 is pure noise, and the rest normal around −1."""
    x = np.append(np.linspace(-7, 5, 400), 5.6)[:, None]
    weight = np.append(0.7 * special.softmax(-((x[:-1, 0] + 1) ** 2) / 2), 0.3)[:, None]
    values, shares = gauss(x, weight, 5)
    assert np.sum(shares * values) == pytest.approx(0.3 * 5.6 - 0.7)
    assert np.sum(np.where(values > 4, shares, 0)) == pytest.approx(0.3, abs=0.02)


# Evidence between the places where it is known


def looks_at(u, evidence, n=2):
    """What is to be found at u, by a function that gives log-evidence and slope; means are u, covariances u times 1."""
    log, slope = evidence(u)
    return Looks(u, log, slope, u[..., None] * np.ones(n), u[..., None, None] * np.ones((n, n)))


def cubic(u):
    return 0.3 * u**3 - u**2 + 2 * u - 5, 0.9 * u**2 - 2 * u + 2


def test_cubics_are_exact():
    known = looks_at(np.array([[5.6, 5.0], [3.6, 1.0], [1.6, 0.5], [-4.4, 0.4]]), cubic)
    u = np.linspace(-4.4, 5.6, 23)[:, None] * np.ones(2)
    found = known.at(u)
    np.testing.assert_allclose(found.log_evidence, cubic(u)[0], atol=1e-9)
    np.testing.assert_allclose(found.slope, cubic(u)[1], atol=1e-9)
    np.testing.assert_allclose(found.mean, u[..., None] * np.ones(2), atol=1e-12)
    np.testing.assert_allclose(found.covariance, u[..., None, None] * np.ones((2, 2)), atol=1e-12)
    np.testing.assert_allclose(known.evidence(u), found.log_evidence)


def test_what_is_known_stays_as_it_is():
    known = looks_at(np.array([[5.6], [3.6], [1.6], [-4.4]]), lambda u: (np.sin(u), np.cos(u)))
    for own, found in zip(known, known.at(known.u), strict=True):
        np.testing.assert_allclose(found, own, atol=1e-12)


def test_further_looks_fall_into_place_and_slopes_fill_gaps():
    first, later = (looks_at(np.array(u)[:, None], cubic) for u in ([5.6, 1.6, -2.4], [0.0, 3.6]))
    whole = first.joined(later)
    np.testing.assert_array_equal(whole.u[:, 0], [5.6, 3.6, 1.6, 0.0, -2.4])
    np.testing.assert_allclose(whole.log_evidence, cubic(whole.u)[0])
    np.testing.assert_array_equal(whole.covariance[:, 0, 1, 1], whole.u[:, 0])
    unknown = later._replace(log_evidence=np.full((2, 1), np.nan))
    guessed = first.joined(unknown).log_evidence[:, 0]
    assert guessed[1] == pytest.approx(cubic(5.6)[0] - 2 * (cubic(5.6)[1] + cubic(3.6)[1]) / 2)
    assert guessed[3] == pytest.approx(cubic(1.6)[0] - 1.6 * (cubic(1.6)[1] + cubic(0.0)[1]) / 2)


# A few values that stand for all that u may be


def normal_evidence(centre, deviation):
    return lambda u: (-(((u - centre) / deviation) ** 2) / 2, -(u - centre) / deviation**2)


def marginal_evidence(number, square):
    """That of so many normal numbers with mean square ``square``, whose variance is exp(−2u) beside noise of 1."""

    def evidence(u):
        variance = np.exp(-2 * u) + 1
        slope = np.exp(-2 * u) * number * (1 / variance - square / variance**2)
        return -number / 2 * (np.log(variance) + square / variance), slope

    return evidence


def found(evidence, prior, decisions=1):
    """The values that stand for the posterior of u, and where the evidence was looked at."""
    seen = []

    def look(u, rows, near):
        assert u.shape[1] == len(rows)
        assert near is None or near.u.shape[1] == len(rows)
        seen.extend((d, value) for d, values in zip(rows, u.T, strict=True) for value in values)
        return looks_at(u, evidence)

    return stand_ins(look_around(look, prior, decisions, np.zeros(decisions)), prior), seen


def integrated(evidence, prior):
    """Points, their probabilities, the mean, and the log of the evidence averaged over the prior, on a fine grid."""
    u = np.linspace(*REACH, 200_001)
    log = evidence(u)[0] + prior.log_density(u) + math.log(u[1] - u[0])
    noise = evidence(REACH[1])[0] + (math.log(prior.nothing) if prior.nothing else -math.inf)
    u, log = np.append(u, REACH[1]), np.append(log, noise)
    whole = special.logsumexp(log)
    return u, np.exp(log - whole), whole


CURVES = {  # and how far what is found may be off, in standard deviations of u
    "narrow": (normal_evidence(0.7, 0.03), 0.003),
    "narrow, between the points": (normal_evidence(-1.65, 0.03), 0.003),
    "wide": (normal_evidence(1.0, 2.0), 0.003),
    "level": (lambda u: (0 * u, 0 * u), 0.003),
    "three numbers that spread": (marginal_evidence(3, 9.0), 0.15),
    "nine that may spread": (marginal_evidence(9, 2.0), 0.15),
    "nine that do not": (marginal_evidence(9, 1.0), 0.15),
}
PRIORS = {"weak": WEAK, "atom": DOUBTFUL, "told": NoisePrior(np.array([0.4]), 0.5, 0.0)}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("curve", CURVES)
def test_values_stand_for_the_posterior(curve, prior):
    """Against direct integration, of the mean, the spread, quantiles and evidence.

    Evidence that is a parabola is known exactly between the places that were looked at, and quantiles to a step between
    points. Measured: means 0.002 standard deviations off, those of other evidence 0.11.
    """
    evidence, near = CURVES[curve]
    values, _ = found(evidence, PRIORS[prior])
    u, weight, log_evidence = integrated(evidence, PRIORS[prior])
    mean = np.sum(weight * u)
    deviation = math.sqrt(np.sum(weight * (u - mean) ** 2))
    own = np.sum(values.weight * values.near.u)
    assert values.weight.sum() == pytest.approx(1)
    assert own == pytest.approx(mean, abs=near * deviation)
    if deviation > 0.1:  # below, one value does
        spread = math.sqrt(np.sum(values.weight * (values.near.u - own) ** 2))
        assert spread == pytest.approx(deviation, rel=0.01 + near)
    assert values.log_evidence[0] == pytest.approx(log_evidence, abs=0.003 + near)
    step = min(0.126, 0.2 * deviation)
    u, weight = u[:-1], weight[:-1] / weight[:-1].sum()  # if it is not all noise
    for share, quantile in zip((0.5, 0.025, 0.975), values.quantiles[:, 0], strict=True):
        before, after = (np.sum(weight[u <= quantile + sign * step]) for sign in (-1, 1))
        assert before - near / 3 <= share <= after + near / 3


def test_what_is_found_of_one_decision_does_not_depend_on_others():
    """Of which some are narrow and looked at again, and some have fallen where others have not."""
    numbers, squares = np.array([3, 2, 300, 9]), np.array([9.0, 1.0, 9.0, 2.0])

    def look(u, rows, near):
        return looks_at(u, marginal_evidence(numbers[rows], squares[rows]))

    together = stand_ins(look_around(look, WEAK, 4, np.zeros(4)), WEAK)
    for d in range(4):
        alone, _ = found(marginal_evidence(numbers[d], squares[d]), WEAK)
        for whole, own in zip(together[1:], alone[1:], strict=True):
            np.testing.assert_allclose(whole[..., d], own[..., 0], atol=1e-9)


@pytest.mark.parametrize(("centre", "deviation", "lower"), [(0.7, 0.03, False), (1.2, 0.6, True), (1.0, 2.0, True)])
def test_it_is_looked_at_farther_down_unless_it_has_fallen(centre, deviation, lower):
    """By 6 at −0.4: here by 670, by 3, or not at all."""
    _, seen = found(normal_evidence(centre, deviation), WEAK)
    assert (min(value for _, value in seen) < -1) == lower


@pytest.mark.parametrize(("deviation", "number"), [(0.03, 1), (0.4, 3), (2.0, 5)])
def test_the_narrower_the_fewer_values(deviation, number):
    values, _ = found(normal_evidence(0.7, deviation), WEAK)
    assert np.sum(values.weight > 0) == number


def test_priors_are_densities():
    u = np.linspace(-40, 40, 8001)[:, None]
    for prior in (WEAK, DOUBTFUL, NoisePrior(np.array([1.0, -2.0]), 0.3, 0.1)):
        whole = np.sum(np.exp(prior.log_density(u)), axis=0) * 0.01
        np.testing.assert_allclose(whole, 1 - prior.nothing, rtol=1e-6)


# Noise that is pooled


def decisions(seed, number, centre, spread, error):
    """Evidence of decisions whose logarithm is normal around a centre, and the standard error of that.

    Each tells it with an error of its own size.
    """
    rng = np.random.default_rng(seed)
    errors = error * rng.uniform(0.5, 1.5, number)
    told = rng.normal(centre, spread, number) + errors * rng.normal(size=number)
    return lambda log: -(((log - told) / errors) ** 2) / 2, np.sum(1 / (spread**2 + errors**2)) ** -0.5


@pytest.mark.parametrize(("centre", "spread", "error"), [(0.8, 0.5, 0.3), (-1.5, 0.3, 1.0), (2.0, 1.0, 0.1)])
def test_centre_and_spread_of_many_decisions_are_recovered(centre, spread, error):
    """Within 4 standard errors of 200 decisions, a false alarm in 15,000; spreads are told to a step between them."""
    evidence, sure = decisions(1, 200, centre, spread, error)
    found, wide, low, high = pooled(evidence, -6.0, 6.0)
    assert found == pytest.approx(centre, abs=4 * sure)
    assert wide == pytest.approx(spread, abs=0.1 + 4 * sure)
    assert (high - low) / 2 == pytest.approx(1.96 * sure, rel=0.2)
    assert (high + low) / 2 == pytest.approx(found)


@pytest.mark.parametrize("number", [40, 200])
def test_the_interval_covers_the_centre(number):
    """Of 60 sets of decisions; with 95% each, fewer than 52 do so with a probability of 0.2%."""
    ends = [pooled(decisions(seed, number, 0.87, 0.4, 0.5)[0], -3.0, 4.0)[2:] for seed in range(60)]
    assert sum(low < 0.87 < high for low, high in ends) >= 52


@pytest.mark.parametrize("error", [0.05, 0.3])
def test_decisions_that_are_alike_have_next_to_no_spread(error):
    centre, spread, *_ = pooled(decisions(2, 200, 0.8, 0.0, error)[0], -3.0, 4.0)
    assert centre == pytest.approx(0.8, abs=0.1)
    assert spread < 0.06 + error / 4


def test_decisions_that_tell_nothing_leave_all_as_it_was_before():
    """A level centre, of variance 6²/12, and half a normal for the spread, whose square is 0.9 up to about 2."""
    centre, spread, low, high = pooled(lambda log: np.zeros((len(log), 20)), -3.0, 3.0)
    assert centre == pytest.approx(0, abs=1e-9)
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(3), rel=0.02)
    assert spread**2 == pytest.approx(3 + 0.9, abs=0.15)


def test_pooled_noise_as_plain_objects():
    noise = PooledNoise("rankings", "sigma", math.log(2), math.log(1.5), 0.0, math.log(4), 30)
    told = {"decisions": 30, "typical": 2, "low": 1, "high": 4, "factor": 1.5**1.96}
    rest = {"votes": "rankings", "unknown": "sigma", "sigma": None}
    assert noise.to_dict() == rest | {name: pytest.approx(value) for name, value in told.items()}
