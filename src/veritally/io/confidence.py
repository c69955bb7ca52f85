"""Confidence in place of counts: what each level of it is worth."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.checks import real
from veritally.errors import InputError, InputNote, quoted
from veritally.io.frames import Place, named
from veritally.io.numbers import written
from veritally.io.options import Options
from veritally.votes.labels import first_few

DEFAULT: Mapping[str, float] = {"1": 1.0, "2": 2.4, "3": 4.9, "4": 8.0, "5": 8.4}
"""What levels are worth if nobody says it.

Of reviews of ICLR 2018 (938 papers), the rank correlation r of a single rating with the later citations of the paper
was 0.20, 0.30, 0.41, 0.50 and 0.51 for a confidence of 1 to 5; these are r²/(1 − r²), in units of that of the lowest.
"""
_GIVE = "confidence={…} in Python, --confidence 1:1,2:2.4,… on the command line"


def checked_map(given: Any) -> dict[str, float]:
    """Require a dictionary from levels, numbers or words, to counts above 0."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"confidence needs a dictionary from levels to counts, such as {{1: 1, 2: 2.4}}, not {given}")
    made: dict[str, float] = {}
    for level, worth in given.items():
        count = real(worth, f"the count for the confidence {quoted(level)}", 0)
        if not 0 < count < np.inf:
            raise InputError(f"the count for the confidence {quoted(level)} must be above 0, not {count:g}")
        if _plain(level) in made:
            raise InputError(f"confidence has the level {quoted(level)} twice; give one count for each")
        made[_plain(level)] = count
    return made


def with_counts(table: pl.DataFrame, place: Place, said: Options) -> pl.DataFrame:
    """Let the column ``confidence`` hold counts; where a row is a voter and an alternative, call it ``count``."""
    if "confidence" not in table.columns:
        if said.confidence is not None:
            raise InputError(f"{place.name}: there is no column confidence, whose levels were given; leave these out")
        return table
    if "count" in table.columns:
        raise InputError(f"{place.name}: has a column count and a column confidence; give one of them")
    worth = _counts(table["confidence"], place, said.confidence)
    if "alternative" not in table.columns:
        return table.with_columns(_filled(worth, worth.is_null(), place).alias("confidence"))
    voted = table.select(pl.any_horizontal(pl.col(name).is_not_null() for name in _votes_in(table))).to_series()
    return table.drop("confidence").with_columns(_filled(worth, worth.is_null() & voted, place).alias("count"))


def of_voters(table: pl.DataFrame) -> Array | None:
    """Return what each voter's confidence is worth, ``(voter, 1)``, in a table with a row for each."""
    return table["confidence"].to_numpy()[:, None] if "confidence" in table.columns else None


def _votes_in(table: pl.DataFrame) -> list[str]:
    return [name for name in ("rank", "value") if name in table.columns] or ["alternative"]


def _filled(worth: pl.Series, lacking: pl.Series, place: Place) -> pl.Series:
    """Let an empty cell beside a vote be worth the median of the others, with a note."""
    rows = lacking.arg_true().to_list()
    if not rows:
        return worth
    if not worth.count():
        raise InputError(f"{place(rows[0])}: the confidence is empty, as in all rows; leave the column out")
    median = float(np.median(worth.drop_nulls().to_numpy()))
    others = f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
    note = f"{place(rows[0])}{others}: the confidence is empty and counts as the median of the others, {median:g}"
    warnings.warn(note, InputNote, stacklevel=6)
    return worth.to_frame("worth").select(pl.when(lacking).then(median).otherwise(pl.col("worth"))).to_series()


def _counts(column: pl.Series, place: Place, given: Mapping[str, float] | None) -> pl.Series:
    """Return what each level in a column is worth, None for blank."""
    named(column.drop_nulls(), place)
    text = column.cast(pl.String)
    if given is None or not any(_plain(level) in given for level in text.drop_nulls().unique()):
        text = _numbered(text)
    levels = {level: _plain(level) for level in text.drop_nulls().unique(maintain_order=True)}
    known = DEFAULT if given is None else given
    unknown = [level for level, plain in levels.items() if plain and plain not in known]
    if unknown:
        row = (text == unknown[0]).arg_true()[0]
        said = f"{place(row)}: the confidence {quoted(unknown[0])}"
        if given is None:
            raise InputError(f"{said} is not a whole number from 1 to 5; say what each level is worth: {_GIVE}")
        raise InputError(f"{said} is not among the levels that are given, {first_few(list(given), 8)}; add it")
    if given is None and any(levels.values()):
        used = {plain: count for plain, count in DEFAULT.items() if plain in levels.values()}
        taken = f"confidence {', '.join(used)} counts as {', '.join(f'{count:g}' for count in used.values())}"
        source = "a default, from how well ratings of five levels foretold citations at ICLR 2018"
        warnings.warn(f"{place.name}: {taken} ({source}); to change that: {_GIVE}", InputNote, stacklevel=6)
    worth_of = {level: known[plain] for level, plain in levels.items() if plain}
    return text.replace_strict(worth_of, default=None, return_dtype=pl.Float64)


def _numbered(text: pl.Series) -> pl.Series:
    """Return the number of each level that has words beside it: 3: fairly confident, Expert (4)."""
    found = written(text, levels=True)
    if found is None or found.form in ("plain", "percent"):
        return text
    return found.number.cast(pl.String)


def _plain(level: Any) -> str:
    """Return a level as text: numbers in one form, words without capitals.

    >>> [_plain(level) for level in (1, "1.0", " 2.50", "Rather sure")]
    ['1', '1', '2.5', 'rather sure']
    """
    text = str(level).strip()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text.casefold()
