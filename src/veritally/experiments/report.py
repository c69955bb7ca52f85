"""The report of a reproduction: tables, figures, what differs, and what the text claims."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from veritally.document import Block, Bullets, Cell, Figure, Heading, Paragraph, Table
from veritally.experiments.claims import (
    CLAIMS,
    CLEAR,
    EXACT,
    FEW,
    LIMIT,
    MANY,
    best_rivals,
    paired_differences,
    verdict,
)
from veritally.experiments.published import published
from veritally.experiments.rule_set import BEST_OF, Entry
from veritally.experiments.tables import Reproduction, Result

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
        "none of the six listed modifications gives the published figures. Neither do the authors' own later results: "
        "the notebook in their repository (spitis/objective_social_choice, 250,000 instances) has 1.2086 at 3 voters "
        "and 0.9633 at 10 for the best of the six."
    ),
    ("count-replacement", "top-lower-bound"): (
        "the rule as described does better than published, and more so with more voters. The other rules of this "
        "table agree, so the counts are replaced as in the paper."
    ),
}


def document(reproduction: Reproduction, command: str, figures: bool) -> list[Block]:
    """Return the report as blocks."""
    results = list(reproduction.results())
    setting = reproduction.configuration
    made_of = ", ".join(f"{name} {version}" for name, version in setting["versions"].items())
    blocks: list[Block] = [
        Heading("The paper's tables, reproduced", level=1),
        Paragraph(
            "Do the published tables come out again? Pitis & Zhang, Objective Social Choice (AAMAS 2020), compare "
            "rules by regret: the true quality of the best alternative less that of the chosen one. This report "
            f"measures their tables again, with 10 alternatives and {setting['instances']:,} instances a column. All "
            "rules see the same instances, and ties are broken at random."
        ),
        Paragraph(f"Made by `{command}` (seed {setting['seed']}; {setting['device']}; {made_of}).{_noted(setting)}"),
        *_agreement(results),
    ]
    cells = {(one.table, one.voters, one.rule): one for one in results}
    for table in reproduction.tables:
        title = _TITLES.get(table, table)
        blocks += [Heading(title), Paragraph(_condition(setting["tables"][table]))]
        if figures:
            blocks.append(Figure(table, f"{title}: regret against the number of voters; rings are published figures"))
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
            f"{len(near)} of {len(known)} published cells ({len(near) / len(known):.1%}) lie within |z| ≤ {FAR:g}. "
            "Here z is the difference in standard errors. These count the errors of both figures and the rounding of "
            "the published one."
        ),
    ]
    far: dict[tuple[str, str], list[Result]] = {}
    for one in known:
        if abs(one.z or 0) > FAR:
            far.setdefault((one.table, one.rule), []).append(one)
    items = []
    for (table, rule), cells in far.items():
        finding = _FINDINGS.get((table, rule), "nothing is known about this difference.")
        each = "; ".join(f"{one.regret:.4f} instead of {one.published:.4f} at {one.voters}" for one in cells)
        items.append(f"`{rule}` in {table} ({each} voters): {finding}")
    return [*blocks, Bullets(items)] if items else blocks


def _tables(reproduction: Reproduction, table: str, cells: Mapping[tuple[str, int, str], Result]) -> Iterator[Block]:
    """Yield the rules of the paper beside the published figures, and all others below."""
    voters, names = reproduction.voters, reproduction.names()
    printed = {rule for name, m, rule in published() if name == table and m in voters}
    columns = {(m, rule): cells[table, m, rule] for m in voters for rule in names}
    header = ["voters", *map(str, voters)]
    if theirs := [name for name in names if name in printed]:
        yield Paragraph(
            "Each cell shows the measured regret ± its standard error, and below it the published regret and z. Bold "
            "is the lowest regret for that kind of votes."
        )
        yield Table(header, _rows(theirs, voters, columns, beside_published=True))
    if others := [name for name in names if name not in printed]:
        yield Paragraph("Rules and variants that are not in the paper's table: measured regret ± standard error.")
        yield Table(header, _rows(others, voters, columns, beside_published=False))


def _rows(
    names: Iterable[str], voters: Iterable[int], columns: Mapping[tuple[int, str], Result], beside_published: bool
) -> list[list[Cell] | None]:
    """Return a row for each rule, by the kind of votes they take, with a line between kinds."""
    rows: list[list[Cell] | None] = []
    for kind in _KINDS:
        group = [name for name in names if _kind(name) == kind]
        if group and rows:
            rows.append(None)
        lowest = {m: min(columns[m, name].regret for name in group) for m in voters if group}
        for name in group:
            row = [Cell((f"`{name}`",))]
            for m in voters:
                one = columns[m, name]
                bold = beside_published and kind != "values" and one.regret == lowest[m]
                row.append(Cell(_lines(one, beside_published), bold))
            rows.append(row)
    return rows


_KINDS = ("values", "rankings", "top")


def _kind(name: str) -> str:
    family = name if name not in BEST_OF else name.rstrip("+")
    return Entry.of(family).votes or "values"  # a rule that takes any gets the finest


def _lines(one: Result, beside_published: bool) -> tuple[str, ...]:
    ours = f"{one.regret:.4f} ± {one.se:.4f}"
    if not beside_published or one.published is None or one.z is None:
        return (ours,)
    return ours, f"{one.published:.4f} ({one.z:+.1f})".replace("-", "−")


_BESIDE = ("column", "regret", "best other rule", "difference from it", "ratio to the best published rule")


def _exact(reproduction: Reproduction) -> list[Block]:
    """Put the exact posterior beside the best other rule, and the best published one, that see the same votes."""
    blocks: list[Block] = []
    for kind, rule in EXACT.items():
        if rule not in reproduction.rules:
            continue
        rows: list[list[Cell] | None] = []
        within = 0
        for table, voters in reproduction.sums:
            best, theirs = best_rivals(reproduction, table, voters, rule, kind)
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
                f"within {FAR:g} paired standard errors of the best, in {within} of {len(rows)} columns."
            ),
            Table(_BESIDE, rows),
        ]
    return [Heading("The exact posterior"), *blocks] if blocks else []


def _claims(reproduction: Reproduction) -> list[Block]:
    """Check what the text claims."""
    items = [
        f"{claim}: {verdict(differences)}."
        for claim, pairs in CLAIMS.items()
        if (differences := paired_differences(reproduction, pairs))
    ]
    for rule, words in ((MANY, "1,000"), (LIMIT, f"infinitely many (`{LIMIT}`)")):
        if differences := paired_differences(reproduction, [(FEW, rule)]):
            ratios = [1 + one.difference / one.other_regret for one in differences if one.other_regret]
            clear = sum(one.z > CLEAR for one in differences)
            items.append(
                f"100 Monte Carlo samples do almost as well as {words}: their regret is {min(ratios):.3f} to "
                f"{max(ratios):.3f} times as large. It is higher by more than 2 standard errors in {clear} of "
                f"{len(differences)} comparisons."
            )
    if not items:
        return []
    return [
        Heading("What the text claims"),
        Paragraph(
            "Do the statements in the paper's text hold? Each compares the regret of two rules on the same instances, "
            "so differences are paired."
        ),
        Bullets(items),
    ]
