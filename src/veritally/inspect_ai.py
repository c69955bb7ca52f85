"""Several graders of each sample of an evaluation with the package inspect_ai; needs the extra ``inspect-ai``.

:func:`combined` makes one verdict of the graders' scores, with its probability; :func:`effective_graders` and
:func:`sureness` say over all samples what the graders are worth and how sure their verdicts are; :func:`read_log` takes
the verdicts out of a log, to learn a panel from them.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias, TypeVar

import numpy as np

from veritally.decide import questions
from veritally.errors import InputError, InputWarning, quoted, short
from veritally.inference.belief import percent
from veritally.outcome import Outcome
from veritally.panel.base import AnyPanel
from veritally.panel.files import read_panel
from veritally.panel.learned import LearnedPanel
from veritally.votes.labels import first_few
from veritally.votes.profile import Profile

try:
    from inspect_ai.log import EvalLog, EvalSample, read_eval_log
    from inspect_ai.scorer import (
        CORRECT,
        INCORRECT,
        NOANSWER,
        PARTIAL,
        Metric,
        SampleScore,
        Score,
        ScoreReducer,
        Value,
        metric,
        score_reducer,
    )
except ModuleNotFoundError:
    raise InputError("this needs inspect_ai; install it with: pip install 'veritally[inspect-ai]'") from None

Verdict: TypeAlias = str | int | float | bool

T = TypeVar("T", bound=Verdict)

_UNNAMED = "another verdict"  # that is possible where only one is known
_NUMBERS = {1: CORRECT, 0.5: PARTIAL, 0: INCORRECT}  # True is 1 and False 0
_GRADES = {CORRECT, INCORRECT, PARTIAL, NOANSWER}


@score_reducer
def combined(
    panel: AnyPanel | str | PathLike[str] | None = None,
    graders: Sequence[str] | None = None,
    verdicts: Sequence[Verdict] | None = None,
    sigma: float | None = None,
    tau: float | None = None,
) -> ScoreReducer:
    """Combine the verdicts of several graders on a sample into one, and say how probable it is.

    For ``multi_scorer([...], combined(...))`` and ``model_graded_qa(model=[...], reducer=combined(...))``. The score
    is the most probable verdict; it is unscored (NaN) if verdicts tie, or no grader has one. Its ``metadata`` has
    ``probability`` (that the verdict is right), ``probabilities`` of all verdicts, ``effective_graders`` (how many
    independent graders, each as good as the best of them, they are worth; None without a panel), and ``votes`` and
    ``explanations`` by grader.

    Without a panel graders count alike and are taken to err independently. How often they err is not known from one
    sample, so the probability averages over all that is possible.

    Parameters
    ----------
    panel
        What is known of the graders: a :class:`LearnedPanel`, a :class:`Panel`, or a file with one.
    graders
        Their names, in the order of the scorers; needed with a panel. Default: ``grader 1``, ``grader 2``, ….
    verdicts
        The possible verdicts. Default: those that the panel was learned from, else C and I and what else graders
        say; ``True`` and 1 count as C, 0.5 as P, ``False`` and 0 as I. If all say the same and it is none of these,
        one other verdict is taken to be possible.
    sigma, tau
        The noise of a grader and the spread of the truths, as for :func:`decide`, where they are known.
    """
    known = read_panel(panel) if isinstance(panel, str | PathLike) else panel
    given = None if graders is None else _different(graders, "graders")
    if known is not None and given is None:
        raise InputError("a panel knows graders by name; say who they are, in the order of the scorers: graders=[…]")
    possible = _possible(verdicts, known)
    parameters = {name: value for name, value in (("sigma", sigma), ("tau", tau)) if value is not None}

    def reduce(scores: list[Score]) -> Score:
        names = _numbered(len(scores)) if given is None else given
        if len(names) != len(scores):
            many = f"{len(scores)} of {len(names)} graders have a score, and it is not known which"
            return _unscored(f"{many}; a grader that has no verdict must return a score of NaN, not None", {})
        values = _as_grades([score.value for score in scores], possible)
        votes = {name: _verdict(value, possible) for name, value in zip(names, values, strict=True)}
        texts = {name: own.explanation for name, own in zip(names, scores, strict=True) if own.explanation}
        record: dict[str, Any] = {"votes": votes, "explanations": texts}
        if all(vote is None for vote in votes.values()):
            return _unscored("no grader has a verdict", record)
        outcome = _outcome(votes, possible, known, parameters)
        answers = {score.answer for score in scores if score.answer is not None}
        return _score(outcome, votes, possible, record, answers.pop() if len(answers) == 1 else None)

    return reduce


@metric
def effective_graders() -> Metric:
    """Return the mean number of independent graders that those of a sample are worth, as :func:`combined` found it.

    It is NaN where no panel was given. With epochs, each sample's first counts.
    """
    return _mean_of("effective_graders")


@metric
def sureness() -> Metric:
    """Return the mean probability of the verdicts of :func:`combined`: what share of them is expected to be right.

    Samples that tie are left out. With epochs, each sample's first counts.
    """
    return _mean_of("probability")


def read_log(
    log: EvalLog | str | PathLike[str],
    graders: Mapping[str, str] | Iterable[str] | None = None,
    verdicts: Sequence[Verdict] | None = None,
) -> Profile:
    """Take the verdicts of graders out of the log of an evaluation: a decision for each sample.

    Graders are the scorers of a task that has a list of these, and those whose verdicts :func:`combined`, or the
    reducers ``majority`` and ``collect`` of inspect_ai, left in the log. The latter two have no names for them: they
    are ``grader 1``, ``grader 2``, ….

    Parameters
    ----------
    log
        The log, or where it is.
    graders
        Which of them to take; a dictionary also gives them other names. Default: all.
    verdicts
        The possible verdicts, as for :func:`combined`.
    """
    log = log if isinstance(log, EvalLog) else _read(log)
    samples = log.samples or []
    several = len({sample.epoch for sample in samples}) > 1
    renamed = graders if isinstance(graders, Mapping) or graders is None else {name: name for name in graders}
    said: dict[str, dict[str, Verdict]] = {}
    for sample in samples:
        taken = {name: value for name, value in _votes(sample).items() if _is_taken(name, renamed)}
        values = _as_grades(list(taken.values()), verdicts)
        found = {name: _verdict(value, verdicts) for name, value in zip(taken, values, strict=True)}
        own = {name if renamed is None else renamed[name]: vote for name, vote in found.items() if vote is not None}
        if own:
            said[f"{sample.id}, epoch {sample.epoch}" if several else str(sample.id)] = own
    if not said:
        raise InputError("the log has no verdicts of these graders")
    names = list(dict.fromkeys(name for votes in said.values() for name in votes))
    possible = _all_verdicts((vote for votes in said.values() for vote in votes.values()), verdicts)
    if possible[-1] == _UNNAMED:
        raise InputError(f"all verdicts are {quoted(possible[0])}; say which others there are: verdicts=[…]")
    top = np.array(
        [[possible.index(votes[name]) if name in votes else -1 for name in names] for votes in said.values()]
    )
    counts = np.broadcast_to((top >= 0)[..., None], (*top.shape, len(possible)))
    return Profile(top=top, counts=counts, alternatives=list(map(str, possible)), voters=names, decisions=list(said))


def _read(place: str | PathLike[str]) -> EvalLog:
    try:
        return read_eval_log(str(place))
    except Exception as error:  # of the system that it is on, or of what reads it
        problem = getattr(error, "strerror", None) or f"{type(error).__name__}: {short(error)}"
        raise InputError(f"{place}: cannot be read as a log of inspect_ai ({problem})") from error


def _numbered(number: int) -> list[str]:
    return [f"grader {k}" for k in range(1, number + 1)]


def _different(names: Sequence[T], what: str) -> list[T]:
    """Refuse names of which some are empty or the same."""
    texts = [] if isinstance(names, str) else [str(name).strip() for name in names]
    if not all(texts) or len({*texts}) < max(1, len(texts)):
        raise InputError(f"{what} takes a list of different names, one for each, not {quoted(names)}")
    return list(names)


def _possible(verdicts: Sequence[Verdict] | None, panel: AnyPanel | None) -> list[Verdict] | None:
    """Return the possible verdicts, if they are known beforehand."""
    if verdicts is None and isinstance(panel, LearnedPanel) and panel.role_source == "alternatives":
        return list(panel.roles)
    return None if verdicts is None else _different(verdicts, "verdicts")


def _as_grades(values: Sequence[Value], possible: Sequence[Verdict] | None) -> list[Value]:
    """Take small letters for the grades C, I, P and N where a grader of the same sample has one of these.

    Where none has, or some say another word, a small letter may be anything, such as the choice of an answer.
    """
    words = {value for value in values if isinstance(value, str)}
    if possible is not None or not words & _GRADES or not {word.upper() for word in words} <= _GRADES:
        return list(values)
    return [value.upper() if isinstance(value, str) else value for value in values]


def _verdict(value: Value, possible: Sequence[Verdict] | None) -> Verdict | None:
    """Return the verdict that a score stands for, None for unscored."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if not isinstance(value, str | int | float | bool):
        raise InputError("a score of several values is no verdict; combine scorers that give one value each")
    if possible is not None and value in possible:
        return possible[list(possible).index(value)]
    if not isinstance(value, str):
        if value not in _NUMBERS:
            raise InputError(f"the score {value:g} is no verdict; say which there are: verdicts=[…]")
        value = _NUMBERS[value]
    if possible is not None and value not in possible:
        raise InputError(f"the verdict {quoted(value)} is none of those that are possible: {first_few(possible, 5)}")
    return value


def _all_verdicts(found: Iterable[Verdict], possible: Sequence[Verdict] | None) -> list[Verdict]:
    """Return the possible verdicts: correct and incorrect are possible even where nobody says so.

    Where all say the same, and nothing tells what else they could have said, it is one other.
    """
    if possible is not None:
        return list(possible)
    said = {str(verdict) for verdict in found}
    every = sorted(said | {CORRECT, INCORRECT} if said <= _GRADES else said)
    return [*every, *([_UNNAMED] if len(every) == 1 else [])]


def _outcome(
    votes: Mapping[str, Verdict | None],
    possible: Sequence[Verdict] | None,
    panel: AnyPanel | None,
    parameters: Mapping[str, Any],
) -> Outcome:
    """Decide one sample; each verdict is its grader's favourite among those that are possible."""
    every = _all_verdicts((vote for vote in votes.values() if vote is not None), possible)
    top = np.array([-1 if vote is None else every.index(vote) for vote in votes.values()])
    counts = np.repeat((top >= 0)[:, None], len(every), axis=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no usable vote", InputWarning)  # a panel may name who has no verdict
        profile = Profile(top=top, counts=counts, alternatives=list(map(str, every)), voters=list(votes))
    (question,) = questions(profile, "posterior", panel=panel, **parameters)
    return question.outcome()


def _score(
    outcome: Outcome,
    votes: Mapping[str, Verdict | None],
    possible: Sequence[Verdict] | None,
    record: Mapping[str, Any],
    answer: str | None,
) -> Score:
    """Return the combined score."""
    every = _all_verdicts((vote for vote in votes.values() if vote is not None), possible)
    chances = dict(zip(outcome.alternatives, map(float, outcome.p_best), strict=True))
    worth = outcome.effective_voters
    record = {"probabilities": chances, "effective_graders": worth, **record}
    if outcome.rule_warnings:
        record["warnings"] = list(outcome.rule_warnings)
    if len(outcome.winners) > 1:
        return _unscored(f"{' and '.join(outcome.winners)} are as probable", record, answer)
    winner = outcome.winner
    ayes, number = sum(str(vote) == winner for vote in votes.values()), outcome.voters
    text = f"{ayes} of {number} graders say {winner}, which is right with {percent(chances[winner])}"
    text += "" if worth is None else f"; they are worth {worth:.1f} independent ones"
    value = next(verdict for verdict in every if str(verdict) == winner)
    return Score(value=value, answer=answer, explanation=text, metadata={"probability": chances[winner], **record})


def _unscored(why: str, record: Mapping[str, Any], answer: str | None = None) -> Score:
    """Return a score that metrics leave out."""
    return Score(value=math.nan, answer=answer, explanation=why, metadata={"probability": None, **record})


def _mean_of(name: str) -> Metric:
    """Return the metric that is the mean of an entry of metadata, over the samples that have it."""

    def value(scores: list[SampleScore]) -> Value:
        found = [(own.score.metadata or {}).get(name) for own in scores]
        known = [number for number in found if number is not None]
        return float(np.mean(known)) if known else math.nan

    return value


def _is_taken(name: str, renamed: Mapping[str, str] | None) -> bool:
    return renamed is None or name in renamed


def _votes(sample: EvalSample) -> dict[str, Value]:
    """Return the values of all graders of a sample, by name."""
    votes: dict[str, Value] = {}
    for scorer, score in (sample.scores or {}).items():
        record = score.metadata or {}
        listed = record["panel"].get("votes") if isinstance(record.get("panel"), dict) else None
        if isinstance(record.get("votes"), dict):
            votes |= {name: math.nan if vote is None else vote for name, vote in record["votes"].items()}
        elif isinstance(listed, list) or isinstance(score.value, list):
            own = listed if isinstance(listed, list) else score.as_list()
            values = [math.nan if vote is None else vote for vote in own]
            votes |= dict(zip(_numbered(len(values)), values, strict=True))
        else:
            votes[scorer] = score.value
    return votes
