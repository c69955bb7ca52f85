"""One network for decisions of every kind, as a rule like any other."""

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from veritally.arrays import Array, in_pieces, is_traced, namespace
from veritally.errors import InputError
from veritally.inference import links
from veritally.inference.dispersion import geometric_mean
from veritally.inference.scale import interval
from veritally.learned.limits import agreement_probability, contrast, contrast_of_voters
from veritally.learned.models import TrainedModel, model
from veritally.learned.reading import Setting
from veritally.learned.scores import centred, rounded, softmax
from veritally.learned.universal_network import Answer, answer, without_each
from veritally.model.errors import Percentage, Replacement
from veritally.rules.protocol import Fit, Rule, warnings_where
from veritally.rules.sums import Sigma
from veritally.votes.ballots import Ballots

_REREAD = 1_000_000  # votes that are read again, at most, to leave out each voter in turn
_AT_ONCE = 1 << 15  # votes of a batch whose hidden values stay in the cache
_UNIT = float(np.finfo(np.float32).eps)
_CONTRAST = 100.0  # between counts on one ballot, beyond which choices are clearly worse than those of posterior
_EXPERT = 30.0  # times as much as the median voter, from which the best informed one was measured to count too little
_ODDS = 1e-6  # below which the probability that voters agree so well belies σ/τ as given


@dataclass(frozen=True)
class Universal(Rule):
    """One network for decisions of every kind: two rounds of encode, sum, decode.

        μ̂ = decode(Σ_i encode(ballot_i));    μ̂ moves by decode'(Σ_i encode'(ballot_i, μ̂))

    It was trained on 2 to 50 alternatives, 1 to 1,000 voters, counts from 1 to 10,000, σ/τ from 0.1 to 100, rankings
    full, partial and tied, favourites, and counts with errors. Scores are logits of being the best, measured from their
    mean; its estimates of the truths are in :meth:`answer`. It computes in single precision.

    Parameters
    ----------
    sigma
        The standard deviation of one observation, one for all alternatives or one for each.
    tau
        The standard deviation of the truths. Only σ/τ matters; unless both are given, it is estimated.
    count_error
        How reported counts may be wrong, with the size of the error; None if they are right.
    model
        The name of shipped weights, or a file.
    count_range
        The lowest and the highest true count; None for the range of those reported.

    References
    ----------
    ``docs/learned.md``.

    Examples
    --------
    >>> import veritally as vt
    >>> profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[9, 9, 9], [1, 1, 1]])
    >>> vt.decide(profile, rule="learned-universal", sigma=1, tau=1).winner
    0
    """

    sigma: Sigma | None = None
    tau: float | None = None
    count_error: Any = None
    model: str = "learned-universal"
    count_range: tuple[float, float] | None = None

    votes = "rankings"
    leaves_out_exactly: ClassVar[bool] = False  # where there are many voters
    internal: ClassVar[frozenset[str]] = frozenset({"count_range"})

    def __post_init__(self) -> None:
        if isinstance(self.count_error, type):
            raise InputError(
                "learned-universal needs the size of the count error, such as percentage:0.5; the rule posterior can "
                "estimate it"
            )

    @property
    def _model(self) -> TrainedModel:
        return model(self.model, "universal")

    def answer(self, ballots: Ballots) -> Answer:
        """Ask the network about rankings, in single precision; truths are measured in units of τ."""
        self.require(ballots)
        flat = _flat(ballots)
        number, m, n = flat.counts.shape
        parts = []
        for piece in in_pieces(flat.counts, number, max(1, _AT_ONCE // (m * n))):
            own = flat.map(itemgetter(piece))
            parts.append(answer(self._model.parameters, own, self._setting(own)))
        return _joined(parts, ballots.mask.shape[:-1])

    def _setting(self, ballots: Ballots) -> Setting:
        """Return what is given of each decision."""
        xp = namespace(ballots.counts)
        counts, multiplicity, mask = ballots.counts, ballots.multiplicity, ballots.mask
        number, n = mask.shape

        def everywhere(value: float) -> Array:
            return xp.full((number,), value, dtype=counts.dtype)

        given = self.sigma is not None and self.tau is not None
        log_sigma = xp.zeros((number, n), dtype=counts.dtype)
        if self.sigma is not None:
            log_sigma = log_sigma + xp.log(xp.asarray(self.sigma, dtype=counts.dtype) / (self.tau or 1.0))
        taken = (counts > 0) & (multiplicity > 0)[..., None]
        low, high = self.count_range or (None, None)
        lowest = xp.min(xp.where(taken, counts, xp.inf), axis=(-2, -1))
        return Setting(
            log_sigma,
            everywhere(float(given)),
            everywhere(self.count_error.size if isinstance(self.count_error, Percentage) else 0.0),
            everywhere(self.count_error.probability if isinstance(self.count_error, Replacement) else 0.0),
            xp.where(xp.isinf(lowest), 1, lowest) if low is None else everywhere(low),
            xp.max(xp.where(taken, counts, 1), axis=(-2, -1)) if high is None else everywhere(high),
        )

    def fit(self, ballots: Ballots) -> Fit:
        """Return what the votes say, with P(best) and σ/τ."""
        found = self.answer(ballots)
        scores, rounding = _scored(found.logits, ballots.mask, ballots)
        warnings = {} if is_traced(scores) else self._warnings(ballots)
        scale = self._scale(found, ballots)
        return Fit.without_search(scores, rounding, p_best=softmax(scores), scale=scale, warnings=warnings)

    def scores(self, ballots: Ballots) -> Array:
        """Return the logits alone, −inf without evidence."""
        return _scored(self.answer(ballots).logits, ballots.mask, ballots)[0]

    def _scale(self, found: Answer, ballots: Ballots) -> Array:
        """Return σ/τ and the ends of its 95% interval, ``(..., 3)``; equal where it was given.

        The interval is right on average over decisions like those of training, not at every σ/τ.
        """
        xp = namespace(ballots.counts)
        if self._ratio:
            ratio = xp.broadcast_to(xp.asarray(self._ratio, dtype=ballots.counts.dtype), ballots.mask.shape)
            return xp.stack([geometric_mean(ratio, ballots.mask)] * 3, axis=-1)
        return interval(found.scale.mean, xp.exp(found.scale.log_deviation))

    def leave_one_out(self, ballots: Ballots, fit: Fit) -> Fit:
        """Return what the votes say without each voter in turn.

        In full where that is quick, else roughly: with what the first round found from all of them.
        """
        m, mask = ballots.counts.shape[-2], ballots.seen_by_others
        if m * ballots.counts.size <= _REREAD:
            logits = self.answer(ballots.leaving_out(range(m))).logits
        else:
            flat = _flat(ballots)
            wide = mask.reshape(-1, *mask.shape[ballots.mask.ndim - 1 :])
            logits = without_each(self._model.parameters, flat, self._setting(flat), wide).reshape(mask.shape)
        return Fit.without_search(*_scored(logits, mask, ballots))

    def _warnings(self, ballots: Ballots) -> dict[int, tuple[str, ...]]:
        """Warn of votes outside of the training, hard to learn or in conflict with σ, and of missing links."""
        limits, ratio = self._model.limits, self._ratio
        apart = (contrast(ballots) > _CONTRAST) | (contrast_of_voters(ballots) >= _EXPERT)
        marks = limits.crossed(ballots, ratio) | self._belied(ballots) | apart | bool(self._half_given)
        links_missing = links.warnings(ballots)

        def messages(one: Ballots) -> list[str]:
            return [*self._half_given, *limits.warnings(one, ratio), *self._unlikely(one)]

        found = warnings_where(marks, ballots, messages)
        return {d: found.get(d, ()) + links_missing.get(d, ()) for d in sorted({*found, *links_missing})}

    def _belied(self, ballots: Ballots) -> Any:
        """Say in which decisions voters agree better than σ/τ as given allows."""
        if not self._ratio:
            return np.zeros(ballots.mask.shape[:-1], dtype=bool)
        flat = _flat(ballots).map(np.asarray)
        return np.reshape(agreement_probability(flat, self._setting(flat)) < _ODDS, ballots.mask.shape[:-1])

    def _unlikely(self, ballots: Ballots) -> list[str]:
        """Say of a single decision that votes belie σ, or that counts are too far apart for the network."""
        messages = []
        if self._belied(ballots):
            shown = float(np.exp(np.asarray(self.answer(ballots).scale.mean)))
            messages.append(
                "outside of what the network learned: voters agree much better than the given σ/τ allows (their votes "
                f"suggest about {shown:.2g}); check sigma and tau, or use the rule posterior"
            )
        if (apart := float(contrast(ballots))) > _CONTRAST:
            messages.append(
                f"counts on one ballot differ up to {apart:,.0f}-fold: the rule posterior may choose better here"
            )
        if (expert := float(contrast_of_voters(ballots))) >= _EXPERT:
            messages.append(
                f"the best informed voter saw {expert:,.0f} times as much as most others, and may get too little "
                "weight here: the rule posterior weighs such a voter correctly"
            )
        return messages

    @property
    def _half_given(self) -> list[str]:
        """Say that one of σ and τ tells nothing."""
        if (self.sigma is None) == (self.tau is None) or isinstance(self.sigma, tuple):
            return []
        given, other = ("tau", "sigma") if self.sigma is None else ("sigma", "tau")
        return [f"{given} without {other} has no effect here: only their ratio matters, and it is estimated"]

    @property
    def _ratio(self) -> tuple[float, ...]:
        """σ/τ, as far as it is given."""
        if self.sigma is None or self.tau is None:
            return ()
        return tuple(float(one) / self.tau for one in np.ravel(self.sigma))


def _flat(ballots: Ballots) -> Ballots:
    """Fold all batch axes into one, in single precision."""
    xp = namespace(ballots.counts)
    depth = ballots.mask.ndim - 1

    def folded(x: Array) -> Array:
        x = x if x.dtype == bool else xp.astype(x, xp.float32)
        return x.reshape(-1, *x.shape[depth:])

    return ballots.map(folded)


def _scored(logits: Array, mask: Array, ballots: Ballots) -> tuple[Array, Array]:
    logits = namespace(logits).astype(logits, ballots.counts.dtype)
    return rounded(centred(logits, mask), _UNIT)


def _joined(parts: list[Answer], batch: tuple[int, ...]) -> Answer:
    """Put the decisions together again, with their batch axes."""

    def join(*given: Any) -> Any:
        if isinstance(given[0], tuple):
            return type(given[0])(*map(join, *given))
        x = given[0] if len(given) == 1 else namespace(given[0]).concat(given)
        return namespace(x).reshape(x, (*batch, *x.shape[1:]))

    joined: Answer = join(*parts)
    return joined
