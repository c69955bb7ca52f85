"""What networks are trained on: the paper's network on any scenario, the universal one on decisions of every kind."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from veritally.arrays import Array, Random
from veritally.checks import positive, real, whole
from veritally.errors import InputError, quoted
from veritally.learned.agreement import Estimate
from veritally.learned.deepsets import Configuration, DeepSets
from veritally.learned.layers import initial
from veritally.learned.rule import learned_rule
from veritally.learned.training import cosine
from veritally.learned.training_data import COUNTS, SIGMA, decisions
from veritally.learned.universal_network import answer
from veritally.learned.universal_network import shapes as universal_shapes
from veritally.model.errors import Percentage
from veritally.model.experience import ConstantCounts, StratifiedCounts, UniformCounts
from veritally.model.scenario import SCENARIOS, Scenario
from veritally.model.simulation import ballots_from, checked_seed, stream
from veritally.model.truth import NormalTruth
from veritally.votes.ballots import Ballots

_BUCKETS = 4  # of numbers of voters, for each of which a program is compiled


@dataclass(frozen=True)
class DeepSetsLesson:
    """The paper's recipe: cross-entropy to the best alternative, by Adam, on mini-batches of a scenario.

    Attributes
    ----------
    configuration
        The network.
    scenario
        Where votes come from; its numbers of voters and alternatives are replaced for each mini-batch.
    voters, alternatives
        From where to where these numbers are drawn, ends included. The paper's "between 5 and 350" and "between 5 and
        15" come out right without their upper ends.
    size
        Decisions in a mini-batch.
    learning_rate
        Of Adam.
    """

    configuration: Configuration = field(default_factory=Configuration)
    scenario: Scenario = SCENARIOS["high-variance"]
    voters: tuple[int, int] = (5, 349)
    alternatives: tuple[int, int] = (5, 14)
    size: int = 128
    learning_rate: float = 3e-4

    memory = 0.0

    def __post_init__(self) -> None:
        for name, least in (("voters", 1), ("alternatives", 2)):
            object.__setattr__(self, name, _range(getattr(self, name), name, least))
        object.__setattr__(self, "size", whole(self.size, "the size of a mini-batch", least=1))
        object.__setattr__(self, "learning_rate", real(self.learning_rate, "the learning rate", 1e-12, 10))
        if self.scenario.votes not in ("values", "rankings"):
            raise InputError(f"the network takes rankings, so it cannot be trained on {self.scenario.votes}")
        if not any(count > 0 for count in self.scenario.experience.possible):
            raise InputError("voters who see nothing have nothing to teach; give counts above 0")
        for _, m, n in self.sizes:
            self.scenario.replace(voters=m, alternatives=n)  # refuses what fits one size alone

    @property
    def _paddable(self) -> bool:
        """Whether fewer alternatives are as if the others had never been there."""
        alike = isinstance(self.scenario.experience, UniformCounts | StratifiedCounts | ConstantCounts)
        single = not isinstance(self.scenario.sigma, tuple)
        return alike and single and isinstance(self.scenario.prior, NormalTruth)

    @property
    def sizes(self) -> Sequence[tuple[int, int, int]]:
        """Sizes to which mini-batches are padded: some numbers of voters, and the most alternatives."""
        low, high = self.voters
        step = max(1, math.ceil((high - low + 1) / _BUCKETS))
        tops = sorted({min(high, low - 1 + k * step) for k in range(1, _BUCKETS + 1)})
        fewest, most = self.alternatives
        if self._paddable:
            return [(self.size, m, most) for m in tops]
        return [(self.size, high, n) for n in range(fewest, most + 1)]

    def initial(self, seed: int) -> dict[str, Array]:
        """Return the parameters to start from."""
        return initial(self.configuration.shapes(), _random(seed))

    def step(self, seed: int, step: int) -> tuple[int, tuple[int, int]]:
        """Return the program for a mini-batch, and its numbers of voters and alternatives."""
        random = np.random.default_rng((seed, step))
        m, n = (int(random.integers(low, high, endpoint=True)) for low, high in (self.voters, self.alternatives))
        fitting = [k for k, size in enumerate(self.sizes) if size[1] >= m and size[2] >= n]
        return min(fitting, key=lambda k: self.sizes[k]), (m, n)

    def loss(self, size: tuple[int, int, int], parameters: Any, key: Any, numbers: Array) -> tuple[Array, Array]:
        """Return the mean cross-entropy of drawn decisions, and the share of those in which the best was found."""
        truth, ballots = self.draw(size, key, numbers)
        network = DeepSets(self.configuration, parameters)
        return _judged(learned_rule(network).scores(ballots), truth, ballots.mask)

    def draw(self, size: tuple[int, int, int], key: Any, numbers: Array) -> tuple[Array, Ballots]:
        """Draw truths and rankings; voters and alternatives beyond ``numbers`` are not there."""
        import jax
        import jax.numpy as jnp

        number, m, n = size
        scenario = self.scenario.replace(voters=m, alternatives=n)

        def one(key: Any) -> Any:
            seed = jax.random.randint(key, (), 0, 2**31 - 1)
            return scenario.draw(partial(stream, jnp.zeros(0), scenario, seed, 0), ())

        drawn = jax.vmap(one)(jax.random.split(key, number))
        there = jnp.arange(n) < numbers[1]
        ballots = ballots_from(jnp.where(there, drawn.values, jnp.nan), jnp.where(there, drawn.reported, 0))
        times = jnp.astype(jnp.arange(m) < numbers[0], ballots.counts.dtype)
        seen = jnp.any((ballots.counts > 0) & (times > 0)[:, None], axis=-2)
        ballots = ballots._replace(multiplicity=jnp.broadcast_to(times, (number, m)), mask=seen)
        return drawn.truth, ballots.coarsened("rankings")

    def _counts(self) -> list[float]:
        """Return from where to where reported counts may lie."""
        possible = [float(count) for count in self.scenario.experience.possible]
        low, high = min(max(min(possible), 1.0), max(possible)), max(possible)
        error = self.scenario.count_error
        return (
            [max(1.0, low * (1 - error.size)), high * (1 + error.size)]
            if isinstance(error, Percentage)
            else [low, high]
        )

    def optimiser(self, steps: int) -> Any:
        """Adam."""
        import optax

        return optax.adam(self.learning_rate)

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on."""
        return {
            "network": "deepsets",
            "configuration": self.configuration.to_dict(),
            "scenario": {
                k: v for k, v in self.scenario.to_dict().items() if k not in ("voters", "alternatives", "votes")
            },
            "voters": list(self.voters),
            "alternatives": list(self.alternatives),
            "counts": self._counts(),
            "batch_size": self.size,
            "learning_rate": self.learning_rate,
        }


_PANELS = (
    (1000, 11), (300, 25), (350, 11), (1000, 30), (150, 50), (110, 11), (60, 25), (32, 11),
    (40, 50), (8, 11), (16, 25), (300, 4), (12, 50), (20, 5), (1000, 50), (1000, 4),
)  # fmt: skip
_WEIGHTS = (0.3, 1.0, 1.0, 0.1)  # of both estimates, of the best alternative, and of σ/τ
_FAR = 6.0  # standard deviations beyond which errors count by their size, not its square
_SMALL = ("guess", "settle", "choose", "say", "resay")  # layers that start near 0


@dataclass(frozen=True)
class UniversalLesson:
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

    memory = 0.999

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", whole(self.cells, "the number of votes in a mini-batch", least=1))
        object.__setattr__(self, "learning_rate", positive(self.learning_rate, "the learning rate"))

    @property
    def sizes(self) -> Sequence[tuple[int, int, int]]:
        """Sizes with the same number of votes."""
        return [(max(2, self.cells // (m * n)), m, n) for m, n in self.panels]

    def initial(self, seed: int) -> dict[str, Array]:
        """Return the parameters to start from."""
        drawn = initial(universal_shapes(), _random(seed), math.sqrt(3), biased=False)
        return {name: x * 0.1 if name.split(".")[0] in _SMALL else x for name, x in drawn.items()}

    def step(self, seed: int, step: int) -> tuple[int, tuple[int, int]]:
        """Take the sizes in turn."""
        place = step % len(self.panels)
        return place, self.panels[place]

    def loss(self, size: tuple[int, int, int], parameters: Any, key: Any, numbers: Array) -> tuple[Array, Array]:
        """Return the mean of all losses, and the share of decisions in which the best was found."""
        import jax.numpy as jnp

        drawn = decisions(key, *size)
        mask = drawn.ballots.mask
        given = answer(parameters, drawn.ballots, drawn.setting)
        number = jnp.sum(mask, axis=-1)
        some = number > 1
        whole = jnp.maximum(number, 1)
        centre = jnp.sum(jnp.where(mask, drawn.truth, 0), axis=-1, keepdims=True) / whole[:, None]
        estimates = sum(
            weight * jnp.sum(jnp.where(mask, _surprise(estimate, drawn.truth - centre), 0), axis=-1) / whole
            for weight, estimate in zip(_WEIGHTS, (given.first, given.second), strict=False)
        )
        total = estimates + _WEIGHTS[3] * _surprise(given.scale, drawn.scale)
        share = jnp.maximum(jnp.sum(some), 1)
        best, right = _judged(given.logits, drawn.truth, mask, some)
        return jnp.sum(jnp.where(some, total, 0)) / share + _WEIGHTS[2] * best, right

    def optimiser(self, steps: int) -> Any:
        """Adam with a learning rate that rises and falls, and gradients of limited size."""
        import optax

        return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(cosine(self.learning_rate, steps), b2=0.99))

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


def _surprise(estimate: Estimate, truth: Array) -> Array:
    """Minus the log-density of a normal, up to a constant, with tails that are less steep."""
    import jax.numpy as jnp

    z = jnp.abs(truth - estimate.mean) * jnp.exp(-estimate.log_deviation)
    return jnp.where(z < _FAR, z**2 / 2, _FAR * z - _FAR**2 / 2) + estimate.log_deviation


def _judged(logits: Array, truth: Array, mask: Array, some: Array | None = None) -> tuple[Array, Array]:
    """Return the mean cross-entropy to the best alternative, and how often it has the highest logit."""
    import jax
    import jax.numpy as jnp

    finite = jnp.where(mask, logits, -1e9)
    best = jnp.argmax(jnp.where(mask, truth, -jnp.inf), axis=-1)
    each = -jnp.take_along_axis(jax.nn.log_softmax(finite), best[:, None], axis=-1)[:, 0]
    right = jnp.astype(jnp.argmax(finite, axis=-1) == best, each.dtype)
    weight = jnp.ones_like(each) if some is None else jnp.astype(some, each.dtype)
    whole = jnp.maximum(jnp.sum(weight), 1)
    return jnp.sum(weight * each) / whole, jnp.sum(weight * right) / whole


def _range(given: Any, what: str, least: int) -> tuple[int, int]:
    """Return from where to where numbers are drawn; one number stands for itself."""
    pair = given if isinstance(given, tuple | list) else (given, given)
    if len(pair) != 2:
        raise InputError(f"{what} are drawn from the lowest to the highest number; give two, not {quoted(given)}")
    low = whole(pair[0], f"the lowest number of {what}", least=least)
    return low, whole(pair[1], f"the highest number of {what}", least=low)


def _random(seed: int) -> Random:
    import jax.numpy as jnp

    return Random.of(jnp.zeros(0), checked_seed(seed, "jax"))
