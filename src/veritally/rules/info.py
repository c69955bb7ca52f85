"""RuleInfo: what there is to know about a rule before using it."""

from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from typing import Any

from veritally.errors import InputError
from veritally.rules.protocol import Rule
from veritally.rules.sums import Encoder, SumRule, VoterWeight
from veritally.votes.ballots import Kind
from veritally.votes.kinds import KINDS
from veritally.votes.profile import Profile

PAPER = "Pitis & Zhang (2020)"


@dataclass(frozen=True)
class RuleInfo:
    """What there is to know about a rule before using it.

    Attributes
    ----------
    name, aliases
        The canonical name, and the paper's labels for it, which work wherever the name does.
    votes
        The kind of votes it takes; finer ones are coarsened to it. None for any, as they are.
    summary
        What it does, in a line.
    uses_counts
        Whether the counts matter, beyond saying what was seen.
    stochastic
        Whether chance enters, by a seed.
    cost
        Growth with m voters and n alternatives.
    reference
        Where it comes from; works that :func:`veritally.cite` knows by author and year.
    parameters
        What :func:`veritally.decide` takes for it.
    alternatives
        The number of alternatives it is made for; None for any.
    from_top
        Whether it takes favourites too, as rankings in which all others are tied.
    from_pairs
        Whether it takes pairs as they are.
    implementation
        What it is made of: the encoder of a sum, or a rule.
    preset
        Parameters that are set unless a user says otherwise.
    model_based
        Whether it goes by a model of the votes: noise σ beside truths of spread τ.
    instance
        The rule itself, where a user gave one.
    """

    name: str
    votes: Kind | None
    summary: str
    implementation: type[Encoder] | type[Rule]
    aliases: tuple[str, ...] = ()
    uses_counts: bool = True
    stochastic: bool = False
    cost: str = "mn"
    reference: str = PAPER
    alternatives: int | None = None
    normalized: bool = False
    weight: VoterWeight | None = None
    from_top: bool = False
    from_pairs: bool = False
    preset: tuple[tuple[str, Any], ...] = ()
    model_based: bool = False
    instance: Rule | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what a user can give the rule; what is given as an object has its own already."""
        if self.instance is not None:
            return ()
        hidden = self._internal | set(dict(self.preset))
        return tuple(field.name for field in _fields(self.implementation) if field.name not in hidden)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of what a user must give the rule."""
        own = () if self.instance is not None else _fields(self.implementation)
        return tuple(field.name for field in own if field.default is MISSING and field.default_factory is MISSING)

    @property
    def _internal(self) -> frozenset[str]:
        return self.implementation.internal if issubclass(self.implementation, Rule) else frozenset()

    def require(self, parameters: Iterable[str]) -> None:
        """Refuse parameters that the rule does not take, and say which it does."""
        for name in parameters:
            if self.instance is not None:
                raise InputError(f"{self.name} is given as an object; set {name} there, where it is made")
            if name not in self.parameters:
                takes = f"it takes {', '.join(self.parameters)}" if self.parameters else "it takes none"
                raise InputError(f"the rule {self.name} has no parameter {name}; {takes}")

    @property
    def taken(self) -> str:
        """What votes it takes, in words."""
        if self.votes is None:
            return "any votes"
        if self.from_top or self.from_pairs:
            return f"{self.votes} or {'top' if self.from_top else 'pairs'}"
        return self.votes if self.alternatives is None else f"{self.votes} of {self.alternatives} alternatives"

    @property
    def iterative(self) -> bool:
        """Whether it goes over the votes until it has arrived, instead of once."""
        return issubclass(self.implementation, Rule) and not self.implementation.one_pass

    def make(self, **parameters: Any) -> Rule:
        """Make the rule with these parameters."""
        if self.instance is not None:
            return self.instance
        self.require(set(parameters) - self._internal)
        if missing := [name for name in self.required if name not in parameters]:
            raise InputError(f"the rule {self.name} needs {' and '.join(missing)}, for which it has no default")
        made = self.implementation(**{**dict(self.preset), **parameters})
        if isinstance(made, Rule):
            return made
        return SumRule(made, self.votes, self.alternatives, self.normalized, self.weight)

    def takes(self, profile: Profile) -> bool:
        """Whether the rule can use these votes, coarsened if need be."""
        return self.fits(profile.kind, profile.shape[-1])

    def fits(self, kind: Kind, alternatives: int) -> bool:
        """Whether the rule can use votes of this kind on so many alternatives, coarsened if need be."""
        if self.alternatives not in (None, alternatives):
            return False
        if self.votes == "differences" and kind in ("pairs", "values"):
            return alternatives == 2
        if self.votes is None or (self.from_top and kind == "top"):
            return True
        return KINDS.index(kind) <= KINDS.index(self.votes)

    def on(self, kind: Kind) -> "RuleInfo":
        """Return the rule as it takes votes of this kind."""
        return replace(self, votes="pairs") if self.from_pairs and kind == "pairs" else self

    def __repr__(self) -> str:
        return f"RuleInfo({self.name}: {self.summary})"


def _fields(implementation: type[Encoder] | type[Rule]) -> tuple[Field[Any], ...]:
    """Return the parameters of a class; none of one that is no dataclass."""
    return fields(implementation) if is_dataclass(implementation) else ()
