"""Tables and bars for people to read: coloured on a terminal, plain in a pipe."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.bar import Bar
from rich.console import Console
from rich.table import Table

from veritally.cli.screen import NAME, Text, fitted
from veritally.explain import Explanation
from veritally.inference.belief import LEVEL, Belief, percent
from veritally.outcome import Outcome
from veritally.registry import RuleInfo
from veritally.votes.description import claims
from veritally.votes.labels import visible
from veritally.votes.profile import Profile

if TYPE_CHECKING:
    from veritally.experiments.compare import Comparison
    from veritally.experiments.tables import Reproduction

_BAR, _SHORT = 30, 20  # characters
_FEWEST = 2  # alternatives
_ROUGH = 0.1  # of importance samples that count, below which the answer is rough
_MANIFOLD = 5  # leads in one contribution, beyond which shares of the lead say little
_ROUNDING = 1e-12  # of the largest regret
_MOST_DIGITS = 6  # before and behind the point
_WIDEST = 120  # of a table of numbers, which rather wraps than loses digits


def print_outcomes(outcomes: Iterable[Outcome], profile: Profile, explain: bool) -> None:
    """Print one decision whole, many in a line each unless they are to be explained, as they come."""
    console = Console(highlight=False)
    longest = _longest(profile) if profile.batch else (0, 0)
    for number, outcome in enumerate(outcomes):
        if not outcome.profile.batch:
            _print_single(console, outcome, explain)
        elif explain:
            for name, one in outcome.singles():
                console.print(Text(f"Decision {name}", style="bold underline"))
                _print_single(console, one, explain)
                console.print()
        else:
            _print_lines(console, outcome, longest, head=number == 0)


def _longest(profile: Profile) -> tuple[int, int]:
    """Return how many characters names of decisions and of alternatives have at most."""
    alternatives = set(profile.alternatives)
    if any(isinstance(name, tuple) for name in alternatives):  # of each decision
        alternatives = {name for names in alternatives for name in names}
    decisions, names = (max(len(visible(str(x))) for x in some) for some in (profile.decision_names, alternatives))
    return decisions, names


def _print_lines(console: Console, outcome: Outcome, longest: tuple[int, int], head: bool) -> None:
    """Print each decision of a batch in a line, in columns for names of such lengths where there is room."""
    decisions, alternatives = longest
    table = Table(box=None, header_style="dim", pad_edge=False, show_header=head)
    first = "winner" if outcome.choose == 1 else f"best {outcome.choose}"
    sure = {} if outcome.p_best is None else {"P(best)": 7}
    titles = {"decision": decisions, first: alternatives, **sure, "runner-up": alternatives, "lead": 7, "voters": 6}
    widths = {title: max(min(width, NAME), len(title)) for title, width in titles.items()}
    roomy = sum(widths.values()) + 2 * len(widths) <= console.width
    for title, width in widths.items():
        number = title in ("P(best)", "lead", "voters")
        table.add_column(
            title, justify="right" if number else "left", no_wrap=number, min_width=width if roomy else None
        )
    for name, one in outcome.singles():
        table.add_row(*map(Text, (str(name), *_summary(one))))
    if head:
        console.print(Text(f"By {_method(outcome)}"))
    *names, lead, voters = (column for column in table.columns if column.header != "P(best)")
    console.print(fitted(console, table, names, spare=[voters, lead]))


def print_comparison(comparison: "Comparison") -> None:
    """Print a rule in each line, that of the lowest regret first."""
    console = Console(highlight=False)
    console.width = max(console.width, _WIDEST)
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("rule", no_wrap=True)
    titles = {"accuracy": "accuracy", "correlation": "correlation", "difference": f"− {comparison.baseline}"}
    if comparison.worth is not None:
        titles["worth"] = "worth of counts"
    for title in ("regret", *titles.values()):
        table.add_column(title, justify="right", no_wrap=True)
    rows = comparison.rows()
    size = max(row["regret"] for row in rows)
    for row in rows:
        numbers = [_with_error(row[name], row[f"{name}_se"], size) for name in titles]
        if row["rule"] == comparison.baseline:
            numbers[2] = ""
        name = Text(f"{row['rule']} *", style="bold green") if row["best"] else Text(row["rule"])
        table.add_row(name, _with_error(row["regret"], row["se"], size), *numbers)
    console.print(Text(f"{comparison.about}; ± standard errors; * may have the lowest regret (95%)"))
    console.print(table)


def print_reproduction(reproduction: "Reproduction") -> None:
    """Print each table: regrets, those far from the published ones marked."""
    from veritally.experiments.report import FAR

    console = Console(highlight=False)
    console.width = max(console.width, _WIDEST)
    results = list(reproduction.results())
    cells = {(one.table, one.voters, one.rule): one for one in results}
    for name in reproduction.tables:
        table = Table(box=None, header_style="dim", pad_edge=False, title=f"{name}: regret", title_justify="left")
        table.add_column("voters", no_wrap=True)
        for m in reproduction.voters:
            table.add_column(str(m), justify="right", no_wrap=True)
        for rule in reproduction.names():
            row = [cells[name, m, rule] for m in reproduction.voters]
            table.add_row(Text(rule), *(f"{one.regret:.4f}{'!' if abs(one.z or 0) > FAR else ' '}" for one in row))
        console.print(table)
        console.print()
    known = [one.z for one in results if one.z is not None]
    if known:
        near = sum(abs(z) <= FAR for z in known)
        far = "; ! marks the others" if near < len(known) else ""
        console.print(Text(f"{near} of {len(known)} published cells lie within 3 standard errors (|z| ≤ 3){far}."))


def _with_error(number: float, error: float | None, size: float) -> str:
    """Write a number with as many digits as its standard error leaves it; beside ``size``, mere rounding is 0."""
    error, least = error or 0.0, _ROUNDING * size
    if error <= least:
        return f"{number:.4g}" if abs(number) > least else "0"
    power = math.floor(math.log10(max(abs(number), error)))
    if -_MOST_DIGITS <= power <= _MOST_DIGITS:
        digits = max(0, -math.floor(math.log10(error / 2)))
        return f"{number:.{digits}f}±{error:.{digits}f}"
    plain = _with_error(number / 10.0**power, error / 10.0**power, size=0.0)
    return f"({plain})e{power}"


def print_rules(rules: Iterable[RuleInfo]) -> None:
    """Print the list of rules, two lines each."""
    console = Console(highlight=False)
    for info in rules:
        aliases = f" ({', '.join(info.aliases)})" if info.aliases else ""
        facts = [
            info.taken,
            "uses counts" if info.uses_counts else "ignores counts",
            "random" if info.stochastic else "deterministic",
            f"cost {info.cost}",
            info.reference,
        ]
        console.print(Text.assemble((info.name, "bold"), f"{aliases}: {info.summary}"), soft_wrap=True)
        console.print(Text(f"    {'; '.join(facts)}", style="dim"), soft_wrap=True)


def _summary(outcome: Outcome) -> tuple[str, ...]:
    """One decision in a line: the chosen, perhaps how sure that is, the runner-up, the lead, voters."""
    explanation = outcome.explain()
    sure = []
    if outcome.p_best is not None:
        best = dict(zip(outcome.alternatives, outcome.p_best, strict=True))
        sure.append(percent(best[outcome.ordered[0]]))
    if explanation.runner_up is None:
        return _chosen(outcome), *sure, "", "", str(outcome.voters)
    return _chosen(outcome), *sure, str(explanation.runner_up), f"{explanation.lead:.3g}", str(outcome.voters)


def _method(outcome: Outcome) -> str:
    """Name the rule and what it was told."""
    told = ", ".join(
        f"{name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in outcome.told.items()
    )
    return f"{outcome.rule} ({told})" if told else outcome.rule


def _print_single(console: Console, outcome: Outcome, explain: bool) -> None:
    console.print(Text(f"By {_method(outcome)}: {_voters(outcome)}, {len(outcome.alternatives)} alternatives"))
    console.print(_scores(console, outcome) if outcome.belief is None else _beliefs(console, outcome, outcome.belief))
    explanation = outcome.explain()
    lines = _verdict(outcome, explanation)
    if outcome.p_best is not None:
        lines[1:1] = [*_sureness(outcome), *_found_out(outcome)]
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    if explain:
        if explanation.runner_up is not None and explanation.lead > 0:
            console.print(_contributions(console, explanation))
        for line in _what_if(explanation):
            console.print(Text(line), soft_wrap=True)


def _voters(outcome: Outcome) -> str:
    """Say how many voters there are, and on how many ballots where some stand for several."""
    times = np.asarray(outcome.profile.multiplicity)
    whole = float(np.sum(times[np.any(np.asarray(outcome.profile.counts) > 0, axis=-1)]))
    ballots = "" if whole == outcome.voters else f" on {outcome.voters} ballot{'s' if outcome.voters > 1 else ''}"
    return f"{whole:g} voter{'s' if whole != 1 else ''}{ballots}"


def _beliefs(console: Console, outcome: Outcome, belief: Belief) -> Table:
    """Alternatives in order: estimate, interval, and the probability of being the best as a bar."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    best = "P(best)" if outcome.choose == 1 else f"P(best {outcome.choose})"
    for title in ("", " ", "estimate", "95% interval", best, "  "):
        table.add_column(title, justify="left" if title.isspace() else "right", no_wrap=title != " ")
    width = float(np.max(belief.high - belief.low))
    digits = max(0, 2 - math.floor(math.log10(width))) if 0 < width < math.inf else 2
    rank = 1
    for tier in outcome._tiers:
        for j in tier:
            style = "bold green" if rank <= outcome.choose else ""
            table.add_row(
                f"{rank}{'=' if len(tier) > 1 else ''}",
                Text(str(outcome.alternatives[j]), style=style),
                f"{float(outcome.scores[j]):.{digits}f}",
                f"{belief.low[j]:.{digits}f} to {belief.high[j]:.{digits}f}",
                percent(outcome.p_chosen[j]),
                _bar(float(outcome.p_chosen[j]), [1.0], "green" if style else "blue", width=_SHORT),
            )
        rank += len(tier)
    _, name, _, interval, _, bar = table.columns
    return fitted(console, table, [name], spare=[bar, interval])


def _sureness(outcome: Outcome) -> list[str]:
    """Say how sure it is."""
    if outcome.choose > 1 and outcome.belief is not None:
        return _at_the_cut(outcome)
    if len(outcome.winners) > 1:
        return []
    names = outcome.ordered
    best = dict(zip(outcome.alternatives, outcome.p_best, strict=True))
    near = [name for name in names if name in outcome.credible or name == names[0]]
    told = f"{_and(near)} cannot be told apart at 95%" if len(near) > 1 else "it stands apart from all others at 95%"
    if outcome.belief is None and len(near) > 1:
        told = f"the best is among {_and(near)} with 95%"
    return [f"{names[0]} is best with {percent(best[names[0]])}; {told}."]


def _at_the_cut(outcome: Outcome) -> list[str]:
    """Say whom the choice of several might as well have hit."""
    k, sure = outcome.choose, dict(zip(outcome.alternatives, outcome.p_chosen, strict=True))
    names = outcome.ordered
    inside = [name for name in names[:k] if sure[name] < LEVEL]
    outside = [name for name in names[k:] if sure[name] > 1 - LEVEL]
    if not inside and not outside:
        return [f"They are the best {k} with 95% each."]
    return [f"At the cut, {_and([*inside, *outside])} cannot be told apart at 95%."]


def _found_out(outcome: Outcome) -> list[str]:
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
    if "cap" not in outcome.told:
        lines += [f"Mind that {claim}; --cap limits what that does." for claim in claims(outcome.profile)]
    if belief.efficiency < _ROUGH:
        lines.append(f"The probabilities are rough: {float(belief.efficiency):.0%} of the importance samples count.")
    return lines


def _scores(console: Console, outcome: Outcome) -> Table:
    """Alternatives in order, scores as bars from zero; means that are all on one side of it, from below the lowest."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(width=_BAR, no_wrap=True)
    sure = {} if outcome.p_best is None else dict(zip(outcome.alternatives, outcome.p_best, strict=True))
    if sure:
        table.show_header, table.header_style = True, "dim"
        table.columns[2].header = "score"
        table.add_column("P(best)", justify="right", no_wrap=True)
    score = {name: float(value) for name, value in zip(outcome.alternatives, outcome.scores, strict=True)}
    low, high = min(score.values()), max(score.values())
    zero = low - (high - low) / 10 if outcome.method.normalized and low * high > 0 and high > low else 0.0
    lengths = [value - zero for value in score.values()]
    rank = 1
    for tier in outcome.ranking:
        for name in tier:
            style = "bold green" if rank <= outcome.choose else ""
            number = f"{rank}{'=' if len(tier) > 1 else ''}"
            bar = _bar(score[name] - zero, lengths, "green" if style else "blue")
            chance = [percent(sure[name])] if sure else []
            table.add_row(number, Text(str(name), style=style), f"{score[name]:.4g}", bar, *chance)
        rank += len(tier)
    return fitted(console, table, [table.columns[1]], spare=[table.columns[3]])


def _bar(value: float, values: list[float], colour: str, width: int = _BAR) -> Bar:
    """Draw a bar from zero, on the scale of all ``values``."""
    low, high = min(0.0, *values), max(0.0, *values)
    size = high - low or 1.0
    return Bar(size, min(value, 0.0) - low, max(value, 0.0) - low, width=width, color=colour)


def _verdict(outcome: Outcome, explanation: Explanation) -> list[str]:
    """Say who won and by whose votes."""
    lines = []
    first, second = explanation.winner, explanation.runner_up
    if len(outcome.winners) > 1:
        settled = "" if outcome.tie_break == "error" else f"; the tie-break ({outcome.tie_break}) says {outcome.winner}"
        lines.append(f"Tie: {_and(outcome.winners)} share the highest score{settled}.")
    elif outcome.choose == 1 and second is None:
        lines.append(f"Winner: {first}, the only alternative with any evidence.")
    elif outcome.choose == 1:
        lines.append(f"Winner: {first}, ahead of {second} by {explanation.lead:.4g}.")
    if outcome.choose > 1:
        lines.append(f"Chosen: {_chosen(outcome)}.")
        if explanation.lead > 0:
            lines.append(f"Last in: {first}, ahead of {second}, first out, by {explanation.lead:.4g}.")
    if "delta" in outcome.details:
        one, other = outcome.profile.alternatives
        lines.append(f"Maximum-likelihood difference {other} − {one}: {float(outcome.details['delta']):+.4g}.")
    if explanation.lead > 0:
        parts = list(explanation.contributions.items())
        helped = [f"{name} ({part:+.3g})" for name, part in parts[:3] if part > 0]
        hurt = [f"{name} ({part:+.3g})" for name, part in reversed(parts[-3:]) if part < 0]
        lines.append(f"Decided by: {', '.join(helped)}; against it: {', '.join(hurt) or 'nobody'}.")
    return lines


def _chosen(outcome: Outcome) -> str:
    """Name the chosen, or the tie that stands in the way."""
    if outcome.tie_break != "error":
        return ", ".join(map(str, outcome.chosen))
    names: list[str] = []
    for tier in outcome.ranking:
        left = outcome.choose - len(names)
        if left < len(tier):
            tie = " = ".join(map(str, tier)) if not names else f"{left} of {_and(tier)}, who tie"
            return ", ".join([*names, tie] if left else names)
        names += map(str, tier)
    return ", ".join(names)


def _and(names: list[Any]) -> str:
    """Join names as in "A, B and C"."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last


def _contributions(console: Console, explanation: Explanation) -> Table:
    """Each voter's part in the lead, as bars."""
    table = Table(box=None, show_header=False, pad_edge=False, title="Contributions to the lead", title_justify="left")
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(width=_BAR, no_wrap=True)
    parts = explanation.contributions
    shares = explanation.shares
    shown = _extremes(list(parts), 10)
    for name in shown:
        share = f"{shares[name]:+.0%}" if shares and max(map(abs, shares.values())) < _MANIFOLD else ""
        colour = "green" if parts[name] > 0 else "red"
        table.add_row(Text(str(name)), f"{parts[name]:+.4g}", share, _bar(parts[name], list(parts.values()), colour))
    if len(shown) < len(parts):
        rest = sum(parts.values()) - sum(parts[name] for name in shown)
        table.add_row(f"{len(parts) - len(shown)} others", f"{rest:+.4g}", "", "")
    voter, _, percentage, bar = table.columns
    return fitted(console, table, [voter], spare=[bar, percentage])


def _extremes(names: list[Any], each: int) -> list[Any]:
    """Return the first and last few of a long list."""
    return names if len(names) <= 2 * each else [*names[:each], *names[-each:]]


def _what_if(explanation: Explanation) -> list[str]:
    """Say what would have changed the choice."""
    what = "the winner" if explanation.outcome.choose == 1 else "the chosen"
    k = explanation.outcome.choose

    def would(names: list[Any]) -> str:
        if len(names) > k:
            return f"{_and(names)} would tie" if k == 1 else f"{_and(names)} would share {k} places"
        return f"{what} would be {_and(names)}"

    lines = [
        f"Without {name} {would(names) if names else 'nothing would be left to decide by'}."
        for name, names in list(explanation.pivotal.items())[:10]
    ]
    if len(explanation.pivotal) > 10:
        lines.append(f"The same or other changes follow from leaving out {len(explanation.pivotal) - 10} more voters.")
    if len(explanation.outcome.winners) > 1 and not lines and not explanation.counts_mattered:
        return []
    if not lines:
        lines.append(f"No single voter, left out, would change {what}.")
    equal = would(explanation.equal_counts) if explanation.counts_mattered else f"{what} would be the same"
    lines.append(f"With equal counts {equal}.")
    return lines
