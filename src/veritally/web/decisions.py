"""What an organiser sets up and what voters give, checked: plain objects, as they are kept."""

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from veritally.errors import InputError, quoted
from veritally.records import join_names
from veritally.web.numbers import MOST, read_number, whole, written

Kind: TypeAlias = Literal["ranking", "scores", "favourite"]
MOST_ALTERNATIVES, MOST_VOTERS = 200, 5000
LONGEST_NAME, LONGEST_TITLE, LONGEST_TEXT = 200, 200, 2000
MOST_WORDS = 20
FEWEST_HIDDEN = 3  # ballots, before whose answer would tell who gave what
_Read = TypeVar("_Read")
_UNSEEN = "not at all"
# They join letters of some scripts and parts of some emoji, and elsewhere would only hide in a name.
_JOINERS = "\u200c\u200d"
_JOINED = re.compile(rf"([^\x00-\x7f{_JOINERS}])([{_JOINERS}])(?=[^\x00-\x7f{_JOINERS}])|[{_JOINERS}]")
WORDS = {_UNSEEN: 0.0, "a little": 1.0, "some": 3.0, "a lot": 10.0}


class FieldError(InputError):
    """A mistake in a field of a form; the page says it next to that field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Setup:
    """A decision as its organiser wants it.

    Attributes
    ----------
    title, text
        What is decided, and anything to tell voters.
    kind
        What voters give.
    words
        What "seen" means: words and their counts; empty for a number.
    unit
        What a number counts, such as "papers read".
    lowest, highest
        Between which scores must be; none where there is no bound.
    choose
        How many alternatives are chosen.
    deadline
        When voting ends, in UTC, ``YYYY-MM-DDTHH:MM``; empty for never.
    named
        Whether ballots stay with their voters, who can then change them if voting is opened again.
    readable
        Whether the organiser can read single ballots, and the answer names voters. They are told before they vote.
    shown
        Whether voters see the answer.
    limit
        How many may vote by an open link; 0 if there is none.
    reading
        How a vote file is read that stands in place of voters: arguments of :func:`veritally.read`.
    """

    title: str
    kind: Kind = "ranking"
    text: str = ""
    words: Mapping[str, float] = field(default_factory=lambda: dict(WORDS))
    unit: str = ""
    lowest: float | None = None
    highest: float | None = None
    choose: int = 1
    deadline: str = ""
    named: bool = True
    readable: bool = False
    shown: bool = False
    limit: int = 0
    reading: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        return asdict(self) | {"words": dict(self.words), "reading": dict(self.reading)}

    @property
    def range(self) -> str:
        """Return in words between which scores must be."""
        if self.lowest is not None and self.highest is not None:
            return f"from {written(self.lowest)} to {written(self.highest)}"
        if self.lowest is not None:
            return f"{written(self.lowest)} or more"
        return "" if self.highest is None else f"{written(self.highest)} or less"

    def over(self, now: datetime.datetime) -> bool:
        """Say whether the deadline has passed."""
        return bool(self.deadline) and now >= datetime.datetime.fromisoformat(self.deadline).replace(
            tzinfo=datetime.UTC
        )


def read_setup(form: Mapping[str, str]) -> Setup:
    """Read what the organiser wrote; every mistake is one sentence."""
    kind = form.get("kind", "ranking")
    if kind not in get_args(Kind):
        raise InputError(f"{quoted(kind)} is no kind of ballot; choose a ranking, scores or a favourite")

    def field(name: str, read: Callable[[str], _Read]) -> _Read:
        return read_field(form, name, read)

    lowest = field("lowest", lambda text: _bound(text, "the lowest score")) if kind == "scores" else None
    highest = field("highest", lambda text: _bound(text, "the highest score")) if kind == "scores" else None
    if lowest is not None and highest is not None and lowest >= highest:
        raise FieldError(f"the highest score must be above the lowest, which is {written(lowest)}", "highest")
    return Setup(
        title=field("title", lambda text: clean_text(text, "the title", LONGEST_TITLE, needed=True)),
        kind=kind,  # type: ignore[arg-type]
        text=field("text", lambda text: clean_text(text, "the text for voters", LONGEST_TEXT)),
        words=field("words", read_words) if form.get("seen", "words") == "words" else {},
        unit=field("unit", lambda text: clean_text(text, "what is counted", LONGEST_NAME)),
        lowest=lowest,
        highest=highest,
        choose=field("choose", lambda text: whole(text or "1", "how many are chosen", 1, MOST_ALTERNATIVES)),
        deadline=field("deadline", _deadline),
        named=form.get("ballots", "named") != "anonymous",
        readable=form.get("ballots", "named") == "readable",
        shown=form.get("shown", "") == "yes",
        limit=field("limit", lambda text: whole(text or "0", "how many may vote by the open link", 0, MOST_VOTERS)),
    )


def read_field(form: Mapping[str, str], name: str, read: Callable[[str], _Read]) -> _Read:
    """Read a field of a form; a mistake in it says which field it is."""
    try:
        return read(form.get(name, ""))
    except InputError as mistake:
        raise FieldError(str(mistake), name) from None


def read_words(text: str) -> dict[str, float]:
    """Read words for how much was seen, one per line, each with its count: ``a lot = 10``.

    One of them counts for 0: "not at all", if there is no other.
    """
    if not text.strip():
        return dict(WORDS)
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        word, equals, count = line.rpartition("=")
        if not equals:
            raise InputError(f"{quoted(line.strip())} has no count; write a word and its count, such as: a lot = 10")
        name = clean_text(word, "a word for how much was seen", LONGEST_NAME, needed=True)
        if name in found:
            raise InputError(f"{quoted(name)} stands there twice; give each word one count")
        found[name] = read_number(count, f"the count of {quoted(name)}")
    if len(found) > MOST_WORDS:
        raise InputError(f"{len(found)} words for how much was seen are too many; give at most {MOST_WORDS}")
    if len(found) < 2 or max(found.values()) <= 0:
        raise InputError("give at least two words for how much was seen, one of them with a count above 0")
    if min(found.values()) > 0:  # else nobody could say so
        if _UNSEEN in found:
            raise InputError(f"{quoted(_UNSEEN)} counts for {written(found[_UNSEEN])}; let it count for 0")
        found[_UNSEEN] = 0.0
    return dict(sorted(found.items(), key=lambda item: item[1]))


def read_names(text: str, what: str, most: int) -> list[str]:
    """Read names, one per line or pasted from a sheet (the first column counts); each once."""
    names = _counts(text, what)
    if len(names) > most:
        raise InputError(f"{len(names)} names for {what}; at most {most} can be given")
    return list(names)


def repeated_names(text: str, what: str) -> list[str]:
    """Return the names that were given more than once."""
    return [name for name, times in _counts(text, what).items() if times > 1]


def _counts(text: str, what: str) -> Counter[str]:
    """Return how often each name was given, in the order of the names."""
    names = (clean_text(line.split("\t")[0], what, LONGEST_NAME) for line in text.splitlines())
    return Counter(name for name in names if name)


def read_ballot(form: Mapping[str, str], setup: Setup, alternatives: Sequence[tuple[int, str]]) -> dict[str, Any]:
    """Read a ballot: for each alternative how much was seen, and a rank, a score or whether it is the favourite.

    It is kept as it was given, so that a later version can decide it again.
    """
    given = {str(number): _read_own(form, setup, number, name, len(alternatives)) for number, name in alternatives}
    voted = [(number, name) for number, name in alternatives if len(given[str(number)]) > 1]
    if not voted:
        raise FieldError(_ASKED[setup.kind], "alternatives")
    unseen = [(number, name) for number, name in voted if not counted(given[str(number)]["seen"], setup)]
    if unseen:
        names, it = join_names([quoted(name) for _, name in unseen]), "it" if len(unseen) == 1 else "them"
        mistake = f"you voted on {names}, but have not seen {it}; say how much you have seen, or take the vote out"
        raise FieldError(mistake, f"seen-{unseen[0][0]}")
    return given


def _read_own(form: Mapping[str, str], setup: Setup, number: int, name: str, most: int) -> dict[str, Any]:
    """Read what a ballot says of one alternative."""

    def is_given(what: str) -> bool:
        return bool(form.get(f"{what}-{number}", "").strip())

    seen = read_field(form, f"seen-{number}", lambda text: _seen(text, setup, name))
    own: dict[str, Any] = {"seen": seen}
    if setup.kind == "ranking" and is_given("rank"):
        what = f"the rank of {quoted(name)}"
        own["rank"] = read_field(form, f"rank-{number}", lambda text: whole(text, what, 1, most))
    if setup.kind == "scores" and is_given("score"):
        what = f"the score of {quoted(name)}"
        own["score"] = read_field(form, f"score-{number}", lambda text: _score(text, what, setup))
    if setup.kind == "favourite" and form.get("favourite", "") == str(number):
        own["favourite"] = True
    return own


_ASKED = {
    "ranking": "rank at least one alternative",
    "scores": "give at least one score",
    "favourite": "choose a favourite",
}


def counted(seen: str | float, setup: Setup) -> float:
    """Return the count that what was said to be seen stands for."""
    return setup.words.get(seen, 0.0) if isinstance(seen, str) else float(seen)


def _seen(text: str, setup: Setup, name: str) -> str | float:
    text = text.strip()
    if not setup.words:
        return read_number(text, f"how much you saw of {quoted(name)}") if text else 0.0
    if not text:
        return next(iter(setup.words))
    if text not in setup.words:
        raise InputError(f"how much you saw of {quoted(name)} must be one of {', '.join(setup.words)}")
    return text


def clean_text(text: str, what: str, longest: int, needed: bool = False) -> str:
    """Return a text without control characters; refuse one that is too long, or missing."""
    text = unicodedata.normalize("NFC", text)  # what looks the same is the same
    text = re.sub(r"[^\S\n]+", " ", text)  # also spaces that do not break, which are not printable
    text = "".join(x for x in text if x.isprintable() or x in f"\n{_JOINERS}")
    text = _JOINED.sub(r"\1\2", text).strip()
    if needed and not text:
        raise InputError(f"{what} is missing; write a few words")
    if len(text) > longest:
        raise InputError(f"{what} has {len(text)} characters; at most {longest} can be given")
    return text


def _bound(text: str, what: str) -> float | None:
    return read_number(text, what, least=-MOST) if text.strip() else None


def _score(text: str, what: str, setup: Setup) -> float:
    score = read_number(text, what, least=-MOST)
    if (setup.lowest is not None and score < setup.lowest) or (setup.highest is not None and score > setup.highest):
        raise InputError(f"{what} must be {setup.range}, not {written(score)}")
    return score


def _deadline(text: str) -> str:
    if not text.strip():
        return ""
    try:
        when = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"the deadline must be a date and a time, such as 2030-05-31T17:00, not {quoted(text)}"
        ) from None
    if not 2000 <= when.year <= 9000:  # in which every time zone has its dates
        raise InputError(f"the deadline is in the year {when.year}; give one that will come")
    if when.tzinfo is not None:
        when = when.astimezone(datetime.UTC)
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    if (when := when.replace(tzinfo=None, second=0, microsecond=0)) <= now:
        raise InputError(f"the deadline has passed: it is {now:%Y-%m-%d %H:%M} UTC now; give a later one, or none")
    return when.isoformat(timespec="minutes")
