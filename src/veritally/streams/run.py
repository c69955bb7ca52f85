"""Deciding files of any size: read in pieces, decide each, keep what is finished, put it together."""

import json
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from veritally.checks import usable_path, whole
from veritally.decide import Question
from veritally.errors import InputError, InputWarning, quoted
from veritally.inference.pooling import POOLED
from veritally.inference.scale import PooledNoise
from veritally.io import forms
from veritally.io.answers import answers_in
from veritally.io.columns import checked
from veritally.io.confidence import checked_map
from veritally.io.options import BallotColumn, Options, Unranked
from veritally.io.votes import read
from veritally.learning import learn_panel
from veritally.outcome import TieBreak
from veritally.panel.base import AnyPanel
from veritally.panel.learned import LearnedPanel
from veritally.progress import listening, stretch
from veritally.registry import DEFAULT, rule_info
from veritally.rules.posterior import Posterior
from veritally.rules.protocol import Rule
from veritally.streams.decisions import About, OnError, Task, Votes, answer_table, merged
from veritally.streams.parts import Parts, about_from_json, about_to_json, require_out
from veritally.streams.pieces import Piece, Runs, bring_together, sample
from veritally.streams.rows import Rows, is_table
from veritally.streams.voters import OneDecision, Pass, alternatives_of
from veritally.versions import fingerprint, versions
from veritally.votes.profile import Profile
from veritally.work import check_executor, check_workers, worked

_HEAD = 10_000  # rows by which columns are recognised
_ROWS, _ROWS_OF_SEARCHES = 1 << 18, 1 << 14  # of a piece, for rules of one pass and for others
_TELLING = 256  # decisions from which is learned what concerns all
_LOOKED_AT = 8  # decisions by which it is found out whether the rule can use the votes
_MOST_TRIED = 4_096  # where none of these decisions can be decided, all are taken to be so
_AHEAD = 2  # pieces handed out for each worker
_VOTES, _FEWEST = 30_000, 1_000  # of one decision, and the fewest voters, by which its noise is found
_PASSES = 8  # over all voters, about, until a search arrives
_TO_LEARN = 1_000  # decisions without answers from which a panel is learned
_LOOK, _FIRST = 0.05, 0.1  # of the work after which the first look, and what is learned first, are done, about


@dataclass(frozen=True)
class Written:
    """What was decided and written to a file.

    Attributes
    ----------
    path
        The file.
    rule
        The canonical name of the rule.
    decisions
        How many decisions there are.
    failed
        How many of them could not be decided; their answers have an error.
    about
        Warnings, with the first decisions that each is about.
    pooled_noise
        The noise that all decisions have in common, where it was pooled.
    """

    path: Path
    rule: str
    decisions: int
    failed: int = 0
    about: Mapping[str, About] = field(default_factory=dict)
    pooled_noise: tuple[PooledNoise, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each warning, with the first decisions that it is about."""
        return tuple(_sentence(message, about) for message, about in self.about.items())


def decide_file(
    source: Any,
    out: str | PathLike[str],
    rule: str | Rule | None = None,
    *,
    panel: AnyPanel | Literal["learn"] | None = None,
    answers: Any = None,
    choose: int = 1,
    tie_break: TieBreak | None = None,
    seed: int = 0,
    on_error: OnError = "stop",
    ballots: BallotColumn | None = None,
    lower_is_better: bool = False,
    unranked: Unranked | None = None,
    confidence: Mapping[Any, float] | None = None,
    columns: Mapping[str, str] | None = None,
    workers: int | None = 1,
    executor: Executor | None = None,
    force: bool = False,
    progress: Callable[[float], None] = lambda share: None,
    **parameters: Any,
) -> Written:
    """Decide a file with any number of decisions, in bounded memory, and write the answers to another file.

    The answers have a row for each alternative of each decision, best first, with the columns of
    :meth:`Outcome.to_frame` and ``status``. An interrupted call that is repeated goes on where it stopped, and the
    answers are the same to the last bit, whatever the number of workers.

    Parameters
    ----------
    source
        A file or a folder of Parquet files, whose rows are read some at a time. Other files and frames are read at
        once, and decided in pieces.
    out
        The file to write: ``.parquet``, ``.csv``, ``.tsv`` or ``.jsonl``. What is finished is kept in a folder beside
        it until all is.
    rule, panel, choose, seed, **parameters
        As for :func:`veritally.decide`. With ``scale="pooled"``, which is the default of ``posterior`` for 20 decisions
        or more, the noise is learned from 256 of them first. A panel of ``"learn"`` is learned first, too: from
        decisions with ``answers`` and 1,000 others.
    answers
        What is known of the answers to some decisions, as :func:`veritally.learn_panel` takes it.
    tie_break
        As for :func:`veritally.decide`; by default all that tie are chosen, with ``"error"`` a tie is refused.
    on_error
        What a decision that cannot be decided does: ``"stop"``, or ``"skip"``: its answer is an error, in a column of
        that name.
    ballots, lower_is_better, unranked, confidence, columns
        As for :func:`veritally.read`.
    workers, executor
        As for :func:`veritally.compare`.
    force
        Whether to replace a file that does not hold answers.
    progress
        Called with the share of the work that is done.
    """
    levels = None if confidence is None else checked_map(confidence)
    apart = np.ndim(parameters.get("sigma", 0)) == 0 and not isinstance(parameters.get("sigma"), Mapping)
    said = Options(ballots, lower_is_better, None, unranked, levels, checked(columns), apart)
    if on_error not in get_args(OnError):
        raise InputError(f"on_error can be stop or skip, not {quoted(on_error)}")
    settled: TieBreak = "error" if tie_break is None else tie_break
    file, crew = usable_path(out), Crew(check_workers(workers), check_executor(executor), progress)
    require_out(file, source, force)
    asked: dict[str, Any] = {
        "rule": rule_info(DEFAULT if rule is None else rule),
        "choose": whole(choose, "choose", least=1),
        "tie_break": settled,
        "seed": whole(seed, "seed"),
        "parameters": parameters,
    }
    if not is_table(source):
        profile = read(source, ballots=ballots, lower_is_better=lower_is_better, unranked=unranked)
        with Parts(file, "at once") as parts:
            return _decide_at_once(profile, asked, tie_break == "error", parts)
    rows = Rows.of(source)
    if not rows.height:
        raise InputError(f"{rows.name}: has a header but no rows; it needs a row for each voter and alternative")
    head = rows.read(0, _HEAD)
    place = rows.places(range(head.height))
    decision, voter = (forms.columns_of(role, head, place, said) for role in ("decision", "voter"))
    known = None if answers is None else answers_in(answers)[0]
    if not (panel is None or panel == "learn" or isinstance(panel, AnyPanel)):
        raise InputError(f"panel takes a vt.Panel, or learn, not {quoted(panel)}")
    if known is not None and panel != "learn":
        raise InputError("answers are to learn a panel from; say so with panel learn, or leave them out")
    work = {"rows": rows.identity, "said": said, "rule": rule, "asked": asked, "tie": tie_break, "error": on_error}
    work |= {"panel": panel if panel is None or panel == "learn" else panel.to_dict(), "answers": _rows_of(known)}
    work |= {"code": fingerprint("**/*.py", "**/*.safetensors")}
    work |= {"versions": versions("veritally", "numpy", "scipy", "polars")}
    with Parts(file, json.dumps(work, default=str)) as parts:
        with listening(progress), stretch(0, _LOOK):
            runs = None if decision is None else Runs.of(rows, decision)
        if runs is not None and len(runs.names) > 1:
            assert decision is not None
            task = Task(said, decision, on_error=on_error, strict=tie_break == "error", **asked)
            return _decide_many(rows, runs, task, panel, known, parts, crew)
        if panel is not None:
            raise InputError(f"{rows.name}: is one decision, of which no panel is taken here; leave it out")
        without = replace(said, columns={**said.columns, "decision": ""})  # as where there is no such column
        strict = tie_break == "error"
        return _decide_one(rows, voter, said if decision is None else without, asked, strict, parts, crew)


def _rows_of(table: pl.DataFrame | None) -> Any:
    return None if table is None else table.rows()


@dataclass(frozen=True)
class Crew:
    """Who works, and who is told how far it is."""

    workers: int
    executor: Executor | None
    progress: Callable[[float], None]

    def do(self, task: Callable[[Votes], Any], rows: Rows, pieces: Sequence[Piece]) -> Iterator[tuple[int, Any]]:
        """Yield what a task makes of each piece, with its index, as it is finished."""
        for votes, found in worked(task, _votes(rows, pieces), self.workers, self.executor, _AHEAD):
            yield votes.piece, found


def _votes(rows: Rows, pieces: Iterable[Piece]) -> Iterator[Votes]:
    """Read the pieces."""
    for piece in pieces:
        table, numbers = piece.read(rows)
        yield Votes(table, rows.places(numbers), piece.before, piece.index)


def _cut(rows: Rows, column: str, runs: Runs, size: int, parts: Parts) -> list[Piece]:
    """Cut the rows into pieces, brought together on disk where they have to be."""
    return runs.pieces(size) if runs.together else bring_together(rows, column, runs, size, parts.rows)


def _decide_many(
    rows: Rows,
    runs: Runs,
    task: Task,
    panel: AnyPanel | Literal["learn"] | None,
    known: pl.DataFrame | None,
    parts: Parts,
    crew: Crew,
) -> Written:
    """Decide many decisions, in pieces of whole ones."""
    with listening(crew.progress), stretch(_LOOK, _FIRST):
        task = _by_name(rows, task)
        task = replace(task, panel=_learned_panel(rows, runs, task, known) if panel == "learn" else panel)
        first, task = _learned(rows, runs, task)
        pieces = _cut(rows, task.key, runs, _ROWS_OF_SEARCHES if first.info.iterative else _ROWS, parts)
    todo = [piece for piece in pieces if piece.index not in parts]
    done = len(pieces) - len(todo)
    for index, answers in crew.do(task, rows, todo):
        note = {"decisions": answers.decisions, "failed": answers.failed}
        parts.add(index, answers.table, note | {"warnings": about_to_json(answers.warnings)})
        done += 1
        crew.progress(_FIRST + (1 - _FIRST) * done / len(pieces))
    notes = parts.notes()
    parts.finish()
    pooled = tuple((first.made.pooled or {}).values()) if isinstance(first.made, Posterior) else ()
    about = merged(about_from_json(note["warnings"]) for note in notes)
    decisions, failed = (sum(note[name] for note in notes) for name in ("decisions", "failed"))
    return Written(parts.out, first.info.name, decisions, failed, about, pooled)


def _decide_at_once(profile: Profile, asked: Mapping[str, Any], strict: bool, parts: Parts) -> Written:
    """Decide one decision whose votes are in memory."""
    outcome = Question.of(profile, **asked).outcome()
    if strict:
        _ = outcome.chosen
    parts.add(0, answer_table(outcome), {})
    parts.finish()
    return Written(parts.out, outcome.rule, 1, 0, {message: About() for message in outcome.rule_warnings})


def _decide_one(
    rows: Rows, column: str | None, said: Options, asked: Mapping[str, Any], strict: bool, parts: Parts, crew: Crew
) -> Written:
    """Decide one decision, in pieces of whole voters."""
    names = alternatives_of(rows, said)
    few, runs = max(_FEWEST, _VOTES // len(names or "-")), None
    if column is not None and names is not None:
        with listening(crew.progress), stretch(0, _FIRST):
            runs = Runs.of(rows, column)
    if runs is None or len(runs.names) <= few:  # a row for each voter, or few voters
        profile = forms.to_profile(rows.read(0, rows.height), rows.places(np.arange(rows.height)), said)
        return _decide_at_once(profile.as_top() if said.ballots == "top" else profile, asked, strict, parts)
    assert column is not None
    assert names is not None
    with listening(crew.progress), stretch(0, _FIRST):
        table, numbers = sample(rows, column, runs, few)
        pieces = _cut(rows, column, runs, _ROWS, parts)
    one = OneDecision(said, names, Votes(table, rows.places(numbers)), strict=strict, **asked)
    passes = 0

    def spread(task: Pass) -> Iterator[Any]:
        nonlocal passes
        early: dict[int, Any] = {piece.index: found for piece in pieces if (found := parts.kept(task, piece.index))}
        todo = [piece for piece in pieces if piece.index not in early]
        finished = crew.do(task, rows, todo)
        for done, piece in enumerate(pieces, 1):
            while piece.index not in early:
                index, found = next(finished)
                parts.keep(task, index, found)
                early[index] = found
            crew.progress(_FIRST + (1 - _FIRST) * min((passes + done / len(pieces)) / _PASSES, 1))
            yield early.pop(piece.index)
        passes += 1

    table, rule, remarks = one.answered(spread)
    parts.add(0, table, {})
    parts.finish()
    return Written(parts.out, rule, 1, 0, {remark: About() for remark in remarks})


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


def _learned_panel(rows: Rows, runs: Runs, task: Task, known: pl.DataFrame | None) -> LearnedPanel:
    """Learn a panel from decisions with answers, and from some others."""
    answered = () if known is None else set(known["decision"].cast(pl.String))
    with _quiet():
        return learn_panel(task.read(_some(rows, runs, task, _TO_LEARN, answered)), known)


def _learned(rows: Rows, runs: Runs, task: Task) -> tuple[Question, Task]:
    """Read some decisions, find out what concerns all of them, and give it to the task."""
    assert task.rule is not None
    decisions = len(runs.names)
    with _quiet():
        some = _some(rows, runs, task, _TELLING if task.rule.iterative else _LOOKED_AT)
        first = task.question(some)
        _require_independent(first)
        usual = first.parameters.keys().isdisjoint({"scale", "sigma", "tau", "model", "omega", "count_error"})
        free = first.info.instance is None and not isinstance(task.panel, LearnedPanel)
        if first.info.name == "posterior" and usual and free and decisions >= POOLED:
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
def _quiet() -> Iterator[None]:
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


def _by_name(rows: Rows, task: Task) -> Task:
    """Give sigma by name where it is given in the order of the alternatives, which each decision may have its own."""
    sigma = task.parameters.get("sigma")
    if not isinstance(sigma, list | tuple | np.ndarray) or np.ndim(sigma) != 1:
        return task
    names = alternatives_of(rows, task.said) or ()
    if len(names) != len(sigma):
        raise InputError(
            f"sigma has {len(sigma)} numbers, and there are {len(names):,} alternatives; give one for each"
        )
    return replace(task, parameters=task.parameters | {"sigma": dict(zip(names, sigma, strict=True))})


def _sentence(message: str, about: About) -> str:
    if not about.names:
        return message
    more = f" and {about.number - len(about.names):,} more" if about.number > len(about.names) else ""
    names = ", ".join(map(quoted, about.names))
    return f"decision{'s' if about.number > 1 else ''} {names}{more}: {message}"
