"""Numbers as people write them in forms, and as pages write them."""

import re

from veritally.errors import InputError, quoted

MOST = 1e9
# A comma before three digits is one of decimals to some, and of thousands to others.
_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def written(number: float) -> str:
    """Return a number as a person would write it.

    >>> written(1234567.0), written(2.50), written(-0.0)
    ('1234567', '2.5', '0')
    """
    return f"{number:z.12g}"


def read_number(text: str, what: str, least: float = 0.0) -> float:
    """Return a number in a range; a comma may stand for the point.

    >>> read_number(" 2,5", "the score")
    2.5
    """
    text = text.strip()
    point = text.replace(",", ".")
    if _UNCLEAR.fullmatch(text):
        raise InputError(
            f"{what} may be {text.replace(',', '')} or {point.rstrip('0').rstrip('.')}; write it as you mean it"
        )
    try:
        number = float(point)
    except ValueError:
        raise InputError(f"{what} must be a number, not {quoted(text)}") from None
    if not least <= number <= MOST:  # also refuses what is no number
        raise InputError(f"{what} must be between {written(least)} and {written(MOST)}, not {quoted(text)}")
    return number


def whole(text: str, what: str, least: int, most: int) -> int:
    """Return a whole number in a range."""
    try:
        number = int(text.strip()[:20])
    except ValueError:
        raise InputError(f"{what} must be a whole number, not {quoted(text)}") from None
    if not least <= number <= most:
        raise InputError(f"{what} must be between {least} and {most}, not {number}")
    return number
