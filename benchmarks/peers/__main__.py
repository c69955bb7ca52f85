"""Measure what is not there yet, and report: ``python -m peers [report]`` in benchmarks/."""

import sys
import time
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from rows import Row, measure_rows

import veritally as vt
from peers import report
from peers.cells import DATASETS, INSTANCES, SCENARIOS, Cell, dataset, scenario
from peers.methods import METHODS, Method
from veritally.experiments.measures import measure, summarize

_ALONE = 20  # decisions to time one by one
_BY_NAME = {method.name: method for method in METHODS}


def plan() -> Iterator[Row]:
    """Yield what to measure."""
    places = [(name, voters) for voters in INSTANCES for name in SCENARIOS]
    for name, voters in [*places, *((name, None) for name in DATASETS)]:
        for method in METHODS:
            if (key := voters or name) in method.most:
                whole = INSTANCES.get(key) or vt.datasets.load(key).profile.batch[0]
                number = min(method.most[key] or whole, whole)
                yield {"cell": name, "voters": voters, "method": method.name, "instances": number}


def reference(method: Method, cell: str) -> str:
    """Return the rule that differences are taken to: the posterior of the same votes."""
    if method.votes == "values":
        return "posterior on values"
    return "posterior on judgements" if cell == "llmfao" else "posterior"


@lru_cache(maxsize=1)
def cell_of(name: str, voters: int | None) -> Cell:
    """Return a cell, ready for all."""
    cell = dataset(name) if voters is None else scenario(name, voters)
    _ = cell.votes
    for votes in cell.each:
        votes.prepare()
    return cell


def judged(method: Method, cell: Cell) -> tuple[np.ndarray, float]:
    """Return the regret of each decision, and microseconds of the processor for each."""
    started = time.process_time()
    scores = method.scores(cell)
    spent = time.process_time() - started
    if np.isnan(scores).any():
        raise ValueError(f"{method.name} gives no number")
    found = measure(scores[None], cell.truth, cell.tie_breakers, cell.profile.shape[-2], ("regret",))
    return found[0, 0], 1e6 * spent / len(cell)


@lru_cache(maxsize=4)
def kept(name: str, cell: Cell) -> tuple[np.ndarray, float]:
    """Return the same and keep it, for those who are compared with it."""
    return judged(_BY_NAME[name], cell)


def measured(row: Row) -> Row:
    """Measure a method in a cell, paired with the posterior."""
    method, cell = _BY_NAME[row["method"]], cell_of(row["cell"], row["voters"])
    other = reference(method, row["cell"])
    part = cell.first(row["instances"])
    next(iter(map(method.scores, cell.singles(1))))  # what is compiled or loaded at first
    own, spent = kept(method.name, part)
    both = summarize(np.stack([kept(other, cell)[0][: len(own)], own])[None], part.clusters)
    difference, error = both.differences(0)
    found = {
        "regret": float(both.means[0, 1]),
        "se": float(both.errors[0, 1]),
        "reference": other,
        "difference": float(difference[1]),
        "difference_se": float(error[1]),
        "microseconds": spent,
    }
    if method.batch:
        found["alone"] = float(np.mean([judged(method, single)[1] for single in _ready(cell)]))
    return found


def _ready(cell: Cell) -> list[Cell]:
    singles = list(cell.singles(_ALONE))
    for single in singles:
        _ = single.votes
    return singles


def main(arguments: list[str]) -> None:
    """Measure and report, or report alone."""
    if arguments != ["report"]:
        measure_rows(report.RESULTS, plan(), measured)
    report.write()


if __name__ == "__main__":
    main(sys.argv[1:])
