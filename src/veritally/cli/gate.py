"""``--require-sure``: a gate for scripts, which stays shut where an answer is not sure enough."""

import math
from collections.abc import Iterable, Iterator

import click

from veritally.cli.screen import say
from veritally.errors import InputError, short
from veritally.inference.belief import DRAWS, LEVEL, apart, percent
from veritally.outcome import Outcome
from veritally.records import join_names
from veritally.report.sentences import MOST_NEAR

_SHOWN = 8  # decisions named
_CLOSE = 3  # standard errors, within which other draws may say otherwise


class Gate:
    """Looks at outcomes as they pass, and remembers those that are less sure than ``required``; None asks nothing."""

    def __init__(self, required: float | None) -> None:
        self._required = required
        self._unsure: dict[str, tuple[str, str]] = {}  # sureness and what is missing, by decision
        self._close: list[str] = []  # decisions that are sure enough by less than the error of the chance
        self._decisions = 0

    def passing(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Hand on outcomes one by one."""
        for outcome in outcomes:
            if self._required is not None:
                self._look(outcome, self._required)
            yield outcome

    def _look(self, outcome: Outcome, required: float) -> None:
        if outcome.p_chosen is None:
            what = (
                "how sure it is" if outcome.choose == 1 else f"how sure each is to be among the best {outcome.choose}"
            )
            raise InputError(f"the rule {outcome.rule} does not say {what}; use --rule posterior with --require-sure")
        for name, one in outcome.singles():
            self._decisions += 1
            if (missing := _shortfall(one, required)) is not None:
                self._unsure[str(name)] = _chance(one, one.sureness, required), missing
            elif _is_close(one, one.sureness, required):
                what = short(one.ordered[one.choose - 1] if name is None else name)
                self._close.append(f"{what} ({_chance(one, one.sureness, required)})")

    def close(self) -> None:
        """Exit with 1 if something was not sure enough, and say what is missing; say what only just was."""
        if self._close:
            say(
                f"Note: only just sure enough ({100 * (self._required or 0):g}% required): {_listed(self._close)}.",
                err=True,
            )
        if not self._unsure:
            return
        if self._decisions == 1:
            ((_, missing),) = self._unsure.values()
            say(missing, err=True)
        else:
            which = _listed([f"{short(name)} ({sure})" for name, (sure, _) in self._unsure.items()])
            number = f"{len(self._unsure)} of {self._decisions} decisions"
            say(f"Not sure enough ({100 * (self._required or 0):g}% required): {number}: {which}.", err=True)
        raise click.exceptions.Exit(1)


def _listed(parts: list[str]) -> str:
    """List decisions, the first few of many."""
    more = [f"and {len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else []
    return "; ".join([*parts[:_SHOWN], *more])


def _shortfall(outcome: Outcome, required: float) -> str | None:
    """Say what is missing for all of the chosen to be so sure; None if nothing is."""
    if len(outcome.chosen_positions) > outcome.choose:
        tied = [outcome.alternatives[j] for j in outcome.chosen_positions]
        return f"Not sure enough ({100 * required:g}% required): {join_names(tied)} tie; choose a tie-break."
    if outcome.sureness >= required:
        return None
    sure, k = dict(zip(outcome.alternatives, outcome.p_chosen, strict=True)), outcome.choose
    what = "best" if k == 1 else f"among the best {k}"
    short = [name for name in outcome.ordered[:k] if sure[name] < required]
    rivals = [name for name in outcome.ordered[k:] if sure[name] > 1 - max(required, LEVEL)] or outcome.ordered[
        k : k + 1
    ]
    missing = f"Not sure enough ({100 * required:g}% required). Chance of being {what}: "
    missing += f"{join_names([f'{name} ({_chance(outcome, sure[name], required)})' for name in short])}."
    if not rivals:
        return missing
    few = [*rivals[: MOST_NEAR - 1], f"{len(rivals) - MOST_NEAR + 1} others"] if len(rivals) > MOST_NEAR else rivals
    return f"{missing} Missing: evidence that separates {join_names(short)} from {join_names(few)}."


def _chance(outcome: Outcome, share: float, required: float) -> str:
    """Write a chance beside the level that is required; with its standard error where that may decide."""
    if not _is_close(outcome, share, required):
        return percent(share, [required])
    return f"{apart(share, required)} ± {_standard_error(share):.1%}, from {DRAWS:,} draws"


def _is_close(outcome: Outcome, share: float, required: float) -> bool:
    """Whether a chance comes from draws, and other draws may put it on the other side of a level."""
    return outcome.belief is not None and abs(share - required) < _CLOSE * _standard_error(share)


def _standard_error(share: float) -> float:
    """Return the standard error of a chance that comes from independent draws; ours are at least as good."""
    return math.sqrt(share * (1 - share) / DRAWS)
