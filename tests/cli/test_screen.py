"""What reaches a terminal: all of it shown, none of it obeyed, whatever its width and encoding."""

import json
import os
import subprocess
import sys
import unicodedata

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from veritally.cli import cli
from veritally.experiments.measures import with_error
from veritally.votes.labels import visible

HOSTILE = "\x1b[2J\x1b[1;31mA\u202eB\x9b3J\x07"
SHOWN = r"\x1b[2J\x1b[1;31mA\u202eB\x9b3J\x07"


def run(*arguments, **options):
    return CliRunner().invoke(cli, list(map(str, arguments)), **options)


def process(*arguments, shell="", **environment):
    """Run the command in a process of its own, since a test runner has streams of its own."""
    command = f'"$0" -m veritally "$@" {shell}'
    return subprocess.run(
        ["sh", "-c", command, sys.executable, *map(str, arguments)],
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )


@pytest.fixture
def hostile(tmp_path):
    path = tmp_path / "votes.csv"
    rows = [
        f"{d},{HOSTILE}v{i},{a},{r}" for d in (f"{HOSTILE}1", "2") for i in (1, 2) for a, r in ((HOSTILE, 1), ("B", 2))
    ]
    path.write_text("decision,voter,alternative,rank\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@given(st.text())
def test_no_character_that_a_terminal_obeys_is_left(text):
    shown = visible(text)
    assert not [x for x in shown if unicodedata.category(x) in ("Cc", "Cs", "Zl", "Zp") or x in "\u202e\u2066"]
    assert visible(shown) == shown
    assert text.isprintable() <= (shown == text)


@pytest.mark.parametrize(
    "more", [("--sigma", 1, "--tau", 1), ("--explain",), ("--rule", "borda"), ("--rule", "borda", "--explain")]
)
def test_names_in_tables_are_shown_not_obeyed(hostile, more):
    result = run("decide", hostile, *more, env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.output
    assert SHOWN in result.output
    assert not set(result.output) & {"\x1b", "\u202e", "\x9b", "\x07"}


def test_names_in_errors_warnings_and_checks_are_shown_not_obeyed(tmp_path, hostile):
    for text in (f"voter,alternative,rank\nu,{HOSTILE},1\nu,{HOSTILE},2\n", f"{HOSTILE},alternative\n1,2\n"):
        (tmp_path / "wrong.csv").write_text(text, encoding="utf-8")
        said = run("decide", tmp_path / "wrong.csv").stderr
        assert r"\x1b[2J" in said
        assert not set(said) & {"\x1b", "\u202e", "\x9b", "\x07"}
    (tmp_path / "odd.csv").write_text(f"voter,alternative,rank\nu,A,1\nu,B,2\n{HOSTILE},A,\n", encoding="utf-8")
    for result in (run("decide", tmp_path / "odd.csv"), run("check", tmp_path / "odd.csv"), run("check", hostile)):
        assert result.exit_code == 0
        assert not set(result.output) & {"\x1b", "\u202e", "\x9b", "\x07"}
    for arguments in ((tmp_path / f"{HOSTILE}.csv",), (hostile, f"{HOSTILE}.csv"), (hostile, f"--{HOSTILE}")):
        said = run("decide", *arguments).stderr
        assert r"\x1b[2J" in said
        assert "\x1b" not in said


@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(x, marks=pytest.mark.slow) for x in ("latin-1", "utf-8"))]
)
def test_json_is_the_same_on_any_terminal(tmp_path, encoding):
    path = tmp_path / "votes.csv"
    names = ["日本", "中国", "Zoë", HOSTILE]
    path.write_text(
        "voter,alternative,rank\n" + "".join(f"u,{name},{j}\n" for j, name in enumerate(names, 1)), encoding="utf-8"
    )
    printed = process("decide", path, "--rule", "borda", "--json", PYTHONIOENCODING=encoding).stdout
    assert printed.isascii()
    assert list(json.loads(printed)["scores"]) == names
    rules = process("rules", "--json", PYTHONIOENCODING=encoding).stdout
    assert json.loads(rules.splitlines()[0])["name"] == "posterior"


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("more", [("--sigma", "1", "--tau", "1"), ("--rule", "borda"), ("--rule", "learned-universal")])
def test_ranks_and_names_fit_a_narrow_terminal(tmp_path, width, more):
    names = ["Coral genomics", "Sea-level records", "A very long name of many words that needs several lines", "x" * 70]
    path = tmp_path / "votes.csv"
    rows = [f"Reviewer number {i},{name},{(i + j) % 4 + 1}" for i in range(5) for j, name in enumerate(names)]
    path.write_text("voter,alternative,rank\n" + "\n".join(rows) + "\n")
    result = run("decide", path, *more, "--explain", env={"COLUMNS": str(width)})
    lines = result.stdout.splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith(("Winner", "Tie")))
    start = next(i for i, line in enumerate(lines) if line.endswith("alternatives"))
    table = lines[start + 1 : end]
    assert max(map(len, table)) <= width
    assert "…" not in "".join(table)
    ranks = [line.split()[0].rstrip("=") for line in table if line[:1].isdigit()]
    assert len(ranks) == 4
    folded = "".join("".join(line[3:].split()) for line in table)
    for name in names[:2]:
        assert any(name in line for line in table)
    assert folded.count("x") == 70
    bars = any("█" in line for line in table)
    assert bars or width < 80


def test_many_decisions_fit_a_narrow_terminal(tmp_path):
    path = tmp_path / "votes.csv"
    rows = [f"Decision {d},u,{a},{r}" for d in range(3) for a, r in (("Coral genomics", 1), ("Sea-level records", 2))]
    path.write_text("decision,voter,alternative,rank\n" + "\n".join(rows) + "\n")
    lines = run("decide", path, "--sigma", 1, "--tau", 1, env={"COLUMNS": "40"}).stdout.splitlines()
    assert max(map(len, lines)) <= 40
    text = " ".join(" ".join(lines).split())
    assert all(word in text for word in ("Decision", "Coral", "genomics", "Sea-level", "records", "P(best)"))
    assert "…" not in text


def test_a_closed_stream_gets_nothing_and_the_other_no_more(tmp_path):
    code = (
        "from veritally.cli import progress\n"
        "class Now:\n"
        "    def __init__(self, seconds, act): self.start = act\n"
        "    def cancel(self): pass\n"
        "progress.threading.Timer = Now\n"
        "with progress.working('votes.csv'): pass\n"
        "with progress.progress_bar('Work') as update: update(0.0); update(1.0)"
    )
    for shell in ("2>&-", ""):
        command = ["sh", "-c", f'"$0" -c "$1" {shell}', sys.executable, code]
        result = subprocess.run(command, capture_output=True, check=True)
        assert result.stdout == b""
        assert (b"Working on votes.csv" in result.stderr) == (not shell)


@pytest.mark.slow
def test_a_command_with_standard_error_closed_prints_what_it_does_otherwise(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("voter,alternative,rank\nu,A,1\nu,B,2\nv,A,\n")
    for arguments in (("decide", path, "--rule", "borda"), ("compare", "--rules", "borda", "--instances", "20")):
        both, one = process(*arguments), process(*arguments, shell="2>&-")
        assert (one.returncode, one.stdout) == (0, both.stdout)


@pytest.mark.parametrize(
    ("number", "error", "size", "text"),
    [
        (0.12345, 0.01, 1.0, "0.123±0.010"),
        (-1.2e-18, 4e-19, 0.5, "0"),
        (0.0, 0.0, 0.0, "0"),
        (0.0, None, 1.0, "0"),
        (0.25, None, 1.0, "0.25"),
        (0.25, 1e-18, 1.0, "0.25"),
        (-1.2e-18, 4e-19, 1e-18, "(-1.2±0.4)e-18"),
        (1234567890.0, 1e7, 1e9, "(1.235±0.010)e9"),
        (1234.0, 30.0, 1e3, "1234±30"),
    ],
)
def test_numbers_have_the_digits_that_their_errors_leave(number, error, size, text):
    assert with_error(number, error, size) == text
