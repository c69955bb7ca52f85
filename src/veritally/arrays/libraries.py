"""Which array library is in use: NumPy, or JAX where an argument is a JAX array."""

import importlib
import sys
from types import ModuleType
from typing import Any, TypeAlias, cast

import numpy as np

from veritally.errors import InputError, quoted

Array: TypeAlias = Any
"""A NumPy or JAX array."""

Shape: TypeAlias = tuple[int, ...]


def is_jax(x: object) -> bool:
    """Whether ``x`` is a JAX array or tracer, found out without importing JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def in_double(x: Array) -> Array:
    """Return numbers of single precision in double precision; JAX keeps the precision that it was set to."""
    return x.astype(np.float64) if not is_jax(x) and x.dtype == np.float32 else x


def is_traced(x: object) -> bool:
    """Whether ``x`` stands for an array in a program that JAX is compiling, so that nobody knows its numbers."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.core.Tracer)


def namespace(*arrays: Array) -> ModuleType:
    """Return the library of the arguments: JAX if any of them is a JAX array, else NumPy."""
    return next((cast(ModuleType, x.__array_namespace__()) for x in arrays if is_jax(x)), np)


def array_library(name: str) -> ModuleType:
    """Return NumPy, or JAX where it is installed."""
    if name == "numpy":
        return np
    if name != "jax":
        raise InputError(f"the backend can be numpy or jax, not {quoted(name)}")
    return require_jax("jax.numpy")


def require_jax(name: str = "jax") -> ModuleType:
    """Return JAX or one of its modules; refuse to go on where it is not installed."""
    try:
        return importlib.import_module(name)
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
