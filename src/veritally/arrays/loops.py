"""Loops and branches: plain Python for NumPy, and what compiles under ``jax.jit`` for JAX."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from veritally.arrays.libraries import Array, is_jax, require_jax

State = TypeVar("State")


def while_loop(condition: Callable[[State], Array], body: Callable[[State], State], state: State) -> State:
    """Repeat ``state = body(state)`` while ``condition(state)`` holds; compiles under ``jax.jit``."""
    if any(is_jax(x) for x in cast(tuple[Array, ...], state)):
        return cast(State, require_jax().lax.while_loop(condition, body, state))
    while condition(state):
        state = body(state)
    return state


def for_loop(turns: Array, body: Callable[[Any, State], State], state: State) -> State:
    """Repeat ``state = body(turn, state)`` for ``turn`` = 0 … ``turns`` − 1; compiles under ``jax.jit``."""
    if any(is_jax(x) for x in cast(tuple[Array, ...], state)):
        return cast(State, require_jax().lax.fori_loop(0, turns, body, state))
    for turn in range(int(turns)):
        state = body(turn, state)
    return state


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
    jax = require_jax()
    jnp = jax.numpy

    def body(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        turn, x, visited = state
        x = step(x)
        return turn + 1, x, jax.lax.dynamic_update_index_in_dim(visited, x, turn + 1, 0)

    def condition(state: tuple[Array, Array, Array]) -> Array:
        return (state[0] < turns) & ~done(state[1])

    first = jnp.asarray(0), start, jnp.broadcast_to(start, (turns + 1, *start.shape))
    turn, x, visited = jax.lax.while_loop(condition, body, first)
    left = jnp.arange(turns + 1).reshape(-1, *[1] * start.ndim) > turn
    return jnp.moveaxis(jnp.where(left, x, visited), 0, -1)


def possible(mask: Array) -> bool:
    """Whether any entry of a mask may be set; in JAX, where nobody knows while compiling, it may."""
    return is_jax(mask) or bool(np.any(mask))


def if_any(
    mask: Array, make: Callable[[], tuple[Array, ...]], otherwise: Callable[[], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """Return what ``make`` makes if any entry of a mask is set, else the same shapes; compiles under ``jax.jit``."""
    if is_jax(mask):
        jax = require_jax()
        return cast(tuple[Array, ...], jax.lax.cond(jax.numpy.any(mask), make, otherwise))
    return make() if np.any(mask) else otherwise()


def through_numpy(
    function: Callable[..., tuple[Array, ...]], like: tuple[Array, ...], *arrays: Array
) -> tuple[Array, ...]:
    """Call a function of NumPy arrays, also from within a program that JAX compiles."""
    if not any(is_jax(x) for x in arrays):
        return function(*arrays)
    jax = require_jax()
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in like)

    def call(*given: Array) -> tuple[Array, ...]:
        results = function(*(np.asarray(x) for x in given))
        return tuple(np.asarray(x, dtype=y.dtype) for x, y in zip(results, shapes, strict=True))

    return cast(tuple[Array, ...], jax.pure_callback(call, shapes, *arrays, vmap_method="sequential"))
