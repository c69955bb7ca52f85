"""Several versions of a vote in one file, as review systems keep them: which one is the last."""

import polars as pl

from veritally.io.columns import Source, key

# What says which version is later, the surest first; dates may have the time of day beside them.
_VERSIONS = ("version", "revision", "reviewversion")
_DATES = (
    *("lastmodified", "lastmodifiedtime", "modified", "reviewlastmodified", "lastupdated", "updated", "updatedat"),
    *("tmdate", "mdate", "tcdate", "cdate", "timestamp", "tstamp", "submittedat", "date"),
)

_STAMPS = (r"^\d{4}-\d\d-\d\d$", r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?$", r"^\d\d:\d\d(?::\d\d)?$")


def without_copies(source: Source) -> Source:
    """Leave out rows that repeat another one in all columns, and name both."""
    table, place = source.table, source.place
    if any(dtype.is_nested() for dtype in table.dtypes):
        return source
    first = table.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    if first.all():
        return source
    row = int((~first).arg_max() or 0)
    earlier = table.rows().index(table.row(row))
    more = "" if (number := int((~first).sum())) == 1 else f" (and {number - 1} more)"
    lines = f"{place.unit}s {place.lines[earlier]} and {place.lines[row]}{more}"
    return source.filtered(first, f"{lines} are the same in all columns and count once")


def latest(source: Source, within: list[str]) -> Source:
    """Keep the last version of each vote, where a column says which that is."""
    table = source.table
    keys = ["voter", "alternative", *within]
    twice = table.select(pl.struct(keys).is_duplicated()).to_series()
    if not twice.any():
        return source
    for names in (_VERSIONS, _DATES):
        found = [name for wanted in names for name in table.columns if key(name) == wanted and name not in keys]
        if not found:
            continue
        time = [name for name in table.columns if key(name) == "time" and key(found[0]) == "date"]
        stamps = [_comparable(table[name]) for name in (found[0], *time)]
        if any(stamp is None for stamp in stamps):
            continue
        stamp = pl.DataFrame(stamps)
        ordered = table.select(keys).with_columns(pl.struct(stamp).alias("_stamp")).with_row_index("_row")
        last = ordered.sort("_stamp", maintain_order=True).unique(keys, keep="last", maintain_order=True)
        kept = ordered["_row"].is_in(last["_row"].implode())
        same = ordered.select(pl.struct(*keys, "_stamp").is_duplicated() & twice).to_series()
        if same.any() or stamp.filter(twice).to_series(0).null_count():
            continue  # they do not say it after all
        left = int((~kept).sum())
        versions = "earlier version is" if left == 1 else "earlier versions are"
        return source.filtered(kept, f"{left} {versions} left out, by {found[0]}")
    return source


def _comparable(column: pl.Series) -> pl.Series | None:
    """Return what is later as larger: numbers, and dates that begin with the year; None for others."""
    if column.dtype != pl.String:
        return None if column.dtype.is_nested() else column
    number = column.cast(pl.Float64, strict=False)
    if number.null_count() == column.null_count():
        return number
    given = column.drop_nulls()  # of one form, so that their order as text is that of time
    return column if any(given.str.contains(form).all() for form in _STAMPS) else None
