"""Model: how votes come about, for computing with it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from veritally.arrays import Array, namespace
from veritally.model.means import VoterMeans
from veritally.votes.ballots import Ballots


@dataclass(frozen=True)
class Model:
    """Truths are normal around a common mean with precision 1/τ²; voters' means spread around the truths.

    Attributes
    ----------
    precision
        1/τ² of each decision, ``(...)``; next to nothing for no prior.
    free
        Whether the common mean is unknown, ``(...)``; else it is 0, as where votes tell only how truths differ.
    means
        How voters' means spread around the truths: σ, what counts stand for, and what voters differ by besides.
    """

    precision: Array
    free: Array
    means: VoterMeans

    @classmethod
    def of(cls, ballots: Ballots, tau: Array, means: VoterMeans) -> Self:
        """Return the model of these votes, with a spread τ of the truths, ``(...)``."""
        return cls(tau**-2.0, ballots.anchored, means)

    def within(self, variance: Array) -> Self:
        """Return the model of single voters, each a decision, whose truths have a variance, ``(..., voter, n)``."""
        xp = namespace(variance)
        sigma = xp.asarray(self.means.sigma, dtype=variance.dtype)
        sigma = sigma if sigma.ndim == 0 else sigma[..., None, :]
        return replace(self, means=replace(self.means, sigma=sigma, extra=variance[..., None, :]))

    def take(self, rows: Array) -> Self:
        """Keep some decisions of a flat batch."""
        return self.map(lambda x: x[rows], self.precision.shape)

    def map(self, change: Callable[[Array], Array], batch: tuple[int, ...]) -> Self:
        """Change all arrays that have the ``batch`` axes, or may be given them."""
        xp = namespace(self.precision)
        sigma = xp.asarray(self.means.sigma)
        means = self.means
        if sigma.ndim > 2:
            means = replace(means, sigma=change(xp.broadcast_to(sigma, (*batch, *sigma.shape[-2:]))))
        free = xp.broadcast_to(xp.asarray(self.free), batch)
        return replace(self, precision=change(self.precision), free=change(free), means=means)

    def prior_precision(self, mask: Array) -> Array:
        """Return the precision matrix of the truths, ``(..., n, n)``; those outside the mask stand alone."""
        xp = namespace(mask, self.precision)
        dtype = self.precision.dtype
        exists = xp.astype(mask, dtype)
        eye = xp.eye(mask.shape[-1], dtype=dtype)
        precision = self.precision[..., None, None]
        number = xp.maximum(xp.sum(exists, axis=-1), xp.asarray(1, dtype=dtype))[..., None, None]
        common = xp.where(self.free[..., None, None], exists[..., None] * exists[..., None, :] / number, 0)
        return precision * (eye * exists[..., None] - common) + eye * (1 - exists)[..., None]

    def log_prior(self, truth: Array, mask: Array) -> Array:
        """Return the log-density of truths, ``(...)``, up to a constant that does not depend on τ."""
        xp = namespace(truth)
        square = xp.sum(truth * xp.sum(self.prior_precision(mask) * truth[..., None, :], axis=-1), axis=-1)
        return self.log_size(mask) - square / 2

    def log_size(self, mask: Array) -> Array:
        """Return the log-density of truths that are all the same, ``(...)``, up to a constant not of τ."""
        xp = namespace(self.precision)
        number = xp.sum(xp.astype(mask, self.precision.dtype), axis=-1) - xp.astype(self.free, self.precision.dtype)
        return number * xp.log(self.precision) / 2
