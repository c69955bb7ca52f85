"""Rules for cardinal votes: the paper's Cases 1 and 2."""

from dataclasses import dataclass

from veritally.arrays import namespace
from veritally.rules.sums import Encoder, Encoding, Sigma
from veritally.votes.ballots import Ballots


@dataclass(frozen=True)
class Mean(Encoder):
    """Count-weighted mean of the voters' values.

    The maximum-likelihood estimate of the truth when voters report the means of normal observations (Case 1, the
    "oracle"): each value x_ij is weighed by c_ij, so inversely to its variance σ_j²/c_ij. σ_j is the same for all
    voters and cancels.

        score_j = Σ_i c_ij x_ij / Σ_i c_ij

    Blanks and zero counts add nothing; an alternative without any value has no score.

    References
    ----------
    Pitis & Zhang (2020), Case 1.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(values=[[1.0, 0.0], [4.0, 3.0]], counts=[[2, 1], [1, 2]]), rule="mean").scores
    array([2., 2.])
    """

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        blank = xp.isnan(ballots.votes)
        counts = xp.where(blank, 0, ballots.counts)
        return Encoding(counts * xp.where(blank, 0, ballots.votes), counts)


@dataclass(frozen=True)
class Difference(Encoder):
    """Inverse-variance weighted mean of the voters' differences between two alternatives.

    The maximum-likelihood estimate of Δ = μ_2 − μ_1 when voters report y_i = x_i2 − x_i1 (Case 2; the paper prints
    c_i2 − c_i1).

        w_i = c_i1 c_i2 / (σ_2² c_i1 + σ_1² c_i2),    Δ = Σ_i w_i y_i / Σ_i w_i

    The scores are −Δ/2 and Δ/2. A voter who has not seen both alternatives adds nothing.

    References
    ----------
    Pitis & Zhang (2020), Case 2.

    Examples
    --------
    >>> import veritally as vt
    >>> vt.decide(vt.Profile(differences=[3.0, -1.0], counts=[[2, 2], [1, 1]]), rule="difference").scores
    array([-0.83333333,  0.83333333])
    """

    sigma: Sigma = 1.0

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter."""
        xp = namespace(ballots.votes)
        blank = xp.isnan(ballots.votes)
        precision = xp.where(blank, 0, 1 / xp.sum(ballots.variances(self.sigma), axis=-1))
        half = precision * xp.where(blank, 0, ballots.votes) / 2
        return Encoding(xp.stack([-half, half], axis=-1), xp.stack([precision, precision], axis=-1))
