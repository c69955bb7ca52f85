"""What is known before more looks are made, as one normal, and what a ballot tells beside it.

The truths and the errors that voters share, θ, are taken for normal with mean m and covariance S. A ballot tells about
what its voter sees of them, z = hθ, as much as a normal observation with precision Λ would: exactly for values, by one
step of expectation propagation for rankings and favourites.

Whoever looks again gives a new ballot *in place of* the former one, so that what counts is the difference Δ of what
both tell. It takes away from the covariance of the truths

    M = C (1 + Δ Z)⁻¹ Δ Cᵀ,    Z = h S hᵀ, the covariance of what the voter sees,    C = S hᵀ, of the truths with that.

So asking one voter again and again tells less and less where voters differ by a lasting error, shared or their own.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array, ndtri
from veritally.inference.linear import inverse, root, solve
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.propagation import exact_sites, site_precision, variances_within, with_shared_errors
from veritally.inference.sampling import lattice, widening
from veritally.likelihood.votes import derivatives
from veritally.model.lift import Lift
from veritally.model.means import VoterMeans
from veritally.model.model import Model
from veritally.planning.gain import DRAWS, normals
from veritally.votes.ballots import Ballots, SingleKind
from veritally.votes.values import Values

_MOST_TOLD = 0.95  # of what is known, by one ballot
_RIDGE = 1e-10
_STREAMS = 4  # of draws by each seed
_BALLOTS = 4  # that a voter may give, over which what they tell is averaged


class Seen(NamedTuple):
    """What voters see of θ: mean ``(row, n)``; its covariance Z and that of the truths with it, C, ``(row, n, n)``."""

    mean: Array
    covariance: Array
    crossed: Array

    def take(self, rows: Array) -> "Seen":
        """Keep some voters, or repeat them."""
        return Seen(*(x[rows] for x in self))


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of one decision.

    Attributes
    ----------
    mean, covariance
        Of θ: truths, then shared errors.
    noise
        What was found at one value of the noise.
    alternatives
        How many truths there are.
    seed
        Of draws.
    """

    mean: Array
    covariance: Array
    noise: PosteriorMixture
    alternatives: int
    seed: int = 0

    @classmethod
    def of(cls, ballots: Ballots, found: PosteriorMixture, seed: int = 0) -> "Knowledge":
        """Return what was found about one decision at one value of the noise.

        Alternatives that nobody saw are known as far as the prior tells.
        """
        n = ballots.mask.shape[-1]
        every = ballots.weighed(ballots.effective_multiplicity, np.ones(n, dtype=bool)).stacked(1)
        model = found.model(every)
        if model.lift.weights is None:
            mean, covariance = _with_unseen(ballots, found, model)
        else:
            theta, precision = with_shared_errors(every, model)
            mean = np.concat([found.moments.mean, theta[..., n:]], axis=-1)
            covariance = inverse(precision)
        # Where σ is an estimate, decisions draw from wider tails. The normal that is as wide on average has everything
        # larger alike: what is known, and the noise of looks.
        wider = widening(found.freedom)
        noise = found._replace(sigma=wider * found.sigma, tau=wider * found.tau, leniency=wider**2 * found.leniency)
        return cls(mean[0], wider**2 * covariance[0], noise, n, seed)

    @property
    def truths(self) -> Array:
        """The mean of the truths."""
        return self.mean[: self.alternatives]

    @property
    def spread(self) -> Array:
        """The covariance of the truths."""
        return self.covariance[: self.alternatives, : self.alternatives]

    @property
    def places(self) -> Array:
        """The place of each alternative, the best first: draws go by it, not by the order in which they stand."""
        return np.argsort(np.argsort(-self.truths, kind="stable"), kind="stable")

    def normals(self, draws: int = DRAWS) -> Array:
        """Return draws of a standard normal for each alternative, spread evenly, ``(draw, n)``."""
        return normals(self.alternatives, draws, _STREAMS * self.seed)[:, self.places]

    def points(self, stream: int, draws: int, times: int = 1) -> Array:
        """Return points in a cube for each alternative, so many times, ``(draw, time, n)``; streams are independent."""
        n = self.alternatives
        found = lattice(n * times, _STREAMS * self.seed + stream, draws)
        return found.T.reshape(draws, times, n)[..., self.places]

    def model(self, rows: SingleKind) -> Model:
        """Return how such ballots, ``(row, n)``, come about."""
        return self.noise.model(rows.stacked(1))

    def _lift(self, rows: SingleKind) -> Lift:
        """Return how these voters see truths and shared errors, also of what they have not looked at yet."""
        return self.model(rows.with_counts(np.where(rows.counts > 0, rows.counts, 1.0))).lift

    def seen(self, rows: SingleKind) -> Seen:
        """Return what the voters of these ballots see of θ."""
        lift, number, n = self._lift(rows), len(rows.counts), self.alternatives
        if lift.weights is None:
            shape = (number, n, n)
            whole = np.broadcast_to(self.covariance, shape)
            return Seen(np.broadcast_to(self.mean, (number, n)), whole, whole)
        covariance, crossed = lift.see_matrix(self.covariance[None])
        return Seen(lift.see(self.mean[None])[0], covariance[0], crossed[0])

    def without(self, rows: SingleKind, pull: Array) -> Seen:
        """Return the same without what these ballots themselves tell: their cavities; ``pull`` is r − Λz of each."""
        seen = self.seen(rows)
        apart = seen
        for _ in range(2):  # from what is known with them
            half = root(seen.covariance)
            values, vectors = np.linalg.eigh(np.matmul(half, np.matmul(self._told(rows, apart), half)))
            wider = 1 / (1 - np.clip(values, 0, _MOST_TOLD))
            rest = np.matmul(vectors * wider[:, None, :], np.swapaxes(vectors, -1, -2))
            covariance = np.matmul(half, np.matmul(rest, half))
            rest = np.linalg.solve(seen.covariance + _RIDGE * np.eye(self.alternatives), covariance)
            mean = seen.mean - np.matmul(covariance, pull[..., None])[..., 0]
            apart = Seen(mean, covariance, np.matmul(seen.crossed, rest))
        return apart

    def told(self, rows: SingleKind) -> Array:
        """Return what ballots with these counts would tell, Λ, ``(row, n, n)``; what they say does not matter."""
        number, n = rows.counts.shape
        if isinstance(rows, Values):
            plain = rows._replace(votes=np.where(rows.counts > 0, 0.0, np.nan))
            return exact_sites(plain.stacked(1), self.model(plain))[1].reshape(number, n, n)
        many = rows.take_voters(np.repeat(np.arange(number), _BALLOTS))
        seen = self.seen(many)
        deviation = np.sqrt(self.tilted_variance(many, seen))
        drawn = seen.mean + deviation * np.tile(ndtri(self.points(1, _BALLOTS)[:, 0]), (number, 1))
        each = self._told(voting(many, drawn), seen)
        return np.mean(each.reshape(number, _BALLOTS, n, n), axis=1)

    def _told(self, rows: SingleKind, seen: Seen) -> Array:
        """Return what single ballots tell given what is known otherwise of what their voters see."""
        variance = _within(rows, seen)
        found = derivatives(*self._facing(rows, seen, variance), 2, rough=True)
        assert found.curvature is not None
        return site_precision(found.curvature[0, :, 0], variance)[0]

    def gradient(self, rows: SingleKind, seen: Seen) -> Array:
        """Return the gradient of the log-probability of each ballot by the mean of what its voter sees."""
        found = derivatives(*self._facing(rows, seen, _within(rows, seen)), 1, rough=True)
        assert found.gradient is not None
        return found.gradient[0, :, 0]

    def _facing(self, rows: SingleKind, seen: Seen, variance: Array) -> tuple[Ballots, Array, VoterMeans]:
        model = self.model(rows)
        return rows.stacked(1).each_voter(), model.lift.facing(seen.mean[None]), model.within(variance[None]).means

    def tilted_variance(self, rows: SingleKind, seen: Seen) -> Array:
        """Return the variance of a voter's means, ``(row, n)``; 0 for what was not seen."""
        return np.where(rows.counts > 0, _within(rows, seen) + self.own_variance(rows), 0)

    def own_variance(self, rows: SingleKind) -> Array:
        """Return the variance of voters' means around what they see of θ, ``(row, n)``; 0 for what was not seen."""
        deviation = self.model(rows).means.spread(rows.counts[None]).deviations[0].reshape(rows.counts.shape)
        return np.where(rows.counts > 0, deviation, 0) ** 2

    def moves(self, seen: Seen, more: Array) -> Array:
        """Return the covariance M of moves of the means, ``(row, n, n)``, if ballots tell so much ``more``."""
        rest = np.eye(self.alternatives) + np.matmul(more, seen.covariance)
        found = np.matmul(seen.crossed, np.linalg.solve(rest, np.matmul(more, np.swapaxes(seen.crossed, -1, -2))))
        return (found + np.swapaxes(found, -1, -2)) / 2

    def after(self, rows: SingleKind, more: Array) -> "Knowledge":
        """Return what will be known after ballots, ``(row, n)``, tell so much more, ``(row, n, n)``."""
        lifted = self._lift(rows).gather_matrix(more[None])[0]
        return replace(self, covariance=inverse(inverse(self.covariance) + lifted))


def voting(rows: SingleKind, means: Array) -> SingleKind:
    """Return ballots, of the same kind, of voters who have these means of what they saw, ``(row, n)``."""
    made = Values(np.where(rows.counts > 0, means, np.nan), rows.counts, rows.multiplicity, rows.mask)
    coarse = made.coarsened(rows.kind)
    assert isinstance(coarse, SingleKind)
    return rows._replace(votes=coarse.votes)


def _within(rows: SingleKind, seen: Seen) -> Array:
    valued = np.full(len(rows.counts), isinstance(rows, Values))
    return np.asarray(variances_within(seen.covariance, rows, valued))


def _with_unseen(ballots: Ballots, found: PosteriorMixture, model: Model) -> tuple[Array, Array]:
    """Return mean and covariance of the truths, ``(1, ...)``, also of those that nobody saw."""
    mask, means = ballots.mask, np.array(found.moments.mean)
    own = found.model(ballots.stacked(1)).prior_precision(np.broadcast_to(mask, means.shape))
    known = np.where(mask[:, None] & mask, found.moments.precision - own, 0)
    prior = model.prior_precision(np.ones(means.shape, dtype=bool))
    if not mask.all():
        pull = np.sum(prior[:, ~mask][:, :, mask] * means[:, None, mask], axis=-1)
        means[:, ~mask] = -solve(prior[:, ~mask][:, :, ~mask], pull)
    return means, inverse(known + prior)
