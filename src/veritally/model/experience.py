"""How many observations each voter has of each alternative."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, Random, Shape, namespace
from veritally.checks import real, whole
from veritally.errors import InputError

_MOST = 2**31 - 2  # which JAX can still draw


class Experience(ABC):
    """A distribution of counts."""

    @property
    @abstractmethod
    def possible(self) -> Sequence[float]:
        """Counts that may occur, including the largest; all of them if they need not be whole numbers."""

    @abstractmethod
    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts of shape ``(..., voter, alternative)``."""

    def fresh(self, random: Random, shape: Shape) -> Array:
        """Draw counts that might have been, to replace others with."""
        return self.draw(random, shape)

    def check(self, voters: int, alternatives: int) -> None:  # noqa: B027 (most fit any)
        """Refuse so many voters or alternatives if they do not fit."""


@dataclass(frozen=True)
class _Range(Experience):
    low: int = 1
    high: int = 49

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", whole(self.low, "the lowest count", most=_MOST))
        object.__setattr__(self, "high", whole(self.high, "the highest count", least=max(1, self.low), most=_MOST))

    @property
    def possible(self) -> Sequence[float]:
        """The ends of the range."""
        return self.low, self.high


@dataclass(frozen=True)
class UniformCounts(_Range):
    """Whole numbers from ``low`` to ``high``, both included, drawn independently for each cell.

    1 to 49 reproduces the paper's "between 1 to 50".
    """

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""
        return random.integers(self.low, self.high, shape)


@dataclass(frozen=True)
class StratifiedCounts(_Range):
    """Each voter has a highest count, uniform from ``low`` to ``high``, and counts uniform from ``low`` to that."""

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""
        highest = random.integers(self.low, self.high, (*shape[:-1], 1))
        return random.integers(self.low, highest, shape)


@dataclass(frozen=True)
class ConstantCounts(Experience):
    """The same count for everybody and everything."""

    count: float = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", real(self.count, "the count", least=0, most=_MOST))

    @property
    def possible(self) -> Sequence[float]:
        """The count."""
        return (self.count,)

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the count."""
        return random.repeat(self.count, shape)


@dataclass(frozen=True)
class Specialists(Experience):
    """Each voter has ``many`` observations of ``known`` alternatives, chosen at random, and ``few`` of the others."""

    known: int = 2
    many: float = 40
    few: float = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", whole(self.known, "the number of alternatives a specialist knows", least=1))
        object.__setattr__(self, "many", real(self.many, "a specialist's count", least=0, most=_MOST))
        object.__setattr__(self, "few", real(self.few, "a specialist's count of other alternatives", 0, _MOST))

    @property
    def possible(self) -> Sequence[float]:
        """Both counts."""
        return self.many, self.few

    def draw(self, random: Random, shape: Shape) -> Array:
        """Draw counts."""
        lot = random.uniform(shape)
        xp = namespace(lot)
        last = xp.sort(lot, axis=-1)[..., self.known - 1, None]
        return xp.where(lot <= last, random.repeat(self.many, shape), self.few)

    def check(self, voters: int, alternatives: int) -> None:
        """Require as many alternatives as are known."""
        if self.known > alternatives:
            raise InputError(f"specialists cannot know {self.known} of {alternatives} alternatives")


@dataclass(frozen=True, init=False)
class GivenCounts(Experience):
    """The same matrix of counts, ``(voter, alternative)``, in every instance; 0 for what a voter never sees."""

    matrix: tuple[tuple[float, ...], ...]

    def __init__(self, matrix: Sequence[Sequence[float]] | Any) -> None:
        try:
            counts = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError("given counts must be numbers, a row for each voter") from error
        if counts.ndim != 2 or not ((counts >= 0) & (counts <= _MOST)).all():
            raise InputError("given counts must be a matrix (voter, alternative) of finite numbers, 0 or more")
        object.__setattr__(self, "matrix", tuple(map(tuple, counts.tolist())))

    @property
    def possible(self) -> Sequence[float]:
        """All of them."""
        return [count for row in self.matrix for count in row]

    def draw(self, random: Random, shape: Shape) -> Array:
        """Repeat the matrix."""
        return random.repeat(self.matrix, shape)

    def fresh(self, random: Random, shape: Shape) -> Array:
        """Draw counts that other voters have of the same alternative."""
        voter = random.integers(0, len(self.matrix) - 1, shape)
        xp = namespace(voter)
        return xp.asarray(self.matrix, dtype=voter.dtype)[xp.astype(voter, xp.int32), xp.arange(shape[-1])]

    def check(self, voters: int, alternatives: int) -> None:
        """Require a count for each voter and alternative."""
        rows, columns = np.shape(self.matrix)
        if (rows, columns) != (voters, alternatives):
            raise InputError(f"the given counts are {rows} × {columns}, but the scenario is {voters} × {alternatives}")
