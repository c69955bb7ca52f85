"""Where the truth comes from."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from veritally.arrays import Array, Random, Shape
from veritally.checks import positive, real
from veritally.errors import InputError


class TruthDistribution(ABC):
    """A distribution of the truth over alternatives."""

    @abstractmethod
    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw truths of shape ``(..., alternative)``."""

    def check(self, alternatives: int) -> None:  # noqa: B027 (most fit any)
        """Refuse so many alternatives if they do not fit."""


@dataclass(frozen=True)
class NormalTruth(TruthDistribution):
    """μ_j ~ N(mean, sd²), independently."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", real(self.mean, "the mean of the prior"))
        object.__setattr__(self, "sd", positive(self.sd, "the sd of the prior"))

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw truths."""
        return self.mean + self.sd * random.normal(shape)


@dataclass(frozen=True, init=False)
class FixedTruth(TruthDistribution):
    """The same truths in every instance, one for each alternative."""

    values: tuple[float, ...]

    def __init__(self, *values: float) -> None:
        object.__setattr__(self, "values", tuple(real(value, "a fixed truth") for value in values))

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the truths."""
        return random.repeat(self.values, shape)

    def check(self, alternatives: int) -> None:
        """Require a truth for each alternative."""
        if len(self.values) != alternatives:
            raise InputError(f"there are {len(self.values)} fixed truths for {alternatives} alternatives")
