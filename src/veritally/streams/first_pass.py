"""The first pass over many decisions: what concerns all of them is learned from some."""

import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import polars as pl

from veritally.decide import Question, pools_noise
from veritally.errors import InputError, InputWarning
from veritally.inference.pooling import TELLING
from veritally.learning import learn_panel
from veritally.panel.files import read_panel
from veritally.panel.learned import LearnedPanel
from veritally.rules.posterior import Posterior
from veritally.streams.columns import Columns
from veritally.streams.decisions import Task, Votes
from veritally.streams.parts import Parts
from veritally.streams.pieces import Runs, sample
from veritally.streams.rows import Rows

_LOOKED_AT = 8  # decisions by which it is found out whether the rule can use the votes
_MOST_TRIED = 4_096  # where none of these decisions can be decided, all are taken to be so
_TO_LEARN = 1_000  # decisions without answers from which a panel is learned


def share_of_first(task: Task, decisions: int, workers: int) -> float:
    """Return what share of the work it is to learn what concerns all decisions: about as if some were decided here."""
    some = TELLING if pools_noise(task.rule, task.parameters, task.panel, decisions) else _LOOKED_AT
    return some / (some + decisions / workers)


def _some(rows: Rows, runs: Runs, task: Task, most: int, also: Collection[str] = ()) -> Votes:
    """Read some decisions in which there is nothing to refuse; more of them, where all are to be skipped."""
    while True:
        table, numbers = sample(rows, task.key, runs, most, also)
        try:
            return _together(task, task.sound(Votes(table, rows.places(numbers))))
        except InputError:
            if task.on_error == "stop" or most >= min(_MOST_TRIED, len(runs.names)):
                raise
            most *= 8


def _together(task: Task, parts: Sequence[Votes]) -> Votes:
    """Put parts together; where decisions differ so much in size that this cannot be, take most of them."""
    if len(parts) == 1:
        return parts[0]
    lines = np.concat([np.asarray(part.place.lines) for part in parts])
    whole = Votes(pl.concat([part.table for part in parts]), replace(parts[0].place, lines=lines))
    try:
        task.question(whole)
    except InputError:
        return max(parts, key=lambda part: task.names(part).n_unique())
    return whole


def panel_learned_first(rows: Rows, runs: Runs, task: Task, known: pl.DataFrame | None, parts: Parts) -> LearnedPanel:
    """Learn a panel from decisions with answers, and from some others, or go on where that stopped; it is kept."""
    if parts.panel.exists():
        found = read_panel(parts.panel)
        assert isinstance(found, LearnedPanel)
        return found
    answered = () if known is None else set(known["decision"].cast(pl.String))
    with quiet():
        votes = _some(rows, runs, task, _TO_LEARN, answered).profile(task.said)
        panel = learn_panel(votes, known, state=parts.search)
    panel.write(parts.panel)
    return panel


def learn_first(rows: Rows, columns: Columns, runs: Runs, task: Task) -> tuple[Question, Task]:
    """Ask about some decisions, and return that with the task that knows what was learned from them."""
    task = _by_name(rows, columns, task)
    decisions = len(runs.names)
    with quiet():
        some = _some(rows, runs, task, TELLING if task.rule.iterative else _LOOKED_AT)
        first = task.question(some)
        _require_independent(first)
        if pools_noise(first.info, first.parameters, task.panel, decisions):
            task = replace(task, parameters=task.parameters | {"scale": "pooled"})
            first = task.question(some)
        if not first.info.iterative:
            return first, task
        first = first.prepared()
    made = first.made
    if isinstance(made, Posterior) and made.pooled:
        made = replace(made, pooled={kind: noise._replace(decisions=decisions) for kind, noise in made.pooled.items()})
    if isinstance(made, Posterior) and (made.pooled is not None or made.strengths is not None):
        task = replace(task, made=made)
    return replace(first, made=made), task


@contextmanager
def quiet() -> Iterator[None]:
    """Leave warnings to those who decide the same votes later."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        yield


def _require_independent(question: Question) -> None:
    """Refuse what is found out from all decisions together."""
    if not question.method.joint:
        return
    if question.parameters.get("omega") == "estimated":
        problem = "omega is one for all decisions, which are decided in pieces here"
        raise InputError(f"{problem}: estimate it from some of them with veritally decide, and give it as a number")
    problem = "what counts stand for depends on those of all decisions, which are decided in pieces here"
    raise InputError(f"{problem}: leave count_error out, or decide some of them with veritally decide")


def _by_name(rows: Rows, columns: Columns, task: Task) -> Task:
    """Give sigma by name where it is given in the order of the alternatives, which each decision may have its own."""
    sigma = task.parameters.get("sigma")
    if not isinstance(sigma, list | tuple | np.ndarray) or np.ndim(sigma) != 1:
        return task
    names = columns.names(rows) or ()
    if len(names) != len(sigma):
        raise InputError(
            f"sigma has {len(sigma)} numbers, and there are {len(names):,} alternatives; give one for each"
        )
    return replace(task, parameters=task.parameters | {"sigma": dict(zip(names, sigma, strict=True))})
