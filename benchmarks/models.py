"""The shipped models: python benchmarks/models.py learned|learned-noisy|learned-universal|uniform [FOLDER].

Trains by the recipe, on whatever device JAX finds, and writes the weights into src/veritally/learned/models, or into
FOLDER (``uniform``, an example, belongs to docs/learned). Interrupted, it goes on from a checkpoint there. ``python
benchmarks/models.py card NAME [FOLDER]`` measures the held-out loss of weights that are there, and writes the card;
``select FOLDER`` trains the paper's network from several seeds, judges it along the way where it was not trained, and
writes selection.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from universal_task import UniversalTask

from learned import UNIFORM
from veritally.experiments.published import published
from veritally.experiments.tables import measure_tables
from veritally.learned.card import card_text, measure_held_out, model_with_card, p_best_of
from veritally.learned.models import TrainedModel, model
from veritally.learned.paths import card_path
from veritally.learned.tasks import DeepSetsTask
from veritally.learned.training import TrainingResult, fit
from veritally.learned.universal import Universal
from veritally.model.scenario import SCENARIOS

MODELS = Path(__file__).parents[1] / "src" / "veritally" / "learned" / "models"
# The task, how many mini-batches, and the seed. The paper trains for up to 5,000 mini-batches; ``learned`` was chosen
# by ``select``.
RECIPES: dict[str, tuple[Any, int, int]] = {
    "learned": (DeepSetsTask(), 2500, 1),
    "learned-noisy": (DeepSetsTask(scenario=SCENARIOS["count-noise"]), 5000, 0),
    "learned-universal": (UniversalTask(), 70_000, 0),
    "uniform": (DeepSetsTask(scenario=UNIFORM), 5000, 0),
}
_VOTERS, _ALTERNATIVES = (5, 349), (5, 14)
_DECISIONS = 400


def train(name: str, folder: Path) -> None:
    """Train a model, or go on with it."""
    task, steps, seed = RECIPES[name]

    def say(now: Any) -> None:
        if now.step % (steps // 50) == 0:
            print(f"{now.step:,} of {now.steps:,}: loss {now.loss:.4f}, accuracy {now.accuracy:.3f}", flush=True)

    checkpoint = folder / f"{name}.checkpoint"
    trained = fit(task, steps=steps, seed=seed, checkpoint=checkpoint, progress=say)
    model_with_card(trained, task.to_dict(), steps, seed).save(folder / f"{name}.safetensors")
    checkpoint.unlink(missing_ok=True)


def card(name: str, folder: Path) -> None:
    """Measure the held-out loss and write the card."""
    path = folder / f"{name}.safetensors"
    losses = {}
    universal = name.endswith("universal")
    own = {"learned-noisy": "count-noise"}.get(name, "high-variance")
    scenarios = SCENARIOS if universal else {"uniform": UNIFORM} if name == "uniform" else {own: SCENARIOS[own]}
    for table, scenario in scenarios.items():
        if universal:
            p_best = Universal(scenario.sigma, 1.0, scenario.count_error, str(path), (1.0, 49.0)).p_best
        else:
            p_best = p_best_of(path)
        losses[table] = measure_held_out(p_best, scenario, _VOTERS, _ALTERNATIVES, decisions=_DECISIONS)
        print(table, losses[table], flush=True)
    found = model(path, "universal" if universal else "deepsets")
    finished = TrainedModel(found.parameters, found.card | {"held_out": losses})
    finished.save(path)
    card_path(path).write_text(card_text(finished, name), encoding="utf-8")


def select(folder: Path) -> None:
    """Train from three seeds, and judge each ten times along the way in low variance, on instances of their own."""
    task, table, paper, rows = DeepSetsTask(), "low-variance", published(), []
    for seed in range(3):
        kept = {steps: folder / f"learned-{seed}-{steps}.safetensors" for steps in range(500, 5001, 500)}

        def keep(now: Any, seed: int = seed, kept: dict[int, Path] = kept) -> None:
            if now.step in kept:
                curve = [(now.step, now.loss, now.accuracy)]
                trained = TrainingResult({name: np.asarray(x) for name, x in now.parameters.items()}, curve)
                model_with_card(trained, task.to_dict(), now.step, seed).save(kept[now.step])

        if not all(path.exists() for path in kept.values()):
            fit(task, steps=max(kept), seed=seed, progress=keep)
        rules = {f"learned:model={path}": steps for steps, path in kept.items()}
        ledger = folder / "selection.jsonl"
        found = measure_tables(ledger, tables=[table], rules=rules, instances=10_000, seed=1, backend="jax")
        for rule, steps in rules.items():
            own = [x for x in found.results() if x.rule == rule]
            row = {"seed": seed, "steps": steps, "regret": {x.voters: x.regret for x in own}}
            row["se"] = {x.voters: x.se for x in own}
            row["ratio"] = float(np.mean([x.regret / paper[table, x.voters, "learned"] for x in own]))
            rows.append(row)
            print(seed, steps, row["ratio"], flush=True)
    (folder / "selection.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "select":
        select(Path(sys.argv[2]))
    elif sys.argv[1] == "card":
        card(sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else MODELS)
    else:
        train(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else MODELS)
