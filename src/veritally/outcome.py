"""Outcome: scores, ranking, winners, and who decided it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from veritally.arrays import Array, namespace, voter_sum
from veritally.document import html_table
from veritally.draws import arviz_data
from veritally.errors import TieError, quoted
from veritally.explain import Explanation, among_best
from veritally.inference.belief import CLEAR, LEVEL, Belief, smallest_set
from veritally.inference.ordering import clear_tiers, expected_kendall, kendall_order, tied_places
from veritally.inference.scale import PooledNoise
from veritally.panel.base import AnyPanel
from veritally.panel.worth import effective_voters
from veritally.records import alternative_columns, alternatives_table, decisions_table, framed, record
from veritally.rules.protocol import Fit, Rule, Status
from veritally.votes.labels import first_few
from veritally.votes.profile import Profile


class Cut(NamedTuple):
    """Alternatives by how sure it is that they are among the chosen: in for sure, borderline, out."""

    inside: list[Any]
    borderline: list[Any]
    outside: list[Any]


TieBreak: TypeAlias = Literal["error", "first", "random"]

T = TypeVar("T")

_WHOLE = 2**53  # below which floats hold all whole numbers


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """What a rule makes of a profile.

    For a batch of decisions, arrays have its leading axes and everything with names is a list with one entry for each
    decision; :meth:`unstack` gives their outcomes one by one.

    Attributes
    ----------
    rule
        The canonical name of the rule.
    profile
        The votes as the rule used them.
    choose
        How many alternatives to choose.
    tie_break
        What to do if a tie prevents a single answer: ``"error"``, ``"first"`` (by the order of the
        alternatives) or ``"random"`` (by ``seed``).
    method
        The rule itself.
    fit
        What the rule found, as arrays.
    parameters
        The parameters that the rule was given, by name.
    before
        How many decisions precede these, if a batch was decided in pieces.
    batch
        The outcome of the batch that this decision belongs to, and its place there; None for a single decision.
    panel
        What is known of the voters apart from how much they saw.
    remarks
        What is odd about voters, over all decisions.
    """

    rule: str
    profile: Profile
    method: Rule
    fit: Fit
    choose: int = 1
    tie_break: TieBreak = "error"
    seed: tuple[int, ...] = (0,)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    before: int = 0
    batch: "tuple[Outcome, int] | None" = field(default=None, repr=False)
    panel: AnyPanel | None = None
    remarks: tuple[str, ...] = ()

    def unstack(self) -> list["Outcome"]:
        """Return the outcomes of the decisions along the first batch axis."""
        return list(self._decisions)

    @cached_property
    def _decisions(self) -> tuple["Outcome", ...]:
        """The same, made once, so that what each of them finds out is found once."""
        return tuple(self._decision(d, profile) for d, profile in enumerate(self.profile.unstack()))

    def _decision(self, d: int, profile: Profile) -> "Outcome":
        return replace(
            self,
            profile=profile,
            fit=self.fit.decision(d, *profile.shape[-2:]),
            seed=(*self.seed, self.before + d),
            before=0,
            batch=(self, d),
            remarks=(),
        )

    def singles(self) -> "list[tuple[Any, Outcome]]":
        """Return all decisions with their names; below several batch axes, with names like ``0/2``."""
        if not self.profile.batch:
            return [(None, self)]
        named = zip(self.profile.decision_names, self.unstack(), strict=True)
        deep = len(self.profile.batch) > 1
        return [(f"{name}/{inner}" if deep else name, one) for name, part in named for inner, one in part.singles()]

    def _each(self, ask: Callable[["Outcome"], T]) -> Any:
        """Ask one decision, or each decision of the batch."""
        if not self.profile.batch:
            return ask(self)
        answers = []
        for name, one in zip(self.profile.decision_names, self._decisions, strict=True):
            try:
                answers.append(one._each(ask))
            except TieError as error:
                raise TieError(f"decision {quoted(name)}: {error}") from None
        return answers

    # Scores

    @cached_property
    def kept(self) -> list[int]:
        """Positions of the alternatives that have a score, in a single decision."""
        return [int(j) for j in np.flatnonzero(np.asarray(self.fit.scores) > -np.inf)]

    @cached_property
    def alternatives(self) -> Any:
        """Names of the alternatives; those without any evidence are left out."""

        def kept(one: "Outcome") -> tuple[Any, ...]:
            names = one.profile.alternatives
            return tuple(names[j] for j in one.kept)

        return self._each(kept)

    @property
    def scores(self) -> Array:
        """Σ_i w_ij for each of :attr:`alternatives`; in a batch, −inf for those left out."""
        return self.fit.scores if self.profile.batch else self._columns(self.fit.scores)

    def contributions(self, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``, for all of the profile.

        If scores are means, they are measured from the ``origin``.
        """
        return self.method.contributions(self.profile.ballots, self.fit, origin)

    @cached_property
    def weights(self) -> Array:
        """w_ij, what each voter adds to each score, ``(..., voter, alternative)``; they sum to the scores."""
        weights = self.contributions()
        return weights if self.profile.batch else self._columns(weights)

    @property
    def details(self) -> Mapping[str, Array]:
        """Further results of the rule, by name; for ``majority`` the maximum-likelihood difference ``delta``."""
        return self.fit.details

    @property
    def status(self) -> Any:
        """Whether the search of the rule converged: ``"converged"``, or how it ended."""
        return self._each(lambda one: Status(int(one.fit.status)).label)

    def _columns(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.take(x, xp.asarray(self.kept, dtype=int), axis=-1)

    # How sure it is

    @cached_property
    def belief(self) -> Belief | None:
        """The posterior distribution of true quality, summarised; None for rules that give only scores.

        In a batch it covers all alternatives of the profile; for a single decision those of :attr:`alternatives`.
        """
        whole = self.whole_belief
        return whole if whole is None or self.profile.batch else whole.columns(self.kept)

    @cached_property
    def whole_belief(self) -> Belief | None:
        """The same with all alternatives; a decision of a batch has it from there."""
        if self.batch is not None:
            whole, d = self.batch
            belief = whole.whole_belief
            return None if belief is None else belief.decision(d, self.profile.shape[-1])
        return self.method.belief(self.profile.ballots, self.fit, self.seed[0])

    @cached_property
    def p_best(self) -> Any:
        """The probability that each of :attr:`alternatives` is the best; None for rules that give none."""
        if self.belief is not None:
            return self.belief.p_best
        said = self.fit.p_best
        return said if said is None or self.profile.batch else self._columns(said)

    @cached_property
    def p_chosen(self) -> Any:
        """The probability that each of :attr:`alternatives` is among the best ``choose``; None for rules without."""
        if self.belief is not None:
            return self.belief.p_among(self.choose)
        return self.p_best if self.choose == 1 else None

    @property
    def p_above(self) -> Any:
        """The probability that one of :attr:`alternatives` is better than another; None for rules without a belief."""
        return None if self.belief is None else self.belief.p_above

    @property
    def scale(self) -> Any:
        """σ/τ and the ends of its 95% interval, ``(..., 3)``, all equal if it was given; None for rules without."""
        return self.fit.scale

    @property
    def pooled_noise(self) -> tuple[PooledNoise, ...]:
        """What all decisions of a kind say together about their noise, if it was pooled."""
        return self.fit.pooled

    @cached_property
    def effective_voters(self) -> Any:
        """How many independent voters, each as good as the best of them, the voters are worth; None without a panel."""
        return self._each(lambda one: None if one.worth is None else one.worth[0])

    @cached_property
    def independent_voters(self) -> Any:
        """How many they would be worth if nobody shared errors; None without a panel."""
        return self._each(lambda one: None if one.worth is None else one._worth_at(0.0)[0])

    @cached_property
    def worth(self) -> tuple[float, Array] | None:
        """The same of a single decision, and what it would be without each voter."""
        found = self.fit.posterior
        if self.panel is None or found is None:
            return None
        weight = np.asarray(found.weight)
        chances = {float(rho): float(np.sum(weight[found.strength == rho])) for rho in np.unique(found.strength)}
        each = [(self._worth_at(rho), chance) for rho, chance in chances.items()]
        return sum(own[0] * chance for own, chance in each), sum((own[1] * chance for own, chance in each), np.zeros(1))

    def _worth_at(self, strength: float) -> tuple[float, Array]:
        """Return the same at one strength of shared errors."""
        assert self.fit.posterior is not None
        return effective_voters(self.profile.ballots, self.fit.posterior.means, strength)

    @property
    def expected_regret(self) -> Any:
        """The expected regret of choosing each of :attr:`alternatives`; None for rules without a belief."""
        return None if self.belief is None else self.belief.regret

    @property
    def distance_unit(self) -> Any:
        """The unit of ``belief.distance``: ``"noise of one observation"``, that is σ, or ``"votes"``; or None."""
        if self.belief is None:
            return None
        in_sigma = np.asarray(self.belief.in_sigma)
        return np.where(in_sigma, "noise of one observation", "votes").tolist()

    @property
    def credible(self) -> Any:
        """The smallest set that has the best with 95% probability, the most probable first; None for rules without."""
        if self.p_best is None:
            return None
        return self._each(lambda one: one._names(smallest_set(np.asarray(one.p_best))))

    @property
    def indistinct(self) -> Any:
        """Alternatives that are not clearly worse than the winner, best first; None for rules without a belief.

        Clearly worse means with a probability of more than 97.5%: the 95% interval of ``belief.distance`` excludes 0.
        """
        if self.belief is None:
            return None

        def near(one: "Outcome") -> list[Any]:
            first, *others = one.ordered_positions()
            better = one.p_above[first]
            return one._names([j for j in others if not better[j] > CLEAR])

        return self._each(near)

    @property
    def tiers(self) -> Any:
        """Alternatives in tiers, best first; None for rules without a belief.

        The first of a tier is not clearly better than the others of it, and clearly better than those of later tiers:
        with more than 97.5%. The first tier is the winner and what is :attr:`indistinct` from it.
        """
        if self.belief is None:
            return None
        return self._each(lambda one: [one._names(tier) for tier in one.clear_tiers])

    @cached_property
    def clear_tiers(self) -> list[list[int]]:
        """The same of a single decision, as positions among the alternatives."""
        ordered = self.ordered_positions()
        tier = clear_tiers(np.asarray(self.p_above)[None], np.array([ordered]))[0]
        return [[j for j in ordered if tier[j] == number] for number in range(1, int(np.max(tier)) + 1)]

    @property
    def cut(self) -> Any:
        """Which alternatives are among the best ``choose`` for sure, borderline, or out; None for rules without.

        Sure is with 95% or more, out with 5% or less; each best first.
        """
        sure = self.p_chosen
        if sure is None:
            return None

        def parts(one: "Outcome") -> Cut:
            order, chance = one.ordered_positions(), np.asarray(one.p_chosen)
            inside = [j for j in order if chance[j] >= LEVEL]
            outside = [j for j in order if chance[j] <= 1 - LEVEL]
            border = [j for j in order if 1 - LEVEL < chance[j] < LEVEL]
            return Cut(*map(one._names, (inside, border, outside)))

        return self._each(parts)

    @property
    def sureness(self) -> Any:
        """The probability that the least sure of the chosen is among the best ``choose``; None for rules without.

        Where a tie leaves open which are chosen, it is that of the least sure of those who share the place.
        """
        if self.p_chosen is None:
            return None

        return self._each(lambda one: float(np.min(np.asarray(one.p_chosen)[one.chosen_positions])))

    @property
    def chosen_positions(self) -> list[int]:
        """Positions of the chosen of a single decision; of all who share the last place, if a tie is not broken."""
        if self.tie_break != "error":
            return self.ordered_positions()[: self.choose]
        marks = among_best(np.asarray(self.scores), np.asarray(self._columns(self.fit.rounding)), self.choose)
        return [int(j) for j in np.flatnonzero(marks)]

    @property
    def expected_kendall(self) -> Any:
        """How many pairs of alternatives :attr:`ordered` is expected to have in the wrong order; None without belief.

        It is the expected Kendall distance from the true ranking.
        """
        if self.belief is None:
            return None
        return self._each(lambda one: expected_kendall(one.ordered_positions(), one.p_above))

    @property
    def kendall_ranking(self) -> Any:
        """All alternatives, best first, in the order with the lowest expected Kendall distance; None without belief."""
        if self.belief is None:
            return None
        return self._each(lambda one: one._names(kendall_order(one.p_above)))

    # Order

    @cached_property
    def tier_positions(self) -> list[list[int]]:
        """Positions among the alternatives, best first; scores too close to tell apart share a tier."""
        group = tied_places(np.asarray(self.scores), np.asarray(self._columns(self.fit.rounding)))
        return [np.flatnonzero(group == place).tolist() for place in range(int(np.max(group)) + 1)]

    @property
    def voters(self) -> Any:
        """How many voters (or ballots, if some stand for several) have a usable vote."""

        def count(one: "Outcome") -> int:
            voted = np.any(np.asarray(one.profile.counts) > 0, axis=-1)
            return int(np.sum(voted & (np.asarray(one.profile.multiplicity) > 0)))

        return self._each(count)

    @property
    def ranking(self) -> Any:
        """Tiers of names, best first: ``[["B"], ["A", "C"]]`` says that A and C tie behind B."""
        return self._each(lambda one: [one._names(tier) for tier in one.tier_positions])

    @property
    def winners(self) -> Any:
        """Names of all alternatives that share the highest score."""
        return self._each(lambda one: one._names(one.tier_positions[0]))

    @property
    def winner(self) -> Any:
        """The best alternative, after the tie-break."""
        return self._each(lambda one: one._first(1)[0])

    @property
    def chosen(self) -> Any:
        """The best ``choose`` alternatives, best first, after the tie-break."""
        return self._each(lambda one: one._first(one.choose))

    @cached_property
    def ordered(self) -> Any:
        """All alternatives, best first, ties in the order of the tie-break (of the alternatives if there is none)."""
        return self._each(lambda one: one._names(one.ordered_positions()))

    def _names(self, positions: list[int]) -> list[Any]:
        names = self.alternatives
        return [names[j] for j in positions]

    def ordered_positions(self) -> list[int]:
        """Positions, best first, each tier in the order of the tie-break."""
        if self.tie_break != "random":
            return [j for tier in self.tier_positions for j in tier]
        rng = np.random.default_rng(self.seed)
        return [tier[int(p)] for tier in self.tier_positions for p in rng.permutation(len(tier))]

    def _first(self, k: int) -> list[Any]:
        """Return the best k, if no unbroken tie stands across the border."""
        if self.tie_break == "error":
            ends = np.cumsum([len(tier) for tier in self.tier_positions])
            across = int(np.searchsorted(ends, k))
            if ends[across] > k:
                raise TieError.of(self._names(self.tier_positions[across]), k)
        return list(self.ordered[:k])

    # Reasons

    @property
    def warnings(self) -> tuple[str, ...]:
        """What deserves a look: ignored or odd voters, alternatives left out, maxima at infinity."""
        return self.profile.warnings + self.rule_warnings

    @property
    def rule_warnings(self) -> tuple[str, ...]:
        """The warnings that come from deciding; of votes that say nothing a profile warns itself."""
        if self.profile.batch:
            several = WarningLines()
            several.add(self)
            return several.lines()
        messages = []
        seen = np.sum(np.asarray(self.profile.counts) > 0, axis=0)
        names = self.profile.alternatives
        kept = set(self.kept)
        if out := [str(name) for j, name in enumerate(names) if j not in kept]:
            messages.append(f"no evidence about {', '.join(out)}: left out")
        lone = [str(names[self.kept[j]]) for j in self.tier_positions[0] if seen[self.kept[j]] == 1]
        if lone and len(self.profile) > 2:
            messages.append(f"only one voter saw {', '.join(lone)}, which comes out best")
        messages += self.fit.messages(names)
        return (*messages, *self.remarks)

    def decisions_with_warnings(self, most: int | None = None) -> "list[tuple[Any, Outcome]]":
        """Return the decisions of a batch that may have warnings, or some, found without taking all of them apart."""
        scores, seen = np.asarray(self.fit.scores), voter_sum(np.asarray(self.profile.counts) > 0)
        found = (scores == -np.inf).any(axis=-1)
        found |= (among_best(scores, np.asarray(self.fit.rounding)) & (seen == 1)).any(axis=-1)
        found |= np.asarray(self.fit.status) != Status.CONVERGED
        found.flat[list(self.fit.warnings)] = True
        wanted = np.flatnonzero(found.reshape(self.profile.batch[0], -1).any(axis=1))[:most]
        return [(self.profile.decision_names[d], self._decision(int(d), self.profile.decision(int(d)))) for d in wanted]

    def explain(self) -> Any:
        """Return an :class:`Explanation`: who decided it, and what would change it."""
        return self._each(lambda one: one._explanation)

    @cached_property
    def _explanation(self) -> Explanation:
        """The same of a single decision, made once, since what it asks for can take long."""
        return Explanation(self)

    # Output

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome of a single decision as plain Python objects, ready for JSON."""
        return record(self)

    def to_json(self, explain: bool = False) -> str:
        """Return one JSON object, or for a batch one a line with its ``decision``; ``explain`` adds the reasons.

        Infinite numbers are the strings ``"inf"`` and ``"-inf"``; ``winner`` is null where a tie is not broken.
        """
        lines = []
        for name, one in self.singles():
            head = {} if name is None else {"decision": name if isinstance(name, str | int) else str(name)}
            tail = {"explanation": one.explain().to_dict()} if explain else {}
            lines.append(json.dumps(head | one.to_dict() | tail))
        return "\n".join(lines)

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a tidy frame with a row for each alternative, best first; ties share the better rank.

        Columns, where they apply: ``decision``, ``alternative``, ``title``, ``score``, ``rank``, ``winner``,
        ``chosen``; ``voters``, how many saw it, and ``count``, how much they saw of it in total; ``p_best``; from rules
        with a :attr:`belief` also ``p_chosen`` (P(among the best ``choose``)), ``tier``, ``estimate``,
        ``estimate_low``, ``estimate_high`` (the score and its 95% interval) with ``estimate_unit``, ``distance``,
        ``distance_low``, ``distance_high`` (how far behind the winner) with ``distance_unit``. ``backend`` is
        ``"polars"``, ``"pandas"`` or ``"pyarrow"``.
        """
        columns = {name: column.tolist() for name, column in alternative_columns(self).items()}
        for column in ("voters", "count"):
            if all(number % 1 == 0 and number < _WHOLE for number in columns[column]):
                columns[column] = list(map(int, columns[column]))
        for column in columns.keys() & {"decision", "alternative"}:
            if len({type(name) for name in columns[column]}) > 1:  # a column has one type
                columns[column] = list(map(str, columns[column]))
        return framed(columns, backend)

    def to_arviz(self, chains: int = 4, draws: int = 1000, seed: int = 0) -> Any:
        """Return draws of the posterior for ArviZ; needs the extra ``arviz``.

        It is an ``InferenceData`` for ArviZ before 1.0 and an xarray ``DataTree`` since then, with a group
        ``posterior``. There, ``truth`` has the dimensions chain, draw, alternative (for a batch: chain, draw, decision,
        alternative) and the unit of the scores; where σ/τ is not known, ``sigma_over_tau`` has chain and draw (and
        decision). Alternatives without evidence are left out; in a batch they are NaN where others have evidence.

        The draws are independent, not those of a Markov chain, and are only shared out over chains: that chains agree
        says nothing. Draws of ``sigma_over_tau`` are a few values that stand for what it may be, a very large one for
        votes that are nothing but noise.

        Parameters
        ----------
        chains, draws
            How many chains, and how many draws in each.
        seed
            Of the draws, besides the seed of the decision.
        """
        return arviz_data(self, chains, draws, seed)

    def __repr__(self) -> str:
        if self.profile.batch:
            return f"Outcome({self.rule}: {self.profile.batch[0]} decisions)"
        return f"Outcome({self.rule}: {' > '.join(' = '.join(map(str, tier)) for tier in self.ranking)})"

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        return html_table(*(decisions_table(self) if self.profile.batch else alternatives_table(self)))


class WarningLines:
    """Warnings about several batches, each once with the decisions it is about."""

    def __init__(self) -> None:
        self._about: dict[str, list[Any]] = {}

    def add(self, outcome: Outcome) -> None:
        """Take up those of one more batch."""
        for remark in outcome.remarks:
            self._about.setdefault(remark, [])
        for name, one in outcome.decisions_with_warnings():
            for message in one.rule_warnings:
                self._about.setdefault(message, []).append(name)

    def lines(self) -> tuple[str, ...]:
        """Return a sentence for each warning."""
        return tuple(
            f"decision{'s' if len(names) > 1 else ''} {first_few(names, 2, quoted)}: {message}" if names else message
            for message, names in self._about.items()
        )
