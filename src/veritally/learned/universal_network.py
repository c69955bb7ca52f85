"""The network of the universal rule: two rounds of encode, sum, decode.

Everything is measured in units of τ, the spread of the truths. The first round reads each ballot as it is and makes a
first estimate of the truths. The second reads each ballot again beside that estimate: how surprising is it that this
alternative stands above that one? The sums tell by how much the estimate has to move, in units of its own uncertainty.
If σ is not given, sums over the ballots estimate it first, from how well voters agree.

The layers have the names of the weights that ship: ``read`` and ``say`` make the messages of the first round, ``first``
and ``guess`` decode them; ``reread`` and ``resay``, ``second`` and ``settle`` are those of the second; ``best`` and
``choose`` make logits. Training ends with the same weights, to the last bit, only while operations here and in
``messages`` keep their order, by which gradients are summed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from veritally.arrays import Array, in_pieces, log_ndtr, namespace
from veritally.learned import agreement
from veritally.learned.agreement import NormalEstimate
from veritally.learned.layers import (
    BALLOT_LAYER,
    DECISION_LAYER,
    Parameters,
    Shapes,
    decision_layer,
    layer_shapes,
    linear,
    max_over,
    mean_over,
)
from veritally.learned.messages import (
    CONTACT_FEATURES,
    FIRMNESSES,
    LARGE,
    PULLS,
    STATE,
    VOTE_FEATURES,
    Messages,
    VoteFeatures,
    add_messages,
    first_messages,
    second_messages,
)
from veritally.learned.reading import Setting, read
from veritally.votes.ballots import Ballots

_ENCODER = 32  # width of layers along ballots
_DECODER = 64  # and across alternatives
_TALLY_FEATURES = 6  # of an alternative, beside what voters say of it
_LOGIT_FEATURES = 5  # of an alternative among the others, beside what is remembered of it
_NARROW, _WIDE = -14.0, 2.0  # between which the logarithm of a standard deviation lies
_CELLS = 1 << 19  # votes of which all hidden values are held at once


class Answer(NamedTuple):
    """What the network says: both estimates, logits of being the best, and log σ/τ with that of its deviation."""

    first: NormalEstimate
    second: NormalEstimate
    logits: Array
    scale: NormalEstimate


def shapes() -> Shapes:
    """Return the shapes of all parameters, in the order in which training draws them."""
    message = PULLS + FIRMNESSES
    first, second = VOTE_FEATURES, VOTE_FEATURES + CONTACT_FEATURES + STATE
    return {
        **agreement.shapes(),
        **layer_shapes("read", [first, _ENCODER, _ENCODER], BALLOT_LAYER),
        **layer_shapes("say", [_ENCODER, message]),
        **layer_shapes("first", [message + _TALLY_FEATURES, _DECODER, _DECODER], DECISION_LAYER),
        **layer_shapes("guess", [_DECODER, 2 + STATE]),
        **layer_shapes("reread", [second, _ENCODER, _ENCODER, _ENCODER], BALLOT_LAYER),
        **layer_shapes("resay", [_ENCODER, message]),
        **layer_shapes("second", [message + _TALLY_FEATURES + STATE, _DECODER, _DECODER], DECISION_LAYER),
        **layer_shapes("settle", [_DECODER, 2 + STATE]),
        **layer_shapes("best", [_LOGIT_FEATURES + STATE, _DECODER // 2], DECISION_LAYER),
        **layer_shapes("choose", [_DECODER // 2, 1]),
    }


def answer(parameters: Parameters, ballots: Ballots, setting: Setting) -> Answer:
    """Answer from rankings and what is given about them; voters are read in pieces, and what they say is added up."""
    return _Rounds(parameters, ballots, setting).answer()


def without_each(parameters: Parameters, ballots: Ballots, setting: Setting, mask: Array) -> Array:
    """Return the logits without each voter in turn, ``(..., voter, alternative)``, by the same first round.

    ``mask`` says, alike, what others have seen.
    """
    return _Rounds(parameters, ballots, setting).without_each(mask)


class _Rounds:
    """Both rounds on some decisions: the first when it is made, the second when it is asked."""

    def __init__(self, parameters: Parameters, ballots: Ballots, setting: Setting) -> None:
        xp = namespace(ballots.counts)
        self.parameters, self.mask = parameters, ballots.mask
        readings = [read(piece, setting) for piece in _pieces(ballots)]
        # σ/τ as given, else as voters agree; differences between alternatives are as given in both cases.
        self.scale = agreement.estimate_scale(parameters, readings, self.mask, setting)
        is_known = setting.sigma_known > 0
        differences = setting.log_sigma - mean_over(setting.log_sigma[..., None], self.mask)[..., 0]
        estimated = self.scale.mean[..., None] + differences
        log_sigma = xp.where(is_known[..., None], setting.log_sigma, estimated)
        log_deviation = xp.where(is_known, agreement.SURE, self.scale.log_deviation)
        # The first round.
        self.votes = [VoteFeatures.of(reading, log_sigma, log_deviation, setting) for reading in readings]
        number = sum(xp.sum(reading.multiplicity, axis=-1) for reading in readings)
        self.common = xp.stack([xp.log1p(number) / 4, log_deviation / 4, agreement.log_size(self.mask)], axis=-1)
        tally = add_messages(
            first_messages(parameters, votes).sum_over_voters(votes.reading.multiplicity) for votes in self.votes
        )
        self.first, self.state = _first_estimate(parameters, self.mask, tally, self.common)

    def _second_messages(self) -> Iterator[tuple[Array, Messages]]:
        """Yield the multiplicities of the voters of each piece, and what they say beside the first estimate."""
        for votes in self.votes:
            yield votes.reading.multiplicity, second_messages(self.parameters, votes, self.first, self.state)

    def answer(self) -> Answer:
        """Go through the second round."""
        tally = add_messages(own.sum_over_voters(multiplicity) for multiplicity, own in self._second_messages())
        second, state = _second_estimate(self.parameters, self.mask, tally, self.first, self.state, self.common)
        return Answer(self.first, second, _logits(self.parameters, self.mask, second, state), self.scale)

    def without_each(self, mask: Array) -> Array:
        """Go through the second round without each voter in turn."""
        xp = namespace(mask)
        axis = self.mask.ndim - 1  # of the voters
        multiplicities, pieces = zip(*self._second_messages(), strict=True)
        multiplicity = xp.concat(multiplicities, axis=axis)
        others = []
        for parts in zip(*pieces, strict=True):
            own = xp.concat(parts, axis=axis)
            own = own * multiplicity.reshape(*multiplicity.shape, *[1] * (own.ndim - multiplicity.ndim))
            others.append(xp.sum(own, axis=axis, keepdims=True) - own)

        def repeat(x: Array) -> Array:
            x = xp.expand_dims(x, axis=axis)
            return xp.broadcast_to(x, (*mask.shape[: axis + 1], *x.shape[axis + 1 :]))

        first, state, common = NormalEstimate(*map(repeat, self.first)), repeat(self.state), repeat(self.common)
        second, state = _second_estimate(self.parameters, mask, Messages(*others), first, state, common)
        return _logits(self.parameters, mask, second, state)


def _pieces(ballots: Ballots) -> list[Ballots]:
    """Cut the voters into pieces of which all hidden values fit into memory."""
    m, n = ballots.counts.shape[-2:]
    return [ballots.take_voters(piece) for piece in in_pieces(ballots.counts, m, _CELLS // (n * (1 + n // 8)))]


def _first_estimate(
    parameters: Parameters, mask: Array, tally: Messages, common: Array
) -> tuple[NormalEstimate, Array]:
    """Make a first estimate, and what to remember of each alternative."""
    pulls, firmness, weight = tally
    xp = namespace(pulls)
    precision = (1 + weight)[..., None]  # with that of the prior
    features = [
        xp.log(precision[..., 0]),
        xp.asinh(pulls[..., 0] / xp.sqrt(precision[..., 0])),
        xp.asinh(pulls[..., 0] / precision[..., 0]),
        *_repeat(common, weight.shape),
    ]
    hidden = xp.concat([pulls / precision, firmness / precision, xp.stack(features, axis=-1)], axis=-1)
    for k in range(2):
        hidden = decision_layer(parameters, f"first.{k}", hidden, mask)
    out = linear(parameters, "guess.0", hidden)
    mean = _centre(pulls[..., 0] / precision[..., 0] + out[..., 0], mask)
    log_deviation = xp.clip(out[..., 1] - xp.log(precision[..., 0]) / 2, _NARROW, _WIDE)
    return NormalEstimate(mean, log_deviation), out[..., 2:]


def _second_estimate(
    parameters: Parameters, mask: Array, tally: Messages, first: NormalEstimate, state: Array, common: Array
) -> tuple[NormalEstimate, Array]:
    """Move the estimate by what ballots say beside it, in units of its own uncertainty."""
    pulls, firmness, weight = tally
    xp = namespace(pulls)
    deviation = xp.exp(first.log_deviation)
    features = [
        xp.log1p(first.variance * weight),
        first.log_deviation / 4,
        xp.asinh(first.mean / deviation),
        first.mean,
        *_repeat(common[..., 1:], weight.shape),
    ]
    unit = deviation[..., None]
    moves = [_squash(pulls * unit), _squash(firmness * unit**2)]
    hidden = xp.concat([*moves, xp.stack(features, axis=-1), state], axis=-1)
    for k in range(2):
        hidden = decision_layer(parameters, f"second.{k}", hidden, mask)
    out = linear(parameters, "settle.0", hidden)
    mean = _centre(first.mean + deviation * out[..., 0], mask)
    return NormalEstimate(mean, xp.clip(first.log_deviation + out[..., 1], _NARROW, _WIDE)), out[..., 2:]


def _repeat(common: Array, shape: tuple[int, ...]) -> list[Array]:
    """Give each alternative what is common to all."""
    xp = namespace(common)
    return [xp.broadcast_to(common[..., k, None], shape) for k in range(common.shape[-1])]


def _squash(x: Array) -> Array:
    """Keep ordinary numbers as they are, and large ones within bounds."""
    xp = namespace(x)
    return xp.where(xp.abs(x) < 3, x, xp.sign(x) * (3 + xp.log1p(xp.maximum(xp.abs(x) - 3, xp.zeros_like(x)))))


def _centre(x: Array, mask: Array) -> Array:
    """Measure from the mean of the alternatives that take part; 0 for the others."""
    return namespace(x).where(mask, x - mean_over(x[..., None], mask)[..., 0], 0)


def _logits(parameters: Parameters, mask: Array, second: NormalEstimate, state: Array) -> Array:
    """Return the logits of being the best, −inf outside ``mask``.

    They start from the probabilities of being ahead of each other alternative, as if these were independent.
    """
    xp = namespace(second.mean)
    variance = second.variance
    gap = second.mean[..., :, None] - second.mean[..., None, :]
    z = xp.clip(gap / xp.sqrt(variance[..., :, None] + variance[..., None, :]), -LARGE, LARGE)
    others = mask[..., None, :] & ~xp.eye(mask.shape[-1], dtype=xp.bool)
    log_ahead = xp.sum(xp.where(others, log_ndtr(z), 0), axis=-1)
    nearest = xp.min(xp.where(others, z, LARGE), axis=-1)
    lag = second.mean - max_over(second.mean[..., None], mask)[..., 0]
    number = xp.log1p(xp.sum(xp.astype(mask, z.dtype), axis=-1, keepdims=True)) / 4
    features = [
        -xp.log1p(-log_ahead),
        xp.asinh(nearest),
        xp.asinh(lag / xp.sqrt(variance)),
        second.log_deviation / 4,
        xp.broadcast_to(number, log_ahead.shape),
    ]
    hidden = xp.concat([xp.stack(features, axis=-1), state], axis=-1)
    hidden = decision_layer(parameters, "best.0", hidden, mask)
    return xp.where(mask, log_ahead + linear(parameters, "choose.0", hidden)[..., 0], -xp.inf)
