"""Posterior: the truths given the votes."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.errors import InputError
from veritally.inference.batches import grouped, joined
from veritally.inference.fitted import Fit, Fitted
from veritally.inference.optimiser import Peak, Prior, mode, peak
from veritally.inference.propagation import Estimate, moments, reach
from veritally.inference.scale import dispersion, middle, noise_of_means, search, spread_of_means, typical
from veritally.likelihood.votes import check_noise
from veritally.model.means import Means, effective
from veritally.model.mixtures import mixture
from veritally.rules.rule import Clonable, Scores, Sigma
from veritally.votes.ballots import Ballots, Kind

_MANY = 3000  # votes beyond which a part of the voters tells the scale well enough
_LEAST = 100  # voters who do so
_SIZES = (0.1, 0.3, 0.6, 0.95)  # of count errors to choose from
_APART = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)  # ω² to choose from, over the variance of the mean of a typical count


@dataclass(frozen=True)
class Posterior(Clonable):
    """Truths given the votes, where truths are normal around a common mean with standard deviation τ.

    From the mode of the exact log-posterior, and its curvature there, to its mean. With rankings or top choices only
    σ/τ matters; what is not given of σ and τ is found from the votes and integrated over.

    The mean, from the common mean of the truths, is

        μ̂_j = τ² Σ_i g_ij

    where g_ij is the gradient of the log-probability of voter i's vote, given what all others say: so τ² g_ij is what
    voter i adds to the score. At the mode the same holds for the gradient there.

    Parameters
    ----------
    sigma
        The standard deviation of one observation, one for all alternatives or one for each; None to estimate.
    tau
        The standard deviation of the truths; None for 1 if σ is to be estimated from rankings, else to estimate.
    cap
        The most that a count may count for; None for any.
    count_error
        How reported counts may be wrong; None for not at all.
    count_range
        From where to where true counts may lie; None for the range of those reported.
    noise
        The distribution of one observation, if it is not normal: ``laplace`` or ``student:FREEDOM``.
    omega
        The standard deviation by which voters differ however much they saw, so that x_ij ~ N(μ_j, σ²/c_ij + ω²): a
        number beside σ, or ``"estimated"``, one for all decisions; None for not at all.
    between
        ω²/σ² where σ is not told.
    votes
        The kind of votes to use; None for the finest given.
    estimate
        What to choose by: the ``mean`` of the truths, which minimises expected regret, or their ``mode``, for which
        simulations have the same regret and which is quicker. Of very many voters, the mean is taken to be the mode.

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[9, 9, 9], [1, 1, 1]])
    >>> vt.decide(profile, rule="posterior", sigma=1, tau=1).scores.round(3)
    array([ 0.67 ,  0.214, -0.884])
    """

    sigma: Sigma | None = None
    tau: float | None = None
    cap: float | None = None
    count_error: Any = None
    count_range: tuple[float, float] | None = None
    noise: Any = None
    votes: Kind | None = None
    estimate: Estimate = "mean"
    omega: float | Literal["estimated"] | None = None
    between: float = 0.0

    normalized = False
    alternatives = None

    def fit(self, ballots: Ballots) -> Fit:
        """Find mean and precision of the truths, and the scale where it is not known."""
        ballots = self._capped(ballots)
        ballots = ballots.weighed(ballots.effective_multiplicity)
        if isinstance(self.count_error, type):  # an error of unknown size
            return self._sized(ballots)
        if self.omega == "estimated":
            return self._parted(ballots)
        counts = self._counts(ballots)
        way = None if is_jax(ballots.counts) else _way(ballots)
        if way is None or len(np.unique(way)) <= 1:
            return self._fit_alike(ballots.simplest(), counts)
        groups = grouped(
            ballots, way, cut=not isinstance(self.sigma, tuple)
        )  # else there is one σ for each alternative
        groups = [group._replace(ballots=group.ballots.simplest()) for group in groups]
        return joined(groups, [self._fit_alike(group.ballots, counts) for group in groups], ballots)

    def _fit_alike(self, ballots: Ballots, counts: Any) -> Fit:
        """Do so for decisions that go the same way; ``counts`` is what these stand for in the whole batch."""
        few = _some(ballots)
        known = self._effective(few)
        cardinal = known.measurements() is not None
        xp = namespace(ballots.counts)
        sigma, freedom = self._sigma(known)
        tau = self.tau
        if sigma is None and tau is None:
            tau = 1.0
        if sigma is not None and tau is not None:
            shape = ballots.mask.shape[:-1]
            fixed = xp.full((1, *shape), float(tau), dtype=ballots.counts.dtype)
            return self._fit(ballots, counts, sigma[None], fixed, xp.ones_like(fixed), freedom, None)
        if sigma is None:
            assert tau is not None
            centre = typical(known) / 2 + np.log(tau)
            spread, steady = partial(_exponential, few.mask.shape), partial(_constant, float(tau))
        else:
            centre = xp.log(middle(sigma, few.mask)) - typical(known) / 2
            if cardinal:
                centre = xp.log(xp.maximum(spread_of_means(known), noise_of_means(known, sigma)))
            spread, steady = partial(_repeated, sigma), xp.exp

        def at(log: Array, start: Array, tolerance: float) -> Peak:
            means = Means(spread(log)[..., None, :], self.cap, counts, self._between)
            several = few.stacked(len(log))
            return peak(several, means, Prior(steady(log) ** -2.0, several.anchored), start, tolerance)

        scales = search(at, centre, xp.zeros(few.mask.shape, dtype=centre.dtype))
        if few is ballots:
            found = spread(scales.log), steady(scales.log), scales.weight
            return self._fit(ballots, counts, *found, freedom, scales.peak)
        log = xp.sum(scales.weight * scales.log, axis=0)[None]
        start = scales.peak.truth[:1]
        return self._fit(ballots, counts, spread(log), steady(log), xp.ones_like(log), freedom, None, start)

    def _capped(self, ballots: Ballots) -> Ballots:
        if self.cap is None:
            return ballots
        xp = namespace(ballots.counts)
        return ballots.with_counts(xp.minimum(ballots.counts, xp.asarray(self.cap, dtype=ballots.counts.dtype)))

    def _effective(self, ballots: Ballots) -> Ballots:
        """Count observations for what they are worth if voters differ besides."""
        return ballots.with_counts(effective(ballots.counts, self._between))

    @property
    def _between(self) -> Any:
        """ω²/σ²."""
        if self.omega is None or self.sigma is None:
            return self.between
        return float(self.omega) ** 2 / np.asarray(self.sigma) ** 2

    def _parted(self, ballots: Ballots) -> Fit:
        """Fit with several ω/σ, the same for all decisions, and keep the one that makes the votes most probable."""
        xp = namespace(ballots.counts)
        size = float(xp.exp(xp.mean(typical(ballots))))
        fits = [replace(self, omega=None, between=ratio / size).fit(ballots) for ratio in _APART]
        return fits[int(np.argmax([float(xp.sum(xp.max(fit.log_evidence, axis=0))) for fit in fits]))]

    def _sized(self, ballots: Ballots) -> Fit:
        """Fit with each of several sizes of count error, and keep the one that makes the votes most probable."""
        xp = namespace(ballots.counts)
        fits = [replace(self, count_error=self.count_error(size)).fit(ballots) for size in _SIZES]
        with np.errstate(divide="ignore"):  # of a weight of 0
            heights = xp.stack([xp.max(fit.log_evidence + xp.log(fit.weight), axis=0) for fit in fits])
        best = int(np.argmax(np.sum(np.asarray(heights).reshape(len(fits), -1), axis=1)))
        return fits[best]

    def _fit(
        self,
        ballots: Ballots,
        counts: Any,
        sigma: Array,
        tau: Array,
        weight: Array,
        freedom: Array,
        found: Peak | None,
        start: Array | None = None,
    ) -> Fit:
        """Go on from the peak, where it is found, to the mean."""
        means = Means(sigma[..., None, :], self.cap, counts, self._between)
        ballots = ballots.stacked(len(tau))
        prior = Prior(tau**-2.0, ballots.anchored)
        if found is None:
            found = peak(ballots, means, prior, start)
        known = moments(ballots, means, prior, found, self.estimate)
        return Fit(weight, sigma, tau, known, found.log_evidence, freedom, means)

    def _counts(self, ballots: Ballots) -> Any:
        """Return what counts stand for; refuse noise whose density has no sound curvature, or too many components."""
        if self.count_error is not None and np.any(self._between):
            raise InputError("either counts can be doubtful or voters can differ by omega; leave one of them out")
        check_noise(ballots, self.noise)
        counts = namespace(ballots.counts).where(ballots.multiplicity[..., None] > 0, ballots.counts, 0)
        return mixture(self.count_error, self.noise, counts, *(self.count_range or ()))

    def _sigma(self, ballots: Ballots) -> tuple[Array | None, Array]:
        """Return σ as given or as values tell it, ``(..., alternative)``, None if unknown, and its freedom."""
        xp = namespace(ballots.counts)
        shape = ballots.mask.shape
        sure = xp.full(shape[:-1], xp.inf, dtype=ballots.counts.dtype)
        if self.sigma is not None:
            return xp.broadcast_to(xp.asarray(self.sigma, dtype=sure.dtype), shape), sure
        measured = ballots.measurements()
        if measured is None:
            return None, sure
        told = dispersion(*measured, ballots.multiplicity)
        # Where nothing tells σ, the noise of a typical mean is taken to be as large as the spread of the truths.
        level = xp.exp(typical(ballots) / 2) * spread_of_means(ballots) / 2**0.5
        sigma = xp.where((told.freedom > 0)[..., None], told.sigma, level[..., None])
        return xp.broadcast_to(sigma, shape), told.freedom

    def fitted(self, ballots: Ballots, seed: int = 0) -> "Fitted":
        """Return the rule as it came out for these votes."""
        return Fitted(ballots, self.fit(ballots), self.estimate, seed)

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone; where nothing but the mode is wanted, to a thousandth of a standard deviation."""
        unknown = self.omega == "estimated" or isinstance(self.count_error, type)
        if self.estimate == "mean" or self.sigma is None or self.tau is None or unknown:
            return self.score(ballots).scores
        xp = namespace(ballots.counts)
        ballots = self._capped(ballots)
        sigma, _ = self._sigma(self._effective(ballots))
        means = Means(sigma[..., None, :], self.cap, self._counts(ballots), self._between)  # type: ignore[index]
        tau = xp.full(ballots.mask.shape[:-1], float(self.tau), dtype=ballots.counts.dtype)
        return xp.where(ballots.mask, mode(ballots, means, Prior(tau**-2.0, ballots.anchored)), -xp.inf)

    def score(self, ballots: Ballots) -> Scores:
        """Return the scores, and how far apart the same scores may be."""
        return self.fitted(ballots).score(ballots)

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``."""
        return self.fitted(ballots).weights(ballots, origin)

    def leave_one_out(self, ballots: Ballots) -> Scores:
        """Return the same without each voter in turn, ``(..., voter, alternative)``."""
        return self.fitted(ballots).leave_one_out(ballots)

    def details(self, ballots: Ballots) -> dict[str, Array]:
        """Return nothing beside the belief."""
        return {}


def _way(ballots: Ballots) -> Array:
    """Return a number for the way that each decision of a batch goes, ``(...)``, which is the way it would go alone."""
    wanted, reached = reach(ballots)
    many = _voters(ballots) > _most_voters(ballots)
    return (wanted & reached) + 2 * many + 4 * ballots.anchored + 8 * ballots.composition()


def _voters(ballots: Ballots) -> Array:
    """Return how many ballots say something, ``(...)``; in JAX, whose programs have one shape, how many there are."""
    if is_jax(ballots.counts):
        return np.full(ballots.mask.shape[:-1], ballots.counts.shape[-2])
    return np.sum(ballots.multiplicity > 0, axis=-1)


def _most_voters(ballots: Ballots) -> Array:
    """Return of how many voters the scale is found, at most, ``(...)``."""
    n = ballots.counts.shape[-1] if is_jax(ballots.counts) else np.sum(ballots.mask, axis=-1)
    return np.maximum(_LEAST, _MANY // np.maximum(n, 1))


def _some(ballots: Ballots) -> Ballots:
    """Return some of the voters where there are very many, evenly chosen from those who say something."""
    voters, most = _voters(ballots), _most_voters(ballots)
    if not np.any(voters > most):
        return ballots
    xp = namespace(ballots.counts)
    step = xp.asarray(-(-voters // most))[..., None]
    present = xp.ones(ballots.multiplicity.shape, dtype=bool) if is_jax(ballots.counts) else ballots.multiplicity > 0
    place = xp.cumulative_sum(xp.astype(present, xp.int32), axis=-1) - 1
    chosen = present & (place % step == 0)
    number = int(np.max(-(-voters // -(-voters // most))))
    first = xp.argsort(xp.astype(~chosen, xp.int32), axis=-1, stable=True)[..., :number]
    return ballots.weighed(xp.where(chosen, ballots.multiplicity, 0)).take_voters(first)


def _exponential(shape: tuple[int, ...], log: Array) -> Array:
    xp = namespace(log)
    return xp.broadcast_to(xp.exp(log)[..., None], (*log.shape, shape[-1]))


def _constant(value: float, log: Array) -> Array:
    return namespace(log).full_like(log, value)


def _repeated(sigma: Array, log: Array) -> Array:
    return namespace(sigma).broadcast_to(sigma, (len(log), *sigma.shape))
