"""Pictures of the tables: regret against the number of voters; needs the extra ``plot``."""

import io
import math
from collections.abc import Mapping
from typing import Any

from veritally.errors import InputError
from veritally.experiments.published import published
from veritally.experiments.tables import Reproduction

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


def draw(reproduction: Reproduction, table: str) -> dict[str, bytes]:
    """Draw regret against the number of voters on log axes, rings for the published figures; return SVG and PDF."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'veritally[plot]'") from error
    voters = reproduction.voters
    settings: Any = {"svg.hashsalt": table, "svg.fonttype": "none", "font.size": 10, "axes.linewidth": 0.6}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8, 5.5), layout="constrained")
        ax = figure.subplots()
        ends = _draw_lines(ax, reproduction, table)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(voters[0] * 0.92, voters[-1] * 1.04)
        _label(ax, ends)
        ax.set_xticks(voters, list(map(str, voters)))
        ax.minorticks_off()
        ax.set_yticks(ticks := _ticks(*ax.get_ylim()), [f"{tick:g}" for tick in ticks])
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel("voters")
        ax.set_ylabel("regret")
        pictures = {}
        for suffix, metadata in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata)
            pictures[suffix] = buffer.getvalue()
    return pictures


def _draw_lines(ax: Any, reproduction: Reproduction, table: str) -> dict[str, float]:
    """Draw a line for each rule, and rings for its published figures; return where each line ends on the right."""
    voters, paper = reproduction.voters, published()
    ends: dict[str, float] = {}
    for rule, (colour, line) in STYLES.items():
        if rule not in reproduction.names():
            continue
        positions = [reproduction.position(table, m, rule) for m in voters]
        cells = [reproduction.sums[table, m].means[0, r] for m, r in zip(voters, positions, strict=True)]
        regret = [float(cell) or math.nan for cell in cells]  # 0 has no place on a log axis
        ax.plot(voters, regret, line, color=colour, linewidth=1.3, marker="" if len(voters) > 1 else "_")
        printed = [(m, paper[table, m, rule]) for m in voters if (table, m, rule) in paper]
        if printed:
            ax.plot(*zip(*printed, strict=True), "o", mfc="none", mec=colour, mew=0.8, markersize=5)
        if not math.isnan(regret[-1]):
            ends[rule] = regret[-1]
    return ends


def _label(ax: Any, ends: dict[str, float]) -> None:
    """Name each line at its right end, names that would overlap moved apart."""
    low, high = map(math.log, ax.get_ylim())
    spacing = (high - low) * 0.042
    order = sorted(ends, key=lambda rule: ends[rule])
    heights: list[float] = []
    for rule in order:
        height = math.log(ends[rule])
        heights.append(max(height, heights[-1] + spacing) if heights else height)
    shift = max(0.0, heights[-1] - high) if heights else 0.0  # what went over the top goes down together
    beside = ax.get_yaxis_transform()  # x as a share of the width, y as it is
    for rule, height in zip(order, heights, strict=True):
        colour = STYLES[rule][0]
        y = math.exp(height - shift)
        ax.plot([1.01, 1.04], [ends[rule], y], color=colour, linewidth=0.5, clip_on=False, transform=beside)
        ax.text(1.045, y, rule, color=colour, va="center", fontsize=9, transform=beside)


def _ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten between the ends."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if len(inside) <= 8 else [tick for tick in inside if math.log10(tick) % 1 < 1e-9]
