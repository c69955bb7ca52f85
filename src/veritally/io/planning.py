"""Tables that planning takes: who may look at what, what looks cost, and what somebody new would look at."""

from typing import Any

import polars as pl

from veritally.errors import InputError, quoted
from veritally.io import frames
from veritally.io.columns import OTHER_NAMES, Source, key, meant
from veritally.io.votes import load
from veritally.planning.limits import SOMEBODY
from veritally.votes.labels import require_known
from veritally.votes.profile import Profile


def read_allowed(source: Any, profile: Profile) -> list[tuple[Any, Any]]:
    """Read who may look at what: the columns ``voter`` and ``alternative``, a row for each pair."""
    return _pairs(_table(source, "voter and alternative", ("voter", "alternative")), source, profile)


def read_conflicts(source: Any, profile: Profile) -> list[tuple[Any, Any]]:
    """Read who may not look at what: a table of the same columns, without rows where there are no conflicts."""
    return _pairs(_table(source, "voter and alternative", ("voter", "alternative"), empty=True), source, profile)


def _pairs(table: pl.DataFrame, source: Any, profile: Profile) -> list[tuple[Any, Any]]:
    voters, alternatives = _names((*profile.voters, SOMEBODY)), _names(profile.alternatives)
    found = []
    for row, (one, other) in enumerate(table.iter_rows(), 1):
        for name, what in ((one, "voter"), (other, "alternative")):
            if not name:
                raise InputError(f"{source}: row {row} has no {what}; give a voter and an alternative in each row")
        found.append((_known(one, voters, "voter", source), _known(other, alternatives, "alternative", source)))
    return found


def read_costs(source: Any, profile: Profile) -> dict[Any, float]:
    """Read what a look of each voter costs: the columns ``voter`` and ``cost``."""
    voters = _names((*profile.voters, SOMEBODY))
    return {
        _known(name, voters, "voter", source): cost for name, cost in _numbers(source, "cost", "voter", "cost").items()
    }


def read_newcomer(source: Any, profile: Profile) -> dict[Any, float]:
    """Read how often somebody new would look at each alternative: the columns ``alternative`` and ``count``."""
    names = _names(profile.alternatives)
    given = _numbers(source, "newcomer", "alternative", "count")
    return {_known(name, names, "alternative", source): count for name, count in given.items()}


def _names(names: tuple[Any, ...]) -> dict[str, Any]:
    """Return names by how they stand in a file."""
    return {str(name): name for name in names}


def _known(name: str, names: dict[str, Any], what: str, source: Any) -> Any:
    try:
        require_known(name, names, what)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    return names[name]


def _numbers(source: Any, what: str, key: str, value: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, text in _table(source, what, (key, value)).iter_rows():
        if text is None:
            raise InputError(f"{source}: the {value} of {quoted(name)} is empty")
        if name in found:
            raise InputError(f"{source}: {quoted(name)} stands there twice; give one {value} for each {key}")
        try:
            found[name] = float(text)
        except (TypeError, ValueError):
            raise InputError(f"{source}: the {value} of {quoted(name)} must be a number, not {quoted(text)}") from None
    return found


def _table(source: Any, what: str, columns: tuple[str, ...], empty: bool = False) -> pl.DataFrame:
    """Read some columns of a table as text, without blank rows; of voters and alternatives by the names of votes."""
    table, place = load(source, what)
    found: dict[str, str] = {}
    for column in columns:
        name = _called(column, Source(table, place), tuple(found.values()))
        if name is None:
            raise InputError(f"{place.name}: has no column {column}; it needs the columns {' and '.join(columns)}")
        found[column] = name
    table = table.select(pl.col(name).alias(column) for column, name in found.items())
    table, _ = frames.filled_rows(table, place)
    if not table.height and not empty:
        raise InputError(f"{place.name}: has a header but no rows; it needs the columns {' and '.join(columns)}")
    return table.select(pl.all().cast(pl.String).str.strip_chars())


def _called(column: str, source: Source, taken: tuple[str, ...]) -> str | None:
    """Return the column of a table that has our name, or one that a file of votes may have for it."""
    names = [name for name in source.table.columns if name not in taken]
    same = [name for name in names if name == column] or [name for name in names if key(name) == column]
    if same or column not in ("voter", "alternative"):
        return next(iter(same), None)
    if not source.table.height:  # there is nothing to tell by whether they are voters
        others = {other for line in OTHER_NAMES[column] for other in line}
        return next((name for name in names if key(name) in others), None)
    try:
        return meant(column, source, taken)
    except InputError:
        problem = f"several columns may be the {column}; call the right one {column}"
        raise InputError(f"{source.place.name}: {problem}") from None
