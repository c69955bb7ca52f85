"""How noisy voters are, learned from how well they agree."""

from typing import NamedTuple

from veritally.arrays import Array, namespace, over_voters
from veritally.learned.layers import Parameters, Shapes, linear, relu, stacked
from veritally.learned.reading import Reading, Setting

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
