"""PosteriorMixture: what the truths of decisions may be, as normals, one for each value of the unknown scale."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.inference.linear import inverse
from veritally.inference.propagation import Moments, means_without, pulls
from veritally.model.means import VoterMeans
from veritally.model.model import Model
from veritally.votes.ballots import Ballots

_NOTABLE = 0.01  # probability of values of the scale that matter
_NEARLY = 0.03  # standard deviations that the mean may still move where a search ran out of turns


class PosteriorMixture(NamedTuple):
    """Normals with their weights, one for each of several values of the unknown scale, ``(value, ...)``.

    Attributes
    ----------
    weight
        Posterior probability of each value.
    sigma, tau
        σ ``(value, ..., alternative)`` and τ ``(value, ...)``.
    moments
        Mean and precision of the truths there, or those of Laplace's method, and what voters add.
    log_evidence
        Of the votes, ``(...)``, averaged over the scale.
    freedom
        Degrees of freedom that an estimate of σ by dispersion has, ``(...)``; infinite where σ has no such error.
    number
        How many of the values each decision has, ``(...)``; those beyond repeat the first, with no weight.
    scale
        σ/τ and the ends of its 95% interval, ``(..., 3)``; equal where it is known.
    p_noise
        The probability that the votes are nothing but noise, ``(...)``; 0 where that was not asked.
    means
        How voters' means spread, but for what differs from value to value.
    strength
        Of shared errors, ``(value, ...)``.
    leniency
        The variance of voters' leniency, ``(value, ...)``.
    """

    weight: Array
    sigma: Array
    tau: Array
    moments: Moments
    log_evidence: Array
    freedom: Array
    number: Array
    scale: Array
    p_noise: Array
    means: VoterMeans
    strength: Array
    leniency: Array

    def changed(
        self, each: Callable[[Array], Array], single: Callable[[Array], Array] = lambda x: x
    ) -> "PosteriorMixture":
        """Change all arrays: ``each`` those that have an axis of values, ``single`` the others."""

        def those_there(x: Array | None) -> Any:
            return None if x is None else each(x)

        xp = namespace(self.weight)
        known = self.moments._replace(fell_back=xp.broadcast_to(xp.asarray(self.moments.fell_back), self.weight.shape))
        return PosteriorMixture(
            each(self.weight),
            each(self.sigma),
            each(self.tau),
            Moments(*map(those_there, known)),
            single(self.log_evidence),
            single(self.freedom),
            single(self.number),
            single(self.scale),
            single(self.p_noise),
            self.means,
            each(self.strength),
            each(self.leniency),
        )

    def in_shape(self, batch: tuple[int, ...]) -> "PosteriorMixture":
        """Return the same with the decisions, along one axis, in the shape of a batch."""
        return self.changed(
            lambda x: x.reshape((len(x), *batch, *x.shape[2:])), lambda x: x.reshape((*batch, *x.shape[1:]))
        )

    def take(self, rows: Any) -> "PosteriorMixture":
        """Keep some decisions along the first batch axis."""
        return self.changed(lambda x: x[:, rows], itemgetter(rows))

    def model(self, ballots: Ballots) -> Model:
        """Return how votes come about, at each value; ``ballots`` are :meth:`Ballots.stacked` for them."""
        means = replace(self.means, sigma=self.sigma[..., None, :])
        return Model.of(ballots, self.tau, with_leniency(means, self.leniency), self.strength)

    def average(self, x: Array) -> Array:
        """Return the mean over the values of the scale."""
        xp = namespace(x)
        return xp.sum(self.weight.reshape(*self.weight.shape, *[1] * (x.ndim - self.weight.ndim)) * x, axis=0)

    @property
    def converged(self) -> Array:
        """Whether the mean over all values would hardly have moved any more, ``(...)``."""
        xp = namespace(self.weight)
        variance = xp.abs(xp.linalg.diagonal(inverse(self.moments.precision)))
        return xp.all(self.average(self.moments.missing) <= _NEARLY * xp.sqrt(self.average(variance)), axis=-1)

    @property
    def fell_back(self) -> Array:
        """Whether the mode stands in for the mean at values of the scale that matter, ``(...)``."""
        xp = namespace(self.weight)
        mark = xp.broadcast_to(xp.asarray(self.moments.fell_back), self.weight.shape)
        return xp.sum(xp.where(mark, self.weight, 0), axis=0) > _NOTABLE

    def decision(self, d: int, voters: int, alternatives: int) -> "PosteriorMixture":
        """Return what was found about one decision along the first batch axis, without its padding."""
        m, n, known = voters, alternatives, self.moments
        whole = int(self.number[d]) if np.ndim(self.number) == 1 else len(self.weight)
        at = (slice(whole), d)
        pull, without = (None if x is None else x[at][..., :m, :n] for x in (known.pull, known.without))
        missing, fell_back = known.missing[at][..., :n], np.broadcast_to(known.fell_back, self.weight.shape)[at]
        mean, precision = known.mean[at][..., :n], known.precision[at][..., :n, :n]
        own = Moments(mean, precision, pull, without, known.log_evidence[at], missing, fell_back)
        sigma = self.sigma[at][..., :n]
        single = self.log_evidence[d], self.freedom[d], self.number[d], self.scale[d], self.p_noise[d]
        panel = self.strength[at], self.leniency[at]
        return PosteriorMixture(self.weight[at], sigma, self.tau[at], own, *single, self.means, *panel)


class DecisionGroup(NamedTuple):
    """Decisions of a batch that are treated alike.

    What is found about a decision must not depend on what else is in the batch. So decisions whose votes are of another
    kind, or so many that another way is taken, go by themselves, in arrays no larger than they need.

    Attributes
    ----------
    places
        Where they stand in the flattened batch.
    ballots
        Theirs, ``(decision, voter, alternative)``.
    """

    places: Array
    ballots: Ballots


def grouped(ballots: Ballots, key: Array, cut: bool) -> list[DecisionGroup]:
    """Take decisions apart by a key, ``(...)``, with as many voters as the largest of a group has.

    With ``cut``, they also have only as many alternatives.
    """
    depth = ballots.mask.ndim - 1
    flat = ballots.map(lambda x: np.reshape(x, (-1, *x.shape[depth:])))
    groups = []
    for value in np.unique(key):
        places = np.flatnonzero(np.ravel(key) == value)
        own = flat.map(itemgetter(places))
        m, n = (1 + int(np.max(np.flatnonzero(x.any(axis=0)), initial=0)) for x in (own.multiplicity > 0, own.mask))
        groups.append(DecisionGroup(places, own.trimmed(m, max(n, 2) if cut else own.mask.shape[-1])))
    return groups


def joined(groups: Sequence[DecisionGroup], parts: Sequence[PosteriorMixture], ballots: Ballots) -> PosteriorMixture:
    """Put what was found about groups of decisions together, in the shape of all ``ballots``."""
    *batch, m, n = ballots.counts.shape
    values, decisions = max(len(part.weight) for part in parts), int(np.prod(batch))

    def put(arrays: list[Array], fill: Array | float, *shape: int, repeat: bool = True) -> Array:
        """Put arrays ``(value, decision, ...)`` in their places; missing values repeat the first, or stay filled."""
        whole = np.empty((values, decisions, *shape))
        whole[...] = fill
        for group, own in zip(groups, arrays, strict=True):
            sizes = tuple(slice(None, size) for size in own.shape[2:])
            for v in range(values if repeat else len(own)):
                whole[(v, group.places, *sizes)] = own[v if v < len(own) else 0]
        return whole.reshape(values, *batch, *shape)

    def put_single(arrays: list[Array]) -> Array:
        """Put arrays ``(decision, ...)`` in their places."""
        whole = np.empty((decisions, *arrays[0].shape[1:]), dtype=arrays[0].dtype)
        for group, own in zip(groups, arrays, strict=True):
            whole[group.places] = own
        return whole.reshape(*batch, *whole.shape[1:])

    known = [_with_voters(group, part) for group, part in zip(groups, parts, strict=True)]
    mean = put([x.mean for x in known], 0, n)
    sigma = put([part.sigma for part in parts], 1, n)
    moments = Moments(
        mean,
        put([x.precision for x in known], np.eye(n), n, n),
        put([x.pull for x in known], 0, m, n),
        put([x.without for x in known], mean.reshape(values, decisions, 1, n), m, n),
        put([x.log_evidence for x in known], 0),
        put([x.missing for x in known], 0, n),
        put([np.broadcast_to(x.fell_back, x.mean.shape[:-1]) for x in known], 0) > 0,
    )
    return PosteriorMixture(
        put([part.weight for part in parts], 0, repeat=False),
        sigma,
        put([part.tau for part in parts], 1),
        moments,
        put_single([part.log_evidence for part in parts]),
        put_single([part.freedom for part in parts]),
        put_single([part.number for part in parts]),
        put_single([part.scale for part in parts]),
        put_single([part.p_noise for part in parts]),
        parts[0].means,
        put([part.strength for part in parts], 0),
        put([part.leniency for part in parts], 0),
    )


def with_leniency(means: VoterMeans, leniency: Array) -> VoterMeans:
    """Return how voters' means spread if voters are lenient, with a variance; as it was where nobody is."""
    return replace(means, leniency=leniency) if not is_jax(leniency) and np.any(leniency > 0) else means


def _with_voters(group: DecisionGroup, part: PosteriorMixture) -> Moments:
    """Fill in what each voter adds, and the means without, where the mode stands for the mean."""
    several = group.ballots.stacked(len(part.tau))
    model = part.model(several)
    pull, without = pulls(several, model, part.moments), means_without(several, model, part.moments)
    return part.moments._replace(pull=pull, without=without)
