"""Looks that could be bought, and what each of them may lead to."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array
from veritally.inference.linear import root
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.propagation import pulls
from veritally.planning.gain import gain, gain_along, gain_of_moves, verdicts
from veritally.planning.knowledge import Knowledge
from veritally.planning.new_ballots import Behind, first_ballots, new_ballots
from veritally.votes.ballots import SingleKind
from veritally.votes.pairs import Pairs
from veritally.votes.rankings import Ordinal

NEW, EVERYBODY = -1, -2  # in place of a voter: those who have not voted yet, and all who have
_EACH = 30  # verdicts up to which each number of wins is looked at; of more, the mean is taken for normal
_NODES = 16  # of a normal, where moves come to others
_PLANNED = 128  # draws of what planned looks will lead to
_FINE = 1 << 11  # draws of all that can be known
_AT_ONCE, _LEAST_AT_ONCE = 1 << 22, 8  # numbers, and looks
_FAR = 30.0  # standard deviations


class Looks(NamedTuple):
    """Looks, one a row.

    Attributes
    ----------
    voter
        Who would look; ``NEW`` or ``EVERYBODY``.
    voters
        How many voters would.
    added
        How often each of them looks at each alternative, ``(look, n)``; for comparisons, how often each takes part.
    number
        How many looks it is in all.
    cost
        Of them in all.
    """

    voter: Array
    voters: Array
    added: Array
    number: Array
    cost: Array

    def take(self, rows: Array) -> "Looks":
        """Keep some."""
        return Looks(*(x[rows] for x in self))

    @property
    def at(self) -> Array:
        """A number for what each is at, which is the same whoever looks and how often."""
        shares = self.added / np.max(self.added, axis=-1, keepdims=True)
        return np.unique(shares, axis=0, return_inverse=True)[1]


def shared_out(worth: Array, at: Array) -> Array:
    """Return an order of looks, in which what they are at has places by its worth, as seats are shared out (D'Hondt).

    Many voters can look at the same. They are worth about as much each, but together less than so many times one.
    """
    order = np.lexsort((-worth, at))
    rank = np.empty(len(worth))
    rank[order] = np.arange(len(worth)) - np.searchsorted(at[order], at[order])
    return np.argsort(-worth / (1 + rank), kind="stable")


class Results(NamedTuple):
    """What looks may lead to: chances ``(look, result)``, and how the means move, ``(look, result, n)``.

    Where it is one number, means move by ``slopes``, ``(look, n)``, times a standard normal. Where the means that are
    found then are not what is to be expected, ``truths`` has how these move.
    """

    chances: Array
    moves: Array
    slopes: Array | None = None
    truths: Array | None = None

    def centred(self, moves: Array) -> Array:
        """Return moves less their mean: what is expected is known already."""
        return moves - np.sum(self.chances[..., None] * moves, axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known, who has seen how much, and what is planned already.

    Attributes
    ----------
    knowledge
        What will be known when the planned looks are made.
    rows
        The ballots, ``(voter, n)``, with the counts there will be then.
    asked
        Whose ballots are planned to change, ``(voter,)``.
    pull
        What each voter adds, ``(voter, n)``.
    planned
        The covariance of the moves that planned looks will lead to, ``(n, n)``.
    choose
        How many are chosen.
    regret
        What there is to gain beside the planned looks: what choosing costs, expected, when these are made.
    sizes
        What a look adds to a count: one number, or one for each voter and, at last, for somebody new.
    """

    knowledge: Knowledge
    rows: SingleKind
    asked: Array
    pull: Array
    planned: Array
    choose: int
    regret: float = math.inf
    sizes: Array | float = 1.0

    @classmethod
    def of(cls, ballots: SingleKind, found: PosteriorMixture, choose: int, seed: int = 0) -> "Situation":
        """Return where a decision stands, at one value of the noise."""
        several = ballots.stacked(1)
        pull = pulls(several, found.model(several), found.moments)[0]
        n = ballots.mask.shape[-1]
        rows = ballots.weighed(np.ones(len(ballots.counts)), np.ones(n, dtype=bool))
        asked = np.zeros(len(rows.counts), dtype=bool)
        return cls(Knowledge.of(ballots, found, seed), _filled(rows), asked, pull, np.zeros((n, n)), choose)

    def offered(self, looks: Looks) -> SingleKind:
        """Return the ballots of those who would look, ``(look, n)``, with the counts they have now."""
        return _with_newcomers(self.rows).take_voters(np.where(looks.voter == NEW, len(self.rows.counts), looks.voter))

    def gains(self, looks: Looks) -> Array:
        """Return by how much each of several looks lowers expected regret, beside what is planned."""
        alone = looks.voters == 1
        found = np.zeros(len(alone))
        size = max(_LEAST_AT_ONCE, _AT_ONCE // looks.added.shape[-1] ** 2)
        for start in range(0, int(np.sum(alone)), size):
            some = np.flatnonzero(alone)[start : start + size]
            found[some] = self._gains_of_one(self._in_counts(looks.take(some)))
        if not alone.all():
            several = np.flatnonzero(~alone)
            size = max(1, _AT_ONCE // (len(self.rows.counts) * looks.added.shape[-1] ** 2))
            parts = [several[start : start + size] for start in range(0, len(several), size)]
            after = np.stack([known.spread for part in parts for known in self._known_after(looks.take(part))])
            found[several] = self._gains_of_normals(self.planned + self.knowledge.spread - after)
        if not np.isfinite(found).all():
            raise ArithmeticError("the value of a look is not finite")
        return self.share * np.maximum(found, 0)

    @cached_property
    def share(self) -> float:
        """What part of the gains by a normal there is to be had: to know all is worth the regret, and no more.

        Where votes are far from telling a normal, as unanimous rankings, the normal with the same moments has more
        regret than there is, and gains by it are too high by about as much.
        """
        return self.regret / self.all_known if self.regret < self.all_known else 1.0

    @cached_property
    def all_known(self) -> float:
        """What it is worth by a normal to know all, beside what is planned."""
        planned = (self.planned + self.knowledge.spread)[None]
        return float(self._gains_of_normals(planned, self.knowledge.normals(_FINE))[0])

    def _in_counts(self, looks: Looks) -> Looks:
        """Return looks with what they add to counts; one of everybody adds what looks of voters do on average."""
        if isinstance(self.sizes, float):
            return looks._replace(added=self.sizes * looks.added)
        voters = len(self.rows.counts)
        each = np.concat([self.sizes, [np.mean(self.sizes[:voters])]])
        place = np.where(looks.voter == NEW, voters, np.where(looks.voter == EVERYBODY, voters + 1, looks.voter))
        return looks._replace(added=each[place][:, None] * looks.added)

    def guess(self, looks: Looks) -> Array:
        """Return a rough guess of gains, ``(look,)``: as if each alternative had only to pass the border of the chosen.

        Looks are taken for values of voters without lasting errors.
        """
        mean, variance = self.knowledge.truths, np.diagonal(self.knowledge.spread)
        falling = np.sort(mean)[::-1]
        border = (falling[self.choose - 1] + falling[min(self.choose, len(mean) - 1)]) / 2
        told = looks.voters[:, None] * self._in_counts(looks).added / self.knowledge.noise.sigma[0] ** 2
        moves = variance * np.sqrt(told / (1 + told * variance))
        gap = np.abs(mean - border)
        far = gap / np.maximum(moves, gap / _FAR + np.finfo(float).tiny)
        return np.asarray(np.sum(moves * np.exp(-(far**2) / 2) / (1 + far**2), axis=-1))

    def _gains_of_normals(self, planned: Array, points: Array | None = None) -> Array:
        """Return the gains where planned looks have these covariances, ``(look, n, n)``, in place of theirs."""
        mean = self.knowledge.truths
        points = self.knowledge.normals() if points is None else points
        base = gain(mean, self.planned, self.choose, points) if self.planned.any() else 0.0
        return np.asarray(gain(np.broadcast_to(mean, planned.shape[:-1]), planned, self.choose, points) - base)

    def _gains_of_one(self, looks: Looks) -> Array:
        """Return those of looks of one voter each."""
        results, mean = self._results(looks), self.knowledge.truths
        every = np.broadcast_to(mean, looks.added.shape)
        if results.slopes is not None:
            if not self.planned.any():
                return np.asarray(gain_along(every, results.slopes, self.choose))
            return self._gains_of_normals(self.planned + results.slopes[..., None] * results.slopes[:, None, :])
        if not self.planned.any():
            return gain_of_moves(every, results.moves, self.choose, results.chances, results.truths)
        before = np.matmul(self.knowledge.normals(_PLANNED), root(self.planned))  # (draw, n)
        base = float(gain_of_moves(mean, before, self.choose))
        size = max(1, _AT_ONCE // (before.size * results.moves.shape[1]))
        gains = []
        for start in range(0, len(looks.number), size):
            some = slice(start, start + size)
            chances = np.repeat(results.chances[some, None] / len(before), len(before), axis=1)
            moves, truths = (
                None if x is None else (before[:, None] + x[some, None]).reshape(len(chances), -1, len(mean))
                for x in (results.moves, results.truths)  # (look, draw × result, n)
            )
            gains.append(gain_of_moves(every[some], moves, self.choose, chances.reshape(len(chances), -1), truths))
        return np.concat(gains) - base

    def after(self, looks: Looks) -> "Situation":
        """Return the situation with one look planned, ``(1, …)``."""
        return replace(self._with(looks), regret=max(self.regret - float(self.gains(looks)[0]), 0.0))

    def _with(self, looks: Looks) -> "Situation":
        """Return what will be known with one look planned, at the same regret."""
        (knowledge,) = self._known_after(looks)
        there = (looks.voter[0] == EVERYBODY) | (np.arange(len(self.rows.counts)) == looks.voter[0])
        voters = np.flatnonzero(there)
        counts = self.rows.counts.copy()
        counts[voters] += self._in_counts(looks.take(np.zeros_like(voters))._replace(voter=voters)).added
        rows, planned = self.rows.with_counts(counts), self.planned + self.knowledge.spread - knowledge.spread
        return replace(self, knowledge=knowledge, rows=rows, asked=self.asked | there, planned=planned)

    def _known_after(self, looks: Looks) -> list[Knowledge]:
        """Return what will be known after each of several looks, alone; what all their voters tell is found at once."""
        who = [np.arange(len(self.rows.counts)) if x == EVERYBODY else np.array([x]) for x in looks.voter]
        place = np.repeat(np.arange(len(who)), [len(own) for own in who])
        every = self._in_counts(looks.take(place)._replace(voter=np.concat(who)))
        rows, more = self.offered(every), self._more(every)
        more = np.where(every.voter == NEW, every.voters, 1)[:, None, None] * more
        each = [np.flatnonzero(place == k) for k in range(len(who))]
        return [self.knowledge.after(rows.take_voters(own), more[own]) for own in each]

    def _results(self, looks: Looks) -> Results:
        if isinstance(self.rows, Pairs):
            results = self._verdicts(looks)
        elif isinstance(self.rows, Ordinal):
            return self._ballots(looks)
        else:
            results = self._numbers(looks)
        return results._replace(moves=results.centred(results.moves))

    def _more(self, looks: Looks) -> Array:
        """Return how much more ballots tell after looks, Δ, ``(look, n, n)``."""
        rows = self.offered(looks)
        if isinstance(rows, Pairs):
            return self._verdict_information(looks, rows)
        first, place = np.unique(looks.voter, return_index=True, return_inverse=True)[1:]
        now = self.knowledge.told(rows.take_voters(first))[place]  # which does not depend on what is looked at
        more = self.knowledge.told(rows.with_counts(rows.counts + looks.added)) - now
        values, vectors = np.linalg.eigh(more)  # which is never less, but for the few ballots that it is averaged over
        return np.matmul(vectors * np.maximum(values, 0)[:, None, :], np.swapaxes(vectors, -1, -2))

    def _numbers(self, looks: Looks) -> Results:
        """Values move the means along a line; those of somebody who looks at several, in several directions."""
        rows = self.offered(looks)
        seen, more = self.knowledge.seen(rows), self._more(looks)
        if np.any(np.sum(looks.added > 0, axis=-1) > 1):
            draws = np.matmul(self.knowledge.normals(), root(self.knowledge.moves(seen, more)))
            return Results(np.full(draws.shape[:2], 1 / draws.shape[1]), draws)
        # One number, of one alternative, tells in one direction: Δ = v vᵀ, with or without leniency.
        at = np.argmax(looks.added, axis=-1)[:, None]
        own = np.take_along_axis(np.diagonal(more, axis1=-2, axis2=-1), at, axis=-1)
        along = np.take_along_axis(more, at[:, None], axis=1)[:, 0] / np.sqrt(np.maximum(own, np.finfo(float).tiny))
        sees = np.matmul(seen.covariance, along[..., None])[..., 0]
        slopes = np.matmul(seen.crossed, along[..., None])[..., 0]
        slopes = slopes / np.sqrt(1 + np.sum(along * sees, axis=-1, keepdims=True))
        nodes, weights = _nodes()
        return Results(np.broadcast_to(weights, (len(slopes), _NODES)), nodes[:, None] * slopes[:, None, :], slopes)

    def _ballots(self, looks: Looks) -> Results:
        """Rankings and favourites: new ones in place of the former, or first ones of somebody new.

        One that is planned to change is not known, so that a further change is taken for that of a number.
        """
        new = looks.voter == NEW
        again = ~new & self.asked[np.where(new, 0, looks.voter)]
        parts = [
            (np.flatnonzero(which), find(looks.take(which)))
            for which, find in ((~new & ~again, self._next_ballots), (again, self._numbers), (new, self._first_ballots))
            if which.any()
        ]
        size = max(own.chances.shape[1] for _, own in parts)
        chances, moves = np.zeros((len(new), size)), np.zeros((len(new), size, looks.added.shape[-1]))
        truths = np.zeros_like(moves)
        for where, own in parts:
            some = where, slice(own.chances.shape[1])
            centred = own.centred(own.moves if own.truths is None else own.truths)
            chances[some], truths[some] = own.chances, centred
            moves[some] = centred if own.truths is None else own.moves
        return Results(chances, moves, truths=truths)

    def _next_ballots(self, looks: Looks) -> Results:
        voters, place = np.unique(looks.voter, return_inverse=True)
        rows = self.rows.take_voters(voters)
        assert isinstance(rows, Ordinal)
        behind = Behind.of(self.knowledge, rows, self.pull[voters])
        at = np.argmax(looks.added, axis=-1)
        times = np.max(looks.added, axis=-1)
        chances, moves, truths = new_ballots(self.knowledge, behind, place, at, times)
        return Results(chances, moves, truths=truths)

    def _first_ballots(self, looks: Looks) -> Results:
        rows = self.offered(looks).with_counts(looks.added)
        assert isinstance(rows, Ordinal)
        return Results(*first_ballots(self.knowledge, rows))

    def _compared(self, looks: Looks, rows: SingleKind) -> tuple[Array, Array, Array, Array]:
        """Return what comparisons are about: the difference's mean and variance, its noise, and the truths with it."""
        seen = self.knowledge.seen(rows)
        signs = _signs(looks.added)
        once = rows.with_counts(np.ones_like(rows.counts))
        deviations = self.knowledge.model(once).means.spread(once.counts[None]).deviations
        noise = np.sqrt(np.sum(deviations.reshape(rows.counts.shape) ** 2 * np.abs(signs), axis=-1))
        mean = np.sum(signs * seen.mean, axis=-1)
        crossed = np.matmul(seen.crossed, signs[..., None])[..., 0]
        variance = np.sum(signs * np.matmul(seen.covariance, signs[..., None])[..., 0], axis=-1)
        return mean, variance, noise, crossed

    def _verdicts(self, looks: Looks) -> Results:
        """Comparisons: each number of wins has a chance, and moves the means along a line."""
        mean, variance, noise, crossed = self._compared(looks, self.offered(looks))
        n = len(self.knowledge.truths)
        most = int(min(np.max(looks.number), _EACH)) + 1
        chances, shifts = np.zeros((len(mean), max(most, _NODES))), np.zeros((len(mean), max(most, _NODES)))
        for times in np.unique(looks.number):
            own = looks.number == times
            if times <= _EACH:
                chance, after = verdicts(mean[own], variance[own], noise[own], int(times))
                shift = after - mean[own, None]
            else:
                told = _verdicts_tell(mean[own], variance[own], noise[own], times)
                nodes, weights = _nodes()
                shift = nodes * (variance[own] * np.sqrt(told / (1 + told * variance[own])))[:, None]
                chance = np.broadcast_to(weights, shift.shape)
            chances[own, : chance.shape[1]], shifts[own, : chance.shape[1]] = chance, shift
        return Results(chances, shifts[..., None] * (crossed / variance[:, None])[:, None, :].reshape(-1, 1, n))

    def _verdict_information(self, looks: Looks, rows: SingleKind) -> Array:
        mean, variance, noise, _ = self._compared(looks, rows)
        told = [
            float(_verdicts_tell(mean[k : k + 1], variance[k : k + 1], noise[k : k + 1], times)[0])
            for k, times in enumerate(looks.number)
        ]
        signs = _signs(looks.added)
        return np.asarray(told)[:, None, None] * signs[..., None] * signs[:, None, :]


def _verdicts_tell(mean: Array, variance: Array, noise: Array, number: float) -> Array:
    """Return the precision of the normal observation that tells as much of a difference as so many verdicts."""
    size = int(min(number, _EACH))
    chance, after = verdicts(mean, variance, noise, size)
    explained = np.sum(chance * (after - mean[:, None]) ** 2, axis=-1)
    left = np.maximum(variance - explained, 1e-9 * variance)
    return (1 / left - 1 / variance) * number / size


def _signs(added: Array) -> Array:
    """Return 1 for the first and −1 for the second of the two that are compared, ``(look, n)``."""
    there = added > 0
    return there * np.where(np.cumsum(there, axis=-1) == 1, 1.0, -1.0)


def _nodes() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / np.sum(weights)


def _filled(rows: SingleKind) -> SingleKind:
    """Let voters share errors also about what they have not seen yet, as they do about what they have."""
    if rows.loadings is None:
        return rows
    seen = (rows.counts > 0)[..., None]
    number = np.maximum(np.sum(seen, axis=-2, keepdims=True), 1)
    loadings = np.where(seen, rows.loadings, np.sum(np.where(seen, rows.loadings, 0), axis=-2, keepdims=True) / number)
    sharing = rows.sharing
    if sharing is not None:
        mean = np.sum(np.where(seen[..., 0], sharing, 0), axis=-1, keepdims=True) / number[..., 0]
        sharing = np.where(seen[..., 0], sharing, mean)
    return rows.with_shared_errors(loadings, sharing)


def _with_newcomers(rows: SingleKind) -> SingleKind:
    """Add a voter who has seen nothing, and shares no errors."""
    longer = rows.padded(len(rows.counts) + 1, rows.counts.shape[-1])
    return longer.weighed(np.ones(len(longer.counts)), rows.mask)
