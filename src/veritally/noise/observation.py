"""What a voter sees: the mean of c observations, distributed exactly as such a mean.

All but Bernoulli arms are scaled so that one observation has the standard deviation σ_j.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from veritally.arrays import Array, Random, for_loop, namespace, ndtr
from veritally.checks import real
from veritally.errors import InputError


class Observation(Protocol):
    """A distribution of observations."""

    whole_counts: ClassVar[bool]
    """Whether only whole numbers of observations make sense."""

    def truth(self, drawn: Array) -> Array:
        """Turn what was drawn from the prior into the true means."""
        ...

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw the mean of ``counts`` (above 0) observations each, ``(..., voter, alternative)``."""
        ...


class _Additive:
    """The truth plus noise of its own scale."""

    whole_counts: ClassVar[bool] = False

    def truth(self, drawn: Array) -> Array:
        """Return the truth, which is what was drawn."""
        return drawn


@dataclass(frozen=True)
class NormalNoise(_Additive):
    """Normal observations, whose mean is N(μ_j, σ_j²/c_ij)."""

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        return truth + sigma * random.normal(counts.shape) / namespace(counts).sqrt(counts)


@dataclass(frozen=True)
class LaplaceNoise(_Additive):
    """Laplace observations.

    One is √E · N with E exponential and N normal; so the sum of c of them is √G · N with G gamma of shape c.
    """

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        spread = namespace(counts).sqrt(random.gamma(counts))
        return truth + sigma * spread * random.normal(counts.shape) / counts


@dataclass(frozen=True)
class UniformNoise(_Additive):
    """Uniform observations, μ_j ± √3 σ_j, summed one by one."""

    whole_counts: ClassVar[bool] = True

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        total = _sums(random, counts, lambda turn: 2 * turn.uniform(counts.shape) - 1)
        return truth + math.sqrt(3) * sigma * total / counts


@dataclass(frozen=True)
class StudentNoise(_Additive):
    """Observations from Student's t distribution with more than two degrees of ``freedom``, summed one by one."""

    freedom: float = 5.0
    whole_counts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "freedom", real(self.freedom, "the number of degrees of freedom"))
        if self.freedom <= 2:
            raise InputError(f"Student noise needs more than 2 degrees of freedom to have a sigma, not {self.freedom}")

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        total = _sums(random, counts, lambda turn: turn.student(self.freedom, counts.shape))
        return truth + math.sqrt(1 - 2 / self.freedom) * sigma * total / counts


@dataclass(frozen=True)
class BernoulliArms:
    """Successes and failures; the truth is the probability of success.

    It comes from the prior through the ``link``: ``logistic``, ``probit``, or ``identity`` for priors that are
    probabilities by themselves. There is no σ.
    """

    link: Literal["logistic", "probit", "identity"] = "logistic"
    whole_counts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.link not in ("logistic", "probit", "identity"):
            raise InputError(f"the link can be logistic, probit or identity, not {self.link!r}")

    def truth(self, drawn: Array) -> Array:
        """Turn what was drawn into probabilities."""
        if self.link == "probit":
            return ndtr(drawn)
        return drawn if self.link == "identity" else (1 + namespace(drawn).tanh(drawn / 2)) / 2

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw shares of successes."""
        return random.binomial(counts, namespace(truth).broadcast_to(truth, counts.shape)) / counts


def _sums(random: Random, counts: Array, draw: Callable[[Random], Array]) -> Array:
    """Add up as many draws in each cell as it counts."""
    xp = namespace(counts)

    def add(turn: Array, total: tuple[Array]) -> tuple[Array]:
        return (total[0] + xp.where(turn < counts, draw(random.at(turn)), 0),)

    return for_loop(xp.astype(xp.max(counts), xp.int32), add, (xp.zeros_like(counts),))[0]
