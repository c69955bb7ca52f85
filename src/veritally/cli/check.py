"""``veritally check``: say what was understood."""

from typing import Any

import click

from veritally.cli.options import file_options
from veritally.cli.progress import working
from veritally.cli.screen import say
from veritally.io.votes import read
from veritally.labels import visible

_EXAMPLES = """\b
Examples:
  veritally check votes.csv
  veritally check votes.csv --ballots rank
  veritally check election.soi --unranked below
"""


@click.command(epilog=_EXAMPLES, short_help="Say what was understood of a vote file.")
@click.argument("file")
@click.option("--ballots", type=click.Choice(["value", "rank", "top"]), help="What the votes are.")
@file_options
def check(file: str, **options: Any) -> None:
    """Say what was understood of the votes in FILE, of any form that decide takes, and anything odd about them."""
    from veritally.description import describe

    with working(file):
        description = describe(read(file, **options))
    for label, text in description.lines():
        say(f"{label + ':':14} {text}")
    for oddity in description.oddities:
        click.echo(f"{click.style('Odd:', fg='yellow')}{' ' * 11}{visible(oddity)}")
    if not description.oddities:
        click.echo(f"{'Odd:':14} nothing")
