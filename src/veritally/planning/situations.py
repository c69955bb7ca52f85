"""Where a decision stands while its noise is not known: at a few values that it may have."""

from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from veritally.arrays import Array
from veritally.inference.linear import inverse, root
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.sampling import expected_losses
from veritally.outcome import Outcome
from veritally.planning.gain import normals
from veritally.planning.knowledge import Knowledge
from veritally.planning.looks import Looks, Situation, shared_out
from veritally.votes.ballots import SingleKind

_VALUES = 3  # of the noise that looks are valued at
_NOTHING_TOLD = 0.9  # of the variance of the truths that is left where votes tell nothing
_RARE = 0.05  # of the most probable value's chance, below which a value is left out
_FINE = 1 << 13  # draws for the regret of choosing now
_MOST_KINDS = 600  # of looks that are valued; of more, those that matter most by a rough guess


@dataclass(frozen=True, eq=False)
class Situations:
    """Where a decision stands at each of a few values that the noise may have, with their chances.

    At values at which all looks that may be made tell next to nothing, they are worth nothing.

    Attributes
    ----------
    each
        Chances and situations.
    regret
        What choosing now costs, expected: what there is to gain.
    """

    each: tuple[tuple[float, Situation], ...]
    regret: float

    @classmethod
    def of(cls, outcome: Outcome, most: float = 1000.0, sizes: Array | float = 1.0) -> "Situations":
        """Return where a decision stands, what is least known first.

        ``most`` is how many looks may be made, and ``sizes`` what these add to a count, as for :class:`Situation`.
        """
        found, ballots = outcome.fit.posterior, outcome.profile.ballots
        assert found is not None
        assert isinstance(ballots, SingleKind)
        variance = np.diagonal(inverse(found.moments.precision), axis1=-2, axis2=-1)
        left = np.mean(variance[:, ballots.mask], axis=-1) / found.tau**2
        told = most * float(np.max(sizes))
        after = left / (1 + left * told * found.tau**2 / np.mean(found.sigma**2, axis=-1))
        telling = np.where((after < _NOTHING_TOLD) | (after <= np.min(after)), found.weight, 0)
        largest = np.argsort(-telling, kind="stable")[:_VALUES]
        largest = largest[telling[largest] > _RARE * np.max(telling)]
        chance = telling[largest] * np.sum(telling) / np.sum(telling[largest])
        order = np.argsort(-left[largest], kind="stable")
        regret, shares = _regret(outcome, found, ballots)
        each = []
        for k in order:
            v = int(largest[k])
            own = Situation.of(ballots, _value(found, v), outcome.choose, outcome.seed[0])
            each.append(
                (float(chance[k]), replace(own, regret=min(1.0, float(shares[v])) * own.all_known, sizes=sizes))
            )
        return cls(tuple(each), regret)

    @property
    def rows(self) -> SingleKind:
        """The ballots."""
        return self.each[0][1].rows

    @property
    def deviation(self) -> float:
        """The largest standard deviation of a truth."""
        return max(float(np.sqrt(np.max(np.diagonal(own.knowledge.spread)))) for _, own in self.each)

    def best(self, looks: Looks, number: int) -> Looks:
        """Keep so many looks, in all their blocks, whose largest block is worth most where least is known.

        What can be looked at has its share of them by its worth. Fewer looks of the same kind are worth no more than
        these.
        """
        if len(looks.cost) <= number:
            return looks
        first = self.each[0][1]
        kind = np.column_stack([looks.voter, looks.added / np.max(looks.added, axis=-1, keepdims=True)])
        _, place = np.unique(kind, axis=0, return_inverse=True)
        order = np.lexsort((-looks.number, place))
        largest = order[np.concat([[True], np.diff(place[order]) > 0])]  # of each kind, in their order
        worth = first.guess(looks.take(largest))
        at = looks.at[largest]
        likely = shared_out(worth, at)[:_MOST_KINDS]
        worth[np.setdiff1d(np.arange(len(worth)), likely)] = -1
        worth[likely] = first.gains(looks.take(largest[likely]))
        rank = np.argsort(shared_out(worth, at))
        return looks.take(np.sort(np.argsort(rank[place], kind="stable")[:number]))

    def gains(self, looks: Looks) -> Array:
        """Return by how much each of several looks lowers expected regret, beside what is planned."""
        return np.sum([chance * own.gains(looks) for chance, own in self.each], axis=0)

    def after(self, looks: Looks) -> "Situations":
        """Return the situations with one look planned, ``(1, …)``."""
        return Situations(tuple((chance, own.after(looks)) for chance, own in self.each), self.regret)


def _regret(outcome: Outcome, found: PosteriorMixture, ballots: SingleKind) -> tuple[float, Array]:
    """Return what choosing now costs, expected: the truth of the best, less that of the chosen.

    The decision says so itself, but for alternatives that nobody saw, which it leaves out: with these, truths are taken
    for normal. Also return how much it is at each value of the noise beside what it would be by a normal.
    """
    k = outcome.choose
    if ballots.mask.all():
        return expected_losses(ballots, found, outcome.chosen_positions, outcome.seed[0])
    each = [Knowledge.of(ballots, _value(found, v)) for v in range(len(found.weight))]
    mean = sum((weight * own.truths for weight, own in zip(found.weight, each, strict=True)), np.zeros(1))
    now = np.argsort(-np.where(ballots.mask, mean, -np.inf), kind="stable")[:k]
    lost = 0.0
    for weight, own in zip(found.weight, each, strict=True):
        truths = own.truths + np.matmul(normals(len(own.truths), _FINE), root(own.spread))
        best = np.sum(np.sort(truths, axis=-1)[:, -k:], axis=-1)
        lost += float(weight) * float(np.mean(best - np.sum(truths[:, now], axis=-1)))
    return lost, np.ones(len(each))


def _value(found: PosteriorMixture, v: int) -> PosteriorMixture:
    """Return what was found at one value of the noise."""
    return found.changed(itemgetter(slice(v, v + 1)))
