"""Files of any size: time beside what polars needs to read and group the same rows, and peak memory.

``python benchmarks/streams.py``, as ``make bench`` does it, writes benchmarks/streams.json, from which ``make pages``
fills docs/benchmarks.md.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil

ROOT = Path(__file__).parents[1]
ROWS = 1_000_000  # that are made at a time

POLARS = """
import polars as pl
table = pl.read_parquet(source)
grouped = table.group_by(key).agg(pl.all())
"""
VERITALLY = """
import veritally as vt
if __name__ == "__main__":
    vt.decide_file(source, out, rule, workers=workers, force=True, **settings)
"""
TIME = """
if __name__ == "__main__":
    print(time.perf_counter() - start)
"""


def decisions(number, path):
    """Write decisions of 3 voters on 3 alternatives, a row for each voter and alternative."""
    random = np.random.default_rng(0)
    ranks = np.argsort(np.argsort(random.random((number, 3, 3)), axis=-1), axis=-1) + 1
    d, i, j = np.indices(ranks.shape)
    names = {"decision": ("q{}", d), "voter": ("v{}", i), "alternative": ("a{}", j)}
    table = pl.DataFrame({name: x.ravel() for name, (_, x) in names.items()})
    table = table.with_columns(pl.format(form, name).alias(name) for name, (form, _) in names.items())
    counts = random.integers(1, 50, ranks.size)
    table.with_columns(rank=pl.Series(ranks.ravel()), count=pl.Series(counts)).write_parquet(path)


def one_decision(voters, path):
    """Write one decision by voters on 10 alternatives, as a folder of parts."""
    path.mkdir()
    random = np.random.default_rng(0)
    for part, first in enumerate(range(0, voters, ROWS // 10)):
        number = min(ROWS // 10, voters - first)
        ranks = np.argsort(np.argsort(random.random((number, 10)), axis=-1), axis=-1) + 1
        i, j = np.indices(ranks.shape)
        table = pl.DataFrame({"voter": (i + first).ravel(), "alternative": j.ravel(), "rank": ranks.ravel()})
        counts = pl.Series("count", random.integers(1, 50, ranks.size))
        names = (pl.format("v{}", "voter").alias("voter"), pl.format("a{}", "alternative").alias("alternative"))
        table.with_columns(*names, counts).write_parquet(path / f"part-{part:03}.parquet")


def shuffled(source, path):
    """Write the same rows in random order."""
    pl.read_parquet(source).sample(fraction=1, shuffle=True, seed=1).write_parquet(path)


def measured(code, **given):
    """Run code in a process of its own, twice; return the least seconds and the most bytes."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "work.py"
        values = "\n".join(f"{name} = {value!r}" for name, value in given.items())
        script.write_text(f"import time\nstart = time.perf_counter()\n{values}\n{code}\n{TIME}")
        runs = [watched([sys.executable, script]) for _ in range(2)]
    return min(seconds for seconds, _ in runs), max(peak for _, peak in runs)


def watched(command):
    """Run a command that prints its seconds; return these and the bytes that it and its processes had, each at most."""
    peaks = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        own = psutil.Process(running.pid)
        while running.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                peaks |= {
                    process.pid: found for process in [own, *own.children(True)] if (found := peak_of(process.pid))
                }
            time.sleep(0.01)
        if running.returncode:
            raise subprocess.CalledProcessError(running.returncode, command)
        return float(running.stdout.read()), sum(peaks.values())


def peak_of(process):
    """Return the most bytes that a process has had; 0 if it has ended."""
    with contextlib.suppress(OSError), Path(f"/proc/{process}/status").open() as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")), 0)
    return 0


def main():
    cores = len(os.sched_getaffinity(0))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        decisions(1_000_000, folder / "million.parquet")
        decisions(100_000, folder / "hundred-thousand.parquet")
        one_decision(3_000_000, folder / "voters")
        shuffled(folder / "million.parquet", folder / "shuffled.parquet")
        plan = [
            ("1,000,000 decisions of 3 × 3, `pairwise`", "million.parquet", "decision", "pairwise", {}, True),
            ("the same, rows shuffled", "shuffled.parquet", "decision", "pairwise", {}, True),
            ("one decision of 30,000,000 rows, `pairwise`", "voters", "voter", "pairwise", {}, True),
            (
                "100,000 decisions of 3 × 3, `posterior`, σ and τ given",
                "hundred-thousand.parquet",
                "decision",
                "posterior",
                {"sigma": 10.0, "tau": 1.0},
                False,
            ),
        ]
        for what, source, key, rule, settings, limited in plan:
            files = str(folder / source)
            given = {"source": files, "out": str(folder / "out.parquet"), "rule": rule, "settings": settings}
            seconds, peak = measured(VERITALLY, **given, workers=cores)
            pattern = f"{files}/*.parquet" if Path(files).is_dir() else files
            theirs, their_peak = measured(POLARS, source=pattern, key=key, workers=1)
            row = {"what": what, "seconds": seconds, "polars_seconds": theirs, "ratio": seconds / theirs}
            row |= {"bytes": peak, "polars_bytes": their_peak, "limited": limited}
            rows.append(row)
            print(json.dumps(row), flush=True)
    found = {"cores": cores, "rows": rows}
    (ROOT / "benchmarks" / "streams.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
