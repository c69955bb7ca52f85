"""Voting methods of pref_voting as rules; skipped where it is not installed (``make peers`` has it)."""

import json
import pickle
import re

import numpy as np
import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli
from veritally.experiments.rule_set import RuleSet

methods = pytest.importorskip("pref_voting.voting_methods")
vm = pytest.importorskip("pref_voting.voting_method").vm

SEEDS = range(20)
PARADOX = vt.Profile(order=[["A", "B", "C"], ["B", "C", "A"], ["C", "A", "B"]])


@vm(name="Last")
def last(profile, curr_cands=None):
    """A method of one's own, of which other processes know by its place."""
    return [max(profile.candidates)]


@vm(name="Failing")
def failing(profile, curr_cands=None):
    return [profile.nowhere]


@vm(name="Giving up")
def giving_up(profile, curr_cands=None):
    return None


def drawn(seed):
    """Ranks with ties, unseen alternatives, and numbers of voters."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 12), rng.integers(2, 7)
    ranks = rng.integers(1, n + 1, (m, n))
    seen = rng.random((m, n)) < 0.8
    seen[:, 0] = seen[0] = True
    many = rng.integers(0, 4, m)
    many[0] += 1
    return np.where(seen, ranks, 0), seen, many


def margins(ranks, many):
    """How many more put j above k than k above j, of those who saw both."""
    n = ranks.shape[1]
    found = np.zeros((n, n))
    for row, number in zip(ranks, many, strict=True):
        for j in range(n):
            for k in range(n):
                if row[j] and row[k]:
                    found[j, k] += number * (int(row[j] < row[k]) - int(row[j] > row[k]))
    return found


def strongest_paths(margin):
    """By the algorithm of Floyd and Warshall."""
    strength = np.where(margin > 0, margin, 0)
    for via in range(len(strength)):
        strength = np.maximum(strength, np.minimum(strength[:, via, None], strength[None, via, :]))
    return strength


def formulas(margin):
    """The winners by the definitions of Copeland, Simpson and Kramer, and Schulze."""
    copeland = np.sign(margin).sum(axis=1)
    worst = np.max(margin.T, axis=1)
    paths = strongest_paths(margin)
    return {
        "copeland": copeland == copeland.max(),
        "minimax": worst == worst.min(),
        "beat_path": (paths >= paths.T).all(axis=1),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_winners_are_those_of_the_definitions(seed):
    ranks, seen, many = drawn(seed)
    profile = vt.Profile(ranks=ranks, counts=seen, multiplicity=many)
    there = (seen & (many > 0)[:, None]).any(axis=0)  # all of them, because of the first voter
    assert there.all()
    for name, wins in formulas(margins(ranks, many)).items():
        outcome = vt.decide(profile, f"pref_voting.{name}", tie_break="first")
        np.testing.assert_array_equal(outcome.scores, wins / wins.sum(), err_msg=name)
        assert outcome.winners == np.flatnonzero(wins).tolist()


def test_winners_share_where_there_is_no_condorcet_winner():
    outcome = vt.decide(PARADOX, methods.copeland, tie_break="first")
    assert outcome.rule == "pref_voting.copeland"
    assert outcome.winners == ["A", "B", "C"]
    np.testing.assert_array_equal(outcome.scores, [1 / 3] * 3)
    assert outcome.explain().pivotal == {0: ["C"], 1: ["A"], 2: ["B"]}  # the other two leave one unbeaten


def test_a_batch_is_decided_one_by_one():
    decisions = [vt.Profile(ranks=ranks, counts=seen, multiplicity=many) for ranks, seen, many in map(drawn, SEEDS)]
    batch = vt.evaluate(vt.stack(decisions), [methods.beat_path])["pref_voting.beat_path"]
    for row, one in zip(batch, decisions, strict=True):
        n = one.shape[-1]
        np.testing.assert_array_equal(row[:n], vt.evaluate(one, ["pref_voting.beat_path"])["pref_voting.beat_path"])
        assert (row[n:] == -np.inf).all()


def test_what_nobody_saw_cannot_win():
    profile = vt.Profile(ranks=[[2, 1, 0], [1, 2, 0], [2, 1, 0]], counts=[[1, 1, 0]] * 3)
    scores = vt.evaluate(profile, ["pref_voting.copeland"])["pref_voting.copeland"]
    np.testing.assert_array_equal(scores, [0, 1, -np.inf])


def test_regret_is_that_of_the_winner_that_the_lot_takes():
    trials = vt.simulate("low-variance", voters=4, alternatives=5, instances=200, seed=2)
    row = vt.compare(trials, rules=[methods.copeland]).rows()[0]
    regrets, ties = [], 0
    for one, truth, lot in zip(trials.profile.unstack(), trials.truth, trials.tie_breakers, strict=True):
        margin = margins(np.asarray(one.as_rankings().ranks), np.ones(4))
        wins = formulas(margin)["copeland"]
        ties += wins.sum() > 1
        regrets.append(truth.max() - truth[np.argmax(np.where(wins, lot, -1))])
    assert ties > 20
    assert row["regret"] == pytest.approx(np.mean(regrets), rel=1e-12)


def test_workers_change_nothing():
    settings = {"voters": 30, "instances": 2500, "baseline": "pref_voting.minimax", "seed": 1}
    rules = ["borda", methods.copeland, "pref_voting.minimax"]
    one, two = (vt.compare("low-variance", rules=rules, workers=workers, **settings).rows() for workers in (1, 2))
    assert one == two
    assert {row["rule"] for row in one} == {"borda", "pref_voting.copeland", "pref_voting.minimax"}


def test_a_method_is_one_rule_however_it_is_named():
    assert vt.rule(methods.getcha) == vt.rule("pref_voting.getcha")
    rules = RuleSet.of([methods.copeland, "pref_voting.copeland", vt.rule("pref_voting.copeland")], "values", 3)
    assert rules.labels == ("pref_voting.copeland",)
    assert set(rules.models) == {"python", "pref_voting"}  # of which a ledger has the versions


def test_a_method_of_ones_own():
    made = vt.rule(last)
    assert repr(made) == f"{__name__}.last"
    assert pickle.loads(pickle.dumps(made)) == made
    assert vt.decide(PARADOX, last).winner == "C"
    with pytest.raises(vt.InputError, match="has no name in its module"):
        vt.rule(vm(name="Nameless")(lambda profile, curr_cands=None: [0]))


def test_methods_that_take_other_elections():
    whole = vt.Profile(order=[["A", "B", "C"]] * 3 + [["B", "C", "A"]])
    assert vt.decide(whole, "pref_voting.borda_for_profile_with_ties").winner == "A"  # takes orders cut off
    assert vt.decide(whole, "pref_voting.approval_irv").winner == "A"  # takes orders with ties


def test_the_command(tmp_path):
    votes = tmp_path / "votes.orders"
    votes.write_text("2: A > B > C\n1: B > C > A\n")
    ran = CliRunner().invoke(cli, ["decide", str(votes), "--rule", "pref_voting.minimax", "--json"])
    assert json.loads(ran.stdout)["winner"] == "A"
    options = [
        "--rules",
        "borda,pref_voting.copeland",
        "--voters",
        "3",
        "--instances",
        "50",
        "--workers",
        "1",
        "--json",
    ]
    ran = CliRunner().invoke(cli, ["compare", *options])
    assert {json.loads(line)["rule"] for line in ran.stdout.splitlines()} == {"borda", "pref_voting.copeland"}


PARTIAL = vt.Profile(ranks=[[1, 2, 0], [2, 1, 3]], counts=[[1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize(
    ("rule", "profile", "message"),
    [
        ("pref_voting.copland", PARADOX, "pref_voting has no voting method 'copland'; did you mean copeland?"),
        ("pref_voting.Profile", PARADOX, "pref_voting has no voting method 'Profile'; it has"),
        ("pref_voting.nowhere.copeland", PARADOX, "'pref_voting.nowhere.copeland' cannot be imported"),
        ("pref_voting.coombs", PARTIAL, "takes rankings of everything without ties, and some of these votes"),
        (
            "pref_voting.copeland",
            vt.Profile(top=["A", "B"], alternatives=["A", "B"]),
            "needs rankings, but these votes are top",
        ),
        (
            "pref_voting.copeland",
            vt.Profile(ranks=[[1, 2], [2, 1]], multiplicity=[1, 0.5]),
            "voter 1: the multiplicity has to be a whole number",
        ),
        (failing, PARADOX, "failing cannot decide these votes (AttributeError: 'Profile' object has no attribute"),
        (giving_up, PARADOX, "giving_up names no winner; some methods give up where many margins are equal"),
    ],
)
def test_messages(rule, profile, message):
    with pytest.raises(vt.InputError, match=re.escape(message)):
        vt.decide(profile, rule)


def test_parameters_are_set_elsewhere():
    with pytest.raises(vt.InputError, match="given as an object; set sigma when you make it"):
        vt.decide(PARADOX, "pref_voting.copeland", sigma=2)


def test_in_jax():
    pytest.importorskip("jax")
    settings = {"voters": 3, "alternatives": 4, "instances": 400, "rules": ["pref_voting.copeland", "borda"]}
    rows = [vt.compare("low-variance", backend=backend, **settings).rows() for backend in ("numpy", "jax")]
    ours, theirs = ({row["rule"]: row for row in part}["pref_voting.copeland"] for part in rows)
    assert abs(ours["regret"] - theirs["regret"]) < 4 * np.hypot(ours["se"], theirs["se"])  # 6 in 100,000 by chance
