"""LearnedPanel: how good voters are, how they lean and who errs with whom, as learned from many decisions."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, get_args

import numpy as np

from veritally.arrays import Array
from veritally.checks import real, usable_path
from veritally.document import Table, html_table
from veritally.errors import InputError, quoted
from veritally.files import write_whole
from veritally.panel.base import LEARNED, AnyPanel
from veritally.panel.checks import checked_names
from veritally.panel.preparation import (
    PanelKind,
    Prepared,
    RoleSource,
    as_two_way,
    centres,
    expected_roles,
    members,
    roles_of,
)
from veritally.votes.ballots import Traits, frozen
from veritally.votes.labels import Labels, first_few, require_known
from veritally.votes.profile import Profile

VERSION = 1
_NAMES = ("voters", "roles", "copies", "opposite")
WITHOUT_ANSWERS = "no answers were given, so how sure this is assumes that what the voters have in common is the truth"


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPanel(AnyPanel):
    """What many decisions, and answers to some of them, say of voters.

    Numbers are in units of a voter's own noise at a typical count; the spread of the truths is 1. Arrays have the
    voters along their first axis.

    Attributes
    ----------
    voters
        Their names.
    kind
        The kind of votes it is for: ``rankings`` (also favourites), ``pairs`` or ``values``.
    slope, slope_error
        How strongly each voter follows the truth, with its standard error: 0 for a voter who votes at random, below 0
        for one who is systematically wrong.
    role_source, roles
        What roles come from, and their names.
    leaning, leaning_error
        What a voter adds by role, ``(voter, role)``; for values, leniency.
    loadings, loading_variance
        How strongly each voter has each shared error, ``(voter, factor)``, known up to rotation, and how uncertain all
        of them together are, ``(voter,)``.
    noise
        Each voter's unit, where votes are values: the standard deviation of its own noise at a typical count.
    mean_slope, mean_loadings
        Of the average voter.
    base
        Where the truth of each role is expected, ``(role,)``.
    omega
        The standard deviation by which voters differ however much they saw.
    typical_count
        The count at which numbers are measured.
    levels
        What each level of confidence is worth, as a count.
    votes_by
        In how many decisions each voter voted.
    decisions, answers
        How many decisions it was learned from, and how many of these had answers.
    converged
        Whether the search arrived.
    correlation, correlation_error
        The correlation of the errors of two voters at a typical count, ``(voter, voter)``, with its standard error.
    copies, opposite
        Sets of voters whose votes are nearly the same, and those among them who vote the opposite.
    checked
        How well it predicts answers that were held out, where that was asked.
    """

    voters: tuple[str, ...]
    kind: PanelKind
    slope: Array
    slope_error: Array
    role_source: RoleSource
    roles: tuple[str, ...]
    leaning: Array
    leaning_error: Array
    loadings: Array
    loading_variance: Array
    noise: Array
    mean_slope: float
    mean_loadings: Array
    base: Array
    omega: float
    typical_count: float
    levels: Mapping[str, float]
    votes_by: Array
    decisions: int
    answers: int
    converged: bool
    correlation: Array
    correlation_error: Array
    copies: tuple[tuple[str, ...], ...] = ()
    opposite: tuple[str, ...] = ()
    checked: Mapping[str, float] | None = None

    @property
    def reference(self) -> float:
        """The root mean square of the slopes: that of a voter whose noise is σ."""
        return max(float(np.sqrt(np.mean(self.slope**2))), 1e-3)

    @property
    def assumption(self) -> str | None:
        """What sureness rests on where no answers were given; else None."""
        return None if self.answers else WITHOUT_ANSWERS

    @property
    def group_of(self) -> dict[Hashable, str]:
        """Voters known to be alike, so that nobody is told of it again."""
        return {voter: f"copies {k}" for k, own in enumerate(self.copies) for voter in own}

    @property
    def known(self) -> dict[str, Any]:
        """What the rule is given: the noise of one observation and the spread of the truths."""
        unit = float(np.exp(np.mean(np.log(self.noise)))) if self.kind == "values" else 1 / self.reference
        tau = unit * self.reference if self.kind == "values" else 1.0
        between = 0.0 if self.kind == "pairs" else self.omega**2 / self.typical_count
        return {
            "sigma": unit * self.typical_count**0.5,
            "tau": tau,
            "between": between,
            "leniency": 0.0,
            "correlation": 1.0,
        }

    # Use

    def applied(self, profile: Profile, cap: float | None = None) -> Profile:
        """Return the votes with what the panel says of their voters."""
        single = not profile.batch
        prepared = self._prepared(profile.as_batch() if single else profile)
        made = self._with_traits(prepared)
        return made.decision(0) if single else made

    def remarks(self, profile: Profile) -> tuple[str, ...]:
        """Return warnings: whom and what the panel does not know, and what its sureness rests on.

        Votes by nobody whom it knows are refused.
        """
        found = []
        every = _all_names(profile.voter_labels, profile)
        unknown = sorted(every - set(self.voters))
        if len(unknown) == len(every):
            raise InputError(f"the panel knows none of these voters; it knows {first_few(self.voters, 5)}")
        if unknown:
            found.append(f"the panel does not know {first_few(unknown, 5)}: counted as the average voter")
        if self.role_source == "alternatives":
            strange = sorted(_all_names(profile.alternative_labels, profile) - set(self.roles))
            if strange:
                known = first_few(self.roles, 5)
                found.append(f"the panel knows how voters lean to {known}, and nothing of {first_few(strange, 5)}")
        if self.assumption is not None:
            found.append(self.assumption)
        if not self.converged:
            found.append("the search for this panel did not arrive; learn it from more decisions")
        return tuple(found)

    def _prepared(self, profile: Profile) -> Prepared:
        """Bring votes into the form that the panel was learned from."""
        if self.kind == "rankings" and profile.kind in ("values", "differences"):
            profile = profile.coarsened("rankings")
        source: RoleSource = self.role_source
        if self.kind == "rankings":
            profile = as_two_way(profile)
        if source == "column" and profile.ballots.roles is None:
            source = "none"
        by_name = source == "alternatives"
        prepared = Prepared.of(profile, "none" if by_name else source, two_way=self.kind == "rankings")
        if prepared.kind != self.kind:
            raise InputError(f"this panel was learned from {self.kind}, but these votes are {profile.kind}")
        return replace(prepared, source=source, roles=self.roles) if by_name else prepared

    def _with_traits(self, prepared: Prepared) -> Profile:
        """Do so, in units of the noise of one observation."""
        profile = self._with_levels(prepared.profile)
        who = members(profile, self.voters)
        roles = roles_of(prepared, self.roles)
        root = self.typical_count**0.5
        slope, leaning, loadings, extra, noise = (table[who] for table in self._with_average())
        if self.kind == "values":
            return self._levelled(profile, roles, slope, leaning, loadings, extra, noise)
        ballots = profile.ballots
        n = profile.shape[-1]
        offsets = np.zeros(profile.shape)
        for r in range(len(self.roles) if self.role_source not in ("none", "position") else 0):
            offsets += np.where(roles == r, leaning[..., r, None], 0)
        seen = np.asarray(ballots.counts) > 0
        place = expected_roles(roles, seen)
        expected = (
            np.where(place >= 0, np.append(self.base, 0.0)[place], 0) if len(self.base) else np.zeros(place.shape)
        )
        first = leaning[..., 0] if self.role_source == "position" else np.zeros(who.shape)
        traits = Traits(
            slope / self.reference,
            (offsets + slope[..., None] * expected[:, None]) / root,
            np.broadcast_to(extra[..., None] / root**2, profile.shape),
            first / root,
            expected,
        )
        return self._given(profile, traits, loadings[:, :, None] / root, n)

    def _levelled(
        self,
        profile: Profile,
        roles: Array,
        slope: Array,
        leaning: Array,
        loadings: Array,
        extra: Array,
        noise: Array,
    ) -> Profile:
        """Return values as the average voter would have given them, in the unit of the votes.

        They are measured from the mean of all values of their decision, so that a constant changes nothing.
        """
        unit = float(np.exp(np.mean(np.log(self.noise))))
        root = self.typical_count**0.5
        values = np.asarray(profile.ballots.votes)
        middle = centres(profile)
        lenient = np.zeros(profile.shape)
        for r in range(len(self.roles)):
            common = float(np.mean(self.leaning[:, r])) if self.role_source == "all" else 0.0
            lenient += np.where(roles == r, leaning[..., r, None] - common, 0)
        level = unit * ((values - middle[:, None, None]) / noise[..., None] - lenient)
        ballots = profile.ballots._replace(votes=level)  # type: ignore[attr-defined]
        traits = Traits(
            slope / self.reference,
            np.zeros(profile.shape),
            np.broadcast_to(extra[..., None] / root**2, profile.shape),
            np.zeros(slope.shape),
            np.broadcast_to(middle[:, None], (profile.shape[0], profile.shape[-1])),
        )
        return self._given(profile.with_ballots(ballots), traits, loadings[:, :, None] / root, profile.shape[-1])

    def _given(self, profile: Profile, traits: Traits, loadings: Array, n: int) -> Profile:
        """Give ballots their traits; none where all voters are as the paper's, so that nothing changes."""
        ballots = profile.ballots.with_shared_errors(None, None).with_traits(None)
        plain = not np.any(loadings) and np.allclose(traits.slopes, 1, rtol=1e-12, atol=0)
        if plain and not any(np.any(x) for x in traits[1:]):
            return profile.with_ballots(ballots)
        loadings = loadings if loadings.shape[-1] else np.zeros((*loadings.shape[:-1], 1))
        wide = np.broadcast_to(loadings, (*profile.shape[:2], n, loadings.shape[-1]))
        return profile.with_ballots(ballots.with_shared_errors(wide, np.zeros(profile.shape)).with_traits(traits))

    def _with_average(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return slope, leaning, loadings, variance of what is uncertain, and unit, with the average voter behind all.

        How voters differ from the average is, for one whom the panel does not know, noise.
        """
        own = self.slope_error**2 + self.loading_variance
        if len(self.roles):
            own = own + np.mean(self.leaning_error**2, axis=-1) / max(len(self.roles), 1)
        spread = np.var(self.slope) + np.sum(np.var(self.loadings, axis=0)) + np.sum(np.var(self.leaning, axis=0))
        noise = np.append(self.noise, np.exp(np.mean(np.log(self.noise))))
        return (
            np.append(self.slope, self.mean_slope),
            np.concat([self.leaning, np.mean(self.leaning, axis=0, keepdims=True)]),
            np.concat([self.loadings, self.mean_loadings[None]]),
            np.append(own, spread + np.mean(own)),
            noise,
        )

    def _with_levels(self, profile: Profile) -> Profile:
        """Let levels of confidence be worth what was learned."""
        if not self.levels or profile.confidence is None:
            return profile
        given = np.asarray(profile.counts)
        counts = given.copy()
        for level, worth in profile.confidence.items():
            counts[given == worth] = self.levels.get(level, worth)
        return profile.with_ballots(profile.ballots.with_counts(counts))

    # Files

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        made: dict[str, Any] = {"format": LEARNED, "version": VERSION}
        for field in fields(self):
            value = getattr(self, field.name)
            made[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
        made["levels"], made["checked"] = dict(self.levels), None if self.checked is None else dict(self.checked)
        made["assumption"] = self.assumption
        return made

    def write(self, path: str | PathLike[str]) -> None:
        """Write the panel as a JSON file."""
        if usable_path(path).suffix.lower() != ".json":
            raise InputError(f"{path}: a panel is written as JSON; choose a name that ends in .json")
        write_whole(path, (json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n").encode())

    @classmethod
    def from_dict(cls, given: Any) -> "LearnedPanel":
        """Return the panel that :meth:`to_dict` wrote."""
        if not isinstance(given, dict) or given.get("version") != VERSION:
            raise InputError(f"is a learned panel of another version than {VERSION}; learn it anew")
        own: dict[str, Any] = {}
        for field in fields(cls):
            if field.name not in given:
                raise InputError(f"lacks {quoted(field.name)}; learn the panel anew")
            own[field.name] = _checked(field.name, given[field.name])
        _require_sound(own)
        made = cls(**own)
        m, r, f = len(made.voters), len(made.roles), made.loadings.shape[-1] if made.loadings.ndim == 2 else -1
        shapes = {"leaning": (m, r), "leaning_error": (m, r), "loadings": (m, f), "mean_loadings": (f,), "base": (r,)}
        shapes |= dict.fromkeys(("correlation", "correlation_error"), (m, m))
        shapes |= dict.fromkeys(("slope", "slope_error", "loading_variance", "noise", "votes_by"), (m,))
        for name, shape in shapes.items():
            if np.shape(getattr(made, name)) != shape:
                raise InputError(f"{quoted(name)} does not fit {m} voters and {r} roles; learn the panel anew")
        return made

    def to_frame(self, backend: str = "polars") -> Any:
        """Return a frame with a row for each voter, the most skilled first, by a ``backend`` such as ``"pandas"``."""
        import narwhals as nw

        from veritally.panel.verdicts import voter_rows

        rows = voter_rows(self)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        """Show a table in notebooks: a row for each voter."""
        from veritally.panel.verdicts import voter_rows

        rows = [[f"{x:.2f}" if isinstance(x, float) else str(x) for x in row.values()] for row in voter_rows(self)]
        names = [name.replace("_", " ") for name in voter_rows(self)[0]]
        return html_table(Table.of(names, rows, sortable=False), repr(self))

    def __repr__(self) -> str:
        return f"LearnedPanel({len(self.voters)} voters, {self.decisions} decisions, {self.answers} answered)"


def _all_names(labels: Labels, profile: Profile) -> set[str]:
    """Return the names in all decisions."""
    decisions = range(profile.batch[0]) if labels.each else [None]
    return {str(name) for d in decisions for name in labels.at(d)}


def _require_sound(own: Mapping[str, Any]) -> None:
    """Refuse parts of a file that are no numbers, or none that a panel can have."""
    number = {"mean_slope": -np.inf, "omega": 0.0, "typical_count": 1e-300, "decisions": 0, "answers": 0}
    for name, least in number.items():
        real(own[name], quoted(name), least)
    for name, choices in {"kind": get_args(PanelKind), "role_source": get_args(RoleSource)}.items():
        require_known(own[name], choices, name)
    for name in ("slope_error", "loading_variance", "noise"):
        if (
            not isinstance(own[name], np.ndarray)
            or np.any(own[name] < 0)
            or (name == "noise" and np.any(own[name] == 0))
        ):
            raise InputError(f"{quoted(name)} must be numbers that are not negative; learn the panel anew")
    checked_names(own["voters"], "voters")
    if not isinstance(own["levels"], Mapping):
        raise InputError('"levels" must say what each level counts for; learn the panel anew')
    for level, count in own["levels"].items():
        real(count, f"the count for the confidence {quoted(level)}", 1e-300)
    if not isinstance(own["converged"], bool):
        raise InputError('"converged" must be true or false; learn the panel anew')


def _checked(name: str, value: Any) -> Any:
    """Return one part of a file as the panel holds it."""
    try:
        if isinstance(value, list) and name not in _NAMES:
            array = np.array(value, dtype=float)
            if not np.isfinite(array).all():
                raise ValueError
            return frozen(array)
        if name in _NAMES:
            if not isinstance(value, list | tuple):
                raise TypeError
            return tuple(tuple(own) if isinstance(own, list) else own for own in value)
        return value
    except (TypeError, ValueError):
        raise InputError(f"{quoted(name)} is not what a learned panel has there; learn the panel anew") from None
