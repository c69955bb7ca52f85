"""Learned rules: networks with their weights, as rules like any other."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from veritally.arrays import Array, in_pieces, namespace
from veritally.ballots import Ballots, Kind
from veritally.errors import InputError
from veritally.learned.deepsets import DeepSets
from veritally.learned.layers import Parameters
from veritally.learned.models import Model, model
from veritally.learned.universal import Answer, Estimate, Setting, answer, without_each
from veritally.noise.errors import Percentage, Replacement
from veritally.rules.rule import Encoding, Rule, Scores, Sigma

_ROUNDINGS = 64  # of the largest score, by which equal ones may differ
_REREAD = 300_000  # votes that are read again, at most, to leave out each voter in turn
_AT_ONCE = 1 << 15  # votes of a batch whose hidden values stay in the cache


@dataclass(frozen=True)
class Learned:
    """The paper's network, trained on its high-variance condition or by a user.

    Parameters
    ----------
    model
        The name of shipped weights, or a file that ``veritally train`` made.

    References
    ----------
    Pitis & Zhang (2020), Learning an Aggregation Rule; ``docs/learned.md``.
    """

    model: str = "learned"

    def rule(self) -> "LearnedRule":
        """Return the rule."""
        found = model(self.model, "deepsets")
        return LearnedRule(
            found.deepsets, "rankings", normalized=found.deepsets.configuration.total == "mean", model=found
        )


@dataclass(frozen=True)
class LearnedNoisy(Learned):
    """The paper's network, trained on counts that are off by up to ± 50%."""

    model: str = "learned-noisy"


@dataclass(frozen=True)
class LearnedRule(Rule):
    """A rule whose tally is decoded by a network; scores are logits of being the best, from their mean."""

    model: Model | None = None

    @property
    def network(self) -> DeepSets:
        """The network."""
        assert isinstance(self.encoder, DeepSets)
        return self.encoder

    def decode(self, tally: Encoding, mask: Array) -> Array:
        """Turn a tally into logits, −inf outside ``mask``."""
        xp = namespace(tally.weights)
        plain = super().decode(tally, mask)
        known = plain > -xp.inf
        return _centred(self.network.decode(xp.where(known, plain, 0), known), known)

    def _scored(self, ballots: Ballots, add: Callable[[Array], Array], mask: Array) -> Scores:
        weights, norms = (x * ballots.multiplicity[..., None] for x in self.encode(ballots) if x is not None)
        scores = self.decode(Encoding(add(weights), add(norms)), mask)
        return _rounded(scores, namespace(scores).finfo(scores.dtype).eps)

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds: what leaving the voter out takes away, and an even share of the rest."""
        return shared(self.scores(ballots), self.leave_one_out(ballots).scores, ballots)

    def p_best(self, ballots: Ballots) -> Array:
        """Return the probability that each alternative is the best, ``(..., alternative)``."""
        return softmax(self.scores(ballots))

    def odd(self, ballots: Ballots) -> Any:
        """Say in which decisions something lies outside of what was trained on."""
        return outside(ballots, self.model).any(axis=-1)

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Name what lies outside of what was trained on."""
        return _warned(ballots, self.model)


@dataclass(frozen=True)
class Universal:
    """One network for decisions of every kind: two rounds of encode, sum, decode.

    It was trained on 2 to 50 alternatives, 1 to 1,000 voters, counts from 1 to 10,000, σ/τ from 0.1 to 100, rankings
    full, partial and tied, favourites, and counts with errors. Scores are estimates of the truths, measured from their
    mean. It computes in single precision.

    Parameters
    ----------
    sigma
        The standard deviation of one observation, one for all alternatives or one for each; None to estimate.
    tau
        The standard deviation of the truths; None for 1 if σ is to be estimated, else to estimate.
    count_error
        How reported counts may be wrong, with the size of the error; None for not at all.
    count_range
        From where to where true counts may lie; None for the range of those reported.
    model
        The name of shipped weights, or a file.

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
    count_range: tuple[float, float] | None = None
    model: str = "learned-universal"

    votes: ClassVar[Kind] = "rankings"
    normalized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.count_error, type):
            raise InputError(
                "learned-universal needs to be told the size of count errors, as in percentage:0.5; posterior can "
                "estimate it"
            )

    @property
    def _parameters(self) -> Parameters:
        return model(self.model, "universal").parameters

    def answer(self, ballots: Ballots) -> tuple[Answer, Array]:
        """Ask the network, in single precision; return what it says, and τ of each decision."""
        xp = namespace(ballots.counts)
        ballots = _single(ballots)
        *batch, m, n = ballots.counts.shape
        flat = type(ballots)(*(x.reshape(-1, *x.shape[len(batch) :]) for x in ballots))
        parts = [
            answer(self._parameters, own, self._setting(own))
            for piece in in_pieces(flat.counts, len(flat.counts), max(1, _AT_ONCE // (m * n)))
            for own in [type(flat)(*(x[piece] for x in flat))]
        ]
        given = _joined(parts, batch)
        return given, self._tau(given, xp)

    def _setting(self, ballots: Ballots) -> Setting:
        """Return what is told of each decision."""
        xp = namespace(ballots.counts)
        counts, multiplicity, mask = ballots[1:]
        number, n = mask.shape

        def everywhere(value: float) -> Array:
            return xp.full((number,), value, dtype=counts.dtype)

        told = self.sigma is not None and self.tau is not None
        tau = self.tau if told else None
        log_sigma = xp.zeros((number, n), dtype=counts.dtype)
        if self.sigma is not None:
            log_sigma = log_sigma + xp.log(xp.asarray(self.sigma, dtype=counts.dtype) / (tau or 1.0))
        taken = (counts > 0) & (multiplicity > 0)[..., None]
        low, high = self.count_range or (None, None)
        lowest = xp.min(xp.where(taken, counts, xp.inf), axis=(-2, -1))
        return Setting(
            log_sigma,
            everywhere(float(told)),
            everywhere(self.count_error.size if isinstance(self.count_error, Percentage) else 0.0),
            everywhere(self.count_error.probability if isinstance(self.count_error, Replacement) else 0.0),
            xp.where(xp.isinf(lowest), 1, lowest) if low is None else everywhere(low),
            xp.max(xp.where(taken, counts, 1), axis=(-2, -1)) if high is None else everywhere(high),
        )

    def _tau(self, given: Answer, xp: Any) -> Array:
        """Return τ as told, or as σ and the estimated σ/τ have it."""
        if self.tau is not None or self.sigma is None:
            return xp.ones_like(given.scale.mean) * (self.tau or 1.0)
        middle = xp.exp(xp.mean(xp.log(xp.asarray(self.sigma, dtype=given.scale.mean.dtype))))
        return middle / xp.exp(given.scale.mean)

    def scores(self, ballots: Ballots) -> Array:
        """Return the estimates alone, −inf without evidence."""
        return self.score(ballots).scores

    def score(self, ballots: Ballots) -> Scores:
        """Return the estimates, and how far apart the same may be."""
        given, tau = self.answer(ballots)
        estimate = given.second.mean * tau[..., None]
        return self._rounded(namespace(estimate).where(ballots.mask, estimate, -np.inf), ballots)

    def _rounded(self, scores: Array, ballots: Ballots) -> Scores:
        unit = float(np.finfo(np.float32).eps)
        return _rounded(namespace(scores).astype(scores, ballots.counts.dtype), unit)

    def p_best(self, ballots: Ballots) -> Array:
        """Return the probability that each alternative is the best, ``(..., alternative)``."""
        xp = namespace(ballots.counts)
        return softmax(xp.astype(self.answer(ballots)[0].logits, ballots.counts.dtype))

    def weights(self, ballots: Ballots, origin: float = 0.0) -> Array:
        """Return what each voter adds: what leaving the voter out takes away, and an even share of the rest."""
        return shared(self.scores(ballots), self.leave_one_out(ballots).scores, ballots)

    def leave_one_out(self, ballots: Ballots) -> Scores:
        """Return the scores without each voter in turn, ``(..., voter, alternative)``.

        In full where that is quick, else with what the first round found from all of them.
        """
        xp = namespace(ballots.counts)
        *batch, m, _ = ballots.counts.shape
        axis = len(batch)
        saw = xp.astype((ballots.counts > 0) & (ballots.multiplicity > 0)[..., None], ballots.counts.dtype)
        mask = xp.sum(saw, axis=-2, keepdims=True) - saw > 0
        if m * ballots.counts.size <= _REREAD:
            others = xp.ones((m, m), dtype=saw.dtype) - xp.eye(m, dtype=saw.dtype)
            fields = [xp.broadcast_to(xp.expand_dims(x, axis=axis), (*batch, m, *x.shape[axis:])) for x in ballots[:3]]
            return self.score(type(ballots)(fields[0], fields[1], fields[2] * others, mask))
        single = _single(ballots)
        flat = type(ballots)(*(x.reshape(-1, *x.shape[axis:]) for x in single))
        wide = mask.reshape(-1, *mask.shape[axis:])
        estimates = xp.reshape(without_each(self._parameters, flat, self._setting(flat), wide), mask.shape)
        tau = self.answer(ballots)[1][..., None, None]
        return self._rounded(xp.where(mask, estimates * tau, -xp.inf), ballots)

    def fitted(self, ballots: Ballots, seed: int = 0) -> "AnsweredUniversal":
        """Return the rule with its answer to these votes."""
        own = {field.name: getattr(self, field.name) for field in fields(Universal)}
        return AnsweredUniversal(**own, known=(ballots, *self.answer(ballots)))

    def details(self, ballots: Ballots) -> dict[str, Array]:
        """Return nothing beside scores and P(best)."""
        return {}

    def odd(self, ballots: Ballots) -> Any:
        """Say in which decisions something lies outside of what was trained on."""
        return self._outside(ballots).any(axis=-1)

    def remarks(self, ballots: Ballots, names: tuple[Any, ...]) -> list[str]:
        """Name what lies outside of what was trained on."""
        return _warned(ballots, model(self.model, "universal"), self._ratio)

    def _outside(self, ballots: Ballots) -> Any:
        return outside(ballots, model(self.model, "universal"), self._ratio)

    @property
    def _ratio(self) -> tuple[float, ...]:
        """σ/τ, as far as it is told."""
        if self.sigma is None or self.tau is None:
            return ()
        return tuple(float(one) / self.tau for one in np.ravel(self.sigma))


@dataclass(frozen=True, eq=False)
class AnsweredUniversal(Universal):
    """The rule with its answer to some votes; other votes are asked about anew."""

    known: tuple[Ballots, Answer, Array] | None = None

    def answer(self, ballots: Ballots) -> tuple[Answer, Array]:
        """Return what is known, or ask."""
        if self.known is not None and ballots is self.known[0]:
            return self.known[1:]
        return super().answer(ballots)

    def decision(self, d: int, ballots: Ballots) -> "AnsweredUniversal":
        """Return the rule with its answer to one decision along the first batch axis."""
        assert self.known is not None
        (first, second, logits, scale), tau = self.known[1:]
        n = ballots.counts.shape[-1]
        first, second = (Estimate(*(x[d][..., :n] for x in one)) for one in (first, second))
        given = Answer(first, second, logits[d][..., :n], Estimate(*(x[d] for x in scale)))
        return replace(self, known=(ballots, given, tau[d]))


def _single(ballots: Ballots) -> Ballots:
    xp = namespace(ballots.counts)
    votes, counts, multiplicity = (xp.astype(x, xp.float32) for x in ballots[:3])
    return type(ballots)(votes, counts, multiplicity, ballots.mask)


def _joined(parts: list[Answer], batch: list[int]) -> Answer:
    """Put the decisions together again, with their batch axes."""

    def join(*given: Any) -> Any:
        if hasattr(given[0], "_fields"):
            return type(given[0])(*map(join, *given))
        x = given[0] if len(given) == 1 else namespace(given[0]).concat(given)
        return namespace(x).reshape(x, (*batch, *x.shape[1:]))

    joined: Answer = join(*parts)
    return joined


def softmax(logits: Array) -> Array:
    """Return probabilities; 0 for −inf, also where there is nothing else."""
    xp = namespace(logits)
    highest = xp.max(logits, axis=-1, keepdims=True)
    odds = xp.exp(logits - xp.where(xp.isinf(highest), 0, highest))
    whole = xp.sum(odds, axis=-1, keepdims=True)
    return odds / xp.where(whole > 0, whole, 1)


def shared(scores: Array, without: Array, ballots: Ballots) -> Array:
    """Share scores out among voters: to each what leaving the voter out takes away, and the rest evenly."""
    xp = namespace(scores)
    times = ballots.multiplicity
    known = scores > -xp.inf
    full = xp.where(known, scores, 0)[..., None, :]
    lost = full - xp.where(without > -xp.inf, without, 0)
    lost = xp.where((times > 0)[..., None] & known[..., None, :], lost, 0)
    rest = full - xp.sum(lost, axis=-2, keepdims=True)
    whole = xp.sum(times, axis=-1)[..., None, None]
    return lost + xp.where(known[..., None, :], rest, 0) * times[..., None] / xp.where(whole > 0, whole, 1)


def _centred(scores: Array, known: Array) -> Array:
    """Measure logits from their mean."""
    xp = namespace(scores)
    number = xp.sum(xp.astype(known, scores.dtype), axis=-1, keepdims=True)
    middle = xp.sum(xp.where(known, scores, 0), axis=-1, keepdims=True) / xp.where(number > 0, number, 1)
    return xp.where(known, scores - middle, -xp.inf)


def _rounded(scores: Array, unit: float) -> Scores:
    """Return scores with how far rounding may have driven them."""
    xp = namespace(scores)
    known = scores > -xp.inf
    largest = xp.max(xp.where(known, xp.abs(scores), 0), axis=-1, keepdims=True)
    near = xp.broadcast_to(unit * _ROUNDINGS * largest, scores.shape)
    return Scores(scores, xp.where(known, near, 0))


_WHAT = ("voters", "alternatives", "counts", "sigma")


def outside(ballots: Ballots, trained: Model | None, ratio: tuple[float, ...] = ()) -> Any:
    """Say which of voters, alternatives, counts and σ/τ lie outside of what was trained on, ``(..., 4)``."""
    assert trained is not None
    found = []
    for name, (low, high) in _ends(ballots, ratio).items():
        least, most = trained.range(name) or (-np.inf, np.inf)
        found.append((low < least) | (high > most))
    return np.stack(np.broadcast_arrays(*found), axis=-1)


def _ends(ballots: Ballots, ratio: tuple[float, ...]) -> dict[str, tuple[Any, Any]]:
    """Return the lowest and the highest of each, by decision."""
    counts, times = np.asarray(ballots.counts), np.asarray(ballots.multiplicity)
    seen = (counts > 0) & (times > 0)[..., None]
    voters = np.sum(np.where(seen.any(axis=-1), times, 0), axis=-1)
    alternatives = np.asarray(ballots.mask).sum(axis=-1)
    least, most = np.min(counts, initial=np.inf, where=seen, axis=(-2, -1)), np.max(counts, initial=0, axis=(-2, -1))
    ends = {"voters": (voters, voters), "alternatives": (alternatives, alternatives), "counts": (least, most)}
    known = (np.float64(min(ratio)), np.float64(max(ratio))) if ratio else (np.float64(1), np.float64(1))
    return {**ends, "sigma": known}


def _warned(ballots: Ballots, trained: Model | None, ratio: tuple[float, ...] = ()) -> list[str]:
    """Say of a single decision what lies outside of what was trained on, and what to do."""
    assert trained is not None
    odd = outside(ballots, trained, ratio)
    if not odd.any():
        return []
    ends = _ends(ballots, ratio)
    parts = []
    for name, out in zip(_WHAT, odd, strict=True):
        if out:
            low, high = (float(x) for x in ends[name])
            least, most = trained.range(name) or (0.0, 0.0)
            here = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            parts.append(f"{'σ/τ' if name == 'sigma' else name} {here} (trained on {least:g} to {most:g})")
    return [f"outside of what the network learned: {'; '.join(parts)}; the rule posterior has no such limits"]
