"""Work in pieces that several processes can do, that can be kept, and that add up in a fixed order."""

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from veritally.arrays import array_library, device_name
from veritally.errors import InputError
from veritally.experiments.measures import MeasureSums
from veritally.experiments.rule_set import RuleSet
from veritally.experiments.run import chunk_size, compile_together, run
from veritally.model.scenario import Scenario
from veritally.model.simulation import Backend
from veritally.versions import fingerprint, versions
from veritally.work import in_order, worked

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
            "source": fingerprint(*_SOURCES),
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


def run_chunks(
    chunks: Sequence[Chunk], workers: int = 1, executor: Executor | None = None
) -> Iterator[tuple[Chunk, MeasureSums]]:
    """Do the chunks, in several processes if there are ``workers`` or by an executor; yield each as it is finished."""
    return worked(Chunk.run, chunks, _made_ready(chunks, workers, executor), executor)


def running_sums(
    chunks: Sequence[Chunk], workers: int = 1, executor: Executor | None = None
) -> Iterator[tuple[Chunk, MeasureSums]]:
    """Do the chunks of scenarios, one after the other, yielding after each the sum of its scenario so far."""
    total: MeasureSums | None = None
    parts = in_order(Chunk.run, chunks, _made_ready(chunks, workers, executor), executor)
    for chunk, part in zip(chunks, parts, strict=True):
        total = part if total is None or chunk.start == 0 else total + part
        yield chunk, total


def _made_ready(chunks: Sequence[Chunk], workers: int, executor: Executor | None) -> int:
    """Compile what has to be, and return the number of processes: accelerators are driven from this one alone."""
    if not chunks or chunks[0].backend != "jax":
        return workers
    if executor is not None:
        raise InputError("executor is for the backend numpy; accelerators are driven from this process alone")
    compile_together(dict.fromkeys((c.scenario, c.rule_set, c.measures, c.size or c.stop - c.start) for c in chunks))
    return 1


def library_versions(backend: Backend) -> dict[str, str]:
    """Return the versions of all that computes."""
    return versions("veritally", "numpy", "scipy", *(("jax", "jaxlib") if backend == "jax" else ()))


def describe_device(backend: Backend) -> str:
    """Return what computes, and in which precision."""
    if backend == "numpy":
        return "float64"
    return f"{device_name()}, {array_library(backend).zeros(0).dtype}"
