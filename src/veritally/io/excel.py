"""Excel workbooks, their first sheet; needs the extra ``excel``."""

import warnings
from collections import Counter

import polars as pl

from veritally.errors import InputError, InputNote, short
from veritally.io.sizes import require_cells
from veritally.io.text import first_line
from veritally.votes.labels import first_few

UNIT, FIRST_ROW = "row", 2  # a person counts the header as row 1
_FEWEST = 2  # rows: the header, and one more


def recognised(data: bytes) -> bool:
    """Whether it is an archive with a workbook in it."""
    return data.startswith(b"PK\x03\x04") and b"xl/workbook" in data


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read the first sheet, all as text, as CSV is read."""
    try:
        import fastexcel
    except ImportError as error:
        raise InputError("Excel files need fastexcel: pip install 'veritally[excel]', or save as CSV") from error
    try:
        book = fastexcel.read_excel(data)
        sheet = book.load_sheet(0, header_row=None, dtypes="string")
        require_cells(sheet.height, sheet.width, name)
        cells: pl.DataFrame = sheet.to_polars()
    except fastexcel.FastExcelError as error:
        raise InputError(f"{name}: is not a readable workbook ({first_line(error)}); save it as CSV (UTF-8)") from error
    cells = cells.with_columns(pl.all().cast(pl.String).str.strip_chars().replace("", None))
    if cells.height < _FEWEST:
        others = first_few(book.sheet_names[1:], 5) if book.sheet_names[1:] else "none"
        found = f"the first sheet, {short(book.sheet_names[0])}, has no table, and only that is read"
        raise InputError(f"{name}: {found}; the others are {others}")
    if more := book.sheet_names[1:]:
        note = f"only the first sheet, {short(book.sheet_names[0])}, is read; there are also {first_few(more, 5)}"
        warnings.warn(f"{name}: {note}", InputNote, stacklevel=6)
    return _with_header(cells, name)


def _with_header(cells: pl.DataFrame, name: str) -> pl.DataFrame:
    """Take the first row for the names of the columns; columns in which nothing stands are left out."""
    header = ["" if cell is None else cell for cell in cells.row(0)]
    table = cells.slice(1)
    kept = [j for j, column in enumerate(table.get_columns()) if header[j] or column.count()]
    names = [header[j] for j in kept]
    if twice := [one for one, times in Counter(names).items() if times > 1]:
        raise InputError(f"{name}: the column {short(twice[0])} appears twice; name each column once")
    return pl.DataFrame([table.to_series(j).alias(header[j]) for j in kept])
