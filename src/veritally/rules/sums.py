"""The engine of rules that take one pass: encode each voter, sum, decode."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

from veritally.arrays import Array, namespace, over_voters, voter_sum
from veritally.errors import InputError, quoted
from veritally.rules.protocol import Fit, Rule
from veritally.votes.ballots import Ballots, Kind

Sigma: TypeAlias = float | tuple[float, ...]
"""The standard deviation of one observation, one for all alternatives or one for each."""

_ROUNDINGS = 64  # of the sum of the absolute summands, besides the square root of their number


class Encoding(NamedTuple):
    """What voters add to the tally: weights and, for rules that divide by them, norms.

    ``(..., voter, alternative)`` for voters, ``(..., alternative)`` for their sums.
    """

    weights: Array
    norms: Array | None = None


class Encoder(ABC):
    """Computes what each voter adds: a frozen dataclass whose fields are the rule's parameters."""

    @property
    def prior(self) -> float:
        """What is added to the summed norms; 0 for most rules."""
        return 0.0

    @abstractmethod
    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""


@dataclass(frozen=True)
class VoterWeight:
    """Weighs whole voters, ``(..., voter)``: a ``mean`` of each voter's counts, transformed by ``shape``."""

    mean: Callable[[Array], Array]
    shape: Callable[[Array], Array]

    def __call__(self, counts: Array) -> Array:
        """Return the weight of each voter."""
        return self.shape(self.mean(counts))


class Tally(NamedTuple):
    """Sums over voters; those of disjoint groups of voters add up.

    Attributes
    ----------
    weights, norms
        ``(..., alternative)``.
    sizes
        Sums of the absolute weights, by which rounding is measured.
    seen
        How many ballots saw each alternative.
    voters
        How many ballots there were.
    """

    weights: Array
    norms: Array | None
    sizes: Array
    seen: Array
    voters: int

    def plus(self, other: "Tally") -> "Tally":
        """Return the tally of both groups of voters."""
        norms = None if self.norms is None else self.norms + other.norms
        sums = (x + y for x, y in zip(self[2:], other[2:], strict=True))
        return Tally(self.weights + other.weights, norms, *sums)


@dataclass(frozen=True)
class SumRule(Rule):
    """A rule of one pass: scores are sums over voters of an encoding, divided by their norms if ``normalized``.

    Votes may come in parts: ``rule.fit_tally(rule.tally(some).plus(rule.tally(others)))``.

    Attributes
    ----------
    encoder
        Maps ballots to what each voter adds. Rules with equal encoders share one tally.
    votes, alternatives, normalized
        As for every :class:`Rule`.
    weight
        Weighs whole voters by their counts. Default: all alike.
    """

    encoder: Encoder
    votes: Kind | None = None
    alternatives: int | None = None
    normalized: bool = False
    weight: VoterWeight | None = None

    one_pass: ClassVar[bool] = True

    def encode(self, ballots: Ballots) -> Encoding:
        """Return what each voter adds."""
        self.require(ballots)
        encoding = self.encoder(ballots)
        if not isinstance(encoding, Encoding):
            raise InputError(f"{quoted(self.encoder)} must return a vt.Encoding, not {type(encoding).__name__}")
        if self.weight is None:
            return encoding
        weight = self.weight(ballots.counts)[..., None]
        return Encoding(*(None if x is None else x * weight for x in encoding))

    def tally(self, ballots: Ballots) -> Tally:
        """Σ_i multiplicity_i · encode(ballot_i)."""
        return self._tally(ballots, voter_sum)

    def tally_without_each(self, ballots: Ballots) -> Tally:
        """Return the tallies of all the others, ``(..., voter, alternative)``, for each voter."""
        return self._tally(ballots, _others)

    def _tally(self, ballots: Ballots, add: Callable[[Array], Array]) -> Tally:
        xp = namespace(ballots.counts)
        weights, norms = (None if x is None else x * ballots.multiplicity[..., None] for x in self.encode(ballots))
        saw = xp.astype((ballots.counts > 0) & (ballots.multiplicity > 0)[..., None], ballots.counts.dtype)
        sizes = add(xp.abs(weights))
        return Tally(add(weights), None if norms is None else add(norms), sizes, add(saw), ballots.counts.shape[-2])

    def decode(self, sums: Encoding, mask: Array) -> Array:
        """Turn sums into scores, −inf outside ``mask`` and where nothing was weighed."""
        xp = namespace(sums.weights)
        if not self.normalized or sums.norms is None:
            return xp.where(mask, sums.weights, -xp.inf)
        some = sums.norms > 0
        return xp.where(mask & some, sums.weights / xp.where(some, sums.norms + self.encoder.prior, 1), -xp.inf)

    def fit_tally(self, tally: Tally) -> Fit:
        """Return what the tallied votes say."""
        xp = namespace(tally.weights)
        mask = tally.seen > 0
        scores = self.decode(Encoding(tally.weights, tally.norms), mask)
        size = self.decode(Encoding(tally.sizes, tally.norms), mask)
        unit = xp.finfo(size.dtype).eps * (_ROUNDINGS + math.sqrt(tally.voters))
        return Fit.without_search(scores, unit * xp.where(size > 0, size, 0))

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say."""
        return self.fit_tally(self.tally(ballots))

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone."""
        self.require(ballots)
        times = ballots.multiplicity
        times = times if self.weight is None else times * self.weight(ballots.counts)
        return self.decode(total(self.encoder(ballots), times), ballots.mask)

    def contributions(self, ballots: Ballots, fit: Fit, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``.

        Scores that are means can be measured from any ``origin``: what voters add then sums to the scores less the
        origin, and a voter below it pulls down. For scores that are sums the origin is 0.
        """
        xp = namespace(ballots.counts)
        weights, norms = self.encode(ballots)
        times = ballots.multiplicity[..., None]
        if not self.normalized or norms is None:
            return weights * times
        whole = xp.sum(norms * times, axis=-2, keepdims=True)
        if self.encoder.prior:
            origin = 0.0  # a prior has its own
        return (weights - origin * norms) * times / xp.where(whole > 0, whole + self.encoder.prior, 1)

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn: the tallies of all the others."""
        return self.fit_tally(self.tally_without_each(ballots))


def scores_of(rules: Mapping[str, Rule], ballots: Mapping[Kind | None, Ballots]) -> dict[str, Array]:
    """Return the scores of several rules on the same votes, −inf without evidence.

    ``ballots`` are one profile's, coarsened for each kind (None for as they are), with the same counts. One-pass rules
    that differ only in how they decode share a tally; those that differ only in how they weigh the voters share the
    encoding.
    """
    alike: dict[tuple[Kind | None, Any], dict[str, SumRule]] = {}
    scores = {}
    for name, rule in rules.items():
        if isinstance(rule, SumRule):
            alike.setdefault((rule.votes, rule.encoder), {})[name] = rule
        else:
            scores[name] = rule.scores(ballots[rule.votes])
    means: dict[Any, Array] = {}
    for (kind, encoder), group in alike.items():
        votes = ballots[kind]
        encoding = encoder(votes)
        sums: dict[VoterWeight | None, Encoding] = {}
        for name, rule in group.items():
            rule.require(votes)
            own = rule.weight
            if own is not None and own.mean not in means:
                means[own.mean] = own.mean(votes.counts)
            if own not in sums:
                times = votes.multiplicity if own is None else votes.multiplicity * own.shape(means[own.mean])
                sums[own] = total(encoding, times)
            scores[name] = rule.decode(sums[own], votes.mask)
    return {name: scores[name] for name in rules}


def total(encoding: Encoding, times: Array) -> Encoding:
    """Sum over voters, each taken ``times``."""
    return Encoding(*(None if x is None else over_voters(x, times) for x in encoding))


def _others(x: Array) -> Array:
    """Sum over all other voters, as those before plus those after: subtracting from the whole would cancel digits."""
    xp = namespace(x)
    nobody = xp.zeros_like(x[..., :1, :])
    before = xp.cumulative_sum(xp.concat([nobody, x[..., :-1, :]], axis=-2), axis=-2)
    after = xp.flip(xp.cumulative_sum(xp.flip(xp.concat([x[..., 1:, :], nobody], axis=-2), axis=-2), axis=-2), axis=-2)
    return before + after
