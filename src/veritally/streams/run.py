"""Deciding files of any size: read in pieces, decide each, keep what is finished, put it together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from veritally.checks import usable_path, whole
from veritally.decide import Question
from veritally.errors import InputError, InputNote, InputWarning, quoted
from veritally.files import require_other
from veritally.inference.scale import PooledNoise
from veritally.io.answers import answers_in
from veritally.io.columns import checked
from veritally.io.confidence import checked_map
from veritally.io.options import BallotColumn, Options, Unranked, words_given
from veritally.io.votes import read
from veritally.outcome import TieBreak
from veritally.panel.base import AnyPanel
from veritally.panel.learned import LearnedPanel
from veritally.progress import listening, stretch
from veritally.registry import DEFAULT, rule_info
from veritally.rules.posterior import Posterior
from veritally.rules.protocol import Rule
from veritally.streams.columns import Columns
from veritally.streams.decisions import (
    SKIP,
    About,
    OnError,
    Part,
    Task,
    UndecidedError,
    Votes,
    about_from_json,
    answer_table,
    merged,
    tied_decisions,
)
from veritally.streams.first_pass import learn_first, panel_learned_first, quiet, share_of_first
from veritally.streams.job import Job, Reading, awaken
from veritally.streams.key import key_of
from veritally.streams.parts import Parts, require_out
from veritally.streams.pieces import Piece, Runs, sample
from veritally.streams.rows import Rows, is_table
from veritally.streams.voters import OneDecision, Pass
from veritally.votes.profile import Profile
from veritally.work import check_executor, check_workers, executing, workers_of

_ROWS, _ROWS_OF_SEARCHES = 1 << 18, 1 << 14  # of a piece, for rules of one pass and for others
_VOTES, _FEWEST = 30_000, 1_000  # of one decision, and the fewest voters, by which its noise is found
_PASSES = 8  # over all voters, about, until a search arrives
_LOOK, _LEARNED = 0.03, 0.6  # of the work: that is done when rows were looked at, and when a panel was learned, about
_FIRST = 0.05  # of the work: to look at one decision by all its voters
_TOGETHER = 0.3  # of the rest: to bring rows together, where they are not


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
    panel
        The panel that was learned first, if one was.
    files, other_files
        How many files of a folder were read, and how many others lie in it.
    tied
        In how many decisions alternatives tie for the last of the chosen places, also where ``tie_break`` settled it.
    """

    path: Path
    rule: str
    decisions: int
    failed: int = 0
    about: Mapping[str, About] = field(default_factory=dict)
    pooled_noise: tuple[PooledNoise, ...] = ()
    panel: LearnedPanel | None = None
    files: int = 1
    other_files: int = 0
    tied: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each warning, with the first decisions that it is about."""
        return tuple(_sentence(message, about) for message, about in self.about.items() if not about.is_note)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each note on how the votes were understood."""
        return tuple(_sentence(message, about) for message, about in self.about.items() if about.is_note)


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
    verdicts: Sequence[str] | None = None,
    workers: int | None = 1,
    executor: Executor | None = None,
    best_only: bool = False,
    force: bool = False,
    progress: Callable[[float], None] = lambda share: None,
    warn: Callable[[str, type[InputWarning]], None] = lambda message, kind: None,
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
    ballots, lower_is_better, unranked, confidence, columns, verdicts
        As for :func:`veritally.read`.
    workers, executor
        As for :func:`veritally.compare`.
    best_only
        Whether to write only the rows of alternatives that are chosen, and the errors: with ``tie_break="random"``,
        one row for each decision.
    force
        Whether to replace a file that does not hold answers.
    progress
        Called with the share of the work that is done.
    warn
        Called before any decision is decided with each warning or note that is known by then, and its kind, such as
        :class:`veritally.InputWarning`. What is returned has these, too.
    """
    levels = None if confidence is None else checked_map(confidence)
    apart = np.ndim(parameters.get("sigma", 0)) == 0 and not isinstance(parameters.get("sigma"), Mapping)
    words = words_given(verdicts)
    said = Options(ballots, lower_is_better, None, unranked, levels, checked(columns), apart, words)
    if on_error not in get_args(OnError):
        raise InputError(f"on_error can be stop or skip, not {quoted(on_error)}")
    if not (panel is None or panel == "learn" or isinstance(panel, AnyPanel)):
        raise InputError(f"panel takes a vt.Panel, or learn, not {quoted(panel)}")
    file, strict = usable_path(out), tie_break == "error"
    number, given = check_workers(workers), check_executor(executor)
    require_out(file, source, force)
    asked: dict[str, Any] = {
        "rule": rule_info(DEFAULT if rule is None else rule),
        "choose": whole(choose, "choose", least=1),
        "tie_break": "error" if tie_break is None else tie_break,
        "seed": whole(seed, "seed"),
        "parameters": parameters,
    }
    known = None if answers is None else answers_in(answers)[0]
    if known is not None and panel != "learn":
        raise InputError("answers are to learn a panel from; say so with panel learn, or leave them out")
    if not is_table(source):
        _require_no_panel(panel, str(source))
        profile = read(
            source,
            ballots=ballots,
            lower_is_better=lower_is_better,
            unranked=unranked,
            confidence=confidence,
            columns=columns,
            verdicts=verdicts,
        )
        with Parts(file, "at once", best_only) as parts:
            return _decide_at_once(profile, asked, strict, parts)
    rows = Rows.of(source)
    require_other(file, rows.files)
    if not rows.height:
        raise InputError(f"{rows.name}: has a header but no rows; it needs a row for each voter and alternative")
    identity = rows.identity
    try:
        found = Columns.of(rows, said)
        for message, known_of in found.about.items():
            warn(_sentence(message, known_of), InputNote if known_of.is_note else InputWarning)
        found = found if tie_break in (None, "error") else found.ordered(rows)
        work = (identity, found.said, asked, strict, on_error, panel, known)
        key, here = key_of(work, asked["rule"], parameters), given is None
        with Parts(file, key, best_only) as parts, executing(number, given) as others:
            if here and others is not None and rows.height > _ROWS:
                awaken(others, number)
            with listening(progress), stretch(0, _LOOK):
                runs = None if found.decision is None else Runs.of(rows, found.decision)
            job = Job(rows, found, identity, asked, strict, parts, others, here, progress)
            written = _decide(job, runs, panel, known, on_error)
            about = merged([found.about, written.about])
            return replace(written, about=about, files=len(rows.files), other_files=rows.others)
    except Exception as error:
        rows.require(identity)  # whatever goes wrong then, it may be because they are others by now
        if isinstance(error, UndecidedError) and on_error == "stop":
            raise UndecidedError(f"{error}{SKIP}") from error
        raise


def _decide(
    job: Job,
    runs: Runs | None,
    panel: AnyPanel | Literal["learn"] | None,
    known: pl.DataFrame | None,
    on_error: OnError,
) -> Written:
    """Decide many decisions, or one."""
    found = job.columns
    if runs is not None and len(runs.names) > 1:
        task = Task(found.said, str(found.decision), on_error=on_error, strict=job.strict, **job.asked)
        return _decide_many(job, runs, task, panel, known)
    _require_no_panel(panel, job.rows.name)
    if found.decision is None:
        return _decide_one(job, None)
    whole_file = replace(found.said, columns={**found.said.columns, "decision": ""})
    name = next(job.rows.names([found.decision]), None)
    if name is None:
        raise _nameless(job.rows, found.decision)
    return _decide_one(replace(job, columns=found._replace(said=whole_file)), name)


def _nameless(rows: Rows, column: str) -> InputError:
    """Return what is wrong with rows none of which says to which decision it belongs."""
    for start, batch in rows.batches():
        problem = Votes(rows.spelt(batch), rows.places(np.arange(start, start + batch.height))).nameless(column)
        if problem is not None:
            return problem
    return InputError(f"{rows.name}: has a header but no rows; it needs a row for each voter and alternative")


def _first_undecided(job: Job, runs: Runs, task: Task, error: UndecidedError) -> InputError:
    """Return what is wrong with the first decision of the file about which nothing can be asked.

    Where rows of a decision do not stand together, it is the one that was met.
    """
    for piece in runs.pieces(_ROWS) if runs.together else ():
        try:
            with quiet():
                task.sound(Reading(job.rows, task).votes(piece))
        except InputError as first:
            return first
    return error


def _require_no_panel(panel: Any, name: str) -> None:
    """Refuse a panel where there is one decision."""
    if panel is not None:
        raise InputError(f"{name}: is one decision, of which no panel is taken here; leave it out")


def _decide_many(
    job: Job, runs: Runs, task: Task, panel: AnyPanel | Literal["learn"] | None, known: pl.DataFrame | None
) -> Written:
    """Decide many decisions, in pieces of whole ones."""
    parts = job.parts
    begun, learned = _LOOK, None
    try:
        if panel == "learn":
            begun = _LEARNED
            with listening(job.progress), stretch(_LOOK, begun):
                learned = panel = panel_learned_first(job.rows, runs, task, known, parts)
        task = replace(task, panel=panel)
        ready = begun + (1 - begun) * share_of_first(task, len(runs.names), workers_of(job.executor))
        with listening(job.progress), stretch(begun, ready):
            first, task = learn_first(job.rows, job.columns, runs, task)
    except UndecidedError as error:  # of some decision
        raise _first_undecided(job, runs, task, error) from error
    begun = ready if runs.together else ready + (1 - ready) * _TOGETHER
    with listening(job.progress), stretch(ready, begun):
        pieces = job.cut(task.key, runs, _ROWS_OF_SEARCHES if first.info.iterative else _ROWS)
    todo = [piece for piece in pieces if piece.index not in parts]
    done = len(pieces) - len(todo)
    job.progress(begun + (1 - begun) * done / len(pieces))  # with what was kept
    for index, part in job.do(task, todo):
        parts.add(index, part)
        done += 1
        job.progress(begun + (1 - begun) * done / len(pieces))
    notes = parts.notes()
    job.finish()
    pooled = tuple((first.made.pooled or {}).values()) if isinstance(first.made, Posterior) else ()
    about = merged(about_from_json(note["warnings"]) for note in notes)
    decisions, failed, tied = (sum(note[name] for note in notes) for name in ("decisions", "failed", "tied"))
    lost = len(runs.names) - decisions
    if lost and job.columns.said.words is not None:  # of other votes, no rows are left out but blank ones
        have = "decision has" if lost == 1 else "decisions have"
        about[f"{job.rows.name}: {lost:,} {have} no verdict, and no answer"] = About(is_note=True)
    return Written(parts.out, first.info.name, decisions, failed, about, pooled, learned, tied=tied)


def _decide_at_once(
    profile: Profile, asked: Mapping[str, Any], strict: bool, parts: Parts, name: str | None = None
) -> Written:
    """Decide one decision, perhaps with a name, whose votes are in memory, read at one time."""
    outcome = Question.of(profile, **asked).outcome()
    if strict:
        _ = outcome.chosen
    table = _named(answer_table(outcome), name)
    parts.add(0, Part.of(table, {}))
    parts.finish()
    about = {message: About() for message in outcome.rule_warnings}
    return Written(parts.out, outcome.rule, 1, 0, about, tied=tied_decisions(table, outcome.choose))


def _decide_one(job: Job, name: str | None) -> Written:
    """Decide one decision, which may have a name: by pieces of whole voters, or at once where these are few."""
    rows, said, column = job.rows, job.columns.said, job.columns.voter
    names = job.columns.names(rows)
    if column is not None and names is not None:
        few = max(_FEWEST, _VOTES // len(names))
        with listening(job.progress), stretch(0, _FIRST):
            runs = Runs.of(rows, column)
            if len(runs.names) > few:
                table, numbers = sample(rows, column, runs, few)
                some = Votes(table, rows.places(numbers))
                pieces = job.cut(column, runs, _ROWS)
                one = OneDecision(said, names, some, strict=job.strict, **job.asked)
                return _decide_voters(job, one, pieces, name)
    votes = Votes(rows.read(0, rows.height), rows.places(np.arange(rows.height)))
    return _decide_at_once(votes.profile(said), job.asked, job.strict, job.parts, name)


def _decide_voters(job: Job, one: OneDecision, pieces: Sequence[Piece], name: str | None) -> Written:
    """Decide one decision by the voters of all pieces, over which it goes as often as the rule needs."""
    parts, passes = job.parts, 0

    def spread(task: Pass) -> Iterator[Any]:
        nonlocal passes
        early: dict[int, Any] = {piece.index: found for piece in pieces if (found := parts.kept(task, piece.index))}
        finished = job.do(task, [piece for piece in pieces if piece.index not in early])
        for done, piece in enumerate(pieces, 1):
            while piece.index not in early:
                index, found = next(finished)
                parts.keep(task, index, found)
                early[index] = found
            job.progress(_FIRST + (1 - _FIRST) * min((passes + done / len(pieces)) / _PASSES, 1))
            yield early.pop(piece.index)
        passes += 1

    table, rule, remarks = one.answered(spread)
    parts.add(0, Part.of(_named(table, name), {}))
    job.finish()
    tied = tied_decisions(table, job.asked["choose"])
    return Written(parts.out, rule, 1, 0, {remark: About() for remark in remarks}, tied=tied)


def _named(table: pl.DataFrame, decision: str | None) -> pl.DataFrame:
    """Say of which decision all answers are, where it has a name."""
    return table if decision is None else table.select(pl.lit(decision).alias("decision"), pl.all())


def _sentence(message: str, about: About) -> str:
    if not about.names:
        return message
    more = f" and {about.number - len(about.names):,} more" if about.number > len(about.names) else ""
    names = ", ".join(map(quoted, about.names))
    return f"decision{'s' if about.number > 1 else ''} {names}{more}: {message}"
