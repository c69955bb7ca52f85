"""Broken files of every form give a result or one sentence; ``make fuzz`` tries many more of them."""

import shutil

import pytest
from misbehaviour import WRONG
from runner import fuzz


def test_broken_files_give_a_result_or_a_sentence(tmp_path):
    report = fuzz(seed=0, start=0, stop=150, folder=tmp_path)
    assert not report.problems, "\n".join(f"file {number}: {text}" for number, text in report.problems.items())
    assert report.verdicts.total() == 150
    assert min(report.verdicts["result"], report.verdicts["sentence"]) > 30
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def misbehaved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("misbehaviour")
    return fuzz(0, 0, 14, folder, trial="misbehaviour:trial", seconds=1, silence=9)


@pytest.mark.slow
@pytest.mark.parametrize("number", WRONG)
def test_the_runner_notices_what_goes_wrong(misbehaved, number):
    assert WRONG[number] in misbehaved.problems[number]


@pytest.mark.slow
def test_the_runner_goes_on_after_it(misbehaved):
    assert misbehaved.problems.keys() == WRONG.keys()
    assert misbehaved.verdicts == {"result": 6, "sentence": 2}


@pytest.mark.slow
def test_a_file_depends_on_seed_and_number_alone(tmp_path):
    kept = {}
    for start in (0, 7):
        fuzz(3, start, 9, tmp_path, trial="test_fuzz:keep")
        kept[start] = (tmp_path / "8").read_bytes()
        shutil.rmtree(tmp_path)
    assert kept[0] == kept[7] != b""


def keep(seed, number, folder):
    """A trial that only writes the file."""
    from random import Random

    from trials import made

    (folder / str(number)).write_bytes(made(Random(f"{seed}/{number}")).data)
    return "result"
