"""What goes wrong with input, in words its author can act on."""

from collections.abc import Iterable
from typing import Any, Self

_MOST = 80  # characters of what a user gave, in a message


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence that says what is wrong and what would be right."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))  # a name in it may have line breaks


class EmptyError(InputError):
    """There are no votes: nothing stands in any row."""


class LostError(InputError):
    """Those who worked were lost on the way: the same input may do another time."""


class TieError(InputError):
    """A single winner was asked for where several tie."""

    @classmethod
    def of(cls, names: Iterable[Any], choose: int) -> Self:
        """Say which alternatives tie for the last of the places."""
        place = "first place" if choose == 1 else f"the last of {choose} places"
        return cls(f"{' and '.join(map(str, names))} tie for {place}; choose a tie-break, first or random")


class InputWarning(UserWarning):
    """Input that can be used, though something about it deserves a look."""


class InputNote(InputWarning):
    """How input was understood, such as which column was read as what; nothing is wrong with it."""


def short(text: Any) -> str:
    """Return a text as messages have it: of a long one no more than 80 characters."""
    text = str(text)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def quoted(given: Any) -> str:
    """Return a cell or name as messages quote it: of a long one no more than 80 characters.

    >>> quoted("A"), quoted(3), quoted("A" * 1000)[-10:]
    ("'A'", '3', "AAAAAAAA…'")
    """
    if isinstance(given, str):
        return repr(short(given))
    try:
        return short(repr(given))
    except ValueError:  # as integers of thousands of digits have it
        return f"a long {type(given).__name__}"
