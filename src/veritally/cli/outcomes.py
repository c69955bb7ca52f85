"""Outcomes for people to read: tables and bars, coloured on a terminal, plain in a pipe."""

from collections.abc import Iterable, Iterator

import numpy as np
from rich.bar import Bar
from rich.console import Console
from rich.table import Table

from veritally.cli.screen import NAME, Screen, Text, fitted
from veritally.explain import Explanation
from veritally.inference.belief import Belief, percent
from veritally.outcome import Outcome
from veritally.records import chosen_text, place_chance, titled
from veritally.report import sentences
from veritally.votes.labels import counted, visible
from veritally.votes.profile import Profile

_BAR, _SHORT = 30, 20  # characters
_TITLE = 32  # characters
_SHOWN = 10  # voters from each end of a long list of contributions


def print_outcomes(outcomes: Iterable[Outcome], profile: Profile, explain: bool) -> None:
    """Print one decision whole, several in a line each unless they are to be explained, as they come."""
    console = Screen(highlight=False)
    longest = _longest(profile) if profile.batch else (0, 0)
    for number, outcome in enumerate(outcomes):
        if not outcome.profile.batch:
            _print_single(console, outcome, explain)
        elif explain or profile.batch == (1,):
            for line in sentences.pooled(outcome) if number == 0 else []:
                console.print(Text(line), soft_wrap=True)
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
    sure = {} if outcome.p_best is None or outcome.choose > 1 else {"P(best)": 7}
    titles = {"decision": decisions, first: alternatives, **sure, "runner-up": alternatives, "lead": 8, "voters": 6}
    titles |= {} if outcome.panel is None else {"worth": 5}
    widths = {title: max(min(width, NAME), len(title)) for title, width in titles.items()}
    roomy = sum(widths.values()) + 2 * len(widths) <= console.width
    for title, width in widths.items():
        number = title in ("P(best)", "lead", "voters", "worth")
        table.add_column(
            title, justify="right" if number else "left", no_wrap=number, min_width=width if roomy else None
        )
    for name, one in outcome.singles():
        table.add_row(*map(Text, (str(name), *_summary(one))))
    if head:
        belief = outcome.belief
        units = "" if belief is None or not np.any(belief.in_sigma) else f"; leads in {sentences.SIGMA}"
        console.print(Text(f"By {sentences.method(outcome)}{units}"))
        for line in [*sentences.pooled(outcome), *sentences.shared(outcome)]:
            console.print(Text(line), soft_wrap=True)
    *names, lead, voters = (column for column in table.columns if column.header not in ("P(best)", "worth"))
    console.print(fitted(console, table, names, spare=[voters, lead]))


def _summary(outcome: Outcome) -> tuple[str, ...]:
    """One decision in a line: the chosen, perhaps how sure that is, the runner-up, the lead, voters, their worth."""
    explanation = outcome.explain()
    sure = []
    if outcome.p_best is not None and outcome.choose == 1:
        best = dict(zip(outcome.alternatives, outcome.p_best, strict=True))
        sure.append(percent(best[outcome.ordered[0]]))
    voters = [str(outcome.voters), *([] if outcome.panel is None else [f"{outcome.effective_voters:.1f}"])]
    if explanation.runner_up is None:
        return chosen_text(outcome), *sure, "", "", *voters
    lead = sentences.lead_text(outcome, explanation, digits=3)
    return chosen_text(outcome), *sure, str(explanation.runner_up), lead, *voters


def _print_single(console: Console, outcome: Outcome, explain: bool) -> None:
    console.print(
        Text(
            f"By {sentences.method(outcome)}: {sentences.voters(outcome)}, "
            f"{counted(len(outcome.alternatives), 'alternative')}"
        )
    )
    console.print(_scores(console, outcome) if outcome.belief is None else _beliefs(console, outcome, outcome.belief))
    explanation = outcome.explain()
    lines = sentences.answer(outcome, explanation)
    if outcome.p_best is not None:
        lines += [*sentences.certainty(outcome), *sentences.findings(outcome)]
    for line in [*lines, *sentences.decided_by(outcome, explanation)]:
        console.print(Text(line), soft_wrap=True)
    if explain:
        if explanation.runner_up is not None and explanation.lead > 0:
            console.print(_contributions(console, explanation))
        reasons = (sentences.what_if, sentences.worth, sentences.leniency)
        for line in (line for say in reasons for line in say(explanation)):
            console.print(Text(line), soft_wrap=True)


def _ranked(outcome: Outcome) -> Iterator[tuple[str, int, bool]]:
    """Yield the alternatives in order: the rank, "=" for a tie, the position, and whether it is among the chosen."""
    position = {name: j for j, name in enumerate(outcome.alternatives)}
    rank = 1
    for tier in outcome.ranking:
        for name in tier:
            yield f"{rank}{'=' if len(tier) > 1 else ''}", position[name], rank <= outcome.choose
        rank += len(tier)


def _beliefs(console: Console, outcome: Outcome, belief: Belief) -> Table:
    """Alternatives in order: how far behind the winner, interval, and the probability of being the best as a bar.

    Before these, for values, the estimates themselves.
    """
    table = Table(box=None, header_style="dim", pad_edge=False)
    best = "P(best)" if outcome.choose == 1 else f"P(best {outcome.choose})"
    anchored = bool(outcome.profile.ballots.anchored)
    estimate, behind = ["estimate"] if anchored else [], "σ behind" if belief.in_sigma else "behind"
    for title in ("", " ", *estimate, behind, "95% interval", best, "  "):
        table.add_column(title, justify="left" if title.isspace() else "right", no_wrap=title != " ")
    digits = sentences.decimals(belief)
    for rank, j, is_chosen in _ranked(outcome):
        table.add_row(
            rank,
            Text(titled(outcome, outcome.alternatives[j], _TITLE), style="bold green" if is_chosen else ""),
            *([f"{float(outcome.scores[j]):.{digits}f}"] if anchored else []),
            f"{belief.distance[j]:z.{digits}f}",
            sentences.interval(belief, j),
            place_chance(outcome.p_chosen[j], outcome.choose),
            _bar(float(outcome.p_chosen[j]), [1.0], "green" if is_chosen else "blue", width=_SHORT),
        )
    _, name, *_, interval, _, bar = table.columns
    return fitted(console, table, [name], spare=[bar, interval])


def _scores(console: Console, outcome: Outcome) -> Table:
    """Alternatives in order, scores as bars from zero; means that are all on one side of it, from below the lowest."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(width=_BAR, no_wrap=True)
    best = outcome.p_best
    if best is not None:
        table.show_header, table.header_style = True, "dim"
        table.columns[2].header = "score"
        table.add_column("P(best)", justify="right", no_wrap=True)
    scores = [float(score) for score in outcome.scores]
    low, high = min(scores), max(scores)
    zero = low - (high - low) / 10 if outcome.method.normalized and low * high > 0 and high > low else 0.0
    lengths = [score - zero for score in scores]
    for rank, j, is_chosen in _ranked(outcome):
        name = Text(titled(outcome, outcome.alternatives[j], _TITLE), style="bold green" if is_chosen else "")
        bar = _bar(lengths[j], lengths, "green" if is_chosen else "blue")
        sure = [] if best is None else [percent(best[j])]
        table.add_row(rank, name, f"{scores[j]:.4g}", bar, *sure)
    return fitted(console, table, [table.columns[1]], spare=[table.columns[3]])


def _bar(value: float, values: list[float], colour: str, width: int = _BAR) -> Bar:
    """Draw a bar from zero, on the scale of all ``values``."""
    low, high = min(0.0, *values), max(0.0, *values)
    size = high - low or 1.0
    ends = (
        round((end - low) / size, 9) for end in (min(value, 0.0), max(value, 0.0))
    )  # without rounding's last digits
    return Bar(1, *ends, width=width, color=colour)


def _contributions(console: Console, explanation: Explanation) -> Table:
    """Each voter's part in the lead, as bars."""
    scale = "" if explanation.outcome.belief is None else f" of {explanation.lead:.4g} in scores"
    title = f"Contributions to the lead{scale}" if explanation.adds_up else "What the lead loses without each"
    table = Table(box=None, show_header=False, pad_edge=False, title=title, title_justify="left")
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(width=_BAR, no_wrap=True)
    least = sentences.ROUNDING * max(map(abs, explanation.contributions.values()))
    parts = {name: part for name, part in explanation.contributions.items() if abs(part) > least}
    shares = explanation.shares
    shown = list(parts)
    if len(shown) > 2 * _SHOWN:
        shown = [*shown[:_SHOWN], *shown[-_SHOWN:]]
    for name in shown:
        share = f"{shares[name]:+.0%}" if shares and max(map(abs, shares.values())) < sentences.MOST_LEADS else ""
        colour = "green" if parts[name] > 0 else "red"
        size = sentences.part_text(explanation, parts[name], digits=4)
        table.add_row(Text(str(name)), size, share, _bar(parts[name], list(parts.values()), colour))
    if len(shown) < len(parts):
        rest = sum(parts.values()) - sum(parts[name] for name in shown)
        table.add_row(f"{len(parts) - len(shown)} others", f"{rest:+.4g}" if explanation.adds_up else "", "", "")
    voter, _, percentage, bar = table.columns
    return fitted(console, table, [voter], spare=[bar, percentage])
