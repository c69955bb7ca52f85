"""The same looks, dealt to different groups, and how well each group then chooses.

For each alternative of a simulated decision there is one deck of looks. A group deals the deck from the top: its first
voter takes as many looks as the group gives that voter, then the second takes some. So all groups see the same truths
and, as far as they look equally often, the same looks. What differs is who sees which, and what is reported. For groups
that see more the deck goes on.

Let a deck have T looks with the mean x̄_j. Whoever knew all of them would expect the truth m_j = x̄_j T/(T + σ²/τ²), and
choose the highest. That has the expected regret

    R = τ h_n (1 − √(T/(T + σ²/τ²)))

where h_n is the expected maximum of n standard normals. No group knows more, so one that chooses j loses max m − m_j on
top of that. This sum has the same mean as the regret that the truth gives, and varies much less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veritally.arrays import Array, Random, normal_scores
from veritally.model.simulation import ballots_from
from veritally.planning.compositions import Composition
from veritally.rules.posterior import Posterior
from veritally.votes.ballots import Ballots
from veritally.votes.values import Values

BLOCK = 100  # decisions that are drawn at once; part of what a seed means
_TRUTHS, _LOOKS, _ERRORS = range(3)  # streams of random numbers


@dataclass(frozen=True)
class Circumstances:
    """What a group is up against.

    Attributes
    ----------
    alternatives
        How many there are.
    sigma, tau
        The standard deviations of one look and of the truths.
    omega
        The standard deviation of the error that a family has about each alternative, however much it sees.
    """

    alternatives: int
    sigma: float
    tau: float = 1.0
    omega: float = 0.0


@dataclass(frozen=True, eq=False)
class Group:
    """A composition that can be afforded.

    Attributes
    ----------
    composition
        Who the voters are.
    counts
        How often they look, ``(voter, alternative)``.
    asked
        Whether it may be the best; others are there to be compared with.
    """

    composition: Composition
    counts: Array
    asked: bool = True

    @property
    def looks(self) -> int:
        """How many looks all voters have together."""
        return int(self.counts.sum())

    @cached_property
    def ends(self) -> Array:
        """Where in the deck of an alternative each voter's looks end, ``(1 + voter, alternative)``."""
        return np.concat([np.zeros_like(self.counts[:1]), np.cumsum(self.counts, axis=0)])


@dataclass(frozen=True, eq=False)
class Dealing:
    """Decisions that several groups face alike.

    Attributes
    ----------
    circumstances
        What they are up against.
    groups
        All that the decks are made for: where their voters' looks end is part of what a seed means.
    seed
        The same seed gives the same truths, looks and shared errors.
    """

    circumstances: Circumstances
    groups: Sequence[Group]
    seed: int

    @cached_property
    def cuts(self) -> Array:
        """All places where some group cuts a deck, in order, ``(cut,)``."""
        return np.unique(np.concat([group.ends.ravel() for group in self.groups]))

    @cached_property
    def families(self) -> int:
        """The most families that a group has."""
        return max(group.composition.family_count for group in self.groups)

    def regrets(self, number: int, block: int) -> Array:
        """Return what regret is expected of one group in each decision of a block, given all looks, ``(decision,)``."""
        group, decks = self.groups[number], self.decks(block)
        chosen = np.argmax(decide(self.circumstances, group, self.votes(group, block, decks)), axis=-1)
        looks = self.cuts[-1]
        expected = decks[..., -1] / (looks + (self.circumstances.sigma / self.circumstances.tau) ** 2)
        lost = np.max(expected, axis=-1) - expected[np.arange(BLOCK), chosen]
        return least_regret(self.circumstances, looks) + lost

    def truths(self, block: int) -> Array:
        """Draw the truths of a block, ``(decision, alternative)``."""
        return self.circumstances.tau * self._normal(_TRUTHS, block, (BLOCK, self.circumstances.alternatives))

    def decks(self, block: int) -> Array:
        """Draw decks: what the looks above each cut add up to, ``(decision, alternative, cut)``."""
        now, gaps = self.circumstances, np.diff(self.cuts)
        noise = now.sigma * np.sqrt(gaps) * self._normal(_LOOKS, block, (BLOCK, now.alternatives, len(gaps)))
        sums = np.cumsum(noise + gaps * self.truths(block)[..., None], axis=-1)
        return np.concat([np.zeros_like(sums[..., :1]), sums], axis=-1)

    def votes(self, group: Group, block: int, decks: Array) -> Array:
        """Deal decks: return the voters' means, ``(decision, voter, alternative)``; NaN where they never look."""
        now, ends = self.circumstances, np.searchsorted(self.cuts, group.ends)
        at_ends = decks[:, np.arange(now.alternatives), ends]  # (decision, 1 + voter, alternative)
        means = np.diff(at_ends, axis=1) / np.where(group.counts > 0, group.counts, np.nan)
        if now.omega:
            errors = self._normal(_ERRORS, block, (BLOCK, now.alternatives, self.families))
            means = means + now.omega * np.moveaxis(errors, -1, 1)[:, group.composition.family_of]
        return means

    def _normal(self, stream: int, block: int, shape: tuple[int, ...]) -> Array:
        return Random.of(np.zeros(0), self.seed, block, stream).normal(shape)


def least_regret(now: Circumstances, looks: float) -> float:
    """Return the expected regret of whoever knows so many looks at each alternative.

    >>> round(least_regret(Circumstances(2, sigma=1), looks=1), 4)  # (1 − √½)/√π
    0.1652
    """
    known = looks / (looks + (now.sigma / now.tau) ** 2)
    return now.tau * max(normal_scores(now.alternatives)) * (1 - math.sqrt(known))


def decide(now: Circumstances, group: Group, values: Array) -> Array:
    """Return the scores of alternatives by ``posterior`` with all that can be known, ``(decision, alternative)``.

    By the mode, which has the regret of the mean and is quicker.
    """
    family, votes = group.composition.family_of, group.composition.votes
    counts = np.broadcast_to(group.counts.astype(float), values.shape)
    rule = Posterior(sigma=now.sigma, tau=now.tau, omega=now.omega or None, leniency=0.0, estimate="mode")
    if votes == "values":  # what a family says is its mean; without shared errors, all are one family
        return rule.scores(_pooled(values, counts, family if now.omega else np.zeros_like(family)))
    ballots: Ballots = ballots_from(values, counts).coarsened("top" if votes == "favourites" else "rankings")
    members = (family[:, None] == np.arange(group.composition.family_count)).astype(float)
    members = members[:, members.sum(axis=0) > 1]
    if now.omega and members.shape[-1]:
        # Loadings of 1 at a count of 1, at the strength that makes the shared variance ω² and leaves σ²/c as it is.
        between = (now.omega / now.sigma) ** 2
        loadings = np.broadcast_to(members[:, None], (*values.shape, members.shape[-1]))
        ballots = ballots.with_shared_errors(loadings, np.sum(loadings, axis=-1))
        rule = Posterior(
            sigma=now.sigma, tau=now.tau, omega=now.omega, correlation=between / (1 + between), estimate="mode"
        )
    return rule.scores(ballots)


def _pooled(values: Array, counts: Array, family: Array) -> Values:
    """Return values with one voter for each family, who has seen what the family has: with these, no less is said."""
    members = (family == np.arange(family.max() + 1)[:, None]).astype(float)
    seen = members @ counts
    sums = members @ np.where(counts > 0, counts * values, 0)
    return ballots_from(np.where(seen > 0, sums / np.where(seen > 0, seen, 1), np.nan), seen)
