"""Graders of inspect_ai: what its real evaluations log is what the library decides of the same votes."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import SampleScore, Score

import veritally as vt
from evaluations import PANEL, VERDICTS
from veritally.inspect_ai import combined, effective_graders, read_log, sureness

SAMPLES = ["q0", "q1", "q2", "q3"]


@pytest.fixture(scope="module", name="folder")
def evaluated(tmp_path_factory):
    """Run all evaluations; the process is their own, so that what inspect_ai warns of stays there."""
    folder = tmp_path_factory.mktemp("evaluations")
    script = Path(__file__).with_name("evaluations.py")
    result = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module", name="logs")
def read(folder):
    return {name: read_eval_log(place) for name, place in json.loads((folder / "logs.json").read_text()).items()}


def scores(log):
    """The scores of a log with one scorer."""
    return {sample.id: next(iter(sample.scores.values())) for sample in log.samples}


def measured(log):
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


def votes_on(k, names=tuple(VERDICTS), others=("C", "I")):
    """The same votes, as a profile made by hand."""
    top = [others.index(verdicts[k]) for verdicts in VERDICTS.values()]
    return vt.Profile(top=top, counts=np.ones((3, 2)), alternatives=list(others), voters=list(names))


CASES = {
    "alone": {},
    "unnamed": {},
    "by name": {},
    "panel": {"panel": PANEL},
    "known noise": {"sigma": 0.5, "tau": 1.0},
    "epochs": {},
    "one is silent": {},
}


@pytest.mark.parametrize("name", CASES)
def test_scores_are_what_the_library_decides(name, logs):
    log = logs[name]
    assert log.status == "success"
    expected = [vt.decide(votes_on(k), **CASES[name]) for k in range(4)]
    for (sample, score), outcome in zip(scores(log).items(), expected, strict=True):
        assert score.value == outcome.winner
        assert score.answer == "yes"
        assert score.metadata["probabilities"] == dict(zip(outcome.alternatives, outcome.p_best, strict=True))
        assert score.metadata["probability"] == max(outcome.p_best)
        assert score.metadata["effective_graders"] == outcome.effective_voters
        said = [verdicts[SAMPLES.index(sample)] for verdicts in VERDICTS.values()]
        assert list(score.metadata["votes"].values())[:3] == said
        assert list(score.metadata["explanations"].values()) == [f"Because of it. GRADE: {own}" for own in said]
    found = measured(log)
    assert found["accuracy"] == 0.5
    assert found["sureness"] == pytest.approx(np.mean([max(outcome.p_best) for outcome in expected]))
    if name == "panel":
        assert found["effective_graders"] == pytest.approx(expected[0].effective_voters)
        assert 1.5 < found["effective_graders"] < 2.5
    else:
        assert math.isnan(found["effective_graders"])


def test_the_score_says_in_words_how_sure_it_is(logs):
    text = scores(logs["panel"])["q0"].explanation
    assert text == "3 of 3 graders say C, which is right with 76%; they are worth 2.1 independent ones"
    assert scores(logs["two tie"])["q1"].explanation == "C and I are as probable"


@pytest.mark.parametrize("name", ["one is missing", "all are silent"])
def test_without_verdicts_samples_are_unscored(name, logs):
    assert logs[name].status == "success"
    assert all(math.isnan(score.value) for score in scores(logs[name]).values())
    assert all(math.isnan(value) for value in measured(logs[name]).values())


def test_who_is_missing_is_not_guessed(logs):
    assert "3 of 4 graders have a score, and it is not known which" in scores(logs["one is missing"])["q0"].explanation


def test_numbers_and_truth_values_are_grades(logs):
    values = [score.value for score in scores(logs["numbers"]).values()]
    assert values[:1] + values[2:] == ["C", "P", "I"]
    assert math.isnan(values[1])
    record = scores(logs["numbers"])["q2"].metadata
    assert record["votes"] == {"grader 1": "P", "grader 2": "P"}
    assert sorted(record["probabilities"]) == ["C", "I", "P"]


def test_other_classes_keep_their_values(logs):
    values = [score.value for score in scores(logs["classes"]).values()]
    assert values[:3] == [1, 2, 3]
    assert math.isnan(values[3])


def test_ratings_are_refused(logs):
    assert logs["ratings"].status == "error"
    assert "is no verdict; say which there are: verdicts=[…]" in logs["ratings"].error.message


NUMBERED = {"grader 1": "amber", "grader 2": "birch", "grader 3": "cedar"}
SCORERS = dict(zip(("model_graded_qa", "model_graded_qa1", "model_graded_qa2"), VERDICTS, strict=True))


@pytest.mark.parametrize(
    ("name", "graders"),
    [
        ("alone", None),
        ("panel", None),
        ("one is silent", None),
        ("majority", NUMBERED),
        ("collect", NUMBERED),
        ("unnamed", NUMBERED),
        ("several scorers", SCORERS),
    ],
)
def test_votes_come_back_out_of_logs(name, graders, logs, folder):
    place = json.loads((folder / "logs.json").read_text())[name]
    for log in (logs[name], place, Path(place)):
        profile = read_log(log, graders)
        assert profile.decisions == tuple(SAMPLES)
        assert profile.voters == tuple(VERDICTS)
        assert profile.alternatives == ("C", "I")
        for k in range(4):
            np.testing.assert_array_equal(profile.decision(k).top, votes_on(k).top)


def test_some_graders_of_a_log(logs):
    assert read_log(logs["several scorers"]).voters == tuple(SCORERS)
    assert read_log(logs["alone"], ["cedar", "amber"]).voters == ("amber", "cedar")
    with pytest.raises(vt.InputError, match="the log has no verdicts of these graders"):
        read_log(logs["alone"], ["nobody"])


def test_epochs_are_decisions_of_their_own(logs):
    profile = read_log(logs["epochs"])
    assert profile.decisions[:2] == ("q0, epoch 1", "q1, epoch 1")
    assert len(profile.decisions) == 8


def test_a_panel_learned_from_a_log_knows_who_copies(logs, folder):
    """Birch says what Amber says, so that the three are worth fewer."""
    panel = vt.read_panel(folder / "learned.json")
    assert panel.copies == (("amber", "birch"),)
    assert panel.roles == ("C", "I")
    assert measured(logs["second"])["effective_graders"] < 2.5
    votes = read_log(logs["first"])
    outcome = vt.decide(votes, panel=panel)
    found = scores(logs["second"])
    assert list(found) == list(votes.decisions)
    for score, chances in zip(found.values(), outcome.p_best, strict=True):
        assert score.metadata["probability"] == pytest.approx(max(chances), abs=0.01)
    right = {sample.id: sample.metadata["label"] for sample in logs["second"].samples}
    assert np.mean([score.value == right[sample] for sample, score in found.items()]) > 0.8
    assert measured(logs["second"])["sureness"] > measured(logs["first"])["sureness"]  # since little was known there


def graded(*values):
    return [Score(value=value) for value in values]


@pytest.mark.parametrize("silent", ["amber", "birch"])
def test_without_one_of_a_group_the_others_decide(silent):
    names = list(VERDICTS)
    score = combined(PANEL, graders=names)([Score(value=math.nan if name == silent else "C") for name in names])
    others = vt.Profile(top=[0, 0], counts=np.ones((2, 2)), alternatives=["C", "I"])
    assert score.value == "C"
    assert score.metadata["probability"] == pytest.approx(max(vt.decide(others).p_best), abs=0.02)
    assert score.metadata["effective_graders"] == pytest.approx(2, abs=0.01)
    assert "warnings" not in score.metadata


def test_a_log_of_one_word_does_not_tell_the_others(logs):
    log = logs["alone"].model_copy(deep=True)
    for score in scores(log).values():
        score.metadata["votes"] = dict.fromkeys(VERDICTS, "good")
    with pytest.raises(vt.InputError, match="all verdicts are 'good'; say which others there are"):
        read_log(log)
    assert read_log(log, verdicts=["good", "bad"]).alternatives == ("good", "bad")


def test_where_all_say_the_same_word_it_is_as_sure_as_a_known_one():
    score, known = combined()(graded("good", "good", "good")), combined()(graded("C", "C", "C"))
    assert score.value == "good"
    assert score.metadata["probability"] == known.metadata["probability"]
    assert list(score.metadata["probabilities"]) == ["good", "another verdict"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: combined(PANEL), "a panel knows graders by name; say who they are"),
        (lambda: combined("nothing.json", graders=["a"]), "nothing.json"),
        (lambda: combined()(graded({"a": 1}, {"a": 0})), "a score of several values is no verdict"),
        (lambda: combined(graders=["a", "a"]), r"graders takes a list of different names, .* not \['a', 'a'\]"),
        (lambda: combined(graders=["", "b"]), "graders takes a list of different names"),
        (lambda: combined(graders="ab"), "graders takes a list of different names, one for each, not 'ab'"),
        (lambda: combined(verdicts=["good", "good"]), "verdicts takes a list of different names"),
        (lambda: combined(verdicts=["good", "bad"])(graded("good", "so")), "the verdict 'so' is none of those that"),
        (lambda: read_log("nope.eval"), r"nope.eval: cannot be read as a log of inspect_ai \(No such file"),
        (lambda: read_log(__file__), r"test_inspect_ai.py: cannot be read as a log of inspect_ai"),
        (lambda: combined(sigma=-1)(graded("C", "I")), "sigma must be"),
    ],
)
def test_what_cannot_be_combined_is_said(ask, message):
    with pytest.raises(vt.InputError, match=message) as told:
        ask()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("said", "verdict", "verdicts"),
    [
        (["C", "c", "C"], "C", {"C", "I"}),
        (["I", "i", "C"], "I", {"C", "I"}),
        (["c", "c", "c"], "c", {"c", "another verdict"}),  # may be the choice of an answer
        (["C", "c", "d"], None, {"C", "c", "d"}),
    ],
)
def test_small_letters_are_grades_only_beside_grades(said, verdict, verdicts):
    score = combined()([Score(value=one) for one in said])
    assert score.value == verdict or (verdict is None and math.isnan(score.value))
    assert set(score.metadata["probabilities"]) == verdicts


def test_other_words_are_alternatives():
    score = combined(verdicts=["good", "bad", "ugly"])(graded("ugly", "ugly", "bad"))
    assert score.value == "ugly"
    assert list(score.metadata["probabilities"]) == ["good", "bad", "ugly"]
    assert combined()(graded("ugly", "ugly", "bad")).value == "ugly"


def test_metrics_leave_out_what_is_not_known():
    records = [{"effective_graders": 2.0, "probability": 0.9}, {"effective_graders": None}, None, {"probability": 0.7}]
    given = [SampleScore(score=Score(value="C", metadata=record)) for record in records]
    assert effective_graders()(given) == 2
    assert sureness()(given) == pytest.approx(0.8)
    assert math.isnan(sureness()([]))
