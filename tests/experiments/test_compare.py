"""Comparisons: the same as deciding one by one, on any number of workers, in any library."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from scipy import stats

import veritally as vt
from veritally.experiments.rule_set import Entry, RuleSet
from veritally.experiments.run import judge_drawn, run
from veritally.io.truth import truth_table
from veritally.model.known import KnownParameters
from veritally.model.simulation import draws
from veritally.rules.positional import Borda
from veritally.rules.sums import scores_of
from veritally.votes.kinds import by_kind
from veritally.votes.top import TopChoices

RULES = ("mean", "borda", "pairwise", "top-zero")


def test_compare_is_deciding_one_by_one():
    trials = vt.simulate("high-variance", voters=5, instances=60, seed=3)
    rows = {row["rule"]: row for row in vt.compare(trials, rules=RULES).rows()}
    for rule in ("mean", "pairwise", "top-zero"):  # which do not tie
        regret, right, correlation = [], [], []
        for one, truth in zip(trials.profile.unstack(), trials.truth, strict=True):
            outcome = vt.decide(one, rule, tie_break="first")
            regret.append(truth.max() - truth[outcome.winner])
            right.append(outcome.winner == truth.argmax())
            correlation.append(stats.spearmanr(outcome.scores, truth).statistic)
        row = rows[rule]
        assert row["regret"] == pytest.approx(np.mean(regret))
        assert row["se"] == pytest.approx(stats.sem(regret))
        assert row["accuracy"] == np.mean(right)
        if rule != "top-zero":
            assert row["correlation"] == pytest.approx(np.mean(correlation))


def test_a_scenario_is_its_trials():
    scenario = vt.scenario("low-variance", voters=4, sigma=np.arange(1, 11))  # told to the rules
    ours = vt.compare(scenario, instances=700, seed=2, rules=RULES).rows()
    theirs = vt.compare(vt.simulate(scenario, instances=700, seed=2), rules=RULES, seed=9).rows()
    for one, other in zip(ours, theirs, strict=True):
        for name, value in one.items():
            assert value == (pytest.approx(other[name]) if isinstance(value, float) else other[name])


def test_workers_change_nothing():
    settings = {"voters": 100, "instances": 5000, "rules": ["mean", "borda"], "seed": 1}
    one, two = (vt.compare("high-variance", workers=workers, **settings).rows() for workers in (1, 2))
    assert one == two


@pytest.mark.slow
def test_jax_agrees_within_standard_errors():
    settings = {"voters": 5, "instances": 3000, "rules": [*RULES, "top-monte-carlo", "top-gradient"]}
    rows = [vt.compare("count-noise", backend=backend, **settings).rows() for backend in ("numpy", "jax")]
    numpy, theirs = ({row["rule"]: row for row in part} for part in rows)
    for rule in numpy:  # 4 standard errors: false alarms in 6 of 100,000
        for name, error in (("regret", "se"), ("accuracy", "accuracy_se"), ("correlation", "correlation_se")):
            bound = 4 * np.hypot(numpy[rule][error], theirs[rule][error])
            assert abs(numpy[rule][name] - theirs[rule][name]) < bound, rule


def test_jax_gives_the_same_measures_on_the_same_draws(x64):
    scenario = vt.scenario("count-replacement", voters=20)
    fitting = [info for info in vt.rules() if info.fits("values", 10) and not info.stochastic and not info.required]
    rule_set = RuleSet.of([info.name for info in fitting if not info.iterative], "values", 10)
    drawn = next(draws(scenario, 0, 0, 50))
    judged = partial(judge_drawn, rule_set, ("regret",), KnownParameters(1.0), "values", key=(0, 0))
    ours, theirs = judged(drawn), jax.jit(judged)(type(drawn)(*map(jnp.asarray, drawn)))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_shared_work_gives_what_each_rule_gives_alone():
    profile = vt.simulate("high-variance", voters=7, instances=5, experience="uniform:0:9").profile
    rule_set = RuleSet.of(None, "values", 10)
    ballots = by_kind(profile.ballots, rule_set.kinds)
    made = rule_set.make(KnownParameters(1.0), 3)
    for label, scores in scores_of(made, ballots).items():
        np.testing.assert_array_equal(scores, made[label].scores(ballots[made[label].votes]), err_msg=label)


def test_sigmas_that_differ_are_told_to_the_rules():
    scenario = vt.Scenario(voters=9, alternatives=3, sigma=(1, 4, 16), votes="top")
    told = vt.compare(scenario, rules=["top-zero"], instances=500).rows()[0]["regret"]
    drawn = next(draws(scenario, 0, 0, 500))
    shares = (drawn.values == drawn.values.max(axis=-1, keepdims=True)).astype(float)
    ballots = TopChoices(shares, drawn.reported, np.ones(shares.shape[:-1]), np.ones(drawn.truth.shape, dtype=bool))
    scores = vt.rule("top-zero", sigma=(1.0, 4.0, 16.0)).scores(ballots)
    chosen = np.take_along_axis(drawn.truth, scores.argmax(axis=-1)[:, None], axis=-1)[:, 0]
    assert told == pytest.approx((drawn.truth.max(axis=-1) - chosen).mean())


def test_ranks_are_shared_by_scores_that_only_rounding_separates():
    rules = ["plurality", "top-lower-bound", "top-gradient"]
    scenario = vt.Scenario(sigma=30, experience=7)  # equal counts, where all of these are the same rule
    rows = vt.compare(scenario, rules=rules, instances=300).rows()
    assert len({round(row["correlation"], 12) for row in rows}) == 1


def test_stochastic_rules_draw_anew_in_each_block():
    scenario = vt.scenario("high-variance", voters=300)
    rule_set = RuleSet.of(["top-monte-carlo:samples=1"], "values", 10)
    parts = [run(scenario, rule_set, ("regret",), 0, start, start + 43) for start in (0, 43)]
    assert run(scenario, rule_set, ("regret",), 0, 0, 86).totals == parts[0].totals + parts[1].totals


def test_in_jax_rules_that_draw_do_so_for_each_instance():
    scenario = vt.scenario("high-variance", voters=2, alternatives=3)
    rule_set = RuleSet.of(["top-monte-carlo:samples=1"], "values", 3)
    whole = run(scenario, rule_set, ("regret",), 0, 0, 60, "jax", 60)
    parts = [run(scenario, rule_set, ("regret",), 0, start, start + 20, "jax", 60) for start in (0, 20, 40)]
    np.testing.assert_allclose(whole.totals, sum(part.totals for part in parts), rtol=1e-5)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_counts_must_be_reported_as_seen(backend):
    scenario = vt.Scenario(voters=3, count_error=lambda random, counts, experience: counts * 0)
    with pytest.raises(vt.InputError, match="a finite number above 0 for whatever was seen"):
        vt.compare(scenario, rules=["mean"], instances=5, backend=backend)


def test_best_and_differences():
    comparison = vt.compare("low-variance", voters=3, instances=4000, rules=["borda", "pairwise-normalized", "case4"])
    assert comparison.rules[0] == "pairwise-normalized"
    assert comparison.best == ("pairwise-normalized",)
    assert comparison.baseline == "borda"
    rows = {row["rule"]: row for row in comparison.rows()}
    assert rows["borda"]["difference"] == rows["borda"]["difference_se"] == 0
    gap = rows["pairwise-normalized"]["regret"] - rows["borda"]["regret"]
    assert rows["pairwise-normalized"]["difference"] == pytest.approx(gap)
    assert rows["pairwise-normalized"]["difference_se"] < rows["borda"]["se"]  # paired
    assert "best: pairwise-normalized" in repr(comparison)


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_frames(backend):
    frame = vt.compare("low-variance", voters=3, instances=10, rules=["borda", "mean"]).to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend.split("_")[0]
    assert frame.shape == (2, 13)


def test_decisions_of_different_sizes():
    profile = vt.stack([vt.Profile(ranks=[[1, 2, 3]]), vt.Profile(ranks=[[2, 1], [2, 1]])])
    rows = vt.compare(profile, truth=[[3, 2, 1], [5, 1, np.nan]], rules=["borda"]).rows()
    assert rows[0]["regret"] == 2
    assert rows[0]["accuracy"] == 0.5
    assert rows[0]["correlation"] == 0
    single = vt.compare(vt.Profile(ranks=[[1, 2]]), truth=[1, 0]).rows()[0]
    assert (single["regret"], single["instances"]) == (0, 1)


def test_votes_may_come_as_frames():
    votes = pl.DataFrame({"voter": ["u", "u"], "alternative": ["A", "B"], "rank": [1, 2]})
    truth = pl.DataFrame({"alternative": ["A", "B"], "truth": [1, 0]})
    assert vt.compare(votes, truth=truth, rules="borda,plurality").rules == ("borda", "plurality")


def test_clusters_are_what_is_independent():
    trials = vt.simulate("high-variance", voters=4, instances=30, seed=5)
    given = {"truth": np.repeat(trials.truth, 3, axis=0), "rules": ["mean", "pairwise"]}
    threefold = vt.Profile(
        values=np.repeat(trials.profile.values, 3, axis=0), counts=np.repeat(trials.profile.counts, 3, axis=0)
    )
    once = vt.compare(trials.profile, truth=trials.truth, rules=["mean", "pairwise"])
    known = vt.compare(threefold, clusters=np.repeat(range(30), 3), **given)
    assert known.about == "90 decisions in 30 clusters, 4 voters each"
    for one, other in zip(once.rows(), known.rows(), strict=True):
        assert one["se"] == pytest.approx(other["se"])
        assert one["difference_se"] == pytest.approx(other["difference_se"])
        assert other["clusters"] == 30
    assert known.to_frame().columns[-1] == "clusters"
    assert vt.compare(threefold, **given).rows()[0]["se"] < once.rows()[0]["se"]


def test_pictures(tmp_path):
    vt.compare("low-variance", instances=20, rules="borda,mean").plot(tmp_path / "rules.svg")
    assert "20 decisions, 10 voters each" in (tmp_path / "rules.svg").read_text()


def test_labels():
    assert Entry.of("case5-monte-carlo:samples=7").label == "top-monte-carlo:samples=7"
    names = RuleSet.of(["borda+", "mean", "oracle"], "values", 4).labels
    assert len(names) == 7
    assert names[-1] == "mean"
    assert set(RuleSet.of(["all", "veto"], "rankings", 2).labels) >= {"majority", "veto", "plurality"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": ["bord"]}, "there is no rule 'bord'; did you mean borda"),
        ({"rules": []}, "name at least one rule"),
        (
            {"rules": ["difference"]},
            "the rule difference needs differences of 2 alternatives, but these votes are",
        ),
        ({"rules": ["positional"]}, "needs points, which cannot be given here"),
        ({"rules": ["borda:samples=3"]}, "the rule borda has no parameter samples"),
        ({"rules": ["top-monte-carlo:samples=0"]}, "samples must be a whole number, from 1"),
        ({"rules": ["top-monte-carlo:sigma=2"]}, "a rule can only be given samples=NUMBER"),
        ({"rules": 3}, "rules must be a list of names"),
        ({"baseline": "all"}, "there is no rule 'all'"),
        ({"baseline": "nobody"}, "there is no rule 'nobody'"),
        ({"workers": 0}, "workers must be a whole number, 1 or more"),
        ({"instances": 0}, "instances must be"),
        ({"backend": "torch"}, "the backend can be numpy or jax"),
    ],
)
def test_what_cannot_be_compared(settings, message):
    with pytest.raises(vt.InputError, match=message):
        vt.compare("high-variance", **{"rules": ["borda"]} | settings)


def test_truths_that_do_not_fit():
    profile = vt.Profile(ranks=[[1, 2]])
    with pytest.raises(vt.InputError, match="give truth="):
        vt.compare(profile)
    with pytest.raises(vt.InputError, match="voters is for simulated votes"):
        vt.compare(profile, truth=[1, 2], voters=3)
    with pytest.raises(vt.InputError, match="a scenario has its own truth"):
        vt.compare(vt.Scenario(), truth=[1, 2])
    with pytest.raises(vt.InputError, match="there is no such file"):
        vt.compare("votes.csv", truth="truth.csv")
    with pytest.raises(vt.InputError, match="the truth must be numbers"):
        vt.compare(profile, truth=[[1], [1, 2]])
    with pytest.raises(vt.InputError, match="trials have their own truth"):
        vt.compare(vt.simulate("high-variance", instances=3), voters=4)
    with pytest.raises(vt.InputError, match=r"the truth has the shape \(3,\); these votes need \(2,\)"):
        vt.compare(profile, truth=[1, 2, 3])
    with pytest.raises(vt.InputError, match="must be a finite number"):
        vt.compare(profile, truth=[1, np.nan])
    with pytest.raises(vt.InputError, match="the data set llmfao has its own truth and clusters"):
        vt.compare(vt.datasets.load("llmfao"), truth=[1, 2])


def test_clusters_and_placebos_that_do_not_fit():
    profile = vt.Profile(ranks=[[[1, 2]], [[2, 1]]])
    with pytest.raises(vt.InputError, match="there are 3 clusters for 2 decisions"):
        vt.compare(profile, truth=[[1, 2], [1, 2]], clusters="abc")
    with pytest.raises(vt.InputError, match="clusters must be a list"):
        vt.compare(profile, truth=[[1, 2], [1, 2]], clusters=2)
    with pytest.raises(vt.InputError, match="placebo must be a whole number"):
        vt.compare(profile, truth=[[1, 2], [1, 2]], placebo=-1)
    for options in ({"placebo": 1}, {"clusters": [1, 2]}):
        with pytest.raises(vt.InputError, match=r"need votes, not a scenario; make some with vt\.simulate first"):
            vt.compare("high-variance", **options)


def test_functions_that_cannot_travel_need_one_worker():
    scenario = vt.Scenario(voters=300, count_error=lambda random, counts, experience: counts)
    with pytest.raises(vt.InputError, match="use one worker"):
        vt.compare(scenario, rules=["borda"], instances=2000, workers=2)
    assert vt.compare(scenario, rules=["borda"], instances=50).instances == 50


@pytest.mark.parametrize("backend", ["numpy", pytest.param("jax", marks=pytest.mark.slow)])
def test_rules_see_no_more_than_voters_report(backend):
    """Values tell more than rankings, rankings more than favourites."""
    given = vt.Scenario(voters=6, alternatives=4, sigma=4.0)
    kinds = ("values", "rankings", "top")
    options = {"instances": 200, "backend": backend, "rules": ["score"]}
    each = {kind: vt.compare(given.replace(votes=kind), **options).rows()[0] for kind in kinds}
    assert len({row["regret"] for row in each.values()}) == 3
    assert each["values"]["correlation"] > each["rankings"]["correlation"] > each["top"]["correlation"]


def test_a_truth_file_may_name_clusters(tmp_path):
    trials = vt.simulate("low-variance", voters=3, instances=6, seed=2)
    profile = trials.profile.renamed("d", "v", "a")
    table = truth_table(trials.truth, profile)
    clusters = ["x", "x", "y", "y", "z", "z"]
    of = dict(zip(profile.decision_names, clusters, strict=True))
    named = table.with_columns(Cluster=pl.Series([of[name] for name in table["decision"]]))
    named.write_csv(tmp_path / "truth.csv")
    expected = vt.compare(profile, truth=trials.truth, clusters=clusters, rules=["borda", "mean"]).rows()
    for truth in (tmp_path / "truth.csv", named):
        assert vt.compare(profile, truth=truth, rules=["borda", "mean"]).rows() == expected
    assert expected[0]["clusters"] == 3
    own = vt.compare(profile, truth=named, clusters=list("abcdef"), rules=["borda", "mean"])
    assert own.clusters == 6
    several = named.with_columns(Cluster=pl.Series(["x", *named["Cluster"][1:-1], "w"]))
    with pytest.raises(
        vt.InputError, match=r"decision 'd6' is in the cluster 'w', and in another row in 'z'; give one"
    ):
        vt.compare(profile, truth=several)
    with pytest.raises(vt.InputError, match="the cluster is empty"):
        vt.compare(profile, truth=named.with_columns(Cluster=pl.lit(None, pl.String)))


def test_a_baseline_beside_rules_given_as_objects():
    own = vt.SumRule(Borda(), votes="rankings")
    comparison = vt.compare("low-variance", voters=3, instances=20, rules=[own, "mean"], baseline="case4")
    assert set(comparison.rules) == {"Borda()", "mean", "pairwise"}
    assert comparison.baseline == "pairwise"
