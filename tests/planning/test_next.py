"""What to ask next: plans, limits, mistakes and the command."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from looked_at import battles, looks_at, simulated, situation

import veritally as vt
from veritally.cli import cli
from veritally.planning.gain import gain
from veritally.planning.looks import NEW, Looks
from veritally.planning.plan import next_looks
from veritally.planning.situations import Situations

# Votes that are simulated again and again look odd to those who look for copies and reversed voters.
pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputWarning")


def test_looks_that_leave_a_choice_as_it_is_are_worth_nothing():
    """A ranking that more looks may change in three ways, after each of which the same two are chosen."""
    ranks, counts = np.array([[1, 3, 2], [1, 3, 2], [3, 2, 1]]), np.array([[6, 6, 9], [11, 1, 2], [10, 11, 3]])
    own = situation(vt.Profile(ranks=ranks, counts=counts), sigma=3.0, tau=1.0, choose=2)
    for new in ([1, 3, 2], [2, 3, 1], [3, 2, 1]):
        again = vt.Profile(ranks=np.array([*ranks[:2], new]), counts=counts + 30 * np.outer([0, 0, 1], [1, 0, 0]))
        assert np.argmin(vt.decide(again, sigma=3.0, tau=1.0, cap="none").scores) == 1
    assert own.gains(looks_at([(2, 0)], 3, 30))[0] == 0


def test_a_single_comparison_may_be_worth_exactly_nothing():
    profile = vt.Profile(pairs=[[[0, 3, 4], [1, 0, 2], [0, 1, 0]]] * 10)
    single = [look for look in next_looks(profile, budget=30).offers if look.looks == 1]
    assert len(single) == 3
    assert {look.gain for look in single} == {0.0}


def test_a_copy_is_not_worth_asking_again():
    """Two voters who share all of their errors, one of whom has seen much: the other's looks tell little."""
    profile = vt.Profile(
        values=[[1.0, 0.8], [1.0, 0.8], [0.7, 0.9]],
        counts=[[50, 50], [50, 50], [5, 5]],
        voters=["one", "copy", "other"],
    )
    panel = vt.Panel(groups={"copies": ["one", "copy"]}, correlation=0.95)
    offers = next_looks(profile, budget=30, panel=panel, sigma=1.0, tau=1.0, newcomers=False).offers
    best = {name: max(look.gain for look in offers if look.voter == name) for name in ("one", "copy", "other")}
    assert best["other"] > 5 * max(best["one"], best["copy"])


def test_who_differs_by_a_lasting_error_is_not_asked_again():
    profile = vt.Profile(values=[[1.0, 0.8], [0.9, 0.8]], counts=[[500, 500], [2, 2]], voters=["old", "new"])
    offers = next_looks(profile, budget=30, sigma=1.0, tau=1.0, omega=0.5, newcomers=False).offers
    best = {name: max(look.gain for look in offers if look.voter == name) for name in ("old", "new")}
    assert best["new"] > 20 * best["old"]


@pytest.mark.parametrize("votes", ["values", "rankings", "top"])
def test_a_plan_keeps_to_its_limits_and_expects_less_regret(votes):
    profile = simulated(votes, 4)
    may = [(0, 0), (0, 1), (1, 1), (2, 2)]
    plan = next_looks(profile, budget=40, cost=2.0, may=may, per_voter=10, a_round=18, newcomers=False, sigma=5.0)
    assert plan.cost <= 40
    assert sum(look.looks for look in plan.looks) <= 18
    for name in range(3):
        assert sum(look.looks for look in plan.looks if look.voter == name) <= 10
    assert {(look.voter, look.alternatives[0]) for look in plan.looks} <= set(may)
    costs, regrets = zip(*plan.curve, strict=True)
    assert list(regrets) == sorted(regrets, reverse=True)
    assert costs[-1] == plan.cost
    assert plan.regret_after == pytest.approx(plan.regret - sum(look.gain for look in plan.looks))
    assert plan.stop in ("budget", "round", "nothing")


def random_decisions():
    """Decisions of each kind: simulated ones, unanimous ones, and some where not everybody has seen everything."""
    rng = np.random.default_rng(23)
    for votes in ("values", "rankings", "top"):
        yield votes, simulated(votes, 1, voters=3, alternatives=4), {"sigma": 5.0, "tau": 1.0}
        yield f"{votes}, two chosen", simulated(votes, 2, voters=3, alternatives=4), {"sigma": 5.0, "choose": 2}
    yield "values, noise unknown", simulated("values", 3, voters=3, alternatives=4), {}
    yield "comparisons", battles(1, n=4), {"sigma": 1.0}
    yield "comparisons, noise unknown", battles(2, n=4), {}
    same = {"ranks": [[1, 2, 3, 4]] * 4, "top": [0] * 4, "values": [[4.0, 3.0, 2.0, 1.0]] * 4}
    for kind, votes in same.items():
        counts = rng.integers(1, 9, (4, 4))
        yield f"unanimous {kind}", vt.Profile(**{kind: votes}, counts=counts), {"sigma": 1.0}
    seen = np.array([[6, 6, 0, 6], [6, 0, 6, 6], [6, 6, 6, 0], [6, 6, 6, 6], [6, 0, 6, 6]])
    yield "favourites of what some saw", vt.Profile(top=[0] * 5, counts=seen), {"sigma": 5.0}
    wins = np.zeros((2, 4, 4))
    wins[:, 0, 1:] = 5
    yield "unanimous comparisons", vt.Profile(pairs=wins), {"sigma": 1.0}


@pytest.mark.parametrize(("profile", "known"), [pytest.param(*own, id=name) for name, *own in random_decisions()])
def test_looks_are_worth_no_more_than_there_is_to_gain(profile, known):
    """To know all is worth the expected regret, so that neither a look nor a plan is worth more."""
    plan = next_looks(profile, budget=150, **known)
    assert plan.regret > 0
    assert max(look.gain for look in plan.offers) <= plan.regret
    assert sum(look.gain for look in plan.looks) <= plan.regret * (1 + 1e-9)
    assert min(left for _, left in plan.curve) >= 0
    assert plan.regret_after == plan.curve[-1][1]


def test_a_price_above_all_there_is_to_gain_buys_nothing():
    profile = vt.Profile(ranks=[[1, 2, 3, 4]] * 4, counts=np.full((4, 4), 4))
    plan = next_looks(profile, budget=1000, sigma=1.0, price=0.001)
    assert plan.regret < 0.001
    assert (plan.stop, plan.looks) == ("nothing", ())


def test_gains_by_a_normal_are_lowered_only_where_it_is_not_one():
    """Values tell a normal, so that to know all is worth what it says; unanimous rankings are far from one."""
    ((_, own),) = Situations.of(vt.decide(simulated("values", 3), sigma=5.0, tau=1.0, tie_break="first")).each
    assert own.share == 1
    ranks = vt.Profile(ranks=[[1, 2, 3, 4]] * 4, counts=np.full((4, 4), 4))
    ((_, own),) = Situations.of(vt.decide(ranks, sigma=1.0, tau=10.0, tie_break="first")).each
    assert own.share < 0.2


def test_alternatives_that_nobody_saw_are_worth_a_look():
    profile = vt.Profile(values=[[1.0, 0.2, np.nan]], counts=[[9, 9, 0]], alternatives=["a", "b", "unseen"])
    plan = next_looks(profile, budget=10, sigma=1.0, tau=1.0)
    assert plan.looks[0].alternatives == ("unseen",)


def test_dear_voters_are_asked_less():
    profile = vt.Profile(values=[[1.0, 0.9], [1.0, 0.9]], counts=[[3, 3], [3, 3]], voters=["dear", "cheap"])
    plan = next_looks(profile, budget=20, cost={"dear": 5, "cheap": 1}, sigma=1.0, newcomers=False)
    assert {look.voter for look in plan.looks} == {"cheap"}


def test_sure_decisions_need_no_looks():
    profile = vt.Profile(values=[[9.0, 1.0]], counts=[[100, 100]])
    plan = next_looks(profile, budget=10, sigma=1.0, tau=3.0, until=0.95)
    assert (plan.stop, plan.looks) == ("sure", ())
    plan = next_looks(profile, budget=10, sigma=1.0, tau=3.0)
    assert plan.stop == "nothing"
    dear = next_looks(simulated("values", 5), budget=10, sigma=5.0, price=10)
    assert dear.stop == "nothing"


def test_the_sureness_of_several_is_that_of_the_least_sure():
    profile = simulated("values", 3, alternatives=5)
    outcome = vt.decide(profile, sigma=5.0, choose=2)
    for until, stop in ((None, "budget"), (0.01, "sure")):
        plan = next_looks(profile, budget=100, sigma=5.0, choose=2, until=until)
        assert (plan.sureness, plan.stop) == (outcome.sureness, stop)
        assert plan.chance.startswith("the least sure of the 2 chosen is among the best 2 with ")
    assert plan.reason == f"Stop: {plan.chance} already."
    assert next_looks(profile, budget=5, sigma=5.0).chance.startswith("what is chosen is best with a chance of ")


def test_errors_of_computing_are_not_bought():
    profile = vt.Profile(values=[[9.0, 1.0, 0.5]], counts=[[100, 100, 100]])
    plan = next_looks(profile, budget=10, sigma=0.5, tau=5.0)
    assert (plan.stop, plan.looks, max(look.gain for look in plan.offers)) == ("nothing", (), 0)
    for votes in ("values", "rankings"):
        plan = next_looks(simulated(votes, 3, alternatives=3), budget=10, choose=3)
        assert (plan.stop, plan.looks, max(look.gain for look in plan.offers)) == ("all", (), 0)
        assert plan.regret == 0
        assert "nothing to choose" in plan.reason


def test_somebody_new_with_counts_of_their_own():
    profile = simulated("rankings", 5)
    offers = next_looks(profile, budget=60, newcomer={0: 10, 1: 5}, sigma=5.0, tau=1.0).offers
    new = [look for look in offers if look.voter == "somebody new"]
    assert [look.alternatives for look in new] == [(0, 1)] * len(new)
    assert {look.looks for look in new} == {15, 45}


def test_several_newcomers_tell_more_than_one():
    own = situation(simulated("rankings", 5), sigma=5.0, tau=1.0)
    number = np.array([50.0, 150, 500])
    looks = Looks(np.full(3, NEW), np.array([1, 3, 10]), np.full((3, 5), 10.0), number, number)
    gains = own.gains(looks)
    assert gains[0] < gains[1] < gains[2] < float(np.trace(own.knowledge.spread))


def test_assignments_have_a_row_for_each_voter_and_alternative():
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[3, 3, 3], [2, 2, 2]], alternatives=["x", "y", "z"])
    plan = next_looks(
        profile, budget=60, newcomer={"x": 1.5, "y": 0.5}, may=[("somebody new", "x"), ("somebody new", "y")]
    )
    rows = plan.assignments().rows()
    (look,) = plan.tasks
    assert rows == [("somebody new", look.voters, "x", 1.5), ("somebody new", look.voters, "y", 0.5)]
    assert look.cost == look.voters * look.each == look.looks
    assert [tuple(row.values()) for row in json.loads(plan.to_json())["assignments"]] == rows
    compared = next_looks(battles(3), budget=30, sigma=1.0, tau=1.0)
    rows = compared.assignments().rows(named=True)
    assert {(row["alternative"], row["against"], row["looks"]) for row in rows} == {
        (*map(str, task.alternatives), task.looks) for task in compared.tasks
    }


def test_a_plan_can_be_printed_saved_and_sent():
    plan = next_looks(simulated("values", 5), budget=20, sigma=5.0)
    assert json.loads(plan.to_json())["curve"][-1]["cost"] == plan.cost
    frame = plan.to_frame("pandas")
    assert list(frame["looks"]) == [look.looks for look in plan.looks]
    rows = plan.assignments()
    assert (rows["voters"] * rows["looks"]).sum() == sum(look.looks for look in plan.looks)
    assert "looks planned" in repr(plan)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": 0}, "a budget of nothing"),
        ({"budget": float("nan")}, "the budget must be a finite number"),
        ({"cost": 0}, "the cost of a look must be"),
        ({"cost": {"nobody": 1}}, "voter"),
        ({"cost": {0: -1}}, "cost of a look by"),
        ({"may": [("nobody", 0)]}, "voter"),
        ({"may": [(0, "nothing")]}, "alternative"),
        ({"may": [], "newcomers": False}, "no look can be made"),
        ({"budget": 1, "cost": 2}, "no look can be made"),
        ({"until": 1.5}, "until is a chance"),
        ({"may": [(0,)]}, "pairs of a voter and an alternative"),
        ({"conflicts": 3}, "pairs of a voter and an alternative"),
        ({"newcomer": {0: 0}}, "tells nothing"),
        ({"newcomer": {"nothing": 1}}, "alternative"),
        ({"per_voter": 0}, "the looks of a voter"),
        ({"a_round": 0}, "the looks of a round"),
        ({"price": -1}, "the price"),
    ],
)
def test_mistakes_are_sentences(changes, said):
    profile = simulated("values", 1, voters=2, alternatives=3)
    with pytest.raises(vt.InputError, match=said):
        next_looks(profile, **({"budget": 10, "sigma": 5.0} | changes))


def test_several_decisions_are_refused():
    several = vt.Profile(values=np.ones((2, 2, 2)), counts=np.ones((2, 2, 2)))
    with pytest.raises(vt.InputError, match="one decision at a time"):
        next_looks(several, budget=1)
    with pytest.raises(vt.InputError, match="comparisons are of two"):
        next_looks(battles(1), budget=10, newcomer=1)
    with pytest.raises(vt.InputError, match="takes a Profile"):
        next_looks([1], budget=1)


@pytest.mark.parametrize("name", ["somebody new", "everybody", "anybody"])
def test_voters_are_not_called_as_plans_call_others(name):
    profile = vt.Profile(values=[[1.0, 0.8], [0.9, 0.95]], counts=[[3, 3], [2, 2]], voters=["a", name])
    with pytest.raises(vt.InputError, match=f"a voter is called '{name}'"):
        next_looks(profile, budget=12, sigma=1.0)


def run(*arguments):
    return CliRunner().invoke(cli, arguments)


def test_the_command(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("voter,alternative,value,count\na,x,5,3\na,y,4.8,3\nb,x,4.9,2\nb,y,5.1,2\n")
    found = run("next", str(votes), "--budget", "10", "--no-newcomers")
    assert found.exit_code == 0, found.output
    assert "Look next" in found.output
    may, costs, out = tmp_path / "may.csv", tmp_path / "cost.csv", tmp_path / "who.csv"
    may.write_text("voter,alternative\na,x\n")
    costs.write_text("voter,cost\na,2\n")
    options = ("--may", may, "--cost", costs, "--out", out, "--plot", tmp_path / "p.svg", "--json", "--no-newcomers")
    found = run("next", str(votes), "--budget", "10", *map(str, options))
    plan = json.loads(found.stdout)
    assert {(look["voter"], *look["alternatives"]) for look in plan["offers"]} == {("a", "x")}
    assert out.read_text().startswith("voter,voters,alternative,looks\na,1,x,")
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    votes.write_text("decision,voter,alternative,value\n1,a,x,5\n1,a,y,4\n2,a,x,5\n2,a,y,4\n")
    several = run("next", str(votes), "--budget", "10")
    assert (several.exit_code, "has 2 decisions" in several.stderr) == (2, True)
    votes.write_text("voter,alternative,value,rank\na,x,5,\na,y,4.8,\nb,x,,1\nb,y,,2\n")
    mixed = run("next", str(votes), "--budget", "10")
    assert (mixed.exit_code, "several kinds" in mixed.stderr) == (2, True)
    votes.write_text("voter,alternative,value,count\na,x,5,3\na,y,4.8,3\n")
    costs.write_text("voter,price\na,2\n")
    wrong = run("next", str(votes), "--budget", "10", "--cost", str(costs))
    assert (wrong.exit_code, "has no column cost" in wrong.stderr) == (2, True)


def test_the_command_says_what_a_look_is_where_that_is_not_plain(tmp_path):
    votes = tmp_path / "votes.csv"
    for name, counts, said in (
        ("confidence", (3, 1), "its confidence"),
        ("count", (3, 1), "unit"),
        ("count", (1, 1), ""),
    ):
        votes.write_text(f"voter,alternative,value,{name}\na,x,5,{counts[0]}\na,y,4,{counts[1]}\nb,x,4,1\nb,y,4.3,1\n")
        found = run("next", str(votes), "--budget", "5", "--per-pair", "4")
        assert found.exit_code == 0, found.output
        assert ("A look is one unit of count" in found.stdout, said in found.stdout) == (bool(said), True)
        assert found.stdout.index(said and "A look is one unit") < found.stdout.index("Look next")


def test_mistakes_in_files_name_the_file(tmp_path):
    votes, table = tmp_path / "votes.csv", tmp_path / "table.csv"
    votes.write_text("voter,alternative,value,count\na,x,5,3\na,y,4.8,3\nb,x,4.9,2\nb,y,5.1,2\n")
    for option, text, said in (
        ("--may", "voter,alternative\na,x\nb,\n", "row 2 has no alternative"),
        ("--may", "voter,alternative\nzz,x\n", "voter 'zz' is unknown"),
        ("--may", "voter,alternative\na,q\n", "alternative 'q' is unknown"),
        ("--conflicts", "voter,alternative\na,x\n,x\n", "row 2 has no voter"),
        ("--cost", "voter,cost\nzz,2\n", "voter 'zz' is unknown"),
        ("--newcomer", "alternative,count\nq,2\n", "alternative 'q' is unknown"),
    ):
        table.write_text(text)
        found = run("next", str(votes), "--budget", "10", option, str(table))
        assert found.exit_code == 2
        assert f"{table}: {said}" in found.stderr
    for options, said in (
        (("--cost", ""), "--cost takes a number or a file"),
        (("--cost", "1e-300"), "from 1e-100 to 1e+100, not 1e-300"),
        (("--budget", "1e308"), "from 1e-100 to 1e+100, not 1e+308"),
    ):
        found = run("next", str(votes), "--budget", "10", *options)
        assert (found.exit_code, said in found.stderr) == (2, True), found.stderr


def test_conflicts_may_be_those_of_a_whole_committee(tmp_path):
    votes, table = tmp_path / "votes.csv", tmp_path / "table.csv"
    votes.write_text("voter,alternative,value\nM. Zhou,Paper 1,5\nM. Zhou,Paper 2,4.8\nb,Paper 1,4.9\nb,Paper 2,5.1\n")

    def planned(text):
        table.write_text("voter,alternative\n" + text)
        found = run("next", str(votes), "--budget", "10", "--no-newcomers", "--json", "--conflicts", str(table))
        assert found.exit_code == 0, found.output
        offers = json.loads(found.stdout)["offers"]
        return {(look["voter"], *look["alternatives"]) for look in offers}, " ".join(found.stderr.split())

    every = {(voter, paper) for voter in ("M. Zhou", "b") for paper in ("Paper 1", "Paper 2")}
    rows = "Ada,Paper 1\nb,Paper 37\nM. Zhuo,Paper 2\nB,Paper 1\nAda,Paper 9\nM. Zhou,Paper 2\n"
    offers, said = planned(rows)
    assert offers == every - {("M. Zhou", "Paper 2")}
    assert (
        f"{table}: 5 of 6 rows name voters or alternatives that are not among the votes, and are left out: "
        "'M. Zhuo' (did you mean 'M. Zhou'?), 'B' (did you mean 'b'?), 'Ada' and 2 more" in said
    )
    assert said.count("left out") == 1
    offers, said = planned("Ada,Paper 1\n")
    assert offers == every
    assert "1 of 1 row names voters or alternatives that are not among the votes, and is left out: 'Ada'" in said
    assert "left out" not in planned("somebody new,Paper 1\nb,Paper 1\n")[1]


def test_files_that_a_plan_is_made_of_are_not_written_over(tmp_path):
    votes, table, link = tmp_path / "votes.csv", tmp_path / "table.csv", tmp_path / "link.csv"
    votes.write_text("voter,alternative,value,count\na,x,5,3\na,y,4.8,3\nb,x,4.9,2\nb,y,5.1,2\n")
    link.symlink_to(votes)
    texts = {
        "--may": ("voter,alternative\na,x\n", "who may look"),
        "--conflicts": ("voter,alternative\na,x\n", "conflicts"),
        "--cost": ("voter,cost\na,2\n", "costs"),
        "--newcomer": ("alternative,count\nx,2\n", "somebody new"),
        "--groups": ("voter,group\na,g\nb,g\n", "groups"),
    }
    for option, (text, what) in texts.items():
        table.write_text(text)
        found = run("next", str(votes), "--budget", "5", option, str(table), "--out", str(table), "--force")
        assert (found.exit_code, table.read_text()) == (2, text)
        assert f"{table}: is the file of {what}; write the plan to another" in found.stderr
    for out in (votes, link):
        found = run("next", str(votes), "--budget", "5", "--out", str(out), "--force")
        assert (found.exit_code, "is the file of the votes" in found.stderr) == (2, True)
    picture = tmp_path / "votes.svg"
    picture.symlink_to(votes)
    found = run("next", str(votes), "--budget", "5", "--plot", str(picture), "--force")
    assert (found.exit_code, "is the file of the votes" in found.stderr) == (2, True)
    assert votes.read_text().startswith("voter,")


def test_what_cannot_be_saved_is_found_before_anything_is(tmp_path):
    votes, out = tmp_path / "votes.csv", tmp_path / "who.csv"
    votes.write_text("voter,alternative,value,count\na,x,5,3\na,y,4.8,3\nb,x,4.9,2\nb,y,5.1,2\n")
    # Nobody, not even an administrator, can make a file in /proc.
    found = run("next", str(votes), "--budget", "5", "--out", str(out), "--plot", "/proc/plan.svg")
    assert (found.exit_code, "/proc/plan.svg: cannot be written" in found.stderr) == (2, True)
    assert not out.exists()


def test_tables_may_have_the_column_names_of_votes(tmp_path):
    votes, table = tmp_path / "votes.csv", tmp_path / "table.csv"
    votes.write_text("Reviewer,Paper,value,count\na,x,5,3\na,y,4.8,3\nb,x,4.9,2\nb,y,5.1,2\n")

    def offered(option, text):
        table.write_text(text)
        found = run("next", str(votes), "--budget", "10", "--no-newcomers", "--json", option, str(table))
        assert found.exit_code == 0, found.output
        return {
            (look["voter"], *look["alternatives"]): look["cost"] / look["looks"]
            for look in json.loads(found.stdout)["offers"]
        }

    every = {(voter, paper): 1 for voter in "ab" for paper in "xy"}
    assert offered("--conflicts", "Reviewer,Paper\na,x\n") == {cell: 1 for cell in every if cell != ("a", "x")}
    assert offered("--may", "Paper,Reviewer name\nx,a\n") == {("a", "x"): 1}
    assert offered("--cost", "Reviewer,Cost\na,2\n") == {cell: 2 if cell[0] == "a" else 1 for cell in every}
    for header in ("Reviewer,Paper", "voter,alternative"):
        assert offered("--conflicts", f"{header}\n") == every
    table.write_text("Submission,Count\nx,4\n")
    assert run("next", str(votes), "--budget", "10", "--newcomer", str(table)).exit_code == 0
    for option, text, said in (
        ("--may", "voter,alternative\n", "has a header but no rows"),
        ("--conflicts", "who,what\n", "has no column voter"),
        ("--may", "Reviewer,Rater,Paper\na,b,x\na,a,y\n", "several columns may be the voter; call the right one voter"),
    ):
        table.write_text(text)
        found = run("next", str(votes), "--budget", "10", option, str(table))
        assert (found.exit_code, said in found.stderr) == (2, True), found.output


@pytest.mark.filterwarnings("error")
def test_what_hardly_moves_is_guessed_without_overflow():
    own = situation(vt.Profile(values=[[1.0, 0.5, 1e6]], counts=[[1e9, 1e9, 1e9]]), sigma=1e-6, tau=1e6)
    assert np.isfinite(own.guess(looks_at([(0, 0), (0, 1), (0, 2)], 3, 1e-90))).all()


def test_the_first_look_of_a_copy_is_not_that_of_somebody_independent():
    """Who shares the errors of a voter with many looks tells little, also about what the copy has not seen yet."""
    profile = vt.Profile(
        values=[[1.0, 0.8], [1.0, np.nan], [0.7, 0.9]],
        counts=[[50, 50], [50, 0], [5, 5]],
        voters=["one", "copy", "other"],
    )
    panel = vt.Panel(groups={"copies": ["one", "copy"]}, correlation=0.95)
    offers = next_looks(profile, budget=30, panel=panel, sigma=1.0, tau=1.0, newcomers=False).offers
    at_second = [look for look in offers if look.alternatives == (1,)]
    best = {name: max(look.gain for look in at_second if look.voter == name) for name in ("copy", "other")}
    assert best["other"] > 5 * best["copy"]


def test_rankings_of_voters_who_share_errors_have_values():
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3], [2, 1, 3]], counts=np.full((3, 3), 4), voters=["a", "b", "c"])
    for groups in ({"g": ["a", "b"]}, {"g": ["a", "b", "c"]}):
        plan = next_looks(profile, budget=30, sigma=1.0, tau=1.0, panel=vt.Panel(groups=groups, correlation=0.5))
        assert np.isfinite([look.gain for look in plan.offers]).all()


def test_a_plan_of_comparisons_names_who_should_be_asked_where_voters_share_errors():
    pairs = np.array([[[0, 30, 40], [20, 0, 40], [10, 12, 0]]] * 2 + [[[0, 1, 1], [1, 0, 1], [0, 0, 0]]])
    profile = vt.Profile(pairs=pairs, voters=["one", "copy", "other"])
    panel = vt.Panel(groups={"copies": ["one", "copy"]}, correlation=0.9)
    plan = next_looks(profile, budget=100, sigma=1.0, tau=1.0, panel=panel)
    assert {look.voter for look in plan.offers} == {"one", "copy", "other"}
    assert {look.voter for look in plan.looks} == {"other"}
    assert {look.voter for look in next_looks(profile, budget=100, sigma=1.0, tau=1.0).offers} == {"anybody"}


@pytest.mark.parametrize("kind", ["ranks", "top"])
def test_a_copy_is_not_worth_asking_for_another_ranking_or_favourite(kind):
    votes = {"ranks": [[1, 2, 3], [1, 2, 3], [2, 1, 3]], "top": [0, 0, 1]}[kind]
    counts = np.repeat([[50], [50], [5]], 3, axis=1)
    profile = vt.Profile(**{kind: votes}, counts=counts, voters=["one", "copy", "other"])
    panel = vt.Panel(groups={"copies": ["one", "copy"]}, correlation=0.999)
    plan = next_looks(profile, budget=100, panel=panel, sigma=2.0, tau=1.0, newcomers=False)
    assert max(look.gain for look in plan.offers if look.voter in ("one", "copy")) < plan.regret / 100


def test_who_shares_errors_is_known_as_well_as_who_does_not():
    """What is believed of the truths beside shared errors is what the decision believes."""
    profile = vt.Profile(ranks=[[1, 2, 3], [1, 2, 3], [2, 1, 3]], counts=np.full((3, 3), 10), voters=["a", "b", "c"])
    outcome = vt.decide(profile, sigma=2.0, tau=1.0, panel=vt.Panel(groups={"g": ["a", "b"]}, correlation=0.95))
    ((_, own),) = Situations.of(outcome).each
    covariance = np.linalg.inv(outcome.fit.posterior.moments.precision[0])
    assert own.knowledge.spread == pytest.approx(covariance, rel=0.02)


def test_one_voter_can_be_asked_again():
    plan = next_looks(vt.Profile(ranks=[[1, 2, 3]], counts=[[2, 2, 2]]), budget=5, sigma=2.0)
    assert {look.voter for look in plan.offers} <= {0, "somebody new"}


@pytest.mark.parametrize("known", [{}, {"sigma": 10.0}, {"sigma": 10.0, "tau": 1.0}])
@pytest.mark.parametrize("votes", ["values", "rankings", "top", "pairs"])
def test_regret_is_that_of_the_decision(votes, known):
    profile = battles(5) if votes == "pairs" else simulated(votes, 5, sigma=10.0)
    outcome = vt.decide(profile, tie_break="first", **known)
    unit = float(np.exp(np.mean(np.log(outcome.belief.sigma)))) if outcome.belief.in_sigma else 1.0
    plan = next_looks(profile, budget=1, **known)
    assert plan.regret * unit == pytest.approx(float(np.min(outcome.expected_regret)), rel=1e-9)


def test_to_know_all_is_worth_the_regret_where_the_noise_is_an_estimate():
    lost, found = 0.0, 0.0
    for seed in range(15):
        profile = simulated("values", seed, voters=2, alternatives=4)
        outcome = vt.decide(profile, tie_break="first", leniency=0.0)
        assert np.isfinite(outcome.fit.posterior.freedom)
        lost += float(np.min(outcome.expected_regret))
        for chance, own in Situations.of(outcome, 1e9).each:
            found += chance * float(gain(own.knowledge.truths, own.knowledge.spread))
    assert found == pytest.approx(lost, rel=0.12)


def test_looks_of_everybody_count_for_each_voter():
    profile = simulated("rankings", 7, voters=3)
    plan = next_looks(profile, budget=1000, per_voter=5, sigma=5.0, newcomers=False)
    for name in range(3):
        own = sum(look.looks / look.voters for look in plan.looks if look.voter in (name, "everybody"))
        assert own <= 5


def test_somebody_new_is_not_asked_for_parts_of_looks():
    """Who is new looks at all alternatives at once, which a round of fewer looks cannot have."""
    profile = vt.Profile(ranks=[[1, 2, 3, 4, 5], [2, 1, 3, 4, 5], [1, 3, 2, 5, 4]])
    for a_round in (1, 3, 7):
        plan = next_looks(profile, budget=100, a_round=a_round, sigma=1.0, tau=1.0)
        assert plan.looks
        assert all(float(times).is_integer() for look in plan.looks for times in look.times)
        assert sum(look.looks for look in plan.looks) <= a_round


def test_blocks_larger_than_a_round_are_begun():
    profile = battles(3)
    whole = next_looks(profile, budget=300, sigma=1.0, tau=1.0)
    plan = next_looks(profile, budget=300, a_round=7, sigma=1.0, tau=1.0)
    assert whole.looks[0].looks > 7
    assert plan.stop == "round"
    assert sum(look.looks for look in plan.looks) == 7
    assert plan.looks[0].alternatives == whole.looks[0].alternatives


def test_gains_do_not_depend_on_the_budget_nor_fall_with_more_looks():
    profile = simulated("rankings", 4)
    small, large = (next_looks(profile, budget=b, sigma=5.0, tau=1.0).offers for b in (10, 100))
    known = {look[:4]: look.gain for look in large}
    for look in small:
        assert known.get(look[:4], look.gain) == pytest.approx(look.gain)


def test_nobody_reviews_the_same_twice():
    values = [[3.0, np.nan, 2.0], [2.5, 3.0, np.nan], [np.nan, 2.0, 3.0]]
    profile = vt.Profile(values=values, counts=np.where(np.isnan(values), 0, 1), alternatives=["x", "y", "z"])
    plan = next_looks(profile, budget=20, sigma=1.0, tau=1.0, per_pair=1, newcomers=False)
    assert {(look.voter, *look.alternatives, look.looks) for look in plan.offers} == {
        (0, "y", 1),
        (1, "z", 1),
        (2, "x", 1),
    }
    assert sum(look.looks for look in plan.looks) <= 3
    new = [
        look for look in next_looks(profile, budget=20, sigma=1.0, per_pair=1).offers if look.voter == "somebody new"
    ]
    assert {look.looks for look in new} == {1}


@pytest.mark.parametrize("votes", ["values", "rankings", "pairs"])
def test_looks_at_one_alternative_are_limited(votes):
    profile = battles(3) if votes == "pairs" else simulated(votes, 7, voters=3)
    plan = next_looks(profile, budget=300, per_pair=12, sigma=5.0, newcomers=False)
    assert plan.looks
    found = {}
    for look in plan.looks:
        for name in [look.voter] if look.voters == 1 else range(3):
            j, k = look.alternatives if look.compared else look.alternatives * 2
            seen = (
                profile.ballots.votes[name, j, k] + profile.ballots.votes[name, k, j]
                if look.compared
                else profile.counts[name, j]
            )
            found[name, j, k] = found.get((name, j, k), seen) + look.each
    assert max(found.values()) <= 12


@pytest.mark.parametrize("votes", ["rankings", "top"])
def test_plans_do_not_depend_on_the_order_of_alternatives_but_on_the_seed(votes):
    ranks, counts = (
        np.array([[1, 2, 3, 4], [2, 1, 3, 4], [3, 1, 4, 2]]),
        np.array([[3, 5, 2, 4], [6, 1, 2, 2], [2, 3, 3, 1]]),
    )

    def offered(order, seed=0):
        given = {"ranks": ranks[:, order]} if votes == "rankings" else {"top": np.argmin(ranks[:, order], axis=1)}
        profile = vt.Profile(**given, counts=counts[:, order], alternatives=list(np.array(list("abcd"))[order]))
        plan = next_looks(profile, budget=40, sigma=3.0, tau=1.0, seed=seed)
        return {(look.voter, look.voters, *sorted(look.alternatives), look.looks): look.gain for look in plan.offers}

    found = offered([0, 1, 2, 3])
    assert offered([3, 1, 0, 2]) == pytest.approx(found, rel=0.01, abs=1e-5)
    assert max(abs(found[key] - gain) for key, gain in offered([0, 1, 2, 3], seed=1).items()) > 1e-4


def test_conflicts_are_left_out():
    profile = simulated("values", 5)
    plan = next_looks(profile, budget=20, conflicts=[(0, 1), (2, 2)], sigma=5.0, newcomers=False)
    asked = {(look.voter, look.alternatives[0]) for look in plan.offers}
    assert not asked & {(0, 1), (2, 2)}
    assert (0, 0) in asked


@pytest.mark.parametrize("votes", ["values", "rankings"])
def test_nobody_new_may_look_unless_it_says_so(votes):
    profile = simulated(votes, 5)

    def newcomers(**given):
        plan = next_looks(profile, budget=200, sigma=5.0, **given)
        return {j for look in plan.offers if look.voter == "somebody new" for j in look.alternatives}

    may = [(0, 0), (1, 1)]
    assert newcomers(may=may) == newcomers(may=may, newcomer=2) == set()
    assert newcomers(may=[*may, ("somebody new", 2), ("somebody new", 3)]) == {2, 3}
    assert newcomers(conflicts=[(0, 0), ("somebody new", 4)]) == {0, 1, 2, 3}
    assert newcomers(newcomer=2) == {0, 1, 2, 3, 4}


def test_large_budgets_are_spent_in_large_blocks():
    plan = next_looks(simulated("values", 4), budget=20_000, sigma=50.0, tau=1.0)
    assert plan.stop == "budget"
    assert len(plan.looks) <= 40
    assert plan.looks[0].looks >= 1000


def test_tasks_add_up_the_looks_of_a_voter():
    profile = vt.Profile(values=[[5, 4.8], [4.9, 5.1]], counts=[[3, 3], [2, 2]])
    plan = next_looks(profile, budget=12, sigma=1.0)
    tasks = plan.tasks
    assert len(tasks) < len(plan.looks)
    named = [(task.voter, task.alternatives) for task in tasks if task.voter != "somebody new"]
    assert len(set(named)) == len(named)
    for name in ("looks", "cost", "gain"):
        together = sum(getattr(task, name) for task in tasks)
        assert together == pytest.approx(sum(getattr(look, name) for look in plan.looks))


def test_large_decisions_are_planned_in_bounded_memory():
    profile = simulated("values", 1, voters=40, alternatives=80)
    assert next_looks(profile, budget=30, choose=20, sigma=5.0, tau=1.0).looks


def test_more_people_to_ask_make_no_worse_a_plan():
    """Reviews of forty papers by thirty people, each at most once: a plan is not all about the one best paper."""
    rng = np.random.default_rng(5)
    truth, counts = rng.normal(size=40), np.zeros((30, 40))
    for j in range(40):
        counts[rng.choice(30, 2, replace=False), j] = 1
    values = np.where(counts > 0, truth + 1.2 * rng.normal(size=counts.shape), np.nan)
    profile = vt.Profile(values=values, counts=counts)
    asked = {"budget": 20, "choose": 5, "per_pair": 1, "newcomers": False, "sigma": 1.2, "tau": 1.0}
    few = next_looks(profile, may=[(i, j) for i in range(4) for j in range(40)], **asked)
    many = next_looks(profile, **asked)
    assert many.regret - many.regret_after >= 0.95 * (few.regret - few.regret_after)
    assert max(sum(look.alternatives == (j,) for look in many.looks) for j in range(40)) <= 5
    assert many.cost == 20


def test_a_budget_that_is_left_is_not_called_used_up():
    plan = next_looks(battles(0), budget=50, per_voter=1000)
    assert plan.stop != "budget" or plan.cost == 50


def test_who_reads_no_further_is_not_told_of_it(tmp_path):
    vt.write(simulated("values", 5), tmp_path / "votes.csv")
    command = f"{sys.executable} -m veritally next {tmp_path / 'votes.csv'} --budget 5 | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
