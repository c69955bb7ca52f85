"""The array library in use (NumPy or JAX) and the few functions the array API standard lacks.

Numerical code elsewhere asks :func:`namespace` for the library of its arguments and writes to the
standard. This is the only file that knows the libraries by name.
"""

import functools
import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from veritally.errors import InputError, quoted

Array: TypeAlias = Any
"""A NumPy or JAX array."""

Shape: TypeAlias = tuple[int, ...]

State = TypeVar("State")

_KEPT = 31 << 20  # bytes
_BLOCK_CELLS = 1 << 17  # cells of one array per piece: a megabyte in float64, small enough for the cache
_MANY = 512  # alternatives, from which on sorting each row is quicker than comparing all with all


def is_jax(x: object) -> bool:
    """Whether ``x`` is a JAX array or tracer, found out without importing JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def namespace(*arrays: Array) -> ModuleType:
    """Return the library of the arguments: JAX if any of them is a JAX array, else NumPy."""
    return next((cast(ModuleType, x.__array_namespace__()) for x in arrays if is_jax(x)), np)


def array_library(name: str) -> ModuleType:
    """Return NumPy, or JAX where it is installed."""
    if name == "numpy":
        return np
    if name != "jax":
        raise InputError(f"the backend can be numpy or jax, not {quoted(name)}")
    try:
        return importlib.import_module("jax.numpy")
    except ImportError as error:
        raise InputError("the backend jax needs JAX: pip install 'veritally[jax]'") from error


def as_floating(x: Any) -> Array:
    """Turn ``x`` into an array of real floating dtype, float32 and float64 kept as they are.

    ``None`` and masked entries become NaN; text, dates and complex numbers raise ``ValueError``.
    """
    if is_jax(x):
        xp = namespace(x)
        return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, xp.asarray(0.0).dtype)
    if isinstance(x, np.ma.MaskedArray):
        x = np.ma.filled(x.astype(np.float64), np.nan)
    x = np.asarray(x)
    if x.dtype.kind not in "biufO":
        raise ValueError(f"{x.dtype} is not a type of numbers")
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)


def ndtr(x: Array) -> Array:
    """Return the standard normal distribution function Φ."""
    return _special(x).ndtr(x)


def log_ndtr(x: Array) -> Array:
    """Return log Φ, accurate far into the lower tail."""
    return _special(x).log_ndtr(x)


def _special(x: Array) -> ModuleType:
    return importlib.import_module("jax.scipy.special" if is_jax(x) else "scipy.special")


class Random(ABC):
    """A source of random numbers; each call draws anew.

    Arrays drawn by NumPy have their last axis leading in memory, the order :func:`by_alternative` works in.
    """

    @staticmethod
    def of(like: Array, *key: Array | int) -> "Random":
        """Return the source that ``key`` stands for, in the library and precision of ``like``."""
        if is_jax(like):
            import jax

            start = jax.random.key(key[0])
            return _JaxRandom(functools.reduce(jax.random.fold_in, key[1:], start), like.dtype)
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
        import jax

        return jax.vmap(lambda place: Random.of(like, *start, place).normal(shape[1:]))(last)
    return Random.of(like, *key).normal(shape)


@dataclass(frozen=True)
class _NumpyRandom(Random):
    generator: np.random.Generator
    dtype: Any

    def _laid(self, draw: Callable[..., Array], shape: Shape) -> Array:
        """Draw with the last axis leading in memory."""
        return np.moveaxis(draw((*shape[-1:], *shape[:-1])).astype(self.dtype, copy=False), 0, -1)

    def repeat(self, values: Any, shape: Shape) -> Array:
        return np.broadcast_to(np.asarray(values, dtype=self.dtype), shape)

    def at(self, turn: Array | int) -> Random:
        return self  # which is further along in each turn

    def normal(self, shape: Shape) -> Array:
        return self._laid(lambda laid: self.generator.standard_normal(laid, dtype=self.dtype), shape)

    def uniform(self, shape: Shape) -> Array:
        return self._laid(lambda laid: self.generator.random(laid, dtype=self.dtype), shape)

    def integers(self, low: Array | int, high: Array | int, shape: Shape) -> Array:
        if np.ndim(low) or np.ndim(high):
            return low + np.floor(self.uniform(shape) * (high - low + 1))
        return self._laid(lambda laid: self.generator.integers(low, high, laid, endpoint=True), shape)

    def gamma(self, shapes: Array) -> Array:
        return np.asarray(self.generator.standard_gamma(shapes), dtype=self.dtype)

    def student(self, freedom: float, shape: Shape) -> Array:
        return self._laid(lambda laid: self.generator.standard_t(freedom, laid), shape)

    def binomial(self, trials: Array, probability: Array) -> Array:
        return np.asarray(self.generator.binomial(trials.astype(np.int64), probability), dtype=self.dtype)


class _JaxRandom(Random):
    def __init__(self, key: Array, dtype: Any) -> None:
        import jax

        self.jax, self.key, self.dtype, self.calls = jax, key, dtype, 0

    def _fresh(self) -> Array:
        self.calls += 1
        return self.jax.random.fold_in(self.key, self.calls)

    def repeat(self, values: Any, shape: Shape) -> Array:
        return self.jax.numpy.broadcast_to(self.jax.numpy.asarray(values, dtype=self.dtype), shape)

    def at(self, turn: Array | int) -> Random:
        return _JaxRandom(self.jax.random.fold_in(self.key, turn), self.dtype)

    def normal(self, shape: Shape) -> Array:
        return self.jax.random.normal(self._fresh(), shape, self.dtype)

    def uniform(self, shape: Shape) -> Array:
        return self.jax.random.uniform(self._fresh(), shape, self.dtype)

    def integers(self, low: Array | int, high: Array | int, shape: Shape) -> Array:
        ends = (self.jax.numpy.asarray(end).astype(self.jax.numpy.int32) for end in (low, high + 1))
        return self.jax.random.randint(self._fresh(), shape, *ends).astype(self.dtype)

    def gamma(self, shapes: Array) -> Array:
        return self.jax.random.gamma(self._fresh(), shapes, dtype=self.dtype)

    def student(self, freedom: float, shape: Shape) -> Array:
        return self.jax.random.t(self._fresh(), freedom, shape, self.dtype)

    def binomial(self, trials: Array, probability: Array) -> Array:
        return self.jax.random.binomial(self._fresh(), trials, probability, dtype=self.dtype)


def while_loop(condition: Callable[[State], Array], body: Callable[[State], State], state: State) -> State:
    """Repeat ``state = body(state)`` while ``condition(state)`` holds; compiles under ``jax.jit``."""
    if any(is_jax(x) for x in cast(tuple[Array, ...], state)):
        import jax

        return jax.lax.while_loop(condition, body, state)
    while condition(state):
        state = body(state)
    return state


def for_loop(turns: Array, body: Callable[[Any, State], State], state: State) -> State:
    """Repeat ``state = body(turn, state)`` for ``turn`` = 0 … ``turns`` − 1; compiles under ``jax.jit``."""
    if any(is_jax(x) for x in cast(tuple[Array, ...], state)):
        import jax

        return cast(State, jax.lax.fori_loop(0, turns, body, state))
    for turn in range(int(turns)):
        state = body(turn, state)
    return state


def keep_memory() -> None:
    """Let the allocator keep memory that was freed, instead of asking the system for it again and again.

    glibc does so for blocks up to the largest it has seen freed; elsewhere this does nothing.
    """
    np.empty(_KEPT, dtype=np.int8)


def by_alternative(function: Callable[..., tuple[Array, ...]], *arrays: Array) -> tuple[Array, ...]:
    """Run ``function`` with alternatives leading in memory.

    Parameters
    ----------
    function
        Takes arrays ``(alternative, voter)`` with all batch axes folded into the voters, and returns a tuple of
        arrays of that shape. Voters must not meet in it.
    *arrays
        Of shape ``(..., voter, alternative)``, all alike but for the length of the last axis.

    Returns
    -------
    tuple of arrays of shape ``(..., voter, alternative)``.

    Notes
    -----
    With NumPy the voters are worked through in pieces that stay in cache, which is worth a factor of two to three;
    JAX gets them whole, since its compiler fuses the steps itself.
    """
    shape = arrays[0].shape[:-1]
    flat = [x.reshape(-1, x.shape[-1]).T for x in arrays]
    if is_jax(flat[0]):
        results = function(*flat)
    else:
        voters = flat[0].shape[1]
        width = max(1, _BLOCK_CELLS // max(1, flat[0].shape[0]))
        pieces = [
            function(*(np.ascontiguousarray(x[:, start : start + width]) for x in flat))
            for start in range(0, max(voters, 1), width)
        ]
        results = pieces[0] if len(pieces) == 1 else tuple(np.concat(x, axis=1) for x in zip(*pieces, strict=True))
    return tuple(x.T.reshape(*shape, x.shape[0]) for x in results)


def by_cost(
    function: Callable[..., tuple[Array, ...]], cost: Array, *arrays: Array, cells: int | None = None
) -> tuple[Array, ...]:
    """Run ``function`` with voters of alike ``cost`` together, where it takes as long as the costliest of them.

    ``cost`` is ``(voter,)`` and the arrays, like the results, ``(..., voter)``. With NumPy the voters are sorted and
    worked through in small pieces, so that those with ``cells`` for each unit of cost stay in cache (by default, eight
    times the arrays, whatever the cost); JAX gets them whole, since its programs have one shape.
    """
    if is_jax(cost):
        return function(*arrays)
    order = np.argsort(cost)
    pieces, start = [], 0
    while start < max(cost.size, 1):
        if cells is None:
            width = max(1, _BLOCK_CELLS // (8 * max(x.size // max(cost.size, 1) for x in arrays)))
        else:
            ahead = cost[order[start:]] * cells * np.arange(1, cost.size - start + 1)
            width = max(1, int(np.searchsorted(ahead, _BLOCK_CELLS)))
        pieces.append(function(*(x[..., order[start : start + width]] for x in arrays)))
        start += width
    back = np.argsort(order)
    return tuple(np.concat(parts, axis=-1)[..., back] for parts in zip(*pieces, strict=True))


def over_voters(x: Array, times: Array) -> Array:
    """Σ_i times_i · x_ij: the sum of ``(..., voter, alternative)`` weighed by ``(..., voter)``."""
    if is_jax(x) or is_jax(times):  # where a matrix product may be computed in lower precision
        return namespace(x, times).sum(x * times[..., None], axis=-2)
    return np.vecdot(x, times[..., None], axis=-2)  # type: ignore[call-overload]


def midranks(x: Array, near: Array | None = None) -> Array:
    """Rank along the last axis, the smallest first; equals share the average of their ranks.

    NaN entries are left out and get rank 0. Entries that differ by no more than ``near``, ``(..., 1)``, are equal.

    >>> midranks(np.array([[30.0, 10.0, np.nan, 10.0]]))
    array([[3. , 1.5, 0. , 1.5]])
    """
    xp = namespace(x)
    if near is None and x.shape[-1] > _MANY and not is_jax(x):
        return _sorted_midranks(x)

    def kernel(x: Array, near: Array | None = None) -> tuple[Array]:
        twice = xp.ones(x.shape, dtype=xp.int8 if x.shape[0] < 64 else xp.int32)
        above, below = (x, x) if near is None else (x - near, x + near)
        for rival in range(x.shape[0]):
            twice = twice + xp.astype(x[rival] < above, xp.int8) + xp.astype(x[rival] <= below, xp.int8)
        return (xp.where(xp.isnan(x), 0, xp.astype(twice, x.dtype) / 2),)

    return by_alternative(kernel, x)[0] if near is None else by_alternative(kernel, x, near)[0]


def _sorted_midranks(x: Array) -> Array:
    """Rank long rows: comparing each entry with each other would take too long."""
    ranks = np.zeros(x.shape, dtype=x.dtype)
    for row, own in zip(x.reshape(-1, x.shape[-1]), ranks.reshape(-1, x.shape[-1]), strict=True):
        known = ~np.isnan(row)
        order = np.sort(row[known])
        own[known] = (np.searchsorted(order, row[known]) + np.searchsorted(order, row[known], side="right") + 1) / 2
    return ranks


def trajectory(step: Callable[[Array], Array], start: Array, turns: int, done: Callable[[Array], Array]) -> Array:
    """Return ``start``, ``step(start)``, … along a new last axis, until ``done`` or after so many ``turns``.

    JAX, whose arrays have one shape, returns all ``turns``: those left over are as the last.
    """
    if is_jax(start):
        return _compiled_trajectory(step, start, turns, done)
    visited = [start]
    while len(visited) <= turns and not done(visited[-1]):
        visited.append(step(visited[-1]))
    return np.stack(visited, axis=-1)


def _compiled_trajectory(
    step: Callable[[Array], Array], start: Array, turns: int, done: Callable[[Array], Array]
) -> Array:
    import jax
    import jax.numpy as jnp

    def go(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        turn, x, visited = state
        x = step(x)
        return turn + 1, x, jax.lax.dynamic_update_index_in_dim(visited, x, turn + 1, 0)

    def further(state: tuple[Array, Array, Array]) -> Array:
        return (state[0] < turns) & ~done(state[1])

    first = jnp.asarray(0), start, jnp.broadcast_to(start, (turns + 1, *start.shape))
    turn, x, visited = jax.lax.while_loop(further, go, first)
    left = jnp.arange(turns + 1).reshape(-1, *[1] * start.ndim) > turn
    return jnp.moveaxis(jnp.where(left, x, visited), 0, -1)


def product(x: Array, matrix: Array) -> Array:
    """Multiply ``(..., k)`` by a matrix ``(k, l)``, in full precision also where an accelerator would take less."""
    if is_jax(x):
        return namespace(x).matmul(x, matrix, precision="highest")
    return (x.reshape(-1, x.shape[-1]) @ matrix).reshape(*x.shape[:-1], matrix.shape[-1])


def inner(x: Array, y: Array) -> Array:
    """Σ_k x[..., i, k] y[..., j, k], in full precision also where an accelerator would take less."""
    return inner_product(x, namespace(y).moveaxis(y, -1, -2))


def inner_product(x: Array, y: Array) -> Array:
    """Σ_k x[..., i, k] y[..., k, j], in full precision also where an accelerator would take less."""
    xp = namespace(x)
    return xp.matmul(x, y, precision="highest") if is_jax(x) else xp.matmul(x, y)


def possible(mask: Array) -> bool:
    """Whether any entry of a mask may be set; in JAX, where nobody knows while compiling, it may."""
    return is_jax(mask) or bool(np.any(mask))


def if_any(mask: Array, make: Callable[[], tuple[Array, ...]], otherwise: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return what ``make`` makes if any entry of a mask is set, else the same shapes; compiles under ``jax.jit``."""
    if is_jax(mask):
        import jax

        return cast(tuple[Array, ...], jax.lax.cond(jax.numpy.any(mask), make, lambda: otherwise))
    return make() if np.any(mask) else otherwise


def through_numpy(
    function: Callable[..., tuple[Array, ...]], like: tuple[Array, ...], *arrays: Array
) -> tuple[Array, ...]:
    """Call a function of NumPy arrays, also from within a program that JAX compiles."""
    if not any(is_jax(x) for x in arrays):
        return function(*arrays)
    import jax

    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in like)  # type: ignore[no-untyped-call]

    def call(*given: Array) -> tuple[Array, ...]:
        results = function(*(np.asarray(x) for x in given))
        return tuple(np.asarray(x, dtype=y.dtype) for x, y in zip(results, shapes, strict=True))

    return cast(tuple[Array, ...], jax.pure_callback(call, shapes, *arrays, vmap_method="sequential"))


@functools.cache
def normal_scores(number: int) -> list[float]:
    """Return the expected values of so many independent normals in order, the largest first.

    E[x_(k)] = ∫ x φ(x) Φ(x)^(n−k) (1 − Φ(x))^(k−1) dx / B(n − k + 1, k), by trapezoids, exact for bells.

    >>> [round(z, 4) for z in normal_scores(3)]
    [0.8463, 0.0, -0.8463]
    """
    from scipy.special import betaln, log_ndtr

    x = np.linspace(-12, 12, 4001)
    place = np.arange(1, number + 1)[:, None]
    exponent = -(x**2) / 2 + (number - place) * log_ndtr(x) + (place - 1) * log_ndtr(-x)
    density = np.exp(exponent - betaln(number - place + 1, place)) / np.sqrt(2 * np.pi)
    mean = (density * x).sum(axis=1) * (x[1] - x[0])
    return list(((mean - mean[::-1]) / 2).tolist())


def gathered(x: Array, index: Array) -> Array:
    """Return ``x[..., index[..., j], :]`` for x ``(..., k, feature)``; zeros where the index is −1."""
    if is_jax(x):  # as a product, whose gradient is one too
        import jax

        return inner_product(jax.nn.one_hot(index, x.shape[-2], dtype=x.dtype), x)
    rows = x.reshape(-1, x.shape[-1])
    first = np.arange(len(rows) // x.shape[-2]).reshape(*index.shape[:-1], 1) * x.shape[-2]
    taken = np.take(rows, np.where(index < 0, 0, first + index).ravel(), axis=0, mode="clip").reshape(*index.shape, -1)
    taken[index < 0] = 0
    return taken


def ndtri(p: Array) -> Array:
    """Return the inverse of the standard normal distribution function."""
    return _special(p).ndtri(p)


def in_pieces(like: Array, length: int, most: int) -> list[slice]:
    """Cut so many into pieces of at most ``most``; JAX, which works out by itself what to hold, gets them whole."""
    if is_jax(like) or length <= most:
        return [slice(None)]
    step = max(1, most)
    return [slice(start, start + step) for start in range(0, length, step)]
