"""What reported counts tell about true ones, from how they may be wrong."""

from typing import Any

from veritally.arrays import Array, is_jax
from veritally.errors import InputError
from veritally.likelihood.density import Counts, Replaced, WithinPercentage
from veritally.noise.errors import Percentage, Replacement


def true_counts(error: Any, counts: Array, low: float | None = None, high: float | None = None) -> Counts | None:
    """Return what reported counts tell, if they have this error; None if they are exact.

    True counts are taken to have been equally likely from ``low`` to ``high``, by default the range of the counts.
    """
    if error is None:
        return None
    if low is None or high is None:
        if is_jax(counts):
            raise InputError("in JAX a count error needs the range of true counts")
        seen = counts[counts > 0]
        whole = bool((seen % 1 == 0).all())
        low, high = (float(seen.min()), float(seen.max())) if seen.size else (1.0, 1.0)
    else:
        whole = low % 1 == 0 and high % 1 == 0
    if isinstance(error, Percentage):
        return WithinPercentage(error.size, low, high, whole)
    if isinstance(error, Replacement):
        return Replaced(error.probability, low, high, whole)
    raise InputError("the likelihood knows percentage and replacement errors of counts; give one of these")
