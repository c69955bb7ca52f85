"""The array library in use (NumPy or JAX) and the few functions the array API standard lacks.

Numerical code elsewhere asks :func:`namespace` for the library of its arguments and writes to the
standard. This is the only file that knows the libraries by name.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

Array: TypeAlias = Any
"""A NumPy or JAX array."""

State = TypeVar("State")

_BLOCK_CELLS = 1 << 17  # cells of one array per piece: a megabyte in float64, small enough for the cache


def is_jax(x: object) -> bool:
    """Whether ``x`` is a JAX array or tracer, found out without importing JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def namespace(*arrays: Array) -> ModuleType:
    """Return the library of the arguments: JAX if any of them is a JAX array, else NumPy."""
    return next((cast(ModuleType, x.__array_namespace__()) for x in arrays if is_jax(x)), np)


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


def normals(seed: int, shape: tuple[int, ...], like: Array) -> Array:
    """Draw standard normals from an explicit seed, in the library and precision of ``like``."""
    if is_jax(like):
        import jax

        return jax.random.normal(jax.random.key(seed), shape, like.dtype)
    return np.random.default_rng(seed).standard_normal(shape, dtype=like.dtype)


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
        results = tuple(np.concat(parts, axis=1) for parts in zip(*pieces, strict=True))
    return tuple(x.T.reshape(*shape, x.shape[0]) for x in results)


def midranks(x: Array) -> Array:
    """Rank along the last axis, the smallest first; equals share the average of their ranks.

    NaN entries are left out and get rank 0.

    >>> midranks(np.array([[30.0, 10.0, np.nan, 10.0]]))
    array([[3. , 1.5, 0. , 1.5]])
    """
    xp = namespace(x)

    def kernel(x: Array) -> tuple[Array]:
        twice = xp.ones(x.shape, dtype=xp.int32)
        for rival in range(x.shape[0]):
            twice = twice + xp.astype(x[rival] < x, xp.int8) + xp.astype(x[rival] <= x, xp.int8)
        return (xp.where(xp.isnan(x), 0, xp.astype(twice, x.dtype) / 2),)

    return by_alternative(kernel, x)[0]
