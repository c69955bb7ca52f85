"""Decisions of every kind, to train the universal rule on: in JAX, drawn at once and different each."""

import math
from typing import Any, NamedTuple

from veritally.arrays import Array, midranks
from veritally.learned.reading import Setting
from veritally.votes.rankings import Rankings

COUNTS, SIGMA = (1, 10_000), (0.1, 100)  # from where to where counts and σ/τ lie
_MOST = math.log(COUNTS[1])
_SIGMA = math.log(SIGMA[0]), math.log(SIGMA[1])


class Decisions(NamedTuple):
    """Truths, their ballots, what a rule is told, and log σ/τ, which it may have to find out."""

    truth: Array
    ballots: Rankings
    setting: Setting
    scale: Array


def decisions(key: Any, number: int, voters: int, alternatives: int) -> Decisions:
    """Draw decisions of up to so many voters and alternatives; compiles under ``jax.jit``.

    Voters beyond a decision's own number have a multiplicity of 0, alternatives beyond it are unseen.
    """
    import jax
    import jax.numpy as jnp

    keys = iter(jax.random.split(key, 40))
    each, panel, cells = (number,), (number, voters), (number, voters, alternatives)

    def uniform(shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Array:
        return jax.random.uniform(next(keys), shape, minval=low, maxval=high)

    def chance(p: float) -> Array:
        return uniform(each) < p

    m = jnp.floor(jnp.exp(uniform(each, math.log(max(1, voters // 8)), math.log(voters + 1))))
    n = jnp.floor(uniform(each, max(2, alternatives // 3), alternatives + 1))
    there = jnp.arange(alternatives) < n[:, None]
    times = jnp.astype(jnp.arange(voters) < m[:, None], jnp.float32)

    # Counts around a typical one, and σ such that most decisions are neither trivial nor hopeless for so many voters.
    typical = uniform(each, 0, _MOST)
    faint = -1.3 - jnp.log10(m)
    signal = jnp.where(chance(0.75), faint + (1.6 - faint) * uniform(each), uniform(each, -4, 6)) * math.log(10)
    log_sigma = jnp.clip((typical - signal) / 2, *_SIGMA)
    highest = jnp.exp(typical)[:, None, None]
    gap = _MOST * uniform(each)[:, None, None] ** 2  # between those who saw most and least, as a logarithm
    own = jnp.where(chance(0.3)[:, None], uniform(panel, 0.05, 1), 1)[..., None]  # voters who saw less than others
    few = uniform(panel)[..., None] < uniform(each)[:, None, None] ** 2
    tie_breakers = uniform(cells)
    evenly = 2 * tie_breakers * highest * own
    apart = highest * own * jnp.exp(gap * (tie_breakers - 0.5))
    expert = highest * jnp.exp(jnp.where(tie_breakers < 0.25, gap / 2, -gap / 2))
    experts = highest * jnp.exp(jnp.where(few, gap / 2, -gap / 2))
    kind = uniform(each)[:, None, None]
    counts = jnp.select(
        [kind < 0.4, kind < 0.6, kind < 0.75, kind < 0.9],
        [jnp.ceil(evenly), apart, expert, jnp.broadcast_to(experts, cells)],
        jnp.broadcast_to(highest, cells),
    )
    counts = jnp.clip(jnp.round(counts), *COUNTS)

    # Who saw what.
    absent = jnp.where(chance(0.35), uniform(each, 0, 0.8), 0)[:, None, None]
    seen = there[:, None, :] & (uniform(cells) >= absent)
    truth = jax.random.normal(next(keys), (number, alternatives))
    differing = jnp.where(chance(0.2), uniform(each, 0, 2), 0)[:, None]  # alternatives with a σ of their own
    sigma = jnp.clip(log_sigma[:, None] + differing * jax.random.normal(next(keys), (number, alternatives)), *_SIGMA)
    deviation = jnp.exp(sigma)[:, None, :] / jnp.sqrt(counts)
    values = truth[:, None, :] + deviation * jax.random.normal(next(keys), cells)
    ranks = midranks(jnp.where(seen, -values, jnp.nan))

    # What they tell: all, their first k, or a ranking in which some neighbours are tied.
    length = jnp.sum(seen, axis=-1)[..., None]
    form = uniform(each)[:, None, None]
    first = jnp.floor(jnp.exp(uniform(each, 0, math.log(alternatives))))[:, None, None]
    some = uniform((number, voters, alternatives + 1)) < uniform(each, 0, 0.6)[:, None, None]
    place = jnp.arange(alternatives + 1)
    erased = jnp.where(form < 0.16, place > 1, jnp.where(form < 0.3, place > first, (form < 0.42) & some))
    ranks = _tied(ranks, erased, length)

    # What they report of their counts.
    wrong = uniform(each)
    size = jnp.where(wrong < 0.2, uniform(each, 0.05, 1), 0)
    replaced = jnp.where((wrong > 0.2) & (wrong < 0.4), uniform(each, 0.02, 1), 0)
    factor = 1 + size[:, None, None] * uniform(cells, -1, 1)
    other = counts.reshape(number, -1)[:, jax.random.permutation(next(keys), voters * alternatives)].reshape(cells)
    report = jnp.where(uniform(cells) < replaced[:, None, None], other, jnp.maximum(jnp.round(counts * factor), 1))
    report = jnp.where(seen, report, 0)
    taken = (report > 0) & (times > 0)[..., None]
    low = jnp.min(jnp.where(taken, report, jnp.inf), axis=(-2, -1))
    high = jnp.max(jnp.where(taken, report, 0), axis=(-2, -1))
    mask = jnp.any(taken, axis=-2)
    low = jnp.where(jnp.isinf(low), 1, low)
    told = jnp.astype(chance(0.7), jnp.float32)
    scale = jnp.sum(jnp.where(mask, sigma, 0), axis=-1) / jnp.maximum(jnp.sum(mask, axis=-1), 1)
    known = jnp.where((told > 0)[:, None] | chance(0.3)[:, None], sigma, 0)  # its differences, at least
    setting = Setting(known, told, size, replaced, low, jnp.maximum(high, low))
    return Decisions(truth, Rankings(ranks, report, times, mask), setting, scale)


def _tied(ranks: Array, erased: Array, length: Array) -> Array:
    """Tie those between whose places the border is erased; ``erased[..., k]`` is that below place k."""
    import jax.numpy as jnp

    n = ranks.shape[-1]
    border = ~erased[..., :n] | (jnp.arange(n) == 0) | (jnp.arange(n) >= length)
    group = jnp.cumsum(border, axis=-1)  # of place k + 1
    place = jnp.maximum(ranks - 1, 0).astype(jnp.int32)
    own = jnp.take_along_axis(jnp.broadcast_to(group, ranks.shape), place, axis=-1)
    return midranks(jnp.where(ranks > 0, own.astype(ranks.dtype), jnp.nan))
