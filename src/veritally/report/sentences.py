"""Sentences about an outcome: who won, how sure that is, and what would change it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veritally.explain import Explanation
from veritally.inference.belief import CLEAR, LEVEL, SURE_LEVELS, Belief, percent
from veritally.inference.pooling import POOLED
from veritally.inference.scale import PooledNoise
from veritally.outcome import Outcome
from veritally.panel.learned import LearnedPanel
from veritally.panel.panel import Panel
from veritally.records import chosen_text, join_names, list_names
from veritally.votes.description import claims

_WORTH_SAYING = 0.01  # of a probability
_LEAST_SHARE = 0.005  # of the noise, that belongs to items
_FEWEST = 2  # alternatives
MOST_LEADS = 5  # in one contribution, beyond which parts of the lead say little
_NAMED = 3  # voters on each side of the lead
_LOST = 0.05  # voters, which shared errors take at least to be worth a word
ROUNDING = 1e-9  # of the largest contribution
MOST_NEAR = 6  # alternatives named that the winner is not clearly better than
_LITTLE = 0.02  # of what a panel is worth: less than that is not worth saying of a voter
_MOST_PIVOTAL = 10  # voters named whose absence would change the choice

SIGMA = "σ, the noise (standard deviation) of one observation"


def method(outcome: Outcome) -> str:
    """Name the rule and its parameters."""
    parameters = ", ".join(
        f"{name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in outcome.parameters.items()
        if value != "pooled"  # which has a line of its own
    )
    return f"{outcome.rule} ({parameters})" if parameters else outcome.rule


def voters(outcome: Outcome) -> str:
    """Say how many voters there are, and on how many ballots where some stand for several."""
    times = np.asarray(outcome.profile.multiplicity)
    whole = float(np.sum(times[np.any(np.asarray(outcome.profile.counts) > 0, axis=-1)]))
    ballots = "" if whole == outcome.voters else f" on {outcome.voters} ballot{'s' if outcome.voters > 1 else ''}"
    number = outcome.effective_voters
    worth = ""
    if number is not None and outcome.independent_voters - number > _LOST:
        worth = (
            f", worth about {number:.1f} of the best of them ({outcome.independent_voters:.1f} if none shared errors)"
        )
    return f"{whole:g} voter{'s' if whole != 1 else ''}{ballots}{worth}"


def answer(outcome: Outcome, explanation: Explanation) -> list[str]:
    """Say who won, or who is chosen."""
    first, second = explanation.winner, explanation.runner_up
    if len(outcome.winners) > 1:
        settled = "" if outcome.tie_break == "error" else f"; the tie-break ({outcome.tie_break}) says {outcome.winner}"
        lines = [f"Tie: {join_names(outcome.winners)} share the highest score{settled}."]
    elif outcome.choose > 1:
        lines = []
    elif second is None:
        lines = [f"Winner: {first}, the only alternative with any evidence."]
    else:
        lines = [f"Winner: {first}{_ahead(outcome, explanation)}."]
    if outcome.choose > 1:
        lines.append(f"Chosen: {chosen_text(outcome)}.")
        if explanation.lead > 0:
            lines.append(f"Last in: {first}{_ahead(outcome, explanation)}.")
    return lines


def decided_by(outcome: Outcome, explanation: Explanation) -> list[str]:
    """Say whose votes decided it."""
    lines = []
    if "delta" in outcome.details:
        one, other = outcome.profile.alternatives
        lines.append(f"Maximum-likelihood difference {other} − {one}: {float(outcome.details['delta']):+.4g}.")
    if not explanation.lead > 0:
        return lines
    whole = explanation.contributions
    least = ROUNDING * max(map(abs, whole.values()))
    parts = [(name, part) for name, part in whole.items() if abs(part) > least]
    helped = [f"{name} ({part_text(explanation, part)})" for name, part in parts[:_NAMED] if part > 0]
    hurt = [f"{name} ({part_text(explanation, part)})" for name, part in reversed(parts[-_NAMED:]) if part < 0]
    lines.append(f"Decided by {join_names(helped or ['nobody'])}; against it: {join_names(hurt or ['nobody'])}.")
    if not explanation.adds_up and in_leads(explanation):
        about = "" if outcome.method.leaves_out_exactly else "about "
        lead = f"the lead of {explanation.winner} over {explanation.runner_up}"
        lines.append(f"Each number is {about}what part of {lead} is lost without that voter.")
    elif not explanation.adds_up:
        unit = " in scores" if outcome.belief is not None and outcome.belief.in_sigma else ""
        size = f"{explanation.lead:.3g}{unit}" if unit else lead_text(outcome, explanation, 3)
        lead = f"the lead of {explanation.winner} over {explanation.runner_up} ({size})"
        about = "" if outcome.method.leaves_out_exactly else "about "
        lines.append(f"Each number is {about}what {lead} loses without that voter.")
    return lines


def in_leads(explanation: Explanation) -> bool:
    """Whether contributions are best said as parts of the lead.

    So they are where the lead is shown in σ, which is not the unit of the contributions, unless it is next to nothing.
    """
    belief = explanation.outcome.belief
    if explanation.adds_up or belief is None or not belief.in_sigma or not explanation.lead > 0:
        return False
    return max(map(abs, explanation.contributions.values())) < MOST_LEADS * explanation.lead


def part_text(explanation: Explanation, part: float, digits: int = 3) -> str:
    """Write what a voter does to the lead."""
    return f"{part / explanation.lead:+.0%}" if in_leads(explanation) else f"{part:+.{digits}g}"


def lead_text(outcome: Outcome, explanation: Explanation, digits: int = 4) -> str:
    """Say how far the runner-up is behind, with its unit; by scores, where no more is known; 0 where they tie."""
    belief = outcome.belief
    if belief is None or not explanation.lead > 0:
        return f"{explanation.lead:.{digits}g}"
    first, second = (outcome.alternatives.index(name) for name in (explanation.winner, explanation.runner_up))
    behind = belief.distance[second] - belief.distance[first]
    return f"{behind:z.{decimals(belief)}f}{' σ' if belief.in_sigma else ''}"


def interval(belief: Belief, j: int) -> str:
    """Write the interval of a distance; one that leaves 0 out shows that it does, and the winner has none."""
    if belief.distance_low[j] == belief.distance_high[j]:
        return ""
    low, high = (f"{end[j]:z.{decimals(belief)}f}" for end in (belief.distance_low, belief.distance_high))
    if not float(low):  # what was rounded to 0 says on which side it is
        low = "> 0" if belief.distance_low[j] > 0 else "< 0" if belief.distance_low[j] < 0 else low
    return f"{low} to {high}"


def decimals(belief: Belief) -> int:
    """Return how many decimals of distances are worth writing."""
    width = float(np.max(belief.distance_high - belief.distance_low))
    return max(0, 2 - math.floor(math.log10(width))) if 0 < width < math.inf else 2


def _ahead(outcome: Outcome, explanation: Explanation) -> str:
    """Say of whom the winner, or the last of the chosen, is ahead, and by how much."""
    belief, second = outcome.belief, explanation.runner_up
    behind = lead_text(outcome, explanation)
    if belief is None:
        out = "" if outcome.choose == 1 else ", first out,"
        return f", ahead of {second}{out} by {behind}"
    distance = f"{behind} behind" if float(behind.split()[0]) > 0 else "level with it"
    if outcome.choose > 1:
        return f"; first out is {second}, {distance}"
    return f"; next is {second}, {distance} (95%: {interval(belief, outcome.alternatives.index(second))})"


def certainty(outcome: Outcome) -> list[str]:
    """Say how sure it is."""
    if outcome.choose > 1 and outcome.belief is not None:
        return _cut(outcome)
    if len(outcome.winners) > 1:
        return []
    best = dict(zip(outcome.alternatives, outcome.p_best, strict=True))
    first = outcome.ordered[0]
    lines = [f"{first} has {chance(best[first])} of being best. {_others(outcome)}"]
    likeliest = max(best, key=best.__getitem__)
    if best[likeliest] > best[first] + _WORTH_SAYING:
        lines.append(
            f"{likeliest} has a larger chance of being best ({percent(best[likeliest])}) but a lower expected quality, "
            "since less is known of it."
        )
    return lines


def chance(share: float) -> str:
    """Write a probability in words that a sentence can hold.

    >>> chance(0.93), chance(0.8), chance(0.999)
    ('a 93% chance', 'an 80% chance', 'more than a 99% chance')
    """
    text = percent(share)
    if text[0] in "<>":
        return f"{'less' if text[0] == '<' else 'more'} than a {text[2:]} chance"
    return f"{'an' if text[:2] in ('8%', '11', '18') or text[0] == '8' else 'a'} {text} chance"


def _others(outcome: Outcome) -> str:
    """Say which others may be as good as the winner; of many, the first few."""
    if outcome.belief is None:
        near = [name for name in outcome.ordered if name in outcome.credible]
        if len(near) == 1:
            return f"No other has more than {1 - LEVEL:.0%}."
        return f"There is a {LEVEL:.0%} chance that the best is one of {join_names(near)}."
    near = outcome.indistinct
    if not near:
        return f"Each of the others is clearly worse (with more than {CLEAR:.1%})."
    named = near if len(near) <= MOST_NEAR else [*near[: MOST_NEAR - 1], f"{len(near) - MOST_NEAR + 1} others"]
    return f"Not clearly worse (less than {CLEAR:.1%} sure): {join_names(named)}."


def _cut(outcome: Outcome) -> list[str]:
    """Say who is among the chosen for sure, who is borderline and who is out."""
    inside, borderline, outside = outcome.cut
    first = set(outcome.ordered[: outcome.choose])
    lines = [f"In for sure ({LEVEL:.0%} or more): {list_names(inside) or 'none'}."]
    for which, chosen in (("chosen", True), ("not chosen", False)):
        if own := [name for name in borderline if (name in first) == chosen]:
            lines.append(f"Borderline, {which}: {list_names(with_chances(outcome, own, by_chance=True))}.")
    if outside:
        named = list_names(outside) if len(outside) <= MOST_NEAR else f"the other {len(outside)}"
        lines.append(f"Out ({1 - LEVEL:.0%} or less): {named}.")
    return lines


def with_chances(
    outcome: Outcome, names: Sequence[Any], levels: Sequence[float] = SURE_LEVELS, by_chance: bool = False
) -> list[str]:
    """Return names with the probability of being among the best, none rounded to a level that it does not reach.

    Perhaps in the order of these probabilities.
    """
    sure = dict(zip(outcome.alternatives, outcome.p_chosen, strict=True))
    if by_chance:
        names = sorted(names, key=lambda name: -sure[name])
    return [f"{name} ({percent(sure[name], levels)})" for name in names]


def pooled(outcome: Outcome) -> list[str]:
    """Say what all decisions say about their noise together, or that they are too few for it."""
    if outcome.parameters.get("scale") != "pooled":
        return []
    if not outcome.pooled_noise:
        return [f"Fewer than {POOLED} decisions of a kind: the noise of each is estimated by itself."]
    return [common_noise(noise) for noise in outcome.pooled_noise]


def common_noise(noise: PooledNoise) -> str:
    """Say what one noise of many decisions is."""
    what = "σ/τ" if noise.unknown == "sigma" else "τ"
    of_sigma = "" if noise.sigma is None else f"; σ is about {noise.sigma:.2g}"
    low, high = noise.interval
    return (
        f"The noise of {noise.decisions:,} decisions is pooled: {what} is {noise.typical:.2g} ({low:.2g} to "
        f"{high:.2g}) in a typical one, and in others up to {noise.factor:.2g} times more or less{of_sigma}."
    )


def findings(outcome: Outcome) -> list[str]:
    """Say what was estimated or allowed for."""
    lines, belief, scale = [], outcome.belief, outcome.scale
    if scale is not None and scale[1] < scale[2]:
        ratio, low, high = map(float, scale)
        source = "all decisions and this one" if outcome.pooled_noise else "these votes"
        lines.append(
            f"Noise, estimated from {source}: one observation varies {ratio:.2g} times as much as true quality does "
            f"(σ/τ; 95%: {low:.2g} to {high:.2g})."
        )
        if len(outcome.alternatives) == _FEWEST and not outcome.pooled_noise:
            lines.append(
                "Two alternatives say little about the noise: give --sigma and --tau if you know them roughly."
            )
    noise = float(outcome.details.get("p_noise", 0))
    if noise > _WORTH_SAYING:
        lines.append(f"Chance that the votes are pure noise: {percent(noise)} (50% before seeing them).")
    if belief is None:
        return lines
    if belief.in_sigma:
        lines.insert(0, f"Distances are in units of {SIGMA}.")
    if not np.isnan(belief.count_error):
        lines.append(f"Allowed for: errors in the counts, of size {float(belief.count_error):.2g}.")
    if not np.isnan(belief.omega):
        lines.append(f"Allowed for: voters who differ by ω = {float(belief.omega):.2g} however much they saw.")
    lines += panel(outcome)
    if "cap" not in outcome.parameters:
        lines += [f"Note that {claim}; --cap limits what that does." for claim in claims(outcome.profile)]
    return lines


def panel(outcome: Outcome) -> list[str]:
    """Say what was found out about voters."""
    lines = shared(outcome)
    if outcome.details.get("leniency", 0) > 0:
        spread = float(outcome.details["leniency"])
        own = "" if outcome.panel is None else "; beside errors that voters share, each voter's own is not estimated"
        lines.append(f"Allowed for: voters' leniency, which differs by about {spread:.2g} (standard deviation){own}.")
    return lines


def shared(outcome: Outcome) -> list[str]:
    """Say how strongly voters of a group err together, in all decisions."""
    panel = outcome.panel
    if isinstance(panel, LearnedPanel):
        return _learned(panel)
    lines: list[str] = []
    if not isinstance(panel, Panel):
        return lines
    if panel.items is not None:
        part = float(np.mean(outcome.details["correlation"]))
        said = f"Allowed for: {part:.0%} of the noise of a look comes from its item, which others may share."
        lines.append(said if part >= _LEAST_SHARE else "Items that voters share make no difference here.")
    elif panel.correlation == "estimated":
        rho = float(np.mean(outcome.details["correlation"]))
        lines.append(f"Estimated: the errors of voters of the same group correlate by about {rho:.2g}.")
    return lines


def _learned(panel: LearnedPanel) -> list[str]:
    """Say what a learned panel rests on."""
    if panel.answers:
        return [f"Used: a panel learned from {panel.decisions:,} decisions, of which {panel.answers:,} had answers."]
    common = "all chances hold if what the panel has in common is right"
    return [f"Used: a panel learned from {panel.decisions:,} decisions without answers, so {common}."]


def worth(explanation: Explanation) -> list[str]:
    """Say what the panel would be worth without each voter, those who matter most first."""
    whole, without = explanation.outcome.effective_voters, explanation.effective_voters_without
    if not without:
        return []
    apart = explanation.outcome.independent_voters
    order = sorted(without, key=without.__getitem__)
    whole_text = f"The panel is worth {whole:.1f} voters like its best; {apart:.1f} if nobody shared errors"
    if whole - without[order[0]] < _LITTLE * whole:
        return [f"{whole_text}. No single voter matters to that."]
    named = list_names([f"{name} {without[name]:.1f}" for name in order[:_MOST_PIVOTAL]])
    more = f", others up to {without[order[-1]]:.1f}" if len(order) > _MOST_PIVOTAL else ""
    return [f"{whole_text}. Without {named}{more}."]


def leniency(explanation: Explanation) -> list[str]:
    """Say who is clearly harsh and who lenient, those who are most so first."""
    if not explanation.leniency:
        return []
    order = sorted(explanation.clear_leniency.items(), key=lambda own: own[1])
    if not order:
        return ["No single voter is clearly harsh or lenient."]
    harsh = [f"{name} ({by:+.2g})" for name, by in order[:_NAMED] if by < 0]
    lenient = [f"{name} ({by:+.2g})" for name, by in order[: -_NAMED - 1 : -1] if by > 0]
    return [f"Harshest: {', '.join(harsh) or 'nobody'}; most lenient: {', '.join(lenient) or 'nobody'}."]


def what_if(explanation: Explanation) -> list[str]:
    """Say what would change the choice."""
    k = explanation.outcome.choose
    what = "the winner" if k == 1 else "the chosen"
    now = list(explanation.outcome.ordered[:k])

    def would(names: list[Any]) -> str:
        if len(names) > k:
            return f"{join_names(names)} would tie" if k == 1 else f"{join_names(names)} would share {k} places"
        new, old = ([name for name in some if name not in others] for some, others in ((names, now), (now, names)))
        if k > 1 and new and old:
            return f"{join_names(new)} would be chosen instead of {join_names(old)}"
        return f"{what} would be {join_names(names)}"

    approximate = set(explanation.approximate)
    order = sorted(explanation.pivotal, key=approximate.__contains__)
    lines = []
    for name in order[:_MOST_PIVOTAL]:
        names = explanation.pivotal[name]
        said = would(names) if names else "nothing to decide by"
        lines.append(f"Without {name}{' (about)' if name in approximate else ''}: {said}.")
    if (more := len(order) - _MOST_PIVOTAL) > 0:
        probably = "probably " if approximate.intersection(order[_MOST_PIVOTAL:]) else ""
        lines.append(f"Leaving out any of {more} more voters would {probably}change it too.")
    if len(explanation.outcome.winners) > 1 and not lines and not explanation.counts_mattered:
        return []
    if not lines:
        lines.append(f"Leaving out any single voter would not change {what}.")
    counts = np.asarray(explanation.outcome.profile.counts)
    if np.ptp(counts[counts > 0]) > 0:
        equal = would(explanation.equal_counts) if explanation.counts_mattered else f"{what} would be the same"
        lines.append(f"With equal counts: {equal}.")
    if (plain := explanation.without_leniency) is not None:
        changed = set(plain) != set(now) or len(plain) > k
        lines.append(f"Without allowing for leniency: {would(plain) if changed else f'{what} would be the same'}.")
    return lines
