"""The rules that compete on the same votes."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veritally.checks import whole
from veritally.errors import InputError, quoted
from veritally.learned.models import SHIPPED
from veritally.model.known import KnownParameters
from veritally.model.parameters import checked_noise
from veritally.registry import RuleInfo, rule_info, rules
from veritally.votes.ballots import Kind
from veritally.votes.kinds import KINDS

_MOST_SAMPLES = 10**6
_HIDDEN = 600  # values in a network for each vote

BEST_OF = ("borda+", "plurality+")
"""Families that the paper enters with the best of their members, chosen in each cell afterwards."""


def variants(family: str) -> list[str]:
    """Return the members of a family.

    >>> len(variants("borda+"))
    6
    """
    return [info.name for info in rules() if info.name.startswith(family)]


def exact(kind: Kind) -> list[str]:
    """Return the rules of the exact likelihood for votes that are coarsened to rankings and favourites.

    >>> exact("top")
    ['score', 'posterior', 'posterior:sigma=estimated']
    """
    names = []
    for coarse in ("rankings", "top"):
        if KINDS.index(kind) <= KINDS.index(coarse):
            votes = "" if kind == coarse else f":votes={coarse}"
            names += [f"score{votes}", f"posterior{votes}", f"posterior{votes}:sigma=estimated"]
    return names


_KINDS_TOLD = ("values", "rankings", "top")
_CHANGED = {"sigma": "estimated", "counts": "believed", "noise": "told", "estimate": "mean", "omega": "estimated"}


@dataclass(frozen=True)
class Entry:
    """A rule with its parameters, and the label that stands for both."""

    label: str
    info: RuleInfo
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, text: str) -> "Entry":
        """Read ``NAME`` or ``NAME:PARAMETER=VALUE``.

        ``samples=NUMBER`` is for Monte Carlo, ``model=FILE`` for learned rules; ``votes=rankings`` (or ``values``,
        ``top``) gives a rule that takes any votes only these; ``sigma=estimated`` and ``counts=believed`` keep from it
        what it would be told, ``noise=told`` tells it that noise is not normal, ``omega=estimated`` that voters may
        differ however much they saw. ``posterior`` goes by the mode, which
        is quicker and has the same regret, unless ``estimate=mean``.

        >>> Entry.of("case5-monte-carlo:samples=1000").label
        'top-monte-carlo:samples=1000'
        """
        name, *rest = str(text).strip().split(":")
        info = rule_info(name)
        parameters: dict[str, Any] = {}
        for item in rest:
            key, _, value = item.partition("=")
            chosen = info.votes is None and key == "votes" and value in _KINDS_TOLD
            takes = "tau" in info.parameters and (key == "counts" or key in info.parameters)
            kept = takes and _CHANGED.get(key) == value
            if chosen or kept:
                parameters[key] = value
            elif key == "model" and key in info.parameters and value:
                info.make(model=value)  # which refuses what is no model
                parameters[key] = value
            elif key == "samples" and key in info.parameters and value.isdecimal():
                parameters[key] = whole(int(value), "samples", least=1, most=_MOST_SAMPLES)
            else:
                info.require([key] if key not in ("votes", "counts") else [])
                known = (
                    "samples=NUMBER, model=FILE, votes=rankings, sigma=estimated, counts=believed, noise=told, "
                    "omega=estimated and estimate=mean"
                )
                raise InputError(
                    f"{quoted(text)}: of a rule's parameters only {known} can be given here, where they apply"
                )
        label = ":".join([info.name, *(f"{key}={value}" for key, value in parameters.items())])
        return cls(label, info, tuple(parameters.items()))

    @property
    def votes(self) -> Kind | None:
        """The kind of votes it takes; None for any, as they are."""
        return dict(self.parameters).get("votes", self.info.votes)

    def make(self, told: KnownParameters, seed: Any) -> Any:
        """Make the rule, told what it can use; rules that know nothing of τ hear of σ where it differs."""
        parameters = dict(self.parameters)
        if "tau" in self.info.parameters:
            unknown = parameters.pop("sigma", None) is not None
            believed = parameters.pop("counts", None) is not None
            if parameters.pop("noise", None) is not None:
                parameters |= {"noise": checked_noise(told.noise), "count_range": told.count_range}
            if "estimate" in self.info.parameters:
                parameters.setdefault("estimate", "mode")
            if told.sigma is not None and not unknown:
                parameters |= {"sigma": told.sigma, "tau": told.tau}
            if "count_error" in self.info.parameters and not believed:
                parameters |= {"count_error": told.count_error, "count_range": told.count_range}
        elif "sigma" in self.info.parameters and isinstance(told.sigma, tuple):
            parameters["sigma"] = told.sigma
        if self.info.stochastic:
            parameters["seed"] = seed
        if not self.info.iterative:
            parameters.pop("votes", None)
        made = self.info.make(**parameters)
        return replace(made, votes=self.votes) if self.info.votes is None and not self.info.iterative else made


@dataclass(frozen=True)
class RuleSet:
    """Rules by label, each once."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, texts: Iterable[str] | None, kind: Kind, alternatives: int) -> "RuleSet":
        """Return the named rules, or all of one pass that can use these votes as they are.

        ``all`` stands for all of them, ``exact`` for those of the exact likelihood, on rankings and on favourites;
        ``borda+`` and ``plurality+`` for all their variants.
        """
        fitting = [info for info in rules() if info.fits(kind, alternatives) and not info.required]
        everything = [info.name for info in fitting if info.votes is not None]
        names: list[str] = []
        if not isinstance(texts, str | Iterable | None):
            raise InputError(f"rules are given by a list of their names, not {quoted(texts)}")
        for text in ["all"] if texts is None else texts.split(",") if isinstance(texts, str) else texts:
            if text == "all":
                names += everything
            elif text in BEST_OF:
                names += variants(text)
            elif text == "exact":
                names += exact(kind)
            else:
                names.append(text)
        made = map(Entry.of, names)
        entries = {entry.label: replace(entry, info=entry.info.on(kind)) for entry in made}
        for entry in entries.values():
            if not entry.info.fits(kind, alternatives):
                usable = ", ".join(name for name in everything if "+" not in name)
                n = entry.info.alternatives
                needs = f"{entry.votes} of {n} alternatives" if n else entry.votes
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
    def models(self) -> dict[str, str]:
        """Digests of the weights that users brought."""
        paths = [dict(entry.parameters).get("model") for entry in self.entries]
        return {
            path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths if path not in (None, *SHIPPED)
        }

    @property
    def kinds(self) -> set[Kind | None]:
        """The kinds of votes they take."""
        return {entry.votes for entry in self.entries}

    @property
    def samples(self) -> int:
        """The most random numbers that a rule draws for a voter."""
        drawing = [entry for entry in self.entries if entry.info.stochastic]
        return max((dict(entry.parameters).get("samples", entry.info.encoder.samples) for entry in drawing), default=0)

    @property
    def nodes(self) -> int:
        """Numbers that the costliest rule needs for a vote at once, as on the nodes of a quadrature."""
        learned = any("model" in entry.info.parameters for entry in self.entries)
        exact = [entry for entry in self.entries if entry.info.votes is None and entry.votes != "values"]
        if not exact:
            return _HIDDEN if learned else 0
        told = [dict(entry.parameters) for entry in exact]
        scales = 5 if any("sigma" in parameters for parameters in told) else 1
        second = scales > 1 or any("estimate" in parameters for parameters in told)  # derivatives
        return scales * (3500 if second else 1000)

    def make(self, told: KnownParameters, seed: Any) -> dict[str, Any]:
        """Make the rules."""
        return {entry.label: entry.make(told, seed) for entry in self.entries}
