"""Calibration: whether what is said to be best with 70% is best in 70% of the cases."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.checks import whole
from veritally.errors import InputError
from veritally.experiments.rule_set import Entry
from veritally.learned.rule import Learned
from veritally.learned.universal import Universal
from veritally.model.known import KnownParameters
from veritally.model.scenario import Draws, Scenario, scenario
from veritally.model.simulation import Backend, ballots_from, draw_in_jax, draws
from veritally.rules.posterior import Posterior
from veritally.votes.ballots import Kind

_BINS = 20
_AT_ONCE = {"numpy": 100, "jax": 1000}  # decisions, all of which wait for the slowest


@dataclass(frozen=True)
class Calibration:
    """How often alternatives said to be best with a certain probability were.

    Attributes
    ----------
    said, happened
        Sums over the alternatives in each of 20 bins of P(best), of what was said and of how many were the best.
    number
        How many alternatives there were in each.
    """

    said: tuple[float, ...]
    happened: tuple[float, ...]
    number: tuple[float, ...]

    @classmethod
    def nothing(cls) -> "Calibration":
        """Return that of no decisions."""
        return cls(*[(0.0,) * _BINS] * 3)

    def __add__(self, other: "Calibration") -> "Calibration":
        """Put the decisions of both together."""
        sums = zip((self.said, self.happened, self.number), (other.said, other.happened, other.number), strict=True)
        return Calibration(*(tuple(np.add(*both).tolist()) for both in sums))

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance between both, all alternatives counted."""
        return float(np.sum(np.abs(np.array(self.said) - np.array(self.happened))) / np.sum(self.number))

    @property
    def chance(self) -> float:
        """The error that perfect calibration would show in so many cases by chance, on average."""
        share = np.array(self.said) / np.maximum(self.number, 1)
        deviation = np.sqrt(np.array(self.number) * share * (1 - share))
        return float(np.sqrt(2 / np.pi) * np.sum(deviation) / np.sum(self.number))

    def rows(self) -> Iterator[dict[str, float]]:
        """Yield a row for each bin that has any alternatives."""
        for said, happened, number in zip(self.said, self.happened, self.number, strict=True):
            if number:
                yield {"said": said / number, "happened": happened / number, "number": number}


def calibrate(
    given: Scenario | str,
    rule: str = "posterior",
    *,
    instances: int = 20_000,
    seed: int = 0,
    backend: Backend = "numpy",
    **changes: Any,
) -> Calibration:
    """Compare P(best) with who was the best in simulated decisions.

    Parameters
    ----------
    given
        A scenario or the name of one; its ``votes`` are what the voters report.
    rule
        ``posterior``, ``posterior:sigma=estimated`` to keep σ and τ from it, or a learned rule.
    instances, seed
        How many decisions to draw, from which seed.
    backend
        ``numpy``, or ``jax`` for an accelerator.
    **changes
        Fields of the scenario to set.
    """
    chosen = scenario(given, **changes)
    entry = Entry.of(rule)
    made = entry.make(KnownParameters.of(chosen), seed)
    if isinstance(made, Posterior):
        made = replace(made, estimate="mean")
    if not isinstance(made, Posterior | Learned | Universal):
        raise InputError(f"the rule {entry.info.name} gives no probabilities to calibrate; try posterior")
    if not entry.info.fits(chosen.votes, chosen.alternatives):
        raise InputError(f"the rule {entry.info.name} needs {entry.votes}, but voters report {chosen.votes}")
    say = partial(_said, made, chosen.votes, entry.votes)
    if backend == "jax":
        say = _compiled(say)
    total = np.zeros((3, _BINS))
    for drawn in _drawn(chosen, seed, whole(instances, "instances", least=1), backend):
        total += binned(np.asarray(say(drawn.values, drawn.reported)), np.asarray(drawn.truth))
    return Calibration(*(tuple(row) for row in total.tolist()))


def _drawn(chosen: Scenario, seed: int, instances: int, backend: Backend) -> Iterator[Draws]:
    """Yield some decisions at a time."""
    size = _AT_ONCE[backend]
    if backend == "jax":
        draw = _compiled(partial(draw_in_jax, chosen, size=min(size, instances)))
        for start in range(0, instances, size):
            drawn = draw(seed, start)
            yield type(drawn)(*(x[: instances - start] for x in drawn))
        return
    for drawn in draws(chosen, seed, 0, instances):
        for start in range(0, len(drawn.truth), size):
            yield type(drawn)(*(x[start : start + size] for x in drawn))


def _compiled(function: Any) -> Any:
    import jax

    return jax.jit(function)


def _said(rule: Any, votes: Kind, used: Kind | None, values: Array, reported: Array) -> Array:
    """Return P(best) as the rule says that uses a kind of the votes that are reported."""
    ballots = ballots_from(values, reported).coarsened(votes)
    return rule.p_best(ballots if used is None else ballots.coarsened(used))


def binned(said: Array, truth: Array) -> Array:
    """Return sums of what was said, of what happened, and how many there were, ``(3, bin)``."""
    best = truth == np.max(truth, axis=-1, keepdims=True)
    place = np.minimum((said * _BINS).astype(int), _BINS - 1).ravel()
    return np.stack([np.bincount(place, x.ravel(), _BINS) for x in (said, best, np.ones_like(said))])
