"""Spelling: names that are the same but for outer spaces or their Unicode form, and names that only look the same."""

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import polars as pl

from veritally.errors import InputError, quoted, short
from veritally.votes.profile import Profile

_NAMES = ("decision", "voter", "alternative", "group", "item", "role", "confidence")
_TEXT = (pl.String, pl.Categorical, pl.Enum)

# Letters and marks (of Cyrillic, Greek, Latin, and the typographer), and below each what it looks like.
_LIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁһԛԝѵ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϳ" + "ıɑɡ" + "‐‑‒–—−ʼ‘’′“”″",
    "ABESIJKMHOPCTYXaesijopcyxdhqwv" + "ABEZHIKMNOPTYXovj" + "iag" + "------''''\"\"\"",
)


def in_one_form(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Take off outer spaces and compose characters (NFC) in the text and the column names of a table.

    What differs in nothing else is one and the same name. One of which nothing is left is missing.
    """
    columns = plain_columns(table.columns, name)
    table = table.rename(dict(zip(table.columns, columns, strict=True)))
    return table.with_columns(_texts_in_one_form(table[name]) for name, kind in table.schema.items() if kind in _TEXT)


def _texts_in_one_form(column: pl.Series) -> pl.Series:
    """Put the texts of a column in one form; mostly they are, as those that differ tell, which are fewer."""

    def formed(texts: pl.Series) -> pl.Series:
        texts = texts.str.strip_chars()
        if (texts.str.len_bytes() != texts.str.len_chars()).any():  # since composing takes a while
            texts = texts.str.normalize("NFC")
        return texts.replace("", None) if texts.name in _NAMES else texts

    column = column.cast(pl.String)
    different = without_repeats(column).unique()
    return column if formed(different).equals(different, null_equal=True) else formed(column)


def without_repeats(column: pl.Series) -> pl.Series:
    """Leave out cells that repeat the one above, and blanks at the top: rows of a name mostly stand together."""
    return column.filter(column.ne_missing(column.shift(1)))


def plain_columns(columns: Iterable[str], name: str) -> list[str]:
    """Return names of columns in one form; each must stand once."""
    found = dict[str, None]()
    for column in map(plain, columns):
        if column in found:
            raise InputError(f"{name}: the column {short(column)} stands twice; name each column once")
        found[column] = None
    return list(found)


def plain(name: str) -> str:
    """Take off outer spaces and compose characters (NFC)."""
    return unicodedata.normalize("NFC", name.strip())


def look_alikes(profile: Profile) -> Iterator[str]:
    """Say which decisions, voters or alternatives have names that look alike though they differ."""
    for what, labels in (("voter", profile.voter_labels), ("alternative", profile.alternative_labels)):
        names = list(chain.from_iterable(labels.at()) if labels.each else labels.at())
        yield from _twins(what, names, profile)
        yield from _variants(what, names)
    yield from _twins("decision", profile.decisions or (), profile)
    yield from _variants("group", (profile.groups or {}).values())


def _twins(what: str, names: Iterable[Any], profile: Profile) -> Iterator[str]:
    """Say which two of the names look alike, and how many more do."""
    different = dict.fromkeys(map(str, names))
    looks: dict[str, str] = {}
    twins = []
    for name in different:
        if not name.isascii():
            look = _look(name)
            other = look if look in different else looks.setdefault(look, name)
            twins += [(other, name)] if other != name else []
    for other, name in twins[:1]:
        of = _owner(name, profile) if what == "alternative" else ""
        more = f" (and {len(twins) - 1:,} more such)" if len(twins) > 1 else ""
        likeness = f"the {what} {quoted(name)} looks like {quoted(other)} but has {_difference(other, name)}{more}"
        yield f"{of}{likeness}; spell them the same if they are the same"


def _variants(what: str, names: Iterable[Any]) -> Iterator[str]:
    """Say which two of the names differ only in capitals or spaces."""
    different = dict.fromkeys(map(str, names))
    text = "\n".join(different)
    if text == text.casefold() and len(text.split()) == len(different):  # of a million names, too
        return
    spelt: dict[str, str] = {}
    for name in different:
        other = spelt.setdefault("".join(name.casefold().split()), name)
        if other != name and (len(name) > 1 or what == "voter"):  # options may be called A and a
            pair = f"the {what}s {quoted(other)} and {quoted(name)} differ only in capitals or spaces"
            yield f"{pair}; spell them the same if they are the same"
            return


def _owner(alternative: str, profile: Profile) -> str:
    """Name a voter who saw an alternative."""
    each = profile.alternatives if profile.alternative_labels.each else (profile.alternatives,)
    decision = next(d for d, names in enumerate(each) if alternative in names)
    prefix = (decision,) if profile.alternative_labels.each else ()
    seen = np.asarray(profile.counts)[*prefix, ..., each[decision].index(alternative)] > 0
    for index in np.argwhere(seen)[:1]:
        return f"{profile.place(len(profile.batch), (*prefix, *map(int, index)))}: "
    return ""


def _difference(one: str, other: str) -> str:
    """Name the first character in which two names differ, the less usual of the two."""
    pair = next((x, y) for x, y in zip_longest(one, other, fillvalue="") if x != y)
    character = max(pair)
    return unicodedata.name(character, f"U+{ord(character):04X}")


def _look(name: str) -> str:
    """Return what a name looks like: in plain letters, without what cannot be seen.

    >>> [_look(name) for name in ("\uff21\uff14", "\u04104", "A\u200b4", "a4", "\u00c14")]
    ['A4', 'A4', 'A4', 'a4', 'Á4']
    """
    letters = unicodedata.normalize("NFKC", name).translate(_LIKE)
    return " ".join("".join(letter for letter in letters if not _is_invisible(letter)).split())


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f"
