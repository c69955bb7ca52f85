"""Ballots: votes and counts as plain arrays, and how what people write becomes such arrays.

Everything behind this door may trust them: ranks are midranks over what the voter saw, blanks are resolved,
zero counts carry no vote.
"""

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from veritally.arrays import Array, as_floating, is_jax, midranks, namespace
from veritally.errors import InputError, quoted

Kind: TypeAlias = Literal["pairs", "values", "differences", "mixed", "rankings", "top"]
"""A kind of vote, named from the finest to the coarsest; mixed are some of each."""

Where: TypeAlias = Callable[[tuple[int, ...]], str]
"""Says in words which voter (and alternative) an index means."""

_TIES = (list, tuple, set, frozenset)
_ORDER_FORMS = "order must be a list of alternatives, best first, for each voter, or an integer array of positions"
_TOP_FORMS = (
    "top must be one name or position per voter, or a boolean array (voter, alternative); for a batch, positions"
)


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
        return _KIND_OF[type(self)]

    @property
    def behind(self) -> Array:
        """Observations of each alternative behind one vote: the counts, or one for a comparison of pairs."""
        xp = namespace(self.counts)
        return xp.astype(self.counts > 0, self.counts.dtype) if self.kind == "pairs" else self.counts

    def variances(self, sigma: float | Sequence[float] | Array = 1.0) -> Array:
        """Return s_ij² = σ_j²/c_ij, the variance of each voter's mean; infinite where nothing was seen."""
        xp = namespace(self.counts)
        seen = self.counts > 0
        square = xp.asarray(sigma, dtype=self.counts.dtype) ** 2
        return xp.where(seen, square / xp.where(seen, self.counts, 1), xp.inf)


class Pairs(Ballots):
    """How often a voter preferred j to k, ``(..., voter, alternative, alternative)``, half a time each for a tie.

    Each comparison is one observation of both. Counts are comparisons: those in which an alternative took part.
    """


class Values(Ballots):
    """Values x_ij, NaN for blank."""


class Differences(Ballots):
    """Differences x_i2 − x_i1, ``(..., voter)``, NaN for blank."""


class Mixed(Ballots):
    """Votes of different kinds, ``(..., voter, alternative, 3)``: values, differences and midranks.

    Each voter has one of them; the others are NaN, or 0 for midranks. A difference stands at the second alternative.
    """


class Rankings(Ballots):
    """Midranks among what each voter saw, 0 for unseen."""


class TopChoices(Ballots):
    """Each voter's share for each alternative: 1 for a single favourite, 1/k each for k tied ones."""


_KIND_OF: dict[type[Ballots], Kind] = {
    Pairs: "pairs",
    Values: "values",
    Differences: "differences",
    Mixed: "mixed",
    Rankings: "rankings",
    TopChoices: "top",
}
_TYPES: dict[Kind, type[Ballots]] = {kind: type_ for type_, kind in _KIND_OF.items()}
KINDS: tuple[Kind, ...] = tuple(_TYPES)
_MEASURED: tuple[Kind, ...] = ("pairs", "values", "differences")
CARDINAL: tuple[Kind, ...] = ("values", "mixed")
"""Kinds that tell where the truths lie, not only how they differ."""


def ballots_of(kind: Kind, votes: Array, counts: Array, multiplicity: Array) -> Ballots:
    """Put checked arrays together, out of reach of anybody who would write to them."""
    xp = namespace(counts)
    mask = xp.any((counts > 0) & (multiplicity > 0)[..., None], axis=-2)
    return _TYPES[kind](frozen(votes), frozen(counts), frozen(multiplicity), frozen(mask))


def coarsened(ballots: Ballots, kind: Kind) -> Ballots:
    """Keep only what votes of ``kind``, no finer than these, say; compiles under ``jax.jit``.

    What they say stays the same where votes of any kind but pairs become mixed ones, or favourites rankings of two
    tiers.
    """
    votes, counts, *rest = ballots
    if kind == ballots.kind:
        return ballots
    if kind not in KINDS:
        raise InputError(f"there are no votes of the kind {quoted(kind)}; kinds are {', '.join(KINDS)}")
    if kind in _MEASURED and KINDS.index(kind) < KINDS.index(ballots.kind):
        raise InputError(f"{ballots.kind} cannot become {kind}: votes can be made coarser, not finer")
    if kind == "differences" and counts.shape[-1] != 2:
        raise InputError(f"differences are for two alternatives, and there are {counts.shape[-1]}")
    if ballots.kind == "pairs":
        return coarsened(Values(_shares(votes, counts), counts, *rest), kind)
    if kind == "mixed":
        votes = _layers(ballots)
    elif kind == "differences":
        votes = votes[..., 1] - votes[..., 0]
    elif ballots.kind == "mixed" and kind == "rankings":
        votes = _ranks_of_layers(votes, counts)
    elif kind == "rankings":
        preference = namespace(votes).stack([-votes, votes], axis=-1) if ballots.kind == "differences" else votes
        votes = rankings_from(preference, counts)
    else:
        votes = top_from(coarsened(ballots, "rankings").votes)
    return _TYPES[kind](votes, counts, *rest)


def stacked(ballots: Ballots, number: int) -> Ballots:
    """Repeat ballots along a new first axis."""
    xp = namespace(ballots.counts)
    return type(ballots)(*(xp.broadcast_to(x, (number, *x.shape)) for x in ballots))


def values_in(ballots: Ballots) -> Array:
    """Return the values among cardinal votes, NaN for none, ``(..., voter, alternative)``."""
    return ballots.votes[..., 0] if ballots.kind == "mixed" else ballots.votes


def ranks_in(ballots: Ballots) -> Array:
    """Return the ranks among ordinal votes, 0 for none, ``(..., voter, alternative)``; favourites are tier 1 of 2."""
    xp = namespace(ballots.counts)
    if ballots.kind == "top":
        tiers = xp.where(ballots.counts > 0, xp.where(ballots.votes > 0, 1, 2), 0)
        return xp.astype(tiers, ballots.counts.dtype)
    return ballots.votes[..., 2] if ballots.kind == "mixed" else ballots.votes


def anchored(ballots: Ballots) -> Array:
    """Say in which decisions some vote tells where the truths lie, not only how they differ, ``(...)``: values do."""
    xp = namespace(ballots.counts)
    if ballots.kind not in CARDINAL:
        return xp.zeros(ballots.mask.shape[:-1], dtype=bool)
    given = ~xp.isnan(values_in(ballots)) & (ballots.counts > 0)
    return xp.any(given & (ballots.multiplicity > 0)[..., None], axis=(-2, -1))


def effective_multiplicity(ballots: Ballots) -> Array:
    """Return how many voters each ballot stands for, ``(..., voter)``; 0 where it says nothing.

    A ranking or a favourite says nothing unless it puts one alternative above another that the voter saw.
    """
    xp = namespace(ballots.counts)
    votes, counts, multiplicity, _ = ballots
    if ballots.kind == "pairs":
        some = xp.any(votes > 0, axis=(-2, -1))
    elif ballots.kind == "differences":
        some = ~xp.isnan(votes) & xp.all(counts > 0, axis=-1)
    elif ballots.kind == "values":
        some = xp.any(~xp.isnan(votes) & (counts > 0), axis=-1)
    elif ballots.kind == "mixed":
        some = xp.any(~xp.isnan(votes[..., :2]) & (counts > 0)[..., None], axis=(-2, -1)) | _tiered(ranks_in(ballots))
    else:
        some = _tiered(ranks_in(ballots))
    return xp.where(some, multiplicity, 0)


def _tiered(ranks: Array) -> Array:
    """Say which rankings have more than one tier; 0 stands for unseen."""
    xp = namespace(ranks)
    return xp.max(ranks, axis=-1) > xp.min(xp.where(ranks > 0, ranks, xp.inf), axis=-1)


def comparisons(pairs: Array) -> Array:
    """Count the comparisons in which each alternative took part, ``(..., voter, alternative)``."""
    xp = namespace(pairs)
    return xp.sum(pairs, axis=-1) + xp.sum(pairs, axis=-2)


def _shares(pairs: Array, counts: Array) -> Array:
    """Return the share of its comparisons that each alternative won, NaN for none."""
    xp = namespace(counts)
    seen = counts > 0
    return xp.where(seen, xp.sum(pairs, axis=-1) / xp.where(seen, counts, 1), xp.nan)


def _layers(ballots: Ballots) -> Array:
    """Put votes of one kind among the three that mixed ones may have."""
    votes, counts, *_ = ballots
    xp = namespace(counts)
    blank = xp.full(counts.shape, xp.nan, dtype=counts.dtype)
    layers = {"values": blank, "differences": blank, "rankings": xp.zeros_like(counts)}
    if ballots.kind == "differences":
        layers["differences"] = xp.stack([blank[..., 0], votes], axis=-1)
    elif ballots.kind == "top":
        layers["rankings"] = rankings_from(xp.where(votes > 0, 1.0, xp.nan), counts)
    else:
        layers[ballots.kind] = votes
    return xp.stack(list(layers.values()), axis=-1)


def _ranks_of_layers(votes: Array, counts: Array) -> Array:
    """Midranks of mixed votes."""
    xp = namespace(votes)
    values, differences, ranks = (votes[..., layer] for layer in range(3))
    second = differences[..., 1:2]
    if votes.shape[-2] == 2:
        values = xp.where(xp.isnan(second), values, xp.concat([-second, second], axis=-1))
    cardinal = xp.any(~xp.isnan(values), axis=-1, keepdims=True)
    return xp.where(cardinal, rankings_from(values, counts), ranks)


def by_kind(ballots: Ballots, kinds: Iterable[Kind | None]) -> dict[Kind | None, Ballots]:
    """Coarsen to each of the kinds, ranking no more than once; None stands for the votes as they are."""
    made: dict[Kind | None, Ballots] = {None: ballots}
    for kind in sorted({kind for kind in kinds if kind}, key=KINDS.index):
        made[kind] = coarsened(made.get("rankings", ballots) if kind == "top" else ballots, kind)
    return made


def frozen(x: Array) -> Array:
    """Return a read-only array that nobody else holds for writing; JAX arrays are so already."""
    if is_jax(x):
        return x
    x = x if x.flags.owndata else x.copy()
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
    except (TypeError, ValueError, OverflowError) as error:
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


def square(pairs: Any) -> Array:
    """Turn what a user gave as pairs into an array with two alternative axes."""
    made = numbers(pairs, "pairs")
    if made.ndim < 3 or made.shape[-1] != made.shape[-2]:
        raise InputError(
            "pairs say how often each voter preferred the one alternative to the other: give an array (voter, "
            f"alternative, alternative), not the shape {tuple(made.shape)}"
        )
    return made


def check_pairs(pairs: Array, where: Where) -> None:
    """Require numbers of times, none of an alternative to itself."""
    xp = namespace(pairs)
    reject(~xp.isfinite(pairs) | (pairs < 0), "pairs are finite numbers of times, 0 or more", where)
    itself = pairs * xp.eye(pairs.shape[-1], dtype=pairs.dtype)
    reject(itself > 0, "compared with itself; leave that 0", where)


def whole_multiplicity(multiplicity: Array, where: Where) -> list[int]:
    """Return multiplicities as integers, for those who count ballots one by one."""
    reject(multiplicity % 1 != 0, "the multiplicity has to be a whole number here", where)
    return [int(number) for number in multiplicity]


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


def ranks_from_order(
    order: Any, alternatives: Sequence[Hashable] | None, n: int | None
) -> tuple[Array, Sequence[Hashable] | None]:
    """Ranks from lists of alternatives, best first; a list within the list is a tie.

    Integer arrays hold positions of alternatives, −1 for none, and may have batch axes.
    """
    if is_jax(order) or (isinstance(order, np.ndarray) and order.dtype.kind in "iu"):
        if order.ndim < 2 or 0 in order.shape:
            raise InputError(_ORDER_FORMS)
        listed = _marked(order, alternatives, n)
        xp = namespace(order)
        reject(xp.sum(xp.astype(listed, xp.int32), axis=-2) > 1, "listed twice in one order", _place)
        place = xp.arange(1, order.shape[-1] + 1, dtype=xp.asarray(0.0).dtype)
        return xp.sum(xp.where(listed, place[:, None], 0), axis=-2), alternatives
    try:
        ballots = [
            [list(tier) if isinstance(tier, _TIES) else [tier] for tier in ballot if not _is_missing(tier)]
            for ballot in order
        ]
        position, alternatives = _positions(
            (name for ballot in ballots for tier in ballot for name in tier), alternatives, n
        )
    except TypeError as error:
        raise InputError(_ORDER_FORMS) from error
    ranks = np.zeros((len(ballots), len(alternatives)))
    for i, ballot in enumerate(ballots):
        for rank, tier in enumerate(ballot, start=1):
            for name in tier:
                j = find(name, position, f"voter {i}: alternative")
                if ranks[i, j]:
                    raise InputError(f"voter {i} lists {quoted(name)} twice; list each alternative once")
                ranks[i, j] = rank
    return ranks, alternatives


def favourites_from(
    top: Any, alternatives: Sequence[Hashable] | None, n: int | None
) -> tuple[Array, Sequence[Hashable] | None]:
    """Mark favourites given as names, as positions (−1 or None for no vote) or as a boolean array."""
    try:
        array = top if is_jax(top) else np.asarray(top)
        if not is_jax(array) and array.dtype.kind == "U":
            array = np.asarray(top, dtype=object)  # so that a NaN among names stays one
    except ValueError as error:
        raise InputError(_TOP_FORMS) from error
    if array.dtype == bool and array.ndim >= 2:
        return array, alternatives
    if is_jax(array) or (array.ndim > 1 and array.dtype.kind in "iu"):
        return _marked(array, alternatives, n), alternatives
    if array.ndim != 1:
        raise InputError(_TOP_FORMS)
    given = [None if _is_missing(name) else name for name in array.tolist()]
    position, alternatives = _positions(given, alternatives, n)
    places = [-1 if name is None else find(name, position, f"voter {i}: alternative") for i, name in enumerate(given)]
    return np.array(places)[:, None] == np.arange(len(alternatives)), alternatives


def _positions(
    given: Iterable[Any], alternatives: Sequence[Any] | None, n: int | None
) -> tuple[dict[Any, int], Sequence[Any]]:
    """Where each name stands. Integers are positions, unless the alternatives have integers for names.

    Where the alternatives have no names, these are positions if their number ``n`` is known and all that is given are
    integers, else what appears.
    """
    if alternatives is None:
        appearing = list(dict.fromkeys(name for name in given if name is not None))
        if _are_integers(appearing):
            if min(appearing) < 0:
                raise InputError("positions go from 0; to use other integers as names, give alternatives=")
            alternatives = range(n) if n is not None else sorted(map(int, appearing))
        else:
            alternatives = appearing
    position = {name: j for j, name in enumerate(alternatives)}
    return position if _are_integers(alternatives) else position | {j: j for j in range(len(position))}, alternatives


def _marked(places: Array, alternatives: Sequence[Any] | None, n: int | None) -> Array:
    """Mark the places of an integer array among the alternatives, on a new last axis; −1 marks none."""
    xp = namespace(places)
    if n is None and alternatives is not None:
        n = max(len(names) if isinstance(names, list | tuple) else len(alternatives) for names in alternatives)
    n = int(xp.max(places)) + 1 if n is None else n
    reject((places < -1) | (places >= n), f"positions go from 0 to {n - 1}, or −1 for none", _place)
    return places[..., None] == xp.arange(n)


def _are_integers(names: Sequence[Any]) -> bool:
    return bool(names) and all(isinstance(name, int) or (isinstance(name, float) and name % 1 == 0) for name in names)


def _is_missing(name: Any) -> bool:
    """Whether it stands for no name: None, NaN, pandas' NA, or −1."""
    if isinstance(name, int | float):
        return name != name or name == -1
    return name is None or type(name).__name__ == "NAType"


def find(name: Hashable, position: Mapping[Any, int], what: str) -> int:
    """Look a name up, or suggest the nearest."""
    try:
        return position[name]
    except KeyError:
        known = {str(known): known for known in position}
        near = difflib.get_close_matches(str(name), known, n=1)
        some = ", ".join(map(quoted, [*position][:20]))
        hint = f"did you mean {quoted(known[near[0]])}?" if near else f"known are {some}"
        raise InputError(f"{what} {quoted(name)} is unknown; {hint}") from None


def require_known(name: Hashable, known: Iterable[Hashable], what: str) -> None:
    """Refuse a name that is not among those known, suggesting the nearest."""
    find(name, {other: i for i, other in enumerate(known)}, what)


def from_zero_on(ranks: Array, counts: Array) -> Array | None:
    """Return whose ranks look like 0, 1, …, as sorting functions number what they saw.

    None unless those of most voters of a decision do.
    """
    xp = namespace(ranks)
    given = ~xp.isnan(ranks) & (counts > 0)
    number = xp.count_nonzero(given, axis=-1)
    zeros = xp.count_nonzero(given & (ranks == 0), axis=-1)
    next_ = xp.min(xp.where(given & (ranks > 0), ranks, xp.inf), axis=-1)
    first = (zeros == 1) | ((zeros > 1) & (next_ > 1)) | (next_ < 1)  # several 0, or 0.5, where they tie
    last = xp.max(xp.where(given, ranks, 0), axis=-1) == number - 1
    so = first & last & (number > 0)
    many = xp.count_nonzero(so, axis=-1)
    most = (many > 1) & (2 * many > xp.count_nonzero(number > 0, axis=-1)) & (xp.max(number, axis=-1) > 2)
    so = so & most[..., None]
    return so if bool(xp.any(so)) else None


def _place(index: tuple[int, ...]) -> str:
    return f"at index {index}"
