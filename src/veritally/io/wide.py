"""The wide table: a row for each voter, a column for each alternative."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, InputWarning, quoted, short
from veritally.io import confidence, decisions, frames, suspicions
from veritally.io.decisions import Arguments
from veritally.io.frames import Place
from veritally.io.groups import column_for
from veritally.io.numbers import are_ordinals, mostly_numbers, numbers_of_cells
from veritally.io.options import Options
from veritally.votes.profile import Profile

OF_VOTERS = ("decision", "voter", "multiplicity", "group", "confidence")  # columns that are no alternatives
_TAKEN = {*frames.COLUMNS, "order"}  # names that would make it a table of another form


def recognised(table: pl.DataFrame) -> bool:
    """Whether beside the columns about voters there are at least two, and these hold numbers."""
    cells = _cells(table)
    return (
        len(cells) > 1 and not _TAKEN & set(cells) and all(mostly_numbers(table[name], ordinals=True) for name in cells)
    )


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn a wide table into a Profile."""
    if "" in table.columns:
        raise InputError(f"{place.name}: a column has no name; call it voter if it names them, else leave it out")
    if said.ballots is None and any(are_ordinals(table[name]) for name in _cells(table)):
        said = replace(said, ballots="rank")  # 1st, 2nd
    table = _parsed(table, place)
    if said.counts is not None:
        table = _with_counts(table, place.name, *said.counts)
    cells = dict.fromkeys(_cells(table))  # by which a name is found at once
    alternatives = [name for name in cells if not (name.endswith("_count") and name.removesuffix("_count") in cells)]
    counted = next((name for name in alternatives if _count(name) in cells), None)
    if counted is not None:
        if "confidence" in table.columns:
            raise InputError(f"{place.name}: has counts and a column confidence; give one of them")
        said.refuse(place.name, "votes with counts", "unranked")
        if lacking := [name for name in alternatives if _count(name) not in cells]:
            found = f"there is a column {short(_count(counted))} but no {short(_count(lacking[0]))}"
            raise InputError(f"{place.name}: {found}; give the counts of all alternatives or of none")
    votes = table.select(alternatives).to_numpy()
    kind = _kind(votes, place.name, said)
    if kind == "ranks":
        said.require_ranks(place.name)
    shared = "decision" in table.columns
    read = partial(_votes, alternatives=alternatives, counted=counted is not None, kind=kind, shared=shared, said=said)
    profile = decisions.each_decision(table, place, read)
    for remark in _suspicions(alternatives, votes, kind, place):
        warnings.warn(remark, InputWarning, stacklevel=4)
    return profile


def _suspicions(alternatives: list[str], votes: Array, kind: str, place: Place) -> Iterator[str]:
    """Say what may be meant otherwise."""
    for remark in suspicions.of_columns(alternatives, votes, kind):
        yield f"{place.name}: {remark}"
    if kind == "ranks":
        yield from suspicions.of_ranks(votes, lambda index: place(index[0]), "say --ballots value")


def from_profile(profile: Profile) -> pl.DataFrame:
    """Turn a profile into a wide table with the counts in columns of their own."""
    frames.require_table(profile)
    if len(profile.ballots.columns()) != 1:
        raise InputError(f"a wide table holds either values or ranks; write {profile.kind} votes as a tidy table")
    if profile.ballots.roles is not None:
        raise InputError("a wide table has no place for the roles of alternatives; write a tidy table")
    rows = partial(_rows, weighed=frames.is_weighed(profile))
    return frames.each_decision(profile, rows) if profile.batch else rows(profile)


def _votes(
    table: pl.DataFrame,
    place: Place,
    alternatives: list[str],
    counted: bool,
    kind: str,
    shared: bool,
    said: Options,
) -> Arguments:
    """Return the votes of one decision."""
    votes = table.select(alternatives).to_numpy()
    voted = ~np.isnan(votes)
    counts = said.sightings(voted)
    if (worth := confidence.of_voters(table)) is not None:
        counts = counts * worth
    if counted:
        counts = table.select(map(_count, alternatives)).to_numpy()
        counts = np.where(np.isnan(counts) & ~voted, 0, counts)  # neither count nor vote: not seen
    kept = np.ones(len(alternatives), dtype=bool)
    if shared:  # an alternative that is blank all through a decision does not belong to it
        kept = np.any(voted | ((counts > 0) & counted), axis=0)
    return {
        kind: (-votes if said.lower_is_better else votes)[:, kept],
        "counts": counts[:, kept],
        "multiplicity": frames.multiplicities(table, place),
        "voters": decisions.voters(table, place),
        "alternatives": [name for name, keep in zip(alternatives, kept, strict=True) if keep],
    }


def _kind(cells: Array, name: str, said: Options) -> str:
    """Tell ranks from values: by what was said, or because no rank is negative."""
    favourites = said.ballots == "top" and bool((np.isnan(cells) | (cells == 1)).all())
    if said.ballots == "rank" or favourites:
        return "ranks"
    if said.ballots == "value" or said.lower_is_better or (cells < 0).any():
        return "values"
    what = "ranks (--ballots rank: 1 is the best) or values (--ballots value: more is better)"
    raise InputError(f"{name}: has a column of numbers for each alternative; say whether these are {what}")


def _with_counts(table: pl.DataFrame, name: str, counts: pl.DataFrame, where: Place) -> pl.DataFrame:
    """Put the counts of a second table of the same shape beside the votes."""
    counts, where = frames.filled_rows(counts.rename(frames.plain_names(counts.columns)), where)
    counts = _parsed(counts, where)
    for one, other, owner in ((table, counts, where.name), (counts, table, name)):
        known = set(other.columns)
        if lacking := [column for column in _cells(one) if column not in known]:
            raise InputError(f"{owner}: has no column {short(lacking[0])}; votes and counts need the same columns")
    if table.height != counts.height:
        sizes = f"{counts.height} rows of counts for {table.height} of votes"
        raise InputError(f"{where.name}: has {sizes}; give one for each voter")
    keys = [key for key in ("decision", "voter") if key in table.columns and key in counts.columns]
    if "voter" in keys:
        counts = counts[_matching(table.select(keys), counts.select(keys), where.name)]
    return table.with_columns(counts[column].alias(_count(column)) for column in _cells(table))


def _matching(wanted: pl.DataFrame, found: pl.DataFrame, name: str) -> list[int]:
    """Return where the keys of the one table stand in the other."""
    row = {tuple(map(str, key)): i for i, key in enumerate(found.rows())}
    if len(row) < found.height:
        raise InputError(f"{name}: has the counts of a voter twice; give a row for each, with the decision if needed")
    keys = [tuple(map(str, key)) for key in wanted.rows()]
    if lacking := [key for key in keys if key not in row]:
        raise InputError(f"{name}: has no counts of voter {quoted(lacking[0][-1])}; give a row for each voter")
    return [row[key] for key in keys]


def _rows(profile: Profile, weighed: bool) -> pl.DataFrame:
    """Return the table of a single decision."""
    frames.require_different(profile.voters)
    frames.require_different(profile.alternatives)
    names = [str(name) for name in profile.alternatives]
    others = set(names)
    if taken := [
        name
        for name in names
        if name.strip().lower() in _TAKEN or (name.endswith("_count") and name.removesuffix("_count") in others)
    ]:
        raise InputError(f"an alternative named {quoted(taken[0])} cannot be a column of a wide table; rename it")
    [votes] = map(np.asarray, profile.ballots.columns().values())
    counts = frames.whole_if_possible(np.asarray(profile.counts))
    columns: dict[str, Any] = {"voter": list(map(str, profile.voters))}
    columns |= {name: votes[:, j] for j, name in enumerate(names)}
    columns |= {_count(name): counts[:, j] for j, name in enumerate(names)}
    if weighed:
        columns["multiplicity"] = np.asarray(profile.multiplicity)
    if profile.groups:
        columns["group"] = pl.Series(column_for(profile.groups, columns["voter"]), dtype=pl.String)
    return pl.DataFrame(columns, nan_to_null=True)


def _parsed(table: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Turn the cells into numbers, NaN for blank."""
    cells = _cells(table)
    read = numbers_of_cells(table, cells, place)
    return table.with_columns(pl.Series(name, numbers) for name, numbers in zip(cells, read, strict=True))


def _cells(table: pl.DataFrame) -> list[str]:
    """Return the columns with votes and counts."""
    return [name for name in table.columns if name not in OF_VOTERS]


def _count(name: str) -> str:
    """Name the column with the counts of an alternative."""
    return f"{name}_count"
