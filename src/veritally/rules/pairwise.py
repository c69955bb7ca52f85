"""Rules that compare pairs of alternatives: the paper's Cases 3 and 4."""

import math
from dataclasses import dataclass

from veritally.arrays import Array, by_alternative, log_ndtr, namespace, while_loop
from veritally.rules.rule import Encoding, Sigma
from veritally.votes.ballots import Ballots
from veritally.votes.pairs import Pairs


@dataclass(frozen=True)
class Pairwise:
    """Every pair a voter compared, weighed by how well the voter can tell the two apart.

    The gradient at V = 0 of the likelihood of the rankings, if a voter's comparisons of different pairs were
    independent (Case 4, equation 1), which for more than two alternatives they are not. For two alternatives it is
    the exact gradient, whose sign is that of the maximum-likelihood difference (Case 3).

        w_ij = Σ_k ±1 / √(s_ij² + s_ik²),    s_ij² = σ_j² / c_ij,    + where the voter puts j above k

    which is the paper's √(c_ij c_ik / (σ_k² c_ij + σ_j² c_ik)). The norms are the same sums without the signs;
    ``pairwise-normalized`` divides by them, so that being seen often is no merit by itself.

    Tied alternatives and pairs of which one is unseen add nothing to the weights; ties do add to the norms. Votes that
    are pairs are weighed as they are, each comparison as one observation of both.

    References
    ----------
    Pitis & Zhang (2020), Cases 3 and 4.

    Examples
    --------
    One voter saw the best alternative once and the others twenty times. Unnormalised, the second best wins:

    >>> import veritally as vt
    >>> profile = vt.Profile(ranks=[[1, 2, 3]], counts=[[1, 20, 20]])
    >>> vt.decide(profile, rule="pairwise").scores.round(3)
    array([ 1.952,  2.186, -4.138])
    >>> vt.decide(profile, rule="pairwise-normalized").scores.round(3)
    array([ 1.   ,  0.528, -1.   ])
    """

    sigma: Sigma = 1.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        if isinstance(ballots, Pairs):
            square = xp.broadcast_to(xp.asarray(self.sigma, dtype=ballots.votes.dtype) ** 2, ballots.votes.shape[-1:])
            power = ballots.votes / xp.sqrt(square[:, None] + square)
            won, lost = xp.sum(power, axis=-1), xp.sum(power, axis=-2)
            return Encoding(won - lost, won + lost)

        def kernel(variance: Array, rank: Array) -> tuple[Array, Array]:
            weight = norm = xp.zeros_like(variance)
            weights, norms = [], []
            # Row by row of the triangle of pairs: what remains of `weight` belongs to the alternatives still to come.
            for j in range(variance.shape[0]):
                power = 1 / xp.sqrt(variance[j] + variance[j + 1 :])
                signed = power * xp.sign(rank[j + 1 :] - rank[j])
                weights.append(weight[0] + xp.sum(signed, axis=0))
                norms.append(norm[0] + xp.sum(power, axis=0))
                weight, norm = weight[1:] - signed, norm[1:] + power
            return xp.stack(weights), xp.stack(norms)

        return Encoding(*by_alternative(kernel, ballots.variances(self.sigma), ballots.votes))


def maximum_likelihood_difference(ballots: Ballots, sigma: Sigma = 1.0, steps: int = 500) -> Array:
    """Return the Δ = μ_2 − μ_1 under which the rankings of two alternatives are most probable.

    Voter i puts alternative 2 first with probability Φ(Δ/s_i), s_i² = σ_1²/c_i1 + σ_2²/c_i2. The log-likelihood
    Σ_i log Φ(±Δ/s_i) is concave (Case 3), so its maximum is found by Newton steps, halving the bracket where one
    leads out of it. Where all voters agree it grows without end and Δ is ±inf; without any comparison Δ is 0.

    Parameters
    ----------
    ballots
        Rankings of two alternatives.
    sigma
        The standard deviation of one observation, one number or one per alternative.
    steps
        The most Newton steps to take; a handful is the rule.

    Returns
    -------
    Array of shape ``(...)``, the batch axes.
    """
    xp = namespace(ballots.votes)
    ranks = ballots.votes
    # 1/s_i with the sign of the vote, so that the argument of Φ is z_i = slope_i · Δ; 0 for ties and unseen.
    slope = xp.sign(ranks[..., 0] - ranks[..., 1]) / xp.sqrt(xp.sum(ballots.variances(sigma), axis=-1))
    times = ballots.multiplicity
    up = xp.sum(xp.where(slope > 0, times * slope, 0), axis=-1)
    down = xp.sum(xp.where(slope < 0, -times * slope, 0), axis=-1)
    # Beyond these bounds even the bare gradient at 0 of one side cannot hold the other's quadratic tail.
    one = xp.ones_like(up)
    high = math.sqrt(2 / math.pi) * up / xp.where(down > 0, _squares(slope, times, -1), one)
    low = -math.sqrt(2 / math.pi) * down / xp.where(up > 0, _squares(slope, times, 1), one)
    finite = (up > 0) & (down > 0)

    def move(state: tuple[Array, ...]) -> tuple[Array, ...]:
        delta, low, high, _, turn = state
        z = slope * delta[..., None]
        mills, excess = _mills(z)
        gradient = xp.sum(times * slope * mills, axis=-1)
        curvature = xp.sum(times * slope**2 * mills * excess, axis=-1)
        low, high = xp.where(gradient > 0, delta, low), xp.where(gradient < 0, delta, high)
        newton = delta + gradient / xp.where(curvature > 0, curvature, one)
        inside = (curvature > 0) & (newton > low) & (newton < high)
        new = xp.where(gradient == 0, delta, xp.where(inside, newton, (low + high) / 2))
        return new, low, high, xp.abs(new - delta), turn + 1

    def unsettled(state: tuple[Array, ...]) -> Array:
        delta, _, _, change, turn = state
        tolerance = 4 * xp.finfo(delta.dtype).eps * xp.abs(delta)
        return (turn < steps) & xp.any(finite & (change > tolerance))

    start = (0 * one, low, high, one, xp.asarray(0))
    delta = while_loop(unsettled, move, start)[0]
    endless = xp.where(up > 0, xp.inf, xp.where(down > 0, -xp.inf, 0))
    return xp.where(finite, delta, endless)


def _mills(z: Array) -> tuple[Array, Array]:
    """Return λ = φ(z)/Φ(z) and z + λ, by their asymptotic series where subtracting would leave no digits."""
    xp = namespace(z)
    x = xp.where(z < -30, -z, 30)
    y = 1 / x**2
    excess = (1 - y * (2 - y * (10 - y * 74))) / x
    near = xp.where(z < -30, 0, z)
    mills = xp.exp(-(near**2) / 2 - log_ndtr(near)) / math.sqrt(2 * math.pi)
    return xp.where(z < -30, x + excess, mills), xp.where(z < -30, excess, near + mills)


def _squares(slope: Array, times: Array, sign: int) -> Array:
    """Σ_i multiplicity_i / s_i² over the voters on one side."""
    xp = namespace(slope)
    return xp.sum(xp.where(sign * slope > 0, times * slope**2, 0), axis=-1)
