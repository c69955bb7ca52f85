"""Rules from the exact likelihood that take one pass."""

import functools
import math
from dataclasses import dataclass

from veritally.arrays import Array, by_alternative, namespace, normal_scores, possible
from veritally.likelihood.votes import derivatives
from veritally.model.means import VoterMeans
from veritally.rules.sums import Encoder, Encoding, Sigma
from veritally.votes.ballots import Ballots


@dataclass(frozen=True)
class ExactScore(Encoder):
    """The gradient at V = 0 of the exact log-probability of each voter's vote.

        w_ij = ∂ log P(vote_i)/∂μ_j at equal truths;    for rankings E[x_ij | ballot_i]/s_ij²

    The first step towards the maximum likelihood, and close to it if noise dominates. Case 4 approximates this score by
    treating all pairs as independent. Ties stand for all their orders; what was seen and not ranked is below.

    References
    ----------
    ``docs/exact.md``; Pitis & Zhang (2020), Cases 4 and 5, whose approximations this replaces.

    Examples
    --------
    With equal counts, a place is worth the expected value of the largest, second, … of as many standard normal numbers:

    >>> import veritally as vt
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3]]), rule="score").scores.round(4)
    array([ 0.8463,  0.    , -0.8463])
    """

    sigma: Sigma = 1.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.counts)
        zero = xp.zeros(ballots.mask.shape, dtype=ballots.counts.dtype)
        return Encoding(derivatives(ballots, zero, VoterMeans(self.sigma)).gradient)


@dataclass(frozen=True)
class NormalScores(Encoder):
    """Expected normal order statistics by place, over the standard deviation of the voter's mean.

    With equal counts within a ballot, E[x_ij | ballot] = s z_rank. One step of scoring from 0, diagonal, gives

        μ̂_j = Σ_i z_rank(i, j)/s_ij / (1/τ² + Σ_i κ_i/s_ij²),    κ_i the mean of z² for the ballot's length

    Exact to first order if noise dominates and counts are equal within ballots; otherwise a heuristic between Case 4
    and its normalised form. Tied places share the mean of their z. Without τ, 1/τ² is left out.

    References
    ----------
    ``docs/exact.md``.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(ranks=[[1, 2, 3]]), rule="normal-scores", tau=1).scores.round(4)
    array([ 0.5728,  0.    , -0.5728])
    """

    sigma: Sigma = 1.0
    tau: float | None = 1.0

    @property
    def prior(self) -> float:
        """The precision of the truths."""
        return 0.0 if self.tau is None else self.tau**-2.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.counts)
        n = ballots.counts.shape[-1]
        sums, single, kappa = (xp.asarray(x, dtype=ballots.counts.dtype) for x in _tables(n))

        def kernel(rank: Array, variance: Array) -> tuple[Array, Array]:
            seen = rank > 0
            length = xp.sum(xp.astype(seen, xp.int32), axis=0)
            offset = length * (n + 1)
            squares = length * (length + 1) * (2 * length + 1) / 6
            if possible(xp.sum(rank**2, axis=0) != squares):  # which are those of ranks without ties
                size = sum((xp.astype(rank == own, rank.dtype) for own in rank), xp.zeros_like(rank))
                size = xp.where(seen, size, 1)
                last = xp.astype(xp.where(seen, rank + (size - 1) / 2, 0) + 0.25, xp.int32)
                before = xp.astype(xp.where(seen, rank - (size + 1) / 2, 0) + 0.25, xp.int32)
                share = (xp.take(sums, offset + last) - xp.take(sums, offset + before)) / size
            else:
                share = xp.take(single, offset + xp.astype(rank, xp.int32))
            weight = xp.where(seen, share / xp.sqrt(xp.where(seen, variance, 1)), 0)
            return weight, xp.where(seen, xp.take(kappa, length) / xp.where(seen, variance, 1), 0)

        return Encoding(*by_alternative(kernel, ballots.votes, ballots.variances(self.sigma)))


@functools.cache
def _tables(n: int) -> tuple[list[float], list[float], list[float]]:
    """Return running sums of the expected order statistics of each length, end to end, themselves, mean squares."""
    sums, single, squares = [0.0] * (n + 1), [0.0] * (n + 1), [0.0]
    for length in range(1, n + 1):
        z = normal_scores(length)
        running = [0.0]
        for value in z:
            running.append(running[-1] + value)
        sums += running + [running[-1]] * (n - length)
        single += [0.0, *z, *[0.0] * (n - length)]
        squares.append(math.fsum(value**2 for value in z) / length)
    return sums, single, squares
