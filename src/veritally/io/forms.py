"""The forms that a table of votes may have, told by its columns."""

from collections.abc import Callable

import polars as pl

from veritally.errors import InputError
from veritally.io import comparisons, confidence, frames, looks, orders, wide
from veritally.io.frames import Place
from veritally.io.groups import groups_in
from veritally.io.options import Options
from veritally.votes.profile import Profile


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn a table of whatever form into a Profile."""
    table = table.rename(frames.plain_names(table.columns, (*frames.COLUMNS, "order")))
    if "alternative" in table.columns:  # else they may be alternatives themselves
        table = table.rename(frames.plain_names(table.columns, frames.LOOKS))
    table, place = frames.filled_rows(table, place)
    if not table.height:
        raise InputError(f"{place.name}: has a header but no rows; it needs a row for each voter and alternative")
    read = _reader(table, place, said)
    if read not in (comparisons.to_profile, looks.to_profile):
        table = confidence.with_counts(table, place, said)
    profile = read(table, place, said)
    return profile if read is comparisons.to_profile else profile.with_facts(groups=groups_in(table, place))


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
