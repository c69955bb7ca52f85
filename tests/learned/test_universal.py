"""The universal network: what must hold exactly, and that it is near the exact posterior."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

import veritally as vt
from support import random_profile, values_profiles
from veritally.learned import universal, universal_network
from veritally.learned.models import model
from veritally.learned.reading import Setting, expected_root_and_mean
from veritally.learned.universal_network import answer
from veritally.votes.rankings import Rankings

EXACT = {"rtol": 1e-8, "atol": 1e-9}


@pytest.fixture(scope="module")
def parameters():
    return {name: x.astype(float) for name, x in model("learned-universal", "universal").parameters.items()}


def setting(n, sigma=2.0, sigma_known=1.0, error_size=0.0, replacement=0.0, low=1.0, high=50.0):
    numbers = (sigma_known, error_size, replacement, low, high)
    return Setting(np.full(n, np.log(sigma)), *(np.asarray(float(x)) for x in numbers))


SETTINGS = st.builds(
    dict,
    sigma=st.floats(0.1, 100),
    sigma_known=st.sampled_from([0.0, 1.0]),
    error_size=st.sampled_from([0.0, 0.5, 1.0]),
    replacement=st.sampled_from([0.0, 0.33]),
)


def asked(parameters, ballots, **known):
    """VoterMeans, deviations, logits and scale in double precision, of a single decision."""
    n = ballots.counts.shape[-1]
    given_ = answer(parameters, ballots, setting(n, **known))
    return [*given_.second, given_.logits, *given_.scale]


@settings(max_examples=15)
@given(data=st.data())
def test_voters_and_alternatives_have_no_order(parameters, data):
    profile = data.draw(values_profiles(voters=(1, 6))).as_rankings()
    known = data.draw(SETTINGS)
    before = asked(parameters, profile.ballots, **known)
    order = data.draw(st.permutations(profile.voters))
    for x, y in zip(asked(parameters, profile.select(voters=order).ballots, **known), before, strict=True):
        np.testing.assert_allclose(x, y, **EXACT)
    order = list(data.draw(st.permutations(profile.alternatives)))
    after = asked(parameters, profile.select(alternatives=order).ballots, **known)
    for x, y in zip(after, before, strict=True):
        np.testing.assert_allclose(x, y[order] if y.ndim else y, **EXACT)


@settings(max_examples=15)
@given(data=st.data())
def test_zero_counts_and_padding_change_nothing(parameters, data):
    profile = data.draw(values_profiles(voters=(1, 6))).as_rankings()
    known = data.draw(SETTINGS)
    before = asked(parameters, profile.ballots, **known)
    ranks, counts, times, mask = profile.ballots[:4]
    m, n = ranks.shape
    wide = Rankings(
        np.pad(ranks, ((0, 2), (0, 3))), np.pad(counts, ((0, 2), (0, 3))), np.pad(times, (0, 2)), np.pad(mask, (0, 3))
    )
    present = wide._replace(multiplicity=np.pad(times, (0, 2), constant_values=4))
    for ballots in (wide, present):
        for x, y in zip(asked(parameters, ballots, **known), before, strict=True):
            np.testing.assert_allclose(x[:n] if y.ndim else x, y, **EXACT)
    assert (asked(parameters, wide, **known)[2][n:] == -np.inf).all()
    assert m


@settings(max_examples=10)
@given(data=st.data())
def test_a_multiplicity_is_so_many_voters(parameters, data):
    profile = data.draw(values_profiles(voters=(1, 4))).as_rankings()
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(profile), max_size=len(profile))))
    ranks, counts, _, mask = profile.ballots[:4]
    copied = Rankings(np.repeat(ranks, times, axis=0), np.repeat(counts, times, axis=0), np.ones(times.sum()), mask)
    weighed = Rankings(ranks, counts, times.astype(float), mask)
    for x, y in zip(asked(parameters, weighed), asked(parameters, copied), strict=True):
        np.testing.assert_allclose(x, y, **EXACT)


def test_voters_may_be_read_in_pieces(parameters, monkeypatch):
    ballots = random_profile(3, voters=23, alternatives=6, zeros=True).ballots
    whole = asked(parameters, ballots, sigma_known=0)
    monkeypatch.setattr(universal_network, "_CELLS", 30)
    for x, y in zip(asked(parameters, ballots, sigma_known=0), whole, strict=True):
        np.testing.assert_allclose(x, y, **EXACT)


@pytest.mark.usefixtures("x64")
def test_jax_agrees(parameters):
    for zeros, kind in ((False, "rankings"), (True, "rankings"), (True, "top")):
        profile = random_profile(3, voters=12, alternatives=6, zeros=zeros, kind=kind)
        ballots = profile.coarsened("rankings").ballots
        on_jax = ballots.map(jnp.asarray)
        given_ = setting(6, sigma_known=0.0, error_size=0.5)
        expected = answer(parameters, ballots, given_)
        found = jax.jit(answer)(parameters, on_jax, Setting(*map(jnp.asarray, given_)))
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("size", [0.2, 0.8])
def test_expected_counts_are_those_of_their_distribution(size):
    """True counts are log-uniform between what the report allows, cut to the range."""
    for count in (1.0, 10.0, 49.0):
        low, high = max(count / (1 + size), 1), min(count / (1 - size), 50)
        norm = np.log(high / low)
        root, mean = (integrate.quad(lambda c, p=p: c**p / c, low, high)[0] / norm for p in (0.5, 1))
        errors = (np.asarray(x) for x in (size, 0.0, 1.0, 50.0))
        np.testing.assert_allclose(expected_root_and_mean(np.asarray(count), *errors), (root, mean), rtol=1e-9)


def test_replaced_counts_are_uniform():
    errors = (np.asarray(x) for x in (0.0, 0.25, 1.0, 50.0))
    root, mean = expected_root_and_mean(np.asarray(9.0), *errors)
    other = integrate.quad(np.sqrt, 1, 50)[0] / 49
    assert root == pytest.approx(0.75 * 3 + 0.25 * other)
    assert mean == pytest.approx(0.75 * 9 + 0.25 * 25.5)


def test_only_the_ratio_of_sigma_and_tau_matters():
    profile = random_profile(2, voters=9)
    plain = vt.decide(profile, rule="learned-universal", sigma=3, tau=1)
    wide = vt.decide(profile, rule="learned-universal", sigma=30, tau=10)
    np.testing.assert_allclose(wide.scores, plain.scores, atol=1e-3)
    unknown = vt.decide(profile, rule="learned-universal")
    for known in ({"sigma": 3}, {"tau": 5}):  # which is not enough to know it
        with pytest.warns(vt.InputWarning, match="without .* has no effect"):
            found = vt.decide(profile, rule="learned-universal", **known)
        np.testing.assert_allclose(found.p_best, unknown.p_best, atol=1e-4)


def test_the_sigma_of_what_nobody_saw_does_not_matter():
    seen = {"ranks": [[1, 2, 3, 0], [2, 1, 3, 0], [1, 3, 2, 0]], "counts": [[5, 5, 5, 0]] * 3}
    each = []
    for other in (1e-3, 1e3):
        with pytest.warns(vt.InputWarning, match="no evidence"):
            each.append(vt.decide(vt.Profile(**seen), rule="learned-universal", sigma=[1, 2, 3, other]).scores)
    np.testing.assert_allclose(each[0], each[1], atol=1e-4)


def test_scores_and_probabilities_agree():
    outcome = vt.decide(random_profile(3, voters=40, alternatives=7), rule="learned-universal", sigma=0.3, tau=1)
    assert np.argmax(outcome.scores) == np.argmax(outcome.p_best)
    np.testing.assert_allclose(np.diff(np.log(outcome.p_best)), np.diff(outcome.scores), atol=1e-6)


@pytest.mark.parametrize("rule", ["learned", "learned-universal"])
@pytest.mark.filterwarnings("ignore:outside of what")
def test_what_is_symmetric_ties(rule):
    """A Latin square puts each alternative in each place once."""
    for n, copies in ((3, 1), (5, 1), (5, 60)):
        ranks = np.tile([[(i + j) % n + 1 for j in range(n)] for i in range(n)], (copies, 1))
        outcome = vt.decide(vt.Profile(ranks=ranks, counts=np.full(ranks.shape, 20.0)), rule=rule)
        assert len(outcome.winners) == n
    tied = vt.decide(vt.Profile(ranks=np.ones((5, 3)), counts=np.arange(1, 16).reshape(5, 3)), rule=rule)
    assert len(tied.winners) == 3


@pytest.mark.parametrize("rule", ["learned", "learned-universal"])
def test_who_compares_nothing_decides_nothing(rule):
    ranks = np.array([[1, 2, 3, 4, 5]] * 6 + [[1, 0, 0, 0, 0]] + [[1, 1, 1, 1, 1]])
    counts = np.array([[9.0] * 5] * 6 + [[1, 0, 0, 0, 0]] + [[3] * 5])
    parts = vt.decide(vt.Profile(ranks=ranks, counts=counts), rule=rule).explain().contributions
    assert parts[6] == parts[7] == 0
    assert all(parts[i] > 0 for i in range(6))


def test_what_no_votes_compare_is_named():
    ranks = np.array([[1, 2, 0, 0, 0], [1, 2, 0, 0, 0], [0, 0, 1, 2, 3], [0, 0, 2, 1, 3]])
    profile = vt.Profile(ranks=ranks, counts=np.where(ranks > 0, 5.0, 0))
    with pytest.warns(vt.InputWarning, match="no votes compare 0, 1 with the others"):
        vt.decide(profile, rule="learned-universal", tie_break="first")


def test_votes_of_another_kind_are_refused():
    for kind in ("values", "top"):
        with pytest.raises(vt.InputError, match=f"takes rankings, not {kind}"):
            vt.rule("learned-universal").scores(random_profile(1, kind=kind).ballots)


def test_voters_who_do_not_count_are_not_warned_of():
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], counts=[[5, 5], [1e6, 1e6]], multiplicity=[5, 0])
    assert not vt.decide(profile, rule="learned-universal").warnings


def test_favourites_are_rankings_with_all_others_tied():
    profile = random_profile(2, voters=9, alternatives=5)
    ranks = np.where(profile.top > 0, 1, 2)
    by_top = vt.decide(profile.as_top(), rule="learned-universal")
    by_ranks = vt.decide(vt.Profile(ranks=ranks, counts=profile.counts), rule="learned-universal")
    np.testing.assert_allclose(by_top.scores, by_ranks.scores, atol=1e-6)


def test_leaving_out_is_quick_for_many(monkeypatch):
    profile = random_profile(2, voters=60, alternatives=5)
    rule, ballots = vt.rule("learned-universal", sigma=9.0, tau=1.0), profile.ballots
    fit = rule.fit(ballots)
    full = rule.leave_one_out(ballots, fit).scores
    monkeypatch.setattr(universal, "_REREAD", 0)
    quick = rule.leave_one_out(ballots, fit).scores
    moved, roughly = full - rule.scores(ballots), quick - rule.scores(ballots)
    assert np.corrcoef(roughly.ravel(), moved.ravel())[0, 1] > 0.7
    assert 0.2 < (roughly * moved).sum() / (moved**2).sum() < 1.5


LIMITS = (
    ({"voters": 1001, "alternatives": 5}, {}, r"voters 1001 \(trained on 1 to 1000\)"),
    ({"voters": 4, "alternatives": 51}, {}, r"alternatives 51 \(trained on 2 to 50\)"),
    ({"voters": 4, "alternatives": 3}, {"sigma": 1000.0, "tau": 1.0}, r"σ/τ 1000 \(trained on 0.1 to 100\)"),
)


@pytest.mark.parametrize(("size", "known", "message"), LIMITS)
def test_what_was_not_trained_on_is_warned_of(size, known, message):
    with pytest.warns(vt.InputWarning, match=f"{message}; the rule posterior has no such limits"):
        vt.decide(random_profile(1, **size), rule="learned-universal", **known)


def test_large_counts_are_warned_of():
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], counts=[[5, 20_000], [3, 4]])
    with pytest.warns(vt.InputWarning, match=r"counts 3 to 20000 \(trained on 1 to 10000\)"):
        vt.decide(profile, rule="learned-universal")


def test_votes_that_belie_sigma_are_warned_of():
    unanimous = np.tile(np.arange(1, 11), (40, 1))
    profile = vt.Profile(ranks=unanimous, counts=np.full((40, 10), 3))
    with pytest.warns(vt.InputWarning, match="agree much better than the given σ/τ allows .* about .* posterior"):
        outcome = vt.decide(profile, rule="learned-universal", sigma=10.0, tau=1.0)
    assert not vt.decide(profile, rule="learned-universal").warnings
    copies = vt.Profile(ranks=unanimous[:1], counts=np.full((1, 10), 3), multiplicity=[40])
    several = vt.stack([profile, random_profile(2, 40, 10).renamed("", "other ", "")])
    for votes in (copies, several):
        with pytest.warns(vt.InputWarning, match="agree much better"):
            vt.decide(votes, rule="learned-universal", sigma=10.0, tau=1.0)
    assert "agree much better" in outcome.warnings[0]


def test_what_is_alike_in_many_decisions_is_said_once():
    several = random_profile(2, 8, 4, batch=(5,))
    with pytest.warns(vt.InputWarning, match=r"^decisions 0, 1 and 3 more: sigma without tau has no effect") as caught:
        vt.decide(several, rule="learned-universal", sigma=2.0)
    assert len(caught) == 1


def test_it_says_what_it_takes_sigma_for():
    """As told, on average over the alternatives, or as estimated, which voters of a known one bear out."""
    trials = vt.simulate("low-variance", voters=100, instances=50)
    estimate, low, high = np.moveaxis(vt.decide(trials.profile, rule="learned-universal").scale, -1, 0)
    assert (low < estimate).all()
    assert (estimate < high).all()
    assert np.mean((low < trials.scenario.sigma) & (trials.scenario.sigma < high)) > 0.8
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], counts=[[9, 9], [4, 4]])
    outcome = vt.decide(profile, rule="learned-universal", sigma=(2.0, 8.0), tau=2.0)
    np.testing.assert_allclose(outcome.scale, [2, 2, 2])
    assert outcome.to_dict()["sigma_over_tau"] == {name: pytest.approx(2) for name in ("estimate", "low", "high")}


@pytest.mark.parametrize("sigma", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("kind", ["rankings", "top"])
@pytest.mark.parametrize(("voters", "alternatives"), [(1, 5), (3, 2), (30, 3), (20, 12)])
def test_votes_that_are_like_sigma_are_not_warned_of(voters, alternatives, kind, sigma):
    trials = vt.simulate("low-variance", voters=voters, alternatives=alternatives, sigma=sigma, instances=300)
    rule = vt.rule("learned-universal", sigma=sigma, tau=1.0)
    ballots = trials.profile.ballots.coarsened(kind).coarsened("rankings")
    assert not rule._belied(ballots).any()


def test_nor_where_few_alternatives_are_seen_by_all():
    rng = np.random.default_rng(0)
    counts = np.zeros((200, 30))
    counts[:, :3] = 5
    counts[np.arange(3, 30), np.arange(3, 30)] = 5
    values = rng.normal(size=(300, 1, 30)) + 30 / 5**0.5 * rng.normal(size=(300, 200, 30))
    ranks = np.where(counts > 0, np.where(counts > 0, -values, np.inf).argsort(-1).argsort(-1) + 1.0, np.nan)
    profile = vt.Profile(ranks=ranks, counts=np.broadcast_to(counts, ranks.shape))
    assert not vt.rule("learned-universal", sigma=30.0, tau=1.0)._belied(profile.ballots).any()


def test_the_sigma_of_what_nobody_saw_is_not_warned_of():
    profile = vt.Profile(ranks=[[None, 1, 2], [None, 2, 1]], counts=[[0, 9, 9], [0, 2, 2]])
    with pytest.warns(vt.InputWarning, match="no evidence about 0") as caught:
        vt.decide(profile, rule="learned-universal", sigma=(500, 1, 2), tau=1.0)
    assert len(caught) == 1


def test_counts_far_apart_on_one_ballot_are_warned_of():
    """Not if it is voters who differ, or if a ballot has but one high count."""
    ranks = [[1, 2, 3], [2, 1, None]]
    far = vt.Profile(ranks=ranks, counts=[[2000, 1500, 1], [1, 2, 0]])
    with pytest.warns(vt.InputWarning, match="on one ballot differ up to 1,500-fold: the rule posterior may"):
        vt.decide(far, rule="learned-universal")
    for counts in ([[900, 900, 900], [1, 2, 0]], [[900, 9, 1], [1, 200, 0]]):
        assert not vt.decide(vt.Profile(ranks=ranks, counts=counts), rule="learned-universal").warnings
    tied = vt.Profile(ranks=[[1, 1, 1], [1, 2, 3]], counts=[[1, 1000, 1000], [1, 1, 1]])
    assert not vt.decide(tied, rule="learned-universal").warnings


def test_an_error_of_unknown_size_is_refused():
    with pytest.raises(vt.InputError, match="posterior can estimate"):
        vt.decide(vt.Profile(ranks=[[1, 2]]), rule="learned-universal", count_error="percentage")


@pytest.mark.parametrize(
    "table",
    [
        "high-variance",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("low-variance", "count-noise", "count-replacement")),
    ],
)
def test_it_is_near_the_posterior(table):
    """In 200 decisions the regrets hardly differ, where those of Borda do."""
    rules = ["learned-universal", "posterior:votes=rankings", "borda"]
    found = vt.compare(table, voters=10, instances=200, rules=rules, baseline=rules[1], seed=2)
    rows = {row["rule"]: row for row in found.rows()}
    row = rows["learned-universal"]
    assert abs(row["difference"]) < 3 * row["difference_se"] + 0.01 * row["regret"]
    assert row["correlation"] > rows["borda"]["correlation"]
    assert row["correlation"] == pytest.approx(rows[rules[1]]["correlation"], abs=0.02)


@pytest.mark.filterwarnings("ignore:.*the search stopped at its limit")
@pytest.mark.parametrize(
    "known",
    [
        pytest.param({"sigma": 10**0.5, "tau": 1.0}, id="known"),
        pytest.param({}, id="unknown", marks=pytest.mark.slow),
    ],
)
def test_it_says_of_the_truth_what_the_posterior_says(known):
    """Estimates and P(best) beside the exact ones, in units of the spread of the truths."""
    profile = vt.simulate("low-variance", voters=12, alternatives=6, instances=40, seed=4).profile.as_rankings()
    exact = vt.decide(profile, rule="posterior", **known)
    centred = exact.scores - exact.scores.mean(axis=-1, keepdims=True)
    own = vt.rule("learned-universal", **known).answer(profile.ballots).second
    assert np.sqrt(np.mean((own.mean - centred) ** 2)) < 0.1
    assert np.corrcoef(own.mean.ravel(), centred.ravel())[0, 1] > 0.99
    assert 0.8 < np.median(np.exp(own.log_deviation) / exact.belief.deviation) < 1.25
    assert np.abs(vt.decide(profile, rule="learned-universal", **known).p_best - exact.p_best).mean() < 0.02


def test_a_model_of_ones_own_can_be_given(tmp_path):
    found = model("learned-universal", "universal")
    replace(found, parameters={name: 0 * x for name, x in found.parameters.items()}).save(tmp_path / "zero.safetensors")
    profile = random_profile(1, voters=8)
    zero = vt.decide(profile, rule="learned-universal", model=str(tmp_path / "zero.safetensors"), sigma=3, tau=1)
    assert not np.allclose(zero.scores, vt.decide(profile, rule="learned-universal", sigma=3, tau=1).scores)


def one_against_novices(expert, novices, multiplicity=None):
    """One voter with so many observations of each alternative against others with one."""
    order = [[*"ABC"]] + [[*"BAC"]] * (1 if multiplicity else novices)
    counts = [[expert] * 3] + [[1] * 3] * (len(order) - 1)
    return vt.Profile(order=order, counts=counts, multiplicity=[1, novices] if multiplicity else None)


@pytest.mark.parametrize("multiplicity", [False, True])
def test_one_who_saw_far_more_than_the_others_is_warned_of(multiplicity):
    """With 1,000 observations to one, Gibbs sampling has 0.83 where the network says 0.28."""
    with pytest.warns(vt.InputWarning, match=r"saw 1,000 times as much as most others.*the rule posterior"):
        vt.decide(one_against_novices(1000, 6, multiplicity), rule="learned-universal", cap="none")
    with pytest.warns(vt.InputWarning, match="saw 100 times as much"):
        vt.decide(vt.stack([one_against_novices(2, 6), one_against_novices(100, 6)]), rule="learned-universal")


def test_voters_who_saw_about_as_much_are_not_warned_of():
    counts = np.random.default_rng(0).integers(20, 1000, (9, 3))
    for profile in (one_against_novices(20, 6), vt.Profile(order=[[*"ABC"]] * 9, counts=counts)):
        vt.decide(profile, rule="learned-universal")  # warnings are errors
