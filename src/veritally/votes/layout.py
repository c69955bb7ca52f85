"""Layout: arrays that say their axes, and what can be done to them without knowing what they say."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from veritally.arrays import Array, namespace, voter_sum

Axis: TypeAlias = Literal["voter", "alternative", "factor"]


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


class Structure(ABC):
    """Arrays with batch axes in front and then axes of voters and alternatives, each where its field says.

    Taking, padding and selecting follow from the fields alone, so that a new field, or a new kind of votes, needs
    nothing here.
    """

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
        return self.each_field(lambda field, x: x[batch + tuple(slice(sizes.get(axis)) for axis in field.axes)])

    def padded(self, voters: int, alternatives: int) -> Self:
        """Make room for so many voters and alternatives: nobody there, nothing seen."""
        sizes = {"voter": voters, "alternative": alternatives}
        depth = self._depth

        def longer(field: Field, x: Array) -> Array:
            for place, axis in enumerate(field.axes, start=depth):
                x = _lengthened(x, place, sizes.get(axis, 0), field.blank)
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
                x = xp.take(x, xp.asarray(chosen[axis]), axis=place) if axis in chosen else x
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

    @abstractmethod
    def with_shared_errors(self, loadings: Array | None, sharing: Array | None) -> Self:
        """Return the same votes by voters who share errors."""

    @abstractmethod
    def with_roles(self, roles: Array | None) -> Self:
        """Return the same votes on ballots on which alternatives had roles."""

    @abstractmethod
    def with_traits(self, traits: Any) -> Self:
        """Return the same votes by voters of whom a learned panel says more."""

    def each_voter(self) -> Self:
        """Make each voter a decision of its own: ``(..., voter, 1, alternative)``."""
        depth, voters = self._depth, self.counts.shape[-2]

        def apart(field: Field, x: Array) -> Array:
            xp = namespace(x)
            if "voter" in field.axes:
                return xp.expand_dims(x, axis=depth + 1)
            return xp.broadcast_to(xp.expand_dims(x, axis=depth), (*x.shape[:depth], voters, *x.shape[depth:]))

        return self.each_field(apart)

    def leaving_out(self, voters: range) -> Self:
        """Leave each of some voters out in turn: ``(..., voter left out, voter, alternative)``, with multiplicity 0.

        The mask is what the others saw.
        """
        xp = namespace(self.counts)
        depth = self._depth
        rows = slice(voters.start, voters.stop)

        def repeated(x: Array) -> Array:
            return xp.broadcast_to(xp.expand_dims(x, axis=depth), (*x.shape[:depth], len(voters), *x.shape[depth:]))

        every = self.map(repeated)
        others = 1 - xp.eye(self.counts.shape[-2], dtype=self.counts.dtype)[rows]
        return every.weighed(every.multiplicity * others, self.seen_by_others[..., rows, :])

    @property
    def seen_by_others(self) -> Array:
        """Alternatives that somebody else saw, for each voter, ``(..., voter, alternative)``."""
        xp = namespace(self.counts)
        saw = xp.astype((self.counts > 0) & (self.multiplicity > 0)[..., None], self.counts.dtype)
        return xp.sum(saw, axis=-2, keepdims=True) - saw > 0


def somebody_saw(counts: Array, multiplicity: Array) -> Array:
    """Return the mask: alternatives that somebody saw, ``(..., alternative)``."""
    return voter_sum((counts > 0) & (multiplicity > 0)[..., None]) > 0


def _lengthened(x: Array, axis: int, length: int, blank: float) -> Array:
    """Make an axis longer, with blanks at its end."""
    if x.shape[axis] >= length:
        return x
    xp = namespace(x)
    shape = (*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :])
    return xp.concat([x, xp.full(shape, blank, dtype=x.dtype)], axis=axis)
