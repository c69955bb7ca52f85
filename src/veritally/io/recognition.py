"""Tables whose columns have other names than ours: which form is meant, and the same table under our names."""

import re
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from veritally.errors import InputError, InputWarning, quoted, short
from veritally.io import comparisons, wide
from veritally.io.columns import OTHER_NAMES, Source, candidates, key, meant, option, taken_for
from veritally.io.numbers import mostly_numbers, written
from veritally.io.options import Options
from veritally.io.titles import title_column
from veritally.io.versions import latest, without_copies
from veritally.votes.labels import first_few

_FEW_WORDS = 4  # beside names, such as left and tie
_ASIDE = {
    *("at", "on", "date", "cdate", "mdate", "tcdate", "tmdate", "time", "timestamp", "tstamp", "created", "modified"),
    *("submitted", "updated", "id", "ids", "index", "row", "line", "round", "version", "revision", "ip", "duration"),
}
_OPTIONAL = ("count", "multiplicity", "group", "role")  # which have no other names
_VERDICTS = (
    "accept",
    "reject",
    "borderline",
    "pending",
    "withdrawn",
    "desk reject",
    "no decision",
    "invite",
    "undecided",
    "oral",
    "poster",
    "spotlight",
    "revis",
    "minor revision",
    "major revision",
)


def is_complete(table: pl.DataFrame) -> bool:
    """Whether a table has a form under our names, so that nothing has to be recognised."""
    names = set(table.columns)
    if "alternative" in names:
        return "voter" in names and not names.isdisjoint({"rank", "value"})
    if comparisons.recognised(table):
        return comparisons.has_voters(table)
    is_order = {"order", "voter"} <= names and table["order"].dtype == pl.String
    return is_order and table["order"].str.contains("[>=]").any()


def tidy(source: Source, said: Options) -> Source | None:
    """Return a row for each voter and alternative, or each look, under our names; None where it is none."""
    if wide.recognised(source.table) and not _has_repeated_voters(source):
        return None
    role = _vote(source, said)
    if role is None or not (candidates("voter", source) and candidates("alternative", source)):
        return None
    voter, column = meant("voter", source), meant(role, source)
    alternative = meant("alternative", source, taken=(voter or "",))
    if not (voter and column and alternative):
        return None
    if (voter, key(alternative), column) == ("voter", "item", "value"):
        return None  # looks, by all appearances, whose alternatives are forgotten
    names = {"voter": voter, "alternative": alternative, role: column}
    taken = tuple(names.values())
    item = None if key(alternative).startswith("item") else meant("item", source, taken)
    if item is not None and role == "value" and not source.table[item].null_count():
        names["item"] = item
    elif "count" not in source.table.columns and (level := meant("confidence", source, taken)) is not None:
        names["confidence"] = level
    if (title := title_column(source, tuple(names.values()))) is not None:
        names["title"] = title
    notes = [taken_for(names)]
    _warn_of_merged(source, alternative)
    _warn_of_withdrawn(source, alternative)
    own = [name for name in _OPTIONAL if name in source.table.columns and name not in names.values()]
    if "decision" in source.table.columns:
        if _is_verdict(source.table):
            notes.append("decision is left aside, since it says what became of an alternative, or should")
        else:
            own.append("decision")
    renamed = {name: role for role, name in names.items()}
    source = replace(source, place=replace(source.place, columns=dict(source.place.columns) | names))
    source = source.with_table(source.table.rename(renamed), *filter(None, notes))
    if "item" not in names:
        source = without_copies(source)
        source = latest(source, ["decision"] if "decision" in own else [])
    if role == "value":
        source = _without_blanks(source)
    return source.with_table(source.table.select(*names, *own))


def compared(source: Source) -> Source | None:
    """Return comparisons under our names; None where these are none."""
    table = source.table
    sides = comparisons.sides(table)
    if sides is None:
        return None
    names = dict(zip(("left", "right"), sides, strict=True))
    if (outcome := comparisons.one_hot(table)) is not None:
        table = table.with_columns(outcome.alias("winner"))
        source = source.with_table(table, "winner_model_a, winner_model_b and winner_tie are read as winner")
    winner = meant("winner", source, taken=sides)
    if winner is None or not comparisons.are_outcomes(table, sides, winner):
        winner = comparisons.verdict(table, sides) or winner
    if winner is None or (mostly_numbers(table[winner]) and not comparisons.are_outcomes(table, sides, winner)):
        return None
    names["winner"] = winner
    names |= {role: role for role in ("decision", "times", "multiplicity", "group", "item") if role in table.columns}
    unclear = [name for name in table.columns if key(name) in ("name", "fullname", "email", "emailaddress")]
    voter = meant("voter", source, taken=(*names.values(), *unclear))
    names |= {} if voter is None else {"voter": voter}
    new = {role: name for role, name in names.items() if not comparisons.is_known(role, name)}
    place = replace(source.place, columns=dict(source.place.columns) | names)
    others = [name for name in table.columns if name not in names.values() and name not in names]
    table = table.select(*_called(names), *others)
    return replace(source.with_table(table, *filter(None, [taken_for(new)])), place=place)


def ordered(source: Source) -> Source | None:
    """Return a table with a column ``order`` where it is called ranking or the like; None where there is none."""
    for name in source.table.columns:
        column = source.table[name]
        is_text = column.dtype == pl.String and column.count()
        if (
            key(name) in ("order", "ranking", "ballot", "ordering", "preferences")
            and is_text
            and column.str.contains(">").all()
        ):
            names = {"order": name}
            voter = meant("voter", source, taken=(name,))
            names |= {} if voter is None else {"voter": voter}
            optional = ("decision", "multiplicity", "group", "confidence")
            table = source.table.select(*_called(names), *(own for own in optional if own in source.table.columns))
            return source.with_table(table, *filter(None, [taken_for(names)]))
    return None


def problem(source: Source, needs: str) -> InputError:
    """Say which columns a table has, which it lacks, and what may be written about them."""
    table, name = source.table, source.place.name
    found = {role: best[0] for role in ("voter", "value", "alternative") if (best := candidates(role, source))}
    lacking = [role for role in ("voter", "alternative", "value") if role not in found]
    given = source.place.columns  # what the file calls what the user has mapped
    taken = {*found.values(), *given}
    free = [column for column in table.columns if column not in taken and not _is_aside(column)]
    free.sort(key=lambda column: mostly_numbers(table[column]))
    for role in lacking:
        numeric = [column for column in free if mostly_numbers(table[column])]
        names = [column for column in free if {"name", "email"} & set(_words(column))]
        choice = (numeric or free) if role == "value" else (names or free) if role == "voter" else free
        found |= {role: choice[0]} if choice else {}
        free = [column for column in free if column not in found.values()]
    example = {role: found.get(role, "…") for role in ("voter", "alternative", "value") if found.get(role) != role}
    example = {role: role for role in given} | example
    if (sides := comparisons.likely_sides(table)) is not None:
        example = {"left": sides[0], "right": sides[1], "winner": _outcome(source, sides)}
        needs = "left, right and winner, since it seems to hold comparisons"
    remedy = f"if they have other names, say so: {option({role: given.get(own, own) for role, own in example.items()})}"
    columns = first_few([given.get(column, column) for column in table.columns], 12)
    return InputError(f"{name}: found the columns {columns}; needs {needs}; {remedy}")


def _words(column: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).lower())


def _is_aside(column: str) -> bool:
    """Whether a column is about time, or numbers rows, so that nobody means it as a voter or a value.

    >>> [name for name in ("submitted_at", "#", "cdate", "Timestamp", "review_id", "OveMer") if _is_aside(name)]
    ['submitted_at', '#', 'cdate', 'Timestamp', 'review_id']
    """
    words = _words(column)
    return key(column) == "" or bool(words and words[-1] in _ASIDE)


def _outcome(source: Source, sides: tuple[str, str]) -> str:
    """Return the column that may say which of two was better: one that does, else one of few words, not the voter."""
    table = source.table
    texts = [name for name in table.columns if table[name].dtype == pl.String and name not in sides]
    telling = [name for name in texts if comparisons.are_outcomes(table, sides, name)]
    most = len(set(table[sides[0]]) & set(table[sides[1]])) + _FEW_WORDS
    voters = candidates("voter", source)
    few = [name for name in texts if name not in voters and table[name].drop_nulls().n_unique() <= most]
    return next(iter((*telling, *few)), "…")


def _called(names: Mapping[str, str]) -> list[pl.Expr]:
    """Return columns under our names."""
    return [pl.col(name).alias(role) for role, name in names.items()]


def _vote(source: Source, said: Options) -> str | None:
    """Return what the votes are; where our names say it, that, and else values before ranks."""
    wanted = ["rank"] if said.ballots == "rank" else ["value", "rank"]
    ours = [role for role in wanted if role in source.table.columns]
    return next((role for role in (*ours, *wanted) if candidates(role, source)), None)


def _has_repeated_voters(source: Source) -> bool:
    """Whether some voter has several rows, which a table with a row for each voter has not."""
    found = candidates("voter", source)
    if not found:
        return False
    keys = ["decision", found[0]] if "decision" in source.table.columns else [found[0]]
    return bool(source.table.select(pl.struct(keys).is_duplicated().any()).item())


def _is_verdict(table: pl.DataFrame) -> bool:
    """Whether a column says what became of each alternative, as that of a review system does, or should."""
    if table["decision"].dtype != pl.String:
        return False
    words = table["decision"].drop_nulls().unique().str.to_lowercase()
    return bool(len(words)) and bool(words.str.contains(f"^(?:{'|'.join(_VERDICTS)})").all())


def _warn_of_merged(source: Source, alternative: str) -> None:
    """Point out alternatives that a user calls by names that several share, such as titles."""
    if alternative != "alternative" or alternative not in source.place.columns:
        return
    others = [name for name in source.table.columns if name != alternative]
    codes = [name for name in others if key(name) in OTHER_NAMES["alternative"][0]]
    for code in codes[:1]:
        several = source.table.group_by(alternative).agg(pl.col(code).unique(maintain_order=True))
        several = several.filter(pl.col(code).list.len() > 1)
        for name, own in several.sort(alternative).rows()[:1]:
            which = f"{quoted(name)} has several of the column {short(code)}: {first_few(own, 3)}"
            message = f"{source.place.name}: {which}; these are counted as one"
            warnings.warn(message, InputWarning, stacklevel=6)


def _warn_of_withdrawn(source: Source, alternative: str) -> None:
    """Point out alternatives that a column calls withdrawn, or rejected without a review."""
    for name in source.table.columns:
        column = source.table[name]
        if not key(name).endswith(("status", "decision", "state")) or column.dtype != pl.String:
            continue
        gone = column.str.strip_chars().str.contains(r"(?i)^(?:withdrawn|desk[ _-]?reject)").fill_null(False)
        which = (
            source.table[alternative].cast(pl.String).filter(gone).drop_nulls().unique(maintain_order=True).to_list()
        )
        if which and not gone.all():
            said = f"{source.place.called(name)} says {column.filter(gone)[0]} of {first_few(which, 5)}"
            it, is_ = ("it", "is") if len(which) == 1 else ("one", "are")
            remedy = f"to leave {it} out: --without {shlex.quote(which[0])}"
            message = f"{source.place.name}: {said}, which {is_} decided on all the same; {remedy}"
            warnings.warn(message, InputWarning, stacklevel=6)
            return


def _without_blanks(source: Source) -> Source:
    """Leave out rows without a value: reviews that were not written, rather than the lowest there are."""
    read = written(source.table["value"])
    values = source.table["value"] if read is None else read.number
    kept = values.is_not_null() & ~(values.is_nan() if values.dtype.is_float() else pl.Series([False])).fill_null(False)
    blanks = int((~kept).sum())
    if not blanks or not kept.any():
        return source
    names = source.table["alternative"]
    gone = [name for name in names.unique(maintain_order=True) if name not in set(names.filter(kept))]
    if gone:
        message = f"{source.place.name}: nobody gave a value to {first_few(gone, 5)}, so it is left out"
        warnings.warn(message if len(gone) == 1 else message.replace("it is", "they are"), InputWarning, stacklevel=6)
    rows = "row without a value is" if blanks == 1 else "rows without a value are"
    return source.filtered(kept, f"{blanks} {rows} left out")
