"""Cards: what a model was trained on and what came of it, for people and for programs."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.learned.models import TrainedModel
from veritally.learned.rule import Learned
from veritally.learned.training import TrainingResult
from veritally.model.known import KnownParameters
from veritally.model.scenario import Scenario
from veritally.model.simulation import simulate
from veritally.rules.posterior import Posterior
from veritally.versions import versions
from veritally.votes.ballots import Ballots

_LEAST = 1e-12  # of a probability whose logarithm is taken
_SEED = 1 << 20  # from which on seeds are for decisions that nobody trained on


def measure_held_out(
    p_best: Callable[[Ballots], Array],
    scenario: Scenario,
    voters: tuple[int, int],
    alternatives: tuple[int, int],
    *,
    decisions: int = 200,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, float]:
    """Measure the loss on decisions that were not trained on, beside that of the exact posterior on the same.

    ``p_best`` gives P(best) for rankings; ``decisions`` are at least two. The loss is the cross-entropy to the best
    alternative that anybody saw; numbers of voters and alternatives are drawn for each decision.
    """
    exact = _posterior(scenario)
    rows = []
    for k in range(decisions):
        random = np.random.default_rng((seed, _SEED, k))
        m, n = (int(random.integers(low, high, endpoint=True)) for low, high in (voters, alternatives))
        trial = simulate(scenario.replace(voters=m, alternatives=n), instances=1, seed=_SEED + seed + k)
        ballots = trial.profile.coarsened("rankings").ballots
        best = int(np.argmax(np.where(ballots.mask[0], trial.truth[0], -np.inf)))
        own, other = (np.asarray(p)[0] for p in (p_best(ballots), exact.p_best(ballots)))
        losses = (-math.log(max(float(p[best]), _LEAST)) for p in (own, other))
        rows.append((*losses, math.log(np.sum(ballots.mask[0])), float(np.argmax(own) == best)))
        progress((k + 1) / decisions)
    # Means over the decisions, with their standard errors.
    table = np.array(rows)
    table = np.column_stack([table, table[:, 0] - table[:, 1]])
    names = ("loss", "posterior", "guessing", "accuracy", "difference")
    errors = table.std(axis=0, ddof=1) / math.sqrt(decisions)
    found = dict(zip(names, table.mean(axis=0).tolist(), strict=True))
    found |= {f"{name}_se": float(error) for name, error in zip(names, errors, strict=True)}
    return {**found, "decisions": decisions}


def _posterior(scenario: Scenario) -> Posterior:
    """Return the exact posterior that knows the scenario; noise that is not normal is taken for normal."""
    known = KnownParameters.of(scenario)
    return Posterior(known.sigma, known.tau, count_error=known.count_error, count_range=known.count_range)


def model_with_card(
    trained: TrainingResult, task: dict[str, Any], steps: int, seed: int, held_out: dict[str, Any] | None = None
) -> TrainedModel:
    """Put weights and what there is to say of them together."""
    return TrainedModel.of(
        trained.parameters,
        task,
        steps=steps,
        seed=seed,
        held_out=held_out,
        versions=versions("veritally", "numpy", "jax", "optax"),
        loss=trained.loss,
        curve=trained.curve,
    )


def p_best_of(path: str | Path) -> Callable[[Ballots], Array]:
    """Return what a file of the paper's network says of P(best)."""
    return Learned(str(path)).p_best


def card_text(model: TrainedModel, name: str) -> str:
    """Write a card in Markdown."""
    card = model.card
    size = sum(int(np.size(x)) for x in model.parameters.values())
    lines = [f"# {name}", "", f"Weights of the network {model.network}: {size:,} numbers.", "", "## Training", ""]
    lines += ["| what | value |", "|---|---|"]
    for key, value in model.task.items():
        if isinstance(value, dict):
            lines += [f"| {key}: {part} | {_cell(own)} |" for part, own in value.items()]
        else:
            lines.append(f"| {key} | {_cell(value)} |")
    lines += [f"| mini-batches | {card['steps']:,} |", f"| seed | {card['seed']} |"]
    lines.append(f"| running loss at the end | {card['loss']:.4f} |")
    if card.get("held_out"):
        lines += ["", "## Held-out loss", "", *_loss_table(card["held_out"])]
    lines += ["", "## Versions", ""]
    lines += [f"- {library} {version}" for library, version in card["versions"].items()]
    return "\n".join(lines) + "\n"


def _loss_table(held_out: dict[str, Any]) -> list[str]:
    """Write a row for each scenario on which the loss was measured."""
    lines = [
        "Cross-entropy to the best alternative, on decisions that were not trained on, with that of `posterior` and of "
        "guessing on the same decisions. `posterior` is given σ, τ and the count errors, and assumes normal noise.",
        "",
        "| scenario | decisions | loss | posterior | difference | guessing | accuracy |",
        "|---|---|---|---|---|---|---|",
    ]
    shown = ("loss", "posterior", "difference", "guessing", "accuracy")
    for name, row in held_out.items():
        cells = [f"{row[key]:.4f} ± {row[f'{key}_se']:.4f}" for key in shown]
        lines.append(f"| {name} | {row['decisions']} | {' | '.join(cells)} |")
    return lines


def _cell(value: Any) -> str:
    """Write a setting: pairs as sizes, two numbers as a range, and what is nested in a row."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return ", ".join(" × ".join(map(str, pair)) for pair in value)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        return f"{value[0]:g} to {value[1]:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values())
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)
