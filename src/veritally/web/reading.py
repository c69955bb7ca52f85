"""How a vote file is to be read, where it does not say so itself."""

from collections.abc import Mapping
from typing import Any

from veritally.errors import InputError, quoted

LONGEST_COLUMNS = 2000
_KNOWN = {"ballots": ("value", "rank", "top"), "unranked": ("below", "unknown")}


def read_reading(form: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form says of a vote file, as arguments of :func:`veritally.read`."""
    found: dict[str, Any] = {}
    for name, known in _KNOWN.items():
        if given := form.get(name, ""):
            if given not in known:
                raise InputError(f"{quoted(given)} is no way to read a file; choose one of the list")
            found[name] = given
    if form.get("lower_is_better") == "yes":
        found["lower_is_better"] = True
    if columns := _columns(form.get("columns", "")):
        found["columns"] = columns
    return found


def _columns(text: str) -> dict[str, str]:
    """Read columns with other names, one per line: ``voter = who``."""
    if len(text) > LONGEST_COLUMNS:
        raise InputError(f"the names of columns have {len(text)} characters; at most {LONGEST_COLUMNS} can be given")
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        ours, equals, theirs = line.partition("=")
        if not equals or not ours.strip():
            raise InputError(f"{quoted(line.strip())} names no column; write our name and yours, such as: voter = who")
        found[ours.strip()] = theirs.strip()
    return found
