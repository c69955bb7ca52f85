"""A placebo for counts: the same ones, of other voters."""

from veritally.arrays import Array, Random, namespace


def exchange_counts(counts: Array, random: Random) -> Array:
    """Let the voters of each decision exchange their counts, ``(..., voter, alternative)``.

    They stand in a circle, in an order drawn at random. For each alternative, a voter who saw it takes the count of the
    next one in the circle who did. So who saw what stays as it was, and each alternative keeps its counts, but nobody
    keeps their own unless they alone saw the alternative. Where all saw the same alternatives, counts change hands by
    whole rows: what a voter saw more of than of the rest stays together.

    >>> import numpy as np
    >>> counts = np.array([[5.0, 50.0], [7.0, 70.0], [0.0, 90.0]])
    >>> new = exchange_counts(counts, Random.of(counts, 0))
    >>> new[:, 0], bool(np.all(np.sort(new[:, 1]) == counts[:, 1]))
    (array([7., 5., 0.]), True)
    """
    xp = namespace(counts)
    place = random.uniform((*counts.shape[:-1], 1))
    seen = counts > 0
    circle = xp.argsort(xp.where(seen, place, xp.inf), axis=-2)  # those who saw it, in their order, then the others
    number = xp.sum(xp.astype(seen, circle.dtype), axis=-2, keepdims=True)
    position = xp.argsort(circle, axis=-2)
    following = xp.where(seen, (position + 1) % xp.where(number > 0, number, 1), position)
    return xp.take_along_axis(counts, xp.take_along_axis(circle, following, axis=-2), axis=-2)
