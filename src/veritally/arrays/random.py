"""Random numbers that a key stands for, drawn by NumPy or JAX."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays.libraries import Array, Shape, is_jax, require_jax


class Random(ABC):
    """A source of random numbers; each call draws anew.

    Arrays drawn by NumPy have their last axis leading in memory, the order :func:`by_alternative` works in.
    """

    @staticmethod
    def of(like: Array, *key: Array | int) -> "Random":
        """Return the source that ``key`` stands for, in the library and precision of ``like``."""
        if is_jax(like):
            return _JaxRandom(random_key(*key), like.dtype)
        return _NumpyRandom(np.random.default_rng(key), like.dtype)

    @abstractmethod
    def repeat(self, values: Any, shape: Shape) -> Array:
        """Fill a shape with given numbers, without any chance."""

    @abstractmethod
    def at(self, turn: Array | int) -> "Random":
        """Return the source for one turn of a loop."""

    @abstractmethod
    def normal(self, shape: Shape) -> Array:
        """Draw from the standard normal distribution."""

    @abstractmethod
    def uniform(self, shape: Shape) -> Array:
        """Draw from the uniform distribution on [0, 1)."""

    @abstractmethod
    def integers(self, low: Array | int, high: Array | int, shape: Shape) -> Array:
        """Draw whole numbers, ``low`` and ``high`` included, as floats."""

    @abstractmethod
    def gamma(self, shapes: Array) -> Array:
        """Draw from the gamma distributions with these shapes and scale 1."""

    @abstractmethod
    def student(self, freedom: float, shape: Shape) -> Array:
        """Draw from Student's t distribution."""

    @abstractmethod
    def binomial(self, trials: Array, probability: Array) -> Array:
        """Draw numbers of successes, as floats."""


def normals(key: tuple[Array | int, ...], shape: Shape, like: Array) -> Array:
    """Draw standard normals from a key; one that ends in an array has a source for each entry of the first axis."""
    *start, last = key
    if is_jax(last) and np.ndim(last):
        return require_jax().vmap(lambda place: Random.of(like, *start, place).normal(shape[1:]))(last)
    return Random.of(like, *key).normal(shape)


@dataclass(frozen=True)
class _NumpyRandom(Random):
    generator: np.random.Generator
    dtype: Any

    def _draw(self, draw: Callable[..., Array], shape: Shape) -> Array:
        """Draw with the last axis leading in memory."""
        return np.moveaxis(draw((*shape[-1:], *shape[:-1])).astype(self.dtype, copy=False), 0, -1)

    def repeat(self, values: Any, shape: Shape) -> Array:
        return np.broadcast_to(np.asarray(values, dtype=self.dtype), shape)

    def at(self, turn: Array | int) -> Random:
        return self  # which is further along in each turn

    def normal(self, shape: Shape) -> Array:
        return self._draw(lambda shape: self.generator.standard_normal(shape, dtype=self.dtype), shape)

    def uniform(self, shape: Shape) -> Array:
        return self._draw(lambda shape: self.generator.random(shape, dtype=self.dtype), shape)

    def integers(self, low: Array | int, high: Array | int, shape: Shape) -> Array:
        if np.ndim(low) or np.ndim(high):
            return low + np.floor(self.uniform(shape) * (high - low + 1))
        return self._draw(lambda shape: self.generator.integers(low, high, shape, endpoint=True), shape)

    def gamma(self, shapes: Array) -> Array:
        return np.asarray(self.generator.standard_gamma(shapes), dtype=self.dtype)

    def student(self, freedom: float, shape: Shape) -> Array:
        return self._draw(lambda shape: self.generator.standard_t(freedom, shape), shape)

    def binomial(self, trials: Array, probability: Array) -> Array:
        return np.asarray(self.generator.binomial(trials.astype(np.int64), probability), dtype=self.dtype)


class _JaxRandom(Random):
    def __init__(self, key: Array, dtype: Any) -> None:
        self.jax, self.key, self.dtype, self.calls = require_jax(), key, dtype, 0

    def _next_key(self) -> Array:
        self.calls += 1
        return self.jax.random.fold_in(self.key, self.calls)

    def repeat(self, values: Any, shape: Shape) -> Array:
        return self.jax.numpy.broadcast_to(self.jax.numpy.asarray(values, dtype=self.dtype), shape)

    def at(self, turn: Array | int) -> Random:
        return _JaxRandom(self.jax.random.fold_in(self.key, turn), self.dtype)

    def normal(self, shape: Shape) -> Array:
        return self.jax.random.normal(self._next_key(), shape, self.dtype)

    def uniform(self, shape: Shape) -> Array:
        return self.jax.random.uniform(self._next_key(), shape, self.dtype)

    def integers(self, low: Array | int, high: Array | int, shape: Shape) -> Array:
        ends = (self.jax.numpy.asarray(end).astype(self.jax.numpy.int32) for end in (low, high + 1))
        return self.jax.random.randint(self._next_key(), shape, *ends).astype(self.dtype)

    def gamma(self, shapes: Array) -> Array:
        return self.jax.random.gamma(self._next_key(), shapes, dtype=self.dtype)

    def student(self, freedom: float, shape: Shape) -> Array:
        return self.jax.random.t(self._next_key(), freedom, shape, self.dtype)

    def binomial(self, trials: Array, probability: Array) -> Array:
        return self.jax.random.binomial(self._next_key(), trials, probability, dtype=self.dtype)


def random_key(seed: Array | int, *parts: Array | int) -> Array:
    """Return the JAX key that a seed stands for, or a part of what it stands for."""
    return functools.reduce(part_of_key, parts, require_jax().random.key(seed))


def part_of_key(key: Array, part: Array | int) -> Array:
    """Return the JAX key for one part of what a key stands for, such as a step."""
    return require_jax().random.fold_in(key, part)


def split_key(key: Array, number: int) -> Array:
    """Return so many independent JAX keys."""
    return require_jax().random.split(key, number)


def seed_of_key(key: Array) -> Array:
    """Draw a seed by a JAX key, as large as JAX takes them."""
    return require_jax().random.randint(key, (), 0, 2**31 - 1)
