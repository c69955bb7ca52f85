"""Suspicions: votes that can be read but may mean something else, each a sentence that says where and what to do."""

import re
from collections.abc import Iterator

import numpy as np

from veritally.arrays import Array, over_alternatives
from veritally.io.options import Options
from veritally.votes.labels import first_few
from veritally.votes.validation import Where

# What a table may say about its rows: a name made up of these words alone, such as years_of_experience, is suspicious.
_ROWS = {
    *("id", "ids", "index", "idx", "nr", "number", "row", "key", "code", "date", "time", "timestamp", "duration"),
    *(
        "year",
        "years",
        "month",
        "months",
        "age",
        "salary",
        "postcode",
        "phone",
        "experience",
        "seniority",
        "tenure",
        "weight",
        "weights",
        "count",
        "counts",
    ),
    *("total", "sum", "subtotal", "mean", "average", "avg", "median", "score", "points"),
    *("voter", "worker", "judge", "reviewer", "rater", "referee", "annotator", "evaluator"),
    *("respondent", "response", "participant", "subject", "user"),
}
_JOINTS = {"of", "in", "the", "per"}
# Questions about a person, whatever comes after.
_ABOUT_PERSON = re.compile(r"(?i)^(?:years?|months?) (?:of|in|at|with|as|since|on) |^(?:how|since) \w|^(?:your|my) ")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W_A-Za-z]+")
_GLANCE = 100  # rows that tell whether it is worth while to look at all
_OTHER_SCALE = 8  # times larger, beyond what harsh and lenient voters differ by
_SEVERAL = 5  # values, of a voter who may use another scale
_FEW_VOTERS, _MOST_VOTERS = 2, 200  # of whom none can be told to, and for whom it is looked at
_MANY = 20  # values, of which one may be far from all others
_CHANCE = 4  # rows or columns; fewer add up or count up by chance


def of_votes(ranks: Array | None, values: Array | None, said: Options, where: Where) -> Iterator[str]:
    """Look at the ranks and values of a tidy table, ``(..., voter, alternative)``, NaN for blank.

    ``where`` names the row of an index. Where both are given, values are the votes of those who give any.
    """
    if values is None:
        yield from of_ranks(ranks, where, "call the column value")
        return
    if ranks is not None:
        voiced = np.isfinite(values).any(axis=-1, keepdims=True)
        yield from of_ranks(np.where(voiced, np.nan, ranks), where, "give them in the column value")
        yield from _contradictions(ranks, values, said.lower_is_better, where)
    if said.ballots != "value" and not said.lower_is_better:
        yield from _ranks_among_values(values, where)
    yield from _outlier(values, where)
    yield from _other_scale(values, where)


def of_ranks(ranks: Array, where: Where, remedy: str) -> Iterator[str]:
    """Tell scores from ranks: these are whole or, where two tie, half numbers, and the best of each voter is 1."""
    given = np.isfinite(ranks) & (ranks > 0)
    if not given.any():
        return
    remedy = f"if these are scores, of which more is better, {remedy}"
    halves = 2 * ranks
    for index in _first(given & (halves != np.floor(halves))):
        yield f"{where(index)}: {ranks[index]:g} is no rank such as 1, 2, 3, or 2.5 for a tie; {remedy}"
        return
    best = over_alternatives(np.minimum, np.where(given, ranks, np.inf))[..., None]
    if np.all((best == 1) | (best == np.inf)):
        return
    tied = (ranks == best).sum(axis=-1, keepdims=True)  # these may share 1, the middle or the last of their places
    voting = given.any(axis=-1, keepdims=True)
    late = voting & (best != 1) & (best != (tied + 1) / 2) & (best != tied)
    number = given.any(axis=-2, keepdims=True).sum(axis=-1, keepdims=True)
    beyond = late & (ranks > number).any(axis=-1, keepdims=True)
    if not beyond.any() and 2 * late.sum() > voting.sum():
        beyond = late
    for index in _first(beyond & (ranks == best)):
        yield f"{where(index)}: the best rank of this voter is {ranks[index]:g}, but ranks start at 1; {remedy}"


def _ranks_among_values(values: Array, where: Where) -> Iterator[str]:
    """Tell ranks from values: most voters give 1, 2, …, once each, and the others stay within these."""
    given = np.isfinite(values)
    number = given.sum(axis=-1)
    place = np.arange(1, values.shape[-1] + 1)
    numbered = (np.sort(np.where(given, values, np.inf), axis=-1) == place) | (place > number[..., None])
    strict = numbered.all(axis=-1) & (number > 1)
    within = ~given | ((values >= 1) & (values <= number[..., None]))
    enough = strict.sum() > 1 or bool((strict & (number > 2)).any())
    if enough and within.all() and 2 * strict.sum() > (number > 0).sum():
        for index in _first(strict[..., None] & given):
            yield (
                f"{where(index)}: the values of each voter are 1, 2, 3, … like ranks, but the largest is taken for the "
                "best; if 1 is the best, call the column rank or say --lower-is-better, else say --ballots value"
            )


def _outlier(values: Array, where: Where) -> Iterator[str]:
    """Find a single value that lies farther from all others than these lie apart, as slips of the finger do."""
    given = values[np.isfinite(values)]
    if given.size < _MANY:
        return
    ordered = np.sort(given)
    for slip, rest in ((ordered[-1], ordered[:-1]), (ordered[0], ordered[1:])):
        spread = float(np.ptp(rest))
        if 0 < spread < min(abs(slip - rest[0]), abs(slip - rest[-1])):
            for index in _first(values == slip):
                others = f"{rest[0]:g} to {rest[-1]:g}"
                yield f"{where(index)}: {slip:g} is far from all other values, {others}; correct it if it is a slip"


def _other_scale(values: Array, where: Where) -> Iterator[str]:
    """Find a voter all of whose values lie above, or below, all values of the others."""
    given, m = np.isfinite(values), values.shape[-2]
    if not _FEW_VOTERS < m <= _MOST_VOTERS:
        return
    low, high = (np.where(given, values, np.inf).min(axis=-1), np.where(given, values, -np.inf).max(axis=-1))
    for i in range(m):
        lowest, highest = np.delete(low, i, axis=-1).min(axis=-1), np.delete(high, i, axis=-1).max(axis=-1)
        enough = (given[..., i, :].sum(axis=-1) >= _SEVERAL) & (low[..., i] < high[..., i])
        apart = enough & ((low[..., i] >= highest) | (high[..., i] <= lowest))
        size, other = (np.maximum(abs(a), abs(b)) for a, b in ((low[..., i], high[..., i]), (lowest, highest)))
        apart &= np.maximum(size, other) >= _OTHER_SCALE * np.minimum(size, other)
        for *at, j in _first(apart[..., None] & given[..., i, :]):
            d = tuple(at)
            own, others = f"{low[*d, i]:g} to {high[*d, i]:g}", f"{lowest[d]:g} to {highest[d]:g}"
            said = f"all values of this voter are {own}, those of all others {others}"
            yield f"{where((*d, i, j))}: {said}; correct them if the scale is another one"
            return


def _contradictions(ranks: Array, values: Array, lower_is_better: bool, where: Where) -> Iterator[str]:
    """Find voters whose values put ahead what their ranks put behind."""
    both = np.isfinite(ranks) & (ranks > 0) & np.isfinite(values)
    larger, smaller = _ahead(ranks, values, both), _ahead(ranks, -values, both)
    remedy = "correct one of them, or say which is the vote: --ballots value or --ballots rank"
    if not lower_is_better and not smaller.any():
        remedy = (
            "if small values are good, say --lower-is-better, else say which is the vote: --ballots value or "
            "--ballots rank"
        )
    for index in _first(smaller if lower_is_better else larger):
        better = "smaller" if lower_is_better else "larger"
        yield f"{where(index)}: the value is {better}, so better, than one this voter gives a better rank; {remedy}"


def _ahead(ranks: Array, values: Array, both: Array) -> Array:
    """Mark what has a larger value than what stands next before it by rank."""
    order = np.lexsort((np.where(both, -values, 0), np.where(both, ranks, np.inf)), axis=-1)
    ordered = np.take_along_axis(np.where(both, values, -np.inf), order, axis=-1)
    marks = np.zeros(ranks.shape, dtype=bool)
    np.put_along_axis(marks, order[..., 1:], ordered[..., 1:] > ordered[..., :-1], axis=-1)
    return marks


def of_columns(names: list[str], cells: Array, kind: str) -> Iterator[str]:
    """Find columns of a wide table, ``(voter, alternative)``, that may say something about its rows."""
    with np.errstate(over="ignore", invalid="ignore"):  # then they are nothing of the kind
        marks = _numbering(cells) | (_adding_up(cells) & (kind == "values"))
    found = {names[j]: None for j in np.flatnonzero(marks)}
    about_rows = {name: None for name in names if _is_about_rows(name)}
    if 2 * len(about_rows) <= len(names):  # else this is what the vote is about
        found |= about_rows
    if found:
        taken = "columns {} are taken for alternatives" if len(found) > 1 else "column {} is taken for an alternative"
        taken = taken.format(first_few(list(found), 5))
        yield f"the {taken}; leave it out if it is none, or call it voter if it names the voters"


def _is_about_rows(name: str) -> bool:
    """Whether all words of a name are about rows, or it asks something about a person.

    >>> [name for name in ("ID", "YearsOfExperience", "total_score", "Total War") if _is_about_rows(name)]
    ['ID', 'YearsOfExperience', 'total_score']
    >>> [name for name in ("Years in the team", "How long have you been here?", "Yearbook") if _is_about_rows(name)]
    ['Years in the team', 'How long have you been here?']
    """
    if _ABOUT_PERSON.match(name.replace("_", " ").strip()):
        return True
    words = {word.lower() for word in _WORD.findall(name)} - _JOINTS
    return bool(words) and words <= _ROWS


def _numbering(cells: Array) -> Array:
    """Mark the column that alone counts up from row to row, to beyond what stands elsewhere."""
    if cells.shape[0] < _CHANCE:
        return np.zeros(cells.shape[1], dtype=bool)
    counting = (np.diff(cells, axis=0) == 1).all(axis=0)
    largest = np.where(np.isnan(cells), -np.inf, cells).max(axis=0)
    return counting & (counting.sum() == 1) & (largest > np.where(counting, -np.inf, largest).max())


def _adding_up(cells: Array) -> Array:
    """Mark columns that hold the sum or the mean of three or more others."""
    few = cells[:_GLANCE]
    if min(cells.shape) < _CHANCE or (len(few) < len(cells) and not _adding_up(few).any()):
        return np.zeros(cells.shape[1], dtype=bool)
    others = np.nansum(cells, axis=1, keepdims=True) - cells
    number = (~np.isnan(cells)).sum(axis=1, keepdims=True) - 1
    sums = _are_equal(cells, others) | _are_equal(cells * number, others)
    return sums & (np.ptp(cells, axis=0) > 0)


def _are_equal(one: Array, other: Array) -> Array:
    return np.isclose(one, other, rtol=1e-6, atol=0).all(axis=0)


def _first(marks: Array) -> Iterator[tuple[int, ...]]:
    """Return the first marked index, if there is one."""
    if marks.any():
        yield tuple(map(int, np.unravel_index(np.argmax(marks), marks.shape)))
