"""Figures of learned panels as a page: python benchmarks/learned_report.py writes docs/panel/learned.md."""

from pathlib import Path

import numpy as np
from rows import Row, read_rows

FOLDER = Path(__file__).parents[1] / "docs" / "panel"
_METHODS = {
    "true": "the parameters that made the votes",
    "learned": "learned panel",
    "lda": "LDA with shrunk covariance (scikit-learn)",
    "dawid-skene": "Dawid–Skene (crowd-kit)",
    "majority": "majority",
}
_DATA = {
    "polls": (
        "Polls",
        "`polls538`: a panel learned on all earlier years decides the contests of a year. Voters are pollsters,\n"
        "answers are results. The objective is the joint likelihood of votes and answers. ± are by years.",
    ),
    "groups": (
        "Rankings of six",
        "Twelve voters of unequal skill in three groups that share errors, 300 decisions, 60 with answers, 200 new\n"
        "ones. Three shared errors are given. ± are over decisions of a few seeds.",
    ),
    "mqm": ("Translators", "`mqm`: a panel learned on half of the decisions of each set decides the other half."),
    "llmfao": (
        "Crowd workers",
        "`llmfao`, split by pair of answers: a third to learn from, a third as votes, a third for the truth. Splits\n"
        "reuse the same data, so standard errors are too small.",
    ),
}
_ODD = {"coin": "random judge", "twin": "copied judge (5% of votes differ)", "contrary": "reversed judge"}


def _cell(rows: list[Row], name: str, digits: int) -> str:
    values = np.array([row[name] for row in rows if name in row])
    if not len(values):
        return ""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def _paired(rows: list[Row], one: str, other: str) -> str:
    values = np.array([row[one] - row[other] for row in rows if one in row and other in row])
    if not len(values):
        return ""
    return f"{np.mean(values):+.3f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.3f}"


def _judges(part: str) -> list[str]:
    rows = read_rows(FOLDER / f"judges24-{part}.json")
    if len(rows) < 2:
        return []
    answers = "no answers" if part == "0" else f"{part} answers"
    lines = [
        f"**{answers}**, {len(rows)} seeds:",
        "",
        "|  | right | said | log loss | calibration error |",
        "|---|---|---|---|---|",
    ]
    for method, title in _METHODS.items():
        cells = [_cell(rows, f"{method} {what}", 3) for what in ("right", "said", "loss", "gap")]
        if any(cells):
            lines.append(f"| {title} | {' | '.join(cells)} |")
    against = {
        "the true parameters": ("true", ("right", "loss")),
        "LDA": ("lda", ("right", "loss")),
        "Dawid–Skene": ("dawid-skene", ("right", "loss")),
        "the majority": ("majority", ("right",)),
    }
    lines += ["", "Learned panel, paired differences by seed:", ""]
    for title, (other, whats) in against.items():
        found = [f"{what} {_paired(rows, f'learned {what}', f'{other} {what}')}" for what in whats]
        if found[0].split()[-1] not in whats:
            lines.append(f"- from {title}: {', '.join(found)}")
    inside = _cell(rows, "slopes within 2 errors", 2)
    if inside:
        lines += ["", f"True slopes within two standard errors: {inside}."]
    seconds = np.median([row["seconds"] for row in rows])
    lines += ["", f"Learning took {seconds:.0f} s (median, one core, with other work on the machine).", ""]
    return lines


def _odd() -> list[str]:
    rows = read_rows(FOLDER / "judges24-odd.json")
    if not rows:
        return []
    lines = ["## Judges who are odd", ""]
    lines += [f"A random, a copied and a reversed judge are added; 200 answers, {len(rows)} seeds.", ""]
    lines += ["|  | named as such |", "|---|---|"]
    lines += [f"| {title} | {sum(bool(row[name]) for row in rows)} of {len(rows)} |" for name, title in _ODD.items()]
    wrongly = sum(len(row["wrongly"]) for row in rows)
    lines += [
        "",
        f"Judges with a slope of 0.6 or more in size who are named as random, or above 0 as reversed: {wrongly}.",
        "`judge06`, whose true slope is −0.8, and `judge07`, −0.3, are rightly named as reversed in most seeds.",
        "",
    ]
    return lines


def _measured(part: str, title: str, about: str) -> list[str]:
    """Return what was measured on one set of votes: methods beside each other."""
    rows = read_rows(FOLDER / f"learned-{part}.json")
    if not rows:
        return []
    methods = rows[-1].get("methods") or rows[-1].get("decisions apart") or _means(rows)
    if part == "groups" and len(rows) > 1:
        methods = _over_seeds([row["methods"] for row in rows])
    lines = [f"## {title}", "", about, "", f"`python benchmarks/learned_panel.py {part}`", ""]
    lines += ["|  | regret | log loss | said | right |", "|---|---|---|---|---|"]
    for name, own in methods.items():
        cells = [_with_error(own, what) for what in ("regret", "loss", "said", "right")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("")
    for name, own in ((name, own) for name, own in methods.items() if name.startswith("panel")):
        for other, more in own.get("more than", {}).items():
            apart = ", ".join(f"{what} {more[what]:+.3f} ± {more[f'{what}_se']:.3f}" for what in ("regret", "loss"))
            lines.append(f"- {name} less {other}, paired: {apart}")
    learned = [row["year"] for row in rows if "year" in row]
    lines += [
        f"- means over years, measured so far: {', '.join(learned)}"
        if learned and rows[-1].get("year") != "all"
        else "",
        "",
    ]
    return lines


def _with_error(own: Row, what: str) -> str:
    error = own.get(f"{what}_se")
    return f"{own[what]:.3f}" if error is None else f"{own[what]:.3f} ± {error:.3f}"


def _over_seeds(found: list[dict[str, Row]]) -> dict[str, Row]:
    """Return means over seeds of as many decisions each; squares of their standard errors add up."""

    def mean(every: list[Row]) -> Row:
        made: Row = {}
        for key, value in every[0].items():
            own = np.array([row[key] for row in every]) if not isinstance(value, dict) else None
            if own is not None:
                made[key] = float(np.sqrt(np.sum(own**2)) / len(own) if key.endswith("_se") else np.mean(own))
        return made

    names = found[0]
    return {
        name: mean([row[name] for row in found])
        | {"more than": {other: mean([row[name]["more than"][other] for row in found]) for other in own["more than"]}}
        for name, own in names.items()
    }


def _means(rows: list[Row]) -> dict[str, Row]:
    """Return means over seeds, with their standard errors, and differences from the first other method."""
    rows = [row for row in rows if "means" in row]
    made: dict[str, Row] = {}
    for name in rows[0]["means"]:
        values = {what: np.array([row["means"][name][what] for row in rows]) for what in rows[0]["means"][name]}
        made[name] = {what: float(np.mean(x)) for what, x in values.items()}
        made[name] |= {f"{what}_se": float(np.std(x, ddof=1) / max(len(x), 2) ** 0.5) for what, x in values.items()}
    return made


def main() -> None:
    lines = [
        "# Learned panels, measured",
        "",
        "How good are [learned panels](../trust.md), and how far can their chances be trusted?",
        "",
        "- *Right*: how often the likelier alternative is the right one. *Said*: its mean probability.",
        "- *Log loss*: the mean of −log of the probability of the right answer.",
        "- *Calibration error*: the mean gap between said and right, in bins of 0.05.",
        "- ± are standard errors over seeds.",
        "",
        "## Two-way judges",
        "",
        "Votes are simulated from 24 judges of 5,000 yes-no questions, as they were found in a public panel of",
        "language models. Nearly all of them share one large error. All questions without an answer are decided.",
        "",
        "`python benchmarks/judges24.py --factors 2`, then `python benchmarks/learned_report.py`. That there are two",
        "shared errors is given, which is four times as fast as to find it out.",
        "",
    ]
    for part in ("200", "50", "800", "0"):
        lines += _judges(part)
    lines += _odd()
    for part, (title, about) in _DATA.items():
        lines += _measured(part, title, about)
    (FOLDER / "learned.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
