"""Models: the weights of a network with the card that says how they came about, shipped or a user's own."""

import functools
import json
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from veritally.checks import real, usable_path, whole
from veritally.errors import InputError
from veritally.learned.deepsets import Configuration, DeepSets
from veritally.learned.layers import Parameters, Shapes
from veritally.learned.limits import Limits
from veritally.learned.universal_network import shapes as universal_shapes
from veritally.learned.weights import load, save

SHIPPED = ("learned", "learned-noisy", "learned-universal")
_KEY = "veritally"  # under which a file has the card
_TASK = "lesson"  # under which a card has the training task, in all files there are


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """Weights and their card.

    Attributes
    ----------
    parameters
        The weights by name.
    card
        What was learned and how, as plain objects: ``lesson`` (the training task), ``steps``, ``seed``, ``held_out``,
        ``versions``, ``loss``, ``curve``.
    """

    parameters: Parameters = field(repr=False)
    card: dict[str, Any]

    @property
    def task(self) -> dict[str, Any]:
        """What the network was trained on."""
        task: dict[str, Any] = self.card[_TASK]
        return task

    @property
    def network(self) -> str:
        """``deepsets`` or ``universal``."""
        return str(self.task["network"])

    @functools.cached_property
    def deepsets(self) -> DeepSets:
        """The paper's network with these weights."""
        return DeepSets(Configuration.from_dict(self.task["configuration"]), self.parameters)

    @property
    def limits(self) -> Limits:
        """What the network was trained on."""
        names = ("voters", "alternatives", "counts", *(("sigma",) if "sigma" in self.task else ()))
        return Limits({name: (float(self.task[name][0]), float(self.task[name][1])) for name in names})

    @classmethod
    def of(cls, parameters: Parameters, task: dict[str, Any], **history: Any) -> "TrainedModel":
        """Put weights, what they were trained on, and what else belongs on the card together."""
        return cls(parameters, {_TASK: task, **history})

    def save(self, path: str | Path) -> None:
        """Write the weights with their card."""
        save(path, self.parameters, {_KEY: json.dumps(self.card)})


def model(source: str | Path, network: str) -> TrainedModel:
    """Return a model of a network, shipped by name or from a file."""
    name = str(source)
    shipped = files("veritally.learned").joinpath("models", f"{name}.safetensors")
    path = shipped if name in SHIPPED else usable_path(name)
    found = _read(str(path), _stamp(str(path)))
    if found.network != network:
        wanted = {"deepsets": "--rule learned", "universal": "--rule learned-universal"}[found.network]
        raise InputError(f"{name}: contains the network {found.network}; use it with {wanted}")
    return found


def _stamp(path: str) -> tuple[int, int]:
    """Return what changes when a file does."""
    try:
        state = Path(path).stat()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    return state.st_mtime_ns, state.st_size


@functools.lru_cache(maxsize=8)
def _read(path: str, stamp: tuple[int, int]) -> TrainedModel:
    parameters, about = load(path)
    try:
        found = TrainedModel(parameters, json.loads(about[_KEY]))
        shapes, _ = _shapes(found.task), found.limits
        _require_history(found.card)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RecursionError):
        raise InputError(f"{path}: contains no weights of a learned rule; make some with `veritally train`") from None
    single = all(x.dtype == np.float32 for x in parameters.values())
    if {name: x.shape for name, x in parameters.items()} != shapes or not single:
        raise InputError(f"{path}: its weights do not fit the network that its card describes")
    return found


def _require_history(card: dict[str, Any]) -> None:
    """Refuse a card that does not say how the weights came about; whoever reads it later may rely on it."""
    whole(card["steps"], "steps"), whole(card["seed"], "seed"), real(card["loss"], "loss")
    numbers = [number for row in (card["held_out"] or {}).values() for number in row.values()]
    for number in [*numbers, *(number for step, loss, accuracy in card["curve"] for number in (step, loss, accuracy))]:
        real(number, "a number of the card")
    if not all(isinstance(version, str) for version in card["versions"].values()):
        raise ValueError("versions")


def _shapes(task: dict[str, Any]) -> Shapes:
    """Return the shapes of the weights of the network that a task trains."""
    if task["network"] == "universal":
        return universal_shapes()
    if task["network"] == "deepsets":
        return Configuration.from_dict(task["configuration"]).shapes()
    raise ValueError(task["network"])
