"""From a recipe to a model in a file: train, measure, write; or search for the best of several recipes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from veritally.checks import whole
from veritally.errors import InputError
from veritally.files import refuse_to_replace, write_whole
from veritally.learned.card import card_text, measure_held_out, model_with_card, p_best_of
from veritally.learned.deepsets import Configuration, configurations
from veritally.learned.models import TrainedModel, model
from veritally.learned.paths import SUFFIX, card_path, checked_path, checkpoint_path, search_path
from veritally.learned.tasks import DeepSetsTask
from veritally.learned.training import DivergedError, Progress, TrainingResult, fit, measure_loss, require_training
from veritally.locks import held
from veritally.model.scenario import Scenario, scenario
from veritally.model.simulation import checked_seed
from veritally.votes.labels import require_known

Report = Callable[[float, str], None]
"""Called with the share of the work that is done, and a note."""


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
) -> TrainedModel:
    """Train the paper's network on a scenario, and write it to a file with a card in Markdown next to it.

    To resume an interrupted training from its last checkpoint, call it again in the same way. A finished training is
    not repeated.

    Parameters
    ----------
    path
        The file to write, ``….safetensors``. Use it with ``vt.decide(profile, rule="learned", model=path)``.
    given
        A scenario or its name. Its own numbers of voters and alternatives do not matter.
    voters, alternatives
        The lowest and the highest number in a mini-batch. Each mini-batch draws its own numbers.
    batches, batch_size, learning_rate
        The number of mini-batches, the number of decisions in each, and the learning rate of Adam.
    encoder_layers, decoder_layers, pool, total, width
        The network. Default: the paper's.
    seed
        The same seed gives the same weights on the same device.
    search
        Train this many of the paper's 144 configurations, drawn at random, and keep the one with the lowest loss on the
        same new mini-batches.
    held_out
        The number of new decisions on which to compare the loss with that of the exact posterior; 0 for none.
    force
        Whether to replace files that this training did not write, such as a card of that name.
    progress
        Called with the share of the work that is done, and with a note.
    **changes
        Fields of the scenario to set, such as ``sigma=3``.
    """
    require_training()
    _require_settings(changes)
    path = checked_path(path)
    batches = whole(batches, "the number of mini-batches", least=1)
    decisions = _held_out_number(held_out)
    network = Configuration(encoder_layers, decoder_layers, pool, total, width)
    task = DeepSetsTask(network, scenario(given, **changes), voters, alternatives, batch_size, learning_rate)
    run = _Run(path, batches, checked_seed(seed, "jax"), decisions, force, progress)
    tasks = {} if search is None else _search_space(task, search, run.seed)
    with held(path):
        return run.search(tasks) if tasks else run.train(task)


def _require_settings(changes: dict[str, Any]) -> None:
    """Refuse what is neither an argument of :func:`train` nor a field of a scenario."""
    for name in changes:
        require_known(name, [*signature(train).parameters, *(own.name for own in fields(Scenario))], "setting")


def _held_out_number(given: Any) -> int:
    """Require a number of decisions that has a standard error, or none."""
    number = whole(given, "the number of held-out decisions")
    if number == 1:
        raise InputError("one held-out decision is too few; give 0 or at least 2")
    return number


def _search_space(task: DeepSetsTask, number: Any, seed: int) -> dict[int, DeepSetsTask]:
    """Draw so many of the paper's configurations, by their places among all of them."""
    usual = DeepSetsTask(Configuration(width=task.configuration.width))
    if (task.configuration, task.learning_rate) != (usual.configuration, usual.learning_rate):
        raise InputError("a search chooses the layers, the learning rate, pool and total itself; leave these out")
    space = list(configurations())
    number = whole(number, "the number of configurations", least=1, most=len(space))
    places = sorted(np.random.default_rng(seed).choice(len(space), number, replace=False).tolist())
    width = task.configuration.width
    return {
        place: replace(task, configuration=replace(space[place][0], width=width), learning_rate=space[place][1])
        for place in places
    }


@dataclass(frozen=True)
class _Run:
    """How to train, and where to keep what comes of it."""

    path: Path
    batches: int
    seed: int
    decisions: int
    force: bool
    progress: Report

    def train(self, task: DeepSetsTask) -> TrainedModel:
        """Train for one task."""
        self._require_own(self.path, task)
        self._require_own_card()
        return self._finish(task, self._fit(self.path, task, self.progress))

    def search(self, tasks: dict[int, DeepSetsTask]) -> TrainedModel:
        """Train for several tasks, each kept in a file of its own, and finish the one with the lowest loss."""
        self._require_own(self.path, *tasks.values())
        self._require_own_card()
        losses = search_path(self.path)
        if not self.force:
            refuse_to_replace(losses, _is_search)
        rows: list[dict[str, Any]] = []
        best: tuple[float, DeepSetsTask, TrainingResult] | None = None
        for turn, (place, task) in enumerate(tasks.items()):
            part = checked_path(losses.with_suffix("") / f"{place:03d}{SUFFIX}")
            self._require_own(part, task)
            loss = error = None
            try:
                trained = self._fit(part, task, self._share(turn, len(tasks)))
            except DivergedError:
                pass
            else:
                loss, error = measure_loss(task, trained.parameters, self.seed)
                if best is None or loss < best[0]:
                    best = loss, task, trained
            recipe = {**task.configuration.to_dict(), "learning_rate": task.learning_rate}
            rows.append({**recipe, "loss": loss, "se": error})
        rows.sort(key=lambda row: (row["loss"] is None, row["loss"]))
        write_whole(losses, (json.dumps(rows, indent=1) + "\n").encode())
        if best is None:
            raise DivergedError("no configuration converged; try another seed")
        return self._finish(*best[1:])

    def _fit(self, path: Path, task: DeepSetsTask, progress: Report) -> TrainingResult:
        """Train, unless an earlier run has, and keep the weights."""
        found = self._earlier(path, task)
        if found is not None:
            return found

        def report(now: Progress) -> None:
            progress(now.step / now.steps, f"loss {now.loss:.3f}, accuracy {now.accuracy:.1%}")

        progress(0.0, "compiling")
        checkpoint = checkpoint_path(path)
        trained = fit(task, steps=self.batches, seed=self.seed, checkpoint=checkpoint, progress=report)
        self._model(task, trained).save(path)
        checkpoint.unlink(missing_ok=True)
        return trained

    def _earlier(self, path: Path, task: DeepSetsTask) -> TrainingResult | None:
        """Return what an earlier run of the same training has finished."""
        try:
            found = model(path, "deepsets")
        except InputError:  # nothing, or damaged
            return None
        card, same = found.card, found.task == json.loads(json.dumps(task.to_dict()))
        if not same or (card["steps"], card["seed"]) != (self.batches, self.seed) or not card["curve"]:
            return None
        curve = [(int(step), float(loss), float(accuracy)) for step, loss, accuracy in card["curve"]]
        return TrainingResult(dict(found.parameters), curve)

    def _finish(self, task: DeepSetsTask, trained: TrainingResult) -> TrainedModel:
        """Measure the weights, and write them with what was found."""
        self._model(task, trained).save(self.path)
        held_out = None
        if self.decisions:
            found = measure_held_out(
                p_best_of(self.path),
                task.scenario,
                task.voters,
                task.alternatives,
                decisions=self.decisions,
                seed=self.seed,
                progress=lambda share: self.progress(share, "held-out loss"),
            )
            held_out = {"as trained": found}
        finished = self._model(task, trained, held_out)
        finished.save(self.path)
        write_whole(card_path(self.path), card_text(finished, self.path.stem).encode())
        return finished

    def _model(
        self, task: DeepSetsTask, trained: TrainingResult, held_out: dict[str, Any] | None = None
    ) -> TrainedModel:
        return model_with_card(trained, task.to_dict(), self.batches, self.seed, held_out)

    def _require_own(self, path: Path, *tasks: DeepSetsTask) -> None:
        """Refuse to replace weights that none of these trainings made."""
        if not self.force:
            refuse_to_replace(path, lambda found: any(self._earlier(found, task) for task in tasks))

    def _require_own_card(self) -> None:
        """Refuse to replace a card that does not say what the weights do."""

        def is_ours(card: Path) -> bool:
            path = self.path
            return path.exists() and card.read_bytes() == card_text(model(path, "deepsets"), path.stem).encode()

        if not self.force:
            refuse_to_replace(card_path(self.path), is_ours)

    def _share(self, turn: int, number: int) -> Report:
        """Report on one of several trainings as part of all of them."""

        def report(share: float, note: str) -> None:
            self.progress((turn + share) / number, f"{turn + 1} of {number}: {note}")

        return report


def _is_search(path: Path) -> bool:
    """Whether a file has the losses of a search."""
    try:
        return all({"learning_rate", "loss", "se"} <= set(row) for row in json.loads(path.read_bytes()))
    except (ValueError, TypeError, RecursionError):
        return False
