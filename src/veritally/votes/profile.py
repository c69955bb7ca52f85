"""Profile: the votes and counts of one decision or a batch of them, validated once, immutable."""

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import groupby
from typing import Any, Self

import numpy as np

from veritally.arrays import Array, namespace, over_alternatives
from veritally.errors import InputError, InputWarning, quoted
from veritally.votes.ballots import Ballots, Kind, SingleKind, frozen
from veritally.votes.forms import votes_given
from veritally.votes.items import Items
from veritally.votes.labels import Labels, counted, find
from veritally.votes.pairs import Pairs
from veritally.votes.pref_voting import election
from veritally.votes.top import TopChoices
from veritally.votes.validation import checked_counts, checked_multiplicity, numbers
from veritally.votes.values import Values


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Profile:
    """Votes of m voters on n alternatives, with how much each voter saw of each alternative.

    Give the votes as exactly one of the first six arguments. Leading axes of the arrays are a batch of decisions.

    Parameters
    ----------
    ranks
        ``(..., voter, alternative)``, 1 for the best, equal numbers for ties, 0 (or NaN) for not ranked.
    order
        For each voter a list of alternatives, best first, with a tie as a list within the list; or an integer array of
        positions, −1 for none.
    values
        ``(..., voter, alternative)``, each voter's mean observation, larger is better, NaN for blank.
    differences
        ``(..., voter)``, x_i2 − x_i1 for two alternatives, NaN for blank.
    top
        Each voter's favourite as a name or position (−1 or None for no vote), or a boolean array of favourites.
    pairs
        ``(..., voter, alternative, alternative)``: how often each voter preferred the first to the second; a tie counts
        half for each. A comparison is one observation of both, so there are no other counts.
    counts
        ``(..., voter, alternative)`` or ``(..., voter, 1)``: how many observations each voter has of each
        alternative, 0 for never seen. Default: all 1.
    multiplicity
        ``(..., voter)``: how many identical voters each ballot stands for. Default: 1.
    alternatives, voters
        Names. Default: positions 0, 1, …. For a batch of decisions of different sizes, a list of names for each
        decision: what is beyond the end of a list is padding and changes nothing.
    decisions
        Names of the decisions of a batch.

    Notes
    -----
    If a voter has seen an alternative (count > 0) and leaves it blank, it is below everything that the voter ranked. If
    the voter has not seen it, a blank is no opinion. A vote for an unseen alternative is an error. A voter without any
    usable vote is ignored, with a warning. Ranks are kept as midranks among what the voter saw: 1, 2, 2 and 1, 5, 5
    both become 1, 2.5, 2.5.

    Examples
    --------
    >>> profile = Profile(ranks=[[1, 2, 0], [2, 1, 3]], counts=[[5, 5, 0], [1, 9, 9]], alternatives=["A", "B", "C"])
    >>> profile
    Profile(2 voters, 3 alternatives, rankings)
    >>> profile.as_top().top
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """

    ballots: Ballots
    decisions: tuple[Hashable, ...] | None
    alternative_labels: Labels
    voter_labels: Labels
    groups: Mapping[Hashable, str] | None
    items: Items | None
    role_names: tuple[str, ...] | None
    titles: Mapping[str, str] | None
    confidence: Mapping[str, float] | None

    def __init__(
        self,
        *,
        ranks: Any = None,
        order: Any = None,
        values: Any = None,
        differences: Any = None,
        top: Any = None,
        pairs: Any = None,
        counts: Any = None,
        multiplicity: Any = None,
        alternatives: Sequence[Any] | None = None,
        voters: Sequence[Any] | None = None,
        decisions: Sequence[Hashable] | None = None,
    ) -> None:
        counts = None if counts is None else numbers(counts, "counts")
        width = counts.shape[-1] if counts is not None and counts.ndim > 1 and counts.shape[-1] > 1 else None
        forms = {"ranks": ranks, "order": order, "values": values, "differences": differences, "top": top}
        kind, votes, alternatives = votes_given({**forms, "pairs": pairs}, alternatives, width)
        shape = kind.shape_of(votes)
        if len(shape) < 2 or 0 in shape[:-1]:
            raise InputError(
                f"votes need a voter and an alternative axis and at least one voter, not the shape {shape}"
            )
        if shape[-1] < 2:
            raise InputError("there is a single alternative; a decision needs at least two")
        batch = shape[:-2]
        if decisions is not None and len(batch) != 1:
            raise InputError(f"decision names need one batch axis, not a batch of shape {batch}")

        self._set("alternative_labels", Labels.of(alternatives, shape[-1], batch, "alternative"))
        self._set("voter_labels", Labels.of(voters, shape[-2], batch, "voter"))
        self._set("decisions", decisions if decisions is None else Labels.of(decisions, batch[0], (), "decision").names)
        for d in np.flatnonzero(self.alternative_labels.lengths < 2) if self.alternative_labels.each else ():
            name = int(d) if self.decisions is None else self.decisions[d]
            raise InputError(f"decision {quoted(name)}: there is a single alternative; it needs two")
        self._set("ballots", self._validated(kind, votes, counts, multiplicity, shape))
        self._set("groups", None)
        self._set("items", None)
        self._set("role_names", None)
        self._set("titles", None)
        self._set("confidence", None)
        for message in self.warnings:
            warnings.warn(message, InputWarning, stacklevel=2)

    def renamed(self, decision: str, voter: str, alternative: str) -> Self:
        """Return a profile with names made of a prefix and a number from 1 on, the same in all decisions."""
        if self.names_differ:
            raise InputError("the decisions have different names; rename one decision at a time, from unstack()")
        batch = {"decisions": tuple(f"{decision}{d + 1}" for d in range(self.batch[0]))} if self.batch else {}
        n, m = self.shape[-1], self.shape[-2]
        new = {old: f"{voter}{i + 1}" for i, old in enumerate(self.voters)}
        groups = {new[old]: group for old, group in (self.groups or {}).items() if old in new}
        return self._with(
            **batch,
            groups=groups or None,
            items=None,
            titles=None,
            alternative_labels=Labels(n, tuple(f"{alternative}{j + 1}" for j in range(n))),
            voter_labels=Labels(m, tuple(f"{voter}{i + 1}" for i in range(m))),
        )

    @classmethod
    def trusted(cls, ballots: Ballots) -> Self:
        """Wrap arrays that need no check, without names."""
        new = object.__new__(cls)
        new._set("ballots", ballots.map(frozen))
        new._set("decisions", None)
        new._set("alternative_labels", Labels(ballots.counts.shape[-1]))
        new._set("voter_labels", Labels(ballots.counts.shape[-2]))
        new._set("groups", None)
        new._set("items", None)
        new._set("role_names", None)
        new._set("titles", None)
        new._set("confidence", None)
        return new

    def _validated(
        self, kind: type[SingleKind], votes: Array, counts: Array | None, multiplicity: Any, shape: tuple[int, ...]
    ) -> Ballots:
        """Check what came in, resolve blanks, and make the arrays that everything else trusts."""
        where = partial(self.place, len(shape) - 2)
        xp = namespace(votes, counts)
        votes, exists = xp.asarray(votes), self._existing(shape)
        dtype = votes.dtype if xp.isdtype(votes.dtype, "real floating") else xp.asarray(0.0).dtype
        own = kind.counts_in(votes, exists, where)
        if own is not None and counts is not None:
            raise InputError("the counts of pairs are their comparisons; leave counts= out")
        given = next(xp.asarray(x, dtype=dtype) for x in (own, counts, exists) if x is not None)
        counts = checked_counts(given, exists, shape, where)
        return kind.checked(votes, counts, checked_multiplicity(multiplicity, counts, where), where)

    def _existing(self, shape: tuple[int, ...]) -> Array:
        """Return which cells are no padding."""
        voters, alternatives = self.voter_labels.existing(), self.alternative_labels.existing()
        return np.broadcast_to(voters[..., :, None] & alternatives[..., None, :], shape)

    def place(self, depth: int, index: tuple[int, ...]) -> str:
        """Say which voter (and alternative) an index below ``depth`` batch axes means."""
        decision = index[0] if depth else None
        words = (
            [f"decision {quoted(index[:depth] if self.decisions is None else self.decisions[index[0]])}"]
            if depth
            else []
        )
        axes = ((self.voter_labels, "voter"), (self.alternative_labels, "alternative"))
        words += [f"{what} {labels.word(i, decision)}" for (labels, what), i in zip(axes, index[depth:], strict=False)]
        return ", ".join(words)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def with_facts(
        self,
        groups: Mapping[Hashable, str] | None = None,
        items: Items | None = None,
        titles: Mapping[str, str] | None = None,
        confidence: Mapping[str, float] | None = None,
    ) -> Self:
        """Return a profile with groups of voters, items that they looked at, or titles of alternatives, by name.

        ``confidence`` is what each level of confidence was taken for, if counts come from these.
        """
        return self._with(
            groups=groups or self.groups,
            items=items or self.items,
            titles=titles or self.titles,
            confidence=confidence or self.confidence,
        )

    def with_roles(self, roles: Array, names: Sequence[str]) -> Self:
        """Return a profile with the role of each alternative on each ballot.

        ``roles`` are positions in ``names``, ``(..., voter, alternative)``, −1 for none.
        """
        return self.with_ballots(self.ballots.with_roles(roles), role_names=tuple(names))

    def with_ballots(self, ballots: Ballots, **names: Any) -> Self:
        """Return a profile like this one with other ballots, which need no check, and perhaps other names."""
        return self._with(ballots=ballots.map(frozen), **names)

    def _with(self, **changes: Any) -> Self:
        """Return a profile like this one but for changes that need no check."""
        new = object.__new__(type(self))
        for field in fields(self):
            new._set(field.name, changes.get(field.name, getattr(self, field.name)))
        return new

    # Shape and names

    @property
    def kind(self) -> Kind:
        """The kind of votes: pairs, values, differences, rankings or top."""
        return self.ballots.kind

    @property
    def shape(self) -> tuple[int, ...]:
        """``(..., voters, alternatives)``."""
        return tuple(self.ballots.counts.shape)

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes; empty for a single decision."""
        return self.shape[:-2]

    @property
    def alternatives(self) -> tuple[Any, ...]:
        """Names of the alternatives; a tuple of names for each decision if these differ."""
        names: tuple[Any, ...] = self.alternative_labels.at()
        return names

    @property
    def voters(self) -> tuple[Any, ...]:
        """Names of the voters; a tuple of names for each decision if these differ."""
        names: tuple[Any, ...] = self.voter_labels.at()
        return names

    @property
    def names_differ(self) -> bool:
        """Whether decisions of a batch have different names of voters or alternatives."""
        return self.voter_labels.each or self.alternative_labels.each

    @property
    def decision_names(self) -> tuple[Any, ...]:
        """Names of the decisions along the first batch axis; positions if they have no names."""
        return self.decisions or tuple(range(self.batch[0]))

    @property
    def counts(self) -> Array:
        """c_ij, ``(..., voter, alternative)``."""
        return self.ballots.counts

    @property
    def multiplicity(self) -> Array:
        """How many identical voters each ballot stands for, ``(..., voter)``."""
        return self.ballots.multiplicity

    @property
    def warnings(self) -> tuple[str, ...]:
        """What can be used but should be checked, a sentence each."""
        silent = np.argwhere(
            self.voter_labels.existing() & ~over_alternatives(np.logical_or, np.asarray(self.counts) > 0)
        )
        if not len(silent):
            return ()
        names = [self.place(len(self.batch), tuple(map(int, index))) for index in silent[:3]]
        more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
        return (f"{'; '.join(names)}{more}: no usable vote, ignored",)

    def __len__(self) -> int:
        """Return the number of voters (of ballots, where some stand for several voters)."""
        return self.shape[-2]

    def __repr__(self) -> str:
        decisions = (
            f"{' × '.join(map(str, self.batch))} decision{'' if self.batch == (1,) else 's'}, " if self.batch else ""
        )
        voters, alternatives = counted(self.shape[-2], "voter"), counted(self.shape[-1], "alternative")
        return f"Profile({decisions}{voters}, {alternatives}, {self.kind})"

    # Coarsening

    def as_differences(self) -> Self:
        """For two alternatives, keep only x_i2 − x_i1 of voters who gave both values."""
        if not self.ballots.measured or self.shape[-1] != 2:
            raise InputError(f"differences need values for two alternatives, not {self.kind} for {self.shape[-1]}")
        return self.coarsened("differences")

    def as_rankings(self) -> Self:
        """Keep only which alternatives each voter put above which."""
        if isinstance(self.ballots, TopChoices):
            raise InputError("favourites cannot become rankings; give ranks= or order=")
        return self.coarsened("rankings")

    def as_top(self) -> Self:
        """Keep only each voter's favourite, or favourites if they tie."""
        return self.coarsened("top")

    def coarsened(self, kind: Kind | None) -> Self:
        """Coarsen the votes to ``kind``, which must not be finer; None keeps them as they are."""
        return self if kind in (None, self.kind) else self.with_ballots(self.ballots.coarsened(kind))

    def _votes(self, kind: Kind) -> Array:
        """Return the array of votes of one kind."""
        return self.coarsened(kind).ballots.votes

    def seen_once(self) -> Self:
        """Keep what the voters saw, but not how much; pairs become rankings."""
        if self.ballots.part(Pairs) is not None:
            return self.as_rankings().seen_once()
        counts = self.counts
        return self.with_ballots(self.ballots.with_counts(namespace(counts).astype(counts > 0, counts.dtype)))

    @property
    def values(self) -> Array:
        """x_ij, ``(..., voter, alternative)``, NaN for blank; for pairs, the share of comparisons won."""
        if not isinstance(self.ballots, Pairs | Values):
            raise InputError(f"these votes are {self.kind}, not values")
        return self._votes("values")

    @property
    def pairs(self) -> Array:
        """How often each voter preferred the first to the second, ``(..., voter, alternative, alternative)``."""
        if not isinstance(self.ballots, Pairs):
            raise InputError(f"these votes are {self.kind}, not pairs")
        return self.ballots.votes

    @property
    def differences(self) -> Array:
        """x_i2 − x_i1, ``(..., voter)``, NaN for blank."""
        return self.as_differences()._votes("differences")

    @property
    def ranks(self) -> Array:
        """Midranks among what each voter saw, ``(..., voter, alternative)``, 0 for unseen."""
        return self.as_rankings()._votes("rankings")

    @property
    def order(self) -> list[list[list[Any]]]:
        """Each voter's order of a single decision: tiers of names, best first, without what was not seen."""
        if self.batch:
            raise InputError("order is for a single decision; take one from unstack()")
        orders = []
        for ranks in np.asarray(self.ranks).tolist():
            seen = sorted((j for j, rank in enumerate(ranks) if rank), key=ranks.__getitem__)
            tiers = groupby(seen, key=ranks.__getitem__)
            orders.append([[self.alternatives[j] for j in tier] for _, tier in tiers])
        return orders

    @property
    def top(self) -> Array:
        """Each voter's share for each alternative, ``(..., voter, alternative)``: 1 for a single favourite."""
        return self._votes("top")

    def to_pref_voting(self) -> Any:
        """Return a single decision as a ``Profile`` of pref_voting, or a ``ProfileWithTies`` if orders need it.

        Only the order of the votes is kept. Counts and names of voters are lost, and what a voter has not seen is
        unranked. Needs the extra ``pref-voting``; ``from_pref_voting`` converts back.
        """
        if self.batch:
            raise InputError("to_pref_voting is for a single decision; take one from unstack()")
        return election(self.ranks, self.multiplicity, partial(self.place, 0), self.alternatives)

    # Selecting and combining

    def select(
        self, *, voters: Iterable[Hashable] | None = None, alternatives: Iterable[Hashable] | None = None
    ) -> Self:
        """Keep the named voters and alternatives, in the order given.

        Ranks close up over alternatives that are left out. A voter whose favourite is left out has no vote.
        """
        keep = self._positions(self.voter_labels, voters, "voter")
        chosen = self._positions(self.alternative_labels, alternatives, "alternative")
        if not keep:
            raise InputError("no voter would be left; a decision needs at least one")
        if len(chosen) < 2:
            raise InputError("a single alternative would be left; a decision needs at least two")
        return self.with_ballots(
            self.ballots.select(keep, chosen),
            voter_labels=Labels.of([self.voters[i] for i in keep], len(keep), (), "voter"),
            alternative_labels=Labels.of([self.alternatives[j] for j in chosen], len(chosen), (), "alternative"),
        )

    def _positions(self, labels: Labels, wanted: Iterable[Hashable] | None, what: str) -> list[int]:
        if labels.each:
            raise InputError("the decisions have different names; select from one decision at a time, from unstack()")
        if wanted is None:
            return list(range(labels.size))
        position = {name: i for i, name in enumerate(labels)}
        return [find(name, position, what) for name in wanted]

    def unstack(self) -> list[Self]:
        """Return the decisions along the first batch axis, each without its padding."""
        if not self.batch:
            raise InputError("this is a single decision; there is no batch to take apart")
        return [self.decision(d) for d in range(self.batch[0])]

    def as_batch(self) -> Self:
        """Return a batch of this decision alone."""
        return self.with_ballots(self.ballots.stacked(1))

    def rows(self, chosen: Array) -> Self:
        """Return the decisions at some places along the only batch axis, still a batch."""
        places = [int(d) for d in chosen]
        voters, alternatives = (
            replace(labels, names=tuple(labels.names[d] for d in places)) if labels.each and labels.names else labels
            for labels in (self.voter_labels, self.alternative_labels)
        )
        return self._with(
            ballots=self.ballots.map(lambda x: x[places]),
            decisions=tuple(self.decision_names[d] for d in places),
            voter_labels=voters,
            alternative_labels=alternatives,
        )

    def part(self, start: int, end: int) -> Self:
        """Return some of the decisions along the first batch axis, still a batch."""
        voters, alternatives = (
            replace(labels, names=labels.names[start:end]) if labels.each and labels.names else labels
            for labels in (self.voter_labels, self.alternative_labels)
        )
        return self._with(
            ballots=self.ballots.map(lambda x: x[start:end]),
            decisions=tuple(self.decision_names[start:end]),
            voter_labels=voters,
            alternative_labels=alternatives,
        )

    def decision(self, d: int) -> Self:
        """Return the decision at a position of the first batch axis, without its padding."""
        voters, alternatives = (labels.at(d) for labels in (self.voter_labels, self.alternative_labels))
        m, n = (len(voters), len(alternatives)) if len(self.batch) == 1 else self.shape[-2:]
        return self.with_ballots(
            self.ballots.map(lambda x: x[d]).trimmed(m, n).masked(),
            decisions=None,
            items=None if self.items is None else self.items.of_decision(self.decision_names[d]),
            voter_labels=Labels(m, voters if self.voter_labels.names else None),
            alternative_labels=Labels(n, alternatives if self.alternative_labels.names else None),
        )
