"""LaTeX."""

import re
from collections.abc import Sequence

from veritally.document.blocks import Block, Bullets, Cell, Figure, Heading, Paragraph, Section, Table

_SPECIAL = {
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
    "τ": r"$\tau$",
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
    body = "\n\n".join(_parts(blocks))
    return (
        "\\documentclass[a4paper]{article}\n\\usepackage[margin=2cm]{geometry}\n\\usepackage{booktabs,graphicx}\n"
        f"\\begin{{document}}\n\n{body}\n\n\\end{{document}}\n"
    )


def latex_table(table: Table) -> str:
    """Write a table; it needs the package booktabs."""
    lines = [" & ".join(map(_latex, table.header)) + r" \\ \midrule"]
    lines += [r"\midrule" if row is None else " & ".join(map(_cell, row)) + r" \\" for row in table.rows]
    columns = "l" * table.texts + "r" * (len(table.header) - table.texts)
    body = "\n".join([r"\toprule", *lines, r"\bottomrule"])
    return f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}"


def _parts(blocks: Sequence[Block]) -> list[str]:
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
            case Section(title, inner):
                parts += [rf"\section*{{{_latex(title)}}}", *_parts(inner)]
            case Table():
                parts.append(f"{{\\small\\noindent{latex_table(block)}}}")
    return parts


def _latex(text: str) -> str:
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in text)
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)


def _cell(cell: Cell) -> str:
    first, *others = map(_latex, cell.lines)
    first = rf"\textbf{{{first}}}" if cell.bold else first
    return rf"\shortstack[r]{{{first}\\ {' '.join(others)}}}" if others else first
