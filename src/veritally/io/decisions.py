"""Tables in which a row is a voter: a profile, or one for each decision, put together as a batch."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from veritally.combine import stack
from veritally.errors import InputError
from veritally.io.frames import Place, coded, require_room
from veritally.profile import Profile

Arguments: TypeAlias = dict[str, Any]
"""What Profile takes."""


def profile_of(name: str, arguments: Arguments) -> Profile:
    """Make a profile, and where that fails say of what file."""
    try:
        return Profile(**arguments)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def each_decision(table: pl.DataFrame, place: Place, votes: Callable[[pl.DataFrame, Place], Arguments]) -> Profile:
    """Make a profile of the votes in a table, or in the rows of each decision where it has such a column."""
    if "decision" not in table.columns:
        return profile_of(place.name, votes(table, place))
    names, decision = coded(table["decision"], place)
    ends = np.cumsum(np.bincount(decision))
    parts = []
    for name, rows in zip(names, np.split(np.argsort(decision, kind="stable"), ends[:-1]), strict=True):
        own = replace(place.at(rows), name=f"{place.name}, decision {name!r}")
        parts.append(profile_of(own.name, votes(table[rows].drop("decision"), own)))
    sizes = np.array([part.shape for part in parts])
    require_room((len(parts), *sizes.max(axis=0).tolist()), int(sizes.prod(axis=1).sum()), place.name)
    return stack(parts, decisions=names)


def voters(table: pl.DataFrame, place: Place) -> list[str]:
    """Return the voter of each row, named by the row where there is no such column."""
    if "voter" not in table.columns:
        return [f"{place.unit} {line}" for line in place.lines]
    names, voter = coded(table["voter"], place)
    if len(names) < table.height:
        row = np.setdiff1d(np.arange(table.height), np.unique(voter, return_index=True)[1])[0]
        raise InputError(f"{place(row)}: voter {names[voter[row]]!r} stands twice; give one row for each")
    return names
