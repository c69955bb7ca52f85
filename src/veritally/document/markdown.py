"""Markdown, as code hosts show it."""

import re
from collections.abc import Callable, Sequence

from veritally.document.blocks import Block, Bullets, Cell, Figure, Heading, Paragraph, Section, Table

_MARKUP = re.compile(r"`[^`]*`|[\\`*\[\]<>|~]|(?<!\w)_|_(?!\w)")


def to_markdown(blocks: Sequence[Block]) -> str:
    """Write GitHub-flavoured Markdown; figures are SVG files beside it."""
    return "\n\n".join(_parts(blocks)) + "\n"


def _plain(text: str) -> str:
    r"""Escape what Markdown would take for markup, except between backticks.

    >>> print(_plain("a|b *c* <d> [e](f) `g_h`"))
    a\|b \*c\* \<d\> \[e\](f) `g_h`
    """
    return _MARKUP.sub(lambda found: found[0] if found[0][1:].endswith("`") else f"\\{found[0]}", text)


def _parts(blocks: Sequence[Block]) -> list[str]:
    parts = []
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"{'#' * level} {_plain(text)}")
            case Paragraph(text, large):
                parts.append(f"**{_plain(text)}**" if large else _plain(text))
            case Bullets(items):
                parts.append("\n".join(f"- {_plain(item)}" for item in items))
            case Figure(name, caption):
                parts.append(f"![{_plain(caption)}]({name}.svg)")
            case Section(title, inner):
                parts += [f"## {_plain(title)}", *_parts(inner)]
            case Table(header, rows, texts):
                marks = ["---"] * texts + ["---:"] * (len(header) - texts)
                lines = [_row(list(map(_plain, header))), _row(marks)]
                lines += [_row([_joined(cell, "**{}**".format, "<br>") for cell in row]) for row in rows if row]
                parts.append("\n".join(lines))
    return parts


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _joined(cell: Cell, bold: Callable[[str], str], newline: str) -> str:
    first, *others = map(_plain, cell.lines)
    return newline.join([bold(first) if cell.bold else first, *others])
