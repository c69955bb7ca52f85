"""Means of what comes of decisions, and of how much more that is than another's, with standard errors."""

from typing import Any

import numpy as np
from rows import Row
from shared_errors import Belief

from veritally.experiments.measures import ClusteredMeasures

_LEAST = 1e-3  # of a probability whose logarithm is taken


def mean(name: str, measured: np.ndarray, clusters: Any = None) -> Row:
    """Return a mean with its standard error, by clusters where there are such."""
    every = np.arange(len(measured)) if clusters is None else clusters
    error = ClusteredMeasures.of(measured[None, None], list(every)).errors[0, 0]
    return {name: float(np.mean(measured)), f"{name}_se": float(error)}


def judged(belief: Belief, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Return what comes of each decision; only the regret where nothing is said of P(best)."""
    every, best = np.arange(len(truth)), np.nanargmax(truth, axis=-1)
    found = {"regret": truth[every, best] - truth[every, belief.winner]}
    if np.all(np.isnan(belief.p_best)):
        return found
    said, right = belief.p_best[every, belief.winner], (belief.winner == best).astype(float)
    loss = -np.log(np.maximum(belief.p_best[every, best], _LEAST))
    return found | {"loss": loss, "said": said, "right": right, "gap": said - right}


def beside(own: dict[str, np.ndarray], other: dict[str, np.ndarray], clusters: Any = None) -> Row:
    """Return by how much regret and loss are more than another's, paired."""
    both = [name for name in ("regret", "loss") if name in own and name in other]
    return {key: x for name in both for key, x in mean(name, own[name] - other[name], clusters).items()}


def means(own: dict[str, np.ndarray], clusters: Any = None) -> Row:
    """Return all means."""
    return {key: x for name, measured in own.items() for key, x in mean(name, measured, clusters).items()}
