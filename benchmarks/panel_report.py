"""What was measured of panels, in Markdown."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rows import Row, read_rows

_ABOUT = """\
# What panels are worth, measured

Made by `python benchmarks/panel.py`. Standard errors (±) of differences are paired: all ways decide the same
votes. *Loss* is the mean of −log P(best) of the truly best, at most −log 0.001; *said* is P(best) of the winner on
average, *right* how often it is the best."""

_GROUPS = """\
## Groups

Rankings of 12 voters, counts 1 to 49, σ and ω known; voters of a group share an error of standard deviation ω for
each alternative, and those alone have one of their own. The sampler is that of the tests, 2,000 sweeps for each
decision: with the groups known, with such an error of its own for each voter, and without any. In the last two rows
the package is not told σ and ω either. `python benchmarks/panel.py groups`."""

_HALVES = """\
## Groups that do not exist

Rankings of 12 voters without shared errors, of whom random halves are said to be groups, with a strength to be
estimated. `python benchmarks/panel.py halves`."""

_LENIENCY = """\
## Harsh reviewers

25 reviewers read 5 of 40 papers each, σ = τ = 1, and differ by a constant of their own with the standard deviation
at the top. How many of the best 8 papers are among the chosen 8, and how many more than by a mixed model that
knows all variances. `python benchmarks/panel.py leniency`."""

_MQM = """\
## Translators

`mqm`: which translation system is best, by translators who marked errors; standard errors by set, of which there
are few, and of the difference also with decisions taken to be independent. `python benchmarks/panel.py mqm`."""

_TIME = """\
## Time

Milliseconds of a core for a decision with P(best), in batches of 200 and alone, of voters in two groups, and how
many times those of the same votes without groups; without groups, P(best) may come from a sampler, so that it can take
longer. The last column is the ratio without P(best). `python benchmarks/panel.py time`."""


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
