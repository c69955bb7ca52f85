"""``--require-sure``: a gate for scripts, which stays shut where an answer is not sure enough."""

from collections.abc import Iterable, Iterator

import click

from veritally.cli.screen import say
from veritally.errors import InputError, short
from veritally.outcome import Outcome
from veritally.report.sentences import gate_chance, is_close, shortfall

_SHOWN = 8  # decisions named


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
            if (missing := shortfall(one, required)) is not None:
                self._unsure[str(name)] = gate_chance(one, one.sureness, required), missing
            elif is_close(one, one.sureness, required):
                what = short(one.ordered[one.choose - 1] if name is None else name)
                self._close.append(f"{what} ({gate_chance(one, one.sureness, required)})")

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
