"""What can be known of how votes came about."""

from dataclasses import dataclass
from typing import Any

from veritally.model.errors import Percentage, Replacement
from veritally.model.observation import BernoulliArms
from veritally.model.scenario import Scenario
from veritally.model.truth import NormalTruth


@dataclass(frozen=True)
class KnownParameters:
    """What rules may know of how votes came about.

    Attributes
    ----------
    sigma
        The standard deviation of one observation; None if nobody knows.
    tau
        The standard deviation of the truths.
    count_error, count_range
        How counts are wrong, and where true ones lie.
    noise
        The distribution of one observation.
    """

    sigma: float | tuple[float, ...] | None = None
    tau: float | None = None
    count_error: Any = None
    count_range: tuple[float, float] | None = None
    noise: Any = None

    @classmethod
    def of(cls, scenario: Scenario) -> "KnownParameters":
        """Return what can be known of a scenario."""
        error = scenario.count_error if isinstance(scenario.count_error, Percentage | Replacement) else None
        possible = scenario.experience.possible
        return cls(
            None if isinstance(scenario.noise, BernoulliArms) else scenario.sigma,
            scenario.prior.sd if isinstance(scenario.prior, NormalTruth) else None,
            error,
            (max(1.0, float(min(possible))), float(max(possible))),
            scenario.noise,
        )
