"""Posterior: the truths given the votes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar, Literal

import numpy as np

from veritally.arrays import Array, is_jax, is_traced, namespace, possible
from veritally.errors import InputError
from veritally.inference import leniency, links
from veritally.inference.belief import Belief
from veritally.inference.blend import NEGLIGIBLE, blended, probabilities
from veritally.inference.dispersion import log_typical_count
from veritally.inference.mixture import PosteriorMixture, grouped, joined
from veritally.inference.noise import Assumptions
from veritally.inference.pooling import TELLING, evenly, pool
from veritally.inference.posterior import infer, infer_mode, most_probable
from veritally.inference.propagation import Estimate, means_without, moments, pulls
from veritally.inference.sampling import believe, normal_p_best
from veritally.inference.scale import PooledNoise
from veritally.likelihood.rankings import tied_in_the_middle
from veritally.likelihood.votes import check_noise
from veritally.model.mixtures import mixture
from veritally.progress import stretch
from veritally.rules.protocol import Fit, Rule, Status, status_of
from veritally.rules.sums import Sigma
from veritally.votes.ballots import Ballots, Kind

_SIZES = (0.1, 0.3, 0.6, 0.95)  # of count errors to choose from
_BETWEEN = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)  # ω² to choose from, over the variance of the mean of a typical count
_REFITTED = 5_000  # votes on which leaving one out is done in full, for each voter and value of the scale
_DRAWS = 1000  # for P(best) alone
_NEAR, _NEAR_SINGLE = 3e-5, 1e-3  # standard deviations within which scores cannot be told apart
_STRENGTHS = (0.0, 0.1, 0.25, 0.45, 0.65, 0.85)  # of shared errors to choose from
_STRENGTH_PRIOR = (0.34, 0.22, 0.18, 0.13, 0.09, 0.04)  # so that groups that do not exist cost little
_LENIENCIES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1e2, 1e3, 1e4)  # variances over that of a typical mean
_LENIENCY_PRIOR = (0.36, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09, 0.04, 0.03, 0.03)
_FALLEN = 8.0  # log-evidence, from the highest on: beyond, larger leniencies need not be tried
_CELLS = 300_000  # voters × alternatives² of all decisions that are inferred at once, at several strengths


@dataclass(frozen=True)
class Posterior(Rule):
    """The truths given the votes, with a normal prior around a common mean with standard deviation τ.

    The search starts at the mode of the exact log-posterior and its curvature there, and goes on to the mean. With
    rankings or top choices only σ/τ matters. What is not given of σ and τ is estimated from the votes and integrated
    over.

    The mean, from the common mean of the truths, is

        μ̂_j = τ² Σ_i g_ij

    where g_ij is the gradient of the log-probability of voter i's vote, given what all others say: so τ² g_ij is what
    voter i adds to the score. At the mode the same holds for the gradient there.

    Parameters
    ----------
    sigma
        The standard deviation of one observation, one for all alternatives or one for each; None to estimate it.
    tau
        The standard deviation of the truths. None: 1 if σ is estimated from rankings, otherwise estimated.
    cap
        The most that a count may count for; None for no limit.
    count_error
        How reported counts may be wrong; None for not at all. An error without a size has its size chosen by the
        evidence, one for all decisions.
    count_range
        The lowest and the highest true count; None for the range of those reported.
    noise
        The distribution of one observation, if it is not normal: ``laplace`` or ``student:FREEDOM``.
    votes
        The kind of votes to use; None for the finest given.
    estimate
        What to choose by: the ``mean`` of the truths, which minimises expected regret, or their ``mode``, which is
        quicker and has the same regret in simulations. With very many voters, the mode is used for the mean.
    omega
        The standard deviation by which voters differ however much they saw, so that x_ij ~ N(μ_j, σ²/c_ij + ω²): a
        number, which needs σ too; ``"estimated"``, chosen by the evidence, one for all decisions; or None for 0.
    between
        ω²/σ² where σ is not given.
    scale
        σ/τ, if σ or τ is not given: a number; ``"each"``, the default, to estimate it for each decision; or
        ``"pooled"`` to estimate one noise for all decisions of a kind, if there are at least twenty. Each decision may
        then differ from it as much as the decisions are seen to differ.
    pooled
        The pooled noise that was found, by kind of votes.
    leniency
        The standard deviation of a constant that each voter adds to all values, for harsh and lenient voters: a number
        in the unit of the values, which needs σ too; 0 for none; or ``"estimated"``. By default it is estimated in
        decisions in which voters gave values to different alternatives. It is averaged over its posterior.
    lenient
        The variance of leniency, divided by that of a mean of typical count, if it was found.
    doubt
        The probability that a ballot is a random one of all possible ballots, for rankings, favourites and
        comparisons. It limits the effect of a single ballot.
    correlation
        The correlation of shared errors: a number, or ``"estimated"``, one for all decisions, averaged over its
        posterior.
    strengths
        Correlations with their probabilities, if these were estimated from other decisions too.

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
    scale: float | Literal["each", "pooled"] | None = None
    pooled: Mapping[str, PooledNoise] | None = None
    leniency: float | Literal["estimated"] | None = None
    doubt: float | None = None
    lenient: float | None = None
    correlation: float | Literal["estimated"] = 0.0
    strengths: tuple[tuple[float, float], ...] | None = None

    takes_panel: ClassVar[bool] = True
    leaves_out_exactly: ClassVar[bool] = False  # the noise is kept
    internal: ClassVar[frozenset[str]] = frozenset(
        {"votes", "count_range", "between", "pooled", "lenient", "correlation", "strengths"}
    )

    @property
    def joint(self) -> bool:
        """Whether something is found out about all decisions of a batch together: ω, or what counts stand for."""
        return self.omega == "estimated" or self.count_error is not None

    def prepared(self, ballots: Ballots) -> "Posterior":
        """Find one strength of shared errors, and one noise, for all decisions, where that is asked."""
        rule = self
        if self.correlation == "estimated" and self.strengths is None and not self.joint and ballots.mask.ndim > 1:
            found = self._at_strengths(self.ready(_some_decisions(ballots)), _STRENGTHS)
            weight, _ = probabilities(found, _STRENGTH_PRIOR, "all decisions")
            rule = replace(rule, strengths=tuple(zip(_STRENGTHS, map(float, weight[:, 0]), strict=True)))
        return rule._with_common_noise(ballots) if self.scale == "pooled" and self.pooled is None else rule

    def _with_common_noise(self, ballots: Ballots) -> "Posterior":
        """Find one noise for all decisions, and one leniency beside it, which makes the votes most probable."""
        ready = self.ready(ballots)
        lenient = self._are_lenient(ready).any() and leniency.to_be_found(ready, everywhere=True).all()
        if not lenient:
            rule = replace(self, lenient=0.0)
            return replace(rule, pooled=pool(ready, rule._assumptions(ready)))
        some, best = _some_decisions(ballots), (-np.inf, self)
        for ratio in _LENIENCIES:
            rule = replace(self, lenient=ratio)
            rule = replace(rule, pooled=pool(ready, rule._assumptions(ready)))
            evidence = float(np.sum(rule._infer(some).log_evidence))
            best = max(best, (evidence, rule), key=itemgetter(0))
            if evidence < best[0] - _FALLEN:
                break
        return best[1]

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say."""
        if self.scale == "pooled" and self.pooled is None:
            return self.prepared(ballots).fit(ballots)
        found = self._infer(ballots)
        scores, rounding = self._scores(found.average(found.moments.mean), found, ballots.mask)
        warnings = {} if is_traced(scores) else links.warnings(ballots)
        if self.leniency is None and not is_traced(scores):
            for place, remark in leniency.warnings(ballots).items():
                warnings[place] = (*warnings.get(place, ()), *remark)
        pooled = tuple((self.pooled or {}).values())
        unknown = self.sigma is None and not isinstance(self.scale, float)
        details = {"p_noise": found.p_noise} if unknown and not pooled and not is_traced(scores) else {}
        if not is_jax(scores):
            details |= _panel_details(found, ballots)
        return Fit(
            scores,
            rounding,
            _status(found),
            scale=found.scale,
            details=details,
            warnings=warnings,
            posterior=found,
            pooled=pooled,
        )

    def _infer(self, ballots: Ballots) -> PosteriorMixture:
        """Infer with what is known; what counts stand for, or ω, is chosen by the evidence of all decisions."""
        ballots = self.ready(ballots)
        return most_probable([rule._averaged(ballots) for rule in self._grid(ballots)])

    def _averaged(self, ballots: Ballots) -> PosteriorMixture:
        """Infer, averaged over what the strength of shared errors and voters' leniency may be."""
        if ballots.loadings is not None and self.correlation == "estimated":
            given = self.strengths or tuple(zip(_STRENGTHS, _STRENGTH_PRIOR, strict=True))
            strengths, chances = zip(*((rho, p) for rho, p in given if p > NEGLIGIBLE), strict=True)
            parts = self._at_strengths(ballots, strengths)
            return blended(parts, chances, "all decisions" if self.strengths is None else "other decisions")
        lenient = self._are_lenient(ballots)
        if self.lenient is not None or not lenient.any():
            return infer(ballots, self._assumptions(ballots))
        if not lenient.all():
            groups = grouped(ballots, lenient, cut=not isinstance(self.sigma, tuple))
            return joined(groups, [self._averaged(group.ballots) for group in groups], ballots)
        parts = []
        for k, ratio in enumerate(_LENIENCIES):
            with stretch(k / len(_LENIENCIES), (k + 1) / len(_LENIENCIES)):
                parts.append(replace(self, lenient=ratio)._averaged(ballots))
            evidence = np.stack([part.log_evidence for part in parts])
            if np.all(evidence[-1] < np.max(evidence, axis=0) - _FALLEN):
                break
        return blended(parts, _LENIENCY_PRIOR[: len(parts)], "each decision")

    def _at_strengths(self, ballots: Ballots, strengths: Sequence[float]) -> list[PosteriorMixture]:
        """Infer at several strengths of shared errors: as many at once as decisions are small, which saves time.

        Loadings times √ρ, and what they take the place of times ρ, are at full strength what they were at strength ρ.
        """
        at_once = max(1, _CELLS // max(1, ballots.counts.size * ballots.counts.shape[-1]))
        shared = [rho for rho in strengths if rho > 0]
        found = [replace(self, correlation=0.0)._averaged(ballots)] if 0 in strengths else []
        for start in range(0, len(shared), at_once):
            some = shared[start : start + at_once]
            rho = np.reshape(some, (-1, *[1] * ballots.counts.ndim))
            several = ballots.stacked(len(some))
            several = several.with_shared_errors(several.loadings * np.sqrt(rho)[..., None], several.sharing * rho)
            with stretch(len(found) / len(strengths), (len(found) + len(some)) / len(strengths)):
                together = replace(self, correlation=1.0)._averaged(several)
            each = [(together.take(k), own) for k, own in enumerate(some)]
            found += [part._replace(strength=own * part.strength) for part, own in each]
        return found

    def _are_lenient(self, ballots: Ballots) -> Array:
        """Say in which decisions voters' leniency is to be found out, ``(...)``."""
        if self.count_error is not None or self.noise is not None or self.leniency not in (None, "estimated"):
            return np.zeros(ballots.mask.shape[:-1], dtype=bool)
        return leniency.to_be_found(ballots, everywhere=self.leniency == "estimated")

    def _grid(self, ballots: Ballots) -> "Iterator[Posterior]":
        """Yield the rule with each value of the nuisance parameter that is unknown; itself, if there is none."""
        if isinstance(self.count_error, type):  # an error of unknown size
            yield from (replace(self, count_error=self.count_error(size)) for size in _SIZES)
        elif self.omega == "estimated":
            xp = namespace(ballots.counts)
            size = float(xp.exp(xp.mean(log_typical_count(ballots))))
            yield from (replace(self, omega=None, between=ratio / size) for ratio in _BETWEEN)
        else:
            yield self

    def ready(self, ballots: Ballots) -> Ballots:
        """Return votes with their effective multiplicity, whose counts are capped."""
        ballots = self._capped(ballots)
        return ballots.weighed(ballots.effective_multiplicity)

    def _capped(self, ballots: Ballots) -> Ballots:
        if self.cap is None:
            return ballots
        xp = namespace(ballots.counts)
        return ballots.with_counts(xp.minimum(ballots.counts, xp.asarray(self.cap, dtype=ballots.counts.dtype)))

    def _assumptions(self, ballots: Ballots) -> Assumptions:
        """Return what is given; refuse noise whose density has no sound curvature, or too many components."""
        if self.count_error is not None and (self.omega is not None or np.any(self.between)):
            raise InputError("count_error cannot be combined with omega; leave one of them out")
        between = self.between
        if self.omega is not None and self.sigma is not None:
            between = float(self.omega) ** 2 / np.asarray(self.sigma) ** 2  # type: ignore[assignment]
        check_noise(ballots, self.noise)
        counts = namespace(ballots.counts).where(ballots.multiplicity[..., None] > 0, ballots.counts, 0)
        stand_for = mixture(self.count_error, self.noise, counts, *(self.count_range or ()))
        known = None if self.scale in (None, "each", "pooled") else float(self.scale)
        if stand_for is not None and ballots.loadings is not None:
            raise InputError("a panel cannot be combined with noise or count_error; leave these out")
        return Assumptions(
            self.sigma,
            self.tau,
            self.cap,
            stand_for,
            between,
            self.estimate,
            known,
            dict(self.pooled or {}),
            strength=self._strength,
            leniency=float(self.leniency) if isinstance(self.leniency, float | int) else 0.0,
            lenient=self.lenient or 0.0,
            doubt=self.doubt or 0.0,
        )

    @property
    def _strength(self) -> float:
        """The strength of shared errors; where it is averaged over, its mean, as far as it is known."""
        return float(
            sum(rho * p for rho, p in self.strengths or ()) if self.correlation == "estimated" else self.correlation
        )

    def _scores(self, means: Array, found: PosteriorMixture, mask: Array) -> tuple[Array, Array]:
        """Return scores; those closer than a small part of a standard deviation cannot be told apart."""
        xp = namespace(means)
        precision = xp.linalg.diagonal(found.moments.precision)
        near = (_NEAR if means.dtype.itemsize == 8 else _NEAR_SINGLE) / xp.sqrt(xp.min(xp.abs(precision), axis=0))
        near = near if means.ndim == near.ndim else near[..., None, :]
        return xp.where(mask, means, -xp.inf), xp.where(mask, near, 0)

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone; where nothing but the mode is wanted, to a thousandth of a standard deviation."""
        if self.scale == "pooled" and self.pooled is None:
            return self.prepared(ballots).scores(ballots)
        xp = namespace(ballots.counts)
        unknown = self.omega == "estimated" or isinstance(self.count_error, type)
        plain = ballots.loadings is None and not self.doubt and not self._are_lenient(ballots).any()
        if self.estimate == "mode" and self.sigma is not None and self.tau is not None and not unknown and plain:
            capped = self._capped(ballots)
            means = infer_mode(capped, self._assumptions(capped))
        else:
            found = self._infer(ballots)
            means = found.average(found.moments.mean)
        return xp.where(ballots.mask, means, -xp.inf)

    def p_best(self, ballots: Ballots) -> Array:
        """Return P(best) alone, ``(..., alternative)``, by draws from normals."""
        return normal_p_best(self.prepared(ballots)._infer(ballots), ballots.mask, _DRAWS, 0)

    def refit(self, ballots: Ballots, fit: Fit) -> Fit:
        """Fit other votes about the same alternatives, by the same scale."""
        found = _posterior_of(fit)
        several = ballots.stacked(len(found.tau))
        model = found.model(several)
        new = moments(several, model, self.estimate)
        return self.fit_of(found._replace(moments=new), ballots.mask)

    def fit_of(self, found: PosteriorMixture, mask: Array) -> Fit:
        """Return the fit of a posterior that was found elsewhere."""
        scores, rounding = self._scores(found.average(found.moments.mean), found, mask)
        return Fit(scores, rounding, _status(found), scale=found.scale, posterior=found)

    def contributions(self, ballots: Ballots, fit: Fit, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``: τ² g_ij.

        For values, what is common to all alternatives is shared out among voters by their counts, unless it is measured
        from an ``origin``: then it is left out.
        """
        xp = namespace(ballots.counts)
        found = _posterior_of(fit)
        times = ballots.multiplicity[..., None]
        several = ballots.stacked(len(found.tau))
        pull = pulls(several, found.model(several), found.moments)
        weights = xp.sum((found.weight * found.tau**2)[..., None, None] * pull, axis=0) * times
        anchor = ballots.anchored
        if origin or not possible(anchor):
            return weights
        rest = xp.where(ballots.mask, found.average(found.moments.mean), 0) - xp.sum(weights, axis=-2)
        rest = xp.where(anchor[..., None], rest, 0)
        seen = ballots.counts * times
        whole = xp.sum(seen, axis=-2, keepdims=True)
        return weights + rest[..., None, :] * seen / xp.where(whole > 0, whole, 1)

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn, by the same scale.

        In full where that is quick, else with what the other voters say kept as it was.
        """
        xp = namespace(ballots.counts)
        found = _posterior_of(fit)
        m = ballots.counts.shape[-2]
        if m * m * found.moments.mean.size <= _REFITTED and not possible(tied_in_the_middle(ballots)):
            several = ballots.leaving_out(range(m)).stacked(len(found.tau))
            tau, strength, leniency = (
                xp.broadcast_to(x[..., None], (*x.shape, m)) for x in (found.tau, found.strength, found.leniency)
            )
            each = found._replace(sigma=found.sigma[..., None, :], tau=tau, strength=strength, leniency=leniency)
            model = each.model(several)
            without = moments(several, model, self.estimate).mean
        else:
            several = ballots.stacked(len(found.tau))
            without = means_without(several, found.model(several), found.moments)
        scores, rounding = self._scores(found.average(without), found, ballots.seen_by_others)
        return Fit(scores, rounding, xp.broadcast_to(fit.status[..., None], scores.shape[:-1]))

    def belief(self, ballots: Ballots, fit: Fit, seed: int = 0) -> Belief:
        """Say how sure decisions are, from draws of the posterior."""
        return believe(ballots, _posterior_of(fit), fit.winner, seed)


def _panel_details(found: PosteriorMixture, ballots: Ballots) -> dict[str, Array]:
    """Return the mean correlation of shared errors, and the standard deviation of leniency, where there are any."""
    details = {} if ballots.loadings is None else {"correlation": found.average(found.strength)}
    if np.any(found.leniency > 0):
        details["leniency"] = np.sqrt(found.average(found.leniency))
    return details


def _some_decisions(ballots: Ballots) -> Ballots:
    """Return some decisions of many, evenly chosen, along one axis."""
    batch = ballots.mask.shape[:-1]
    flat = ballots.map(lambda x: x.reshape(math.prod(batch), *x.shape[len(batch) :]))
    return flat.map(itemgetter(evenly(len(flat.mask), TELLING)))


def _posterior_of(fit: Fit) -> PosteriorMixture:
    assert fit.posterior is not None
    return fit.posterior


def _status(found: PosteriorMixture) -> Array:
    """Say for each decision whether the search arrived."""
    xp = namespace(found.weight)
    return xp.where(found.fell_back, int(Status.MODE), status_of(found.converged))
