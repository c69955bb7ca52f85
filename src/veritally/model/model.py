"""Model: how votes come about, for computing with it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from veritally.arrays import Array, namespace, possible
from veritally.model.lift import Lift, shared_errors
from veritally.model.means import VoterMeans
from veritally.votes.ballots import Ballots, Traits


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
    lift
        The errors that voters share, which have the same standard deviation τ as truths.
    """

    precision: Array
    free: Array
    means: VoterMeans
    lift: Lift = field(default_factory=Lift)

    @classmethod
    def of(cls, ballots: Ballots, tau: Array, means: VoterMeans, strength: Any = 0.0) -> Self:
        """Return the model of these votes by the spread τ of truths and the strength of shared errors, ``(...)``."""
        if ballots.traits is not None:
            return cls._of_traits(ballots, ballots.traits, tau, means)
        if ballots.loadings is None or not possible(namespace(tau).asarray(strength) > 0):
            return cls(tau**-2.0, ballots.anchored, means)
        loadings, extra = shared_errors(ballots, means, strength)
        lift = Lift.of(loadings / tau[..., None, None, None])  # so that errors have the unit and the spread of truths
        return cls(tau**-2.0, ballots.anchored, replace(means, extra=extra), lift)

    @classmethod
    def _of_traits(cls, ballots: Ballots, traits: Traits, tau: Array, means: VoterMeans) -> Self:
        """Return the model of voters whom a learned panel describes, in units of the noise of one observation.

        Truths are measured from ``traits.expected``; offsets say what voters add to these.
        """
        xp = namespace(tau)
        assert ballots.loadings is not None
        sigma = xp.asarray(means.sigma, dtype=tau.dtype)
        loadings = (sigma / tau[..., None, None])[..., None] * ballots.loadings
        lift = Lift.of(loadings, traits.slopes, sigma * traits.offsets)
        return cls(tau**-2.0, ballots.anchored, replace(means, extra=sigma**2 * traits.extra), lift)

    def within(self, variance: Array) -> Self:
        """Return the model of single voters, each a decision, whose truths have a variance, ``(..., voter, n)``."""
        xp = namespace(variance)
        sigma, leniency = (xp.asarray(x, dtype=variance.dtype) for x in (self.means.sigma, self.means.leniency))
        means = replace(
            self.means,
            sigma=sigma if sigma.ndim == 0 else sigma[..., None, :],
            extra=(variance if self.means.extra is None else variance + self.means.extra)[..., None, :],
            leniency=leniency if leniency.ndim == 0 else leniency[..., None],
        )
        return replace(self, means=means)

    def take(self, rows: Array) -> Self:
        """Keep some decisions of a flat batch."""
        return self.map(lambda x: x[rows], self.precision.shape)

    def map(self, change: Callable[[Array], Array], batch: tuple[int, ...]) -> Self:
        """Change all arrays that have the ``batch`` axes, or may be given them."""
        xp = namespace(self.precision)
        sigma, leniency, extra = xp.asarray(self.means.sigma), xp.asarray(self.means.leniency), self.means.extra
        means = self.means
        if sigma.ndim > 2:
            means = replace(means, sigma=change(xp.broadcast_to(sigma, (*batch, *sigma.shape[-2:]))))
        if leniency.ndim:
            means = replace(means, leniency=change(xp.broadcast_to(leniency, batch)))
        if extra is not None:
            means = replace(means, extra=change(extra))
        free = xp.broadcast_to(xp.asarray(self.free), batch)
        return type(self)(change(self.precision), change(free), means, self.lift.map(change))

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

    def lifted_precision(self, mask: Array) -> Array:
        """Return the precision matrix of truths and shared errors, ``(..., θ, θ)``."""
        xp = namespace(mask, self.precision)
        prior = self.prior_precision(mask)
        n, size = mask.shape[-1], self.lift.size(mask.shape[-1])
        if size == n:
            return prior
        rest = xp.zeros((*prior.shape[:-1], size - n), dtype=prior.dtype)
        alone = self.precision[..., None, None] * xp.eye(size, dtype=prior.dtype)[n:]
        return xp.concat([xp.concat([prior, rest], axis=-1), alone], axis=-2)

    def log_prior(self, theta: Array, mask: Array) -> Array:
        """Return the log-density of truths and shared errors, ``(...)``, up to a constant that does not depend on τ."""
        xp = namespace(theta)
        square = xp.sum(theta * xp.sum(self.lifted_precision(mask) * theta[..., None, :], axis=-1), axis=-1)
        return self.log_size(mask) - square / 2

    def log_size(self, mask: Array) -> Array:
        """Return the log-density of truths that are all the same, ``(...)``, up to a constant not of τ."""
        xp = namespace(self.precision)
        number = xp.sum(xp.astype(mask, self.precision.dtype), axis=-1) - xp.astype(self.free, self.precision.dtype)
        errors = self.lift.size(mask.shape[-1]) - mask.shape[-1]
        return (number + errors) * xp.log(self.precision) / 2
