"""The shipped models: python benchmarks/models.py learned|learned-noisy|learned-universal|uniform [FOLDER].

Trains by the recipe, on whatever device JAX finds, and writes the weights into src/veritally/learned/models, or into
FOLDER (``uniform``, an example, belongs to docs/learned). Interrupted, it goes on from a checkpoint there. ``python
benchmarks/models.py card NAME [FOLDER]`` measures the held-out loss of weights that are there, and writes the card.
"""

import sys
from pathlib import Path
from typing import Any

from veritally.learned.card import carded, held_out, written
from veritally.learned.lessons import DeepSetsLesson, UniversalLesson
from veritally.learned.models import Model, model
from veritally.learned.rule import Learned
from veritally.learned.teaching import card_path
from veritally.learned.training import fit
from veritally.learned.universal import Universal
from veritally.noise.scenario import SCENARIOS

MODELS = Path(__file__).parents[1] / "src" / "veritally" / "learned" / "models"
UNIFORM = SCENARIOS["high-variance"].replace(noise="uniform", experience="uniform:1:3", sigma=2.0)
# The lesson, how many mini-batches, and the seed. The paper trains for up to 5,000 mini-batches; ``learned`` is the one
# of three seeds and ten lengths with the lowest regret where it was not trained, in low variance, on other instances
# than the tables'.
RECIPES: dict[str, tuple[Any, int, int]] = {
    "learned": (DeepSetsLesson(), 2500, 1),
    "learned-noisy": (DeepSetsLesson(scenario=SCENARIOS["count-noise"]), 5000, 0),
    "learned-universal": (UniversalLesson(), 70_000, 0),
    "uniform": (DeepSetsLesson(scenario=UNIFORM), 5000, 0),
}
_VOTERS, _ALTERNATIVES = (5, 349), (5, 14)
_DECISIONS = 400


def train(name: str, folder: Path) -> None:
    """Train a model, or go on with it."""
    lesson, steps, seed = RECIPES[name]

    def say(now: Any) -> None:
        if now.step % (steps // 50) == 0:
            print(f"{now.step:,} of {now.steps:,}: loss {now.loss:.4f}, accuracy {now.accuracy:.3f}", flush=True)

    checkpoint = folder / f"{name}.checkpoint"
    trained = fit(lesson, steps=steps, seed=seed, checkpoint=checkpoint, progress=say)
    carded(trained, lesson.to_dict(), steps, seed).save(folder / f"{name}.safetensors")
    checkpoint.unlink(missing_ok=True)


def card(name: str, folder: Path) -> None:
    """Measure the held-out loss and write the card."""
    path = folder / f"{name}.safetensors"
    held = {}
    universal = name.endswith("universal")
    own = {"learned-noisy": "count-noise"}.get(name, "high-variance")
    scenarios = SCENARIOS if universal else {"uniform": UNIFORM} if name == "uniform" else {own: SCENARIOS[own]}
    for table, scenario in scenarios.items():
        if universal:
            said = Universal(scenario.sigma, 1.0, scenario.count_error, str(path), (1.0, 49.0)).p_best
        else:
            said = Learned(str(path)).rule().p_best
        held[table] = held_out(said, scenario, _VOTERS, _ALTERNATIVES, decisions=_DECISIONS)
        print(table, held[table], flush=True)
    found = model(path, "universal" if universal else "deepsets")
    made = Model(found.parameters, found.card | {"held_out": held})
    made.save(path)
    card_path(path).write_text(written(made, name), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "card":
        card(sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else MODELS)
    else:
        train(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else MODELS)
