"""A report as a list of blocks, and the same report as Markdown, HTML and LaTeX.

Text is plain, but for names of rules and the like between backticks.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Heading:
    """A title; the first block of a document is its own."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


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
    """A table whose first column is text and whose others are numbers; a row of None is a rule between groups."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell] | None]


@dataclass(frozen=True)
class Figure:
    """A picture, by the name of its files without suffix."""

    name: str
    caption: str


Block: TypeAlias = Heading | Paragraph | Bullets | Table | Figure


def to_markdown(blocks: Sequence[Block]) -> str:
    """Write GitHub-flavoured Markdown; figures are SVG files beside it."""
    parts = []
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"{'#' * level} {text}")
            case Paragraph(text):
                parts.append(text)
            case Bullets(items):
                parts.append("\n".join(f"- {item}" for item in items))
            case Figure(name, caption):
                parts.append(f"![{caption}]({name}.svg)")
            case Table(header, rows):
                lines = [_row(header), _row(["---", *["---:"] * (len(header) - 1)])]
                lines += [_row([_joined(cell, "**{}**".format, "<br>") for cell in row]) for row in rows if row]
                parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _joined(cell: Cell, bold: Callable[[str], str], newline: str) -> str:
    first, *others = cell.lines
    return newline.join([bold(first) if cell.bold else first, *others])


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.85rem; margin: 1rem 0 }
td, th { padding: 0.2rem 0.6rem; text-align: right; vertical-align: top }
td:first-child, th:first-child { text-align: left }
thead th { border-bottom: 1px solid #888 } tr.group td { border-top: 1px solid #ccc } small { color: #666 }
figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto }
.wide { overflow-x: auto } code { font-size: 0.95em; overflow-wrap: anywhere }
"""


def to_html(blocks: Sequence[Block], pictures: Mapping[str, str]) -> str:
    """Write one HTML page that needs no other file; ``pictures`` are the SVG texts of the figures by name."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    parts = []
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"<h{level}>{_html(text)}</h{level}>")
            case Paragraph(text):
                parts.append(f"<p>{_html(text)}</p>")
            case Bullets(items):
                parts.append("<ul>" + "".join(f"<li>{_html(item)}</li>" for item in items) + "</ul>")
            case Figure(name, caption) if name in pictures:
                svg = pictures[name][pictures[name].index("<svg") :]
                parts.append(f"<figure>{svg}<figcaption>{_html(caption)}</figcaption></figure>")
            case Table(header, rows):
                head = "".join(f"<th>{_html(name)}</th>" for name in header)
                table = f"<table><thead><tr>{head}</tr></thead><tbody>{_html_rows(rows)}</tbody></table>"
                # On a narrow screen it scrolls by itself, by keyboard too.
                parts.append(f'<div class="wide" tabindex="0">{table}</div>')
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_html(title)}</title><style>{_STYLE}</style></head><body><main>\n{body}\n</main></body></html>\n"
    )


def _html(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def _html_rows(rows: Sequence[Sequence[Cell] | None]) -> str:
    lines, group = [], ""
    for row in rows:
        if row is None:
            group = ' class="group"'
            continue
        cells = []
        for cell in row:
            first, *others = map(_html, cell.lines)
            first = f"<b>{first}</b>" if cell.bold else first
            cells.append(f"<td>{'<br>'.join([first, *(f'<small>{line}</small>' for line in others)])}</td>")
        lines.append(f"<tr{group}>{''.join(cells)}</tr>")
        group = ""
    return "\n".join(lines)


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "±": r"$\pm$",
    "−": r"$-$",
    "√": r"$\surd$",
    "σ": r"$\sigma$",
    "×": r"$\times$",
    "≤": r"$\le$",
    "²": r"$^2$",
    "–": "--",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
}


def to_latex(blocks: Sequence[Block]) -> str:
    """Write a LaTeX article; figures are PDF files beside it."""
    parts = []
    for block in blocks:
        match block:
            case Heading(text, 1):
                parts.append(rf"\title{{{_latex(text)}}}" + "\n" + r"\date{}" + "\n" + r"\maketitle")
            case Heading(text, level):
                parts.append(rf"\{'sub' * (level - 2)}section*{{{_latex(text)}}}")
            case Paragraph(text):
                parts.append(_latex(text))
            case Bullets(items):
                listed = "\n".join(rf"\item {_latex(item)}" for item in items)
                parts.append("\\begin{itemize}\n" + listed + "\n\\end{itemize}")
            case Figure(name, caption):
                picture = rf"\includegraphics[width=\textwidth]{{{name}.pdf}}"
                parts.append(f"\\begin{{figure}}[h]\n{picture}\n\\caption{{{_latex(caption)}}}\n\\end{{figure}}")
            case Table(header, rows):
                lines = [" & ".join(map(_latex, header)) + r" \\ \midrule"]
                lines += [r"\midrule" if row is None else " & ".join(map(_latex_cell, row)) + r" \\" for row in rows]
                columns = "l" + "r" * (len(header) - 1)
                body = "\n".join([r"\toprule", *lines, r"\bottomrule"])
                parts.append(f"{{\\small\\noindent\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}}}")
    body = "\n\n".join(parts)
    return (
        "\\documentclass[a4paper]{article}\n\\usepackage[margin=2cm]{geometry}\n\\usepackage{booktabs,graphicx}\n"
        f"\\begin{{document}}\n\n{body}\n\n\\end{{document}}\n"
    )


def _latex(text: str) -> str:
    escaped = "".join(_LATEX.get(letter, letter) for letter in text)
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)


def _latex_cell(cell: Cell) -> str:
    first, *others = map(_latex, cell.lines)
    first = rf"\textbf{{{first}}}" if cell.bold else first
    return rf"\shortstack[r]{{{first}\\ {' '.join(others)}}}" if others else first
