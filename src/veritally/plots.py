"""Pictures of outcomes and comparisons; needs the extra ``plot``."""

import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.checks import real, usable_path
from veritally.errors import InputError
from veritally.files import refuse_to_replace, write_whole
from veritally.outcome import Outcome
from veritally.records import place_chance
from veritally.votes.labels import visible

if TYPE_CHECKING:
    from veritally.experiments.compare import Comparison
    from veritally.panel.learned import LearnedPanel
    from veritally.planning.group_comparison import GroupComparison
    from veritally.planning.plan import Plan

PAGE, COLUMN = 8.0, 3.3
"""Widths of pictures in inches: of a page, and of one of two columns of a paper."""

# Okabe & Ito's colours, told apart by colour-blind readers too; black and yellow left out.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933", "#882255")
_OTHERS = "#BBBBBB"
LINES = ("-", "--", ":")
_MOST_PANELS = 24
_MOST_ROWS, _FEWER_ROWS = 60, 40  # alternatives that are shown unasked, and how many of more than that
_HIGHEST = 8.0  # inches of a picture of rows
_NARROW = 5.0  # inches below which letters are small, and dots close, as for print
_MARK = "Made by veritally"
# Where a format says what made a picture.
_MAKER = {"png": "Software", "svg": "Creator", "pdf": "Creator", "ps": "Creator", "eps": "Creator"}


def save(outcome: Outcome, path: str | PathLike[str], *, title: str | None = None, top: int | None = None) -> None:
    """Save a picture of an outcome, a panel for each decision.

    Intervals and P(best), or P(among the best k) where k are chosen, if the rule knows them; else scores with each
    voter's contribution stacked.

    Parameters
    ----------
    outcome
        What to draw.
    path
        Where to; the suffix says the format, such as ``.png`` or ``.svg``.
    title
        What to write above.
    top
        How many alternatives to show, the best first; None for all, but of more than 60 only the best 40.
    """
    panels = outcome.singles()
    if len(panels) > _MOST_PANELS:
        raise InputError(f"{len(panels)} decisions are too many for one picture; plot at most {_MOST_PANELS} at a time")
    tops = [_shown(len(one.ordered), top) for _, one in panels]
    with _picture(path, [1.3 + number * _row_height(number) for number in tops], title) as axes:
        for (name, one), ax, number in zip(panels, axes, tops, strict=True):
            (draw if one.belief is None else draw_belief)(one, ax, number)
            ax.tick_params(axis="y", labelsize=min(10.0, 42 * _row_height(number)))
            if name is not None:
                ax.set_title(_short(name, 60), loc="left")


def _shown(number: int, top: int | None) -> int:
    """Return how many alternatives a picture shows."""
    if top is None:
        return number if number <= _MOST_ROWS else _FEWER_ROWS
    return min(number, top)


def _row_height(rows: int) -> float:
    """Return the height of a row in inches: many share the height of a page."""
    return max(0.16, min(0.38, _HIGHEST / rows))


def save_comparison(comparison: "Comparison", path: str | PathLike[str], width: float = PAGE) -> None:
    """Save a picture of a comparison: the regret of each rule, with two standard errors to each side."""
    rows = comparison.rows()
    scale = letters(width) / letters(PAGE)
    with _picture(path, [scale * (1.2 + 0.26 * len(rows))], width=width) as (ax,):
        for y, row in enumerate(rows):
            colour = COLOURS[0] if row["best"] else "black"
            ax.errorbar(row["regret"], y, xerr=2 * (row["se"] or 0), fmt="o", color=colour, markersize=4, linewidth=1)
        ax.set_yticks(range(len(rows)), [row["rule"] for row in rows])
        for label, row in zip(ax.get_yticklabels(), rows, strict=True):
            label.set_color(COLOURS[0] if row["best"] else "black")
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.set_xlim(left=0)
        ax.set_title(comparison.about, loc="left", fontsize="medium")
        ax.set_xlabel(f"regret ± 2 standard errors{'; ' if width >= _NARROW else chr(10)}blue: may be the lowest")


def save_panel(panel: "LearnedPanel", path: str | PathLike[str]) -> None:
    """Save a picture of a learned panel: skill against leaning, and a map of who errs with whom."""
    from veritally.panel.verdicts import leaning_of

    names = [_short(name, 24) for name in panel.voters]
    order = np.argsort(-panel.slope, kind="stable")
    many = len(names)
    leaning = leaning_of(panel)
    map_height = max(3.5, min(9.0, 1.2 + 0.22 * many))
    with _picture(path, [4.5 if leaning is not None else 1.2 + many * _row_height(many), map_height]) as (
        skill,
        errors,
    ):
        spread = 1.96 * panel.slope_error
        if leaning is not None:
            skill.errorbar(
                leaning[1],
                panel.slope,
                yerr=spread,
                xerr=1.96 * leaning[2],
                fmt="o",
                color=COLOURS[0],
                ecolor=_OTHERS,
                markersize=4,
                linewidth=1,
            )
            for i in order if many <= _MOST_ROWS else order[:0]:
                skill.annotate(
                    names[i], (leaning[1][i], panel.slope[i]), (4, 3), textcoords="offset points", fontsize=7
                )
            skill.set_xlabel(f"leaning ({leaning[0]}), with 95% intervals")
            skill.set_ylabel("skill: 0 is chance")
            skill.axhline(0, color=_OTHERS, linewidth=0.8)
            skill.axvline(0, color=_OTHERS, linewidth=0.8)
        else:
            rows = range(many)
            skill.errorbar(panel.slope[order], rows, xerr=spread[order], fmt="o", color=COLOURS[0], markersize=4)
            skill.set_yticks(rows, [names[i] for i in order])
            skill.invert_yaxis()
            skill.set_xlabel("skill with 95% intervals: 0 is chance")
        shown = np.where(np.eye(many) > 0, 0, panel.correlation)[np.ix_(order, order)]
        picture = errors.imshow(shown, cmap="PuOr", vmin=-1, vmax=1)
        ticks = range(many) if many <= _MOST_ROWS else []
        errors.set_xticks(ticks, [names[i] for i in order] if len(ticks) else [], rotation=90, fontsize=7)
        errors.set_yticks(ticks, [names[i] for i in order] if len(ticks) else [], fontsize=7)
        errors.set_title("correlation of errors, the most skilled voters first", loc="left", fontsize="medium")
        errors.figure.colorbar(picture, ax=errors, shrink=0.8)


def save_curve(curve: Sequence[tuple[int, float, float]], path: str | PathLike[str]) -> None:
    """Save a picture of a training curve: loss and accuracy against mini-batches."""
    steps, losses, accuracies = zip(*curve, strict=True)
    with _picture(path, [2.2, 2.2]) as axes:
        for ax, values, what in zip(axes, (losses, accuracies), ("running loss", "running accuracy"), strict=True):
            ax.plot(steps, values, color=COLOURS[0], linewidth=1.5)
            ax.set_ylabel(what)
            ax.grid(axis="y", linewidth=0.3)
        axes[-1].set_xlabel("mini-batches")


def save_groups(comparison: "GroupComparison", path: str | PathLike[str]) -> None:
    """Save a picture of groups: regret against the number of voters, a panel for each kind of votes."""
    panels: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for row in sorted(comparison.rows, key=lambda row: row.composition.voters):
        own = row.composition
        families = "" if own.families is None else f", {own.families} families"
        curve = panels.setdefault(own.votes, {}).setdefault(own.experience + families, [])
        curve.append((own.voters, row.regret, row.se))
    save_curves(panels, path, "voters", "regret")


def save_curves(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float, float]]]],
    path: str | PathLike[str],
    across: str,
    upwards: str,
) -> None:
    """Save a picture of curves, given as points (x, y, standard error) by panel and name, x by its logarithm."""
    with _picture(path, [3.0] * len(panels)) as axes:
        for ax, (title, curves) in zip(axes, panels.items(), strict=True):
            for number, (name, points) in enumerate(curves.items()):
                x, y, error = (np.array(each, dtype=float) for each in zip(*points, strict=True))
                style = {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number // len(COLOURS) % 3]}
                ax.errorbar(x, y, yerr=2 * error, marker="o", markersize=3, linewidth=1.2, label=name, **style)
            ax.set_xscale("log")
            ticks = sorted({x for points in curves.values() for x, _, _ in points})
            ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
            ax.minorticks_off()
            ax.set_ylim(bottom=0)
            ax.set_title(_plain(title), loc="left", fontsize="medium")
            ax.set_xlabel(across)
            ax.set_ylabel(f"{upwards} ± 2 s.e.")
            ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")


def save_plan(plan: "Plan", path: str | PathLike[str]) -> None:
    """Save a picture of a plan: expected regret against what is spent, and where it ends."""
    spent, regret = zip(*plan.curve, strict=True)
    with _picture(path, [3.2]) as (ax,):
        ax.plot(spent, regret, color=COLOURS[0], linewidth=1.8, marker="o", markersize=3)
        ax.plot(spent[-1:], regret[-1:], color=COLOURS[5], marker="s", markersize=8)
        ax.annotate(plan.reason, (spent[-1], regret[-1]), (-6, 12), textcoords="offset points", ha="right")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("spent")
        ax.set_ylabel(f"expected regret ({plan.unit})")
        ax.grid(axis="y", linewidth=0.3)


def require_picture(path: str | PathLike[str], force: bool = True) -> None:
    """Refuse a picture that cannot be saved, before there is any work to lose.

    Without ``force`` also one that would replace a file which is no picture of ours.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'veritally[plot]'") from error
    formats = set(Figure().canvas.get_supported_filetypes()) - {"pgf"}  # which needs a TeX installation
    if usable_path(path).suffix.lower().lstrip(".") not in formats:
        raise InputError(f"{path}: cannot draw this kind of file; use one of {', '.join(sorted(formats))}")
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: cannot be written (there is no folder {Path(path).parent})")
    if not force:
        refuse_to_replace(Path(path), lambda found: _MARK.encode() in found.read_bytes())


def letters(width: Any) -> float:
    """Return the size of letters, in points, that suits a picture so many inches wide."""
    return 7.5 if real(width, "the width of a picture in inches", least=2, most=40) < _NARROW else 10.0


@contextmanager
def _picture(
    path: str | PathLike[str], heights: list[float], title: str | None = None, width: float = PAGE
) -> Iterator[Any]:
    """Yield axes, one below the other, and save them once they are drawn on."""
    require_picture(path)
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = {f"axes.spines.{side}": False for side in ("top", "right", "left")}
    with matplotlib.rc_context(settings | {"font.size": letters(width)}):
        figure = Figure(figsize=(width, sum(heights) + (0.4 if title else 0)), layout="constrained")
        if title:
            figure.suptitle(_plain(title), x=0.01, ha="left", fontsize="large", wrap=True)
        yield figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        write_picture(figure, path)


def write_picture(figure: Any, path: str | PathLike[str]) -> None:
    """Save a figure; a narrow one has more dots an inch, since it is for print."""
    buffer = io.BytesIO()
    suffix = Path(path).suffix.lower().lstrip(".")
    maker = {_MAKER[suffix]: _MARK} if suffix in _MAKER else None
    figure.savefig(buffer, format=suffix, dpi=300 if figure.get_figwidth() < _NARROW else 150, metadata=maker)
    write_whole(path, buffer.getvalue())


def draw_belief(outcome: Outcome, ax: Any, top: int | None = None) -> None:
    """Draw a single decision on matplotlib axes: distances from the winner with 95% intervals, and bars of P(best).

    What is worse lies to the left. Where several are chosen, the bars are of P(among the best k).
    """
    belief, k = outcome.belief, outcome.choose
    assert belief is not None
    order = outcome.ordered_positions()[:top]
    rows = np.arange(len(order))
    distances = (belief.distance, belief.distance_low, belief.distance_high)
    distance, low, high, best = (np.asarray(x)[order] for x in (*distances, belief.p_among(k)))
    colours = [COLOURS[2] if rank < k else COLOURS[0] for rank in range(len(order))]
    ax.axvline(0, color="black", linewidth=0.8)
    ax.hlines(rows, -high, -low, color=colours, linewidth=2.5)
    ax.scatter(-distance, rows, color=colours, s=36, zorder=3)
    ax.set_yticks(rows, [_short(outcome.alternatives[j], 32) for j in order])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.4, -0.6)
    shown = f", the best {len(order)} of {len(outcome.alternatives)}" if len(order) < len(outcome.alternatives) else ""
    unit = "in σ, the noise of one observation" if belief.in_sigma else "in the unit of the votes"
    ax.set_xlabel(f"← worse than the winner, better →\n{unit}, with 95% interval{shown}")
    side = ax.inset_axes((1.04, 0, 0.3, 1), sharey=ax)
    side.barh(rows, best, height=0.6, color=colours)
    for row, share in zip(rows, best, strict=True):
        side.text(
            share + 0.03, row, place_chance(share, k), va="center", fontsize=min(8.5, 38 * _row_height(len(rows)))
        )
    side.set_xlim(0, 1.35)
    side.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    side.tick_params(axis="y", left=False, labelleft=False)
    side.set_xlabel("P(best)" if k == 1 else f"P(among the best {k})")
    if 1 < k < len(order):
        for panel in (ax, side):
            panel.axhline(k - 0.5, color="black", linewidth=0.8, linestyle="--")


def draw(outcome: Outcome, ax: Any, top: int | None = None) -> None:
    """Draw a single decision on matplotlib axes: bars of stacked contributions, a mark at each score."""
    order = outcome.ordered[:top]
    columns = [outcome.profile.alternatives.index(name) for name in order]
    scores = np.asarray(outcome.fit.scores, dtype=float)[columns]
    # Means are measured from their middle, so that bars tell who pulls up and who pulls down.
    origin = float(scores.mean()) if outcome.method.normalized else 0.0
    raw = np.asarray(outcome.contributions(origin), dtype=float)
    weights = raw[:, columns]
    voters = outcome.profile.voters
    influence = np.argsort(-np.abs(weights).sum(axis=1), kind="stable")
    named, others = influence[: len(COLOURS)], influence[len(COLOURS) :]
    bands = [(_short(voters[i], 24), weights[i], colour) for i, colour in zip(named, COLOURS, strict=False)]
    if len(others):
        rest = weights[others]
        bands.append((f"{len(others)} others", np.where(rest > 0, rest, 0).sum(axis=0), _OTHERS))
        bands.append(("", np.where(rest < 0, rest, 0).sum(axis=0), _OTHERS))
    rows = np.arange(len(order))
    ends = {1: np.full(len(order), origin), -1: np.full(len(order), origin)}
    for label, part, colour in bands:
        start = np.where(part >= 0, ends[1], ends[-1])
        ax.barh(rows, part, left=start, height=0.7, color=colour, label=label or "_", edgecolor="white", linewidth=0.5)
        ends[1] = ends[1] + np.where(part >= 0, part, 0)
        ends[-1] = ends[-1] + np.where(part < 0, part, 0)
    ax.plot(scores, rows, "D", color="black", markersize=5, label="score", clip_on=False)
    ax.axvline(origin, color="black", linewidth=0.8)
    ax.set_yticks(rows, [_short(name, 32) for name in order])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlabel(f"score by {outcome.rule}, and each voter's part in it")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")


def _short(name: Any, width: int) -> str:
    """Shorten a name to fit."""
    return _plain(visible(textwrap.shorten(str(name), width, placeholder="…")))


def _plain(text: str) -> str:
    """Keep dollar signs from being read as mathematics."""
    return text.replace("$", r"\$")
