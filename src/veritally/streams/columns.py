"""Which columns have the names of decisions and voters, told by the first rows, before any others are read."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from veritally.errors import InputError
from veritally.io import forms
from veritally.io.columns import Source
from veritally.io.options import Options
from veritally.io.verdicts import Words, word_column
from veritally.streams.decisions import About
from veritally.streams.rows import Rows

_HEAD, _LEAST = 10_000, 20  # rows that are looked at, and the fewest


class Columns(NamedTuple):
    """The columns with the names of decisions, voters and alternatives, if there are such, and how rows are read."""

    decision: str | None
    voter: str | None
    alternatives: tuple[str, ...]
    said: Options
    about: Mapping[str, About] = {}

    @classmethod
    def of(cls, rows: Rows, said: Options) -> "Columns":
        """Look at the first rows; where these cannot be read, at some of them, so that others can be decided."""
        problem: InputError | None = None
        head = min(_HEAD, rows.height)
        word, words = _words(rows, Source(rows.read(0, head), rows.places(range(head))), said)
        said = said if words is None else replace(said, words=words.words)
        for start, stop in _stretches(0, head):
            try:
                found = cls._of(rows, start, stop, said, word)
                return found if words is None else found._replace(about=_about(words, rows.name))
            except InputError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    @classmethod
    def _of(cls, rows: Rows, start: int, stop: int, said: Options, word: str | None) -> "Columns":
        table, place = rows.read(start, stop), rows.places(range(start, stop))
        if word is not None and said.words is not None:  # rows with none of these words are nobody's votes
            kept = table[word].cast(pl.String).is_in(said.words).fill_null(False)
            table, place = table.filter(kept), place.at(kept.to_numpy())
        roles = ("decision", "voter", "alternative", "left", "right")
        decision, voter, *others = (forms.columns_of(role, table, place, said) for role in roles)
        return cls(decision, voter, tuple(column for column in others if column is not None), said)

    def names(self, rows: Rows) -> tuple[str, ...] | None:
        """Return the names of all alternatives, in the order of the file; None where no column has them."""
        if not self.alternatives:
            return None
        return tuple(rows.names(self.alternatives))

    def ordered(self, rows: Rows) -> "Columns":
        """Have ties broken in the order of all rows, which that of a piece may not be.

        Where each name stands in one decision alone, these are the same.
        """
        if self.decision is None or len(self.alternatives) != 1:
            return self
        known, new = pl.DataFrame(), list[pl.DataFrame]()
        for first, batch in rows.batches([self.decision, *self.alternatives]):
            new.append(rows.spelt(batch).select(pl.all().hash()).unique())
            if sum(part.height for part in new) > known.height or first + batch.height == rows.height:
                known, new = pl.concat([known, *new]).unique(), []
                if known.height > known[self.alternatives[0]].n_unique():
                    return self._replace(said=replace(self.said, order=self.names(rows)))
        return self


def _words(rows: Rows, head: Source, said: Options) -> tuple[str | None, Words | None]:
    """Return the column with the words of verdicts and the different words of all rows, if these are such."""
    found = word_column(forms.called(head, said))
    if found is None:
        return None, None
    word = said.columns.get(found[2], found[2])
    return word, Words.of(rows.numbers(word), word, rows.name, said.verdicts)


def _about(words: Words, name: str) -> dict[str, About]:
    """Return what is to be said of the words of all rows, as pieces, which have some of them, cannot say it."""
    warning = {} if words.warning is None else {words.warning: About()}
    return {f"{name}: {note}": About(is_note=True) for note in words.notes} | warning


def _stretches(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Go through stretches of rows: all, their halves, the halves of these, down to a few rows."""
    level = [(start, stop)]
    while level:
        yield from level
        halves = [((a, (a + b) // 2), ((a + b) // 2, b)) for a, b in level if b - a >= 2 * _LEAST]
        level = [half for both in halves for half in both]
