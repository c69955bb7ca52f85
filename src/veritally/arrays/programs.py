"""Programs that JAX compiles, differentiates and maps, and the device they run on.

All of it needs JAX, and says so where it is not installed.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from veritally.arrays.libraries import Array, require_jax


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function at its first call with arguments of new shapes."""
    return cast(Callable[..., Any], require_jax().jit(function))


def compile_for(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Compile a function now, for arguments like these; shapes and types stand for arrays."""
    return cast(Callable[..., Any], require_jax().jit(function).lower(*arguments).compile())


def vmap(function: Callable[..., Any]) -> Callable[..., Any]:
    """Map a function over the first axis of its arguments."""
    return cast(Callable[..., Any], require_jax().vmap(function))


def value_and_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Differentiate a function, which returns a number and something besides, with respect to its first argument."""
    return cast(Callable[..., Any], require_jax().value_and_grad(function, has_aux=True))


def result_shapes(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function would return, as shapes and types, without computing it."""
    return require_jax().eval_shape(function, *arguments)


def map_leaves(function: Callable[..., Array], tree: Any, *more: Any) -> Any:
    """Apply a function to each array in nested tuples and dictionaries; all have to be nested alike."""
    return require_jax().tree.map(function, tree, *more)


def leaves(tree: Any) -> list[Array]:
    """Return the arrays in nested tuples and dictionaries, in a fixed order."""
    return cast(list[Array], require_jax().tree.leaves(tree))


def with_leaves(tree: Any, arrays: Sequence[Array]) -> Any:
    """Return what is nested like ``tree``, with other arrays, in the order of :func:`leaves`."""
    jax = require_jax()
    return jax.tree.unflatten(jax.tree.structure(tree), arrays)


def fetch(tree: Any) -> Any:
    """Wait for arrays of a device, and return them as NumPy arrays."""
    return require_jax().device_get(tree)


def device_name() -> str:
    """Return what kind of device programs run on."""
    return str(require_jax().devices()[0].device_kind)


def device_memory() -> int | None:
    """Return how many bytes the device lets programs have; None where it does not say."""
    limit = (require_jax().devices()[0].memory_stats() or {}).get("bytes_limit")
    return None if limit is None else int(limit)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error is how JAX says that the device has too little memory."""
    return "RESOURCE_EXHAUSTED" in str(error)
