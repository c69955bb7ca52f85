"""Maximum likelihood against closed forms and a general optimiser."""

import math
import warnings

import numpy as np
import pytest
from scipy import optimize, special

import veritally as vt
from support import random_profile
from veritally import likelihood


@pytest.mark.parametrize(("wins", "losses"), [(2, 1), (7, 3), (1, 1), (99, 1)])
@pytest.mark.parametrize(("sigma", "counts"), [((1.0, 1.0), (1, 1)), ((2.0, 0.5), (4, 9))])
def test_two_alternatives_have_a_closed_form(wins, losses, sigma, counts):
    """√(s_1² + s_2²) Φ⁻¹(share of the votes), where all have the same counts."""
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], counts=[counts] * 2, multiplicity=[wins, losses])
    width = math.sqrt(sum(x**2 / c for x, c in zip(sigma, counts, strict=True)))
    delta = width * special.ndtri(wins / (wins + losses))
    scores = vt.decide(profile, "mle", sigma=sigma).scores
    assert scores[0] - scores[1] == pytest.approx(delta, abs=1e-6)


def test_two_alternatives_agree_with_the_majority_rule():
    profile = random_profile(1, voters=9, alternatives=2)
    scores = vt.decide(profile, "mle", sigma=3).scores
    delta = vt.decide(profile, "majority", sigma=3).details["delta"]
    assert scores[1] - scores[0] == pytest.approx(float(delta), abs=1e-6)
    assert scores.sum() == pytest.approx(0, abs=1e-6)


CONNECTED = vt.Profile(
    order=[[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [0, 1, 2]],
    counts=[[9, 4, 1], [1, 2, 3], [2, 2, 2], [5, 1, 1], [3, 8, 20]],
)


@pytest.mark.parametrize("kind", ["rankings", "top"])
def test_connected_votes_have_the_maximum_that_an_optimiser_finds(kind):
    profile = CONNECTED.coarsened(kind)

    def negative(gaps):
        return -float(likelihood.log_likelihood(profile, truth=np.append(gaps, 0), sigma=10.0))

    best = np.append(optimize.minimize(negative, np.zeros(2), method="BFGS", options={"gtol": 1e-6}).x, 0)
    outcome = vt.decide(profile, "mle", sigma=10.0)
    assert outcome.rule_warnings == ()
    np.testing.assert_allclose(outcome.scores, best - best.mean(), atol=1e-4)


def test_values_give_the_mean():
    """Case 1, the count-weighted mean, without a prior."""
    profile = random_profile(3, voters=6, alternatives=4, kind="values", zeros=True)
    np.testing.assert_allclose(
        vt.decide(profile, "mle", sigma=2).scores, vt.decide(profile, "mean").scores, rtol=1e-8, atol=1e-8
    )


def test_differences_give_the_inverse_variance_mean():
    """Case 2."""
    profile = random_profile(4, voters=6, alternatives=2, kind="values").as_differences()
    np.testing.assert_allclose(
        vt.decide(profile, "mle", sigma=[1, 3]).scores,
        vt.decide(profile, "difference", sigma=[1, 3]).scores,
        rtol=1e-8,
    )


def test_gradient_vanishes_at_the_maximum_of_mixed_votes():
    groups = [
        vt.Profile(values=[[1.0, 2.0, 0.0], [0.5, 3.0, 1.0]], counts=[[3, 2, 5], [1, 1, 1]]),
        vt.Profile(ranks=[[1, 2, 3]], counts=[[9, 9, 9]]),
    ]
    outcome = vt.decide(groups, "mle", sigma=2.0)
    assert outcome.rule_warnings == ()
    slope = sum(likelihood.derivatives(p, truth=outcome.scores, sigma=2.0).gradient.sum(axis=0) for p in groups)
    np.testing.assert_allclose(slope, 0, atol=1e-7)


def warning(**votes):
    with pytest.warns(vt.InputWarning, match="no finite maximum"):
        outcome = vt.decide(vt.Profile(**votes), "mle")
    assert np.isfinite(outcome.scores).all()
    return outcome.rule_warnings[-1]


def test_those_who_run_off_are_named():
    text = warning(order=[["A", "B", "C"], ["B", "A", "C"]])
    assert "nobody contradicts A and B above C." in text
    assert text.endswith("The scores are those with a very wide prior instead")
    assert "nobody contradicts A above B and C." in warning(order=[["A", "B", "C"], ["A", "C", "B"]])
    assert "A above B; A above C; B above C" in warning(order=[["A", "B", "C"]])
    assert "A and B above C" in warning(top=["A", "B", "A"], alternatives=[*"ABC"])


def test_those_who_cannot_be_compared_are_named():
    apart = {
        "order": [["A", "B"], ["B", "A"], ["C", "D"], ["D", "C"]],
        "counts": [[1, 1, 0, 0]] * 2 + [[0, 0, 1, 1]] * 2,
        "alternatives": [*"ABCD"],
    }
    text = warning(**apart)
    assert "no votes compare A and B and C and D" in text
    assert "contradicts" not in text


def test_a_cycle_is_connected():
    profile = vt.Profile(order=[["A", "B"], ["B", "C"], ["C", "A"]], counts=[[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = vt.decide(profile, "mle")
    assert outcome.winners == ["A", "B", "C"]


def test_a_wide_prior_keeps_the_order_of_the_unanimous():
    with pytest.warns(vt.InputWarning):
        outcome = vt.decide(vt.Profile(order=[["B", "A", "C"]] * 3), "mle")
    assert outcome.ranking == [["B"], ["A"], ["C"]]


def test_one_who_contradicts_makes_the_maximum_finite():
    unanimous = [["A", "B"]] * 9
    with pytest.warns(vt.InputWarning):
        vt.decide(vt.Profile(order=unanimous), "mle")
    outcome = vt.decide(vt.Profile(order=[*unanimous, ["B", "A"]]), "mle")
    assert outcome.rule_warnings == ()
    assert outcome.scores[0] - outcome.scores[1] == pytest.approx(math.sqrt(2) * special.ndtri(0.9), abs=1e-6)


def test_absent_voters_connect_nobody():
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], multiplicity=[1, 0])
    with pytest.warns(vt.InputWarning, match="nobody contradicts 0 above 1"):
        outcome = vt.decide(profile, "mle")
    assert outcome.winner == 0


@pytest.mark.parametrize("voters", [1, 2])
def test_batches_say_which_decision_has_no_maximum(voters):
    good = vt.Profile(order=[["A", "B"], ["B", "A"], ["A", "B"]])
    batch = vt.stack([good, vt.Profile(order=[["A", "B"]] * voters)], decisions=["good", "bad"])
    with pytest.warns(vt.InputWarning, match="decision 'bad': .*no finite maximum"):
        outcome = vt.decide(batch, "mle")
    np.testing.assert_allclose(outcome.scores[0], vt.decide(good, "mle").scores, atol=1e-7)


def test_a_cap_is_capped_counts():
    capped = vt.Profile(ranks=CONNECTED.ranks, counts=np.minimum(CONNECTED.counts, 7))
    np.testing.assert_allclose(
        vt.decide(CONNECTED, "mle", sigma=10, cap=7).scores, vt.decide(capped, "mle", sigma=10).scores, atol=1e-6
    )


def test_the_posterior_tends_to_it_as_the_prior_widens():
    wide = vt.decide(CONNECTED, "posterior", sigma=10, tau=1e4, estimate="mode").scores
    np.testing.assert_allclose(wide, vt.decide(CONNECTED, "mle", sigma=10).scores, atol=1e-3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 1}, "the rule mle has no parameter tau; it takes sigma, cap"),
        ({"cap": -1}, "cap must be a finite number above 0"),
        ({"sigma": 0}, "sigma must be a finite number above 0"),
    ],
)
def test_messages(given, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(vt.Profile(ranks=[[1, 2], [2, 1]]), "mle", **given)


def test_scores_that_differ_by_rounding_alone_tie():
    profile = vt.Profile(top=["A", "B", "A", "C"], alternatives=["A", "B", "C"])
    assert vt.decide(vt.Profile(top=["B", "A", "C"], alternatives=[*"ABC"]), "mle").winners == ["A", "B", "C"]
    outcome = vt.decide(profile, "mle")
    assert outcome.explain().pivotal == {0: ["A", "B", "C"], 2: ["A", "B", "C"]}
