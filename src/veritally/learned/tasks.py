"""What the paper's network is trained on: the best alternative of decisions drawn from any scenario."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from veritally.arrays import Array, Random, array_library, log_softmax, namespace, seed_of_key, split_key, vmap
from veritally.checks import real, whole
from veritally.errors import InputError, quoted
from veritally.learned.deepsets import Configuration, DeepSets
from veritally.learned.layers import initial_parameters
from veritally.learned.rule import NetworkRule
from veritally.learned.training import Size
from veritally.model.errors import Percentage
from veritally.model.experience import ConstantCounts, StratifiedCounts, UniformCounts
from veritally.model.scenario import SCENARIOS, Scenario
from veritally.model.simulation import ballots_from, checked_seed, stream
from veritally.model.truth import NormalTruth
from veritally.votes.ballots import Ballots

_BUCKETS = 4  # of numbers of voters, for each of which a program is compiled
_IMPOSSIBLE = -1e9  # logit of what takes no part, finite for the sake of gradients


@dataclass(frozen=True)
class DeepSetsTask:
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

    averaging = 0.0

    def __post_init__(self) -> None:
        for name, least in (("voters", 1), ("alternatives", 2)):
            object.__setattr__(self, name, _range(getattr(self, name), name, least))
        object.__setattr__(self, "size", whole(self.size, "the size of a mini-batch", least=1))
        object.__setattr__(self, "learning_rate", real(self.learning_rate, "the learning rate", 1e-12, 10))
        if self.scenario.votes not in ("values", "rankings"):
            raise InputError(f"the network takes rankings, so it cannot be trained on {self.scenario.votes}")
        if not any(count > 0 for count in self.scenario.experience.possible):
            raise InputError("no voter sees anything, so there is nothing to learn; give counts above 0")
        for _, m, n in self.sizes:
            self.scenario.replace(voters=m, alternatives=n)  # refuses what fits one size alone

    @property
    def _allows_padding(self) -> bool:
        """Whether fewer alternatives are as if the others had never been there."""
        alike = isinstance(self.scenario.experience, UniformCounts | StratifiedCounts | ConstantCounts)
        single = not isinstance(self.scenario.sigma, tuple)
        return alike and single and isinstance(self.scenario.prior, NormalTruth)

    @property
    def sizes(self) -> Sequence[Size]:
        """Sizes to which mini-batches are padded: some numbers of voters, and the most alternatives."""
        low, high = self.voters
        fewest, most = self.alternatives
        if not self._allows_padding:
            return [(self.size, high, n) for n in range(fewest, most + 1)]
        step = max(1, math.ceil((high - low + 1) / _BUCKETS))
        tops = sorted({min(high, low - 1 + k * step) for k in range(1, _BUCKETS + 1)})
        return [(self.size, m, most) for m in tops]

    def initial_parameters(self, seed: int) -> dict[str, Array]:
        """Return the parameters to start from."""
        random = Random.of(array_library("jax").zeros(0), checked_seed(seed, "jax"))
        return initial_parameters(self.configuration.shapes(), random)

    def size_of_step(self, seed: int, step: int) -> tuple[int, tuple[int, int]]:
        """Draw the numbers of voters and alternatives of a mini-batch, and find the smallest size that holds them."""
        random = np.random.default_rng((seed, step))
        m, n = (int(random.integers(low, high, endpoint=True)) for low, high in (self.voters, self.alternatives))
        large_enough = [k for k, size in enumerate(self.sizes) if size[1] >= m and size[2] >= n]
        return min(large_enough, key=lambda k: self.sizes[k]), (m, n)

    def loss(self, size: Size, parameters: Any, key: Any, numbers: Array) -> tuple[Array, Array]:
        """Return the mean cross-entropy of drawn decisions, and the share of those in which the best was found."""
        truth, ballots = self.draw(size, key, numbers)
        network = DeepSets(self.configuration, parameters)
        return cross_entropy_and_accuracy(NetworkRule(network).scores(ballots), truth, ballots.mask)

    def draw(self, size: Size, key: Any, numbers: Array) -> tuple[Array, Ballots]:
        """Draw truths and rankings; voters and alternatives beyond ``numbers`` are not there."""
        xp = array_library("jax")
        number, m, n = size
        scenario = self.scenario.replace(voters=m, alternatives=n)

        def draw_one(key: Any) -> Any:
            return scenario.draw(partial(stream, xp.zeros(0), scenario, seed_of_key(key), 0), ())

        drawn = vmap(draw_one)(split_key(key, number))
        # Alternatives beyond their number are unseen, and voters beyond theirs have a multiplicity of 0.
        exists = xp.arange(n) < numbers[1]
        ballots = ballots_from(xp.where(exists, drawn.values, xp.nan), xp.where(exists, drawn.reported, 0))
        multiplicity = xp.astype(xp.arange(m) < numbers[0], ballots.counts.dtype)
        seen = xp.any((ballots.counts > 0) & (multiplicity > 0)[:, None], axis=-2)
        ballots = ballots._replace(multiplicity=xp.broadcast_to(multiplicity, (number, m)), mask=seen)
        return drawn.truth, ballots.coarsened("rankings")

    def _count_range(self) -> list[float]:
        """Return from where to where reported counts may lie."""
        possible = [float(count) for count in self.scenario.experience.possible]
        low, high = min(max(min(possible), 1.0), max(possible)), max(possible)
        error = self.scenario.count_error
        if isinstance(error, Percentage):
            return [max(1.0, low * (1 - error.size)), high * (1 + error.size)]
        return [low, high]

    def optimiser(self, steps: int) -> Any:
        """Adam."""
        import optax

        return optax.adam(self.learning_rate)

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on."""
        scenario = self.scenario.to_dict()
        return {
            "network": "deepsets",
            "configuration": self.configuration.to_dict(),
            "scenario": {k: v for k, v in scenario.items() if k not in ("voters", "alternatives", "votes")},
            "voters": list(self.voters),
            "alternatives": list(self.alternatives),
            "counts": self._count_range(),
            "batch_size": self.size,
            "learning_rate": self.learning_rate,
        }


def cross_entropy_and_accuracy(
    logits: Array, truth: Array, mask: Array, included: Array | None = None
) -> tuple[Array, Array]:
    """Return the mean cross-entropy to the best alternative, and how often it has the highest logit.

    Logits, truths and the ``mask`` of alternatives are ``(decision, alternative)``; ``included``, ``(decision,)``, says
    which decisions count, by default all of them.
    """
    xp = namespace(logits)
    finite = xp.where(mask, logits, _IMPOSSIBLE)
    best = xp.argmax(xp.where(mask, truth, -xp.inf), axis=-1)
    cross_entropy = -xp.take_along_axis(log_softmax(finite), best[:, None], axis=-1)[:, 0]
    correct = xp.astype(xp.argmax(finite, axis=-1) == best, cross_entropy.dtype)
    weight = xp.ones_like(cross_entropy) if included is None else xp.astype(included, cross_entropy.dtype)
    number = xp.maximum(xp.sum(weight), 1)
    return xp.sum(weight * cross_entropy) / number, xp.sum(weight * correct) / number


def _range(given: Any, what: str, least: int) -> tuple[int, int]:
    """Return from where to where numbers are drawn; one number stands for itself."""
    pair = given if isinstance(given, tuple | list) else (given, given)
    if len(pair) != 2:
        raise InputError(f"{what} takes one number, or the lowest and the highest, not {quoted(given)}")
    low = whole(pair[0], f"the lowest number of {what}", least=least)
    return low, whole(pair[1], f"the highest number of {what}", least=low)
