"""The network of the universal rule: two rounds of encode, sum, decode.

Everything is measured in units of τ, the spread of the truths. The first round reads each ballot as it is and makes a
first estimate of the truths. The second reads each ballot again beside that estimate: how surprising is it that this
alternative stands above that one? The sums tell by how much the estimate has to move, in units of its own uncertainty.
Where σ is not told, sums over the ballots tell it first, by how well voters agree.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from veritally.arrays import Array, in_pieces, log_ndtr, namespace, ndtri, over_voters
from veritally.ballots import Ballots
from veritally.learned.layers import (
    ACROSS,
    ALONG,
    Chain,
    Parameters,
    Shapes,
    across,
    along,
    linear,
    max_over,
    mean_over,
    relu,
    stacked,
)

_POWERS = (0.0, 0.5, 1.0)  # of counts, by which agreement is weighed to find the noise
_ENCODER = 32  # width of layers along ballots
_DECODER = 64  # and across alternatives
_PULLS, _WEIGHTS = 12, 6  # numbers that a voter says of an alternative: which way, and how firmly
_STATE = 6  # numbers remembered of an alternative between the rounds
_READ = 10  # features of a vote
_BESIDE = 14  # and more of them beside a first estimate
_ABOUT = 6  # features of an alternative beside what voters say of it
_TELLING = len(_POWERS) + 6
_NARROW, _WIDE = -14.0, 2.0  # between which the logarithm of a standard deviation lies
_LARGE = 30.0
_FAINT = 1e-9  # below which nothing is shared out
_SURE = -4.0  # logarithm of the standard deviation of log σ/τ where it is told
_CELLS = 1 << 19  # votes of which all hidden values are held at once


class Reading(NamedTuple):
    """What the network reads on ballots, ``(..., voter, alternative)``.

    Attributes
    ----------
    chain
        Who stands next to whom.
    score
        Normal score of the place, best high.
    place
        The place itself, from 1 to −1.
    length
        How many alternatives the voter ranks, ``(..., voter, 1)``.
    root
        Expected square root of the count; 1 for unseen.
    doubt
        How far the count may be off: the logarithm of its mean over the square of the root.
    times
        How many voters each ballot stands for; none where it compares nothing, ``(..., voter)``.
    """

    chain: Chain
    score: Array
    place: Array
    length: Array
    root: Array
    doubt: Array
    times: Array


class Estimate(NamedTuple):
    """Mean of each truth from the mean of all, logarithm of its standard deviation, ``(..., alternative)``."""

    mean: Array
    log_deviation: Array

    @property
    def variance(self) -> Array:
        """The square of the standard deviation."""
        return namespace(self.mean).exp(2 * self.log_deviation)


class Said(NamedTuple):
    """What voters say of alternatives, or the sum of it.

    Attributes
    ----------
    pulls, firm
        Which way and how firmly, ``(..., alternative, number)``.
    weight
        How much the voter's own view counts, ``(..., alternative)``.
    """

    pulls: Array
    firm: Array
    weight: Array


class Answer(NamedTuple):
    """What the network says: both estimates, logits of being the best, and log σ/τ with that of its deviation."""

    first: Estimate
    second: Estimate
    logits: Array
    scale: Estimate


class Setting(NamedTuple):
    """What the rule is told of a decision, all ``(...)`` but the first, ``(..., alternative)``.

    Attributes
    ----------
    log_sigma
        log σ/τ; where that is not told, how it differs between alternatives.
    told
        Whether it is.
    size, replaced
        The size of percentage errors of counts, and the probability of their replacement.
    low, high
        From where to where true counts may lie.
    """

    log_sigma: Array
    told: Array
    size: Array
    replaced: Array
    low: Array
    high: Array


def read(ballots: Ballots, setting: Setting) -> Reading:
    """Read rankings."""
    ranks, counts, multiplicity, _ = ballots
    _, _, size, replaced, low, high = setting
    xp = namespace(counts)
    seen = ranks > 0
    length = xp.sum(xp.astype(seen, counts.dtype), axis=-1, keepdims=True)
    below = xp.where(seen, (length - ranks + 0.625) / (length + 0.25), 0.5)
    root, mean = _expected(xp.where(seen, counts, 1), *(x[..., None, None] for x in (size, replaced, low, high)))
    return Reading(
        Chain.of(ranks),
        ndtri(below),
        xp.where(seen, (length + 1 - 2 * ranks) / (length + 1), 0),
        length,
        xp.where(seen, root, 1),
        xp.where(seen, xp.log(mean / root**2), 0),
        xp.where(length[..., 0] > 1, multiplicity, 0),
    )


def _expected(counts: Array, size: Array, replaced: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the expected square root and mean of true counts, which are log-uniform where the report allows it."""
    xp = namespace(counts)
    floor = xp.minimum(low, counts)
    ceiling = xp.maximum(high, counts)
    least = xp.maximum(counts / (1 + size), floor)
    most = xp.minimum(counts / xp.maximum(1 - size, xp.asarray(1e-6, dtype=counts.dtype)), ceiling)
    span = xp.log(most / least)
    some = span > 1e-3
    span = xp.where(some, span, 1)
    root = xp.where(some, 2 * (xp.sqrt(most) - xp.sqrt(least)) / span, xp.sqrt(counts))
    mean = xp.where(some, (most - least) / span, counts)
    wide = xp.maximum(high - low, xp.asarray(1e-3, dtype=counts.dtype))
    other = 2 / 3 * ((low + wide) ** 1.5 - low**1.5) / wide
    return root * (1 - replaced) + other * replaced, mean * (1 - replaced) + (low + high) / 2 * replaced


def shapes() -> Shapes:
    """Return the shapes of all parameters."""
    said = _PULLS + _WEIGHTS
    return {
        **stacked("scale", [_TELLING, _ENCODER, _ENCODER, 2]),
        **stacked("read", [_READ, _ENCODER, _ENCODER], ALONG),
        **stacked("say", [_ENCODER, said]),
        **stacked("first", [said + _ABOUT, _DECODER, _DECODER], ACROSS),
        **stacked("guess", [_DECODER, 2 + _STATE]),
        **stacked("reread", [_READ + _BESIDE + _STATE, _ENCODER, _ENCODER, _ENCODER], ALONG),
        **stacked("resay", [_ENCODER, said]),
        **stacked("second", [said + _ABOUT + _STATE, _DECODER, _DECODER], ACROSS),
        **stacked("settle", [_DECODER, 2 + _STATE]),
        **stacked("best", [5 + _STATE, _DECODER // 2], ACROSS),
        **stacked("choose", [_DECODER // 2, 1]),
    }


def answer(parameters: Parameters, ballots: Ballots, setting: Setting) -> Answer:
    """Answer from rankings and what is told of them; voters are read in pieces, and what they say is added up."""
    return _Rounds(parameters, ballots, setting).answer()


def without_each(parameters: Parameters, ballots: Ballots, setting: Setting, mask: Array) -> Array:
    """Return the estimates without each voter in turn, ``(..., voter, alternative)``, by the same first round.

    ``mask`` says, alike, what others have seen.
    """
    return _Rounds(parameters, ballots, setting).without_each(mask)


class _Rounds:
    """What is said and found out about decisions, round by round."""

    def __init__(self, parameters: Parameters, ballots: Ballots, setting: Setting) -> None:
        xp = namespace(ballots.counts)
        self.parameters, self.mask = parameters, ballots.mask
        self.readings = [read(piece, setting) for piece in _pieces(ballots)]
        self.scale = _scale(parameters, self.readings, self.mask, setting)
        each = setting.log_sigma - mean_over(setting.log_sigma[..., None], self.mask)[..., 0]
        log_sigma = xp.where(setting.told[..., None] > 0, setting.log_sigma, self.scale.mean[..., None] + each)
        unsure = xp.where(setting.told > 0, _SURE, self.scale.log_deviation)
        self.seen = [_seen(reading, log_sigma, unsure, setting) for reading in self.readings]
        number = sum(xp.sum(reading.times, axis=-1) for reading in self.readings)
        self.common = xp.stack([xp.log1p(number) / 4, unsure / 4, _logged(self.mask)], axis=-1)
        said = _added(
            _summed(reading, _say(parameters, reading, *own))
            for reading, own in zip(self.readings, self.seen, strict=True)
        )
        self.first, self.state = _first(parameters, self.mask, said, self.common)

    def _again(self) -> Iterator[tuple[Reading, Said]]:
        """Yield what the voters of each piece say beside the first estimate."""
        for reading, own in zip(self.readings, self.seen, strict=True):
            yield reading, _resay(self.parameters, reading, *own, self.first, self.state)

    def answer(self) -> Answer:
        """Go through the second round."""
        said = _added(_summed(reading, own) for reading, own in self._again())
        second, state = _second(self.parameters, self.mask, said, self.first, self.state, self.common)
        return Answer(self.first, second, _logits(self.parameters, self.mask, second, state), self.scale)

    def without_each(self, mask: Array) -> Array:
        """Go through the second round without each voter in turn."""
        xp = namespace(mask)
        voters = self.mask.ndim - 1  # their axis
        pieces = [(reading.times, own) for reading, own in self._again()]
        times = xp.concat([times for times, _ in pieces], axis=voters)
        own = Said(*(xp.concat(parts, axis=voters) for parts in zip(*(own for _, own in pieces), strict=True)))
        rest = []
        for x in own:
            some = x * times.reshape(*times.shape, *[1] * (x.ndim - times.ndim))
            rest.append(xp.sum(some, axis=voters, keepdims=True) - some)

        def each(x: Array) -> Array:
            x = xp.expand_dims(x, axis=voters)
            return xp.broadcast_to(x, (*mask.shape[: voters + 1], *x.shape[voters + 1 :]))

        first = Estimate(*map(each, self.first))
        second, _ = _second(self.parameters, mask, Said(*rest), first, each(self.state), each(self.common))
        return second.mean


def _pieces(ballots: Ballots) -> list[Ballots]:
    """Cut the voters into pieces of which all hidden values fit into memory."""
    votes, counts, multiplicity, mask = ballots
    *batch, m, n = counts.shape
    cuts = [(*[slice(None)] * len(batch), piece) for piece in in_pieces(counts, m, _CELLS // n)]
    return [type(ballots)(votes[cut], counts[cut], multiplicity[cut], mask) for cut in cuts]


def _added(parts: Iterable[Said]) -> Said:
    """Add up what the pieces say."""
    return Said(*(sum(x[1:], x[0]) for x in zip(*parts, strict=True)))


def _summed(reading: Reading, said: Said) -> Said:
    """Sum over voters."""

    def over(x: Array) -> Array:
        *batch, n, k = x.shape
        return over_voters(x.reshape(*batch, n * k), reading.times).reshape(*batch[:-1], n, k)

    return Said(over(said.pulls), over(said.firm), over_voters(said.weight, reading.times))


def _scale(parameters: Parameters, readings: list[Reading], mask: Array, setting: Setting) -> Estimate:
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
    told += [xp.sqrt(squares / whole), xp.log1p(voters) / 4, _logged(mask), ranked, setting.size, setting.replaced]
    hidden = xp.stack(told, axis=-1)
    for k in range(2):
        hidden = relu(linear(parameters, f"scale.{k}", hidden))
    out = linear(parameters, "scale.2", hidden)
    return Estimate(out[..., 0] + typical / 2, xp.clip(out[..., 1], _SURE, 1.5))


def _cells(reading: Reading) -> tuple[Array, Array]:
    """Return how many voters each vote stands for, and the logarithm of its count."""
    xp = namespace(reading.score)
    return xp.where(reading.chain.size > 0, reading.times[..., None], 0), 2 * xp.log(reading.root)


def _logged(mask: Array) -> Array:
    """Return the number of alternatives on the scale that networks like."""
    xp = namespace(mask)
    return xp.log1p(xp.sum(xp.astype(mask, xp.float32), axis=-1)) / 4


def _seen(reading: Reading, log_sigma: Array, unsure: Array, setting: Setting) -> tuple[Array, Array]:
    """Return the logarithm of the precision of what voters saw, and what there is to know of each vote by itself."""
    xp = namespace(reading.score)
    log_precision = 2 * (xp.log(reading.root) - log_sigma[..., None, :])
    length = xp.maximum(reading.length, xp.asarray(1, dtype=log_precision.dtype))
    each = [
        reading.score,
        reading.place,
        reading.chain.size / length,
        xp.astype(reading.chain.above < 0, length.dtype),
        xp.astype(reading.chain.below < 0, length.dtype),
        xp.log(length) / 2,
        log_precision / 4,
        reading.doubt,
        (setting.size + 2 * setting.replaced)[..., None, None],
        (unsure / 4)[..., None, None],
    ]
    return log_precision, xp.stack([xp.broadcast_to(x, reading.score.shape) for x in each], axis=-1)


def _weighed(reading: Reading, said: Array, weight: Array) -> Said:
    """Weigh what voters say: pulls by the root of their weight, firmness by the weight."""
    xp = namespace(said)
    weight = xp.where(reading.chain.size > 0, weight, 0)
    return Said(said[..., :_PULLS] * xp.sqrt(weight)[..., None], said[..., _PULLS:] * weight[..., None], weight)


def _say(parameters: Parameters, reading: Reading, log_precision: Array, features: Array) -> Said:
    """Return what voters say of the alternatives by their ballots alone."""
    xp = namespace(features)
    hidden = features
    for k in range(2):
        hidden = along(parameters, f"read.{k}", hidden, reading.chain)
    said = linear(parameters, "say.0", hidden)
    said = xp.concat([said[..., :1] + reading.score[..., None], said[..., 1:]], axis=-1)
    return _weighed(reading, said, 1 / (1 + xp.exp(-log_precision)))


def _first(parameters: Parameters, mask: Array, said: Said, common: Array) -> tuple[Estimate, Array]:
    """Make a first estimate, and what to remember of each alternative."""
    pulls, firm, whole = said
    xp = namespace(pulls)
    scale = (1 + whole)[..., None]
    about = [
        xp.log(scale[..., 0]),
        xp.asinh(pulls[..., 0] / xp.sqrt(scale[..., 0])),
        xp.asinh(pulls[..., 0] / scale[..., 0]),
        *_spread(common, whole.shape),
    ]
    hidden = xp.concat([pulls / scale, firm / scale, xp.stack(about, axis=-1)], axis=-1)
    for k in range(2):
        hidden = across(parameters, f"first.{k}", hidden, mask)
    out = linear(parameters, "guess.0", hidden)
    mean = _centred(pulls[..., 0] / scale[..., 0] + out[..., 0], mask)
    log_deviation = xp.clip(out[..., 1] - xp.log(scale[..., 0]) / 2, _NARROW, _WIDE)
    return Estimate(mean, log_deviation), out[..., 2:]


def _spread(common: Array, shape: tuple[int, ...]) -> list[Array]:
    """Give each alternative what is common to all."""
    xp = namespace(common)
    return [xp.broadcast_to(common[..., k, None], shape) for k in range(common.shape[-1])]


def _resay(
    parameters: Parameters, reading: Reading, log_precision: Array, features: Array, first: Estimate, state: Array
) -> Said:
    """Return what voters say of the alternatives beside a first estimate."""
    xp = namespace(features)
    chain = reading.chain
    variance = xp.exp(-log_precision)  # of what a voter saw
    mean, spread = (xp.broadcast_to(x[..., None, :], variance.shape) for x in (first.mean, first.variance))
    wide = variance + spread
    here = xp.stack([mean, spread, variance], axis=-1)
    beside, slope = [], xp.zeros_like(variance)
    for (there, who), sign in zip(chain.rivals(here), (-1, 1), strict=True):
        exists = xp.any(who, axis=-1)
        gap = sign * (mean[..., None] - there[..., 0])  # positive where the estimate agrees
        noise = variance[..., None] + there[..., 2]
        z = xp.clip(gap / xp.sqrt(noise), -_LARGE, _LARGE)
        rate = xp.sum(xp.where(who, _hazard(z) / xp.sqrt(noise), 0), axis=-1)
        contact = rate * xp.sqrt(wide)
        soft = gap / xp.sqrt(noise + spread[..., None] + there[..., 1])
        near = [xp.min(xp.where(who, x, _LARGE), axis=-1) for x in (z, soft)]
        number = xp.maximum(xp.sum(xp.astype(who, wide.dtype), axis=-1), xp.asarray(1, dtype=wide.dtype))
        width = xp.sum(xp.where(who, there[..., 2] + there[..., 1], 0), axis=-1) / number
        each = [xp.asinh(near[0]), contact, xp.asinh(near[1]), xp.log((width + 1e-12) / wide) / 4]
        among = chain.within(rate)
        each.append(rate / xp.where(among > _FAINT, among, 1))
        beside += [xp.where(exists, x, 0) for x in each]
        slope = slope + sign * contact
    log_deviation = xp.broadcast_to(first.log_deviation[..., None, :], variance.shape)
    beside += [xp.clip(log_precision / 2 + log_deviation, -6, 6), log_deviation / 4, slope]
    beside.append(_lead(chain, mean, wide))
    known = xp.broadcast_to(state[..., None, :, :], (*variance.shape, _STATE))
    hidden = xp.concat([features, xp.stack(beside, axis=-1), known], axis=-1)
    for k in range(3):
        hidden = along(parameters, f"reread.{k}", hidden, chain)
    said = linear(parameters, "resay.0", hidden)
    said = xp.concat([said[..., :1] + slope[..., None], said[..., 1:]], axis=-1)
    return _weighed(reading, said, 1 / wide)


def _lead(chain: Chain, mean: Array, wide: Array) -> Array:
    """Return by how much each is ahead of the best of those who are tied with it; 0 for one alone."""
    xp = namespace(mean)
    if chain.ties is None:
        return xp.zeros_like(mean)
    others = chain.ties.same & ~xp.eye(mean.shape[-1], dtype=xp.bool)
    best = xp.max(xp.where(others, mean[..., None, :], -_LARGE), axis=-1)
    return xp.where(chain.size > 1, xp.asinh((mean - best) / xp.sqrt(wide)), 0)


def _second(
    parameters: Parameters,
    mask: Array,
    said: Said,
    first: Estimate,
    state: Array,
    common: Array,
) -> tuple[Estimate, Array]:
    """Move the estimate by what ballots say beside it."""
    pulls, firm, whole = said
    xp = namespace(pulls)
    deviation = xp.exp(first.log_deviation)
    about = [
        xp.log1p(first.variance * whole),
        first.log_deviation / 4,
        xp.asinh(first.mean / deviation),
        first.mean,
        *_spread(common[..., 1:], whole.shape),
    ]
    unit = deviation[..., None]
    moved = [_squashed(pulls * unit), _squashed(firm * unit**2), xp.stack(about, axis=-1), state]
    hidden = xp.concat(moved, axis=-1)
    for k in range(2):
        hidden = across(parameters, f"second.{k}", hidden, mask)
    out = linear(parameters, "settle.0", hidden)
    mean = _centred(first.mean + deviation * out[..., 0], mask)
    return Estimate(mean, xp.clip(first.log_deviation + out[..., 1], _NARROW, _WIDE)), out[..., 2:]


def _squashed(x: Array) -> Array:
    """Keep ordinary numbers as they are, and large ones within bounds."""
    xp = namespace(x)
    return xp.where(xp.abs(x) < 3, x, xp.sign(x) * (3 + xp.log1p(xp.maximum(xp.abs(x) - 3, xp.zeros_like(x)))))


def _hazard(z: Array) -> Array:
    """φ(z)/Φ(z)."""
    xp = namespace(z)
    return xp.exp(-(z**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(z))


def _centred(x: Array, mask: Array) -> Array:
    """Measure from the mean of the alternatives that take part; 0 for the others."""
    return namespace(x).where(mask, x - mean_over(x[..., None], mask)[..., 0], 0)


def _logits(parameters: Parameters, mask: Array, second: Estimate, state: Array) -> Array:
    """Return the logits of being the best, −inf outside ``mask``."""
    xp = namespace(second.mean)
    variance = second.variance
    gap = second.mean[..., :, None] - second.mean[..., None, :]
    z = xp.clip(gap / xp.sqrt(variance[..., :, None] + variance[..., None, :]), -_LARGE, _LARGE)
    n = mask.shape[-1]
    others = mask[..., None, :] & ~xp.eye(n, dtype=xp.bool)
    ahead = xp.sum(xp.where(others, log_ndtr(z), 0), axis=-1)
    nearest = xp.min(xp.where(others, z, _LARGE), axis=-1)
    behind = second.mean - max_over(second.mean[..., None], mask)[..., 0]
    number = xp.log1p(xp.sum(xp.astype(mask, z.dtype), axis=-1, keepdims=True)) / 4
    about = [
        -xp.log1p(-ahead),
        xp.asinh(nearest),
        xp.asinh(behind / xp.sqrt(variance)),
        second.log_deviation / 4,
        xp.broadcast_to(number, ahead.shape),
    ]
    hidden = xp.concat([xp.stack(about, axis=-1), state], axis=-1)
    hidden = across(parameters, "best.0", hidden, mask)
    return xp.where(mask, ahead + linear(parameters, "choose.0", hidden)[..., 0], -xp.inf)
