"""Answers: what is known, of some decisions, about which alternative was right."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.errors import InputError, quoted
from veritally.io import frames, spelling
from veritally.io.columns import Source, candidates
from veritally.io.numbers import plain_numbers
from veritally.io.votes import load
from veritally.votes.labels import find, first_few
from veritally.votes.profile import Profile

_COLUMNS = ("decision", "alternative", "truth", "best")


def read_answers(source: Any, profile: Profile) -> Array:
    """Read the answers to some decisions of a profile, ``(decision, alternative)``, NaN where they are not known.

    Parameters
    ----------
    source
        The path of a file or a data frame: with the columns ``decision``, ``alternative`` and ``truth``, a number that
        is larger for better; or with ``decision`` and ``best``. Or a dictionary with the best alternative of each
        decision.
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
    if "decision" not in table.columns and len(items := candidates("item", Source(table, place))) == 1:
        table = table.rename({items[0]: "decision"})  # the question, as logs of judges have it
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


def _wanted(table: pl.DataFrame) -> tuple[str, ...]:
    return ("decision", "best") if "best" in table.columns else ("decision", "alternative", "truth")


def _found(name: str, known: Mapping[str, int], what: str) -> int:
    return find(spelling.plain(name), known, what)
