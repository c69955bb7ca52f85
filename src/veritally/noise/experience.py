"""How many observations each voter has of each alternative."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from veritally.arrays import Array, Random, Shape, namespace
from veritally.errors import InputError


class Experience(Protocol):
    """A distribution of counts."""

    @property
    def whole(self) -> bool:
        """Whether all counts are whole numbers."""
        ...

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts of shape ``(..., voter, alternative)``."""
        ...

    def fresh(self, random: Random, shape: Shape) -> Array:
        """Draw counts that might have been, to replace others with."""
        ...


class _Drawn(ABC):
    """Counts that are drawn anew each time."""

    @property
    def whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return True

    @abstractmethod
    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""

    def fresh(self, random: Random, shape: Shape) -> Array:
        """Draw counts once more."""
        return self.draw(random, shape)


@dataclass(frozen=True)
class UniformCounts(_Drawn):
    """Whole numbers from ``low`` to ``high``, both included, each cell by itself.

    The paper's "between 1 to 50" comes out right as 1 to 49.
    """

    low: int = 1
    high: int = 49

    def __post_init__(self) -> None:
        _require_range(self.low, self.high)

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""
        return random.integers(self.low, self.high, shape)


@dataclass(frozen=True)
class StratifiedCounts(_Drawn):
    """Each voter has a highest count, uniform from ``low`` to ``high``, and counts uniform from ``low`` to that."""

    low: int = 1
    high: int = 49

    def __post_init__(self) -> None:
        _require_range(self.low, self.high)

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""
        highest = random.integers(self.low, self.high, (*shape[:-1], 1))
        return random.integers(self.low, highest, shape)


@dataclass(frozen=True)
class ConstantCounts(_Drawn):
    """The same count for everybody and everything."""

    count: float = 10

    def __post_init__(self) -> None:
        _require_count(self.count)

    @property
    def whole(self) -> bool:
        """Whether the count is a whole number."""
        return self.count % 1 == 0

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the count."""
        return self.count + 0 * random.uniform(shape)


@dataclass(frozen=True)
class Specialists(_Drawn):
    """Each voter has ``many`` observations of ``known`` alternatives, chosen at random, and ``few`` of the others."""

    known: int = 2
    many: float = 40
    few: float = 1

    def __post_init__(self) -> None:
        if not isinstance(self.known, int) or self.known < 1:
            raise InputError(f"specialists know a whole number of alternatives above 0, not {self.known!r}")
        _require_count(self.many)
        _require_count(self.few)

    @property
    def whole(self) -> bool:
        """Whether both counts are whole numbers."""
        return self.many % 1 == self.few % 1 == 0

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""
        lot = random.uniform(shape)
        xp = namespace(lot)
        last = xp.sort(lot, axis=-1)[..., min(self.known, shape[-1]) - 1, None]
        return xp.where(lot <= last, self.many + 0 * lot, self.few)


@dataclass(frozen=True, init=False)
class GivenCounts:
    """The same matrix of counts, ``(voter, alternative)``, in every instance; zeros for what a voter never sees."""

    matrix: tuple[tuple[float, ...], ...]

    def __init__(self, matrix: Sequence[Sequence[float]] | Any) -> None:
        try:
            counts = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError("given counts must be numbers, a row for each voter") from error
        if counts.ndim != 2 or not (np.isfinite(counts) & (counts >= 0)).all():
            raise InputError("given counts must be a matrix (voter, alternative) of finite numbers, 0 or more")
        object.__setattr__(self, "matrix", tuple(map(tuple, counts.tolist())))

    @property
    def whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return all(count % 1 == 0 for row in self.matrix for count in row)

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the matrix."""
        like = random.uniform(shape)
        return namespace(like).asarray(self.matrix, dtype=like.dtype) + 0 * like

    def fresh(self, random: Random, shape: Shape) -> Array:
        """Draw counts that other voters have of the same alternative."""
        voter = random.integers(0, len(self.matrix) - 1, shape)
        xp = namespace(voter)
        return xp.asarray(self.matrix, dtype=voter.dtype)[xp.astype(voter, xp.int32), xp.arange(shape[-1])]


def _require_range(low: int, high: int) -> None:
    if not (isinstance(low, int) and isinstance(high, int) and 0 <= low <= high and high > 0):
        raise InputError(f"counts go from a whole number to a higher one, 0 or more, not from {low!r} to {high!r}")


def _require_count(count: float) -> None:
    if not (math.isfinite(count) and count >= 0):
        raise InputError(f"a count is a finite number, 0 or more, not {count!r}")
