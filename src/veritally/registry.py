"""The one list of rules: name, aliases, votes taken, and how to make each."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Any

from veritally.errors import InputError, quoted
from veritally.learned.rule import Learned
from veritally.learned.universal import Universal
from veritally.rules.cardinal import Difference, Mean
from veritally.rules.exact import ExactScore, NormalScores
from veritally.rules.mle import MaximumLikelihood
from veritally.rules.pairwise import Pairwise, maximum_likelihood_difference
from veritally.rules.positional import EXPERIENCES, Borda, BordaSqrtCount, Plurality, Positional, Veto
from veritally.rules.posterior import Posterior
from veritally.rules.rule import Experience, Rule
from veritally.rules.top import TopGradient, TopLowerBound, TopMonteCarlo, TopZero
from veritally.votes.ballots import Kind
from veritally.votes.kinds import KINDS
from veritally.votes.profile import Profile

_PAPER = "Pitis & Zhang (2020)"
_EXACT = "Thurstone (1927); docs/exact.md"
_NETWORK = "Zaheer et al. (2017)"
_INTERNAL = {"votes", "count_range", "known", "between"}  # what a rule is told by whoever runs it, not by a user


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
    preset
        What the rule is told unless a user says otherwise.
    """

    name: str
    votes: Kind | None
    summary: str
    encoder: Any
    aliases: tuple[str, ...] = ()
    uses_counts: bool = True
    stochastic: bool = False
    cost: str = "mn"
    reference: str = _PAPER
    alternatives: int | None = None
    normalized: bool = False
    experience: Experience | None = None
    details: Callable[..., Mapping[str, Any]] | None = None
    from_top: bool = False
    from_pairs: bool = False
    preset: tuple[tuple[str, Any], ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what the rule can be told."""
        hidden = _INTERNAL | set(dict(self.preset))
        return tuple(field.name for field in fields(self.encoder) if field.name not in hidden)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of what the rule must be told."""
        return tuple(field.name for field in fields(self.encoder) if field.default is MISSING)

    def require(self, parameters: Iterable[str]) -> None:
        """Refuse parameters that the rule does not take, and say which it does."""
        for name in parameters:
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
        return hasattr(self.encoder, "scores")

    def make(self, **parameters: Any) -> Any:
        """Make the rule with these parameters."""
        self.require(set(parameters) - _INTERNAL)
        try:
            encoder = self.encoder(**{**dict(self.preset), **parameters})
        except TypeError as error:
            needed = " and ".join(self.parameters)
            raise InputError(f"the rule {self.name} needs {needed}, one number for each alternative") from error
        if self.iterative:
            return encoder
        if hasattr(encoder, "rule"):
            return encoder.rule()
        details = {} if self.details is None else {"details": partial(self.details, **parameters)}
        prior = getattr(encoder, "prior", 0.0)
        return Rule(encoder, self.votes, self.alternatives, self.normalized, self.experience, prior, **details)

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


def _delta(ballots: Any, sigma: Any = 1.0) -> Mapping[str, Any]:
    return {"delta": maximum_likelihood_difference(ballots, sigma)}


def _with_experience(family: str, votes: Kind, encoder: Callable[..., Any], also: str = "") -> tuple[RuleInfo, ...]:
    return tuple(
        RuleInfo(
            name=f"{family}+{name}",
            aliases=(f"{family}+",) if name == "arithmetic" else (),
            votes=votes,
            summary=f"{family} points times the voter's {name.replace('-', ' ')} mean count",
            encoder=encoder,
            experience=experience,
            reference=f"{_PAPER}, Experiments{also}",
        )
        for name, experience in EXPERIENCES.items()
    )


_RULES = (
    RuleInfo(
        name="posterior",
        votes=None,
        summary="the truths given the votes, exact, with how sure they are",
        encoder=Posterior,
        cost="mn²·nodes, a few times",
        reference=f"Minka (2001); {_EXACT}",
    ),
    RuleInfo(
        name="mle",
        votes=None,
        summary="the truths under which the votes are most probable, exact",
        encoder=MaximumLikelihood,
        cost="mn²·nodes, a few times",
        reference=_EXACT,
    ),
    RuleInfo(
        name="score",
        votes=None,
        summary="gradient of the exact likelihood at equal truths",
        encoder=ExactScore,
        cost="mn·nodes",
        reference=_EXACT,
    ),
    RuleInfo(
        name="normal-scores",
        votes="rankings",
        summary="normal scores of the places, by the voter's precision",
        encoder=NormalScores,
        normalized=True,
        reference="docs/exact.md",
    ),
    RuleInfo(
        name="learned-universal",
        votes="rankings",
        summary="a network for decisions of every kind, near posterior at a small part of its cost",
        encoder=Universal,
        from_top=True,
        reference=f"{_NETWORK}; docs/learned.md",
    ),
    RuleInfo(
        name="learned",
        votes="rankings",
        summary="the paper's network, trained in its high-variance condition, or one of your own",
        encoder=Learned,
        reference=f"{_PAPER}, Learning an Aggregation Rule; {_NETWORK}",
    ),
    RuleInfo(
        name="learned-noisy",
        votes="rankings",
        summary="the paper's network, trained on counts that are off by up to ± 50%",
        encoder=Learned,
        preset=(("model", "learned-noisy"),),
        reference=f"{_PAPER}, Learning an Aggregation Rule; {_NETWORK}",
    ),
    RuleInfo(
        name="mean",
        aliases=("case1", "oracle"),
        votes="values",
        summary="count-weighted mean of the values",
        encoder=Mean,
        normalized=True,
        reference=f"{_PAPER}, Case 1",
    ),
    RuleInfo(
        name="difference",
        aliases=("case2",),
        votes="differences",
        summary="inverse-variance weighted mean difference of two alternatives",
        encoder=Difference,
        normalized=True,
        alternatives=2,
        reference=f"{_PAPER}, Case 2",
    ),
    RuleInfo(
        name="majority",
        aliases=("case3",),
        votes="rankings",
        summary="maximum-likelihood majority on two alternatives",
        encoder=Pairwise,
        alternatives=2,
        details=_delta,
        reference=f"{_PAPER}, Case 3; Thurstone (1927)",
    ),
    RuleInfo(
        name="pairwise",
        aliases=("case4",),
        votes="rankings",
        summary="all pairs, weighed by how well the voter can tell them apart",
        encoder=Pairwise,
        cost="mn²",
        from_pairs=True,
        reference=f"{_PAPER}, Case 4, equation 1; Thurstone (1927)",
    ),
    RuleInfo(
        name="pairwise-normalized",
        aliases=("case4-normalized",),
        votes="rankings",
        summary="pairwise, divided by the total weight of each alternative",
        encoder=Pairwise,
        normalized=True,
        cost="mn²",
        from_pairs=True,
        reference=f"{_PAPER}, Case 4; Thurstone (1927)",
    ),
    RuleInfo(
        name="top-lower-bound",
        aliases=("case5-lower-bound",),
        votes="top",
        summary="the favourite against each other alternative in turn",
        encoder=TopLowerBound,
        reference=f"{_PAPER}, Case 5",
    ),
    RuleInfo(
        name="top-zero",
        aliases=("case5-zero",),
        votes="top",
        summary="√c/σ for the favourite",
        encoder=TopZero,
        reference=f"{_PAPER}, Case 5",
    ),
    RuleInfo(
        name="top-monte-carlo",
        aliases=("case5-monte-carlo",),
        votes="top",
        summary="gradient of the likelihood at equal truths, by random draws",
        encoder=TopMonteCarlo,
        stochastic=True,
        cost="mn · samples",
        reference=f"{_PAPER}, Case 5",
    ),
    RuleInfo(
        name="top-gradient",
        votes="top",
        summary="gradient of the likelihood at equal truths, exact",
        encoder=TopGradient,
        cost="mn · nodes (25 to 150)",
        reference=f"{_PAPER}, Case 5, by quadrature",
    ),
    RuleInfo(
        name="borda",
        votes="rankings",
        summary="a point for each alternative beaten",
        encoder=Borda,
        uses_counts=False,
        reference="Borda (1781)",
    ),
    *_with_experience("borda", "rankings", Borda, also="; Borda (1781)"),
    RuleInfo(
        name="borda-sqrt-count",
        votes="rankings",
        summary="centred Borda points times √c for each alternative",
        encoder=BordaSqrtCount,
        reference="near the exact gradient where noise dominates",
    ),
    RuleInfo(
        name="plurality",
        votes="top",
        summary="a point for the favourite",
        encoder=Plurality,
        uses_counts=False,
        reference="classical",
    ),
    *_with_experience("plurality", "top", Plurality),
    RuleInfo(
        name="positional",
        votes="rankings",
        summary="points by position, from any scoring vector",
        encoder=Positional,
        uses_counts=False,
        cost="mn²",
        reference="Young (1975)",
    ),
    RuleInfo(
        name="veto",
        votes="rankings",
        summary="minus a point for the last position",
        encoder=Veto,
        uses_counts=False,
        reference="classical",
    ),
)

_DEFAULT = "posterior"

_BY_NAME = {name: info for info in _RULES for name in (info.name, *info.aliases)}


def rules() -> tuple[RuleInfo, ...]:
    """Every rule.

    Examples
    --------
    >>> [info.name for info in rules() if info.votes is None]
    ['posterior', 'mle', 'score']
    """
    return _RULES


def rule_info(name: str) -> RuleInfo:
    """Look a rule up by its name or alias, or suggest the nearest.

    >>> rule_info("case4").name
    'pairwise'
    """
    if not isinstance(name, str):
        raise InputError(f"a rule is given by its name, not {quoted(name)}; see vt.rules()")
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = [known for known in _BY_NAME if name and known.startswith(name)] or difflib.get_close_matches(name, _BY_NAME)
    hint = f"did you mean {' or '.join(near[:3])}?" if near else "see vt.rules() or `veritally rules`"
    raise InputError(f"there is no rule {quoted(name)}; {hint}")


def rule(name: str, **parameters: Any) -> Any:
    """Make a rule by name, for use on plain arrays: its methods take the ballots of a profile.

    Examples
    --------
    >>> rule("pairwise").scores(Profile(ranks=[[1, 2]], counts=[[2, 2]]).ballots)
    array([ 1., -1.])
    """
    return rule_info(name).make(**parameters)


def rule_for(profile: Profile, name: str | None) -> RuleInfo:
    """Return the named rule if it can use these votes; by default the posterior, which can use any."""
    info = rule_info(_DEFAULT if name is None else name)
    if info.takes(profile):
        return info.on(profile.kind)
    needs = f"{info.votes} of {info.alternatives} alternatives" if info.alternatives else info.votes
    given = {"top": "top choices", "mixed": "of different kinds"}.get(profile.kind, profile.kind)
    usable = ", ".join(other.name for other in _RULES if "+" not in other.name and other.takes(profile))
    raise InputError(
        f"the rule {info.name} needs {needs}, but these votes are {given} of {profile.shape[-1]} alternatives; "
        f"rules that can use them: {usable}"
    )
