"""Validation: what users give becomes arrays of numbers, or a sentence that says what is wrong and where."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from veritally.arrays import Array, as_floating, namespace
from veritally.errors import InputError

Where: TypeAlias = Callable[[tuple[int, ...]], str]
"""Says in words which voter (and alternative) an index means."""


def numbers(x: Any, what: str) -> Array:
    """Turn what a user gave as ``what`` into a floating array, or say that it is not one."""
    try:
        return as_floating(x)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers in a rectangular array") from error


def reject(bad: Array, message: str, where: Where) -> None:
    """Raise for the first marked place, naming it."""
    marks = np.asarray(bad)
    if marks.any():
        raise InputError(f"{where(tuple(map(int, np.argwhere(marks)[0])))}: {message}")


def checked_counts(counts: Array, exists: Array, shape: tuple[int, ...], where: Where) -> Array:
    """Return counts of the shape of the votes, 0 for padding; require that they are finite and at least 0."""
    xp = namespace(counts)
    if tuple(counts.shape) not in (shape, (*shape[:-1], 1)):
        raise InputError(f"counts have the shape {tuple(counts.shape)}; these votes need {shape}")
    reject(
        xp.isnan(counts),
        "the count is missing; give a number of observations, or leave all counts out to weigh them alike",
        where,
    )
    reject(xp.isinf(counts), "the count is infinite; give the number of observations", where)
    reject(counts < 0, "the count is negative; counts are 0 (never seen) or more", where)
    return xp.where(xp.asarray(exists), counts, 0)


def checked_multiplicity(multiplicity: Any, like: Array, where: Where) -> Array:
    """Return how many voters each ballot stands for, 1 by default; require that they are finite and at least 0."""
    xp = namespace(like)
    shape = tuple(like.shape[:-1])
    given = xp.asarray(1 if multiplicity is None else numbers(multiplicity, "multiplicity"), dtype=like.dtype)
    if tuple(given.shape) not in ((), shape):
        raise InputError(f"multiplicity has the shape {tuple(given.shape)}; these votes need {shape}")
    bad = ~xp.isfinite(given) | (given < 0)
    reject(bad, "the multiplicity must be a finite number, 0 or more", where)
    return xp.broadcast_to(given, shape)


def check_unseen(voted: Array, counts: Array, where: Where) -> None:
    """Refuse votes on what the voter has not seen."""
    message = "a vote for an alternative this voter never saw (count 0); leave it blank or correct the count"
    reject(voted & (counts <= 0), message, where)


def whole_multiplicity(multiplicity: Array, where: Where) -> list[int]:
    """Return multiplicities as integers, for those who count ballots one by one."""
    reject(multiplicity % 1 != 0, "the multiplicity has to be a whole number here", where)
    return [int(number) for number in multiplicity]
