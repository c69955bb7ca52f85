"""Who stands next to whom on a ballot, as layers along ballots need it."""

from collections.abc import Iterator
from typing import NamedTuple

from veritally.arrays import Array, by_alternative, gathered, inner_product, namespace, possible


class Ties(NamedTuple):
    """Who meets whom on ballots with ties, ``(..., voter, alternative, other)``.

    Attributes
    ----------
    above, below
        Whether the other is one of those next above, or next below.
    same
        Whether the other is tied with it, itself included.
    means
        What takes the means over those above, over those below, and over all, ``(..., 2 alternatives + 1, other)``.
    """

    above: Array
    below: Array
    same: Array
    means: Array

    @classmethod
    def of(cls, ranks: Array, group_size: Array, share: Array, above: Array, below: Array) -> "Ties":
        """Compare each alternative with each other; the arguments are as in :class:`Neighbours`."""
        xp = namespace(ranks)
        masks = []
        for place in (above, below):
            rank = xp.where(place < 0, -1, xp.take_along_axis(ranks, xp.maximum(place, 0), axis=-1))
            masks.append(rank[..., None] == ranks[..., None, :])
        same = (ranks[..., None] == ranks[..., None, :]) & (ranks > 0)[..., None]
        each = (1 / xp.maximum(group_size, xp.asarray(1, dtype=group_size.dtype)))[..., None, :]
        means = xp.concat([*(xp.where(mask, each, 0) for mask in masks), share[..., None, :]], axis=-2)
        return cls(masks[0], masks[1], same, means)


class Neighbours(NamedTuple):
    """The order on a ballot, as who stands next to whom, ``(..., voter, alternative)``.

    Attributes
    ----------
    share
        1/length for what is ranked, 0 for the others.
    above, below
        The index of one of those next above and next below, −1 for none.
    group_size
        How many are tied here, itself included; 0 for unseen.
    ties
        More about this where there may be ties; else None.
    """

    share: Array
    above: Array
    below: Array
    group_size: Array
    ties: Ties | None

    @classmethod
    def of(cls, ranks: Array) -> "Neighbours":
        """Read midranks, 0 for unseen."""
        xp = namespace(ranks)
        seen = ranks > 0
        length = xp.sum(xp.astype(seen, ranks.dtype), axis=-1, keepdims=True)
        share = xp.astype(seen, ranks.dtype) / xp.maximum(length, xp.asarray(1, dtype=ranks.dtype))
        group_size = xp.where(seen, by_alternative(_group_sizes, ranks)[0], 0)
        # In the order of the ballot, a group of ties stands at places ``first`` … ``end`` − 1, counted from 0.
        order = xp.argsort(xp.where(seen, ranks, xp.inf), axis=-1)
        first = xp.astype(ranks - (group_size + 1) / 2, xp.int32)
        end = first + xp.astype(group_size, xp.int32)
        last = ranks.shape[-1] - 1
        above = xp.take_along_axis(order, xp.clip(first - 1, 0, last), axis=-1)
        below = xp.take_along_axis(order, xp.clip(end, 0, last), axis=-1)
        above = xp.where(seen & (first > 0), above, -1)
        below = xp.where(seen & (end < length), below, -1)
        ties = Ties.of(ranks, group_size, share, above, below) if possible(group_size > 1) else None
        return cls(share, above, below, group_size, ties)

    def means(self, x: Array) -> tuple[Array, Array, Array]:
        """Return the means of x over those next above, over those next below, and over all, ``(..., 1, feature)``."""
        if self.ties is None:
            everything = inner_product(self.share[..., None, :], x)
            return gathered(x, self.above), gathered(x, self.below), everything
        n = x.shape[-2]
        means = inner_product(self.ties.means, x)
        return means[..., :n, :], means[..., n:-1, :], means[..., -1:, :]

    def rivals(self, x: Array) -> Iterator[tuple[Array, Array]]:
        """Yield x of all those next above, ``(..., alternative, other, feature)``, and who they are; then below."""
        if self.ties is None:
            for place in (self.above, self.below):
                yield gathered(x, place)[..., None, :], (place >= 0)[..., None]
        else:
            for mask in (self.ties.above, self.ties.below):
                yield x[..., None, :, :], mask

    def sum_over_ties(self, x: Array) -> Array:
        """Sum over all who are tied here, itself included."""
        if self.ties is None:
            return x
        return inner_product(namespace(x).astype(self.ties.same, x.dtype), x[..., None])[..., 0]


def _group_sizes(ranks: Array) -> tuple[Array]:
    """Count how many share each rank, ``(alternative, voter)``."""
    xp = namespace(ranks)
    size = xp.zeros_like(ranks)
    for other in ranks:
        size = size + xp.astype(ranks == other, ranks.dtype)
    return (size,)
