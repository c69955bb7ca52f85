"""``veritally train``: a rule learned from simulated votes."""

import re
from pathlib import Path
from typing import Any

import click

from veritally.cli.options import force_option, make_scenario, noise_options
from veritally.cli.progress import progress_bar
from veritally.cli.screen import say, stop
from veritally.errors import quoted

_EXAMPLES = """\b
Examples:
  veritally train my.safetensors --scenario low-variance --plot curve.png
  veritally decide votes.csv --rule learned --model my.safetensors
  veritally train short.safetensors --batches 200 --batch-size 32 --voters 3-20 --sigma 3
  veritally train best.safetensors --search 20       # of the paper's 144 configurations; can be interrupted
"""


def _range(value: Any) -> tuple[int, int]:
    """Read two whole numbers, LOW-HIGH, or one."""
    if isinstance(value, tuple):
        return value
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(value))
    if found is None:
        raise click.BadParameter(f"{quoted(value)} is not a range; write LOW-HIGH, such as 5-349")
    low, high = found.groups()
    return int(low), int(high or low)


@click.command(epilog=_EXAMPLES, short_help="Train a rule on simulated votes.")
@click.argument("file", type=click.Path(dir_okay=False))
@noise_options
@click.option(
    "--voters",
    type=_range,
    default="5-349",
    show_default=True,
    metavar="LOW-HIGH",
    help="Range of the number of voters in a mini-batch.",
)
@click.option(
    "--alternatives",
    type=_range,
    default="5-14",
    show_default=True,
    metavar="LOW-HIGH",
    help="Range of the number of alternatives in a mini-batch.",
)
@click.option("--batches", type=click.IntRange(min=1), default=5000, show_default=True, help="Number of mini-batches.")
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=128, show_default=True, help="Decisions per mini-batch."
)
@click.option("--learning-rate", type=float, default=3e-4, show_default=True, help="Learning rate of Adam.")
@click.option(
    "--encoder-layers",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="Layers before the sum over voters.",
)
@click.option(
    "--decoder-layers",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Layers after the sum over voters.",
)
@click.option(
    "--pool",
    type=click.Choice(["max", "mean"]),
    default="max",
    show_default=True,
    help="How a layer pools over alternatives; λ in the paper.",
)
@click.option(
    "--total",
    type=click.Choice(["sum", "mean"]),
    default="sum",
    show_default=True,
    help="How voters are combined; Σ in the paper.",
)
@click.option("--width", type=click.IntRange(min=1), default=64, show_default=True, help="Width of hidden layers.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same weights.")
@click.option(
    "--search",
    type=click.IntRange(min=1, max=144),
    metavar="N",
    help="Train N of the paper's 144 configurations, drawn at random, and keep the best.",
)
@click.option(
    "--held-out",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    help="Number of new decisions on which to compare the loss with that of posterior; 0 for none.",
)
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save the training curve.")
@force_option
def train(
    file: str,
    name: str | None,
    prior: str | None,
    experience: str | None,
    noise: str | None,
    count_error: str | None,
    sigma: str | None,
    held_out: int,
    plot: str | None,
    force: bool,
    **recipe: Any,
) -> None:
    """Train the paper's network on simulated votes, and write it to FILE (.safetensors).

    A card next to FILE says how the network was trained and how well it does. The votes come from a scenario, by
    default the paper's high-variance condition. Each mini-batch draws its own numbers of voters and alternatives. To
    resume a run that was interrupted or killed from its last checkpoint, give the same command again.
    """
    from veritally.learned.paths import card_path, checked_path, checkpoint_path
    from veritally.learned.train import train as train_

    parts = {"prior": prior, "experience": experience, "noise": noise, "count_error": count_error}
    usual = name is None and sigma is None and not any(parts.values())
    most = {size: recipe[size][1] for size in ("voters", "alternatives")}
    scenario = make_scenario(name="high-variance" if usual else name, ballots=None, sigma=sigma, **parts, **most)
    path = checked_path(file)
    if plot is not None:
        from veritally.plots import require_picture

        require_picture(plot, force)
    checkpoint = checkpoint_path(path)
    if checkpoint.exists():
        say(f"Resuming from {checkpoint}", err=True)
    try:
        with progress_bar("Training") as progress:
            model = train_(path, scenario, held_out=held_out, force=force, progress=progress, **recipe)
    except KeyboardInterrupt:
        if checkpoint.exists() or path.exists():
            stop("What is done is kept; to resume, give the same command again")
        raise
    if plot is not None:
        from veritally.plots import save_curve

        save_curve(model.card["curve"], plot)
        say(f"Saved {plot}", err=True)
    say(_summary(path, card_path(path), model.card["held_out"]))


def _summary(path: Path, card: Path, held: dict[str, Any] | None) -> str:
    """Say what came of it."""
    lines = []
    for row in (held or {}).values():
        beside = f"posterior {row['posterior']:.4f}, difference {row['difference']:.4f} ± {row['difference_se']:.4f}"
        beside += f"; guessing {row['guessing']:.4f}"
        lines.append(f"Held-out loss {row['loss']:.4f} ± {row['loss_se']:.4f} ({beside}), {row['decisions']} decisions")
    lines.append(f"Weights: {path}; card: {card}")
    lines.append(f"Use: veritally decide VOTES --rule learned --model {path}")
    return "\n".join(lines)
