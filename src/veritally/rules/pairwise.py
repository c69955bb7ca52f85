"""Rules that compare pairs of alternatives: the paper's Cases 3 and 4."""

from dataclasses import dataclass

from veritally.arrays import Array, by_alternative, namespace
from veritally.rules.sums import Encoder, Encoding, Sigma
from veritally.votes.ballots import Ballots
from veritally.votes.pairs import Pairs


@dataclass(frozen=True)
class Pairwise(Encoder):
    """Every pair a voter compared, weighed by how well the voter can tell the two apart.

    The gradient at V = 0 of the likelihood of the rankings, if a voter's comparisons of different pairs were
    independent (Case 4, equation 1), which for more than two alternatives they are not. For two alternatives it is
    the exact gradient, whose sign is that of the maximum-likelihood difference (Case 3).

        w_ij = Σ_k ±1 / √(s_ij² + s_ik²),    s_ij² = σ_j² / c_ij,    + where the voter puts j above k

    which is the paper's √(c_ij c_ik / (σ_k² c_ij + σ_j² c_ik)). The norms are the same sums without the signs;
    ``pairwise-normalized`` divides by them, so that being seen often is not an advantage by itself.

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
