"""Composing a group: theory where there is one, the same decisions for all, and every refusal."""

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli
from veritally.planning import compose as module
from veritally.planning.compositions import BALLOTS, Composition, lattice, usual_knowledge, usual_numbers
from veritally.planning.dealing import BLOCK, Circumstances, Dealing, Group, decide, least_regret
from veritally.planning.information import worth_of_a_look

SMALL = {"alternatives": 4, "sigma": 3, "looks": 80, "voters": [1, 5, 10], "known": [2], "instances": 100}


def dealing(compositions, looks=400, alternatives=4, sigma=3.0, omega=0.0, seed=0):
    groups = [Group(one, one.counts(alternatives, looks)) for one in compositions]
    return Dealing(Circumstances(alternatives, sigma, omega=omega), groups, seed)


def regrets(made, number, blocks=2):
    return np.concat([made.regrets(number, block) for block in range(blocks)])


# Who sees what


@pytest.mark.parametrize("one", list(lattice(10, ["rankings"], [1, 2, 7, 30], usual_knowledge(10), [None])), ids=str)
def test_looks_are_shared_out_evenly(one):
    counts = one.counts(10, 1009)
    if counts is None:  # too few specialists to know everything, or for a look elsewhere
        assert one.voters * one.known < 20
    else:
        assert counts.shape == (one.voters, 10)
        assert (counts.sum(axis=0) == 100).all()
        assert counts.sum(axis=1).min() > 0


def test_specialists_know_as_many_alternatives_as_they_should():
    counts = Composition(20, known=3).counts(10, 1000)
    assert ((counts > 0).sum(axis=1) == 3).all()
    assert ((counts > 0).sum(axis=0) == 6).all()
    mixed = Composition(20, known=3, specialists=0.5).counts(10, 1000)
    assert sorted((mixed > 0).sum(axis=1)) == [3] * 10 + [10] * 10
    both = Composition(20, known=2, elsewhere=0.5).counts(10, 1000)
    assert (both > 0).all()
    assert both.max() >= 3 * both.min()


def test_too_few_looks_make_no_group():
    assert Composition(101).counts(10, 1000) is None
    assert Composition(4, known=2).counts(10, 1000) is None
    assert usual_numbers(1) == (1,)


# What is simulated


def test_with_values_only_the_sum_of_looks_matters():
    compositions = [
        Composition(1),
        Composition(20),
        Composition(30, known=2),
        Composition(30, known=1, specialists=0.5),
    ]
    made = dealing(compositions)
    for number in range(len(compositions)):
        assert regrets(made, number) == pytest.approx(least_regret(made.circumstances, 100), abs=1e-12)


def test_one_voter_who_sees_everything_loses_nothing_whatever_is_reported():
    made = dealing([Composition(1, votes) for votes in ("values", "rankings", "favourites")])
    for number in range(3):
        assert regrets(made, number) == pytest.approx(least_regret(made.circumstances, 100), abs=1e-12)


@pytest.mark.parametrize("omega", [0.0, 0.7])
def test_expected_regret_is_the_regret_by_the_truth(omega):
    """The mean difference is within four standard errors: by chance beyond that once in 16,000 times."""
    made = dealing([Composition(6, "rankings", families=3 if omega else None)], omega=omega)
    group, differences = made.groups[0], []
    for block in range(6):
        truth, decks = made.truths(block), made.decks(block)
        scores = scores_of(made, group, made.votes(group, block, decks))
        by_truth = truth.max(axis=-1) - truth[np.arange(BLOCK), scores.argmax(axis=-1)]
        differences.append(by_truth - made.regrets(0, block))
    differences = np.concat(differences)
    assert abs(differences.mean()) < 4 * differences.std() / math.sqrt(differences.size)


def scores_of(made, group, votes):
    return decide(made.circumstances, group, votes)


@pytest.mark.parametrize(("voters", "families"), [(12, None), (12, 3), (12, 1)])
def test_clones_are_worth_what_the_formula_says(voters, families):
    """m clones with correlation ρ are worth m/(1 + (m − 1)ρ) voters: their mean has that part of the variance."""
    sigma, omega, looks = 3.0, 0.8, 120
    made = dealing([Composition(voters, families=families)], looks * 4, sigma=sigma, omega=omega)
    each = sigma**2 * voters / looks + omega**2  # the variance of one voter's mean
    clones = voters / (families or voters)
    worth = (families or voters) * clones / (1 + (clones - 1) * omega**2 / each)
    expected = least_regret(Circumstances(4, math.sqrt(each)), worth)
    found = regrets(made, 0, blocks=20)
    assert abs(found.mean() - expected) < 4 * found.std() / math.sqrt(found.size)


def test_families_that_are_told_of_are_decided_as_by_a_panel():
    made = dealing([Composition(6, "rankings", families=2)], looks=480, omega=0.9)
    group = made.groups[0]
    votes = made.votes(group, 0, made.decks(0))[:3]
    counts = np.broadcast_to(group.counts, votes.shape)
    profile = vt.Profile(values=votes, counts=counts, voters=list("abcdef")).coarsened("rankings")
    each = 3.0**2 / counts[0, 0, 0]
    panel = vt.Panel({"one": list("ace"), "two": list("bdf")}, correlation=0.9**2 / (each + 0.9**2))
    told = vt.decide(profile, panel=panel, sigma=3.0, tau=1.0, omega=0.9, estimate="mode", cap="none")
    assert scores_of(made, group, votes) == pytest.approx(told.scores, abs=1e-4)


def test_the_same_decisions_make_differences_sure():
    made = dealing([Composition(10, "rankings"), Composition(20, "rankings")], sigma=6.0)
    one, other = regrets(made, 0), regrets(made, 1)
    independent = math.hypot(one.std(), other.std())
    assert (one - other).std() < 0.9 * independent
    truth, chosen_by_truth = made.truths(0), made.regrets(0, 0)
    assert chosen_by_truth.std() < truth.max(axis=-1).std()


@pytest.mark.parametrize(("votes", "known"), [("rankings", None), ("rankings", 2), ("favourites", 2)])
def test_many_noisy_voters_are_worth_what_their_ballots_keep(votes, known):
    """Within four standard errors of the limit, and two per cent for what a hundred ballots are short of it."""
    made = dealing([Composition(100, votes, known)], looks=800, alternatives=4, sigma=12.0)
    found = regrets(made, 0, blocks=5)
    kept = worth_of_a_look(votes, known or 4, 4) * 200
    expected = least_regret(made.circumstances, kept)
    assert abs(found.mean() - expected) < 4 * found.std() / math.sqrt(found.size) + 0.02 * expected


def test_what_a_ballot_keeps():
    assert [worth_of_a_look(votes, 2, 2) for votes in BALLOTS] == pytest.approx([1, 2 / math.pi, 2 / math.pi])
    favourites = {k: worth_of_a_look("favourites", k, 10) for k in range(1, 11)}
    assert max(favourites, key=favourites.get) == 3
    assert favourites[1] == 0
    rankings = [worth_of_a_look("rankings", k, 10) for k in range(1, 11)]
    assert rankings == sorted(rankings)
    with pytest.raises(vt.InputError, match="did you mean 'rankings'"):
        worth_of_a_look("ranking", 2, 10)


# What is found


def test_the_result_is_what_was_asked():
    found = vt.compose(**SMALL)
    assert found.best.composition.voters == 1
    assert found.best.regret == pytest.approx(least_regret(found.circumstances, 20))
    assert found.best in found.not_clearly_worse
    assert all(row.difference >= 0 and row.looks <= 80 for row in found.rows)
    rankings = found.among("rankings")
    assert rankings.votes == ("rankings",)
    once = rankings.usual["everybody sees everything once"]
    assert (once.composition.voters, once.instances) == (20, 100)
    assert once.clearly_worse
    assert rankings.usual["one voter sees everything"] == rankings.best
    frame = found.to_frame()
    assert len(frame) == len(found.groups)
    assert frame["regret"].to_list()[0] == found.best.regret
    assert json.loads(json.dumps(found.to_dict()))["best"]["voters"] == 1
    assert "best: 1 generalist" in repr(found)


def test_workers_and_rounds_change_nothing():
    asked, rounds = {**SMALL, "voters": [1, 5], "votes": ["rankings"], "instances": 250}, []
    alone = vt.compose(**asked, finished=rounds.append)
    with ThreadPoolExecutor(3) as pool:
        together = vt.compose(**asked, executor=pool)
    assert alone.to_dict() == together.to_dict()
    assert [{len(own) for own in each.regrets} for each in rounds] == [{100}, {100, 200}, {100, 250}]
    for early, late in zip(rounds[0].regrets, alone.regrets, strict=True):
        assert (late[: len(early)] == early).all()
    assert vt.compose(**{**asked, "instances": 100}, seed=1).to_dict() != rounds[0].to_dict()


def test_costs_and_limits_are_kept():
    found = vt.compose(4, 3, budget=200, voter_cost=10, look_cost=2, votes="rankings", known=[2], instances=100)
    assert all(row.cost == 10 * row.composition.voters + 2 * row.looks <= 200 for row in found.rows)
    assert max(row.composition.voters for row in found.rows) == 11  # of 18 each: who sees all four once
    limited = vt.compose(4, 3, 80, most_looks=8, votes=["values"], instances=100)
    assert all(row.looks <= 8 * row.composition.voters for row in limited.rows)
    assert limited.best.composition.voters == 10


def test_errors_of_their_own_make_several_voters_better_than_one():
    found = vt.compose(**{**SMALL, "votes": ["rankings"], "omega": 1.0, "families": [1, None]})
    assert found.best.composition.voters > 1
    assert found.best.composition.families is None
    assert not any(row.composition.families and row.composition.voters == 1 for row in found.rows)
    assert found.usual["one voter sees everything"].clearly_worse


REFUSED = {
    "a whole number, 2 or more": {"alternatives": 1},
    "sigma must be a finite number above 0": {"sigma": 0},
    "tau must be a finite number above 0": {"tau": -1},
    "omega must be a finite number": {"omega": -1},
    "the number of looks must be a whole number, 1 or more": {"looks": 0},
    "4 alternatives need a look each, but this budget has 3 looks": {"looks": 3},
    "the budget must be a finite number above 0": {"looks": None, "budget": 0},
    "this budget has 1 look; give more": {"looks": None, "budget": 11, "voter_cost": 10},
    "either looks or a budget": {"budget": 10},
    "as a budget, not looks": {"voter_cost": 1},
    "the cost of a voter must be a finite number, 0 or more": {"looks": None, "budget": 10, "voter_cost": -1},
    "the cost of a look must be a finite number above 0": {"looks": None, "budget": 10, "look_cost": 0},
    "the most looks of one voter": {"most_looks": 0},
    "kind of votes 'ranking' is unknown; did you mean 'rankings'?": {"votes": ["ranking"]},
    "at least one of values": {"votes": []},
    "a number of voters must be": {"voters": [0]},
    "90 voters cannot share out 80 looks at 4 alternatives; with 180 looks they could": {"voters": [90]},
    "at most 1,000,000,000,000 looks can be shared out": {"looks": 10**21, "voters": [1]},
    "1 voter cannot share out 3 looks at 4 alternatives if none makes more than 3": {"most_looks": 3, "voters": [1]},
    "a specialist knows must be a whole number, from 1 to 3": {"known": [4]},
    "a number of families": {"families": [0], "omega": 1},
    "give its standard deviation as omega": {"families": [3]},
    "instances must be": {"instances": 1},
    "seed must be": {"seed": -1},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(message):
    with pytest.raises(vt.InputError) as caught:
        vt.compose(**{**SMALL, **REFUSED[message]})
    assert message in str(caught.value)


# The command

OPTIONS = {"alternatives": 4, "sigma": 3, "looks": 80, "voters": "1,5", "known": 2, "instances": 100}
COMMAND = ["compose", *(text for name, given in OPTIONS.items() for text in (f"--{name}", str(given)))]


def test_the_command_prints_the_best_and_the_price_of_the_usual(tmp_path):
    out, plot = tmp_path / "groups.csv", tmp_path / "groups.svg"
    result = CliRunner().invoke(cli, [*COMMAND, "--out", str(out), "--plot", str(plot)])
    assert result.exit_code == 0, result.output
    assert "Best of" in result.output
    assert "1 generalist, values, regret 0." in result.output
    assert "Usual, not asked for: everybody sees everything once (20 generalists, favourites)" in result.output
    assert out.read_text().startswith("voters,votes,known,specialists,elsewhere,families,experience,looks,cost,regret")
    assert plot.stat().st_size > 0
    assert CliRunner().invoke(cli, [*COMMAND, "--out", str(out)]).exit_code == 0  # its own file is replaced
    out.write_text("mine")
    refused = CliRunner().invoke(cli, [*COMMAND, "--out", str(out)])
    assert (refused.exit_code, out.read_text()) == (2, "mine")


def test_the_command_prints_json():
    result = CliRunner().invoke(
        cli, [*COMMAND, "--votes", "rankings", "--omega", "0.5", "--families", "2,own", "--json"]
    )
    printed = json.loads(result.stdout)
    assert set(printed) == {"circumstances", "budget", "best", "votes", "rows"}
    assert set(printed["votes"]["rankings"]) == {"best", "not_clearly_worse", "usual"}
    assert {"voters", "votes", "known", "families", "regret", "se", "difference", "looks"} <= set(printed["rows"][0])


def test_after_an_interruption_the_command_prints_what_it_knows(monkeypatch):
    known = vt.compose(4, 3, 80, voters=[1, 5], known=[2], votes=["values"], instances=100)

    def interrupted(*, finished, **_):
        finished(known)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compose", interrupted)
    result = CliRunner().invoke(cli, COMMAND)
    assert result.exit_code == 0
    assert "Interrupted" in result.stderr
    assert "Best of" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--voters", "some"], "--voters takes whole numbers separated by commas, not 'some'"),
        (["--families", "two"], "--families takes whole numbers separated by commas, or own, not 'two'"),
        (["--out", "groups.txt"], "choose a name that ends in .csv"),
        (["--out", "nowhere/groups.csv"], "there is no folder nowhere"),
        (["--sigma", "0"], "sigma must be a finite number above 0"),
    ],
)
def test_the_command_refuses_in_a_sentence(options, message):
    result = CliRunner().invoke(cli, [*COMMAND, *options])
    assert result.exit_code == 2
    assert message in result.stderr


def test_all_looks_are_made_where_each_voter_makes_few():
    found = vt.compose(10, 10, 1000, most_looks=2, votes=["favourites"], instances=20)
    assert max(row.looks for row in found.rows) == 1000
    with pytest.warns(vt.errors.InputNote, match="1,000 voters make 1,000 looks; 1,500 could make all that there are"):
        vt.compose(2, 10, 1500, most_looks=1, votes=["values"], known=[1], instances=2)


def test_the_best_is_one_of_those_asked_for():
    with pytest.warns(vt.InputWarning, match="left out: .*12 generalists, '12 voters, 50% specialists in 8"):
        found = vt.compose(30, 1.5, 150, voters=[5, 12], known=[8], votes=["values"], instances=20)
    assert found.best.composition.voters in (5, 12)
    assert {row.composition.voters for row in found.not_clearly_worse} <= {5, 12}
    assert found.usual["one voter sees everything"].composition.voters == 1
    assert not found.usual["one voter sees everything"].asked
    assert found.usual["equal counts"].composition.voters == 5
    result = CliRunner().invoke(cli, ["compose", "--voters", "6", "--votes", "rankings", "--instances", "20"])
    assert "Usual, not asked for: one voter sees everything" in result.output
    assert re.search(r"Usual, not asked for: .*, better by \S+±\S+ than the best asked for", result.output)
    best, row = result.output.split("\n")[1], next(x for x in result.output.split("\n") if x.startswith("generalists"))
    assert "6 " in best
    assert row.split()[1] == "6"


def test_a_look_that_adds_c_to_a_count_has_the_noise_of_one_over_the_root_of_c():
    assert "type 5/√25 = 1;" in (Path(__file__).parents[2] / "docs" / "composition.md").read_text()
    papers, reviews = (
        vt.compose(5, sigma, looks, voters=[1], votes=["values"]).best.regret for sigma, looks in ((5, 2500), (1, 100))
    )
    assert np.isclose(papers, reviews)
    # Where the rule sees counts, 25 at the noise 5 are 1 at the noise 1, as compose has it.
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 6))
    estimates = [
        vt.decide(vt.Profile(values=values, counts=np.full((4, 6), count)), sigma=sigma, tau=1.0).scores
        for count, sigma in ((25, 5.0), (1, 1.0))
    ]
    assert np.allclose(*estimates)


def test_groups_that_are_left_out_are_named():
    with pytest.warns(vt.InputWarning, match="5,000 voters cannot share out these looks"):
        vt.compose(2, 1, looks=100, votes=["values"], voters=[5, 5000], known=[], instances=2)
    with pytest.warns(vt.errors.InputNote, match="2,500 voters could see everything once"):
        vt.compose(2, 1, looks=5000, votes=["values"], voters=[5], known=[], instances=2)
