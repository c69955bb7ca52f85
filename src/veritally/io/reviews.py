"""Reviews as conference systems export them: OpenReview (notes), EasyChair (``review.csv``) and HotCRP (reviews CSV).

Each becomes a table of plain columns, whose names are recognised like those of any other table.
"""

import re

import polars as pl

from veritally.io.columns import OTHER_NAMES, Source, key

_ANONYMOUS = r"/((?:Paper|Submission)\d+/(?:Anon)?Reviewer_?\w+)$"  # OpenReview numbers reviewers within each paper
_ANONYMOUS_NAME = r"^Anon_?Reviewer_?\w+$"
_PER_PAPER = r"^(?:Anon_?Reviewer_?\w+|Reviewer_\w{4})$"
_REVIEW = r"^\d+[A-Z]+\d*$"  # as HotCRP numbers them: 12A
_SCORE = re.compile(r"^\s*(.+?)\s*:\s*([-+]?\d+(?:\.\d+)?)\s*(?:\(.*\))?\s*$", re.MULTILINE)


def unfolded(source: Source) -> Source:
    """Return plain columns where a table is an export that has others."""
    source = _openreview(source)
    source = _easychair(source)
    return _hotcrp(source)


def _openreview(source: Source) -> Source:
    """Take the fields out of ``content``, and keep the notes that rate a paper."""
    table = source.table
    if "content" in table.columns and isinstance(table["content"].dtype, pl.Struct):
        table = _opened(table)
        table, source = _rated(source.with_table(table))
    elif any(name.startswith("content.") for name in table.columns):  # as tools that flatten JSON call them
        plain = {name: name.removeprefix("content.").removesuffix(".value") for name in table.columns}
        free = {old: new for old, new in plain.items() if new != old and new not in table.columns}
        table, source = _rated(source.with_table(table.rename(free)))
    for name in table.columns:
        if key(name) in ("signatures", "signature", "reviewer", "reviewerid", "reviewername"):
            table = table.with_columns(_signed(table, name))
    return _numbered(source.with_table(table))


def _numbered(source: Source) -> Source:
    """Name papers by their number rather than by the code of their forum, where each has one."""
    table = source.table
    if not {"forum", "number"} <= set(table.columns) or "alternative" in table.columns:
        return source
    different = table.select("forum", "number").drop_nulls().unique()
    if not different.height == different["forum"].n_unique() == different["number"].n_unique():
        return source  # these number reviews
    return source.with_table(table.drop("forum").rename({"number": "alternative"}), "number is read as alternative")


def _opened(table: pl.DataFrame) -> pl.DataFrame:
    """Return each field of the content as a column, without ``{"value": …}`` around it."""
    fields = table["content"].struct.unnest()
    free = [name for name in fields.columns if name not in table.columns]
    for name in free:
        column = fields[name]
        if isinstance(column.dtype, pl.Struct) and column.struct.fields == ["value"]:
            column = column.struct.field("value").alias(name)
        table = table.with_columns(column)
    return table.drop("content")


def _rated(source: Source) -> tuple[pl.DataFrame, Source]:
    """Leave out notes that are no reviews: submissions, comments, decisions."""
    values = {name for names in OTHER_NAMES["value"] for name in names}
    rated = [name for name in source.table.columns if key(name) in values and not source.table[name].dtype.is_nested()]
    kept = source.table.select(pl.any_horizontal(pl.col(rated).is_not_null())).to_series() if rated else None
    if kept is None or kept.all() or not kept.any():
        return source.table, source
    others = int((~kept).sum())
    if "decision" in source.table.columns and not source.table["decision"].filter(kept).count():
        source = source.with_table(source.table.drop("decision"))
    notes = "note that rates nothing is" if others == 1 else "notes that rate nothing are"
    source = source.filtered(kept, f"{others} {notes} left out")
    return source.table, source


def _signed(table: pl.DataFrame, name: str) -> pl.Series:
    """Name who signs; of anonymous reviewers, who are numbered within each paper, with the paper."""
    column = table[name]
    if isinstance(column.dtype, pl.List) and column.dtype.inner == pl.String:
        column = column.list.join("; ")
    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars("[]'\" ")
    text = pl.DataFrame({"a": text.str.extract(_ANONYMOUS), "b": text}).select(pl.coalesce("a", "b")).to_series()
    forums = [other for other in table.columns if key(other) in ("forum", "paperid", "paper", "submission")]
    pattern = _PER_PAPER if "forum" in table.columns else _ANONYMOUS_NAME
    if forums and text.count() and text.str.contains(pattern).all():
        text = table.select(pl.concat_str(pl.col(forums[0]).cast(pl.String), pl.lit("/"), text.alias(name))).to_series()
    return text.alias(name)


def _easychair(source: Source) -> Source:
    """Take single scores out of a text such as ``Overall evaluation: 2``, a line each, and put names together."""
    table = source.table
    keys = {key(name): name for name in table.columns}
    if not {"submission", "scores"} <= keys.keys() or table[keys["scores"]].dtype != pl.String:
        return source
    found = [dict(_SCORE.findall(text or "")) for text in table[keys["scores"]]]
    for name in dict.fromkeys(name for own in found for name in own):
        if name not in table.columns:
            table = table.with_columns(pl.Series(name, [own.get(name) for own in found], dtype=pl.String))
    table = table.drop(keys["scores"])
    first, last, member = (keys.get(name) for name in ("reviewerfirstname", "reviewerlastname", "membername"))
    if first and last:
        whole = pl.concat_str(first, last, separator=" ", ignore_nulls=True).str.strip_chars().replace("", None)
        who = pl.coalesce(whole, pl.col(member)) if member else whole
        people = [name for name in source.table.columns if key(name).startswith(("member", "reviewer"))]
        instead = f", or else {member}," if member else ""
        source = source.with_table(table, f"{first} and {last}{instead} are read as voter")
        table = table.with_columns(who.alias("voter")).drop(people)
    return source.with_table(table)


def _hotcrp(source: Source) -> Source:
    """Name a reviewer who is not named by the review, such as 12A."""
    table = source.table
    keys = {key(name): name for name in table.columns}
    if not {"paper", "review"} <= keys.keys() or "voter" in table.columns:
        return source
    if not table[keys["review"]].cast(pl.String).str.contains(_REVIEW).all():  # a text, by its name
        return source.with_table(table.drop(keys["review"]))
    names = [keys[name] for name in ("reviewername", "email", "review") if name in keys]
    if table[names[0]].null_count() or len(names) == 1:
        who = table.select(pl.coalesce(pl.col(names).cast(pl.String)).alias("voter")).to_series()
        missing = "" if len(names) == 1 else " where no reviewer is named"
        return source.with_table(table.drop(names).with_columns(who), f"{names[-1]} is read as voter{missing}")
    return source.with_table(table.drop(keys["review"]))
