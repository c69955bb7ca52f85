"""An outcome as plain data: one record for JSON, a row for each alternative, tables for notebooks."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.arrays import Array, voter_sum
from veritally.document import Table
from veritally.errors import InputError, TieError
from veritally.explain import among_best
from veritally.inference.belief import DISTANCES, SURE_LEVELS, Belief, percent
from veritally.inference.ordering import clear_tiers, tied_places
from veritally.panel.learned import LearnedPanel
from veritally.votes.labels import Labels, counted, visible
from veritally.votes.profile import Profile
from veritally.votes.values import Values

if TYPE_CHECKING:
    from veritally.outcome import Outcome

_MOST_ROWS = 60  # of a table in a notebook


def record(outcome: "Outcome") -> dict[str, Any]:
    """Return a single decision as plain objects, names as text."""
    tied = len(outcome.winners) > 1 and outcome.tie_break == "error"
    result: dict[str, Any] = {
        "rule": outcome.rule,
        "winner": None if tied else str(outcome.winner),
        "winners": _texts(outcome.winners),
        "ranking": [_texts(tier) for tier in outcome.ranking],
        "scores": _by_name(outcome, outcome.scores),
        "voters": outcome.voters,
        "alternatives": len(outcome.alternatives),
        "status": outcome.status,
        "warnings": list(outcome.warnings),
    }
    if outcome.choose > 1:
        try:
            result["chosen"] = _texts(outcome.chosen)
        except TieError:
            result["chosen"] = None
    if outcome.belief is not None:
        result |= _sureness(outcome, outcome.belief)
        if outcome.choose > 1:
            result["p_chosen"] = _by_name(outcome, outcome.p_chosen)
    elif outcome.p_best is not None:
        result |= {"p_best": _by_name(outcome, outcome.p_best), "credible": _texts(outcome.credible)}
    if outcome.p_chosen is not None:
        names = zip(("in", "borderline", "out"), map(_texts, outcome.cut), strict=True)
        result |= {"cut": dict(names), "sureness": outcome.sureness}
    if outcome.scale is not None:
        result["sigma_over_tau"] = dict(zip(("estimate", "low", "high"), map(float, outcome.scale), strict=True))
    if outcome.pooled_noise:
        result["pooled_noise"] = [noise.to_dict() for noise in outcome.pooled_noise]
    if outcome.panel is not None:
        result["effective_voters"] = outcome.effective_voters
        if isinstance(outcome.panel, LearnedPanel) and outcome.panel.assumption is not None:
            result["panel_assumption"] = outcome.panel.assumption
    for name, value in outcome.details.items():
        result.setdefault(name, float(value) if math.isfinite(value) else str(float(value)))
    return result


def _sureness(outcome: "Outcome", belief: Belief) -> dict[str, Any]:
    """Return what is known beyond the scores."""

    def intervals(low: Array, high: Array) -> dict[str, list[float]]:
        names = map(str, outcome.alternatives)
        return {name: [float(a), float(b)] for name, a, b in zip(names, low, high, strict=True)}

    return {
        "p_best": _by_name(outcome, belief.p_best),
        "intervals": intervals(belief.low, belief.high),
        "distance": _by_name(outcome, belief.distance),
        "distance_intervals": intervals(belief.distance_low, belief.distance_high),
        "distance_unit": outcome.distance_unit,
        "expected_regret": _by_name(outcome, belief.regret),
        "expected_kendall": outcome.expected_kendall,
        "kendall_ranking": _texts(outcome.kendall_ranking),
        "credible": _texts(outcome.credible),
        "indistinct": _texts(outcome.indistinct),
        "tiers": [_texts(tier) for tier in outcome.tiers],
        "sigma": _by_name(outcome, belief.sigma),
        "tau": float(belief.tau),
        "count_error": None if np.isnan(belief.count_error) else float(belief.count_error),
        "omega": None if np.isnan(belief.omega) else float(belief.omega),
        "exact_draws": bool(belief.exact),
    }


def _texts(names: Any) -> list[str]:
    return list(map(str, names))


def _by_name(outcome: "Outcome", x: Any) -> dict[str, float]:
    return {str(name): float(value) for name, value in zip(outcome.alternatives, x, strict=True)}


def alternative_rows(outcome: "Outcome") -> list[dict[str, Any]]:
    """Return a row for each alternative of a single decision, best first; those that tie share the better rank."""
    columns = alternative_columns(outcome)
    return [dict(zip(columns, row, strict=True)) for row in zip(*(x.tolist() for x in columns.values()), strict=True)]


def alternative_columns(outcome: "Outcome") -> dict[str, Array]:
    """Return such rows as columns, of a single decision, or of a batch with the names of its decisions first."""
    profile, n = outcome.profile, outcome.profile.shape[-1]
    belief = outcome.whole_belief
    known = (outcome.fit.scores, outcome.fit.rounding, *seen_by(profile))
    scores, rounding, voters, counts = (np.reshape(np.asarray(x), (-1, n)) for x in known)
    answered = Answered(
        scores,
        rounding,
        voters,
        counts,
        profile.alternative_labels,
        outcome.choose,
        belief,
        outcome.fit.p_best if belief is None else belief.p_best,
        profile.ballots.anchored,
        has_unit(outcome.parameters),
    )
    order = answered.order
    if outcome.tie_break == "random":
        order = order.copy()
        for own, (_, one) in zip(order, outcome.singles(), strict=True):
            own[: len(one.kept)] = np.array(one.kept)[one.ordered_positions()]
    columns = answered.columns(order, settled=outcome.tie_break != "error")
    if profile.titles is not None:
        titles = _objects([profile.titles.get(str(name), "") for name in columns["alternative"]])
        columns = {"alternative": columns.pop("alternative"), "title": titles} | columns
    if profile.batch:
        deep = len(profile.batch) > 1
        decisions = [name for name, _ in outcome.singles()] if deep else profile.decision_names
        columns = {"decision": np.repeat(_objects(decisions), np.sum(answered.kept, axis=-1))} | columns
    return columns


@dataclass(frozen=True)
class Answered:
    """What there is to say of each alternative, arrays ``(decision, alternative)``.

    Attributes
    ----------
    scores, rounding
        As a fit has them.
    voters, counts
        How many voters saw it, and how much they saw in total.
    labels
        The names.
    choose
        How many are chosen.
    belief, p_best
        How sure it is, if the rule says so.
    anchored
        In which decisions some vote tells where the truths lie, ``(...)``.
    given
        Whether the noise or the spread of the truths was given, in whose unit estimates then are.
    """

    scores: Array
    rounding: Array
    voters: Array
    counts: Array
    labels: Labels
    choose: int
    belief: Belief | None
    p_best: Array | None
    anchored: Any
    given: bool = False

    @property
    def kept(self) -> Array:
        """Which alternatives have a score."""
        return self.scores > -np.inf

    @cached_property
    def tied(self) -> Array:
        """In which group of those that tie each is."""
        return tied_places(self.scores, self.rounding)

    @cached_property
    def order(self) -> Array:
        """The places of the alternatives, best first, those that tie as they were given."""
        return np.lexsort((np.broadcast_to(np.arange(self.scores.shape[-1]), self.scores.shape), self.tied))

    def require_untied(self) -> None:
        """Refuse a tie for the last of the chosen places, of a single decision."""
        group, last = self.tied, self.tied[0, self.order[0, self.choose - 1]]
        if np.sum(group <= last) > self.choose:
            raise TieError.of(self.labels.flat(group == last), self.choose)

    def columns(self, order: Array, settled: bool) -> dict[str, Array]:
        """Return columns of a table, in an ``order`` in which ties may be ``settled``, else all that tie are chosen."""
        kept, belief, n = self.kept, self.belief, self.scores.shape[-1]
        shown = np.take_along_axis(kept, self.order, axis=-1)

        place = (np.arange(len(kept))[:, None] * n + self.order)[shown]

        def column(x: Any) -> Array:
            return np.broadcast_to(x, kept.shape).ravel()[place]

        def flat(x: Array) -> Array:
            return column(np.reshape(x, (-1, n)))

        names = np.empty(kept.shape, dtype=object)
        names[kept] = self.labels.flat(kept)
        group = np.take_along_axis(self.tied, self.order, axis=-1)
        new = np.diff(group, axis=-1, prepend=-1) > 0
        rank = np.maximum.accumulate(np.where(new, np.arange(1, n + 1), 0), axis=-1)[shown]
        first = np.argsort(order, axis=-1) < self.choose
        chosen = first if settled else among_best(self.scores, self.rounding, self.choose)
        columns: dict[str, Array] = {"alternative": column(names), "score": column(self.scores)}
        columns |= {"rank": rank, "winner": rank == 1, "chosen": column(chosen)}
        columns |= {"voters": column(self.voters), "count": column(self.counts)}
        if self.p_best is not None:
            columns["p_best"] = flat(self.p_best)
        if belief is None:
            return columns
        columns["p_chosen"] = flat(belief.p_among(self.choose))
        columns["tier"] = column(clear_tiers(np.reshape(belief.p_above, (-1, n, n)), order))
        columns["estimate"] = columns["score"]
        columns |= {f"estimate_{end}": flat(getattr(belief, end)) for end in ("low", "high")}
        anchored, in_sigma = (np.reshape(x, (-1, 1)) for x in (self.anchored, belief.in_sigma))
        unit = "unit of sigma" if self.given else "spread of the truths"
        columns["estimate_unit"] = column(np.where(anchored, "votes", unit))
        columns |= {name: flat(getattr(belief, name)) for name in DISTANCES}
        columns["distance_unit"] = column(np.where(in_sigma, "noise of one observation", "votes"))
        return columns


def has_unit(parameters: Mapping[str, Any]) -> bool:
    """Whether parameters of a rule have a unit in which the spread of the truths is not 1."""
    return not parameters.keys().isdisjoint({"sigma", "tau"}) and parameters.get("tau") != 1


def _objects(names: Sequence[Any]) -> Array:
    """Return names as an array, whatever they are."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def seen_by(profile: Profile) -> tuple[Array, Array]:
    """Return how many voters saw each alternative, and how much they saw in total, both ``(..., alternative)``."""
    counts, times = (np.asarray(x, dtype=float) for x in (profile.counts, profile.multiplicity))
    return voter_sum((counts > 0) * times[..., None]), voter_sum(counts * times[..., None])


def plain_means(outcome: "Outcome") -> list[float] | None:
    """Return the mean of the values that voters gave each alternative, all alike; None where they gave none."""
    if not isinstance(outcome.profile.ballots, Values):
        return None
    values, times = (np.asarray(x, dtype=float) for x in (outcome.profile.values, outcome.profile.multiplicity))
    given = ~np.isnan(values)
    weight = np.sum(given * times[:, None], axis=0)
    total = np.sum(np.where(given, values, 0) * times[:, None], axis=0)
    means = np.divide(total, weight, out=np.full(weight.shape, np.nan), where=weight > 0)
    place = {name: j for j, name in enumerate(outcome.profile.alternatives)}
    return [float(means[place[name]]) for name in outcome.alternatives]


def place_chance(share: float, choose: int) -> str:
    """Write the probability of being among the ``choose`` best; of several, so that it agrees with who is in or out."""
    return percent(share, SURE_LEVELS if choose > 1 else ())


def titled(outcome: "Outcome", name: Any, width: int = 60) -> str:
    """Return the name of an alternative with its title, if it has one."""
    title = (outcome.profile.titles or {}).get(str(name), "")
    return f"{name} {textwrap.shorten(title, width, placeholder='…')}".strip()


def chosen_text(outcome: "Outcome") -> str:
    """Name the chosen, or the tie that is in the way."""
    if outcome.tie_break != "error":
        return list_names(outcome.chosen)
    names: list[str] = []
    for tier in outcome.ranking:
        left = outcome.choose - len(names)
        if left < len(tier):
            tie = " = ".join(_texts(tier)) if not names else f"{left} of {join_names(tier)} (tied)"
            return list_names([*names, tie] if left else names)
        names += _texts(tier)
    return list_names(names)


def framed(columns: dict[str, Any], backend: str, schema: Any = None) -> Any:
    """Return columns as a frame of polars, pandas or pyarrow; say what to install where that is missing."""
    import narwhals as nw

    try:
        return nw.from_dict(columns, schema, backend=backend).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError:
        raise InputError(f"a frame of {backend} needs {backend}; install it with: pip install {backend}") from None


def join_names(names: Sequence[Any]) -> str:
    """Join names as in "A, B and C"."""
    *most, last = map(str, names)
    return f"{list_names(most)} and {last}" if most else last


def list_names(names: Sequence[Any]) -> str:
    """List names as in "A, B, C"; by semicolons, if some have commas."""
    texts = _texts(names)
    return ("; " if any("," in text for text in texts) else ", ").join(texts)


def alternatives_table(outcome: "Outcome") -> tuple[Table, str]:
    """Return a single decision as a table for notebooks, with its caption."""
    rows = alternative_rows(outcome)
    numbers = {"score": "score", "voters": "voters", "count": "count"}
    if outcome.belief is not None:
        unit = "" if outcome.distance_unit == "votes" else "σ "
        chance = "P(best)" if outcome.choose == 1 else f"P(best {outcome.choose})"
        seen = {"voters": "voters", "count": "count"}
        numbers = {"distance": f"{unit}behind", "interval": "95% interval", "p_chosen": chance, "tier": "tier", **seen}
    elif outcome.p_best is not None:
        numbers = {"score": "score", "p_best": "P(best)", "voters": "voters", "count": "count"}

    def text(name: str, cell: Any) -> str:
        if isinstance(cell, str):
            return cell
        return place_chance(cell, outcome.choose) if name.startswith("p_") else f"{cell:.3g}"

    for row in rows if outcome.belief is not None else []:
        row["interval"] = f"{row['distance_low']:.3g} to {row['distance_high']:.3g}" if row["distance_high"] else ""
    cells = [
        [str(row["rank"]), visible(str(row["alternative"])), *(text(name, row[name]) for name in numbers)]
        for row in rows[:_MOST_ROWS]
    ]
    more = f", the best {_MOST_ROWS} of them below" if len(rows) > _MOST_ROWS else ""
    caption = f"{outcome.rule}: {counted(outcome.voters, 'voter')}, {counted(len(rows), 'alternative')}{more}"
    return Table.of(["", "alternative", *numbers.values()], cells, texts=2, sortable=False), caption


def decisions_table(outcome: "Outcome") -> tuple[Table, str]:
    """Return the decisions of a batch as a table for notebooks, with its caption."""
    singles = outcome.singles()
    sure = outcome.p_chosen is not None
    cells = [
        [*map(visible, (str(name), chosen_text(one))), *([percent(one.sureness)] if sure else []), str(one.voters)]
        for name, one in singles[:_MOST_ROWS]
    ]
    best = "best" if outcome.choose == 1 else f"best {outcome.choose}"
    more = f", the first {_MOST_ROWS} of them below" if len(singles) > _MOST_ROWS else ""
    header = ["decision", best, *(["sureness"] if sure else []), "voters"]
    return Table.of(header, cells, texts=2, sortable=False), f"{outcome.rule}: {len(singles)} decisions{more}"
