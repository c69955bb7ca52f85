"""From a recipe to a model in a file: train, measure, write; or search for the best of several recipes."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veritally.checks import whole
from veritally.errors import InputError
from veritally.learned.card import carded, held_out, rule_of, written
from veritally.learned.deepsets import Configuration, configurations
from veritally.learned.lessons import DeepSetsLesson
from veritally.learned.models import Model, model
from veritally.learned.training import Progress, Trained, fit, measured, require_training
from veritally.noise.scenario import Scenario, scenario

SUFFIX = ".safetensors"
Report = Callable[[float, str], None]


def train(
    path: str | Path,
    given: Scenario | str = "high-variance",
    *,
    voters: tuple[int, int] = (5, 349),
    alternatives: tuple[int, int] = (5, 14),
    batches: int = 5000,
    batch_size: int = 128,
    learning_rate: float = 3e-4,
    encoder_layers: int = 4,
    decoder_layers: int = 2,
    pool: Any = "max",
    total: Any = "sum",
    width: int = 64,
    seed: int = 0,
    search: int | None = None,
    held_out_decisions: int = 200,
    progress: Report = lambda share, note: None,
    **changes: Any,
) -> Model:
    """Train the paper's network on a scenario and write it to a file, with a card in Markdown beside it.

    Interrupted, it goes on from its last checkpoint when called again in the same way.

    Parameters
    ----------
    path
        The file, ``….safetensors``, for ``vt.decide(profile, rule="learned", model=path)``.
    given
        A scenario, or the name of one; ``changes`` are fields to set. Its own numbers of voters and alternatives do not
        matter.
    voters, alternatives
        From where to where their numbers are drawn for each mini-batch, ends included.
    batches, batch_size, learning_rate
        How many mini-batches of how many decisions, and the step of Adam.
    encoder_layers, decoder_layers, pool, total, width
        The network; by default the paper's.
    seed
        Same seed, same weights, on the same device.
    search
        Train so many of the paper's 144 configurations, drawn at random, and keep the one with the lowest loss on the
        same fresh mini-batches.
    held_out_decisions
        On how many decisions to measure the loss beside that of the exact posterior; 0 for none.
    progress
        Called with the share of the work that is done, and with what there is to say.
    """
    require_training()
    path = checked_path(path)
    batches = whole(batches, "the number of mini-batches", least=1)
    chosen = Configuration(encoder_layers, decoder_layers, pool, total, width)
    recipe = DeepSetsLesson(chosen, scenario(given, **changes), voters, alternatives, batch_size, learning_rate)
    if search is None:
        return _taught(path, recipe, batches, seed, held_out_decisions, progress)
    number = whole(search, "the number of configurations to search", least=1, most=len(list(configurations())))
    return _searched(path, recipe, number, batches, seed, held_out_decisions, progress)


def checked_path(path: str | Path) -> Path:
    """Require a name that weights can have."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InputError(f"{path}: weights are kept in a file whose name ends in {SUFFIX}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    return path


def _taught(path: Path, recipe: DeepSetsLesson, batches: int, seed: int, decisions: int, progress: Report) -> Model:
    trained = _trained(path, recipe, batches, seed, progress)
    return _finished(path, trained, recipe, batches, seed, decisions, progress)


def _trained(path: Path, recipe: DeepSetsLesson, batches: int, seed: int, progress: Report) -> Trained:
    def report(now: Progress) -> None:
        progress(now.step / now.steps, f"loss {now.loss:.3f}, accuracy {now.accuracy:.1%}")

    return fit(recipe, steps=batches, seed=seed, checkpoint=path.with_suffix(".checkpoint"), progress=report)


def _finished(
    path: Path, trained: Trained, recipe: DeepSetsLesson, batches: int, seed: int, decisions: int, progress: Report
) -> Model:
    """Write the weights, measure them, and write them with what was found."""
    carded(trained, recipe.to_dict(), batches, seed).save(path)
    held = None
    if decisions:
        found = held_out(
            rule_of(path),
            recipe.scenario,
            recipe.voters,
            recipe.alternatives,
            decisions=decisions,
            seed=seed,
            progress=lambda share: progress(share, "held-out loss, beside posterior"),
        )
        held = {"as trained": found}
    made = carded(trained, recipe.to_dict(), batches, seed, held)
    made.save(path)
    path.with_suffix(".md").write_text(written(made, path.stem))
    return made


def _searched(
    path: Path, recipe: DeepSetsLesson, number: int, batches: int, seed: int, decisions: int, progress: Report
) -> Model:
    """Train some of the paper's configurations, each kept in a file of its own, and finish the best."""
    space = list(configurations())
    picked = sorted(np.random.default_rng(seed).choice(len(space), number, replace=False).tolist())
    rows = []
    best: tuple[float, Trained, DeepSetsLesson] | None = None
    for turn, place in enumerate(picked):
        configuration, rate = space[place]
        own = replace(
            recipe, configuration=replace(configuration, width=recipe.configuration.width), learning_rate=rate
        )
        part = path.with_name(f"{path.stem}-search") / f"{place:03d}{SUFFIX}"
        trained = _kept(part, own, batches, seed)
        if trained is None:
            trained = _trained(part, own, batches, seed, _share(progress, turn, number))
            carded(trained, own.to_dict(), batches, seed).save(part)
        loss, error = measured(own, trained.parameters, seed)
        rows.append({**own.configuration.to_dict(), "learning_rate": rate, "loss": loss, "se": error})
        if best is None or loss < best[0]:
            best = loss, trained, own
    assert best is not None
    rows.sort(key=lambda row: row["loss"])
    path.with_name(f"{path.stem}-search.json").write_text(json.dumps(rows, indent=1) + "\n")
    return _finished(path, best[1], best[2], batches, seed, decisions, progress)


def _kept(part: Path, recipe: DeepSetsLesson, batches: int, seed: int) -> Trained | None:
    """Return what an interrupted search has finished."""
    if not part.exists():
        return None
    found = model(part, "deepsets")
    same = found.card["lesson"] == json.loads(json.dumps(recipe.to_dict()))
    if not same or (found.card["steps"], found.card["seed"]) != (batches, seed):
        return None
    return Trained(dict(found.parameters), [(int(a), float(b), float(c)) for a, b, c in found.card["curve"]])


def _share(progress: Report, turn: int, number: int) -> Report:
    def report(share: float, note: str) -> None:
        progress((turn + share) / number, f"{turn + 1} of {number}: {note}")

    return report
