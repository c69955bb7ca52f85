"""Voters who differ however much they saw: x_ij ~ N(μ_j, σ²/c_ij + ω²)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from support import random_profile

TOLD = {"sigma": 2.0, "tau": 1.0}


def drawn(omega, decisions=60, voters=12, alternatives=5, sigma=3.0, seed=0):
    """Return votes of voters with very different counts, who differ by ω besides."""
    random = np.random.default_rng(seed)
    truth = random.normal(size=(decisions, 1, alternatives))
    counts = np.ceil(np.exp(random.uniform(0, 6, (decisions, voters, 1))))
    counts = np.broadcast_to(counts, (decisions, voters, alternatives))
    values = truth + random.normal(size=counts.shape) * np.sqrt(sigma**2 / counts + omega**2)
    return vt.Profile(values=values, counts=counts)


@given(seed=st.integers(0, 99), omega=st.floats(0.01, 10))
def test_it_is_as_if_counts_were_worth_less(seed, omega):
    profile = random_profile(seed, voters=5)
    worth = 1 / (1 / np.maximum(profile.counts, 1e-300) + (omega / TOLD["sigma"]) ** 2)
    less = profile.with_ballots(profile.ballots.with_counts(np.where(profile.counts > 0, worth, 0)))
    found, expected = vt.decide(profile, **TOLD, omega=omega), vt.decide(less, **TOLD)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
    assert found.belief.omega == pytest.approx(omega)
    assert np.isnan(expected.belief.omega)


@pytest.mark.parametrize("omega", [0.5, 1.5])
def test_it_is_found_from_values(omega):
    assert vt.decide(drawn(omega), omega="estimated").belief.omega.mean() == pytest.approx(omega, rel=0.3)


@pytest.mark.parametrize("kind", ["values", pytest.param("rankings", marks=pytest.mark.slow)])
def test_where_voters_do_not_differ_nothing_changes(kind):
    profile = drawn(0.0, decisions=6).coarsened(kind)
    found, plain = vt.decide(profile, omega="estimated"), vt.decide(profile)
    np.testing.assert_allclose(found.scores, plain.scores)
    assert np.isnan(found.belief.omega).all()


def test_a_voter_who_saw_everything_is_no_longer_believed_alone():
    """One with ten thousand observations against five with ten: as sure as one voter can be, and no surer."""
    values = [[0.0, 1.0]] + 5 * [[1.0, 0.0]]
    counts = [[1e4, 1e4]] + 5 * [[10, 10]]
    profile = vt.Profile(values=values, counts=counts, alternatives=["A", "B"])
    assert vt.decide(profile, **TOLD, cap="none").winner == "B"
    assert vt.decide(profile, **TOLD, cap="none", omega=1).winner == "A"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"omega": 1}, "give sigma too"),
        ({"sigma": 1, "omega": -1}, "omega"),
        ({"sigma": 1, "tau": 1, "omega": 1, "count_error": "percentage:0.5"}, "leave one of them out"),
    ],
)
def test_what_is_refused(told, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(random_profile(1, voters=4), **told)


def test_it_can_be_compared():
    found = vt.compare("high-variance", voters=5, instances=20, rules=["posterior:votes=rankings:omega=estimated"])
    assert found.rules


@pytest.mark.parametrize("known", [{}, {"sigma": 1}])
def test_omega_beside_doubtful_counts_is_refused(known):
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[3, 4, 5], [1, 2, 9]])
    for error in ("percentage", "percentage:0.5"):
        with pytest.raises(vt.InputError, match="leave one of them out"):
            vt.decide(profile, omega="estimated", count_error=error, **known)
