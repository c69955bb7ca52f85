"""Truth files: the true quality of each alternative, to compare rules by."""

import warnings
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError, InputWarning, quoted
from veritally.files import write_whole
from veritally.io.votes import encoded, load
from veritally.votes.labels import first_few
from veritally.votes.profile import Profile

if TYPE_CHECKING:
    import polars as pl

    from veritally.io.frames import Place

_LARGEST = 1e150  # of a truth, whose square is taken


def read_truth(source: Any, profile: Profile) -> Array:
    """Read the truth of each alternative of a profile, ``(..., alternative)``, NaN for padding.

    Parameters
    ----------
    source
        The path of a file or a data frame with the columns ``alternative``, ``truth`` and, for several decisions,
        ``decision``; a column ``cluster`` is for :func:`read_truth_and_clusters`.
    profile
        The votes, whose names the truth is matched to.
    """
    return read_truth_and_clusters(source, profile)[0]


def read_truth_and_clusters(source: Any, profile: Profile) -> tuple[Array, tuple[str, ...] | None]:
    """Read the truth, and in which cluster each decision is; None where there is no column ``cluster``."""
    import polars as pl

    from veritally.io import frames, spelling
    from veritally.io.numbers import plain_numbers

    table, place = load(source, "truth")
    name = place.name
    if len(profile.batch) > 1:
        raise InputError("a truth file has one column for decisions; compare the parts of unstack() one by one")
    table = table.rename(frames.plain_names(table.columns, ("decision", "alternative", "truth", "cluster")))
    needed = ["decision", "alternative", "truth"] if profile.batch else ["alternative", "truth"]
    if not set(needed) <= set(table.columns):
        found = first_few(table.columns, 12)
        raise InputError(f"{name}: found the columns {found}; a truth file for these votes needs {', '.join(needed)}")
    if not profile.batch and "decision" in table.columns and table["decision"].n_unique() > 1:
        raise InputError(f"{name}: has the truth of several decisions, but the votes have no column decision")
    table, place = frames.filled_rows(table, place)
    if not table.height:
        raise InputError(f"{name}: has a header but no rows; it needs a row for each alternative")
    for column in needed[:-1]:
        frames.coded(table[column], place)
    numbers = plain_numbers(table["truth"], place)
    keys = table.select(pl.col(needed[:-1]).cast(pl.String)).rows()
    given: dict[tuple[Any, ...], float] = {}
    for row, (key, number) in enumerate(zip(keys, numbers, strict=True)):
        if key in given:
            raise InputError(f"{place(row)}: {_words(key)} stands twice; give one truth for each")
        if not abs(number) < _LARGEST:
            problem = "missing" if np.isnan(number) else "infinite or too large to compute with"
            raise InputError(f"{place(row)}: the truth of {_words(key)} is {problem}; give a finite number")
        given[key] = float(number)
    truth = np.full((*profile.batch, profile.shape[-1]), np.nan)
    wanted = set()
    for place_, names in _cells(profile):
        key = tuple(map(spelling.plain, names))
        if key not in given:
            raise InputError(f"{name}: there is no truth for {_words(key)}, which stands in the votes")
        truth[place_] = given[key]
        wanted.add(key)
    spare = [key for key in given if key not in wanted]
    if spare:
        message = f"{name}: {len(spare)} truths are for what does not stand in the votes, such as {_words(spare[0])}"
        warnings.warn(f"{message}: ignored", InputWarning, stacklevel=3)
    return truth, _clusters(table, place, profile) if profile.batch and "cluster" in table.columns else None


def _clusters(table: "pl.DataFrame", place: "Place", profile: Profile) -> tuple[str, ...]:
    """Return the cluster of each decision of a profile."""
    import polars as pl

    from veritally.io import frames

    frames.coded(table["cluster"], place)
    of: dict[str, str] = {}
    for row, (decision, cluster) in enumerate(table.select(pl.col("decision", "cluster").cast(pl.String)).iter_rows()):
        if of.setdefault(decision, cluster) != cluster:
            other = f"in another row in {quoted(of[decision])}"
            raise InputError(
                f"{place(row)}: decision {quoted(decision)} is in the cluster {quoted(cluster)}, and {other}; give one"
            )
    names = [str(decision) for decision in profile.decision_names]
    for name in names:
        if name not in of:
            raise InputError(f"{place.name}: no cluster for decision {quoted(name)}, which stands in the votes")
    return tuple(of[name] for name in names)


def write_truth(truth: Array, profile: Profile, path: str | PathLike[str]) -> None:
    """Write the truth of each alternative of a profile; the suffix of the path chooses the format."""
    write_whole(path, encoded(lambda: truth_table(truth, profile), path))


def truth_table(truth: Array, profile: Profile) -> "pl.DataFrame":
    """Return the truth of each alternative of a profile as a table."""
    import polars as pl

    if np.shape(truth) != (*profile.batch, profile.shape[-1]):
        raise InputError(f"the truth has the shape {np.shape(truth)}; these votes are {quoted(profile)}")
    cells = _cells(profile)
    columns: dict[str, list[Any]] = {"decision": [key[0] for _, key in cells]} if profile.batch else {}
    columns["alternative"] = [key[-1] for _, key in cells]
    columns["truth"] = [float(truth[place]) for place, _ in cells]
    return pl.DataFrame(columns)


def _cells(profile: Profile) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Return the place of each alternative, and its name under that of its decision."""
    if not profile.batch:
        return [((j,), (str(name),)) for j, name in enumerate(profile.alternatives)]
    names = profile.alternatives if profile.alternative_labels.each else [profile.alternatives] * profile.batch[0]
    return [
        ((d, j), (str(decision), str(name)))
        for d, decision in enumerate(profile.decision_names)
        for j, name in enumerate(names[d])
    ]


def _words(key: tuple[Any, ...]) -> str:
    return f"alternative {quoted(key[-1])}" + (f" of decision {quoted(key[0])}" if len(key) > 1 else "")
