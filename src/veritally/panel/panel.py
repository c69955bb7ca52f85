"""Panel: what is said of voters besides how much they saw: which of them err together, and how strongly."""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.checks import real, usable_path
from veritally.errors import InputError, quoted
from veritally.files import write_whole
from veritally.inference.dispersion import log_typical_count
from veritally.panel.factors import factors, principal_factors
from veritally.votes.ballots import Kind
from veritally.votes.items import Items
from veritally.votes.kinds import KINDS
from veritally.votes.labels import find, require_known
from veritally.votes.profile import Profile
from veritally.votes.values import Values

Strength: TypeAlias = float | Literal["estimated"]

VERSION = 1
_FORMAT = "veritally panel"
_ROUNDING = 1e-8  # by which a kernel may be off
_FACTORS = 8  # of items that are always kept
_NUMBERS = 400  # truths and shared errors, up to which all are kept


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Panel:
    """Voters who share errors: those of a group, those who are similar, or those who saw the same items.

    Given the shared errors voters are independent again, so a panel only lets each voter speak of these errors beside
    the truths. Of a voter of a group, at the geometric mean count, the variance of the error stays the same: the shared
    part takes the place of a part of the voter's own. The shared part stays however much a voter sees.

    Parameters
    ----------
    groups
        The voters of each group, by name. Voters of no group err by themselves.
    similarity
        A kernel between voters, ``(voter, voter)``: symmetric, without negative eigenvalues. It is scaled to 1 on its
        diagonal.
    voters
        The names of the voters of the kernel; by default those of the votes, in their order.
    items
        Who looked at which items: ``profile.items`` of votes that were read from single looks.
    correlation
        That of the errors of two members of a group, or of two voters with a similarity of 1, for one alternative at
        the geometric mean count; of items, the part of the noise of a look that belongs to them. From 0 up to, but not
        including, 1; or ``"estimated"``, by the evidence of the votes, shrunk to 0.
    votes
        The kind of votes that the panel is about; None for any.

    Examples
    --------
    >>> Panel(groups={"one lab": ["A", "B", "C"]}, correlation=0.6)
    Panel(1 group with 3 voters, correlation 0.6)
    """

    groups: Mapping[str, tuple[Hashable, ...]] | None
    similarity: Array | None
    voters: tuple[Hashable, ...] | None
    items: Items | None
    correlation: Strength
    votes: Kind | None

    def __init__(
        self,
        groups: Mapping[str, Sequence[Hashable]] | None = None,
        *,
        similarity: Any = None,
        voters: Sequence[Hashable] | None = None,
        items: Items | None = None,
        correlation: Strength = "estimated",
        votes: Kind | None = None,
    ) -> None:
        if sum(given is not None for given in (groups, similarity, items)) != 1:
            raise InputError("a panel is made of groups, of a similarity or of items; give just one of them")
        if voters is not None and similarity is None:
            raise InputError("voters= names those of a similarity; groups and items name theirs themselves")
        if items is not None and not isinstance(items, Items):
            raise InputError("items= takes profile.items, of votes that were read from single looks")
        if votes is not None:
            require_known(votes, KINDS, "the kind of votes")
        self._set("groups", None if groups is None else _checked_groups(groups))
        self._set("voters", None if voters is None else _checked_names(voters))
        self._set("similarity", None if similarity is None else _checked_kernel(similarity, self.voters))
        self._set("items", items)
        self._set("correlation", _checked_correlation(correlation))
        self._set("votes", votes)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(cls, profile: Profile) -> "Panel | None":
        """Return what a vote file says of its voters: groups, or who looked at which items; None where it does not."""
        if profile.groups:
            members: dict[str, list[Hashable]] = {}
            for voter, group in profile.groups.items():
                members.setdefault(group, []).append(voter)
            return cls(members) if any(len(own) > 1 for own in members.values()) else None
        if profile.items is not None and profile.items.share is not None:
            return cls(items=profile.items, correlation=profile.items.share)
        return None

    # Use

    def applied(self, profile: Profile) -> Profile:
        """Return votes whose ballots know the errors that their voters share."""
        if len(profile.batch) > 1:
            raise InputError("a panel is for decisions along one axis; take them from unstack()")
        if self.votes not in (None, profile.kind):
            raise InputError(f"this panel is for {self.votes}, and these votes are {profile.kind}")
        decisions = profile.decision_names if profile.batch else (None,)
        names = [(profile.voter_labels.at(d), profile.alternative_labels.at(d)) for d in range(len(decisions))]
        self._require_known([name for voters, _ in names for name in voters])
        most = _most_factors(profile)
        found = [self._shared(decision, *own, most) for decision, own in zip(decisions, names, strict=True)]
        shape = (len(found), *profile.shape[-2:])
        loadings = np.zeros((*shape, max(own.shape[-1] for own, _ in found)))
        sharing = np.zeros(shape)
        for d, (own, part) in enumerate(found):
            m, n, factor = own.shape
            loadings[d, :m, :n, :factor], sharing[d, :m, :n] = own, part
        if self.items is None:
            typical = np.exp(np.asarray(log_typical_count(profile.ballots)) / 2)
            loadings = loadings / typical.reshape(-1, 1, 1, 1)
        ballots = profile.ballots.with_shared_errors(
            loadings.reshape(*profile.shape, -1), sharing.reshape(profile.shape)
        )
        return profile.with_ballots(ballots)

    def _shared(
        self, decision: Hashable, voters: tuple[Hashable, ...], alternatives: tuple[Hashable, ...], most: int
    ) -> tuple[Array, Array]:
        """Return loadings of one decision, ``(voter, alternative, factor)``, and what part of the variance they are.

        Those of groups and similarities are at a count of 1. Of the factors of items only so many are kept.
        """
        if self.items is not None:
            own = np.moveaxis(factors(self.items.overlap(decision, voters, alternatives)), 0, 1)
            whole, kept = (np.sum(x**2, axis=-1) for x in (own, own[..., :most]))
            return own[..., :most], kept / np.where(whole > 0, whole, 1)
        if self.groups is not None:
            one = {str(name): group for group, members in self.groups.items() for name in members}
            groups = [one.get(str(name)) for name in voters]
            several = [group for group in self.groups if groups.count(group) > 1]
            each = np.array([[group == other for other in several] for group in groups], dtype=float)
        else:
            each = principal_factors(self._kernel(voters))
        part = np.sum(each**2, axis=-1)
        wide = (len(voters), len(alternatives))
        return np.broadcast_to(each[:, None], (*wide, each.shape[-1])), np.broadcast_to(part[:, None], wide)

    def _kernel(self, voters: tuple[Hashable, ...]) -> Array:
        """Return the similarity of the voters of a decision; those whom the kernel does not know are like nobody."""
        assert self.similarity is not None
        if self.voters is None:
            if len(voters) != len(self.similarity):
                counted = f"the similarity is that of {len(self.similarity)} voters, and {len(voters)} vote"
                raise InputError(f"{counted}; name them by voters=")
            return self.similarity
        place = {str(name): i for i, name in enumerate(self.voters)}
        at = np.array([place.get(str(name), -1) for name in voters])
        known = (at[:, None] >= 0) & (at >= 0)
        return np.where(known, self.similarity[at[:, None], at], np.eye(len(voters)))

    def _require_known(self, voters: list[Hashable]) -> None:
        """Refuse a panel that names others than those who vote."""
        named = self.voters or ()
        if self.groups is not None:
            named = tuple(name for members in self.groups.values() for name in members)
        known = {str(name): i for i, name in enumerate(voters)}
        for name in named:
            find(str(name), known, "the panel's voter")

    # Files

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        made: dict[str, Any] = {"format": _FORMAT, "version": VERSION, "correlation": self.correlation}
        if self.votes is not None:
            made["votes"] = self.votes
        if self.groups is not None:
            made["groups"] = {group: list(map(str, members)) for group, members in self.groups.items()}
        elif self.similarity is not None:
            made["voters"] = None if self.voters is None else list(map(str, self.voters))
            made["similarity"] = self.similarity.tolist()
        elif self.items is not None:
            made["items"] = self.items.to_dict()
        return made

    def write(self, path: str | PathLike[str]) -> None:
        """Write the panel as a JSON file that people can read."""
        if usable_path(path).suffix.lower() != ".json":
            raise InputError(f"{path}: a panel is written as JSON; call the file panel.json, say")
        write_whole(path, (json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n").encode())

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "Panel":
        """Read a panel that :meth:`write` wrote, or that was written by hand in the same form."""
        try:
            text = usable_path(path).read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        try:
            given = json.loads(text)
        except ValueError as error:
            raise InputError(f"{path}: is no panel, since it is no JSON; write one by vt.Panel(…).write") from error
        try:
            return cls.from_dict(given)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_dict(cls, given: Any) -> "Panel":
        """Return the panel that :meth:`to_dict` wrote."""
        if not isinstance(given, dict) or given.get("format") != _FORMAT:
            raise InputError(f'is no panel; it needs "format": "{_FORMAT}" and "version": {VERSION}')
        if given.get("version") != VERSION:
            raise InputError(f"is a panel of version {quoted(given.get('version'))}; this program reads {VERSION}")
        parts = {key: value for key, value in given.items() if key not in ("format", "version")}
        if unknown := parts.keys() - {"correlation", "votes", "groups", "voters", "similarity", "items"}:
            raise InputError(f"the panel has {quoted(min(unknown))}, which means nothing here; leave it out")
        if parts.get("items") is not None:
            parts["items"] = Items.from_dict(parts["items"])
        return cls(**parts)

    def __repr__(self) -> str:
        if self.groups is not None:
            number, voters = len(self.groups), sum(map(len, self.groups.values()))
            what = f"{number} group{'s' if number != 1 else ''} with {voters} voters"
        elif self.similarity is not None:
            what = f"similarity of {len(self.similarity)} voters"
        else:
            what = "items that voters share"
        return f"Panel({what}, correlation {self.correlation})"


def _most_factors(profile: Profile) -> int:
    """Return how many factors items may have: of values, for which all is exact, as many as there is room for."""
    room = _NUMBERS // profile.shape[-1] - 1 if isinstance(profile.ballots, Values) else 0
    return max(_FACTORS, room)


def _checked_groups(groups: Any) -> dict[str, tuple[Hashable, ...]]:
    """Require voters by group, none in two."""
    if not isinstance(groups, Mapping):
        raise InputError('groups are a dictionary with the voters of each: {"one lab": ["Ann", "Bob"]}')
    checked: dict[str, tuple[Hashable, ...]] = {}
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        if isinstance(members, str) or not isinstance(members, Sequence):
            raise InputError(f"the group {quoted(group)} needs a list of voters, not {quoted(members)}")
        for name in members:
            if str(name) in group_of:
                both = (group_of[str(name)], str(group))
                where = (
                    f"twice in the group {quoted(group)}"
                    if len(set(both)) == 1
                    else f"in {' and '.join(map(quoted, both))}"
                )
                raise InputError(f"voter {quoted(name)} stands {where}; a voter belongs to one group at most")
            group_of[str(name)] = str(group)
        checked[str(group)] = tuple(members)
    if not any(len(members) > 1 for members in checked.values()):
        raise InputError("no group has two voters, so that there is nothing to share; name two in one at least")
    return checked


def _checked_names(voters: Any) -> tuple[Hashable, ...]:
    """Require names that differ."""
    if isinstance(voters, str) or not isinstance(voters, Sequence):
        raise InputError(f"voters= needs a list of names, not {quoted(voters)}")
    if len(set(map(str, voters))) < len(voters):
        raise InputError("voters= names a voter twice; names must differ")
    return tuple(voters)


def _checked_kernel(given: Any, voters: tuple[Hashable, ...] | None) -> Array:
    """Require a symmetric matrix without negative eigenvalues, and scale it to 1 on its diagonal."""
    try:
        kernel = np.array(given, dtype=float)
    except (TypeError, ValueError):
        kernel = np.zeros(0)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not kernel.size or not np.isfinite(kernel).all():
        raise InputError("a similarity is a square matrix of finite numbers, one row and column for each voter")
    if voters is not None and len(voters) != len(kernel):
        raise InputError(f"the similarity has {len(kernel)} rows, and voters= has {len(voters)} names")
    size = float(np.max(np.abs(kernel)))
    if np.max(np.abs(kernel - kernel.T)) > _ROUNDING * size:
        i, k = np.unravel_index(np.argmax(np.abs(kernel - kernel.T)), kernel.shape)
        raise InputError(f"the similarity is not symmetric: {kernel[i, k]:g} and {kernel[k, i]:g} at rows {i} and {k}")
    if np.min(np.diag(kernel)) <= 0:
        raise InputError("the similarity of each voter to itself must be above 0; it is scaled to 1")
    root = np.sqrt(np.diag(kernel))
    kernel = (kernel + kernel.T) / 2 / (root[:, None] * root)
    least = float(np.linalg.eigvalsh(kernel)[0])
    if least < -_ROUNDING * len(kernel):
        raise InputError(f"the similarity is not positive: it has the eigenvalue {least:.3g}, and none may be below 0")
    return kernel


def _checked_correlation(given: Any) -> Strength:
    """Require a number from 0 up to but not including 1, or ``estimated``."""
    if given == "estimated":
        return "estimated"
    try:
        number = real(given, "correlation", 0, 1)
    except InputError:
        number = 1.0
    if number >= 1:
        raise InputError(f"correlation must be a number from 0 to below 1, or estimated, not {quoted(given)}")
    return number
