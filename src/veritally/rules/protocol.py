"""The rule protocol: a rule is parameters plus ``fit``, and what it finds is data.

    fit = rule.fit(ballots)

Everything else has a default that follows from ``fit``: a rule gives its own only where it knows a quicker way.
"""

import enum
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.inference.belief import Belief
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.scale import PooledNoise
from veritally.votes.ballots import Ballots, Kind

_CELLS = 1 << 20  # of votes that are fitted at once to leave out each voter in turn


class Status(enum.IntEnum):
    """Whether what was looked for was found."""

    CONVERGED = 0
    STOPPED = 1
    UNBOUNDED = 2
    MODE = 3

    @property
    def label(self) -> str:
        """The status in a few words."""
        return _STATUS[self][0]

    @property
    def message(self) -> str:
        """What to warn of; nothing if it was found."""
        return _STATUS[self][1]


_STATUS = {
    Status.CONVERGED: ("converged", ""),
    Status.STOPPED: (
        "stopped at a limit",
        "the search stopped at its limit of steps before it arrived: scores and probabilities may be off; the rule "
        "score, which needs no search, can serve as a check",
    ),
    Status.UNBOUNDED: ("no finite maximum", "the likelihood has no finite maximum"),
    Status.MODE: (
        "fell back to the mode",
        "the most probable truths stand in for their means, which could not be found for these votes: scores and "
        "probabilities are rough",
    ),
}


def status_of(converged: Array) -> Array:
    """Return the status of decisions whose search arrived, or not, ``(...)``."""
    return namespace(converged).where(converged, int(Status.CONVERGED), int(Status.STOPPED))


class Fit(NamedTuple):
    """What a rule finds: plain arrays, with leading batch axes, that can be kept and sent to another process.

    Attributes
    ----------
    scores
        ``(..., alternative)``, −inf without evidence.
    rounding
        How far rounding, or stopping early, may have driven each score: closer ones cannot be told apart.
    status
        A :class:`Status` for each decision, ``(...)``.
    p_best
        The probability that each alternative is the best, from rules that say it at once.
    scale
        σ/τ and the ends of its 95% interval, ``(..., 3)``, from rules that know it.
    details
        Further results by name, each ``(...)``.
    warnings
        What deserves a look, for decisions by their place in the flattened batch; ``{3}`` stands for the name of the
        alternative at place 3.
    posterior
        What the truths may be, from rules that know it.
    pooled
        What all decisions of a kind told about their noise together, where that was asked.
    """

    scores: Array
    rounding: Array
    status: Array
    p_best: Array | None = None
    scale: Array | None = None
    details: Mapping[str, Array] = {}
    warnings: Mapping[int, tuple[str, ...]] = {}
    posterior: PosteriorMixture | None = None
    pooled: tuple[PooledNoise, ...] = ()

    @classmethod
    def without_search(cls, scores: Array, rounding: Array, **others: Any) -> "Fit":
        """Return what a rule finds that needs no search, so that there is nothing to arrive at."""
        status = namespace(scores).full(scores.shape[:-1], int(Status.CONVERGED))
        return cls(scores, rounding, status, **others)

    @property
    def winner(self) -> Array:
        """The place of the best alternative of each decision, ``(...)``: the first of those that are as good."""
        scores, rounding = np.asarray(self.scores), np.asarray(self.rounding)
        best = np.argmax(scores, axis=-1, keepdims=True)
        least = np.take_along_axis(scores - rounding, best, axis=-1)
        return np.asarray(np.argmax(scores + rounding >= least, axis=-1))

    def messages(self, names: Sequence[Any]) -> list[str]:
        """Return the warnings about a single decision, with the names of its alternatives, and its status."""
        known = dict(enumerate(map(str, names)))

        def named(place: re.Match[str]) -> str:
            return known.get(int(place[1]), place[0])

        messages = [re.sub(r"\{(\d+)\}", named, said) for said in self.warnings.get(0, ())]
        status = Status(int(self.status)).message
        return messages if any(said.startswith(status) for said in messages) or not status else [*messages, status]

    def decision(self, d: int, voters: int, alternatives: int) -> "Fit":
        """Return what was found about one decision along the first batch axis, without its padding."""
        n, size = alternatives, math.prod(self.scores.shape[1:-1])
        return Fit(
            self.scores[d][..., :n],
            self.rounding[d][..., :n],
            self.status[d],
            None if self.p_best is None else self.p_best[d][..., :n],
            None if self.scale is None else self.scale[d],
            {name: value[d] for name, value in self.details.items()},
            {place - d * size: said for place, said in self.warnings.items() if d * size <= place < (d + 1) * size},
            None if self.posterior is None else self.posterior.decision(d, voters, n),
            self.pooled,
        )


class Rule(ABC):
    """A rule: what it was made of, and ``fit``.

    Subclasses are frozen dataclasses whose fields are the rule's parameters. All methods are pure functions of arrays
    with leading batch axes; ``scores`` and ``p_best`` compile under ``jax.jit``.
    """

    votes: Kind | None = None
    """The kind of ballots the rule takes; None for any."""
    alternatives: int | None = None
    """The number of alternatives it is made for; None for any."""
    normalized: bool = False
    """Whether scores are means, which can be measured from any origin, not sums."""

    one_pass: ClassVar[bool] = False
    """Whether the rule goes over the votes once, instead of until it has arrived."""
    takes_panel: ClassVar[bool] = False
    """Whether the rule knows what to do with voters who share errors."""
    internal: ClassVar[frozenset[str]] = frozenset()
    """Parameters that whoever runs the rule gives it, not a user."""

    @property
    def joint(self) -> bool:
        """Whether decisions of a batch have to be decided together."""
        return False

    def prepared(self, ballots: Ballots) -> "Rule":
        """Return the rule with what it finds out about all decisions together, before each is decided."""
        return self

    @abstractmethod
    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say."""

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone, −inf without evidence."""
        return self.fit(ballots).scores

    def p_best(self, ballots: Ballots) -> Array | None:
        """Return the probability of being the best alone, ``(..., alternative)``; None if the rule does not say."""
        return self.fit(ballots).p_best

    def refit(self, ballots: Ballots, fit: Fit) -> Fit:
        """Fit other votes about the same alternatives, with what was found about the noise."""
        return self.fit(ballots)

    def contributions(self, ballots: Ballots, fit: Fit, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``; they sum to the scores.

        Where scores are means, they are measured from an ``origin``. By default it is what leaving the voter out takes
        away, and an even share of the rest.
        """
        return share_out(fit.scores, self.leave_one_out(ballots, fit).scores, ballots)

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn: scores ``(..., voter, alternative)``."""
        return fit_without_each(self, ballots)

    def belief(self, ballots: Ballots, fit: Fit, seed: int = 0) -> Belief | None:
        """Say how sure a single decision is; None for rules that know only scores."""
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the rule was made of, by name, as scikit-learn's ``clone`` asks for it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def require(self, ballots: Ballots) -> None:
        """Refuse ballots of another kind or size, which would give numbers without meaning."""
        n = ballots.counts.shape[-1]
        if self.votes not in (None, ballots.kind):
            raise InputError(f"this rule takes {self.votes}, not {ballots.kind}; coarsen the profile first")
        if self.alternatives not in (None, n):
            raise InputError(f"this rule takes {self.alternatives} alternatives, not {n}")


def warnings_where(
    marks: Array, ballots: Ballots, messages: Callable[[Ballots], Iterable[str]]
) -> dict[int, tuple[str, ...]]:
    """Return what there is to say of the marked decisions, ``(...)``, each taken by itself."""
    depth = ballots.mask.ndim - 1
    flat = ballots.map(lambda x: np.reshape(np.asarray(x), (-1, *x.shape[depth:])))
    wanted = map(int, np.flatnonzero(np.broadcast_to(marks, ballots.mask.shape[:-1])))
    return {d: tuple(messages(flat.map(itemgetter(d)))) for d in wanted}


def fit_without_each(rule: Rule, ballots: Ballots) -> Fit:
    """Fit the votes without each voter in turn, some voters at a time."""
    xp = namespace(ballots.counts)
    voters = ballots.counts.shape[-2]
    step = max(1, _CELLS // max(1, ballots.counts.size))
    axis = ballots.mask.ndim - 1
    parts = []
    for start in range(0, voters, step):
        found = rule.fit(ballots.leaving_out(range(start, min(start + step, voters))))
        parts.append((found.scores, found.rounding, found.status))
    return Fit(*(xp.concat(list(x), axis=axis) for x in zip(*parts, strict=True)))


def share_out(scores: Array, without: Array, ballots: Ballots) -> Array:
    """Share scores out among voters: to each what leaving the ballot out takes away, and the rest evenly.

    Ballots that compare nothing get nothing.
    """
    xp = namespace(scores)
    times = ballots.effective_multiplicity
    known = scores > -xp.inf
    full = xp.where(known, scores, 0)[..., None, :]
    lost = full - xp.where(without > -xp.inf, without, 0)
    lost = xp.where((times > 0)[..., None] & known[..., None, :], lost, 0)
    rest = full - xp.sum(lost, axis=-2, keepdims=True)
    whole = xp.sum(times, axis=-1)[..., None, None]
    return lost + xp.where(known[..., None, :], rest, 0) * times[..., None] / xp.where(whole > 0, whole, 1)
