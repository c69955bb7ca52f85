"""Work on a real Dask cluster: the same bytes as here, and a sentence when it is lost."""

import importlib
import os
import socket
import subprocess
import sys
import threading
import time
import warnings
from itertools import count

import numpy as np
import pytest
from click.testing import CliRunner

import veritally as vt
from clusters import Cluster
from veritally import cluster as module
from veritally.cli import cli
from veritally.cluster import connected
from veritally.panel import slices
from veritally.streams import run
from veritally.work import worked

SCENARIO = {"voters": 30, "instances": 20_000, "rules": ["borda", "pairwise"]}
TABLES = {"tables": ["low-variance"], "voters": [3, 30], "rules": ["borda", "pairwise"], "instances": 20_000}
LINE = ["--tables", "low-variance", "--voters", "3,30", "--rules", "borda,pairwise", "--instances", "20000"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("dask"), workers=2) as made:
        yield made


@pytest.fixture(scope="module")
def fragile(tmp_path_factory):
    """A scheduler without workers, which gives no piece to a second one."""
    with Cluster(tmp_path_factory.mktemp("dask"), DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as made:
        yield made


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """What one process makes of the tables."""
    folder = tmp_path_factory.mktemp("alone")
    vt.reproduce(folder, **TABLES)
    return (folder / "results.csv").read_bytes()


def killer(process):
    """Progress at whose second step a process is killed."""
    steps = count()
    return lambda *_: process.kill() if next(steps) == 1 else None


def once_there(executor, workers):
    """Wait until so many workers work."""
    executor._client.wait_for_workers(workers, timeout=60)


def test_compare_gives_the_same_bytes_also_when_a_worker_is_killed(cluster):
    alone = vt.compare("low-variance", **SCENARIO)
    with connected(cluster.address) as executor:
        once_there(executor, 2)
        assert vt.compare("low-variance", **SCENARIO, executor=executor).rows() == alone.rows()
        victim = cluster.add_worker()
        once_there(executor, 3)
        again = vt.compare("low-variance", **SCENARIO, executor=executor, progress=killer(victim))
        assert again.rows() == alone.rows()
    assert victim.wait(60) == -9


def test_what_nobody_waits_for_is_not_done(cluster, tmp_path):
    """The first piece of two workers fails: at most the three that are begun by then are done, of eight handed out."""

    def begin(piece):
        (tmp_path / str(piece)).touch()
        if piece == 0:
            raise ValueError("this piece cannot be done")
        time.sleep(0.4)

    with connected(cluster.address) as executor:
        once_there(executor, 2)
        with pytest.raises(ValueError, match="cannot be done"):
            list(worked(begin, range(8), executor=executor, ahead=8))
        time.sleep(2)
        assert len(list(tmp_path.iterdir())) <= 4


def test_reproduce_gives_the_same_bytes_also_when_a_worker_is_killed(cluster, reproduced, tmp_path):
    victim = cluster.add_worker()
    with connected(cluster.address) as executor:
        once_there(executor, 3)
        vt.reproduce(tmp_path, **TABLES, executor=executor, progress=killer(victim))
    assert victim.wait(60) == -9
    assert (tmp_path / "results.csv").read_bytes() == reproduced


def test_a_panel_is_the_same_to_the_last_bit_also_when_a_worker_is_killed(cluster, monkeypatch):
    monkeypatch.setattr(slices, "_CELLS", 60)  # of ten decisions each
    random = np.random.default_rng(0)
    truth = random.normal(size=(40, 3))
    seen = truth[:, None] + random.normal(size=(40, 2, 3))
    profile = vt.Profile(ranks=1 + np.argsort(np.argsort(-seen, axis=-1), axis=-1), voters=["Ann", "Bob"])
    alone = vt.learn_panel(profile, truth, factors=0)
    victim = cluster.add_worker()
    kill = killer(victim)
    with connected(cluster.address) as executor, monkeypatch.context() as patch:
        once_there(executor, 3)
        patch.setattr(slices, "report", kill)
        others = vt.learn_panel(profile, truth, factors=0, executor=executor)
    assert victim.wait(60) == -9
    for name in ("slope", "slope_error", "correlation"):
        assert getattr(others, name).tobytes() == getattr(alone, name).tobytes()


def test_a_file_is_decided_to_the_same_bytes_also_when_a_worker_is_killed(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_ROWS_OF_SEARCHES", 100)
    random = np.random.default_rng(2)
    ranks = 1 + np.argsort(np.argsort(random.random((100, 3, 3)), axis=-1), axis=-1)
    votes = vt.to_frame(vt.Profile(ranks=ranks, counts=random.integers(1, 30, ranks.shape)))
    vt.decide_file(votes, tmp_path / "alone.parquet", sigma=5.0, tau=1.0)
    victim = cluster.add_worker()
    with connected(cluster.address) as executor:
        once_there(executor, 3)
        others = tmp_path / "others.parquet"
        vt.decide_file(
            votes,
            others,
            sigma=5.0,
            tau=1.0,
            executor=executor,
            progress=lambda share: victim.kill() if share > 0.3 else None,
        )
    assert victim.wait(60) == -9
    assert others.read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    votes.write_parquet(tmp_path / "votes.parquet")
    line = ["decide", str(tmp_path / "votes.parquet"), "--sigma", "5", "--tau", "1", "--out", str(others)]
    result = CliRunner().invoke(cli, [*line, "--cluster", cluster.address])
    assert result.exit_code == 0
    assert others.read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    assert "with --cluster leave it out" in CliRunner().invoke(cli, [*line, "--cluster", "x", "--workers", "2"]).output


def test_nothing_is_said_of_large_pieces(cluster):
    with connected(cluster.address) as executor, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert executor.submit(len, bytes(12_000_000)).result() == 12_000_000


def test_a_group_is_composed_alike(cluster):
    given = {"alternatives": 3, "sigma": 2, "looks": 30, "voters": [1, 5], "known": [2], "instances": 200}
    with connected(cluster.address) as executor:
        others = vt.compose(**given, executor=executor)
    for one, other in zip(vt.compose(**given).regrets, others.regrets, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_command_says_nothing_of_the_cluster(cluster):
    line = ["compare", "--scenario", "low-variance", "--voters", "3", "--rules", "borda", "--json"]
    result = subprocess.run(
        [sys.executable, "-m", "veritally", *line, "--cluster", cluster.address], capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == CliRunner().invoke(cli, [*line, "--workers", "1"]).stdout


KILL = """
import os, sys
from veritally.cli import cli
from veritally.experiments.ledger import Ledger

add, scheduler = Ledger.add, [int(sys.argv[1])]

def add_and_kill(*given):
    add(*given)
    if scheduler:
        os.kill(scheduler.pop(), 9)

Ledger.add = add_and_kill
cli(sys.argv[2:])
"""


def test_a_lost_scheduler_is_a_sentence_and_the_command_goes_on(cluster, reproduced, tmp_path):
    out = ["--out", str(tmp_path / "out")]
    (tmp_path / "dask").mkdir()
    with Cluster(tmp_path / "dask", workers=2) as lost:
        line = [str(lost.scheduler.pid), "reproduce", *LINE, *out, "--cluster", lost.address]
        result = subprocess.run([sys.executable, "-c", KILL, *line], capture_output=True, text=True)
    assert result.returncode == 2
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith(
        f"Error: the Dask scheduler at '{lost.address}' was lost; start it and its workers again"
    )
    assert f"is done and kept in {out[1]})" in sentence
    kept = (tmp_path / "out" / "chunks.jsonl").read_bytes().count(b"\n")
    again = CliRunner().invoke(cli, ["reproduce", *LINE, *out, "--cluster", cluster.address])
    assert again.exit_code == 0
    assert kept
    assert "Resuming at " in again.stderr
    assert (tmp_path / "out" / "results.csv").read_bytes() == reproduced


def test_what_cannot_be_sent_is_a_sentence(fragile):
    lock = threading.Lock()
    with connected(fragile.address) as executor, pytest.raises(vt.InputError, match="cannot be sent to a cluster; use"):
        list(worked(lambda _: lock, [1], executor=executor))


def test_a_module_that_a_cluster_does_not_have_is_named(cluster, tmp_path, monkeypatch):
    (tmp_path / "own_rules.py").write_text("def double(x): return 2 * x")
    monkeypatch.syspath_prepend(tmp_path)
    double = importlib.import_module("own_rules").double
    with connected(cluster.address) as executor, pytest.raises(vt.InputError, match="No module named 'own_rules'"):
        list(worked(double, [1], executor=executor))


def test_no_workers_are_a_sentence(fragile, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 2.0)
    with connected(fragile.address) as executor, pytest.raises(vt.InputError, match="has no workers; start some with"):
        vt.compare("low-variance", voters=3, instances=200, executor=executor)


def test_a_piece_that_ends_its_worker_is_a_sentence(fragile):
    fragile.add_worker()
    with connected(fragile.address) as executor:
        once_there(executor, 1)
        with pytest.raises(vt.InputError, match=r"workers .* ended over one piece of work \(1 in a row\); give them"):
            list(worked(os._exit, [1], executor=executor))


def test_workers_that_all_end_are_a_sentence(fragile, monkeypatch):
    only = fragile.add_worker()
    with connected(fragile.address) as executor:
        once_there(executor, 1)
        list(worked(abs, [1], executor=executor))
        monkeypatch.setattr(module, "_PATIENCE", 2.0)
        only.kill()
        latest = time.monotonic() + 60
        while executor._client.ncores():  # until the scheduler knows
            assert time.monotonic() < latest
            time.sleep(0.05)
        with pytest.raises(vt.InputError, match=r"all workers of .* ended; see why in their logs"):
            list(worked(abs, [1], executor=executor))


@pytest.mark.parametrize("address", ["", "nowhere", "no://127.0.0.1:1", "silent"])
def test_a_wrong_address_is_a_sentence(address, monkeypatch):
    monkeypatch.setattr(module, "_ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # who takes calls, and says nothing
        given = f"tcp://127.0.0.1:{silent.getsockname()[1]}" if address == "silent" else address
        result = CliRunner().invoke(cli, ["compare", "--scenario", "low-variance", "--cluster", given])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: no Dask scheduler answers at '{given}'; start one with `dask scheduler`")


@pytest.mark.parametrize("line", ["compare", "reproduce", "panel votes.csv"])
def test_processes_here_and_a_cluster_are_not_given_together(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, [*line.split(), "--workers", "2", "--cluster", "tcp://127.0.0.1:1"])
    assert result.exit_code == 2
    assert "--workers is about processes here; with --cluster leave it out" in result.stderr
