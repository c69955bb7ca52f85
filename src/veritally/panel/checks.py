"""Checks of what users give for a panel."""

import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.checks import real, usable_path
from veritally.errors import InputError, quoted

Strength: TypeAlias = float | Literal["estimated"]

_ROUNDING = 1e-8  # by which a kernel may be off


def checked_groups(groups: Any) -> dict[str, tuple[Hashable, ...]]:
    """Require voters by group, none in two."""
    if not isinstance(groups, Mapping):
        raise InputError('groups must be a dictionary with the voters of each, such as {"one lab": ["Ann", "Bob"]}')
    checked: dict[str, tuple[Hashable, ...]] = {}
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        if str(group) in checked:
            raise InputError(f"two groups are called {quoted(str(group))}; give them different names")
        checked[str(group)] = checked_names(members, f"the group {quoted(group)}")
        for name in map(str, members):
            if name in group_of:
                both = f"{quoted(group_of[name])} and {quoted(group)}"
                raise InputError(f"voter {quoted(name)} is in {both}; put each voter into one group at most")
            group_of[name] = str(group)
    if not any(len(members) > 1 for members in checked.values()):
        raise InputError("no group has two voters, so nobody shares anything; put at least two voters into one group")
    return checked


def checked_names(voters: Any, whose: str) -> tuple[Hashable, ...]:
    """Require a list of names, text or numbers, that differ."""
    if isinstance(voters, str) or not isinstance(voters, Sequence):
        raise InputError(f"{whose} needs a list of voters, not {quoted(voters)}")
    seen: set[str] = set()
    for name in voters:
        if not isinstance(name, str | int | float | np.number) or isinstance(name, bool) or name != name:
            raise InputError(f"{whose} names {quoted(name)}, which is not a name; names are text or numbers")
        if str(name) in seen:
            raise InputError(f"voter {quoted(name)} appears twice in {whose}; names must differ")
        seen.add(str(name))
    return tuple(voters)


def checked_kernel(given: Any, voters: tuple[Hashable, ...] | None) -> Array:
    """Require a symmetric matrix without negative eigenvalues, and scale it to 1 on its diagonal."""
    try:
        kernel = np.array(given, dtype=float)
    except (TypeError, ValueError):
        kernel = np.zeros(0)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not kernel.size or not np.isfinite(kernel).all():
        raise InputError("a similarity is a square matrix of finite numbers, one row and column for each voter")
    if voters is not None and len(voters) != len(kernel):
        raise InputError(f"the similarity has {len(kernel)} rows, but voters= has {len(voters)} names")
    size = float(np.max(np.abs(kernel)))
    if np.max(np.abs(kernel - kernel.T)) > _ROUNDING * size:
        i, k = np.unravel_index(np.argmax(np.abs(kernel - kernel.T)), kernel.shape)
        raise InputError(f"the similarity is not symmetric: {kernel[i, k]:g} and {kernel[k, i]:g} at rows {i} and {k}")
    if np.min(np.diag(kernel)) <= 0:
        raise InputError("the similarity of each voter to itself must be above 0; it is scaled to 1")
    root = np.sqrt(np.diag(kernel))
    kernel = (kernel + kernel.T) / 2 / (root[:, None] * root)
    least = float(np.linalg.eigvalsh(kernel)[0])
    if least < -_ROUNDING * len(kernel):
        raise InputError(f"the similarity has the eigenvalue {least:.3g}; eigenvalues must not be negative")
    return kernel


def checked_correlation(given: Any) -> Strength:
    """Require a number from 0 up to but not including 1, or ``estimated``."""
    if isinstance(given, str) and given == "estimated":
        return "estimated"
    try:
        number = real(given, "correlation", 0, 1)
    except InputError:
        number = math.nan
    if not number < 1:
        raise InputError(f"correlation must be a number from 0 to below 1, or estimated, not {quoted(given)}")
    return number


def parsed(text: bytes) -> Any:
    """Read JSON, in which no key may appear twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"{quoted(key)} appears twice; give it once")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InputError(f"is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError("is not valid JSON; write panels with vt.Panel(…).write") from error


@contextmanager
def read_json(path: str | PathLike[str]) -> Iterator[Any]:
    """Read a JSON file; what is refused of its content is refused with its name."""
    try:
        text = usable_path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        yield parsed(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
