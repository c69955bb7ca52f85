"""How probable the votes of many decisions are under a panel, for each kind of votes, and its slopes.

Each class holds the votes of decisions as the kind of votes needs them, with the right answer, where it is known, as
one more voter: slope 1, no leaning, no shared errors, and so many looks that its word is final.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from veritally.arrays import Array
from veritally.inference.evidence import lifted_evidence
from veritally.inference.probit import Comparisons, probit_evidence
from veritally.likelihood.chain import FEW
from veritally.model.means import VoterMeans
from veritally.model.model import Model
from veritally.panel.parameters import Parameters, ScoreTable
from veritally.votes.ballots import Traits
from veritally.votes.rankings import Rankings

FINAL = 400.0  # looks of a typical voter that make an answer final: an infinite number would break the search
_TOGETHER = 2_000_000  # numbers in covariances of values that are worked on at once
_FINEST = 0.01  # of how far values spread: no voter's are exact, also of one who always gives the same
_LEVEL = 100.0  # the variance of the level of all values of a decision, over that of values around it


class Facts(NamedTuple):
    """What is known of ballots besides the votes.

    Attributes
    ----------
    members
        Which voter of the panel each ballot is, ``(decision, voter)``, −1 for nobody.
    roles
        Of each alternative on each ballot, ``(decision, voter, alternative)``, −1 for none.
    truth_roles
        Of each alternative where truths are expected to differ by role, ``(decision, alternative)``, −1 for none.
    counts
        In units of the typical count, ``(decision, voter, alternative)``.
    levels
        The level of confidence behind each count, ``(decision, voter, alternative)``, −1 for none.
    times
        How many voters a ballot stands for, ``(decision, voter)``; 0 for one that says nothing.
    answers
        The truth, ``(decision, alternative)``; NaN where it is not known.
    """

    members: Array
    roles: Array
    truth_roles: Array
    counts: Array
    levels: Array
    times: Array
    answers: Array

    def take(self, rows: Array) -> "Facts":
        """Keep some decisions."""
        return Facts(*(x[rows] for x in self))


@dataclass(frozen=True, eq=False)
class PanelVotes(ABC):
    """Votes of many decisions, to learn a panel from."""

    facts: Facts

    @abstractmethod
    def evidence(self, now: Parameters, near: Any = None) -> tuple[Array, ScoreTable, Any]:
        """Return the log-evidence of each decision, its slopes, and where to start from near by."""

    @abstractmethod
    def take(self, rows: Array) -> Self:
        """Keep some decisions."""

    @property
    def exact(self) -> bool:
        """Whether slopes are exactly those of the evidence."""
        return True

    @property
    def answered(self) -> Array:
        """Say in which decisions the answer is known, ``(decision,)``."""
        return np.any(np.isfinite(self.facts.answers), axis=-1)

    def telling(self, most: int) -> Array:
        """Return the places of all decisions with answers, and of at most so many others, evenly chosen."""
        rest = np.flatnonzero(~self.answered)
        chosen = rest[np.linspace(0, len(rest) - 1, most).astype(int)] if len(rest) > most else rest
        return np.sort(np.concat([np.flatnonzero(self.answered), chosen]))

    def variances(self, now: Parameters) -> tuple[Array, Array]:
        """Return the variance of each mean, and the part that counts tell, ``(decision, voter, alternative)``."""
        facts = self.facts
        worth = np.where(facts.levels >= 0, now.worth[facts.levels] / np.exp(np.mean(np.log(now.worth))), facts.counts)
        seen = facts.counts > 0
        looks = np.where(seen, 1 / np.where(seen, worth, 1), 0)
        return np.where(seen, looks + np.exp(now.between), 0), looks

    def scores_of_variance(self, now: Parameters, slopes: Array, looks: Array) -> tuple[Array, Array]:
        """Return slopes by log ω² and by steps of confidence, from those by variances."""
        between = np.sum(slopes, axis=(1, 2)) * np.exp(now.between)
        by_level = [
            np.sum(np.where(self.facts.levels == k, -slopes * looks, 0), axis=(1, 2)) for k in range(len(now.worth))
        ]
        logs = np.stack(by_level, axis=-1)  # by log worth
        logs = logs - np.sum(logs, axis=-1, keepdims=True) / len(now.worth)
        above = np.cumsum(logs[:, ::-1], axis=-1)[:, ::-1][:, 1:]
        return between, above * np.exp(now.steps)


def _weights(now: Parameters, members: Array) -> Array:
    """Return slope and loadings of each ballot, ``(decision, voter, 1 + factor)``."""
    return np.concat([now.slope[members, None], now.loadings[members]], axis=-1)


def _by_role(table: Array, roles: Array) -> Array:
    """Look up numbers by role, the last axis of the table; 0 for none."""
    if not table.shape[-1]:
        return np.zeros(roles.shape)
    found = np.take_along_axis(
        np.broadcast_to(table, (*roles.shape[:-1], table.shape[-1])), np.maximum(roles, 0), axis=-1
    )
    return np.where(roles >= 0, found, 0)


def _onto_roles(slopes: Array, roles: Array, number: int) -> Array:
    """Sum slopes ``(..., alternative)`` by role: ``(..., role)``."""
    found = [np.sum(np.where(roles == r, slopes, 0), axis=-1) for r in range(number)]
    return np.stack(found, axis=-1) if found else np.zeros((*slopes.shape[:-1], 0))


@dataclass(frozen=True, eq=False)
class TwoWay(PanelVotes):
    """Which of two alternatives each voter prefers: ``signs``, ``(decision, voter)``, 1 for the second, −1, or 0."""

    signs: Array

    def take(self, rows: Array) -> Self:
        """Keep some decisions."""
        return replace(self, facts=self.facts.take(rows), signs=self.signs[rows])

    def evidence(self, now: Parameters, near: Any = None) -> tuple[Array, ScoreTable, Any]:
        """Return the log-evidence of each decision, its slopes, and where to start from near by."""
        facts, signs = self.facts, self.signs
        weights = _weights(now, facts.members)
        ahead = np.array([-1.0, 1.0])
        base = np.sum(_by_role(now.base, facts.truth_roles) * ahead, axis=-1)  # of the second over the first
        leaning = np.sum(_by_role(now.leaning[facts.members], facts.roles) * ahead, axis=-1)
        offset = leaning + weights[..., 0] * base[:, None]
        variance, looks = self.variances(now)
        right = np.nan_to_num(np.sign(facts.answers[:, 1] - facts.answers[:, 0]))
        answer = np.zeros((len(signs), 1, weights.shape[-1]))
        answer[:, 0, 0] = right
        given = Comparisons(
            np.concat([signs[..., None] * weights, answer], axis=1),
            np.concat([signs * offset, (right * base)[:, None]], axis=1),
            np.concat([np.sum(variance, axis=-1), np.full((len(signs), 1), 2 / FINAL)], axis=1),
            np.concat([facts.times * (signs != 0), np.abs(right)[:, None]], axis=1),
        )
        given = given._replace(variance=np.where(given.times > 0, given.variance, 1))
        found = probit_evidence(given, 2.0, near)
        design, push = found.design[:, :-1] * signs[..., None], found.offset[:, :-1] * signs
        by_base = np.sum(push * weights[..., 0], axis=-1) + found.offset[:, -1] * right
        between, steps = self.scores_of_variance(now, np.repeat(found.variance[:, :-1, None], 2, axis=-1), looks)
        table = ScoreTable(
            design[..., 0] + push * base[:, None],
            _onto_roles(push[..., None] * ahead, facts.roles, now.leaning.shape[-1]),
            design[..., 1:],
            np.zeros_like(push),
            _onto_roles(by_base[:, None] * ahead, facts.truth_roles, len(now.base)),
            between,
            steps,
        )
        return found.log_evidence, table, found.sites


@dataclass(frozen=True, eq=False)
class PairVotes(PanelVotes):
    """Comparisons of pairs among many alternatives, of each decision those that were made.

    Attributes
    ----------
    voter, preferred, other
        Places on the axes of the decision, ``(decision, comparison)``.
    place
        1 where the preferred one stood first, −1 where the other did, 0 where that is unknown.
    number
        How often, ``(decision, comparison)``; 0 for padding.
    """

    voter: Array
    preferred: Array
    other: Array
    place: Array
    number: Array

    def take(self, rows: Array) -> Self:
        """Keep some decisions."""
        own = {name: getattr(self, name)[rows] for name in ("voter", "preferred", "other", "place", "number")}
        return replace(self, facts=self.facts.take(rows), **own)

    def evidence(self, now: Parameters, near: Any = None) -> tuple[Array, ScoreTable, Any]:
        """Return the log-evidence of each decision, its slopes, and where to start from near by."""
        facts = self.facts
        decisions, n = facts.answers.shape
        rows = np.arange(decisions)[:, None]
        weights = _weights(now, facts.members[rows, self.voter])  # (decision, comparison, 1 + factor)
        eye = np.eye(n)
        contrast = eye[self.preferred] - eye[self.other]
        leaning = now.leaning[facts.members[rows, self.voter]]
        first = leaning[..., 0] if leaning.shape[-1] else np.zeros(self.voter.shape)
        answers = _answer_pairs(facts.answers)
        known = np.zeros((*answers.shape[:2], weights.shape[-1]))
        known[..., 0] = 1
        every = [np.concat(pair, axis=1) for pair in ((weights, known), (contrast, answers))]
        design = (every[0][..., None] * every[1][..., None, :]).reshape(decisions, every[0].shape[1], -1)
        number = np.any(answers != 0, axis=-1)
        given = Comparisons(
            design,
            np.concat([first * self.place, np.zeros(number.shape)], axis=1),
            np.concat([np.full(self.voter.shape, 2.0), np.full(number.shape, 2 / FINAL)], axis=1),
            np.concat([self.number, number.astype(float)], axis=1),
        )
        found = probit_evidence(given, 1.0, near)
        end = self.voter.shape[1]
        by_weights = np.sum(found.design.reshape(*every[0].shape, n)[:, :end] * contrast[..., None, :], axis=-1)
        voting = facts.members.shape[1]

        def onto_voters(x: Array) -> Array:
            made = np.zeros((decisions, voting, *x.shape[2:]))
            np.add.at(made, (np.broadcast_to(rows, self.voter.shape), self.voter), x)
            return made

        by_leaning = onto_voters((found.offset[:, :end] * self.place)[..., None])
        whole = onto_voters(by_weights)
        nothing = np.zeros((decisions, 0))
        table = ScoreTable(
            whole[..., 0],
            by_leaning[..., : now.leaning.shape[-1]],
            whole[..., 1:],
            np.zeros((decisions, voting)),
            np.zeros((decisions, len(now.base))),
            np.zeros(decisions),
            nothing,
        )
        return found.log_evidence, table, found.sites


def _answer_pairs(truth: Array) -> Array:
    """Return known answers as comparisons, each tier with the next, ``(decision, comparison, alternative)``."""
    decisions, n = truth.shape
    made = np.zeros((decisions, max(n - 1, 1), n))
    for d in np.flatnonzero(np.any(np.isfinite(truth), axis=-1)):
        order = np.argsort(-truth[d], kind="stable")
        order = order[np.isfinite(truth[d, order])]
        row = 0
        for better, worse in pairwise(order):
            top = order[0] if truth[d, better] == truth[d, worse] else better
            if truth[d, top] > truth[d, worse]:
                made[d, row, top], made[d, row, worse] = 1, -1
                row += 1
    return made


@dataclass(frozen=True, eq=False)
class RankedVotes(PanelVotes):
    """Rankings and favourites among three or more; the last ballot of each decision is the answer."""

    ballots: Rankings

    @property
    def exact(self) -> bool:
        """Whether slopes are exactly those of the evidence: of more than three, cavities are approximate."""
        return int(self.ballots.counts.shape[-1]) <= FEW

    def take(self, rows: Array) -> Self:
        """Keep some decisions."""
        return replace(self, facts=self.facts.take(rows), ballots=self.ballots.map(lambda x: x[rows]))

    def evidence(self, now: Parameters, near: Any = None) -> tuple[Array, ScoreTable, Any]:
        """Return the log-evidence of each decision, its slopes, and where to start from near by."""
        facts = self.facts
        decisions, voting, n = facts.counts.shape
        weights = _weights(now, facts.members)
        answer = np.zeros((decisions, 1, weights.shape[-1]))
        answer[..., 0] = 1
        every = np.concat([weights, answer], axis=1)
        variance, looks = self.variances(now)
        expected = _by_role(now.base, facts.truth_roles)
        offsets = np.concat([_by_role(now.leaning[facts.members], facts.roles), np.zeros((decisions, 1, n))], axis=1)
        traits = Traits(
            every[..., 0],
            offsets + every[..., :1] * expected[:, None],
            np.concat([np.exp(now.between) + 0 * variance, np.zeros((decisions, 1, n))], axis=1),
            np.zeros((decisions, voting + 1)),
            expected,
        )
        loadings = np.broadcast_to(every[:, :, None, 1:], (decisions, voting + 1, n, every.shape[-1] - 1))
        ballots = self.ballots.with_counts(
            np.concat([np.where(looks > 0, 1 / np.where(looks > 0, looks, 1), 0), self.ballots.counts[:, -1:]], axis=1)
        )
        ballots = ballots.with_shared_errors(loadings, None).with_traits(traits)
        found = lifted_evidence(
            ballots, Model.of(ballots, np.ones(decisions), VoterMeans(np.ones((decisions, 1, n)))), near
        )
        by_weights = np.sum(found.weights[:, :-1], axis=-1)
        push = found.offset  # with the answer's
        between, steps = self.scores_of_variance(now, found.variance[:, :-1], looks)
        table = ScoreTable(
            by_weights[..., 0] + np.sum(push[:, :-1] * expected[:, None], axis=-1),
            _onto_roles(push[:, :-1], facts.roles, now.leaning.shape[-1]),
            by_weights[..., 1:],
            np.zeros((decisions, voting)),
            _onto_roles(np.sum(push * every[..., :1], axis=1), facts.truth_roles, len(now.base)),
            between,
            steps,
        )
        return found.log_evidence, table, found.sites


@dataclass(frozen=True, eq=False)
class ValueVotes(PanelVotes):
    """Values, ``(decision, voter, alternative)``, NaN for blank: all is normal, and the evidence exact."""

    values: Array

    def take(self, rows: Array) -> Self:
        """Keep some decisions."""
        return replace(self, facts=self.facts.take(rows), values=self.values[rows])

    @cached_property
    def spread(self) -> float:
        """About how far values lie from the level of their decision."""
        return float(np.sqrt(np.mean(self.values[np.isfinite(self.values)] ** 2))) or 1.0

    def spreads(self, voters: int) -> Array:
        """Return about how far those of each voter lie from their mean, ``(voter,)``."""
        there = np.isfinite(self.values)
        number = np.sum(there, axis=-1)
        away = np.where(there, self.values, 0)
        away = np.where(there, away - (np.sum(away, axis=-1) / np.maximum(number, 1))[..., None], 0)
        square, many = (np.zeros(voters + 1) for _ in range(2))  # the last is nobody
        np.add.at(square, self.facts.members, np.sum(away**2, axis=-1))
        np.add.at(many, self.facts.members, np.maximum(number - 1, 0))
        found = np.sqrt(square / np.maximum(many, 1))[:-1]
        return np.where(found > _FINEST * self.spread, found, self.spread)

    @cached_property
    def given(self) -> list["Given"]:
        """The values that were given: decisions with about as many of them are together, while memory holds them."""
        facts = self.facts
        there = np.isfinite(self.values) & (facts.times > 0)[..., None]
        number = np.sum(there, axis=(1, 2))
        order = np.argsort(number, kind="stable")
        parts, first = [], 0
        for k in range(1, len(order) + 1):
            if (
                k == len(order)
                or number[order[k]] > 1.25 * number[order[first]] + 4
                or (k - first) * number[order[k]] ** 2 > _TOGETHER
            ):
                parts.append(order[first:k])
                first = k
        return [Given.of(rows, there[rows], np.isfinite(facts.answers[rows])) for rows in parts]

    def evidence(self, now: Parameters, near: Any = None) -> tuple[Array, ScoreTable, Any]:
        """Return the log-evidence of each decision, its slopes, and where to start from near by."""
        facts = self.facts
        decisions, voting, n = facts.counts.shape
        variance, looks = self.variances(now)
        logs = np.zeros(decisions)
        slope, noise = (np.zeros((decisions, voting)) for _ in range(2))
        loading = np.zeros((decisions, voting, now.loadings.shape[-1]))
        push, spread = (np.zeros((decisions, voting, n)) for _ in range(2))
        for rows, i, j, there, known, answered in self.given:
            d = rows[:, None]
            who, voters = facts.members[d, i], i.shape[1]
            unit = np.where(there, np.exp(now.noise[who]), 1.0)
            x = np.where(there, self.values[d, i, j], 0.0) / unit
            leaning = _by_role(now.leaning[who], facts.roles[d, i, j][..., None])[..., 0]
            own = np.where(there[..., None], _weights(now, who), 0.0)  # (decision, value, 1 + factor)
            answer = np.zeros((*known.shape, own.shape[-1]))  # the answer is one more voter
            answer[..., 0] = answered
            own = np.concat([own, answer], axis=1)
            truths = np.where(answered, facts.answers[d, known], 0.0)
            residual = np.concat([np.where(there, x - leaning, 0.0), truths], axis=1)
            times = np.maximum(facts.times[d, i], 1e-300)
            rounded = np.where(there, (_FINEST * self.spread / unit) ** 2, 0.0)
            own_variance = np.where(there, variance[d, i, j] / times + rounded, 1.0)
            own_variance = np.concat([own_variance, np.where(answered, 1 / FINAL, 1.0)], axis=1)
            alternative, both = np.concat([j, known], axis=1), np.concat([there, answered], axis=1)
            same = (alternative[:, :, None] == alternative[:, None]) * 1.0
            # values tell how truths differ, not where they lie, and so do answers
            shift = np.concat([np.where(there, self.spread / unit, 0.0), np.zeros(known.shape)], axis=1)
            level = _LEVEL * shift[:, :, None] * shift[:, None]
            level[:, voters:, voters:] = _LEVEL * (answered[:, :, None] & answered[:, None])
            covariance = same * (own @ np.swapaxes(own, 1, 2)) + level
            covariance[:, np.arange(both.shape[1]), np.arange(both.shape[1])] += own_variance
            inverse = np.linalg.inv(covariance)
            pull = (inverse @ residual[..., None])[..., 0]
            logs[rows] = -(np.sum(residual * pull, axis=-1) + np.linalg.slogdet(covariance)[1]) / 2
            logs[rows] -= np.sum(both, axis=-1) * np.log(2 * np.pi) / 2 + np.sum(np.log(unit), axis=-1)
            bend = pull[:, :, None] * pull[:, None] - inverse  # twice the slope by the covariance
            by_weights = np.where(there[..., None], ((bend * same) @ own)[:, :voters], 0)
            diagonal = np.diagonal(bend, axis1=1, axis2=2)[:, :voters]
            by_unit = pull[:, :voters] * x - 1 - np.sum(bend * level, axis=-1)[:, :voters] - diagonal * rounded
            d = np.broadcast_to(d, i.shape)
            np.add.at(slope, (d, i), by_weights[..., 0])
            np.add.at(loading, (d, i), by_weights[..., 1:])
            np.add.at(noise, (d, i), np.where(there, by_unit, 0))
            np.add.at(spread, (d, i, j), np.where(there, diagonal / 2 / times, 0))
            np.add.at(push, (d, i, j), np.where(there, pull[:, :voters], 0))
        between, steps = self.scores_of_variance(now, spread, looks)
        leaning_scores = _onto_roles(push, facts.roles, now.leaning.shape[-1])
        base = np.zeros((decisions, len(now.base)))
        return logs, ScoreTable(slope, leaning_scores, loading, noise, base, between, steps), None


class Given(NamedTuple):
    """Values of some decisions, one after the other.

    Attributes
    ----------
    rows
        Which decisions, ``(decision,)``.
    voter, alternative
        Whose value it is and of what, ``(decision, value)``.
    there
        Whether there is such a value, ``(decision, value)``.
    known, answered
        The alternatives, and whether their truth is known, ``(decision, answer)``.
    """

    rows: Array
    voter: Array
    alternative: Array
    there: Array
    known: Array
    answered: Array

    @classmethod
    def of(cls, rows: Array, there: Array, answered: Array) -> "Given":
        """Put what is there, ``(decision, voter, alternative)``, one after the other."""
        flat = there.reshape(len(rows), -1)
        size = int(np.max(np.sum(flat, axis=1), initial=0))
        place = np.argsort(~flat, axis=1, kind="stable")[:, :size]
        known = np.argsort(~answered, axis=1, kind="stable")[:, : int(np.max(np.sum(answered, axis=1), initial=0))]
        return cls(
            rows,
            *np.divmod(place, there.shape[-1]),
            np.take_along_axis(flat, place, axis=1),
            known,
            np.take_along_axis(answered, known, axis=1),
        )
