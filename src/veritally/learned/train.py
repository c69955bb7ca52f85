"""From a recipe to a model in a file: train, measure, write; or search for the best of several recipes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from inspect import signature
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from veritally.checks import usable_path, whole
from veritally.errors import InputError, quoted
from veritally.files import refuse_to_replace, write_whole
from veritally.learned.card import carded, rule_of, written
from veritally.learned.card import held_out as measure_held_out
from veritally.learned.deepsets import Configuration, configurations
from veritally.learned.models import Model, model
from veritally.learned.tasks import DeepSetsLesson
from veritally.learned.training import DivergedError, Progress, Trained, fit, measured, require_training
from veritally.locks import held
from veritally.model.scenario import Scenario, scenario
from veritally.model.simulation import checked_seed
from veritally.votes.labels import require_known

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
    held_out: int = 200,
    force: bool = False,
    progress: Report = lambda share, note: None,
    **changes: Any,
) -> Model:
    """Train the paper's network on a scenario and write it to a file, with a card in Markdown beside it.

    Interrupted, it goes on from its last checkpoint when called again in the same way; finished, it trains no more.

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
    held_out
        On how many decisions to measure the loss beside that of the exact posterior; 0 for none.
    force
        Whether to replace files that this training did not write, such as a card of that name.
    progress
        Called with the share of the work that is done, and with what there is to say.
    """
    require_training()
    for name in changes:
        require_known(name, [*signature(train).parameters, *(own.name for own in fields(Scenario))], "setting")
    path = checked_path(path)
    batches = whole(batches, "the number of mini-batches", least=1)
    decisions = whole(held_out, "the number of held-out decisions")
    if decisions == 1:
        raise InputError("one held-out decision tells nothing; give 0 or more than 1")
    chosen = Configuration(encoder_layers, decoder_layers, pool, total, width)
    recipe = DeepSetsLesson(chosen, scenario(given, **changes), voters, alternatives, batch_size, learning_rate)
    work = _Work(path, batches, checked_seed(seed, "jax"), decisions, force, progress)
    if search is None:
        with held(path):
            work.require_own(path, recipe)
            work.require_own_card()
            return work.finished(recipe, work.trained(path, recipe))
    usual = DeepSetsLesson(Configuration(width=width))
    if (recipe.configuration, recipe.learning_rate) != (usual.configuration, usual.learning_rate):
        raise InputError("a search chooses the layers, the learning rate, λ and Σ itself; leave these out")
    most = len(list(configurations()))
    number = whole(search, "the number of configurations", least=1, most=most)
    with held(path):
        return work.searched(recipe, number)


def checked_path(given: Any) -> Path:
    """Require a name that weights can have, in a folder that can be written to."""
    if not isinstance(given, str | PathLike):
        raise InputError(f"weights are kept in a file; give its name, not {quoted(given)}")
    path = usable_path(given)
    if path.suffix != SUFFIX:
        raise InputError(f"{path}: weights are kept in a file whose name ends in {SUFFIX}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def card_path(path: Path) -> Path:
    """Return where the card of weights is written."""
    return path.with_name(f"{path.stem}-card.md")


def search_path(path: Path) -> Path:
    """Return where the losses of a search are written; the weights are in a folder of that name."""
    return path.with_name(f"{path.stem}-search.json")


def checkpoint_path(path: Path) -> Path:
    """Return where the state of an unfinished training is kept."""
    return path.with_suffix(".checkpoint")


@dataclass(frozen=True)
class _Work:
    """How to train, and where to keep what comes of it."""

    path: Path
    batches: int
    seed: int
    decisions: int
    force: bool
    progress: Report

    def require_own(self, path: Path, *recipes: DeepSetsLesson) -> None:
        """Refuse to replace weights that none of these trainings made."""
        if not self.force:
            refuse_to_replace(path, lambda found: any(self.kept(found, recipe) for recipe in recipes))

    def require_own_card(self) -> None:
        """Refuse to replace a card that does not say what the weights do."""

        def is_ours(card: Path) -> bool:
            path = self.path
            return path.exists() and card.read_bytes() == written(model(path, "deepsets"), path.stem).encode()

        if not self.force:
            refuse_to_replace(card_path(self.path), is_ours)

    def trained(self, path: Path, recipe: DeepSetsLesson, progress: Report | None = None) -> Trained:
        """Train, unless an earlier run has, and keep the weights."""
        progress = progress or self.progress
        found = self.kept(path, recipe)
        if found is not None:
            return found

        def report(now: Progress) -> None:
            progress(now.step / now.steps, f"loss {now.loss:.3f}, accuracy {now.accuracy:.1%}")

        progress(0.0, "compiling")
        checkpoint = checkpoint_path(path)
        trained = fit(recipe, steps=self.batches, seed=self.seed, checkpoint=checkpoint, progress=report)
        carded(trained, recipe.to_dict(), self.batches, self.seed).save(path)
        checkpoint.unlink(missing_ok=True)
        return trained

    def kept(self, path: Path, recipe: DeepSetsLesson) -> Trained | None:
        """Return what an earlier run of the same training has finished."""
        try:
            card = model(path, "deepsets").card
        except InputError:  # nothing, or damaged
            return None
        same = card["lesson"] == json.loads(json.dumps(recipe.to_dict()))
        if not same or (card["steps"], card["seed"]) != (self.batches, self.seed) or not card["curve"]:
            return None
        curve = [(int(step), float(loss), float(right)) for step, loss, right in card["curve"]]
        return Trained(dict(model(path, "deepsets").parameters), curve)

    def finished(self, recipe: DeepSetsLesson, trained: Trained) -> Model:
        """Measure the weights, and write them with what was found."""
        carded(trained, recipe.to_dict(), self.batches, self.seed).save(self.path)
        held = None
        if self.decisions:
            found = measure_held_out(
                rule_of(self.path),
                recipe.scenario,
                recipe.voters,
                recipe.alternatives,
                decisions=self.decisions,
                seed=self.seed,
                progress=lambda share: self.progress(share, "held-out loss, beside posterior"),
            )
            held = {"as trained": found}
        made = carded(trained, recipe.to_dict(), self.batches, self.seed, held)
        made.save(self.path)
        write_whole(card_path(self.path), written(made, self.path.stem).encode())
        return made

    def searched(self, recipe: DeepSetsLesson, number: int) -> Model:
        """Train some of the paper's configurations, each kept in a file of its own, and finish the best."""
        space = list(configurations())
        picked = sorted(np.random.default_rng(self.seed).choice(len(space), number, replace=False).tolist())
        width = recipe.configuration.width
        recipes = {
            place: replace(recipe, configuration=replace(shape, width=width), learning_rate=rate)
            for place, (shape, rate) in enumerate(space)
            if place in picked
        }
        self.require_own(self.path, *recipes.values())
        self.require_own_card()
        losses = search_path(self.path)
        if not self.force:
            refuse_to_replace(losses, _is_search)
        rows: list[dict[str, Any]] = []
        best: tuple[float, DeepSetsLesson, Trained] | None = None
        for turn, (place, own) in enumerate(recipes.items()):
            part = checked_path(losses.with_suffix("") / f"{place:03d}{SUFFIX}")
            self.require_own(part, own)
            row: dict[str, Any] = {
                **own.configuration.to_dict(),
                "learning_rate": own.learning_rate,
                "loss": None,
                "se": None,
            }
            rows.append(row)
            try:
                trained = self.trained(part, own, self._share(turn, number))
            except DivergedError:
                continue
            row["loss"], row["se"] = measured(own, trained.parameters, self.seed)
            if best is None or row["loss"] < best[0]:
                best = row["loss"], own, trained
        rows.sort(key=lambda row: (row["loss"] is None, row["loss"]))
        write_whole(losses, (json.dumps(rows, indent=1) + "\n").encode())
        if best is None:
            raise DivergedError("no configuration converged; draw others by another seed")
        return self.finished(*best[1:])

    def _share(self, turn: int, number: int) -> Report:
        def report(share: float, note: str) -> None:
            self.progress((turn + share) / number, f"{turn + 1} of {number}: {note}")

        return report


def _is_search(path: Path) -> bool:
    """Whether a file has the losses of a search."""
    try:
        return all({"learning_rate", "loss", "se"} <= set(row) for row in json.loads(path.read_bytes()))
    except (ValueError, TypeError, RecursionError):
        return False
