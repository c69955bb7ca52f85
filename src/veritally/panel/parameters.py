"""What is learned of a panel: numbers for each voter, and a few for all, as one vector and by name."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array

_WEIGHT = 0.7  # standard deviation of slopes and loadings around their means: alike, since votes do not tell them apart
_SLOPE, _LOADING = 1.0, 1.0  # the same where votes are values; of slopes, over the larger of their mean and 1
_LEANING, _BASE, _MEAN = 1.0, 1.0, 1.0  # standard deviations of the others
_NOISE = 0.5  # of the logarithm of voters' units
_BETWEEN = -2.0, 2.0  # log ω², and its standard deviation
_COPIED = 2.0  # loading of copies on the error that they share, to start from, and its standard deviation
_STEP = 1.0  # standard deviation of the logarithm of what a level of confidence adds


class Parameters(NamedTuple):
    """What describes voters, in units of the noise of a mean of typical count, truths having the spread 1.

    Attributes
    ----------
    slope
        How strongly each voter follows the truth, ``(voter,)``.
    leaning
        What a voter adds to an alternative by its role, ``(voter, role)``; for values, leniency.
    loadings
        How strongly a voter has each shared error, ``(voter, factor)``.
    noise
        The logarithm of each voter's unit, ``(voter,)``, where votes are values; else 0.
    mean_slope, mean_loadings, mean_leaning
        Of all voters: a number, ``(factor,)``, ``(role,)``.
    base
        Where the truth of each role is expected, ``(role,)``.
    between
        log ω², the variance by which voters differ however much they saw; −inf for none.
    steps
        Logarithms of what each level of confidence adds to the logarithm of the worth of the one below, ``(level,)``.
    """

    slope: Array
    leaning: Array
    loadings: Array
    noise: Array
    mean_slope: Array
    mean_loadings: Array
    mean_leaning: Array
    base: Array
    between: Array
    steps: Array

    @property
    def worth(self) -> Array:
        """What levels of confidence are worth, beside the lowest, ``(level + 1,)``."""
        return np.exp(np.concat([[0.0], np.cumsum(np.exp(self.steps))]))


class ScoreTable(NamedTuple):
    """Slopes of the log-evidence of each decision, ``(decision, …)``, by parameters of its voters and of all."""

    slope: Array
    leaning: Array
    loadings: Array
    noise: Array
    base: Array
    between: Array
    steps: Array


@dataclass(frozen=True, eq=False)
class Layout:
    """How parameters make one vector, which of them are learned, and what is expected of them.

    Attributes
    ----------
    voters, roles, factors, levels
        How many there are; of levels of confidence, those above the lowest.
    units
        Whether votes are values, so that voters have units of their own.
    base
        Whether truths are expected to differ by role.
    between
        Whether ω can be told.
    whole
        Whether every alternative has a role, so that leanings and expected truths are told only beside each other.
    leans
        Whether all voters may lean one way: answers are needed to tell this from truths that do.
    bound
        Loadings that are 0, ``(voter, factor)``.
    private
        The signs of loadings on errors that copies share among themselves, ``(voter, factor)``; 0 elsewhere.
    typical_slope
        About the mean of the slopes, which says how far they may differ.
    steps
        What is expected of ``steps``, ``(level,)``.
    """

    voters: int
    roles: int
    factors: int
    units: bool
    base: bool
    between: bool
    whole: bool
    leans: bool
    bound: Array
    private: Array
    typical_slope: float
    steps: Array

    @property
    def width(self) -> int:
        """How many numbers a voter has."""
        return 2 + self.roles + self.factors

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.voters * self.width + 2 + self.factors + 2 * self.roles + len(self.steps)

    @property
    def free(self) -> Array:
        """Say which numbers are learned, ``(size,)``."""
        voter = np.ones((self.voters, self.width), dtype=bool)
        voter[:, 1 + self.roles : -1] = ~self.bound
        voter[:, -1] = self.units
        shared = ~np.any(self.bound, axis=0)
        leans, base = [self.leans] * self.roles, [self.base] * self.roles
        rest = [True, *shared, *leans, *base, self.between, *[True] * len(self.steps)]
        return np.concat([voter.ravel(), rest])

    def unpack(self, x: Array) -> Parameters:
        """Name the numbers of a vector."""
        split = self.voters * self.width
        own, rest = x[:split].reshape(self.voters, self.width), x[split:]
        f, r = self.factors, self.roles
        between = rest[1 + f + 2 * r] if self.between else np.asarray(-np.inf)
        return Parameters(
            own[:, 0],
            own[:, 1 : 1 + r],
            own[:, 1 + r : -1],
            own[:, -1],
            rest[0],
            rest[1 : 1 + f],
            rest[1 + f : 1 + f + r],
            rest[1 + f + r : 1 + f + 2 * r],
            between,
            rest[2 + f + 2 * r :],
        )

    def pack(self, now: Parameters) -> Array:
        """Return the vector whose numbers are named so."""
        own = np.concat([now.slope[:, None], now.leaning, now.loadings, now.noise[:, None]], axis=1)
        between = now.between if self.between else _BETWEEN[0]
        means = [[now.mean_slope], now.mean_loadings, now.mean_leaning]
        return np.concat([own.ravel(), *means, now.base, [between], now.steps])

    def reversed(self, x: Array) -> Array:
        """Return the same voters who follow the opposite of the truth."""
        now = self.unpack(x)
        return self.pack(now._replace(slope=-now.slope, mean_slope=-now.mean_slope))

    def start(self, noise: Array, seed: int) -> Array:
        """Return where to begin: all voters alike but for small loadings, since zero ones have no slope."""
        own = np.zeros((self.voters, self.width))
        own[:, 0] = self.typical_slope
        draws = np.random.default_rng((seed, 21)).normal(size=(self.voters, self.factors))
        own[:, 1 + self.roles : -1] = np.where(self.bound, 0, 0.3 * draws)
        own[:, 1 + self.roles : -1] += _COPIED * self.private
        own[:, -1] = noise
        common = np.zeros(self.factors + 2 * self.roles)
        return np.concat([own.ravel(), [self.typical_slope], common, [_BETWEEN[0]], self.steps])

    def expected(self, start: Array) -> Array:
        """Return where each number is expected: 0, or where it began if it has a place of its own."""
        own = np.zeros((self.voters, self.width))
        own[:, 0] = self.typical_slope
        own[:, -1] = np.mean(start[: own.size].reshape(own.shape)[:, -1])
        common = np.zeros(self.factors + 2 * self.roles)
        return np.concat([own.ravel(), [self.typical_slope], common, [_BETWEEN[0]], self.steps])

    def precision(self) -> Array:
        """Return the precision of what is expected, ``(size, size)``: slopes and loadings are around their means."""
        slope, loading = (_SLOPE * max(1.0, self.typical_slope), _LOADING) if self.units else (_WEIGHT, _WEIGHT)
        own = np.zeros((self.voters, self.width))
        own[:, 0], own[:, 1 : 1 + self.roles], own[:, 1 + self.roles : -1] = slope, _LEANING, loading
        own[:, 1 + self.roles : -1][self.private != 0] = _COPIED
        own[:, -1] = _NOISE
        means = [max(1.0, self.typical_slope), *[_MEAN] * self.factors, *[_LEANING] * self.roles]
        rest = [*means, *[_BASE] * self.roles, _BETWEEN[1], *[_STEP] * len(self.steps)]
        made = np.diag(np.concat([own.ravel(), rest]) ** -2.0)
        split, places = self.voters * self.width, np.arange(self.voters) * self.width
        f, r = self.factors, self.roles
        columns = [0, *range(1 + r, 1 + r + f), *range(1, 1 + r)]  # in the order of their means
        for mean, column in enumerate(columns, split):
            if not self.free[mean]:
                continue
            tied = places + column
            weight = made[tied, tied]
            made[tied, mean] = made[mean, tied] = -weight
            made[mean, mean] += np.sum(weight)
        return made

    def scores(self, table: ScoreTable, members: Array) -> Array:
        """Return slopes by all numbers, ``(decision, size)``; ``members`` says who votes, −1 for nobody."""
        decisions, voting = members.shape
        own = np.concat(
            [table.slope[..., None], table.leaning, table.loadings, table.noise[..., None]], axis=-1
        )  # (decision, voter, width)
        made = np.zeros((decisions, self.voters + 1, self.width))
        rows = np.repeat(np.arange(decisions), voting)
        np.add.at(made, (rows, members.ravel()), own.reshape(-1, self.width))
        zero = np.zeros((decisions, 1 + self.factors + self.roles))
        common = [zero, table.base, table.between[:, None], table.steps]
        return np.concat([made[:, :-1].reshape(decisions, -1), *common], axis=1)
