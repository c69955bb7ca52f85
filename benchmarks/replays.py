"""Decisions replayed from nothing, many at a time: what looks show, and what is believed after each.

A look is at one alternative and shows a number, or at two and shows which is better. Either way it is about hθ, with
the design h = e_j or e_j − e_l, and noise of a known standard deviation. The belief about the truths is normal: exactly
so after numbers, and with the exact mean and covariance after each verdict (assumed-density filtering).

What the t-th look at the same thing shows does not depend on who decided to look: policies meet the same luck.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np

from veritally.arrays import Array, log_ndtr, ndtr, ndtri
from veritally.inference.linear import root
from veritally.planning.gain import normals

_DRAWS = 2048  # of the truths, for the chance of being best


class World(Protocol):
    """Where looks are made.

    ``truth`` is ``(replay, alternative)``; ``designs`` ``(action, alternative)``; ``noise`` the standard deviation of
    what a look shows; ``verdicts`` whether that is only a sign; ``spread`` the standard deviation of the truths before.
    """

    truth: Array
    designs: Array
    noise: float
    verdicts: bool
    spread: float

    def shown(self, action: Array, time: Array) -> Array:
        """Return what the ``time``-th look at ``action`` shows, ``(replay,)``, from 0."""


def designs(alternatives: int, verdicts: bool) -> Array:
    """Return all that can be looked at: each alternative, or each pair."""
    if not verdicts:
        return np.eye(alternatives)
    pairs = list(combinations(range(alternatives), 2))
    return np.eye(alternatives)[[j for j, _ in pairs]] - np.eye(alternatives)[[k for _, k in pairs]]


def uniform(seed: int, *places: Array) -> Array:
    """Return numbers within (0, 1) that depend on the seed and the places alone (the mixing of splitmix64)."""
    with np.errstate(over="ignore"):
        state = np.uint64(seed)
        for place in places:
            state = _mixed(state + np.uint64(0x9E3779B97F4A7C15) * (np.asarray(place).astype(np.uint64) + np.uint64(1)))
    return (np.asarray(state >> np.uint64(11)).astype(float) + 0.5) / 2**53


def _mixed(x: Array) -> Array:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass
class Simulated:
    """Truths are standard normal; σ is the noise of one observation. A comparison is one observation of both."""

    replays: int
    alternatives: int
    sigma: float
    verdicts: bool
    seed: int
    spread: float = 1.0
    truth: Array = field(init=False)
    designs: Array = field(init=False)
    noise: float = field(init=False)

    def __post_init__(self) -> None:
        self.truth = np.random.default_rng(self.seed).normal(size=(self.replays, self.alternatives))
        self.designs = designs(self.alternatives, self.verdicts)
        self.noise = self.sigma * math.sqrt(2 if self.verdicts else 1)

    def shown(self, action: Array, time: Array) -> Array:
        """Return a number, or 1 or −1."""
        luck = uniform(self.seed, np.arange(len(self.truth)), action, time)
        about = np.sum(self.truth * self.designs[action], axis=-1)
        if self.verdicts:
            return np.where(luck < ndtr(about / self.noise), 1.0, -1.0)
        return about + self.noise * ndtri(luck)


@dataclass
class Recorded:
    """Looks that were made: each replay goes through those of an action in an order of its own, then draws again."""

    records: list[Array]
    truth: Array
    designs: Array
    noise: float
    verdicts: bool
    spread: float
    seed: int

    def __post_init__(self) -> None:
        self._size = np.array([len(x) for x in self.records])
        self._records = np.zeros((len(self._size), self._size.max()))
        for row, own in zip(self._records, self.records, strict=True):
            row[: len(own)] = own
        random = np.random.default_rng(self.seed)
        key = random.random((len(self.truth), *self._records.shape))
        key[:, np.arange(self._records.shape[1]) >= self._size[:, None]] = 2.0
        self._order = np.argsort(key, axis=-1).astype(np.int32)

    def shown(self, action: Array, time: Array) -> Array:
        """Return what a record says; of a tie, either with the same chance."""
        every, size = np.arange(len(self.truth)), self._size[action]
        again = (uniform(self.seed, every, action, time) * size).astype(int)
        found = self._records[action, self._order[every, action, np.where(time < size, time, again)]]
        coin = np.where(uniform(self.seed + 1, every, action, time) < 0.5, 1.0, -1.0)
        return np.where(found == 0, coin, found) if self.verdicts else found


@dataclass
class Belief:
    """What is believed of the truths in each replay.

    Attributes
    ----------
    mean, covariance
        Of the truths, ``(replay, n)`` and ``(replay, n, n)``.
    counts
        How often each action was taken, ``(replay, action)``.
    designs, noise, verdicts
        As the world has them.
    """

    mean: Array
    covariance: Array
    counts: Array
    designs: Array
    noise: float
    verdicts: bool

    @classmethod
    def before(cls, world: World) -> "Belief":
        """Return what is believed before any look."""
        replays, n = world.truth.shape
        covariance = np.tile(world.spread**2 * np.eye(n), (replays, 1, 1))
        counts = np.zeros((replays, len(world.designs)), dtype=int)
        return cls(np.zeros((replays, n)), covariance, counts, world.designs, world.noise, world.verdicts)

    def differences(self) -> tuple[Array, Array, Array]:
        """Return mean and variance of what looks are about, ``(replay, action)``, and the truths with it."""
        crossed = np.matmul(self.designs, self.covariance)
        return self.mean @ self.designs.T, np.sum(crossed * self.designs, axis=-1), crossed

    def learn(self, action: Array, seen: Array) -> None:
        """Take in what a look in each replay showed."""
        every, design = np.arange(len(action)), self.designs[action]
        crossed = np.matmul(self.covariance, design[..., None])[..., 0]
        total = np.sum(design * crossed, axis=-1) + self.noise**2
        about = np.sum(design * self.mean, axis=-1)
        if self.verdicts:
            z = seen * about / np.sqrt(total)
            ratio = np.exp(-(z**2) / 2 - log_ndtr(z)) / math.sqrt(2 * math.pi)
            pull, told = seen * ratio / np.sqrt(total), ratio * (ratio + z) / total
        else:
            pull, told = (seen - about) / total, 1 / total
        self.mean = self.mean + crossed * pull[:, None]
        self.covariance = self.covariance - (told[:, None] * crossed)[..., None] * crossed[:, None, :]
        self.counts[every, action] += 1

    def p_best(self) -> Array:
        """Return the chance of each to be best, ``(replay, n)``."""
        n, found = self.mean.shape[1], []
        draws = normals(n, _DRAWS)
        for mean, half in zip(self.mean, root(self.covariance), strict=True):
            found.append(np.bincount(np.argmax(mean + draws @ half, axis=-1), minlength=n) / _DRAWS)
        return np.stack(found)

    def take(self, rows: Array) -> "Belief":
        """Keep some replays."""
        own = self.mean[rows], self.covariance[rows], self.counts[rows]
        return Belief(*own, self.designs, self.noise, self.verdicts)


Chooser = Callable[[Belief, int, int], Array]  # belief, looks so far, looks now: what to look at, (replay, looks now)


def regrets(world: World, choose: Chooser, budget: int, a_round: int = 1) -> Array:
    """Return the regret of what would be chosen before the first look and after each round, ``(replay, round)``."""
    belief, every, found = Belief.before(world), np.arange(len(world.truth)), []
    for start in range(0, budget, a_round):
        found.append(_regret(world, belief))
        for action in choose(belief, start, min(a_round, budget - start)).T:
            belief.learn(action, world.shown(action, belief.counts[every, action]))
    return np.stack([*found, _regret(world, belief)], axis=-1)


def _regret(world: World, belief: Belief) -> Array:
    """Return the regret of choosing the highest mean, on average where several are highest."""
    chosen = belief.mean == np.max(belief.mean, axis=-1, keepdims=True)
    return np.max(world.truth, axis=-1) - np.sum(world.truth * chosen, axis=-1) / np.sum(chosen, axis=-1)
