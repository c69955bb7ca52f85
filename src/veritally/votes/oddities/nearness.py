"""Nearness: how surprising it is that ballots are so near each other, by what others explain.

Honest voters who know the truth agree as well, so that agreement alone says nothing. What a group of k nearly equal
ballots has to be explained by is a truth that the voters outside of the group would have seen too, as far as they
looked. With normal scores y_ij of ballots, reliability r_i = c_i/(c_i + κ) and μ_j ~ N(0, 1),

    y_ij = √r_i μ_j + √(1 − r_i) e_ij

tells, for each κ, how probable the ballots of the others and of one of the group are, and by them which order another
voter would give: it chooses the best of those that are left, one after the other, in proportion to exp(1.28 z_j), with
z_j what is expected of it in units of its standard deviation. The number of pairs in which it then differs from the one
of the group has a generating function that is a product over the places, and Chernoff's bound by it is the probability
to be so near. These of all further members multiply, each given those before it; κ, and a carefulness of the group
beyond its counts, are those that explain it best.
"""

from dataclasses import dataclass

import numpy as np

from veritally.arrays import Array, ndtri
from veritally.votes.oddities.table import BallotTable, orders

_RELIABILITY = np.array([0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.96, 0.99, 0.998])  # at the mean count
_CAREFUL = np.array([1.0, 4.0, 16.0, 64.0, 1e4])  # times as much as counts say
_UNLIKELY = np.array([0.0, 1.5, 3.0, 4.5, 10.0])  # minus the logarithm of the chance that a voter is so
_LAMBDAS = np.array([0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 40.0])  # of Chernoff's bound
_GUMBEL = np.pi / np.sqrt(6)  # standard deviation of the noise of choices in proportion to exp
_MOST_OTHERS = 40  # voters outside of a group by whom it is judged: more say no more


def surprise_of_nearness(sequences: "list[Sequence]", members: int) -> float:
    """Return −log of the probability that members are so near the first, by what explains it best."""
    likely = np.zeros((len(_RELIABILITY), len(_CAREFUL)))
    bounds = np.zeros((members, *likely.shape, len(_LAMBDAS)))
    for own in sequences:
        expected = own.expected(_RELIABILITY, _CAREFUL)
        likely += _log_means(own.ranks[: own.first + 1], expected[: own.first + 1], _LAMBDAS[-1:])[..., 0].sum(axis=0)
        bounds[own.members] += own.log_near(expected[own.first + 1 :])
    # That all members are careful is rare for each of them, and that all others are careless for each of these. Of one
    # decision counts tell how careful voters are; of many, their votes tell it better.
    others = max(own.first for own in sequences)
    special = min(members, others**2) / np.sqrt(len(sequences))
    likely -= likely.max() + special * _UNLIKELY
    return float(-np.max(likely + bounds.min(axis=-1).sum(axis=0)))


def surprise_at_random(sequences: "list[Sequence]", members: int) -> Array:
    """Return the same for each member, ``(member,)``, if all voted at random; 0 for the first."""
    bounds = np.zeros((members, 1, 1, len(_LAMBDAS)))
    for own in sequences:
        bounds[own.members] += own.log_near(np.zeros((len(own.members), 1, 1, own.ranks.shape[-1])))
    return -np.minimum(bounds.min(axis=-1), 0)[:, 0, 0]


@dataclass(frozen=True, eq=False)
class Sequence:
    """The ballots of one decision: those outside of a group, the first one of the group, the further members.

    Attributes
    ----------
    ranks, counts
        Of each ballot in turn.
    others
        The ballots outside of the group.
    members
        Places within the group, of the further members.
    """

    ranks: Array
    counts: Array
    others: Array
    members: Array

    @classmethod
    def of(cls, table: BallotTable, d: int, group: list[int], members: list[int]) -> "Sequence":
        """Put the ballots of a decision into their order."""
        voters, speaking = table.voters[d], table.speaking[d]
        others = np.flatnonzero(speaking & ~np.isin(voters, group) & (voters >= 0))[:_MOST_OTHERS]
        place = {voter: k for k, voter in enumerate(members)}
        inside = sorted((place[int(voter)], i) for i, voter in enumerate(voters) if speaking[i] and int(voter) in place)
        order = [*others, *(i for _, i in inside)]
        return cls(
            table.ranks[d][order], table.counts[d][order], others, np.array([k for k, _ in inside[1:]], dtype=int)
        )

    @property
    def first(self) -> int:
        """The place of the first one of the group."""
        return len(self.others)

    def log_near(self, expected: Array) -> Array:
        """Return log E exp(−λ T) + λ t of each further member, ``(member, κ, carefulness, λ)``.

        T is in how many pairs it may differ from the first one, t in how many it does; ``expected`` is what is expected
        of it. The least over λ, of all decisions added up, is the logarithm of the probability to be so near.
        """
        common = np.where(self.ranks[self.first + 1 :] > 0, self.ranks[self.first], 0)
        differing, _ = self.differing()
        return _log_means(common, expected, _LAMBDAS) + (differing[:, None] * _LAMBDAS)[:, None, None, :]

    def differing(self) -> tuple[Array, Array]:
        """Return in how many pairs each further member differs from the first, and of how many."""
        sign, both = orders(self.ranks[self.first :])
        ordered = both[0] & both[1:] & ((sign[0] != 0) | (sign[1:] != 0))
        return (ordered & (sign[0] != sign[1:])).sum(axis=-1), ordered.sum(axis=-1)

    def expected(self, reliability: Array, careful: Array) -> Array:
        """Return what is expected of each ballot by those before it, ``(ballot, κ, carefulness, alternative)``.

        In units of its standard deviation.
        """
        scores, seen = _normal_scores(self.ranks)[:, None, None, :], (self.ranks > 0)[:, None, None, :]
        r = self._reliability(reliability, careful)[..., None]
        precision = 1 + _before(np.where(seen, r / (1 - r), 0))
        mean = np.sqrt(r) * _before(np.where(seen, np.sqrt(r) / (1 - r) * scores, 0)) / precision
        variance = np.sum(np.where(seen, 1 - r + r / precision, 0), axis=-1, keepdims=True)
        return mean / np.sqrt(variance / np.sum(seen, axis=-1, keepdims=True))

    def _reliability(self, reliability: Array, careful: Array) -> Array:
        """Return r_i = c_i/(c_i + κ), ``(ballot, κ, carefulness)``; only the group may be more careful than counts."""
        ratio = self.counts / np.exp(np.mean(np.log(self.counts)))
        inside = np.arange(len(self.counts)) >= self.first
        more = np.where(inside[:, None, None], careful, 1.0)
        r = reliability[:, None]
        weight = np.clip(ratio[:, None, None] * more, 1e-6, 1e6) * r
        return weight / (weight + 1 - r)


def _before(x: Array) -> Array:
    """Return the sum of all rows before each."""
    return np.cumsum(x, axis=0) - x


def _normal_scores(ranks: Array) -> Array:
    """Return normal scores of each ballot, larger for better, of mean square (n − 1)/n among the n it has; else 0."""
    seen = ranks > 0
    number = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    scores = np.where(seen, -ndtri((np.where(seen, ranks, 1) - 0.375) / (number + 0.25)), 0)
    scores = np.where(seen, scores - scores.sum(axis=-1, keepdims=True) / number, 0)
    square = np.sum(scores**2, axis=-1, keepdims=True)
    return scores * np.sqrt((number - 1) / np.where(square > 0, square, 1))


def _log_means(ranks: Array, expected: Array, lambdas: Array) -> Array:
    """Return log E exp(−λ T), ``(ballot, κ, carefulness, λ)``, T the pairs in which one differs from given ranks.

    One chooses the best of those that are left, one tier of the ranks after the other, in proportion to exp(1.28 z).
    With a large λ it is the logarithm of the probability of these very ranks.
    """
    seen = ranks > 0
    own = np.where(seen, ranks, np.inf)
    order = np.argsort(own, axis=-1, kind="stable")
    own = np.take_along_axis(own, order, axis=-1)
    start = np.sum(own[:, None, :] < own[:, :, None], axis=-1)  # where each one's tier begins: what stands above it
    stage = (start == np.arange(ranks.shape[-1])) & (
        start < start.max(axis=-1, initial=0, where=np.isfinite(own))[:, None]
    )
    strength = np.take_along_axis(_GUMBEL * expected, order[:, None, None, :], axis=-1)
    strength = np.where(np.isfinite(own)[:, None, None, :], strength, -1e6)
    tilts = lambdas[:, None] * start[:, None, None, None, :]
    chosen = np.logaddexp.accumulate((strength[..., None, :] - tilts)[..., ::-1], axis=-1)[..., ::-1] + tilts
    whole = np.logaddexp.accumulate(strength[..., ::-1], axis=-1)[..., ::-1][..., None, :]
    return np.sum(np.where(stage[:, None, None, None, :], chosen - whole, 0), axis=-1)
