"""What a decision says depends on what its votes tell: not on their form, the batch they come in, or empty ballots."""

import numpy as np
import pytest
from scipy import special

import veritally as vt
from support import random_profile
from veritally.inference import noise, propagation, sampling

FULL = vt.Profile(order=[[*"ABCD"], [*"BACD"], [*"DCBA"]], counts=[[9, 2, 1, 5], [1, 1, 4, 4], [2, 7, 7, 1]])
FAVOURITES = vt.Profile(top=[*"AAC"], alternatives=[*"ABCD"], counts=[[3, 5, 1, 8], [2, 2, 2, 2], [9, 1, 4, 1]])
TOGETHER = vt.Profile(
    order=[[*"ABCD"], [*"BACD"], [*"DCBA"], ["A"], ["A"], ["C"]],
    counts=np.concat([FULL.counts, FAVOURITES.counts]),
    alternatives=[*"ABCD"],
)


def gibbs(favourites, deviation, sweeps, seed=0):
    """P(best) where truths are standard normal: truths and means in turn, each voter's favourite above all others."""
    rng = np.random.default_rng(seed)
    m, n = len(favourites), deviation.shape[-1]
    own = favourites[:, None] == np.arange(n)
    means, truth = np.where(own, 1.0, -1.0), np.zeros(n)
    best = np.zeros(n)
    for _ in range(sweeps):
        highest = means[own][:, None]
        room = special.ndtr((highest - truth) / deviation)
        means = np.where(own, means, truth + deviation * special.ndtri(room * rng.random((m, n))))
        others = np.where(own, -np.inf, means).max(axis=1, keepdims=True)
        room = special.ndtr((truth - others) / deviation)
        means = np.where(own, truth - deviation * special.ndtri(room * rng.random((m, n))), means)
        precision = 1 + np.sum(deviation**-2, axis=0)
        truth = np.sum(means / deviation**2, axis=0) / precision + rng.normal(size=n) / np.sqrt(precision)
        best[np.argmax(truth)] += 1
    return best / sweeps


# Rankings and favourites together


@pytest.mark.parametrize("told", [{"sigma": 2, "tau": 1}, {"sigma": 2}, {}])
def test_rankings_and_favourites_together_are_as_in_one_profile(told):
    expected = vt.decide(TOGETHER, **told)
    for both in ([FULL, FAVOURITES], [FAVOURITES, FULL]):
        outcome = vt.decide(both, **told)
        order = [outcome.alternatives.index(name) for name in expected.alternatives]
        np.testing.assert_allclose(outcome.scores[order], expected.scores, atol=1e-9)
        np.testing.assert_allclose(outcome.p_best[order], expected.p_best, atol=0.005)
        np.testing.assert_allclose(outcome.belief.high[order], expected.belief.high, rtol=0.02)


def test_differences_and_rankings_leave_no_common_mean_free():
    """Against values that leave it free: the prior's mean is 0 where nobody says where the truths lie."""
    differences = vt.Profile(differences=[1.0, 2.0, 0.4], counts=[[3, 3], [1, 9], [2, 2]], alternatives=["A", "B"])
    ranking = vt.Profile(ranks=[[2, 1]], counts=[[5, 5]], alternatives=["A", "B"])
    outcome = vt.decide([differences, ranking], sigma=2, tau=1)
    assert outcome.scores[0] == pytest.approx(-outcome.scores[1], abs=1e-6)
    assert np.all(outcome.belief.high - outcome.belief.low < 5)
    unknown = vt.decide([differences, ranking])
    alone = vt.decide(differences)
    assert 0.5 < unknown.belief.sigma[0] / alone.belief.sigma[0] < 2  # σ is told by the differences


def test_a_decision_without_values_is_one_of_rankings_also_beside_others_with_values():
    values = vt.Profile(values=[[3.0, 1, 2], [7, 6, 5]], counts=[[5, 5, 5], [2, 2, 2]], alternatives=[*"ABC"])
    few = vt.concat([values, vt.Profile(ranks=[[2, 1, 3]], counts=[[4, 4, 4]], alternatives=[*"ABC"])])
    batch = vt.decide(vt.stack([few, FULL, values]))
    for profile, outcome in zip((few, FULL, values), batch.unstack(), strict=True):
        alone = vt.decide(profile)
        np.testing.assert_allclose(outcome.scores, alone.scores, atol=1e-8)
        np.testing.assert_allclose(outcome.p_best, alone.p_best, atol=1e-6)
        np.testing.assert_allclose(outcome.weights, alone.weights, atol=1e-6)
        assert outcome.explain().pivotal == alone.explain().pivotal


# Batches


@pytest.mark.parametrize("told", [{"sigma": 3, "tau": 1}, {}])
def test_decisions_of_a_batch_say_what_they_say_alone(told, monkeypatch):
    """Of different sizes; one is so large that a part of its voters tells the scale, and the mode will do."""
    monkeypatch.setattr(noise, "_LEAST", 10)
    monkeypatch.setattr(noise, "_MANY", 30)
    monkeypatch.setattr(propagation, "_CELLS", 100)
    monkeypatch.setattr(propagation, "_FEW", 0)
    profiles = [random_profile(seed, voters, n) for seed, voters, n in ((9, 5, 3), (8, 2, 6), (7, 24, 4))]
    batch = vt.decide(vt.stack(profiles), **told)
    for d, (profile, inside) in enumerate(zip(profiles, batch.unstack(), strict=True)):
        alone, n = vt.decide(profile, **told), profile.shape[-1]
        np.testing.assert_allclose(inside.scores, alone.scores, atol=1e-7)
        np.testing.assert_allclose(inside.weights, alone.weights, atol=1e-6)
        np.testing.assert_allclose(inside.p_best, alone.p_best, atol=1e-5)
        np.testing.assert_allclose(batch.p_best[d, :n], alone.p_best, atol=1e-5)
        np.testing.assert_allclose(batch.belief.low[d, :n], alone.belief.low, atol=1e-5)
        np.testing.assert_allclose(batch.scale[d], alone.scale, rtol=1e-5)


def test_belief_is_found_once(monkeypatch):
    calls = []
    found = sampling.summarised
    monkeypatch.setattr(sampling, "summarised", lambda *args, **given: calls.append(1) or found(*args, **given))
    outcome = vt.decide(random_profile(1, voters=3, alternatives=3, batch=(4,)), sigma=1, tau=1)
    for _ in range(2):
        _ = outcome.p_best, outcome.to_json(), outcome.to_frame(), [one.belief for one in outcome.unstack()]
    assert len(calls) == 1  # of all of them


def test_a_decision_beside_one_with_ties_is_as_alone():
    profile = random_profile(1, voters=30, alternatives=4)
    beside = vt.decide(vt.stack([profile, vt.Profile(ranks=[[1, 2, 3, 3]])])).unstack()[0]
    np.testing.assert_allclose(beside.scores, vt.decide(profile).scores, atol=1e-5)


# Ballots that say nothing


@pytest.mark.parametrize("kind", ["rankings", "top"])
@pytest.mark.parametrize("told", [{}, {"sigma": 2}, {"omega": "estimated"}])
def test_ballots_that_compare_nothing_change_nothing(kind, told):
    votes = FULL if kind == "rankings" else FULL.as_top()
    lone = vt.Profile(top=[0] * 20, alternatives=[*"ABCD"], counts=[[1000, 0, 0, 0]] * 20)
    empty = lone if kind == "top" else vt.Profile(ranks=[[1, 0, 0, 0]] * 20, alternatives=[*"ABCD"], counts=lone.counts)
    expected, outcome = vt.decide(votes, **told), vt.decide(vt.concat([empty, votes]), **told)
    np.testing.assert_allclose(outcome.scores, expected.scores, atol=1e-9)
    np.testing.assert_allclose(outcome.p_best, expected.p_best, atol=1e-9)


def test_where_nobody_compares_anything_all_is_open():
    outcome = vt.decide(vt.Profile(ranks=[[1, 0], [0, 1], [1.5, 1.5]]))
    np.testing.assert_allclose(outcome.p_best, 0.5, atol=0.02)
    assert len(outcome.winners) == 2


# Parts of voters


def test_a_multiplicity_just_below_one_hardly_changes_anything():
    profile = vt.Profile(order=[[*"ABC"]], counts=[[100, 100, 100]], multiplicity=[1.0])
    almost = vt.Profile(order=[[*"ABC"]], counts=[[100, 100, 100]], multiplicity=[0.999])
    whole, part = (vt.decide(one, sigma=1, tau=1) for one in (profile, almost))
    np.testing.assert_allclose(part.scores, whole.scores, atol=0.005)


def test_halves_of_voters_come_to_whole_ones():
    counts = np.asarray(FULL.counts)
    halves = vt.Profile(
        ranks=np.repeat(FULL.ranks, 2, axis=0), counts=np.repeat(counts, 2, axis=0), multiplicity=[0.5] * 6
    )
    whole, parts = (vt.decide(one, sigma=1, tau=1) for one in (FULL, halves))
    np.testing.assert_allclose(parts.scores, whole.scores, atol=0.01)
    np.testing.assert_allclose(parts.p_best, whole.p_best, atol=0.02)


@pytest.mark.slow
def test_small_parts_of_a_voter_who_knows_much_stay_sound():
    profile = vt.Profile(order=[[*"ABC"]], counts=[[1e4] * 3], multiplicity=[0.05])
    outcome = vt.decide(profile, sigma=1, tau=1)
    assert outcome.ranking == [["A"], ["B"], ["C"]]
    assert np.all(np.isfinite(outcome.belief.deviation))


# Favourites among many


@pytest.mark.slow
@pytest.mark.parametrize(
    ("voters", "alternatives", "most"),
    [
        (12, 60, 100),
        (40, 30, 100),
        (12, 60, 1),
    ],
)
@pytest.mark.filterwarnings("ignore:.*the search stopped at its limit")
def test_favourites_among_many_are_as_sure_as_they_should_be(voters, alternatives, most):
    """Against Gibbs sampling written apart, to 0.05; the mode would say 0.08 of the winner in the first of them."""
    scenario = vt.Scenario(
        voters=voters, alternatives=alternatives, sigma=1, experience=f"uniform:1:{most}", votes="top"
    )
    profile = vt.simulate(scenario, instances=1, seed=3).profile.decision(0)
    outcome = vt.decide(profile, sigma=1, tau=1)
    expected = gibbs(np.argmax(profile.top, axis=1), np.asarray(profile.counts) ** -0.5, 6000)
    np.testing.assert_allclose(outcome.p_best, expected, atol=0.05)


@pytest.mark.slow
def test_short_lists_are_as_sure_as_the_same_favourites_said_apart():
    """The first of a list above the rest, and the second above all but the first: 8 ballots of two to four tiers.

    Against the same sampler with one more alternative that nobody could choose: the answer must not change.
    """
    rng = np.random.default_rng(5)
    order = [list(rng.permutation(50)[: 1 + i % 3]) for i in range(8)]
    profile = vt.Profile(order=order, alternatives=list(range(50)), counts=rng.integers(1, 9, (8, 50)))
    alone = vt.decide(profile, sigma=1, tau=1, tie_break="first")
    low = vt.Profile(order=order, alternatives=list(range(51)), counts=np.column_stack([profile.counts, np.zeros(8)]))
    with pytest.warns(vt.InputWarning, match="no evidence about 50"):
        other = vt.decide(low, sigma=1, tau=1, tie_break="first")
    np.testing.assert_allclose(alone.p_best, other.p_best, atol=0.05)
    assert np.isclose(alone.p_best.sum(), 1)


def test_where_the_mean_is_out_of_reach_it_is_said(monkeypatch):
    monkeypatch.setattr(propagation, "_MOST_CELLS", 40_000)
    profile = vt.simulate(vt.Scenario(voters=12, alternatives=60, votes="top"), instances=1, seed=1).profile.decision(0)
    with pytest.warns(vt.InputWarning, match="posterior mean could not be found .* the mode is used"):
        vt.decide(profile, sigma=1, tau=1)


def test_counts_that_may_be_wrong_stand_for_the_same_in_the_whole_batch():
    """Decisions that go different ways, one of them with the largest count of all."""
    told = {"sigma": 3, "tau": 1, "count_error": "percentage:0.5"}
    values = vt.Profile(values=[[3.0, 1], [2, 2.5]], counts=[[90, 40], [3, 3]])
    ranks = vt.Profile(ranks=[[1, 2], [2, 1], [1, 2]], counts=[[4, 4], [7, 3], [1, 2]])
    batch = vt.decide(vt.stack([vt.concat([values, ranks]), ranks]), **told)
    same = vt.decide(vt.stack([vt.concat([values, ranks]), vt.concat([values, ranks])]), **told)
    np.testing.assert_allclose(batch.scores[0], same.scores[0], atol=1e-8)
    np.testing.assert_allclose(batch.weights.sum(axis=-2), batch.scores, atol=1e-6)


def test_ordinal_decisions_of_other_sizes_beside_values_are_as_alone():
    small = vt.Profile(ranks=[[1, 2], [1, 2], [2, 1]], counts=[[9, 9], [1, 1], [2, 2]])
    large = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[9, 9, 9], [1, 1, 1]])
    values = vt.Profile(values=[[1, 2, 3, 4.0], [2, 1, 3, 0.0]])
    differences = vt.Profile(differences=[1.0, 0.5, 2.0], counts=[[3, 3], [1, 2], [4, 4]])
    profiles = [small, large, values, differences]
    for profile, outcome in zip(profiles, vt.decide(vt.stack(profiles)).unstack(), strict=True):
        alone = vt.decide(profile)
        np.testing.assert_allclose(outcome.scores, alone.scores, atol=1e-7)
        np.testing.assert_allclose(outcome.p_best, alone.p_best, atol=1e-5)
        np.testing.assert_allclose(outcome.weights, alone.weights, atol=1e-6)


def test_one_sigma_for_each_alternative_in_a_batch_of_which_some_are_not_seen():
    ordinal = vt.Profile(ranks=[[1, 2, 0], [2, 1, 0]], counts=[[3, 3, 0], [3, 1, 0]], alternatives=[*"ABC"])
    values = vt.Profile(values=[[1.5, 0.5, 0.7], [1, 2, 0.1]], alternatives=[*"ABC"])
    told = {"sigma": [1, 2, 3], "tau": 1}
    with pytest.warns(vt.InputWarning, match="no evidence about C"):
        batch, alone = vt.decide(vt.stack([ordinal, values]), **told), vt.decide(ordinal, **told)
    np.testing.assert_allclose(batch.scores[0, :2], alone.scores, atol=1e-8)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_favourites_where_importance_samples_are_few(seed):
    """At σ = 0.3, 12 × 60, importance samples hardly count, and Gibbs sampling has to do."""
    scenario = vt.Scenario(voters=12, alternatives=60, sigma=0.3, experience="uniform:1:1", votes="top")
    profile = vt.simulate(scenario, instances=1, seed=seed).profile.decision(0)
    outcome = vt.decide(profile, sigma=0.3, tau=1, tie_break="first")
    expected = gibbs(np.argmax(profile.top, axis=1), 0.3 * np.asarray(profile.counts) ** -0.5, 12000)
    np.testing.assert_allclose(outcome.p_best, expected, atol=0.06)
