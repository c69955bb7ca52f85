"""Groups: which voters belong together, in a column of the votes or in a table of its own."""

import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import polars as pl

from veritally.errors import InputError, InputWarning, quoted
from veritally.io import frames, spelling
from veritally.io.columns import Source, key, meant
from veritally.io.frames import Place
from veritally.io.votes import load
from veritally.votes.labels import first_few
from veritally.votes.profile import Profile

_GROUPS = ("group", "lab", "institution", "affiliation", "organization", "organisation", "company", "team", "family")


def read_groups(source: Any, profile: Profile) -> Profile:
    """Read the group of each voter of a profile.

    Parameters
    ----------
    source
        The path of a file or a data frame with the columns ``voter`` and ``group``, or common names for these such as
        ``reviewer`` and ``lab``, a row for each voter; blank for one who belongs to none. Those who do not vote are
        ignored.
    profile
        The votes, whose voters the groups are matched to by name.
    """
    table, place = load(source, "group")
    table = _named(table, place)
    table, place = frames.filled_rows(table, place)
    if not table.height:
        raise InputError(f"{place.name}: has a header but no rows; it needs a row for each voter")
    frames.named(table["voter"], place)
    given = groups_in(table, place)
    names = _voters(profile)
    known = {spelling.plain(str(name)): name for name in names}
    if profile.groups:
        return _of_groups(profile, given, place)
    if not any(name in known for name in table["voter"].cast(pl.String)):
        some = f"such as {quoted(table['voter'].cast(pl.String)[0])}, while {quoted(names[0])} does"
        raise InputError(f"{place.name}: none of its voters votes, {some}; name voters as the votes do")
    absent = [name for name in given if name not in known]
    if absent:
        several = (
            f"{quoted(absent[0])}, who does not vote"
            if len(absent) == 1
            else f"{first_few(absent, 3)}, who do not vote"
        )
        warnings.warn(f"{place.name}: has {several} under that name; they are left out", InputWarning, stacklevel=3)
    return profile.with_facts(groups={known[name]: group for name, group in given.items() if name in known})


def _of_groups(profile: Profile, given: dict[Hashable, str], place: Place) -> Profile:
    """Put groups that the votes have themselves, such as all ballots of a judge, into larger ones."""
    groups = profile.groups or {}
    if not set(given) & set(groups.values()):
        some = first_few(list(dict.fromkeys(groups.values())), 3)
        raise InputError(f"{place.name}: the votes have groups themselves ({some}); give the groups of these, or none")
    return profile.with_facts(groups={voter: given.get(group, group) for voter, group in groups.items()})


def _named(table: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Return the columns for voters and their groups, which may have other common names."""
    table = table.rename(frames.plain_names(table.columns, ("voter", "group")))
    voter = meant("voter", Source(table, place))
    group = next((name for name in table.columns if key(name) in _GROUPS), None)
    if voter is None or group is None:
        found = first_few(table.columns, 12)
        raise InputError(f"{place.name}: found the columns {found}; a file of groups needs voter and group")
    return table.select(pl.col(voter).alias("voter"), pl.col(group).alias("group"))


def groups_in(table: pl.DataFrame, place: Place) -> dict[Hashable, str]:
    """Return the group of each voter who has one; where a table names no voters, these are its rows."""
    if "group" not in table.columns:
        return {}
    group = optional_names(table["group"], place)
    if "voter" not in table.columns:
        own = zip(place.lines, group, strict=True)
        return {f"{place.unit} {line}": name for line, name in own if name is not None}
    both = pl.DataFrame({"voter": table["voter"].cast(pl.String), "group": group})
    if (row := frames.differing_row(both, ["voter"], "group")) is not None:
        voter, here = both.row(row)
        first = both.filter(pl.col("voter") == voter)["group"][0]
        words = ["in no group" if name is None else f"in the group {quoted(name)}" for name in (here, first)]
        raise InputError(f"{place(row)}: voter {quoted(voter)} is {words[0]} here and {words[1]} before; give one")
    return dict(both.drop_nulls().unique(maintain_order=True).iter_rows())


def optional_names(column: pl.Series, place: Place) -> pl.Series:
    """Return names as text, None for blank."""
    frames.named(column.drop_nulls(), place)
    text = column.cast(pl.String).str.strip_chars()
    return text.replace("", None)


def column_for(groups: Mapping[Hashable, str], voters: list[str]) -> list[str | None]:
    """Return what a table says of the group of each of some voters."""
    frames.require_different(tuple(set(groups.values())))
    group = {str(name): str(own) for name, own in groups.items()}
    return [group.get(name) for name in voters]


def _voters(profile: Profile) -> list[Any]:
    """Return the names of all voters, once each."""
    labels = profile.voter_labels
    return list(dict.fromkeys(name for own in labels.at() for name in own) if labels.each else labels.at())
