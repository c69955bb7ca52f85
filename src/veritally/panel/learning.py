"""Learning a panel: the parameters that make the votes of many decisions, and the answers to some, most probable.

Decisions with answers come first, from a start at which all voters are alike; the others are let in from there, with a
small weight each. From anywhere else, or with full weight, an error that many voters share takes the place of the
truth. Without answers no errors are shared, since nothing could tell them from the truth. At the end, where each answer
tells which of two is better and no more, the truth is turned to the mean of the directions that fit the answers.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.checks import real, whole
from veritally.errors import InputError, quoted
from veritally.panel.copies import copy_sets
from veritally.panel.directions import turned
from veritally.panel.evidence import PanelVotes, TwoWay, ValueVotes
from veritally.panel.learned import LearnedPanel
from veritally.panel.parameters import Layout, Parameters
from veritally.panel.preparation import Prepared, RoleSource, levels_of, names_of, typical_count, votes_to_learn
from veritally.panel.search import Found, covariance_at, search
from veritally.panel.slices import SlicedVotes
from veritally.progress import report, stretch
from veritally.votes.ballots import frozen
from veritally.votes.profile import Profile

Factors: TypeAlias = int | Literal["auto"]
WEIGHT = 0.3  # of a decision without an answer, beside one with
_MOST_FACTORS = 3  # that are tried
_FEWEST = 2  # decisions
_COPIED = 0.35  # correlation of errors from which on voters who vote alike are copies
_START = 0.5  # slope
_VARIED = 1.05  # times by which counts have to differ, largest to smallest, for ω to be told from noise


@dataclass(frozen=True, eq=False)
class Lesson:
    """Votes and answers to learn from, checked.

    Attributes
    ----------
    prepared
        The votes as panels see them.
    voters
        The names of all who vote.
    votes
        The same as arrays, with the answers.
    copies
        Places of voters whose votes are nearly the same, with 1, or −1 for the opposite.
    weight
        Of a decision without an answer, where others have one.
    seed
        Of the start.
    """

    prepared: Prepared
    voters: tuple[str, ...]
    votes: PanelVotes
    copies: list[dict[int, int]]
    weight: float
    seed: int

    @classmethod
    def of(
        cls,
        profile: Profile,
        answers: Array | None,
        roles: RoleSource | None,
        weight: float,
        seed: int,
        executor: Executor | None = None,
    ) -> "Lesson":
        """Check what a user gives."""
        if not profile.batch or profile.batch[0] < _FEWEST:
            raise InputError("a panel is learned from many decisions; these votes are one decision")
        if answers is None:
            answers = np.full((profile.batch[0], profile.shape[-1]), np.nan)
        if np.isinf(np.asarray(answers, dtype=float)).any():
            raise InputError("answers must be finite numbers, or NaN where nothing is known")
        if np.shape(answers) != (profile.batch[0], profile.shape[-1]):
            raise InputError(f"answers have the shape {np.shape(answers)}; these votes are {quoted(profile)}")
        answers = _telling(np.asarray(answers, dtype=float))
        if profile.kind == "values" and _only_best(answers):
            profile = profile.coarsened("rankings")  # numbers would be needed to learn from values
        prepared = Prepared.of(profile, roles)
        profile = prepared.profile
        if prepared.kind == "values":
            answers = _standardised(answers)
        voters = tuple(dict.fromkeys(str(name) for own in names_of(profile.voter_labels, profile) for name in own))
        votes = votes_to_learn(prepared, voters, np.asarray(answers, dtype=float), bool(np.isfinite(answers).any()))
        votes = SlicedVotes.of(votes, executor)
        return cls(prepared, voters, votes, copy_sets(profile, voters), weight, seed)

    def layout(self, factors: int) -> Layout:
        """Return which parameters are learned, with so many errors that all may share."""
        facts, prepared = self.votes.facts, self.prepared
        m = len(self.voters)
        signs = np.zeros((m, factors + len(self.copies)))
        for k, own in enumerate(self.copies):  # an error of their own for each set of copies
            signs[list(own), factors + k] = list(own.values())
        bound = signs == 0
        bound[:, :factors] = False
        counts = facts.counts[facts.counts > 0]
        varied = prepared.kind != "pairs" and bool(np.max(counts) > _VARIED * np.min(counts))
        names, taken, _ = levels_of(prepared.profile)
        steps = np.log(np.diff(np.log(taken))) if names else np.zeros(0)
        return Layout(
            voters=m,
            roles=len(prepared.roles),
            factors=bound.shape[1],
            units=prepared.kind == "values",
            base=bool(np.any(facts.truth_roles >= 0)) and prepared.kind == "rankings",
            between=varied or prepared.kind == "values",
            whole=bool(np.all(facts.roles[facts.counts > 0] >= 0)),
            leans=prepared.kind != "values" and bool(self.votes.answered.any()),
            bound=bound,
            private=np.where(bound, 0.0, signs),
            typical_slope=_typical_slope(self.votes),
            steps=steps,
        )

    def learn(self, factors: int, start: Array | None, heard: "Heard | None") -> tuple[Layout, Found]:
        """Learn with so many shared errors: from answered decisions first, then from all."""
        layout = self.layout(factors)
        first = layout.start(np.log(_units(self.votes)), self.seed)
        expected = layout.expected(first)
        answered = self.votes.answered
        x = first if start is None else start
        if start is None and answered.any() and not answered.all():
            some = self.votes.take(np.flatnonzero(answered))
            with stretch(0, 0.2):
                x = search(some, layout, x, np.ones(int(answered.sum())), expected).x
        with stretch(0.2, 1):
            kept = None if heard is None else heard(factors)
            found = search(self.votes, layout, x, self.weights, expected, kept)
            if not answered.any() and layout.unpack(found.x).mean_slope < 0:
                # The votes are as probable if all see the opposite of the truth, but nobody would expect that.
                found = search(self.votes, layout, layout.reversed(found.x), self.weights, expected, kept)
        return layout, found

    @property
    def weights(self) -> Array:
        """What each decision counts, ``(decision,)``."""
        answered = self.votes.answered
        return np.where(answered, 1.0, self.weight if answered.any() else 1.0)


Heard: TypeAlias = Callable[[int], Callable[[Array, int], None]]


def learn(
    profile: Profile,
    answers: Array | None = None,
    *,
    factors: Factors = "auto",
    roles: RoleSource | None = None,
    weight: float = WEIGHT,
    seed: int = 0,
    resumed: dict[int, Array] | None = None,
    heard: Heard | None = None,
    executor: Executor | None = None,
) -> LearnedPanel:
    """Learn a panel from decisions and what is known of their answers, ``(decision, alternative)``, NaN for nothing."""
    if factors != "auto":
        factors = whole(factors, "factors", least=0)
    weight = real(weight, "weight", 0, 1)
    lesson = Lesson.of(profile, answers, roles, weight, whole(seed, "seed"), executor)
    with stretch(0, 0.6):
        layout, found = _learned(lesson, factors, resumed or {}, heard)
    if isinstance(lesson.votes, TwoWay) and lesson.votes.answered.any():
        found = found._replace(x=turned(lesson.votes, layout, found.x, lesson.seed))
    with stretch(0.6, 1):
        covariance = covariance_at(lesson.votes, layout, found, lesson.weights)
    return _made(lesson, layout, found._replace(covariance=covariance))


def _learned(lesson: Lesson, factors: Factors, resumed: dict[int, Array], heard: Heard | None) -> tuple[Layout, Found]:
    """Learn with as many shared errors as asked, or as make the votes most probable."""
    answered = lesson.votes.answered
    if not answered.any():
        if factors not in ("auto", 0):
            raise InputError("shared errors cannot be told from the truth without answers; give answers, or factors=0")
        return lesson.learn(0, resumed.get(0), heard)
    if factors != "auto":
        return lesson.learn(factors, resumed.get(factors), heard)
    best: tuple[Layout, Found] | None = None
    for number in range(min(_MOST_FACTORS, len(lesson.voters) - 1) + 1):
        with stretch(number / (_MOST_FACTORS + 1), (number + 1) / (_MOST_FACTORS + 1)):
            tried = lesson.learn(number, resumed.get(number), heard)
        if best is not None and tried[1].log_evidence < best[1].log_evidence:
            break
        best = tried
    report(1.0)
    assert best is not None
    return best


def _made(lesson: Lesson, layout: Layout, found: Found) -> LearnedPanel:
    """Put together what was learned."""
    prepared, facts = lesson.prepared, lesson.votes.facts
    now = layout.unpack(found.x)
    own = np.arange(layout.voters)[:, None] * layout.width + np.arange(layout.width)
    variance = np.diag(found.covariance)[own]
    leaning, leaning_error = _leanings(now, found.covariance, own, layout)
    correlation, correlation_error = _correlations(now, found.covariance, own, layout)
    copies = [own for own in lesson.copies if np.min(np.abs(correlation[np.ix_(list(own), list(own))])) > _COPIED]
    names, _, _ = levels_of(prepared.profile)
    typical = typical_count(prepared.profile)
    worth = typical * now.worth / np.exp(np.mean(np.log(now.worth)))
    votes_by = np.bincount(facts.members[facts.times > 0], minlength=layout.voters)
    means = ~np.any(layout.bound, axis=0)
    return LearnedPanel(
        voters=lesson.voters,
        kind=prepared.kind,
        slope=frozen(now.slope.copy()),
        slope_error=frozen(np.sqrt(variance[:, 0])),
        role_source=prepared.source,
        roles=prepared.roles,
        leaning=frozen(leaning),
        leaning_error=frozen(leaning_error),
        loadings=frozen(now.loadings.copy()),
        loading_variance=frozen(np.sum(variance[:, 1 + layout.roles : -1], axis=-1)),
        noise=frozen(np.exp(now.noise)),
        mean_slope=float(now.mean_slope),
        mean_loadings=frozen(np.where(means, now.mean_loadings, 0.0)),
        base=frozen(now.base - (np.mean(now.base) if len(now.base) and layout.whole else 0)),
        omega=float(np.exp(now.between / 2)),
        typical_count=typical,
        levels={name: float(count) for name, count in zip(names, worth, strict=True)} if names else {},
        votes_by=frozen(votes_by.astype(float)),
        decisions=len(facts.answers),
        answers=int(lesson.votes.answered.sum()),
        converged=bool(found.converged),
        correlation=frozen(correlation),
        correlation_error=frozen(correlation_error),
        copies=tuple(tuple(lesson.voters[i] for i in group) for group in copies),
        opposite=tuple(lesson.voters[i] for group in copies for i, sign in group.items() if sign < 0),
    )


def held_out(
    profile: Profile,
    answers: Array,
    folds: int,
    predict: Callable[[LearnedPanel | None, Profile], Array],
    **settings: Any,
) -> dict[str, float]:
    """Say how well a panel predicts answers that were held out, in so many folds of the answered decisions.

    ``predict`` returns P(best) of each alternative by a panel, or without one, ``(decision, alternative)``.
    """
    answers = _telling(answers)
    whole = np.all(np.isfinite(answers) | ~np.asarray(profile.ballots.mask), axis=-1)  # whose best is known
    answered = np.flatnonzero(whole & np.any(np.isfinite(answers), axis=-1))
    if len(answered) < 2 * folds:
        raise InputError(f"{len(answered)} answers are too few for {folds} folds; give at least two for each")
    order = np.random.default_rng((settings.get("seed", 0), 22)).permutation(answered)
    rows, right, without, said, loss = 0, 0.0, 0.0, 0.0, []
    for fold in range(folds):
        out = np.sort(order[fold::folds])
        some = answers.copy()
        some[out] = np.nan
        with stretch(fold / folds, (fold + 1) / folds):
            panel = learn(profile, some, **settings)
            p_best = predict(panel, profile.rows(out))
        truth = np.where(np.isfinite(answers[out]), answers[out], -np.inf)
        best = truth == np.max(truth, axis=-1, keepdims=True)
        rows += len(out)
        right += float(np.sum(best[np.arange(len(out)), np.argmax(p_best, axis=-1)]))
        alone = np.argmax(predict(None, profile.rows(out)), axis=-1)
        without += float(np.sum(best[np.arange(len(out)), alone]))
        said += float(np.sum(np.max(p_best, axis=-1)))
        loss += list(-np.log(np.maximum(np.sum(np.where(best, p_best, 0), axis=-1), 1e-3)))
    errors = np.array(loss)
    return {
        "answers": float(rows),
        "right": right / rows,
        "right_error": float(np.sqrt(right / rows * (1 - right / rows) / rows)),
        "right_without": without / rows,
        "said": said / rows,
        "log_loss": float(np.mean(errors)),
        "log_loss_error": float(np.std(errors) / np.sqrt(rows)),
    }


def with_check(panel: LearnedPanel, checked: dict[str, float]) -> LearnedPanel:
    """Return the panel with how well it predicted answers that were held out."""
    return replace(panel, checked=checked)


def _leanings(now: Parameters, covariance: Array, own: Array, layout: Layout) -> tuple[Array, Array]:
    """Return leanings, which rankings tell only beside each other, with standard errors."""
    columns = own[:, 1 : 1 + layout.roles]
    blocks = covariance[columns[:, :, None], columns[:, None, :]]
    if layout.units or layout.roles < 2 or not layout.whole:
        return now.leaning.copy(), np.sqrt(np.diagonal(blocks, axis1=1, axis2=2)).copy()
    centre = np.eye(layout.roles) - 1 / layout.roles
    return now.leaning @ centre, np.sqrt(np.diagonal(centre @ blocks @ centre, axis1=1, axis2=2)).copy()


def _correlations(now: Parameters, covariance: Array, own: Array, layout: Layout) -> tuple[Array, Array]:
    """Return correlations of voters' errors at a typical count, with standard errors by the delta method."""
    m, f = now.loadings.shape
    if not f:
        return np.eye(m), np.zeros((m, m))
    variance = np.sum(now.loadings**2, axis=-1) + 1 + np.exp(now.between)
    root = np.sqrt(variance)
    scaled = now.loadings / root[:, None]
    correlation = scaled @ scaled.T
    error = np.zeros((m, m))
    columns = own[:, 1 + layout.roles : -1]
    for i in range(m):
        for k in range(i):
            by_i = now.loadings[k] / (root[i] * root[k]) - correlation[i, k] * now.loadings[i] / variance[i]
            by_k = now.loadings[i] / (root[i] * root[k]) - correlation[i, k] * now.loadings[k] / variance[k]
            slope, places = np.concat([by_i, by_k]), np.concat([columns[i], columns[k]])
            error[i, k] = error[k, i] = np.sqrt(max(slope @ covariance[np.ix_(places, places)] @ slope, 0.0))
    return np.where(np.eye(m) > 0, 1.0, correlation), error


def _telling(answers: Array) -> Array:
    """Leave out answers that put nothing above anything else."""
    known = np.isfinite(answers)
    low, high = (np.where(known, answers, x) for x in (np.inf, -np.inf))
    return np.where((np.min(low, axis=-1) < np.max(high, axis=-1))[:, None] & known, answers, np.nan)


def _only_best(answers: Array) -> bool:
    """Say whether answers tell the best alone: 1 for it, 0 for all others."""
    known = answers[np.isfinite(answers)]
    return bool(len(known)) and bool(np.isin(known, (0.0, 1.0)).all())


def _standardised(answers: Array) -> Array:
    """Return truths from the mean of their decision on, with the spread 1 over all decisions."""
    some = np.any(np.isfinite(answers), axis=-1)
    if not some.any():
        return answers
    away = answers[some] - np.nanmean(answers[some], axis=-1, keepdims=True)
    number = np.sum(np.isfinite(away), axis=-1)
    spread = np.sqrt(np.nansum(away**2) / max(float(np.sum(number - 1)), 1.0))
    made = np.full(answers.shape, np.nan)
    made[some] = away / (spread if spread > 0 else 1.0)
    return made


def _units(votes: PanelVotes) -> Array:
    """Return about the standard deviation of the noise of each voter's values, to start from."""
    m = int(votes.facts.members.max(initial=0)) + 1
    if not isinstance(votes, ValueVotes):
        return np.ones(m)
    spreads = votes.spreads(m)
    return np.maximum(spreads * _noise_of(_alike(votes, spreads)), 1e-9)


def _alike(votes: ValueVotes, spreads: Array) -> Array:
    """Return values in units of how far each voter's spread."""
    return votes.values / spreads[votes.facts.members][..., None]


def _noise_of(values: Array) -> float:
    """Return about how far values are from what voter and alternative explain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of slices without a value
        rest = values - np.nanmean(values, axis=1, keepdims=True)
        rest = rest - np.nanmean(rest, axis=2, keepdims=True)
    rest = rest[np.isfinite(rest) & (rest != 0)]
    return float(np.clip(np.sqrt(np.mean(rest**2)), 0.05, 1.0)) if len(rest) else 1.0


def _typical_slope(votes: PanelVotes) -> float:
    """Return about how far truths spread, in units of the noise."""
    if not isinstance(votes, ValueVotes):
        return _START
    values = _alike(votes, votes.spreads(int(votes.facts.members.max(initial=0)) + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rest = values - np.nanmean(values, axis=(1, 2), keepdims=True)
        spread = np.nanstd(np.nanmean(rest, axis=1))
    return float(np.clip(spread / _noise_of(values), 0.2, 30.0))
