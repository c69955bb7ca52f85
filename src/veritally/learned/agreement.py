"""How noisy voters are, learned from how well they agree."""

from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, namespace, over_voters
from veritally.ballots import Ballots
from veritally.learned.layers import Parameters, Shapes, linear, relu, stacked
from veritally.learned.reading import Reading, Setting, scored, seen_by
from veritally.learned.scores import comparing

_POWERS = (0.0, 0.5, 1.0)  # of counts, by which agreement is weighed
_FEATURES = len(_POWERS) + 6
_WIDTH = 32
SURE = -4.0  # logarithm of the standard deviation of log σ/τ where it is told, and the least it can be


class Estimate(NamedTuple):
    """Mean of each truth from the mean of all, logarithm of its standard deviation, ``(..., alternative)``."""

    mean: Array
    log_deviation: Array

    @property
    def variance(self) -> Array:
        """The square of the standard deviation."""
        return namespace(self.mean).exp(2 * self.log_deviation)


def shapes() -> Shapes:
    """Return the shapes of the parameters."""
    return stacked("scale", [_FEATURES, _WIDTH, _WIDTH, 2])


def scale(parameters: Parameters, readings: list[Reading], mask: Array, setting: Setting) -> Estimate:
    """Estimate log σ/τ from how well voters agree, weighed by powers of their counts."""
    xp = namespace(mask, setting.told)

    def first(reading: Reading) -> tuple[Array, ...]:
        cells, logs = _cells(reading)
        return xp.sum(cells, axis=(-2, -1)), xp.sum(cells * logs, axis=(-2, -1)), xp.sum(reading.times, axis=-1)

    whole, logs, voters = (sum(x) for x in zip(*map(first, readings), strict=True))
    tiny, one = (xp.asarray(x, dtype=whole.dtype) for x in (1e-9, 1))
    whole = xp.maximum(whole, tiny)
    typical = logs / whole

    def second(reading: Reading) -> tuple[Array, ...]:
        seen = reading.chain.size > 0
        cells, logs = _cells(reading)
        relative = xp.clip(logs - typical[..., None, None], -8, 8)
        square = xp.sum(xp.where(seen, reading.score**2, 0), axis=-1, keepdims=True) / xp.maximum(reading.length, one)
        sums = []
        for power in _POWERS:
            weight = xp.where(seen, xp.exp(power * relative), 0)
            sums += [over_voters(x, reading.times) for x in (weight * reading.score, weight**2 * square)]
        return xp.sum(cells * relative**2, axis=(-2, -1)), *sums

    squares, *sums = (sum(x) for x in zip(*map(second, readings), strict=True))
    told = []
    for signal, noise in zip(sums[::2], sums[1::2], strict=True):
        ratio = xp.sum(xp.where(mask, signal**2, 0), axis=-1) / xp.maximum(xp.sum(noise, axis=-1), tiny)
        told.append(xp.log(ratio + 0.05))
    ranked = xp.log1p(whole / xp.maximum(voters, one)) / 4
    told += [xp.sqrt(squares / whole), xp.log1p(voters) / 4, logged(mask), ranked, setting.size, setting.replaced]
    hidden = xp.stack(told, axis=-1)
    for k in range(2):
        hidden = relu(linear(parameters, f"scale.{k}", hidden))
    out = linear(parameters, "scale.2", hidden)
    return Estimate(out[..., 0] + typical / 2, xp.clip(out[..., 1], SURE, 1.5))


def _cells(reading: Reading) -> tuple[Array, Array]:
    """Return how many voters each vote stands for, and the logarithm of its count."""
    xp = namespace(reading.score)
    return xp.where(reading.chain.size > 0, reading.times[..., None], 0), 2 * xp.log(reading.root)


def logged(mask: Array) -> Array:
    """Return the number of alternatives on the scale that networks like."""
    xp = namespace(mask)
    return xp.log1p(xp.sum(xp.astype(mask, xp.float32), axis=-1)) / 4


def chance(ballots: Ballots, setting: Setting) -> Any:
    """Return about how probable it is, rather too much than too little, that voters agree so well if σ/τ is as told.

    Normal scores of two voters for the same alternative correlate by about √(r r'), where r = 1/(1 + v) and v is the
    variance of what one of them saw, in units of τ². Squares of their sums, weighed by √r, are then like χ², with as
    many degrees of freedom as there are alternatives but one, or fewer where some are seen by more voters than others.
    """
    from scipy.special import gammaincc

    score, _ = scored(ballots[0])
    root, _ = seen_by(ballots, setting)
    share = np.where(ballots[0] > 0, 1 / (1 + np.exp(2 * setting.log_sigma)[..., None, :] / root**2), 0)
    times = np.asarray(comparing(ballots), dtype=float)[..., None]
    whole = np.sum(times * share, axis=-2)
    expected = whole + whole**2 - np.sum(times * share**2, axis=-2)  # square of each sum, if all scores have variance 1
    total, alone = np.sum(expected, axis=-1), np.sum(times * share * score**2, axis=(-2, -1))
    some = (total > 0) & (alone > 0)
    found = np.sum(np.sum(times * np.sqrt(share) * score, axis=-2) ** 2, axis=-1) / np.where(some, alone, 1)
    ratio = found * np.sum(whole, axis=-1) / np.where(some, total, 1)
    freedom = np.maximum(total**2 / np.where(some, np.sum(expected**2, axis=-1), 1) - 1, 1)
    return np.where(some, gammaincc(freedom / 2, freedom / 2 * ratio), 1)
