"""Numbers and paths as users give them, checked at the door."""

import math
import operator
import os
from pathlib import Path
from typing import Any

from veritally.errors import InputError, quoted

_SMALLEST, _LARGEST = 1e-100, 1e100
_LONGEST_NAME, _LONGEST_PATH = 255, 4096  # bytes, as most file systems have it


def whole(number: Any, what: str, least: int = 0, most: float = math.inf) -> int:
    """Require a whole number from ``least`` to ``most``."""
    try:
        result = operator.index(number)
    except TypeError:
        result = least - 1
    if isinstance(number, bool) or not least <= result <= most:
        bounds = f"{least} or more" if most == math.inf else f"from {least} to {most:.0f}"
        raise InputError(f"{what} must be a whole number, {bounds}, not {quoted(number)}")
    return result


def positive(number: Any, what: str) -> float:
    """Require a finite number above 0 that can be squared."""
    try:
        return real(number, what, least=_SMALLEST, most=_LARGEST)
    except InputError:
        odd = isinstance(number, int | float) and (0 < number < _SMALLEST or _LARGEST < number < math.inf)
        bounds = f" from {_SMALLEST:g} to {_LARGEST:g}" if odd else " above 0"
        raise InputError(f"{what} must be a finite number{bounds}, not {quoted(number)}") from None


def real(number: Any, what: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Require a finite number from ``least`` to ``most``."""
    try:
        result = math.nan if isinstance(number, str | bytes | bool) else float(number)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not (math.isfinite(result) and least <= result <= most):
        bounds = (
            "" if least == -math.inf else f", {least:g} or more" if most == math.inf else f" from {least:g} to {most:g}"
        )
        raise InputError(f"{what} must be a finite number{bounds}, not {quoted(number)}")
    return result


def usable_path(given: str | os.PathLike[str]) -> Path:
    """Require a path that a file or folder can have.

    >>> usable_path("votes.csv").suffix
    '.csv'
    """
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"give a path, not {quoted(given)}")
    path = Path(given)
    if problem := _problem(path):
        raise InputError(f"{quoted(str(path))}: no file can have this name, because {problem}; choose another")
    return path


def _problem(path: Path) -> str:
    try:
        names = [os.fsencode(name) for name in path.parts]
    except UnicodeEncodeError:
        return "it is not Unicode text"
    if any(b"\0" in name for name in names):
        return "it has a NUL character"
    if max(map(len, names), default=0) > _LONGEST_NAME or len(os.fsencode(path)) > _LONGEST_PATH:
        return "it is too long"
    return ""


def number_or_text(text: str) -> int | float | str:
    """Return the number that a text is; the text itself where it is none.

    >>> number_or_text("3"), number_or_text("0.5"), number_or_text("normal")
    (3, 0.5, 'normal')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
