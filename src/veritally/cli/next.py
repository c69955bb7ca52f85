"""``veritally next``: who should look at what, and when to stop."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np
from rich.table import Table

from veritally.cli.options import file_options, force_option, groups_option, lower_is_better_option, parse_sigma
from veritally.cli.progress import progress_bar
from veritally.cli.saving import require_files, require_others
from veritally.cli.screen import Screen, Text, say
from veritally.errors import InputError, quoted
from veritally.files import write_whole
from veritally.io.votes import read
from veritally.panel.files import read_panel
from veritally.progress import listening
from veritally.votes.ballots import SingleKind
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veritally.planning.limits import Look
    from veritally.planning.plan import Plan

_SHOWN = 5  # single offers, beside the plan
_HEADER = b"voter,voters,alternative,"  # with which assignments begin
_EXAMPLES = """\b
Examples:
  veritally next votes.csv --budget 20
  veritally next reviews.csv --budget 10 --choose 8 --look usual --per-pair 1 --conflicts conflicts.csv
  veritally next battles.jsonl --budget 200 --round 50 --until 0.95
  veritally next votes.csv --budget 100 --cost costs.csv --out assignments.csv --plot budget.svg
"""


@click.command(epilog=_EXAMPLES, short_help="Say who should look at what, and when to stop.")
@click.argument("file")
@click.option("--budget", type=float, required=True, metavar="N", help="What may be spent; a look costs 1 by default.")
@click.option("--cost", metavar="N | FILE", help="What a look costs: a number, or a table with voter and cost.")
@click.option("--choose", type=click.IntRange(min=1), default=1, metavar="K", help="How many are chosen. Default: 1.")
@click.option(
    "--until",
    type=float,
    metavar="P",
    help="Ask nothing if what is chosen is best with this chance; of several, the least sure of them among the best.",
)
@click.option(
    "--price", type=float, default=0.0, metavar="N", help="The regret that is worth one unit of cost. Default: 0."
)
@click.option("--may", metavar="FILE", help="Who may look at what: a table with the columns voter and alternative.")
@click.option("--conflicts", metavar="FILE", help="Who may not look at what: a table of the same columns.")
@click.option("--per-voter", type=click.IntRange(min=1), metavar="N", help="The most looks of one voter.")
@click.option(
    "--per-pair",
    type=float,
    metavar="N",
    help="The most looks of one voter at one alternative, with those made already.",
)
@click.option(
    "--look",
    metavar="N | usual",
    default="1",
    show_default=True,
    help="What one look adds to a count: a number, or usual for the mean of the counts that a voter has.",
)
@click.option("--round", "a_round", type=click.IntRange(min=1), metavar="N", help="The most looks in this plan.")
@click.option("--newcomers/--no-newcomers", default=True, help="Whether people who have not voted can be asked.")
@click.option(
    "--newcomer",
    metavar="N | FILE",
    help="How often somebody new looks at each alternative: a number, or a table with alternative and count.",
)
@click.option("--panel", metavar="FILE", help="Which voters share errors: a JSON file of veritally panel or vt.Panel.")
@groups_option
@click.option("--sigma", metavar="N | N,N…", help="Standard deviation of one observation, if it is known.")
@click.option("--tau", type=float, help="Standard deviation of the truths, if it is known.")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Save who looks at what: .csv")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save expected regret against budget.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Of draws, which rankings and favourites are valued by."
)
@click.option("--ballots", type=click.Choice(["value", "rank", "top"]), help="What the votes are.")
@file_options
@lower_is_better_option
@force_option
def next(  # noqa: A001 (the command's name)
    file: str,
    budget: float,
    cost: str | None,
    choose: int,
    until: float | None,
    price: float,
    may: str | None,
    conflicts: str | None,
    per_voter: int | None,
    per_pair: float | None,
    a_round: int | None,
    look: str,
    newcomers: bool,
    newcomer: str | None,
    panel: str | None,
    groups: str | None,
    sigma: str | None,
    tau: float | None,
    out: str | None,
    plot: str | None,
    as_json: bool,
    seed: int,
    force: bool,
    **options: Any,
) -> None:
    """Say which further looks at the votes in FILE are worth most: who should look at what, or who else to ask.

    Looks are worth what they are expected to save: the quality that is lost by choosing now. They are planned in
    blocks, since a single one often cannot change the choice.
    """
    from veritally.io.planning import read_allowed, read_conflicts, read_costs, read_newcomer
    from veritally.planning.plan import next_looks

    require_files(plot, force, (out, ".csv", _HEADER))
    tables = {"who may look": may, "conflicts": conflicts, "costs": cost, "somebody new": newcomer}
    others = {"the votes": file, "the counts": options.get("counts"), "the panel": panel, "groups": groups}
    require_others((out, plot), others | tables, "the plan")
    if panel is not None and groups is not None:
        raise InputError("--panel and --groups both say who belongs together; give one of them")
    profile = read(file, groups=groups, **options)
    _require_plain(profile, file)
    given = {"sigma": None if sigma is None else parse_sigma(sigma), "tau": tau}
    with progress_bar(f"Planning for {Path(file).name}") as show, listening(show):
        plan = next_looks(
            profile,
            budget=budget,
            cost=1.0 if cost is None else _number_or(cost, "--cost", read_costs, profile),
            panel=None if panel is None else read_panel(panel),
            choose=choose,
            until=until,
            price=price,
            may=None if may is None else read_allowed(may, profile),
            conflicts=() if conflicts is None else read_conflicts(conflicts, profile),
            newcomers=newcomers,
            newcomer=None if newcomer is None else _number_or(newcomer, "--newcomer", read_newcomer, profile),
            per_voter=per_voter,
            per_pair=per_pair,
            a_round=a_round,
            look=_look(look),
            seed=seed,
            **{name: value for name, value in given.items() if value is not None},
        )
    if out is not None:
        write_whole(out, plan.assignments().write_csv().encode())
        say(f"Saved {out}", err=True)
    if plot is not None:
        from veritally.plots import save_plan

        save_plan(plan, plot)
        say(f"Saved {plot}", err=True)
    if as_json:
        say(plan.to_json())
    else:
        _print(plan, _what_a_look_is(profile) if look == "1" else "")


def _print(plan: "Plan", note: str) -> None:
    screen = Screen(highlight=False)
    screen.print(Text(f"Choosing now: {plan.chance}"))
    screen.print(Text(f"Expected regret of that: {plan.regret:.3g} ({plan.unit})"))
    if note:  # before the table, whose numbers are in looks
        screen.print(Text(note), soft_wrap=True)
    if plan.looks:
        screen.print(_table(plan.tasks, "Look next"))
        screen.print(
            Text(f"All of it: {plan.cost:g} spent, expected regret {plan.regret:.3g} → {plan.regret_after:.3g}")
        )
    screen.print(Text(plan.reason))
    others = [look for look in plan.offers if look.gain > 0][:_SHOWN]
    if others and not plan.looks:
        screen.print(_table(others, "Worth most, each alone"))


def _table(looks: "Sequence[Look]", title: str) -> Table:
    """Return looks as a table, one a line."""
    table = Table(box=None, header_style="dim", pad_edge=False, title=title, title_justify="left", title_style="bold")
    for name in ("who", "looks at"):
        table.add_column(name, overflow="fold")
    for name in ("looks", "cost", "worth"):
        table.add_column(name, justify="right", no_wrap=True)
    for look in looks:
        who = f"{look.voter}" if look.voters == 1 else f"{look.voter} ({look.voters})"
        names = list(map(str, look.alternatives))
        if len(set(look.times)) > 1:
            names = [f"{name} ({times:,})" for name, times in zip(names, look.times, strict=True)]
        at = " against ".join(names) if look.compared else ", ".join(names[:3]) + (", …" if names[3:] else "")
        number = f"{look.looks:,}" if look.voters == 1 else f"{look.voters} × {look.each:,}"
        table.add_row(*map(Text, (who, at, number, f"{look.cost:g}", f"{look.gain:.2g}")))
    return table


def _what_a_look_is(profile: Profile) -> str:
    """Say what a look is, where counts are not simply how often somebody looked."""
    counts = np.asarray(profile.counts)
    if np.all((counts == 0) | (counts == 1)):
        return ""
    if isinstance(profile.ballots, Pairs):
        return ""
    what = (
        "a review is as many looks as its confidence counts for" if profile.confidence is not None else "not one vote"
    )
    return f"A look is one unit of count, {what}. To plan votes, such as reviews: --look usual --per-pair 1"


def _look(text: str) -> float | Literal["usual"]:
    """Read what a look adds to a count."""
    if text == "usual":
        return "usual"
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--look takes a number or usual, not {quoted(text)}") from None


def _number_or(text: str, option: str, read_table: Any, profile: Any) -> Any:
    """Read a number, or what a file says."""
    if not text.strip():
        raise InputError(f"{option} takes a number or a file, not nothing")
    try:
        return float(text)
    except ValueError:
        return read_table(text, profile)


def _require_plain(profile: Profile, file: str) -> None:
    """Refuse what next_looks refuses, in the words of the command."""
    if profile.batch:
        raise InputError(f"{file}: has {profile.batch[0]} decisions; looks are planned for one, so give a file of one")
    if not isinstance(profile.ballots, SingleKind):
        raise InputError(f"{file}: has votes of several kinds; say with --ballots which of them to plan for")
