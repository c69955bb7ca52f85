"""The forms that a table of votes may have, recognised by its columns."""

import warnings
from collections.abc import Callable

import polars as pl

from veritally.errors import EmptyError, InputError, InputNote
from veritally.io import comparisons, confidence, frames, looks, orders, recognition, reviews, surveys, verdicts, wide
from veritally.io.columns import NAMES, Source, mapped
from veritally.io.frames import Place
from veritally.io.groups import groups_in
from veritally.io.options import Options
from veritally.io.titles import titles_in
from veritally.votes.profile import Profile


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn a table of whatever form into a Profile."""
    source = called(Source(table, place), said)
    table, place = frames.filled_rows(source.table, source.place)
    if not table.height:
        raise EmptyError(f"{place.name}: has a header but no rows; it needs a row for each voter and alternative")
    source = Source(table, place, source.notes, source.left_out)
    if said.verdicts is not None and verdicts.word_column(source, said.words) is None:
        problem = "verdicts are words such as yes and no, in a row for each judge and question, and there are none here"
        raise InputError(f"{place.name}: {problem}; leave them out")
    if said.counts is None and not recognition.is_complete(table):
        source = _recognised(source, said)
    elif said.columns and "alternative" in table.columns:  # who says which columns are meant does not mean the others
        source = source.with_table(table.select(name for name in table.columns if name in NAMES))
    table, place = source.table, source.place
    if not table.height:
        raise EmptyError(f"{place.name}: all verdicts are empty; it needs some")
    if source.notes:
        warnings.warn(f"{place.name}: {'; '.join(source.notes)}", InputNote, stacklevel=4)
    read = _reader(table, place, said)
    levels = None
    if read not in (comparisons.to_profile, looks.to_profile):
        levels = (said.confidence or confidence.DEFAULT) if "confidence" in table.columns else None
        table = confidence.with_counts(table, place, said)
    profile = read(table, place, said)
    if read is comparisons.to_profile:
        return profile
    return profile.with_facts(groups=groups_in(table, place), titles=titles_in(table), confidence=levels)


def columns_of(role: str, table: pl.DataFrame, place: Place, said: Options) -> str | None:
    """Return the column of a table whose names become those of decisions, or voters; None where none does.

    What rows of whole decisions, or voters, say is then the same, whatever other rows stand beside them.
    """
    source = called(Source(table, place), said)
    if not recognition.is_complete(source.table):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputNote)
            source = _recognised(source, said)
    if role not in source.table.columns:
        own = next((name for name in source.table.columns if comparisons.is_known(role, name)), None)
        if own is None:
            return None
        source = source.with_table(source.table.rename({own: role}))
    frames.require_names(source.table[role], source.place)
    names = set(source.table[role].cast(pl.String).drop_nulls())
    given = source.place.columns.get(role, role)
    for name in sorted(table.columns, key=lambda name: name != given):
        if frames.has_names(table[name]) and set(table[name].cast(pl.String).drop_nulls()) == names:
            return name
    return None


def called(source: Source, said: Options) -> Source:
    """Call columns as the user says, and as we do where only capitals differ."""
    source = mapped(source, said.columns)
    return source.with_table(_plain(source.table))


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Forgive capitals in our names of columns."""
    table = table.rename(frames.plain_names(table.columns, (*frames.COLUMNS, "order")))
    if "alternative" in table.columns:  # else they may be alternatives themselves
        table = table.rename(frames.plain_names(table.columns, frames.LOOKS))
    return table


def _recognised(source: Source, said: Options) -> Source:
    """Return the table under our names, whatever its form is; as it is, if it is none that is known."""
    if wide.recognised(source.table) and not comparisons.recognised(source.table):
        return recognition.tidy(source, said) or source
    found = verdicts.unfolded(source, said.words, said.verdicts)
    if found is not None and recognition.is_complete(found.table):
        return found
    source = reviews.unfolded(found or source)
    return (
        recognition.compared(source)
        or recognition.ordered(source)
        or recognition.tidy(source, said)
        or surveys.unfolded(source)
        or source
    )


def _reader(table: pl.DataFrame, place: Place, said: Options) -> Callable[[pl.DataFrame, Place, Options], Profile]:
    """Tell the form; what is none of the others should have been tidy."""
    if "alternative" in table.columns:
        return looks.to_profile if looks.recognised(table) else frames.to_profile
    if comparisons.recognised(table):
        return comparisons.to_profile
    if "order" in table.columns:
        return orders.to_profile
    looks.require_alternatives(table, place)
    return wide.to_profile if wide.recognised(table) or said.counts is not None else frames.to_profile
