"""Leniency: voters who are harsh or lenient with all their values."""

from typing import Any

import numpy as np

from veritally.arrays import Array, is_jax
from veritally.inference.linear import inverse, multiply
from veritally.inference.mixture import PosteriorMixture
from veritally.votes.ballots import Ballots
from veritally.votes.values import Values

_CHANCE = 0.005  # of a remark on levels that differ by chance, in all decisions together
_MOST_VOTERS = 300  # whose levels are compared
_REMARK = (
    "voters' values differ in level by more than noise explains, and this is counted as noise: to correct for harsh "
    "and lenient voters, set leniency to estimated"
)


def to_be_found(ballots: Ballots, everywhere: bool) -> Array:
    """Say in which decisions voters' leniency is to be found out, ``(...)``.

    Where not ``everywhere``, those in which voters gave values to different alternatives. A blank that stands below all
    values tells nothing of leniency that could be used.
    """
    values = ballots.part(Values)
    if values is None or is_jax(ballots.counts):
        return np.zeros(ballots.mask.shape[:-1], dtype=bool)
    sound = ~np.any(values.blank, axis=(-2, -1)) & np.any(_given(values), axis=(-2, -1))
    return sound if everywhere else np.asarray(sound & ~_same_alternatives(values))


def warnings(ballots: Ballots) -> dict[int, tuple[str, ...]]:
    """Remark on decisions, by their places, in which all voters gave values to the same, on levels that differ."""
    values = ballots.part(Values)
    if values is None or is_jax(ballots.counts) or ballots.counts.shape[-2] > _MOST_VOTERS:
        return {}
    alike = _same_alternatives(values) & ~np.any(values.blank, axis=(-2, -1))
    if not alike.any():
        return {}
    differ = alike & (chance_of_levels(values) < _CHANCE / np.sum(alike))
    return {int(d): (_REMARK,) for d in np.flatnonzero(differ)}


def chance_of_levels(values: Values) -> Array:
    """Return the probability that voters' levels differ so much by chance, ``(...)``.

    By counts, and the same for all, whichever is larger: voters may differ by more than sampling error, too.
    """
    given = _given(values)
    return np.maximum(*(_f_test(values, np.where(given, weight, 0.0)) for weight in (values.counts, 1.0)))


def _f_test(values: Values, weight: Array) -> Array:
    """Return the same if the variance of a value is one over its weight.

    Of x_ij = μ_j + β_i + ε_ij, the squares that β explain, over their degrees of freedom, are compared with those that
    are left.
    """
    from scipy.special import fdtrc

    given = _given(values)
    column = np.sum(weight, axis=-2, keepdims=True)
    part = weight / np.where(column > 0, column, 1)
    x = np.where(given, values.votes, 0.0)
    rest = np.where(given, x - np.sum(part * x, axis=-2, keepdims=True), 0.0)
    squares = np.sum(weight * rest**2, axis=(-2, -1))
    # The normal equations of β, after the truths; one level is free.
    total = np.sum(weight, axis=-1)
    gram = total[..., None] * np.eye(weight.shape[-2]) - weight @ np.swapaxes(part, -1, -2)
    pull = np.sum(weight * rest, axis=-1)
    explained = np.sum(pull * (np.linalg.pinv(gram, hermitian=True) @ pull[..., None])[..., 0], axis=-1)
    voters, alternatives = np.sum(np.any(given, axis=-1), axis=-1), np.sum(np.any(given, axis=-2), axis=-1)
    levels, free = voters - 1, (voters - 1) * (alternatives - 1)
    left = np.maximum(squares - explained, 1e-12 * squares)
    ratio = (explained / np.maximum(levels, 1)) / np.where(left > 0, left / np.maximum(free, 1), np.inf)
    return np.where((levels > 0) & (free > 0), fdtrc(np.maximum(levels, 1), np.maximum(free, 1), ratio), 1.0)


def of_voters(ballots: Ballots, found: PosteriorMixture) -> tuple[Array, Array]:
    """Return how lenient each voter is, and the standard deviation of that, ``(voter,)`` each, of a single decision.

    Above 0 is one who gives too much. Given the truths, the constant is normal with the precision 1/v + Σ_j p_ij, where
    v is its variance and p_ij the precision of a value, and its mean is that of the pull Σ_j p_ij (x_ij − μ_j). What is
    not known of the truths adds to its variance, and so does what is not known of the scale.
    """
    values = ballots.part(Values)
    assert values is not None
    several = values.stacked(len(found.tau))
    given = several.given & (several.counts > 0)
    precision = np.where(given, found.model(several).means.spread(several.counts).precision, 0)
    rest = np.where(given, several.votes - found.moments.mean[..., None, :], 0)
    variance = found.leniency[..., None]
    share = variance / (1 + variance * np.sum(precision, axis=-1))
    mean = share * np.sum(precision * rest, axis=-1)
    truths = inverse(found.moments.precision)[..., None, :, :]
    unsure = np.sum(precision * multiply(truths, precision), axis=-1)
    square = share + share**2 * unsure + mean**2
    whole = np.asarray(found.average(mean))
    return whole, np.sqrt(np.maximum(np.asarray(found.average(square)) - whole**2, 0))


def _given(values: Values) -> Any:
    return values.given & (values.multiplicity > 0)[..., None]


def _same_alternatives(values: Values) -> Any:
    """Say in which decisions all who gave values gave them to the same, ``(...)``."""
    given = _given(values)
    anybody, somebody = np.any(given, axis=-2, keepdims=True), np.any(given, axis=-1, keepdims=True)
    return ~np.any(anybody & somebody & ~given, axis=(-2, -1))
