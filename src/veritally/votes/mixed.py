"""Mixed votes: ballots of different kinds about the same alternatives, whose likelihoods add."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add, or_
from typing import NamedTuple, Self

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.votes.ballots import Ballots, SingleKind, SomeKind, Traits, frozen
from veritally.votes.layout import Field


class _Parts(NamedTuple):
    parts: tuple[SingleKind, ...]


class Mixed(_Parts, Ballots):
    """Votes of different kinds: a part for each kind, the finest first, all with the same voters and alternatives.

    A voter without a vote of some kind has counts of 0 there; most voters have one kind. Multiplicities and the mask
    are the same in all parts.
    """

    kind = "mixed"
    cardinal = True

    @classmethod
    def of(cls, several: Sequence[Ballots]) -> Self:
        """Put ballots of the same voters on the same alternatives together, the finest first."""
        return cls(tuple(part for ballots in several for part in ballots.parts)).masked().map(frozen)

    @property
    def counts(self) -> Array:
        """Observations c_ij of all parts, ``(..., voter, alternative)``; 0 for unseen."""
        return reduce(add, [part.counts for part in self.parts])

    @property
    def multiplicity(self) -> Array:
        """How many identical voters each ballot stands for, ``(..., voter)``."""
        return self.parts[0].multiplicity

    @property
    def mask(self) -> Array:
        """Alternatives that exist and that somebody saw, ``(..., alternative)``."""
        return self.parts[0].mask

    @property
    def loadings(self) -> Array | None:
        """How strongly each voter has each shared error."""
        return self.parts[0].loadings

    @property
    def sharing(self) -> Array | None:
        """Which part of a voter's variance shared errors take the place of."""
        return self.parts[0].sharing

    @property
    def roles(self) -> Array | None:
        """The role that an alternative had on each ballot."""
        return self.parts[0].roles

    @property
    def traits(self) -> Traits | None:
        """What a learned panel says of the voters."""
        return self.parts[0].traits

    # Structure

    def each_part(self, change: Callable[[SingleKind], SingleKind]) -> Self:
        """Change each part."""
        return type(self)(tuple(map(change, self.parts)))

    def each_field(self, change: Callable[[Field, Array], Array]) -> Self:
        """Change each array of each part, knowing how it is laid out."""
        return self.each_part(lambda part: part.each_field(change))

    def fields(self) -> Iterator[tuple[str, Field, Array]]:
        """Go through the arrays of all parts, each with its name and how it is laid out."""
        for part in self.parts:
            yield from part.fields()

    def closed_up(self, kept: list[int]) -> Self:
        """Return sound votes after only the alternatives at these places were kept."""
        return self.each_part(lambda part: part.closed_up(kept))

    def weighed(self, multiplicity: Array, mask: Array | None = None) -> Self:
        """Return the same votes with other multiplicities, and with another mask where one is given."""
        return self.each_part(lambda part: part.weighed(multiplicity, mask))

    def with_counts(self, counts: Array) -> Self:
        """Return the same votes with other counts for what was seen, which parts share as they shared the old ones."""
        xp = namespace(counts)
        whole = self.counts

        def share(part: SingleKind) -> SingleKind:
            several = (part.counts > 0) & (part.counts < whole)
            own = xp.where(part.counts > 0, counts, 0)
            return part.with_counts(xp.where(several, counts * part.counts / xp.where(several, whole, 1), own))

        return self.each_part(share)

    def with_shared_errors(self, loadings: Array | None, sharing: Array | None) -> Self:
        """Return the same votes by voters who share errors."""
        return self.each_part(lambda part: part.with_shared_errors(loadings, sharing))

    def with_roles(self, roles: Array | None) -> Self:
        """Return the same votes on ballots on which alternatives had roles."""
        return self.each_part(lambda part: part.with_roles(roles))

    def with_traits(self, traits: Traits | None) -> Self:
        """Return the same votes by voters of whom a learned panel says more."""
        return self.each_part(lambda part: part.with_traits(traits))

    # Content

    @property
    def looks(self) -> Array:
        """Observations of each alternative behind one vote of each kind, added up."""
        return reduce(add, [part.looks for part in self.parts])

    def says_something(self) -> Array:
        """Say which voters do in some part."""
        return reduce(or_, [part.says_something() for part in self.parts])

    @property
    def anchored(self) -> Array:
        """In which decisions some vote tells where the truths lie."""
        return reduce(or_, [part.anchored for part in self.parts])

    def level(self) -> Array | None:
        """Return about where values lie."""
        return next((level for level in (part.level() for part in self.parts) if level is not None), None)

    def shifted(self, by: Array) -> "Mixed":
        """Return the same with all values shifted."""
        return type(self)(tuple(part.shifted(by) for part in self.parts))

    @property
    def have_unit(self) -> Array:
        """In which decisions some vote is a number."""
        return reduce(or_, [part.have_unit for part in self.parts])

    def above(self) -> Array:
        """Say which alternative somebody puts above which."""
        return reduce(or_, [part.above() for part in self.parts])

    def compared(self) -> Array:
        """Say which alternatives somebody compares."""
        return reduce(or_, [part.compared() for part in self.parts])

    def measurements(self) -> tuple[Array, Array] | None:
        """Return the values and counts of the finest part that has some."""
        found = (part.measurements() for part in self.parts)
        return next((given for given in found if given is not None), None)

    def distinctions(self) -> Array:
        """Return how often rankings and favourites tell alternatives apart."""
        numbers = [part.distinctions() for part in self.parts if not part.measured]
        return reduce(add, numbers) if numbers else super().distinctions()

    def composition(self) -> Array:
        """Return a number for the kinds of votes that each decision has: a bit for each part."""
        return reduce(add, [2**k * _some_vote(part) for k, part in enumerate(self.parts)])

    def simplest(self) -> Ballots:
        """Return the same votes without kinds of which there are none; in JAX, whose programs have one shape, as is."""
        if is_jax(self.mask):
            return self
        kept = tuple(part for part in self.parts if np.any(_some_vote(part))) or self.parts[-1:]
        return kept[0] if len(kept) == 1 else type(self)(kept)

    def part(self, kind: type[SomeKind]) -> SomeKind | None:
        """Return the part of one kind, None where there is none."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    def columns(self) -> dict[str, Array]:
        """Return the columns of all parts."""
        return {name: x for part in self.parts for name, x in part.columns().items()}

    # Coarsening

    @classmethod
    def made_from(cls, ballots: Ballots) -> "Mixed":
        """Take votes of one kind for mixed ones."""
        return cls(ballots.parts)

    def ranked(self) -> tuple[Array, Array]:
        """Return midranks and counts of each voter's votes of the finest kind."""
        xp = namespace(self.mask)
        ranks, counts = self.parts[-1].ranked()
        for part in self.parts[-2::-1]:
            finer, own = part.ranked()
            voted = xp.any(own > 0, axis=-1, keepdims=True)
            ranks, counts = xp.where(voted, finer, ranks), xp.where(voted, own, counts)
        return ranks, counts


def _some_vote(part: SingleKind) -> Array:
    """Say in which decisions somebody votes in this way, ``(...)``."""
    return np.any(np.asarray((part.counts > 0) & (part.multiplicity > 0)[..., None]), axis=(-2, -1))
