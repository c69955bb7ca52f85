"""Verdicts in logs of judges, one each: scores of several, a ranking, the winner among candidates, or yes or no."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from veritally.errors import InputError, InputWarning, quoted
from veritally.io import comparisons
from veritally.io.columns import Source, candidates, key, meant, option, taken_for
from veritally.votes.labels import first_few

_SCORES = ("scores", "ratings", "score", "values")
_RANKINGS = ("ranking", "rankings", "order", "ranked", "ranks")
_CANDIDATES = ("candidates", "models", "options", "alternatives", "systems")
_TIE = ("tie", "draw", "equal", "both", "neither", "none", "bothbad", "tiebothbad", "bothgood", "same", "nopreference")
_PLAIN = ("verdict", "answer", "judgement", "judgment", "winner", "choice", "favourite", "favorite", "label", "vote")
_PAIR = 2
_FEW = 10  # different verdicts, up to which each may be an alternative of every decision
_RARE = 0.05  # verdicts of the same judge on the same decision, of all, up to which they are taken for slips
_NO_ERROR = (*_TIE, "unsure", "undecided", "unknown", "unclear", "abstain", "skip", "cannottell", "na")
_STRAY, _ENOUGH = 0.005, 200  # share of so many verdicts below which a word may be what a judge said by mistake


class Words(NamedTuple):
    """The different verdicts of a table, and what is to be said of the rows that have none of them."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()
    warning: str | None = None

    @classmethod
    def of(cls, numbers: Mapping[str | None, int], column: str, name: str, possible: Sequence[str] | None) -> "Words":
        """Find them by how often each word is there; ``possible`` are those that a user says there are."""
        said = {word: number for word, number in sorted(numbers.items(), key=lambda one: one[0] or "") if word}
        words = tuple(said) if possible is None else tuple(possible)
        empty = sum(numbers.values()) - sum(said.values())
        others = sum(number for word, number in said.items() if word not in words)
        notes = [_left_out(empty, "empty"), _left_out(others, "another word")]
        if said and not any(word in words for word in said):
            raise InputError(f"{name}: no {column} is {first_few(words, 5)}; there are {first_few(tuple(said), 5)}")
        warning = None if possible is not None else _stray(said, column, name)
        return cls(words, tuple(filter(None, notes)), warning)


def _left_out(number: int, what: str) -> str | None:
    verdicts = "1 verdict is" if number == 1 else f"{number:,} verdicts are"
    return f"{verdicts} {what} and left out" if number else None


def _stray(said: Mapping[str, int], column: str, name: str) -> str | None:
    """Say which words are so rare that they may be none of the verdicts; refuse it if these are too many to go on."""
    number = sum(said.values())
    usual = [word for word, own in said.items() if own >= _STRAY * number]
    plausible = {*_NO_ERROR, *map(key, usual)}
    rare = [word for word in said if word not in usual and key(word) not in plausible and not key(word).isdecimal()]
    if number < _ENOUGH or not rare or not _PAIR <= len(usual) <= _FEW:
        return None
    others = sum(said[word] for word in rare)
    remedy = f"--verdicts {shlex.quote(','.join(usual))}"
    if any("," in word for word in usual):
        remedy = "removing these rows"
    if len(said) > _FEW and others <= _RARE * number:
        few = f"all but {others:,} of {number:,} are {first_few(usual, _FEW)}"
        raise InputError(f"{name}: {column} has {len(said):,} different words; {few}; leave the others out by {remedy}")
    what = (
        f"{first_few([quoted(word) for word in rare], 3, str)} {'stands' if len(rare) == 1 else 'stand'} in {others:,}"
    )
    those = "it is an error message, leave it" if others == 1 else "these are error messages, leave them"
    return (
        f"{name}: {what} of {number:,} verdicts, and "
        f"{'an alternative' if len(rare) == 1 else 'alternatives'} in every decision, which takes longer; "
        f"if {those} out by {remedy}"
    )


def unfolded(
    source: Source, words: Sequence[str] | None = None, possible: Sequence[str] | None = None
) -> Source | None:
    """Return a row for each voter and alternative, under our names; None where a table has no verdicts.

    ``words`` are the different verdicts of the whole table, where this is a part of it, ``possible`` those that a user
    says there are.
    """
    columns = {key(name): name for name in source.table.columns if source.table[name].dtype.is_nested()}
    source = _once(source) if columns else source
    listed = [columns[name] for name in _CANDIDATES if name in columns and _is_list(source.table[columns[name]])]
    if listed and (winner := meant("winner", source)) is not None:
        return _winners(source, listed[0], winner)
    for names, kind, read in ((_SCORES, pl.Struct, _scores), (_RANKINGS, pl.List, _rankings)):
        for name in (columns[name] for name in names if name in columns):
            if isinstance(source.table[name].dtype, kind):
                return read(source, name)
    return None if columns else _plain(source, words, possible)


def word_column(source: Source, words: Sequence[str] | None = None) -> tuple[str, str, str] | None:
    """Return the columns of the judge, the question and the word of each verdict; None where these are other votes.

    Where ``words`` of the whole table are given, these are known to be no comparisons.
    """
    table = source.table
    named = [name for name in table.columns if key(name) in _PLAIN and table[name].dtype in (pl.String, pl.Boolean)]
    voter = next(iter(candidates("voter", source)), None) if named else None
    decision = "decision" if "decision" in table.columns else next(iter(candidates("item", source)), None)
    if voter is None or decision is None or len(named) != 1 or {"left", "right", "rank", "value"} & set(table.columns):
        return None
    if candidates("alternative", source, taken=(voter, named[0], decision)):
        return None
    return None if words is None and _is_of_two(table, decision, named[0]) else (voter, decision, named[0])


def _is_of_two(table: pl.DataFrame, decision: str, said: str) -> bool:
    """Whether words say which of two in the same row was better, rather than answer a question."""
    sides = comparisons.likely_sides(table)
    if sides is None:
        return False
    if sides != comparisons.sides(table):  # which are so called by nobody: the words have to fit
        return comparisons.are_outcomes(table, sides, said)
    if not all(key(name).startswith("option") for name in sides):
        return True
    # The options of a question are its own; what is compared comes back in other questions.
    both = pl.concat([table.select(pl.col(decision), pl.col(name).cast(pl.String).alias("name")) for name in sides])
    return both[decision].n_unique() == 1 or both.unique()["name"].is_duplicated().any()


def _plain(source: Source, words: Sequence[str] | None, possible: Sequence[str] | None) -> Source | None:
    """Turn a word for each judge and question, such as yes or no, into the judge's favourite among all such words."""
    table = source.table
    columns = word_column(source, words)
    if columns is None:
        return None
    voter, decision, said = columns
    found = Words(tuple(words or ()))
    if words is None:
        numbers = table[said].cast(pl.String).value_counts()
        found = Words.of(dict(numbers.rows()), source.place.called(said), source.place.name, possible)
    if len(found.words) < _PAIR or (possible is None and len(found.words) > _FEW):
        return None
    source = source.with_table(table.rename({decision: "decision"}))
    kept = table[said].cast(pl.String).is_in(found.words).fill_null(False)
    without = [] if words is not None else _without_verdict(table[decision], kept)
    source = source.filtered(kept)
    source, words = _once(source, rarely=words is None), found.words
    if found.warning is not None:
        warnings.warn(found.warning, InputWarning, stacklevel=6)
    rows = source.table.with_row_index("_row").with_columns(pl.col("_row").cast(pl.Int64), pl.col(said).cast(pl.String))
    ballots = rows.with_columns(pl.col(voter).cast(pl.String).alias("voter"), pl.lit(list(words)).alias("alternative"))
    ballots = ballots.explode("alternative").with_columns(rank=pl.when(pl.col("alternative") == pl.col(said)).then(1))
    names = {name: own for name, own in (("voter", voter), ("decision", decision)) if name != own}
    others = f", {taken_for(names).replace(' is read as ', ' as ')}" if names else ""
    note = "; ".join([f"{said} is read as favourite among {first_few(words, _FEW)}{others}", *found.notes, *without])
    return _of_rows(source, ballots, note)


def _without_verdict(decisions: pl.Series, kept: pl.Series) -> list[str]:
    """Name the decisions that no verdict is left of, of all that have a name."""
    left = decisions.filter(kept).unique().implode()
    lost = decisions.filter(~decisions.is_in(left) & decisions.is_not_null()).unique(maintain_order=True).to_list()
    if not lost:
        return []
    many = f"no verdict is left of {len(lost):,} decision{'' if len(lost) == 1 else 's'}"
    return [f"{many}, which {'is' if len(lost) == 1 else 'are'} left out: {first_few(lost, 3)}"]


def _once(source: Source, rarely: bool = True) -> Source:
    """Leave out a verdict that is there twice, and refuse one that says something else.

    If that may only happen ``rarely``, tables with many such are left as they are; a part of one does not tell.
    """
    table = source.table
    voter = next(iter(candidates("voter", source)), None)
    if voter is None or "decision" not in table.columns or candidates("item", source, taken=(voter,)):
        return source
    again = ~table.select(pl.struct("decision", voter).is_first_distinct()).to_series()
    number = int(again.sum())
    if not number or (rarely and number > _RARE * table.height):
        return source
    first = {tuple(row): k for k, row in reversed(list(enumerate(table.select("decision", voter).rows())))}
    said = table.select(name for name in table.columns if table[name].dtype.is_nested() or key(name) in _PLAIN).rows()
    for row in again.arg_true().to_list():
        decision, judge = table["decision"][row], table[voter][row]
        if said[row] != said[first[decision, judge]]:
            before = source.place(first[decision, judge]).removeprefix(f"{source.place.name}, ")
            raise InputError(
                f"{source.place(row)}: {quoted(judge)} has another verdict on {quoted(decision)} than in {before}; "
                "keep one of them"
            )
    repeated = "1 repeated verdict is" if number == 1 else f"{number} repeated verdicts are"
    return source.filtered(~again, f"{repeated} left out")


def _is_list(column: pl.Series) -> bool:
    return isinstance(column.dtype, pl.List) and column.dtype.inner == pl.String


def _scores(source: Source, name: str) -> Source:
    """Turn ``{"A": 7, "B": 5}`` into a row for each look, or each vote where there are no items."""
    voter, item = _who(source, name)
    fields = source.table[name].struct.unnest()
    own_things = [one for one in candidates("alternative", source, taken=(voter, item or "")) if key(one) != "item"]
    if own_things:
        several = f"{name} has {first_few(fields.columns, 3)} for each {own_things[0]}"
        raise InputError(f"{source.place.name}: {several}; give one number in each object, such as the overall score")
    parts = []
    for alternative in fields.columns:
        own: dict[str, Any] = {
            "voter": source.table[voter],
            "alternative": pl.lit(alternative),
            "value": fields[alternative],
        }
        own |= {} if item is None else {"item": source.table[item].cast(pl.String)}
        own |= {"decision": source.table["decision"]} if "decision" in source.table.columns else {}
        parts.append(source.table.select(pl.int_range(pl.len()).alias("_row"), **own).drop_nulls("value"))
    table = pl.concat(parts, how="vertical_relaxed").sort("_row", maintain_order=True)
    names = {"voter": voter, "value": name} | ({} if item is None else {"item": item})
    lost = source.table.height - table["_row"].n_unique()
    without = f"; {lost} of {source.table.height} objects have no {name} and are left out" if lost else ""
    return _of_rows(source, table, f"{taken_for(names)}{without}")


def _rankings(source: Source, name: str) -> Source | None:
    """Turn ``["B", "A", "C"]``, best first, into a ballot with ranks."""
    if not _is_list(source.table[name]):
        return None
    table = _ballots(source, name).with_columns(rank=pl.int_range(1, pl.len() + 1).over("_row"))
    return _of_rows(source, table, f"{name} is read as ranks, best first{_own(source, name)}")


def _winners(source: Source, listing: str, winner: str) -> Source:
    """Turn a winner among candidates into a ballot with a favourite, or into a comparison where there are two."""
    table, listed = source.table, source.table[listing]
    said = table[winner].cast(pl.String)
    for row, (one, own) in enumerate(zip(said, listed, strict=True)):
        if own is None or (one is not None and one not in own and key(one) not in _TIE):
            what = "no candidates" if own is None else f"the {winner} {quoted(one)}, who is none of the {listing}"
            raise InputError(f"{source.place(row)}: has {what}; name one of them, or tie")
    if (listed.list.len() == _PAIR).all():
        sides = [listed.list.get(side).alias(name) for side, name in enumerate(("left", "right"))]
        pairs = table.drop(listing, winner).with_columns(*sides, said.alias("winner"))
        return source.with_table(pairs, f"{listing} are read as left and right")
    tied = said.map_elements(key, return_dtype=pl.String).is_in(_TIE)
    ballots = _ballots(source.with_table(table.with_columns(said.alias(winner), tied.alias("_tied"))), listing)
    best = (pl.col("alternative") == pl.col(winner)) | pl.col("_tied")
    ballots = ballots.with_columns(rank=pl.when(best).then(1))
    return _of_rows(source, ballots, f"{winner} among {listing} is read as favourite{_own(source, listing)}")


def _ballots(source: Source, name: str) -> pl.DataFrame:
    """Return a row for each alternative that a verdict lists; each item is a ballot of its own, its judge the group."""
    voter, item = _who(source, name)
    table = source.table.with_row_index("_row").with_columns(pl.col("_row").cast(pl.Int64))
    judge = pl.col(voter).cast(pl.String)
    if not _is_ballot(source.table, voter):
        at = pl.col(item).cast(pl.String) if item is not None else pl.lit(None, dtype=pl.String)
        row = (pl.col("_row") + 1).cast(pl.String)
        whose = pl.concat_str(judge, pl.coalesce(at, pl.concat_str(pl.lit("verdict "), row)), separator=", ")
        own = table[voter].n_unique() > 1 and "group" not in table.columns
        group = [judge.alias("group")] if own else []
        table = table.with_columns(whose.alias("voter"), *group)
    else:
        table = table.with_columns(judge.alias("voter"))
    return table.with_columns(pl.col(name).alias("alternative")).explode("alternative")


def _is_ballot(table: pl.DataFrame, voter: str) -> bool:
    """Say whether each verdict is the only one of its judge, in its decision where there are decisions."""
    return (
        table.select("decision", voter).n_unique() == table.height
        if "decision" in table.columns
        else (table[voter].n_unique() == table.height)
    )


def _who(source: Source, name: str) -> tuple[str, str | None]:
    """Return the columns with judges and items."""
    voter = meant("voter", source)
    if voter is None:
        others = [other for other in source.table.columns if other != name]
        example = option({"voter": others[0] if others else "judge"})
        raise InputError(f"{source.place.name}: no column says whose {name} these are; say which: {example}")
    return voter, meant("item", source, taken=(voter,))


def _of_rows(source: Source, table: pl.DataFrame, note: str) -> Source:
    """Return a table some of whose rows come from the same row of the source."""
    names = ("decision", "voter", "alternative", "item", "value", "rank", "group")
    place = source.place.at(table["_row"].to_numpy())
    listed = [name for name in names if name in table.columns and not (name == "item" and "rank" in table.columns)]
    return Source(table.select(listed), place, (*source.notes, note), source.left_out)


def _own(source: Source, name: str) -> str:
    """Say whose ballots these are."""
    voter, item = _who(source, name)
    if _is_ballot(source.table, voter):
        return "" if voter == "voter" else f", {voter} as voter"
    at = "verdict" if item is None else item
    grouped = source.table[voter].n_unique() > 1 and "group" not in source.table.columns
    group = f", and each {voter} a group" if grouped else ""
    return f"; each {voter} and {at} is a voter{group}"
