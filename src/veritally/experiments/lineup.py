"""The rules that compete on the same votes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from veritally.ballots import Kind
from veritally.checks import whole
from veritally.errors import InputError
from veritally.registry import RuleInfo, rule_info, rules
from veritally.rules.rule import Rule

_MOST_SAMPLES = 10**6

BEST_OF = ("borda+", "plurality+")
"""Families that the paper enters with the best of their members, chosen in each cell afterwards."""


def variants(family: str) -> list[str]:
    """Return the members of a family.

    >>> len(variants("borda+"))
    6
    """
    return [info.name for info in rules() if info.name.startswith(family)]


@dataclass(frozen=True)
class Entry:
    """A rule with its parameters, and the label that stands for both."""

    label: str
    info: RuleInfo
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, text: str) -> "Entry":
        """Read ``NAME`` or ``NAME:PARAMETER=NUMBER``.

        >>> Entry.of("case5-monte-carlo:samples=1000").label
        'top-monte-carlo:samples=1000'
        """
        name, *rest = str(text).strip().split(":")
        info = rule_info(name)
        parameters = {}
        for item in rest:
            key, _, value = item.partition("=")
            info.require([key])
            if key != "samples" or not value.isdecimal():
                raise InputError(f"{text!r}: of a rule's parameters only samples=NUMBER can be given here")
            parameters[key] = whole(int(value), "samples", least=1, most=_MOST_SAMPLES)
        label = ":".join([info.name, *(f"{key}={value}" for key, value in parameters.items())])
        return cls(label, info, tuple(parameters.items()))

    def make(self, sigma: float | tuple[float, ...], seed: Any) -> Rule:
        """Make the rule, told the σ of each alternative where they differ, and a seed if it draws."""
        parameters = dict(self.parameters)
        if "sigma" in self.info.parameters and not isinstance(sigma, float | int):
            parameters["sigma"] = sigma
        if self.info.stochastic:
            parameters["seed"] = seed
        return self.info.make(**parameters)


@dataclass(frozen=True)
class Lineup:
    """Rules by label, each once."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, texts: Iterable[str] | None, kind: Kind, alternatives: int) -> "Lineup":
        """Return the named rules, or all that can use these votes as they are.

        ``all`` stands for all of them; ``borda+`` and ``plurality+`` for all their variants.
        """
        everything = [info.name for info in rules() if info.fits(kind, alternatives) and not info.required]
        names: list[str] = []
        if not isinstance(texts, str | Iterable | None):
            raise InputError(f"rules are given by a list of their names, not {texts!r}")
        for text in ["all"] if texts is None else texts.split(",") if isinstance(texts, str) else texts:
            if text == "all":
                names += everything
            elif text in BEST_OF:
                names += variants(text)
            else:
                names.append(text)
        entries = {entry.label: entry for entry in map(Entry.of, names)}
        for entry in entries.values():
            if not entry.info.fits(kind, alternatives):
                usable = ", ".join(name for name in everything if "+" not in name)
                n = entry.info.alternatives
                needs = f"{entry.info.votes} of {n} alternatives" if n else entry.info.votes
                given = f"these votes are {kind} of {alternatives} alternatives"
                raise InputError(f"the rule {entry.info.name} needs {needs}, but {given}; rules that can: {usable}")
            if entry.info.required:
                raise InputError(
                    f"the rule {entry.info.name} needs {entry.info.required[0]}, which cannot be given here"
                )
        if not entries:
            raise InputError("name at least one rule to compare")
        return cls(tuple(entries.values()))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names under which the rules compete."""
        return tuple(entry.label for entry in self.entries)

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of votes they take."""
        return {entry.info.votes for entry in self.entries}

    @property
    def samples(self) -> int:
        """The most random numbers that a rule draws for a voter."""
        drawing = [entry for entry in self.entries if entry.info.stochastic]
        return max((dict(entry.parameters).get("samples", entry.info.encoder.samples) for entry in drawing), default=0)

    def make(self, sigma: float | tuple[float, ...], seed: Any) -> dict[str, Rule]:
        """Make the rules."""
        return {entry.label: entry.make(sigma, seed) for entry in self.entries}
