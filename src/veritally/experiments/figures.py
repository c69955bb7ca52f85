"""Pictures of the tables: regret against the number of voters; needs the extra ``plot``."""

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from veritally.experiments.lines import Line, draw_lines, mark_levels, name_ends, picture
from veritally.experiments.tables import Result
from veritally.plots import PAGE

# Okabe & Ito's colours, told apart by colour-blind readers too; a kind of votes has one family of them.
STYLES: Mapping[str, tuple[str, str]] = {
    "mean": ("#000000", "-"),
    "borda": ("#56B4E9", "--"),
    "borda+": ("#56B4E9", "-"),
    "pairwise": ("#0072B2", "-"),
    "pairwise-normalized": ("#009E73", "-"),
    "learned": ("#999933", "-"),
    "learned-noisy": ("#999933", "--"),
    "learned-universal": ("#332288", "-"),
    "plurality": ("#E69F00", "--"),
    "plurality+": ("#E69F00", "-"),
    "top-lower-bound": ("#CC79A7", "-"),
    "top-zero": ("#D55E00", "-"),
    "top-monte-carlo": ("#882255", ":"),
}
_RING: Mapping[str, Any] = {"marker": "o", "markersize": 4.5, "markerfacecolor": "none", "markeredgewidth": 0.8}


def draw(results: Iterable[Result], table: str, width: float = PAGE) -> dict[str, bytes]:
    """Draw the regrets of a table, rings for the published ones, so many inches wide; return SVG and PDF.

    With several numbers of voters, a line for each rule; with one, a row for each, the lowest regret first.
    """
    rules: dict[str, list[Result]] = {}
    for one in sorted(results, key=lambda one: one.voters):
        if one.table == table and one.rule in STYLES:
            rules.setdefault(one.rule, []).append(one)
    several = any(len(cells) > 1 for cells in rules.values())
    settings: Any = {"svg.hashsalt": table, "svg.fonttype": "none"}
    with picture(width, len(rules), **settings) as (figure, ax):
        (_draw_lines if several else _draw_rows)(ax, rules)
        pictures = {}
        for suffix, metadata in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata)
            pictures[suffix] = buffer.getvalue()
    return pictures


def _draw_lines(ax: Any, rules: Mapping[str, Sequence[Result]]) -> None:
    """Draw regret against the number of voters."""
    lines = []
    for rule in (rule for rule in STYLES if rule in rules):
        cells = rules[rule]
        regret = [one.regret or math.nan for one in cells]  # 0 has no place on a log axis
        lines.append(Line(rule, [one.voters for one in cells], regret, [one.se for one in cells], *STYLES[rule]))
        printed = [(one.voters, one.published) for one in cells if one.published is not None]
        if printed:
            ax.plot(*zip(*printed, strict=True), linestyle="", color=STYLES[rule][0], **_RING)
    draw_lines(ax, lines, marker="")  # where rings are
    voters = sorted({one.voters for cells in rules.values() for one in cells})
    mark_levels(ax, voters, list(map(str, voters)))
    ax.set_xlabel("voters")
    ax.set_ylabel("regret")
    name_ends(ax, lines)


def _draw_rows(ax: Any, rules: Mapping[str, Sequence[Result]]) -> None:
    """Draw a row for each rule, with two standard errors to each side."""
    cells = sorted((one for (one,) in rules.values()), key=lambda one: one.regret)
    for row, one in enumerate(cells):
        colour = STYLES[one.rule][0]
        ax.errorbar(one.regret, row, xerr=2 * one.se, fmt="o", color=colour, markersize=3, linewidth=1.2)
        if one.published is not None:
            ax.plot(one.published, row, color=colour, **_RING)
    ax.set_yticks(range(len(cells)), [one.rule for one in cells])
    for label, one in zip(ax.get_yticklabels(), cells, strict=True):
        label.set_color(STYLES[one.rule][0])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.invert_yaxis()
    voters = ", ".join(sorted({str(one.voters) for one in cells}))
    ax.set_xlabel(f"regret of {voters} voters, ± 2 standard errors")
