"""Work in pieces: the same wherever it is done, and a sentence when those who do it are lost."""

import itertools
import os
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import veritally as vt
from veritally import work
from veritally.errors import InputError
from veritally.work import THREADS, in_order, processes, worked

QUICK = {"voters": 3, "instances": 2000, "rules": ["borda", "pairwise"]}


def double(x):
    return 2 * x


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_do_what_one_does(workers):
    assert dict(worked(double, range(7), workers)) == {x: 2 * x for x in range(7)}


def test_any_executor_does_what_one_process_does():
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(1, get_context("spawn")) as processes:
        found = [
            vt.compare("low-variance", **QUICK, executor=executor).to_frame() for executor in (None, threads, processes)
        ]
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_of_pieces_that_fail_the_first_is_named_though_another_failed_before_it():
    failed = threading.Event()

    def fail(piece):
        if piece == 1:
            failed.wait(60)
        if piece:
            threading.Timer(0.1, failed.set).start()
            raise InputError(f"piece {piece}")
        return piece

    with ThreadPoolExecutor(3) as executor:
        found = worked(fail, range(3), executor=executor)
        assert next(found) == (0, 0)
        with pytest.raises(InputError, match="piece 1"):
            list(found)


def test_pieces_are_taken_as_they_are_wanted():
    with ThreadPoolExecutor(1) as executor:
        endless = itertools.count()
        done = list(itertools.islice(worked(double, endless, executor=executor, ahead=3), 5))
        assert sorted(piece for piece, _ in done) == sorted(result // 2 for _, result in done)
        assert next(endless) <= 5 + 3


def test_what_waits_for_its_turn_needs_little_memory():
    """The first piece is slow: the others wait to be begun, not to be handed on."""
    begun, go = [], threading.Event()

    def work(x):
        begun.append(x)
        if x == 0:
            go.wait(30)
        return x

    with ThreadPoolExecutor(2) as executor:
        threading.Timer(0.3, go.set).start()
        found = in_order(work, itertools.count(), executor=executor)
        assert next(found) == 0
        assert len(begun) <= 2 * 4
        assert list(itertools.islice(found, 20)) == list(range(1, 21))
        found.close()


def test_processes_that_end_leave_others_alone():
    with ProcessPoolExecutor(1, get_context("spawn")) as others:
        assert others.submit(double, 1).result() == 2
        with processes(1) as own:
            begun = own.submit(double, 2)
            assert others.submit(double, 3).result() == 6
            assert begun.result() == 4
        assert others.submit(double, 5).result() == 10


def test_the_environment_stays_as_it_was(monkeypatch):
    """Processes have one thread each, whoever starts some at the same time."""
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(_threads_in_a_process, range(4)))
    assert found == [["1"] * len(THREADS)] * 4
    assert not set(THREADS) & set(os.environ)


def _threads_in_a_process(_):
    with processes(1) as own:
        return own.submit(_environment).result()


def _environment():
    return [os.environ.get(name) for name in THREADS]


INTERRUPTED = """
import os, signal, time
from veritally.work import processes
if __name__ == "__main__":
    with processes(2) as pool:
        begun = [pool.submit(abs, -3) for _ in range(2)]
        try:
            os.killpg(0, signal.SIGINT)  # as Ctrl-C in a terminal does, while processes start
            time.sleep(30)
        except KeyboardInterrupt:
            print([one.result() for one in begun])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
def test_processes_leave_interruptions_to_their_parent_from_the_start(tmp_path):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    command = [sys.executable, str(tmp_path / "script.py")]
    found = subprocess.run(command, capture_output=True, text=True, start_new_session=True, check=False)
    assert found.stderr == ""
    assert found.stdout == "[3, 3]\n"


def test_reproduce_takes_an_executor(tmp_path):
    settings = {"tables": ["low-variance"], "voters": [3], "rules": ["borda"], "instances": 200}
    alone = vt.reproduce(tmp_path / "alone", **settings)
    with ThreadPoolExecutor(2) as executor:
        others = vt.reproduce(tmp_path / "others", **settings, executor=executor)
    assert alone.to_frame().equals(others.to_frame())


class Lost(Executor):
    """An executor whose work is called off."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        future.set_exception(CancelledError("no scheduler"))
        return future


def test_a_lost_executor_is_a_sentence():
    with pytest.raises(vt.InputError, match=r"the executor was lost \(no scheduler\); start it anew"):
        vt.compare("low-variance", **QUICK, executor=Lost())


def test_others_must_have_the_same_versions(monkeypatch):
    task = work._Alike(double)
    monkeypatch.setattr(work, "_versions", lambda: task.versions | {"numpy": "1.0"})
    with pytest.raises(vt.InputError, match=r"a worker has numpy 1.0 and this process has .*; install the same"):
        task(3)


def test_what_is_no_executor_is_refused():
    with pytest.raises(vt.InputError, match=r"takes a concurrent.futures.Executor, not int; of a Dask client take"):
        vt.compare("low-variance", **QUICK, executor=4)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(vt.InputError, match="executor is for the backend numpy"),
    ):
        vt.compare("low-variance", **QUICK, backend="jax", executor=executor)
