"""Fitted: a posterior as it came out for some votes, and how sure that is."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, Random, namespace, possible
from veritally.inference import links
from veritally.inference.belief import Belief, summarised
from veritally.inference.gibbs import sampled
from veritally.inference.optimiser import Prior, peak
from veritally.inference.propagation import Estimate, Moments, moments, pulls, tells_little, withouts
from veritally.inference.scale import interval, middle
from veritally.likelihood.rankings import tied_in_the_middle
from veritally.likelihood.votes import tally
from veritally.model.means import Means
from veritally.rules.rule import Scores
from veritally.votes.ballots import Ballots

_DRAWS = 4096
_STREAM = 11  # of random numbers
_CELLS = 1 << 23  # of draws that are held at once
_SOUND = 200  # draws that count, beyond which they mend what is not normal
_USABLE = 0.05  # of the draws that count, and
_ENOUGH = 50  # draws that count, below which they say less than the normal does
_TAILS = 7.0  # degrees of freedom of the draws by which the shape is checked
_REFITTED = 5_000  # votes on which leaving one out is done in full, for each voter and value of the scale
_MIXED = 16  # normals in a mixture that are hardly dearer than one
_NOTABLE = 0.01  # probability of values of the scale
_FELL_BACK = (
    "the most probable truths stand in for their means, which could not be found for these votes: scores and "
    "probabilities are rough"
)
_CHECKED = 20_000  # votes whose likelihood is asked to check the shape of the posterior


class Fit(NamedTuple):
    """What was found out about a decision, at each of several values of the unknown scale, ``(value, ...)``.

    Attributes
    ----------
    weight
        Posterior probability of each value.
    sigma, tau
        σ ``(value, ..., alternative)`` and τ ``(value, ...)``.
    moments
        Mean and precision of the truths there, or those of Laplace's method, and what voters add.
    log_evidence
        Of the votes.
    freedom
        Degrees of freedom that an estimate of σ by dispersion has, ``(...)``; infinite where σ has no such error.
    means
        How voters' means spread, for each value together.
    """

    weight: Array
    sigma: Array
    tau: Array
    moments: Moments
    log_evidence: Array
    freedom: Array
    means: Means


@dataclass(frozen=True, eq=False)
class Fitted:
    """A posterior as it came out for some votes; other votes are judged by the same scale."""

    ballots: Ballots
    fit: Fit
    estimate: Estimate = "mean"
    seed: int = 0

    normalized = False

    def decision(self, d: int, ballots: Ballots) -> "Fitted":
        """Return what was found about one decision along the first batch axis."""
        m, n = ballots.counts.shape[-2:]
        weight, sigma, tau, known, evidence, freedom, means = self.fit
        found = int(np.sum(np.asarray(evidence[:, d]) != -np.inf)) if evidence.ndim == 2 else len(evidence)
        at = (slice(found), d)  # without values of the scale that only other decisions have
        pull, without = (None if x is None else x[at][..., :m, :n] for x in (known.pull, known.without))
        fell_back = np.broadcast_to(known.fell_back, evidence.shape)[at]
        own = Moments(known.mean[at][..., :n], known.precision[at][..., :n, :n], pull, without, fell_back)
        sigma = sigma[at][..., :n]
        parts = (weight[at], sigma, tau[at], own, evidence[at], freedom[d], replace(means, sigma=sigma[..., None, :]))
        return replace(self, ballots=ballots, fit=Fit(*parts))

    def _of(self, ballots: Ballots) -> Moments:
        """Return what other votes about the same alternatives say, by the same scale."""
        known, fit = self.fit.moments, self.fit
        if ballots is self.ballots:
            return known
        ballots = ballots.stacked(len(fit.tau))
        prior = Prior(fit.tau**-2.0, ballots.anchored)
        return moments(ballots, fit.means, prior, peak(ballots, fit.means, prior, known.mean), self.estimate)

    def score(self, ballots: Ballots) -> Scores:
        """Return the scores, and how far apart the same scores may be."""
        return self._rounded(self._mean(self._of(ballots).mean), ballots.mask)

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``: τ² g_ij.

        For values, what is common to all alternatives is shared out among voters by their counts, unless it is measured
        from an ``origin``: then it is left out.
        """
        fit, known = self.fit, self._of(ballots)
        xp = namespace(ballots.counts)
        times = ballots.multiplicity[..., None]
        pull = pulls(ballots.stacked(len(fit.tau)), fit.means, known)
        weights = xp.sum((fit.weight * fit.tau**2)[..., None, None] * pull, axis=0) * times
        anchor = ballots.anchored
        if origin or not possible(anchor):
            return weights
        rest = xp.where(ballots.mask, self._mean(known.mean), 0) - xp.sum(weights, axis=-2)
        rest = xp.where(anchor[..., None], rest, 0)
        seen = ballots.counts * times
        whole = xp.sum(seen, axis=-2, keepdims=True)
        return weights + rest[..., None, :] * seen / xp.where(whole > 0, whole, 1)

    def leave_one_out(self, ballots: Ballots) -> Scores:
        """Return the scores without each voter in turn, ``(..., voter, alternative)``, by the same scale.

        In full where that is quick, else with what the other voters say kept as it was.
        """
        xp = namespace(ballots.counts)
        m = ballots.counts.shape[-2]
        others = ballots.leaving_one_out()
        known, fit = self._of(ballots), self.fit
        if m * m * known.mean.size <= _REFITTED and not possible(tied_in_the_middle(ballots)):
            rest = others.stacked(len(fit.tau))
            means = replace(fit.means, sigma=xp.expand_dims(xp.asarray(fit.means.sigma), axis=-3))
            prior = Prior(xp.broadcast_to(fit.tau[..., None], (*fit.tau.shape, m)) ** -2.0, rest.anchored)
            start = xp.broadcast_to(known.mean[..., None, :], rest.mask.shape)
            without = moments(rest, means, prior, peak(rest, means, prior, start), self.estimate).mean
        else:
            without = withouts(ballots.stacked(len(fit.tau)), fit.means, known)
        return self._rounded(self._mean(without), others.mask)

    def _mean(self, x: Array) -> Array:
        """Return the mean over the values of the scale."""
        xp = namespace(x)
        weight = self.fit.weight
        return xp.sum(weight.reshape(*weight.shape, *[1] * (x.ndim - weight.ndim)) * x, axis=0)

    def _rounded(self, scores: Array, mask: Array) -> Scores:
        """Scores closer than a small part of a standard deviation cannot be told apart."""
        xp = namespace(scores)
        precision = xp.linalg.diagonal(self.fit.moments.precision)
        near = (1e-7 if scores.dtype.itemsize == 8 else 1e-3) / xp.sqrt(xp.min(xp.abs(precision), axis=0))
        near = near if scores.ndim == near.ndim else near[..., None, :]
        return Scores(xp.where(mask, scores, -xp.inf), xp.where(mask, near, 0))

    def fitted(self, ballots: Ballots, seed: int = 0) -> "Fitted":
        """Return itself."""
        return self

    def details(self, ballots: Ballots) -> dict[str, Array]:
        """Return nothing beside the belief."""
        return {}

    def odd(self, ballots: Ballots) -> Array:
        """Say in which decisions no votes compare some alternatives, or the mode had to stand in for the mean."""
        return links.broken(ballots) | self._fell_back

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Say the same of a single decision, with the names of the alternatives."""
        remarks = links.remarks(ballots, names)
        return [*remarks, _FELL_BACK] if bool(self._fell_back) else remarks

    @property
    def _fell_back(self) -> Array:
        """Whether the mode stands in for a mean that was wanted, at values of the scale that matter, ``(...)``."""
        weight = np.asarray(self.fit.weight)
        return np.sum(np.where(self.fit.moments.fell_back, weight, 0), axis=0) > _NOTABLE

    def p_best(self, ballots: Ballots, size: int = 1000) -> Array:
        """Return P(best) alone, ``(..., alternative)``, by so many draws from normals; compiles under ``jax.jit``.

        ``ballots`` are those it was fitted to.
        """
        fit, mask = self.fit, self.ballots.mask
        xp = namespace(mask, fit.weight)
        draws = _drawn(fit.moments, fit.freedom, size, Random.of(fit.weight, self.seed, _STREAM))
        known = xp.where(mask, draws, -xp.inf)
        first = xp.astype(known == xp.max(known, axis=-1, keepdims=True), fit.weight.dtype)
        return xp.sum(fit.weight[..., None] * xp.sum(first, axis=0), axis=0) / len(draws)

    def belief(self) -> Belief:
        """Say how sure a single decision is, from draws of the posterior; found once.

        Around each mean the posterior is taken for normal. For not too many votes that is checked, and mended, by
        importance sampling: some of the draws are weighed by the exact posterior. Where few of these count, or votes
        are more, and they tell little about each alternative, all draws are Gibbs sampling's.
        """
        return self._belief

    @cached_property
    def _belief(self) -> Belief:
        fit, mask = self.fit, np.asarray(self.ballots.mask)
        weight, tau, sigma = (np.asarray(x) for x in (fit.weight, fit.tau, fit.sigma))
        known = Moments(np.asarray(fit.moments.mean), np.asarray(fit.moments.precision))
        random = Random.of(known.mean, self.seed, _STREAM)
        size = int(np.clip(_CELLS // max(known.mean.size, 1), 64, _DRAWS))
        draws = _drawn(known, np.asarray(fit.freedom), size, random)
        weights = np.broadcast_to(weight / len(draws), draws.shape[:-1])
        further, change, efficiency = self._correction(known, random)
        exact = None if efficiency * change.size > _SOUND else self._sampled(draws)
        if exact is not None:
            draws, weights = exact, np.broadcast_to(weight / len(exact), exact.shape[:-1])
            efficiency = np.asarray(np.nan)
        elif len(further):
            draws, weights = np.concat([draws, further]), np.concat([weights, change])
        flat = draws.reshape(-1, draws.shape[-1])
        if not self.ballots.anchored:
            flat = flat - np.mean(flat, axis=-1, keepdims=True, where=mask)
        level = np.exp(np.sum(weight[:, None] * np.log(sigma), axis=0))
        between = np.sqrt(np.asarray(fit.means.between))
        return summarised(
            flat,
            weights.ravel(),
            mask,
            sigma=level,
            tau=np.exp(np.sum(weight * np.log(tau), axis=0)),
            scale=_scale(weight, np.log(middle(sigma, mask) / tau)),
            count_error=np.asarray(np.nan if fit.means.counts is None else fit.means.counts.size),
            omega=middle(between * level, mask) if np.any(between) else np.asarray(np.nan),
            efficiency=efficiency,
        )

    def _sampled(self, start: Array) -> Array | None:
        """Draw from the exact posterior where votes tell so little that it is far from normal, and it is in reach."""
        merged = self.ballots.merged()
        if not len(merged.counts) or not np.any(tells_little(merged)):
            return None
        means = replace(self.fit.means, sigma=np.asarray(self.fit.means.sigma))
        rng = np.random.default_rng((self.seed, _STREAM))
        return sampled(merged, means, np.asarray(self.fit.tau), start, rng)

    def _correction(self, known: Moments, random: Random) -> tuple[Array, Array, Array]:
        """Return draws that reach further than a normal, the difference that exact weights make, and how many count.

        None are drawn of too many votes; if too few count, a few draws would decide, so that none are used.
        """
        fit, mask, merged = self.fit, np.asarray(self.ballots.mask), self.ballots.merged()
        weight, (values, n) = np.asarray(fit.weight), known.mean.shape
        none = np.empty((0, values, n)), np.empty((0, values))
        mixed = 1 if fit.means.counts is None else len(fit.means.counts.mixture(np.asarray(merged.counts))[0])
        cost = values * merged.counts.size * max(1, mixed // _MIXED)
        checked = min(_DRAWS, _CHECKED // max(1, cost))
        if (
            not len(merged.counts)
            or checked < 64
            or not np.isinf(fit.freedom)
            or bool(np.any(tied_in_the_middle(merged)))
        ):
            return *none, np.asarray(np.nan)
        normal = random.normal((checked, values, n))
        reach = np.sum(np.where(mask, normal, 0) ** 2, axis=-1)
        stretch = np.sqrt(_TAILS / 2 / random.gamma(np.full((checked, values), _TAILS / 2)))
        further = known.mean + np.einsum("vjk,svk->svj", _roots(known.precision), normal) * stretch[..., None]
        reach = reach * stretch**2
        density = (_TAILS + mask.sum()) / 2 * np.log1p(reach / _TAILS)
        exact, efficiency = _normalised(self._exact(merged, further) + density, weight)
        plain, _ = _normalised(density - reach / 2, weight)
        if efficiency <= _USABLE or efficiency * exact.size <= _ENOUGH:
            return *none, efficiency
        return further, exact - plain, efficiency

    def _exact(self, ballots: Ballots, draws: Array) -> Array:
        """Return the exact log-posterior of draws ``(draw, value, alternative)``, from its value at the mean on."""
        truth, mask = np.asarray(self.fit.moments.mean), np.asarray(ballots.mask)
        prior = Prior(np.asarray(self.fit.tau) ** -2.0, np.asarray(ballots.anchored))
        means = replace(self.fit.means, sigma=np.asarray(self.fit.means.sigma))
        several = ballots.stacked(draws.shape[1])
        told = tally(several.stacked(len(draws)), draws, means, 0).log_likelihood
        top = tally(several, truth, means, 0).log_likelihood
        return np.asarray(told - top + prior.log_density(draws, mask) - prior.log_density(truth, mask))


def _normalised(logs: Array, weight: Array) -> tuple[Array, Array]:
    """Return weights ``(draw, value)`` that sum to 1, and the share of the draws that count."""
    weights = weight * np.exp(logs - logs.max())
    weights = weights / weights.sum()
    return weights, np.asarray(1 / np.sum(weights**2 / (weight / len(logs))))


def _scale(weight: Array, logs: Array) -> Array:
    """Return exp of the mean, and of the ends of a 95% interval, of logarithms ``(value, ...)``."""
    mean = np.sum(weight * logs, axis=0)
    return interval(mean, np.sqrt(np.sum(weight * (logs - mean) ** 2, axis=0)))


def _drawn(known: Moments, freedom: Array, size: int, random: Random) -> Array:
    """Draw truths from normals, ``(draw, value, ..., alternative)``, in opposite pairs."""
    xp = namespace(known.mean)
    n = known.mean.shape[-1]
    half = random.normal((size // 2, n))
    moved = xp.moveaxis(xp.matmul(_roots(known.precision), half.T), -1, 0)
    moved = moved * _inflation(random, freedom, size // 2)[:, None, ..., None]
    return known.mean + xp.concat([moved, -moved])


def _roots(precision: Array) -> Array:
    """Return square roots of the covariances."""
    xp = namespace(precision)
    values, vectors = xp.linalg.eigh(precision)
    values = xp.maximum(xp.abs(values), xp.max(xp.abs(values), axis=-1, keepdims=True) * 1e-12)
    return xp.matmul(vectors / xp.sqrt(values)[..., None, :], xp.moveaxis(vectors, -1, -2))


def _inflation(random: Random, freedom: Array, size: int) -> Array:
    """Draw how much wider errors are for an estimate of σ with so many degrees of freedom."""
    xp = namespace(freedom)
    known = xp.isinf(freedom)
    shape = xp.broadcast_to(xp.where(known, 1, freedom + 1) / 2, (size, *freedom.shape))
    least = xp.asarray(1e-3, dtype=shape.dtype)
    return xp.where(known, 1, 1 / xp.sqrt(xp.maximum(random.gamma(shape) / shape, least)))
