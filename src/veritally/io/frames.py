"""The tidy table: data frames to and from Profile."""

import difflib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, InputWarning, quoted, short
from veritally.io import suspicions
from veritally.io.numbers import are_plain_numbers, numbers, plain_numbers
from veritally.io.options import Options
from veritally.io.spelling import plain, without_repeats
from veritally.votes.differences import Differences
from veritally.votes.labels import EachNames
from veritally.votes.mixed import Mixed
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

COLUMNS = ("decision", "voter", "alternative", "rank", "value", "count", "multiplicity", "group", "confidence")
LOOKS = ("item", "role")  # columns of a table with a row for each voter and alternative, or each look
_TEXT = ("decision", "voter", "alternative", "group", "role")
_NAMELESS = (pl.Object, pl.Binary, pl.Duration)
_SPARSE = 8  # times as many codes as there are rows, up to which each has a mark
_MOST_PADDING = 2**26  # cells that are filled up: half a gigabyte an array


def from_native(frame: Any) -> pl.DataFrame:
    """Take the columns of a vote table out of a pandas, polars or pyarrow frame."""
    import narwhals as nw

    try:
        table = nw.from_native(frame)
        if isinstance(table, nw.LazyFrame):
            table = table.collect()
        if isinstance(native := table.to_native(), pl.DataFrame):
            return native
        return pl.DataFrame([_column(str(series.name), series) for series in table.iter_columns()])
    except (nw.exceptions.DuplicateError, pl.exceptions.DuplicateError) as error:
        raise InputError("the frame: two columns have the same name; name each column once") from error
    except (TypeError, ValueError, OverflowError, nw.exceptions.NarwhalsError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read votes from {type(frame).__name__}; give a path or a data frame") from error


def _column(name: str, series: Any) -> pl.Series:
    """Return a column of another library's frame, what it calls missing as null."""
    cells = zip(series.to_list(), series.is_null().to_list(), strict=True)
    return pl.Series(name, [None if missing else cell for cell, missing in cells], strict=False)


def to_profile(table: pl.DataFrame, place: "Place", said: Options) -> Profile:
    """Turn a tidy table into a Profile."""
    from veritally.io import roles  # which knows this file

    name, ballots = place.name, said.ballots
    said.refuse(name, "tidy tables", "counts", "unranked")
    vote = _vote_column(table, place, ballots)
    _warn_of_misspelt(table, name)
    if vote == "rank":
        said.require_ranks(name)
    decisions, decision = coded(table["decision"], place) if "decision" in table.columns else (None, None)
    voters, voter = _labels(table["voter"], decision, place, said.apart)
    alternatives, alternative = _labels(table["alternative"], decision, place, said.apart, said.order)
    batch = () if decisions is None else (len(decisions),)
    shape = (*batch, int(voter.max()) + 1, int(alternative.max()) + 1)
    require_room(shape, table.height, name)
    cells = (voter, alternative) if decision is None else (decision, voter, alternative)
    flat = np.ravel_multi_index(cells, shape)
    _no_cell_twice(flat, math.prod(shape), table, place)

    read: dict[str, Callable[[pl.Series, Place], Array]]
    read = {"rank": partial(numbers, ordinals=True), "value": numbers, "count": plain_numbers}

    def filled(column: str, blank: float) -> Array:
        array = np.full(shape, blank, dtype=float)
        array[cells] = read[column](table[column], place)
        return array

    votes = filled(vote, np.nan)
    values, ranks = (votes, None) if vote == "value" else (None, votes)
    if vote == "value" and ballots != "value" and "rank" in table.columns:
        ranks = filled("rank", np.nan)
    if "count" in table.columns:
        counts = filled("count", 0)
        counts[np.isnan(counts) & np.isnan(votes)] = 0  # neither count nor vote: not seen
    else:
        counts = np.zeros(shape)
        counts[cells] = 1
    multiplicity = None
    if (given := multiplicities(table, place)) is not None:
        multiplicity = np.zeros(shape[:-1])
        multiplicity[tuple(index[::-1] for index in cells[:-1])] = given[::-1]  # the first row of a voter stands
        differing = np.flatnonzero(multiplicity[cells[:-1]] != given)
        if len(differing):
            row = differing[0]
            raise InputError(f"{place(row)}: voter {quoted(table['voter'][int(row)])} has different multiplicities")
    rest: dict[str, Any] = {
        "multiplicity": multiplicity,
        "alternatives": alternatives,
        "voters": voters,
        "decisions": decisions,
    }
    try:
        profile = _profile(ranks, values, counts, said, rest)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error

    def where(index: tuple[int, ...]) -> str:
        return place(np.flatnonzero(flat == np.ravel_multi_index(index, shape))[0])

    for remark in suspicions.of_votes(ranks, values, said, where):
        warnings.warn(remark, InputWarning, stacklevel=4)
    return roles.with_roles(profile, table["role"], cells, place) if "role" in table.columns else profile


def _profile(ranks: Array | None, values: Array | None, counts: Array, said: Options, rest: dict[str, Any]) -> Profile:
    """Make a profile of values, or of ranks, or of values and the ranks of voters who give none."""
    if values is None:
        return Profile(ranks=ranks, counts=counts, **rest)
    votes = -values if said.lower_is_better else values
    if ranks is not None:
        ranked = np.where(np.isnan(values).all(axis=-1, keepdims=True), ranks, np.nan)
        if not np.isnan(ranked).all():
            return _mixed(votes, ranked, counts, rest)
    return Profile(values=votes, counts=counts, **rest)


def _mixed(values: Array, ranks: Array, counts: Array, rest: dict[str, Any]) -> Profile:
    """Put voters who give values and voters who rank together."""
    ranking = ~np.isnan(ranks).all(axis=-1, keepdims=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no usable vote", InputWarning)  # that the others have none
        one = Profile(values=values, counts=np.where(ranking, 0, counts), **rest)
        other = Profile(ranks=ranks, counts=np.where(ranking, counts, 0), **rest)
    profile = one.with_ballots(Mixed.of([one.ballots, other.ballots]))
    for message in profile.warnings:
        warnings.warn(message, InputWarning, stacklevel=4)
    return profile


def from_profile(profile: Profile) -> pl.DataFrame:
    """Turn a profile into a tidy table, leaving out what was not seen."""
    require_table(profile)
    weighed = is_weighed(profile)
    if not profile.names_differ:
        return _rows(profile, weighed)
    return each_decision(profile, partial(_rows, weighed=weighed))


def each_decision(profile: Profile, rows: Callable[[Profile], pl.DataFrame]) -> pl.DataFrame:
    """Put the tables of the decisions of a batch below each other."""
    parts = [
        rows(one).select(pl.lit(str(name)).alias("decision"), pl.all())
        for name, one in zip(profile.decision_names, profile.unstack(), strict=True)
    ]
    return pl.concat(parts, how="diagonal_relaxed")  # counts may be whole in one part and not in another


def require_table(profile: Profile) -> None:
    """Refuse votes that no table can hold."""
    ballots = profile.ballots
    if ballots.part(Differences) is not None:
        raise InputError("a vote file holds ranks or values; differences alone cannot be written")
    if isinstance(ballots, Mixed) and ballots.part(Pairs) is not None:
        raise InputError("a vote file holds pairs or other votes; write them to two files")
    if len(profile.batch) > 1:
        raise InputError("a vote file has one column for decisions; write the parts of unstack() one by one")
    if profile.batch:
        require_different(profile.decision_names)


def is_weighed(profile: Profile) -> bool:
    """Whether some ballots stand for more or less than one voter."""
    return bool(np.any(np.asarray(profile.multiplicity) != 1))


def _rows(profile: Profile, weighed: bool) -> pl.DataFrame:
    """Return the table of a single decision, or of a batch whose decisions share their names."""
    from veritally.io import groups, roles

    counts = np.asarray(profile.counts)
    seen = counts > 0
    # The first voter has a row for each alternative, so that these keep their order, and so has one who saw nothing.
    listed = seen | ~seen.any(axis=-1, keepdims=True)
    listed[..., 0, :] = True
    require_different(profile.voters)
    require_different(profile.alternatives)
    *d, i, j = np.nonzero(listed)
    written = {name: np.asarray(x)[listed] for name, x in profile.ballots.columns().items()}
    columns = {"decision": _text(profile.decision_names)[d[0]]} if d else {}
    columns |= {
        "voter": _text(profile.voters)[i],
        "alternative": _text(profile.alternatives)[j],
        **written,
        "count": whole_if_possible(counts)[listed],
    }
    if weighed:
        columns["multiplicity"] = np.broadcast_to(np.asarray(profile.multiplicity)[..., None], counts.shape)[listed]
    if profile.groups:
        columns["group"] = groups.column_for(profile.groups, columns["voter"].tolist())
    if (own := roles.column_for(profile, listed)) is not None:
        columns["role"] = own
    text: dict[str, Any] = {name: pl.String for name in _TEXT if name in columns}
    return pl.DataFrame(columns, schema_overrides=text, nan_to_null=True)


def require_different(names: tuple[Any, ...]) -> None:
    """Refuse names that a file could not tell apart, or does not keep."""
    if len({plain(str(name)) for name in names}) < len(names):
        what = "names that differ only in type, Unicode form or outer spaces"
        raise InputError(f"{what} would be one in a file; rename them")
    for name in names:
        if not str(name) or str(name) != str(name).strip():
            raise InputError(f"the name {quoted(name)} is empty or has outer spaces, which files lose; rename it")


def whole_if_possible(counts: Array) -> Array:
    """Return counts as integers, unless some are not."""
    return counts.astype(np.int64) if bool((counts % 1 == 0).all() and (counts < 2**53).all()) else counts


def _text(names: tuple[Any, ...]) -> Array:
    return np.array(list(map(str, names)), dtype=object)


@dataclass(frozen=True)
class Place:
    """Says where a row is, and what the file calls a column."""

    name: str
    unit: str
    lines: Sequence[int] | Array
    columns: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Sequence[int], Sequence[str]] | None = None  # where files begin, whose rows are counted through

    def __call__(self, row: Any) -> str:
        """Name a row."""
        line = self.lines[int(row)]
        if self.parts is None:
            return f"{self.name}, {self.unit} {line}"
        starts, files = self.parts
        part = int(np.searchsorted(starts, int(line), side="left")) - 1
        return f"{files[part]}, {self.unit} {int(line) - starts[part]}"

    def called(self, column: str) -> str:
        """Name a column as the file does."""
        return short(self.columns.get(column, column))

    def at(self, rows: Array | slice) -> "Place":
        """Keep some of the rows."""
        return replace(self, lines=np.asarray(self.lines)[rows])


def filled_rows(table: pl.DataFrame, place: Place) -> tuple[pl.DataFrame, Place]:
    """Leave out rows in which nothing stands."""
    if not table.width or not table.to_series(0).null_count():
        return table, place
    filled = table.select(~pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
    return table.filter(filled), place.at(filled)


def require_room(shape: tuple[int, ...], given: int, name: str) -> None:
    """Refuse votes that would be all but lost among the cells to be filled up."""
    if math.prod(shape) - given > _MOST_PADDING:
        sizes = " × ".join(map(str, shape))
        remedy = "write the answers to a file, by decide --out or vt.decide_file, which takes them in pieces"
        raise InputError(f"{name}: {given} votes would fill a table of {sizes} cells; {remedy}")


def plain_names(columns: list[str], wanted: tuple[str, ...] = COLUMNS) -> dict[str, str]:
    """Forgive capitals in the names of the columns that matter, where no other column has the plain name."""
    plain = {column: column.strip().lower() for column in columns}
    return {
        column: name
        for column, name in plain.items()
        if name in wanted and name not in columns and list(plain.values()).count(name) == 1
    }


def _vote_column(table: pl.DataFrame, place: Place, ballots: str | None) -> str:
    """Choose the column that is the vote, or say what columns a vote file needs."""
    from veritally.io import recognition  # which knows this file
    from veritally.io.columns import Source

    wanted = [ballots] if ballots in ("value", "rank") else ["value", "rank"]
    given = [column for column in wanted if column in table.columns]
    if not given or not {"voter", "alternative"} <= set(table.columns):
        needs = f"voter, alternative and {' or '.join(wanted)} (and may have count, multiplicity, decision)"
        other = "" if "alternative" in table.columns else ", or a column of numbers for each alternative"
        raise recognition.problem(Source(table, place), needs + other)
    return next((column for column in given if table[column].null_count() < table.height), given[0])


def _warn_of_misspelt(table: pl.DataFrame, name: str) -> None:
    """Point out a column that is ignored but looks like one that would matter."""
    for column in table.columns:
        near = difflib.get_close_matches(column.lower(), COLUMNS, n=1, cutoff=0.75)
        if column not in (*COLUMNS, *LOOKS) and near and near[0] not in table.columns:
            message = f"{name}: the column {short(column)} is ignored; if it is meant as {near[0]}, rename it"
            warnings.warn(message, InputWarning, stacklevel=4)
            return
    if "count" in table.columns:
        return
    known = {*COLUMNS, *LOOKS}
    others = [column for column in table.columns if column not in known and are_plain_numbers(table[column])]
    if others:
        meant = f"if {short(others[0])} is meant as such, rename it"
        message = f"{name}: there is no column count, so all count the same; {meant}"
        warnings.warn(message, InputWarning, stacklevel=4)


def has_names(column: pl.Series) -> bool:
    """Whether a column can hold names."""
    return not column.dtype.is_nested() and column.dtype not in _NAMELESS


def require_names(column: pl.Series, place: Place) -> None:
    """Refuse a column of what are no names."""
    if not has_names(column):
        name = place.called(column.name)
        raise InputError(f"{place.name}: the column {name} holds {short(column.dtype)}, not names")


def named(column: pl.Series, place: Place) -> pl.Series:
    """Return the names in a column as text; refuse what are none."""
    require_names(column, place)
    if column.null_count():
        row = np.flatnonzero(column.is_null().to_numpy())[0]
        raise InputError(f"{place(row)}: the {place.called(column.name)} is empty")
    return column.cast(pl.String)


def coded(column: pl.Series, place: Place) -> tuple[list[str], Array]:
    """Return the names in a column in order of appearance, and for each row the position of its name."""
    column = named(column, place)
    names = without_repeats(column).unique(maintain_order=True)
    codes = column.rle_id()
    if codes[-1] + 1 != len(names):  # not sorted: each name has to be looked up
        codes = column.cast(pl.Enum(names)).to_physical()
    return names.to_list(), codes.to_numpy().astype(np.intp)


def _labels(
    column: pl.Series, decision: Array | None, place: Place, apart: bool, order: Sequence[str] | None = None
) -> tuple[Sequence[Any], Array]:
    """Return names and positions, within each decision where there are several.

    Names come as they first appear in the table, or in an ``order`` that is given; ``apart``, as they first appear in
    their decision.
    """
    names, codes = coded(column, place)
    if decision is None:
        return names, codes
    pair = decision * len(names) + codes
    pairs, pair = _numbered(pair, (int(np.max(decision)) + 1) * len(names))  # by decision, then by appearance
    owner = pairs // len(names)
    if order is not None:
        known = {name: number for number, name in enumerate(order)}
        first = np.array([known.get(name, len(known)) for name in names])[pairs % len(names)]
        sequence = np.lexsort((first, owner))
        pairs, pair = pairs[sequence], np.argsort(sequence)[pair]
    elif apart:
        first = np.empty(len(pairs), dtype=np.intp)
        first[pair[::-1]] = np.arange(len(pair))[::-1]
        if (np.diff(first) < 0).any():  # else they are so already
            sequence = np.lexsort((first, owner))
            pairs, pair = pairs[sequence], np.argsort(sequence)[pair]
    starts = np.searchsorted(owner, np.arange(owner[-1] + 1))
    position = np.arange(len(pairs)) - starts[owner]
    return EachNames(names, pairs % len(names), np.append(starts, len(pairs))), position[pair]


def _numbered(codes: Array, limit: int) -> tuple[Array, Array]:
    """Return the different codes below a limit, in order, and for each code its place among them."""
    if limit > _SPARSE * len(codes):
        found, place = np.unique(codes, return_inverse=True)
        return found, place
    there = np.zeros(limit, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _no_cell_twice(flat: Array, cells: int, table: pl.DataFrame, place: Place) -> None:
    hit = np.zeros(cells, dtype=bool)
    hit[flat] = True
    if np.count_nonzero(hit) == len(flat):
        return
    first = np.unique(flat, return_index=True)[1]
    row = int(np.setdiff1d(np.arange(len(flat)), first)[0])
    earlier = place(np.flatnonzero(flat == flat[row])[0]).removeprefix(f"{place.name}, ")
    voter, alternative = (table[column][row] for column in ("voter", "alternative"))
    raise InputError(
        f"{place(row)}: voter {quoted(voter)} and alternative {quoted(alternative)} appear twice (first in "
        f"{earlier}); give one row for each"
        f" (or, if these are looks at different items, a column item and a value in each row)"
    )


def differing_row(table: pl.DataFrame, keys: list[str], column: str) -> int | None:
    """Return the first row in which a column differs from the first row of the same keys; None if there is none."""
    differs = pl.col(column).ne_missing(pl.col(column).first().over(keys))
    found = table.select(differs).to_series().arg_true()
    return int(found[0]) if len(found) else None


def multiplicities(table: pl.DataFrame, place: Place) -> Array | None:
    """Return the multiplicity of each row, None where there is no such column."""
    if "multiplicity" not in table.columns:
        return None
    given = plain_numbers(table["multiplicity"], place)
    if np.isnan(given).any():
        raise InputError(f"{place(np.flatnonzero(np.isnan(given))[0])}: the multiplicity is empty")
    return given
