"""How well rules choose: regret, accuracy, rank correlation, and their standard errors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, midranks, namespace

MEASURES = ("regret", "accuracy", "correlation")

_ROUNDINGS = 8  # of the largest score, and a quarter of the square root of the number of voters: closer ones tie
_ROUNDING = 1e-12  # of the largest regret
_MOST_DIGITS = 6  # before and behind the point


def measure(scores: Array, truth: Array, tie_breakers: Array, voters: int, names: tuple[str, ...] = MEASURES) -> Array:
    """Measure what several rules choose.

    Parameters
    ----------
    scores
        ``(rule, instance, alternative)``, −inf for alternatives without evidence.
    truth
        ``(instance, alternative)``, NaN for alternatives that do not exist.
    tie_breakers
        Like ``truth``: of alternatives that tie, the one with the highest number is chosen, by all rules alike.
    voters
        How many there are, which bounds the rounding of scores.
    names
        Which of :data:`MEASURES`.

    Returns
    -------
    Array of shape ``(measure, rule, instance)``: the truth of the best alternative less that of the chosen one;
    whether that is 0; Spearman's correlation between scores and truth (0 where one of them is constant).
    """
    xp = namespace(scores)
    exists = ~xp.isnan(truth)
    # Choose: of the scores that rounding does not tell from the highest, the one with the highest tie breaker.
    highest = xp.max(xp.where(exists, scores, -xp.inf), axis=-1, keepdims=True)
    size = xp.max(xp.where(xp.isinf(scores), 0, xp.abs(scores)), axis=-1, keepdims=True)
    near = size * xp.finfo(scores.dtype).eps * (_ROUNDINGS + math.sqrt(voters) / 4)
    chosen = xp.argmax(xp.where(exists & (scores >= highest - near), tie_breakers, -1), axis=-1)
    # Compare with the truth.
    quality = xp.where(exists, truth, -xp.inf)
    of_chosen = xp.take_along_axis(xp.broadcast_to(quality, scores.shape), chosen[..., None], axis=-1)[..., 0]
    regret = xp.max(quality, axis=-1) - of_chosen
    measured = {"regret": regret, "accuracy": xp.astype(regret == 0, regret.dtype)}
    if "correlation" in names:
        measured["correlation"] = _spearman(xp.where(exists, scores, xp.nan), near, truth)
    return xp.stack([measured[name] for name in names])


def _spearman(scores: Array, near: Array, truth: Array) -> Array:
    """Correlation of ranks along the last axis, those of ``near`` scores shared; NaN marks what does not exist."""
    xp = namespace(scores)
    exists = xp.astype(~xp.isnan(truth), scores.dtype)
    middle = (xp.sum(exists, axis=-1, keepdims=True) + 1) / 2
    one, other = exists * (midranks(scores, near) - middle), exists * (midranks(truth) - middle)
    square = xp.sum(one**2, axis=-1) * xp.sum(other**2, axis=-1)
    return xp.where(square > 0, xp.sum(one * other, axis=-1) / xp.sqrt(xp.where(square > 0, square, 1)), 0)


@dataclass(frozen=True)
class MeasureSums:
    """Sums over instances; those of disjoint sets of instances add up.

    Attributes
    ----------
    instances
        How many were summed.
    totals, squares
        ``(measure, rule)``: sums of the measures and of their squares.
    products
        ``(rule, rule)``: sums of the products of the first measure, for paired comparisons.
    """

    instances: int
    totals: Array
    squares: Array
    products: Array

    @classmethod
    def of(cls, measured: Array) -> "MeasureSums":
        """Sum measures ``(measure, rule, instance)``."""
        x = np.asarray(measured, dtype=np.float64)
        return cls(x.shape[-1], x.sum(axis=-1), np.square(x).sum(axis=-1), x[0] @ x[0].T)

    def __add__(self, other: "MeasureSums") -> "MeasureSums":
        return MeasureSums(
            self.instances + other.instances,
            self.totals + other.totals,
            self.squares + other.squares,
            self.products + other.products,
        )

    @property
    def independent(self) -> int:
        """How many things were drawn independently: the instances."""
        return self.instances

    @property
    def means(self) -> Array:
        """``(measure, rule)``."""
        return self.totals / self.instances

    @property
    def errors(self) -> Array:
        """Standard errors of the means; NaN for a single instance."""
        return _error(self.totals, self.squares, self.instances)

    def differences(self, baseline: int) -> tuple[Array, Array]:
        """Return the mean paired difference of each rule's first measure to one rule's, and its standard error."""
        own = np.diag(self.products)
        totals = self.totals[0] - self.totals[0, baseline]
        squares = own + own[baseline] - 2 * self.products[baseline]
        return totals / self.instances, _error(totals, squares, self.instances)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers that give the same sums back, bit for bit."""
        return {
            "instances": self.instances,
            "totals": self.totals.tolist(),
            "squares": self.squares.tolist(),
            "products": self.products[np.triu_indices(len(self.products))].tolist(),  # which are symmetric
        }

    @classmethod
    def from_dict(cls, numbers: dict[str, Any]) -> "MeasureSums":
        """Undo :meth:`to_dict`."""
        totals, squares, upper = (np.array(numbers[name]) for name in ("totals", "squares", "products"))
        products = np.zeros((totals.shape[1],) * 2)
        rows, columns = np.triu_indices(len(products))
        products[rows, columns] = products[columns, rows] = upper
        return cls(numbers["instances"], totals, squares, products)


@dataclass(frozen=True, eq=False)
class ClusteredMeasures:
    """Measures of instances in clusters; those of one cluster may err together.

    Let there be n instances in G clusters. The variance of a mean x̄ is G/(G − 1) Σ_g (Σ_{i∈g} (x_i − x̄))²/n². With a
    cluster for each instance it is that of independent ones.

    Attributes
    ----------
    measured
        ``(measure, rule, instance)``.
    cluster
        ``(instance,)``: the position of its cluster.

    Examples
    --------
    >>> errors = ClusteredMeasures.of([[[1, 2, 3, 6]]], ["a", "a", "b", "c"]).errors
    >>> float(errors[0, 0].round(4))  # √(3/2 (3² + 0² + 3²))/4
    1.299
    """

    measured: Array
    cluster: Array

    @classmethod
    def of(cls, measured: Array, names: Sequence[Any]) -> "ClusteredMeasures":
        """Put instances into clusters, by the name of the cluster of each."""
        position = {name: g for g, name in enumerate(dict.fromkeys(names))}
        return cls(np.asarray(measured, dtype=np.float64), np.array([position[name] for name in names]))

    @property
    def instances(self) -> int:
        """How many were measured."""
        return len(self.cluster)

    @property
    def independent(self) -> int:
        """How many things were drawn independently: the clusters."""
        return int(self.cluster.max()) + 1

    @property
    def means(self) -> Array:
        """``(measure, rule)``."""
        return self.measured.mean(axis=-1)

    @property
    def errors(self) -> Array:
        """Standard errors of the means; NaN for a single cluster."""
        return self._errors(self.measured)

    def differences(self, baseline: int) -> tuple[Array, Array]:
        """Return the mean paired difference of each rule's first measure to one rule's, and its standard error."""
        x = self.measured[0] - self.measured[0, baseline]
        return x.mean(axis=-1), self._errors(x)

    def _errors(self, x: Array) -> Array:
        groups = self.independent
        if groups < 2:
            return np.full(x.shape[:-1], np.nan)
        sums = np.zeros((groups, *x.shape[:-1]))
        np.add.at(sums, self.cluster, np.moveaxis(x - x.mean(axis=-1, keepdims=True), -1, 0))
        return np.sqrt(groups / (groups - 1) * np.square(sums).sum(axis=0)) / self.instances


def summarize(measured: Array, clusters: Sequence[Any] | None = None) -> MeasureSums | ClusteredMeasures:
    """Return the means of measures ``(measure, rule, instance)`` and their errors, by clusters where there are such."""
    return MeasureSums.of(measured) if clusters is None else ClusteredMeasures.of(measured, clusters)


def _error(totals: Array, squares: Array, n: int) -> Array:
    if n < 2:
        return np.full(totals.shape, np.nan)
    return np.sqrt(np.maximum(squares - totals**2 / n, 0) / (n - 1) / n)


def with_error(number: float, error: float | None, size: float) -> str:
    """Write a number with as many digits as its standard error leaves it; beside ``size``, mere rounding is 0."""
    error, least = error or 0.0, _ROUNDING * size
    if error <= least:
        return f"{number:.4g}" if abs(number) > least else "0"
    power = math.floor(math.log10(max(abs(number), error)))
    if -_MOST_DIGITS <= power <= _MOST_DIGITS:
        digits = max(0, -math.floor(math.log10(error / 2)))
        return f"{number:.{digits}f}±{error:.{digits}f}"
    plain = with_error(number / 10.0**power, error / 10.0**power, size=0.0)
    return f"({plain})e{power}"
