"""Tables that planning takes: who may look at what, what looks cost, and what somebody new would look at."""

import difflib
import warnings
from collections.abc import Iterable
from typing import Any

import polars as pl

from veritally.errors import InputError, InputWarning, quoted
from veritally.io import frames
from veritally.io.columns import OTHER_NAMES, Source, key, meant
from veritally.io.votes import load
from veritally.planning.limits import SOMEBODY
from veritally.votes.labels import counted, first_few, require_known
from veritally.votes.profile import Profile

_HINTED = 100  # unknown names for which a near one is looked for, since that takes a while


def read_allowed(source: Any, profile: Profile) -> list[tuple[Any, Any]]:
    """Read who may look at what: the columns ``voter`` and ``alternative``, a row for each pair."""
    voters, alternatives = _known_names(profile)
    return [
        (_known(one, voters, "voter", source), _known(other, alternatives, "alternative", source))
        for one, other in _pairs(source)
    ]


def read_conflicts(source: Any, profile: Profile) -> list[tuple[Any, Any]]:
    """Read who may not look at what: a table of the same columns, without rows where there are no conflicts.

    It may be that of a whole committee: rows of others than those among the votes are left out, with a warning.
    """
    voters, alternatives = _known_names(profile)
    pairs = _pairs(source, empty=True)
    found = [(voters[one], alternatives[other]) for one, other in pairs if one in voters and other in alternatives]
    if len(found) < len(pairs):
        unknown = {one: voters for one, _ in pairs if one not in voters}
        unknown |= {other: alternatives for _, other in pairs if other not in alternatives}
        left = len(pairs) - len(found)
        some = first_few(_likely_mistakes_first(unknown), 3, str)
        warnings.warn(
            f"{source}: {left:,} of {counted(len(pairs), 'row')} {'names' if left == 1 else 'name'} voters or "
            f"alternatives that are not among the votes, and {'is' if left == 1 else 'are'} left out: {some}",
            InputWarning,
            stacklevel=2,
        )
    return found


def _likely_mistakes_first(unknown: dict[str, dict[str, Any]]) -> list[str]:
    """Quote names that are not among the known, first those that may be misspelled, with what may be meant."""
    misspelled, others = [], []
    for i, (name, known) in enumerate(unknown.items()):
        near = _nearest(name, known) if i < _HINTED else None
        if near is None:
            others.append(quoted(name))
        else:
            misspelled.append(f"{quoted(name)} (did you mean {quoted(near)}?)")
    return misspelled + others


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return a name that differs by a letter or two. Papers 31 and 37 are two papers, so digits must be the same."""
    alike = {other.casefold(): other for other in known if _digits(other) == _digits(name)}
    near = difflib.get_close_matches(name.casefold(), alike, n=1, cutoff=0.8)
    return alike[near[0]] if near else None


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _pairs(source: Any, empty: bool = False) -> list[tuple[str, str]]:
    """Read names of a voter and an alternative from each row."""
    pairs = list(_table(source, "voter and alternative", ("voter", "alternative"), empty=empty).iter_rows())
    for row, pair in enumerate(pairs, 1):
        for name, what in zip(pair, ("voter", "alternative"), strict=True):
            if not name:
                raise InputError(f"{source}: row {row} has no {what}; give a voter and an alternative in each row")
    return pairs


def _known_names(profile: Profile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return those who can be asked, and the alternatives, by how they stand in a file."""
    return _names((*profile.voters, SOMEBODY)), _names(profile.alternatives)


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
