"""What networks over voters and alternatives are built from, on plain arrays in the array API standard.

Parameters are a flat dictionary of arrays, ``name.w``, ``name.b``, …; hidden values ``(..., alternative, feature)``.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from veritally.arrays import Array, by_alternative, gathered, inner_product, namespace, possible, product

Parameters: TypeAlias = Mapping[str, Array]
Shapes: TypeAlias = dict[str, tuple[int, ...]]


def relu(x: Array) -> Array:
    """Return x where it is positive, else 0."""
    xp = namespace(x)
    return xp.maximum(x, xp.asarray(0, dtype=x.dtype))


def linear(parameters: Parameters, name: str, x: Array) -> Array:
    """Multiply by the matrix of a layer and add its bias."""
    return product(x, parameters[f"{name}.w"]) + parameters[f"{name}.b"]


def mean_over(x: Array, mask: Array) -> Array:
    """Return the mean over the alternatives in ``mask``, ``(..., 1, feature)``; 0 where there are none."""
    xp = namespace(x)
    number = xp.sum(xp.astype(mask, x.dtype), axis=-1)[..., None, None]
    total = xp.sum(xp.where(mask[..., None], x, 0), axis=-2, keepdims=True)
    return total / xp.maximum(number, xp.asarray(1, dtype=x.dtype))


def max_over(x: Array, mask: Array) -> Array:
    """Return the maximum over the alternatives in ``mask``, ``(..., 1, feature)``; 0 where there are none."""
    xp = namespace(x)
    highest = xp.max(xp.where(mask[..., None], x, -xp.inf), axis=-2, keepdims=True)
    return xp.where(xp.isinf(highest), 0, highest)


def initial(shapes: Shapes, random: Any, spread: float = 1.0, biased: bool = True) -> dict[str, Array]:
    """Draw the parameters that training starts from: uniform within ± spread/√inputs; biases alike, or 0."""
    parameters = {}
    for name, shape in shapes.items():
        matrix = f"{name[:-1]}w" if name.endswith(".b") else name
        reach = spread / math.sqrt(shapes[matrix][0])
        parameters[name] = (2 * random.uniform(shape) - 1) * (reach if biased or len(shape) > 1 else 0.0)
    return parameters


ALONG, ACROSS = ("w", "above", "below", "mean"), ("w", "mean", "max")
"""The matrices of layers along ballots, and across the alternatives of a decision."""


def stacked(name: str, widths: Sequence[int], matrices: Sequence[str] = ("w",)) -> Shapes:
    """Return the shapes of layers of these widths, one after the other."""
    made: Shapes = {}
    for k, (inputs, outputs) in enumerate(pairwise(widths)):
        made |= {f"{name}.{k}.{matrix}": (inputs, outputs) for matrix in matrices}
        made[f"{name}.{k}.b"] = (outputs,)
    return made


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


class Chain(NamedTuple):
    """The order on a ballot, as who stands next to whom, ``(..., voter, alternative)``.

    Attributes
    ----------
    share
        1/length for what takes part, 0 for the others.
    above, below
        The place of one of those next above and below, −1 for none.
    size
        How many are tied here, itself included; 0 for unseen.
    ties
        More about this where there may be ties; else None.
    """

    share: Array
    above: Array
    below: Array
    size: Array
    ties: Ties | None

    @classmethod
    def of(cls, ranks: Array) -> "Chain":
        """Read midranks, 0 for unseen."""
        xp = namespace(ranks)
        seen = ranks > 0
        length = xp.sum(xp.astype(seen, ranks.dtype), axis=-1, keepdims=True)
        share = xp.astype(seen, ranks.dtype) / xp.maximum(length, xp.asarray(1, dtype=ranks.dtype))
        size = xp.where(seen, by_alternative(_tied, ranks)[0], 0)
        order = xp.argsort(xp.where(seen, ranks, xp.inf), axis=-1)
        before = xp.astype(ranks - (size + 1) / 2, xp.int32)
        after = before + xp.astype(size, xp.int32)
        last = ranks.shape[-1] - 1
        above = xp.take_along_axis(order, xp.clip(before - 1, 0, last), axis=-1)
        below = xp.take_along_axis(order, xp.clip(after, 0, last), axis=-1)
        above = xp.where(seen & (before > 0), above, -1)
        below = xp.where(seen & (after < length), below, -1)
        ties = _ties(ranks, size, share, above, below) if possible(size > 1) else None
        return cls(share, above, below, size, ties)

    def around(self, x: Array) -> tuple[Array, Array, Array]:
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
            for who in (self.ties.above, self.ties.below):
                yield x[..., None, :, :], who

    def within(self, x: Array) -> Array:
        """Sum over all who are tied here, itself included."""
        if self.ties is None:
            return x
        return inner_product(namespace(x).astype(self.ties.same, x.dtype), x[..., None])[..., 0]


def _ties(ranks: Array, size: Array, share: Array, above: Array, below: Array) -> Ties:
    xp = namespace(ranks)
    each = (1 / xp.maximum(size, xp.asarray(1, dtype=size.dtype)))[..., None, :]
    who = []
    for place in (above, below):
        rank = xp.where(place < 0, -1, xp.take_along_axis(ranks, xp.maximum(place, 0), axis=-1))
        who.append(rank[..., None] == ranks[..., None, :])
    same = (ranks[..., None] == ranks[..., None, :]) & (ranks > 0)[..., None]
    means = xp.concat([*(xp.where(one, each, 0) for one in who), share[..., None, :]], axis=-2)
    return Ties(who[0], who[1], same, means)


def _tied(ranks: Array) -> tuple[Array]:
    xp = namespace(ranks)
    size = xp.zeros_like(ranks)
    for other in ranks:
        size = size + xp.astype(ranks == other, ranks.dtype)
    return (size,)


def along(parameters: Parameters, name: str, x: Array, chain: Chain) -> Array:
    """Apply a layer along each ballot: from each alternative, its neighbours in the order, and the mean of all."""
    hidden = linear(parameters, name, x)
    for part, mean in zip(("above", "below", "mean"), chain.around(x), strict=True):
        hidden = hidden + product(mean, parameters[f"{name}.{part}"])
    return relu(hidden)


def across(parameters: Parameters, name: str, x: Array, mask: Array) -> Array:
    """Apply a layer across the alternatives of a decision: from each of them, and the mean and maximum of all."""
    common = product(mean_over(x, mask), parameters[f"{name}.mean"])
    highest = product(max_over(x, mask), parameters[f"{name}.max"])
    return relu(linear(parameters, name, x) + common + highest)
