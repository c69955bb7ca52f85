"""What was measured of panels, in Markdown."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rows import Row, read_rows

_ABOUT = """\
# What panels are worth, measured

How much do [panels](../panels.md) improve decisions, and how long do they take? `python benchmarks/panel.py` measures
it; the command for each section is at its end.

- *Loss* is the mean of −log P(best) of the truly best alternative, at most −log 0.001.
- *Said* is the mean P(best) of the winner; *right* is how often the winner is the best.
- ± are standard errors. Those of differences are paired, since all methods decide the same votes."""

_GROUPS = """\
## Groups

Rankings of 12 voters, counts 1 to 49. Voters of a group share an error of standard deviation ω for each alternative;
voters outside groups have such an error of their own.

The sampler is the one used in the tests, with 2,000 sweeps for each decision. It runs in three ways: with the groups
known, with a separate error for each voter, and without such errors. σ and ω are given, except in the last two rows of
each table.

`python benchmarks/panel.py groups`"""

_HALVES = """\
## Groups that do not exist

Rankings of 12 voters without shared errors. Random halves of the voters are declared as groups, and the strength of the
shared error is estimated.

`python benchmarks/panel.py halves`"""

_LENIENCY = """\
## Harsh reviewers

25 reviewers read 5 of 40 papers each, with σ = τ = 1. Each reviewer adds a constant to all scores; the columns are the
standard deviation of these constants. The table shows how many of the best 8 papers are among the 8 chosen. In brackets
is the difference from a mixed model that knows all variances.

`python benchmarks/panel.py leniency`"""

_MQM = """\
## Translators

Which translation system is best, by the translators of `mqm` who marked errors? Standard errors are by set, of which
there are few. The column *decisions apart* shows the same difference of regret with decisions taken as independent.

`python benchmarks/panel.py mqm`"""

_TIME = """\
## Time

CPU milliseconds of one core for a decision with P(best), in batches of 200 and alone. The voters are in two groups.
*Times* is the ratio to the same votes without groups. It can be below 1, since without groups P(best) may come from a
sampler. The last column is the ratio without P(best).

`python benchmarks/panel.py time`"""


def report(folder: Path) -> str:
    """Return all that was measured."""
    rows = {path.stem: read_rows(path) for path in folder.glob("*.json")}
    parts = [_ABOUT]
    for name, about, table in (
        ("groups", _GROUPS, _groups),
        ("halves", _HALVES, _groups),
        ("leniency", _LENIENCY, _leniency),
        ("mqm", _MQM, _mqm),
        ("time", _TIME, _time),
    ):
        if rows.get(name):
            parts += [about, table(rows[name])]
    return "\n\n".join(parts) + "\n"


def _groups(rows: list[Row]) -> str:
    """A table for each condition."""
    found = []
    for condition in dict.fromkeys(row["condition"] for row in rows):
        own = [row for row in rows if row["condition"] == condition]
        first = next(iter(own[-1].get("more than", {"": {}})))
        size = f", {own[0]['alternatives']} alternatives, σ² = {own[0]['sigma2']:g}" if "sigma2" in own[0] else ""
        title = (
            f"**{condition}**, {own[0]['instances']:,} decisions" if not size else f"{own[0]['instances']:,} decisions"
        )
        lines = [_line([_method(row, own[0]["instances"]), *_cells(row), *_more(row, first)]) for row in own]
        head = ("", "regret", "loss", "said", "right", f"regret − {first}", f"loss − {first}")
        found += [title + size + ":", _table(head, lines)]
    return "\n\n".join(found)


def _method(row: Row, whole: int) -> str:
    return row["method"] if row["instances"] == whole else f"{row['method']} ({row['instances']:,} decisions)"


def _cells(row: Row) -> list[str]:
    return [
        f"{row['regret']:.4f} ± {row['regret_se']:.4f}",
        *(f"{row[name]:.3f}" if name in row else "" for name in ("loss", "said", "right")),
    ]


def _more(row: Row, other: str) -> list[str]:
    more = row.get("more than", {}).get(other, {})
    return [f"{more[name]:+.4f} ± {more[f'{name}_se']:.4f}" if name in more else "" for name in ("regret", "loss")]


def _leniency(rows: list[Row]) -> str:
    """Methods by how much reviewers differ."""
    columns = list(dict.fromkeys(row["leniency"] for row in rows))
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = {row["leniency"]: row for row in rows if row["method"] == method}
        cells = [
            f"{own[column]['hits']:.2f} ({own[column]['more']:+.2f} ± {own[column]['more_se']:.2f})"
            if column in own
            else ""
            for column in columns
        ]
        lines.append(_line([method, *cells]))
    return _table(("", *(f"{column:g}" for column in columns)), lines)


def _mqm(rows: list[Row]) -> str:
    lines = [
        _line(
            [
                f"`{row['rule']}`" + (f", leniency {row['leniency']}" if "leniency" in row else ""),
                *_cells(row),
                *(_more(row, other)[0] for other in ("mean", "mean, decisions apart")),
                _more(row, "posterior, leniency 0")[1] if row.get("leniency") == "default" else "",
            ]
        )
        for row in rows
    ]
    return _table(
        ("", "regret", "loss", "said", "right", "regret − mean", "decisions apart", "loss − leniency 0"), lines
    )


def _time(rows: list[Row]) -> str:
    lines = [
        _line(
            [
                f"{row['votes']} {row['voters']}×{row['alternatives']}",
                row["noise"],
                row["at once"],
                row["strength"],
                *(f"{1000 * row[name]:.1f}" for name in ("without", "seconds")),
                f"{row['times']:.1f}",
                f"{row['estimates times']:.1f}",
            ]
        )
        for row in rows
    ]
    return _table(
        ("votes", "σ and τ", "at once", "strength", "without", "with groups", "times", "estimates alone, times"), lines
    )


def _table(head: Iterable[str], lines: list[str]) -> str:
    titles = list(head)
    return "\n".join([_line(titles), "|---" * len(titles) + "|", *lines])


def _line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
