"""Running rules over profiles: one rule for a decision, many rules for a comparison."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from veritally.arrays import Array, is_jax
from veritally.checks import whole
from veritally.errors import InputError, InputWarning, quoted
from veritally.inference.pooling import POOLED
from veritally.learned.models import SHIPPED
from veritally.model.parameters import checked_parameters
from veritally.outcome import Outcome, TieBreak
from veritally.panel.base import AnyPanel
from veritally.panel.learned import LearnedPanel
from veritally.panel.panel import Panel
from veritally.registry import rule_for
from veritally.rules.info import RuleInfo
from veritally.rules.protocol import Fit, Rule, Status
from veritally.rules.sums import scores_of
from veritally.votes.claims import believable
from veritally.votes.combine import concat
from veritally.votes.kinds import by_kind
from veritally.votes.oddities.finding import odd_voters
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile

_LARGEST = 1e150  # of a score, in absolute value
_INSTEAD_OF_LENIENCY = {"sigma", "leniency", "noise", "count_error"}  # parameters with which it is not estimated
_LEARNED = {"sigma", "tau", "scale", "omega", "leniency", "noise", "count_error"}  # that a learned panel replaces
_PIECE = 20_000  # voters × alternatives² that are decided together
_FEW_JUDGES, _MANY_COMPARISONS = 10, 30
_MOST_AT_ONCE = 100  # decisions


def decide(
    profile: Profile | Sequence[Profile],
    rule: str | Rule | None = None,
    *,
    panel: AnyPanel | None = None,
    choose: int = 1,
    tie_break: TieBreak = "error",
    seed: int = 0,
    **parameters: Any,
) -> Outcome:
    """Decide which alternative is best.

    Parameters
    ----------
    profile
        The votes. If the rule takes coarser votes, they are coarsened. A list of profiles, of the same or different
        kinds, is one decision by all their voters.
    rule
        A name or alias from :func:`veritally.rules`, or your own rule as an object. Default: ``posterior``; with a
        ``model``, ``learned``.
    panel
        Which voters share errors; for ``posterior``. Default: the groups or shared items that came with the votes.
    choose
        How many alternatives to choose.
    tie_break
        What ``winner`` and ``chosen`` do with a tie: ``"error"`` (raise :class:`TieError`), ``"first"`` or
        ``"random"``.
    seed
        Seed of random tie-breaks and stochastic rules.
    **parameters
        Parameters of the rule:

        - ``sigma``: the standard deviation of one observation, as a number, as a sequence with one for each
          alternative, or as a dictionary by name. ``posterior`` estimates it if it is not given.
        - ``tau``: the standard deviation of the truths.
        - ``omega``: the standard deviation by which voters differ however much they saw; a number or ``"estimated"``.
        - ``cap``: the most that a count may count for. By default, a voter whose counts are more than a hundred times
          those of anybody else is counted as the largest of the others, with a warning. ``cap="none"``, which every
          rule takes, uses the counts as they are.
        - ``count_error``: how counts may be wrong, as ``"percentage:0.5"`` or ``"replacement:0.33"``; without a number
          its size is estimated.
        - ``samples`` for ``top-monte-carlo``, ``points`` for ``positional``.

        :attr:`RuleInfo.parameters` lists all that a rule takes.

    Examples
    --------
    >>> profile = Profile(order=[["A", "B"], ["B", "A"], ["B", "A"]], counts=[[30, 30], [2, 2], [3, 3]])
    >>> decide(profile).winner, decide(profile, rule="borda").winner
    ('A', 'B')
    """
    if isinstance(profile, list | tuple) and profile and all(isinstance(one, Profile) for one in profile):
        profile = concat(profile)
    if not isinstance(profile, Profile):
        raise InputError(f"decide takes a Profile, not {type(profile).__name__}; read files and frames with vt.read")
    outcome = Question.of(profile, rule, choose, tie_break, seed, parameters, panel).outcome()
    for message in outcome.rule_warnings:
        warnings.warn(message, InputWarning, stacklevel=2)
    return outcome


def questions(
    profile: Profile,
    rule: str | Rule | None = None,
    *,
    panel: AnyPanel | None = None,
    choose: int = 1,
    tie_break: TieBreak = "error",
    seed: int = 0,
    **parameters: Any,
) -> "list[Question]":
    """Return what to decide, some decisions of a batch at a time, each some seconds of work.

    Their outcomes are those of :func:`decide`. A single decision, and a batch whose decisions are not independent, are
    one question. Outcomes do not warn: warnings are in :attr:`Outcome.rule_warnings`.
    """
    return Question.of(profile, rule, choose, tie_break, seed, parameters, panel).prepared().pieces()


@dataclass(frozen=True)
class Question:
    """Votes, the rule to decide them by, and how ties are broken; checked."""

    profile: Profile
    info: RuleInfo
    choose: int
    tie_break: TieBreak
    seed: int
    parameters: dict[str, Any]
    before: int = 0
    made: Rule | None = None
    panel: AnyPanel | None = None
    claims: Mapping[int, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        profile: Profile,
        rule: str | Rule | RuleInfo | None,
        choose: int,
        tie_break: TieBreak,
        seed: int,
        parameters: dict[str, Any],
        panel: AnyPanel | None = None,
        *,
        made: Rule | None = None,
        oddities: bool = True,
    ) -> Self:
        """Check what a user asks; of a part of many decisions with the rule ``made`` for all, and no look at voters."""
        if rule is None and "model" in parameters:
            rule = "learned"
        info = rule_for(profile, rule)
        choose, seed = whole(choose, "choose", least=1), whole(seed, "seed")
        if tie_break not in ("error", "first", "random"):
            raise InputError(f"there is no tie-break {quoted(tie_break)}; choose error, first or random")
        if isinstance(panel, LearnedPanel):
            _require_unknown(parameters)
        info.require(_of_rule(parameters))
        require_evidence(np.where(profile.ballots.mask, 0.0, -np.inf), profile, choose)
        ignores_panel = panel is None and not _takes_panel(info) and Panel.of(profile) is not None
        panel = _panel_for(info, panel, profile)
        odd = odd_voters(profile, None if panel is None else panel.group_of) if oddities else ()
        learned = isinstance(panel, LearnedPanel)  # which knows who leans to a place
        remarks = tuple(oddity.sentence for oddity in odd if not (learned and oddity.what == "position"))
        if panel is not None:
            remarks += panel.remarks(profile) if oddities else ()
        elif isinstance(profile.ballots, Pairs) and _takes_panel(info):
            remarks += _taste(profile)
        if ignores_panel:
            remarks += (f"the rule {info.name} ignores groups and shared items; use posterior to account for them",)
        claims: Mapping[int, str] = {}
        if parameters.get("cap") is None:
            profile, claims = believable(profile)
        profile = profile.coarsened(info.votes)
        checked = checked_parameters(_of_rule(parameters), profile)  # of all decisions, before some are decided
        if panel is not None:
            profile = panel.applied(profile, checked.get("cap"))
        elif profile.ballots.loadings is not None:  # of a panel that it was decided with before
            profile = profile.with_ballots(profile.ballots.with_shared_errors(None, None).with_traits(None))
        if made is None:
            return cls(profile, info, choose, tie_break, seed, parameters, panel=panel, claims=claims, remarks=remarks)
        return cls(profile, info, choose, tie_break, seed, parameters, 0, made, panel, claims, remarks)

    def prepared(self) -> Self:
        """Find out what concerns all decisions together, once."""
        return replace(self, made=self.method.prepared(self.profile.ballots))

    @property
    def method(self) -> Rule:
        """The rule itself."""
        if self.made is not None:
            return self.made
        parameters = _of_rule(self.parameters)
        if self.info.stochastic:
            parameters["seed"] = self.seed
        made = self.info.make(**checked_parameters(parameters, self.profile))
        if self.panel is None:
            return made
        known = self.panel.known
        # The noise is estimated only from what voters of the same items do not share; leniency would be taken for it.
        items = isinstance(self.panel, Panel) and self.panel.items is not None
        if items and self.parameters.keys().isdisjoint(_INSTEAD_OF_LENIENCY):
            known["leniency"] = "estimated"
        return replace(made, **known)  # type: ignore[type-var]

    @property
    def piece(self) -> int | None:
        """How many decisions make a piece of some seconds of work; None if all have to be decided together."""
        if self.method.joint or self.info.stochastic or not self.info.iterative:
            return None
        m, n = self.profile.shape[-2:]
        return int(np.clip(_PIECE // (m * n * n), 1, _MOST_AT_ONCE))

    def pieces(self) -> list[Self]:
        """Ask about some decisions at a time, where they are independent."""
        size = self.piece
        if size is None or not self.profile.batch:
            return [self]
        return [self.part(start, start + size) for start in range(0, self.profile.batch[0], size)]

    def part(self, start: int, end: int) -> Self:
        """Ask about some decisions along the first batch axis."""
        size = math.prod(self.profile.batch[1:])
        claims = {
            place - start * size: claim for place, claim in self.claims.items() if start * size <= place < end * size
        }
        return replace(self, profile=self.profile.part(start, end), before=self.before + start, claims=claims)

    def outcome(self) -> Outcome:
        """Decide."""
        profile, made = self.profile, self.method.prepared(self.profile.ballots)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what comes of it is refused below
            fit = _checked_fit(made.fit(profile.ballots), self.info.name, profile)
        _require_finite(fit.scores, self.parameters.get("model"))
        require_evidence(fit.scores, profile, self.choose)
        if self.claims:
            claims = {place: (claim, *fit.warnings.get(place, ())) for place, claim in self.claims.items()}
            fit = fit._replace(warnings={**fit.warnings, **claims})
        return Outcome(
            rule=self.info.name,
            profile=profile,
            method=made,
            fit=fit,
            choose=self.choose,
            tie_break=self.tie_break,
            seed=(self.seed,),
            parameters=dict(self.parameters),
            before=self.before,
            panel=self.panel,
            remarks=self.remarks,
        )


def _taste(profile: Profile) -> tuple[str, ...]:
    """Warn of few voters with many comparisons each, whose taste passes for evidence."""
    times = np.sum(np.asarray(profile.pairs), axis=(-1, -2))
    voters, each = (
        int(np.max(np.sum(times > 0, axis=-1))),
        float(np.mean(times[times > 0]) if np.any(times > 0) else 0.0),
    )
    if voters > _FEW_JUDGES or each < _MANY_COMPARISONS:
        return ()
    who = "1 voter made" if voters == 1 else f"{voters} voters made"
    taste = "a voter's own taste counts as evidence each time, so the answer may be too sure"
    return (f"{who} about {each:.0f} comparisons each; {taste}",)


def pools_noise(rule: RuleInfo, parameters: Mapping[str, Any], panel: AnyPanel | None, decisions: int) -> bool:
    """Whether so many decisions have their noise pooled, where nothing else is said about it."""
    told = not parameters.keys().isdisjoint({"scale", "sigma", "tau", "model", "omega", "count_error"})
    free = rule.name == "posterior" and rule.instance is None and not isinstance(panel, LearnedPanel)
    return free and not told and decisions >= POOLED


def _require_unknown(parameters: Mapping[str, Any]) -> None:
    """Refuse what a learned panel knows already."""
    for name in _LEARNED & parameters.keys():
        raise InputError(f"a learned panel knows {name} itself; leave {name} out, or the panel")


def _takes_panel(info: RuleInfo) -> bool:
    return issubclass(info.implementation, Rule) and info.implementation.takes_panel


def _panel_for(info: RuleInfo, panel: AnyPanel | None, profile: Profile) -> AnyPanel | None:
    """Return the panel, as given or as it came with the votes; None if there is none, or the rule takes none."""
    if panel is not None and not isinstance(panel, AnyPanel):
        raise InputError(f"panel takes a vt.Panel, not {type(panel).__name__}")
    if _takes_panel(info):
        return Panel.of(profile) if panel is None else panel
    if panel is not None:
        raise InputError(f"the rule {info.name} takes no panel; use posterior, or leave the panel out")
    return None


def evaluate(profile: Profile, rules: Iterable[str | Rule], **parameters: Any) -> dict[str, Array]:
    """Return the scores of several rules on the same votes, −inf for alternatives without evidence.

    Each rule gets those of the ``parameters`` that it takes. Votes are coarsened once for each kind, and rules that
    differ only in how they decode share one tally.
    """
    made: dict[str, Any] = {}
    for name in rules:
        info = rule_for(profile, name)
        if info.name in made and made[info.name] is not info.instance and info.instance is not None:
            raise InputError(f"two rules are called {quoted(info.name)}; register one under another name")
        own = {key: value for key, value in parameters.items() if key in info.parameters}
        made[info.name] = info.make(**checked_parameters(own, profile))
    return scores_of(made, by_kind(profile.ballots, {rule.votes for rule in made.values()}))


def _of_rule(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that concern the rule itself: to believe all counts does not."""
    return {name: value for name, value in parameters.items() if (name, value) != ("cap", "none")}


def _checked_fit(fit: Any, name: str, profile: Profile) -> Fit:
    """Return the fit, as arrays; refuse what a user's rule returns if it is no fit of these votes."""
    if not isinstance(fit, Fit):
        raise InputError(f"the fit of the rule {name} must be a vt.Fit, not {type(fit).__name__}")
    shape = (*profile.batch, profile.shape[-1])
    arrays = {"scores": fit.scores, "rounding": fit.rounding, "status": fit.status}
    arrays = {what: own if is_jax(own) else np.asarray(own) for what, own in arrays.items()}
    for what, own in arrays.items():
        wanted = shape[:-1] if what == "status" else shape
        if own.shape != wanted:
            raise InputError(f"the rule {name} returns {what} of the shape {own.shape}; these votes need {wanted}")
    if not np.isin(np.asarray(arrays["status"]), list(Status)).all():
        raise InputError(f"the rule {name} returns a status that is not a vt.Status")
    return fit._replace(**arrays)


def _require_finite(scores: Array, model: Any) -> None:
    """Refuse scores that are no longer numbers, and say what they come from: a user's own weights, or the votes."""
    given = np.asarray(scores, dtype=float)
    if (np.isneginf(given) | (np.abs(given) < _LARGEST)).all():
        return
    if model is not None and str(model) not in SHIPPED:
        remedy = "use weights that `veritally train` made, or rescale counts and sigma"
        raise InputError(f"{model}: with these weights scores are not finite; {remedy}")
    raise InputError("the votes, counts or sigma are too large or too small to compute with; rescale them")


def require_evidence(scores: Array, profile: Profile, choose: int) -> None:
    """Refuse a decision in which fewer alternatives have a score than are to be chosen."""
    numbers = np.sum(np.asarray(scores) > -np.inf, axis=-1)
    short = np.argwhere(numbers < choose)
    if len(short):
        place = tuple(map(int, short[0]))
        where = f"decision {quoted(profile.decision_names[place[0]])}: " if place else ""
        if not numbers[place]:
            raise InputError(f"{where}no voter has a vote that this rule can use, so there is nothing to decide")
        raise InputError(f"{where}cannot choose {choose} of {numbers[place]} alternatives")
