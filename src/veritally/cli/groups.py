"""Groups of voters and how well they choose, for people to read."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from veritally.cli.screen import Text
from veritally.experiments.measures import with_error

if TYPE_CHECKING:
    from veritally.planning.group_comparison import ComparedGroup, GroupComparison

_WIDEST = 120


def print_groups(found: "GroupComparison") -> None:
    """Print the best group, those that are not clearly worse, and what the usual ones cost, for each kind of votes."""
    console = Console(highlight=False)
    console.width = max(console.width, _WIDEST)
    now, best = found.circumstances, found.best
    errors = f", ω = {now.omega:g}" if now.omega else ""
    console.print(Text(f"{now.alternatives} alternatives, σ = {now.sigma:g}, τ = {now.tau:g}{errors}; {found.budget}"))
    number = sum(group.asked for group in found.groups)
    console.print(
        Text(
            f"Best of {number} {'group' if number == 1 else 'groups'}: {best.composition}, regret {_number(best)}",
            style="bold",
        )
    )
    if best.composition.voters == 1 and not now.omega:
        console.print(Text(_ONE), soft_wrap=True)
    for kind in found.votes:
        part = found.among(kind)
        console.print()
        console.print(_table(part, f"{kind}: not clearly worse than the best of them"))
        for name, row in part.usual.items():
            console.print(
                Text(f"{_usual(row)}: {name} ({row.composition}): regret {_number(row)}, {_price(row)}"),
                soft_wrap=True,
            )
    console.print()
    console.print(Text("± standard errors; a group is clearly worse from two paired standard errors on."))


_ONE = (
    "Voters here differ only in what they see, so one who sees everything loses nothing. "
    "Say what one voter cannot do: --most-looks, or --omega for errors that looking does not mend."
)


def _table(part: "GroupComparison", title: str) -> Table:
    """Return a row for each way to share out looks, with the numbers of voters that do well."""
    table = Table(box=None, header_style="dim", pad_edge=False, title=title, title_justify="left")
    table.add_column("experience", no_wrap=True)
    for name in ("voters", "best with", "looks", "cost", "regret", "− best"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = sorted(part.not_clearly_worse, key=lambda row: (row.difference, row.composition.voters))
    shown: dict[str, list[ComparedGroup]] = {}
    alike = [row for row in rows if row.difference == row.difference_se == 0]
    kinds = len({_experience(row) for row in alike})
    every = f"any of {kinds} kinds"
    for row in rows:
        shown.setdefault(every if kinds > 1 and row in alike else _experience(row), []).append(row)
    for name, own in shown.items():
        best = own[0]
        table.add_row(
            Text(name),
            ", ".join(str(m) for m in sorted({row.composition.voters for row in own})),
            str(best.composition.voters),
            f"{best.looks:,}",
            f"{best.cost:,g}",
            _number(best),
            with_error(best.difference, best.difference_se, best.regret),
        )
    return table


def _experience(row: "ComparedGroup") -> str:
    families = row.composition.families
    return row.composition.experience + ("" if families is None else f", families: {families}")


def _number(row: "ComparedGroup") -> str:
    return with_error(row.regret, row.se, row.regret)


def _usual(row: "ComparedGroup") -> str:
    return "Usual" if row.asked else "Usual, not asked for"


def _price(row: "ComparedGroup") -> str:
    if not row.difference and not row.difference_se:
        return "the best or as good"
    if row.difference < 0:  # it was not asked for
        return f"better by {with_error(-row.difference, row.difference_se, row.regret)} than the best asked for"
    clearly = "" if row.clearly_worse else ", not clearly worse"
    return f"{with_error(row.difference, row.difference_se, row.regret)} above the best{clearly}"
