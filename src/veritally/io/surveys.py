"""Answers of a web form, as Google and Microsoft export them: a row for each person, a column for each option."""

import re
from collections.abc import Iterable

import polars as pl

from veritally.errors import InputError, quoted, short
from veritally.io import wide
from veritally.io.columns import OTHER_NAMES, Source, key
from veritally.io.numbers import mostly_numbers
from veritally.votes.labels import first_few

_OPTION = re.compile(r"^(.*?)\s*\[(.+)\]$", re.DOTALL)  # Google has columns such as Question [Option A]
_ASIDE = {
    *("timestamp", "time", "date", "starttime", "completiontime", "lastmodifiedtime", "submittedat", "submitdate"),
    *("id", "responseid", "ip", "ipaddress", "language", "duration", "consent", "affiliation", "organisation"),
    *("comment", "comments", "anycomments", "othercomments", "feedback", "remarks", "notes", "reason", "why"),
}
_PERSON = [name for names in OTHER_NAMES["voter"] for name in names]


def unfolded(source: Source) -> Source | None:
    """Return a wide table: who votes, and a column of numbers for each option; None where it is no such form."""
    table = source.table
    if "alternative" in table.columns or "" in table.columns:
        return None
    kept = [name for name in wide.OF_VOTERS if name in table.columns]
    people = [] if "voter" in kept else [name for name in table.columns if key(name) in _PERSON and name not in kept]
    people = [name for name in people if not _is_option(table[name]) or table[name].n_unique() == table.height]
    aside = [name for name in table.columns if key(name) in _ASIDE and name not in kept]
    others = [name for name in table.columns if name not in (*kept, *people, *aside)]
    grid = {name: found for name in others if (found := _OPTION.match(name))}
    if len(grid) > 1:
        questions = list(dict.fromkeys(found[1] for found in grid.values()))
        if len(questions) > 1:
            listed = " and ".join(quoted(question) for question in questions[:2])
            raise InputError(f"{source.place.name}: has several questions, such as {listed}; keep the columns of one")
        aside += [name for name in others if name not in grid]
        others = list(grid)
    if not (people or aside or len(grid) > 1) or len(others) < 2 or not all(_is_option(table[name]) for name in others):
        return None
    voter = _naming(table, people)
    renamed = {name: found[2] for name, found in grid.items() if name in others}
    if len(set(renamed.values())) < len(renamed):
        return None
    renamed |= {} if voter is None else {voter: "voter"}
    columns = [*kept, *([] if voter is None else [voter]), *others]
    left = [name for name in table.columns if name not in columns]
    return source.with_table(table.select(columns).rename(renamed), *_notes(voter, renamed, others, left))


def _is_option(column: pl.Series) -> bool:
    return bool(column.count()) and mostly_numbers(column, ordinals=True)


def _naming(table: pl.DataFrame, people: list[str]) -> str | None:
    """Return the column about people that names each row, names before addresses."""
    people = sorted(people, key=lambda name: _PERSON.index(key(name)))
    clear = [name for name in people if table[name].n_unique() == table.height and not table[name].null_count()]
    return clear[0] if clear else None


def _notes(voter: str | None, renamed: dict[str, str], others: list[str], left: list[str]) -> Iterable[str]:
    """Say what was read as what."""
    options = [renamed.get(name, name) for name in others]
    whose = "" if voter is None else f"{short(voter)} is read as voter, "
    yield f"{whose}{first_few(options, 5)} {'' if voter else 'are read '}as alternatives"
    if left:
        yield f"{first_few(left, 5)} {'is' if len(left) == 1 else 'are'} left aside"
