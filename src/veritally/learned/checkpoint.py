"""Checkpoints: the state of a training, in a file from which an interrupted run resumes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, fetch, leaves, with_leaves
from veritally.errors import InputError
from veritally.learned.weights import load, save

Point = tuple[int, float, float]
"""A point of a training curve: the step, and the running loss and accuracy."""


class Learning(NamedTuple):
    """All that a step of training changes: the parameters, their running mean, and what the optimiser remembers."""

    parameters: Any
    mean: Any
    optimiser_state: Any


@dataclass(frozen=True)
class CheckpointState:
    """Where training stands; loss and accuracy of the steps since the last point of the curve are pending."""

    step: int
    learning: Learning
    curve: list[Point]
    pending: list[Any]


def save_state(path: Path, identity: str, state: CheckpointState) -> None:
    """Keep a state in a file."""
    arrays = {f"{k:04d}": np.asarray(leaf) for k, leaf in enumerate(leaves(state.learning))}
    arrays["step"] = np.asarray(state.step)
    arrays["curve"] = np.asarray(state.curve, dtype=float).reshape(-1, 3)
    arrays["pending"] = np.asarray(fetch(state.pending), dtype=float).reshape(-1, 2)
    save(path, arrays, {"identity": identity})


def load_state(path: Path, identity: str, start: CheckpointState, steps: int) -> CheckpointState:
    """Read a state of the same training, whose arrays are nested as those at the start."""
    arrays, about = load(path)
    if about.get("identity") != identity:
        raise InputError(f"{path}: belongs to another training; remove it, or choose another name for this one")
    expected = leaves(start.learning)
    if not _is_state(arrays, expected, steps):
        raise InputError(f"{path}: is damaged or not from a training of {steps:,} steps; remove it to start over")
    learning = with_leaves(start.learning, [arrays[f"{k:04d}"] for k in range(len(expected))])
    curve = [(int(step), float(loss), float(accuracy)) for step, loss, accuracy in arrays["curve"]]
    return CheckpointState(int(arrays["step"]), learning, curve, list(arrays["pending"].astype(np.float32)))


def _is_state(arrays: Mapping[str, Array], expected: Sequence[Array], steps: int) -> bool:
    """Whether arrays are those that ``save_state`` writes on the way to so many steps."""
    shapes = {f"{k:04d}": np.shape(leaf) for k, leaf in enumerate(expected)}
    own = {name: arrays[name].shape for name in shapes if name in arrays}
    if own != shapes or not {"step", "curve", "pending"} <= arrays.keys():
        return False
    step, curve, pending = (arrays[name] for name in ("step", "curve", "pending"))
    if step.shape != () or step.dtype.kind != "i" or (curve.shape[1:], pending.shape[1:]) != ((3,), (2,)):
        return False
    reached = curve[-1, 0] if len(curve) else 0  # by the curve; what came after it is pending
    return bool(0 <= step <= steps and reached + len(pending) == step and (len(curve) or step < steps))
