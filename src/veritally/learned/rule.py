"""The paper's network with its weights, as a rule like any other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veritally.arrays import Array, namespace
from veritally.learned.deepsets import DeepSets
from veritally.learned.limits import Limits
from veritally.learned.models import Model, model
from veritally.learned.scores import centred, rounded, shared, softmax
from veritally.rules.rule import Encoding, Rule, Scores
from veritally.votes.ballots import Ballots


@dataclass(frozen=True)
class Learned:
    """The paper's network, trained on its high-variance condition or by a user.

        p_best = softmax(σ(Σ_i h(z_i)))

    where z_i are the counts and places of voter i, and the networks h and σ treat all alternatives alike. Good where it
    was trained; elsewhere the outcome says that it was not.

    Parameters
    ----------
    model
        The name of shipped weights, or a file that ``veritally train`` made.

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

    def rule(self) -> "LearnedRule":
        """Return the rule."""
        found = model(self.model, "deepsets")
        return learned_rule(found.deepsets, found)


def learned_rule(network: DeepSets, found: Model | None = None) -> "LearnedRule":
    """Make a rule of a network; its model, if it has one, knows what it was trained on."""
    return LearnedRule(network, "rankings", normalized=network.configuration.total == "mean", model=found)


@dataclass(frozen=True)
class LearnedRule(Rule):
    """A rule whose tally is decoded by a network; scores are logits of being the best, from their mean."""

    model: Model | None = None

    @property
    def network(self) -> DeepSets:
        """The network."""
        assert isinstance(self.encoder, DeepSets)
        return self.encoder

    def decode(self, tally: Encoding, mask: Array) -> Array:
        """Turn a tally into logits, −inf outside ``mask``."""
        xp = namespace(tally.weights)
        plain = super().decode(tally, mask)
        known = plain > -xp.inf
        return centred(self.network.decode(xp.where(known, plain, 0), known), known)

    def _scored(self, ballots: Ballots, add: Callable[[Array], Array], mask: Array) -> Scores:
        weights, norms = (x * ballots.multiplicity[..., None] for x in self.encode(ballots) if x is not None)
        scores = self.decode(Encoding(add(weights), add(norms)), mask)
        return rounded(scores, namespace(scores).finfo(scores.dtype).eps)

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds: what leaving the voter out takes away, and an even share of the rest."""
        return shared(self.scores(ballots), self.leave_one_out(ballots).scores, ballots)

    def p_best(self, ballots: Ballots) -> Array:
        """Return the probability that each alternative is the best, ``(..., alternative)``."""
        return softmax(self.scores(ballots))

    def odd(self, ballots: Ballots) -> Any:
        """Say in which decisions something lies outside of what was trained on."""
        return self._limits.crossed(ballots)

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Name what lies outside of what was trained on."""
        return self._limits.remarks(ballots)

    @property
    def _limits(self) -> Limits:
        assert self.model is not None
        return self.model.limits
