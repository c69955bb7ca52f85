"""The paper's network with its weights, as a rule like any other."""

from dataclasses import dataclass
from typing import ClassVar

from veritally.arrays import Array, is_traced, namespace
from veritally.learned.deepsets import DeepSets
from veritally.learned.limits import Limits
from veritally.learned.models import model
from veritally.learned.scores import centred, rounded, softmax
from veritally.rules.protocol import Fit, Rule, warnings_where
from veritally.rules.sums import Encoding, SumRule, Tally
from veritally.votes.ballots import Ballots


@dataclass(frozen=True)
class NetworkRule(Rule):
    """A sum that is decoded by a network; scores are logits of being the best, from their mean.

    Attributes
    ----------
    network
        The encoder of ballots, and the decoder of tallies.
    limits
        What it was trained on; None for a network that nobody asks yet.
    """

    network: DeepSets
    limits: Limits | None = None

    votes = "rankings"
    one_pass: ClassVar[bool] = True

    @property
    def _sum(self) -> SumRule:
        return SumRule(self.network, self.votes, normalized=self.network.configuration.total == "mean")

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say, and where they lie outside of what was trained on."""
        fit = self._fit_tally(self._sum.tally(ballots))
        limits = self.limits
        if limits is None or is_traced(fit.scores):
            return fit
        return fit._replace(warnings=warnings_where(limits.crossed(ballots), ballots, limits.warnings))

    def scores(self, ballots: Ballots) -> Array:
        """Return the logits alone."""
        return self._decode(self._sum.scores(ballots))

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn."""
        return self._fit_tally(self._sum.tally_without_each(ballots))

    def _fit_tally(self, tally: Tally) -> Fit:
        plain = self._sum.decode(Encoding(tally.weights, tally.norms), tally.seen > 0)
        xp = namespace(plain)
        scores, rounding = rounded(self._decode(plain), xp.finfo(plain.dtype).eps)
        return Fit.without_search(scores, rounding, p_best=softmax(scores))

    def _decode(self, plain: Array) -> Array:
        xp = namespace(plain)
        known = plain > -xp.inf
        return centred(self.network.decode(xp.where(known, plain, 0), known), known)


@dataclass(frozen=True)
class Learned(Rule):
    """The paper's network, trained on its high-variance condition or by a user.

        p_best = softmax(σ(Σ_i h(z_i)))

    where z_i are the counts and places of voter i, and the networks h and σ treat all alternatives alike. The network
    is good on votes like those it was trained on; on others the outcome warns.

    Parameters
    ----------
    model
        The name of shipped weights, or a file written by ``veritally train``.

    References
    ----------
    Pitis & Zhang (2020), Learning an Aggregation Rule; ``docs/learned.md``.

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(ranks=[[1, 2, 3, 4, 5]] * 5, counts=[[9, 9, 9, 9, 9]] * 5)
    >>> vt.decide(profile, rule="learned").winner
    0
    """

    model: str = "learned"

    votes = "rankings"
    one_pass: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self._network  # which refuses what is no model

    @property
    def _network(self) -> NetworkRule:
        found = model(self.model, "deepsets")
        return NetworkRule(found.deepsets, found.limits)

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say, and where they lie outside of what was trained on."""
        return self._network.fit(ballots)

    def scores(self, ballots: Ballots) -> Array:
        """Return the logits alone."""
        return self._network.scores(ballots)

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn."""
        return self._network.leave_one_out(ballots, fit)
