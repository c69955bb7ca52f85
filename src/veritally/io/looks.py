"""Single looks: a row is what a voter saw of an alternative at one item (a prompt, a patient, a segment)."""

from dataclasses import replace

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, quoted
from veritally.io import frames
from veritally.io.components import share_of_items
from veritally.io.frames import Place
from veritally.io.groups import optional_names
from veritally.io.numbers import numbers
from veritally.io.options import Options
from veritally.votes.items import Items
from veritally.votes.profile import Profile

_NEEDED = {"voter", "alternative", "item", "value"}


def recognised(table: pl.DataFrame) -> bool:
    """Whether a row has a value for an item, beside a voter and an alternative."""
    return set(table.columns) >= _NEEDED


def require_alternatives(table: pl.DataFrame, place: Place) -> None:
    """Refuse items without alternatives, which nothing else could be made of."""
    columns = {column.strip().lower() for column in table.columns}
    if columns >= _NEEDED - {"alternative"} and "alternative" not in columns:
        remedy = "add it, or rename the column item so if items are what is voted on"
        raise InputError(f"{place.name}: has the columns voter, item and value but no column alternative; {remedy}")


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn looks into values, their means, with their number as counts, and keep who looked at what."""
    said.refuse(place.name, "single looks", "confidence")
    for column in ("count", "confidence"):
        if column in table.columns:
            raise InputError(f"{place.name}: has a column {column} beside item, but a row is one look; leave one out")
    keys = [key for key in ("decision", "voter", "alternative") if key in table.columns]
    table = table.with_columns(frames.named(table[key], place).alias(key) for key in keys)
    values = numbers(table["value"], place)
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        problem = "is empty" if np.isnan(values[row]) else "is infinite"
        raise InputError(f"{place(row)}: the value {problem}; a row is one look and needs what was seen")
    for column, owners in (("multiplicity", ["decision", "voter"]), ("role", keys)):
        _require_one(table, [key for key in owners if key in keys], column, place)
    codes, names = item_codes(table["item"], place)
    looks = table.drop("item", "value").with_columns(pl.Series("value", values), pl.lit(1).alias("count"))
    first = pl.all().exclude(*keys, "value", "count").first()
    means = looks.group_by(keys, maintain_order=True).agg(pl.col("value").mean(), pl.col("count").sum(), first)
    rows = np.asarray(table.select(pl.struct(keys).is_first_distinct()).to_series())
    profile = frames.to_profile(means, place.at(rows), replace(said, ballots="value"))
    profile = profile.with_facts(items=_items(table.select(keys), codes, names, values))
    return profile.as_rankings() if said.ballots == "rank" else profile


def item_codes(column: pl.Series, place: Place) -> tuple[Array, tuple[str, ...]]:
    """Return a number for the item of each row, and what the item of each number is called.

    One without a name is an item of its own, which nobody else saw.
    """
    given = optional_names(column, place)
    known = given.drop_nulls().unique(maintain_order=True)
    codes = given.replace_strict(known, pl.Series(range(len(known)), dtype=pl.Int64), return_dtype=pl.Int64)
    nameless = given.is_null().to_numpy()
    found = codes.fill_null(0).to_numpy().copy()
    found[nameless] = len(known) + np.arange(nameless.sum())
    return found, (*known.to_list(), *[""] * int(nameless.sum()))


def _items(keys: pl.DataFrame, item: Array, names: tuple[str, ...], values: Array) -> Items | None:
    """Return who looked at what, with ρ as the values tell it; None where nothing was looked at twice."""
    cells = keys.with_columns(pl.Series("item", item))
    subject = [key for key in keys.columns if key != "voter"]
    cell, alternative = (_numbered(cells, [*subject, *more]) for more in (["item"], []))
    if int(cell.max()) + 1 == len(cell):
        return None
    share = share_of_items(values, alternative, cell, _numbered(cells, ["voter"]))
    times = cells.group_by(cells.columns, maintain_order=True).agg(pl.len().alias("times"))
    voters, alternatives, *decisions = (
        tuple(times[key].to_list()) for key in ("voter", "alternative", "decision") if key in times.columns
    )
    numbers = times["item"].to_numpy(), times["times"].to_numpy().astype(float)
    return Items(voters, alternatives, *numbers, decisions[0] if decisions else None, share, names)


def _numbered(table: pl.DataFrame, columns: list[str]) -> Array:
    """Return a number for what stands in some columns of each row, from 0."""
    codes = np.zeros(table.height, dtype=int)
    for column in columns:  # one after the other, so that the numbers stay small
        own = np.unique(table[column].to_numpy(), return_inverse=True)[1]
        codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return codes


def _require_one(table: pl.DataFrame, keys: list[str], column: str, place: Place) -> None:
    """Refuse what has to be the same in all looks of a voter, or of a voter at an alternative, and is not."""
    if column in table.columns and (row := frames.differing_row(table, keys, column)) is not None:
        whose = " and ".join(f"{key} {quoted(table[key][row])}" for key in keys if key != "decision")
        raise InputError(f"{place(row)}: {whose} had another {column} in a row before; give one, or none at all")
