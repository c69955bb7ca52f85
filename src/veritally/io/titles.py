"""Titles: what an alternative that is known by a number or code is called, for people to read."""

import polars as pl

from veritally.io.columns import Source, key

_TITLES = ("title", "papertitle", "submissiontitle", "proposaltitle", "projecttitle")


def title_column(source: Source, taken: tuple[str, ...]) -> str | None:
    """Return the column that has a title for each alternative; None if there is none."""
    return next((name for name in source.table.columns if key(name) in _TITLES and name not in taken), None)


def titles_in(table: pl.DataFrame) -> dict[str, str]:
    """Return the title of each alternative, by name; nothing if some alternative has several."""
    if not {"title", "alternative"} <= set(table.columns) or table["title"].dtype != pl.String:
        return {}
    different = table.select(pl.col("alternative").cast(pl.String), "title").drop_nulls().unique(maintain_order=True)
    if different["alternative"].n_unique() < different.height or different["alternative"].equals(different["title"]):
        return {}
    return dict(different.rows())
