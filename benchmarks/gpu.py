"""The paper's four tables on an accelerator, in a fresh process, compilation included.

``python benchmarks/gpu.py`` records the time in benchmarks/gpu.json, which ``make bench`` puts into docs/benchmarks.md;
``python benchmarks/gpu.py exact`` that of the run with the exact rules. Needs JAX with a GPU.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECORD = Path(__file__).with_name("gpu.json")
EXACT = "all,top-monte-carlo:samples=1000,score:votes=rankings,posterior:votes=rankings,posterior:votes=top"
WORK = """
import json, sys, time
start = time.perf_counter()
from pathlib import Path
from veritally.experiments.tables import measure_tables
first = []
measured = measure_tables(Path(sys.argv[1]), instances=100_000, seed=int(sys.argv[2]), backend="jax",
                          rules=sys.argv[3], progress=lambda done, work: first.append(time.perf_counter() - start))
import jax
print(json.dumps({"seconds": time.perf_counter() - start, "until_the_first_chunk": first[1],
                  "device": jax.devices()[0].device_kind, "jax": jax.__version__, "rules": len(measured.rules)}))
"""


def main(name="published"):
    rules, seeds = {"published": ("all", 3), "exact": (EXACT, 1)}[name]
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            command = [sys.executable, "-c", WORK, str(Path(folder) / f"{seed}.jsonl"), str(seed), rules]
            start = time.perf_counter()
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            runs.append(json.loads(printed.splitlines()[-1]) | {"process": time.perf_counter() - start})
            print(runs[-1], flush=True)
    median = sorted(runs, key=lambda run: run["process"])[len(runs) // 2]
    RECORD.write_text(json.dumps(json.loads(RECORD.read_text()) | {name: median}, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
