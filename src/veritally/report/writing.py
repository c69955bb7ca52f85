"""Reports as files: HTML, Markdown, or a table."""

import datetime
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from veritally.checks import usable_path
from veritally.document import to_html, to_markdown
from veritally.errors import InputError
from veritally.files import refuse_to_replace, write_whole
from veritally.outcome import Outcome
from veritally.report.answer import Origin, document

_PAGES = {".html": to_html, ".htm": to_html, ".md": to_markdown}
_TABLES = (".csv", ".tsv", ".parquet", ".jsonl")
_MARK = "<!-- Made by veritally -->\n"
_COLUMNS = (b"alternative", b"score", b"winner", b"chosen", b"voters")


def write_report(
    outcome: Outcome,
    path: str | PathLike[str],
    *,
    title: str = "",
    source: str = "",
    checksum: str = "",
    command: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Write a report of an outcome: the answer, how sure it is, why, what would change it, and how to repeat it.

    Parameters
    ----------
    outcome
        Of one decision or of many.
    path
        The suffix chooses the format. ``.html`` is one page that needs no other file and no network; ``.md`` is
        Markdown. ``.csv`` (also ``.tsv``, ``.parquet``, ``.jsonl``) is the table of :meth:`Outcome.to_frame`.
    title
        The title of the page; by default the ``source``.
    source, checksum, command
        Where the votes come from: the name of their file, its SHA-256, and the command that repeats the decision.
    notes
        Anything else to tell the reader, a sentence each.
    """
    require_report(path)
    suffix = Path(path).suffix.lower()
    if suffix in _TABLES:
        from veritally.io.votes import encoded

        return write_whole(path, encoded(lambda: _text_names(outcome), path))
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    blocks = document(outcome, Origin(title, source, checksum, command, notes, today))
    return write_whole(path, (_PAGES[suffix](blocks) + _MARK).encode())


def require_report(path: str | PathLike[str], force: bool = True) -> None:
    """Refuse a report that cannot be written, before there is any work to lose.

    Without ``force`` also one that would replace a file which is no report of ours.
    """
    suffix = usable_path(path).suffix.lower()
    if suffix not in (*_PAGES, *_TABLES):
        raise InputError(f"{path}: a report is .html, .md or .csv; choose one of these")
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: cannot be written (there is no folder {Path(path).parent})")
    if not force:
        refuse_to_replace(Path(path), _is_ours)


def _is_ours(path: Path) -> bool:
    found = path.read_bytes()
    if path.suffix.lower() in _PAGES:
        return found.endswith(_MARK.encode())
    return all(column in found for column in _COLUMNS)


def _text_names(outcome: Outcome) -> Any:
    """Return the table with names as text."""
    import polars as pl

    frame = outcome.to_frame()
    return frame.with_columns(pl.col(name).cast(pl.String) for name in ("decision", "alternative") if name in frame)
