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
    """Whether a rule found what it searched for."""

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
        """The warning that goes with the status; empty if the search converged."""
        return _STATUS[self][1]


_STATUS = {
    Status.CONVERGED: ("converged", ""),
    Status.STOPPED: (
        "stopped at a limit",
        "the search stopped at its limit of steps before it converged, so scores and probabilities may be off: compare "
        "them with those of the rule score, which needs no search",
    ),
    Status.UNBOUNDED: ("no finite maximum", "the likelihood has no finite maximum"),
    Status.MODE: (
        "fell back to the mode",
        "the posterior mean could not be found for these votes, so the mode is used instead: scores and probabilities "
        "are rough",
    ),
}


def status_of(converged: Array) -> Array:
    """Return the status of decisions whose search converged, or not, ``(...)``."""
    return namespace(converged).where(converged, int(Status.CONVERGED), int(Status.STOPPED))


class Fit(NamedTuple):
    """What a rule finds: plain arrays with leading batch axes, which can be stored and sent to another process.

    Attributes
    ----------
    scores
        ``(..., alternative)``, −inf without evidence.
    rounding
        How far off each score may be, by rounding or by stopping early. Scores closer than this count as tied.
    status
        A :class:`Status` for each decision, ``(...)``.
    p_best
        The probability that each alternative is the best, from rules that compute it directly.
    scale
        σ/τ and the ends of its 95% interval, ``(..., 3)``, from rules that estimate it.
    details
        Further results by name, each ``(...)``.
    warnings
        Warnings for decisions, by their place in the flattened batch; ``{3}`` is replaced by the name of the
        alternative at place 3.
    posterior
        The posterior of the truths, from rules that have one.
    pooled
        The noise estimated from all decisions of a kind together, if that was asked for.
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
        """Return the fit of a rule that needs no search, with the status converged."""
        status = namespace(scores).full(scores.shape[:-1], int(Status.CONVERGED))
        return cls(scores, rounding, status, **others)

    @property
    def winner(self) -> Array:
        """The place of the best alternative of each decision, ``(...)``; the first of those that tie."""
        scores, rounding = np.asarray(self.scores), np.asarray(self.rounding)
        best = np.argmax(scores, axis=-1, keepdims=True)
        least = np.take_along_axis(scores - rounding, best, axis=-1)
        return np.asarray(np.argmax(scores + rounding >= least, axis=-1))

    def messages(self, names: Sequence[Any]) -> list[str]:
        """Return the warnings about a single decision, including its status, with the names of its alternatives."""
        known = dict(enumerate(map(str, names)))

        def named(place: re.Match[str]) -> str:
            return known.get(int(place[1]), place[0])

        messages = [re.sub(r"\{(\d+)\}", named, text) for text in self.warnings.get(0, ())]
        status = Status(int(self.status)).message
        return messages if any(text.startswith(status) for text in messages) or not status else [*messages, status]

    def decision(self, d: int, voters: int, alternatives: int) -> "Fit":
        """Return the fit of one decision along the first batch axis, without its padding."""
        n, size = alternatives, math.prod(self.scores.shape[1:-1])
        return Fit(
            self.scores[d][..., :n],
            self.rounding[d][..., :n],
            self.status[d],
            None if self.p_best is None else self.p_best[d][..., :n],
            None if self.scale is None else self.scale[d],
            {name: value[d] for name, value in self.details.items()},
            {place - d * size: texts for place, texts in self.warnings.items() if d * size <= place < (d + 1) * size},
            None if self.posterior is None else self.posterior.decision(d, voters, n),
            self.pooled,
        )


class Rule(ABC):
    """A rule: its parameters, and the method ``fit``.

    Subclasses are frozen dataclasses whose fields are the rule's parameters. All methods are pure functions of arrays
    with leading batch axes; ``scores`` and ``p_best`` compile under ``jax.jit``.
    """

    votes: Kind | None = None
    """The kind of ballots that the rule takes; None for any."""
    alternatives: int | None = None
    """The number of alternatives that the rule is made for; None for any."""
    normalized: bool = False
    """Whether scores are means, which can be measured from any origin, not sums."""

    one_pass: ClassVar[bool] = False
    """Whether the rule goes over the votes once, instead of until it converges."""
    takes_panel: ClassVar[bool] = False
    """Whether the rule accounts for voters who share errors."""
    leaves_out_exactly: ClassVar[bool] = True
    """Whether leaving a voter out says the same as fitting the other votes anew."""
    internal: ClassVar[frozenset[str]] = frozenset()
    """Parameters that the program sets, not the user."""

    @property
    def joint(self) -> bool:
        """Whether decisions of a batch have to be decided together."""
        return False

    def prepared(self, ballots: Ballots) -> "Rule":
        """Return the rule with what it learns from all decisions together, before each is decided."""
        return self

    @abstractmethod
    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say."""

    def scores(self, ballots: Ballots) -> Array:
        """Return the scores alone, −inf without evidence."""
        return self.fit(ballots).scores

    def p_best(self, ballots: Ballots) -> Array | None:
        """Return only the probability of being the best, ``(..., alternative)``; None if the rule has none."""
        return self.fit(ballots).p_best

    def refit(self, ballots: Ballots, fit: Fit) -> Fit:
        """Fit other votes about the same alternatives, with the noise found before."""
        return self.fit(ballots)

    def contributions(self, ballots: Ballots, fit: Fit, origin: float = 0.0) -> Array:
        """Return what each voter adds to each score, ``(..., voter, alternative)``; they sum to the scores.

        Scores that are means are measured from an ``origin``. By default, a voter adds what leaving the voter out takes
        away, plus an even share of the rest.
        """
        return share_out(fit.scores, self.leave_one_out(ballots, fit).scores, ballots)

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn: scores ``(..., voter, alternative)``."""
        return fit_without_each(self, ballots)

    def belief(self, ballots: Ballots, fit: Fit, seed: int = 0) -> Belief | None:
        """Return how sure a single decision is; None for rules that only have scores."""
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the rule's parameters by name, as scikit-learn's ``clone`` needs them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def require(self, ballots: Ballots) -> None:
        """Refuse ballots of another kind or size, which would give meaningless numbers."""
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
