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
        The kind of votes that the rule takes; finer votes are coarsened to it. None: any kind, without coarsening.
    summary
        What the rule does, in a line.
    uses_counts
        Whether the size of the counts matters, not only what was seen.
    stochastic
        Whether the rule draws random numbers, from a seed.
    cost
        How the cost grows with m voters and n alternatives.
    reference
        Where the rule comes from. :func:`veritally.cite` finds works in it by author and year.
    parameters
        The parameters that :func:`veritally.decide` takes for the rule.
    alternatives
        The number of alternatives that the rule is made for; None for any.
    from_top
        Whether the rule also takes favourites, as rankings in which all others are tied.
    from_pairs
        Whether the rule takes pairs as they are.
    implementation
        The class behind the rule: the encoder of a sum, or a rule.
    preset
        Default values of parameters.
    model_based
        Whether the rule uses a model of the votes, with noise σ and truths of spread τ.
    instance
        The rule itself, if it was given as an object.
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
        """Names of the parameters that can be given; none for a rule given as an object, which has its own."""
        if self.instance is not None:
            return ()
        hidden = self._internal | set(dict(self.preset))
        return tuple(field.name for field in _fields(self.implementation) if field.name not in hidden)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters that must be given."""
        own = () if self.instance is not None else _fields(self.implementation)
        return tuple(field.name for field in own if field.default is MISSING and field.default_factory is MISSING)

    @property
    def _internal(self) -> frozenset[str]:
        return self.implementation.internal if issubclass(self.implementation, Rule) else frozenset()

    def require(self, parameters: Iterable[str]) -> None:
        """Refuse parameters that the rule does not take, and name those that it takes."""
        for name in parameters:
            if self.instance is not None:
                raise InputError(f"{self.name} is given as an object; set {name} when you make it")
            if name not in self.parameters:
                takes = f"it takes {', '.join(self.parameters)}" if self.parameters else "it takes none"
                raise InputError(f"the rule {self.name} has no parameter {name}; {takes}")

    @property
    def taken(self) -> str:
        """The votes that the rule takes, in words."""
        if self.votes is None:
            return "any votes"
        if self.from_top or self.from_pairs:
            return f"{self.votes} or {'top' if self.from_top else 'pairs'}"
        return self.votes if self.alternatives is None else f"{self.votes} of {self.alternatives} alternatives"

    @property
    def iterative(self) -> bool:
        """Whether the rule goes over the votes until it converges, instead of once."""
        return issubclass(self.implementation, Rule) and not self.implementation.one_pass

    def make(self, **parameters: Any) -> Rule:
        """Make the rule with these parameters."""
        if self.instance is not None:
            return self.instance
        self.require(set(parameters) - self._internal)
        if missing := [name for name in self.required if name not in parameters]:
            raise InputError(f"the rule {self.name} needs {' and '.join(missing)}; there is no default")
        made = self.implementation(**{**dict(self.preset), **parameters})
        if isinstance(made, Rule):
            return made
        return SumRule(made, self.votes, self.alternatives, self.normalized, self.weight)

    def takes(self, profile: Profile) -> bool:
        """Whether the rule can use these votes, coarsened if needed."""
        return self.fits(profile.kind, profile.shape[-1])

    def fits(self, kind: Kind, alternatives: int) -> bool:
        """Whether the rule can use votes of this kind on this number of alternatives, coarsened if needed."""
        if self.alternatives not in (None, alternatives):
            return False
        if self.votes == "differences" and kind in ("pairs", "values"):
            return alternatives == 2
        if self.votes is None or (self.from_top and kind == "top"):
            return True
        return KINDS.index(kind) <= KINDS.index(self.votes)

    def on(self, kind: Kind) -> "RuleInfo":
        """Return the rule in the form that takes votes of this kind."""
        return replace(self, votes="pairs") if self.from_pairs and kind == "pairs" else self

    def __repr__(self) -> str:
        return f"RuleInfo({self.name}: {self.summary})"


def _fields(implementation: type[Encoder] | type[Rule]) -> tuple[Field[Any], ...]:
    """Return the parameters of a class; none if it is not a dataclass."""
    return fields(implementation) if is_dataclass(implementation) else ()
