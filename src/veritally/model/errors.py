"""How reported counts differ from true ones.

A count error is any callable ``(random, counts, experience) -> reported`` on arrays ``(..., voter, alternative)``,
written to the array API standard if it is to run in JAX. What was seen must be reported as seen, by a count above 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from veritally.arrays import Array, Random, namespace
from veritally.checks import real
from veritally.model.experience import Experience

CountError: TypeAlias = Callable[[Random, Array, Experience], Array]


@dataclass(frozen=True)
class Percentage:
    """Every count is off by up to ± ``size`` of itself: max(1, round(c · u)), u uniform on 1 ± size."""

    size: float = 0.5

    def __post_init__(self) -> None:
        size = real(self.size, "the size of a percentage error (0.5 for ± 50%)", least=0, most=1)
        object.__setattr__(self, "size", size)

    def __call__(self, random: Random, counts: Array, experience: Experience) -> Array:
        """Report the counts."""
        xp = namespace(counts)
        factor = 1 - self.size + 2 * self.size * random.uniform(counts.shape)
        return xp.maximum(xp.round(counts * factor), xp.asarray(1, dtype=counts.dtype))


@dataclass(frozen=True)
class Replacement:
    """Each count is replaced by a new draw with this ``probability``; it stays if the new one would be 0."""

    probability: float = 0.33

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", real(self.probability, "the probability of replacement", 0, 1))

    def __call__(self, random: Random, counts: Array, experience: Experience) -> Array:
        """Report the counts."""
        replaced = random.uniform(counts.shape) < self.probability
        fresh = experience.fresh(random, counts.shape)
        return namespace(counts).where(replaced & (fresh > 0), fresh, counts)
