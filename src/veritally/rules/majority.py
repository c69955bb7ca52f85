"""Majority: two alternatives, the paper's Case 3."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veritally.arrays import Array, in_double, is_traced, namespace
from veritally.rules.mle import MaximumLikelihood
from veritally.rules.pairwise import Pairwise
from veritally.rules.protocol import Fit, Rule, Status, status_of
from veritally.rules.sums import Sigma, SumRule
from veritally.votes.ballots import Ballots

_EXACT = 1e-9  # standard deviations that the last step may have
_UNANIMOUS = f"{Status.UNBOUNDED.message}: all voters agree, so the maximum-likelihood difference is infinite"


@dataclass(frozen=True)
class Majority(Rule):
    """The weighted majority on two alternatives, with the maximum-likelihood difference between them.

    Voter i puts alternative 2 first with probability Φ(Δ/s_i), s_i² = σ_1²/c_i1 + σ_2²/c_i2 (Case 3). The scores are
    those of ``pairwise``, whose sign is that of the most probable Δ = μ_2 − μ_1, and Δ itself is the detail ``delta``.
    If all voters agree, the likelihood has no finite maximum and Δ is ±inf; without any comparison Δ is 0.

        score_j = Σ_i ±1/s_i, + where voter i puts j first;    Δ the maximum of Σ_i log Φ(±Δ/s_i)

    References
    ----------
    Pitis & Zhang (2020), Case 3.

    Examples
    --------
    >>> import veritally as vt
    >>> outcome = vt.decide(vt.Profile(ranks=[[1, 2], [2, 1], [1, 2]]), rule="majority")
    >>> outcome.winner, round(float(outcome.details["delta"]), 4)  # −√2 Φ⁻¹(2/3)
    (0, -0.6091)
    """

    sigma: Sigma = 1.0

    votes = "rankings"
    alternatives = 2
    one_pass: ClassVar[bool] = True

    @property
    def _sum(self) -> SumRule:
        return SumRule(Pairwise(self.sigma), self.votes, self.alternatives)

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say."""
        delta, converged = self._difference(ballots)
        xp = namespace(delta)
        status = xp.where(xp.isinf(delta), int(Status.UNBOUNDED), status_of(converged))
        warnings = {} if is_traced(delta) else dict.fromkeys(np.flatnonzero(np.isinf(delta)).tolist(), (_UNANIMOUS,))
        return self._sum.fit(ballots)._replace(details={"delta": delta}, status=status, warnings=warnings)

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone."""
        return self._sum.scores(ballots)

    def contributions(self, ballots: Ballots, fit: Fit, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``."""
        return self._sum.contributions(ballots, fit, origin)

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn."""
        return self._sum.leave_one_out(ballots, fit)

    def difference(self, ballots: Ballots) -> Array:
        """Return the Δ under which the rankings are most probable, ``(...)``."""
        return self._difference(ballots)[0]

    def _difference(self, ballots: Ballots) -> tuple[Array, Array]:
        """Return Δ, and whether it was found; in double precision wherever there is one."""
        self.require(ballots)
        xp = namespace(ballots.counts)
        found = MaximumLikelihood(self.sigma).peak(ballots.map(in_double), _EXACT)
        above = ballots.above()
        up, down = above[..., 1, 0], above[..., 0, 1]  # somebody puts the second, or the first, above the other
        endless = xp.where(up, xp.inf, xp.where(down, -xp.inf, 0))
        delta = xp.where(up & down, found.truth[..., 1] - found.truth[..., 0], endless)
        return xp.astype(delta, ballots.counts.dtype), found.converged | ~(up & down)
