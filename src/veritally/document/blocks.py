"""The blocks that a document is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Heading:
    """A title; the first block of a document is its own."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text; the one to read first may be large."""

    text: str
    large: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """A cell of a table: one or more lines, of which the first may be bold."""

    lines: tuple[str, ...]
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table; a row of None is a rule between groups of rows.

    The first ``texts`` columns are text, the others numbers. Readers of an HTML page can sort one that is ``sortable``
    by any column.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell] | None]
    texts: int = 1
    sortable: bool = False

    @classmethod
    def of(cls, header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1, sortable: bool = True) -> "Table":
        """Make a table of plain texts, a line each."""
        return cls(header, [[Cell((text,)) for text in row] for row in rows], texts, sortable)


@dataclass(frozen=True)
class Figure:
    """A picture, by the name of its files without suffix."""

    name: str
    caption: str


@dataclass(frozen=True)
class Row:
    """A row of a chart.

    Attributes
    ----------
    name
        What it is about.
    middle, low, high
        An estimate and the ends of its interval; without an interval, a bar from the origin to the ``middle``.
    share
        A number from 0 to 1 that is drawn as a bar beside it; None for none.
    note
        What is written at the end of the row.
    strong
        Whether the row is emphasised.
    """

    name: str
    middle: float
    low: float | None = None
    high: float | None = None
    share: float | None = None
    note: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Chart:
    """Estimates with their intervals, a row for each; only HTML draws it, since the tables have the same numbers.

    Attributes
    ----------
    rows
        From top to bottom.
    scale
        What the horizontal axis is.
    note
        What the end of each row is.
    described
        What the chart shows, for those who cannot see it.
    cut
        How many rows are above a line that is drawn across; None for no line.
    origin
        Where a vertical line is drawn; None for no line.
    reverse
        Whether numbers grow to the left.
    """

    rows: Sequence[Row]
    scale: str
    note: str
    described: str
    cut: int | None = None
    origin: float | None = 0.0
    reverse: bool = False


@dataclass(frozen=True)
class Section:
    """Blocks under a title, which an HTML page shows when the reader asks for them."""

    title: str
    blocks: "Sequence[Block]"


Block: TypeAlias = Heading | Paragraph | Bullets | Table | Figure | Chart | Section
