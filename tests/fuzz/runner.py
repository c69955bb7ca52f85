"""Many trials in processes of their own, with limits on memory and time: what dies or hangs there is found, and named.

make fuzz FILES=50000                # from the beginning
make fuzz FILES=50000 START=12000    # goes on after an interruption: a file depends on its seed and number alone
"""

import argparse
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MEMORY = 4 << 30  # bytes of address space
SECONDS = 30  # of processor time for one file
SILENCE = 240.0  # seconds on the clock without a word, after which a process is ended
BATCH = 1000  # files that one process reads


@dataclass
class Report:
    """What came of the files: how many gave a result or a sentence, and the problems by number."""

    verdicts: Counter[str] = field(default_factory=Counter)
    problems: dict[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Say it in a line."""
        files = self.verdicts.total() + len(self.problems)
        counts = f"{self.verdicts['result']:,} read, {self.verdicts['sentence']:,} refused in a sentence"
        return f"{files:,} files: {counts}, {len(self.problems):,} problems"


def fuzz(
    seed: int,
    start: int,
    stop: int,
    folder: Path,
    *,
    trial: str = "trials:trial",
    seconds: int = SECONDS,
    memory: int = MEMORY,
    silence: float = SILENCE,
    progress: Callable[[int, Report], None] = lambda number, report: None,
) -> Report:
    """Try the files from ``start`` to ``stop``; those that are a problem stay in ``folder``.

    A process that dies or falls silent was at the last number it wrote; the next goes on after it.
    """
    report = Report()
    folder.mkdir(parents=True, exist_ok=True)
    number = start
    while number < stop:
        end = min(stop, number + BATCH)
        arguments = [str(seed), str(number), str(end), str(folder), trial, str(seconds), str(memory)]
        for line in _lines([sys.executable, __file__, "--worker", *arguments], silence):
            if isinstance(line, _End):
                report.problems[number] = str(line)
                number += 1
            else:
                number, verdict, problem = line
                if verdict == "problem":
                    report.problems[number] = problem
                elif verdict != "begins":
                    report.verdicts[verdict] += 1
                number += verdict != "begins"
            progress(number, report)
    return report


class _End(str):
    """How a process ended, where it should not have."""


def _lines(command: list[str], silence: float) -> Iterator[tuple[int, str, str] | _End]:
    """Yield what a worker says, and how it ended unless that was well."""
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
        assert process.stdout is not None
        rest, patience = b"", SILENCE  # until it has started
        while True:
            ready, _, _ = select.select([process.stdout], [], [], patience)
            data = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            if not data:
                break
            patience = silence
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                number, verdict, problem = json.loads(line)
                yield number, verdict, problem
        if not ready:
            process.kill()
        code = process.wait()
        process.stdout.close()
        if code:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 500))
            how = "hangs" if not ready else f"ends the process ({_cause(code)})"
            yield _End(f"{how}: {errors.read().decode(errors='replace')}")


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def work(seed: int, start: int, stop: int, folder: Path, trial: str, seconds: int, memory: int) -> None:
    """Try files one after the other, and say before each which it is."""
    import resource

    module, name = trial.split(":")
    function = getattr(importlib.import_module(module), name)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints

    def say(number: int, verdict: str, problem: str = "") -> None:
        print(json.dumps([number, verdict, problem]), file=told, flush=True)

    signal.signal(signal.SIGPROF, _stop)
    for number in range(start, stop):
        say(number, "begins")
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            verdict = function(seed, number, folder)
        except BaseException as error:
            say(number, "problem", f"{type(error).__name__}: {_last_calls(error)}")
        else:
            say(number, verdict)
        signal.setitimer(signal.ITIMER_PROF, 0)


def _stop(*_: object) -> None:
    raise TimeoutError("too long")


def _last_calls(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-3000:]


def main() -> None:
    """Run many trials, and show how far they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="The number of the first file.")
    parser.add_argument("--out", type=Path, default=Path("fuzz-problems"), help="Where files stay that are a problem.")
    given = parser.parse_args()
    began, said, reached = time.monotonic(), time.monotonic(), given.start

    def progress(number: int, report: Report) -> None:
        nonlocal said, reached
        reached = number
        now = time.monotonic()
        if now - said > 10:
            said = now
            left = (now - began) * (given.files - number) / max(1, number - given.start)
            print(f"{number:,} of {given.files:,}, about {left / 60:.0f} min left; {report}", flush=True)

    try:
        report = fuzz(given.seed, given.start, given.files, given.out, progress=progress)
    except KeyboardInterrupt:
        sys.exit(f"Interrupted; go on with START={reached} SEED={given.seed}")
    for number, problem in report.problems.items():
        print(f"\nFile {number} of seed {given.seed}: {problem}")
    print(report)
    sys.exit(bool(report.problems))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        seed, start, stop, folder, trial, seconds, memory = sys.argv[2:]
        work(int(seed), int(start), int(stop), Path(folder), trial, int(seconds), int(memory))
    else:
        main()
