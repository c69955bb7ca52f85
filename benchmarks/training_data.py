"""Decisions of every kind, to train the universal network on: drawn at once by JAX, and no two alike."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from veritally.arrays import Array, Shape, midranks
from veritally.learned.reading import Setting
from veritally.votes.rankings import Rankings

COUNTS, SIGMA = (1, 10_000), (0.1, 100)  # from where to where counts and σ/τ lie
_LARGEST_LOG_COUNT = math.log(COUNTS[1])
_LOG_SIGMA = math.log(SIGMA[0]), math.log(SIGMA[1])
_KEYS = 40  # more than are used; another number would draw other decisions


class Decisions(NamedTuple):
    """Truths, their ballots, what a rule is told, and log σ/τ, which it may have to find out."""

    truth: Array
    ballots: Rankings
    setting: Setting
    scale: Array


def decisions(key: Any, number: int, voters: int, alternatives: int) -> Decisions:
    """Draw decisions of up to so many voters and alternatives; compiles under ``jax.jit``.

    Voters beyond a decision's own number have a multiplicity of 0, alternatives beyond it are unseen. The stages draw
    one after the other from the same keys, so that their order is part of what a key stands for.
    """
    random = _Random(iter(jax.random.split(key, _KEYS)), number, voters, alternatives)
    # How many voters and alternatives there are.
    log_voters = math.log(max(1, voters // 8)), math.log(voters + 1)
    voter_number = jnp.floor(jnp.exp(random.each(*log_voters)))
    alternative_number = jnp.floor(random.each(max(2, alternatives // 3), alternatives + 1))
    exists = jnp.arange(alternatives) < alternative_number[:, None]
    multiplicity = jnp.astype(jnp.arange(voters) < voter_number[:, None], jnp.float32)
    # What they see, and how they rank it.
    counts, mean_log_sigma = _counts(random, voter_number)
    unseen = jnp.where(random.chance(0.35), random.each(0, 0.8), 0)[:, None, None]
    seen = exists[:, None, :] & (random.uniform(random.cells) >= unseen)
    truth, log_sigma, values = _values(random, counts, mean_log_sigma)
    ranks = _reported_ranks(random, midranks(jnp.where(seen, -values, jnp.nan)))
    # What they report of their counts.
    report, error_size, replacement = _reported_counts(random, counts)
    report = jnp.where(seen, report, 0)
    # What the rule is told: σ/τ, or how it differs between alternatives, or nothing of it.
    taken = (report > 0) & (multiplicity > 0)[..., None]
    mask = jnp.any(taken, axis=-2)
    sigma_known = jnp.astype(random.chance(0.7), jnp.float32)
    scale = jnp.sum(jnp.where(mask, log_sigma, 0), axis=-1) / jnp.maximum(jnp.sum(mask, axis=-1), 1)
    given = jnp.where((sigma_known > 0)[:, None] | random.chance(0.3)[:, None], log_sigma, 0)
    low = jnp.min(jnp.where(taken, report, jnp.inf), axis=(-2, -1))
    low = jnp.where(jnp.isinf(low), 1, low)
    high = jnp.maximum(jnp.max(jnp.where(taken, report, 0), axis=(-2, -1)), low)
    setting = Setting(given, sigma_known, error_size, replacement, low, high)
    return Decisions(truth, Rankings(ranks, report, multiplicity, mask), setting, scale)


@dataclass(frozen=True)
class _Random:
    """Random numbers for so many decisions; each call takes the next key."""

    keys: Iterator[Any]
    number: int
    voters: int
    alternatives: int

    @property
    def cells(self) -> Shape:
        """The shape of one number for each vote."""
        return self.number, self.voters, self.alternatives

    def uniform(self, shape: Shape, low: float = 0.0, high: float = 1.0) -> Array:
        return jax.random.uniform(next(self.keys), shape, minval=low, maxval=high)

    def each(self, low: float = 0.0, high: float = 1.0) -> Array:
        """Draw uniformly, one number for each decision."""
        return self.uniform((self.number,), low, high)

    def chance(self, probability: float) -> Array:
        """Say of each decision whether something happens."""
        return self.each() < probability

    def normal(self, shape: Shape) -> Array:
        return jax.random.normal(next(self.keys), shape)

    def permutation(self, length: int) -> Array:
        return jax.random.permutation(next(self.keys), length)


def _counts(random: _Random, voter_number: Array) -> tuple[Array, Array]:
    """Draw counts around a typical one, and the mean of log σ/τ.

    It is such that most decisions are neither trivial nor hopeless for so many voters.
    """
    panel = random.number, random.voters
    log_typical = random.each(0, _LARGEST_LOG_COUNT)
    weakest = -1.3 - jnp.log10(voter_number)
    usual = random.chance(0.75)
    signal = jnp.where(usual, weakest + (1.6 - weakest) * random.each(), random.each(-4, 6)) * math.log(10)
    mean_log_sigma = jnp.clip((log_typical - signal) / 2, *_LOG_SIGMA)
    typical = jnp.exp(log_typical)[:, None, None]
    gap = _LARGEST_LOG_COUNT * random.each()[:, None, None] ** 2  # between the highest and lowest, as a logarithm
    share = jnp.where(random.chance(0.3)[:, None], random.uniform(panel, 0.05, 1), 1)[..., None]  # some saw less
    is_expert = random.uniform(panel)[..., None] < random.each()[:, None, None] ** 2
    place = random.uniform(random.cells)
    # Five kinds of counts: uniform, log-uniform, voters who know some alternatives well, voters who know all of them
    # well, and equal ones.
    uniform = jnp.ceil(2 * place * typical * share)
    log_uniform = typical * share * jnp.exp(gap * (place - 0.5))
    specialists = typical * jnp.exp(jnp.where(place < 0.25, gap / 2, -gap / 2))
    experts = typical * jnp.exp(jnp.where(is_expert, gap / 2, -gap / 2))
    kind = random.each()[:, None, None]
    counts = jnp.select(
        [kind < 0.4, kind < 0.6, kind < 0.75, kind < 0.9],
        [uniform, log_uniform, specialists, jnp.broadcast_to(experts, random.cells)],
        jnp.broadcast_to(typical, random.cells),
    )
    return jnp.clip(jnp.round(counts), *COUNTS), mean_log_sigma


def _values(random: _Random, counts: Array, mean_log_sigma: Array) -> tuple[Array, Array, Array]:
    """Draw truths, log σ/τ of each alternative, and the means of what voters saw."""
    shape = random.number, random.alternatives
    truth = random.normal(shape)
    spread = jnp.where(random.chance(0.2), random.each(0, 2), 0)[:, None]  # of log σ between alternatives
    log_sigma = jnp.clip(mean_log_sigma[:, None] + spread * random.normal(shape), *_LOG_SIGMA)
    deviation = jnp.exp(log_sigma)[:, None, :] / jnp.sqrt(counts)
    return truth, log_sigma, truth[:, None, :] + deviation * random.normal(random.cells)


def _reported_ranks(random: _Random, ranks: Array) -> Array:
    """Let voters tell all, only their favourite, only their first k, or a ranking in which some neighbours are tied."""
    form = random.each()[:, None, None]
    first = jnp.floor(jnp.exp(random.each(0, math.log(random.alternatives))))[:, None, None]
    borders = random.number, random.voters, random.alternatives + 1
    some = random.uniform(borders) < random.each(0, 0.6)[:, None, None]
    place = jnp.arange(random.alternatives + 1)
    erased = jnp.where(form < 0.16, place > 1, jnp.where(form < 0.3, place > first, (form < 0.42) & some))
    return _tie(ranks, erased)


def _tie(ranks: Array, erased: Array) -> Array:
    """Tie those between whose places the border is erased; ``erased[..., k]`` is that below place k."""
    n = ranks.shape[-1]
    length = jnp.sum(ranks > 0, axis=-1)[..., None]
    border = ~erased[..., :n] | (jnp.arange(n) == 0) | (jnp.arange(n) >= length)
    group = jnp.cumsum(border, axis=-1)  # of place k + 1
    place = jnp.maximum(ranks - 1, 0).astype(jnp.int32)
    own = jnp.take_along_axis(jnp.broadcast_to(group, ranks.shape), place, axis=-1)
    return midranks(jnp.where(ranks > 0, own.astype(ranks.dtype), jnp.nan))


def _reported_counts(random: _Random, counts: Array) -> tuple[Array, Array, Array]:
    """Let some decisions have counts with percentage errors, and some replaced counts; return the sizes of both."""
    kind = random.each()
    error_size = jnp.where(kind < 0.2, random.each(0.05, 1), 0)
    replacement = jnp.where((kind > 0.2) & (kind < 0.4), random.each(0.02, 1), 0)
    factor = 1 + error_size[:, None, None] * random.uniform(random.cells, -1, 1)
    shuffled = random.permutation(random.voters * random.alternatives)
    other = counts.reshape(random.number, -1)[:, shuffled].reshape(random.cells)
    replaced = random.uniform(random.cells) < replacement[:, None, None]
    return jnp.where(replaced, other, jnp.maximum(jnp.round(counts * factor), 1)), error_size, replacement
