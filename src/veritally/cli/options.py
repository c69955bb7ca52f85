"""Options that several commands share."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from veritally.checks import number_or_text
from veritally.errors import InputError, quoted

if TYPE_CHECKING:
    from veritally.model.scenario import Scenario

_SPECIFICATIONS = {
    "--prior": "The truth: normal:MEAN:SD, or fixed:N:N:…. Default: normal:0:1.",
    "--experience": "The counts: uniform:LOW:HIGH, stratified:LOW:HIGH, constant:N, or specialists:KNOWN:MANY:FEW. "
    "Default: uniform:1:49.",
    "--noise": "One observation: normal, uniform, laplace, student:FREEDOM, or bernoulli:LINK. Default: normal.",
    "--count-error": "Misreported counts: percentage:SIZE, or replacement:PROBABILITY. Default: none.",
}
_OPTIONS = (
    click.option(
        "--scenario",
        "name",
        metavar="NAME",
        help="A condition of the paper: high-variance, low-variance, count-noise or count-replacement.",
    ),
    click.option("--voters", type=click.IntRange(min=1), help="Number of voters. Default: 10."),
    click.option("--alternatives", type=click.IntRange(min=2), help="Number of alternatives. Default: 10."),
    *(click.option(option, metavar="SPEC", help=text) for option, text in _SPECIFICATIONS.items()),
    click.option(
        "--sigma",
        metavar="N | N,N… | NAME=N,…",
        help="Standard deviation of one observation, or one per alternative. Default: 1.",
    ),
    click.option("--ballots", type=click.Choice(["value", "rank", "top"]), help="What voters report. Default: value."),
)


_FILE = (
    click.option(
        "--columns",
        multiple=True,
        metavar="OURS=YOURS,…",
        callback=lambda _context, _option, texts: parse_columns(texts),
        help="Which of your columns is which of ours, such as voter=reviewer,alternative=paper,value=rating. Common "
        "names are recognised without it; voter= leaves one out.",
    ),
    click.option("--counts", metavar="FILE", help="The counts of a wide table, in a table of the same shape."),
    click.option(
        "--unranked",
        type=click.Choice(["below", "unknown"]),
        help="What an alternative left out of an order is, where no counts tell: below all ranked ones, or unknown to "
        "the voter. PrefLib files need it; otherwise unknown.",
    ),
    click.option(
        "--confidence",
        metavar="LEVEL:COUNT,…",
        callback=lambda _context, _option, text: parse_levels(text),
        help="What each level of a column confidence, which stands in place of count, is worth. By default "
        "1:1,2:2.4,3:4.9,4:8,5:8.4.",
    ),
    click.option(
        "--verdicts",
        metavar="WORD,WORD,…",
        callback=lambda _context, _option, text: split_names(text),
        help="The words that are verdicts in a log of judges, such as correct,incorrect; rows with others, such as "
        "error messages, are left out. Default: all words that are there.",
    ),
)


lower_is_better_option = click.option(
    "--lower-is-better", is_flag=True, help="Small values are good, as with delays or errors."
)
groups_option = click.option(
    "--groups", metavar="FILE", help="Which voters belong together: a table with the columns voter and group."
)
workers_option = click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes. Default: one per core."
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on the Dask cluster whose scheduler has this address, such as tcp://host:8786, instead of in processes "
    "here.",
)
force_option = click.option("--force", is_flag=True, help="Replace files that this command did not write.")


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what some vote files leave open."""
    for option in reversed(_FILE):
        command = option(command)
    return command


def scenario_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a scenario."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def noise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of the options that make a scenario which do not say how many vote on what."""
    for option in reversed((*_OPTIONS[:1], *_OPTIONS[3:-1])):
        command = option(command)
    return command


def make_scenario(name: str | None, ballots: str | None, sigma: str | None, **given: Any) -> "Scenario":
    """Make the scenario that the options describe."""
    from veritally.model.scenario import PARTS, Scenario, scenario

    changes = {key: value for key, value in given.items() if value is not None}
    if sigma is not None:
        changes["sigma"] = parse_sigma(sigma)
    if ballots is not None:
        changes["votes"] = ballots
    for part in PARTS:
        if str(changes.get(part, "")).startswith("given"):
            raise InputError("a matrix of counts cannot be given on the command line; use vt.Scenario")
    return scenario(Scenario() if name is None else name, **changes)


def refuse_both(workers: int | None, cluster: str | None) -> None:
    """Refuse processes here where a cluster works."""
    if workers is not None and cluster is not None:
        raise InputError("--workers is about processes here; with --cluster leave it out")


def split_names(text: str | None) -> list[str] | None:
    """Read names separated by commas."""
    return None if text is None else [item.strip() for item in text.split(",") if item.strip()]


def parse_columns(texts: tuple[str, ...]) -> dict[str, str] | None:
    """Read which column is which: ``voter=reviewer,value=Overall merit``; a comma before no other = is part of a name.

    >>> parse_columns(("voter=Reviewer, first,value=rating", "item=q"))
    {'voter': 'Reviewer, first', 'value': 'rating', 'item': 'q'}
    """
    columns: dict[str, str] = {}
    for item in (item for text in texts for item in re.split(r",(?=\s*\w+\s*=)", text)):
        ours, equals, yours = (part.strip() for part in item.partition("="))
        if not (ours and equals):
            example = "voter=reviewer,alternative=paper,value=rating"
            raise InputError(f"--columns takes our name = yours, such as {example}, not {quoted(item)}")
        if ours in columns:
            raise InputError(f"--columns has {quoted(ours)} twice; give one column for it")
        columns[ours] = yours
    return columns or None


def parse_levels(text: str | None) -> dict[str, float] | None:
    """Read what each level of confidence is worth: ``1:1,2:2.4``, or ``low:1,high:5``."""
    if text is None:
        return None
    items = [item.rpartition(":") for item in text.split(",")]
    levels = [level.strip() for level, _, _ in items]
    if not all(levels):
        raise InputError(f"--confidence takes LEVEL:COUNT for each level, such as 1:1,2:2.4, not {quoted(text)}")
    if len(set(levels)) < len(levels):
        raise InputError(f"--confidence has a level twice: {quoted(text)}; give one count for each")
    return {level: parse_numbers(count, "--confidence")[0] for level, (_, _, count) in zip(levels, items, strict=True)}


def parse_sigma(*texts: str) -> float | tuple[float, ...] | dict[str, float]:
    """Read one standard deviation, or one for each alternative: ``1,2``, ``A=1,B=2``, or ``A=1`` and ``B=2``."""
    if any("=" in text for text in texts):
        items = [item for text in texts for item in (text.split(",") if text.count("=") > 1 else [text])]
        return {
            name: parse_numbers(number, "--sigma")[0] for name, _, number in (item.rpartition("=") for item in items)
        }
    numbers = parse_numbers(",".join(texts), "--sigma")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def parse_vary(texts: tuple[str, ...]) -> dict[str, list[float | str]] | None:
    """Read a quantity and its levels, numbers or texts: ``voters=3,10,30``.

    >>> parse_vary(("count-error=percentage:0.1,percentage:0.5",))
    {'count_error': ['percentage:0.1', 'percentage:0.5']}
    """
    if len(texts) > 1:
        raise InputError(f"--vary takes one quantity at a time, not {quoted(' and '.join(texts))}")
    for text in texts:
        name, _, listed = text.partition("=")
        levels = [number_or_text(item.strip()) for item in listed.split(",") if item.strip()]
        if not (name.strip() and levels):
            raise InputError(f"--vary takes a quantity and its levels, such as voters=3,10,30, not {quoted(text)}")
        return {name.strip().replace("-", "_"): levels}
    return None


def parse_numbers(text: str, option: str) -> list[float]:
    """Read numbers separated by commas."""
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        also = ", or NAME=NUMBER for each alternative" if option == "--sigma" else ""
        raise InputError(f"{option} takes numbers separated by commas{also}, not {quoted(text)}") from None
