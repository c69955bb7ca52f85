"""``veritally simulate``: votes with a known truth."""

from typing import Any

import click

from veritally.cli.options import made, scenario_options
from veritally.noise.simulation import simulate as simulate_

_EXAMPLES = """\b
Examples:
  veritally simulate votes.csv truth.csv --scenario high-variance --voters 30 --instances 100
  veritally simulate votes.parquet truth.csv --experience specialists:2:40:1 --sigma 3 --ballots rank
  veritally compare --votes votes.csv --truth truth.csv
"""


@click.command(epilog=_EXAMPLES, short_help="Draw votes with a known truth.")
@click.argument("votes", type=click.Path(dir_okay=False))
@click.argument("truth", type=click.Path(dir_okay=False))
@scenario_options
@click.option("--instances", type=click.IntRange(min=1), default=100, show_default=True, help="Number of decisions.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same votes.")
def simulate(votes: str, truth: str, instances: int, seed: int, **options: Any) -> None:
    """Draw votes with a known truth: a tidy file VOTES and a file TRUTH that decide and compare read back.

    VOTES has the counts as reported. Parts of a scenario are written as a name and numbers, such as uniform:1:49.
    """
    scenario = made(**options)
    trials = simulate_(scenario, instances=instances, seed=seed)
    from veritally.io.truth import write_truth
    from veritally.io.votes import format_for, write

    format_for(truth)
    write(trials.profile, votes)
    write_truth(trials.truth, trials.profile, truth)
    click.echo(
        f"Wrote {instances} decisions of {scenario.voters} voters on {scenario.alternatives} alternatives "
        f"({scenario.votes}) to {votes}, and the truth to {truth}",
        err=True,
    )
