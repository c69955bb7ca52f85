"""Fitted: a posterior as it came out for some votes, and how sure that is."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, namespace
from veritally.ballots import Ballots
from veritally.belief import Belief, summarised
from veritally.inference.ascent import Prior, peak, solve
from veritally.inference.scale import middle
from veritally.likelihood.density import Means
from veritally.likelihood.rankings import tied_in_the_middle
from veritally.likelihood.votes import derivatives, tally
from veritally.rules.rule import Scores

CARDINAL = ("values", "mixed")  # kinds that tell where the truths lie, not only how they differ
_DRAWS = 4096
_CELLS = 1 << 23  # of draws that are held at once
_COLLAPSED = 0.001  # of the draws that count, below which their weights say nothing
_TAILS = 7.0  # degrees of freedom of the draws by which the shape is checked
_CHECKED = 20_000  # votes whose likelihood is asked to check the shape of the posterior
_REFITTED = 2000  # ballots for which leaving one out is done in full


class Fit(NamedTuple):
    """What was found out about a decision, at each of several values of the unknown scale, ``(value, ...)``.

    Attributes
    ----------
    weight
        Posterior probability of each value.
    sigma, tau
        σ ``(value, ..., alternative)`` and τ ``(value, ...)``.
    truth, precision
        The mode there, and minus the second derivatives of the log-posterior.
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
    truth: Array
    precision: Array
    log_evidence: Array
    freedom: Array
    means: Means


@dataclass(frozen=True, eq=False)
class Fitted:
    """A posterior with the scale found from some votes; other votes are judged by the same scale."""

    ballots: Ballots
    fit: Fit
    seed: int = 0

    normalized = False

    def decision(self, d: int, ballots: Ballots) -> "Fitted":
        """Return what was found about one decision along the first batch axis."""
        n = ballots.counts.shape[-1]
        weight, sigma, tau, truth, precision, evidence, freedom, means = self.fit
        parts = (weight[:, d], sigma[:, d, ..., :n], tau[:, d], truth[:, d, ..., :n], precision[:, d, ..., :n, :n])
        own = replace(means, sigma=sigma[:, d, ..., None, :n])
        return replace(self, ballots=ballots, fit=Fit(*parts, evidence[:, d], freedom[d], own))

    def _of(self, ballots: Ballots) -> Fit:
        if ballots is self.ballots:
            return self.fit
        fit = self.fit
        found = peak(
            stacked(ballots, len(fit.tau)), fit.means, Prior(fit.tau**-2.0, ballots.kind in CARDINAL), fit.truth
        )
        return fit._replace(truth=found.truth, precision=found.precision)

    def score(self, ballots: Ballots) -> Scores:
        """Return the scores, and how far the climb may have stopped from the peak."""
        fit = self._of(ballots)
        return _rounded(scores_of_fit(fit, ballots.mask), fit)

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``: τ² g_ij.

        For values, what is common to all alternatives is shared out among voters by their counts, unless it is measured
        from an ``origin``: then it is left out.
        """
        fit = self._of(ballots)
        xp = namespace(ballots.counts)
        told = derivatives(stacked(ballots, len(fit.tau)), fit.truth, fit.means).gradient
        times = ballots.multiplicity[..., None]
        weights = xp.sum((fit.weight * fit.tau**2)[..., None, None] * told, axis=0) * times
        if ballots.kind not in CARDINAL or origin:
            return weights
        rest = xp.where(ballots.mask, scores_of_fit(fit, ballots.mask), 0) - xp.sum(weights, axis=-2)
        seen = ballots.counts * times
        whole = xp.sum(seen, axis=-2, keepdims=True)
        return weights + rest[..., None, :] * seen / xp.where(whole > 0, whole, 1)

    def leave_one_out(self, ballots: Ballots) -> Scores:
        """Return the scores without each voter in turn, ``(..., voter, alternative)``.

        In full where that is quick, else by one step of Newton's method from where all voters together lead.
        """
        xp = namespace(ballots.counts)
        fit = self._of(ballots)
        *batch, m, n = ballots.counts.shape
        saw = xp.astype((ballots.counts > 0) & (ballots.multiplicity > 0)[..., None], ballots.counts.dtype)
        mask = xp.sum(saw, axis=-2, keepdims=True) - saw > 0
        if m * m * len(fit.tau) * max(1, int(np.prod(batch))) <= _REFITTED:
            others = xp.ones((m, m), dtype=saw.dtype) - xp.eye(m, dtype=saw.dtype)
            axis = len(batch)
            fields = [xp.broadcast_to(xp.expand_dims(x, axis=axis), (*batch, m, *x.shape[axis:])) for x in ballots[:3]]
            without = type(ballots)(fields[0], fields[1], fields[2] * others, mask)
            means = replace(fit.means, sigma=xp.expand_dims(xp.asarray(fit.means.sigma), axis=-3))
            prior = Prior(xp.broadcast_to(fit.tau[..., None], (*fit.tau.shape, m)) ** -2.0, ballots.kind in CARDINAL)
            start = xp.broadcast_to(fit.truth[..., None, :], (*fit.truth.shape[:-1], m, n))
            found = peak(stacked(without, len(fit.tau)), means, prior, start)
            part = fit._replace(
                weight=xp.broadcast_to(fit.weight[..., None], (*fit.weight.shape, m)),
                truth=found.truth,
                precision=found.precision,
            )
            return _rounded(scores_of_fit(part, mask), part)
        told = derivatives(stacked(ballots, len(fit.tau)), fit.truth, fit.means, 2)
        times = ballots.multiplicity[..., None]
        step = solve(fit.precision[..., None, :, :] + told.curvature * times[..., None], told.gradient * times)
        scores = xp.sum(fit.weight[..., None, None] * (fit.truth[..., None, :] - step), axis=0)
        scores = xp.where(mask, scores, -xp.inf)
        return Scores(scores, xp.zeros_like(scores))

    def fitted(self, ballots: Ballots, seed: int = 0) -> "Fitted":
        """Return itself."""
        return self

    def details(self, ballots: Ballots) -> dict[str, Array]:
        """Return nothing beside the belief."""
        return {}

    def odd(self, ballots: Ballots) -> bool:
        """Say whether there is something to remark about: no."""
        return False

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Say what deserves a look about a single decision."""
        return []

    def belief(self) -> Belief:
        """Say how sure it all is, from draws of the posterior.

        Around each mode the posterior is taken for normal. For a single decision of not too many votes that is checked,
        and mended, by importance sampling: some of the draws are weighed by the exact posterior.
        """
        ballots, fit = self.ballots, self.fit
        weight, truth, tau = (np.asarray(x) for x in (fit.weight, fit.truth, fit.tau))
        values, n = len(weight), truth.shape[-1]
        batch = truth.shape[1:-1]
        size = int(np.clip(_CELLS // max(truth.size, 1), 64, _DRAWS)) // 2 * 2
        rng = np.random.default_rng((self.seed, 11))
        mask = np.asarray(ballots.mask)
        roots = _roots(np.asarray(fit.precision, dtype=float))
        half = rng.standard_normal((size // 2, *([1] * (truth.ndim - 1)), n))
        freedom = np.where(np.isfinite(fit.freedom), np.asarray(fit.freedom) + 1, np.inf)
        moved = np.einsum("...jk,s...k->s...j", roots, np.broadcast_to(half, (size // 2, *truth.shape)))
        moved = moved * _inflation(rng, freedom, size // 2)[:, None, ..., None]
        draws = truth + np.concat([moved, -moved])
        weights = np.broadcast_to(weight / size, draws.shape[:-1])
        efficiency = np.full(batch, np.nan)
        merged = _merged(ballots) if not batch else ballots
        checked = min(_DRAWS, _CHECKED // max(1, values * merged.counts.size))
        if not batch and checked >= 64 and np.isinf(freedom) and not bool(np.any(tied_in_the_middle(merged))):
            # The difference that exact weights make, on draws that reach further than a normal.
            normal = rng.standard_normal((checked, values, n))
            reach = np.sum(np.where(mask, normal, 0) ** 2, axis=-1)
            stretch = np.sqrt(_TAILS / rng.chisquare(_TAILS, (checked, values)))
            further = truth + np.einsum("vjk,svk->svj", roots, normal) * stretch[..., None]
            reach = reach * stretch**2
            density = (_TAILS + mask.sum()) / 2 * np.log1p(reach / _TAILS)
            exact, efficiency = _normalised(self._exact(merged, further) + density, weight)
            plain, _ = _normalised(density - reach / 2, weight)
            if efficiency > _COLLAPSED:  # else a few draws would decide
                draws, weights = np.concat([draws, further]), np.concat([weights, exact - plain])
        flat = draws.reshape(-1, *draws.shape[2:])
        if ballots.kind not in CARDINAL:
            number = np.maximum(mask.sum(axis=-1, keepdims=True), 1)
            flat = flat - np.sum(np.where(mask, flat, 0), axis=-1, keepdims=True) / number
        sigma = np.exp(np.sum(weight[..., None] * np.log(np.asarray(fit.sigma)), axis=0))
        return summarised(
            flat,
            weights.reshape(-1, *weights.shape[2:]),
            mask,
            sigma,
            np.exp(np.sum(weight * np.log(tau), axis=0)),
            _scale(weight, np.log(middle(np.asarray(fit.sigma), mask) / tau)),
            efficiency,
        )

    def _exact(self, ballots: Ballots, draws: Array) -> Array:
        """Return the exact log-posterior of draws ``(draw, value, alternative)``, from its value at the mode on."""
        truth, mask = np.asarray(self.fit.truth), np.asarray(ballots.mask)
        prior = Prior(np.asarray(self.fit.tau) ** -2.0, ballots.kind in CARDINAL)
        means = replace(self.fit.means, sigma=np.asarray(self.fit.means.sigma))
        several = stacked(ballots, draws.shape[1])
        told = tally(stacked(several, len(draws)), draws, means, 0).log_likelihood
        top = tally(several, truth, means, 0).log_likelihood
        return np.asarray(told - top + prior.log_density(draws, mask) - prior.log_density(truth, mask))


def _normalised(logs: Array, weight: Array) -> tuple[Array, Array]:
    """Return weights ``(draw, value)`` that sum to 1, and the share of the draws that count."""
    weights = weight * np.exp(logs - logs.max())
    weights = weights / weights.sum()
    return weights, np.asarray(1 / np.sum(weights**2 / (weight / len(logs))))


def _merged(ballots: Ballots) -> Ballots:
    """Put equal ballots of a single decision together, in NumPy."""
    votes, counts, multiplicity, mask = (np.asarray(x) for x in ballots)
    rows = np.concat([votes.reshape(len(votes), -1), counts], axis=1)
    _, first, which = np.unique(np.nan_to_num(rows, nan=-np.inf), axis=0, return_index=True, return_inverse=True)
    times = np.bincount(which.ravel(), multiplicity, len(first))
    return type(ballots)(votes[first], counts[first], times, mask)


def scores_of_fit(fit: Fit, mask: Array) -> Array:
    """Return the modes at all values of the scale, by their weights; −inf outside the mask."""
    xp = namespace(fit.truth)
    return xp.where(mask, xp.sum(fit.weight[..., None] * fit.truth, axis=0), -xp.inf)


def _rounded(scores: Array, fit: Fit) -> Scores:
    xp = namespace(scores)
    deviation = 1 / xp.sqrt(xp.min(xp.abs(xp.linalg.diagonal(fit.precision)), axis=0))
    return Scores(scores, xp.where(scores > -xp.inf, deviation * (1e-7 if scores.dtype.itemsize == 8 else 1e-3), 0))


def _scale(weight: Array, logs: Array) -> Array:
    """Return exp of the mean, and of the ends of a 95% interval, of logarithms ``(value, ...)``."""
    mean = np.sum(weight * logs, axis=0)
    deviation = np.sqrt(np.sum(weight * (logs - mean) ** 2, axis=0))
    return np.exp(np.stack([mean, mean - 1.96 * deviation, mean + 1.96 * deviation], axis=-1))


def _roots(precision: Array) -> Array:
    """Return square roots of the covariances."""
    values, vectors = np.linalg.eigh(precision)
    values = np.maximum(np.abs(values), np.max(np.abs(values), axis=-1, keepdims=True) * 1e-12)
    return (vectors / np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _inflation(rng: np.random.Generator, freedom: Array, size: int) -> Array:
    """Draw how much wider errors are for an estimate of σ with so many degrees of freedom."""
    shape = (size, *freedom.shape)
    known = np.isinf(freedom)
    chi = rng.chisquare(np.where(known, 1, freedom), shape) / np.where(known, 1, freedom)
    return np.where(known, 1, 1 / np.sqrt(np.maximum(chi, 1e-3)))


def stacked(ballots: Ballots, number: int) -> Ballots:
    """Repeat ballots along a new first axis."""
    xp = namespace(ballots.counts)
    return type(ballots)(*(xp.broadcast_to(x, (number, *x.shape)) for x in ballots))
