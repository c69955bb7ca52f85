"""How noisy voters are, learned from how well they agree."""

from collections.abc import Iterable
from typing import NamedTuple

from veritally.arrays import Array, namespace, over_voters
from veritally.learned.layers import Parameters, Shapes, layer_shapes, linear, relu
from veritally.learned.reading import Reading, Setting

_POWERS = (0.0, 0.5, 1.0)  # of counts, by which agreement is weighed
_FEATURES = len(_POWERS) + 6
_WIDTH = 32
SURE = -4.0  # logarithm of the standard deviation of log σ/τ where it is given, and the least it can be


class NormalEstimate(NamedTuple):
    """An estimate with its uncertainty, as a normal distribution.

    Attributes
    ----------
    mean
        The estimate: of each truth, measured from the mean of all, ``(..., alternative)``, or of log σ/τ, ``(...)``.
    log_deviation
        The logarithm of its standard deviation.
    """

    mean: Array
    log_deviation: Array

    @property
    def variance(self) -> Array:
        """The square of the standard deviation."""
        return namespace(self.mean).exp(2 * self.log_deviation)


def shapes() -> Shapes:
    """Return the shapes of the parameters."""
    return layer_shapes("scale", [_FEATURES, _WIDTH, _WIDTH, 2])


def estimate_scale(parameters: Parameters, readings: list[Reading], mask: Array, setting: Setting) -> NormalEstimate:
    """Estimate log σ/τ from how well voters agree, weighed by powers of their counts."""
    xp = namespace(mask, setting.sigma_known)
    # How many votes and voters there are, and the typical count.
    votes, log_counts, voters = _total(_sizes(reading) for reading in readings)
    tiny, one = (xp.asarray(x, dtype=votes.dtype) for x in (1e-9, 1))
    votes = xp.maximum(votes, tiny)
    typical = log_counts / votes
    # How far counts are apart; for each power, the square of summed scores beside the sum of their squares.
    squares, *sums = _total(_agreement(reading, typical) for reading in readings)
    features = []
    for signal, noise in zip(sums[::2], sums[1::2], strict=True):
        ratio = xp.sum(xp.where(mask, signal**2, 0), axis=-1) / xp.maximum(xp.sum(noise, axis=-1), tiny)
        features.append(xp.log(ratio + 0.05))
    length = xp.log1p(votes / xp.maximum(voters, one)) / 4  # of a typical ballot
    features += [xp.sqrt(squares / votes), xp.log1p(voters) / 4, log_size(mask), length]
    features += [setting.error_size, setting.replacement]
    hidden = xp.stack(features, axis=-1)
    for k in range(2):
        hidden = relu(linear(parameters, f"scale.{k}", hidden))
    out = linear(parameters, "scale.2", hidden)
    return NormalEstimate(out[..., 0] + typical / 2, xp.clip(out[..., 1], SURE, 1.5))


def log_size(mask: Array) -> Array:
    """Return the number of alternatives on the scale that networks like."""
    xp = namespace(mask)
    return xp.log1p(xp.sum(xp.astype(mask, xp.float32), axis=-1)) / 4


def _sizes(reading: Reading) -> tuple[Array, ...]:
    """Return the number of votes, the sum of the logarithms of their counts, and the number of voters."""
    xp = namespace(reading.score)
    weight, log_count = _cells(reading)
    total = xp.sum(weight, axis=(-2, -1)), xp.sum(weight * log_count, axis=(-2, -1))
    return *total, xp.sum(reading.multiplicity, axis=-1)


def _agreement(reading: Reading, typical: Array) -> tuple[Array, ...]:
    """Return the sum of squared deviations of log counts from a typical one, then two sums for each power of counts.

    These are, for each alternative, the weighed sum of scores, and that of their squares if voters did not agree.
    """
    xp = namespace(reading.score)
    seen = reading.neighbours.group_size > 0
    weight, log_count = _cells(reading)
    relative = xp.clip(log_count - typical[..., None, None], -8, 8)
    length = xp.maximum(reading.length, xp.asarray(1, dtype=reading.length.dtype))
    square = xp.sum(xp.where(seen, reading.score**2, 0), axis=-1, keepdims=True) / length
    sums = []
    for power in _POWERS:
        factor = xp.where(seen, xp.exp(power * relative), 0)
        sums += [over_voters(x, reading.multiplicity) for x in (factor * reading.score, factor**2 * square)]
    return xp.sum(weight * relative**2, axis=(-2, -1)), *sums


def _total(parts: Iterable[tuple[Array, ...]]) -> list[Array]:
    """Add up what pieces of the voters have."""
    return [sum(x) for x in zip(*parts, strict=True)]


def _cells(reading: Reading) -> tuple[Array, Array]:
    """Return how many voters each vote stands for, and the logarithm of its count."""
    xp = namespace(reading.score)
    stands_for = xp.where(reading.neighbours.group_size > 0, reading.multiplicity[..., None], 0)
    return stands_for, 2 * xp.log(reading.root_count)
