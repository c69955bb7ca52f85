"""Rankings of voters who share errors in groups, and what a Gibbs sampler makes of them."""

import sys
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests" / "panel"))

from gibbs import Rankings, Sampler, summary

VOTERS = 12
_MOST = 49  # looks
_SEED = 19
_AT_ONCE = 125  # decisions
_SWEEPS, _WARM_UP = (
    2000,
    300,
)  # after which P(best) of a decision is off by about 0.015, and means over 2,000 by nothing


class Condition(NamedTuple):
    """How votes come about.

    Attributes
    ----------
    name
        What it is called.
    group
        The group of each voter; those whose group has one voter are alone.
    alternatives
        How many there are.
    sigma2, omega2
        σ² of one look, and ω² of the error that a group shares for each alternative, or that a voter alone has.
    """

    name: str
    group: tuple[int, ...]
    alternatives: int
    sigma2: float
    omega2: float

    @property
    def several(self) -> list[int]:
        """The groups that have more than one voter."""
        return [group for group in sorted(set(self.group)) if self.group.count(group) > 1]

    def without_groups(self) -> "Condition":
        """Return what voters without any error beside their noise would be."""
        return self._replace(group=tuple(range(VOTERS)), omega2=0.0)


CONDITIONS = (
    Condition("six of 12 are one group, six alone", (*[0] * 6, *range(1, 7)), 6, 10.0, 1.0),
    Condition("eight of 12 are one group, four alone", (*[0] * 8, *range(1, 5)), 6, 100.0, 2.0),
    Condition("all 12 are one group", (0,) * 12, 6, 10.0, 0.5),
    Condition("three groups of four", (*[0] * 4, *[1] * 4, *[2] * 4), 8, 30.0, 1.0),
)


class Votes(NamedTuple):
    """Truths, counts and ranks of many decisions, ``(decision, …)``."""

    truth: np.ndarray
    counts: np.ndarray
    ranks: np.ndarray

    def part(self, start: int, number: int = _AT_ONCE) -> "Votes":
        """Return some of the decisions."""
        return Votes(*(x[start : start + number] for x in self))


class Belief(NamedTuple):
    """What is chosen in each decision, ``(decision,)``, and P(best) of each alternative; NaN where nothing is said."""

    winner: np.ndarray
    p_best: np.ndarray


def draw(condition: Condition, decisions: int) -> Votes:
    """Draw x_ij = μ_j + b_g(i)j + N(0, σ²/c_ij), and rank; the same for the same condition."""
    place = [own.name for own in CONDITIONS].index(condition.name)
    random = np.random.default_rng([_SEED, place, int(condition.omega2 == 0)])
    shape = decisions, VOTERS, condition.alternatives
    truth = random.standard_normal(shape[::2])
    counts = random.integers(1, _MOST, shape, endpoint=True).astype(float)
    shared = condition.omega2**0.5 * random.standard_normal((decisions, max(condition.group) + 1, shape[2]))
    x = truth[:, None] + shared[:, condition.group] + np.sqrt(condition.sigma2 / counts) * random.standard_normal(shape)
    return Votes(truth, counts, (-x).argsort(axis=-1).argsort(axis=-1) + 1.0)


def borda(votes: Votes) -> Belief:
    """Choose by Borda, of those that tie the first."""
    return Belief(np.argmin(votes.ranks.sum(axis=1), axis=-1), np.full(votes.truth.shape, np.nan))


def sampled(pool: Executor, condition: Condition, model: str, votes: Votes) -> Belief:
    """Choose by the mean of draws; ``model`` is what is known of the errors beside noise.

    ``known``: who shares them with whom; ``own``: voters have such errors, each its own; ``none``: there are none.
    """
    starts = range(0, len(votes.truth), _AT_ONCE)
    found = pool.map(partial(_sampled, condition, model, votes), starts)
    return Belief(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _sampled(condition: Condition, model: str, votes: Votes, start: int) -> Belief:
    some = votes.part(start)
    groups = np.array(condition.group)
    together = groups[:, None] == condition.several if model == "known" else np.zeros((VOTERS, 0))
    alone = np.full(VOTERS, model != "none") & ~np.any(together, axis=1)
    variance = condition.sigma2 / some.counts + condition.omega2 * alone[:, None]
    loadings = np.broadcast_to(condition.omega2**0.5 * together[:, None], (*variance.shape, together.shape[1]))
    block = Rankings(some.ranks.astype(int) - 1, variance, loadings)
    (mean, _), _, (best, _) = summary(Sampler([block], tau=1.0, seed=start), _SWEEPS, _WARM_UP)
    return Belief(np.argmax(mean, axis=-1), best)
