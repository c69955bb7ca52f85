"""HTML: one page that needs no other file and no network."""

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

from veritally.document.blocks import Block, Bullets, Cell, Chart, Figure, Heading, Paragraph, Row, Section, Table

_NAMED = 40  # rows of a chart that have their names written
_SHORT = 10  # characters of names that fit beside a chart on a phone
MAKER = "veritally"


def to_html(blocks: Sequence[Block], pictures: Mapping[str, str] | None = None) -> str:
    """Write the page; ``pictures`` are the SVG texts of the figures by name."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    style, script = (files("veritally.document").joinpath(name).read_text("utf-8") for name in ("style.css", "page.js"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="{MAKER}">\n<title>{_text(title)}</title>\n'
        f"<style>\n{style}</style></head><body><main>\n{_body(blocks, pictures or {})}\n</main>\n"
        f"<script>\n{script}</script></body></html>\n"
    )


def to_fragment(blocks: Sequence[Block]) -> tuple[str, str]:
    """Write what stands in the middle of a page, without styles of its own, and the style sheet that it needs.

    For pages that a server sends with a rule against styles within tags.
    """
    places: dict[str, int] = {}

    def moved(found: re.Match[str]) -> str:
        return f' data-place="{places.setdefault(found[1], len(places))}"'

    body = re.sub(r' style="([^"]*)"', moved, _body(blocks, {}))  # names cannot hold one: their quotes are escaped
    return body, "\n".join(f'[data-place="{place}"] {{ {rule} }}' for rule, place in places.items())


def html_table(table: Table, caption: str = "") -> str:
    """Write a table by itself, as notebooks show it."""
    titles = []
    for column, name in enumerate(table.header):
        kind = ' class="text"' if column < table.texts else ""
        label = f'<button type="button">{_text(name)}</button>' if table.sortable and name else _text(name)
        titles.append(f'<th{kind} scope="col">{label}</th>' if name else f"<td{kind}></td>")
    head = f"<caption>{_text(caption)}</caption>" if caption else ""
    return f"<table>{head}<thead><tr>{''.join(titles)}</tr></thead><tbody>{_rows(table)}</tbody></table>"


def _body(blocks: Sequence[Block], pictures: Mapping[str, str]) -> str:
    parts = []
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"<h{level}>{_text(text)}</h{level}>")
            case Paragraph(text, large):
                kind = ' class="large"' if large else ""
                parts.append(f"<p{kind}>{_text(text)}</p>")
            case Bullets(items):
                parts.append("<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>")
            case Figure(name, caption) if name in pictures:
                svg = pictures[name][pictures[name].index("<svg") :]
                parts.append(f"<figure>{svg}<figcaption>{_text(caption)}</figcaption></figure>")
            case Table():
                label = html.escape("Table: " + ", ".join(filter(None, block.header)))
                box = f'<div class="scroll" role="group" aria-label="{label}" tabindex="0">'
                parts.append(f"{box}{html_table(block)}</div>")
            case Chart():
                parts.append(_chart(block))
            case Section(title, inner):
                parts.append(f"<details><summary>{_text(title)}</summary>\n{_body(inner, pictures)}</details>")
    return "\n".join(parts)


def _text(text: str) -> str:
    return re.sub(r"`([^`]*)`", _code, html.escape(text))


def _code(found: re.Match[str]) -> str:
    """Write code; the name of an option stays on one line."""
    return "<code>" + re.sub(r"(?<!\S)-[\w-]+", r'<span class="option">\g<0></span>', found[1]) + "</code>"


def _rows(table: Table) -> str:
    lines, group = [], ""
    for row in table.rows:
        if row is None:
            group = ' class="group"'
            continue
        cells = [_cell(cell, ' class="text"' if column < table.texts else "") for column, cell in enumerate(row)]
        lines.append(f"<tr{group}>{''.join(cells)}</tr>")
        group = ""
    return "\n".join(lines)


def _cell(cell: Cell, kind: str) -> str:
    first, *others = map(_text, cell.lines)
    first = f"<b>{first}</b>" if cell.bold else first
    return f"<td{kind}>{'<br>'.join([first, *(f'<small>{line}</small>' for line in others)])}</td>"


def _chart(chart: Chart) -> str:
    """Draw a chart of boxes: letters keep their size on a phone, and colours follow the reader's light or dark.

    Of many rows the first have names; the others are thin lines whose names appear under the pointer.
    """
    each = [end for row in chart.rows for end in (row.low, row.middle, row.high, chart.origin)]
    ends = [end for end in each if end is not None and math.isfinite(end)] or [0.0]
    width = max(ends) - min(ends) or 1.0

    def place(x: float) -> float:
        share = (min(max(x, min(ends)), max(ends)) - min(ends)) / width
        return 3 + 94 * (1 - share if chart.reverse else share)  # per cent, with some room at both ends

    lines, longest = [], max((len(row.name) for row in chart.rows[:_NAMED]), default=0)
    for number, row in enumerate(chart.rows):
        if number == chart.cut:
            lines.append('<div class="cut"></div>')
        lines.append(_row(row, place, chart.origin, thin=number >= _NAMED))
    marks = "".join(f'<i class="tick" style="left:{place(x):.2f}%">{x:g}</i>' for x in _ticks(min(ends), max(ends)))
    lines.append(f'<div class="row"><span class="name"></span><span class="track">{marks}</span></div>')
    described = html.escape(chart.described)
    note = f" · {_text(chart.note)}" if chart.note else ""
    thin = f" · thin lines: the other {len(chart.rows) - _NAMED}" if len(chart.rows) > _NAMED else ""
    head = f'<p class="axis">{_text(chart.scale)}{note}{thin}</p>\n'
    kind = "chart short" if longest <= _SHORT else "chart"
    start = f'<div class="{kind}" style="--names:{longest + 2}ch" role="img" aria-label="{described}">\n'
    return head + start + "\n".join(lines) + "\n</div>"


def _ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers from low to high.

    >>> _ticks(-2.7, 0.4)
    [-2.0, -1.0, 0.0]
    """
    rough = (high - low or 1.0) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [round(k * step, 12) + 0.0 for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _row(row: Row, place: Callable[[float], float], origin: float | None, thin: bool) -> str:
    kind = f"row{' strong' if row.strong else ''}{' thin' if thin else ''}"
    low, high = (origin or 0.0, row.middle) if row.low is None or row.high is None else (row.low, row.high)
    start, end = sorted((place(low), place(high)))
    drawn = [
        "" if origin is None else f'<i class="zero" style="left:{place(origin):.2f}%"></i>',
        f'<i class="span" style="left:{start:.2f}%;width:{end - start:.2f}%"></i>',
        f'<i class="dot" style="left:{place(row.middle):.2f}%"></i>',
    ]
    fill = "" if row.share is None else f'<i class="fill" style="width:{100 * row.share:.1f}%"></i>'
    name, note = ("", "") if thin else (_text(row.name), f'<span class="label">{_text(row.note)}</span>')
    title = html.escape(f"{row.name}: {row.note}" if row.note else row.name)
    return (
        f'<div class="{kind}" title="{title}"><span class="name">{name}</span>'
        f'<span class="track">{"".join(drawn)}</span><span class="share">{fill}{note}</span></div>'
    )
