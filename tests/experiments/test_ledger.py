"""Finished chunks in a file: what it keeps, who may write it, and what of it is believed."""

import json
import subprocess
import sys
import zlib

import numpy as np
import pytest

import veritally as vt
from processes import holder
from veritally.experiments.chunks import plan_chunks
from veritally.experiments.ledger import Ledger
from veritally.experiments.rule_set import RuleSet
from veritally.experiments.tables import MEASURED, measure_tables

SMALL = {"tables": ["low-variance"], "voters": [3], "rules": ["borda", "mean"], "instances": 200}
COMMAND = ["--tables", "low-variance,high-variance", "--voters", "3,10", "--rules", "borda,mean", "--instances", "300"]


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "chunks.jsonl"


def chunks(instances=20, seeds=(0, 1)):
    rule_set = RuleSet.of(["borda", "mean"], "values", 10)
    return [
        plan_chunks(vt.scenario("low-variance", voters=3), rule_set, MEASURED, instances, seed, "numpy")[0]
        for seed in seeds
    ]


def reproduce(folder):
    command = [sys.executable, "-m", "veritally", "reproduce", "--workers", "1", "--out", str(folder), *COMMAND]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_a_ledger_reads_what_it_wrote(ledger):
    chunk, other = chunks()
    kept = Ledger(ledger)
    assert chunk not in kept
    kept.add(chunk, chunk.run())
    kept.close()
    again = Ledger(ledger)
    assert chunk in again
    assert other not in again
    np.testing.assert_array_equal(again[chunk].products, chunk.run().products)
    again.close()


@pytest.mark.slow
def test_two_runs_in_one_folder_are_both_right_or_one_says_who_is_there(tmp_path):
    reproduce(tmp_path / "alone").communicate()
    expected = (tmp_path / "alone" / "results.csv").read_bytes()
    for trial in range(2):
        folder = tmp_path / str(trial)
        both = [reproduce(folder), reproduce(folder)]
        said = [process.communicate()[1] for process in both]
        codes = [process.returncode for process in both]
        assert sorted(codes) in ([0, 0], [0, 2]), said
        for code, process, text in zip(codes, reversed(both), said, strict=True):
            assert code == 0 or f"in use by process {process.pid} " in text
        assert (folder / "results.csv").read_bytes() == expected
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_ledger_belongs_to_one_process_at_a_time(ledger):
    with holder(ledger) as process, pytest.raises(vt.InputError, match=f"in use by process {process.pid} "):
        measure_tables(ledger, **SMALL)
    measure_tables(ledger, **SMALL)


def test_lines_that_another_program_moved_are_not_taken_for_others(ledger):
    chunk, other = chunks()
    kept = Ledger(ledger)
    kept.add(chunk, chunk.run())
    kept.add(other, other.run())
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(reversed(lines)))
    with pytest.raises(vt.InputError, match="was changed by another program in the meantime"):
        kept[chunk]
    kept.close()


def forged(line, change):
    """A line with other sums, and the checksum that belongs to them."""
    found = json.loads(line)
    sums = change(found["sums"])
    check = zlib.crc32(json.dumps(sums).encode())
    return json.dumps({"key": found["key"], "check": check, "sums": sums}).encode() + b"\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda sums: {},
        lambda sums: None,
        lambda sums: "sums",
        lambda sums: [1, 2],
        lambda sums: sums | {"instances": sums["instances"] + 1},
        lambda sums: sums | {"instances": "many"},
        lambda sums: sums | {"totals": [[1.0]]},
        lambda sums: sums | {"totals": [[0.0] * 100_000] * len(sums["totals"])},
        lambda sums: sums | {"totals": [["a", "b"]] * len(sums["totals"])},
        lambda sums: sums | {"squares": [[1.0], [1.0, 2.0]]},
        lambda sums: sums | {"squares": {"a": 1}},
        lambda sums: sums | {"products": 1.0},
        lambda sums: sums | {"products": [float("nan")] * len(sums["products"])},
        lambda sums: sums | {"products": [10**400] * len(sums["products"])},
    ],
)
def test_a_forged_line_is_measured_anew(ledger, change):
    expected = list(measure_tables(ledger, **SMALL).results())
    (line,) = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(forged(line, change))
    done = []
    for _ in range(2):
        again = measure_tables(ledger, progress=lambda *step: done.append(step), **SMALL)
        assert list(again.results()) == expected
    assert len(done) == 2 + 1  # once anew, and then what was kept of that


def test_a_file_that_is_no_ledger_is_left_alone(ledger):
    ledger.write_text("my own notes\nof many things")
    with pytest.raises(vt.InputError, match="exists, but is not a record of finished chunks"):
        measure_tables(ledger, **SMALL)
    assert ledger.read_text() == "my own notes\nof many things"
