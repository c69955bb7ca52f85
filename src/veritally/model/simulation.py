"""Votes with a known truth."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from veritally.arrays import Array, Random, array_library, jit, vmap
from veritally.checks import whole
from veritally.model.scenario import Draws, Scenario, check_reports, scenario
from veritally.votes.profile import Profile
from veritally.votes.values import Values

Backend: TypeAlias = Literal["numpy", "jax"]

_BLOCK_CELLS = 1 << 17  # part of what a seed means: other blocks would draw other numbers


@dataclass(frozen=True)
class Trials:
    """Simulated decisions (instances) of a scenario.

    Attributes
    ----------
    scenario, seed
        What they were drawn from.
    truth
        ``(instance, alternative)``.
    counts
        The true counts, ``(instance, voter, alternative)``; the profile has the reported ones.
    profile
        The votes, with the instances as decisions.
    tie_breakers
        ``(instance, alternative)``: of alternatives that tie, the one with the highest number is chosen.
    """

    scenario: Scenario
    seed: int
    truth: Array
    counts: Array
    profile: Profile
    tie_breakers: Array

    def __repr__(self) -> str:
        return f"Trials({self.profile!r})"


def simulate(
    given: Scenario | str, *, instances: int = 1000, seed: int = 0, backend: Backend = "numpy", **changes: Any
) -> Trials:
    """Simulate votes with a known truth.

    Parameters
    ----------
    given
        A scenario or its name: ``high-variance``, ``low-variance``, ``count-noise`` or ``count-replacement``.
    instances
        How many decisions to draw. With the same seed, a smaller number gives the first ones of a larger number.
    seed
        The same seed gives the same truths and votes.
    backend
        The library that draws the numbers, ``numpy`` or ``jax``; the two draw different ones.
    **changes
        Fields of the scenario to set, such as ``voters=30``.

    Examples
    --------
    >>> trials = simulate("high-variance", voters=30, instances=5, seed=1)
    >>> trials.profile, trials.truth.shape
    (Profile(5 decisions, 30 voters, 10 alternatives, values), (5, 10))
    """
    chosen = scenario(given, **changes)
    xp = array_library(backend)
    instances, seed = whole(instances, "instances", least=1), checked_seed(seed, backend)
    pieces = list(draws(chosen, seed, 0, instances, backend))
    parts = zip(*pieces, strict=True)
    truth, counts, reported, values, tie_breakers = (
        piece[0] if len(piece) == 1 else xp.concat(piece) for piece in parts
    )
    profile = Profile.trusted(ballots_from(values, reported)).coarsened(chosen.votes)
    return Trials(chosen, seed, truth, counts, profile, tie_breakers)


def draws(given: Scenario, seed: int, start: int, stop: int, backend: Backend = "numpy") -> Iterator[Draws]:
    """Yield the instances from ``start`` to ``stop`` in pieces; an instance is the same however the range is cut.

    NumPy draws in whole blocks, keyed by seed and block, whose size depends on that of the scenario alone; JAX has a
    key for each instance and gives one piece.
    """
    if backend == "jax":
        drawn = jit(partial(draw_in_jax, given, size=stop - start))(seed, start)
        check_reports(given, drawn)
        yield drawn
        return
    size = block_size(given)
    for block in range(start // size, -(-stop // size)):
        drawn = given.draw(partial(stream, np.zeros(0), given, seed, block), (size,))
        check_reports(given, drawn)
        first = block * size
        yield Draws(*(x[max(start - first, 0) : stop - first] for x in drawn))


def draw_in_jax(given: Scenario, seed: Array | int, start: Array | int, size: int) -> Draws:
    """Draw ``size`` instances from number ``start`` on; compiles under ``jax.jit``."""
    jnp = array_library("jax")

    def one(instance: Array) -> Draws:
        return given.draw(partial(stream, jnp.zeros(0), given, seed, instance), ())

    return Draws(*vmap(one)(start + jnp.arange(size, dtype=jnp.uint32)))


def checked_seed(seed: Any, backend: Backend) -> int:
    """Require a seed; JAX takes smaller ones than NumPy."""
    return whole(seed, "seed", most=2**31 - 1 if backend == "jax" else math.inf)


def stream(like: Array, given: Scenario, seed: Array | int, place: Array | int, number: int) -> Random:
    """Return one of the sources at a place; scenarios of equal size share them."""
    return Random.of(like, seed, given.voters, given.alternatives, place, number)


def block_size(given: Scenario) -> int:
    """Return the number of instances that NumPy draws at once."""
    return max(1, _BLOCK_CELLS // (given.voters * given.alternatives))


def ballots_from(values: Array, counts: Array) -> Values:
    """Make ballots of values, one for each voter, from arrays that need no check."""
    xp = values.__array_namespace__()
    return Values(values, counts, xp.ones_like(counts[..., 0]), xp.any(counts > 0, axis=-2))
