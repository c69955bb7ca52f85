"""The exact density of votes that are numbers: values and differences."""

from veritally.arrays import Array, namespace
from veritally.likelihood.rankings import Derivatives
from veritally.model.means import Spread, VoterMeans
from veritally.votes.differences import Differences
from veritally.votes.values import Values


def value_derivatives(ballots: Values, truth: Array, means: VoterMeans, order: int) -> Derivatives:
    """Densities of values; what was seen and left blank lies below all that has a value.

    With leniency, a constant of the voter's own that is added to all values, these have a variance in common.
    """
    votes, counts, spread = ballots.votes, ballots.counts, means.spread(ballots.counts)
    xp = namespace(votes, truth)
    given = ~xp.isnan(votes) & (counts > 0)
    z = xp.where(given, votes, 0) - truth[..., None, :]
    own = Spread(*(None if x is None else xp.where(given, x, 1) for x in spread))
    log, score, bend = own.derivatives(z)
    log, score, bend = (xp.where(given, x, 0) for x in (log, score, bend))
    blank = (counts > 0) & ~given & xp.any(given, axis=-1, keepdims=True)
    lowest = xp.min(xp.where(given, votes, xp.inf), axis=-1, keepdims=True)
    z = xp.where(blank, lowest, 0) - truth[..., None, :]
    own = Spread(*(None if x is None else xp.where(blank, x, 1) for x in spread))
    under = own.under(xp.where(blank, z, 0))
    log, score, bend = (x + xp.where(blank, y, 0) for x, y in zip((log, score, bend), under, strict=True))
    second = bend[..., None] * xp.eye(votes.shape[-1], dtype=bend.dtype) if order > 1 else None
    log_prob = xp.sum(log, axis=-1)
    if not isinstance(means.leniency, float) or means.leniency > 0:
        leniency = xp.asarray(means.leniency, dtype=votes.dtype)[..., None]
        precision = xp.where(given, spread.precision, 0)
        pull, whole = xp.sum(xp.where(given, score, 0), axis=-1), xp.sum(precision, axis=-1)
        share = leniency / (1 + leniency * whole)  # the variance of the constant, given the truths and the values
        log_prob = log_prob + (share * pull**2 - xp.log1p(leniency * whole)) / 2
        score = score - precision * (share * pull)[..., None]
        if second is not None:
            second = second + share[..., None, None] * precision[..., None] * precision[..., None, :]
    return Derivatives(log_prob, score if order else None, second)


def difference_derivatives(ballots: Differences, truth: Array, means: VoterMeans, order: int) -> Derivatives:
    """Densities of differences of the first two alternatives."""
    votes, given = ballots.votes, ballots.given
    xp = namespace(votes, truth)
    spread = means.spread(ballots.counts)
    z = xp.where(given, votes, 0) - (truth[..., 1] - truth[..., 0])[..., None]
    squares = xp.where(given[..., None], spread.deviations[..., :2], 1) ** 2
    # Each component of the one with each of the other.
    both = (squares[:, None, ..., 0] + squares[None, ..., 1]).reshape(-1, *squares.shape[1:-1])
    weights = None
    if spread.weights is not None:
        weights = (spread.weights[:, None, ..., 0] * spread.weights[None, ..., 1]).reshape(both.shape)
    log, score, bend = Spread(xp.sqrt(both), weights).derivatives(z)
    log, score, bend = (xp.where(given, x, 0) for x in (log, score, bend))
    sign = xp.asarray([-1.0, 1.0] + [0.0] * (truth.shape[-1] - 2), dtype=bend.dtype)  # of each alternative
    gradient = score[..., None] * sign if order else None
    return Derivatives(log, gradient, bend[..., None, None] * sign[:, None] * sign if order > 1 else None)
