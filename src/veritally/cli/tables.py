"""Tables of rules, for people to read: what they are, and how well they choose."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from veritally.cli.screen import Text
from veritally.rules.info import RuleInfo

if TYPE_CHECKING:
    from veritally.document import Table as Shown
    from veritally.experiments.compare import Comparison
    from veritally.experiments.sweep import Sweep
    from veritally.experiments.tables import Reproduction, Result

_WIDEST = 120  # of a table of numbers, which rather wraps than loses digits


def print_rules(rules: Iterable[RuleInfo]) -> None:
    """Print the list of rules, two lines each."""
    console = Console(highlight=False)
    for info in rules:
        aliases = f" ({', '.join(info.aliases)})" if info.aliases else ""
        facts = [
            info.taken,
            "uses counts" if info.uses_counts else "ignores counts",
            "random" if info.stochastic else "deterministic",
            f"cost {info.cost}",
            info.reference,
        ]
        console.print(Text.assemble((info.name, "bold"), f"{aliases}: {info.summary}"), soft_wrap=True)
        console.print(Text(f"    {'; '.join(facts)}", style="dim"), soft_wrap=True)


def print_comparison(comparison: "Comparison") -> None:
    """Print a rule in each line, that of the lowest regret first."""
    _print_table(comparison.table(), f"{comparison.about}; ± standard errors; * may have the lowest regret (95%)")


def print_sweep(sweep: "Sweep") -> None:
    """Print the regrets: a rule in each line, a level in each column."""
    _print_table(sweep.table(), f"Regret ± standard error; {sweep.about}; * may be the lowest at its level (95%)")


def _print_table(shown: "Shown", heading: str) -> None:
    console = Console(highlight=False)
    console.width = max(console.width, _WIDEST)
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column, title in enumerate(shown.header):
        table.add_column(title, justify="right" if column else "left", no_wrap=True)
    for row in filter(None, shown.rows):
        table.add_row(*(Text(cell.lines[0], style="bold green" if cell.bold else "") for cell in row))
    console.print(Text(heading))
    console.print(table)


def print_reproduction(reproduction: "Reproduction") -> None:
    """Print each table: regrets with standard errors, and below them what was published, what is far from it marked."""
    from veritally.experiments.report import FAR

    console = Console(highlight=False)
    console.width = max(console.width, _WIDEST)
    results = list(reproduction.results())
    cells = {(one.table, one.voters, one.rule): one for one in results}
    known = [one.z for one in results if one.z is not None]
    below = "; below, the published regret and z" if known else ""
    for name in reproduction.tables:
        console.print(Text(f"{name}: regret ± standard error{below}", style="italic"), soft_wrap=True)
        table = Table(box=None, header_style="dim", pad_edge=False)
        table.add_column("voters", no_wrap=True)
        for m in reproduction.voters:
            table.add_column(f"{m} ", justify="right", no_wrap=True)
        for rule in reproduction.names():
            table.add_row(Text(rule), *(_beside_published(cells[name, m, rule], FAR) for m in reproduction.voters))
        console.print(table)
        console.print()
    if known:
        near = sum(abs(z) <= FAR for z in known)
        far = "; ! marks the others" if near < len(known) else ""
        told = f"{near} of {len(known)} published cells lie within {FAR:g} standard errors (|z| ≤ {FAR:g}){far}."
        console.print(Text(told))


def _beside_published(one: "Result", far: float) -> Text:
    """Return a cell of one or two lines, each with room for a mark at its end."""
    cell = Text(f"{one.regret:.4f}±{one.se:.4f} ")
    if one.published is not None and one.z is not None:
        mark, style = ("!", "bold") if abs(one.z) > far else (" ", "dim")
        cell.append(f"\n{one.published:.4f} ({one.z:+.1f}){mark}", style)
    return cell
