"""Files that we write: whole or not at all, and none of the user's replaced without a word."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli
from veritally.files import write_together, write_whole
from veritally.plots import save

OWN = "my own\n"
VOTES = "voter,alternative,rank\nu,A,1\nu,B,2\n"
SMALL = ("--voters", 2, "--alternatives", 2, "--instances", 3)
REPRODUCE = ("--tables", "low-variance", "--voters", 3, "--rules", "borda,mean", "--instances", 20, "--workers", 1)
TRAIN = ("--batches", 2, "--batch-size", 2, "--voters", 2, "--alternatives", 3, "--held-out", 0, "--width", 2)


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def refused(file, *arguments):
    """Run a command that would replace a user's file: it says so, and leaves the file alone."""
    result = run(*arguments)
    assert result.exit_code == 2
    problem = "exists, and is not what this command wrote; choose another name, or replace it with --force"
    assert result.stderr == f"Error: {file}: {problem}\n"


def test_writers_and_readers_at_the_same_time(folder):
    """Each of several writers writes a letter many times over; a reader never sees two in one file, nor less of it."""
    code = (
        "import sys; from veritally.files import write_whole\n"
        "for _ in range(200): write_whole('shared', sys.argv[1].encode() * 100_000)"
    )
    write_whole("shared", b"a" * 100_000)
    writers = [subprocess.Popen([sys.executable, "-c", code, letter], cwd=folder) for letter in "abc"]
    while any(writer.poll() is None for writer in writers):
        data = (folder / "shared").read_bytes()
        assert data == data[:1] * 100_000
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert names(folder) == ["shared"]


def test_what_fails_leaves_nothing_behind(folder, monkeypatch):
    (folder / "there").mkdir()
    for bad in ("there", "missing/b", "b\0", "x" * 300):
        with pytest.raises(vt.InputError):
            write_together({folder / "a": b"a", folder / bad: b"b"})
        assert names(folder) == ["there"]
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole("a", b"a")
    assert names(folder) == ["there"]


def test_long_names_links_and_permissions_are_as_usual(folder):
    write_whole("x" * 255, b"a")
    (folder / "target").write_text(OWN)
    (folder / "link").symlink_to("target")
    write_whole("link", b"new")
    assert (folder / "link").is_symlink()
    assert (folder / "target").read_bytes() == b"new"
    (folder / "plain").write_text("")
    assert (folder / "target").stat().st_mode == (folder / "plain").stat().st_mode


def test_a_function_that_is_given_a_name_replaces_it(folder):
    (folder / "votes.csv").write_text(OWN)
    vt.write(vt.Profile(ranks=[[1, 2]]), "votes.csv")
    assert vt.read("votes.csv").shape == (1, 2)
    (folder / "picture.png").write_text(OWN)
    save(vt.decide(vt.read("votes.csv"), rule="borda"), "picture.png")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("own", ["votes.csv", "truth.csv"])
@pytest.mark.parametrize("content", [OWN, VOTES, "decision,alternative,truth\nd1,mine,3\n", ""])
def test_simulate_leaves_votes_of_others_alone(folder, own, content):
    (folder / own).write_text(content)
    refused(own, "simulate", "votes.csv", "truth.csv", *SMALL)
    assert names(folder) == [own]
    assert (folder / own).read_text() == content
    assert run("simulate", "votes.csv", "truth.csv", *SMALL, "--force").exit_code == 0
    assert vt.read("votes.csv").shape == (3, 2, 2)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "tsv"])
@pytest.mark.parametrize("ballots", ["value", "rank", "top"])
def test_simulate_replaces_what_it_simulated(folder, suffix, ballots):
    files = [f"votes.{suffix}", f"truth.{suffix}"]
    for seed in (1, 2):
        assert run("simulate", *files, *SMALL, "--ballots", ballots, "--seed", seed).exit_code == 0
    assert names(folder) == sorted(files)


def test_votes_and_truth_are_of_one_drawing(folder):
    """Two processes that simulate into the same files: whichever is last, votes and truth belong together."""
    expected = {}
    for seed in "12":
        assert run("simulate", f"v{seed}.csv", f"t{seed}.csv", *SMALL, "--seed", seed).exit_code == 0
        expected[(folder / f"v{seed}.csv").read_bytes()] = (folder / f"t{seed}.csv").read_bytes()
    command = [sys.executable, "-m", "veritally", "simulate", "v.csv", "t.csv", *map(str, SMALL), "--seed"]
    both = [subprocess.Popen([*command, seed], cwd=folder, stderr=subprocess.DEVNULL) for seed in "12"]
    assert {process.wait() for process in both} <= {0, 2}
    assert expected[(folder / "v.csv").read_bytes()] == (folder / "t.csv").read_bytes()


@pytest.mark.parametrize("own", ["README.md", "results.csv", "configuration.json", "report.tex", "low-variance.svg"])
def test_reproduce_leaves_files_of_others_alone(folder, own):
    (folder / own).write_text(OWN)
    refused(own, "reproduce", "--out", ".", *REPRODUCE)
    assert (folder / own).read_text() == OWN
    assert {own} <= set(names(folder)) <= {own, "chunks.jsonl"}
    assert run("reproduce", "--out", ".", *REPRODUCE, "--force").exit_code == 0
    assert (folder / own).read_text() != OWN


def test_reproduce_goes_on_after_a_kill_between_two_files(folder, monkeypatch):
    """Whichever files of the new report were in place by then, and whichever still were of the old one."""
    assert run("reproduce", "--out", "r", *REPRODUCE).exit_code == 0
    for instances, kept in ((30, 0), (40, 1), (50, 4)):
        places = []

        def killed(part, place, places=places, kept=kept, replace=os.replace):
            if len(places) == kept:
                raise KeyboardInterrupt
            places.append(place)
            replace(part, place)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", killed)
            assert run("reproduce", "--out", "r", *REPRODUCE, "--instances", instances).exit_code == 1
        assert len(places) == kept
    assert run("reproduce", "--out", "r", *REPRODUCE, "--instances", 60).exit_code == 0


def test_reproduce_replaces_its_own_report_unless_it_was_edited(folder):
    for instances in (20, 30):
        assert run("reproduce", "--out", "r", *REPRODUCE, "--instances", instances).exit_code == 0
    report = folder / "r" / "README.md"
    report.write_text(report.read_text() + OWN)
    refused("r/README.md", "reproduce", "--out", "r", *REPRODUCE)
    (folder / "r" / "configuration.json").write_text('{"files": 3}')
    refused("r/results.csv", "reproduce", "--out", "r", *REPRODUCE)


@pytest.mark.slow
def test_train_leaves_files_of_others_alone(folder):
    card = folder / "x-card.md"
    card.write_text(OWN)
    refused("x-card.md", "train", "x.safetensors", *TRAIN)
    assert names(folder) == ["x-card.md"]
    assert run("train", "x.safetensors", *TRAIN, "--force").exit_code == 0
    assert card.read_text().startswith("# x\n")
    assert run("train", "x.safetensors", *TRAIN).exit_code == 0
    refused("x.safetensors", "train", "x.safetensors", *TRAIN, "--seed", 1)
    card.write_text(card.read_text() + OWN)
    refused("x-card.md", "train", "x.safetensors", *TRAIN)


@pytest.mark.slow
def test_a_search_leaves_files_of_others_alone(folder):
    (folder / "x.safetensors").write_text(OWN)
    refused("x.safetensors", "train", "x.safetensors", *TRAIN, "--search", 1)
    (folder / "x.safetensors").unlink()
    (folder / "x-search.json").write_text(OWN)
    refused("x-search.json", "train", "x.safetensors", *TRAIN, "--search", 1)
    (folder / "x-search.json").write_text(json.dumps([]))
    assert run("train", "x.safetensors", *TRAIN, "--search", 1).exit_code == 0
    assert run("train", "x.safetensors", *TRAIN, "--search", 1).exit_code == 0
    (weights,) = (folder / "x-search").iterdir()
    weights.write_text(OWN)
    refused(f"x-search/{weights.name}", "train", "x.safetensors", *TRAIN, "--search", 1)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_pictures_of_others_are_left_alone(folder, suffix):
    (folder / "votes.csv").write_text(VOTES)
    picture = folder / f"picture.{suffix}"
    for command in (("decide", "votes.csv", "--rule", "borda"), ("compare", "--rules", "borda", "--instances", 2)):
        picture.write_text(OWN)
        refused(picture.name, *command, "--plot", picture.name)
        assert picture.read_text() == OWN
        assert run(*command, "--plot", picture.name, "--force").exit_code == 0
        assert run(*command, "--plot", picture.name).exit_code == 0


def test_two_trainings_of_one_file_do_not_meet(folder):
    from processes import holder

    with holder(folder / "x.safetensors") as process:
        result = run("train", "x.safetensors", *TRAIN)
        assert result.exit_code == 2
        assert f"in use by process {process.pid} " in result.stderr
