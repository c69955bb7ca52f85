"""Lift: voters who share errors, as voters who speak of these beside the truths.

The mean that voter i has of alternative j spreads around

    z_ij = μ_j + Σ_f L_ijf b_fj,    b_fj ~ N(0, τ²)

where b are errors that voters share, drawn anew for each alternative of each decision, in the unit of the truths. Given
θ = (μ, b_1, …, b_F) voters are independent. So what a voter says of z_i, gradient g_i and curvature H_i, is lifted to θ
and summed there,

    Σ_i h_i ∘ g_i,    Σ_i (h_i h_iᵀ) ∘ H_i,    h_i = (1, L_i1, …, L_iF),

and what is known of θ is projected to what voter i sees of it, z_i. Without shared errors θ is μ, and all of this is
nothing but a sum.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

from veritally.arrays import Array, namespace
from veritally.model.means import VoterMeans
from veritally.votes.ballots import Ballots


class Lift(NamedTuple):
    """How voters see truths and shared errors.

    Attributes
    ----------
    weights
        h_i, ``(..., voter, 1 + factor, alternative)``; None where all voters see the truths alone.
    offset
        What is added to what each voter sees, ``(..., voter, alternative)``; None for nothing.
    """

    weights: Array | None = None
    offset: Array | None = None

    @classmethod
    def of(cls, loadings: Array, slopes: Array | None = None, offset: Array | None = None) -> Self:
        """Return the lift by loadings, ``(..., voter, alternative, factor)``, and slopes, ``(..., voter)``."""
        xp = namespace(loadings)
        rows = xp.moveaxis(loadings, -1, -2)
        first = xp.ones((*rows.shape[:-2], 1, rows.shape[-1]), dtype=rows.dtype)
        first = first if slopes is None else first * slopes[..., None, None]
        return cls(xp.concat([first, rows], axis=-2), offset)

    def map(self, change: Callable[[Array], Array]) -> Self:
        """Change the arrays that there are."""
        return type(self)(*(None if x is None else change(x) for x in self))

    def facing(self, seen: Array) -> Array:
        """Return where voters' means are centred, from what they see of truths and errors."""
        return seen if self.offset is None else seen + self.offset

    def size(self, alternatives: int) -> int:
        """Return how many numbers θ has."""
        return alternatives if self.weights is None else alternatives * int(self.weights.shape[-2])

    def gather(self, x: Array) -> Array:
        """Sum what voters say, ``(..., voter, alternative)``, over voters: ``(..., θ)``."""
        xp = namespace(x)
        if self.weights is None:
            return xp.sum(x, axis=-2)
        whole = xp.sum(self.weights * x[..., None, :], axis=-3)
        return whole.reshape(*whole.shape[:-2], -1)

    def gather_matrix(self, x: Array) -> Array:
        """Do so with matrices, ``(..., voter, alternative, alternative)``: ``(..., θ, θ)``."""
        xp = namespace(x)
        if self.weights is None:
            return xp.sum(x, axis=-3)
        w = self.weights  # (..., i, f, a)
        left = xp.moveaxis(w[..., None] * x[..., None, :, :], -1, -4)  # (..., b, i, f, a)
        b, _, f, a = left.shape[-4:]
        left = xp.moveaxis(left.reshape(*left.shape[:-2], f * a), -1, -2)  # (..., b, fa, i)
        whole = xp.matmul(left, xp.moveaxis(w, -1, -3))  # (..., b, fa, g)
        return xp.moveaxis(whole, -3, -1).reshape(*whole.shape[:-3], f * a, f * b)

    def see(self, theta: Array) -> Array:
        """Return what each voter sees, ``(..., voter, alternative)``; one row for all where no errors are shared."""
        if self.weights is None:
            return theta[..., None, :]
        parts = theta.reshape(*theta.shape[:-1], 1, *self.weights.shape[-2:])
        return namespace(theta).sum(self.weights * parts, axis=-2)

    def see_matrix(self, covariance: Array) -> tuple[Array, Array]:
        """Return the covariances of what each voter sees, and of the truths with that.

        Both are ``(..., voter, alternative, alternative)``.
        """
        assert self.weights is not None
        xp = namespace(covariance)
        w = self.weights
        f, a = w.shape[-2:]
        blocks = covariance.reshape(*covariance.shape[:-2], f, a, f * a)
        rows = xp.matmul(xp.moveaxis(w, -1, -3), xp.moveaxis(blocks, -3, -2))  # (..., a, i, gb)
        rows = rows.reshape(*rows.shape[:-1], f, a)
        seen = xp.sum(rows * w[..., None, :, :, :], axis=-2)  # (..., a, i, b)
        first = blocks[..., 0, :, :].reshape(*covariance.shape[:-2], a, 1, f, a)
        crossed = xp.sum(first * w[..., None, :, :, :], axis=-2)
        return xp.moveaxis(seen, -3, -2), xp.moveaxis(crossed, -3, -2)


def shared_errors(ballots: Ballots, means: VoterMeans, strength: Any) -> tuple[Array, Array]:
    """Return loadings in the unit of the truths, and by how much voters' own variances change, at some strength ρ.

    A voter of a group has the variance σ²(1/c + B), where B = ω²/σ² stays however much is seen. At the typical count,
    where 1/c is w, the shared part is ρ (w + B). It is taken out of B first, then out of 1/c by the same share at all
    counts. With less than all of a voter's variance to share, ``ballots.sharing``, it is so much less.

    Parameters
    ----------
    ballots
        Votes with loadings at full strength.
    means
        How voters' means spread as a whole.
    strength
        ρ, a number or one for each decision, ``(...)``.
    """
    assert ballots.loadings is not None
    assert ballots.sharing is not None
    xp = namespace(ballots.counts)
    dtype = ballots.counts.dtype
    rho = xp.asarray(strength, dtype=dtype)[..., None, None]
    sigma, between = xp.asarray(means.sigma, dtype=dtype), xp.asarray(means.between, dtype=dtype)
    looks = ballots.looks if means.cap is None else xp.minimum(ballots.looks, xp.asarray(means.cap, dtype=dtype))
    seen = ballots.counts > 0
    whole = xp.sum(ballots.loadings**2, axis=-1)
    shares = (ballots.sharing > 0) & (whole > 0)
    typical = xp.where(shares, whole / xp.where(shares, ballots.sharing, 1), 1)
    factor = rho * (1 + between / typical)
    shared = factor * whole
    kept = xp.maximum(between - shared, xp.zeros_like(shared))
    taken = xp.maximum(shared - between, xp.zeros_like(shared)) / typical
    change = -(sigma**2) * (taken / xp.where(seen, looks, 1) + between - kept)
    loadings = (sigma * xp.sqrt(factor) * xp.where(seen, 1.0, 0.0))[..., None] * ballots.loadings
    return loadings, xp.where(seen & shares, change, 0)
