"""The network of the universal rule: two rounds of encode, sum, decode.

Everything is measured in units of τ, the spread of the truths. The first round reads each ballot as it is and makes a
first estimate of the truths. The second reads each ballot again beside that estimate: how surprising is it that this
alternative stands above that one? The sums tell by how much the estimate has to move, in units of its own uncertainty.
Where σ is not told, sums over the ballots tell it first, by how well voters agree.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from veritally.arrays import Array, in_pieces, log_ndtr, namespace, over_voters
from veritally.learned import agreement
from veritally.learned.agreement import Estimate
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
    stacked,
)
from veritally.learned.reading import Reading, Setting, read
from veritally.votes.ballots import Ballots

_ENCODER = 32  # width of layers along ballots
_DECODER = 64  # and across alternatives
_PULLS, _WEIGHTS = 12, 6  # numbers that a voter says of an alternative: which way, and how firmly
_STATE = 6  # numbers remembered of an alternative between the rounds
_READ = 10  # features of a vote
_BESIDE = 14  # and more of them beside a first estimate
_ABOUT = 6  # features of an alternative beside what voters say of it
_NARROW, _WIDE = -14.0, 2.0  # between which the logarithm of a standard deviation lies
_LARGE = 30.0
_FAINT = 1e-9  # below which nothing is shared out
_CELLS = 1 << 19  # votes of which all hidden values are held at once


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


def shapes() -> Shapes:
    """Return the shapes of all parameters."""
    said = _PULLS + _WEIGHTS
    return {
        **agreement.shapes(),
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
    """Return the logits without each voter in turn, ``(..., voter, alternative)``, by the same first round.

    ``mask`` says, alike, what others have seen.
    """
    return _Rounds(parameters, ballots, setting).without_each(mask)


class _Rounds:
    """What is said and found out about decisions, round by round."""

    def __init__(self, parameters: Parameters, ballots: Ballots, setting: Setting) -> None:
        xp = namespace(ballots.counts)
        self.parameters, self.mask = parameters, ballots.mask
        self.readings = [read(piece, setting) for piece in _pieces(ballots)]
        self.scale = agreement.scale(parameters, self.readings, self.mask, setting)
        each = setting.log_sigma - mean_over(setting.log_sigma[..., None], self.mask)[..., 0]
        log_sigma = xp.where(setting.told[..., None] > 0, setting.log_sigma, self.scale.mean[..., None] + each)
        unsure = xp.where(setting.told > 0, agreement.SURE, self.scale.log_deviation)
        self.seen = [_seen(reading, log_sigma, unsure, setting) for reading in self.readings]
        number = sum(xp.sum(reading.times, axis=-1) for reading in self.readings)
        self.common = xp.stack([xp.log1p(number) / 4, unsure / 4, agreement.logged(self.mask)], axis=-1)
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
        second, state = _second(self.parameters, mask, Said(*rest), first, each(self.state), each(self.common))
        return _logits(self.parameters, mask, second, state)


def _pieces(ballots: Ballots) -> list[Ballots]:
    """Cut the voters into pieces of which all hidden values fit into memory."""
    m, n = ballots.counts.shape[-2:]
    return [ballots.take_voters(piece) for piece in in_pieces(ballots.counts, m, _CELLS // (n * (1 + n // 8)))]


def _added(parts: Iterable[Said]) -> Said:
    """Add up what the pieces say."""
    return Said(*(sum(x[1:], x[0]) for x in zip(*parts, strict=True)))


def _summed(reading: Reading, said: Said) -> Said:
    """Sum over voters."""

    def over(x: Array) -> Array:
        *batch, n, k = x.shape
        return over_voters(x.reshape(*batch, n * k), reading.times).reshape(*batch[:-1], n, k)

    return Said(over(said.pulls), over(said.firm), over_voters(said.weight, reading.times))


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
