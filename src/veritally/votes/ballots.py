"""Ballots: votes and counts as plain arrays, whatever the kind of votes.

Everything behind this door may trust them: ranks are midranks over what the voter saw, blanks are resolved, zero
counts carry no vote. Each kind of votes is a class with a file of its own; what is the same for all stands here.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.errors import InputError
from veritally.votes.validation import Where, check_unseen

Kind: TypeAlias = Literal["pairs", "values", "differences", "mixed", "rankings", "top"]
"""The name of a kind of votes; from the finest to the coarsest in ``kinds.KINDS``."""

Axis: TypeAlias = Literal["voter", "alternative"]

SomeKind = TypeVar("SomeKind", bound="Ballots")


class Field(NamedTuple):
    """How one of the arrays of ballots is laid out.

    Attributes
    ----------
    axes
        Its axes after the batch axes; that of the voters comes first where there is one.
    blank
        What stands where there is nobody, or nothing.
    """

    axes: tuple[Axis, ...]
    blank: float


# Of the arrays that all kinds have; each kind says the same about its votes. A new field needs a line here and one in
# `_Arrays`, and taking, padding and selecting know it.
_FIELDS: Mapping[str, Field] = {
    "counts": Field(("voter", "alternative"), 0.0),
    "multiplicity": Field(("voter",), 0.0),
    "mask": Field(("alternative",), 0.0),
}


class Ballots(ABC):
    """The arrays a rule works on; a JAX pytree as it is, with the kind of votes in its type.

    Batch axes lead in all arrays.

    Attributes
    ----------
    kind
        The name of the kind of votes.
    measured
        Whether they are measurements, which nothing coarser can become.
    cardinal
        Whether they may tell where the truths lie, not only how they differ.
    """

    kind: ClassVar[Kind]
    measured: ClassVar[bool] = False
    cardinal: ClassVar[bool] = False

    @property
    def votes(self) -> Array:
        """What the voters say, in the form of the kind."""
        raise AttributeError(f"{self.kind} votes are of several kinds, in parts")

    @property
    @abstractmethod
    def counts(self) -> Array:
        """Observations c_ij, ``(..., voter, alternative)``; 0 for unseen."""

    @property
    @abstractmethod
    def multiplicity(self) -> Array:
        """How many identical voters each ballot stands for, ``(..., voter)``."""

    @property
    @abstractmethod
    def mask(self) -> Array:
        """Alternatives that exist and that somebody saw, ``(..., alternative)``."""

    @property
    @abstractmethod
    def parts(self) -> "tuple[SingleKind, ...]":
        """The ballots of each kind, the finest first."""

    # Structure: the same for all kinds, by the axes of their fields

    @abstractmethod
    def each_field(self, change: Callable[[Field, Array], Array]) -> Self:
        """Change each array, knowing how it is laid out."""

    @abstractmethod
    def fields(self) -> Iterator[tuple[str, Field, Array]]:
        """Go through the arrays, each with its name and how it is laid out."""

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays."""
        return tuple(x for _, _, x in self.fields())

    def map(self, change: Callable[[Array], Array]) -> Self:
        """Change each array without knowing which it is: only what is done to batch axes makes sense."""
        return self.each_field(lambda _, x: change(x))

    def stacked(self, number: int) -> Self:
        """Repeat ballots along a new first axis."""
        return self.map(lambda x: namespace(x).broadcast_to(x, (number, *x.shape)))

    @property
    def _depth(self) -> int:
        """How many batch axes there are."""
        return int(self.mask.ndim) - 1

    def take_voters(self, index: slice | Array) -> Self:
        """Keep some voters: a slice, positions ``(k,)``, or positions within each decision, ``(..., k)``."""
        depth = self._depth

        def taken(field: Field, x: Array) -> Array:
            if "voter" not in field.axes:
                return x
            if isinstance(index, slice):
                return x[(slice(None),) * depth + (index,)]
            xp = namespace(x)
            if index.ndim <= 1:
                return xp.take(x, index, axis=depth)
            places = index.reshape(*index.shape, *[1] * (x.ndim - index.ndim))
            return xp.take_along_axis(x, places, axis=depth)

        return self.each_field(taken)

    def trimmed(self, voters: int, alternatives: int) -> Self:
        """Keep only the first so many voters and alternatives."""
        sizes = {"voter": voters, "alternative": alternatives}
        batch = (slice(None),) * self._depth
        return self.each_field(lambda field, x: x[batch + tuple(slice(sizes[axis]) for axis in field.axes)])

    def padded(self, voters: int, alternatives: int) -> Self:
        """Make room for so many voters and alternatives: nobody there, nothing seen."""
        sizes = {"voter": voters, "alternative": alternatives}
        depth = self._depth

        def longer(field: Field, x: Array) -> Array:
            for place, axis in enumerate(field.axes, start=depth):
                x = _lengthened(x, place, sizes[axis], field.blank)
            return x

        return self.each_field(longer)

    def select(self, voters: Sequence[int], alternatives: Sequence[int]) -> Self:
        """Keep voters and alternatives, in the order given.

        Ranks close up over what is left out, a favourite or a difference that loses a side leaves no vote, and pairs
        are counted anew.
        """
        chosen = {"voter": voters, "alternative": alternatives}
        depth = self._depth

        def taken(field: Field, x: Array) -> Array:
            xp = namespace(x)
            for place, axis in enumerate(field.axes, start=depth):
                x = xp.take(x, xp.asarray(chosen[axis]), axis=place)
            return x

        return self.each_field(taken).closed_up(list(alternatives)).masked()

    def closed_up(self, kept: list[int]) -> Self:
        """Return sound votes after only the alternatives at these places were kept."""
        return self

    def masked(self) -> Self:
        """Return the same votes with the mask of what somebody saw."""
        return self.weighed(self.multiplicity, somebody_saw(self.counts, self.multiplicity))

    @abstractmethod
    def weighed(self, multiplicity: Array, mask: Array | None = None) -> Self:
        """Return the same votes with other multiplicities, and with another mask where one is given."""

    @abstractmethod
    def with_counts(self, counts: Array) -> Self:
        """Return the same votes with other counts for what was seen."""

    def each_voter(self) -> Self:
        """Make each voter a decision of its own: ``(..., voter, 1, alternative)``."""
        depth, voters = self._depth, self.counts.shape[-2]

        def apart(field: Field, x: Array) -> Array:
            xp = namespace(x)
            if "voter" in field.axes:
                return xp.expand_dims(x, axis=depth + 1)
            return xp.broadcast_to(xp.expand_dims(x, axis=depth), (*x.shape[:depth], voters, *x.shape[depth:]))

        return self.each_field(apart)

    def leaving_one_out(self) -> Self:
        """Leave each voter out in turn: ``(..., voter left out, voter, alternative)``, with multiplicity 0.

        The mask is what the others saw.
        """
        xp = namespace(self.counts)
        depth, voters = self._depth, self.counts.shape[-2]

        def repeated(x: Array) -> Array:
            return xp.broadcast_to(xp.expand_dims(x, axis=depth), (*x.shape[:depth], voters, *x.shape[depth:]))

        saw = xp.astype((self.counts > 0) & (self.multiplicity > 0)[..., None], self.counts.dtype)
        others = xp.ones((voters, voters), dtype=saw.dtype) - xp.eye(voters, dtype=saw.dtype)
        every = self.map(repeated)
        return every.weighed(every.multiplicity * others, xp.sum(saw, axis=-2, keepdims=True) - saw > 0)

    def merged(self) -> Self:
        """Put equal ballots of a single decision together, without those that say nothing, in NumPy."""
        kept = np.flatnonzero(np.asarray(self.effective_multiplicity) > 0)
        plain = self.map(np.asarray).take_voters(kept)
        rows = np.concat(
            [
                x.reshape(len(kept), math.prod(x.shape[1:]))
                for name, field, x in plain.fields()
                if "voter" in field.axes and name != "multiplicity"
            ],
            axis=1,
        )
        _, first, which = np.unique(np.nan_to_num(rows, nan=-np.inf), axis=0, return_index=True, return_inverse=True)
        return plain.take_voters(first).weighed(np.bincount(which.ravel(), plain.multiplicity, len(first)))

    # Content: what votes say

    @property
    def looks(self) -> Array:
        """Observations of each alternative behind one vote, ``(..., voter, alternative)``."""
        return self.counts

    def variances(self, sigma: float | Sequence[float] | Array = 1.0) -> Array:
        """Return s_ij² = σ_j²/c_ij, the variance of each voter's mean; infinite where nothing was seen."""
        xp = namespace(self.counts)
        seen = self.counts > 0
        square = xp.asarray(sigma, dtype=self.counts.dtype) ** 2
        return xp.where(seen, square / xp.where(seen, self.counts, 1), xp.inf)

    @abstractmethod
    def says_something(self) -> Array:
        """Say which ballots do, ``(..., voter)``: a value, or one alternative above another that the voter saw."""

    @property
    def effective_multiplicity(self) -> Array:
        """How many voters each ballot stands for, ``(..., voter)``; 0 where it says nothing."""
        return namespace(self.counts).where(self.says_something(), self.multiplicity, 0)

    @property
    def anchored(self) -> Array:
        """In which decisions some vote tells where the truths lie, not only how they differ, ``(...)``: values do."""
        return namespace(self.counts).zeros(self.mask.shape[:-1], dtype=bool)

    @abstractmethod
    def above(self) -> Array:
        """Say which alternative somebody puts above which, ``(..., alternative, alternative)``; a number, both ways."""

    def compared(self) -> Array:
        """Say which alternatives somebody compares, ``(..., alternative, alternative)``: those seen by one voter."""
        xp = namespace(self.counts)
        saw = xp.astype((self.counts > 0) & (self.multiplicity > 0)[..., None], self.counts.dtype)
        return xp.matmul(xp.moveaxis(saw, -1, -2), saw) > 0

    def measurements(self) -> tuple[Array, Array] | None:
        """Return values and counts, ``(..., voter, column)``, whose dispersion tells σ; None where there are none."""
        return None

    def tiers_told(self) -> Array:
        """Return how often ballots tell alternatives apart, ``(...)``: the tiers but one; infinite for numbers."""
        return np.full(self.mask.shape[:-1], np.inf)

    @property
    def most_tiers(self) -> int:
        """How many tiers a ballot can have."""
        return int(self.counts.shape[-1])

    def composition(self) -> Array:
        """Return a number for the kinds of votes that each decision has, ``(...)``; the same where they are alike."""
        return np.zeros(self.mask.shape[:-1], dtype=int)

    def simplest(self) -> "Ballots":
        """Return the same votes without kinds of which there are none."""
        return self

    def part(self, kind: type[SomeKind]) -> SomeKind | None:
        """Return the votes of one kind, None where there are none."""
        return self if isinstance(self, kind) else None

    def columns(self) -> dict[str, Array]:
        """Return what a table with a row for each voter and alternative shows, by column, NaN for blank."""
        return {}

    # Coarsening

    def coarsened(self, kind: Kind) -> "Ballots":
        """Keep only what votes of ``kind``, no finer than these, say; compiles under ``jax.jit``.

        What they say stays the same where votes of any kind become mixed ones, or favourites rankings of two tiers.
        """
        from veritally.votes.kinds import finer, kind_named  # which knows all kinds, and these know this file

        wanted = kind_named(kind)
        if isinstance(self, wanted):
            return self
        if wanted.measured and not finer(type(self), wanted):
            raise InputError(f"{self.kind} cannot become {kind}: votes can be made coarser, not finer")
        return wanted.made_from(self)

    @classmethod
    @abstractmethod
    def made_from(cls, ballots: "Ballots") -> "Ballots":
        """Make votes of this kind from others that are no coarser."""

    @abstractmethod
    def ranked(self) -> tuple[Array, Array]:
        """Return the midranks of these votes, 0 for unseen, and counts, both ``(..., voter, alternative)``."""


class _Arrays(NamedTuple):
    votes: Array
    counts: Array
    multiplicity: Array
    mask: Array


class SingleKind(_Arrays, Ballots):
    """Ballots of one kind.

    Attributes
    ----------
    layout
        How the votes are laid out.
    votes
        What the voters say, in the form of the kind.
    """

    layout: ClassVar[Field]

    @property
    def parts(self) -> "tuple[SingleKind, ...]":
        """The ballots themselves."""
        return (self,)

    def each_field(self, change: Callable[[Field, Array], Array]) -> Self:
        """Change each array, knowing how it is laid out."""
        return type(self)(*(change(field, x) for _, field, x in self.fields()))

    def fields(self) -> Iterator[tuple[str, Field, Array]]:
        """Go through the arrays, each with its name and how it is laid out."""
        for name, x in zip(self._fields, self, strict=True):
            yield name, _FIELDS.get(name, self.layout), x

    def weighed(self, multiplicity: Array, mask: Array | None = None) -> Self:
        """Return the same votes with other multiplicities, and with another mask where one is given."""
        return self._replace(multiplicity=multiplicity, mask=self.mask if mask is None else mask)

    def with_counts(self, counts: Array) -> Self:
        """Return the same votes with other counts for what was seen."""
        return self._replace(counts=counts)

    # Making them, from what a user gave

    @classmethod
    def made(cls, votes: Array, counts: Array, multiplicity: Array) -> Self:
        """Put checked arrays together, out of reach of anybody who would write to them."""
        return cls(votes, counts, multiplicity, somebody_saw(counts, multiplicity)).map(frozen)

    @classmethod
    def none_of(cls, ballots: Ballots) -> Self:
        """Return ballots of this kind in the shape of others, in which nobody says anything."""
        counts, multiplicity, mask = ballots.counts, ballots.multiplicity, ballots.mask
        sizes = {"voter": counts.shape[-2], "alternative": counts.shape[-1]}
        shape = (*mask.shape[:-1], *(sizes[axis] for axis in cls.layout.axes))
        xp = namespace(counts)
        votes = xp.full(shape, cls.layout.blank, dtype=counts.dtype)
        return cls(votes, xp.zeros_like(counts), multiplicity, mask)

    @classmethod
    def shape_of(cls, votes: Array) -> tuple[int, ...]:
        """Return ``(..., voters, alternatives)`` of votes."""
        return tuple(votes.shape)

    @classmethod
    def counts_in(cls, votes: Array, exists: Array, where: Where) -> Array | None:
        """Return the counts where votes tell these themselves, after a check; else None."""
        return None

    @classmethod
    def checked(cls, votes: Array, counts: Array, multiplicity: Array, where: Where) -> Self:
        """Check votes as a user gives them, resolve blanks, and make the arrays that everything else trusts."""
        xp = namespace(votes, counts)
        votes, voted = cls.read(xp.asarray(votes), counts, where)
        check_unseen(voted, counts, where)
        counts = xp.where(xp.any(voted, axis=-1, keepdims=True), counts, 0)
        return cls.made(cls.resolved(votes, counts), counts, multiplicity)

    @classmethod
    @abstractmethod
    def read(cls, votes: Array, counts: Array, where: Where) -> tuple[Array, Array]:
        """Refuse unsound votes; return them, and where a voter says something, ``(..., voter, alternative)``."""

    @classmethod
    def resolved(cls, votes: Array, counts: Array) -> Array:
        """Return votes in the form of the kind, blanks resolved by what was seen."""
        return votes


def somebody_saw(counts: Array, multiplicity: Array) -> Array:
    """Return the mask: alternatives that somebody saw, ``(..., alternative)``."""
    return namespace(counts).any((counts > 0) & (multiplicity > 0)[..., None], axis=-2)


def frozen(x: Array) -> Array:
    """Return a read-only array that nobody else holds for writing; JAX arrays are so already."""
    if is_jax(x):
        return x
    x = x if x.flags.owndata else x.copy()
    x.flags.writeable = False
    return x


def _lengthened(x: Array, axis: int, length: int, blank: float) -> Array:
    """Make an axis longer, with blanks at its end."""
    if x.shape[axis] >= length:
        return x
    xp = namespace(x)
    shape = (*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :])
    return xp.concat([x, xp.full(shape, blank, dtype=x.dtype)], axis=axis)
