"""What the universal network is trained on: truths, the best alternative and σ/τ of decisions of every kind."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import optax
from training_data import COUNTS, SIGMA, decisions

from veritally.arrays import Array, Random
from veritally.checks import positive, whole
from veritally.learned.agreement import NormalEstimate
from veritally.learned.layers import initial_parameters
from veritally.learned.tasks import cross_entropy_and_accuracy
from veritally.learned.training import Size
from veritally.learned.universal_network import answer, shapes
from veritally.model.simulation import checked_seed

_PANELS = (
    (1000, 11), (300, 25), (350, 11), (1000, 30), (150, 50), (110, 11), (60, 25), (32, 11),
    (40, 50), (8, 11), (16, 25), (300, 4), (12, 50), (20, 5), (1000, 50), (1000, 4),
)  # fmt: skip
_FIRST_WEIGHT, _SECOND_WEIGHT, _BEST_WEIGHT, _SCALE_WEIGHT = 0.3, 1.0, 1.0, 0.1  # of the parts of the loss
_FAR = 6.0  # standard deviations beyond which errors count by their size, not its square
_NEAR_ZERO = ("guess", "settle", "choose", "say", "resay")  # layers that start near 0


@dataclass(frozen=True)
class UniversalTask:
    """Truths, their uncertainty, the best alternative and σ/τ, of decisions of every kind.

    Attributes
    ----------
    cells
        Votes in a mini-batch.
    learning_rate
        The highest.
    panels
        The most voters and alternatives in a mini-batch, taken in turn.
    """

    cells: int = 400_000
    learning_rate: float = 2e-3
    panels: tuple[tuple[int, int], ...] = _PANELS

    averaging = 0.999

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", whole(self.cells, "the number of votes in a mini-batch", least=1))
        object.__setattr__(self, "learning_rate", positive(self.learning_rate, "the learning rate"))

    @property
    def sizes(self) -> Sequence[Size]:
        """Sizes with the same number of votes."""
        return [(max(2, self.cells // (m * n)), m, n) for m, n in self.panels]

    def initial_parameters(self, seed: int) -> dict[str, Array]:
        """Return the parameters to start from."""
        random = Random.of(jnp.zeros(0), checked_seed(seed, "jax"))
        drawn = initial_parameters(shapes(), random, math.sqrt(3), biased=False)
        return {name: x * 0.1 if name.split(".")[0] in _NEAR_ZERO else x for name, x in drawn.items()}

    def size_of_step(self, seed: int, step: int) -> tuple[int, tuple[int, int]]:
        """Take the sizes in turn."""
        place = step % len(self.panels)
        return place, self.panels[place]

    def loss(self, size: Size, parameters: Any, key: Any, numbers: Array) -> tuple[Array, Array]:
        """Return the mean of all losses, and the share of decisions in which the best was found."""
        drawn = decisions(key, *size)
        mask = drawn.ballots.mask
        given = answer(parameters, drawn.ballots, drawn.setting)
        number = jnp.sum(mask, axis=-1)
        included = number > 1  # decisions with something to choose from
        number = jnp.maximum(number, 1)
        centre = jnp.sum(jnp.where(mask, drawn.truth, 0), axis=-1, keepdims=True) / number[:, None]
        # Both estimates of the truths, and that of σ/τ.
        estimates = sum(
            weight * jnp.sum(jnp.where(mask, _surprise(estimate, drawn.truth - centre), 0), axis=-1) / number
            for weight, estimate in ((_FIRST_WEIGHT, given.first), (_SECOND_WEIGHT, given.second))
        )
        total = estimates + _SCALE_WEIGHT * _surprise(given.scale, drawn.scale)
        decision_number = jnp.maximum(jnp.sum(included), 1)
        # The best alternative.
        cross_entropy, accuracy = cross_entropy_and_accuracy(given.logits, drawn.truth, mask, included)
        return jnp.sum(jnp.where(included, total, 0)) / decision_number + _BEST_WEIGHT * cross_entropy, accuracy

    def optimiser(self, steps: int) -> Any:
        """Adam with a learning rate that rises and falls, and gradients of limited size."""
        schedule = _cosine_schedule(self.learning_rate, steps)
        return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule, b2=0.99))

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on."""
        return {
            "network": "universal",
            "voters": [1, 1000],
            "alternatives": [2, 50],
            "counts": list(COUNTS),
            "sigma": list(SIGMA),
            "panels": [list(panel) for panel in self.panels],
            "cells": self.cells,
            "learning_rate": self.learning_rate,
        }


def _surprise(estimate: NormalEstimate, truth: Array) -> Array:
    """Minus the log-density of a normal, up to a constant, with tails that are less steep."""
    z = jnp.abs(truth - estimate.mean) * jnp.exp(-estimate.log_deviation)
    return jnp.where(z < _FAR, z**2 / 2, _FAR * z - _FAR**2 / 2) + estimate.log_deviation


def _cosine_schedule(rate: float, steps: int, warm_up: float = 0.02) -> Any:
    """Return a learning rate that rises at first and falls like a cosine to a five-hundredth."""
    rise = max(1, math.ceil(warm_up * steps))
    return optax.warmup_cosine_decay_schedule(0.0, rate, rise, max(steps, rise + 1), rate / 500)
