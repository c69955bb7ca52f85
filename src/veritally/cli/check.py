"""``veritally check``: say what was understood."""

import warnings
from typing import Any

import click

from veritally.cli.options import file_options, groups_option, lower_is_better_option
from veritally.cli.progress import working
from veritally.cli.screen import say
from veritally.errors import InputError, InputNote, InputWarning
from veritally.io.votes import read
from veritally.votes.labels import visible

_EXAMPLES = """\b
Examples:
  veritally check votes.csv
  veritally check votes.csv --ballots rank
  veritally check reviews.csv --columns voter=member,value='total score'
  veritally check election.soi --unranked below
"""


@click.command(epilog=_EXAMPLES, short_help="Say what was understood of a vote file.")
@click.argument("file")
@click.option("--ballots", type=click.Choice(["value", "rank", "top"]), help="What the votes are.")
@file_options
@groups_option
@lower_is_better_option
def check(file: str, **options: Any) -> None:
    """Say what was understood of the votes in FILE, of any form that decide takes, and anything odd about them."""
    from veritally.votes.description import describe

    with working(file):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", InputWarning)
                profile = read(file, **options)
        except InputError:
            for warning in caught:
                warnings.warn(warning.message, stacklevel=1)
            raise
        description = describe(profile)
    for label, text in description.lines():
        say(f"{label + ':':14} {text}")
    for warning in caught:
        if isinstance(warning.message, InputNote):
            say(f"{'Note:':14} {warning.message}")
    remarks = [str(warning.message) for warning in caught if not isinstance(warning.message, InputNote)]
    odd = [*(remark for remark in remarks if remark not in profile.warnings), *description.oddities]
    for oddity in odd:
        click.echo(f"{click.style('Odd:', fg='yellow')}{' ' * 11}{visible(oddity)}")
    if not odd:
        click.echo(f"{'Odd:':14} nothing")
