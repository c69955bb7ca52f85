"""Training: many steps of gradient descent, kept in a checkpoint from which an interrupted run goes on."""

import functools
import importlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError
from veritally.learned.weights import load, save
from veritally.model.simulation import checked_seed

_STREAM, _FRESH = 7, 8  # of random numbers for training, and for measuring what came of it
_POINTS = 200  # of a curve
_FORGET = 0.99  # of the running loss, after each step


class DivergedError(InputError):
    """Training that does not converge."""


class TrainingTask(Protocol):
    """What a network is to learn."""

    @property
    def sizes(self) -> Sequence[tuple[int, int, int]]:
        """Numbers of decisions, voters and alternatives for which programs are compiled."""

    def initial(self, seed: int) -> dict[str, Array]:
        """Return the parameters to start from."""

    def step(self, seed: int, step: int) -> tuple[int, tuple[int, int]]:
        """Return which of the sizes a step takes, and how many voters and alternatives of it."""

    def loss(self, size: tuple[int, int, int], parameters: Any, key: Any, numbers: Array) -> tuple[Array, Array]:
        """Draw decisions; return the loss, and the share of them in which the best was found."""

    def optimiser(self, steps: int) -> Any:
        """Return how gradients move the parameters: an optax transformation."""

    @property
    def memory(self) -> float:
        """How much of the mean of past parameters each step keeps, which is what is learned; 0 for the last alone."""

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
class Trained:
    """Parameters, and the curve they were reached on: rows of step, loss and accuracy."""

    parameters: dict[str, Array]
    curve: list[tuple[int, float, float]]

    @property
    def loss(self) -> float:
        """The running loss at the end."""
        return self.curve[-1][1]


def require_training() -> None:
    """Refuse to train without the libraries for it."""
    for name in ("jax", "optax"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise InputError("training needs JAX and optax: pip install 'veritally[train]'") from error


def fit(
    lesson: TrainingTask,
    *,
    steps: int,
    seed: int = 0,
    checkpoint: Path | None = None,
    every: float = 20.0,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Trained:
    """Train a network, or go on from a checkpoint of the same training.

    Each step draws by its own key and the order of sizes by the seed, so that a run that was interrupted ends where it
    would have ended.

    Parameters
    ----------
    lesson
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
    import jax
    import jax.numpy as jnp

    optimiser, key = lesson.optimiser(steps), jax.random.key(checked_seed(seed, "jax"))
    parameters = lesson.initial(seed)
    state = _State(0, parameters, parameters, optimiser.init(parameters), [], [])
    identity = json.dumps({"lesson": lesson.to_dict(), "steps": steps, "seed": seed}, sort_keys=True)
    if checkpoint is not None and checkpoint.exists():
        state = _restored(checkpoint, identity, state, steps)
    now = state
    try:
        programs = _compiled(lesson, optimiser, state, key)
        curve, pending = list(state.curve), list(state.pending)
        stride = max(1, steps // _POINTS)
        parameters, mean, moments = jax.tree.map(jnp.array, (state.parameters, state.mean, state.moments))
        saved = time.monotonic()
        for step in range(state.step, steps):
            place, numbers = lesson.step(seed, step)
            own = jax.random.fold_in(jax.random.fold_in(key, _STREAM), step)
            parameters, mean, moments, told = programs[place](parameters, mean, moments, own, jnp.asarray(numbers))
            pending.append(told)
            done = step + 1
            if done % stride == 0 or done == steps:
                _extended(curve, done, np.asarray(jax.device_get(pending)), steps)
                pending = []
                progress(Progress(done, steps, *curve[-1][1:], mean if lesson.memory else parameters))
            now = _State(done, parameters, mean, moments, list(curve), list(pending))
            if checkpoint is not None and time.monotonic() - saved >= every:
                _save(checkpoint, identity, now)
                saved = time.monotonic()
    except KeyboardInterrupt:
        if checkpoint is not None:
            _save(checkpoint, identity, now)
        raise
    except RuntimeError as error:  # as JAX has it
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise InputError("there is not enough memory for such mini-batches; make them smaller") from error
    learned = mean if lesson.memory else parameters
    return Trained({name: np.asarray(x) for name, x in learned.items()}, curve)


@dataclass(frozen=True)
class _State:
    """Where training stands."""

    step: int
    parameters: Any
    mean: Any
    moments: Any
    curve: list[tuple[int, float, float]]
    pending: Sequence[Any]


def _compiled(lesson: TrainingTask, optimiser: Any, state: _State, key: Any) -> list[Any]:
    """Compile a program for each size, side by side."""
    import jax
    import jax.numpy as jnp

    def step(size: tuple[int, int, int], parameters: Any, mean: Any, moments: Any, key: Any, numbers: Array) -> Any:
        asked = functools.partial(lesson.loss, size)
        (loss, right), gradient = jax.value_and_grad(asked, has_aux=True)(parameters, key, numbers)
        moves, moments = optimiser.update(gradient, moments, parameters)
        parameters = jax.tree.map(jnp.add, parameters, moves)
        keep = lesson.memory
        mean = jax.tree.map(lambda old, new: keep * old + (1 - keep) * new, mean, parameters) if keep else mean
        return parameters, mean, moments, jnp.stack([loss, right])

    def compiled(size: tuple[int, int, int]) -> Any:
        program = jax.jit(functools.partial(step, size))
        return program.lower(state.parameters, state.mean, state.moments, key, jnp.asarray((1, 2))).compile()

    with ThreadPoolExecutor() as pool:
        return list(pool.map(compiled, lesson.sizes))


def _extended(curve: list[tuple[int, float, float]], step: int, told: Array, steps: int) -> None:
    """Go on with the running means of loss and accuracy."""
    if not np.isfinite(told).all():
        raise DivergedError(f"the loss is no longer finite after {step:,} of {steps:,} steps; lower the learning rate")
    mean = np.array(curve[-1][1:]) * (1 - _FORGET ** curve[-1][0]) if curve else np.zeros(2)
    for one in told:
        mean = _FORGET * mean + (1 - _FORGET) * one
    mean = mean / (1 - _FORGET**step)  # as much as is in it
    curve.append((step, float(mean[0]), float(mean[1])))


def _save(path: Path, identity: str, state: _State) -> None:
    """Keep a state in a file."""
    import jax

    leaves = jax.tree.leaves((state.parameters, state.mean, state.moments))
    arrays = {f"{k:04d}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    pending = np.asarray(jax.device_get(list(state.pending)), dtype=float).reshape(-1, 2)
    besides = {"step": np.asarray(state.step), "curve": np.asarray(state.curve, dtype=float).reshape(-1, 3)}
    save(path, {**arrays, **besides, "pending": pending}, {"identity": identity})


def _restored(path: Path, identity: str, fresh: _State, steps: int) -> _State:
    """Read a state of the same training."""
    import jax

    arrays, about = load(path)
    if about.get("identity") != identity:
        raise InputError(f"{path}: is from another training; remove it, or choose another name for this one")
    leaves, tree = jax.tree.flatten((fresh.parameters, fresh.mean, fresh.moments))
    if not _are_state(arrays, leaves, steps):
        raise InputError(f"{path}: is damaged, no state of a training of {steps:,} steps; remove it to start anew")
    parameters, mean, moments = jax.tree.unflatten(tree, [arrays[f"{k:04d}"] for k in range(len(leaves))])
    curve = [(int(step), float(loss), float(right)) for step, loss, right in arrays["curve"]]
    pending = list(arrays["pending"].astype(np.float32))
    return _State(int(arrays["step"]), parameters, mean, moments, curve, pending)


def _are_state(arrays: Mapping[str, Array], leaves: Sequence[Any], steps: int) -> bool:
    """Whether arrays are those that ``_save`` writes on the way to so many steps."""
    shapes = {f"{k:04d}": np.shape(leaf) for k, leaf in enumerate(leaves)}
    own = {name: arrays[name].shape for name in shapes if name in arrays}
    if own != shapes or not {"step", "curve", "pending"} <= arrays.keys():
        return False
    step, curve, pending = (arrays[name] for name in ("step", "curve", "pending"))
    if step.shape != () or step.dtype.kind != "i" or (curve.shape[1:], pending.shape[1:]) != ((3,), (2,)):
        return False
    reached = curve[-1, 0] if len(curve) else 0  # by the curve; what came after it is pending
    return bool(0 <= step <= steps and reached + len(pending) == step and (len(curve) or step < steps))


def measured(
    lesson: TrainingTask, parameters: dict[str, Array], seed: int = 0, batches: int = 64
) -> tuple[float, float]:
    """Return the mean loss on fresh mini-batches, the same for all networks, and its standard error."""
    import jax
    import jax.numpy as jnp

    programs = [jax.jit(functools.partial(lesson.loss, size)) for size in lesson.sizes]
    key = jax.random.fold_in(jax.random.key(seed), _FRESH)
    losses = []
    for batch in range(batches):
        place, numbers = lesson.step(seed + _FRESH, batch)
        loss, _ = programs[place](parameters, jax.random.fold_in(key, batch), jnp.asarray(numbers))
        losses.append(float(loss))
    return float(np.mean(losses)), float(np.std(losses, ddof=1) / math.sqrt(batches))


def cosine(rate: float, steps: int, warm: float = 0.02) -> Any:
    """Return a learning rate that rises at first and falls like a cosine to a five-hundredth."""
    import optax

    rise = max(1, math.ceil(warm * steps))
    return optax.warmup_cosine_decay_schedule(0.0, rate, rise, max(steps, rise + 1), rate / 500)
