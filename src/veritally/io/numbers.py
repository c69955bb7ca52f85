"""Numbers as people write them: 6, ``6: weak accept``, ``3. Weak``, ``8 (strong)``, ``4/5``, ``85 %``, ``1,5``, 2nd."""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, quoted, short
from veritally.io.text import THOUSANDS

if TYPE_CHECKING:
    from veritally.io.frames import Place

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
# Each form: what all cells of a column match. The first group is the number; of parts, the second is the whole.
_FORMS = {
    "words after": rf"(?s)^({_NUMBER})(?::\s+\S|\.\s+[^\d\s.]|\s*[:=)–—-]\s*[^\d\s.]).*$",
    "words in brackets": rf"(?s)^({_NUMBER})\s*\([^()]*\)$",
    "percent": rf"^({_NUMBER})\s*%$",
    "parts": rf"^({_NUMBER})\s*(?:/|out of)\s*(\d+(?:\.\d+)?)$",
    "decimal commas": r"^([-+]?\d*(?:,\d+)?)$",
}
_LEVELS = {"level in brackets": r"(?s)^[^\d].*\((\d+)\)$"}  # Expert (4)
_ORDINALS = {
    "ordinal": r"(?i)^(\d+)(?:st|nd|rd|th)\b.*$",
    "numbered rank": r"(?i)^(?:rank|choice|place|preference|position)\s*#?\s*(\d+)$",
}
_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class Written(NamedTuple):
    """The numbers of a column, and how they are written; of parts, also of how many."""

    form: str
    number: pl.Series
    whole: pl.Series | None = None

    def values(self, shares: bool = False) -> Array:
        """Return the numbers; parts of different wholes, or where that is asked for, as shares."""
        if self.whole is not None and (shares or self.whole.drop_nulls().n_unique() > 1):
            return (self.number / self.whole).to_numpy()
        return self.number.to_numpy()  # nulls of floats become NaN


def written(column: pl.Series, ordinals: bool = False, levels: bool = False) -> Written | None:
    """Return the numbers in a column that are all written in one way; None where they are not.

    ``ordinals`` are read as well (2nd, Rank 2, second choice), or ``levels`` (Expert (4)).

    >>> written(pl.Series(["6: weak accept", "-2: reject"])).values().tolist()
    [6.0, -2.0]
    >>> written(pl.Series(["4/5", "7/10"])).values().tolist(), written(pl.Series(["4/5", "3/5"])).values().tolist()
    ([0.8, 0.7], [4.0, 3.0])
    >>> written(pl.Series(["4/5", "80 %"])) is None
    True
    """
    if not _may_hold_numbers(column):
        return None
    plain = column.cast(pl.Float64, strict=False)
    if column.dtype != pl.String or plain.null_count() == column.null_count():
        return Written("plain", plain)
    text = _in_digits(column.replace("", None)) if ordinals else column.replace("", None)
    for form, pattern in (_FORMS | (_ORDINALS if ordinals else {}) | (_LEVELS if levels else {})).items():
        if text.str.contains(pattern).all() and (form != "decimal commas" or _has_clear_comma(text)):
            found = text.str.extract(pattern, 1).str.replace(",", ".", literal=True)
            number = found.cast(pl.Float64, strict=False)
            if number.null_count() > text.null_count():
                continue
            whole = text.str.extract(pattern, 2).cast(pl.Float64) if form == "parts" else None
            return None if whole is not None and (whole == 0).any() else Written(form, number, whole)
    return None


def are_ordinals(column: pl.Series) -> bool:
    """Whether a column says places: 1st, Rank 2, third choice."""
    found = written(column, ordinals=True) if column.dtype == pl.String and column.count() else None
    return found is not None and found.form in _ORDINALS


def numbers(column: pl.Series, place: "Place", ordinals: bool = False) -> Array:
    """Return a column as floats, blanks as NaN; what is no number is named with its row."""
    found = written(column, ordinals)
    if found is None:
        raise _problem(column, place, ordinals)
    return found.values()


def plain_numbers(column: pl.Series, place: "Place") -> Array:
    """Return a column as floats, blanks as NaN; numbers are digits alone."""
    found = written(column)
    if found is None or found.form not in ("plain", "decimal commas"):
        raise _problem(column, place, ordinals=False)
    return found.values()


def numbers_of_cells(table: pl.DataFrame, names: list[str], place: "Place") -> list[Array]:
    """Return columns that are on one scale, as those of a wide table: what are parts in one are parts in all."""
    found = []
    for name in names:
        one = written(table[name], ordinals=True)
        if one is None:
            raise _problem(table[name], place, ordinals=True)
        found.append(one)
    shares = len({w for one in found if one.whole is not None for w in one.whole.drop_nulls().to_list()}) > 1
    for special in ("parts", "percent", *_ORDINALS):
        own = [table[name] for name, one in zip(names, found, strict=True) if one.form == special]
        others = [
            table[name] for name, one in zip(names, found, strict=True) if one.form != special and table[name].count()
        ]
        if own and others:
            one, other = (column.drop_nulls()[0] for column in (own[0], others[0]))
            raise InputError(
                f"{place.name}: {quoted(one)} in the column {place.called(own[0].name)} and {quoted(other)} in the "
                f"column {place.called(others[0].name)} are written in different ways; write all cells one way"
            )
    return [one.values(shares) for one in found]


def mostly_numbers(column: pl.Series, ordinals: bool = False) -> bool:
    """Whether at most half of what stands in a column is something else than a number."""
    if not _may_hold_numbers(column):
        return False
    numbers = column.cast(pl.Float64, strict=False).count()
    if column.dtype == pl.String and 2 * numbers < column.count():  # what commas mean is asked later, with the line
        numbers = column.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False).count()
    return 2 * numbers >= column.count() or _plurality(column, ordinals) is not None


def are_plain_numbers(column: pl.Series) -> bool:
    """Whether a column has a number, of digits alone, in each row."""
    if column.dtype == pl.String:
        column = column.cast(pl.Float64, strict=False)
    return column.dtype.is_numeric() and not column.has_nulls()


def _may_hold_numbers(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)


def _in_digits(text: pl.Series) -> pl.Series:
    """Write first as 1th, and so on."""
    for number, word in enumerate(_WORDS, 1):
        text = text.str.replace(rf"(?i)^{word}\b", f"{number}th")
    return text


def _has_clear_comma(text: pl.Series) -> bool:
    """Whether some comma can only be a decimal one."""
    return bool((text.str.contains(r",\d") & ~text.str.contains(rf"^{THOUSANDS}$")).any())


def _plurality(column: pl.Series, ordinals: bool) -> str | None:
    """Return the form, other than digits alone, in which at least half of a column is written, and more than plain."""
    if column.dtype != pl.String or not column.count():
        return None
    text = _in_digits(column) if ordinals else column
    times = {form: int(text.str.contains(pattern).sum() or 0) for form, pattern in _all(ordinals).items()}
    times.pop("decimal commas")
    best = max(times, key=lambda form: times[form])
    plain = column.cast(pl.Float64, strict=False).count()
    return best if 2 * times[best] >= column.count() and times[best] > plain else None


def _all(ordinals: bool) -> dict[str, str]:
    return _FORMS | (_ORDINALS if ordinals else {})


def _problem(column: pl.Series, place: "Place", ordinals: bool) -> InputError:
    """Say which cell is no number, or not written as the others are."""
    name = place.called(column.name)
    if not _may_hold_numbers(column):
        return InputError(f"{place.name}: the column {name} holds {short(column.dtype)}, not numbers")
    form = _plurality(column, ordinals)
    text = column.cast(pl.String)
    if form is not None:
        matches = (_in_digits(text) if ordinals else text).str.contains(_all(ordinals)[form])
        for row in np.flatnonzero((~matches).fill_null(False).to_numpy())[:1]:
            model = text.filter(matches.fill_null(False))[0]
            remedy = f"is not written like {quoted(model)}; write all numbers of a column one way"
            return InputError(f"{place(row)}: {quoted(text[int(row)])} in the column {name} {remedy}")
    parsed = text.cast(pl.Float64, strict=False)
    row = int(np.flatnonzero((parsed.is_null() & text.is_not_null()).to_numpy())[0])
    return InputError(f"{place(row)}: {quoted(text[row])} in the column {name} is not a number{_doubt(text[row])}")


def _doubt(text: str) -> str:
    """Ask what a comma in a number means."""
    if not re.fullmatch(r"[-+]?[\d.]*(,\d+)+(\.\d*)?", text):
        return ""
    if not re.fullmatch(THOUSANDS, text):
        return "; write decimals with a point, and thousands without a mark"
    return f": it may be {text.replace(',', '')} or {text.replace(',', '.', 1)}; write it without the comma"
