"""Comparisons at several levels of one quantity, such as the number of voters or the noise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.document import Cell, Table, html_table, latex_table
from veritally.errors import InputError, quoted
from veritally.experiments.lines import Line, draw_lines, mark_levels, name_ends, picture, styled
from veritally.experiments.measures import MEASURES, with_error
from veritally.model.scenario import Scenario
from veritally.plots import PAGE, require_picture, write_picture
from veritally.records import framed

if TYPE_CHECKING:
    from veritally.experiments.compare import Comparison

QUANTITIES = ("voters", "alternatives", "sigma", "prior", "experience", "noise", "count_error")
"""What can be varied: the fields of a scenario but the kind of votes."""

_LINES = 6  # that a plot has, unless more rules were asked for by name
_SHOWN = (*MEASURES, "difference")
_EXAMPLE = 'vary={"voters": [3, 10, 30]}'


@dataclass(frozen=True)
class Sweep:
    """How well several rules choose at several levels of one quantity.

    Attributes
    ----------
    quantity
        What was varied, a field of the scenario.
    levels
        Its levels: numbers, or texts such as ``"uniform:1:9"``.
    comparisons
        The comparison at each level.
    named
        The rules, and the baseline, that were asked for by name: a plot shows all of these.
    """

    quantity: str
    levels: tuple[float | str, ...]
    comparisons: "tuple[Comparison, ...]"
    named: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What was compared on, in a line."""
        instances, many = self.comparisons[0].instances, len(self.levels)
        decisions = "1 decision" if instances == 1 else f"{instances:,} decisions"
        return f"{decisions} at {'1 level' if many == 1 else f'each of {many} levels'} of {self.quantity}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, the lowest mean regret over all levels first."""
        labels = self.comparisons[0].rule_set.labels
        regrets = np.mean([comparison.summary.means[0] for comparison in self.comparisons], axis=0)
        return tuple(labels[r] for r in np.argsort(regrets, kind="stable"))

    @property
    def drawn(self) -> tuple[str, ...]:
        """The rules that a plot shows: those that were named, and the best of the others up to six in all."""
        named = [rule for rule in self.rules if rule in self.named]
        best = [rule for rule in self.rules if rule not in named][: max(0, _LINES - len(named))]
        return tuple(rule for rule in self.rules if rule in named or rule in best)

    def at(self, level: float | str) -> "Comparison":
        """Return the comparison at a level."""
        if level not in self.levels:
            raise InputError(f"{self.quantity} has no level {quoted(level)}; there are {_listed(self.levels)}")
        return self.comparisons[self.levels.index(level)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each level and rule: the level, and what :meth:`Comparison.rows` has."""
        pairs = zip(self.levels, self.comparisons, strict=True)
        return [{self.quantity: level, **row} for level, comparison in pairs for row in comparison.rows()]

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a tidy frame with a row for each level and rule, lowest regret first within a level.

        The first column is the quantity, the others are those of :meth:`Comparison.to_frame`. ``difference`` is paired
        and to the baseline at the same level.
        """
        rows = self.rows()
        return framed({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def table(self, measure: str = "regret") -> Table:
        """Return a table of texts, a row for each rule and a column for each level.

        ``measure`` is ``"regret"``, ``"accuracy"``, ``"correlation"`` or ``"difference"`` (in regret, from the
        baseline). Rules that may have the lowest regret at a level are in bold, with an asterisk.
        """
        if measure not in _SHOWN:
            raise InputError(f"a sweep shows {', '.join(_SHOWN)}, not {quoted(measure)}")
        columns = [{row["rule"]: row for row in comparison.rows()} for comparison in self.comparisons]
        error = "se" if measure == "regret" else f"{measure}_se"
        sizes = [max(row["regret"] for row in column.values()) for column in columns]

        def cell(rule: str, column: dict[str, dict[str, Any]], size: float) -> Cell:
            row = column[rule]
            if measure == "difference" and rule == row["baseline"]:
                return Cell(("",))
            return Cell((with_error(row[measure], row[error], size) + ("*" if row["best"] else " "),), row["best"])

        rows = [
            [Cell((rule,)), *(cell(rule, column, size) for column, size in zip(columns, sizes, strict=True))]
            for rule in self.rules
        ]
        return Table([self.quantity, *map(_text, self.levels)], rows)

    def to_latex(self, measure: str = "regret") -> str:
        """Return a LaTeX table, as :meth:`table` has it; it needs the package booktabs."""
        return latex_table(self.table(measure))

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        return html_table(
            self.table(), f"regret ± standard error; {self.about}; * may be the lowest at its level (95%)"
        )

    def plot(self, path: str | PathLike[str], *, width: float = PAGE) -> None:
        """Save a plot of the regrets with bands of two standard errors; needs the extra ``plot``.

        It shows the rules that were named in ``rules`` or as ``baseline``, or else the best six by mean regret: more
        could not be told apart. ``width`` is in inches: with 3.3, it fits into one of two columns of a paper.
        """
        require_picture(path)
        every, drawn = len(self.rules), len(self.drawn)
        with picture(width, drawn) as (figure, ax):
            title = self.about if drawn == every else f"{self.about}\n{drawn} of {every} rules"
            figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
            _draw(self, ax)
            write_picture(figure, path)

    def __repr__(self) -> str:
        return f"Sweep({len(self.rules)} rules, {self.quantity}: {_listed(self.levels)})"


def _draw(sweep: Sweep, ax: Any) -> None:
    """Draw the regret of each rule against the levels: numbers by their size, texts side by side in their order."""
    numbers = [level for level in sweep.levels if not isinstance(level, str)]
    order = np.argsort(numbers, kind="stable").tolist() if numbers else list(range(len(sweep.levels)))
    x = [float(numbers[place]) if numbers else float(place) for place in order]
    cells = {(row[sweep.quantity], row["rule"]): row for row in sweep.rows()}
    lines = []
    for number, rule in enumerate(sweep.drawn):
        own = [cells[sweep.levels[place], rule] for place in order]
        regret, error = [row["regret"] for row in own], [row["se"] or 0.0 for row in own]
        lines.append(Line(rule, x, regret, error, *styled(number)))
    draw_lines(ax, lines)
    mark_levels(ax, x, [_text(sweep.levels[place]) for place in order])
    ax.set_xlabel(sweep.quantity.replace("_", " "))
    ax.set_ylabel("regret ± 2 standard errors")
    name_ends(ax, lines)


def varied(
    given: Scenario, vary: Any, changes: Mapping[str, Any]
) -> tuple[str, tuple[float | str, ...], list[Scenario]]:
    """Return the quantity to vary, its levels, and the scenario of each."""
    if not isinstance(vary, Mapping):
        raise InputError(f"vary takes a quantity and its levels, as in {_EXAMPLE}, not {quoted(vary)}")
    if len(vary) != 1:
        raise InputError(f"vary takes one quantity at a time, as in {_EXAMPLE}, not {len(vary)}")
    ((quantity, levels),) = vary.items()
    if quantity not in QUANTITIES:
        raise InputError(f"vary can be of {', '.join(QUANTITIES)}, not {quoted(quantity)}")
    if quantity in changes:
        raise InputError(
            f"{quantity} is varied, so it cannot also be {quoted(changes[quantity])}; give it only in vary"
        )
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise InputError(f"give the levels of {quantity} as a list, as in {_EXAMPLE}, not {quoted(levels)}")
    chosen = [level.item() if isinstance(level, np.generic) else level for level in levels]
    if not chosen:
        raise InputError(f"there is no level of {quantity}; give some, as in {_EXAMPLE}")
    for level in chosen:
        if not isinstance(level, int | float | str):
            raise InputError(f"the levels of {quantity} must be numbers or texts, not {quoted(level)}")
    scenarios = [given.replace(**{quantity: level}) for level in chosen]
    for number, one in enumerate(scenarios):
        if one in scenarios[:number]:
            raise InputError(f"{quantity} has the level {quoted(chosen[number])} twice; give each once")
    plain = all(isinstance(level, int | float) for level in chosen)
    return quantity, tuple(chosen if plain else map(_text, chosen)), scenarios


def _text(level: Any) -> str:
    return level if isinstance(level, str) else f"{level:g}"


def _listed(levels: Iterable[Any]) -> str:
    return ", ".join(map(_text, levels))
