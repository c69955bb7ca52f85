"""``veritally compose``: who should spend a budget of looks."""

import json
from typing import TYPE_CHECKING, Any

import click

from veritally.cli.options import cluster_option, force_option, split_names
from veritally.cli.progress import progress_bar
from veritally.cli.saving import require_files
from veritally.cli.screen import say
from veritally.cluster import connected
from veritally.errors import InputError, quoted
from veritally.files import write_whole

if TYPE_CHECKING:
    from veritally.planning.group_comparison import GroupComparison

_COLUMNS = b"voters,votes,known,specialists,elsewhere"  # with which the file begins
_EXAMPLES = """\b
Examples:
  veritally compose --alternatives 10 --sigma 10 --looks 1000
  veritally compose --looks 1000 --most-looks 50 --votes rankings
  veritally compose --budget 5000 --voter-cost 100 --look-cost 5 --plot groups.svg
  veritally compose --omega 0.5 --families 3,own --voters 3,6,12,24 --votes values
"""


@click.command(epilog=_EXAMPLES, short_help="Find out which group should spend a budget of looks.")
@click.option("--alternatives", type=int, default=10, show_default=True, help="Number of alternatives.")
@click.option("--sigma", type=float, default=10.0, show_default=True, help="Standard deviation of one look.")
@click.option("--looks", type=int, help="How many looks there are to share out. Default: 1000.")
@click.option("--budget", type=float, metavar="N", help="Instead of --looks: what may be spent on voters and looks.")
@click.option("--voter-cost", type=float, default=0.0, show_default=True, help="What each voter costs.")
@click.option("--look-cost", type=float, default=1.0, show_default=True, help="What each look costs.")
@click.option("--most-looks", type=int, metavar="N", help="The most looks that one voter can make. Default: no limit.")
@click.option(
    "--votes",
    metavar="KIND,KIND…",
    default="values,rankings,favourites",
    show_default=True,
    help="What voters may report.",
)
@click.option(
    "--voters",
    metavar="N,N…",
    help="Numbers of voters to try. Default: 1, 2, 5, 10, … up to 200, or 1000 where fewer cannot make all looks.",
)
@click.option(
    "--known",
    metavar="N,N…",
    help="Numbers of alternatives that specialists may know. Default: 1, 2, 3 and half of them.",
)
@click.option(
    "--families",
    metavar="N,N…",
    default="own",
    show_default=True,
    help="Numbers of families that voters may come from; own for a family of their own each.",
)
@click.option(
    "--omega",
    type=float,
    default=0.0,
    show_default=True,
    help="Standard deviation of the error that a family has about each alternative, however much it sees.",
)
@click.option("--tau", type=float, default=1.0, show_default=True, help="Standard deviation of the truths.")
@click.option("--instances", type=int, default=1000, show_default=True, help="Number of decisions to simulate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of simulated truths and looks.")
@cluster_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Save all groups as a CSV file.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a plot of the regrets.")
@force_option
def compose(
    votes: str,
    voters: str | None,
    known: str | None,
    families: str,
    cluster: str | None,
    as_json: bool,
    out: str | None,
    plot: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Find out which group of voters chooses best with a budget of looks.

    Few voters with many looks each, or many with few; generalists, who see everything, or specialists, who know some
    alternatives; votes that are values, rankings or favourites. They choose one alternative. All groups are simulated
    on the same truths and looks, and decide by the rule posterior, which knows the noise. Groups that are clearly worse
    are left early. After an interruption, the command prints what it knows by then.
    """
    from veritally.planning.compose import compose as compose_

    require_files(plot, force, (out, ".csv", _COLUMNS))
    rounds: list[GroupComparison] = []
    with connected(cluster) as executor, progress_bar("Composing groups") as progress:
        try:
            found = compose_(
                votes=split_names(votes) or [],
                voters=None if voters is None else _whole_numbers(voters, "--voters"),
                known=None if known is None else _whole_numbers(known, "--known"),
                families=[
                    None if one == "own" else _whole_numbers(one, "--families")[0] for one in families.split(",")
                ],
                progress=progress,
                finished=rounds.append,
                executor=executor,
                **options,
            )
        except KeyboardInterrupt:
            if not rounds:
                raise
            found = rounds[-1]
            progress.hide()
            say("Interrupted: this is what was known before.", err=True)
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        from veritally.cli.groups import print_groups

        print_groups(found)
    if out is not None:
        write_whole(out, found.to_frame().write_csv().encode())
        say(f"Saved {out}", err=True)
    if plot is not None:
        from veritally.plots import save_groups

        save_groups(found, plot)
        say(f"Saved {plot}", err=True)


def _whole_numbers(text: str, option: str) -> list[int]:
    """Read whole numbers separated by commas."""
    try:
        return [int(item) for item in text.split(",")]
    except ValueError:
        also = ", or own" if option == "--families" else ""
        raise InputError(f"{option} takes whole numbers separated by commas{also}, not {quoted(text)}") from None
