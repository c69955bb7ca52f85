"""``veritally rules``: what there is to choose from."""

import json

import click

from veritally.cli.plugins import plugin_option
from veritally.registry import rules as all_rules

_EXAMPLES = """\b
Examples:
  veritally rules
  veritally rules --json
"""


@click.command(epilog=_EXAMPLES, short_help="List every rule.")
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def rules(as_json: bool) -> None:
    """List every rule: its votes, whether it uses counts, and where it comes from."""
    if as_json:
        for info in all_rules():
            row = {
                "name": info.name,
                "aliases": info.aliases,
                "votes": info.votes,
                "uses_counts": info.uses_counts,
                "stochastic": info.stochastic,
                "cost": info.cost,
                "parameters": info.parameters,
                "summary": info.summary,
                "reference": info.reference,
            }
            click.echo(json.dumps(row))
        return
    from veritally.cli.tables import print_rules

    print_rules(all_rules())
