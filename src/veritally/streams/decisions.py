"""Deciding a piece of many decisions: a table of votes in, a table of answers out."""

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.decide import Question
from veritally.errors import EmptyError, InputError, InputNote, InputWarning, quoted, short
from veritally.io import forms
from veritally.io.frames import Place
from veritally.io.options import Options
from veritally.outcome import Outcome, TieBreak
from veritally.panel.base import AnyPanel
from veritally.records import alternative_columns
from veritally.rules.info import RuleInfo
from veritally.rules.protocol import Rule, Status
from veritally.votes.profile import Profile

OnError: TypeAlias = Literal["stop", "skip"]


class UndecidedError(InputError):
    """One decision of many cannot be decided, which the message names."""


SKIP = '; on_error="skip" leaves it out'
"""How to go on, at the end of such a message."""


_PADDED = 1 << 24  # cells of votes that are filled up without more ado
_LOOKED_AT, _NAMED = 20, 3  # decisions of a piece whose warnings are looked at, and that are named
_WHOLE = ("rank", "tier")
_NAMELESS = "there are rows without the name of a decision, which stand as one that cannot be decided"


class Votes(NamedTuple):
    """The rows of a piece, how a person calls them, how many decisions come before them, and which piece it is."""

    table: pl.DataFrame
    place: Place
    before: int = 0
    piece: int = 0

    def nameless(self, key: str) -> InputError | None:
        """Return what is wrong if a row in which something stands has no name in a column."""
        blank = pl.col(key).is_null() & ~pl.all_horizontal(pl.all().is_null())
        rows = self.table.select(blank).to_series().arg_true()
        return InputError(f"{self.place(rows[0])}: the {short(key)} is empty") if len(rows) else None

    def profile(self, said: Options) -> Profile:
        """Read the votes."""
        profile = forms.to_profile(self.table, self.place, said)
        return profile.as_top() if said.ballots == "top" else profile


class About(NamedTuple):
    """The decisions that a warning is about: the first of them, and how many are known; none if it is about all.

    With ``is_note`` it is no warning, but says how the votes were understood.
    """

    names: tuple[str, ...] = ()
    number: int = 0
    is_note: bool = False


class Answers(NamedTuple):
    """What was found: rows of answers, warnings, how many decisions there are, and how many could not be decided."""

    table: pl.DataFrame
    warnings: Mapping[str, About]
    decisions: int
    failed: int

    @classmethod
    def joined(cls, parts: Sequence["Answers"]) -> "Answers":
        """Put answers to different decisions together."""
        table = pl.concat([part.table for part in parts], how="diagonal_relaxed")
        decisions, failed = (sum(part.decisions for part in parts), sum(part.failed for part in parts))
        return cls(table, merged(part.warnings for part in parts), decisions, failed)


class Part(NamedTuple):
    """Answers as they are sent and kept: a table as an Arrow file, and a note about it as plain objects."""

    table: bytes
    note: dict[str, Any]

    @classmethod
    def of(cls, table: pl.DataFrame, note: dict[str, Any]) -> "Part":
        """Put a table into this form."""
        buffer = io.BytesIO()
        table.write_ipc(buffer, compression="lz4")
        return cls(buffer.getvalue(), note)


@dataclass(frozen=True)
class Task:
    """How decisions are decided; a function of votes that can be sent to other processes.

    Attributes
    ----------
    said
        How files are to be read.
    key
        The column with the names of decisions.
    made
        The rule with what it learned from all decisions together.
    strict
        Whether a tie among the chosen is an error.
    """

    said: Options
    key: str
    rule: RuleInfo
    choose: int = 1
    tie_break: TieBreak = "error"
    seed: int = 0
    panel: AnyPanel | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    on_error: OnError = "stop"
    made: Rule | None = None
    strict: bool = False

    def __call__(self, votes: Votes) -> Part:
        """Decide all decisions of a piece."""
        answers = self.answers(votes)
        about = about_to_json(answers.warnings)
        tied = tied_decisions(answers.table, self.choose)
        note = {"decisions": answers.decisions, "failed": answers.failed, "tied": tied, "warnings": about}
        return Part.of(answers.table, note)

    def answers(self, votes: Votes) -> Answers:
        """Decide all decisions of a piece."""
        parts = [self._answers(part) for part in self._of_like_size(votes)]
        answers = Answers.joined(parts)
        if len(parts) == 1:
            return answers
        order = self.names(votes).unique(maintain_order=True)
        place = pl.DataFrame({"decision": order}).with_row_index("place")
        table = answers.table.join(place, on="decision", how="left", maintain_order="left")
        return answers._replace(table=table.sort("place", maintain_order=True).drop("place"))

    def names(self, votes: Votes) -> pl.Series:
        """Return the name of the decision of each row; nothing where it is blank, which is refused later."""
        return votes.table[self.key].cast(pl.String).fill_null("")

    def question(self, votes: Votes) -> Question:
        """Read the votes and check what is asked about them."""
        asked = Question.of(
            votes.profile(self.said),
            self.rule,
            self.choose,
            self.tie_break,
            self.seed,
            self.parameters,
            self.panel,
            made=self.made,
            oddities=False,
        )
        return replace(asked, before=votes.before)

    def sound(self, votes: Votes) -> list[Votes]:
        """Return those parts of the votes about which something can be asked, where others are to be skipped.

        What keeps all decisions from being asked about is said of none of them.
        """
        parts, problems = list[Votes](), list[tuple[Votes, InputError]]()
        rest = [votes]
        while rest:
            part = rest.pop()
            try:
                self.question(part)
                parts.append(part)
            except InputError as error:
                halves = self._halves(part)
                rest += reversed(halves)
                problems += [] if halves or isinstance(error, EmptyError) else [(part, error)]
        if not parts and len({str(error) for _, error in problems}) == 1 < len(problems):
            raise problems[0][1]
        if problems and (not parts or self.on_error == "stop"):
            raise self._named(*problems[0])
        return parts

    def _answers(self, votes: Votes) -> Answers:
        """Decide decisions of like size; where that fails, each half of them alone."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            try:
                found = self._decided(votes)
            except InputError as error:
                halves = self._halves(votes)
                if not halves:
                    return self._failed(votes, error)
                found = None
        if found is None:
            return Answers.joined([self._answers(half) for half in halves])
        said = {
            str(one.message): About(is_note=issubclass(one.category, InputNote))
            for one in caught
            if issubclass(one.category, InputWarning)
        }
        return found._replace(warnings=merged([said, found.warnings]))

    def _decided(self, votes: Votes) -> Answers:
        outcomes = [question.outcome() for question in self.question(votes).pieces()]
        if self.strict:
            _ = [outcome.chosen for outcome in outcomes]
        decisions = sum(outcome.profile.batch[0] for outcome in outcomes)
        return Answers(pl.concat(map(answer_table, outcomes)), merged(map(_warnings, outcomes)), decisions, 0)

    def _named(self, votes: Votes, error: InputError) -> UndecidedError:
        """Return the error with the name of the one decision that cannot be decided, or the row that names none."""
        name = self.names(votes)[0]
        decision, text = f"decision {quoted(name)}", str(error if name else votes.nameless(self.key) or error)
        named = UndecidedError(text if decision in text or not name else f"{decision}: {text}")
        named.__cause__ = error
        return named

    def _failed(self, votes: Votes, error: InputError) -> Answers:
        """Name the one decision that cannot be decided: as an error, or in its answer."""
        if isinstance(error, EmptyError):  # blank rows of a table, or verdicts: in memory they are no decision either
            return Answers(pl.DataFrame(schema={"decision": pl.String}), {}, 0, 0)
        named = self._named(votes, error)
        if self.on_error == "stop":
            raise named
        name = self.names(votes)[0]
        about = {} if name else {_NAMELESS: About()}
        return Answers(pl.DataFrame({"decision": [name], "error": [str(named)]}), about, 1, 1)

    def _halves(self, votes: Votes) -> tuple[Votes, ...]:
        """Cut votes into two halves, by decisions; into nothing if there is one."""
        names = self.names(votes)
        order = names.unique(maintain_order=True)
        middle = len(order) // 2
        if not middle:
            return ()
        first = names.is_in(order[:middle].to_list())
        return tuple(
            Votes(votes.table.filter(kept), votes.place.at(kept.to_numpy()), votes.before + before)
            for kept, before in ((first, 0), (~first, middle))
        )

    def _of_like_size(self, votes: Votes) -> Iterator[Votes]:
        """Part decisions of very different sizes, since small ones are filled up to the size of the largest."""
        names = self.names(votes)
        lengths = names.rle().struct.unnest().rename({"value": "name"})
        if lengths["name"].n_unique() < lengths.height:  # rows of a decision do not stand together
            lengths = lengths.group_by("name", maintain_order=True).agg(pl.col("len").sum())
        longest = int(lengths["len"].max())  # type: ignore[arg-type]
        if lengths.height * longest**2 <= _PADDED or lengths["len"].n_unique() == 1:
            yield votes
            return
        size = pl.col("len").log(2).ceil()
        before = votes.before
        for _, own in (
            lengths.with_columns(size.alias("size"))
            .sort("size", maintain_order=True)
            .group_by("size", maintain_order=True)
        ):
            kept = names.is_in(own["name"].to_list())
            yield Votes(votes.table.filter(kept), votes.place.at(kept.to_numpy()), before)
            before += own.height


def answer_table(outcome: Outcome) -> pl.DataFrame:
    """Return a row for each alternative of each decision, best first."""
    columns = alternative_columns(outcome)
    columns.pop("title", None)  # which is not known of all pieces
    shown = np.sum(np.atleast_2d(np.asarray(outcome.fit.scores)) > -np.inf, axis=-1)
    return table_of(columns, np.repeat(np.ravel(np.asarray(outcome.fit.status)), shown))


def tied_decisions(table: pl.DataFrame, choose: int) -> int:
    """Count the decisions in which alternatives tie for the last of the chosen places, whatever breaks the tie."""
    if "rank" not in table.columns:  # none could be decided
        return 0
    last = pl.col("rank").filter(pl.col("chosen")).max()
    decision = pl.col("decision") if "decision" in table.columns else pl.lit(0)
    tied = table.group_by(decision.alias("of")).agg(((pl.col("rank") <= last).sum() > choose).alias("tied"))
    return int(tied["tied"].sum())


def table_of(columns: Mapping[str, Array], status: Array) -> pl.DataFrame:
    """Return columns of answers as a table, with the status of the search at the end."""
    labels = pl.Series("status", [label.label for label in Status])
    status = np.broadcast_to(status, columns["score"].shape)
    made = [_series(name, column) for name, column in columns.items()]
    return pl.DataFrame([*made, labels.gather(status.astype(np.int64))])


def _series(name: str, column: Array) -> pl.Series:
    if column.dtype == object:
        texts = column.tolist()
        plain = set(map(type, texts)) <= {str}
        return pl.Series(name, texts if plain else list(map(str, texts)), dtype=pl.String)
    if column.dtype.kind == "U":  # of few different texts
        texts, code = np.unique(column, return_inverse=True)
        return pl.Series(name, texts.tolist()).gather(code)
    return pl.Series(name, column.astype(np.int64) if name in _WHOLE else column)


def _warnings(outcome: Outcome) -> dict[str, About]:
    """Return what is to be said of decisions, by what it is."""
    about = [
        {message: About((str(name),), 1)}
        for name, one in outcome.decisions_with_warnings(_LOOKED_AT)
        for message in one.rule_warnings
    ]
    return merged(about)


def merged(several: Iterable[Mapping[str, About]]) -> dict[str, About]:
    """Put warnings together."""
    together: dict[str, About] = {}
    for message, (names, number, is_note) in (item for one in several for item in one.items()):
        known = together.get(message, About())
        together[message] = About((*known.names, *names)[:_NAMED], known.number + number, is_note)
    return together


def about_to_json(about: Mapping[str, About]) -> list[list[Any]]:
    """Return warnings as plain objects."""
    return [[message, list(names), number, is_note] for message, (names, number, is_note) in about.items()]


def about_from_json(given: list[list[Any]]) -> dict[str, About]:
    """Return warnings from these."""
    return {message: About(tuple(names), number, is_note) for message, names, number, is_note in given}
