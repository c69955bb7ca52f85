"""Forms: votes as people write them, orders and favourites by name or position, become arrays."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from veritally.arrays import Array, is_jax, namespace
from veritally.errors import InputError, quoted
from veritally.votes.ballots import SingleKind
from veritally.votes.differences import Differences
from veritally.votes.labels import find
from veritally.votes.pairs import Pairs, square
from veritally.votes.rankings import Rankings
from veritally.votes.top import TopChoices
from veritally.votes.validation import numbers, reject
from veritally.votes.values import Values

_TIES = (list, tuple, set, frozenset)
_ORDER_FORMS = "order must be a list of alternatives, best first, for each voter, or an integer array of positions"
_TOP_FORMS = (
    "top must be one name or position per voter, or a boolean array (voter, alternative); for a batch, positions"
)


Names: TypeAlias = Sequence[Hashable] | None


def votes_given(forms: Mapping[str, Any], alternatives: Names, n: int | None) -> tuple[type[SingleKind], Array, Names]:
    """Find the one form in which votes are given; return their kind, their array, and the alternatives.

    Parameters
    ----------
    forms
        What was given in each form: ``ranks``, ``order``, ``values``, ``differences``, ``top``, ``pairs``.
    alternatives
        Their names, None to take those that appear.
    n
        The number of alternatives where it is known.
    """
    given = {form: votes for form, votes in forms.items() if votes is not None}
    if len(given) != 1:
        raise InputError("give the votes as exactly one of ranks=, order=, values=, differences=, top= or pairs=")
    [(form, votes)] = given.items()
    if form == "order":
        return Rankings, *ranks_from_order(votes, alternatives, n)
    if form == "top":
        return TopChoices, *favourites_from(votes, alternatives, n)
    if form == "pairs":
        return Pairs, square(votes), alternatives
    kind = {"ranks": Rankings, "values": Values, "differences": Differences}[form]
    return kind, numbers(votes, form), alternatives


def ranks_from_order(order: Any, alternatives: Names, n: int | None) -> tuple[Array, Names]:
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
        ranks = xp.sum(xp.where(listed, place[:, None], 0), axis=-2)
        return xp.where(ranks > 0, ranks, xp.nan), alternatives
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
    ranks = np.full((len(ballots), len(alternatives)), np.nan)
    for i, ballot in enumerate(ballots):
        for rank, tier in enumerate(ballot, start=1):
            for name in tier:
                j = find(name, position, f"voter {i}: alternative")
                if not np.isnan(ranks[i, j]):
                    raise InputError(f"voter {i} lists {quoted(name)} twice; list each alternative once")
                ranks[i, j] = rank
    return ranks, alternatives


def favourites_from(top: Any, alternatives: Names, n: int | None) -> tuple[Array, Names]:
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


def _place(index: tuple[int, ...]) -> str:
    return f"at index {index}"
