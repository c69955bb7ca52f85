"""Speed as ratios within one run: ``make bench`` prints them and records them in docs/benchmarks.md.

Machines differ, so nothing here is a time that a test could fail on.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from page import put_section

import veritally as vt
from veritally.planning.limits import Limits
from veritally.planning.looks import Looks
from veritally.planning.situations import Situations

ROOT = Path(__file__).parents[1]
PAIR = ("pairwise", "pairwise-normalized")

# Bytes at most in memory. (ru_maxrss would start from those of the parent process.)
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
"""
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
COLUMN = """
import json, statistics, time
import numpy as np
import veritally as vt
from veritally.experiments.rule_set import RuleSet
from veritally.experiments.run import run
from veritally.model.simulation import block_size

def median(work, repeats=7):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

scenario = vt.scenario("high-variance", voters=300)
slow = ("top-monte-carlo", "top-gradient", "learned", "learned-noisy", "learned-universal")
every = RuleSet.of(None, "values", 10).labels
rule_set = RuleSet.of([name for name in every if name not in slow], "values", 10)
size, blocks = block_size(scenario), 12
rng = np.random.default_rng(0)

def draw():
    for _ in range(blocks):
        rng.standard_normal((size, 300, 10))
        rng.integers(1, 50, (size, 300, 10))

def column():
    run(scenario, rule_set, ("regret", "accuracy"), 0, 0, blocks * size)

column()
print(json.dumps([median(column), median(draw), len(rule_set.labels)]))
"""
GROWTH = """
import sys
import veritally as vt
vt.compare("high-variance", rules=["all"], voters=30, instances=int(sys.argv[1]))
print(peak())
"""
MEASURE = """
import json, sys, time
start = time.perf_counter()
work(sys.argv[1])
seconds = time.perf_counter() - start
print(json.dumps([seconds, peak()]))
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
        [str(Path(sys.executable).with_name("veritally")), "decide", str(ROOT / "examples" / "clinics.csv")],
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
            command = [sys.executable, "-c", code + PEAK + MEASURE, str(path)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results.setdefault(name, []).append(json.loads(printed))
    seconds = {name: min(run[0] for run in runs) for name, runs in results.items()}
    peak = max(run[1] for run in results["veritally"])
    return seconds["veritally"], seconds["polars"], peak


def column():
    """A column of a table by the one-pass rules but two, against drawing its normals and counts; two processes."""
    command = [sys.executable, "-c", COLUMN]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = [json.loads(process.communicate()[0]) for process in both]
    ours, theirs = (max(result[k] for result in results) for k in (0, 1))
    return ours, theirs, results[0][2]


def top_rules():
    """The exact gradient of top choices against its estimate from 100 draws; one core."""
    trials = vt.simulate("high-variance", voters=300, instances=43, votes="top")
    exact, sampled = (vt.rule(name) for name in ("top-gradient", "top-monte-carlo"))
    ballots = trials.profile.ballots
    return quickest(lambda: exact.scores(ballots)), quickest(lambda: sampled.scores(ballots))


def top_gradients():
    """The gradient of top choices by its own quadrature against that of ``score``; one core."""
    ballots = vt.simulate("high-variance", voters=300, instances=43, votes="top").profile.ballots
    own, general = (vt.rule(name) for name in ("top-gradient", "score"))
    return quickest(lambda: own.scores(ballots)), quickest(lambda: general.scores(ballots))


def exact_score(voters):
    """The exact score of so many voters on 10 alternatives, against drawing as many normals; one core."""
    rng = np.random.default_rng(0)
    ranks = rng.permuted(np.broadcast_to(np.arange(1.0, 11), (voters, 10)), axis=1)
    profile = vt.Profile(ranks=ranks, counts=rng.integers(1, 51, (voters, 10)).astype(float))
    score = vt.rule("score", sigma=31.6)
    return (
        quickest(lambda: score.scores(profile.ballots), 1),
        quickest(lambda: rng.standard_normal((voters, 10))),
        profile.ballots,
    )


def universal():
    """The universal network's estimates and P(best) at 300 voters, against those of the posterior; one core."""
    ballots = vt.simulate("high-variance", voters=300, instances=10).profile.as_rankings().ballots
    known = {"sigma": 1000**0.5, "tau": 1.0}
    network, posterior = (vt.rule(name, **known) for name in ("learned-universal", "posterior"))
    exact = quickest(lambda: posterior.p_best(ballots), 2)
    return quickest(lambda: network.p_best(ballots)) / 10, exact / 10


def looks(votes):
    """The values of 1,000 possible looks, 10 × 10, against deciding the same with P(best); one core."""
    profile = vt.simulate(vt.Scenario(sigma=10, votes=votes), instances=1, seed=1).profile.decision(0)
    voter, at, times = (x.ravel() for x in np.meshgrid(range(10), range(10), (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)))
    number = times.astype(float)
    every = Looks(voter, np.ones(1000, dtype=int), number[:, None] * np.eye(10)[at], number, number)
    return valued(profile, every)


def compared_looks():
    """The values of 1,000 possible comparisons by ten voters, 10 alternatives, against deciding; one core."""
    rng, n = np.random.default_rng(1), 10
    truth, pairs = rng.normal(size=n), np.zeros((10, n, n))
    for voter in np.repeat(np.arange(10), 30):
        j, k = rng.choice(n, 2, replace=False)
        j, k = (j, k) if rng.normal(truth[j] - truth[k], 2) > 0 else (k, j)
        pairs[voter, j, k] += 1
    profile = vt.Profile(pairs=pairs)
    # One voter stands for all where nothing tells them apart, so these are the pairs in 22 or 23 blocks.
    at = [(j, k) for j in range(n) for k in range(j)]
    times = np.unique(np.round(np.geomspace(1, 1000, 30)))[:23]
    which, number = (x.ravel()[:1000] for x in np.meshgrid(np.arange(len(at)), times, indexing="ij"))
    added = number[:, None] * (np.eye(n)[[at[k][0] for k in which]] + np.eye(n)[[at[k][1] for k in which]])
    every = Looks(np.zeros(1000, dtype=int), np.ones(1000, dtype=int), added, number, number)
    return valued(profile, every)


def all_looks():
    """The values of all looks at 10 × 10 rankings, newcomers and everybody too, against deciding; one core."""
    profile = vt.simulate(vt.Scenario(sigma=10, votes="rankings"), instances=1, seed=1).profile.decision(0)
    limits = Limits.of(profile, 1e6, 1.0, None, (), True, None, None, None, None, 1.0)
    every = limits.looks(profile.ballots)
    return *valued(profile, every), len(every.cost)


def valued(profile, every):
    """The values of looks, as a plan finds them, and deciding with P(best)."""
    outcome = vt.decide(profile, tie_break="first")

    def value():
        situations = Situations.of(outcome)
        return situations.gains(situations.best(every, 300))

    return quickest(value), quickest(lambda: vt.decide(profile).p_best)


def growth():
    """Peak memory of a comparison at 2,000 and at 20,000 instances."""
    sizes = ("20000", "2000")
    command = [sys.executable, "-c", PEAK + GROWTH]
    return [int(subprocess.run([*command, n], check=True, capture_output=True, text=True).stdout) for n in sizes]


def row(what, against, ours, theirs, limit, note=""):
    missed = ", missed" if ours / theirs > Fraction(limit) else ""
    times = f"{ours:.3f} s | {theirs:.3f} s"
    return f"| {what} | {against} | {times} | **{ours / theirs:.3g}** | {limit}{missed} | {note} |"


def main():
    rows = []
    for dtype in (np.float64, np.float32):
        what = f"`pairwise` and `pairwise-normalized`, 1,000 × 300 × 10, {dtype.__name__}, one core"
        rows.append(row(what, "NumPy drawing as many standard normals", *pairwise(dtype), "4"))
    rows.append(row("`veritally decide` on the demo file, cold", '`python -c "import numpy"`', *cold_start(), "8"))
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, peak = large_file(Path(folder))
    what = "1,000,000 voters × 10 alternatives from tidy Parquet, `pairwise`"
    rows.append(row(what, "polars reading and pivoting it", ours, theirs, "3", f"peak {peak / 1e9:.2f} GB (limit 3)"))
    ours, theirs, rules = column()
    what = (
        f"a table's column at 300 voters, {rules} one-pass rules (all but networks and the next row's), two processes"
    )
    rows.append(row(what, "NumPy drawing its normals and counts", ours, theirs, "10"))
    rows.append(row("`top-gradient`, 300 voters", "`top-monte-carlo` with 100 samples", *top_rules(), "1/3"))
    rows.append(row("`top-gradient`, 300 voters", "`score` on the same", *top_gradients(), "1/3"))
    ours, theirs, _ = exact_score(1_000_000)
    rows.append(row("`score`, 1,000,000 × 10, one core", "NumPy drawing as many normals", ours, theirs, "300"))
    ours, theirs, ballots = exact_score(50_000)
    posterior = vt.rule("posterior", sigma=31.6, tau=1.0)
    climbing = quickest(lambda: posterior.scores(ballots), 1)
    rows.append(row("`posterior`, σ given, 50,000 × 10, one core", "`score` on the same", climbing, ours, "40"))
    what = "`learned-universal`, σ given, 300 × 10, estimates and P(best), one core"
    rows.append(row(what, "`posterior` on the same", *universal(), "1/20"))
    against = "deciding once, with P(best)"
    kinds = ("values", "rankings", "top")
    rows += [row(f"1,000 possible looks at {votes}, 10 × 10", against, *looks(votes), "5") for votes in kinds]
    rows.append(row("1,000 possible comparisons, 10 alternatives", against, *compared_looks(), "5"))
    ours, theirs, number = all_looks()
    what = f"all {number:,} looks offered at rankings, newcomers and everybody too, 10 × 10"
    rows.append(row(what, against, ours, theirs, "5"))
    many, few = growth()
    memory = f"{many / 1e6:.0f} MB | {few / 1e6:.0f} MB | **{many / few:.2f}**"
    rows.append(f"| peak memory of `compare`, all rules, 20,000 instances | at 2,000 | {memory} | about 1 | |")
    gpu, exact = json.loads((ROOT / "benchmarks" / "gpu.json").read_text()).values()
    table = "\n".join(
        [
            "| what | reference | ours | the reference | ratio | at most | |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )
    print(table)
    put_section(
        ROOT / "docs" / "benchmarks.md",
        "speed",
        "## Speed\n\n"
        "Machines differ, so each row compares the work with a reference in the same run. The seconds are those of the "
        "machine that ran it last. `make bench` measures this and rewrites this section.\n\n"
        f"{table}\n\n## On an accelerator\n\n"
        "How long do the paper's four tables take, with 100,000 instances a cell?\n\n"
        f"- {gpu['rules']} rules on one {gpu['device']}: **{gpu['process']:.0f} s** from the start of the process "
        f"(limit 60). The first chunk was done after {gpu['until_the_first_chunk']:.0f} s, most of them for "
        f"compilation. Measured by `python benchmarks/gpu.py` with JAX {gpu['jax']}, the median of three runs.\n"
        f"- {exact['rules']} rules, with the exact ones on rankings and favourites: **{exact['seconds']:.0f} s** "
        "(limit 600). Measured by `python benchmarks/gpu.py exact`.\n",
    )


if __name__ == "__main__":
    main()
