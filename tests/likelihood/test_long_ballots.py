"""Rankings of many alternatives: n-fold integrals must keep their digits."""

import numpy as np
import pytest
from integrals import long_chain
from scipy import special

import veritally as vt
from veritally.errors import InputError
from veritally.likelihood import derivatives, log_prob


def one_ballot(n, counts=1.0):
    """The ballot 1 ≻ 2 ≻ … ≻ n."""
    return vt.Profile(ranks=np.arange(1.0, n + 1)[None], counts=np.broadcast_to(counts, (1, n)))


@pytest.mark.parametrize("n", [60, 80, 100, 120, 200, 500])
def test_at_equal_truths_all_orders_are_equally_probable(n):
    """Measured: 2e-10."""
    assert log_prob(one_ballot(n), truth=np.zeros(n))[0] == pytest.approx(-special.gammaln(n + 1), rel=1e-8)


@pytest.mark.parametrize(
    ("n", "tau", "most"),
    [
        (100, 0.3, 1),
        (100, 2, 20),
        pytest.param(200, 0.1, 20, marks=pytest.mark.slow),
        pytest.param(200, 1, 5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("how", ["as expected", "at random", "reversed"])
def test_at_random_truths_as_in_extended_precision(n, tau, most, how):
    """Measured: 1e-10."""
    rng = np.random.default_rng(n)
    truth, counts = rng.normal(0, tau, n), rng.uniform(1, most, n)
    truth = {"as expected": -np.sort(-truth), "at random": truth, "reversed": np.sort(truth)}[how]
    got = log_prob(one_ballot(n, counts), truth=truth)[0]
    assert got == pytest.approx(long_chain(truth, counts**-0.5, width=0.02), rel=1e-8)


@pytest.mark.parametrize("n", [90, 150])
def test_derivatives_of_long_ballots_by_differences(n):
    rng = np.random.default_rng(n)
    truth, way = rng.normal(0, 0.5, n), rng.normal(size=n)
    profile, step = one_ballot(n, rng.uniform(1, 9, n)), 1e-4
    _, gradient, curvature = derivatives(profile, truth=truth)
    up, down = (derivatives(profile, truth=truth + sign * step * way, order=1) for sign in (1, -1))
    assert gradient[0] @ way == pytest.approx((up.log_prob - down.log_prob)[0] / (2 * step), rel=1e-6)
    bent = (up.gradient - down.gradient)[0] / (2 * step)
    np.testing.assert_allclose(curvature[0] @ way, bent, atol=1e-5 * np.abs(bent).max())
    assert np.linalg.eigvalsh(curvature[0]).max() < 1e-8  # log-concave; nothing is said of a common shift


@pytest.mark.slow
def test_five_voters_who_agree_on_150_leave_no_tie():
    outcome = vt.decide(vt.Profile(ranks=np.tile(np.arange(1, 151), (5, 1))), sigma=10, tau=1)
    assert outcome.winners == [0]
    assert outcome.ranking == [[j] for j in range(150)]
    np.testing.assert_allclose(outcome.scores, -outcome.scores[::-1], atol=1e-6)


def test_ballots_out_of_reach_are_refused():
    with pytest.raises(InputError, match="a ballot has 1001 different ranks, and exact rules take up to 1000"):
        log_prob(one_ballot(1001), truth=np.zeros(1001))
    tied = np.minimum(np.arange(1, 1101), 3.0)[None]  # many alternatives, but few tiers
    assert np.isfinite(log_prob(vt.Profile(ranks=tied), truth=np.zeros(1100))[0])
