"""``veritally reproduce``: the paper's four tables."""

import importlib.util
import shlex
from pathlib import Path
from typing import Any

import click

from veritally.cli.options import (
    cluster_option,
    force_option,
    parse_numbers,
    refuse_both,
    split_names,
    workers_option,
)
from veritally.cli.progress import progress_bar
from veritally.cli.screen import say, stop
from veritally.cluster import connected
from veritally.errors import InputError

_EXAMPLES = """\b
Examples:
  veritally reproduce
  veritally reproduce --tables low-variance --voters 3,10 --rules borda,case4,case4-normalized
  veritally reproduce --instances 100000 --out full              # the paper's size; can be interrupted and resumed
  veritally reproduce --instances 100000 --backend jax           # on a GPU, if there is one
  veritally reproduce --instances 100000 --cluster tcp://host:8786   # on a Dask cluster
  veritally reproduce --rules all,top-monte-carlo:samples=1000   # all rules, and one with a parameter
"""


@click.command(epilog=_EXAMPLES, short_help="Reproduce the paper's four tables.")
@click.option("--tables", metavar="NAME,NAME…", help="Tables to reproduce. Default: all four.")
@click.option("--voters", metavar="N,N…", help="Columns: numbers of voters. Default: 3,10,30,100,300.")
@click.option("--rules", metavar="NAME,NAME…", help="Rules to measure. Default: all but posterior, mle and score.")
@click.option("--instances", type=click.IntRange(min=2), default=2000, show_default=True, help="Decisions per column.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same numbers.")
@workers_option
@cluster_option
@click.option(
    "--backend",
    type=click.Choice(["numpy", "jax"]),
    default="numpy",
    show_default=True,
    help="Array library to compute with.",
)
@click.option(
    "--out", type=click.Path(file_okay=False), default="reproduction", show_default=True, help="Folder to write to."
)
@force_option
def reproduce(
    tables: str | None,
    voters: str | None,
    rules: str | None,
    instances: int,
    seed: int,
    workers: int | None,
    cluster: str | None,
    backend: Any,
    out: str,
    force: bool,
) -> None:
    """Reproduce the paper's four tables.

    Writes the results, plots, and a report that compares them with the published figures (Markdown, HTML, LaTeX) to a
    folder. To resume a run that was interrupted, give the same command again.
    """
    from veritally.cli.tables import print_reproduction
    from veritally.experiments.reproduce import reproduce as reproduce_

    refuse_both(workers, cluster)
    given = [("tables", tables), ("voters", voters), ("rules", rules), ("instances", instances), ("seed", seed)]
    usual = {"instances": 2000, "seed": 0, "backend": "numpy"}
    unusual = [(key, value) for key, value in [*given, ("backend", backend)] if value != usual.get(key)]
    options = [f"--{key} {shlex.quote(str(value))}" for key, value in unusual]
    shares: list[float] = []

    def report(done: int, work: int) -> None:
        shares.append(done / work)
        if len(shares) == 1 and done:
            say(f"Resuming at {shares[0]:.0%}, from what is kept in {out}", err=True)
        progress(shares[-1])

    try:
        with connected(cluster) as executor, progress_bar("Reproducing") as progress:
            reproduction = reproduce_(
                out,
                command=" ".join(["veritally reproduce", *options]),
                tables=split_names(tables),
                voters=None if voters is None else [_whole(number) for number in parse_numbers(voters, "--voters")],
                rules=split_names(rules),
                instances=instances,
                seed=seed,
                workers=workers,
                executor=executor,
                backend=backend,
                force=force,
                progress=report,
            )
    except KeyboardInterrupt:
        done = f"{max(shares, default=0):.0%} is done and kept in {out}"
        stop(f"{done}; to resume, give the same command again")
    except InputError as error:
        if cluster is None or not shares:
            raise
        raise InputError(f"{error} ({max(shares):.0%} is done and kept in {out})") from error
    print_reproduction(reproduction)
    if importlib.util.find_spec("matplotlib") is None:
        click.echo("The report has no figures; to add them, pip install 'veritally[plot]' and give the command again")
    say(f"Report: {Path(out) / 'README.md'} (and report.html, report.tex, results.csv, results.parquet)")


def _whole(number: float) -> Any:
    return int(number) if number % 1 == 0 else number
