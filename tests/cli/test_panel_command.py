"""The command that learns a panel: what it prints, saves and refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from veritally.cli import cli

EXAMPLES = Path(__file__).parents[2] / "examples"
LOG = ["--columns", "decision=question"]


def run(*arguments):
    return CliRunner().invoke(cli, ["panel", *map(str, arguments)])


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Some questions of the example, so that learning takes a moment."""
    folder = tmp_path_factory.mktemp("few")
    lines = (EXAMPLES / "judge_log.jsonl").read_text().splitlines()[: 9 * 60]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    answers = (EXAMPLES / "judge_answers.csv").read_text().splitlines()[:41]
    (folder / "answers.csv").write_text("\n".join(answers) + "\n")
    return folder


def test_it_prints_saves_and_is_used(few, tmp_path):
    made = {name: tmp_path / name for name in ("panel.json", "panel.svg", "panel.csv")}
    options = ["--roles", "alternatives", "--factors", "1", "--check", "2"]
    files = ["--out", made["panel.json"], "--plot", made["panel.svg"], "--table", made["panel.csv"]]
    result = run(few / "log.jsonl", *LOG, "--answers", few / "answers.csv", *options, *files)
    assert result.exit_code == 0, result.output
    assert "Panel of 9 voters, learned from 60 decisions (40 with answers)" in result.output
    assert "On 40 answers that were held out: right in" in result.output
    assert all(path.stat().st_size for path in made.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(made)  # and no state is left
    used = CliRunner().invoke(
        cli, ["decide", str(few / "log.jsonl"), *LOG, "--panel", str(made["panel.json"]), "--tie-break", "first"]
    )
    assert used.exit_code == 0, used.output


def test_without_answers_it_says_what_sureness_assumes(few):
    result = run(few / "log.jsonl", *LOG, "--json")
    assert result.exit_code == 0, result.output
    printed = next(line for line in result.output.splitlines() if line.startswith("{"))
    assert "have in common is the truth" in json.loads(printed)["assumption"]
    assert "add --roles alternatives" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--factors", "many"], "--factors takes auto or a whole number"),
        (["--out", "panel.txt"], "ends in .json"),
        (["--answers", "nowhere.csv"], "nowhere.csv"),
        (["--check", "5"], "check needs answers"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(few, arguments, message):
    result = run(few / "log.jsonl", *LOG, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_one_decision_is_refused():
    result = run(EXAMPLES / "clinics.csv")
    assert result.exit_code == 2
    assert "one decision" in result.output


def test_a_file_of_another_kind_is_not_replaced(few, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text("{}")
    result = run(few / "log.jsonl", *LOG, "--out", mine)
    assert result.exit_code == 2
    assert mine.read_text() == "{}"
