"""What is found at several values of a parameter of the panel, put together by how probable they are."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Literal, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.propagation import Moments

Source: TypeAlias = Literal["each decision", "all decisions", "other decisions"]
"""What the parameter is estimated from: each decision for itself, all of them together, or others, as given before."""

NEGLIGIBLE = 2e-3  # probability of a value that is left out


def probabilities(parts: Sequence[PosteriorMixture], prior: Sequence[float], source: Source) -> tuple[Array, Array]:
    """Return the probability of each value of a parameter, ``(value, ...)``, and the log-evidence of decisions.

    If it is estimated from all decisions together, the evidence of all is shared out equally.
    """
    from scipy.special import logsumexp, softmax

    evidence = np.stack([np.asarray(part.log_evidence) for part in parts])
    evidence = np.where(np.isfinite(evidence), evidence, -np.inf)
    logs = np.broadcast_to(np.log(np.reshape(prior, (-1, *[1] * (evidence.ndim - 1)))), evidence.shape)
    if source == "other decisions":
        return np.exp(logs), np.asarray(logsumexp(evidence + logs, axis=0))
    decisions = tuple(range(1, evidence.ndim)) if source == "all decisions" else ()
    whole = logs + np.sum(evidence, axis=decisions, keepdims=True)
    found = np.asarray(logsumexp(whole, axis=0))
    shares = int(np.prod([evidence.shape[axis] for axis in decisions]))
    return np.asarray(softmax(np.where(np.isfinite(found), whole, logs), axis=0)), found / shares


def blended(parts: Sequence[PosteriorMixture], prior: Sequence[float], source: Source) -> PosteriorMixture:
    """Put posteriors at several values of a parameter together, by the probabilities of these."""
    weight, log_evidence = probabilities(parts, prior, source)
    weight = np.where(weight < NEGLIGIBLE, 0, weight)
    weight = weight / np.sum(weight, axis=0)
    kept = [_notable(part, own) for part, own in zip(parts, weight, strict=True)]
    parts, weight = [part for part in kept if len(part.weight)], weight[[len(part.weight) > 0 for part in kept]]

    def average(arrays: list[Array]) -> Array:
        whole = np.stack(arrays)
        return np.sum(np.reshape(weight, (*weight.shape, *[1] * (whole.ndim - weight.ndim))) * whole, axis=0)

    several = zip(*(part.moments for part in parts), strict=True)
    return PosteriorMixture(
        np.concatenate([part.weight for part in parts]),
        np.concatenate([part.sigma for part in parts]),
        np.concatenate([part.tau for part in parts]),
        Moments(*(None if any(x is None for x in own) else np.concatenate(own) for own in several)),
        log_evidence,
        average([part.freedom for part in parts]) if np.isfinite(parts[0].freedom).all() else parts[0].freedom,
        np.full(parts[0].number.shape, sum(len(part.weight) for part in parts)),
        _blended_scale([np.log(part.scale) for part in parts], average),
        average([part.p_noise for part in parts]),
        parts[0].means,
        np.concatenate([part.strength for part in parts]),
        np.concatenate([part.leniency for part in parts]),
    )


def _blended_scale(logs: list[Array], average: Callable[[list[Array]], Array]) -> Array:
    """Return σ/τ with the ends of its interval, ``(..., 3)``, which is wider where values of the parameter disagree."""
    middle = average([log[..., 0] for log in logs])
    low, high = (
        np.sqrt(average([(log[..., end] - log[..., 0]) ** 2 + (log[..., 0] - middle) ** 2 for log in logs]))
        for end in (1, 2)
    )
    return np.asarray(np.exp(np.stack([middle, middle - low, middle + high], axis=-1)))


def _notable(part: PosteriorMixture, weight: Array) -> PosteriorMixture:
    """Return what was found at one value of the parameter, with its probability, ``(...)``, less what has none."""
    part = part._replace(weight=weight * part.weight)
    return part.changed(itemgetter(np.any(part.weight > 0, axis=tuple(range(1, part.weight.ndim)))))
