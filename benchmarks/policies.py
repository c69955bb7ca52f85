"""Ways to say what to look at next, each for many replays at a time."""

import math
import warnings
from collections.abc import Callable

import numpy as np
from replays import Belief, Chooser, World

import veritally as vt
from veritally.arrays import Array
from veritally.inference.linear import root
from veritally.planning.gain import gain_along, gain_of_moves, verdicts

BLOCKS = (1, 3, 10, 30, 100, 300)
_EACH = 30  # verdicts up to which each number of wins is looked at; of more, the mean is taken for normal
_NODES = 16
_NOTHING = 1e-12  # of a gain per look: no block is worth anything
_AT_ONCE = 20  # replays, so that what is computed stays in the cache
_DRAWS = 64  # until another one is best


def gains(belief: Belief) -> Array:
    """Return what blocks are worth, ``(replay, action, block)``: by how much they lower expected regret."""
    return (_gains_of_verdicts if belief.verdicts else _gains_of_numbers)(belief)


def _gains_of_numbers(belief: Belief) -> Array:
    _, variance, crossed = belief.differences()
    total = variance[..., None] + belief.noise**2 / np.asarray(BLOCKS)
    slopes = crossed[:, :, None, :] / np.sqrt(total)[..., None]
    return gain_along(np.broadcast_to(belief.mean[:, None, None, :], slopes.shape), slopes)


def _gains_of_verdicts(belief: Belief) -> Array:
    parts = [
        belief.take(np.arange(k, min(k + _AT_ONCE, len(belief.mean)))) for k in range(0, len(belief.mean), _AT_ONCE)
    ]
    return np.concat([_gains_of_some_verdicts(part) for part in parts])


def _gains_of_some_verdicts(belief: Belief) -> Array:
    mean, variance, crossed = belief.differences()
    noise, found = np.full(mean.shape, belief.noise), []
    every = np.broadcast_to(belief.mean[:, None], crossed.shape)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    told = np.zeros(mean.shape)
    for block in BLOCKS:
        if block <= _EACH:
            chance, after = verdicts(mean, variance, noise, block)
            shift = after - mean[..., None]
            explained = np.sum(chance * shift**2, axis=-1)
            told = (1 / np.maximum(variance - explained, 1e-9 * variance) - 1 / variance) / block  # by one verdict
        else:
            precision = block * told
            shift = nodes * (variance * np.sqrt(precision / (1 + precision * variance)))[..., None]
            chance = np.broadcast_to(weights / np.sum(weights), shift.shape)
        moves = shift[..., None] * (crossed / variance[..., None])[..., None, :]
        found.append(np.maximum(gain_of_moves(every, moves, 1, chance), 0))
    return np.stack(found, axis=-1)


def by_gain(seed: int, again: int = 1) -> Chooser:
    """Look where a block is worth most per look, ``again`` times, and value anew.

    Within a round nothing is seen yet: what the looks chosen already will tell is taken off the covariance. Where no
    block is worth anything, the winner and its closest challenger are looked at.
    """
    random = np.random.default_rng([seed, 0])
    held: list[Array] = []

    def choose(belief: Belief, start: int, number: int) -> Array:
        planned = belief.take(np.arange(len(belief.mean)))
        while len(held) < number:
            action = best_by_gain(planned, random)
            held.extend([action] * again)
            if len(held) < number:
                _plan(planned, action, again)
        chosen = np.stack(held[:number], axis=-1)
        del held[:number]
        return chosen

    return choose


def best_by_gain(belief: Belief, random: np.random.Generator) -> Array:
    """Return the action with the most gain per look, ties at random."""
    worth = np.max(gains(belief) / np.asarray(BLOCKS), axis=-1)
    worth = worth * (1 + 1e-6 * random.random(worth.shape))
    return np.where(np.max(worth, axis=-1) > _NOTHING, np.argmax(worth, axis=-1), _closest(belief))


def by_plan(world: World, budget: int, a_round: int) -> Chooser:
    """Ask ``next_looks`` itself, in rounds, with what was seen so far as the votes of one voter.

    In the first round everything is looked at as often, as there are no votes yet. Where a plan stops before the round
    is full, the winner and its closest challenger are looked at.
    """
    made: list[Array] = []  # what was looked at, of which the first have been seen by the next round

    def choose(belief: Belief, start: int, number: int) -> Array:
        while len(made) < start + number:
            if made:
                seen = _seen(world, np.stack(made, axis=-1))
                rows = [_planned(world, own, budget - len(made), a_round) for own in seen]
            else:
                rows = [[k % len(world.designs) for k in range(a_round)]] * len(belief.mean)
            spare = _closest(belief)
            full = [(row + [int(other)] * a_round)[:a_round] for row, other in zip(rows, spare, strict=True)]
            made.extend(np.array(full).T)
        return np.stack(made[start : start + number], axis=-1)

    return choose


def _seen(world: World, made: Array) -> Array:
    """Return what looks showed, ``(replay, number and sum, action)``; of comparisons, the sum of the signs."""
    found = np.zeros((len(made), 2, len(world.designs)))
    every = np.arange(len(made))
    for action in made.T:
        shown = world.shown(action, found[every, 0, action].astype(int))
        found[every, 0, action] += 1
        found[every, 1, action] += shown
    return found


def _planned(world: World, seen: Array, budget: int, a_round: int) -> list[int]:
    """Return what a plan of ``next_looks`` looks at in its first round, action by action."""
    number, total = seen
    known = {"sigma": world.noise, "tau": world.spread}
    if world.verdicts:
        n = world.designs.shape[1]
        pairs = [(int(np.argmax(h)), int(np.argmin(h))) for h in world.designs]
        wins = np.zeros((1, n, n))
        for (j, k), times, more in zip(pairs, number, total, strict=True):
            wins[0, j, k], wins[0, k, j] = (times + more) / 2, (times - more) / 2
        profile = vt.Profile(pairs=wins)
        known["sigma"] /= math.sqrt(2)
        place = {pair: action for action, pair in enumerate(pairs)}
    else:
        values = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        profile = vt.Profile(values=values[None], counts=number[None])
        known["leniency"] = 0.0
        place = {(j,): j for j in range(len(values))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vt.InputWarning)
        plan = vt.next_looks(profile, budget=budget, a_round=a_round, newcomers=False, **known)
    return [place[look.alternatives] for look in plan.looks for _ in range(round(look.looks))]


def _closest(belief: Belief) -> Array:
    """Return the comparison of the winner with its closest challenger, or the one of both of which less is known."""
    every, n = np.arange(len(belief.mean)), belief.mean.shape[1]
    first = np.argmax(belief.mean, axis=-1)
    variances = np.diagonal(belief.covariance, axis1=-2, axis2=-1)
    apart = variances + variances[every, first][:, None] - 2 * belief.covariance[every, first]
    gap = (belief.mean[every, first][:, None] - belief.mean) / np.sqrt(np.maximum(apart, 1e-300))
    second = np.argmin(np.where(np.arange(n) == first[:, None], np.inf, gap), axis=-1)
    if belief.verdicts:
        return _pair(belief, first, second)
    return np.where(variances[every, first] >= variances[every, second], first, second)


def _pair(belief: Belief, first: Array, second: Array) -> Array:
    """Return the action that compares two; where there is none, one of the first with the least compared."""
    place = np.abs(belief.designs)
    both = place[:, first] * place[:, second]  # (action, replay)
    with_first = np.where(place[:, first] > 0, belief.counts.T, np.iinfo(int).max)
    return np.where(np.any(both > 0, axis=0), np.argmax(both, axis=0), np.argmin(with_first, axis=0))


def _plan(belief: Belief, action: Array, times: int) -> None:
    """Take off the covariance what looks will tell, whatever they show."""
    every = np.arange(len(action))
    mean, variance, crossed = (x[every, action] for x in belief.differences())
    told = np.full(len(every), 1 / belief.noise**2)
    if belief.verdicts:
        chance, after = verdicts(mean, variance, np.full(len(every), belief.noise), 1)
        explained = np.sum(chance * (after - mean[:, None]) ** 2, axis=-1)
        told = 1 / (variance - explained) - 1 / variance
    share = times * told / (1 + times * told * variance)
    belief.covariance = belief.covariance - (share[:, None] * crossed)[..., None] * crossed[:, None, :]


def one_by_one(pick: Callable[[Belief, Array, int], Array]) -> Chooser:
    """Return a way that decides by what is believed and by counts, with those of the looks of this round."""

    def choose(belief: Belief, start: int, number: int) -> Array:
        counts, every, chosen = belief.counts.copy(), np.arange(len(belief.mean)), []
        for k in range(number):
            chosen.append(pick(belief, counts, start + k))
            counts[every, chosen[-1]] += 1
        return np.stack(chosen, axis=-1)

    return choose


def at_random(seed: int) -> Chooser:
    """Look anywhere."""
    random = np.random.default_rng([seed, 1])
    return one_by_one(lambda belief, counts, time: random.integers(counts.shape[1], size=len(counts)))


def balanced(seed: int) -> Chooser:
    """Look where the fewest looks were, ties at random."""
    random = np.random.default_rng([seed, 2])
    return one_by_one(lambda belief, counts, time: np.argmin(counts + random.random(counts.shape), axis=-1))


def uncertain(seed: int) -> Chooser:
    """Look at what is known least: the largest variance, or the verdict nearest to an even chance.

    In a round, at what is so next, each once before any twice.
    """
    random = np.random.default_rng([seed, 3])

    def pick(belief: Belief, counts: Array, time: int) -> Array:
        mean, variance, _ = belief.differences()
        known = np.abs(mean) / np.sqrt(variance + belief.noise**2) if belief.verdicts else -variance
        known = known + 1e-9 * random.random(known.shape)  # ties at random
        return np.argmin(known + 1e3 * (counts - belief.counts), axis=-1)

    return one_by_one(pick)


def top_two(seed: int) -> Chooser:
    """Top-two Thompson sampling (Russo, 2016): what is best in a draw of the truths, or in another where it differs.

    Numbers: either with the same chance. Comparisons: both with each other.
    """
    random = np.random.default_rng([seed, 4])

    def pick(belief: Belief, counts: Array, time: int) -> Array:
        replays, n = belief.mean.shape
        independent = not belief.verdicts
        half = np.sqrt(belief.covariance * np.eye(n)) if independent else root(belief.covariance)
        drawn = belief.mean[:, None] + np.matmul(random.normal(size=(replays, _DRAWS, n)), half)
        bests = np.argmax(drawn, axis=-1)
        first, other = bests[:, 0], bests != bests[:, :1]
        runner = np.argmax(np.where(np.arange(n) == first[:, None], -np.inf, np.max(drawn, axis=1)), axis=-1)
        second = np.where(other.any(axis=-1), bests[np.arange(replays), np.argmax(other, axis=-1)], runner)
        if belief.verdicts:
            return _pair(belief, first, second)
        return np.where(random.random(replays) < 0.5, first, second)

    return one_by_one(pick)


def successive_rejects(seed: int, budget: int, alternatives: int) -> Chooser:
    """Successive rejects (Audibert, Bubeck and Munos, 2010): all alike, and the worst is dropped after each phase.

    Phases are those of the whole budget. Comparisons are those of the ones left, the fewest first.
    """
    random = np.random.default_rng([seed, 5])
    harmonic = 0.5 + sum(1 / k for k in range(2, alternatives + 1))
    each = [math.ceil((budget - alternatives) / harmonic / (alternatives + 1 - k)) for k in range(1, alternatives)]
    ends = [sum(each[:k]) + (alternatives - k) * each[k] for k in range(alternatives - 1)][:-1]  # two are left at last
    state: dict[str, Array] = {}

    def pick(belief: Belief, counts: Array, time: int) -> Array:
        left = state.setdefault("left", np.ones(belief.mean.shape, dtype=bool))
        phase = alternatives - int(left[0].sum())
        while phase < len(ends) and time >= ends[phase]:
            worst = np.argmin(np.where(left, belief.mean, np.inf), axis=-1)
            left[np.arange(len(left)), worst] = False
            phase += 1
        there = np.abs(belief.designs) @ (~left).T == 0  # (action, replay): about those that are left
        fewest = np.where(there.T, counts + random.random(counts.shape), np.inf)
        lost = ~there.any(axis=0)  # these two were never compared: go on with all
        return np.argmin(np.where(lost[:, None], counts, fewest), axis=-1)

    return one_by_one(pick)


def others(seed: int, budget: int, alternatives: int) -> dict[str, Chooser]:
    """Return all ways but ours."""
    return {
        "random": at_random(seed),
        "balanced": balanced(seed),
        "uncertainty": uncertain(seed),
        "top-two": top_two(seed),
        "rejects": successive_rejects(seed, budget, alternatives),
    }
