"""``veritally reproduce``: the paper's four tables."""

import importlib.util
import shlex
from pathlib import Path
from typing import Any

import click

from veritally.cli.options import force_option, parse_numbers, split_names
from veritally.cli.progress import progress_bar
from veritally.cli.screen import say

_EXAMPLES = """\b
Examples:
  veritally reproduce
  veritally reproduce --tables low-variance --voters 3,10 --rules borda,case4,case4-normalized
  veritally reproduce --instances 100000 --out full              # the paper's size; can be interrupted and resumed
  veritally reproduce --instances 100000 --backend jax           # on a GPU, if there is one
  veritally reproduce --rules all,top-monte-carlo:samples=1000   # all rules, and one with a parameter
"""


@click.command(epilog=_EXAMPLES, short_help="Measure the paper's four tables anew.")
@click.option("--tables", metavar="NAME,NAME…", help="Which tables; by default all four.")
@click.option("--voters", metavar="N,N…", help="Which columns; by default 3,10,30,100,300.")
@click.option("--rules", metavar="NAME,NAME…", help="Which rules; by default all.")
@click.option("--instances", type=click.IntRange(min=2), default=2000, show_default=True, help="Instances a column.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same numbers.")
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes; by default one a core.")
@click.option("--backend", type=click.Choice(["numpy", "jax"]), default="numpy", show_default=True)
@click.option("--out", type=click.Path(file_okay=False), default="reproduction", show_default=True, help="Folder.")
@force_option
def reproduce(
    tables: str | None,
    voters: str | None,
    rules: str | None,
    instances: int,
    seed: int,
    workers: int | None,
    backend: Any,
    out: str,
    force: bool,
) -> None:
    """Measure the paper's four tables anew.

    Writes results, figures and a report beside the published figures (Markdown, HTML, LaTeX) into a folder. A run that
    was interrupted goes on where it stopped when the same command is given again.
    """
    from veritally.cli.tables import print_reproduction
    from veritally.experiments.reproduce import reproduce as reproduce_

    given = [("tables", tables), ("voters", voters), ("rules", rules), ("instances", instances), ("seed", seed)]
    usual = {"instances": 2000, "seed": 0, "backend": "numpy"}
    unusual = [(key, value) for key, value in [*given, ("backend", backend)] if value != usual.get(key)]
    said = [f"--{key} {shlex.quote(str(value))}" for key, value in unusual]
    shares: list[float] = []

    def report(done: int, work: int) -> None:
        shares.append(done / work)
        if len(shares) == 1 and done:
            say(f"Going on from {shares[0]:.0%}, which is kept in {out}", err=True)
        progress(shares[-1])

    try:
        with progress_bar("Reproducing") as progress:
            reproduction = reproduce_(
                out,
                command=" ".join(["veritally reproduce", *said]),
                tables=split_names(tables),
                voters=None if voters is None else [_whole(number) for number in parse_numbers(voters, "--voters")],
                rules=split_names(rules),
                instances=instances,
                seed=seed,
                workers=workers,
                backend=backend,
                force=force,
                progress=report,
            )
    except KeyboardInterrupt:
        say(f"{max(shares, default=0):.0%} is done and kept in {out}; the same command goes on from there", err=True)
        raise
    print_reproduction(reproduction)
    if importlib.util.find_spec("matplotlib") is None:
        click.echo("The report has no figures; for these, pip install 'veritally[plot]' and give the command again")
    say(f"Report: {Path(out) / 'README.md'} (and report.html, report.tex, results.csv, results.parquet)")


def _whole(number: float) -> Any:
    return int(number) if number % 1 == 0 else number
