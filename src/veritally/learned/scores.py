"""From what networks say to scores and probabilities."""

from veritally.arrays import Array, namespace
from veritally.learned.layers import mean_over

_ROUNDINGS = 256  # of the largest score, and of 1, by which equal ones may differ


def softmax(logits: Array) -> Array:
    """Return probabilities; 0 for −inf, also where there is nothing else."""
    xp = namespace(logits)
    highest = xp.max(logits, axis=-1, keepdims=True)
    odds = xp.exp(logits - xp.where(xp.isinf(highest), 0, highest))
    whole = xp.sum(odds, axis=-1, keepdims=True)
    return odds / xp.where(whole > 0, whole, 1)


def centred(scores: Array, known: Array) -> Array:
    """Measure logits from their mean; −inf for what is not known."""
    xp = namespace(scores)
    return xp.where(known, scores - mean_over(scores[..., None], known)[..., 0], -xp.inf)


def rounded(scores: Array, unit: float) -> tuple[Array, Array]:
    """Return scores with how far rounding may have driven them."""
    xp = namespace(scores)
    known = scores > -xp.inf
    largest = xp.max(xp.where(known, xp.abs(scores), 0), axis=-1, keepdims=True)
    near = xp.broadcast_to(unit * _ROUNDINGS * (1 + largest), scores.shape)
    return scores, xp.where(known, near, 0)
