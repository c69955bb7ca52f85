"""What voters say of alternatives in both rounds of the universal network: messages, which are summed over voters."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from veritally.arrays import Array, log_ndtr, namespace, over_voters
from veritally.learned.agreement import NormalEstimate
from veritally.learned.layers import Parameters, ballot_layer, linear
from veritally.learned.neighbours import Neighbours
from veritally.learned.reading import Reading, Setting

PULLS, FIRMNESSES = 12, 6  # numbers that a voter says of an alternative: which way, and how firmly
STATE = 6  # numbers remembered of an alternative between the rounds
VOTE_FEATURES = 10  # of a vote by itself
CONTACT_FEATURES = 14  # and more of them beside a first estimate
LARGE = 30.0  # standard deviations, beyond which differences are all alike
_FAINT = 1e-9  # below which nothing is shared out


class VoteFeatures(NamedTuple):
    """What there is to know of each vote by itself, ``(..., voter, alternative)``.

    Attributes
    ----------
    reading
        The ballots.
    log_precision
        The logarithm of the precision of what voters saw, in units of 1/τ².
    features
        What the network is given, ``(..., voter, alternative, feature)``.
    """

    reading: Reading
    log_precision: Array
    features: Array

    @classmethod
    def of(cls, reading: Reading, log_sigma: Array, log_deviation: Array, setting: Setting) -> "VoteFeatures":
        """Put together what ballots and settings say; ``log_deviation`` is how unsure log σ/τ is."""
        xp = namespace(reading.score)
        log_precision = 2 * (xp.log(reading.root_count) - log_sigma[..., None, :])
        length = xp.maximum(reading.length, xp.asarray(1, dtype=log_precision.dtype))
        each = [
            reading.score,
            reading.place,
            reading.neighbours.group_size / length,
            xp.astype(reading.neighbours.above < 0, length.dtype),
            xp.astype(reading.neighbours.below < 0, length.dtype),
            xp.log(length) / 2,
            log_precision / 4,
            reading.count_doubt,
            (setting.error_size + 2 * setting.replacement)[..., None, None],
            (log_deviation / 4)[..., None, None],
        ]
        features = xp.stack([xp.broadcast_to(x, reading.score.shape) for x in each], axis=-1)
        return cls(reading, log_precision, features)


class Messages(NamedTuple):
    """What voters say of alternatives, or the sum of it.

    Attributes
    ----------
    pulls, firmness
        Which way and how firmly, ``(..., alternative, number)``.
    weight
        How much the voter's own view counts, ``(..., alternative)``.
    """

    pulls: Array
    firmness: Array
    weight: Array

    def sum_over_voters(self, multiplicity: Array) -> "Messages":
        """Sum over voters, each as often as its multiplicity says."""

        def total(x: Array) -> Array:
            *batch, n, k = x.shape
            return over_voters(x.reshape(*batch, n * k), multiplicity).reshape(*batch[:-1], n, k)

        return Messages(total(self.pulls), total(self.firmness), over_voters(self.weight, multiplicity))


def add_messages(parts: Iterable[Messages]) -> Messages:
    """Add up the sums of several groups of voters."""
    return Messages(*(sum(x[1:], x[0]) for x in zip(*parts, strict=True)))


def first_messages(parameters: Parameters, votes: VoteFeatures) -> Messages:
    """Return what voters say of the alternatives by their ballots alone."""
    hidden = votes.features
    for k in range(2):
        hidden = ballot_layer(parameters, f"read.{k}", hidden, votes.reading.neighbours)
    out = _add_to_first(linear(parameters, "say.0", hidden), votes.reading.score)
    return _weigh(votes.reading, out, 1 / (1 + namespace(hidden).exp(-votes.log_precision)))


def second_messages(parameters: Parameters, votes: VoteFeatures, first: NormalEstimate, state: Array) -> Messages:
    """Return what voters say of the alternatives beside a first estimate, and what is remembered of them."""
    xp = namespace(votes.features)
    neighbours = votes.reading.neighbours
    noise = xp.exp(-votes.log_precision)
    mean, uncertainty = (xp.broadcast_to(x[..., None, :], noise.shape) for x in (first.mean, first.variance))
    view = _View(mean, uncertainty, noise, noise + uncertainty)
    # Contacts with those next above, who should be better, and with those next below.
    features, slope = [], xp.zeros_like(noise)
    for (rivals, mask), sign in zip(neighbours.rivals(xp.stack(view[:3], axis=-1)), (-1, 1), strict=True):
        contact, more = _contact(view, neighbours, rivals, mask, sign)
        slope = slope + sign * contact
        features += more
    # How sure the estimate is beside the voter, and who of several favourites it prefers.
    log_deviation = xp.broadcast_to(first.log_deviation[..., None, :], noise.shape)
    features += [xp.clip(votes.log_precision / 2 + log_deviation, -6, 6), log_deviation / 4, slope]
    features.append(_lead(view, neighbours))
    remembered = xp.broadcast_to(state[..., None, :, :], (*noise.shape, STATE))
    hidden = xp.concat([votes.features, xp.stack(features, axis=-1), remembered], axis=-1)
    for k in range(3):
        hidden = ballot_layer(parameters, f"reread.{k}", hidden, neighbours)
    out = _add_to_first(linear(parameters, "resay.0", hidden), slope)
    return _weigh(votes.reading, out, 1 / view.variance)


def _add_to_first(out: Array, base: Array) -> Array:
    """Let the first pull be what a network adds to ``base``."""
    return namespace(out).concat([out[..., :1] + base[..., None], out[..., 1:]], axis=-1)


def _weigh(reading: Reading, out: Array, weight: Array) -> Messages:
    """Weigh what a network puts out: pulls by the root of their weight, firmness by the weight."""
    xp = namespace(out)
    weight = xp.where(reading.neighbours.group_size > 0, weight, 0)
    return Messages(out[..., :PULLS] * xp.sqrt(weight)[..., None], out[..., PULLS:] * weight[..., None], weight)


class _View(NamedTuple):
    """An estimate of the truths beside what each voter saw, ``(..., voter, alternative)``.

    Attributes
    ----------
    mean, uncertainty
        The estimate and its variance.
    noise
        The variance of what the voter saw.
    variance
        The sum of both: how far the voter's own view may lie from the estimate.
    """

    mean: Array
    uncertainty: Array
    noise: Array
    variance: Array


def _contact(view: _View, neighbours: Neighbours, rivals: Array, mask: Array, sign: int) -> tuple[Array, list[Array]]:
    """Return how surprising an order is beside an estimate: the contact of the exact gradient, and features of it.

    ``rivals``, ``(..., alternative, other, 3)``, are the views of others, of whom ``mask`` says who stand on one side;
    ``sign`` is that of a difference with which the estimate agrees.
    """
    xp = namespace(view.mean)
    mean, uncertainty, noise = (rivals[..., k] for k in range(3))
    variance = view.variance
    gap = sign * (view.mean[..., None] - mean)
    noise_of_gap = view.noise[..., None] + noise
    # φ/Φ at the gap, in units of the noise, summed over those who are tied there.
    z = xp.clip(gap / xp.sqrt(noise_of_gap), -LARGE, LARGE)
    rate = xp.sum(xp.where(mask, _hazard(z) / xp.sqrt(noise_of_gap), 0), axis=-1)
    contact = rate * xp.sqrt(variance)
    # The nearest rival, by the voter alone and with the uncertainty of the estimate; how vague the rivals are.
    soft = gap / xp.sqrt(noise_of_gap + view.uncertainty[..., None] + uncertainty)
    nearest, nearest_soft = (xp.min(xp.where(mask, x, LARGE), axis=-1) for x in (z, soft))
    number = xp.maximum(xp.sum(xp.astype(mask, variance.dtype), axis=-1), xp.asarray(1, dtype=variance.dtype))
    vagueness = xp.sum(xp.where(mask, noise + uncertainty, 0), axis=-1) / number
    features = [xp.asinh(nearest), contact, xp.asinh(nearest_soft), xp.log((vagueness + 1e-12) / variance) / 4]
    # Its share in the contacts of all who are tied with it.
    among = neighbours.sum_over_ties(rate)
    features.append(rate / xp.where(among > _FAINT, among, 1))
    exists = xp.any(mask, axis=-1)
    return contact, [xp.where(exists, x, 0) for x in features]


def _lead(view: _View, neighbours: Neighbours) -> Array:
    """Return by how much each is ahead of the best of those who are tied with it; 0 for one alone."""
    mean = view.mean
    xp = namespace(mean)
    if neighbours.ties is None:
        return xp.zeros_like(mean)
    others = neighbours.ties.same & ~xp.eye(mean.shape[-1], dtype=xp.bool)
    best = xp.max(xp.where(others, mean[..., None, :], -LARGE), axis=-1)
    return xp.where(neighbours.group_size > 1, xp.asinh((mean - best) / xp.sqrt(view.variance)), 0)


def _hazard(z: Array) -> Array:
    """φ(z)/Φ(z)."""
    xp = namespace(z)
    return xp.exp(-(z**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(z))
