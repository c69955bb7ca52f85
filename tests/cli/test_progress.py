"""Long work: answers come as they are found, with how far it is and a quicker way."""

import json
import time
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

import veritally as vt
from support import random_profile
from veritally.cli import cli, progress
from veritally.inference import sampling

decide_module = import_module("veritally.decide")  # as `from veritally import decide` is the function


@pytest.fixture
def votes(tmp_path, monkeypatch):
    """Five decisions, decided one after the other."""
    monkeypatch.setattr(decide_module, "_MOST_AT_ONCE", 1)
    path = tmp_path / "votes.csv"
    vt.write(random_profile(1, voters=3, alternatives=3, batch=(5,)).renamed("decision ", "voter ", "option "), path)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, ["decide", *map(str, arguments)])


def test_what_is_finished_is_printed_though_the_rest_is_interrupted(votes, monkeypatch):
    decided, asked = decide_module.Question.outcome, []

    def outcome(question):
        asked.append(question)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return decided(question)

    monkeypatch.setattr(decide_module.Question, "outcome", outcome)
    result = run(votes, "--json", "--sigma", 1, "--tau", 1)
    assert result.exit_code != 0
    assert [json.loads(line)["decision"] for line in result.stdout.splitlines()] == [f"decision {d}" for d in (1, 2, 3)]


@pytest.mark.parametrize("options", [[], ["--explain"]])
def test_pieces_print_what_the_whole_prints(votes, monkeypatch, options):
    told = [votes, *options, "--sigma", 1, "--tau", 1]
    pieces = run(*told).stdout
    monkeypatch.setattr(decide_module, "_MOST_AT_ONCE", 100)
    assert run(*told).stdout == pieces


def test_pieces_have_the_same_json_but_for_rounding(votes, monkeypatch):
    told = [votes, "--json", "--sigma", 1, "--tau", 1]
    pieces = [json.loads(line) for line in run(*told).stdout.splitlines()]
    monkeypatch.setattr(decide_module, "_MOST_AT_ONCE", 100)
    for line, other in zip(run(*told).stdout.splitlines(), pieces, strict=True):
        one = json.loads(line)
        for key in ("scores", "p_best", "expected_regret"):
            assert one.pop(key) == pytest.approx(other.pop(key), abs=1e-6)
        assert [one[key] for key in ("decision", "ranking", "winner")] == [
            other[key] for key in ("decision", "ranking", "winner")
        ]


def test_how_sure_it_is_is_found_out_once_for_each_decision(votes, monkeypatch):
    calls, summarised = [], sampling.summarised
    monkeypatch.setattr(sampling, "summarised", lambda *args, **given: calls.append(1) or summarised(*args, **given))
    assert run(votes, "--sigma", 1, "--tau", 1).exit_code == 0
    assert len(calls) == 5


def test_a_quicker_way_is_named_once_where_it_takes_long(votes, monkeypatch):
    assert "Quicker" not in run(votes).stderr
    monkeypatch.setattr("veritally.cli.decide._LONG", 0.0)
    assert "Quicker" not in run(votes).stderr  # before it is known how long it takes
    monkeypatch.setattr("veritally.cli.decide._TRIED", 0.0)
    result = run(votes)
    assert result.stderr.count("--sigma with --tau") == result.stderr.count("--rule learned-universal") == 1
    assert "Quicker" not in run(votes, "--rule", "borda").stderr


def test_logs_say_how_much_is_left(votes, monkeypatch):
    monkeypatch.setattr(progress, "_FELT", 0.0)
    result = run(votes)
    assert "Deciding votes.csv: " in result.stderr
    assert " left" in result.stderr


def test_a_log_says_that_there_is_work_once_the_wait_is_felt(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_FELT", 0.05)
    for share, line in ((0.0, "Deciding …"), (0.04, "Deciding: 4% done")):
        with progress.progress_bar("Deciding") as show:
            show(share)
            time.sleep(0.2)
        assert capsys.readouterr().err == f"{line}\n"
    with progress.progress_bar("Deciding") as show:
        show(0.5)
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_log_says_only_what_is_new(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "_FELT", 2.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.progress_bar("Learning") as show:
        for share in (0.0, 0.15, 0.3, 0.0, 0.15, 0.3, 0.0, 0.3, 0.45):  # a search that is tried three times
            now[0] += 10
            show(share)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(" done")[0] for line in said] == ["Learning: 15%", "Learning: 30%", "Learning: 45%"]
    assert said[-1].endswith("about 2 min left")  # as 80 s, tries and all, were 45 %


def test_a_tie_that_must_be_settled_is_told_before_anything_is_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(decide_module, "_MOST_AT_ONCE", 1)
    clear, tied = vt.Profile(order=[[*"AB"]]), vt.Profile(order=[[*"AB"], [*"BA"]])
    vt.write(vt.stack([clear, tied], decisions=["clear", "tied"]), tmp_path / "votes.csv")
    result = run(tmp_path / "votes.csv", "--tie-break", "error", "--sigma", 1, "--tau", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "decision 'tied': A and B tie" in result.stderr


def test_a_bar_gives_way_and_comes_back(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setattr(progress, "_FELT", -1.0)
    shown = progress._Bar("Deciding [x]\x1b[2J")
    for share in np.linspace(0, 1, 5):
        shown(share, "note")
        shown.hide()
    said = capsys.readouterr()
    assert said.out == ""
    assert "\x1b[2J" not in said.err
    assert "Deciding [x]" in said.err
