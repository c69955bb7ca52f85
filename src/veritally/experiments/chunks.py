"""Work in pieces that several processes can do, that can be kept, and that add up in a fixed order."""

import functools
import hashlib
import json
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from veritally.arrays import array_library, device_name
from veritally.checks import whole
from veritally.errors import InputError
from veritally.experiments.measures import MeasureSums
from veritally.experiments.rule_set import RuleSet
from veritally.experiments.run import chunk_size, compile_together, run
from veritally.model.scenario import Scenario
from veritally.model.simulation import Backend
from veritally.versions import versions

_AHEAD = 4  # chunks handed out for each worker
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_SOURCES = (
    "arrays/*.py",
    "votes/*.py",
    "model/*.py",
    "likelihood/*.py",
    "inference/*.py",
    "rules/*.py",
    "learned/*.py",
    "learned/models/*.safetensors",
    "registry.py",
    "experiments/chunks.py",
    "experiments/measures.py",
    "experiments/rule_set.py",
    "experiments/run.py",
)


@dataclass(frozen=True)
class Chunk:
    """Some instances of a scenario, and the rules to measure on them."""

    scenario: Scenario
    rule_set: RuleSet
    measures: tuple[str, ...]
    seed: int
    start: int
    stop: int
    backend: Backend = "numpy"
    size: int | None = None

    def run(self) -> MeasureSums:
        """Do the work."""
        return run(
            self.scenario, self.rule_set, self.measures, self.seed, self.start, self.stop, self.backend, self.size
        )

    @property
    def cells(self) -> int:
        """The number of votes, to which the work is proportional."""
        return (self.stop - self.start) * self.scenario.voters * self.scenario.alternatives

    @functools.cached_property
    def key(self) -> str:
        """What stands for everything that the result depends on, the code and its libraries included."""
        configuration = {
            "scenario": self.scenario.to_dict(),
            "rules": self.rule_set.labels,
            "models": self.rule_set.models,
            "measures": self.measures,
            "seed": self.seed,
            "instances": [self.start, self.stop, self.size],
            "backend": self.backend,
            "versions": library_versions(self.backend),
            "device": describe_device(self.backend),
            "source": _fingerprint(),
        }
        return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()


def plan_chunks(
    scenario: Scenario, rule_set: RuleSet, measures: tuple[str, ...], instances: int, seed: int, backend: Backend
) -> list[Chunk]:
    """Cut the instances of a scenario into chunks; how, depends on nothing but the configuration and the device."""
    size = chunk_size(scenario, rule_set, backend)
    if backend == "jax":  # equal ones, so that one compiled program fits all
        size = -(-instances // -(-instances // size))
    compiled = size if backend == "jax" else None
    return [
        Chunk(scenario, rule_set, measures, seed, start, min(start + size, instances), backend, compiled)
        for start in range(0, instances, size)
    ]


def run_chunks(chunks: Sequence[Chunk], workers: int = 1) -> Iterator[tuple[Chunk, MeasureSums]]:
    """Do the chunks, in several processes if there are ``workers``, and yield each as it is finished.

    Accelerators are driven from this process alone.
    """
    if chunks and chunks[0].backend == "jax":
        workers = 1
        compile_together(
            dict.fromkeys((c.scenario, c.rule_set, c.measures, c.size or c.stop - c.start) for c in chunks)
        )
    if workers > 1 and len(chunks) > 1:
        yield from _run_in_processes(chunks, workers)
    else:
        for chunk in chunks:
            yield chunk, chunk.run()


def _run_in_processes(chunks: Sequence[Chunk], workers: int) -> Iterator[tuple[Chunk, MeasureSums]]:
    """Do the chunks in processes of their own, and yield each as it is finished."""
    try:
        pickle.dumps(chunks[0])
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            "this scenario, or a rule of your own, cannot be sent to other processes; use one worker"
        ) from error
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _enter)
    waiting = iter(chunks)
    running: dict[Future[MeasureSums], Chunk] = {}
    try:
        while True:
            # Hand out a few chunks ahead, so that no worker waits and memory stays small.
            for chunk in islice(waiting, _AHEAD * workers - len(running)):
                with _one_thread_each():
                    running[pool.submit(Chunk.run, chunk)] = chunk
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenProcessPool as error:
        remedy = "use fewer workers if memory is short, and put the main part of a script under"
        raise InputError(f"a worker process ended unexpectedly; {remedy} if __name__ == '__main__'") from error
    finally:  # also when interrupted, or when nobody wants the rest
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that start now leave the other cores to each other, unless a user has said otherwise."""
    missing = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


def _enter() -> None:
    """Leave interruptions to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def running_sums(chunks: Sequence[Chunk], workers: int = 1) -> Iterator[tuple[Chunk, MeasureSums]]:
    """Do the chunks of scenarios, one after the other, yielding after each the sum of its scenario so far."""
    finished = run_chunks(chunks, workers)
    early: dict[int, MeasureSums] = {}
    total: MeasureSums | None = None
    for chunk in chunks:
        while id(chunk) not in early:
            other, sums = next(finished)
            early[id(other)] = sums
        part = early.pop(id(chunk))
        total = part if total is None or chunk.start == 0 else total + part
        yield chunk, total


def library_versions(backend: Backend) -> dict[str, str]:
    """Return the versions of all that computes."""
    return versions("veritally", "numpy", "scipy", *(("jax", "jaxlib") if backend == "jax" else ()))


def describe_device(backend: Backend) -> str:
    """Return what computes, and in which precision."""
    if backend == "numpy":
        return "float64"
    return f"{device_name()}, {array_library(backend).zeros(0).dtype}"


@functools.cache
def _fingerprint() -> str:
    """Hash the source that results come from."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for pattern in _SOURCES:
        for path in sorted(root.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def check_workers(workers: Any) -> int:
    """Return how many processes to use; None for one a core."""
    if workers is not None:
        return whole(workers, "workers", least=1)
    try:
        return len(os.sched_getaffinity(0))  # the cores that this process may use
    except AttributeError:  # which not every system tells
        return os.cpu_count() or 1
