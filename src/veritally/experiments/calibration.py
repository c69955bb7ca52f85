"""Calibration: whether what is said to be best with 70% is best in 70% of the cases."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.ballots import coarsened
from veritally.checks import whole
from veritally.experiments.lineup import Entry, Told
from veritally.inference.posterior import Posterior
from veritally.noise.scenario import Scenario, scenario
from veritally.noise.simulation import ballots_from, draws

_BINS = 20
_AT_ONCE = 1000  # decisions


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
    given: Scenario | str, rule: str = "posterior", *, instances: int = 20_000, seed: int = 0, **changes: Any
) -> Calibration:
    """Compare P(best) with who was the best in simulated decisions.

    Parameters
    ----------
    given
        A scenario or the name of one; its ``votes`` are what the voters report.
    rule
        ``posterior``, or ``posterior:sigma=estimated`` to keep σ and τ from it.
    instances, seed
        How many decisions to draw, from which seed.
    **changes
        Fields of the scenario to set.
    """
    chosen = scenario(given, **changes)
    made = Entry.of(rule).make(Told.of(chosen), seed)
    total = np.zeros((3, _BINS))
    for drawn in draws(chosen, seed, 0, whole(instances, "instances", least=1)):
        for start in range(0, len(drawn.truth), _AT_ONCE):
            cut = slice(start, start + _AT_ONCE)
            ballots = coarsened(ballots_from(drawn.values[cut], drawn.reported[cut]), chosen.votes)
            total += binned(made, ballots, drawn.truth[cut])
    return Calibration(*(tuple(row) for row in total.tolist()))


def binned(rule: Posterior, ballots: Any, truth: Array) -> Array:
    """Return sums of what was said, of what happened, and how many there were, ``(3, bin)``."""
    said = np.asarray(rule.fitted(ballots).belief().p_best)
    best = truth == np.max(truth, axis=-1, keepdims=True)
    place = np.minimum((said * _BINS).astype(int), _BINS - 1).ravel()
    return np.stack([np.bincount(place, x.ravel(), _BINS) for x in (said, best, np.ones_like(said))])
