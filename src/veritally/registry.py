"""The one list of rules: name, aliases, votes taken, and how to make each; users' own join it by ``register``."""

import difflib
import functools
import re
import warnings
from typing import Any

from veritally.errors import InputError, InputWarning, quoted
from veritally.learned.rule import Learned
from veritally.learned.universal import Universal
from veritally.rules.cardinal import Difference, Mean
from veritally.rules.exact import ExactScore, NormalScores
from veritally.rules.info import PAPER, RuleInfo
from veritally.rules.majority import Majority
from veritally.rules.mle import MaximumLikelihood
from veritally.rules.pairwise import Pairwise
from veritally.rules.positional import VOTER_WEIGHTS, Borda, BordaSqrtCount, Plurality, Positional, Veto
from veritally.rules.posterior import Posterior
from veritally.rules.pref_voting import PACKAGE, PrefVoting, find_method, is_voting_method
from veritally.rules.protocol import Rule
from veritally.rules.sums import Encoder, SumRule
from veritally.rules.top import TopGradient, TopLowerBound, TopMonteCarlo, TopZero
from veritally.votes.ballots import Kind
from veritally.votes.kinds import KINDS
from veritally.votes.labels import require_known
from veritally.votes.profile import Profile

_EXACT = "Thurstone (1927); docs/exact.md"
_NETWORK = "Zaheer et al. (2017)"


def _weighed_by_counts(family: str, votes: Kind, encoder: type[Encoder], also: str = "") -> tuple[RuleInfo, ...]:
    return tuple(
        RuleInfo(
            name=f"{family}+{name}",
            aliases=(f"{family}+",) if name == "arithmetic" else (),
            votes=votes,
            summary=f"{family} points times the voter's {name.replace('-', ' ')} mean count",
            implementation=encoder,
            weight=weight,
            reference=f"{PAPER}, Experiments{also}",
        )
        for name, weight in VOTER_WEIGHTS.items()
    )


_RULES = (
    RuleInfo(
        name="posterior",
        votes=None,
        summary="the exact posterior of the truths given the votes, with how sure the answer is",
        implementation=Posterior,
        model_based=True,
        cost="mn²·nodes, a few times",
        reference=f"Minka (2001); {_EXACT}",
    ),
    RuleInfo(
        name="mle",
        votes=None,
        summary="the truths under which the votes are most probable, exact",
        implementation=MaximumLikelihood,
        cost="mn²·nodes, a few times",
        reference=_EXACT,
    ),
    RuleInfo(
        name="score",
        votes=None,
        summary="gradient of the exact likelihood at equal truths",
        implementation=ExactScore,
        cost="mn·nodes",
        reference=_EXACT,
    ),
    RuleInfo(
        name="normal-scores",
        votes="rankings",
        summary="normal scores of the ranks, weighed by the voter's precision",
        implementation=NormalScores,
        model_based=True,
        normalized=True,
        reference="docs/exact.md",
    ),
    RuleInfo(
        name="learned-universal",
        votes="rankings",
        summary="a network for all kinds of decisions: close to posterior at a small part of its cost",
        implementation=Universal,
        model_based=True,
        from_top=True,
        reference=f"{_NETWORK}; docs/learned.md",
    ),
    RuleInfo(
        name="learned",
        votes="rankings",
        summary="the paper's network, trained in its high-variance condition, or one of your own",
        implementation=Learned,
        reference=f"{PAPER}, Learning an Aggregation Rule; {_NETWORK}",
    ),
    RuleInfo(
        name="learned-noisy",
        votes="rankings",
        summary="the paper's network, trained on counts that are off by up to ± 50%",
        implementation=Learned,
        preset=(("model", "learned-noisy"),),
        reference=f"{PAPER}, Learning an Aggregation Rule; {_NETWORK}",
    ),
    RuleInfo(
        name="mean",
        aliases=("case1", "oracle"),
        votes="values",
        summary="count-weighted mean of the values",
        implementation=Mean,
        normalized=True,
        reference=f"{PAPER}, Case 1",
    ),
    RuleInfo(
        name="difference",
        aliases=("case2",),
        votes="differences",
        summary="inverse-variance weighted mean difference of two alternatives",
        implementation=Difference,
        normalized=True,
        alternatives=2,
        reference=f"{PAPER}, Case 2",
    ),
    RuleInfo(
        name="majority",
        aliases=("case3",),
        votes="rankings",
        summary="maximum-likelihood majority on two alternatives",
        implementation=Majority,
        alternatives=2,
        reference=f"{PAPER}, Case 3; Thurstone (1927)",
    ),
    RuleInfo(
        name="pairwise",
        aliases=("case4",),
        votes="rankings",
        summary="all pairs, weighed by how well the voter can tell them apart",
        implementation=Pairwise,
        cost="mn²",
        from_pairs=True,
        reference=f"{PAPER}, Case 4, equation 1; Thurstone (1927)",
    ),
    RuleInfo(
        name="pairwise-normalized",
        aliases=("case4-normalized",),
        votes="rankings",
        summary="pairwise, divided by the total weight of each alternative",
        implementation=Pairwise,
        normalized=True,
        cost="mn²",
        from_pairs=True,
        reference=f"{PAPER}, Case 4; Thurstone (1927)",
    ),
    RuleInfo(
        name="top-lower-bound",
        aliases=("case5-lower-bound",),
        votes="top",
        summary="the favourite against each other alternative in turn",
        implementation=TopLowerBound,
        reference=f"{PAPER}, Case 5",
    ),
    RuleInfo(
        name="top-zero",
        aliases=("case5-zero",),
        votes="top",
        summary="√c/σ for the favourite",
        implementation=TopZero,
        reference=f"{PAPER}, Case 5",
    ),
    RuleInfo(
        name="top-monte-carlo",
        aliases=("case5-monte-carlo",),
        votes="top",
        summary="gradient of the likelihood at equal truths, by random draws",
        implementation=TopMonteCarlo,
        stochastic=True,
        cost="mn · samples",
        reference=f"{PAPER}, Case 5",
    ),
    RuleInfo(
        name="top-gradient",
        votes="top",
        summary="gradient of the likelihood at equal truths, exact",
        implementation=TopGradient,
        cost="mn · nodes (25 to 150)",
        reference=f"{PAPER}, Case 5, by quadrature",
    ),
    RuleInfo(
        name="borda",
        votes="rankings",
        summary="a point for each alternative beaten",
        implementation=Borda,
        uses_counts=False,
        reference="Borda (1781)",
    ),
    *_weighed_by_counts("borda", "rankings", Borda, also="; Borda (1781)"),
    RuleInfo(
        name="borda-sqrt-count",
        votes="rankings",
        summary="centred Borda points times √c for each alternative",
        implementation=BordaSqrtCount,
        reference="near the exact gradient where noise dominates",
    ),
    RuleInfo(
        name="plurality",
        votes="top",
        summary="a point for the favourite",
        implementation=Plurality,
        uses_counts=False,
        reference="classical",
    ),
    *_weighed_by_counts("plurality", "top", Plurality),
    RuleInfo(
        name="positional",
        votes="rankings",
        summary="points by position, from any scoring vector",
        implementation=Positional,
        uses_counts=False,
        cost="mn²",
        reference="Young (1975)",
    ),
    RuleInfo(
        name="veto",
        votes="rankings",
        summary="minus a point for the last position",
        implementation=Veto,
        uses_counts=False,
        reference="classical",
    ),
)

DEFAULT = "posterior"
_HINT = "see vt.rules() or `veritally rules`; register your own rule with vt.register (in the command with --plugin)"
_ENTRY_POINTS = "veritally.rules"  # the group under which other packages offer modules that register rules

_RESERVED = ("all", "exact")  # which stand for several rules in compare
_BUILT_IN = {name: info for info in _RULES for name in (info.name, *info.aliases)}

_registered: dict[str, RuleInfo] = {}


def rules() -> tuple[RuleInfo, ...]:
    """Return every rule: those of veritally, then those that were registered.

    Examples
    --------
    >>> [info.name for info in rules() if info.votes is None]
    ['posterior', 'mle', 'score']
    """
    _load_plugins()
    return (*_RULES, *_registered.values())


def register(
    name: str, implementation: type[Encoder] | type[Rule], votes: Kind | None = None, summary: str = "", **fields: Any
) -> RuleInfo:
    """Register your own rule under a name that ``decide``, ``compare`` and the command know.

    The command finds the rule in a module that you name with ``--plugin``, or that an installed package offers as an
    entry point of the group ``veritally.rules``.

    Parameters
    ----------
    name
        The name of the rule.
    implementation
        A class: an encoder, whose sums over voters are the scores, or a rule.
    votes
        The kind of votes that the rule takes; finer votes are coarsened to it. None: any kind, without coarsening.
    summary
        What the rule does, in a line.
    **fields
        Further fields of :class:`RuleInfo`.
    """
    if not (isinstance(implementation, type) and issubclass(implementation, Encoder | Rule)):
        raise InputError(f"register takes a subclass of Encoder or Rule, not {quoted(implementation)}")
    for own in (name, *fields.get("aliases", ())):
        if not isinstance(own, str) or not re.fullmatch(r"[^\s:=,+]+", own) or own in _RESERVED:
            kept = " or ".join(_RESERVED)
            raise InputError(f"a rule's name is text without spaces or , : = + (and not {kept}), not {quoted(own)}")
        if own in _BUILT_IN:
            raise InputError(f"there is already a rule {quoted(own)}; choose another name")
    if votes not in (None, *KINDS):
        require_known(votes, KINDS, "kind of votes")
    if issubclass(implementation, Rule):
        if votes not in (None, implementation.votes):
            own = implementation.votes or "any votes"
            raise InputError(f"{implementation.__name__} takes {own}, not {votes}; leave votes= out")
        votes = implementation.votes
    try:
        info = RuleInfo(name, votes, summary, implementation, **({"reference": ""} | fields))
    except TypeError as error:
        raise InputError(f"register: {error}; vt.RuleInfo has the fields that it takes") from error
    _registered[name] = info
    return info


@functools.cache
def _load_plugins() -> None:
    """Import the modules that installed packages offer, which register their rules."""
    from importlib.metadata import entry_points  # which takes a while

    for entry in entry_points(group=_ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # whatever an installed package does
            message = f"the rules of {entry.value} cannot be loaded ({type(error).__name__}: {error})"
            warnings.warn(message, InputWarning, stacklevel=3)


def _by_name() -> dict[str, RuleInfo]:
    own = {name: info for info in _registered.values() for name in (info.name, *info.aliases)}
    return own | _BUILT_IN


def rule_info(rule: str | Rule | Encoder | RuleInfo) -> RuleInfo:
    """Look up a rule by its name or alias, or suggest the nearest name; describe a rule that is given as an object.

    A voting method of pref_voting may be given as an object, or by name, as ``pref_voting.copeland``.

    >>> rule_info("case4").name
    'pairwise'
    """
    if isinstance(rule, RuleInfo):
        return rule
    if is_voting_method(rule):
        return _pref_voting_info(PrefVoting.of(rule).method)
    if isinstance(rule, Rule):
        return RuleInfo(
            name=repr(rule.encoder if isinstance(rule, SumRule) else rule),
            votes=rule.votes,
            summary="given as an object",
            implementation=type(rule),
            alternatives=rule.alternatives,
            normalized=rule.normalized,
            instance=rule,
        )
    if isinstance(rule, Encoder):
        raise InputError(f"{quoted(rule)} is an encoder, not a rule; make one with vt.SumRule(encoder, votes=…)")
    if not isinstance(rule, str):
        raise InputError(
            f"give a rule by its name or as a Rule object (not a class), not {quoted(rule)}; see vt.rules()"
        )
    if rule.startswith(f"{PACKAGE}."):
        find_method(rule)
        return _pref_voting_info(rule)
    if rule not in _by_name():
        _load_plugins()
    known = _by_name()
    if rule in known:
        return known[rule]
    near = [name for name in known if rule and name.startswith(rule)] or difflib.get_close_matches(rule, known)
    hint = f"did you mean {' or '.join(near[:3])}?" if near else _HINT
    raise InputError(f"there is no rule {quoted(rule)}; {hint}")


@functools.cache
def _pref_voting_info(method: str) -> RuleInfo:
    """Describe a voting method of pref_voting, which is one object however it was named."""
    return RuleInfo(
        name=method,
        votes=PrefVoting.votes,
        summary="a voting method of pref_voting",
        implementation=PrefVoting,
        uses_counts=False,
        cost="that of pref_voting",
        reference="Holliday & Pacuit (2025)",
        instance=PrefVoting(method),
    )


def rule(name: str, **parameters: Any) -> Rule:
    """Make a rule by name, for use on plain arrays. Its methods take the ballots of a profile.

    A voting method of pref_voting becomes a rule too: ``rule(pref_voting.c1_methods.copeland)``.

    Examples
    --------
    >>> rule("pairwise").scores(Profile(ranks=[[1, 2]], counts=[[2, 2]]).ballots)
    array([ 1., -1.])
    """
    return rule_info(name).make(**parameters)


def rule_for(profile: Profile, rule: str | Rule | RuleInfo | None) -> RuleInfo:
    """Return the rule if it can use these votes; by default the posterior, which can use any."""
    info = rule_info(DEFAULT if rule is None else rule)
    if info.takes(profile):
        return info.on(profile.kind)
    needs = f"{info.votes} of {info.alternatives} alternatives" if info.alternatives else info.votes
    given = {"top": "top choices", "mixed": "of different kinds"}.get(profile.kind, profile.kind)
    usable = ", ".join(other.name for other in rules() if "+" not in other.name and other.takes(profile))
    raise InputError(
        f"the rule {info.name} needs {needs}, but these votes are {given} of {profile.shape[-1]} alternatives; "
        f"rules that can use them: {usable}"
    )
