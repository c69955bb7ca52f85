"""What must hold for every rule in the registry; a new rule is tried without being named here."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

import veritally as vt
from support import (
    ANY_VOTES,
    ONE_PASS,
    RULES,
    SUMS,
    SURE,
    over_profiles,
    parameters,
    random_profile,
    rule_and_ballots,
    rule_only_for_two,
    scores,
    values_profiles,
)
from veritally.rules.sums import total

SINGLE = {"learned-universal"}  # rules that compute in single precision
NEARLY = 1e-6  # where a rule that iterates starts from elsewhere


def close(name):
    """How close equal numbers are to each other."""
    if name == "posterior":  # two alternatives have a closed form, which they have not beside others
        return {"rtol": 1e-5, "atol": 1e-6}
    return {"rtol": 1e-3, "atol": 2e-3} if name in SINGLE else {"rtol": 1e-7, "atol": 1e-9}


def profiles_for(name, **given):
    return values_profiles(alternatives=(2, 2) if rule_only_for_two(name) else (2, 5), **given)


def given_profile(name, data, **given):
    """Votes that the rule is to be tried on: values, or of any kind if it uses them as they are."""
    profile = data.draw(profiles_for(name, **given))
    return profile.coarsened(data.draw(kinds_for(name)))


def kinds_for(name):
    return st.sampled_from(["values", "rankings", "top"]) if name in ANY_VOTES else st.just("values")


def reordered(profile, voters=None, alternatives=None):
    return profile.select(voters=voters, alternatives=alternatives)


@over_profiles(SURE)
def test_anonymity(name, data):
    profile = given_profile(name, data)
    order = data.draw(st.permutations(profile.voters))
    np.testing.assert_allclose(scores(reordered(profile, voters=order), name), scores(profile, name), **close(name))


@over_profiles(SURE)
def test_neutrality(name, data):
    profile = given_profile(name, data)
    order = data.draw(st.permutations(profile.alternatives))
    np.testing.assert_allclose(
        scores(reordered(profile, alternatives=order), name), scores(profile, name)[list(order)], **close(name)
    )


@over_profiles(SUMS)
def test_tallies_of_groups_add_up(name, data):
    profile = given_profile(name, data, voters=(2, 6))
    rule, ballots = rule_and_ballots(profile, name)
    cut = data.draw(st.integers(1, len(profile) - 1))
    first, second = (rule.tally(ballots.take_voters(part)) for part in (slice(None, cut), slice(cut, None)))
    whole, parts = rule.fit(ballots), rule.fit_tally(first.plus(second))
    np.testing.assert_allclose(parts.scores, whole.scores, **close(name))
    np.testing.assert_allclose(parts.rounding, whole.rounding, **close(name))


@over_profiles(SURE)
def test_multiplicity_is_copies(name, data):
    profile = data.draw(profiles_for(name))
    kind = data.draw(kinds_for(name))
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(profile), max_size=len(profile)))
    times[0] = max(times[0], 1)
    weighed = vt.Profile(values=profile.values, counts=profile.counts, multiplicity=times)
    rows = np.repeat(np.arange(len(profile)), times)
    copied = vt.Profile(values=profile.values[rows], counts=profile.counts[rows])
    np.testing.assert_allclose(
        scores(weighed.coarsened(kind), name), scores(copied.coarsened(kind), name), **close(name)
    )


@over_profiles(SURE)
def test_batch_is_loop_and_padding_changes_nothing(name, data):
    kind = data.draw(kinds_for(name))
    singles = [data.draw(profiles_for(name)).coarsened(kind) for _ in range(3)]
    if name == "positional":  # one vector of points fits one number of alternatives
        singles = [one for one in singles if one.shape[-1] == singles[0].shape[-1]]
    batch = scores(vt.stack(singles), name)
    for row, single in zip(batch, singles, strict=True):
        np.testing.assert_allclose(row[: single.shape[-1]], scores(single, name), **close(name))
        assert (row[single.shape[-1] :] == -np.inf).all()


@over_profiles(RULES)
def test_no_nan_whatever_was_not_seen(name, data):
    profile = given_profile(name, data)
    rule, ballots = rule_and_ballots(profile, name)
    fit = rule.fit(ballots)
    without = rule.leave_one_out(ballots, fit)
    for result in (fit.scores, fit.rounding, rule.contributions(ballots, fit), without.scores, without.rounding):
        assert not np.isnan(result).any()


@over_profiles(RULES)
def test_weights_sum_to_scores(name, data):
    profile = given_profile(name, data)
    rule, ballots = rule_and_ballots(profile, name)
    fit = rule.fit(ballots)
    kept = fit.scores > -np.inf
    sums = rule.contributions(ballots, fit).sum(axis=-2)
    np.testing.assert_allclose(sums[kept], fit.scores[kept], **close(name))


@over_profiles(SURE)
def test_leave_one_out_is_leaving_one_out(name, data):
    profile = given_profile(name, data, voters=(2, 5))
    rule, ballots = rule_and_ballots(profile, name)
    without = rule.leave_one_out(ballots, rule.fit(ballots)).scores
    for i, voter in enumerate(profile.voters):
        rest = profile.select(voters=[v for v in profile.voters if v != voter])
        rule_, ballots_ = rule_and_ballots(rest, name)
        expected = np.asarray(rule_.scores(ballots_))
        # A rule may shift all scores where an alternative that nobody is left to have seen drops out.
        kept = expected > -np.inf
        assert (kept == (without[i] > -np.inf)).all()
        if not kept.any():
            continue
        near = close(name) if name in SINGLE else {"rtol": 1e-6, "atol": NEARLY}
        np.testing.assert_allclose(
            without[i][kept] - without[i][kept].max(), expected[kept] - expected[kept].max(), **near
        )


ANONYMOUS_TWINS = {
    "pairwise": "borda",
    "pairwise-normalized": "borda",
    "borda-sqrt-count": "borda",
    "top-lower-bound": "plurality",
    "top-zero": "plurality",
    "top-gradient": "plurality",
}
ANONYMOUS_TWINS |= {name: name.split("+")[0] for name in RULES if "+" in name}


@pytest.mark.parametrize("name", sorted(ANONYMOUS_TWINS))
@given(data=st.data())
def test_equal_counts_give_the_anonymous_twin(name, data):
    """Scores are those of the twin, up to scale and shift, when everybody saw everything equally often."""
    profile = data.draw(profiles_for(name, zeros=False, counts=(7,)))
    own, twin = scores(profile, name), scores(profile, ANONYMOUS_TWINS[name])
    own, twin = own - own.mean(), twin - twin.mean()
    if np.abs(twin).max() > 1e-9:
        assert own @ twin > 0
        np.testing.assert_allclose(own / np.abs(own).max(), twin / np.abs(twin).max(), atol=1e-9)
    else:
        np.testing.assert_allclose(own, 0, atol=1e-9)


def test_every_rule_that_uses_counts_has_a_twin_or_a_reason():
    without = {info.name for info in vt.rules() if info.uses_counts} - set(ANONYMOUS_TWINS)
    # Cardinal rules become plain means, majority is pairwise on two alternatives, Monte Carlo is random; these two
    # become positional ones with points below; the posterior and the maximum likelihood are no sums over voters, and
    # what networks learned has no formula.
    reasons = {"mean", "difference", "majority", "top-monte-carlo"} | {"score", "normal-scores"} | {"posterior", "mle"}
    assert without == reasons | {name for name in RULES if name.startswith("learned")}


def normal_order_statistics(n):
    """Expected order statistics of n standard normals, the largest first, by numerical integration."""

    def density(x, r):  # of the r-th largest
        log = special.gammaln(n + 1) - special.gammaln(r) - special.gammaln(n - r + 1)
        log += (r - 1) * special.log_ndtr(-x) + (n - r) * special.log_ndtr(x) - x**2 / 2
        return np.exp(log) / np.sqrt(2 * np.pi)

    return [integrate.quad(lambda x, r=r: x * density(x, r), -12, 12, epsabs=1e-12)[0] for r in range(1, n + 1)]


@pytest.mark.parametrize("name", ["score", "normal-scores"])
@given(data=st.data())
def test_equal_counts_give_normal_scores_of_the_places(name, data):
    """Sums of expected order statistics, where everybody saw everything equally often; ties share their places'."""
    profile = data.draw(profiles_for(name, zeros=False, counts=(7,))).as_rankings()
    n = profile.shape[-1]
    own = scores(profile, name)
    twin = scores(profile, "positional", points=normal_order_statistics(n))
    if np.abs(twin).max() > 1e-9:
        np.testing.assert_allclose(own / np.abs(own).max(), twin / np.abs(twin).max(), atol=1e-8)
    else:
        np.testing.assert_allclose(own, 0, atol=1e-9)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_equal_counts_make_the_score_of_favourites_plurality(top):
    profile = vt.Profile(top=top, counts=[[7] * 4] * len(top))
    own, twin = scores(profile, "score"), scores(profile, "plurality")
    twin = twin - twin.mean()
    np.testing.assert_allclose(own * np.abs(twin).max(), twin * np.abs(own).max(), atol=1e-8)
    assert own @ twin >= 0


@pytest.mark.parametrize("name", [info.name for info in vt.rules() if not info.uses_counts])
@given(data=st.data())
def test_anonymous_rules_ignore_counts(name, data):
    profile = given_profile(name, data)
    same = vt.Profile(values=profile.values, counts=(profile.counts > 0).astype(float))
    np.testing.assert_allclose(scores(profile, name), scores(same, name), **close(name))


@pytest.mark.parametrize("name", RULES)
def test_inputs_stay_as_they_are(name):
    n = 2 if rule_only_for_two(name) else 5
    profile = random_profile(1, alternatives=n, kind="values", zeros=n > 2)
    values, counts = np.array(profile.values), np.array(profile.counts)
    before = values.copy(), counts.copy()
    outcome = vt.decide(vt.Profile(values=values, counts=counts), name, **parameters(name, n))
    outcome.explain()
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(counts, before[1])
    assert values.flags.writeable
    assert counts.flags.writeable


@pytest.mark.parametrize("name", ANY_VOTES)
def test_rules_for_any_votes_use_all_that_they_say(name):
    profile = random_profile(2, voters=5, alternatives=3, kind="values")
    each = [scores(profile.coarsened(kind), name) for kind in ("values", "rankings", "top")]
    for i in range(3):
        assert np.abs(each[i] - each[i - 1]).max() > 1e-3


@pytest.mark.parametrize("name", [name for name in RULES if name not in ANY_VOTES])
def test_finer_votes_are_coarsened(name):
    info = next(info for info in vt.rules() if info.name == name)
    profile = random_profile(2, alternatives=info.alternatives or 5, kind="values")
    coarse = {
        "values": lambda p: p,
        "differences": vt.Profile.as_differences,
        "rankings": vt.Profile.as_rankings,
        "top": vt.Profile.as_top,
    }[info.votes](profile)
    np.testing.assert_array_equal(scores(profile, name), scores(coarse, name))


def jax_ballots(ballots, dtype):
    return ballots.map(lambda x: jnp.asarray(x, dtype=dtype if x.dtype != bool else bool))


@pytest.mark.parametrize("name", ONE_PASS)
@pytest.mark.usefixtures("x64")
def test_jax_agrees_under_jit_and_vmap(name):
    n = 2 if rule_only_for_two(name) else 6
    profile = random_profile(3, voters=15, alternatives=n, kind="values", batch=(4,), zeros=n > 2)
    rule, ballots = rule_and_ballots(profile, name)
    expected = rule.scores(ballots)
    on_jax = jax_ballots(ballots, jnp.float64)

    def together(ballots):
        return rule.scores(ballots), jax.vmap(rule.scores)(ballots), rule.contributions(ballots, rule.fit(ballots))

    # One program for all, since compiling is what takes the time; single precision is tried step by step below.
    *each, contributions = jax.jit(together)(on_jax)
    for got in each:
        assert isinstance(got, jax.Array)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(contributions, rule.contributions(ballots, rule.fit(ballots)), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_jax_details_of_majority_agree():
    profile = random_profile(3, voters=15, alternatives=2, batch=(4,))
    rule, ballots = rule_and_ballots(profile, "majority")
    got = jax.jit(rule.difference)(jax_ballots(ballots, jnp.float64))
    np.testing.assert_allclose(got, rule.fit(ballots).details["delta"], rtol=1e-9)


def test_monte_carlo_runs_under_jit_and_vmap():
    profile = random_profile(3, voters=15, kind="top", batch=(4,))
    rule, ballots = rule_and_ballots(profile, "top-monte-carlo", samples=400)
    on_jax = jax_ballots(ballots, jnp.float32)
    exact = scores(profile, "top-gradient")
    for run in (jax.jit(rule.scores), jax.vmap(rule.scores)):
        # Other draws than NumPy's, so only near; the largest error of 20 scores is a few per cent of their size.
        assert np.abs(np.asarray(run(on_jax)) - exact).max() < 0.2 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("posterior", "values"),
        ("mle", "values"),
        ("mle", "rankings"),
        pytest.param("posterior", "rankings", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("x64")
def test_jax_agrees_where_rules_iterate(name, kind):
    profile = random_profile(3, voters=4, alternatives=3, kind=kind, batch=(2,))
    rule, ballots = rule_and_ballots(profile, name)
    got = jax.jit(rule.scores)(jax_ballots(ballots, jnp.float64))
    assert isinstance(got, jax.Array)
    np.testing.assert_allclose(got, rule.scores(ballots), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["posterior", "mle"])
def test_single_precision_stays_and_is_near_where_rules_iterate(name):
    double = random_profile(4, voters=6, alternatives=3)
    single = vt.Profile(ranks=np.float32(double.ranks), counts=np.float32(double.counts))
    rule, ballots = rule_and_ballots(single, name)
    got = rule.scores(ballots)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, scores(double, name), atol=2e-3)


@pytest.mark.parametrize("name", ONE_PASS)
def test_single_precision_stays_and_is_near(name):
    n = 2 if rule_only_for_two(name) else 6
    double = random_profile(4, voters=15, alternatives=n, kind="values", zeros=n > 2)
    single = vt.Profile(values=np.float32(double.values), counts=np.float32(double.counts))
    expected = scores(double, name)
    for ballots_of in (lambda b: b, lambda b: jax_ballots(b, jnp.float32)):
        rule, ballots = rule_and_ballots(single, name)
        got = rule.scores(ballots_of(ballots))
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max())


@over_profiles(SURE)
def test_shared_tallies_give_the_same_scores(name, data):
    profile = given_profile(name, data)
    together = vt.evaluate(
        profile,
        [name, *(["pairwise", "borda"] if profile.shape[-1] > 2 and profile.kind != "top" else [])],
        **parameters(name, profile.shape[-1]),
    )
    np.testing.assert_allclose(together[name], scores(profile, name), **close(name))


def test_total_counts_each_ballot_as_often_as_it_stands_for():
    rule, ballots = rule_and_ballots(vt.Profile(ranks=[[1, 2], [2, 1]], multiplicity=[2, 5]), "borda")
    np.testing.assert_array_equal(total(rule.encode(ballots), ballots.multiplicity).weights, [2, 5])


def test_rules_refuse_ballots_of_another_kind():
    rankings = vt.Profile(ranks=[[1, 2, 3]])
    with pytest.raises(vt.InputError, match="takes top, not rankings; coarsen"):
        vt.rule("plurality").scores(rankings.ballots)
    with pytest.raises(vt.InputError, match="takes top, not rankings"):
        jax.jit(vt.rule("top-zero").scores)(rankings.ballots)
    with pytest.raises(vt.InputError, match="takes 2 alternatives, not 3"):
        vt.rule("majority").scores(rankings.ballots)
    np.testing.assert_array_equal(vt.rule("plurality").scores(rankings.as_top().ballots), [1, 0, 0])


@given(data=st.data(), origin=st.floats(-5, 5))
def test_means_may_be_measured_from_any_origin(data, origin):
    for name in ("mean", "pairwise-normalized"):
        rule, ballots = rule_and_ballots(given_profile(name, data), name)
        scores_ = rule.scores(ballots)
        kept = scores_ > -np.inf
        np.testing.assert_allclose(
            rule.contributions(ballots, rule.fit(ballots), origin).sum(axis=-2)[kept],
            scores_[kept] - origin,
            **close(name),
        )


@pytest.mark.parametrize("info", [info for info in vt.rules() if not info.required], ids=lambda info: info.name)
def test_rules_can_be_cloned(info):
    """As scikit-learn's clone does it: made again from what get_params gives."""
    rule = vt.rule(info.name)
    again = type(rule)(**rule.get_params())
    assert again == rule
    assert again.get_params().keys() == rule.get_params().keys()
