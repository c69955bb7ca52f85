"""Labels: the user's names along one axis, for one decision or for each decision of a batch."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError, quoted, short

# Characters that a terminal obeys: control characters, line breaks, and those that turn the direction of writing.
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Show what a terminal would obey, as Python writes it.

    >>> print(visible("red \x1b[31m and \u202e back"))
    red \x1b[31m and \u202e back
    """
    return _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


def first_few(names: Sequence[Any], most: int, word: Callable[[Any], str] = short) -> str:
    """List names, each as ``word`` has it, of many the first few and how many more there are; quote those with commas.

    >>> first_few(["A", "Porto, old town", "B", "C"], 3)
    "A, 'Porto, old town', B and 1 more"
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    texts = [f"'{text}'" if word is short and "," in text else text for text in map(word, names[:most])]
    return ", ".join(texts) + more


def counted(number: int, what: str) -> str:
    """Write how many there are of something.

    >>> counted(1, "voter"), counted(1200, "voter")
    ('1 voter', '1,200 voters')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class EachNames(Sequence[tuple[Any, ...]]):
    """A tuple of names for each decision, made when it is asked for: of millions of decisions most never are.

    Parameters
    ----------
    vocabulary
        All names that there are.
    codes
        Places in it: those of the first decision, then those of the second, and so on.
    starts
        Where each decision begins among the codes, and the end.
    """

    def __init__(self, vocabulary: Sequence[Any], codes: Array, starts: Array) -> None:
        self.vocabulary, self.codes, self.starts = vocabulary, codes, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, d: Any) -> Any:
        if isinstance(d, slice):
            first, last, step = d.indices(len(self))
            assert step == 1
            return EachNames(self.vocabulary, self.codes, self.starts[first : max(last, first) + 1])
        d = range(len(self))[d]  # which refuses what is beyond the end
        return tuple(self.vocabulary[code] for code in self.codes[self.starts[d] : self.starts[d + 1]].tolist())

    @property
    def lengths(self) -> Array:
        """How many names each decision has."""
        return np.diff(self.starts)

    def flat(self, kept: Array) -> Array:
        """Return the names at the places of a mask, ``(decision, size)``, one after the other."""
        place = (self.starts[:-1, None] + np.arange(kept.shape[-1]))[kept]
        return np.array(self.vocabulary, dtype=object)[self.codes[place]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True)
class Labels:
    """Names of voters or alternatives, unique within a decision.

    Attributes
    ----------
    size
        The length of the axis.
    names
        None for the positions 0, 1, …; a tuple of names shared by all decisions; or, with ``each``, a sequence with one
        tuple of names for each decision, shorter than ``size`` where the rest is padding.
    each
        Whether ``names`` holds a tuple for each decision.
    """

    size: int
    names: Any = None
    each: bool = False

    @classmethod
    def of(cls, given: Sequence[Any] | None, size: int, batch: tuple[int, ...], what: str) -> "Labels":
        """Check names as a user gave them for an axis of ``size`` under the batch axes ``batch``."""
        if given is None:
            return cls(size)
        if isinstance(given, EachNames):  # which are unique as they were made
            return cls(size, given, each=True)
        try:
            given = tuple(given.tolist() if hasattr(given, "tolist") else given)
            if not (given and isinstance(given[0], list | tuple)):
                return cls(size, _unique(given, size, what))
            each = tuple(_unique(names, size, what, padded=True) for names in given)
        except TypeError as error:
            raise InputError(f"{what} names must be a list of names, or a list of lists for a batch") from error
        if batch != (len(given),):
            raise InputError(f"{what} names for {len(given)} decisions do not fit a batch of shape {batch}")
        return cls(size, each, each=True)

    def at(self, decision: int | None = None) -> Any:
        """Return the names of one decision."""
        if self.names is None:
            return tuple(range(self.size))
        if self.each and decision is not None:
            return self.names[decision]
        return self.names

    def word(self, position: int, decision: int | None) -> str:
        """Say which name stands at a position."""
        names = self.at(decision)
        return quoted(names[position]) if position < len(names) else f"{position} (padding)"

    def existing(self) -> Any:
        """Return which positions are no padding: ``(decision, size)`` if decisions differ, else ``(size,)``."""
        return np.arange(self.size) < (self.lengths[:, None] if self.each else self.size)

    @property
    def lengths(self) -> Array:
        """How many names each decision has, where these differ."""
        if isinstance(self.names, EachNames):
            return self.names.lengths
        return np.array([len(names) for names in self.names])

    def flat(self, kept: Array) -> Array:
        """Return the names at the places of a mask, ``(decision, size)``, one after the other."""
        if isinstance(self.names, EachNames):
            return self.names.flat(kept)
        every = np.empty(kept.shape if self.each else self.size, dtype=object)
        for d, names in enumerate(self.names if self.each else [self.at()]):
            every[(d, slice(len(names))) if self.each else slice(None)] = names
        return np.broadcast_to(every, kept.shape)[kept]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.at())


def _unique(names: Sequence[Hashable], size: int, what: str, padded: bool = False) -> tuple[Hashable, ...]:
    if len(names) > size or (len(names) < size and not padded):
        raise InputError(f"the number of {what} names is {len(names)}, but there are {size} {what}s")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"the {what} name {quoted(twice)} appears twice; names must differ")
    return tuple(names)


def find(name: Hashable, position: Mapping[Any, int], what: str) -> int:
    """Look a name up, or suggest the nearest."""
    try:
        return position[name]
    except KeyError:
        known = {str(known): known for known in position}
        near = difflib.get_close_matches(str(name), known, n=1)
        names: dict[int, Any] = {}
        for other, place in position.items():
            names.setdefault(place, other)  # a number may stand for a name
        some = first_few([*names.values()], 20, quoted)
        hint = f"did you mean {quoted(known[near[0]])}?" if near else f"choose one of {some}"
        raise InputError(f"{what} {quoted(name)} is unknown; {hint}") from None


def require_known(name: Hashable, known: Iterable[Hashable], what: str) -> None:
    """Refuse a name that is not among those known, suggesting the nearest."""
    find(name, {other: i for i, other in enumerate(known)}, what)
