"""Tables and bars for people to read: coloured on a terminal, plain in a pipe."""

from collections.abc import Iterable
from typing import Any

from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veritally.explanation import Explanation
from veritally.outcome import Outcome
from veritally.registry import RuleInfo

_BAR = 30  # characters


def print_outcome(outcome: Outcome, explain: bool) -> None:
    """Print one decision whole, many in a line each unless they are to be explained."""
    console = Console(highlight=False)
    if not outcome.profile.batch:
        _print_single(console, outcome, explain)
        return
    named = zip(outcome.profile.decision_names, outcome.unstack(), strict=True)
    if explain:
        for name, one in named:
            console.print(Text(f"Decision {name}", style="bold underline"))
            _print_single(console, one, explain)
            console.print()
        return
    table = Table(box=None, header_style="dim", pad_edge=False)
    for title in ("decision", "winner", "runner-up", "lead", "voters"):
        table.add_column(title, justify="right" if title in ("lead", "voters") else "left")
    for name, one in named:
        table.add_row(*map(Text, (str(name), *_summary(one))))
    console.print(Text(f"By {outcome.rule}"))
    console.print(table)


def print_rules(rules: Iterable[RuleInfo]) -> None:
    """Print the list of rules."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("rule", no_wrap=True)
    for title in ("also", "votes", "counts", "chance", "cost", "what it does", "reference"):
        table.add_column(title)
    for info in rules:
        cells = (
            info.name,
            ", ".join(info.aliases),
            info.votes,
            "yes" if info.uses_counts else "no",
            "yes" if info.stochastic else "no",
            info.cost,
            info.summary,
            info.reference,
        )
        table.add_row(*map(Text, cells))
    Console(highlight=False, width=None if Console().is_terminal else 200).print(table)


def _summary(outcome: Outcome) -> tuple[str, str, str, str]:
    """One decision in a line: winners, runner-up, lead, voters."""
    scores = sorted(map(float, outcome.scores), reverse=True)
    winners = " = ".join(map(str, outcome.winners))
    if len(outcome.winners) > 1 and outcome.tie_break != "error":
        winners = f"{outcome.winner} ({winners})"
    second = outcome.ranking[1] if len(outcome.ranking) > 1 else []
    lead = f"{scores[0] - scores[len(outcome.winners)]:.3g}" if second else ""
    return winners, " = ".join(map(str, second)), lead, str(len(outcome.profile))


def _print_single(console: Console, outcome: Outcome, explain: bool) -> None:
    console.print(Text(f"By {outcome.rule}: {len(outcome.profile)} voters, {len(outcome.alternatives)} alternatives"))
    console.print(_scores(outcome))
    explanation = outcome.explain()
    for line in _verdict(outcome, explanation):
        console.print(Text(line), soft_wrap=True)
    if explain:
        console.print(_contributions(explanation))
        for line in _what_if(explanation):
            console.print(Text(line), soft_wrap=True)


def _scores(outcome: Outcome) -> Table:
    """Alternatives in order, scores as bars from a common zero."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(justify="right")
    table.add_column(width=_BAR, no_wrap=True)
    score = {name: float(value) for name, value in zip(outcome.alternatives, outcome.scores, strict=True)}
    rank = 1
    for tier in outcome.ranking:
        for name in tier:
            style = "bold green" if rank <= outcome.choose else ""
            number = f"{rank}{'=' if len(tier) > 1 else ''}"
            bar = _bar(score[name], list(score.values()), "green" if style else "blue")
            table.add_row(number, Text(str(name), style=style), f"{score[name]:.4g}", bar)
        rank += len(tier)
    return table


def _bar(value: float, values: list[float], colour: str) -> Bar:
    """Draw a bar from zero, on the scale of all ``values``."""
    low, high = min(0.0, *values), max(0.0, *values)
    size = high - low or 1.0
    return Bar(size, min(value, 0.0) - low, max(value, 0.0) - low, width=_BAR, color=colour)


def _verdict(outcome: Outcome, explanation: Explanation) -> list[str]:
    """Say who won and by whose votes."""
    lines = []
    tied = len(outcome.winners) > 1
    if tied:
        names = " and ".join(map(str, outcome.winners))
        settled = "" if outcome.tie_break == "error" else f"; the tie-break ({outcome.tie_break}) says {outcome.winner}"
        lines.append(f"Tie: {names} share the highest score{settled}.")
    elif explanation.runner_up is None:
        lines.append(f"Winner: {explanation.winner}, the only alternative with any evidence.")
    else:
        lines.append(f"Winner: {explanation.winner}, ahead of {explanation.runner_up} by {explanation.lead:.4g}.")
    if outcome.choose > 1:
        lines.append(f"Chosen: {_chosen(outcome)}.")
    if "delta" in outcome.details:
        delta = float(outcome.details["delta"])
        first, second = outcome.profile.alternatives
        lines.append(f"Maximum-likelihood difference: {second} is {delta:+.4g} against {first}.")
    if not tied:
        parts = list(explanation.contributions.items())
        helped = [f"{name} ({part:+.3g})" for name, part in parts if part > 0][:3]
        hurt = [f"{name} ({part:+.3g})" for name, part in reversed(parts) if part < 0][:3]
        lines.append(f"Decided by: {', '.join(helped)}; against it: {', '.join(hurt) or 'nobody'}.")
    return lines


def _chosen(outcome: Outcome) -> str:
    """Name the chosen, or the tie that stands in the way."""
    if outcome.tie_break != "error":
        return ", ".join(map(str, outcome.chosen))
    names: list[str] = []
    for tier in outcome.ranking:
        left = outcome.choose - len(names)
        if len(tier) > left:
            return (
                ", ".join([*names, f"and {left} of {' and '.join(map(str, tier))}, who tie"])
                if left
                else ", ".join(names)
            )
        names += map(str, tier)
    return ", ".join(names)


def _contributions(explanation: Explanation) -> Table:
    """Each voter's part in the lead, as bars."""
    table = Table(box=None, show_header=False, pad_edge=False, title="Contributions to the lead", title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(width=_BAR, no_wrap=True)
    parts = explanation.contributions
    shares = explanation.shares
    shown = _extremes(list(parts), 10)
    for name in shown:
        share = f"{shares[name]:+.0%}" if shares else ""
        colour = "green" if parts[name] > 0 else "red"
        table.add_row(Text(str(name)), f"{parts[name]:+.4g}", share, _bar(parts[name], list(parts.values()), colour))
    if len(shown) < len(parts):
        rest = sum(parts[name] for name in parts if name not in set(shown))
        table.add_row(f"{len(parts) - len(shown)} others", f"{rest:+.4g}", "", "")
    return table


def _extremes(names: list[Any], each: int) -> list[Any]:
    """Return the first and last few of a long list."""
    return names if len(names) <= 2 * each else [*names[:each], *names[-each:]]


def _what_if(explanation: Explanation) -> list[str]:
    """Say what would have changed the winner."""
    lines = [
        f"Without {name} the winner would be {' and '.join(map(str, winners)) or 'nobody'}."
        for name, winners in list(explanation.pivotal.items())[:10]
    ]
    if len(explanation.pivotal) > 10:
        lines.append(f"The same or other changes follow from leaving out {len(explanation.pivotal) - 10} more voters.")
    if not lines:
        lines.append("No single voter, left out, would change the winner.")
    equal = " and ".join(map(str, explanation.equal_counts))
    if explanation.counts_mattered:
        lines.append(f"With equal counts the winner would be {equal}.")
    else:
        lines.append("With equal counts the winner would be the same.")
    return lines
