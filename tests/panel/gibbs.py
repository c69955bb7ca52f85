"""Draws from the posterior of truths whose voters share errors: a Gibbs sampler, plain and slow, to check others with.

Nothing here comes from the package. What a voter i has seen of the alternative j is

    x_ij = z_ij + N(0, s_ij²),   z_ij = μ_j + Σ_f L_ijf b_fj (+ β_i)
    μ_j ~ N(0, τ²),   b_fj ~ N(0, 1),   β_i ~ N(0, κ²)

and votes say of x: in which order it is, what it is, or which of two such is larger. All unknowns but x are one normal
vector θ = (μ, b_1, …, b_F, β, common mean), of which each x is a row A θ plus noise. A sweep draws x given θ and the
votes, from normals cut off by their neighbours in the order, and then the whole of θ given x. Many decisions and many
chains go side by side: arrays are ``(chain, decision, …)``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri


@dataclass(frozen=True, eq=False)
class Rankings:
    """Orders with ties and blanks; a favourite is the first tier, with the rest that was seen as the second.

    Attributes
    ----------
    tiers
        ``(decision, voter, alternative)``: 0 for the best, equal numbers for ties, which stand for all their orders,
        without gaps; −1 for unseen.
    variance
        s_ij², in the same shape; what it is where nothing was seen does not matter.
    loadings
        ``(decision, voter, alternative, factor)``.
    """

    tiers: np.ndarray
    variance: np.ndarray
    loadings: np.ndarray

    def rows(self):
        """Return rows of (μ, b), the voter of each, noise variances (infinite for unseen), and what x starts from."""
        variance = np.where(self.tiers >= 0, self.variance, np.inf)
        start = -self.tiers.astype(float)
        return *cells(self.loadings), flat(variance), flat(np.where(self.tiers >= 0, start, 0))

    def draw(self, random, x, mean, deviation):
        """Draw x where its order is known: first the even tiers, which do not meet, then the odd ones."""
        x = x.copy()
        deviation = np.broadcast_to(deviation, x.shape)
        for cell, below, above in self.neighbours:
            # One more at the end stands for no neighbour.
            low = np.max(np.pad(x, ((0, 0), (0, 0), (0, 1)), constant_values=-np.inf)[:, below[0], below[1]], axis=-1)
            high = np.min(np.pad(x, ((0, 0), (0, 0), (0, 1)), constant_values=np.inf)[:, above[0], above[1]], axis=-1)
            own = (slice(None), *cell)
            x[own] = between(random, mean[own], deviation[own], low, high)
        return x

    @cached_property
    def neighbours(self):
        """For the even tiers and for the odd ones: where their x are, and the places of those next below and above."""
        m, n = self.tiers.shape[1:]
        found = []
        for parity in (0, 1):
            at = np.nonzero((self.tiers >= 0) & (self.tiers % 2 == parity))
            ballot, own = self.tiers[at[0], at[1]], self.tiers[at]
            places = []
            for step in (1, -1):
                there = (ballot == own[:, None] + step) & (ballot >= 0)
                width = max(1, int(there.sum(axis=-1).max(initial=0)))
                order = np.argsort(~there, axis=-1, kind="stable")[:, :width]
                place = np.where(np.take_along_axis(there, order, axis=-1), at[1][:, None] * n + order, m * n)
                places.append((at[0][:, None], place))
            found.append(((at[0], at[1] * n + at[2]), *places))
        return found


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers: x itself, ``(decision, voter, alternative)``, NaN for none; voters may have a leniency."""

    x: np.ndarray
    variance: np.ndarray
    loadings: np.ndarray

    def rows(self):
        """Return rows of (μ, b), the voter of each, noise variances (infinite for none), and what x is."""
        variance = np.where(np.isnan(self.x), np.inf, self.variance)
        return *cells(self.loadings), flat(variance), flat(np.nan_to_num(self.x))

    def draw(self, random, x, mean, deviation):
        """Leave it as it is."""
        return x


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Which of two was preferred, each time by a fresh look at both: a difference that is above 0.

    Attributes
    ----------
    voter, winner, loser
        ``(decision, comparison)``.
    variance
        Of one look, ``(decision, voter, alternative)``.
    loadings
        ``(decision, voter, alternative, factor)``.
    """

    voter: np.ndarray
    winner: np.ndarray
    loser: np.ndarray
    variance: np.ndarray
    loadings: np.ndarray

    def rows(self):
        """Return rows of (μ, b), the voter of each, noise variances, and what the differences start from."""
        d = np.arange(len(self.voter))[:, None]
        shape = self.variance.shape
        design, _ = cells(self.loadings)
        design = design.reshape(*shape, -1)
        apart = design[d, self.voter, self.winner] - design[d, self.voter, self.loser]
        variance = self.variance[d, self.voter, self.winner] + self.variance[d, self.voter, self.loser]
        return apart, self.voter, variance, np.ones(self.voter.shape)

    def draw(self, random, x, mean, deviation):
        """Draw differences above 0."""
        return between(random, mean, deviation, np.zeros_like(mean), np.full_like(mean, np.inf))


def cells(loadings):
    """Return rows of (μ, b), one for each voter and alternative, ``(decision, row, unknown)``, and whose they are."""
    d, m, n, factors = loadings.shape
    design = np.zeros((d, m, n, 1 + factors, n))
    j = np.arange(n)
    design[:, :, j, 0, j] = 1
    design[:, :, j, 1:, j] = np.moveaxis(loadings, 2, 0)
    return design.reshape(d, m * n, -1), np.broadcast_to(np.repeat(np.arange(m), n), (d, m * n))


def flat(x):
    """Join the axes of voters and alternatives."""
    return x.reshape(*x.shape[:-2], -1)


def between(random, mean, deviation, low, high):
    """Draw normals between two bounds, from that tail in which they have digits."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    sign = np.where(a > 0, -1.0, 1.0)
    a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
    least, most = ndtr(a), ndtr(b)
    z = np.clip(ndtri(least + random.random(a.shape) * (most - least)), a, b)
    return mean + deviation * sign * z


class Sampler:
    """Chains over a batch of decisions.

    Parameters
    ----------
    blocks
        Votes of one or several kinds, of the same alternatives and factors.
    tau
        τ.
    leniency
        κ, of those who give values; voters of different blocks are different people.
    flat_mean
        Whether truths lie around a common mean that may be anything, which only values tell.
    """

    def __init__(self, blocks, *, tau, chains=1, seed=0, leniency=0.0, flat_mean=False):
        self.blocks, self.chains, self.random = blocks, chains, np.random.default_rng(seed)
        self.n = blocks[0].loadings.shape[2]
        own = blocks[0].loadings.shape[-1] * self.n
        parts = [block.rows() for block in blocks]
        voters = [block.loadings.shape[1] if isinstance(block, Values) and leniency else 0 for block in blocks]
        designs, first = [], 0
        for (design, voter, _, _), number in zip(parts, voters, strict=True):
            lenient = np.zeros((*design.shape[:2], sum(voters)))
            if number:
                lenient[..., first : first + number] = voter[..., None] == np.arange(number)
            first += number
            designs.append(np.concatenate([design, lenient, np.zeros((*design.shape[:2], int(flat_mean)))], axis=-1))
        self.cuts = np.cumsum([design.shape[1] for design in designs])[:-1]
        self.design = np.concatenate(designs, axis=1)
        self.variance = np.concatenate([part[2] for part in parts], axis=1)
        self.start = np.concatenate([part[3] for part in parts], axis=1)
        strict = leniency**-2.0 if leniency else 0.0
        prior = np.diag(np.r_[np.full(self.n, tau**-2.0), np.ones(own), np.full(sum(voters), strict)])
        if flat_mean:
            prior = np.pad(prior, (0, 1))
            prior[: self.n, -1] = prior[-1, : self.n] = -(tau**-2.0)
            prior[-1, -1] = self.n * tau**-2.0
        self.weighed = self.design / self.variance[..., None]  # nothing for what was not seen
        precision = prior + np.swapaxes(self.design, -1, -2) @ self.weighed
        self.covariance = np.linalg.inv(precision)
        self.root = np.linalg.cholesky(self.covariance)

    def exact(self):
        """Return mean and covariance of the truths where all votes are values, ``(decision, …)``."""
        mean = self._mean(self.start[None])[0]
        return mean[:, : self.n], self.covariance[:, : self.n, : self.n]

    def _mean(self, x):
        return (self.covariance @ (np.swapaxes(self.weighed, -1, -2) @ x[..., None]))[..., 0]

    def sweeps(self, number, warm_up=0):
        """Yield draws of the truths, ``(chain, decision, alternative)``, one for each sweep but those to warm up."""
        x = np.repeat(self.start[None], self.chains, axis=0)
        deviation = np.sqrt(np.where(np.isinf(self.variance), 1, self.variance))
        for sweep in range(warm_up + number):
            noise = self.random.standard_normal((*x.shape[:2], self.design.shape[-1]))
            theta = self._mean(x) + (self.root @ noise[..., None])[..., 0]
            if sweep >= warm_up:
                yield theta[..., : self.n]
            mean = (self.design @ theta[..., None])[..., 0]
            pieces = (np.split(own, self.cuts, axis=-1) for own in (x, mean, deviation))
            drawn = [block.draw(self.random, *piece) for block, *piece in zip(self.blocks, *pieces, strict=True)]
            x = np.concatenate(drawn, axis=-1)

    def draws(self, number, warm_up):
        """Return all draws of the truths, ``(draw, chain, decision, alternative)``."""
        return np.stack(list(self.sweeps(number, warm_up)))


def summary(sampler, number, warm_up, centre=None):
    """Return means, standard deviations and P(best) of each alternative, ``(decision, alternative)``, from many draws.

    Beside each its standard error, from how chains differ; one chain alone has none. ``centre`` is a matrix that truths
    go through first, as one that takes out their mean; it must keep their order.
    """
    first = second = best = 0
    for drawn in sampler.sweeps(number, warm_up):
        truth = drawn if centre is None else drawn @ centre.T
        first, second = first + truth, second + truth**2
        best = best + (truth == truth.max(axis=-1, keepdims=True))
    first, second, best = first / number, second / number, best / number
    mean = first.mean(axis=0)
    square = second - 2 * first * mean + mean**2  # around the mean of all chains
    deviation = np.sqrt(square.mean(axis=0))
    found = (first, square / (2 * deviation) + deviation / 2, best)
    few = sampler.chains < 2
    return [(own.mean(axis=0), np.nan if few else own.std(axis=0, ddof=1) / sampler.chains**0.5) for own in found]
