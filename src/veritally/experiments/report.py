"""The report of a reproduction: tables, figures, what differs, and what the text claims."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from veritally.checks import usable_path
from veritally.experiments.claims import CLAIMS, CLEAR, EXACT, FEW, LIMIT, MANY, against, paired, verdict
from veritally.experiments.document import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Paragraph,
    Table,
    to_html,
    to_latex,
    to_markdown,
)
from veritally.experiments.figures import draw
from veritally.experiments.ledger import Ledger
from veritally.experiments.rule_set import BEST_OF, Entry
from veritally.experiments.tables import Plan, Reproduction, Result, no_progress, published
from veritally.files import refuse_to_replace, write_together

FAR = 3.0  # standard errors beyond which a published cell is looked into

_TITLES = {
    "high-variance": "High variance",
    "low-variance": "Low variance",
    "count-noise": "50% count noise",
    "count-replacement": "33% count replacement",
}

# What was found out about published cells that do not follow from the paper's description.
_FINDINGS = {
    ("high-variance", "borda+"): (
        "none of the six listed modifications gives the printed figures, nor do the authors' own later results: the "
        "notebook in their repository (spitis/objective_social_choice, 250,000 instances) has 1.2086 at 3 voters and "
        "0.9633 at 10 for the best of the six."
    ),
    ("count-replacement", "top-lower-bound"): (
        "the rule as described does better than printed, the more so the more voters there are. The other rules of "
        "this table agree, so the counts are replaced as there."
    ),
}


_FILES = ("results.csv", "results.parquet", "README.md", "report.html", "report.tex")  # beside figures
_CONFIGURATION = "configuration.json"


def write_report(reproduction: Reproduction, folder: Path, command: str, force: bool = False) -> None:
    """Write results, configuration, report and figures into a folder, all or nothing.

    Without matplotlib there are no figures. The configuration has a checksum of each file, by which the next report
    knows what it may replace; others it replaces only by ``force``.
    """
    frame = reproduction.to_frame()
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    pictures = _pictures(reproduction)
    blocks = document(reproduction, command, figures=bool(pictures))
    page = to_html(blocks, {name: drawn["svg"].decode() for name, drawn in pictures.items()})
    texts = (to_markdown(blocks), page, to_latex(blocks))
    files = dict(zip(_FILES, (frame.write_csv().encode(), parquet.getvalue(), *map(str.encode, texts)), strict=True))
    files |= {f"{name}.{suffix}": data for name, drawn in pictures.items() for suffix, data in drawn.items()}
    if not force:
        _refuse_to_replace(folder, (*files, _CONFIGURATION))
    configuration = {"command": command, **reproduction.configuration, "files": _checksums(folder, files)}
    text = json.dumps(configuration, indent=2, ensure_ascii=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / name: data for name, data in {_CONFIGURATION: text.encode(), **files}.items()})


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _checksums(folder: Path, files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return the checksum of each file, and of what it replaces, which stays if the process is killed now."""
    sums = {name: [_checksum(data)] for name, data in files.items()}
    for name, known in sums.items():
        if (folder / name).is_file() and (old := _checksum((folder / name).read_bytes())) not in known:
            known.append(old)
    return sums


def _refuse_to_replace(folder: Path, names: Iterable[str]) -> None:
    """Refuse to replace what is not as an earlier report left it."""
    try:
        configuration = json.loads((folder / _CONFIGURATION).read_bytes())
        written = {name: set(sums) for name, sums in configuration["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        written = {}

    def is_ours(path: Path) -> bool:
        return (
            bool(written) if path.name == _CONFIGURATION else _checksum(path.read_bytes()) in written.get(path.name, ())
        )

    for name in names:
        refuse_to_replace(folder / name, is_ours)


def _pictures(reproduction: Reproduction) -> Mapping[str, Mapping[str, bytes]]:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return {}
    return {table: draw(reproduction, table) for table in reproduction.tables}


def document(reproduction: Reproduction, command: str, figures: bool) -> list[Block]:
    """Return the report as blocks."""
    results = list(reproduction.results())
    setting = reproduction.configuration
    made_of = ", ".join(f"{name} {version}" for name, version in setting["versions"].items())
    blocks: list[Block] = [
        Heading("The paper's tables, reproduced", level=1),
        Paragraph(
            "Pitis & Zhang, Objective Social Choice (AAMAS 2020), compare rules by regret: the true quality of the "
            "best alternative less that of the chosen one. Here are their tables, measured anew: 10 alternatives, "
            f"{setting['instances']:,} instances a column, all rules on the same ones, ties broken at random."
        ),
        Paragraph(f"Made by `{command}` (seed {setting['seed']}; {setting['device']}; {made_of}).{_noted(setting)}"),
        *_agreement(results),
    ]
    cells = {(one.table, one.voters, one.rule): one for one in results}
    for table in reproduction.tables:
        title = _TITLES.get(table, table)
        blocks += [Heading(title), Paragraph(_condition(setting["tables"][table]))]
        if figures:
            blocks.append(Figure(table, f"{title}: regret against the number of voters; rings: as published"))
        blocks += _tables(reproduction, table, cells)
    return [*blocks, *_exact(reproduction), *_claims(reproduction)]


def _noted(setting: Mapping[str, Any]) -> str:
    return f" {setting['note']}." if "note" in setting else ""


def _condition(scenario: Mapping[str, Any]) -> str:
    """Say in a line what the votes of a table are drawn from."""

    def spelled(part: Mapping[str, Any]) -> str:
        return "`" + ":".join(str(value) for value in part.values()) + "`"

    error = scenario["count_error"]
    return (
        f"Truth {spelled(scenario['prior'])}, counts {spelled(scenario['experience'])}, observations "
        f"{spelled(scenario['noise'])} with σ² = {scenario['sigma'] ** 2:.4g}, reported counts "
        f"{'exact' if error is None else 'with the error ' + spelled(error)}."
    )


def _agreement(results: list[Result]) -> list[Block]:
    """Say how many published cells agree, and name those that do not."""
    known = [one for one in results if one.z is not None]
    if not known:
        return []
    near = [one for one in known if abs(one.z or 0) <= FAR]
    blocks: list[Block] = [
        Heading("Agreement"),
        Paragraph(
            f"{len(near)} of {len(known)} published cells ({len(near) / len(known):.1%}) lie within |z| ≤ {FAR:g}; z "
            "is the difference in standard errors, those of both figures and the rounding of the published one counted."
        ),
    ]
    far: dict[tuple[str, str], list[Result]] = {}
    for one in known:
        if abs(one.z or 0) > FAR:
            far.setdefault((one.table, one.rule), []).append(one)
    items = []
    for (table, rule), cells in far.items():
        finding = _FINDINGS.get((table, rule), "nothing is known about this difference.")
        each = "; ".join(f"{one.regret:.4f} for {one.published:.4f} at {one.voters}" for one in cells)
        items.append(f"`{rule}` in {table} ({each} voters): {finding}")
    return [*blocks, Bullets(items)] if items else blocks


def _tables(reproduction: Reproduction, table: str, cells: Mapping[tuple[str, int, str], Result]) -> list[Block]:
    """Return the rules of the paper beside the published figures, and all others below."""
    voters = reproduction.voters
    printed = {rule for name, m, rule in published() if name == table and m in voters}
    names = reproduction.names()
    blocks: list[Block] = []
    for title, chosen, theirs in (
        ("Measured ± standard error; below, published and z. Bold: the lowest of its kind of votes.", printed, True),
        (
            "Rules and variants that the paper's table has not: measured ± standard error.",
            set(names) - printed,
            False,
        ),
    ):
        rows: list[list[Cell] | None] = []
        kind = None
        for name in sorted((name for name in names if name in chosen), key=lambda name: _KINDS.index(_kind(name))):
            if kind is not None and _kind(name) != kind:
                rows.append(None)
            kind = _kind(name)
            rivals = [other for other in names if other in chosen and _kind(other) == kind]
            row = [Cell((f"`{name}`",))]
            for m in voters:
                one = cells[table, m, name]
                lowest = min(cells[table, m, other].regret for other in rivals)
                bold = theirs and kind != "values" and one.regret == lowest
                row.append(Cell(_lines(one, theirs), bold))
            rows.append(row)
        if rows:
            header = ["voters", *map(str, voters)]
            blocks += [Paragraph(title), Table(header, rows)]
    return blocks


_KINDS = ("values", "rankings", "top")


def _kind(name: str) -> str:
    family = name if name not in BEST_OF else name.rstrip("+")
    return Entry.of(family).votes or "values"  # a rule that takes any gets the finest


def _lines(one: Result, theirs: bool) -> tuple[str, ...]:
    ours = f"{one.regret:.4f} ± {one.se:.4f}"
    if not theirs or one.published is None or one.z is None:
        return (ours,)
    return ours, f"{one.published:.4f} ({one.z:+.1f})".replace("-", "−")


def _exact(reproduction: Reproduction) -> list[Block]:
    """Put the exact posterior beside the best other rule, and the best published one, that see the same votes."""
    blocks: list[Block] = []
    for kind, rule in EXACT.items():
        if rule not in reproduction.rules:
            continue
        rows: list[list[Cell] | None] = []
        within = 0
        for table, voters in reproduction.moments:
            best, theirs = against(reproduction, table, voters, rule, kind)
            within += best.z <= FAR
            ratio = "" if theirs is None else f"{1 + theirs.difference / theirs.other_regret:.3f} × `{theirs.other}`"
            texts = (
                f"{table}, {voters}",
                f"{best.difference + best.other_regret:.4f}",
                f"`{best.other}`",
                best.numbers,
            )
            rows.append([Cell((text,)) for text in (*texts, ratio)])
        blocks += [
            Paragraph(
                f"`{rule}` is the best of all rules that see {'rankings' if kind == 'rankings' else 'favourites'}, or "
                f"within {FAR:g} paired standard errors of it, in {within} of {len(rows)} columns."
            ),
            Table(["column", "regret", "best other rule", "difference to it", "to the best published rule"], rows),
        ]
    return [Heading("The exact posterior"), *blocks] if blocks else []


def _claims(reproduction: Reproduction) -> list[Block]:
    """Check what the text claims."""
    items = [
        f"{claim}: {verdict(differences)}."
        for claim, pairs in CLAIMS.items()
        if (differences := paired(reproduction, pairs))
    ]
    for rule, words in ((MANY, "1,000"), (LIMIT, f"infinitely many (`{LIMIT}`)")):
        if differences := paired(reproduction, [(FEW, rule)]):
            ratios = [1 + one.difference / one.other_regret for one in differences if one.other_regret]
            clear = sum(one.z > CLEAR for one in differences)
            items.append(
                f"100 Monte Carlo samples do almost as well as {words}: their regret is {min(ratios):.3f} to "
                f"{max(ratios):.3f} times that, higher by more than 2 standard errors in {clear} of {len(differences)} "
                "comparisons."
            )
    if not items:
        return []
    return [
        Heading("What the text claims"),
        Paragraph("Differences are paired: both rules on the same instances."),
        Bullets(items),
    ]


def reproduce(
    folder: str | PathLike[str],
    *,
    command: str = "vt.reproduce",
    force: bool = False,
    workers: int | None = 1,
    progress: Callable[[int, int], None] = no_progress,
    **settings: Any,
) -> Reproduction:
    """Measure the paper's tables and write results, report and figures into a folder.

    Parameters
    ----------
    folder
        Where to write. Finished chunks are kept there in ``chunks.jsonl``, so that a run that was interrupted, however
        it was, goes on where it stopped.
    command
        What the report says it was made by.
    force
        Whether to replace files in the folder that no earlier report left there.
    workers, progress
        As for :func:`veritally.experiments.tables.measure_tables`.
    **settings
        ``tables``, ``voters``, ``rules``, ``instances``, ``seed`` and ``backend``, as for
        :func:`veritally.experiments.tables.measure_tables`.
    """
    folder, plan = usable_path(folder), Plan.of(**settings)
    with Ledger(folder / "chunks.jsonl") as kept:
        if not force:
            _refuse_to_replace(folder, (*_FILES, _CONFIGURATION))
        reproduction = plan.measured(kept, workers, progress)
        write_report(reproduction, folder, command, force)
    return reproduction
