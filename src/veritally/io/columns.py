"""What columns may be called: names that people use, and which of a table's columns is meant."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from veritally.errors import InputError, quoted, short
from veritally.io.frames import Place
from veritally.io.numbers import mostly_numbers, written
from veritally.votes.labels import first_few

NAMES = (
    *("decision", "voter", "alternative", "rank", "value", "count", "confidence", "multiplicity", "group", "role"),
    *("item", "order", "left", "right", "winner", "times"),
)
"""What columns are called here, and what the keys of ``columns`` can be."""

_IDS = ("", "id", "number", "no", "name", "title", "hash")
_PERSONAL_IDS = ("name", "", "id", "number", "no", "hash", "email", "emailaddress")  # in order of preference
_PEOPLE = (
    *("voter", "reviewer", "rater", "annotator", "judge", "worker", "evaluator", "referee", "assessor", "juror"),
    *("grader", "scorer", "examiner", "panelist", "panellist", "member", "participant", "respondent", "user", "expert"),
)
_THINGS = (
    *("alternative", "paper", "submission", "candidate", "option", "model", "system", "proposal", "applicant"),
    *("application", "project", "product", "nominee", "contestant", "entry", "manuscript", "treatment", "method"),
)
_ITEMS = ("item", "prompt", "question", "task", "example", "instance", "sample", "segment", "testcase", "query")


def _with(endings: tuple[str, ...], stems: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(stem + ending for ending in endings for stem in stems)


# For each role, names as ``key`` writes them. A name of an earlier line is clearly better than one of a later line.
OTHER_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "voter": (
        (*_with(_PERSONAL_IDS, _PEOPLE), "judgemodel", "judgellm", "signature", "signatures"),
        ("name", "fullname", "yourname", "yourfullname", "whatisyourname", "whatisyourfullname"),
        ("email", "emailaddress", "youremail", "youremailaddress", "whatisyouremail", "whatisyouremailaddress"),
    ),
    "alternative": (
        (*_with(_IDS, _THINGS), "forum"),
        _with(_IDS, ("item",)),
        ("title",),
    ),
    "item": (_with(_IDS, _ITEMS),),
    "value": (
        ("totalscore", "finalscore", "finalrating", "finalrecommendation"),
        ("overallmerit", "overallevaluation", "overallscore", "overallrating", "overallrecommendation"),
        ("overallassessment", "overall"),
        ("ovemer", "ovesco", "overat", "overec", "oveeva"),  # as HotCRP shortens them
        ("value", "rating", "score", "points", "grade", "recommendation", "evaluation", "mark", "stars"),
        ("merit", "ratingfull", "vote"),
    ),
    "rank": (("rank", "ranking", "place"),),
    "confidence": (
        ("confidence", "reviewerconfidence", "confidencelevel", "confidencescore", "confidencerating"),
        ("expertise", "reviewerexpertise", "expertiselevel", "familiarity", "reviewerfamiliarity"),
        ("revcon", "revexp", "revfam"),  # as HotCRP shortens them
    ),
    "winner": (("winner", "label"), ("result", "outcome", "preferred", "preference", "choice", "vote")),
}
_NUMBERS = ("value", "rank", "confidence")
_FEW_LEVELS = 8  # of confidence; more different words are a text


@dataclass(frozen=True)
class Source:
    """A table, how a person would name its rows and columns, and what was found out about it so far."""

    table: pl.DataFrame
    place: Place
    notes: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()  # roles that the user gives no column

    def with_table(self, table: pl.DataFrame, *notes: str) -> "Source":
        """Return another table of the same rows, with more notes."""
        return replace(self, table=table, notes=(*self.notes, *notes))

    def filtered(self, kept: pl.Series, *notes: str) -> "Source":
        """Keep some of the rows."""
        table, place = self.table.filter(kept), self.place.at(kept.to_numpy())
        return replace(self, table=table, place=place, notes=(*self.notes, *notes))


def key(name: str) -> str:
    """Return a name without capitals, spaces, marks and the genitive s.

    >>> [key(name) for name in ("Reviewer's confidence", "overall_merit", "Submission #", "paperID")]
    ['reviewerconfidence', 'overallmerit', 'submission', 'paperid']
    """
    return re.sub(r"[\W_]+", "", re.sub(r"['’]s\b", "", name.casefold()))


def checked(columns: Any) -> dict[str, str]:
    """Require a dictionary from names of ours to those of a file."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise InputError(f"columns needs a dictionary such as {{'voter': 'reviewer'}}, not {quoted(columns)}")
    for role in columns:
        if role not in NAMES:
            turned = f"; write {columns[role]}={role}" if columns[role] in NAMES else ""
            names = ", ".join(NAMES)
            raise InputError(f"columns has {quoted(role)}, which is not one of our names ({names}){turned}")
    taken = [str(column).strip() for column in columns.values()]
    if twice := [column for column in taken if taken.count(column) > 1 and column]:
        roles = [role for role, column in zip(columns, taken, strict=True) if column == twice[0]]
        raise InputError(
            f"columns gives {short(twice[0])} for {roles[0]} and for {roles[1]}; give each column for one of them"
        )
    return dict(zip(columns, taken, strict=True))


def mapped(source: Source, columns: Mapping[str, str]) -> Source:
    """Call columns as the user says; one that is given as nothing is left out."""
    if not columns:
        return source
    table = source.table
    found = {}
    for role, column in columns.items():
        same = [name for name in table.columns if name == column] or [
            name for name in table.columns if column and name.strip().casefold() == column.casefold()
        ]
        if column and len(same) != 1:
            near = difflib.get_close_matches(column, table.columns, n=1)
            listed = f"did you mean {quoted(near[0])}?" if near else f"its columns are {first_few(table.columns, 12)}"
            raise InputError(f"{source.place.name}: has no column {quoted(column)} for {role}; {listed}")
        found[role] = same[0] if same else ""
    displaced = [role for role in found if role in table.columns and role not in found.values()]
    names = {role: name for role, name in found.items() if name}
    table = table.drop(displaced).rename({name: role for role, name in names.items()})
    place = replace(source.place, columns=dict(source.place.columns) | names)
    return replace(source, table=table, place=place, left_out=frozenset(found.keys() - names.keys()))


def candidates(role: str, source: Source, taken: tuple[str, ...] = ()) -> list[str]:
    """Return the columns that may be meant for a role, the best first; ours alone, if there is one of our name."""
    table = source.table
    if role in source.left_out or role in table.columns:
        return [] if role in source.left_out else [role]
    ours = set(NAMES) - ({"item"} if role == "alternative" else set())
    keys = {name: key(name) for name in table.columns if name not in taken and name not in ours}
    constant: list[str] = []
    for names in OTHER_NAMES[role]:
        found = sorted((name for name in keys if keys[name] in names), key=lambda name: names.index(keys[name]))
        found = [name for name in found if _is_fit(role, table[name])]
        telling = [name for name in found if role not in _NUMBERS or table[name].drop_nulls().n_unique() > 1]
        if telling:
            return telling
        constant = constant or found
    return constant


def meant(role: str, source: Source, taken: tuple[str, ...] = ()) -> str | None:
    """Return the column that is meant for a role; refuse where several may be, and say different things."""
    found = candidates(role, source, taken)
    if len(found) > 1 and not _say_the_same(role, source.table, found):
        raise InputError(
            f"{source.place.name}: {' and '.join(map(short, found[:2]))} may both be the {role}; "
            f"say which: {option({role: found[0]})} or {option({role: found[1]})}"
        )
    return found[0] if found else None


def option(columns: Mapping[str, str]) -> str:
    """Return what a user may write.

    >>> option({"voter": "Reviewer name", "value": "rating"}), option({"value": "rating"})
    ("--columns 'voter=Reviewer name,value=rating'", '--columns value=rating')
    """
    text = ",".join(f"{role}={short(column)}" for role, column in columns.items())
    return f"--columns {text}" if re.fullmatch(r"[\w=,.-]+", text) else f"--columns '{text}'"


def _is_fit(role: str, column: pl.Series) -> bool:
    """Whether what stands in a column can be what its name says."""
    if not column.count() or column.dtype.is_nested() or column.dtype == pl.Boolean:
        return False
    if role in ("value", "rank"):
        return mostly_numbers(column, ordinals=role == "rank")
    return role != "confidence" or mostly_numbers(column) or column.n_unique() <= _FEW_LEVELS


def _say_the_same(role: str, table: pl.DataFrame, names: list[str]) -> bool:
    """Whether columns hold the same numbers, or name the same things, as names and addresses do."""
    if role in _NUMBERS:
        read = [written(table[name], ordinals=role == "rank") for name in names]
        return all(one is not None and read[0] is not None and one.number.equals(read[0].number) for one in read)
    different = table.select(names).drop_nulls().unique()
    return all(different.height == different[name].n_unique() for name in names)


def taken_for(names: Mapping[str, str]) -> str:
    """Say what was read as what.

    >>> taken_for({"voter": "reviewer", "alternative": "paper", "value": "value"})
    'reviewer is read as voter, paper as alternative'
    """
    others = [(short(name), role) for role, name in names.items() if name != role]
    return ", ".join(f"{name} {'' if i else 'is read '}as {role}" for i, (name, role) in enumerate(others))
