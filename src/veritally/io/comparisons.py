"""Pairwise comparisons, as crowdsourcing and model arenas have them: a row says which of two was better."""

from dataclasses import replace

import numpy as np
import polars as pl

from veritally.errors import InputError
from veritally.io import frames
from veritally.io.frames import Place
from veritally.io.options import Options
from veritally.profile import Profile

# What the columns may be called.
_PARTS = {
    "decision": ("decision",),
    "voter": ("voter", "worker", "judge"),
    "a": ("left", "model_a"),
    "b": ("right", "model_b"),
    "outcome": ("winner", "label"),
}
# What may stand for an outcome, beside the name of the winner.
_WORDS = {
    "left": 1.0,
    "model_a": 1.0,
    "a": 1.0,
    "tie": 0.5,
    "tie (bothbad)": 0.5,
    "right": 0.0,
    "model_b": 0.0,
    "b": 0.0,
}


def recognised(table: pl.DataFrame) -> bool:
    """Whether each row has two alternatives and an outcome."""
    return {"a", "b", "outcome"} <= _columns(table).keys()


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn comparisons into a Profile of values and counts, or of the order of these values."""
    said.refuse(place.name, "comparisons", "counts", "unranked")
    tidy = summed(parsed(table, place))
    profile = frames.to_profile(tidy, replace(place, lines=range(tidy.height)), replace(said, ballots="value"))
    return profile.as_rankings() if said.ballots == "rank" else profile


def parsed(table: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Return comparisons in one form, whatever their columns and outcomes are called.

    Returns
    -------
    DataFrame
        ``decision`` where the table has it, ``voter``, ``a``, ``b``, and ``outcome``: 1 where a won, 0 where b did,
        0.5 for a tie. Without a column for voters, all comparisons are those of one voter.
    """
    columns = _columns(table)
    for column in columns.values():
        frames.coded(table[column], place)
    table = table.select(pl.col(column).cast(pl.String).alias(part) for part, column in columns.items())
    if "voter" not in columns:
        table = table.with_columns(voter=pl.lit("everyone"))
    said, a, b = pl.col("outcome"), pl.col("a"), pl.col("b")
    word = said.str.to_lowercase().replace_strict(_WORDS, default=None, return_dtype=pl.Float64)
    read = table.with_columns(outcome=pl.when(said == a).then(1.0).when(said == b).then(0.0).otherwise(word))
    for row in np.flatnonzero((table["a"] == table["b"]).to_numpy())[:1]:
        raise InputError(f"{place(row)}: compares {table['a'][int(row)]!r} with itself")
    for row in np.flatnonzero(read["outcome"].is_null().to_numpy())[:1]:
        one, other, outcome = (table[part][int(row)] for part in ("a", "b", "outcome"))
        known = f"it can be {one!r}, {other!r} or tie"
        raise InputError(f"{place(row)}: the {columns['outcome']} is {outcome!r}; {known}")
    return read


def summed(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Turn parsed comparisons into a tidy table.

    The count is the number of comparisons in which the voter saw the alternative, the value its mean score there:
    1 for a win, 0.5 for a tie, 0 for a loss.
    """
    keys = [*({"decision"} & set(comparisons.columns)), "voter"]
    sides = (("a", pl.col("outcome")), ("b", 1 - pl.col("outcome")))
    scores = pl.concat(
        comparisons.select(*keys, pl.col(side).alias("alternative"), score=score) for side, score in sides
    )
    return scores.group_by(*keys, "alternative", maintain_order=True).agg(
        value=pl.col("score").mean(), count=pl.col("score").len()
    )


def _columns(table: pl.DataFrame) -> dict[str, str]:
    """Return the column of each part of a comparison, forgiving capitals."""
    plain = {column.lower(): column for column in table.columns}
    return {
        part: plain[next(name for name in names if name in plain)]
        for part, names in _PARTS.items()
        if not plain.keys().isdisjoint(names)
    }
