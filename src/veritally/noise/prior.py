"""Where the truth comes from."""

from dataclasses import dataclass
from typing import Protocol

from veritally.arrays import Array, Random, Shape, namespace
from veritally.checks import real


class Prior(Protocol):
    """A distribution of the truth over alternatives."""

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw truths of shape ``(..., alternative)``."""
        ...


@dataclass(frozen=True)
class NormalTruth:
    """μ_j ~ N(mean, sd²), independently."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", real(self.mean, "the mean of the prior"))
        object.__setattr__(self, "sd", real(self.sd, "the sd of the prior", least=1e-100))

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw truths."""
        return self.mean + self.sd * random.normal(shape)


@dataclass(frozen=True, init=False)
class FixedTruth:
    """The same truths in every instance, one for each alternative."""

    values: tuple[float, ...]

    def __init__(self, *values: float) -> None:
        object.__setattr__(self, "values", tuple(real(value, "a fixed truth") for value in values))

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the truths."""
        like = random.uniform(shape)
        return namespace(like).asarray(self.values, dtype=like.dtype) + 0 * like
