"""What rules are worth on real votes: python benchmarks/real.py DATASET|polling|weather|sure|report.

Writes docs/real/<name>.json, a row for each rule; for ``polling`` one for each quarter of the polls by size, for
``weather`` what weeks are off by, for ``sure`` what P(best) is worth. ``report`` puts them together in
docs/real/README.md.
"""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, measure_rows, read_rows

import veritally as vt
from veritally.experiments.measures import ClusteredMeasures

RESULTS = Path(__file__).parents[1] / "docs" / "real"
BASELINE = "borda"
KEPT = ("regret", "accuracy", "difference", "worth")
_TIMES = 20  # that counts are exchanged
_LEAST = 1e-3  # of a probability whose logarithm is taken
_WEEKS = 5  # the fewest that tell what they share

# Rules from the exact likelihood, which "all" leaves out: how often to exchange counts, and on how many decisions.
DEAR: dict[str, dict[str, tuple[int, int]]] = {
    "flights13": {
        "posterior": (20, 152),
        "posterior:leniency=0": (20, 152),
        "posterior:omega=estimated": (5, 152),
        "mle": (20, 152),
        "score": (20, 152),
        "score:votes=rankings": (20, 152),
        "mle:votes=rankings": (5, 152),
        "posterior:votes=rankings": (1, 152),
        "score:votes=top": (20, 152),
        "mle:votes=top": (5, 152),
        "posterior:votes=top": (1, 152),
    },
    "llmfao": {
        "posterior": (2, 20),
        "posterior:leniency=0": (2, 20),
        "posterior:omega=estimated": (0, 20),
        "mle": (5, 20),
        "score": (20, 20),
        "score:votes=top": (5, 20),
        "score:votes=rankings": (0, 3),
        "mle:votes=top": (0, 3),
    },
    "mqm": {
        "posterior": (20, 151),
        "posterior:leniency=0": (20, 151),
        "posterior:omega=estimated": (2, 151),
        "mle": (20, 151),
        "score": (20, 151),
        "score:votes=rankings": (20, 151),
        "mle:votes=rankings": (5, 151),
        "posterior:votes=rankings": (1, 151),
    },
    "polls538": {
        "posterior": (20, 1000),
        "posterior:omega=estimated": (5, 1000),
        "mle": (20, 1000),
        "score": (20, 1000),
        "score:votes=rankings": (20, 1000),
        "mle:votes=rankings": (5, 1000),
        "posterior:votes=rankings": (2, 1000),
    },
}
LEFT_OUT = {
    "llmfao": "Rules measured on fewer splits have their number in brackets. Not measured: `posterior:votes=top`, for "
    "lack of time; `mle:votes=rankings` and `posterior:votes=rankings`, because ballots with many ties in the middle "
    "take the square of the number of nodes. Ten minutes of a core were not enough for one split of the former.",
    "polls538": "With two alternatives a favourite is a ranking, so rules for either give the same result.",
}


_ABOUT = (
    "How well does each rule choose on the real votes that come with veritally? [Real data](../real-data.md) describes",
    "the data sets and discusses the results. `python benchmarks/real.py` measures them.",
    "",
    "- Standard errors (±) are by clusters.",
    "- *− borda* is the paired difference from Borda's regret, negative if the rule is better.",
    "- *Worth of counts* is how much the regret grows if voters exchange their counts. It is an average over as many",
    "  exchanges as *times* says.",
    "- *Equal* means 1 in place of every count.",
    "- No rule is given σ. `posterior` and `learned-universal` estimate it; the others take σ = 1.",
)


def plan(name: str) -> Iterator[Row]:
    """Yield what to measure."""
    profile = vt.datasets.load(name).profile
    for info in vt.rules():
        if info.votes is not None and info.takes(profile) and not info.required:
            yield {"rule": info.name, "placebo": _TIMES if info.uses_counts else 0, "instances": profile.batch[0]}
    yield {"rule": "mean", "counts": "equal", "placebo": 0, "instances": profile.batch[0]}
    for rule, (times, decisions) in DEAR[name].items():
        yield {"rule": rule, "placebo": times, "instances": decisions}


def measured(name: str, row: Row) -> Row:
    """Return how well a rule chooses, paired with the baseline, and what counts are worth to it."""
    dataset, number = vt.datasets.load(name), row["instances"]
    profile = vt.stack([dataset.profile.decision(d) for d in range(number)])
    if row.get("counts") == "equal":
        profile = profile.with_ballots(profile.ballots.with_counts(np.sign(profile.counts)))
    started = time.perf_counter()
    found = vt.compare(
        profile,
        truth=dataset.truth[:number, : profile.shape[-1]],
        clusters=dataset.clusters[:number],
        rules=[row["rule"]],
        baseline=BASELINE,
        placebo=row["placebo"],
    )
    own = next(entry for entry in found.rows() if entry["rule"] == row["rule"])
    seconds = round(time.perf_counter() - started, 1)
    errors = {key: "se" if key == "regret" else f"{key}_se" for key in KEPT if key in own}
    return {key: own[key] for pair in errors.items() for key in pair} | {
        "clusters": own["clusters"],
        "seconds": seconds,
    }


def polling() -> Iterator[Row]:
    """Yield the quarters of all polls, from the smallest sample sizes to the largest."""
    for quarter in range(4):
        yield {"quarter": quarter + 1}


def off(row: Row) -> Row:
    """Return how far polls are off in the lead of one candidate, in points, beside what sampling alone would give."""
    dataset = vt.datasets.load("polls538")
    there = dataset.profile.counts[..., 0] > 0
    sizes, shares = dataset.profile.counts[there][:, 0], dataset.profile.values[there]
    truth = np.broadcast_to(dataset.truth[:, None], dataset.profile.shape)[there]
    order = np.array_split(np.argsort(sizes, kind="stable"), 4)[row["quarter"] - 1]
    lead, miss = shares[:, 0] - shares[:, 1], np.diff(shares - truth)[:, 0]
    variance = (100 * shares.sum(axis=1) - lead**2) / sizes  # of the difference of two shares of one sample
    least, most = sizes[order].min(), sizes[order].max()
    both = {"error": float(np.sqrt(np.mean(miss[order] ** 2))), "sampling": float(np.sqrt(np.mean(variance[order])))}
    return {"polls": len(order), "least": int(least), "most": int(most), **both}


def weather() -> Iterator[Row]:
    """Yield the one data set that has weeks."""
    yield {"dataset": "flights13"}


def apart(row: Row) -> Row:
    """Return standard deviations of shares on time: what carriers of a week share, the rest, and by sampling alone.

    From an analysis of variance by week and carrier in each decision, over the weeks in which all carriers flew.
    """
    parts = []
    for one in vt.datasets.load(row["dataset"]).profile.unstack():
        whole = np.all(one.counts > 0, axis=1)
        shares, counts = one.values[whole], one.counts[whole]
        m, n = shares.shape
        if m < _WEEKS:
            continue
        mean = (shares * counts).sum(axis=0) / counts.sum(axis=0)
        week = (shares - mean).mean(axis=1)
        rest = np.sum((shares - mean - week[:, None]) ** 2) / ((m - 1) * (n - 1))
        parts.append((np.sum(week**2) / (m - 1) - rest / n, rest, np.mean(mean * (1 - mean) / counts)))
    common, rest, sampling = map(float, np.sqrt(np.mean(parts, axis=0)))
    return {"decisions": len(parts), "common": common, "rest": rest, "sampling": sampling}


def sure() -> Iterator[Row]:
    """Yield the data sets, with voters who differ by sampling alone, and with such who differ besides."""
    for name in vt.datasets.names():
        for omega in (None, "estimated"):
            yield {"dataset": name, "omega": omega}


def believed(row: Row) -> Row:
    """Return the mean of −log P(best) of the truly best, and how often that is best which is so with 99% or more."""
    dataset = vt.datasets.load(row["dataset"])
    belief = vt.decide(dataset.profile, omega=row["omega"]).belief
    best = np.nanargmax(dataset.truth, axis=-1)
    loss = -np.log(np.maximum(np.take_along_axis(belief.p_best, best[:, None], axis=-1)[:, 0], _LEAST))
    error = ClusteredMeasures.of(loss[None, None], dataset.clusters).errors[0, 0]
    called = belief.p_best.max(axis=-1) >= 0.99
    right = np.argmax(belief.p_best, axis=-1) == best
    found = {
        "loss": float(loss.mean()),
        "se": float(error),
        "called": int(called.sum()),
        "right": int(right[called].sum()),
    }
    return found | {"ω": float(np.mean(np.nan_to_num(belief.omega))) if row["omega"] else None}


def report() -> str:
    """Write all that was measured in Markdown."""
    parts = ["# Rules on real votes, measured", "", *_ABOUT]
    for name in vt.datasets.names():
        rows = sorted(read_rows(RESULTS / f"{name}.json"), key=lambda row: (-row["instances"], row["regret"]))
        whole = max(row["instances"] for row in rows)
        clusters = max(row["clusters"] for row in rows)
        parts += [
            "",
            f"## {name}",
            "",
            f"{whole:,} decisions in {clusters} clusters. {LEFT_OUT.get(name, '')}".rstrip(),
        ]
        parts += ["", _line("rule", *_TITLES), "|---" * 6 + "|"]
        parts += [_line(_name(row, whole), *_cells(row)) for row in rows]
    parts += [
        "",
        "## How far polls are off",
        "",
        "Root mean square error of the lead, in points, by sample size.",
    ]
    parts += ["", _line("sample size", "polls", "error", "by sampling alone"), "|---" * 4 + "|"]
    for row in read_rows(RESULTS / "polling.json"):
        size = f"{row['least']:,} to {row['most']:,}"
        parts.append(_line(size, f"{row['polls']:,}", f"{row['error']:.1f}", f"{row['sampling']:.1f}"))
    parts += [
        "",
        "## How sure",
        "",
        "`posterior` on values, without and with ω, the standard deviation between voters. *Loss* is the mean of −log",
        "P(best) of the truly best alternative (at most −log 0.001). *Called* counts the decisions in which some",
        "alternative has a 99% or higher chance of being best.",
    ]
    parts += ["", _line("data set", "ω", "loss", "called", "of these right"), "|---" * 5 + "|"]
    for row in read_rows(RESULTS / "sure.json"):
        omega = "0" if row["ω"] is None else f"{row['ω']:.3g}"
        parts.append(_line(row["dataset"], omega, f"{row['loss']:.4f} ± {row['se']:.4f}", row["called"], row["right"]))
    return "\n".join(parts) + "\n"


_TITLES = ("regret", "accuracy", f"− {BASELINE}", "worth of counts", "times")


def _line(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _name(row: Row, whole: int) -> str:
    few = "" if row["instances"] == whole else f" ({row['instances']})"
    return f"`{row['rule']}`{', equal' if 'counts' in row else ''}{few}"


def _cells(row: Row) -> list[str]:
    cells = [
        f"{row['regret']:.4f} ± {row['se']:.4f}",
        f"{row['accuracy']:.3f} ± {row['accuracy_se']:.3f}",
        f"{row['difference']:+.4f} ± {row['difference_se']:.4f}" if row["rule"] != BASELINE else "",
    ]
    worth = (f"{row['worth']:+.4f} ± {row['worth_se']:.4f}", str(row["placebo"])) if row["placebo"] else ("", "")
    return [*cells, *worth]


WHY: dict[str, tuple[Callable[[], Iterator[Row]], Callable[[Row], Row]]] = {
    "polling": (polling, off),
    "weather": (weather, apart),
    "sure": (sure, believed),
}


def main(name: str) -> None:
    """Measure, or report."""
    if name == "report":
        (RESULTS / "README.md").write_text(report())
    elif name in WHY:
        planned, measure = WHY[name]
        measure_rows(RESULTS / f"{name}.json", planned(), measure)
    else:
        measure_rows(RESULTS / f"{name}.json", plan(name), partial(measured, name))


if __name__ == "__main__":
    main(sys.argv[1])
