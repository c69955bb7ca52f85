"""Answers: what is known, of some decisions, about which alternative was right."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, InputNote, quoted
from veritally.io import frames, spelling
from veritally.io.columns import Source, candidates, key, taken_for
from veritally.io.numbers import mostly_numbers, plain_numbers
from veritally.io.votes import load
from veritally.votes.labels import find, first_few
from veritally.votes.profile import Profile

_COLUMNS = ("decision", "alternative", "truth", "best")
# What else columns are called, as ``key`` writes it.
_IDS = ("id", "decisionid", "case", "caseid")
_BEST = (
    *("answer", "rightanswer", "correct", "correctanswer", "gold", "goldanswer", "goldlabel", "goldstandard", "truth"),
    *("groundtruth", "label", "target", "winner", "solution", "expected"),
)


def read_answers(source: Any, profile: Profile) -> Array:
    """Read the answers to some decisions of a profile, ``(decision, alternative)``, NaN where they are not known.

    Parameters
    ----------
    source
        The path of a file or a data frame: with the columns ``decision``, ``alternative`` and ``truth``, a number that
        is larger for better; or with ``decision`` and ``best``. Names such as ``question`` and ``answer`` are
        recognised, and a note says so. Or a dictionary with the best alternative of each decision.
    profile
        The votes, many decisions, whose names the answers are matched to.

    Returns
    -------
    answers
        Truths; where only the best is known, 1 for it and 0 for the others.
    """
    if len(profile.batch) != 1:
        raise InputError("answers are for many decisions; these votes are one decision")
    table, place = answers_in(source)
    wanted = _wanted(table)
    decisions = {spelling.plain(str(name)): d for d, name in enumerate(profile.decision_names)}
    labels = profile.alternative_labels
    names = [
        {spelling.plain(str(name)): j for j, name in enumerate(labels.at(d if labels.each else None))}
        for d in range(profile.batch[0])
    ]
    answers = np.full((profile.batch[0], profile.shape[-1]), np.nan)
    numbers = plain_numbers(table["truth"], place) if "best" not in wanted else np.ones(table.height)
    keys = table.select(pl.col(wanted[:2]).cast(pl.String)).rows()
    for row, ((decision, alternative), number) in enumerate(zip(keys, numbers, strict=True)):
        d = _found(decision, decisions, f"{place(row)}: the decision")
        j = _found(alternative, names[d], f"{place(row)}: the alternative")
        if not np.isfinite(number):
            raise InputError(f"{place(row)}: the truth of {quoted(alternative)} is missing or not finite")
        if "best" in wanted:
            if np.isfinite(answers[d]).any() and answers[d, j] != 1:
                other = next(name for name, k in names[d].items() if answers[d, k] == 1)
                raise InputError(
                    f"{place(row)}: decision {quoted(decision)} has two answers, {quoted(other)} and "
                    f"{quoted(alternative)}; give one"
                )
            answers[d, list(names[d].values())] = 0.0
        elif np.isfinite(answers[d, j]) and answers[d, j] != number:
            raise InputError(
                f"{place(row)}: {quoted(alternative)} of decision {quoted(decision)} has two truths; give one"
            )
        answers[d, j] = number
    return answers


def answers_in(source: Any) -> tuple[pl.DataFrame, frames.Place]:
    """Return the table of answers in a file, frame or dictionary, and how a person would name its rows."""
    if isinstance(source, Mapping):
        source = pl.DataFrame({"decision": [str(d) for d in source], "best": [str(best) for best in source.values()]})
    table, place = load(source, "answers")
    table = table.rename(frames.plain_names(table.columns, _COLUMNS))
    names = _other_names(table, place)
    if any(role != name for role, name in names.items()):
        warnings.warn(f"{place.name}: {taken_for(names)}", InputNote, stacklevel=3)
        table = table.rename({name: role for role, name in names.items()})
        place = replace(place, columns=dict(place.columns) | names)
    wanted = _wanted(table)
    if not set(wanted) <= set(table.columns):
        found = first_few(table.columns, 12)
        raise InputError(
            f"{place.name}: found the columns {found}; answers need decision and best, or decision, alternative, truth"
        )
    table, place = frames.filled_rows(table, place)
    if not table.height:
        raise InputError(f"{place.name}: has a header but no rows; it needs a row for each answer")
    for column in wanted[:2]:
        frames.coded(table[column], place)
    return table, place


def _other_names(table: pl.DataFrame, place: frames.Place) -> dict[str, str]:
    """Return the column for each of our names that a table lacks, where one alone can be meant.

    >>> _other_names(pl.DataFrame({"Question": ["q1"], "answer": ["A"], "points": [3]}), frames.Place("f", "row", [1]))
    {'decision': 'Question', 'best': 'answer'}
    """
    names: dict[str, str] = {}

    def look(role: str, found: list[str]) -> None:
        if role not in table.columns and len(found := [name for name in found if name not in names.values()]) == 1:
            names[role] = found[0]

    source = Source(table, place)
    look("decision", candidates("item", source) or _called(table, _IDS))
    if "truth" in table.columns and mostly_numbers(table["truth"]):
        look("alternative", candidates("alternative", source, taken=tuple(names.values())))
    elif not candidates("alternative", source, taken=tuple(names.values())):
        look("best", _called(table, _BEST))
    return names


def _called(table: pl.DataFrame, names: tuple[str, ...]) -> list[str]:
    return [name for name in table.columns if key(name) in names]


def _wanted(table: pl.DataFrame) -> tuple[str, ...]:
    return ("decision", "best") if "best" in table.columns else ("decision", "alternative", "truth")


def _found(name: str, known: Mapping[str, int], what: str) -> int:
    return find(spelling.plain(name), known, what)
