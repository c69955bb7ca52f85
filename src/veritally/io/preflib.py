"""PrefLib's files of orders, .soc, .soi, .toc and .toi; needs the extra ``preflib``."""

import re
import tempfile
import warnings
from collections import Counter
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from veritally.errors import InputError, InputWarning, quoted
from veritally.io import decisions, orders
from veritally.io.options import Options
from veritally.io.text import first_line, require_text
from veritally.votes.profile import Profile
from veritally.votes.validation import whole_multiplicity

_TIER = r"(?:\d+|\{\d*(?:,\d+)*\})"
_ORDER = re.compile(rf"\d+:{_TIER}(?:,{_TIER})*,?")


def recognised(data: bytes) -> bool:
    """Whether it starts as PrefLib's files do."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"# FILE NAME:")


def to_profile(data: bytes, name: str, said: Options) -> Profile:
    """Turn the content of a PrefLib file into a Profile; identical orders are one voter with a multiplicity."""
    said.refuse(name, "PrefLib files", "counts", "confidence")
    if said.columns:
        raise InputError(f"{name}: columns is not for PrefLib files; leave it out")
    said.require_ranks(name)
    instance = _parsed(data, name)
    names: dict[int, str] = instance.alternatives_name
    if twice := [other for other, many in Counter(names.values()).items() if many > 1]:
        raise InputError(f"{name}: two alternatives have the name {quoted(twice[0])}; give each its own")
    for order in instance.orders:
        listed = [number for tier in order for number in tier]
        if unknown := [number for number in listed if number not in names]:
            raise InputError(f"{name}: an order lists alternative {unknown[0]}, which the header does not name")
        if twice := [names[number] for number, many in Counter(listed).items() if many > 1]:
            raise InputError(f"{name}: an order lists {quoted(twice[0])} twice; list each alternative once")
    said.require_unranked(name, complete=all(sum(map(len, order)) == len(names) for order in instance.orders))
    tiers = [[[names[number] for number in tier] for tier in order] for order in instance.orders]
    given = orders.arguments(tiers, list(names.values()), said, name)
    given["multiplicity"] = [instance.multiplicity[order] for order in instance.orders]
    given["voters"] = [f"order {number}" for number in range(1, len(tiers) + 1)]
    return decisions.profile_of(name, given)


def encoded(profile: Profile, path: str | PathLike[str]) -> bytes:
    """Write orders, those of values too; voters who say the same become one order."""
    path = Path(path)
    tiers = orders.tiers_of(profile, path)
    counts = np.asarray(profile.counts)
    if np.any(counts[counts > 0] != 1):
        raise InputError(f"{path}: PrefLib files hold no counts; write .orders or a table, or drop_counts")
    names = {number: str(name).strip() for number, name in enumerate(profile.alternatives, 1)}
    if unfit := [name for name in names.values() if len(name.splitlines()) != 1]:
        raise InputError(f"{path}: the name {quoted(unfit[0])} cannot stand in a PrefLib file; rename it")
    number = {name: j for j, name in enumerate(profile.alternatives, 1)}
    votes: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for order, many in zip(tiers, whole_multiplicity(profile.multiplicity, partial(profile.place, 0)), strict=True):
        if order and many:
            votes[tuple(tuple(number[name] for name in tier) for tier in order)] += many
    kind = path.suffix.lower()[1:]
    if kind in ("soc", "soi") and any(len(tier) > 1 for order in votes for tier in order):
        raise InputError(f"{path}: some votes are tied, which .{kind} cannot hold; write .toc or .toi")
    if kind in ("soc", "toc") and any(sum(map(len, order)) < len(names) for order in votes):
        raise InputError(f"{path}: some voters have not seen all, which .{kind} cannot hold; write .soi or .toi")
    instance = _ordinal()
    instance.append_vote_map(votes)
    instance.alternatives_name, instance.num_alternatives, instance.data_type = names, len(names), kind
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        instance.write(str(file))
        return file.read_bytes()


def _parsed(data: bytes, name: str) -> Any:
    """Check each line, since preflibtools passes over what it does not understand, and let it read them."""
    require_text(data, name)
    header, rest = [], []
    for number, line in enumerate(data.decode("utf-8-sig").splitlines(), 1):
        plain = "".join(line.split())
        if plain.startswith("#"):
            header.append(line.strip())
        elif plain and not _ORDER.fullmatch(plain):
            raise InputError(f"{name}, line {number}: {quoted(line.strip())} is not an order such as 3: 1,{{2,4}},3")
        elif plain:
            rest.append(plain)
    if not rest:
        raise InputError(f"{name}: has no orders; a PrefLib file has lines such as 3: 1,{{2,4}},3 after its header")
    instance = _ordinal()
    try:
        instance.parse(header, header_only=True)
        voters = instance.num_voters
        instance.parse(rest, autocorrect=True)  # an order that stands twice adds up
    except ValueError as error:
        raise InputError(f"{name}: is not a PrefLib file of orders ({first_line(error)})") from error
    if voters != instance.num_voters:
        message = f"{name}: the header says {voters} voters, but the orders are those of {instance.num_voters}"
        warnings.warn(message, InputWarning, stacklevel=4)
    return instance


def _ordinal() -> Any:
    try:
        from preflibtools.instances import OrdinalInstance
    except ImportError as error:
        raise InputError("PrefLib files need preflibtools: pip install 'veritally[preflib]'") from error
    return OrdinalInstance()
