"""Where the truth comes from."""

import math
from dataclasses import dataclass
from typing import Protocol

from veritally.arrays import Array, Random, Shape, namespace
from veritally.errors import InputError


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
        if not (math.isfinite(self.mean) and 0 < self.sd < math.inf):
            raise InputError(f"a normal prior needs a finite mean and an sd above 0, not {self.mean} and {self.sd}")

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw truths."""
        return self.mean + self.sd * random.normal(shape)


@dataclass(frozen=True, init=False)
class FixedTruth:
    """The same truths in every instance, one for each alternative."""

    values: tuple[float, ...]

    def __init__(self, *values: float) -> None:
        object.__setattr__(self, "values", tuple(map(float, values)))
        if len(self.values) < 2 or not all(map(math.isfinite, self.values)):
            raise InputError("fixed truths are finite numbers, one for each of at least two alternatives")

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the truths."""
        like = random.uniform(shape)
        return namespace(like).asarray(self.values, dtype=like.dtype) + 0 * like
