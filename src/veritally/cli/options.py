"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

from veritally.errors import InputError
from veritally.noise.scenario import PARTS, SCENARIOS, Scenario, scenario

KINDS = {"value": "values", "rank": "rankings", "top": "top"}

_OPTIONS = (
    click.option("--scenario", "name", type=click.Choice(list(SCENARIOS)), help="A condition of the paper."),
    click.option("--voters", type=click.IntRange(min=1), help="Number of voters; 10 if not given."),
    click.option("--alternatives", type=click.IntRange(min=2), help="Number of alternatives; 10 if not given."),
    click.option("--prior", metavar="SPEC", help="The truth: normal:MEAN:SD, or fixed:N:N:…."),
    click.option(
        "--experience",
        metavar="SPEC",
        help="The counts: uniform:LOW:HIGH, stratified:LOW:HIGH, constant:N, or specialists:KNOWN:MANY:FEW.",
    ),
    click.option(
        "--noise", metavar="SPEC", help="One observation: normal, uniform, laplace, student:FREEDOM, bernoulli:LINK."
    ),
    click.option("--sigma", metavar="N[,N…]", help="Standard deviation of one observation, or one per alternative."),
    click.option("--count-error", metavar="SPEC", help="Misreported counts: percentage:SIZE, replacement:PROBABILITY."),
    click.option("--ballots", type=click.Choice(list(KINDS)), help="What voters report; by default values."),
)


def scenario_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a scenario."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def made(name: str | None, ballots: str | None, sigma: str | None, **given: Any) -> Scenario:
    """Make the scenario that the options describe."""
    changes = {key: value for key, value in given.items() if value is not None}
    if sigma is not None:
        changes["sigma"] = sigma_in(sigma)
    if ballots is not None:
        changes["votes"] = KINDS[ballots]
    for part in PARTS:
        if str(changes.get(part, "")).startswith("given"):
            raise InputError("a matrix of counts cannot be given on the command line; use vt.Scenario")
    return scenario(Scenario() if name is None else name, **changes)


def listed(text: str | None) -> list[str] | None:
    """Read names separated by commas."""
    return None if text is None else [item.strip() for item in text.split(",") if item.strip()]


def sigma_in(text: str) -> float | tuple[float, ...]:
    """Read one standard deviation, or one for each alternative."""
    numbers = numbers_in(text, "--sigma")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def numbers_in(text: str, option: str) -> list[float]:
    """Read numbers separated by commas."""
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, not {text!r}") from None
