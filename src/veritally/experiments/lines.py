"""Lines that are named at their right ends, on a page or in one column of a paper; for matplotlib."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError
from veritally.plots import COLOURS, LINES, letters

_RANGE = 8.0  # by which numbers differ where a log axis makes sense
_STANDARD_ERRORS = 2
_MARGIN = 1.05  # of the vertical axis
_LETTER, _AXES = 0.6, 0.6  # widths of a letter, in its height, and of the axes, in that of the picture


@dataclass(frozen=True)
class Line:
    """Points with their standard errors, and what the line is called at its end."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float]
    colour: str
    style: str = "-"


def styled(number: int) -> tuple[str, str]:
    """Return the colour and the style of a line by its number."""
    return COLOURS[number % len(COLOURS)], LINES[number // len(COLOURS) % len(LINES)]


@contextmanager
def picture(width: float, rows: int, ratio: float = 0.69, **settings: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure so many inches wide, and its axes, with room for so many names below each other."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'veritally[plot]'") from error
    size = letters(width)
    own: Any = {"font.size": size, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False}
    with matplotlib.rc_context(own | settings):
        height = max(ratio * width, (rows * _spacing(size) + 5 * size) / 72)
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def draw_lines(ax: Any, lines: Sequence[Line], marker: str = "o") -> None:
    """Draw lines with bands of two standard errors to each side, on log axes where the numbers span much.

    Where a line is one point, it has a bar instead.
    """
    width = letters(ax.figure.get_figwidth()) / 7.5
    for line in lines:
        ax.plot(line.x, line.y, line.style, color=line.colour, linewidth=width, marker=marker, markersize=2 * width)
    if spans_much([x for line in lines for x in line.x]):
        ax.set_xscale("log")
    y = np.array([line.y for line in lines])
    half = _STANDARD_ERRORS * np.array([line.error for line in lines])
    low, high = 0.0, _MARGIN * float(np.nanmax(y + half)) or 1.0
    if spans_much(y[~np.isnan(y)].tolist()):
        ax.set_yscale("log")
        low = max(float(np.nanmin(y - half)), float(np.nanmin(y)) / 2) / _MARGIN  # bands may go below 0
    for line, lower, upper in zip(lines, np.maximum(y - half, low), y + half, strict=True):
        if len(line.x) == 1:  # a band over one point could not be seen
            reach = [np.subtract(line.y, lower), np.subtract(upper, line.y)]
            ax.errorbar(line.x, line.y, yerr=reach, fmt="none", color=line.colour, capsize=2 * width, linewidth=width)
        else:
            ax.fill_between(line.x, lower, upper, color=line.colour, alpha=0.15, linewidth=0)
    ax.set_ylim(low, high)


def mark_levels(ax: Any, levels: Sequence[float], names: Sequence[str]) -> None:
    """Put a tick at each level, and numbers that are easy to read on a log axis of what was measured."""
    ax.minorticks_off()
    lengthy = sum(map(len, names)) * ax.xaxis.label.get_size() * _LETTER > ax.figure.get_figwidth() * 72 * _AXES
    ax.set_xticks(levels, names, **({"rotation": 30, "ha": "right"} if lengthy else {}))
    if ax.get_yscale() == "log":
        ax.set_yticks(ticks := _ticks(*ax.get_ylim()), [f"{tick:g}" for tick in ticks])


def _ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten between the ends."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if len(inside) <= 8 else [tick for tick in inside if math.log10(tick) % 1 < 1e-9]


def spans_much(numbers: Sequence[float]) -> bool:
    """Whether a log axis suits the numbers."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) >= _RANGE * min(numbers)


def name_ends(ax: Any, lines: Sequence[Line]) -> None:
    """Write the name of each line beside its right end; names that would overlap move apart."""
    named = [line for line in lines if not math.isnan(line.y[-1])]
    size, across = 0.9 * ax.xaxis.label.get_size(), ax.transAxes
    style: Any = {"fontsize": size, "va": "center", "transform": across}
    texts = [ax.text(1.05, 0.5, line.name, color=line.colour, **style) for line in named]
    ax.figure.draw_without_rendering()  # after which the height of the axes is known
    least = _spacing(size) * ax.figure.dpi / 72 / ax.get_window_extent().height
    points = ax.transData.transform([(line.x[-1], line.y[-1]) for line in named]) if named else np.zeros((0, 2))
    ends = across.inverted().transform(points)[:, 1]
    for line, text, end, height in zip(named, texts, ends, spread(ends, least), strict=True):
        text.set_y(height)
        ax.plot([1.01, 1.04], [end, height], color=line.colour, linewidth=0.5, clip_on=False, transform=across)


def spread(heights: Array, least: float) -> Array:
    """Move heights from 0 to 1 by as little as possible (in squares), so that they are at least so far apart.

    >>> spread(np.array([0.5, 0.9, 0.5]), 0.25)
    array([0.375, 0.9  , 0.625])
    """
    from scipy.optimize import isotonic_regression

    if not len(heights):
        return heights
    order = np.argsort(heights, kind="stable")
    steps = least * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = np.clip(isotonic_regression(heights[order] - steps).x, 0, max(0.0, 1 - steps[-1])) + steps
    return moved


def _spacing(size: float) -> float:
    """Return how far apart lines of text have to be, in points."""
    return 1.2 * size
