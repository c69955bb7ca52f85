"""Ballots: votes and counts as plain arrays, and how what people write becomes such arrays.

Everything behind this door may trust them: ranks are midranks over what the voter saw, blanks are resolved,
zero counts carry no vote.
"""

import difflib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array, as_floating, is_jax, midranks, namespace
from veritally.errors import InputError

Kind: TypeAlias = Literal["values", "differences", "rankings", "top"]
"""A kind of vote, named from the finest to the coarsest."""

Where: TypeAlias = Callable[[tuple[int, ...]], str]
"""Says in words which voter (and alternative) an index means."""

KINDS: tuple[Kind, ...] = ("values", "differences", "rankings", "top")


class Ballots(NamedTuple):
    """The arrays a rule works on; a JAX pytree as it is, with the kind of votes in its type.

    Attributes
    ----------
    votes
        What the voters say, in the form of the kind.
    counts
        Observations c_ij, ``(..., voter, alternative)``; 0 for unseen.
    multiplicity
        How many identical voters each ballot stands for, ``(..., voter)``.
    mask
        Alternatives that exist and that somebody saw, ``(..., alternative)``.
    """

    votes: Array
    counts: Array
    multiplicity: Array
    mask: Array

    @property
    def kind(self) -> Kind:
        """The kind of votes."""
        return _KINDS[type(self)]

    def variances(self, sigma: float | Sequence[float] | Array = 1.0) -> Array:
        """Return s_ij² = σ_j²/c_ij, the variance of each voter's mean; infinite where nothing was seen."""
        xp = namespace(self.counts)
        seen = self.counts > 0
        square = xp.asarray(sigma, dtype=self.counts.dtype) ** 2
        return xp.where(seen, square / xp.where(seen, self.counts, 1), xp.inf)


class Values(Ballots):
    """Values x_ij, NaN for blank."""


class Differences(Ballots):
    """Differences x_i2 − x_i1, ``(..., voter)``, NaN for blank."""


class Rankings(Ballots):
    """Midranks among what each voter saw, 0 for unseen."""


class TopChoices(Ballots):
    """Each voter's share for each alternative: 1 for a single favourite, 1/k each for k tied ones."""


_KINDS: dict[type[Ballots], Kind] = {
    Values: "values",
    Differences: "differences",
    Rankings: "rankings",
    TopChoices: "top",
}
_TYPES: dict[Kind, type[Ballots]] = {kind: type_ for type_, kind in _KINDS.items()}


def ballots_of(kind: Kind, votes: Array, counts: Array, multiplicity: Array) -> Ballots:
    """Put checked arrays together, out of reach of anybody who would write to them."""
    xp = namespace(counts)
    mask = xp.any((counts > 0) & (multiplicity > 0)[..., None], axis=-2)
    return _TYPES[kind](frozen(votes), frozen(counts), frozen(multiplicity), frozen(mask))


def frozen(x: Array) -> Array:
    """Return a read-only array that nobody else holds for writing; JAX arrays are so already."""
    if is_jax(x) or not x.flags.writeable:
        return x
    x = x.copy() if x.base is not None or not x.flags.owndata else x
    x.flags.writeable = False
    return x


def rankings_from(preference: Array, counts: Array) -> Array:
    """Midranks of ``preference`` (larger is better, NaN for blank) among what each voter saw.

    A blank for a seen alternative stands below everything ranked; an unseen one gets 0.
    """
    xp = namespace(preference)
    below = xp.where(xp.isnan(preference), xp.inf, -preference)
    return midranks(xp.where(counts > 0, below, xp.nan))


def top_from(ranks: Array) -> Array:
    """Each voter's favourites by midranks, tied ones sharing."""
    xp = namespace(ranks)
    best = xp.min(xp.where(ranks > 0, ranks, xp.inf), axis=-1, keepdims=True)
    return shared(ranks == best, ranks.dtype)


def shared(favourites: Array, dtype: Any) -> Array:
    """Divide one vote equally among the marked alternatives of each voter."""
    xp = namespace(favourites)
    marks = xp.astype(favourites, dtype)
    return marks / xp.maximum(xp.sum(marks, axis=-1, keepdims=True), xp.asarray(1, dtype=dtype))


def numbers(x: Any, what: str) -> Array:
    """Turn what a user gave as ``what`` into a floating array, or say that it is not one."""
    try:
        return as_floating(x)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers in a rectangular array") from error


def reject(bad: Array, message: str, where: Where) -> None:
    """Raise for the first marked place, naming it."""
    marks = np.asarray(bad)
    if marks.any():
        raise InputError(f"{where(tuple(map(int, np.argwhere(marks)[0])))}: {message}")


def check_counts(counts: Array, where: Where) -> None:
    """Require counts that are finite and at least 0."""
    xp = namespace(counts)
    reject(
        xp.isnan(counts),
        "the count is missing; give a number of observations, or leave all counts out to weigh them alike",
        where,
    )
    reject(xp.isinf(counts), "the count is infinite; give the number of observations", where)
    reject(counts < 0, "the count is negative; counts are 0 (never seen) or more", where)


def check_multiplicity(multiplicity: Array, where: Where) -> None:
    """Require multiplicities that are finite and at least 0."""
    xp = namespace(multiplicity)
    bad = ~xp.isfinite(multiplicity) | (multiplicity < 0)
    reject(bad, "the multiplicity must be a finite number, 0 or more", where)


def check_unseen(voted: Array, counts: Array, where: Where) -> None:
    """Refuse votes on what the voter has not seen."""
    message = "a vote for an alternative this voter never saw (count 0); leave it blank or correct the count"
    reject(voted & (counts <= 0), message, where)


def preference_from_ranks(ranks: Array, where: Where) -> Array:
    """Ranks as users write them (1 the best, 0 or NaN not ranked) as preference, NaN for blank."""
    xp = namespace(ranks)
    reject(ranks < 0, "the rank is negative; ranks are 1 for the best, 0 for not ranked", where)
    reject(xp.isinf(ranks), "the rank is infinite; leave it 0 for not ranked", where)
    return xp.where(ranks == 0, xp.nan, -ranks)


def ranks_from_order(order: Any, alternatives: Sequence[Hashable] | None) -> tuple[Array, Sequence[Hashable] | None]:
    """Ranks from lists of alternatives, best first; a list within the list is a tie.

    Integer arrays hold positions of alternatives, −1 for none, and may have batch axes.
    """
    if is_jax(order) or isinstance(order, np.ndarray):
        xp = namespace(order)
        n = int(xp.max(order)) + 1 if alternatives is None else len(alternatives)
        reject((order < -1) | (order >= n), f"an order holds positions 0 to {n - 1}, or −1 for none", _place)
        listed = order[..., None] == xp.arange(n)
        reject(xp.sum(xp.astype(listed, xp.int32), axis=-2) > 1, "listed twice in one order", _place)
        place = xp.arange(1, order.shape[-1] + 1, dtype=xp.asarray(0.0).dtype)
        return xp.sum(xp.where(listed, place[:, None], 0), axis=-2), alternatives
    ballots = [
        [list(tier) if isinstance(tier, list | tuple | set | frozenset) else [tier] for tier in ballot]
        for ballot in order
    ]
    if alternatives is None:
        alternatives = _names_in(name for ballot in ballots for tier in ballot for name in tier)
    position = {name: j for j, name in enumerate(alternatives)}
    ranks = np.zeros((len(ballots), len(alternatives)))
    for i, ballot in enumerate(ballots):
        for rank, tier in enumerate(ballot, start=1):
            for name in tier:
                j = find(name, position, f"voter {i}: alternative")
                if ranks[i, j]:
                    raise InputError(f"voter {i} lists {name!r} twice; list each alternative once")
                ranks[i, j] = rank
    return ranks, alternatives


def favourites_from(
    top: Any, alternatives: Sequence[Hashable] | None, n: int | None
) -> tuple[Array, Sequence[Hashable] | None]:
    """Mark favourites given as names, as positions (−1 or None for no vote) or as a boolean array."""
    array = top if is_jax(top) else np.asarray(top)
    xp = namespace(array)
    if array.dtype == bool and array.ndim >= 2:
        return array, alternatives
    if not xp.isdtype(array.dtype, "integral"):
        if array.ndim != 1:
            raise InputError("top must be one name or position per voter, or a boolean array (voter, alternative)")
        given = array.tolist()
        if alternatives is None:
            alternatives = _names_in(name for name in given if name is not None)
        position = {name: j for j, name in enumerate(alternatives)}
        array = np.array(
            [-1 if x is None else find(x, position, f"voter {i}: alternative") for i, x in enumerate(given)]
        )
        xp = np
    if n is None:
        n = int(xp.max(array)) + 1 if alternatives is None else len(alternatives)
    reject((array < -1) | (array >= n), f"top holds positions 0 to {n - 1}, or −1 for no vote", _place)
    return array[..., None] == xp.arange(n), alternatives


def find(name: Hashable, position: Mapping[Any, int], what: str) -> int:
    """Look a name up, or suggest the nearest."""
    try:
        return position[name]
    except KeyError:
        known = {str(known): known for known in position}
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {known[near[0]]!r}?" if near else f"known are {', '.join(map(repr, known.values()))}"
        raise InputError(f"{what} {name!r} is unknown; {hint}") from None


def _names_in(names: Any) -> list[Hashable]:
    """Alternatives in order of appearance; positions if all of them are integers."""
    seen = list(dict.fromkeys(names))
    return list(range(max(seen) + 1)) if seen and all(isinstance(name, int) for name in seen) else seen


def _place(index: tuple[int, ...]) -> str:
    return f"at index {index}"
