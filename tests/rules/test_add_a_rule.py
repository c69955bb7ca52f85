"""What docs/add-a-rule.md says is enough to add a rule, is."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import veritally as vt
from support import random_profile
from veritally import registry
from veritally.rules.sums import SumRule

PAGE = Path(__file__).parents[2] / "docs" / "add-a-rule.md"
DOWDALL, IN_PARTS, BRADLEY_TERRY, USE = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S
)


@pytest.fixture
def page(monkeypatch):
    """What the page defines, registered for one test."""
    monkeypatch.setattr(registry, "_registered", {})
    names = {}
    for code in (DOWDALL, IN_PARTS, BRADLEY_TERRY):
        exec(compile(code, "add-a-rule.md", "exec"), names)
    return names


@pytest.fixture
def plugin(tmp_path):
    """The page's rules as a module in a folder of their own."""
    (tmp_path / "my_rules.py").write_text(DOWDALL + BRADLEY_TERRY, encoding="utf-8")
    vt.write(random_profile(1, voters=6, alternatives=4).renamed("d", "v", "A"), tmp_path / "votes.csv")
    return tmp_path


def run(folder, *arguments):
    command = [sys.executable, "-P", "-m", "veritally", *arguments]  # as where it is installed, without the folder
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.filterwarnings("ignore:the search stopped at its limit")
def test_the_page_says_what_it_prints(page, capsys):
    exec(USE, page)
    *lines, best = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("A [") for line in lines)
    assert [("stopped" in line) for line in lines] == [False, False, True]
    assert best


def test_a_sum_gives_the_points_of_the_places(page):
    outcome = vt.decide(vt.Profile(ranks=[[1, 2, 4, 3]]), rule="dowdall")
    np.testing.assert_allclose(outcome.scores, [1, 1 / 2, 1 / 4, 1 / 3])
    np.testing.assert_array_equal(outcome.weights, [outcome.scores])
    assert next(info for info in vt.rules() if info.name == "dowdall").summary == "one point over the place"


def test_a_sum_takes_votes_in_parts(page):
    ballots = random_profile(2, voters=9, alternatives=4).ballots
    rule = vt.rule("dowdall")
    parts = [ballots.take_voters(slice(start, start + 2)) for start in range(0, 9, 2)]
    np.testing.assert_allclose(page["decide_in_parts"](rule, parts), rule.fit(ballots).scores, rtol=1e-12)


def test_an_iterated_rule_finds_the_maximum_of_its_likelihood(page):
    profile = random_profile(3, voters=15, alternatives=3)
    strength = np.exp(vt.decide(profile, rule="bradley-terry").scores)
    ranks = np.asarray(profile.ranks)
    wins = np.array([[np.sum(ranks[:, j] < ranks[:, k]) + 0.5 for k in range(3)] for j in range(3)])
    np.fill_diagonal(wins, 0)
    # The likelihood equations: as many wins as expected.
    expected = (wins + wins.T) * strength[:, None] / (strength[:, None] + strength)
    np.testing.assert_allclose(expected.sum(axis=1), wins.sum(axis=1), rtol=1e-8)


@pytest.mark.parametrize("name", ["dowdall", "bradley-terry"])
def test_they_are_explained_like_any_other(page, name):
    profile = random_profile(4, voters=5, alternatives=3)
    outcome = vt.decide(profile, rule=name)
    np.testing.assert_allclose(outcome.weights.sum(axis=0), outcome.scores, atol=1e-8)
    for voter, chosen in outcome.explain().pivotal.items():
        rest = profile.select(voters=[other for other in profile.voters if other != voter])
        assert vt.decide(rest, rule=name).winners == chosen
    batch = vt.decide(vt.stack([profile, random_profile(5, voters=4, alternatives=4)]), rule=name)
    np.testing.assert_allclose(batch.scores[0, :3], outcome.scores, atol=1e-8)


def test_a_limit_of_steps_is_no_secret(page):
    with pytest.warns(vt.InputWarning, match="stopped at its limit"):
        outcome = vt.decide(random_profile(6, voters=5, alternatives=4), rule=page["BradleyTerry"](steps=2))
    assert outcome.status == "stopped at a limit"
    assert outcome.to_dict()["status"] == "stopped at a limit"
    assert outcome.rule == "BradleyTerry(steps=2)"


def test_rules_are_compared_by_name_and_as_objects(page):
    scenario = vt.Scenario(voters=5, alternatives=4, sigma=3.0)
    found = vt.compare(
        scenario, rules=["dowdall", page["BradleyTerry"](), page["BradleyTerry"](9), "borda"], instances=40, workers=1
    )
    assert {row["rule"] for row in found.rows()} == {
        "dowdall",
        "BradleyTerry(steps=1000)",
        "BradleyTerry(steps=9)",
        "borda",
    }


def test_the_command_finds_them_in_a_plugin(plugin):
    for name in ("dowdall", "bradley-terry"):
        done = run(plugin, "decide", "votes.csv", "--plugin", "my_rules", "--rule", name, "--json", "--explain")
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["rule"] == name
        assert said["status"] == "converged"
        assert said["explanation"]["contributions"]
    assert "bradley-terry" in run(plugin, "rules", "--plugin", "my_rules").stdout
    stopped = run(
        plugin, "decide", "votes.csv", "--plugin", "my_rules", "--rule", "bradley-terry", "--set", "steps=1", "--json"
    )
    assert json.loads(stopped.stdout)["status"] == "stopped at a limit"
    assert "there is no rule" in run(plugin, "decide", "votes.csv", "--rule", "dowdall").stderr


def test_other_processes_find_a_plugin_too(plugin):
    line = ("--rules", "dowdall,borda", "--voters", "3", "--instances", "20000", "--workers", "2")
    done = run(plugin, "compare", "--scenario", "low-variance", "--plugin", "my_rules", *line)
    assert done.returncode == 0, done.stderr
    assert "dowdall" in done.stdout


def test_a_plugin_that_is_not_there_is_named(plugin):
    done = run(plugin, "decide", "votes.csv", "--plugin", "no_such_rules")
    assert done.returncode == 2
    assert "no_such_rules" in done.stderr
    assert "Traceback" not in done.stderr
    (plugin / "broken.py").write_text("1 / 0")
    done = run(plugin, "decide", "votes.csv", "--plugin", "broken")
    assert done.returncode == 2
    assert "cannot be imported (ZeroDivisionError: division by zero)" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_installed_package_can_offer_rules(page, monkeypatch):
    class Offered:
        def load(self):
            vt.register("offered", page["Dowdall"], votes="rankings")

    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [Offered()] if group == "veritally.rules" else []
    )
    registry._load_plugins.cache_clear()
    assert vt.decide(random_profile(1), rule="offered").winner is not None
    registry._load_plugins.cache_clear()


def test_a_package_whose_rules_fail_is_named(page, monkeypatch):
    class Broken:
        value = "their.rules"

        def load(self):
            raise KeyError("x")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Broken()])
    registry._load_plugins.cache_clear()
    with pytest.warns(vt.InputWarning, match=r"the rules of .*their\.rules cannot be loaded"):
        vt.rules()
    registry._load_plugins.cache_clear()


def test_names_are_given_once(page):
    with pytest.raises(vt.InputError, match="there is already a rule 'borda'"):
        vt.register("borda", page["Dowdall"])
    with pytest.raises(vt.InputError, match="takes a subclass of Encoder or Rule"):
        vt.register("mine", "borda")
    with pytest.raises(vt.InputError, match="without spaces"):
        vt.register("my rule", page["Dowdall"])
    with pytest.raises(vt.InputError, match="unknown"):
        vt.register("mine", page["Dowdall"], votes="ranks")
    with pytest.raises(vt.InputError, match="there is already a rule 'case4'"):
        vt.register("mine", page["Dowdall"], aliases=("case4",))
    with pytest.raises(vt.InputError, match="BradleyTerry takes rankings, not top; leave votes= out"):
        vt.register("mine", page["BradleyTerry"], votes="top")
    with pytest.raises(vt.InputError, match=r"vt\.RuleInfo has the fields"):
        vt.register("mine", page["Dowdall"], colour="red")
    again = vt.register("dowdall", page["Dowdall"], votes="rankings", summary="as in a notebook")
    assert [info for info in vt.rules() if info.name == "dowdall"] == [again]


def test_a_rule_is_a_name_or_an_object(page):
    profile = random_profile(1)
    with pytest.raises(vt.InputError, match=r"is an encoder, not a rule; make one with vt\.SumRule"):
        vt.decide(profile, rule=page["Dowdall"]())
    with pytest.raises(vt.InputError, match=r"as a Rule object \(not a class\)"):
        vt.decide(profile, rule=page["BradleyTerry"])
    with pytest.raises(vt.InputError, match="given as an object; set sigma when you make it"):
        vt.decide(profile, rule=SumRule(page["Dowdall"](), votes="rankings"), sigma=2)


class Wrong(vt.Rule):
    """A rule whose fit is whatever it is made of."""

    def __init__(self, made):
        self.made = made

    def fit(self, ballots):
        return self.made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([1, 2, 3], "must be a vt.Fit, not list"),
        (vt.Fit(np.zeros(2), np.zeros(2), np.asarray(0)), r"scores of the shape \(2,\); these votes need \(5,\)"),
        (vt.Fit(np.zeros(5), np.zeros(5), np.zeros(5)), r"status of the shape \(5,\); these votes need \(\)"),
    ],
)
def test_what_is_no_fit_is_refused_in_a_sentence(made, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(random_profile(1), rule=Wrong(made))


def test_scores_may_be_a_list():
    outcome = vt.decide(random_profile(1), rule=Wrong(vt.Fit([3, 1, 2, 0, 5], [0] * 5, 0)))
    assert outcome.winner == 4
    assert outcome.explain().winner == 4


def test_a_status_that_is_none_is_refused():
    with pytest.raises(vt.InputError, match=r"not a vt\.Status"):
        vt.decide(random_profile(1), rule=Wrong(vt.Fit(np.zeros(5), np.zeros(5), np.asarray(7))))


def test_rules_of_one_name_are_not_mixed_up(page):
    one, other = (vt.SumRule(page["Dowdall"](), votes="rankings", normalized=x) for x in (False, True))
    for run in (vt.evaluate, lambda profile, rules: vt.compare(profile, truth=np.zeros(5), rules=rules)):
        with pytest.raises(vt.InputError, match=r"two rules are called 'Dowdall\(\)'"):
            run(random_profile(1), [one, other])


def test_what_is_no_encoding_is_refused_in_a_sentence():
    class Plain(vt.Encoder):
        def __call__(self, ballots):
            return ballots.votes

    with pytest.raises(vt.InputError, match=r"must return a vt\.Encoding, not ndarray"):
        vt.decide(random_profile(1), rule=vt.SumRule(Plain(), votes="rankings"))


def test_names_with_braces_stay_as_they_are():
    profile = vt.Profile(order=[["{1}", "a{b}"], ["{1}", "a{b}"]])
    with pytest.warns(vt.InputWarning, match="no finite maximum"):
        outcome = vt.decide(profile, rule="mle")
    assert "nobody contradicts {1} above a{b}." in outcome.warnings[0]
