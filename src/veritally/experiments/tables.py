"""The paper's four tables, measured here."""

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from veritally.checks import whole
from veritally.errors import InputError
from veritally.experiments.chunks import (
    Chunk,
    describe_device,
    library_versions,
    plan_chunks,
    run_chunks,
)
from veritally.experiments.ledger import Ledger
from veritally.experiments.measures import MeasureSums
from veritally.experiments.published import paper, published, z_score
from veritally.experiments.rule_set import BEST_OF, RuleSet, variants
from veritally.model.scenario import SCENARIOS
from veritally.model.simulation import Backend, checked_seed
from veritally.votes.labels import require_known
from veritally.work import check_executor, check_workers

MEASURED = ("regret", "accuracy")


@dataclass(frozen=True)
class Result:
    """One cell: a rule in a column of a table."""

    table: str
    voters: int
    rule: str
    regret: float
    se: float
    accuracy: float
    instances: int
    published: float | None
    z: float | None


@dataclass(frozen=True)
class Reproduction:
    """Measured tables.

    Attributes
    ----------
    configuration
        Everything the numbers depend on.
    rules
        The names of the rules.
    sums
        What was measured, by table and number of voters.
    """

    configuration: dict[str, Any]
    rules: tuple[str, ...]
    sums: dict[tuple[str, int], MeasureSums]

    @property
    def tables(self) -> list[str]:
        """The tables, in the paper's order."""
        return list(dict.fromkeys(table for table, _ in self.sums))

    @property
    def voters(self) -> list[int]:
        """The columns."""
        return sorted({voters for _, voters in self.sums})

    def position(self, table: str, voters: int, rule: str) -> int | None:
        """Return the position of a rule in the sums of a cell; for ``borda+`` and the like, its best variant."""
        if rule not in BEST_OF:
            return self.rules.index(rule) if rule in self.rules else None
        regrets = self.sums[table, voters].means[0]
        return min(self._variants(rule), key=lambda r: float(regrets[r]), default=None)

    def _variants(self, family: str) -> list[int]:
        """Return the positions of the members of a family; none unless all were measured."""
        members = variants(family)
        return [self.rules.index(name) for name in members] if set(members) <= set(self.rules) else []

    def names(self) -> list[str]:
        """Return the rules. A family whose variants were all measured comes before them, as the best of them."""
        names: list[str] = []
        for rule in self.rules:
            family = next((family for family in BEST_OF if rule.startswith(family)), None)
            if family and family not in names and self._variants(family):
                names.append(family)
            names.append(rule)
        return names

    def results(self) -> Iterator[Result]:
        """Yield every cell."""
        paper = published()
        for (table, voters), sums in self.sums.items():
            for name in self.names():
                r = self.position(table, voters, name)
                assert r is not None
                regret, se = float(sums.means[0, r]), float(sums.errors[0, r])
                printed = paper.get((table, voters, name))
                yield Result(
                    table,
                    voters,
                    name,
                    regret,
                    se,
                    float(sums.means[1, r]),
                    sums.instances,
                    printed,
                    None if printed is None or se == 0 else z_score(regret, se, sums.instances, printed),
                )

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a tidy frame with a row for each cell; ``backend`` is ``"polars"``, ``"pandas"`` or ``"pyarrow"``."""
        import narwhals as nw

        rows = [asdict(result) for result in self.results()]
        columns = {field.name: [row[field.name] for row in rows] for field in fields(Result)}
        types = {str: nw.String(), int: nw.Int64()}
        schema = {field.name: types.get(field.type, nw.Float64()) for field in fields(Result)}  # type: ignore[arg-type]
        return nw.from_dict(columns, schema, backend=backend).to_native()  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects that :meth:`from_dict` turns into the same reproduction."""
        cells = [
            {"table": table, "voters": voters, "sums": sums.to_dict()} for (table, voters), sums in self.sums.items()
        ]
        return {"configuration": self.configuration, "rules": list(self.rules), "cells": cells}

    @classmethod
    def from_dict(cls, numbers: dict[str, Any]) -> "Reproduction":
        """Undo :meth:`to_dict`."""
        sums = {(cell["table"], cell["voters"]): MeasureSums.from_dict(cell["sums"]) for cell in numbers["cells"]}
        return cls(numbers["configuration"], tuple(numbers["rules"]), sums)


@dataclass(frozen=True)
class Plan:
    """What to measure: the configuration of a reproduction, its rules, and the chunks of each table and size."""

    configuration: dict[str, Any]
    rules: tuple[str, ...]
    cells: dict[tuple[str, int], list[Chunk]]

    @classmethod
    def of(
        cls,
        *,
        tables: Iterable[str] | None = None,
        voters: Iterable[int] | None = None,
        rules: Iterable[str] | None = None,
        instances: int = 2000,
        seed: int = 0,
        backend: Backend = "numpy",
    ) -> "Plan":
        """Check what was asked for."""
        columns = _as_list(voters, "voters", paper()["voters"])
        columns = sorted({whole(m, "the number of voters", least=1) for m in columns})
        names = _as_list(tables, "tables", SCENARIOS)
        for name in names:
            require_known(name, SCENARIOS, "table")
        chosen = [name for name in SCENARIOS if name in names]
        rule_set = RuleSet.of(rules, "values", paper()["alternatives"])
        instances, seed = whole(instances, "instances", least=2), checked_seed(seed, backend)
        cells = {
            (table, m): plan_chunks(SCENARIOS[table].replace(voters=m), rule_set, MEASURED, instances, seed, backend)
            for table in chosen
            for m in columns
        }
        configuration = {
            "tables": {table: SCENARIOS[table].to_dict() | {"voters": columns} for table in chosen},
            "rules": list(rule_set.labels),
            "instances": instances,
            "seed": seed,
            "backend": backend,
            "device": describe_device(backend),
            "versions": library_versions(backend),
        }
        return cls(configuration, rule_set.labels, cells)

    def measure(
        self,
        kept: Ledger,
        workers: int | None,
        progress: Callable[[int, int], None],
        executor: Executor | None = None,
    ) -> Reproduction:
        """Do what is not kept already."""
        chunks = [chunk for cell in self.cells.values() for chunk in cell]
        todo = sorted((chunk for chunk in chunks if chunk not in kept), key=lambda chunk: -chunk.cells)
        work = sum(chunk.cells for chunk in chunks)
        done = work - sum(chunk.cells for chunk in todo)
        progress(done, work)
        for chunk, sums in run_chunks(todo, check_workers(workers), check_executor(executor)):
            kept.add(chunk, sums)
            done += chunk.cells
            progress(done, work)
        totals = {
            cell: functools.reduce(MeasureSums.__add__, (kept[chunk] for chunk in parts))
            for cell, parts in self.cells.items()
        }
        return Reproduction(self.configuration, self.rules, totals)


def no_progress(done: int, work: int) -> None:
    """Say nothing."""


def measure_tables(
    ledger: Path,
    *,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] = no_progress,
    **settings: Any,
) -> Reproduction:
    """Measure the paper's tables, or resume a run that was interrupted.

    Parameters
    ----------
    ledger
        The file in which finished chunks are kept.
    workers, executor
        As for :func:`veritally.compare`. The numbers do not depend on them.
    progress
        Called with the work done and the work to do.
    **settings
        ``tables``, ``voters`` and ``rules``: which to measure, by default all; rules are named as in
        :func:`veritally.compare`. ``instances``, ``seed`` and ``backend``: as there.
    """
    work = Plan.of(**settings)
    with Ledger(ledger) as kept:
        return work.measure(kept, workers, progress, executor)


def _as_list(given: Any, what: str, everything: Iterable[Any]) -> list[Any]:
    """Return what to measure, one or several."""
    if given is None:
        return list(everything)
    wanted = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not wanted:
        raise InputError(f"name at least one of the {what}")
    return wanted
