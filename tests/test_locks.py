"""Locks between processes: one at a time, with the name of the holder, and none that outlives it."""

import subprocess
import sys

import pytest

import veritally as vt
from processes import holder
from veritally.locks import held


def test_a_second_process_is_told_who_has_the_file(tmp_path):
    path = tmp_path / "work"
    with holder(path) as process:
        with pytest.raises(
            vt.InputError, match=rf"in use by process {process.pid} on .* since \d{{4}}-\d\d-\d\d \d\d:"
        ):
            held(path).__enter__()
        process.communicate("")
    with held(path):
        assert [one.name for one in tmp_path.iterdir()] == [".work.lock"]
    assert not list(tmp_path.iterdir())


def test_a_lock_ends_with_a_killed_process(tmp_path):
    with holder(tmp_path / "work") as process:
        process.kill()
        process.wait()
        with held(tmp_path / "work"):
            pass


def test_processes_that_come_and_go_never_meet(tmp_path):
    """Many take turns on one file, each of which adds one to a number in it; a lost lock would lose an addition."""
    code = (
        "import sys; from pathlib import Path; from veritally.locks import held; from veritally import InputError\n"
        "number, done = Path(sys.argv[1]), 0\n"
        "while done < 50:\n"
        "    try:\n"
        "        with held(number):\n"
        "            number.write_text(str(int(number.read_text()) + 1)); done += 1\n"
        "    except InputError: pass\n"
    )
    number = tmp_path / "number"
    number.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert number.read_text() == "150"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_full_disk_is_a_sentence(tmp_path):
    """A limit on the size of files stands for it, in a process of its own."""
    code = (
        "import resource, signal, sys; from pathlib import Path; from veritally.locks import held\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from veritally import InputError\n"
        "try: held(Path(sys.argv[1])).__enter__()\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "work")], capture_output=True, text=True)
    assert done.stdout.startswith(f"{tmp_path / 'work'}: cannot be written (")
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(vt.InputError, match="cannot be written"):
        held(tmp_path / "missing" / "work").__enter__()
