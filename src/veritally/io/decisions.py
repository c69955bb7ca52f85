"""Tables in which a row is a voter: a profile, or one for each decision, put together as a batch."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from veritally.errors import InputError, quoted
from veritally.io.frames import Place, coded, named, require_room
from veritally.votes.combine import stack
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

Arguments: TypeAlias = dict[str, Any]
"""What Profile takes."""


def profile_of(name: str, arguments: Arguments) -> Profile:
    """Make a profile, of pairs with the ``positions`` where these are known; where that fails say of what file."""
    try:
        profile = Profile(**{key: given for key, given in arguments.items() if key != "positions"})
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    if arguments.get("positions") is not None and isinstance(profile.ballots, Pairs):
        return profile.with_ballots(profile.ballots.with_positions(arguments["positions"]))
    return profile


def each_decision(table: pl.DataFrame, place: Place, votes: Callable[[pl.DataFrame, Place], Arguments]) -> Profile:
    """Make a profile of the votes in a table, or in the rows of each decision where it has such a column."""
    if "decision" not in table.columns:
        return profile_of(place.name, votes(table, place))
    names, decision = coded(table["decision"], place)
    order = np.argsort(decision, kind="stable")
    table, place = table.drop("decision")[order], place.at(order)
    parts, start = [], 0
    for name, number in zip(names, np.bincount(decision).tolist(), strict=True):
        own = replace(place.at(slice(start, start + number)), name=f"{place.name}, decision {quoted(name)}")
        parts.append(profile_of(own.name, votes(table.slice(start, number), own)))
        start += number
    sizes = np.array([np.shape(part.ballots.votes) for part in parts])  # pairs have one axis more than counts
    require_room((len(parts), *sizes.max(axis=0).tolist()), int(sizes.prod(axis=1).sum()), place.name)
    return stack(parts, decisions=names)


def voters(table: pl.DataFrame, place: Place) -> list[str]:
    """Return the voter of each row, named by the row where there is no such column."""
    if "voter" not in table.columns:
        return [f"{place.unit} {line}" for line in place.lines]
    names: list[str] = named(table["voter"], place).to_list()
    if len(set(names)) < len(names):
        row = np.setdiff1d(np.arange(len(names)), np.unique(names, return_index=True)[1])[0]
        raise InputError(f"{place(row)}: voter {quoted(names[row])} stands twice; give one row for each")
    return names
