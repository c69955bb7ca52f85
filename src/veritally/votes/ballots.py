"""Ballots: votes and counts as plain arrays, whatever the kind of votes.

Everything behind this door may trust them: ranks are midranks over what the voter saw, blanks are resolved, zero
counts carry no vote. Each kind of votes is a class with a file of its own; what is the same for all stands here.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypeVar, get_type_hints

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.errors import InputError
from veritally.votes.layout import Field, Structure, somebody_saw
from veritally.votes.validation import Where, check_unseen

Kind: TypeAlias = Literal["pairs", "values", "differences", "mixed", "rankings", "top"]
"""The name of a kind of votes; from the finest to the coarsest in ``kinds.KINDS``."""

SomeKind = TypeVar("SomeKind", bound="Ballots")


class Traits(NamedTuple):
    """What a learned panel says of voters, in units of the noise of one observation.

    Attributes
    ----------
    slopes
        How strongly each voter follows the truth, beside the others, ``(..., voter)``.
    offsets
        What a voter adds to what it sees of each alternative, ``(..., voter, alternative)``.
    extra
        Variance that comes to that of the voter's mean, ``(..., voter, alternative)``.
    leaning
        What a voter adds to the alternative that stands in the first place of a comparison, ``(..., voter)``.
    expected
        From where the truth of each alternative is measured, in the unit of the truths, ``(..., alternative)``.
    """

    slopes: Array
    offsets: Array
    extra: Array
    leaning: Array
    expected: Array


class Ballots(Structure):
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
    def parts(self) -> "tuple[SingleKind, ...]":
        """The ballots of each kind, the finest first."""

    # Content: what votes say

    @property
    @abstractmethod
    def loadings(self) -> Array | None:
        """How strongly each voter has each shared error at full strength, ``(..., voter, alternative, factor)``.

        In units of the noise of one observation; None where voters err independently.
        """

    @property
    @abstractmethod
    def sharing(self) -> Array | None:
        """Which part of a voter's variance shared errors take the place of at full strength, 0 to 1."""

    @property
    @abstractmethod
    def roles(self) -> Array | None:
        """A number for the role of each alternative on a ballot, ``(..., voter, alternative)``, −1 for none."""

    @property
    @abstractmethod
    def traits(self) -> Traits | None:
        """What a learned panel says of the voters; None for nothing."""

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

    @property
    def have_unit(self) -> Array:
        """In which decisions some vote is a number, in whose unit truths are then measured, ``(...)``."""
        xp = namespace(self.counts)
        measured = self.measurements()
        if measured is None:
            return xp.zeros(self.mask.shape[:-1], dtype=bool)
        values, counts = measured
        return xp.any(~xp.isnan(values) & (counts > 0) & (self.multiplicity > 0)[..., None], axis=(-2, -1))

    def level(self) -> Array | None:
        """Return about where values lie, ``(...)``, if that is far from 0 beside how they spread; else None."""
        return None

    def shifted(self, by: Array) -> Self:
        """Return the same with all values shifted, by ``(...)``; other votes are as they were."""
        return self

    def distinctions(self) -> Array:
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
    """The arrays that all kinds have; each kind says itself how its votes are laid out.

    A field to come needs a line here, and taking, padding and selecting know it; where it is None, it is left alone.

    ``positions`` are of pairs: how many of ``votes[..., i, j, k]`` had j in the first place (left). ``roles`` are of
    other votes: a number for the role that an alternative had on a ballot, −1 for none. Coarser votes have neither.
    The last five are the :class:`Traits` of a learned panel: all of them, or none.
    """

    votes: Array
    counts: Annotated[Array, Field(("voter", "alternative"), 0.0)]
    multiplicity: Annotated[Array, Field(("voter",), 0.0)]
    mask: Annotated[Array, Field(("alternative",), 0.0)]
    loadings: Annotated[Array | None, Field(("voter", "alternative", "factor"), 0.0)] = None
    sharing: Annotated[Array | None, Field(("voter", "alternative"), 0.0)] = None
    positions: Annotated[Array | None, Field(("voter", "alternative", "alternative"), 0.0)] = None
    roles: Annotated[Array | None, Field(("voter", "alternative"), -1.0)] = None
    slopes: Annotated[Array | None, Field(("voter",), 1.0)] = None
    offsets: Annotated[Array | None, Field(("voter", "alternative"), 0.0)] = None
    extra: Annotated[Array | None, Field(("voter", "alternative"), 0.0)] = None
    leaning: Annotated[Array | None, Field(("voter",), 0.0)] = None
    expected: Annotated[Array | None, Field(("alternative",), 0.0)] = None


_FIELDS: Mapping[str, Field] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(_Arrays, include_extras=True).items() if name != "votes"
}


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
        return self._replace(**{name: change(field, x) for name, field, x in self.fields()})

    def fields(self) -> Iterator[tuple[str, Field, Array]]:
        """Go through the arrays, each with its name and how it is laid out."""
        for name, x in zip(self._fields, self, strict=True):
            if x is not None:
                yield name, self.layout if name == "votes" else _FIELDS[name], x

    def weighed(self, multiplicity: Array, mask: Array | None = None) -> Self:
        """Return the same votes with other multiplicities, and with another mask where one is given."""
        return self._replace(multiplicity=multiplicity, mask=self.mask if mask is None else mask)

    def with_counts(self, counts: Array) -> Self:
        """Return the same votes with other counts for what was seen."""
        return self._replace(counts=counts)

    def with_shared_errors(self, loadings: Array | None, sharing: Array | None) -> Self:
        """Return the same votes by voters who share errors."""
        return self._replace(loadings=loadings, sharing=sharing)

    def with_roles(self, roles: Array | None) -> Self:
        """Return the same votes on ballots on which alternatives had roles."""
        return self._replace(roles=roles)

    @property
    def traits(self) -> Traits | None:
        """What a learned panel says of the voters; None for nothing."""
        found = {name: getattr(self, name) for name in Traits._fields}
        return None if self.slopes is None else Traits(**found)

    def with_traits(self, traits: Traits | None) -> Self:
        """Return the same votes by voters of whom a learned panel says more."""
        return self._replace(**(dict.fromkeys(Traits._fields) if traits is None else traits._asdict()))

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
        facts = {"loadings": ballots.loadings, "sharing": ballots.sharing, "roles": ballots.roles}
        return cls(votes, xp.zeros_like(counts), multiplicity, mask, **facts).with_traits(ballots.traits)

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


def frozen(x: Array) -> Array:
    """Return a read-only array that nobody else holds for writing; JAX arrays are so already."""
    if is_jax(x):
        return x
    x = x if x.flags.owndata else x.copy()
    x.flags.writeable = False
    return x
