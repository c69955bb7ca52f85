"""Outcome, explanation and decide: order, ties, reasons and output."""

import json
import pickle
import sys
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import veritally as vt
from support import ANY_VOTES, RULES, over_profiles, parameters, random_profile, rule_only_for_two, values_profiles
from veritally.inference.ordering import tied_places

PANEL = vt.Profile(
    order=[["A", "B", "C"], ["B", "A", "C"], ["B", "C", "A"]],
    counts=[[40, 40, 40], [1, 1, 1], [2, 2, 2]],
    voters=["ann", "bob", "cyd"],
)
CYCLE = vt.Profile(order=[["A", "B", "C"], ["B", "C", "A"], ["C", "A", "B"]], counts=[[3, 5, 7], [7, 3, 5], [5, 7, 3]])


def test_ranking_winner_and_scores():
    outcome = vt.decide(PANEL, rule="borda")
    assert outcome.ranking == [["B"], ["A"], ["C"]]
    assert outcome.winner == "B"
    assert outcome.winners == ["B"]
    np.testing.assert_array_equal(outcome.scores, [3, 5, 1])
    assert repr(outcome) == "Outcome(borda: B > A > C)"


def test_ties_are_shown_and_broken_only_when_told():
    outcome = vt.decide(vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], alternatives=["A", "B", "C"]), rule="borda")
    assert outcome.ranking == [["A", "B"], ["C"]]
    assert outcome.winners == ["A", "B"]
    with pytest.raises(vt.TieError, match="A and B tie for first place"):
        _ = outcome.winner


def test_first_and_random_tie_breaks():
    profile = vt.Profile(ranks=[[1, 1, 2]], alternatives=["A", "B", "C"])
    assert vt.decide(profile, "pairwise", tie_break="first").winner == "A"
    drawn = [vt.decide(profile, "pairwise", tie_break="random", seed=seed).winner for seed in range(200)]
    assert drawn == [vt.decide(profile, "pairwise", tie_break="random", seed=seed).winner for seed in range(200)]
    # 200 fair draws between two: 5 standard errors from 100 is 35, false alarm 6e-7.
    assert abs(drawn.count("A") - 100) < 35
    assert "C" not in drawn


def test_rounding_does_not_break_a_tie():
    """A Condorcet cycle with rotated counts ties in exact arithmetic; sums of square roots in floats need not."""
    outcome = vt.decide(CYCLE, rule="pairwise")
    assert outcome.winners == ["A", "B", "C"]
    assert outcome.explain().lead == 0


def test_tiers_compare_with_the_best_of_a_tier():
    assert tied_places(np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 0.5)).tolist() == [1, 1, 0, 0]


def test_one_large_score_does_not_make_others_tie():
    profile = vt.Profile(values=[[1e12, 1.0, 1.01]])
    assert vt.decide(profile, "mean").ranking == [[0], [2], [1]]


@pytest.mark.parametrize(("dtype", "part"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_what_differs_beyond_rounding_is_no_tie(dtype, part):
    assert vt.decide(vt.Profile(values=dtype([[1, 1 + part]])), "mean").winners == [1]
    assert vt.decide(vt.Profile(values=dtype([[1, 1 + np.finfo(dtype).eps]])), "mean").winners == [0, 1]


def test_many_roundings_do_not_break_a_tie():
    m = 200_000
    ranks = np.float32([[1, 2], [2, 1]] * m)
    counts = np.float32(np.repeat(np.random.default_rng(0).uniform(1, 50, (m, 2)), 2, axis=0))
    counts[1::2] = counts[1::2, ::-1]
    assert vt.decide(vt.Profile(ranks=ranks, counts=counts), "borda+harmonic").winners == [0, 1]


def test_a_voter_left_out_takes_their_rounding_along():
    profile = vt.Profile(top=[*"ABCA"], counts=[[1, 1, 1], [1, 1, 1], [1, 1, 1e30], [1, 1, 1]], voters=[*"uvwx"])
    with np.errstate(all="ignore"):
        assert vt.decide(profile, "top-zero", cap="none").explain().pivotal["w"] == ["A"]


def test_equal_counts_are_the_mean_count():
    profile = vt.Profile(ranks=[[1, 2], [1, 2], [2, 1]], counts=[[9, 9]] * 3)
    assert not vt.decide(profile, "borda+arithmetic-log").explain().counts_mattered


def test_numbers_that_cannot_be_computed_with_are_refused():
    for arguments in ({"values": [[1e300, 1.0]], "counts": [[1e300, 1]]}, {"values": [[1.7e308, 0]] * 2}):
        with pytest.raises(vt.InputError, match="too large or too small to compute with"):
            vt.decide(vt.Profile(**arguments), "mean")


def test_the_tie_break_is_the_same_everywhere_and_differs_between_decisions():
    tie = vt.Profile(ranks=[[1, 1, 1]], alternatives=[*"ABC"])
    for seed in range(6):
        outcome = vt.decide(tie, tie_break="random", seed=seed, choose=2)
        assert outcome.winner == outcome.chosen[0] == outcome.ordered[0]
        assert outcome.explain().runner_up == outcome.ordered[2]
    batch = vt.decide(vt.stack([tie] * 30), tie_break="random")
    assert set(batch.winner) == {"A", "B", "C"}


def test_choosing_the_best_k():
    profile = vt.Profile(ranks=[[1, 2, 3, 4], [1, 3, 2, 4]], alternatives=[*"ABCD"])
    assert vt.decide(profile, "borda", choose=3).chosen == ["A", "B", "C"]
    with pytest.raises(vt.TieError, match="B and C tie for the last of 2 places"):
        _ = vt.decide(profile, "borda", choose=2).chosen
    assert vt.decide(profile, "borda", choose=2, tie_break="first").chosen == ["A", "B"]
    chosen = {tuple(vt.decide(profile, "borda", choose=2, tie_break="random", seed=s).chosen) for s in range(20)}
    assert chosen == {("A", "B"), ("A", "C")}


def test_alternatives_without_evidence_are_left_out():
    profile = vt.Profile(ranks=[[1, 2, 0]], counts=[[1, 1, 0]], alternatives=["A", "B", "C"])
    with pytest.warns(vt.InputWarning, match="no evidence about C: left out"):
        outcome = vt.decide(profile)
    assert outcome.alternatives == ("A", "B")
    assert len(outcome.scores) == outcome.weights.shape[-1] == 2
    assert outcome.to_dict()["warnings"] == ["no evidence about C: left out"]
    blank = vt.Profile(values=[[1.0, np.nan]], counts=[[1, 1]])
    with pytest.warns(vt.InputWarning, match="no evidence about 1"):
        assert vt.decide(blank, "mean").ranking == [[0]]


def test_nothing_to_decide():
    with pytest.warns(vt.InputWarning):
        empty = vt.Profile(ranks=[[0, 0]])
    with pytest.raises(vt.InputError, match="no voter has a vote that this rule can use"):
        vt.decide(empty, "borda")
    batch = vt.stack([vt.Profile(ranks=[[1, 2]]), empty], decisions=["good", "bad"])
    with pytest.raises(vt.InputError, match="decision 'bad': no voter"):
        vt.decide(batch, "borda")


def test_explanation_by_hand():
    """Borda lead of B over A: ann −1, bob +1, cyd +2; without cyd they tie, without bob B leads by 1."""
    explanation = vt.decide(PANEL, rule="borda").explain()
    assert (explanation.winner, explanation.runner_up, explanation.lead) == ("B", "A", 2)
    assert explanation.contributions == {"cyd": 2, "bob": 1, "ann": -1}
    assert explanation.shares == {"cyd": 1, "bob": 0.5, "ann": -0.5}
    assert explanation.pivotal == {"cyd": ["A", "B"]}
    assert explanation.equal_counts == ["B"]
    assert not explanation.counts_mattered


def test_explanation_says_whether_counts_mattered():
    explanation = vt.decide(PANEL, rule="pairwise").explain()
    assert explanation.winner == "A"
    assert explanation.counts_mattered
    assert explanation.equal_counts == ["B"]
    assert explanation.pivotal == {"ann": ["B"]}


def test_a_ballot_that_stands_for_many_is_removed_whole():
    profile = vt.Profile(order=[["A", "B"], ["B", "A"]], multiplicity=[3, 2], voters=["many", "few"])
    assert vt.decide(profile, "borda").explain().pivotal == {"many": ["B"]}


@pytest.mark.filterwarnings("ignore:.*all voters agree", "ignore:only one voter saw", "ignore:.*no finite maximum")
@pytest.mark.filterwarnings("ignore:outside of what the network learned")
@over_profiles(RULES)
def test_contributions_sum_to_the_lead_or_are_what_it_loses(name, data):
    profile = data.draw(values_profiles(alternatives=(2, 2), voters=(2, 5), blanks=False))
    if name in ANY_VOTES:
        profile = profile.coarsened(data.draw(st.sampled_from(["values", "differences", "rankings", "top"])))
    outcome = vt.decide(profile, name, **parameters(name, 2))
    explanation = outcome.explain()
    rounding = max(1e-9, 4 * float(outcome.fit.rounding.max()))
    if explanation.adds_up or explanation.runner_up is None:
        assert sum(explanation.contributions.values()) == pytest.approx(explanation.lead, abs=rounding)
    else:
        columns = [list(profile.alternatives).index(one) for one in (explanation.winner, explanation.runner_up)]
        left = np.asarray(outcome.method.leave_one_out(outcome.profile.ballots, outcome.fit).scores)[:, columns]
        for voter, (first, second) in zip(profile.voters, left, strict=True):
            if np.isfinite(first) and np.isfinite(second):
                loss = explanation.lead - (first - second)
                assert explanation.contributions[voter] == pytest.approx(loss, abs=rounding)
        assert explanation.shares == {}


@pytest.mark.parametrize("kind", ["values", "rankings"])
def test_who_decided_agrees_with_who_is_left_out(kind):
    """Of many voters, too, for whom not all is fitted anew: values exactly, rankings nearly."""
    random = np.random.default_rng(3)
    counts = random.integers(1, 30, (24, 8)).astype(float)
    values = 0.3 * random.normal(size=8) + 2 * random.normal(size=counts.shape) / np.sqrt(counts)
    given, every = {"sigma": 2.0, "tau": 0.3}, range(24)
    profile = vt.Profile(values=values, counts=counts).coarsened(kind)
    explanation = vt.decide(profile, **given).explain()
    first, second = explanation.winner, explanation.runner_up
    lost = {}
    for voter in every:
        scores = vt.decide(profile.select(voters=[i for i in every if i != voter]), **given).fit.scores
        lost[voter] = explanation.lead - float(scores[first] - scores[second])
    found = np.array([explanation.contributions[voter] for voter in every])
    exact = np.array([lost[voter] for voter in every])
    np.testing.assert_allclose(found, exact, atol=1e-9 if kind == "values" else 0.1 * np.abs(exact).max())
    assert (
        set(explanation.pivotal) == {voter for voter in every if lost[voter] > explanation.lead} or kind == "rankings"
    )


def test_where_scores_are_means_each_voter_pulls_towards_their_own():
    """Only B prefers Y, and C has not seen it: measured from 0, having seen Y at all would count for or against it."""
    profile = vt.Profile(
        values=[[-12, -13], [-14, -11], [-12, np.nan]],
        counts=[[9, 3], [3, 9], [9, 0]],
        alternatives=["X", "Y"],
        voters=["A", "B", "C"],
    )
    explanation = vt.decide(profile, "mean").explain()
    assert explanation.winner == "Y"
    assert next(iter(explanation.contributions)) == "B"
    assert explanation.pivotal == {"B": ["X"]}
    np.testing.assert_allclose(sum(explanation.contributions.values()), explanation.lead)


def test_explanation_of_a_choice_is_about_the_cut():
    profile = vt.Profile(
        ranks=[[1, 2, 3, 4], [1, 2, 3, 4], [1, 3, 2, 4]], alternatives=[*"ABCD"], voters=["ann", "bob", "cyd"]
    )
    explanation = vt.decide(profile, "borda", choose=2).explain()
    assert (explanation.winner, explanation.runner_up, explanation.lead) == ("B", "C", 1)
    assert explanation.contributions == {"ann": 1, "bob": 1, "cyd": -1}
    assert explanation.pivotal == {"ann": ["A", "B", "C"], "bob": ["A", "B", "C"]}
    assert explanation.equal_counts == ["A", "B"]
    everything = vt.decide(profile, "borda", choose=4).explain()
    assert everything.runner_up is None
    assert everything.lead == 0
    assert everything.pivotal == {}


def test_a_winner_that_one_voter_alone_has_seen_is_pointed_out():
    profile = vt.Profile(
        ranks=[[1, 2, 0], [1, 2, 0], [0, 2, 1]], counts=[[9, 9, 0], [9, 9, 0], [0, 1, 1]], alternatives=[*"ABC"]
    )
    with pytest.warns(vt.InputWarning, match="only one voter saw C, which comes out best"):
        assert vt.decide(profile, "pairwise-normalized").winners == ["A", "C"]
    batch = vt.stack([PANEL, profile])
    with pytest.warns(vt.InputWarning, match="decision 1: only one voter saw C"):
        vt.decide(batch, "pairwise-normalized")


def test_decide_takes_a_profile_only():
    with pytest.raises(vt.InputError, match=r"decide takes a Profile, not str; read files and frames with vt.read"):
        vt.decide("votes.csv")


def test_json_is_one_object_with_the_users_names():
    result = json.loads(vt.decide(PANEL, rule="borda").to_json(explain=True))
    first = ["rule", "winner", "winners", "ranking", "scores", "voters", "alternatives", "status", "warnings"]
    assert list(result)[:9] == first
    assert result["status"] == "converged"
    assert result["scores"] == {"A": 3, "B": 5, "C": 1}
    assert (result["voters"], result["alternatives"]) == (3, 3)
    assert result["explanation"]["pivotal"] == {"cyd": ["A", "B"]}


def test_json_of_ties_choices_and_infinities():
    tie = vt.decide(vt.Profile(ranks=[[1, 1, 2]]), choose=1)
    assert json.loads(tie.to_json())["winner"] is None
    assert json.loads(vt.decide(vt.Profile(ranks=[[1, 2, 2]]), choose=2).to_json())["chosen"] is None
    assert json.loads(vt.decide(vt.Profile(ranks=[[1, 2, 3]]), choose=2).to_json())["chosen"] == ["0", "1"]
    with pytest.warns(vt.InputWarning):
        sure = vt.decide(vt.Profile(ranks=[[1, 2]]), "majority")
    assert json.loads(sure.to_json())["delta"] == "-inf"


@pytest.mark.parametrize(
    ("backend", "type_"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)]
)
def test_frames_of_three_kinds(backend, type_):
    frame = vt.decide(vt.Profile(ranks=[[1, 1, 3]], alternatives=["A", "B", "C"]), "borda").to_frame(backend)
    assert isinstance(frame, type_)
    columns = frame.to_pydict() if backend == "pyarrow" else {name: list(frame[name]) for name in frame.columns}
    assert columns == {
        "alternative": ["A", "B", "C"],
        "score": [1.5, 1.5, 0],
        "rank": [1, 1, 3],
        "winner": [True, True, False],
        "chosen": [True, True, False],
        "voters": [1, 1, 1],
        "count": [1, 1, 1],
    }


def test_frames_say_how_sure_it_is():
    profile = vt.Profile(ranks=[[1, 2, 3]], alternatives=["A", "B", "C"])
    for outcome in (vt.decide(profile, sigma=1, tau=1), vt.decide(vt.stack([profile] * 2), sigma=1, tau=1)):
        frame = outcome.to_frame()
        np.testing.assert_allclose(frame["p_best"], np.ravel(outcome.p_best))
        for name in ("distance", "distance_low", "distance_high"):
            np.testing.assert_allclose(frame[name], np.ravel(getattr(outcome.belief, name)))
        assert set(frame["distance_unit"]) == {"noise of one observation"}
        np.testing.assert_allclose(frame["p_chosen"], frame["p_best"])
        np.testing.assert_allclose(frame["estimate"], np.ravel(outcome.scores))
        np.testing.assert_allclose(frame["estimate_low"], np.ravel(outcome.belief.low))
        np.testing.assert_allclose(frame["estimate_high"], np.ravel(outcome.belief.high))
        assert frame["tier"].to_list() == [1] * len(frame)
    plain = ["alternative", "score", "rank", "winner", "chosen", "voters", "count"]
    assert vt.decide(profile, "borda").to_frame().columns == plain


def test_frames_say_who_saw_how_much():
    profile = vt.Profile(ranks=[[1, 2, 0], [0, 1, 2]], counts=[[4, 2, 0], [0, 1.5, 3]], multiplicity=[1, 3])
    frame = vt.decide(profile, choose=2).to_frame().sort("alternative")
    assert frame["voters"].to_list() == [1, 4, 3]
    assert frame["count"].to_list() == [4, 2 + 3 * 1.5, 9]


CLEAR_VALUES = vt.Profile(
    values=[[9.0, 8.9, 4.0, 3.9, 0.1], [9.1, 9.2, 4.1, 4.2, 0.0], [8.9, 8.9, 4.0, 3.8, -0.1]], alternatives=[*"ABCDE"]
)


def test_tiers_part_what_is_clearly_worse():
    outcome = vt.decide(CLEAR_VALUES)
    assert [sorted(tier) for tier in outcome.tiers] == [["A", "B"], ["C", "D"], ["E"]]
    assert outcome.tiers[0] == [outcome.winner, *outcome.indistinct]
    assert vt.decide(CLEAR_VALUES, "borda").tiers is None
    above = outcome.p_above
    place = {name: j for j, name in enumerate(outcome.alternatives)}
    for tier, later in pairwise(outcome.tiers):
        assert all(above[place[tier[0]], place[name]] <= 0.975 for name in tier[1:])
        assert all(above[place[tier[0]], place[name]] > 0.975 for name in later)


def test_the_cut_says_who_is_in_borderline_or_out():
    outcome = vt.decide(CLEAR_VALUES, choose=3)
    assert [sorted(part) for part in outcome.cut] == [["A", "B"], ["C", "D"], ["E"]]
    chance = dict(zip(outcome.alternatives, outcome.p_chosen, strict=True))
    assert outcome.sureness == min(chance[name] for name in outcome.chosen)
    assert 0.3 < outcome.sureness < 0.95
    found = outcome.to_dict()
    assert sorted(found["cut"]["borderline"]) == ["C", "D"]
    assert found["sureness"] == outcome.sureness
    assert vt.decide(CLEAR_VALUES, "borda").cut is None
    assert vt.decide(CLEAR_VALUES, "borda").sureness is None


def test_an_unbroken_tie_is_as_sure_as_the_least_sure_of_it():
    profile = vt.Profile(ranks=[[1, 1, 3]] * 4)
    tied, broken = vt.decide(profile), vt.decide(profile, tie_break="first")
    assert tied.sureness == min(tied.p_best[:2])
    assert broken.sureness == broken.p_best[0]


def test_the_expected_kendall_distance_is_that_of_the_draws():
    outcome = vt.decide(CLEAR_VALUES, choose=2)
    place = {name: j for j, name in enumerate(outcome.alternatives)}
    wrong = sum(outcome.p_above[place[b], place[a]] for a, b in combinations(outcome.ordered, 2))
    assert outcome.expected_kendall == pytest.approx(wrong)
    best = sum(outcome.p_above[place[b], place[a]] for a, b in combinations(outcome.kendall_ranking, 2))
    assert best <= wrong
    assert vt.decide(CLEAR_VALUES, "borda").expected_kendall is None
    batch = vt.decide(vt.stack([CLEAR_VALUES] * 2))
    assert batch.kendall_ranking == [outcome.kendall_ranking] * 2


def test_notebooks_show_tables():
    profile = vt.Profile(ranks=[[1, 2]], alternatives=["<b>", "B"])
    shown = vt.decide(profile)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "P(best)" in shown
    assert "P(best)" not in vt.decide(profile, "borda")._repr_html_()
    batch = vt.decide(vt.stack([profile] * 70), choose=2)._repr_html_()
    assert "70 decisions, the first 60 of them below" in batch
    assert batch.count("<tr>") == 61


def test_batches_answer_for_each_decision():
    batch = vt.stack([PANEL, vt.Profile(order=[["X", "Y"]])], decisions=["one", "two"])
    outcome = vt.decide(batch, "borda")
    assert outcome.winner == ["B", "X"]
    assert outcome.ranking == [[["B"], ["A"], ["C"]], [["X"], ["Y"]]]
    assert [e.winner for e in outcome.explain()] == ["B", "X"]
    assert outcome.scores.shape == (2, 3)
    assert outcome.weights.shape == (2, 3, 3)
    lines = [json.loads(line) for line in outcome.to_json().splitlines()]
    assert [(line["decision"], line["winner"]) for line in lines] == [("one", "B"), ("two", "X")]
    assert outcome.to_frame()["decision"].to_list() == ["one"] * 3 + ["two"] * 2
    assert repr(outcome) == "Outcome(borda: 2 decisions)"


def test_deeper_batches_nest():
    profile = random_profile(0, batch=(2, 3))
    outcome = vt.decide(profile, "borda")
    assert [len(row) for row in outcome.winners] == [3, 3]
    assert outcome.winners[1][2] == vt.decide(profile.unstack()[1].unstack()[2], "borda").winners


def test_deeper_batches_come_out_in_full():
    outcome = vt.decide(random_profile(0, batch=(2, 2)), "borda")
    assert [json.loads(line)["decision"] for line in outcome.to_json().splitlines()] == ["0/0", "0/1", "1/0", "1/1"]
    assert len(outcome.to_frame()) == 20


def test_names_of_any_type_come_out():
    batch = vt.stack([vt.Profile(ranks=[[1, 2]]), vt.Profile(order=[["A", "B"]])], decisions=[np.int64(2), 3])
    outcome = vt.decide(batch)
    assert json.loads(outcome.to_json().splitlines()[0])["decision"] == "2"
    assert outcome.to_frame()["alternative"].to_list() == ["0", "1", "A", "B"]


def test_nobody_stands_for_no_voter():
    assert vt.decide(vt.Profile(ranks=[[1, 2], [2, 1]], multiplicity=[0, 1])).voters == 1


def test_outcomes_can_be_pickled():
    outcome = vt.decide(PANEL, "pairwise")
    assert pickle.loads(pickle.dumps(outcome)).ranking == outcome.ranking


def test_batch_warnings_name_the_decision():
    unseen = vt.Profile(ranks=[[1, 2, 0]], counts=[[1, 1, 0]], alternatives=[*"ABC"])
    batch = vt.stack([PANEL, unseen], decisions=["one", "two"])
    with pytest.warns(vt.InputWarning, match="decision 'two': no evidence about C"):
        outcome = vt.decide(batch, "borda")
    assert outcome.warnings == ("decision 'two': no evidence about C: left out",)
    with pytest.warns(vt.InputWarning, match="no usable vote"):
        silent = vt.Profile(ranks=[[1, 2], [0, 0]])
    with pytest.warns(vt.InputWarning, match="no evidence about C") as caught:
        outcome = vt.decide(vt.stack([silent, unseen]), "borda")
    assert len(caught) == 1
    assert [message.split(": ")[-1] for message in outcome.warnings] == ["no usable vote, ignored", "left out"]


def test_stochastic_rules_follow_the_seed():
    profile = random_profile(1, kind="top")
    first, again, other = (vt.decide(profile, "top-monte-carlo", seed=seed).scores for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_default_takes_votes_of_any_kind():
    values = random_profile(1, voters=5, alternatives=2, kind="values")
    kinds = [values, values.as_differences(), values.as_rankings(), values.as_top(), [values, values.as_rankings()]]
    for votes in kinds:
        assert vt.decide(votes).rule == "posterior"


def test_sigma_in_its_three_forms():
    by_name = vt.decide(PANEL, "pairwise", sigma={"B": 2.0, "A": 1.0, "C": 3.0}).scores
    np.testing.assert_array_equal(by_name, vt.decide(PANEL, "pairwise", sigma=[1, 2, 3]).scores)
    for two in (np.float32(2), np.int64(2), np.array(2.0)):
        np.testing.assert_array_equal(
            vt.decide(PANEL, "pairwise", sigma=two).scores, vt.decide(PANEL, "pairwise", sigma=2).scores
        )
    np.testing.assert_allclose(vt.decide(PANEL, "pairwise", sigma=2).scores * 2, vt.decide(PANEL, "pairwise").scores)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "bordo"}, "there is no rule 'bordo'; did you mean borda"),
        ({"rule": "xyzzy"}, "there is no rule 'xyzzy'; see vt.rules"),
        (
            {"rule": "mean"},
            "the rule mean needs values, but these votes are rankings of 3 alternatives; rules that can",
        ),
        ({"rule": "majority"}, "needs rankings of 2 alternatives, but these votes are rankings of 3"),
        ({"rule": "borda", "sigma": 1}, "the rule borda has no parameter sigma; it takes none"),
        ({"rule": "pairwise", "samples": 1}, "has no parameter samples; it takes sigma"),
        ({"rule": "positional"}, "the rule positional needs points"),
        ({"rule": "positional", "points": [1, 2]}, "points has 2 numbers for 3 alternatives"),
        ({"rule": "positional", "points": ["a", "b", "c"]}, "points must be numbers"),
        ({"rule": "pairwise", "sigma": 0}, "sigma must be a finite number above 0"),
        ({"rule": "pairwise", "sigma": [1, 2]}, "sigma has 2 numbers for 3 alternatives"),
        ({"rule": "pairwise", "sigma": [1, 2, np.nan]}, "sigma must be a finite number above 0"),
        ({"rule": "pairwise", "sigma": "big"}, "sigma must be numbers"),
        ({"rule": "pairwise", "sigma": {"A": 1, "B": 1}}, "it has none for 'C'"),
        ({"rule": "pairwise", "sigma": {"A": 1, "B": 1, "C": 1, "D": 1}}, "names 'D', not an alternative"),
        ({"rule": "top-monte-carlo", "samples": 0}, "samples must be a whole number, 1 or more"),
        ({"rule": "top-monte-carlo", "samples": True}, "samples must be a whole number, 1 or more"),
        ({"rule": "posterior", "tau": True}, "tau must be a finite number above 0, not True"),
        ({"rule": "positional", "points": [1, np.nan, 0]}, "points must be finite"),
        ({"rule": 5}, "give a rule by its name"),
        ({"choose": 1.5}, "choose must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"choose": 4}, "cannot choose 4 of 3 alternatives"),
        ({"choose": 0}, "choose must be a whole number, 1 or more"),
        ({"rule": "case5"}, "did you mean case5-lower-bound or case5-zero or case5-monte-carlo"),
        ({"tie_break": "coin"}, "no tie-break 'coin'"),
    ],
)
def test_messages_of_decide(arguments, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(PANEL, **arguments)


def test_rules_that_cannot_use_favourites_say_who_could():
    with pytest.raises(vt.InputError, match=r"needs rankings, but these votes are top choices of .* plurality"):
        vt.decide(vt.Profile(top=[0, 1]), "borda")


def test_every_rule_decides_something():
    for name in RULES:
        n = 2 if rule_only_for_two(name) else 5
        outcome = vt.decide(random_profile(0, alternatives=n, kind="values"), name, **parameters(name, n))
        assert len(outcome.scores) == n


def test_sigma_by_name_in_files_of_several_decisions():
    rows = [("p", "u", "A", 1), ("p", "u", "B", 2), ("q", "u", "B", 2), ("q", "u", "A", 1)]
    frame = pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank"], orient="row")
    by_name = vt.decide(vt.read(frame), "pairwise", sigma={"A": 1, "B": 5})
    assert by_name.scores[0].tolist() == by_name.scores[1].tolist()
    np.testing.assert_array_equal(by_name.scores, vt.decide(vt.read(frame), "pairwise", sigma=(1, 5)).scores)
    other = pl.concat(
        [frame, frame.with_columns(decision=pl.lit("r"), alternative=pl.lit("C") + pl.col("alternative"))]
    )
    with pytest.raises(vt.InputError, match="needs decisions with the same alternatives"):
        vt.decide(vt.read(other.unique(maintain_order=True)[:6]), "pairwise", sigma=(1, 5))


def test_the_exact_gradient_of_two_alternatives_ties_where_votes_do():
    assert vt.decide(vt.Profile(ranks=[[1, 1]], counts=[[2, 3]]), "top-gradient").winners == [0, 1]
    assert vt.decide(vt.Profile(top=[0, 1], counts=[[2, 9], [2, 9]]), "top-gradient").winners == [0, 1]


def test_what_equal_counts_would_do_is_what_they_do():
    """Decided anew, with all that is estimated: what holds the noise as it was may say something else."""
    rng = np.random.default_rng(5)
    mattered = 0
    for seed in range(12):
        counts, truth = rng.integers(1, 60, (6, 4)), rng.normal(size=4)
        values = truth + rng.normal(size=(6, 4)) / np.sqrt(counts) * 3
        found = vt.decide(vt.Profile(values=values, counts=counts), choose=1 + seed % 2).explain()
        alike = vt.decide(vt.Profile(values=values, counts=np.full((6, 4), counts.mean())), choose=1 + seed % 2)
        assert set(found.equal_counts) == set(alike.chosen)
        mattered += found.counts_mattered
    assert mattered


def test_what_leniency_does_is_what_leaving_it_out_does():
    values = [[7, 6, np.nan, np.nan], [np.nan, np.nan, 5, 4.6], [7.1, np.nan, 8, np.nan], [np.nan, 6.2, np.nan, 7.9]]
    profile = vt.Profile(values=values, counts=np.where(np.isnan(values), 0, 1))
    plain = vt.decide(profile, leniency=0)
    assert vt.decide(profile, leniency="estimated").explain().without_leniency == [plain.winner]
    assert plain.explain().without_leniency is None


def test_frames_hold_whole_and_other_counts_of_several_decisions():
    one, other = (vt.Profile(ranks=[[1, 2]], counts=[[count, 1]]) for count in (1, 2.5))
    assert vt.decide(vt.stack([one, other])).to_frame()["count"].to_list() == [1, 1, 2.5, 1]
    assert vt.decide(vt.Profile(values=[[1.0, 2.0]], counts=[[1e300, 1e300]]), "borda").to_frame()["count"][0] == 1e300


@pytest.mark.parametrize("seed", range(4))
def test_the_first_tier_is_the_winner_and_what_is_near_it_whatever_breaks_ties(seed):
    outcome = vt.decide(vt.Profile(ranks=[[1, 1, 2, 3, 3]] * 9), tie_break="random", seed=seed)
    assert outcome.tiers[0] == [outcome.winner, *outcome.indistinct]


def test_without_a_voter_it_is_decided_anew():
    """Pivotal voters of reviews whose noise and leniency are estimated are those whom leaving out really shows."""
    rng = np.random.default_rng(8)
    counts = (rng.random((9, 14)) < 0.4) * rng.integers(1, 9, (9, 14))
    values = np.round(rng.normal(size=14) + 0.5 * rng.normal(size=(9, 1)) + rng.normal(size=(9, 14)))
    profile = vt.Profile(values=np.where(counts > 0, values, np.nan), counts=counts)
    outcome = vt.decide(profile, choose=3)
    explanation = outcome.explain()
    assert explanation.pivotal
    assert explanation.approximate == []
    for voter in profile.voters:
        others = vt.decide(profile.select(voters=[own for own in profile.voters if own != voter]), choose=3)
        chosen = [others.alternatives[j] for j in others.chosen_positions]
        assert sorted(explanation.pivotal.get(voter, outcome.ordered[:3])) == sorted(chosen)


def test_a_frame_of_what_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(vt.InputError, match="install it with: pip install pandas"):
        vt.decide(vt.Profile(ranks=[[1, 2], [1, 2]])).to_frame(backend="pandas")


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ({}, "spread of the truths"),
        ({"sigma": 3.0, "tau": 1.0}, "spread of the truths"),
        ({"sigma": 3.0}, "unit of sigma"),
        ({"sigma": 3.0, "tau": 0.2}, "unit of sigma"),
    ],
)
def test_estimates_have_the_unit_of_what_was_given(given, unit):
    profile = vt.Profile(ranks=[[1, 2, 3], [1, 3, 2]], counts=[[5, 5, 5], [2, 2, 2]])
    assert set(vt.decide(profile, **given).to_frame()["estimate_unit"]) == {unit}
