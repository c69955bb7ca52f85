"""Panel: which voters err together, and how strongly."""

import html
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.checks import usable_path
from veritally.document import Table, html_table
from veritally.errors import InputError, quoted
from veritally.files import write_whole
from veritally.inference.dispersion import log_typical_count
from veritally.panel.base import LEARNED, AnyPanel
from veritally.panel.checks import (
    Strength,
    checked_correlation,
    checked_groups,
    checked_kernel,
    checked_names,
    read_json,
)
from veritally.panel.factors import factors, principal_factors
from veritally.votes.ballots import Kind
from veritally.votes.items import Items
from veritally.votes.kinds import KINDS
from veritally.votes.labels import Labels, find, require_known
from veritally.votes.profile import Profile

VERSION = 1
_FORMAT = "veritally panel"
_KEYS = ("correlation", "votes", "groups", "voters", "similarity", "items")
_FACTORS = 8  # that are always kept
_NUMBERS = 400  # truths and shared errors, up to which all are kept


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Panel(AnyPanel):
    """Voters who share errors: members of a group, similar voters, or voters who saw the same items.

    A voter's error has a shared part and a part of its own. Given the shared errors, voters are independent. At the
    geometric mean count, a group member's error keeps its variance: the shared part replaces some of the voter's own.
    The shared part stays however much a voter sees.

    Parameters
    ----------
    groups
        The voters of each group, by name. Voters without a group share no errors.
    similarity
        A kernel between voters, ``(voter, voter)``: symmetric, without negative eigenvalues. It is scaled to 1 on its
        diagonal.
    voters
        The names of the kernel's voters. Default: those of the votes, in their order.
    items
        Who looked at which items: the ``profile.items`` of votes that were read from single looks.
    correlation
        How strongly errors are shared, from 0 to below 1. For groups, the correlation between the errors of two members
        for one alternative, at the geometric mean count; for a similarity, that of two voters whose similarity is 1;
        for items, the part of the noise of a look that comes from the item. ``"estimated"`` estimates it from the
        votes, by their evidence, shrunk to 0.
    votes
        The kind of votes that the panel is for; None for any.

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
            raise InputError("a panel needs exactly one of groups, similarity and items")
        if voters is not None and similarity is None:
            raise InputError("voters= goes with similarity=; groups and items name their voters themselves")
        if items is not None and not isinstance(items, Items):
            raise InputError("items= takes the profile.items of votes that were read from single looks")
        if votes is not None:
            require_known(votes if isinstance(votes, str) else str(votes), KINDS, "the kind of votes")
        self._set("groups", None if groups is None else checked_groups(groups))
        self._set("voters", None if voters is None else checked_names(voters, "voters="))
        self._set("similarity", None if similarity is None else checked_kernel(similarity, self.voters))
        self._set("items", items)
        self._set("correlation", checked_correlation(correlation))
        self._set("votes", votes)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(cls, profile: Profile) -> "Panel | None":
        """Return the panel that came with the votes, from groups or shared items; None if there is none."""
        if profile.groups:
            voting = set(map(str, chain.from_iterable(_names(profile.voter_labels, profile))))
            members: dict[str, list[Hashable]] = {}
            for voter, group in profile.groups.items():
                if str(voter) in voting:
                    members.setdefault(group, []).append(voter)
            return cls(members) if any(len(own) > 1 for own in members.values()) else None
        if profile.items is not None and profile.items.share is not None:
            return cls(items=profile.items, correlation=profile.items.share)
        return None

    @property
    def group_of(self) -> dict[Hashable, str]:
        """The group of each voter; voters without a group are left out."""
        return {voter: group for group, members in (self.groups or {}).items() for voter in members}

    @property
    def known(self) -> dict[str, Any]:
        """What the rule is given: the strength of shared errors."""
        return {"correlation": self.correlation}

    def remarks(self, profile: Profile) -> tuple[str, ...]:
        """Return warnings: what in these votes the panel ignores or cannot estimate."""
        found = []
        if self.items is None and profile.items is not None and profile.items.share is not None:
            share = f"{profile.items.share:.0%} of the noise comes from items that voters share"
            found.append(f"groups are used and shared items are not, so the answer may be too sure: {share}")
        if self.groups is not None and len(self.groups) == 1 and self.correlation == "estimated":
            voters = set(map(str, chain.from_iterable(_names(profile.voter_labels, profile))))
            if voters <= set(map(str, self.group_of)):
                found.append(
                    "all voters are in one group, so their votes cannot show how much they share: give a correlation"
                )
        return tuple(found)

    # Use

    def applied(self, profile: Profile, cap: float | None = None) -> Profile:
        """Return the votes with the shared errors of their voters.

        ``cap`` is the most that a count counts for; the typical count depends on it.
        """
        if len(profile.batch) > 1:
            raise InputError("a panel needs decisions along one batch axis; take them from unstack()")
        if self.votes not in (None, profile.kind):
            raise InputError(f"this panel is for {self.votes}, but these votes are {profile.kind}")
        decisions = profile.decision_names if profile.batch else (None,)
        voters, alternatives = (
            _names(labels, profile) for labels in (profile.voter_labels, profile.alternative_labels)
        )
        self._require_known(list(chain.from_iterable(voters)))
        speaking = profile.ballots.weighed(profile.ballots.effective_multiplicity)
        times = np.asarray(speaking.multiplicity).reshape(len(decisions), -1)
        most = max(_FACTORS, _NUMBERS // profile.shape[-1] - 1)
        found = [self._shared(*own, most) for own in zip(decisions, voters, alternatives, times, strict=True)]
        shape = (len(found), *profile.shape[-2:])
        loadings = np.zeros((*shape, max(own.shape[-1] for own, _ in found)))
        sharing = np.zeros(shape)
        for d, (own, part) in enumerate(found):
            m, n, factor = own.shape
            loadings[d, :m, :n, :factor], sharing[d, :m, :n] = own, part
        if self.items is None:
            counted = speaking if cap is None else speaking.with_counts(np.minimum(speaking.counts, cap))
            typical = np.exp(np.asarray(log_typical_count(counted)) / 2)
            loadings = loadings / typical.reshape(-1, 1, 1, 1)
        ballots = profile.ballots.with_shared_errors(
            loadings.reshape(*profile.shape, -1), sharing.reshape(profile.shape)
        )
        return profile.with_ballots(ballots)

    def _shared(
        self,
        decision: Hashable,
        voters: tuple[Hashable, ...],
        alternatives: tuple[Hashable, ...],
        times: Array,
        most: int,
    ) -> tuple[Array, Array]:
        """Return loadings of one decision, ``(voter, alternative, factor)``, and what part of the variance they are.

        Those of groups and similarities are at a count of 1. Groups have a factor if more than one voter is in them;
        ``times``, ``(voter,)``, is how many voters each ballot stands for. Others have at ``most`` so many factors.
        """
        if self.items is not None:
            own = np.moveaxis(factors(self.items.overlap(decision, voters, alternatives)), 0, 1)
            whole, kept = (np.sum(x**2, axis=-1) for x in (own, own[..., :most]))
            return own[..., :most], kept / np.where(whole > 0, whole, 1)
        if self.groups is not None:
            one = {str(name): group for name, group in self.group_of.items()}
            each = np.array([[one.get(str(name)) == group for group in self.groups] for name in voters], dtype=float)
            each = each[:, times[: len(voters)] @ each > 1]
        else:
            each = principal_factors(self._kernel(voters), most)
        part = np.sum(each**2, axis=-1)
        wide = (len(voters), len(alternatives))
        return np.broadcast_to(each[:, None], (*wide, each.shape[-1])), np.broadcast_to(part[:, None], wide)

    def _kernel(self, voters: tuple[Hashable, ...]) -> Array:
        """Return the similarity of the voters of a decision; those whom the kernel does not know are like nobody."""
        assert self.similarity is not None
        if self.voters is None:
            if len(voters) != len(self.similarity):
                counted = f"the similarity is for {len(self.similarity)} voters, but {len(voters)} vote"
                raise InputError(f"{counted}; name its voters with voters=")
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
            raise InputError(f"{path}: a panel is written as JSON; choose a name that ends in .json")
        write_whole(path, (json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n").encode())

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "Panel":
        """Read a panel that :meth:`write` wrote, or that was written by hand in the same form."""
        with read_json(path) as given:
            return cls.from_dict(given)

    @classmethod
    def from_dict(cls, given: Any) -> "Panel":
        """Return the panel that :meth:`to_dict` wrote."""
        if isinstance(given, dict) and given.get("format") == LEARNED:
            raise InputError("is a learned panel; read it with read_panel")
        if not isinstance(given, dict) or given.get("format") != _FORMAT:
            raise InputError(f'is not a panel; it needs "format": "{_FORMAT}" and "version": {VERSION}')
        version = given.get("version")
        if version != VERSION or isinstance(version, bool):
            raise InputError(f"is a panel of version {quoted(version)}; this program reads {VERSION}")
        parts = {key: value for key, value in given.items() if key not in ("format", "version")}
        for key in parts:
            require_known(key, _KEYS, "the panel's part")
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

    def _repr_html_(self) -> str:
        """Show a table in notebooks: who belongs together."""
        if self.groups is None:
            return f"<p>{html.escape(repr(self))}</p>"
        rows = [[str(group), ", ".join(map(str, members))] for group, members in self.groups.items()]
        return html_table(Table.of(["group", "voters"], rows, texts=2, sortable=False), repr(self))


def _names(labels: Labels, profile: Profile) -> list[tuple[Hashable, ...]]:
    """Return the names in each decision."""
    return [labels.at(d) for d in range(profile.batch[0] if profile.batch else 1)]
