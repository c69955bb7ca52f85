"""How reported counts differ from true ones.

A count error is any callable ``(random, counts, experience) -> reported`` on arrays ``(..., voter, alternative)``; what
was seen must be reported as seen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from veritally.arrays import Array, Random, namespace
from veritally.errors import InputError
from veritally.noise.experience import Experience

CountError: TypeAlias = Callable[[Random, Array, Experience], Array]


@dataclass(frozen=True)
class Percentage:
    """Every count is off by up to ± ``size`` of itself: max(1, round(c · u)), u uniform on 1 ± size."""

    size: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.size <= 1:
            raise InputError(f"a percentage error is a share from 0 to 1, not {self.size}")

    def __call__(self, random: Random, counts: Array, experience: Experience) -> Array:
        """Report the counts."""
        xp = namespace(counts)
        factor = 1 - self.size + 2 * self.size * random.uniform(counts.shape)
        return xp.maximum(xp.round(counts * factor), xp.asarray(1, dtype=counts.dtype))


@dataclass(frozen=True)
class Replacement:
    """Each count is replaced with this ``probability`` by a fresh draw."""

    probability: float = 0.33

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InputError(f"a probability of replacement goes from 0 to 1, not {self.probability}")

    def __call__(self, random: Random, counts: Array, experience: Experience) -> Array:
        """Report the counts."""
        replaced = random.uniform(counts.shape) < self.probability
        return namespace(counts).where(replaced, experience.fresh(random, counts.shape), counts)
