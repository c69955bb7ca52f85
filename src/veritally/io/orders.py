"""Orders as text, best first: ``A > B = C``, ``3: A > B`` of three voters, ``A (40) > B (2)`` with counts."""

import re
import warnings
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veritally.errors import InputError, InputWarning, quoted, short
from veritally.io import confidence, decisions, frames
from veritally.io.decisions import Arguments
from veritally.io.frames import Place
from veritally.io.options import Options
from veritally.io.text import require_text
from veritally.votes.profile import Profile

UNIT, FIRST_ROW = "line", 1

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_MULTIPLICITY = re.compile(rf"\s*({_NUMBER})\s*:")
_COUNT = re.compile(rf"\(\s*({_NUMBER})\s*\)\s*$")
_YEAR = r"\(\s*((?:18|19|20)\d\d)\s*\)$"
_COMMENT = re.compile(r"(?:^|\s)#.*")
_MARKS = re.compile(r"[>=\r\n]|(?:^|\s)#")


class Order(NamedTuple):
    """What one voter says: tiers of names, best first, and the count of each name, None where none is said."""

    tiers: list[list[str]]
    counts: dict[str, float | None]
    multiplicity: float | None


def recognised(data: bytes) -> bool:
    """Whether the first line that is no comment says what is better than what."""
    lines = (line.strip() for line in data.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return b">" in first or b"=" in first


def read(data: bytes, name: str) -> pl.DataFrame:
    """Read lines of text, those without an order as null."""
    require_text(data, name)
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    lines = [_COMMENT.sub("", line).strip() or None for line in text.split("\n")]
    if not any(lines):
        raise InputError(f"{name}: has comments but no orders; write a line such as A > B = C for each voter")
    return pl.DataFrame({"order": lines})


def to_profile(table: pl.DataFrame, place: Place, said: Options) -> Profile:
    """Turn a table with a column of orders into a Profile."""
    said.refuse(place.name, "orders", "counts")
    said.require_ranks(place.name)
    if table["order"].dtype not in (pl.String, pl.Null):
        raise InputError(
            f"{place.name}: the column order holds {short(table['order'].dtype)}, not text such as A > B = C"
        )
    orders = table["order"].cast(pl.String)
    _require_clear_numbers(orders, place)
    if (row := _row_of_years(orders)) is not None:
        message = "the numbers in brackets are read as counts but may all be years"
        remedy = "if these belong to the names, add counts, as in Dune (1984) (1)"
        warnings.warn(f"{place(row)}: {message}; {remedy}", InputWarning, stacklevel=4)
    return decisions.each_decision(table, place, partial(_votes, said=said))


def _require_clear_numbers(orders: pl.Series, place: Place) -> None:
    """Refuse numbers of voters that may begin a name, as 10:30 does, and 2001: A Space Odyssey."""
    first = orders.str.extract(rf"^\s*({_NUMBER}\s*:[^>=]*?)\s*(?:[>=]|\(\s*{_NUMBER}\s*\)|$)")
    doubtful = orders.str.contains(r"^\s*\d+:\d")
    if first.null_count() > orders.null_count():  # else each order begins with a number
        others = orders.str.extract_all(rf"[>=]\s*{_NUMBER}\s*:[^>=]*").explode().str.replace(_COUNT.pattern, "")
        doubtful |= first.is_in(others.str.strip_chars("> =").drop_nulls().to_list())
    for row in doubtful.fill_null(False).arg_true().to_list()[:1]:
        number, name = first[row].split(":", 1)
        meanings = f"{quoted(first[row])} may be a name, or {quoted(name.strip())} said by {number.strip()} voters"
        remedy = f"begin each order with a number of voters and a space, as in {quoted(f'1: {first[row]}')}"
        raise InputError(f"{place(row)}: {meanings}; {remedy}")


def _row_of_years(orders: pl.Series) -> int | None:
    """Return the first order where all numbers in brackets may be years, and each name has its own."""
    if not orders.str.ends_with(")").all():
        return None
    items = orders.str.replace(f"^{_MULTIPLICITY.pattern}", "").str.replace_all("=", ">").str.split(">")
    items = items.drop_nulls().explode().str.strip_chars()
    years, names = items.str.extract(_YEAR), items.str.replace(_YEAR, "")
    if years.null_count() or years.n_unique() < 2 or names.n_unique() < items.n_unique():
        return None
    return orders.is_not_null().arg_max()


def arguments(tiers: list[list[list[str]]], alternatives: list[str], said: Options, name: str) -> Arguments:
    """Return what Profile needs to know of orders without counts."""
    listed = [{alternative for tier in order for alternative in tier} for order in tiers]
    frames.require_room((len(tiers), len(alternatives)), sum(map(len, listed)), name)
    seen = np.array([[alternative in own for alternative in alternatives] for own in listed], dtype=bool)
    return {"order": tiers, "counts": said.sightings(seen), "alternatives": alternatives}


def parsed(text: str, where: str) -> Order:
    """Read one order.

    >>> parsed("3: A (40) > B (2) = C (7)", "line 1")
    Order(tiers=[['A'], ['B', 'C']], counts={'A': 40.0, 'B': 2.0, 'C': 7.0}, multiplicity=3.0)
    """
    prefix = _MULTIPLICITY.match(text)
    tiers = []
    counts: dict[str, float | None] = {}
    for part in text[prefix.end() if prefix else 0 :].split(">"):
        tier = []
        for item in part.split("="):
            count = _COUNT.search(item)
            name = item[: count.start() if count else None].strip()
            if not name:
                raise InputError(
                    f"{where}: a name is missing in {quoted(text.strip())}; write orders such as A > B = C"
                )
            if name in counts:
                raise InputError(f"{where}: lists {quoted(name)} twice; list each alternative once")
            counts[name] = float(count[1]) if count else None
            tier.append(name)
        tiers.append(tier)
    return Order(tiers, counts, float(prefix[1]) if prefix else None)


def encoded(profile: Profile, path: str | PathLike[str]) -> bytes:
    """Write a line for each voter who votes; of values, their order."""
    tiers = tiers_of(profile, path)
    counts = dict(zip(profile.alternatives, np.asarray(profile.counts).T.tolist(), strict=True))
    for name, own in counts.items():
        if _MARKS.search(str(name).strip()) or not str(name).strip():
            raise InputError(f"{path}: the name {quoted(name)} cannot stand in an order; rename it")
        if not any(own):
            raise InputError(f"{path}: nobody saw {quoted(name)}, and orders only name what was seen; leave it out")
    texts = {name: str(name).strip() for name in counts}
    # Where a name might be taken for one with a number, all numbers are written.
    counted = any(count not in (0, 1) for own in counts.values() for count in own) or any(
        map(_COUNT.search, texts.values())
    )
    weighed = frames.is_weighed(profile) or any(map(_MULTIPLICITY.match, texts.values()))

    def item(name: Any, i: int) -> str:
        return f"{texts[name]} ({_number(counts[name][i])})" if counted else texts[name]

    lines = []
    for i, (order, multiplicity) in enumerate(zip(tiers, np.asarray(profile.multiplicity).tolist(), strict=True)):
        text = " > ".join(" = ".join(item(name, i) for name in tier) for tier in order)
        if text:
            lines.append(f"{_number(multiplicity)}: {text}\n" if weighed else f"{text}\n")
    return "".join(lines).encode()


def tiers_of(profile: Profile, path: str | PathLike[str]) -> list[list[list[Any]]]:
    """Return the orders of a profile that is to be written, a favourite as above all the others that were seen."""
    if profile.batch:
        raise InputError(f"{path}: holds orders of one decision; write the parts of unstack() one by one, or a table")
    frames.require_different(profile.alternatives)
    tiers = profile.coarsened("rankings").order
    if not any(tiers):
        raise InputError(f"{path}: there is no vote to be written")
    return tiers


def _votes(table: pl.DataFrame, place: Place, said: Options) -> Arguments:
    """Return the votes of one decision."""
    orders = [
        Order([], {}, None) if text is None else parsed(text, place(row)) for row, text in enumerate(table["order"])
    ]
    multiplicity = frames.multiplicities(table, place)
    for row, order in enumerate(orders):
        if order.multiplicity is not None and multiplicity is not None:
            raise InputError(f"{place(row)}: the multiplicity stands twice, in the order and in a column of its own")
    if multiplicity is None:
        multiplicity = np.array([1.0 if order.multiplicity is None else order.multiplicity for order in orders])
    alternatives = list(dict.fromkeys(name for order in orders for name in order.counts))
    given = arguments([order.tiers for order in orders], alternatives, said, place.name)
    given |= {"voters": decisions.voters(table, place), "multiplicity": multiplicity}
    worth = confidence.of_voters(table)
    if worth is not None:
        given["counts"] = given["counts"] * worth
    if any(count is not None for order in orders for count in order.counts.values()):
        if worth is not None:
            raise InputError(f"{place.name}: has counts in the orders and a column confidence; give one of them")
        said.refuse(place.name, "orders with counts", "unranked")
        for row, order in enumerate(orders):
            if lacking := [name for name, count in order.counts.items() if count is None]:
                raise InputError(f"{place(row)}: {quoted(lacking[0])} has no count; give counts everywhere or nowhere")
        given["counts"] = np.array([[order.counts.get(name, 0) for name in alternatives] for order in orders])
    return given


def _number(x: float) -> str:
    """Write a number, whole where it is."""
    return str(int(x)) if x % 1 == 0 and x < 2**53 else repr(x)
