"""``veritally compare``: which rule chooses best."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from veritally.cli.options import (
    cluster_option,
    file_options,
    force_option,
    make_scenario,
    parse_sigma,
    parse_vary,
    refuse_both,
    scenario_options,
    split_names,
    workers_option,
)
from veritally.cli.plugins import plugin_option
from veritally.cli.progress import progress_bar
from veritally.cli.screen import say
from veritally.cluster import connected
from veritally.errors import InputError
from veritally.records import join_names

if TYPE_CHECKING:
    from veritally.datasets import Dataset
    from veritally.experiments.compare import Comparison
    from veritally.experiments.sweep import Sweep

_OF_FILES = ("ballots", "file", "columns", "counts", "unranked", "confidence", "verdicts")  # only about votes in a file
_EXAMPLES = """\b
Examples:
  veritally compare --scenario low-variance --voters 3
  veritally compare --rules borda,pairwise,mean --experience specialists:2:40:1 --instances 10000
  veritally compare --rules top-zero,top-monte-carlo:samples=1000 --baseline plurality
  veritally compare --scenario low-variance --vary voters=3,10,30,100 --plot voters.pdf --plot-width 3.3
  veritally compare --votes votes.csv --truth truth.csv --json
  veritally compare --dataset flights13 --placebo 10
"""


@click.command(epilog=_EXAMPLES, short_help="Compare rules on votes with a known truth.")
@plugin_option
@click.option(
    "--rules",
    metavar="NAME,NAME…",
    help="Rules to compare. Default: all that can use the votes, except mle and score, which are slower, and "
    "posterior, unless it decides the votes of --votes within seconds.",
)
@click.option("--votes", "file", metavar="FILE", help="A vote file to compare on, instead of simulated votes.")
@click.option(
    "--truth",
    metavar="FILE",
    help="The truth for --votes: a table with the columns alternative and truth, and if needed decision and cluster.",
)
@file_options
@click.option("--dataset", metavar="NAME", help="Real votes from veritally: flights13, llmfao, mqm or polls538.")
@click.option(
    "--placebo",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="For real votes: swap the counts between voters at random, N times, to measure what the counts are worth.",
)
@scenario_options
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=LEVEL,LEVEL…",
    callback=lambda _context, _option, texts: parse_vary(texts),
    help="Simulate at several levels of one quantity, such as voters=3,10,30 or sigma=1,3,10. It can be voters, "
    "alternatives, sigma, prior, experience, noise or count-error.",
)
@click.option(
    "--baseline", metavar="NAME", help="The rule to compare the others with. Default: borda, or else the first rule."
)
@click.option(
    "--instances",
    type=click.IntRange(min=2),
    default=2000,
    show_default=True,
    help="Number of decisions to simulate.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of simulated votes, random ties and random rules.",
)
@workers_option
@cluster_option
@click.option(
    "--backend",
    type=click.Choice(["numpy", "jax"]),
    default="numpy",
    show_default=True,
    help="Array library to compute with.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a plot of the regrets.")
@click.option(
    "--plot-width",
    type=click.FloatRange(2, 40),
    metavar="INCHES",
    help="Width of the plot: 3.3 for one of two columns of a paper. Default: 8.",
)
@force_option
def compare(
    rules: str | None,
    file: str | None,
    truth: str | None,
    columns: dict[str, str] | None,
    counts: str | None,
    unranked: Any,
    confidence: dict[str, float] | None,
    verdicts: list[str] | None,
    dataset: str | None,
    placebo: int,
    baseline: str | None,
    instances: int,
    seed: int,
    workers: int | None,
    cluster: str | None,
    backend: Any,
    vary: dict[str, list[float | str]] | None,
    as_json: bool,
    plot: str | None,
    plot_width: float | None,
    force: bool,
    ballots: Any,
    **options: Any,
) -> None:
    """Compare rules by regret, accuracy and rank correlation, all on the same votes.

    The votes come from a simulated scenario, from a vote file with a truth file, or from a data set. Ties are broken at
    random. Decisions of one cluster, such as elections of one year, may err together. The standard errors allow for
    this on data sets, and with a truth file that has a column cluster.
    """
    from veritally.datasets import load
    from veritally.experiments.compare import compare as compare_
    from veritally.io.votes import read

    if plot_width is not None and plot is None:
        raise InputError("--plot-width is the width of a plot; give the plot with --plot FILE")
    if plot is not None:
        from veritally.plots import require_picture

        require_picture(plot, force)
    if (file is None) != (truth is None):
        hint = "; to set what simulated voters report, use --ballots" if file in ("values", "rankings", "top") else ""
        raise InputError(f"give both --votes and --truth, or neither to simulate votes{hint}")
    wanted: dict[str, Any] = {"rules": split_names(rules), "baseline": baseline, "seed": seed, "placebo": placebo}
    data = None if dataset is None else load(dataset)
    if data is not None or file is not None:
        wanted |= _only_sigma(options, "--votes" if data is None else "--dataset")
        votes = data or read(
            file,
            ballots=ballots,
            counts=counts,
            unranked=unranked,
            confidence=confidence,
            columns=columns,
            verdicts=verdicts,
        )
        comparison: Comparison | Sweep = compare_(votes, truth=truth, **wanted)
    else:
        if any(given is not None for given in (columns, counts, unranked, confidence, verdicts)):
            about = "--columns, --counts, --unranked, --confidence and --verdicts describe a vote file"
            raise InputError(f"{about}; give it with --votes")
        wanted |= {"instances": instances, "workers": workers, "backend": backend}
        refuse_both(workers, cluster)
        for quantity in vary or ():
            if options.get(quantity) is not None:
                option = quantity.replace("_", "-")
                raise InputError(f"--{option} is what --vary varies; leave --{option} out")
        scenario = make_scenario(ballots=ballots, **options)
        with connected(cluster) as executor, progress_bar("Comparing") as progress:
            comparison = compare_(scenario, vary=vary, executor=executor, progress=progress, **wanted)
    if as_json:
        for row in comparison.rows():
            click.echo(json.dumps(row))
    else:
        _print(comparison, data, by_default=rules is None)
    if plot is not None:
        comparison.plot(plot, **({} if plot_width is None else {"width": plot_width}))
        say(f"Saved {plot}{_left_out(comparison)}", err=True)


def _print(comparison: "Comparison | Sweep", data: "Dataset | None", by_default: bool) -> None:
    """Print the table, what it leaves out by default, and where a data set comes from."""
    from veritally.cli.tables import print_comparison, print_sweep
    from veritally.experiments.sweep import Sweep

    if isinstance(comparison, Sweep):
        print_sweep(comparison)
    else:
        print_comparison(comparison)
        if comparison.instances == 1:
            click.echo("One decision cannot tell rules apart: which of them choose better, only several can show.")
    if by_default:
        slow = [name for name in ("posterior", "mle", "score") if name not in comparison.rules]
        click.echo(f"Left out, because they are slower: {join_names(slow)}. To add one: --rules all,{slow[0]}.")
    if data is not None:
        click.echo(f"{data.name}: {data.summary}. {data.licence}, {data.attribution}.")


def _left_out(comparison: "Comparison | Sweep") -> str:
    """Say that a plot has only some of the rules of a table."""
    every, drawn = len(comparison.rules), len(getattr(comparison, "drawn", comparison.rules))
    more = "the table has the others, and --rules draws those that it names"
    return "" if drawn == every else f" with {drawn} of {every} rules, the best on average; {more}"


def _only_sigma(options: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return sigma, the one option of a scenario that votes from elsewhere take too, if it is given."""
    others = {key: value for key, value in options.items() if key != "sigma"}
    _refuse_unused(others, source)
    return {} if options["sigma"] is None else {"sigma": parse_sigma(options["sigma"])}


def _refuse_unused(options: Mapping[str, Any], source: str) -> None:
    """Refuse what is for simulated votes, where votes come from elsewhere."""
    source_of = click.get_current_context().get_parameter_source
    several = (
        "vary",
        "instances",
        "workers",
        "cluster",
        "backend",
        *(_OF_FILES if source == "--dataset" else ()),
    )
    unused = [key for key in several if source_of(key) is ParameterSource.COMMANDLINE]
    given = next((key for key, value in options.items() if value is not None), unused[0] if unused else None)
    if given is not None:
        option = {"name": "scenario", "file": "votes"}.get(given, given).replace("_", "-")
        what = "for your own vote file" if given in _OF_FILES else "for simulated votes"
        raise InputError(f"--{option} is {what}; with {source} leave it out")
