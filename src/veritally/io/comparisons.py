"""Pairwise comparisons, as crowdsourcing and model arenas have them: a row says which of two was better."""

import difflib
import warnings
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from veritally.errors import InputError, InputWarning, quoted, short
from veritally.io import decisions, frames
from veritally.io.columns import key
from veritally.io.decisions import Arguments
from veritally.io.frames import Place
from veritally.io.groups import column_for, groups_in, optional_names
from veritally.io.looks import item_codes
from veritally.io.numbers import mostly_numbers, plain_numbers
from veritally.io.options import Options
from veritally.votes.items import Items
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

# What the columns may be called.
_PARTS = {
    "decision": ("decision",),
    "voter": ("voter", "worker", "judge"),
    "a": ("left", "model_a"),
    "b": ("right", "model_b"),
    "outcome": ("winner", "label"),
    "times": ("times",),
    "multiplicity": ("multiplicity",),
    "group": ("group",),
    "item": ("item",),
}
_OPTIONAL = ("group", "item")  # may be blank
_NUMBERS = ("times", "multiplicity")
# Names of the two sides, beside those above; as ``key`` writes them.
_STEMS = ("model", "option", "candidate", "system", "alternative", "item", "player", "team")
_SIDES = (
    *(("left", "right"), ("modela", "modelb"), ("leftmodel", "rightmodel"), ("responseamodel", "responsebmodel")),
    *((stem + a, stem + b) for a, b in (("a", "b"), ("1", "2"), ("left", "right")) for stem in _STEMS),
    ("a", "b"),
)
_ANY_SIDES = (*_SIDES, *(("left", b) for _, b in _SIDES), *((a, "right") for a, _ in _SIDES))  # where one is mapped
# What the outcome may be called where two are compared, beside the names in columns.py.
_VERDICTS = ("verdict", "judgement", "judgment", "favourite", "favorite", "better", "answer")
# What may stand for an outcome, beside the name of the winner. The first of each line are so whatever alternatives are
# called; the others only if no alternative has that name.
_WORDS = {
    1.0: (
        ("left", "modela", "a"),
        ("1", "first", "model1", "optiona", "option1", "candidatea", "assistanta", "responsea"),
    ),
    0.5: (
        ("tie", "tiebothbad"),
        (
            *("bothbad", "bothgood", "botharebad", "botharegood", "both", "neither", "none", "nopreference"),
            *("draw", "equal", "same", "tied"),
        ),
    ),
    0.0: (
        ("right", "modelb", "b"),
        ("2", "second", "model2", "optionb", "option2", "candidateb", "assistantb", "responseb"),
    ),
}
_SIGNS = {1.0: ("a>b", "a>>b"), 0.5: ("a=b", "[[c]]"), 0.0: ("b>a", "b>>a", "a<b", "a<<b")}
_ONE_HOT = ("winnermodela", "winnermodelb", "winnertie")


def recognised(table: pl.DataFrame) -> bool:
    """Whether each row has two alternatives and an outcome."""
    return {"a", "b", "outcome"} <= _columns(table).keys()


def has_voters(table: pl.DataFrame) -> bool:
    """Whether comparisons say whose they are, under a name that needs no note."""
    return "voter" in _columns(table)


def is_known(role: str, name: str) -> bool:
    """Whether a column has a name that needs no note."""
    part = {"left": "a", "right": "b", "winner": "outcome"}.get(role, role)
    return name.lower() in _PARTS.get(part, ())


def sides(table: pl.DataFrame) -> tuple[str, str] | None:
    """Return the columns with the two that are compared, if there are such."""
    keys = {key(name): name for name in table.columns}
    for a, b in _ANY_SIDES:
        if a in keys and b in keys:
            found = keys[a], keys[b]
            if any(table[name].dtype.is_nested() for name in found):
                continue
            if {a, b} & {"a", "b"} and any(mostly_numbers(table[name]) for name in found):  # alternatives themselves
                continue
            return found
    return None


def likely_sides(table: pl.DataFrame) -> tuple[str, str] | None:
    """Return the columns with the two that are compared: by their names, or by what stands in them."""
    if (named := sides(table)) is not None:
        return named
    texts = [name for name in table.columns if table[name].dtype == pl.String and not mostly_numbers(table[name])]
    sets = {name: set(table[name].drop_nulls().unique()) for name in texts}
    for one, other in combinations(texts, 2):  # which name the same things, never the same one in a row
        shared = sets[one] & sets[other]
        if len(shared) > 1 and 2 * len(shared) >= len(sets[one] | sets[other]) and (table[one] != table[other]).all():
            return one, other
    return None


def verdict(table: pl.DataFrame, sides: tuple[str, str]) -> str | None:
    """Return the column that says which of two was better, where it is called verdict or the like."""
    called = {key(name): name for name in table.columns if table[name].dtype == pl.String}
    found = (called[name] for name in _VERDICTS if name in called)
    return next((name for name in found if are_outcomes(table, sides, name)), None)


def one_hot(table: pl.DataFrame) -> pl.Series | None:
    """Return the outcome that three columns of 0 and 1 say, as LMSYS has them; None where there are none."""
    keys = {key(name): name for name in table.columns}
    if not {*_ONE_HOT[:2]} <= keys.keys() or "winner" in table.columns:
        return None
    marks = [pl.col(keys[mark]).cast(pl.Float64, strict=False) == 1 for mark in _ONE_HOT if mark in keys]
    once = pl.sum_horizontal(marks) == 1
    outcome = pl.when(marks[0]).then(pl.lit("left")).when(marks[1]).then(pl.lit("right")).otherwise(pl.lit("tie"))
    return table.select(pl.when(once).then(outcome).otherwise(None)).to_series()


def are_outcomes(table: pl.DataFrame, sides: tuple[str, str], outcome: str) -> bool:
    """Whether at least half of a column says which of two was better."""
    text = table.select(pl.col(*sides, outcome).cast(pl.String))
    read = _outcomes(*text.get_columns())
    return 2 * read.count() >= max(text[outcome].count(), 1)


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn comparisons into a Profile of pairs, or of what these come to: shares won and counts, or their order."""
    said.refuse(place.name, "comparisons", "counts", "unranked", "confidence")
    if said.lower_is_better:
        raise InputError(f"{place.name}: lower-is-better is about values; a comparison says itself which is better")
    read = parsed(table, place)
    _warn_of_repeats(table, place)
    # Where the winner always stands on the same side, the table was written so: nobody knows the order that was shown.
    ordered = not ((read["outcome"] == 1).all() or (read["outcome"] == 0).all())
    profile = decisions.each_decision(read, place, partial(_votes, ordered=ordered))
    return profile.with_facts(groups=groups_in(read, place), items=_items(read, place)).coarsened(said.kind)


def from_profile(profile: Profile) -> pl.DataFrame:
    """Turn pairs into a table: a row says how many times a voter preferred the one to the other.

    Left and right are as they stood; where nobody knows, the preferred one is on the left in all rows.
    """
    frames.require_table(profile)
    rows = partial(_rows, weighed=frames.is_weighed(profile))
    return frames.each_decision(profile, rows) if profile.batch else rows(profile)


def parsed(table: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Return comparisons in one form, whatever their columns and outcomes are called.

    Returns
    -------
    DataFrame
        ``decision``, ``group`` and ``item`` where the table has them, ``voter``, ``a``, ``b``, and ``outcome``: 1
        where a won, 0 where b did, 0.5 for a tie; how many ``times``, and the ``multiplicity`` of the voter, where a
        table has them, else 1.
        Without a column for voters, all comparisons are those of one voter.
    """
    columns, names = _columns(table), table.columns
    for part, column in columns.items():
        if part not in _OPTIONAL:
            frames.coded(table[column], place)
    times = {part: _numbers(table[columns[part]], place) if part in columns else 1.0 for part in _NUMBERS}
    table = table.select(pl.col(column).cast(pl.String).alias(part) for part, column in columns.items())
    table = table.with_columns(**times)
    if "voter" not in columns:
        _warn_of_misspelt(names, place)
        table = table.with_columns(voter=pl.lit("everyone"))
    read = table.with_columns(_outcomes(table["a"], table["b"], table["outcome"]).alias("outcome"))
    for row in np.flatnonzero((table["a"] == table["b"]).to_numpy())[:1]:
        raise InputError(f"{place(row)}: compares {quoted(table['a'][int(row)])} with itself")
    for row in np.flatnonzero(read["outcome"].is_null().to_numpy())[:1]:
        one, other, outcome = (table[part][int(row)] for part in ("a", "b", "outcome"))
        known = f"it can be {quoted(one)}, {quoted(other)} or tie, or left, right, model_a, model_b, a, b or both_bad"
        raise InputError(f"{place(row)}: the {place.called(columns['outcome'])} is {quoted(outcome)}; {known}")
    return read


def _outcomes(a: pl.Series, b: pl.Series, outcome: pl.Series) -> pl.Series:
    """Return 1 where a won, 0 where b did, 0.5 for a tie, and null for a word that is neither a name nor known."""
    taken = {key(name) for name in pl.concat([a.alias("a"), b.alias("a")]).drop_nulls().unique()}
    words = {
        word: score
        for score, (always, otherwise) in _WORDS.items()
        for word in (*always, *(word for word in otherwise if word not in taken))
    }
    signs = {} if {"a", "b"} & taken else {sign: score for score, own in _SIGNS.items() for sign in own}
    names = set(a.unique()) | set(b.unique())  # one of which that is on neither side is no word
    different = {
        word: None if word in names else signs.get(word.replace(" ", "").casefold(), words.get(key(word)))
        for word in outcome.drop_nulls().unique()
    }
    read = outcome.replace_strict(different, default=None, return_dtype=pl.Float64)
    table = pl.DataFrame({"a": a, "b": b, "outcome": outcome, "read": read})
    won = pl.when(pl.col("outcome") == pl.col("a")).then(1.0).when(pl.col("outcome") == pl.col("b")).then(0.0)
    return table.select(won.otherwise(pl.col("read"))).to_series()


def _warn_of_repeats(table: pl.DataFrame, place: Place) -> None:
    """Point out rows that are the same in all columns, where one of these should tell them apart."""
    plain = [name for name in table.columns if not table[name].dtype.is_nested()]
    different = table.select(plain).unique()
    repeats = table.height - different.height
    others = [name for name in plain if name not in _columns(table).values()] if repeats else []
    if codes := [name for name in others if different[name].n_unique() == different.height]:
        message = f"{repeats:,} of {table.height:,} rows repeat another one in all columns, {short(codes[0])} too"
        warnings.warn(f"{place.name}: {message}; leave them out if they were copied", InputWarning, stacklevel=5)


def _warn_of_misspelt(names: list[str], place: Place) -> None:
    """Point out a column that is ignored but looks like one for voters."""
    for name in names:
        if near := difflib.get_close_matches(name.lower(), _PARTS["voter"], n=1, cutoff=0.75):
            message = f"{place.name}: the column {short(name)} is ignored; if it is meant as {near[0]}, rename it"
            warnings.warn(message, InputWarning, stacklevel=5)


def _numbers(column: pl.Series, place: Place) -> pl.Series:
    """Return how many times each row counts, or how many voters it stands for."""
    found = plain_numbers(column, place)
    for row in np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[:1]:
        raise InputError(f"{place(row)}: the {column.name} must be a number, 0 or more")
    return pl.Series(found)


def _items(comparisons: pl.DataFrame, place: Place) -> Items | None:
    """Return who looked at what: a comparison is a look at both."""
    if "item" not in comparisons.columns or not optional_names(comparisons["item"], place).count():
        return None
    item, names = item_codes(comparisons["item"], place)
    table = comparisons.with_columns(pl.Series("item", item)).filter(pl.col("times") > 0)
    keys = [key for key in ("decision", "voter", "item") if key in table.columns]
    both = [table.select(*keys, "times", alternative=pl.col(side)) for side in ("a", "b")]
    looks = pl.concat(both).group_by(*keys, "alternative", maintain_order=True).agg(pl.col("times").sum())
    decisions_of = tuple(looks["decision"].to_list()) if "decision" in keys else None
    voters, alternatives = (tuple(looks[key].to_list()) for key in ("voter", "alternative"))
    return Items(voters, alternatives, looks["item"].to_numpy(), looks["times"].to_numpy(), decisions_of, None, names)


def _votes(comparisons: pl.DataFrame, place: Place, ordered: bool) -> Arguments:
    """Count how often each voter preferred which to which, in one decision."""
    voters, voter = frames.coded(comparisons["voter"], place)
    names, both = frames.coded(pl.concat([comparisons["a"], comparisons["b"]]), place)
    a, b = np.split(both, 2)
    m, n = len(voters), len(names)
    frames.require_room((m, n, n), comparisons.height, place.name)
    outcome, times, every = (comparisons[column].to_numpy() for column in ("outcome", *_NUMBERS))
    multiplicity = np.zeros(m)
    multiplicity[voter] = every
    for row in np.flatnonzero(multiplicity[voter] != every)[:1]:
        raise InputError(f"{place(row)}: voter {quoted(voters[voter[row]])} has another multiplicity in another row")
    pairs = np.zeros((m, n, n))
    np.add.at(pairs, (voter, a, b), times * outcome)
    np.add.at(pairs, (voter, b, a), times * (1 - outcome))
    positions = np.zeros((m, n, n)) if ordered else None
    if positions is not None:
        np.add.at(positions, (voter, a, b), times * outcome)
    given = {"voters": voters, "alternatives": names, "multiplicity": multiplicity}
    return {"pairs": pairs, "positions": positions, **given}


def _rows(profile: Profile, weighed: bool) -> pl.DataFrame:
    """Return the table of one decision."""
    assert isinstance(profile.ballots, Pairs)
    times, positions = np.asarray(profile.pairs), profile.ballots.positions
    on_the_left = times if positions is None else np.asarray(positions)
    voters, names = (np.array(list(map(str, given)), dtype=object) for given in (profile.voters, profile.alternatives))
    # Of each pair first how often the preferred one was on the left, then how often on the right.
    each = np.stack([on_the_left, times - on_the_left], axis=-1)
    i, j, k, side = np.nonzero(each)
    own, left, right = voters[i].tolist(), names[np.where(side, k, j)], names[np.where(side, j, k)]
    columns: dict[str, Any] = {"voter": own, "left": left.tolist(), "right": right.tolist()}
    columns |= {"winner": names[j].tolist(), "times": each[i, j, k, side]}
    if weighed:
        columns["multiplicity"] = np.asarray(profile.multiplicity)[i]
    if profile.groups:
        columns["group"] = pl.Series(column_for(profile.groups, own), dtype=pl.String)
    return pl.DataFrame(columns)


def _columns(table: pl.DataFrame) -> dict[str, str]:
    """Return the column of each part of a comparison, forgiving capitals."""
    plain = {column.lower(): column for column in table.columns}
    return {
        part: plain[next(name for name in names if name in plain)]
        for part, names in _PARTS.items()
        if not plain.keys().isdisjoint(names)
    }
