"""What a voter sees: the mean of c observations, distributed exactly as such a mean.

All but Bernoulli arms are scaled so that one observation has the standard deviation σ_j.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from veritally.arrays import Array, Random, Shape, for_loop, is_jax, namespace, ndtr
from veritally.checks import real
from veritally.errors import InputError, quoted
from veritally.model.truth import FixedTruth, TruthDistribution

NOT_FINITE = "the noise must return finite numbers"


class Observation(ABC):
    """A distribution of observations."""

    whole_counts: ClassVar[bool] = False
    """Whether only whole numbers of observations make sense."""

    continuous: ClassVar[bool] = False
    """Whether no two means are ever equal."""

    def truth(self, drawn: Array) -> Array:
        """Turn what was drawn from the prior into the true means."""
        return drawn

    def variance_density(self, variance: Array) -> Array:
        """Density of the variance, over σ², of an observation that is normal given it; for NumPy."""
        raise InputError("these observations are not normal with a variance of their own each")

    @abstractmethod
    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw the mean of ``counts`` (above 0) observations each, ``(..., voter, alternative)``."""

    def check(self, prior: TruthDistribution, sigma: float | tuple[float, ...]) -> None:  # noqa: B027 (most fit any)
        """Refuse a prior or sigma that does not fit."""


@dataclass(frozen=True)
class NormalNoise(Observation):
    """Normal observations, whose mean is N(μ_j, σ_j²/c_ij)."""

    continuous: ClassVar[bool] = True

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        return truth + sigma * random.normal(counts.shape) / namespace(counts).sqrt(counts)


@dataclass(frozen=True)
class LaplaceNoise(Observation):
    """Laplace observations.

    One is √E · N with E exponential and N normal; so the sum of c of them is √G · N with G gamma of shape c.
    """

    continuous: ClassVar[bool] = True

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        spread = namespace(counts).sqrt(random.gamma(counts))
        return truth + sigma * spread * random.normal(counts.shape) / counts

    def variance_density(self, variance: Array) -> Array:
        """Exponential."""
        return np.exp(-variance)


@dataclass(frozen=True)
class UniformNoise(Observation):
    """Uniform observations, μ_j ± √3 σ_j, summed one by one."""

    whole_counts: ClassVar[bool] = True
    continuous: ClassVar[bool] = True

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        total = _sums(random, counts, lambda turn: 2 * turn.uniform(counts.shape) - 1)
        return truth + math.sqrt(3) * sigma * total / counts


@dataclass(frozen=True)
class StudentNoise(Observation):
    """Observations from Student's t distribution with more than two degrees of ``freedom``, summed one by one."""

    freedom: float = 5.0
    whole_counts: ClassVar[bool] = True
    continuous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "freedom", real(self.freedom, "the number of degrees of freedom"))
        if self.freedom <= 2:
            raise InputError(f"Student noise needs more than 2 degrees of freedom to have a sigma, not {self.freedom}")

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        total = _sums(random, counts, lambda turn: turn.student(self.freedom, counts.shape))
        return truth + math.sqrt(1 - 2 / self.freedom) * sigma * total / counts

    def variance_density(self, variance: Array) -> Array:
        """Inverse gamma."""
        shape, scale = self.freedom / 2, self.freedom / 2 - 1
        logs = shape * math.log(scale) - math.lgamma(shape) - (shape + 1) * np.log(variance) - scale / variance
        return np.exp(logs)


@dataclass(frozen=True)
class BernoulliArms(Observation):
    """Successes and failures; the truth is the probability of success.

    It comes from the prior through the ``link``: ``logistic``, ``probit``, or ``identity`` for priors that are
    probabilities by themselves. There is no σ.
    """

    link: Literal["logistic", "probit", "identity"] = "logistic"
    whole_counts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.link not in ("logistic", "probit", "identity"):
            raise InputError(f"the link can be logistic, probit or identity, not {quoted(self.link)}")

    def truth(self, drawn: Array) -> Array:
        """Turn what was drawn into probabilities."""
        if self.link == "probit":
            return ndtr(drawn)
        return drawn if self.link == "identity" else (1 + namespace(drawn).tanh(drawn / 2)) / 2

    def check(self, prior: TruthDistribution, sigma: float | tuple[float, ...]) -> None:
        """Require probabilities, and no sigma."""
        if sigma != 1:
            raise InputError("Bernoulli arms have no sigma; leave it out, or set it to 1 if the scenario has one")
        probable = isinstance(prior, FixedTruth) and all(0 <= p <= 1 for p in prior.values)
        if self.link == "identity" and not probable:
            raise InputError("the identity link needs fixed truths that are probabilities; try the link logistic")

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw shares of successes."""
        return random.binomial(counts, namespace(truth).broadcast_to(truth, counts.shape)) / counts


@dataclass(frozen=True)
class FunctionNoise(Observation):
    """Errors of single observations that a function of yours draws, summed one by one.

    Parameters
    ----------
    draw
        ``(random, shape) -> errors``: an array of this shape of independent errors, finite, in units of σ; σ is the
        standard deviation of an observation if that of the errors is 1. The shape is ``(..., voter, alternative)``.
        ``random`` is a source of random numbers with ``normal(shape)``, ``uniform(shape)`` and others, and with NumPy
        its ``generator``. The function is called once for each observation up to the largest count, and a voter sees
        μ_j + σ_j times the mean of c_ij errors. So counts must be whole numbers.

    Examples
    --------
    >>> from veritally.model import Scenario, simulate
    >>> def skewed(random, shape):
    ...     return random.generator.exponential(size=shape) - 1  # mean 0, standard deviation 1
    >>> simulate(Scenario(voters=3, noise=skewed), instances=2).truth.shape
    (2, 10)
    """

    draw: Callable[[Random, Shape], Array]
    whole_counts: ClassVar[bool] = True

    def means(self, random: Random, truth: Array, counts: Array, sigma: Array) -> Array:
        """Draw means."""
        return truth + sigma * _sums(random, counts, lambda turn: self._errors(turn, counts)) / counts

    def _errors(self, random: Random, counts: Array) -> Array:
        """Call the function, and refuse what is no array of the shape, or not finite; JAX sees the latter later."""
        xp = namespace(counts)
        errors = self.draw(random, counts.shape)
        try:
            errors = xp.asarray(errors, dtype=counts.dtype)
        except (TypeError, ValueError) as error:
            raise InputError(f"the noise must return numbers, not {quoted(errors)}") from error
        if errors.shape != counts.shape:
            raise InputError(f"the noise must return an array of the shape {counts.shape}, not {errors.shape}")
        if not is_jax(errors) and not np.isfinite(errors).all():
            raise InputError(NOT_FINITE)
        return errors


def _sums(random: Random, counts: Array, draw: Callable[[Random], Array]) -> Array:
    """Add up as many draws in each cell as it counts."""
    xp = namespace(counts)

    def add(turn: Array, total: tuple[Array]) -> tuple[Array]:
        return (total[0] + xp.where(turn < counts, draw(random.at(turn)), 0),)

    return for_loop(xp.astype(xp.max(counts), xp.int32), add, (xp.zeros_like(counts),))[0]


def separate_ties(x: Array) -> Array:
    """Move two numbers that rounding made equal along the last axis apart, by as little as there is."""
    xp = namespace(x)
    order = xp.argsort(x, axis=-1)
    ordered = xp.take_along_axis(x, order, axis=-1)
    same = xp.concat([xp.zeros_like(x[..., :1], dtype=bool), ordered[..., 1:] == ordered[..., :-1]], axis=-1)
    ordered = xp.where(same, xp.nextafter(ordered, xp.full_like(ordered, xp.inf)), ordered)
    return xp.take_along_axis(ordered, xp.argsort(order, axis=-1), axis=-1)
