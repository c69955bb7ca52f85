"""Speed as ratios within one run: ``make bench`` prints them and records them in docs/benchmarks.md.

Machines differ, so nothing here is a time that a test could fail on.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import veritally as vt

ROOT = Path(__file__).parents[1]
PAIR = ("pairwise", "pairwise-normalized")

POLARS = """
import polars as pl
def work(path):
    table = pl.read_parquet(path)
    return table.pivot("alternative", index="voter", values=["rank", "count"])
"""
VERITALLY = """
import veritally as vt, polars
def work(path):
    return vt.decide(vt.read(path), "pairwise").scores
"""
MEASURE = """
import json, resource, sys, time
start = time.perf_counter()
work(sys.argv[1])
seconds = time.perf_counter() - start
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def quickest(work, repeats=7):
    """Seconds of the quickest of several runs, the one least disturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def pairwise(dtype):
    """Both pairwise rules on 1,000 × 300 voters × 10 alternatives, against drawing as many normals; one core."""
    shape = (1000, 300, 10)
    rng = np.random.default_rng(0)
    ranks = np.argsort(np.argsort(rng.random(shape), axis=-1), axis=-1) + 1
    profile = vt.Profile(ranks=ranks.astype(dtype), counts=rng.integers(1, 50, shape).astype(dtype))
    rules = quickest(lambda: vt.evaluate(profile, PAIR))
    drawing = quickest(lambda: rng.standard_normal(shape, dtype=dtype))
    return rules, drawing


def cold_start():
    """``veritally decide`` on the demo file, against ``import numpy``; medians of alternating runs."""
    commands = (
        [str(Path(sys.executable).with_name("veritally")), "decide", str(ROOT / "examples" / "panel.csv")],
        [sys.executable, "-c", "import numpy"],
    )
    times = [[], []]
    for turn in range(16):
        for command, seconds in zip(commands, times, strict=True):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            if turn:  # the first run may still have to compile
                seconds.append(time.perf_counter() - start)
    return tuple(map(statistics.median, times))


def large_file(folder):
    """A Parquet file of 1,000,000 voters × 10 alternatives, against reading and pivoting it with polars."""
    import polars as pl

    m, n = 1_000_000, 10
    rng = np.random.default_rng(0)
    path = folder / "votes.parquet"
    pl.DataFrame(
        {
            "voter": np.repeat(np.arange(m), n),
            "alternative": np.tile([f"a{j}" for j in range(n)], m),
            "rank": (np.argsort(np.argsort(rng.random((m, n)), axis=-1), axis=-1) + 1).ravel(),
            "count": rng.integers(1, 50, m * n),
        }
    ).with_columns(pl.format("v{}", "voter").alias("voter")).write_parquet(path)
    results = {}
    for _ in range(3):
        for name, code in (("veritally", VERITALLY), ("polars", POLARS)):
            command = [sys.executable, "-c", code + MEASURE, str(path)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results.setdefault(name, []).append(json.loads(printed))
    seconds = {name: min(run[0] for run in runs) for name, runs in results.items()}
    peak = max(run[1] for run in results["veritally"])
    return seconds["veritally"], seconds["polars"], peak


def row(what, against, ours, theirs, limit, note=""):
    return f"| {what} | {against} | {ours:.3f} s | {theirs:.3f} s | **{ours / theirs:.2f}** | {limit} | {note} |"


def main():
    rows = []
    for dtype in (np.float64, np.float32):
        what = f"`pairwise` and `pairwise-normalized`, 1,000 × 300 × 10, {dtype.__name__}, one core"
        rows.append(row(what, "NumPy drawing as many standard normals", *pairwise(dtype), "4"))
    rows.append(row("`veritally decide` on the demo file, cold", '`python -c "import numpy"`', *cold_start(), "5"))
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, peak = large_file(Path(folder))
    what = "1,000,000 voters × 10 alternatives from tidy Parquet, `pairwise`"
    rows.append(row(what, "polars reading and pivoting it", ours, theirs, "3", f"peak {peak / 1e9:.2f} GB (limit 3)"))
    table = "\n".join(
        [
            "| what | against | ours | theirs | ratio | at most | |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )
    print(table)
    (ROOT / "docs" / "benchmarks.md").write_text(
        "# Benchmarks\n\nRatios within one run of `make bench`, which rewrites this page; the seconds are those of the "
        f"machine that ran it last.\n\n{table}\n"
    )


if __name__ == "__main__":
    main()
