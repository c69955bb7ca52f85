"""Files of any size: the same answers as in memory, whatever the cut, the order of rows, the workers, or the fate."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli
from veritally.errors import LostError
from veritally.io import frames
from veritally.io.options import Options
from veritally.registry import rule_info
from veritally.streams import run
from veritally.streams.decisions import Task
from veritally.streams.first_pass import share_of_first
from veritally.streams.parts import Parts
from veritally.streams.pieces import Piece, Runs
from veritally.streams.rows import Rows

MANY = 60  # decisions


def votes(decisions=MANY, seed=0, largest=5):
    """A table of decisions of different sizes, by voters who saw different amounts."""
    random = np.random.default_rng(seed)
    rows = []
    for d in range(decisions):
        m, n = random.integers(2, largest, 2)
        for i in range(m):
            order = random.permutation(n)
            rows += [(f"q{d}", f"v{i}", f"a{j}", int(order[j]) + 1, int(random.integers(1, 50))) for j in range(n)]
    return pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank", "count"], orient="row")


def in_memory(table, *given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vt.InputWarning)
        return vt.decide(vt.read(table), *given, **named).to_frame()


def assert_same(found, expected, tolerance=1e-9):
    """The same rows, numbers to within rounding; the answers of a file have the status besides."""
    assert [name for name in found.columns if name != "status"] == expected.columns
    for name in expected.columns:
        if expected[name].dtype.is_float():
            np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), atol=tolerance, err_msg=name)
        else:
            assert found[name].cast(pl.String).equals(expected[name].cast(pl.String)), name


def write(table, path, parts=1):
    if parts == 1:
        table.write_parquet(path)
        return path
    path.mkdir()
    size = -(-table.height // parts)
    for k in range(parts):
        table.slice(k * size, size).write_parquet(path / f"part-{k}.parquet")
    return path


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(run, "_ROWS", 100)
    monkeypatch.setattr(run, "_ROWS_OF_SEARCHES", 100)


RULES = [("pairwise", {}), ("borda", {"choose": 2}), ("posterior", {"sigma": 10.0, "tau": 1.0})]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("rule", "settings"), RULES, ids=["pairwise", "borda", "posterior"])
@pytest.mark.parametrize("parts", [1, 3], ids=["file", "folder"])
def test_answers_are_those_in_memory(tmp_path, rule, settings, parts):
    table = votes()
    written = vt.decide_file(write(table, tmp_path / "votes", parts), tmp_path / "answers.parquet", rule, **settings)
    assert (written.decisions, written.failed, written.rule) == (MANY, 0, rule)
    assert_same(pl.read_parquet(tmp_path / "answers.parquet"), in_memory(table, rule, **settings))
    assert not (tmp_path / "answers.parquet.parts").exists()


@pytest.mark.usefixtures("small_pieces")
def test_rows_need_not_stand_together(tmp_path):
    table = votes()
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    vt.decide_file(write(shuffled, tmp_path / "votes"), tmp_path / "answers.parquet", "pairwise")
    found = pl.read_parquet(tmp_path / "answers.parquet").sort("decision", "alternative")
    assert_same(found, in_memory(table, "pairwise").sort("decision", "alternative"))


@pytest.mark.usefixtures("small_pieces")
def test_scattered_rows_are_cut_in_two_steps_where_pieces_are_many(tmp_path, monkeypatch):
    """Pieces stay as small as they should be, and the answers the same, however many there are."""
    shuffled = votes(300).sample(fraction=1, shuffle=True, seed=1)
    source, pieces = write(shuffled, tmp_path / "votes"), []
    read = Piece.read
    monkeypatch.setattr(
        Piece, "read", lambda piece, rows: pieces.append(read(piece, rows)[0].height) or read(piece, rows)
    )
    monkeypatch.setattr("veritally.streams.rows._BATCH", 500)
    found = []
    for files, rows in ((1000, 1000), (4, 200)):
        monkeypatch.setattr("veritally.streams.pieces._MOST_FILES", files)
        monkeypatch.setattr("veritally.streams.pieces._MOST_ROWS", rows)
        vt.decide_file(source, tmp_path / "answers.csv", "pairwise")
        found.append((tmp_path / "answers.csv").read_bytes())
    assert found[0] == found[1]
    assert sum(pieces) == 2 * shuffled.height
    assert max(pieces) < 250


def test_decisions_of_very_different_sizes_are_not_filled_up(tmp_path):
    """One decision by 3,000 voters, and 3,000 by two, would fill 3,000 × 3,000 × 40 cells."""
    random = np.random.default_rng(2)
    large = [("large", f"v{i}", f"a{j}", float(x)) for i in range(3000) for j, x in enumerate(random.normal(size=2))]
    wide = [("wide", "v0", f"a{j}", float(x)) for j, x in enumerate(random.normal(size=4000))]
    small = [(f"q{d}", f"v{i}", f"a{j}", float(random.normal())) for d in range(3000) for i in (0, 1) for j in (0, 1)]
    table = pl.DataFrame([*large, *small, *wide], schema=["decision", "voter", "alternative", "value"], orient="row")
    with pytest.raises(vt.InputError, match="would fill a table"):
        vt.read(table)
    vt.decide_file(table, tmp_path / "answers.parquet", "mean")
    found = pl.read_parquet(tmp_path / "answers.parquet")
    assert (
        found["decision"].unique(maintain_order=True).to_list()
        == table["decision"].unique(maintain_order=True).to_list()
    )
    means = table.group_by("decision", "alternative").agg(pl.col("value").mean())
    both = found.join(means, on=["decision", "alternative"])
    assert both.height == means.height
    np.testing.assert_allclose(both["score"].to_numpy(), both["value"].to_numpy(), atol=1e-12)


@pytest.mark.usefixtures("small_pieces")
def test_workers_and_executors_change_no_bit(tmp_path):
    source = write(votes(), tmp_path / "votes")
    for name, settings in (("one", {}), ("two", {"workers": 2})):
        vt.decide_file(source, tmp_path / f"{name}.parquet", "pairwise", **settings)
    with ThreadPoolExecutor(3) as executor:
        vt.decide_file(source, tmp_path / "threads.parquet", "pairwise", executor=executor)
    one = (tmp_path / "one.parquet").read_bytes()
    assert one == (tmp_path / "two.parquet").read_bytes()
    assert one == (tmp_path / "threads.parquet").read_bytes()


WAITING = """
import select, sys
import veritally as vt
from veritally.streams import decisions, run
run._ROWS = run._ROWS_OF_SEARCHES = 100
decide = decisions.Task.__call__
def waiting(self, votes):
    if votes.piece > 1:
        print("waiting", flush=True)
        while not select.select([sys.stdin], [], [], 0.1)[0]:  # now and then awake, for an interruption to be seen
            pass
    return decide(self, votes)
decisions.Task.__call__ = waiting
vt.decide_file(sys.argv[1], sys.argv[2], "posterior", sigma=10.0, tau=1.0)
"""


@contextmanager
def half_done(source, out):
    """Another process that has decided two pieces, and waits at the next until its standard input ends."""
    command = [sys.executable, "-c", WAITING, str(source), str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"waiting\n"
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_an_interrupted_run_goes_on_and_ends_with_the_same_bytes(tmp_path, sent):
    source, out = write(votes(), tmp_path / "votes"), tmp_path / "answers.parquet"
    kept = tmp_path / "answers.parquet.parts"
    with half_done(source, out) as process:
        process.send_signal(sent)
        process.wait(60)
    finished = {path.name for path in kept.glob("*.json")}
    assert finished
    assert not out.exists()
    decided = []
    with ThreadPoolExecutor(1) as executor:
        submit = executor.submit
        executor.submit = lambda task, votes: decided.append(votes.piece) or submit(task, votes)
        vt.decide_file(source, out, "posterior", sigma=10.0, tau=1.0, executor=executor)
    assert decided
    assert not {f"{piece:08}.json" for piece in decided} & finished
    vt.decide_file(source, tmp_path / "whole.parquet", "posterior", sigma=10.0, tau=1.0)
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.usefixtures("small_pieces")
def test_what_was_finished_of_other_work_is_not_used(tmp_path):
    source, out = write(votes(), tmp_path / "votes"), tmp_path / "answers.parquet"
    with pytest.raises(ZeroDivisionError):
        vt.decide_file(source, out, "borda", progress=lambda share: 1 / (share < 0.5))
    assert list((tmp_path / "answers.parquet.parts").glob("*.json"))
    vt.decide_file(source, out, "pairwise")
    assert_same(pl.read_parquet(out), in_memory(votes(), "pairwise"))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("tie_break", ["first", "random"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_ties_are_broken_as_in_memory_whatever_stands_before_them(tmp_path, tie_break, own):
    """Also where a decision lists its alternatives in another order than the file, of which it has some."""
    random = np.random.default_rng(3)
    rows = []
    for d in range(80):
        names = random.permutation([f"{d} {name}" if own else name for name in "ABCDE"])[: random.integers(2, 6)]
        rows += [(f"q{d}", f"v{i}", name, 1) for i in (0, 1) for name in names]
    table = pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank"], orient="row")
    source = write(table, tmp_path / "votes")
    vt.decide_file(source, tmp_path / "answers.csv", "borda", tie_break=tie_break, seed=5)
    assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(table, "borda", tie_break=tie_break, seed=5))


@pytest.mark.usefixtures("small_pieces")
def test_sigma_in_the_order_of_the_file_stays_with_the_names(tmp_path):
    """Also in decisions that list their alternatives the other way round."""
    rows = [(f"q{d}", f"v{i}", n, 2 - (n == "A")) for d in range(60) for i in (0, 1) for n in ["AB", "BA"][d > 30]]
    table = pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank"], orient="row")
    table = table.with_columns(count=pl.when(pl.col("alternative") == "A").then(1).otherwise(9))
    vt.decide_file(table, tmp_path / "answers.csv", sigma=[1.0, 20.0], tau=1.0)
    found = pl.read_csv(tmp_path / "answers.csv")
    expected = in_memory(table.filter(pl.col("decision") == "q0"), sigma={"A": 1.0, "B": 20.0}, tau=1.0)
    assert found["alternative"].to_list() == ["A", "B"] * 60
    np.testing.assert_allclose(found["score"].to_numpy(), np.tile(expected["score"].to_numpy(), 60), atol=1e-6)


@pytest.mark.usefixtures("small_pieces")
def test_groups_in_which_nobody_meets_share_no_errors(tmp_path):
    """In some pieces there are two of a group, though never in one decision."""
    pairs = [(0, 2)] * 30 + [(0, 1), (1, 2)] * 30
    rows = [
        (f"q{d}", f"v{i}", n, 1 + (n == "A"), f"g{i % 2}") for d, own in enumerate(pairs) for i in own for n in "AB"
    ]
    table = pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank", "group"], orient="row")
    given = {"sigma": 2.0, "tau": 1.0}
    vt.decide_file(table, tmp_path / "answers.csv", **given)
    assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(table, **given), 1e-6)


@pytest.mark.usefixtures("small_pieces")
def test_noise_is_pooled_from_the_first_pass_on(tmp_path):
    """With fewer than 256 decisions the first pass sees all, so that the noise is that of all in memory."""
    table = votes(200)
    written = vt.decide_file(table, tmp_path / "answers.parquet")
    (noise,) = written.pooled_noise
    assert noise.decisions == 200
    assert_same(pl.read_parquet(tmp_path / "answers.parquet"), in_memory(table, scale="pooled"), 1e-6)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("order", ["together", "scattered"])
def test_noise_is_that_in_memory_where_some_of_the_decisions_tell_it(tmp_path, order):
    """Both look at the same 256 of 300, evenly spaced in the order in which decisions first appear."""
    table = votes(300)
    table = table if order == "together" else table.sample(fraction=1, shuffle=True, seed=3)
    written = vt.decide_file(write(table, tmp_path / "votes"), tmp_path / "answers.parquet")
    assert written.pooled_noise[0].decisions == 300
    found = pl.read_parquet(tmp_path / "answers.parquet").sort("decision", "alternative")
    expected = in_memory(table, scale="pooled").sort("decision", "alternative")
    np.testing.assert_allclose(found["score"].to_numpy(), expected["score"].to_numpy(), atol=1e-12)
    if order == "together":  # else names come in another order in a piece, and draws of chances with them
        np.testing.assert_array_equal(found["p_best"].to_numpy(), expected["p_best"].to_numpy())


def judged(decisions=120):
    """Votes on two, of three voters of whom the third mostly says the opposite."""
    random = np.random.default_rng(5)
    truth = random.normal(size=(decisions, 2))
    seen = np.stack([truth + random.normal(size=truth.shape) * noise for noise in (0.5, 1, 1)], axis=1)
    seen[:, 2] *= -1
    ranks = np.where(seen == seen.max(axis=-1, keepdims=True), 1, 2)
    names = {"decisions": [f"q{d}" for d in range(decisions)], "voters": ["Ann", "Bob", "Eve"]}
    best = {f"q{d}": "AB"[int(truth[d, 1] > truth[d, 0])] for d in range(decisions)}
    return vt.to_frame(vt.Profile(ranks=ranks, alternatives=["A", "B"], **names)), best


@pytest.mark.usefixtures("small_pieces")
def test_a_panel_is_learned_first(tmp_path):
    table, best = judged()
    answers = dict(list(best.items())[:60])
    vt.decide_file(table, tmp_path / "answers.parquet", panel="learn", answers=answers)
    panel = vt.learn_panel(vt.read(table), answers)
    assert_same(pl.read_parquet(tmp_path / "answers.parquet"), in_memory(table, panel=panel), 1e-6)
    with pytest.raises(vt.InputError, match="say so with panel learn"):
        vt.decide_file(table, tmp_path / "answers.parquet", answers=answers)


def with_a_bad_cell(table, row=200):
    ranks = table["rank"].to_list()
    ranks[row] = -3
    return table.with_columns(pl.Series("rank", ranks)), table["decision"][row]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("rule", ["pairwise", "posterior"])
def test_a_decision_that_fails_is_named_or_skipped(tmp_path, rule):
    table, bad = with_a_bad_cell(votes())
    source, out = write(table, tmp_path / "votes"), tmp_path / "answers.parquet"
    with pytest.raises(vt.InputError, match=f"decision '{bad}'.*rank") as told:
        vt.decide_file(source, out, rule)
    assert "\n" not in str(told.value)
    assert not out.exists()
    written = vt.decide_file(source, out, rule, on_error="skip", sigma=10.0)
    found = pl.read_parquet(out)
    assert (written.failed, written.decisions) == (1, MANY)
    failed = found.filter(pl.col("error").is_not_null())
    assert failed["decision"].to_list() == [bad]
    assert failed["score"].to_list() == [None]
    order = table["decision"].unique(maintain_order=True).to_list()
    assert found["decision"].unique(maintain_order=True).to_list() == order
    rest = in_memory(
        table.filter(pl.col("decision") != bad), rule, sigma=10.0, **({"tau": None} if rule == "posterior" else {})
    )
    assert_same(found.filter(pl.col("error").is_null()).drop("error"), rest, 1e-6 if rule == "posterior" else 1e-9)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("rule", ["pairwise", "posterior"])
def test_of_several_decisions_that_fail_the_first_in_the_file_is_named(tmp_path, rule):
    """Also where the first pass, which looks at some of the decisions, meets others."""
    table = votes(600)
    bad = table["decision"].unique(maintain_order=True).to_list()[1::2]
    ranks = pl.when(pl.col("decision").is_in(bad)).then(-3).otherwise(pl.col("rank"))
    source = write(table.with_columns(rank=ranks), tmp_path / "votes")
    with pytest.raises(vt.InputError, match=f"decision '{bad[0]}'.*rank"):
        vt.decide_file(source, tmp_path / "answers.csv", rule)


def test_decisions_that_can_be_decided_are_found_among_many_that_cannot(tmp_path):
    single = [(f"z{i}", "v", "a", 1, 1) for i in range(1500)]
    table = pl.concat([votes(), pl.DataFrame(single, schema=votes().schema, orient="row")])
    written = vt.decide_file(table, tmp_path / "answers.csv", "pairwise", on_error="skip")
    assert (written.decisions, written.failed) == (MANY + 1500, 1500)


def test_decisions_of_very_different_sizes_are_searched_too(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "_MOST_PADDING", 20_000)
    random = np.random.default_rng(6)
    large = [("large", f"v{i}", f"a{j}", float(random.normal())) for i in range(30) for j in range(2)]
    wide = [("wide", "v0", f"a{j}", float(random.normal())) for j in range(30)]
    small = [(f"q{d}", f"v{i}", f"a{j}", float(random.normal())) for d in range(30) for i in (0, 1) for j in (0, 1)]
    table = pl.DataFrame([*large, *small, *wide], schema=["decision", "voter", "alternative", "value"], orient="row")
    written = vt.decide_file(table, tmp_path / "answers.csv", cap=9)
    assert (written.decisions, written.failed) == (32, 0)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"sigma": -1.0}, "^sigma must be"), ({"ballots": "value"}, "^the frame: found the columns")],
    ids=["sigma", "ballots"],
)
def test_what_is_wrong_with_the_question_is_said_of_no_decision(tmp_path, settings, problem):
    with pytest.raises(vt.InputError, match=problem):
        vt.decide_file(votes(), tmp_path / "answers.csv", **settings)


@pytest.mark.usefixtures("small_pieces")
def test_rows_without_a_decision_are_pointed_out(tmp_path):
    table = votes().with_columns(pl.when(pl.int_range(pl.len()) != 200).then(pl.col("decision")).alias("decision"))
    written = vt.decide_file(table, tmp_path / "answers.csv", "pairwise", on_error="skip")
    assert written.failed == 1
    assert [text for text in written.warnings if "without the name of a decision" in text]


EMPTY = {
    "null": pl.lit(None, dtype=pl.String),
    "no type": pl.lit(None),
    "blank": pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit(" ")).otherwise(pl.lit("")),
}


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
def test_a_column_of_decisions_that_is_empty_throughout_is_refused_as_in_memory(tmp_path, empty, on_error):
    source = write(votes().with_columns(decision=empty), tmp_path / "votes.parquet")
    with pytest.raises(vt.InputError) as there:
        vt.read(source)
    with pytest.raises(vt.InputError) as here:
        vt.decide_file(source, tmp_path / "answers.csv", "pairwise", on_error=on_error)
    assert str(here.value) == str(there.value) == f"{source}, row 1: the decision is empty"
    assert not (tmp_path / "answers.csv").exists()


def test_the_row_without_a_decision_is_named_by_the_name_of_its_column(tmp_path):
    rows = [
        (f"judge {i}", f"q{d}" if d < 30 else None, "yes" if (i + d) % 3 else "no")
        for d in range(40)
        for i in (0, 1, 2)
    ]
    table = pl.DataFrame(rows, schema=["judge", "question", "verdict"], orient="row")
    source = write(table, tmp_path / "votes.parquet")
    with pytest.raises(vt.InputError) as told:
        vt.decide_file(source, tmp_path / "answers.csv", "pairwise")
    assert str(told.value) == f'{source}, row 91: the question is empty; on_error="skip" leaves it out'
    line = ["decide", str(source), "--rule", "pairwise", "--workers", "1", "--out", str(tmp_path / "answers.csv")]
    result = CliRunner().invoke(cli, line)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"{source}, row 91: the question is empty; --on-error skip leaves it out\n")
    result = CliRunner().invoke(cli, [*line, "--on-error", "skip"])
    assert result.exit_code == 0
    assert f"31 decisions by pairwise, 30 decided, 1 not: {tmp_path / 'answers.csv'}" in result.stdout
    assert "1 could not be decided; the column error says why" in result.stderr


def test_one_decision_that_fails_is_an_error_also_where_others_would_be_skipped(tmp_path):
    table, _ = with_a_bad_cell(votes(), 0)
    one = table.filter(pl.col("decision") == "q0")
    with pytest.raises(vt.InputError, match="rank"):
        vt.decide_file(one, tmp_path / "answers.csv", "pairwise", on_error="skip")


@pytest.mark.parametrize("cut", [False, True], ids=["at once", "by voters"])
def test_the_only_decision_keeps_its_name(tmp_path, monkeypatch, cut):
    table = one_decision().with_columns(decision=pl.lit("q"))
    if cut:
        cut_by_voters(monkeypatch, sample=100)
    vt.decide_file(table, tmp_path / "answers.csv", "pairwise")
    assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(table, "pairwise"))


def test_where_every_decision_fails_the_reason_is_said(tmp_path):
    table = votes().with_columns(pl.lit(-1).alias("rank"))
    with pytest.raises(vt.InputError, match="rank"):
        vt.decide_file(table, tmp_path / "answers.parquet", "pairwise", on_error="skip")


def test_parts_of_a_folder_may_have_their_columns_in_any_order(tmp_path):
    folder = write(votes(), tmp_path / "votes", 2)
    path = folder / "part-1.parquet"
    table = pl.read_parquet(path)
    table.select(reversed(table.columns)).write_parquet(path)
    (folder / "_temporary").mkdir()
    table.head(1).drop("rank").write_parquet(folder / "_temporary" / "part-9.parquet")
    vt.decide_file(folder, tmp_path / "answers.parquet", "pairwise")
    assert_same(pl.read_parquet(tmp_path / "answers.parquet"), in_memory(votes(), "pairwise"))


def test_blank_rows_are_no_decision(tmp_path):
    blank = pl.DataFrame({name: [None] * 3 for name in votes().columns}, schema=votes().schema)
    assert vt.decide_file(pl.concat([votes(), blank]), tmp_path / "answers.csv", "pairwise").decisions == MANY


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_blank_rows_in_a_piece_of_their_own_are_no_decision(tmp_path, small_pieces, on_error):
    blank = pl.DataFrame({name: [None] * 200 for name in votes().columns}, schema=votes().schema)
    table = pl.concat([votes(), blank])
    written = vt.decide_file(table, tmp_path / "answers.csv", "pairwise", on_error=on_error)
    assert (written.decisions, written.failed) == (MANY, 0)
    assert_same(pl.read_csv(tmp_path / "answers.csv").drop("status"), in_memory(votes(), "pairwise"))


def test_rows_of_a_folder_are_named_by_their_file(tmp_path):
    table = votes()
    row = next(r for r in range(200, table.height) if table["voter"][r] == table["voter"][r - 1])
    names = table["alternative"].to_list()
    names[row] = names[row - 1]
    folder = write(table.with_columns(pl.Series("alternative", names)), tmp_path / "votes", 3)
    size = -(-table.height // 3)
    with pytest.raises(vt.InputError, match=rf"part-{row // size}.parquet, row {row % size + 1}: .* appear twice"):
        vt.decide_file(folder, tmp_path / "answers.parquet", "pairwise")


# One decision by very many voters


def one_decision(kind="rank", voters=6000, seed=3):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 20, (voters, 4))
    counts[:, 0] += 1
    values = random.normal(size=4) + random.normal(size=(voters, 4)) * 8 / np.sqrt(np.maximum(counts, 1))
    i, j = np.nonzero(counts)
    table = pl.DataFrame({"voter": i, "alternative": j, "value": values[i, j], "count": counts[i, j]})
    table = table.with_columns(
        pl.format("v{}", "voter").alias("voter"), pl.format("a{}", "alternative").alias("alternative")
    )
    if kind == "rank":
        return table.with_columns(rank=pl.col("value").rank(descending=True).over("voter")).drop("value")
    return table


def cut_by_voters(monkeypatch, rows=5_000, sample=3_000):
    """Have pieces of some rows, and find the noise by some voters; fewer than these are decided at once."""
    for name, limit in (("_ROWS", rows), ("_VOTES", sample), ("_FEWEST", sample)):
        monkeypatch.setattr(run, name, limit)


@pytest.mark.parametrize("order", ["as they are", "shuffled"])
@pytest.mark.parametrize(
    ("kind", "rule", "settings"),
    [
        ("rank", "pairwise", {}),
        ("rank", "posterior", {"sigma": 8.0, "tau": 1.0}),
        ("value", "mean", {}),
        ("value", "posterior", {"sigma": 8.0, "tau": 1.0}),
    ],
)
def test_tallies_of_some_voters_add_up(tmp_path, monkeypatch, kind, rule, settings, order):
    cut_by_voters(monkeypatch)
    table = one_decision(kind)
    if order == "shuffled":
        table = table.sample(fraction=1, shuffle=True, seed=4)
    written = vt.decide_file(write(table, tmp_path / "votes"), tmp_path / "answers.csv", rule, **settings)
    assert written.decisions == 1
    found = pl.read_csv(tmp_path / "answers.csv").sort("alternative")
    assert_same(found, in_memory(table, rule, **settings).sort("alternative"), 1e-6)


def test_the_noise_of_one_decision_is_found_by_some_voters(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch)
    table = one_decision()
    vt.decide_file(table, tmp_path / "answers.csv")
    found, expected = pl.read_csv(tmp_path / "answers.csv").sort("alternative"), in_memory(table).sort("alternative")
    ratio = found["score"].to_numpy() / expected["score"].to_numpy()
    assert np.ptp(ratio) < 1e-3  # another noise is another unit of the truths
    np.testing.assert_allclose(found["distance"].to_numpy(), expected["distance"].to_numpy(), atol=0.003)


def test_values_far_from_zero_keep_their_digits(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch)
    table = one_decision("value").with_columns(pl.col("value") + 1e7)
    vt.decide_file(table, tmp_path / "answers.csv", sigma=8.0, tau=1.0)
    found = pl.read_csv(tmp_path / "answers.csv").sort("alternative")
    assert_same(found, in_memory(table, sigma=8.0, tau=1.0).sort("alternative"), 1e-6)


def test_an_absurd_claim_is_cut_down_though_others_are_in_other_pieces(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch)
    claim = pl.DataFrame({"voter": ["liar"] * 4, "alternative": [f"a{j}" for j in range(4)], "rank": [1.0, 2, 3, 4]})
    table = pl.concat(
        [
            one_decision(),
            claim.with_columns(count=pl.lit(10**9, dtype=pl.Int64)).select("voter", "alternative", "count", "rank"),
        ]
    )
    written = vt.decide_file(table, tmp_path / "answers.csv", "pairwise")
    assert any("liar claims up to 1,000,000,000 observations" in one for one in written.warnings)
    found = pl.read_csv(tmp_path / "answers.csv").sort("alternative")
    assert_same(found, in_memory(table, "pairwise").sort("alternative"), 1e-6)


def test_a_search_by_many_voters_goes_on_where_it_stopped(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch)
    table, out = one_decision(), tmp_path / "answers.csv"
    with pytest.raises(ZeroDivisionError):
        vt.decide_file(table, out, sigma=8.0, tau=1.0, progress=lambda share: 1 / (share < 0.25))
    kept = sorted((tmp_path / "answers.csv.parts").glob("*.npz"))
    assert kept
    vt.decide_file(table, out, sigma=8.0, tau=1.0)
    vt.decide_file(table, tmp_path / "whole.csv", sigma=8.0, tau=1.0)
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("votes.orders", "A > B = C\nB > A > C\n3: C > A > B\n"),
        ("wide.csv", "voter,A,B,C\nu,1,2,3\nv,2,1,3\n"),
        ("one.csv", "voter,alternative,rank\nu,A,1\nu,B,2\nv,B,1\nv,A,2\nw,A,1\nw,B,2\n"),
    ],
)
def test_small_files_of_any_form_are_decided_too(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    said = {"ballots": "rank"} if name == "wide.csv" else {}
    vt.decide_file(tmp_path / name, tmp_path / "answers.csv", "borda", **said)
    expected = vt.decide(vt.read(tmp_path / name, **said), "borda").to_frame()
    assert_same(pl.read_csv(tmp_path / "answers.csv"), expected)


def test_one_decision_by_few_voters_is_decided_as_in_memory(tmp_path):
    table = one_decision(voters=12)
    for rule in ("posterior", "mle"):
        vt.decide_file(table, tmp_path / "answers.csv", rule)
        assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(table, rule), 1e-6)


@pytest.mark.parametrize("rows", [20, 10_000])
@pytest.mark.parametrize("rule", ["borda", "case5-zero", "pairwise"])
def test_a_tally_of_pieces_is_that_of_all(tmp_path, monkeypatch, rule, rows):
    """Where an alternative is in few pieces, ballots stand for several voters, and a claim is absurd."""
    cut_by_voters(monkeypatch, rows, sample=10)
    last = pl.col("alternative") == "a3"
    table = one_decision(voters=200).filter(~last | (pl.col("voter").str.ends_with("7")))
    table = table.with_columns(
        pl.when(pl.col("voter") == "v9").then(10**6).otherwise("count").alias("count"),
        multiplicity=pl.col("voter").str.slice(-1).cast(pl.Int64) % 4,
    )
    vt.decide_file(table, tmp_path / "answers.csv", rule)
    found = pl.read_csv(tmp_path / "answers.csv").sort("alternative")
    assert_same(found, in_memory(table, rule).sort("alternative"), 1e-6)


def test_many_comparisons_are_no_absurd_claim(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch, rows=50, sample=3)
    random = np.random.default_rng(8)
    rows = [(f"u{k % 9}" if k < 100 else "busy", *random.permutation(["A", "B", "C"])[:2], "left") for k in range(3000)]
    battles = pl.DataFrame(rows, schema=["voter", "left", "right", "winner"], orient="row")
    written = vt.decide_file(battles, tmp_path / "board.csv", "plurality")
    assert not written.warnings
    found = pl.read_csv(tmp_path / "board.csv").sort("alternative")
    assert_same(found, in_memory(battles, "plurality").sort("alternative"))


@pytest.mark.usefixtures("small_pieces")
def test_one_row_for_each_decision_where_only_the_best_is_wanted(tmp_path):
    table, bad = with_a_bad_cell(votes())
    given = {"on_error": "skip", "tie_break": "first"}
    for name, best_only in (("all.parquet", False), ("best.parquet", True)):
        vt.decide_file(table, tmp_path / name, "pairwise", best_only=best_only, **given)
    every, best = (pl.read_parquet(tmp_path / name) for name in ("all.parquet", "best.parquet"))
    assert best["decision"].to_list() == table["decision"].unique(maintain_order=True).to_list()
    assert best.equals(every.filter(pl.col("chosen") | (pl.col("decision") == bad)))
    assert best["error"].count() == 1


@pytest.mark.parametrize("cut", [False, True], ids=["at once", "by voters"])
def test_one_decision_has_one_row_where_only_the_best_is_wanted(tmp_path, monkeypatch, cut):
    if cut:
        cut_by_voters(monkeypatch, sample=100)
    vt.decide_file(one_decision(), tmp_path / "best.csv", "pairwise", best_only=True)
    assert pl.read_csv(tmp_path / "best.csv")["chosen"].to_list() == [True]


def tied_votes(scattered=False):
    """Two voters who rank two alternatives in 400 decisions; they disagree on each third decision, 134 of them."""
    rows = [
        (f"q{d}", voter, name, 1 + (name == "B") ^ (voter == "v" and d % 3 == 0))
        for d in range(400)
        for voter in "uv"
        for name in "AB"
    ]
    table = pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank"], orient="row")
    return table.sample(fraction=1, shuffle=True, seed=1) if scattered else table


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("scattered", [False, True], ids=["together", "scattered"])
def test_ties_are_drawn_alike_by_any_number_of_workers_and_after_an_interruption(tmp_path, scattered):
    source, ways = write(tied_votes(scattered), tmp_path / "votes.parquet"), {"tie_break": "random", "best_only": True}
    with pytest.raises(ZeroDivisionError):
        vt.decide_file(source, tmp_path / "late.csv", "borda", progress=lambda share: 1 / (share < 0.8), **ways)
    assert list((tmp_path / "late.csv.parts").glob("*.json"))
    for name, more in (("late", {}), ("one", {}), ("two", {"workers": 2}), ("other", {"seed": 1})):
        written = vt.decide_file(source, tmp_path / f"{name}.csv", "borda", **ways, **more)
        assert (written.decisions, written.tied) == (400, 134)
    late, one, two, other = ((tmp_path / f"{name}.csv").read_bytes() for name in ("late", "one", "two", "other"))
    assert late == one == two != other
    drawn = pl.read_csv(tmp_path / "one.csv").filter(pl.col("decision").str.slice(1).cast(int) % 3 == 0)
    assert 42 <= (drawn["alternative"] == "A").sum() <= 92  # 4.3 standard errors of 67 in 134: once in 60,000 seeds


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "134 of 400 decisions tie; all that tie are chosen; --tie-break random draws among them"),
        (["--tie-break", "first"], "--tie-break first gave them to the alternative that comes first"),
        (["--tie-break", "random", "--best-only"], "134 of 400 decisions tie; --tie-break random drew who is chosen"),
        (["--choose", "2"], None),
    ],
)
def test_the_command_says_how_many_decisions_tie(tmp_path, options, said):
    source = write(tied_votes(), tmp_path / "votes.parquet")
    line = ["decide", str(source), "--rule", "borda", "--workers", "1", "--out", str(tmp_path / "a.csv"), *options]
    printed = CliRunner().invoke(cli, line).stdout
    assert "400 decisions by borda" in printed
    assert (said or "400 decisions") in printed
    assert ("134 of 400 decisions tie" in printed) == (said is not None)


@pytest.mark.parametrize("cut", [False, True], ids=["at once", "by voters"])
@pytest.mark.parametrize("name", [None, "q"])
def test_one_decision_that_ties_is_said_to(tmp_path, monkeypatch, cut, name):
    rows = [(f"v{i}", x, 1 + (x == "A") ^ (i % 2)) for i in range(400) for x in "AB"]
    table = pl.DataFrame(rows, schema=["voter", "alternative", "rank"], orient="row")
    table = table if name is None else table.with_columns(decision=pl.lit(name))
    if cut:
        cut_by_voters(monkeypatch, rows=100, sample=50)
    source = write(table, tmp_path / "votes.parquet")
    line = ["decide", str(source), "--rule", "borda", "--workers", "1", "--out", str(tmp_path / "a.csv")]
    assert "The decision ties; all that tie are chosen" in CliRunner().invoke(cli, line).stdout


def test_rules_that_need_all_voters_at_once_say_so(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch)
    with pytest.raises(vt.InputError, match="mle needs all voters at once; use posterior, or a rule of one pass"):
        vt.decide_file(one_decision(), tmp_path / "answers.csv", "mle")


def test_a_tie_in_one_decision_is_refused_where_that_is_asked(tmp_path):
    tied = pl.DataFrame({"voter": [*"uuvv"], "alternative": [*"ABAB"], "rank": [1, 2, 2, 1]})
    with pytest.raises(vt.TieError, match="A and B tie for first place"):
        vt.decide_file(tied, tmp_path / "answers.csv", "borda", tie_break="error")
    vt.decide_file(tied, tmp_path / "answers.csv", "borda", tie_break="error", choose=2)
    (tmp_path / "tied.orders").write_text("A > B\nB > A\n")
    with pytest.raises(vt.TieError, match="A and B tie for first place"):
        vt.decide_file(tmp_path / "tied.orders", tmp_path / "answers.csv", "borda", tie_break="error", force=True)


def test_alternatives_that_no_voter_of_the_sample_saw_can_be_chosen(tmp_path, monkeypatch):
    cut_by_voters(monkeypatch, sample=100)
    table = one_decision()
    rare = pl.DataFrame({"voter": ["rare"] * 2, "alternative": ["a0", "new"], "rank": [2.0, 1.0], "count": [9, 9]})
    table = pl.concat([table, rare.select(table.columns).cast(table.schema)])
    vt.decide_file(table, tmp_path / "answers.csv", sigma=8.0, tau=1.0, choose=5)
    found = pl.read_csv(tmp_path / "answers.csv").sort("alternative")
    assert_same(found, in_memory(table, sigma=8.0, tau=1.0, choose=5).sort("alternative"), 1e-6)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"panel": vt.Panel(groups={"g": ["a", "b"]})}, "is one decision, of which no panel is taken"),
        ({"panel": "learn"}, "is one decision, of which no panel is taken"),
        ({"answers": {"q": "A"}}, "answers are to learn a panel from"),
        ({"confidence": {"low": 1}}, "confidence"),
        ({"columns": {"voter": "v"}}, "columns"),
    ],
    ids=lambda case: next(iter(case)) if isinstance(case, dict) else "",
)
def test_what_says_nothing_about_orders_is_refused(tmp_path, settings, problem):
    vt.write(vt.Profile(ranks=[[1, 2], [1, 2]], alternatives=["A", "B"]), tmp_path / "votes.soc")
    with pytest.raises(vt.InputError, match=problem):
        vt.decide_file(tmp_path / "votes.soc", tmp_path / "answers.csv", **settings)
    assert vt.decide_file(tmp_path / "votes.soc", tmp_path / "answers.csv").decisions == 1


# Where it is written


def test_a_folder_of_others_is_left_alone(tmp_path):
    """Though it has the name that finished parts go to, and holds Parquet files, as these do."""
    folder = write(votes(), tmp_path / "answers.parquet.parts", 2)
    with pytest.raises(vt.InputError, match="holds other files; move them"):
        vt.decide_file(folder, tmp_path / "answers.parquet", "pairwise")
    assert len(list(folder.iterdir())) == 2


def test_answers_never_replace_the_votes(tmp_path):
    source = write(votes(), tmp_path / "votes.parquet")
    (tmp_path / "link.parquet").symlink_to(source)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.parquet").symlink_to(source)
    vt.write(vt.read(votes()), tmp_path / "votes.csv")
    for given, out in (
        ("votes.parquet", "votes.parquet"),
        ("votes.parquet", "link.parquet"),
        ("folder", "votes.parquet"),
        ("votes.csv", "votes.csv"),
    ):
        before = (tmp_path / out).read_bytes()
        with pytest.raises(vt.InputError, match=f"{out}: is the file of the votes; write the answers to another"):
            vt.decide_file(tmp_path / given, tmp_path / out, "pairwise", force=True)
        assert (tmp_path / out).read_bytes() == before


def test_parts_may_have_numbers_of_other_widths_and_be_empty(tmp_path):
    table = votes().with_columns(value=pl.col("rank").cast(pl.Float64)).drop("rank")
    folder = write(table, tmp_path / "votes", 2)
    second = pl.read_parquet(folder / "part-1.parquet")
    second.with_columns(pl.col("count").cast(pl.Int8), pl.col("value").cast(pl.Float32)).write_parquet(
        folder / "part-1.parquet"
    )
    pl.DataFrame(schema=dict.fromkeys(table.columns, pl.Null)).write_parquet(folder / "part-0-empty.parquet")
    vt.decide_file(folder, tmp_path / "answers.csv", "mean")
    assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(table, "mean"))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("workers", [1, 2])
def test_columns_that_stand_in_the_names_of_folders_are_read(tmp_path, workers):
    """As pandas, polars and Spark write a table that is parted by a column."""
    table = votes().with_columns(decision=pl.format("who is {}/best?", "decision"))
    for (name,), part in table.group_by("decision", maintain_order=True):
        folder = tmp_path / "votes" / f"decision={quote(name, safe='')}"
        folder.mkdir(parents=True)
        part.drop("decision").write_parquet(folder / "part-0.parquet")
    written = vt.decide_file(tmp_path / "votes", tmp_path / "answers.csv", "pairwise", workers=workers)
    assert (written.decisions, written.failed) == (MANY, 0)
    found = pl.read_csv(tmp_path / "answers.csv").sort("decision", "alternative")
    assert_same(found, in_memory(table, "pairwise").sort("decision", "alternative"))


def test_folders_that_say_nothing_of_a_decision_leave_it_without_a_name(tmp_path):
    for name, table in zip(("decision=q", "decision=__HIVE_DEFAULT_PARTITION__"), [votes(2)] * 2, strict=True):
        (tmp_path / "votes" / name).mkdir(parents=True)
        write(table.drop("decision"), tmp_path / "votes" / name / "part.parquet")
    with pytest.raises(vt.InputError, match=r"part.parquet, row 1: the decision is empty; on_error="):
        vt.decide_file(tmp_path / "votes", tmp_path / "answers.csv", "pairwise")


def test_folders_that_say_different_things_are_refused(tmp_path):
    for name in ("decision=a", "question=b"):
        (tmp_path / "votes" / name).mkdir(parents=True)
        write(votes(1).drop("decision"), tmp_path / "votes" / name / "part.parquet")
    with pytest.raises(vt.InputError, match=r"b/part.parquet: has other columns than .*; write them alike"):
        vt.decide_file(tmp_path / "votes", tmp_path / "answers.csv", "pairwise")


def test_other_files_of_a_folder_are_counted(tmp_path):
    folder = write(votes(), tmp_path / "votes", 3)
    (folder / "part-2.parquet").rename(folder / "part-2.PARQUET")
    (folder / "more.csv").write_text("voter")
    (folder / "_SUCCESS").touch()
    line = ["decide", str(folder), "--rule", "pairwise", "--workers", "1", "--out", str(tmp_path / "answers.csv")]
    result = CliRunner().invoke(cli, line)
    assert result.exit_code == 0
    assert f"{MANY} decisions by pairwise, from 3 of 4 files (those that end in .parquet): " in result.stdout
    assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(votes(), "pairwise"))


@pytest.mark.usefixtures("small_pieces")
def test_how_columns_were_understood_is_a_note_as_in_memory(tmp_path):
    votes().rename({"voter": "reviewer", "alternative": "paper"}).write_csv(tmp_path / "votes.csv")
    command = ["decide", str(tmp_path / "votes.csv"), "--rule", "pairwise"]
    in_one, to_file = (
        CliRunner().invoke(cli, [*command, *more])
        for more in ([], ["--out", str(tmp_path / "answers.csv"), "--workers", "1"])
    )
    notes = [[line for line in one.stderr.splitlines() if "is read as" in line] for one in (in_one, to_file)]
    assert notes[0] == notes[1]
    assert notes[0][0].startswith("Note: ")


def test_answers_are_not_written_among_the_votes(tmp_path):
    folder = write(votes(), tmp_path / "votes", 2)
    with pytest.raises(vt.InputError, match="is in the folder of the votes"):
        vt.decide_file(folder, folder / "answers.parquet", "pairwise")


@pytest.mark.usefixtures("small_pieces")
def test_parts_that_were_being_removed_are_not_used_again(tmp_path, monkeypatch):
    """A sudden end while they are removed, after the answers were written, leaves some parts behind."""
    source, out = write(votes(), tmp_path / "votes"), tmp_path / "answers.parquet"

    def sudden_end(folder, **_):
        next(folder.glob("*.arrow")).unlink()
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("veritally.streams.parts.shutil.rmtree", sudden_end)
        with pytest.raises(ZeroDivisionError):
            vt.decide_file(source, out, "pairwise")
    whole = out.read_bytes()
    vt.decide_file(source, out, "pairwise")
    assert out.read_bytes() == whole


def test_a_file_of_others_is_left_alone(tmp_path):
    out = tmp_path / "answers.csv"
    out.write_text("precious")
    with pytest.raises(vt.InputError, match="is not what this command wrote"):
        vt.decide_file(votes(), out, "pairwise")
    assert out.read_text() == "precious"
    vt.decide_file(votes(), out, "pairwise", force=True)
    vt.decide_file(votes(), out, "borda")  # which are answers, as this function writes them


@pytest.mark.parametrize("name", ["answers.parquet", "answers.csv", "answers.tsv", "answers.jsonl"])
def test_answers_have_any_form(tmp_path, name):
    vt.decide_file(votes(), tmp_path / name, "pairwise")
    read = {
        ".parquet": pl.read_parquet,
        ".csv": pl.read_csv,
        ".tsv": lambda path: pl.read_csv(path, separator="\t"),
        ".jsonl": pl.read_ndjson,
    }[(tmp_path / name).suffix]
    assert_same(read(tmp_path / name), in_memory(votes(), "pairwise"))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
@pytest.mark.parametrize("linked", [False, True], ids=["itself", "by a link"])
def test_what_is_no_file_is_never_replaced(tmp_path, linked):
    out, pipe = tmp_path / "answers.csv", tmp_path / ("pipe" if linked else "answers.csv")
    os.mkfifo(pipe)
    if linked:
        out.symlink_to(pipe)
    with pytest.raises(vt.InputError, match=r"answers.csv: is a device, a pipe or a socket; name a file$"):
        vt.decide_file(votes(), out, "pairwise", force=True)
    assert pipe.is_fifo()
    assert not out.with_name("answers.csv.parts").exists()


LIMITED = """
import resource, signal, sys
import veritally as vt
from veritally.streams import run
run._ROWS = 100
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit, begun = int(sys.argv[3]), float(sys.argv[4])
def full(share):
    if share >= begun:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    vt.decide_file(sys.argv[1], sys.argv[2], "pairwise", progress=full)
except vt.InputError as error:
    print(error)
"""


def test_a_full_disk_is_a_sentence_and_leaves_the_former_file(tmp_path):
    """A limit on the size of files stands for it: the system refuses to write, and says why."""
    source, out = write(votes(), tmp_path / "votes"), tmp_path / "answers.csv"
    vt.decide_file(source, out, "borda")
    former = out.read_bytes()
    parts = tmp_path / "answers.csv.parts"
    for limit, begun in ((10, 0), (10, 0.5), (4000, 0.5)):  # in the first part, in another, and in the whole
        command = [sys.executable, "-c", LIMITED, str(source), str(out), str(limit), str(begun)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert len(printed.splitlines()) == 1
        assert "cannot be written" in printed
        assert printed.endswith(f"; what is finished is kept in {parts}\n") == (begun > 0)
        assert parts.exists() == (begun > 0)
        assert out.read_bytes() == former
        shutil.rmtree(parts, ignore_errors=True)


def test_a_file_that_another_process_writes_is_refused(tmp_path):
    source, out = write(votes(), tmp_path / "votes"), tmp_path / "answers.parquet"
    with half_done(source, out) as process, pytest.raises(vt.InputError, match=f"in use by process {process.pid}"):
        vt.decide_file(source, out, "pairwise")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no second file system to point to")
def test_a_link_to_another_disk_is_followed(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as disk:
        (tmp_path / "answers.csv").symlink_to(f"{disk}/answers.csv")
        vt.decide_file(votes(), tmp_path / "answers.csv", "pairwise")
        assert [path.name for path in Path(disk).iterdir()] == ["answers.csv"]
        assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(votes(), "pairwise"))


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /sys, in which nobody may make files")
def test_a_folder_that_is_read_only_is_refused():
    with pytest.raises(vt.InputError, match=r"/sys/answers.parquet: cannot be written"):
        vt.decide_file(votes(), "/sys/answers.parquet", "pairwise")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"out": "answers.txt"}, "cannot tell the format from the suffix; use one of .parquet, .csv"),
        ({"out": "missing/answers.csv"}, "there is no folder"),
        ({"on_error": "ignore"}, "on_error can be stop or skip, not 'ignore'"),
        ({"omega": "estimated"}, "omega is one for all decisions, which are decided in pieces here"),
        ({"count_error": "percentage:0.3"}, "what counts stand for depends on those of all decisions"),
        ({"sigma": [1.0, 2.0]}, "sigma has 2 numbers, and there are 4 alternatives"),
        ({"rule": "nonsense"}, "nonsense"),
        ({"rule": "pairwise", "choose": 9}, "cannot choose 9"),
    ],
    ids=lambda case: next(iter(case)) if isinstance(case, dict) else "",
)
def test_bad_input_is_a_sentence(tmp_path, settings, problem):
    out = tmp_path / settings.pop("out", "answers.csv")
    with pytest.raises(vt.InputError, match=problem) as told:
        vt.decide_file(votes(), out, **settings)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_votes_are_sentences(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(vt.InputError, match=r"holds no file that ends in \.parquet"):
        vt.decide_file(tmp_path / "empty", tmp_path / "answers.csv")
    votes().clear().write_parquet(tmp_path / "none.parquet")
    with pytest.raises(vt.InputError, match="has a header but no rows"):
        vt.decide_file(tmp_path / "none.parquet", tmp_path / "answers.csv")
    write(votes(), tmp_path / "folder", 2)
    votes().rename({"rank": "value"}).write_parquet(tmp_path / "folder" / "part-2.parquet")
    with pytest.raises(vt.InputError, match=r"part-2.parquet: has other columns than"):
        vt.decide_file(tmp_path / "folder", tmp_path / "answers.csv")
    votes().cast({"rank": pl.String}).write_parquet(tmp_path / "folder" / "part-2.parquet")
    with pytest.raises(vt.InputError, match=r"part-2.parquet: has another type in the column rank than"):
        vt.decide_file(tmp_path / "folder", tmp_path / "answers.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(vt.InputError, match=r"broken.parquet: is not a readable Parquet file"):
        vt.decide_file(tmp_path / "broken.parquet", tmp_path / "answers.csv")


@pytest.mark.parametrize("role", ["decision", "voter", "alternative"])
def test_columns_of_lists_are_no_names(tmp_path, role):
    lists = votes().with_columns(pl.concat_list(role))
    lists.write_parquet(tmp_path / "votes.parquet")
    line = [str(tmp_path / "votes.parquet"), "--out", str(tmp_path / "answers.csv"), "--workers", "1"]
    result = CliRunner().invoke(cli, ["decide", *line])
    assert result.exit_code == 2
    assert f"votes.parquet: the column {role} holds List(String), not names" in result.stderr


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("rule", ["pairwise", "posterior"])
@pytest.mark.parametrize("kind", ["many", "one"])
@pytest.mark.parametrize("change", [pl.DataFrame.reverse, lambda table: table.head(40)], ids=["reversed", "shorter"])
def test_votes_that_change_on_the_way_are_not_mixed(tmp_path, monkeypatch, rule, kind, change):
    cut_by_voters(monkeypatch, sample=100)
    table = votes() if kind == "many" else one_decision()
    source, out = write(table, tmp_path / "votes.parquet"), tmp_path / "answers.csv"

    def replaced(share):
        if share > 0.1 and not out.with_name("done").exists():
            out.with_name("done").touch()
            write(change(table), source)

    with pytest.raises(vt.InputError, match=r"votes.parquet: was changed while it was decided"):
        vt.decide_file(source, out, rule, progress=replaced, **({"sigma": 8.0} if rule == "posterior" else {}))
    assert not out.exists()


def test_the_command_writes_and_says_what(tmp_path):
    source = write(votes(200), tmp_path / "votes.parquet")
    result = CliRunner().invoke(cli, ["decide", str(source), "--out", str(tmp_path / "a.csv"), "--workers", "1"])
    assert result.exit_code == 0
    assert "200 decisions by posterior" in result.output
    assert "The noise of 200 decisions is pooled" in result.output
    for options in (["--json"], ["--explain"], ["--require-sure", "0.9"], ["--report", "r.html"], ["--title", "T"]):
        result = CliRunner().invoke(cli, ["decide", str(source), "--out", str(tmp_path / "a.csv"), *options])
        assert result.exit_code == 2
        assert f"{options[0]} is for answers that are printed" in result.output
    for options in (["--workers", "2"], ["--best-only"]):
        result = CliRunner().invoke(cli, ["decide", str(source), *options])
        assert result.exit_code == 2
        assert "are for --out FILE" in result.output
    line = ["--out", str(tmp_path / "best.csv"), "--best-only", "--tie-break", "first", "--workers", "1"]
    assert CliRunner().invoke(cli, ["decide", str(source), *line]).exit_code == 0
    assert pl.read_csv(tmp_path / "best.csv").height == 200


def test_the_command_leaves_out_words_that_are_no_verdicts(tmp_path):
    source = write(judged_words(), tmp_path / "log.parquet")
    said = CliRunner().invoke(cli, ["check", str(source)]).stdout
    assert "12 verdicts are empty and left out" in said
    assert "Odd:           " in said
    assert "'ERROR' stands in 1 of 288 verdicts" in said
    line = ["decide", str(source), "--rule", "pairwise", "--verdicts", "no, yes"]
    result = CliRunner().invoke(cli, [*line, "--out", str(tmp_path / "a.csv"), "--workers", "1"])
    assert result.exit_code == 0
    assert set(pl.read_csv(tmp_path / "a.csv")["alternative"]) == {"no", "yes"}
    assert "ERROR" not in CliRunner().invoke(cli, line).stdout


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    ("error", "resumable"), [(KeyboardInterrupt(), True), (LostError("lost"), True), (vt.InputError("bad"), False)]
)
def test_the_command_says_how_to_go_on_where_that_helps(tmp_path, monkeypatch, error, resumable):
    source, added = write(votes(), tmp_path / "votes.parquet"), []
    add = Parts.add

    def some(parts, index, part):
        if len(added) == 3:
            raise error
        added.append(index)
        add(parts, index, part)

    monkeypatch.setattr(Parts, "add", some)
    line = ["--rule", "pairwise", "--workers", "1", "--out", str(tmp_path / "a.csv")]
    result = CliRunner().invoke(cli, ["decide", str(source), *line])
    assert result.exit_code != 0
    assert ("to resume, give the same command again" in result.stderr) == resumable
    assert "Aborted" not in result.stderr
    assert ("% is done and kept in" in result.stderr) == resumable


@pytest.mark.usefixtures("small_pieces")
def test_progress_begins_with_what_was_kept(tmp_path):
    source, out = write(votes(), tmp_path / "votes"), tmp_path / "answers.csv"
    shares = []
    with pytest.raises(ZeroDivisionError):
        vt.decide_file(source, out, "pairwise", progress=lambda share: 1 / (share < 0.6))
    with pytest.raises(ZeroDivisionError):
        vt.decide_file(source, out, "pairwise", progress=lambda share: shares.append(share) or 1 / (share < 0.6))
    assert shares[-1] >= 0.6
    assert len([share for share in shares if share > 0.3]) == 1


@pytest.mark.parametrize("rule", ["pairwise", "posterior"])
def test_the_first_pass_is_a_part_of_the_work_as_large_as_it_is(rule):
    """Where noise is pooled, it takes as long as deciding some 256 decisions, by one process."""
    task = Task(Options(), "decision", rule_info(rule))
    shares = [share_of_first(task, decisions, 1) for decisions in (256, 1_000_000)]
    assert shares[0] == pytest.approx(0.5 if rule == "posterior" else 0.03, abs=0.01)
    assert shares[1] < 0.001
    assert share_of_first(task, 256, 4) > shares[0]


@pytest.mark.usefixtures("small_pieces")
def test_a_warning_of_every_piece_is_said_once(tmp_path):
    ranks_from_zero = votes().with_columns(pl.col("rank") - 1)
    source = write(ranks_from_zero, tmp_path / "votes.parquet")
    options = ["--rule", "borda", "--workers", "1", "--out", str(tmp_path / "a.csv")]
    result = CliRunner().invoke(cli, ["decide", str(source), *options])
    assert result.exit_code == 0
    assert result.output.count("add 1 if ranks start at 0") == 1
    assert "more like this)" in result.output


def test_comparisons_and_logs_of_judges_are_read_in_pieces(tmp_path, small_pieces):
    random = np.random.default_rng(8)
    rows = [
        {"question": f"q{q}", "judge": f"judge{i}", "verdict": ["yes", "no"][int(random.random() < 0.4)]}
        for q in range(40)
        for i in range(5)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    vt.decide_file(tmp_path / "log.jsonl", tmp_path / "answers.csv", "plurality")
    assert_same(pl.read_csv(tmp_path / "answers.csv"), in_memory(tmp_path / "log.jsonl", "plurality"))
    battles = pl.DataFrame(
        [(f"u{k % 9}", *random.permutation(["A", "B", "C"])[:2], "left") for k in range(300)],
        schema=["voter", "left", "right", "winner"],
        orient="row",
    )
    vt.decide_file(battles, tmp_path / "board.csv", "pairwise")
    found = pl.read_csv(tmp_path / "board.csv").sort("alternative")
    assert_same(found, in_memory(battles, "pairwise").sort("alternative"))


def judged_words():
    """Three judges on 100 questions: four have no verdict, one verdict is an error message."""
    rows = [(f"q{d}", f"j{i}", "yes" if (d * i) % 3 else "no") for d in range(100) for i in range(3)]
    table = pl.DataFrame(rows, schema=["question", "judge", "verdict"], orient="row").with_row_index("row")
    empty = (pl.col("row") >= 240) & (pl.col("row") < 252)
    said = pl.when(empty).then(None).when(pl.col("row") == 4).then(pl.lit("ERROR")).otherwise("verdict")
    return table.with_columns(said.alias("verdict")).drop("row")


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_what_verdicts_are_left_out_is_said_once_for_the_file(tmp_path, monkeypatch, on_error):
    """Pieces of 12 rows, of which one has no verdict at all: its questions are no decisions, as in memory."""
    monkeypatch.setattr(run, "_ROWS", 12)
    source, out = write(judged_words(), tmp_path / "log.parquet"), tmp_path / "answers.csv"
    written = vt.decide_file(source, out, "pairwise", on_error=on_error)
    assert (written.decisions, written.failed) == (96, 0)
    assert [note for note in written.notes if "left out" in note] == [f"{source}: 12 verdicts are empty and left out"]
    (warning,) = written.warnings
    assert "'ERROR' stands in 1 of 288 verdicts" in warning
    assert_same(pl.read_csv(out), in_memory(source, "pairwise"))
    written = vt.decide_file(source, out, "pairwise", on_error=on_error, verdicts=["no", "yes"])
    assert written.warnings == ()
    said = [f"{source}: 12 verdicts are empty and left out", f"{source}: 1 verdict is another word and left out"]
    assert [note for note in written.notes if "left out" in note] == said
    assert set(pl.read_csv(out)["alternative"]) == {"no", "yes"}


def test_what_is_known_of_the_words_is_said_before_the_deciding_and_once(tmp_path, monkeypatch):
    source = write(judged_words(), tmp_path / "log.parquet")
    line = ["decide", str(source), "--rule", "pairwise", "--workers", "1", "--out", str(tmp_path / "a.csv")]
    known = ("'ERROR' stands in 1 of 288 verdicts", "Note: " + f"{source}: 12 verdicts are empty and left out")
    said = CliRunner().invoke(cli, line).stderr
    assert [said.count(text) for text in known] == [1, 1]
    monkeypatch.setattr(run, "_decide", lambda *_: 1 / 0)
    result = CliRunner().invoke(cli, line)
    assert isinstance(result.exception, ZeroDivisionError)
    assert [result.stderr.count(text) for text in known] == [1, 1]


def test_stretches_of_rows_are_found_across_batches(monkeypatch):
    table = votes()
    rows = Rows.of(table)
    whole = Runs.of(rows, "decision")
    monkeypatch.setattr("veritally.streams.rows._BATCH", 7)
    cut = Runs.of(rows, "decision")
    for one, other in ((whole.hashes, cut.hashes), (whole.starts, cut.starts), (whole.lengths, cut.lengths)):
        assert one.tolist() == other.tolist()
    assert len(whole.hashes) == MANY
    assert [piece.before for piece in whole.pieces(50)][:2] == [
        0,
        int(np.searchsorted(whole.starts, whole.pieces(50)[1].start)),
    ]


def test_names_that_are_spelt_in_several_ways_are_one_stretch(tmp_path):
    table = votes()
    spaces = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("")).otherwise(pl.lit("  "))
    names = ("decision", "voter", "alternative")
    spaced = table.with_columns((spaces + pl.col(name).cast(pl.String)).alias(name) for name in names)
    spaced.rename({"decision": " decision"}).write_parquet(tmp_path / "votes.parquet")
    rows = Rows.of(tmp_path / "votes.parquet")
    assert len(Runs.of(rows, "decision").hashes) == MANY
    vt.decide_file(tmp_path / "votes.parquet", tmp_path / "spaced.csv", "pairwise")
    vt.decide_file(table, tmp_path / "plain.csv", "pairwise")
    assert (tmp_path / "spaced.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()


def log_of_judges(questions=400, words="ABCD"):
    """Verdicts in which the last word is rare, so that most parts of the log have none."""
    random = np.random.default_rng(4)
    rows = [
        {"question": f"q{q:03}", "judge": f"judge{i}", "verdict": words[random.integers(3)]}
        for q in range(questions)
        for i in range(3)
    ]
    rows[-1]["verdict"] = words[-1]
    return pl.DataFrame(rows)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("bad", [1, 200], ids=["among the first", "in the middle"])
def test_a_bad_question_changes_no_other(tmp_path, bad):
    """The words of a log are those of all its rows, whatever part is read again without a question that fails."""
    log = log_of_judges()
    twice = pl.DataFrame({"question": [f"q{bad:03}"], "judge": ["judge0"], "verdict": ["D"]})
    log.vstack(twice).sort("question", maintain_order=True).write_parquet(tmp_path / "log.parquet")
    written = vt.decide_file(tmp_path / "log.parquet", tmp_path / "answers.csv", "plurality", on_error="skip")
    found = pl.read_csv(tmp_path / "answers.csv")
    assert (written.decisions, written.failed) == (400, 1)
    assert found.filter(pl.col("error").is_not_null())["decision"].to_list() == [f"q{bad:03}"]
    assert_same(
        found.filter(pl.col("error").is_null()).drop("error"),
        in_memory(log, "plurality").filter(pl.col("decision") != f"q{bad:03}"),
    )


@pytest.mark.usefixtures("small_pieces")
def test_a_panel_that_was_learned_is_kept(tmp_path, monkeypatch):
    table, best = judged()
    answers, out = dict(list(best.items())[:60]), tmp_path / "answers.csv"
    with pytest.raises(ZeroDivisionError):
        vt.decide_file(table, out, panel="learn", answers=answers, progress=lambda share: 1 / (share < 0.8))
    monkeypatch.setattr("veritally.streams.first_pass.learn_panel", None)  # which is not needed again
    written = vt.decide_file(table, out, panel="learn", answers=answers)
    monkeypatch.undo()
    again = vt.decide_file(table, tmp_path / "whole.csv", panel="learn", answers=answers)
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert written.panel.voters == again.panel.voters == ("Ann", "Bob", "Eve")


def test_the_command_says_what_panel_it_learned(tmp_path):
    table, best = judged()
    table.write_parquet(tmp_path / "votes.parquet")
    pl.DataFrame({"decision": list(best), "best": list(best.values())}).write_csv(tmp_path / "gold.csv")
    line = ["decide", str(tmp_path / "votes.parquet"), "--out", str(tmp_path / "answers.csv"), "--workers", "1"]
    result = CliRunner().invoke(cli, [*line, "--panel", "learn", "--answers", str(tmp_path / "gold.csv")])
    assert result.exit_code == 0
    assert "By a panel of 3 voters, learned from 120 decisions:" in result.output
