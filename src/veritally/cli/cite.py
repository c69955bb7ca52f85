"""``veritally cite``: what to cite."""

import click

_EXAMPLES = """\b
Examples:
  veritally cite
  veritally cite posterior borda > references.bib
"""


@click.command(epilog=_EXAMPLES, short_help="Print BibTeX for the paper, veritally, and rules.")
@click.argument("rules", nargs=-1, metavar="[RULE]...")
def cite(rules: tuple[str, ...]) -> None:
    """Print BibTeX for the paper that veritally builds on, for veritally, and for the sources of each RULE."""
    from veritally.citation import cite as cite_

    click.echo(cite_(*rules))
