"""Sentences about an outcome: who won, how sure that is, and what would have changed it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from veritally.explain import Explanation
from veritally.inference.belief import LEVEL, percent
from veritally.outcome import Outcome
from veritally.votes.description import claims

_FEWEST = 2  # alternatives
_ROUGH = 0.1  # of importance samples that count, below which the answer is rough
_NAMED = 3  # voters on each side of the lead
_MOST_PIVOTAL = 10  # voters named whose absence would change the choice


def method(outcome: Outcome) -> str:
    """Name the rule and its parameters."""
    parameters = ", ".join(
        f"{name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in outcome.parameters.items()
    )
    return f"{outcome.rule} ({parameters})" if parameters else outcome.rule


def voters(outcome: Outcome) -> str:
    """Say how many voters there are, and on how many ballots where some stand for several."""
    times = np.asarray(outcome.profile.multiplicity)
    whole = float(np.sum(times[np.any(np.asarray(outcome.profile.counts) > 0, axis=-1)]))
    ballots = "" if whole == outcome.voters else f" on {outcome.voters} ballot{'s' if outcome.voters > 1 else ''}"
    return f"{whole:g} voter{'s' if whole != 1 else ''}{ballots}"


def verdict(outcome: Outcome, explanation: Explanation) -> list[str]:
    """Say who won and by whose votes."""
    lines = []
    first, second = explanation.winner, explanation.runner_up
    if len(outcome.winners) > 1:
        settled = "" if outcome.tie_break == "error" else f"; the tie-break ({outcome.tie_break}) says {outcome.winner}"
        lines.append(f"Tie: {join_names(outcome.winners)} share the highest score{settled}.")
    elif outcome.choose == 1 and second is None:
        lines.append(f"Winner: {first}, the only alternative with any evidence.")
    elif outcome.choose == 1:
        lines.append(f"Winner: {first}, ahead of {second} by {explanation.lead:.4g}.")
    if outcome.choose > 1:
        lines.append(f"Chosen: {chosen(outcome)}.")
        if explanation.lead > 0:
            lines.append(f"Last in: {first}, ahead of {second}, first out, by {explanation.lead:.4g}.")
    if "delta" in outcome.details:
        one, other = outcome.profile.alternatives
        lines.append(f"Maximum-likelihood difference {other} − {one}: {float(outcome.details['delta']):+.4g}.")
    if explanation.lead > 0:
        parts = list(explanation.contributions.items())
        helped = [f"{name} ({part:+.3g})" for name, part in parts[:_NAMED] if part > 0]
        hurt = [f"{name} ({part:+.3g})" for name, part in reversed(parts[-_NAMED:]) if part < 0]
        lines.append(f"Decided by: {', '.join(helped)}; against it: {', '.join(hurt) or 'nobody'}.")
    return lines


def chosen(outcome: Outcome) -> str:
    """Name the chosen, or the tie that stands in the way."""
    if outcome.tie_break != "error":
        return ", ".join(map(str, outcome.chosen))
    names: list[str] = []
    for tier in outcome.ranking:
        left = outcome.choose - len(names)
        if left < len(tier):
            tie = " = ".join(map(str, tier)) if not names else f"{left} of {join_names(tier)}, who tie"
            return ", ".join([*names, tie] if left else names)
        names += map(str, tier)
    return ", ".join(names)


def certainty(outcome: Outcome) -> list[str]:
    """Say how sure it is."""
    if outcome.choose > 1 and outcome.belief is not None:
        return _certainty_at_the_cut(outcome)
    if len(outcome.winners) > 1:
        return []
    names = outcome.ordered
    best = dict(zip(outcome.alternatives, outcome.p_best, strict=True))
    near = [name for name in names if name in outcome.credible or name == names[0]]
    if len(near) == 1:
        others = "it stands apart from all others at 95%"
    elif outcome.belief is None:
        others = f"the best is among {join_names(near)} with 95%"
    else:
        others = f"{join_names(near)} cannot be told apart at 95%"
    return [f"{names[0]} is best with {percent(best[names[0]])}; {others}."]


def _certainty_at_the_cut(outcome: Outcome) -> list[str]:
    """Say whom the choice of several might as well have hit."""
    k, sure = outcome.choose, dict(zip(outcome.alternatives, outcome.p_chosen, strict=True))
    names = outcome.ordered
    inside = [name for name in names[:k] if sure[name] < LEVEL]
    outside = [name for name in names[k:] if sure[name] > 1 - LEVEL]
    if not inside and not outside:
        return [f"They are the best {k} with 95% each."]
    return [f"At the cut, {join_names([*inside, *outside])} cannot be told apart at 95%."]


def findings(outcome: Outcome) -> list[str]:
    """Say what was found out on the way."""
    lines, belief, scale = [], outcome.belief, outcome.scale
    if scale is not None and scale[1] < scale[2]:
        ratio, low, high = map(float, scale)
        lines.append(f"Estimated: σ/τ = {ratio:.2g} ({low:.2g} to {high:.2g}), one observation's noise to the spread.")
        if len(outcome.alternatives) == _FEWEST:
            lines.append(
                "Votes on two alternatives hardly tell that: give --sigma and --tau if you know about what they are."
            )
    if belief is None:
        return lines
    if not np.isnan(belief.count_error):
        lines.append(f"Allowed for: errors of counts of size {float(belief.count_error):.2g}.")
    if not np.isnan(belief.omega):
        lines.append(f"Allowed for: voters who differ by ω = {float(belief.omega):.2g} however much they saw.")
    if "cap" not in outcome.parameters:
        lines += [f"Mind that {claim}; --cap limits what that does." for claim in claims(outcome.profile)]
    if belief.efficiency < _ROUGH:
        lines.append(f"The probabilities are rough: {float(belief.efficiency):.0%} of the importance samples count.")
    return lines


def what_if(explanation: Explanation) -> list[str]:
    """Say what would have changed the choice."""
    what = "the winner" if explanation.outcome.choose == 1 else "the chosen"
    k = explanation.outcome.choose

    def would(names: list[Any]) -> str:
        if len(names) > k:
            return f"{join_names(names)} would tie" if k == 1 else f"{join_names(names)} would share {k} places"
        return f"{what} would be {join_names(names)}"

    lines = [
        f"Without {name} {would(names) if names else 'nothing would be left to decide by'}."
        for name, names in list(explanation.pivotal.items())[:_MOST_PIVOTAL]
    ]
    if (more := len(explanation.pivotal) - _MOST_PIVOTAL) > 0:
        lines.append(f"The same or other changes follow from leaving out {more} more voters.")
    if len(explanation.outcome.winners) > 1 and not lines and not explanation.counts_mattered:
        return []
    if not lines:
        lines.append(f"No single voter, left out, would change {what}.")
    equal = would(explanation.equal_counts) if explanation.counts_mattered else f"{what} would be the same"
    lines.append(f"With equal counts {equal}.")
    return lines


def join_names(names: Sequence[Any]) -> str:
    """Join names as in "A, B and C"."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last
