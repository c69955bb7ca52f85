"""Rule: encode each voter, sum, decode."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, TypeAlias

from veritally.arrays import Array, namespace, over_voters
from veritally.errors import InputError
from veritally.votes.ballots import Ballots, Kind

Sigma: TypeAlias = float | tuple[float, ...]
"""The standard deviation of one observation, one for all alternatives or one for each."""

_ROUNDINGS = 64  # of the sum of the absolute summands, besides the square root of their number


class Encoding(NamedTuple):
    """What voters add to the tally: weights and, for rules that divide by them, norms.

    ``(..., voter, alternative)`` for voters, ``(..., alternative)`` for a tally. Tallies of disjoint groups of voters
    add up.
    """

    weights: Array
    norms: Array | None = None


class Scores(NamedTuple):
    """Scores ``(..., alternative)``, −inf without evidence, and how far rounding may have driven each of them."""

    scores: Array
    rounding: Array


@dataclass(frozen=True)
class Experience:
    """Weighs whole voters, ``(..., voter)``: a ``mean`` of each voter's counts, brought into a ``shape``."""

    mean: Callable[[Array], Array]
    shape: Callable[[Array], Array]

    def __call__(self, counts: Array) -> Array:
        """Return the weight of each voter."""
        return self.shape(self.mean(counts))


def no_details(ballots: Ballots) -> Mapping[str, Array]:
    """Return nothing: most rules have no results but their scores."""
    return {}


class Clonable:
    """A rule that can be made again from what it was made of, as scikit-learn's ``clone`` does."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the rule was made of, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Rule(Clonable):
    """A one-pass rule: scores are sums over voters of an encoding, divided by their norms where ``normalized``.

    All methods are pure functions of :class:`Ballots` with leading batch axes, and compile under ``jax.jit``.

    Attributes
    ----------
    encoder
        Maps ballots to what each voter adds. Rules with equal encoders share one tally.
    votes
        The kind of ballots it takes; None for any.
    alternatives
        The number of alternatives it is made for; None for any.
    normalized
        Whether to divide the summed weights by the summed norms.
    experience
        Weighs whole voters by their counts; by default all alike.
    prior
        What is added to the summed norms.
    details
        Further results of the rule, by name.
    """

    encoder: Callable[[Ballots], Encoding]
    votes: Kind | None
    alternatives: int | None = None
    normalized: bool = False
    experience: Experience | None = None
    prior: float = 0.0
    details: Callable[[Ballots], Mapping[str, Array]] = no_details

    def encode(self, ballots: Ballots) -> Encoding:
        """Return what each voter adds; refuse ballots of another kind, which would give numbers without meaning."""
        encoding = self._encode(ballots)
        if self.experience is None:
            return encoding
        weight = self.experience(ballots.counts)[..., None]
        return Encoding(*(None if x is None else x * weight for x in encoding))

    def _encode(self, ballots: Ballots) -> Encoding:
        if self.votes not in (None, ballots.kind):
            raise InputError(f"this rule takes {self.votes}, not {ballots.kind}; coarsen the profile first")
        if self.alternatives not in (None, ballots.counts.shape[-1]):
            raise InputError(f"this rule takes {self.alternatives} alternatives, not {ballots.counts.shape[-1]}")
        return self.encoder(ballots)

    def tally(self, ballots: Ballots) -> Encoding:
        """Σ_i multiplicity_i · encode(ballot_i)."""
        times = ballots.multiplicity
        times = times if self.experience is None else times * self.experience(ballots.counts)
        return total(self._encode(ballots), times)

    def decode(self, tally: Encoding, mask: Array) -> Array:
        """Turn a tally into scores, −inf outside ``mask`` and where nothing was weighed."""
        xp = namespace(tally.weights)
        if not self.normalized or tally.norms is None:
            return xp.where(mask, tally.weights, -xp.inf)
        some = tally.norms > 0
        return xp.where(mask & some, tally.weights / xp.where(some, tally.norms + self.prior, 1), -xp.inf)

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone."""
        return self.decode(self.tally(ballots), ballots.mask)

    def score(self, ballots: Ballots) -> Scores:
        """Return the scores, and how far rounding may have driven each: closer ones cannot be told apart."""
        return self._scored(ballots, lambda x: namespace(x).sum(x, axis=-2), ballots.mask)

    def leave_one_out(self, ballots: Ballots) -> Scores:
        """Return the same without each voter in turn, ``(..., voter, alternative)``: the tally of all the others."""
        xp = namespace(ballots.counts)
        saw = xp.astype((ballots.counts > 0) & (ballots.multiplicity > 0)[..., None], ballots.counts.dtype)
        return self._scored(ballots, _others, _others(saw) > 0)

    def _scored(self, ballots: Ballots, add: Callable[[Array], Array], mask: Array) -> Scores:
        xp = namespace(ballots.counts)
        weights, norms = (None if x is None else x * ballots.multiplicity[..., None] for x in self.encode(ballots))
        norms = None if norms is None else add(norms)
        size = self.decode(Encoding(add(xp.abs(weights)), norms), mask)
        unit = xp.finfo(size.dtype).eps * (_ROUNDINGS + math.sqrt(ballots.counts.shape[-2]))
        return Scores(self.decode(Encoding(add(weights), norms), mask), unit * xp.where(size > 0, size, 0))

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``.

        Where scores are means, they can be measured from any ``origin``: the weights then sum to the scores less the
        origin, and a voter below it pulls down. Where scores are sums, there is no origin but 0.
        """
        xp = namespace(ballots.counts)
        weights, norms = self.encode(ballots)
        times = ballots.multiplicity[..., None]
        if not self.normalized or norms is None:
            return weights * times
        whole = xp.sum(norms * times, axis=-2, keepdims=True)
        if self.prior:
            origin = 0.0  # a prior has its own
        return (weights - origin * norms) * times / xp.where(whole > 0, whole + self.prior, 1)

    def fitted(self, ballots: Ballots, seed: int = 0) -> "Rule":
        """Return the rule as it is for these votes: itself."""
        return self

    def decision(self, d: int, ballots: Ballots) -> "Rule":
        """Return the rule as it is for one decision of a batch: itself."""
        return self

    def odd(self, ballots: Ballots) -> bool:
        """Say whether there is something to remark about: no."""
        return False

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Say what deserves a look about a single decision: nothing."""
        return []


class Scoring(Protocol):
    """What gives scores: a rule of one pass, or one that goes on until it has arrived."""

    @property
    def votes(self) -> Kind | None:
        """The kind of ballots it takes; None for any."""

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores, −inf without evidence."""


def scores_of(rules: Mapping[str, Scoring], ballots: Mapping[Kind | None, Ballots]) -> dict[str, Array]:
    """Return the scores of several rules on the same votes, −inf without evidence.

    ``ballots`` are one profile's, coarsened for each kind (None for as they are), with the same counts. One-pass rules
    that differ only in how they decode share a tally; those that differ only in how they weigh the voters share the
    encoding.
    """
    alike: dict[tuple[Kind | None, Any], dict[str, Rule]] = {}
    scores = {}
    for name, rule in rules.items():
        if isinstance(rule, Rule):
            alike.setdefault((rule.votes, rule.encoder), {})[name] = rule
        else:
            scores[name] = rule.scores(ballots[rule.votes])
    means: dict[Any, Array] = {}
    for (kind, _), group in alike.items():
        votes = ballots[kind]
        encoding = next(iter(group.values()))._encode(votes)
        tallies: dict[Experience | None, Encoding] = {}
        for name, rule in group.items():
            own = rule.experience
            if own is not None and own.mean not in means:
                means[own.mean] = own.mean(votes.counts)
            if own not in tallies:
                times = votes.multiplicity if own is None else votes.multiplicity * own.shape(means[own.mean])
                tallies[own] = total(encoding, times)
            scores[name] = rule.decode(tallies[own], votes.mask)
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
