"""``veritally simulate``: votes with a known truth."""

from pathlib import Path
from typing import Any

import click

from veritally.checks import usable_path
from veritally.cli.options import force_option, make_scenario, scenario_options
from veritally.cli.screen import say
from veritally.errors import InputError
from veritally.files import refuse_to_replace, write_together
from veritally.model.simulation import simulate as simulate_
from veritally.votes.labels import counted

_EXAMPLES = """\b
Examples:
  veritally simulate simulated.csv truth.csv --scenario high-variance --voters 30 --instances 100
  veritally simulate votes.parquet truth.csv --experience specialists:2:40:1 --sigma 3 --ballots rank
  veritally compare --votes simulated.csv --truth truth.csv
"""


@click.command(epilog=_EXAMPLES, short_help="Simulate votes with a known truth.")
@click.argument("votes", type=click.Path(dir_okay=False))
@click.argument("truth", type=click.Path(dir_okay=False))
@scenario_options
@click.option("--instances", type=click.IntRange(min=1), default=1000, show_default=True, help="Number of decisions.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same votes.")
@force_option
def simulate(votes: str, truth: str, instances: int, seed: int, force: bool, **options: Any) -> None:
    """Simulate votes with a known truth, and write them to the files VOTES and TRUTH.

    VOTES is a tidy file for decide and compare, with the counts as voters report them. TRUTH is for compare. A part of
    a scenario is written as a name and numbers, such as uniform:1:49.
    """
    scenario = make_scenario(**options)
    paths = usable_path(votes), usable_path(truth)
    if paths[0].resolve() == paths[1].resolve():
        raise InputError(f"{votes}: votes and truth need two different files")
    if not force:
        for path in paths:
            refuse_to_replace(path, _is_simulated)
    trials = simulate_(scenario, instances=instances, seed=seed)
    profile = trials.profile.renamed("d", "v", "a")
    from veritally.io.frames import from_profile
    from veritally.io.truth import truth_table
    from veritally.io.votes import encoded
    from veritally.locks import held

    tables = (lambda: from_profile(profile), lambda: truth_table(trials.truth, profile))
    files = {path: encoded(table, path) for path, table in zip(paths, tables, strict=True)}
    with held(paths[0]), held(paths[1]):  # so that votes and truth are of the same drawing
        write_together(files)
    say(
        f"Wrote {counted(instances, 'decision')} of {counted(scenario.voters, 'voter')} on "
        f"{counted(scenario.alternatives, 'alternative')} ({scenario.votes}) to {votes}, and the truth to {truth}",
        err=True,
    )


def _is_simulated(path: Path) -> bool:
    """Whether a file has the columns and names that this command writes, and no others."""
    import polars as pl

    from veritally.io.frames import COLUMNS
    from veritally.io.votes import load

    try:
        table, _ = load(path)
    except InputError:
        return False
    names = [column for column in ("decision", "voter", "alternative") if column in table.columns]
    if not {"decision", "alternative"} <= set(names) or not set(table.columns) <= {*COLUMNS, "truth"}:
        return False
    numbered = (pl.col(name).cast(pl.String).str.contains(f"^{name[0]}[0-9]+$").all() for name in names)
    return all(table.select(numbered).row(0))
