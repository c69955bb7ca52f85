"""Work in pieces that stay in the cache, where the library does not see to it by itself."""

from collections.abc import Callable

import numpy as np

from veritally.arrays.libraries import Array, is_jax

_KEPT = 31 << 20  # bytes: a little below 32 MiB, the largest block that glibc learns to keep
_BLOCK_CELLS = 1 << 17  # cells of one array per piece: a megabyte in float64, small enough for the cache


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


def in_pieces(like: Array, length: int, most: int) -> list[slice]:
    """Cut so many into pieces of at most ``most``; JAX, which works out by itself what to hold, gets them whole."""
    if is_jax(like) or length <= most:
        return [slice(None)]
    step = max(1, most)
    return [slice(start, start + step) for start in range(0, length, step)]
