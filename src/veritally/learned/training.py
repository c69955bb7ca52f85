"""Training: many steps of gradient descent, kept in a checkpoint from which an interrupted run goes on."""

import importlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from veritally.arrays import (
    Array,
    array_library,
    compile_for,
    fetch,
    is_out_of_memory,
    jit,
    map_leaves,
    part_of_key,
    random_key,
    value_and_gradient,
)
from veritally.errors import InputError
from veritally.learned.checkpoint import CheckpointState, Learning, Point, load_state, save_state
from veritally.model.simulation import checked_seed

_STREAM, _FRESH = 7, 8  # of random numbers for training, and for measuring what came of it
_POINTS = 200  # of a curve
_FORGET = 0.99  # of the running loss, after each step

Size = tuple[int, int, int]
"""Numbers of decisions, voters and alternatives for which a program is compiled."""


class DivergedError(InputError):
    """Training that does not converge."""


class TrainingTask(Protocol):
    """What a network is to learn."""

    @property
    def sizes(self) -> Sequence[Size]:
        """The sizes of mini-batches for which programs are compiled."""

    @property
    def averaging(self) -> float:
        """How much of the mean of past parameters each step keeps, which is what is learned; 0 for the last alone."""

    def initial_parameters(self, seed: int) -> dict[str, Array]:
        """Return the parameters to start from."""

    def size_of_step(self, seed: int, step: int) -> tuple[int, tuple[int, int]]:
        """Return which of the sizes a step takes, and how many voters and alternatives of it."""

    def loss(self, size: Size, parameters: Any, key: Any, numbers: Array) -> tuple[Array, Array]:
        """Draw decisions; return the loss, and the share of them in which the best was found."""

    def optimiser(self, steps: int) -> Any:
        """Return how gradients move the parameters: an optax transformation."""

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on, as plain objects."""


@dataclass(frozen=True)
class Progress:
    """How far training is: the step, the running loss and accuracy, and what would be learned if it ended here."""

    step: int
    steps: int
    loss: float
    accuracy: float
    parameters: Mapping[str, Array]


@dataclass(frozen=True)
class TrainingResult:
    """Parameters, and the curve they were reached on."""

    parameters: dict[str, Array]
    curve: list[Point]

    @property
    def loss(self) -> float:
        """The running loss at the end."""
        return self.curve[-1][1]


def require_training() -> None:
    """Refuse to train without the libraries for it; optax brings JAX, or misses it."""
    try:
        importlib.import_module("optax")
    except ImportError as error:
        raise InputError("training needs JAX and optax: pip install 'veritally[train]'") from error


def fit(
    task: TrainingTask,
    *,
    steps: int,
    seed: int = 0,
    checkpoint: Path | None = None,
    every: float = 20.0,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> TrainingResult:
    """Train a network, or go on from a checkpoint of the same training.

    Each step draws by its own key and the order of sizes by the seed, so that a run that was interrupted ends where it
    would have ended.

    Parameters
    ----------
    task
        What to learn.
    steps, seed
        How many mini-batches, from which seed.
    checkpoint
        A file that is replaced after ``every`` so many seconds; None for none. It is left to whoever has saved what
        was learned to remove it.
    progress
        Called now and then.
    """
    require_training()
    seed, optimiser = checked_seed(seed, "jax"), task.optimiser(steps)
    start = task.initial_parameters(seed)
    state = CheckpointState(0, Learning(start, start, optimiser.init(start)), [], [])
    identity = json.dumps({"task": task.to_dict(), "steps": steps, "seed": seed}, sort_keys=True)
    if checkpoint is not None and checkpoint.exists():
        state = load_state(checkpoint, identity, state, steps)
    saved = time.monotonic()
    try:
        for reached in _steps(task, optimiser, state, steps, seed):
            if not reached.pending:
                progress(Progress(reached.step, steps, *reached.curve[-1][1:], _learned(task, reached)))
            state = reached  # only now: an interruption by ``progress`` is before this step
            if checkpoint is not None and time.monotonic() - saved >= every:
                save_state(checkpoint, identity, state)
                saved = time.monotonic()
    except KeyboardInterrupt:
        if checkpoint is not None:
            save_state(checkpoint, identity, state)
        raise
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise InputError("there is not enough memory for such mini-batches; make them smaller") from error
    return TrainingResult({name: np.asarray(x) for name, x in _learned(task, state).items()}, state.curve)


def _learned(task: TrainingTask, state: CheckpointState) -> Mapping[str, Array]:
    """Return what is learned: the running mean of the parameters, if the task has one."""
    learned: Mapping[str, Array] = state.learning.mean if task.averaging else state.learning.parameters
    return learned


def _steps(
    task: TrainingTask, optimiser: Any, state: CheckpointState, steps: int, seed: int
) -> Iterator[CheckpointState]:
    """Yield the state after each step that is left."""
    xp = array_library("jax")
    key = random_key(seed)
    programs = _compile_steps(task, optimiser, state.learning, key)
    stream = part_of_key(key, _STREAM)
    stride = max(1, steps // _POINTS)
    learning, curve, pending = map_leaves(xp.array, state.learning), state.curve, state.pending
    for step in range(state.step, steps):
        place, numbers = task.size_of_step(seed, step)
        learning, measured = programs[place](learning, part_of_key(stream, step), xp.asarray(numbers))
        pending, done = [*pending, measured], step + 1
        if done % stride == 0 or done == steps:
            curve, pending = [*curve, _next_point(curve, done, np.asarray(fetch(pending)), steps)], []
        yield CheckpointState(done, learning, curve, pending)


def _compile_steps(task: TrainingTask, optimiser: Any, learning: Learning, key: Any) -> list[Callable[..., Any]]:
    """Compile a program for each size, side by side."""
    xp = array_library("jax")
    keep = task.averaging

    def step(size: Size, learning: Learning, key: Any, numbers: Array) -> tuple[Learning, Array]:
        parameters, mean, optimiser_state = learning
        gradient_of = value_and_gradient(partial(task.loss, size))
        (loss, accuracy), gradient = gradient_of(parameters, key, numbers)
        moves, optimiser_state = optimiser.update(gradient, optimiser_state, parameters)
        parameters = map_leaves(xp.add, parameters, moves)
        if keep:
            mean = map_leaves(lambda old, new: keep * old + (1 - keep) * new, mean, parameters)
        return Learning(parameters, mean, optimiser_state), xp.stack([loss, accuracy])

    def compile_step(size: Size) -> Callable[..., Any]:
        return compile_for(partial(step, size), learning, key, xp.asarray((1, 2)))

    with ThreadPoolExecutor() as pool:
        return list(pool.map(compile_step, task.sizes))


def _next_point(curve: list[Point], step: int, measured: Array, steps: int) -> Point:
    """Go on with the running means of loss and accuracy, from the last point of a curve."""
    if not np.isfinite(measured).all():
        raise DivergedError(f"the loss is no longer finite after {step:,} of {steps:,} steps; lower the learning rate")
    mean = np.array(curve[-1][1:]) * (1 - _FORGET ** curve[-1][0]) if curve else np.zeros(2)
    for one in measured:
        mean = _FORGET * mean + (1 - _FORGET) * one
    mean = mean / (1 - _FORGET**step)  # as much as is in it
    return step, float(mean[0]), float(mean[1])


def measure_loss(
    task: TrainingTask, parameters: dict[str, Array], seed: int = 0, batches: int = 64
) -> tuple[float, float]:
    """Return the mean loss on fresh mini-batches, the same for all networks, and its standard error."""
    xp = array_library("jax")
    programs = [jit(partial(task.loss, size)) for size in task.sizes]
    stream = random_key(seed, _FRESH)
    losses = []
    for batch in range(batches):
        place, numbers = task.size_of_step(seed + _FRESH, batch)
        loss, _ = programs[place](parameters, part_of_key(stream, batch), xp.asarray(numbers))
        losses.append(float(loss))
    return float(np.mean(losses)), float(np.std(losses, ddof=1) / math.sqrt(batches))
