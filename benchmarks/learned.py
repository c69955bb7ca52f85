"""What the learned rules are worth: python benchmarks/learned.py grid|calibration|uniform|report.

Writes docs/learned/<name>.json; ``report`` puts it together with the learned rows of the reproduced tables, in
docs/learned/README.md.
"""

import csv
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from calibration import Calibration, calibrate
from rows import Row, measure_rows, read_rows

import veritally as vt

RESULTS = Path(__file__).parents[1] / "docs" / "learned"
TABLES = ("high-variance", "low-variance", "count-noise", "count-replacement")
UNIFORM = vt.scenario("high-variance", noise="uniform", experience="uniform:1:3", sigma=2.0)
_PARTS = 20  # of a measurement, which processes share

# Other conditions: numbers of voters and alternatives, other counts, other noise.
GRID: dict[str, Row] = {
    "two": {"alternatives": 2, "voters": 15, "experience": "uniform:1:9", "sigma": 2.0},
    "four": {"alternatives": 4, "voters": 40, "experience": "stratified:1:200", "sigma": 10.0},
    "specialists": {"alternatives": 6, "voters": 7, "experience": "specialists:2:40:1", "sigma": 4.0},
    "fifteen": {"alternatives": 15, "voters": 20, "experience": "uniform:1:20", "sigma": 3.0},
    "twenty-five": {"alternatives": 25, "voters": 12, "experience": "uniform:1:1000", "sigma": 12.0},
    "forty": {"alternatives": 40, "voters": 30, "experience": "constant:10", "sigma": 6.0},
    "single sightings": {"alternatives": 8, "voters": 150, "experience": "constant:1", "sigma": 3.0},
    "six hundred": {"alternatives": 5, "voters": 600, "experience": "uniform:1:49", "sigma": 40.0},
    "zeros": {"alternatives": 10, "voters": 25, "experience": "specialists:4:20:0", "sigma": 5.0},
    "favourites": {"alternatives": 12, "voters": 50, "experience": "uniform:1:49", "sigma": 4.0, "votes": "top"},
    "laplace": {"alternatives": 10, "voters": 20, "experience": "uniform:1:6", "sigma": 3.0, "noise": "laplace"},
    "student": {"alternatives": 7, "voters": 60, "experience": "uniform:1:4", "sigma": 5.0, "noise": "student:4"},
    "percentage": {
        "alternatives": 9, "voters": 60, "experience": "uniform:1:2000", "sigma": 100.0, "count_error": "percentage:0.8"
    },
    "replacement": {
        "alternatives": 7, "voters": 40, "experience": "stratified:1:300", "sigma": 15.0,
        "count_error": "replacement:0.2",
    },
    "thousand on two": {"alternatives": 2, "voters": 1000, "experience": "uniform:1:3", "sigma": 50.0},
    "thousand on three": {"alternatives": 3, "voters": 1000, "experience": "constant:1", "sigma": 50.0},
    "far apart": {"alternatives": 10, "voters": 50, "experience": "specialists:2:10000:1", "sigma": 30.0},
    "pairs": {"alternatives": 10, "voters": 50, "experience": "specialists:2:100:0", "sigma": 3.0},
    "fifty": {"alternatives": 50, "voters": 300, "experience": "constant:3", "sigma": 10.0},
}  # fmt: skip


def grid() -> Iterator[Row]:
    """Yield where to compare with the posterior."""
    for name in GRID:
        yield {"scenario": name, "instances": 10_000}


def _scenario(name: str) -> vt.Scenario:
    return vt.scenario(name) if name in TABLES else vt.Scenario(**GRID[name])


def _compared(row: Row) -> Row:
    """Return both regrets, their ratio, and the paired difference."""
    given = _scenario(row["scenario"])
    base, other = "posterior" if given.votes == "top" else "posterior:votes=rankings", "learned-universal"
    rules = [base, other, "borda"][: 2 if given.votes == "top" else 3]
    found = vt.compare(given, rules=rules, baseline=base, workers=None, instances=row["instances"])
    rows = {entry["rule"]: entry for entry in found.rows()}
    result = {"posterior": rows[base]["regret"], "learned": rows[other]["regret"]}
    result |= {"ratio": rows[other]["regret"] / rows[base]["regret"], "difference": rows[other]["difference"]}
    result |= {"se": rows[other]["difference_se"], "ratio_se": rows[other]["difference_se"] / rows[base]["regret"]}
    return result | ({"borda": rows["borda"]["regret"]} if "borda" in rows else {})


def calibration() -> Iterator[Row]:
    """Yield what to calibrate: P(best), all alternatives counted."""
    for name in (*TABLES, *GRID):
        for rule in ("learned-universal", "learned-universal:sigma=estimated"):
            yield {"scenario": name, "rule": rule, "instances": 2000 if name == "fifty" else 20_000}


def _calibrated(row: Row) -> Row:
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = sum(pool.map(partial(_part, row), range(_PARTS)), start=Calibration.nothing())
    return {"error": found.error, "chance": found.chance, "rows": list(found.rows())}


def _part(row: Row, seed: int) -> Calibration:
    return calibrate(_scenario(row["scenario"]), row["rule"], instances=row["instances"] // _PARTS, seed=seed)


RULES = ("borda", "pairwise", "pairwise-normalized", "learned-universal", "posterior:votes=rankings")


def uniform() -> Iterator[Row]:
    """Yield where to compare a network trained on uniform noise with the derived rules."""
    for voters in (3, 10, 30, 100):
        yield {"voters": voters, "instances": 20_000 if voters < 100 else 5000}


def _on_uniform(row: Row) -> Row:
    own = f"learned:model={(RESULTS / 'uniform.safetensors').relative_to(Path.cwd())}"
    found = vt.compare(UNIFORM, rules=[own, *RULES], baseline=own, workers=None, **row)
    names = {own: "learned on it"}
    keys = ("regret", "se", "difference", "difference_se")
    return {"rules": {names.get(x["rule"], x["rule"]): {key: x[key] for key in keys} for x in found.rows()}}


WHAT: dict[str, tuple[Callable[[], Iterator[Row]], Callable[[Row], Row]]] = {
    "grid": (grid, _compared),
    "calibration": (calibration, _calibrated),
    "uniform": (uniform, _on_uniform),
}


_GRID = {"scenario": "scenario", "instances": "instances", "posterior": "posterior", "learned": "learned-universal"}
_GRID |= {"ratio": "ratio", "ratio_se": "±"}
_CALIBRATION = {
    "scenario": "scenario",
    "rule": "rule",
    "instances": "decisions",
    "error": "error",
    "chance": "by chance",
}


_ABOUT = """\
How close do the learned rules come to `posterior`, and is their P(best) calibrated? [Learned rules](../learned.md)
discusses the results. `python benchmarks/learned.py` measures them.

*Ratio* is the regret of a rule divided by that of `posterior` on the same instances."""
_SELECTION = """\
Regret in low variance, where the network was not trained. The 10,000 instances are not those of the tables. Here
*ratio* is the mean ratio to the published regrets. `python benchmarks/models.py select FOLDER` measures it."""


def report() -> str:
    """Write all that was measured in Markdown."""
    parts = ["# Learned rules, measured", ""]
    parts += [_ABOUT, *_tables()]
    if rows := _found("grid"):
        parts += ["", "## Other conditions", ""]
        parts += [_ratios("Ratios", [x["ratio"] for x in rows]), *_table(rows, _GRID | {"borda": "borda"})]
        parts += ["", "The scenarios differ from the [defaults](../experiments.md#scenarios) as follows:", ""]
        parts += [f"- {name}: {', '.join(f'{k} {v}' for k, v in GRID[name].items())}" for name in GRID]
    if rows := _found("calibration"):
        parts += [
            "",
            "## Calibration of P(best)",
            "",
            "Expected calibration error over all alternatives, and the error that perfect calibration would show by",
            "chance.",
        ]
        parts += _table(rows, _CALIBRATION)
    if rows := _found("selection"):
        parts += ["", "## The paper's network along its training", "", _SELECTION]
        parts += _table([_along(x) for x in rows], {name: name for name in _along(rows[0])})
    if rows := _found("uniform"):
        parts += ["", "## Uniform noise", "", "Regret with uniform observations, σ = 2, and counts 1 to 3."]
        parts += _table([_written(x) for x in rows], {name: name for name in ("voters", *rows[0]["rules"])})
    return "\n".join(parts) + "\n"


def _written(row: Row) -> Row:
    cells = {name: f"{own['regret']:.4f} ± {own['se']:.4f}" for name, own in row["rules"].items()}
    return {"voters": row["voters"], **cells}


def _along(row: Row) -> Row:
    cells = {f"{m} voters": f"{regret:.4f} ± {row['se'][m]:.4f}" for m, regret in row["regret"].items()}
    return {"seed": row["seed"], "mini-batches": row["steps"], "ratio": row["ratio"], **cells}


def _found(name: str) -> list[Row]:
    return read_rows(RESULTS / f"{name}.json")


def _ratios(what: str, numbers: list[float]) -> str:
    return f"{what}: mean {sum(numbers) / len(numbers):.4f}, highest {max(numbers):.4f}."


def _table(rows: list[Row], columns: dict[str, str]) -> list[str]:
    def cell(x: Any) -> str:
        return (
            f"{x:.4f}" if isinstance(x, float) else f"{x:,}" if isinstance(x, int) else str(x if x is not None else "")
        )

    lines = ["", f"| {' | '.join(columns.values())} |", "|---" * len(columns) + "|"]
    return lines + [f"| {' | '.join(cell(row.get(key)) for key in columns)} |" for row in rows]


def _tables() -> list[str]:
    """Return the learned rows of the reproduced tables, beside the published ones and the exact posterior."""
    own, exact = (RESULTS.parent / folder / "results.csv" for folder in ("reproduction", "exact"))
    with own.open() as ours, exact.open() as theirs:
        learned = [row for row in csv.DictReader(ours) if row["rule"].startswith("learned")]
        best = {(x["table"], x["voters"]): x for x in csv.DictReader(theirs) if x["rule"] == "posterior:votes=rankings"}
    if not learned:
        return []
    parts = ["", "## The paper's tables", "", "Ratios of `learned-universal`:", ""]
    rows = []
    for x in learned:
        ratio = float(x["regret"]) / float(best[x["table"], x["voters"]]["regret"])
        printed = f"{float(x['published']):.4f} ({float(x['z']):+.1f})" if x["published"] else ""
        rows.append({"table": x["table"], "rule": x["rule"], "voters": int(x["voters"]), "ratio": ratio,
                     "regret": f"{float(x['regret']):.4f} ± {float(x['se']):.4f}", "published": printed})  # fmt: skip
    for table in TABLES:
        ratios = [x["ratio"] for x in rows if (x["table"], x["rule"]) == (table, "learned-universal")]
        parts.append(_ratios(f"- {table}", ratios))
    rows.sort(key=lambda x: (TABLES.index(x["table"]), x["rule"], x["voters"]))
    return parts + _table(rows, {"table": "table", "rule": "rule", "voters": "voters", "regret": "regret",
                                 "published": "published (z)", "ratio": "ratio"})  # fmt: skip


def main(name: str) -> None:
    """Measure, or report."""
    if name == "report":
        (RESULTS / "README.md").write_text(report())
    else:
        plan, measure = WHAT[name]
        measure_rows(RESULTS / f"{name}.json", plan(), measure)


if __name__ == "__main__":
    main(sys.argv[1])
