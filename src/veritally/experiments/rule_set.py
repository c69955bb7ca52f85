"""The rules that compete on the same votes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veritally.checks import whole
from veritally.errors import InputError, quoted
from veritally.model.known import KnownParameters
from veritally.model.parameters import checked_noise
from veritally.origins import origins
from veritally.registry import rule_info, rules
from veritally.rules.info import RuleInfo
from veritally.rules.protocol import Rule
from veritally.rules.sums import SumRule
from veritally.rules.top import TopMonteCarlo
from veritally.votes.ballots import Kind
from veritally.votes.kinds import KINDS

_MOST_SAMPLES = 10**6

# Numbers that a rule holds for each vote at once, by generous counts.
_IN_NETWORK = 600
_IN_SCORE, _IN_CURVATURE = 1000, 3500  # on the nodes of the quadrature, without and with second derivatives
_SCALES = 5  # tried side by side where σ is estimated

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


_KINDS_CHOSEN = ("values", "rankings", "top")  # of votes, which a rule that takes any can be limited to
_SWITCHES = {
    "sigma": "estimated",
    "counts": "believed",
    "noise": "given",
    "estimate": "mean",
    "omega": "estimated",
    "leniency": "0",
}
"""What can be changed in a rule with a model of the votes; each of these has only one value."""


@dataclass(frozen=True)
class Entry:
    """A rule with its parameters, and the label that stands for both."""

    label: str
    info: RuleInfo
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, text: "str | Rule | Entry") -> "Entry":
        """Read ``NAME`` or ``NAME:PARAMETER=VALUE``. A rule that is given as an object is called by its ``repr``.

        A voting method of pref_voting may be given as an object too.

        ``samples=NUMBER`` is for Monte Carlo, ``model=FILE`` for learned rules. ``votes=rankings`` (or ``values``,
        ``top``) limits a rule that takes any votes to these. ``sigma=estimated`` and ``counts=believed`` withhold from
        it what it would be given. ``noise=given`` gives it the noise of the scenario, which may not be normal.
        ``omega=estimated`` lets voters differ however much they saw; ``leniency=0`` assumes that none is harsher than
        others. ``posterior`` uses the mode, which is quicker and has the same regret, unless ``estimate=mean``.

        >>> Entry.of("case5-monte-carlo:samples=1000").label
        'top-monte-carlo:samples=1000'
        """
        if isinstance(text, Entry):
            return text
        if not isinstance(text, str):
            info = rule_info(text)
            return cls(info.name, info)
        name, *items = text.strip().split(":")
        info = rule_info(name)
        parameters: dict[str, Any] = {}
        for item in items:
            key, _, value = item.partition("=")
            parameters[key] = _parameter(info, key, value, text)
        label = ":".join([info.name, *(f"{key}={value}" for key, value in parameters.items())])
        return cls(label, info, tuple(parameters.items()))

    @property
    def votes(self) -> Kind | None:
        """The kind of votes it takes; None for any, as they are."""
        return dict(self.parameters).get("votes", self.info.votes)

    def make(self, known: KnownParameters, seed: Any) -> Any:
        """Make the rule with what it can use of what is known; one without a model needs σ only where it differs."""
        parameters = self._model_parameters(known) if self.info.model_based else dict(self.parameters)
        if not self.info.model_based and "sigma" in self.info.parameters and isinstance(known.sigma, tuple):
            parameters["sigma"] = known.sigma
        if self.info.stochastic:
            parameters["seed"] = seed
        if self.info.iterative:
            return self.info.make(**parameters)
        parameters.pop("votes", None)
        made = self.info.make(**parameters)
        return replace(made, votes=self.votes) if isinstance(made, SumRule) and self.info.votes is None else made

    def _model_parameters(self, known: KnownParameters) -> dict[str, Any]:
        """Return the parameters of a rule that goes by a model: what is known, unless its label says otherwise."""
        parameters, takes = dict(self.parameters), self.info.parameters
        estimated, believed, noise_given = (parameters.pop(key, None) for key in ("sigma", "counts", "noise"))
        if noise_given:
            parameters |= {"noise": checked_noise(known.noise), "count_range": known.count_range}
        if "leniency" in parameters:
            parameters["leniency"] = float(parameters["leniency"])
        if "estimate" in takes:
            parameters.setdefault("estimate", "mode")
        if known.sigma is not None and not estimated:
            parameters |= {"sigma": known.sigma, "tau": known.tau}
        if "count_error" in takes and not believed:
            parameters |= {"count_error": known.count_error, "count_range": known.count_range}
        return parameters


def _parameter(info: RuleInfo, key: str, value: str, text: str) -> Any:
    """Check one parameter of the rule that ``text`` names."""
    takes = key in info.parameters
    if key == "votes" and info.votes is None and value in _KINDS_CHOSEN:
        return value
    if info.model_based and (takes or key == "counts") and _SWITCHES.get(key) == value:
        return value
    if key == "model" and takes and value:
        info.make(model=value)  # which refuses what is no model
        return value
    if key == "samples" and takes and value.isdecimal():
        return whole(int(value), "samples", least=1, most=_MOST_SAMPLES)
    if key not in ("votes", "counts"):
        info.require([key])
    possible = (
        "samples=NUMBER, model=FILE, votes=rankings, sigma=estimated, counts=believed, noise=given, omega=estimated, "
        "leniency=0 and estimate=mean"
    )
    raise InputError(f"{quoted(text)}: here a rule can only be given {possible}, and only if it takes them")


def _members(groups: Mapping[str, list[str]], text: str | Rule | Entry) -> Sequence[str | Rule | Entry]:
    return groups.get(text, [text]) if isinstance(text, str) else [text]


@dataclass(frozen=True)
class RuleSet:
    """Rules by label, each once."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, texts: Iterable[str | Rule | Entry] | None, kind: Kind, alternatives: int) -> "RuleSet":
        """Return the named rules, or all of one pass that can use these votes as they are.

        ``all`` stands for all of them, ``exact`` for those of the exact likelihood, on rankings and on favourites;
        ``borda+`` and ``plurality+`` for all their variants.
        """
        fitting = [info for info in rules() if info.fits(kind, alternatives) and not info.required]
        everything = [info.name for info in fitting if info.votes is not None]
        if not isinstance(texts, str | Iterable | None):
            raise InputError(f"rules must be a list of names, not {quoted(texts)}")
        texts = ["all"] if texts is None else texts.split(",") if isinstance(texts, str) else texts
        groups = {"all": everything, "exact": exact(kind)} | {family: variants(family) for family in BEST_OF}
        made = [Entry.of(name) for text in texts for name in _members(groups, text)]
        entries = {entry.label: replace(entry, info=entry.info.on(kind)) for entry in made}
        for entry in made:
            if entry.info.instance is not entries[entry.label].info.instance:
                raise InputError(f"two rules are called {quoted(entry.label)}; register one under another name")
        for entry in entries.values():
            _require_fit(entry, kind, alternatives, everything)
        if not entries:
            raise InputError("name at least one rule to compare")
        return cls(tuple(entries.values()))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names under which the rules compete."""
        return tuple(entry.label for entry in self.entries)

    @property
    def models(self) -> dict[str, str]:
        """Digests of the weights and rules that users brought, and versions of packages that have rules here."""
        found = dict[str, str]()
        for entry in self.entries:
            found |= origins(entry.info, dict(entry.parameters))
        return found

    @property
    def kinds(self) -> set[Kind | None]:
        """The kinds of votes they take."""
        return {entry.votes for entry in self.entries}

    @property
    def samples(self) -> int:
        """The most random numbers that a rule draws for a voter."""
        drawing = [dict(entry.parameters) for entry in self.entries if entry.info.stochastic]
        return max((parameters.get("samples", TopMonteCarlo.samples) for parameters in drawing), default=0)

    @property
    def nodes(self) -> int:
        """Numbers that the costliest rule needs for a vote at once, as on the nodes of a quadrature."""
        exact = [
            dict(entry.parameters) for entry in self.entries if entry.info.votes is None and entry.votes != "values"
        ]
        if not exact:
            return _IN_NETWORK if any("model" in entry.info.parameters for entry in self.entries) else 0
        if any("sigma" in parameters for parameters in exact):
            return _SCALES * _IN_CURVATURE
        return _IN_CURVATURE if any("estimate" in parameters for parameters in exact) else _IN_SCORE

    def make(self, known: KnownParameters, seed: Any) -> dict[str, Any]:
        """Make the rules."""
        return {entry.label: entry.make(known, seed) for entry in self.entries}


def _require_fit(entry: Entry, kind: Kind, alternatives: int, everything: Iterable[str]) -> None:
    """Refuse a rule that cannot use the votes, or that needs what cannot be given."""
    info = entry.info
    if not info.fits(kind, alternatives):
        usable = ", ".join(name for name in everything if "+" not in name)
        needs = f"{entry.votes} of {info.alternatives} alternatives" if info.alternatives else entry.votes
        given = f"these votes are {kind} of {alternatives} alternatives"
        raise InputError(f"the rule {info.name} needs {needs}, but {given}; rules that can use them: {usable}")
    if info.required:
        raise InputError(f"the rule {info.name} needs {info.required[0]}, which cannot be given here")
