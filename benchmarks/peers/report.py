"""The report: a table and a picture in docs/benchmarks.md, all that was measured in docs/peers/README.md."""

import math
from pathlib import Path
from typing import Any

from page import put_section
from rows import Row, read_rows

from peers.cells import DATASETS, INSTANCES, SCENARIOS
from peers.methods import METHODS, OURS, PEERS

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "peers" / "results.json"
_UNITS = ((1e6, "s"), (1e3, "ms"))  # in microseconds
_SURE = 2  # standard errors
_SAME = "TrueSkillThroughTime"
_BOTH = ("posterior", "posterior on values")
_LIMIT = 1 / 5  # of its time until it converges, for the posterior
_PLAIN = (
    "- On complete rankings without ties, Bradley–Terry orders alternatives by their wins, as Borda does. The two "
    "differ only in ties. Bradley–Terry adds something if pairs were compared unequally often, as in "
    "`llmfao`.",
)

# Okabe & Ito's colours; ours are filled, those of one library share one.
_COLOURS = {
    "posterior": "#0072B2", "learned-universal": "#56B4E9", "pairwise": "#009E73", "pairwise-normalized": "#999933",
    "borda": "#E69F00", "plurality": "#CC79A7", "mean": "#000000", "TrueSkillThroughTime": "#0072B2",
    "choix": "#D55E00", "evalica": "#882255", "crowd-kit": "#117733", "pref_voting": "#E69F00", "PyMARE": "#000000",
}  # fmt: skip
_MARKS = "osD^"

_SECTION = """\
## Beside other libraries

How do veritally's rules compare with other libraries? All methods decide the same votes: the paper's scenarios with 10
alternatives and 10 voters, and the [data sets](real-data.md). [All figures](peers/README.md) has 30 and 100 voters too.

- **Regret.** In brackets is the difference from `posterior` on votes of the same kind (rankings, judgements of
  `llmfao`, or values), with its paired standard error, by clusters for data sets. Bold means lower by more than two
  standard errors.
- **Slow methods** see only the first decisions. For them, look at the differences, not the regrets.
- **Time** is that of one core for one decision of the first column, from plain lists or arrays to scores. Methods
  measured only on `llmfao` have the time for that. In brackets is the time for one decision in a batch of {batch:,} (of
  20 for `llmfao`), if the method takes many at once.

`make peers` measures this and rewrites this section.

{table}

![Regret against time, log–log](peers/regret-time.svg)

Filled marks are veritally's rules, in a batch. Lines go from 10 to 30 and 100 voters. For methods that saw fewer
decisions, the regret is that of `posterior` on all decisions plus their difference.

{found}

What each method is given, and what it cannot use:

{given}
"""

_README = """\
# Other libraries and our rules, measured

These tables have every figure of the comparison with other libraries.
[Benchmarks](../benchmarks.md#beside-other-libraries) summarises them and describes the methods. `make peers` measures
them.

- *More* is the paired difference of regret from `posterior` on votes of the same kind, ± its standard error, by
  clusters for data sets.
- *Time* is that of one core for one decision; *alone* is the time if a method takes many decisions at once but is given
  one.
- Slow methods see only the first decisions, and are compared with `posterior` on these.
"""


def write() -> None:
    """Write all of it from the rows that were measured."""
    rows = read_rows(RESULTS)
    draw(rows, RESULTS.with_name("regret-time.svg"))
    (RESULTS.parent / "README.md").write_text(whole(rows))
    given = "\n".join(f"- **{method.name}**: {method.about}." for method in PEERS)
    text = _SECTION.format(table=table(rows), found=findings(rows), given=given, batch=INSTANCES[10])
    put_section(DOCS / "benchmarks.md", "peers", text)


def table(rows: list[Row]) -> str:
    """Return the regrets at 10 voters and on data sets, a line for each method."""
    places = [*((name, 10) for name in SCENARIOS), *((name, None) for name in DATASETS)]
    found = {(row["method"], row["cell"], row["voters"]): row for row in rows}
    lines = [_line("", *(name for name, _ in places), "time"), "|---" * (len(places) + 2) + "|"]
    for method in METHODS:
        cells = [_cell(found.get((method.name, *place))) for place in places]
        own = found.get((method.name, *places[0])) or found.get((method.name, "llmfao", None))
        name = f"`{method.name}`" if method in OURS else method.name
        lines.append(_line(name, *cells, _times(own) if own else ""))
    return "\n".join(lines)


def _line(*cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    regret = f"{row['regret']:.4f} ± {row['se']:.4f}"
    return regret if row["method"] == row["reference"] else f"{regret}<br>({_more(row)})"


def _more(row: Row) -> str:
    more = f"{row['difference']:+.4f} ± {row['difference_se']:.4f}"
    return f"**{more}**" if _surely_lower(row) else more


def _surely_lower(row: Row) -> bool:
    return row["difference"] < -_SURE * row["difference_se"]


def _times(row: Row) -> str:
    return f"{_time(row['alone'])}<br>({_time(row['microseconds'])})" if "alone" in row else _time(row["microseconds"])


def _time(microseconds: float) -> str:
    """Write a time with two digits."""
    size, unit = next(((size, unit) for size, unit in _UNITS if microseconds >= size), (1, "µs"))
    digits = max(0, 1 - math.floor(math.log10(microseconds / size)))
    return f"{microseconds / size:.{digits}f} {unit}"


def findings(rows: list[Row]) -> str:
    """Say what is to be seen."""
    return "\n".join([_better(rows), _on_flights(rows), _same_model(rows), _alone(rows), *_PLAIN])


def _better(rows: list[Row]) -> str:
    """Say where others are better."""
    peers = {method.name for method in PEERS}
    others = [row for row in rows if row["method"] in peers]
    better = [row for row in others if _surely_lower(row)]
    worse = [row for row in others if row["difference"] > _SURE * row["difference_se"]]
    said = [f"{row['method']} in {_place(row)} ({_more(row).strip('*')})" for row in better]
    return (
        f"- There are {len(others)} comparisons of another library with `posterior` on the same votes, over all "
        f"numbers of voters. The other library has more regret by over {_SURE} standard errors in {len(worse)}, and "
        "less in " + (f"{len(better)}: {'; '.join(said)}." if said else "none.")
    )


def _on_flights(rows: list[Row]) -> str:
    """Say how the posterior of rankings fares where it is not at its best."""
    peers = {method.name for method in PEERS if method.votes == "rankings"}
    flights = {row["method"]: row for row in rows if row["cell"] == "flights13"}
    own = [row for name, row in flights.items() if name in peers]
    less = sum(row["difference"] < 0 for row in own)
    sure = sum(map(_surely_lower, own))
    regrets = (f"{flights[name]['regret']:.4f} ± {flights[name]['se']:.4f}" for name in _BOTH)
    return (
        f"- In `flights13`, {less} of {len(own)} others that see rankings have less regret than `posterior` on "
        f"rankings, {sure or 'none'} of them by more than {_SURE} standard errors. `posterior` itself has "
        f"{' on rankings and '.join(regrets)} on values."
    )


def _alone(rows: list[Row]) -> str:
    """Say who is quicker with a single decision, and with many."""
    own = {row["method"]: row for row in rows if (row["cell"], row["voters"]) == ("high-variance", 10)}
    mean, borda, effects = own["mean"], own["borda"], own["PyMARE, fixed effects"]
    return (
        f"- For a single decision, others are quicker. PyMARE takes {_time(effects['alone'])}, `mean` "
        f"{_time(mean['alone'])} for the same. Borda takes {_time(own['pref_voting, Borda']['microseconds'])} in "
        f"pref_voting and {_time(borda['alone'])} here. Most of veritally's time goes into checking the votes. In a "
        f"batch, `mean` takes {_time(mean['microseconds'])} for each decision, PyMARE "
        f"{_time(effects['microseconds'])}, and `borda` {_time(borda['microseconds'])}."
    )


def _same_model(rows: list[Row]) -> str:
    """Compare the posterior with the same model elsewhere, at 10 voters in high variance."""
    own = {row["method"]: row for row in rows if (row["cell"], row["voters"]) == ("high-variance", 10)}
    ours, once, converged = own["posterior"], own[f"{_SAME}, one pass"], own[f"{_SAME}, converged"]
    ratio = ours["alone"] / converged["microseconds"]
    return (
        f"- If counts are right, {_SAME} with noise $\\sigma/\\sqrt c$ is the same model as `posterior`, with similar "
        f"inference. It takes {_time(once['microseconds'])} in one pass and {_time(converged['microseconds'])} until "
        f"it converges. `posterior` takes {_time(ours['alone'])} alone, {ratio:.2f} of the latter (limit {_LIMIT:g}), "
        f"and {_time(ours['microseconds'])} in a batch."
    )


def _place(row: Row) -> str:
    return row["cell"] if row["voters"] is None else f"{row['cell']} with {row['voters']} voters"


def whole(rows: list[Row]) -> str:
    """Return all that was measured."""
    parts = [_README]
    places = dict.fromkeys((row["cell"], row["voters"]) for row in rows)
    for name, voters in places:
        own = sorted((row for row in rows if (row["cell"], row["voters"]) == (name, voters)), key=_order)
        parts += [f"## {_place(own[0])}\n", _line("method", "regret", "more", "decisions", "time", "alone")]
        parts += ["|---" * 6 + "|", *map(_full, own), ""]
    return "\n".join(parts)


def _order(row: Row) -> tuple[bool, float]:
    """Put those on values first, then by regret."""
    return row["reference"] != "posterior on values", row["difference"]


def _full(row: Row) -> str:
    regret = f"{row['regret']:.4f} ± {row['se']:.4f}"
    alone = _time(row["alone"]) if "alone" in row else ""
    more = "" if row["method"] == row["reference"] else _more(row)
    return _line(row["method"], regret, more, f"{row['instances']:,}", _time(row["microseconds"]), alone)


def draw(rows: list[Row], path: Path) -> None:
    """Draw regret against time, a panel for each scenario and data set."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "peers", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(13, 7.5), layout="constrained")
        panels = figure.subplots(2, 4).ravel()
        for name, ax in zip((*SCENARIOS, *DATASETS), panels, strict=False):
            _panel(ax, name, [row for row in rows if row["cell"] == name])
        handles = {text: line for ax in panels[:-1] for line, text in zip(*ax.get_legend_handles_labels(), strict=True)}
        names = [method.name for method in METHODS]
        panels[-1].axis("off")
        panels[-1].legend([handles[name] for name in names], names, loc="center", frameon=False, fontsize=8)
        figure.supxlabel("microseconds of one core for a decision")
        figure.supylabel("regret")
        figure.savefig(path, metadata={"Date": None})


def _panel(ax: Any, name: str, rows: list[Row]) -> None:
    for method in METHODS:
        own = sorted((row for row in rows if row["method"] == method.name), key=lambda row: row["voters"] or 0)
        colour, mark = _look(method.name)
        times, regrets = [row["microseconds"] for row in own], [_regret(row, rows) for row in own]
        face = colour if method in OURS else "none"
        ax.plot(times, regrets, mark, color=colour, mfc=face, linewidth=0.5, linestyle="-", ms=5, label=method.name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_title(name, loc="left")
    ax.spines[["top", "right"]].set_visible(False)


def _regret(row: Row, rows: list[Row]) -> float:
    """Return the regret of the reference on all decisions and the difference to it."""
    same = (row["reference"], row["voters"])
    return row["difference"] + next(own["regret"] for own in rows if (own["method"], own["voters"]) == same)


def _look(name: str) -> tuple[str, str]:
    """Return the colour of a family, and a mark for each of its members."""
    family = next(key for key in sorted(_COLOURS, key=len, reverse=True) if name.startswith(key))
    members = [method.name for method in METHODS if method.name.startswith(family)]
    return _COLOURS[family], _MARKS[members.index(name) % len(_MARKS)]
