"""The paper's four tables on an accelerator, in a fresh process, compilation included.

``python benchmarks/gpu.py`` records the time in benchmarks/gpu.json, which ``make bench`` puts into docs/benchmarks.md.
Needs JAX with a GPU.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECORD = Path(__file__).with_name("gpu.json")
WORK = """
import json, sys, time
start = time.perf_counter()
from pathlib import Path
from veritally.experiments.tables import measure_tables
first = []
measured = measure_tables(Path(sys.argv[1]), instances=100_000, seed=int(sys.argv[2]), backend="jax",
                          progress=lambda done, work: first.append(time.perf_counter() - start))
import jax
print(json.dumps({"seconds": time.perf_counter() - start, "until_the_first_chunk": first[1],
                  "device": jax.devices()[0].device_kind, "jax": jax.__version__, "rules": len(measured.rules)}))
"""


def main():
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            command = [sys.executable, "-c", WORK, str(Path(folder) / f"{seed}.jsonl"), str(seed)]
            start = time.perf_counter()
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            runs.append(json.loads(printed.splitlines()[-1]) | {"process": time.perf_counter() - start})
            print(runs[-1], flush=True)
    RECORD.write_text(json.dumps(sorted(runs, key=lambda run: run["process"])[1], indent=2) + "\n")  # the median


if __name__ == "__main__":
    main()
