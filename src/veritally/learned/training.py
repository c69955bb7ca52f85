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
from typing import Any, NamedTuple, Protocol

import numpy as np

from veritally.arrays import (
    Array,
    array_library,
    compile_for,
    fetch,
    is_out_of_memory,
    jit,
    leaves,
    map_leaves,
    part_of_key,
    random_key,
    value_and_gradient,
    with_leaves,
)
from veritally.errors import InputError
from veritally.learned.weights import load, save
from veritally.model.simulation import checked_seed

_STREAM, _FRESH = 7, 8  # of random numbers for training, and for measuring what came of it
_POINTS = 200  # of a curve
_FORGET = 0.99  # of the running loss, after each step

Size = tuple[int, int, int]
"""Numbers of decisions, voters and alternatives for which a program is compiled."""

Point = tuple[int, float, float]
"""A point of a training curve: the step, and the running loss and accuracy."""


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
    state = _State(0, _Learning(start, start, optimiser.init(start)), [], [])
    identity = json.dumps({"task": task.to_dict(), "steps": steps, "seed": seed}, sort_keys=True)
    if checkpoint is not None and checkpoint.exists():
        state = _load_state(checkpoint, identity, state, steps)
    saved = time.monotonic()
    try:
        for reached in _steps(task, optimiser, state, steps, seed):
            if not reached.pending:
                progress(Progress(reached.step, steps, *reached.curve[-1][1:], reached.learning.result(task)))
            state = reached  # only now: an interruption by ``progress`` is before this step
            if checkpoint is not None and time.monotonic() - saved >= every:
                _save_state(checkpoint, identity, state)
                saved = time.monotonic()
    except KeyboardInterrupt:
        if checkpoint is not None:
            _save_state(checkpoint, identity, state)
        raise
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise InputError("there is not enough memory for such mini-batches; make them smaller") from error
    return TrainingResult({name: np.asarray(x) for name, x in state.learning.result(task).items()}, state.curve)


class _Learning(NamedTuple):
    """All that a step of training changes: the parameters, their running mean, and what the optimiser remembers."""

    parameters: Any
    mean: Any
    optimiser_state: Any

    def result(self, task: TrainingTask) -> Mapping[str, Array]:
        """Return what is learned."""
        learned: Mapping[str, Array] = self.mean if task.averaging else self.parameters
        return learned


@dataclass(frozen=True)
class _State:
    """Where training stands; loss and accuracy of the steps since the last point of the curve are pending."""

    step: int
    learning: _Learning
    curve: list[Point]
    pending: list[Any]


def _steps(task: TrainingTask, optimiser: Any, state: _State, steps: int, seed: int) -> Iterator[_State]:
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
        yield _State(done, learning, curve, pending)


def _compile_steps(task: TrainingTask, optimiser: Any, learning: _Learning, key: Any) -> list[Callable[..., Any]]:
    """Compile a program for each size, side by side."""
    xp = array_library("jax")
    keep = task.averaging

    def step(size: Size, learning: _Learning, key: Any, numbers: Array) -> tuple[_Learning, Array]:
        parameters, mean, optimiser_state = learning
        gradient_of = value_and_gradient(partial(task.loss, size))
        (loss, accuracy), gradient = gradient_of(parameters, key, numbers)
        moves, optimiser_state = optimiser.update(gradient, optimiser_state, parameters)
        parameters = map_leaves(xp.add, parameters, moves)
        if keep:
            mean = map_leaves(lambda old, new: keep * old + (1 - keep) * new, mean, parameters)
        return _Learning(parameters, mean, optimiser_state), xp.stack([loss, accuracy])

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


def _save_state(path: Path, identity: str, state: _State) -> None:
    """Keep a state in a file."""
    arrays = {f"{k:04d}": np.asarray(leaf) for k, leaf in enumerate(leaves(state.learning))}
    arrays["step"] = np.asarray(state.step)
    arrays["curve"] = np.asarray(state.curve, dtype=float).reshape(-1, 3)
    arrays["pending"] = np.asarray(fetch(state.pending), dtype=float).reshape(-1, 2)
    save(path, arrays, {"identity": identity})


def _load_state(path: Path, identity: str, start: _State, steps: int) -> _State:
    """Read a state of the same training, whose arrays are nested as those at the start."""
    arrays, about = load(path)
    if about.get("identity") != identity:
        raise InputError(f"{path}: is from another training; remove it, or choose another name for this one")
    expected = leaves(start.learning)
    if not _is_state(arrays, expected, steps):
        raise InputError(f"{path}: is damaged, no state of a training of {steps:,} steps; remove it to start anew")
    learning = with_leaves(start.learning, [arrays[f"{k:04d}"] for k in range(len(expected))])
    curve = [(int(step), float(loss), float(accuracy)) for step, loss, accuracy in arrays["curve"]]
    return _State(int(arrays["step"]), learning, curve, list(arrays["pending"].astype(np.float32)))


def _is_state(arrays: Mapping[str, Array], expected: Sequence[Array], steps: int) -> bool:
    """Whether arrays are those that ``_save_state`` writes on the way to so many steps."""
    shapes = {f"{k:04d}": np.shape(leaf) for k, leaf in enumerate(expected)}
    own = {name: arrays[name].shape for name in shapes if name in arrays}
    if own != shapes or not {"step", "curve", "pending"} <= arrays.keys():
        return False
    step, curve, pending = (arrays[name] for name in ("step", "curve", "pending"))
    if step.shape != () or step.dtype.kind != "i" or (curve.shape[1:], pending.shape[1:]) != ((3,), (2,)):
        return False
    reached = curve[-1, 0] if len(curve) else 0  # by the curve; what came after it is pending
    return bool(0 <= step <= steps and reached + len(pending) == step and (len(curve) or step < steps))


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
