"""Scenario: everything that votes with a known truth depend on."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array, Random, Shape, namespace
from veritally.checks import number_or_text, positive, whole
from veritally.errors import InputError, quoted
from veritally.model.errors import CountError, Percentage, Replacement
from veritally.model.experience import (
    ConstantCounts,
    Experience,
    GivenCounts,
    Specialists,
    StratifiedCounts,
    UniformCounts,
)
from veritally.model.observation import (
    NOT_FINITE,
    BernoulliArms,
    FunctionNoise,
    LaplaceNoise,
    NormalNoise,
    Observation,
    StudentNoise,
    UniformNoise,
    separate_ties,
)
from veritally.model.truth import FixedTruth, NormalTruth, TruthDistribution
from veritally.votes.ballots import Kind
from veritally.votes.kinds import KINDS
from veritally.votes.labels import require_known

_MOST_CELLS = 2**31  # of one instance
_MOST_SUMMED = 10**6  # observations that are added one by one

PARTS: dict[str, dict[str, Callable[..., Any]]] = {
    "prior": {"normal": NormalTruth, "fixed": FixedTruth},
    "experience": {
        "uniform": UniformCounts,
        "stratified": StratifiedCounts,
        "constant": ConstantCounts,
        "specialists": Specialists,
        "given": GivenCounts,
    },
    "noise": {
        "normal": NormalNoise,
        "uniform": UniformNoise,
        "laplace": LaplaceNoise,
        "student": StudentNoise,
        "bernoulli": BernoulliArms,
    },
    "count_error": {"percentage": Percentage, "replacement": Replacement},
}
"""The parts of a scenario by name."""


class Draws(NamedTuple):
    """What was drawn.

    Truths ``(..., alternative)``; true and reported counts, and the means seen, NaN for unseen, all
    ``(..., voter, alternative)``; and a number for each alternative, to break ties by.
    """

    truth: Array
    counts: Array
    reported: Array
    values: Array
    tie_breakers: Array


@dataclass(frozen=True)
class Scenario:
    """How truths, counts and votes are simulated.

    Parameters
    ----------
    voters, alternatives
        The numbers of voters and alternatives.
    prior
        The truth μ_j: ``NormalTruth(mean, sd)``, or a sequence of fixed values.
    experience
        The counts c_ij: ``UniformCounts(low, high)``, ``StratifiedCounts(low, high)``, ``Specialists(known, many,
        few)``, one number for all, or a matrix (voter, alternative). 0 means that a voter never sees the alternative.
    noise
        The distribution of one observation: ``NormalNoise()``, ``UniformNoise()``, ``LaplaceNoise()``,
        ``StudentNoise(freedom)``, ``BernoulliArms(link)``, or any ``(random, shape) -> errors`` that draws errors of
        single observations, in units of σ (:class:`veritally.model.FunctionNoise`).
    sigma
        The standard deviation of one observation, one number or one for each alternative.
    count_error
        How voters misreport their counts: None, ``Percentage(size)``, ``Replacement(probability)``, or any
        ``(random, counts, experience) -> reported``.
    votes
        What the voters report: ``values``, ``rankings``, ``top``, or ``differences`` of two alternatives.

    Notes
    -----
    Each part may be written as text, with its name and numbers: ``experience="specialists:2:40:1"``,
    ``noise="student:5"``, ``count_error="percentage:0.5"``.

    Examples
    --------
    >>> Scenario(voters=3, alternatives=2, sigma=10, experience="uniform:1:5").experience
    UniformCounts(low=1, high=5)
    """

    voters: int = 10
    alternatives: int = 10
    prior: TruthDistribution = field(default_factory=NormalTruth)
    experience: Experience = field(default_factory=UniformCounts)
    noise: Observation = field(default_factory=NormalNoise)
    sigma: float | tuple[float, ...] = 1.0
    count_error: CountError | None = None
    votes: Kind = "values"

    def __post_init__(self) -> None:
        self._set("voters", whole(self.voters, "the number of voters", least=1))
        self._set("alternatives", whole(self.alternatives, "the number of alternatives", least=2))
        self._set("prior", part("prior", self.prior))
        self._set("experience", part("experience", self.experience))
        self._set("noise", part("noise", self.noise))
        self._set("count_error", part("count_error", self.count_error))
        sigma: Any = self.sigma
        several = isinstance(sigma, list | tuple) or (isinstance(sigma, np.ndarray) and sigma.ndim > 0)
        self._set("sigma", tuple(positive(x, "sigma") for x in sigma) if several else positive(sigma, "sigma"))
        self._set("votes", {"value": "values", "rank": "rankings"}.get(self.votes, self.votes))
        kinds = [kind for kind in KINDS if kind not in ("pairs", "mixed")]
        if self.votes not in kinds:
            raise InputError(f"votes can be {', '.join(kinds)}, not {quoted(self.votes)}")
        self._check()

    def _check(self) -> None:
        """Refuse parts that do not fit each other."""
        n = self.alternatives
        if self.voters * n > _MOST_CELLS:
            raise InputError(f"{self.voters} voters on {n} alternatives are too many to simulate")
        if isinstance(self.sigma, tuple) and len(self.sigma) != n:
            raise InputError(f"sigma has {len(self.sigma)} numbers for {n} alternatives")
        if self.votes == "differences" and n != 2:
            raise InputError(f"differences are votes on two alternatives, not {n}")
        self.prior.check(n)
        self.experience.check(self.voters, n)
        self.noise.check(self.prior, self.sigma)
        if self.noise.whole_counts and any(count % 1 or count > _MOST_SUMMED for count in self.experience.possible):
            raise InputError(f"with this noise the counts must be whole numbers up to {_MOST_SUMMED}")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> "Scenario":
        """Return a copy of this scenario with the changes."""
        unknown = set(changes) - {own.name for own in fields(self)}
        if unknown:
            known = ", ".join(own.name for own in fields(self))
            raise InputError(f"a scenario has no {sorted(unknown)[0]}; it has {known}")
        return dataclasses.replace(self, **changes)

    def draw(self, stream: Callable[[int], Random], batch: Shape) -> Draws:
        """Draw instances of shape ``batch``.

        ``stream(k)`` is the source for the truths (0), the counts (1), the observations (2), the reports (3) and the
        tie breakers (4), so that scenarios that differ in one of these share the others.
        """
        # The truths, how much each voter sees of them, and the means of what is seen.
        truth = self.noise.truth(self.prior.draw(stream(0), (*batch, self.alternatives)))
        xp = namespace(truth)
        counts = self.experience.draw(stream(1), (*batch, self.voters, self.alternatives))
        seen = counts > 0
        sigma = xp.asarray(self.sigma, dtype=truth.dtype)
        values = self.noise.means(stream(2), truth[..., None, :], xp.where(seen, counts, 1), sigma)
        if self.noise.continuous and values.dtype.itemsize < 8:  # else there would be a tie in a million ballots
            values = separate_ties(values)
        # What voters report of their counts, and how ties between alternatives will be broken.
        reported = counts
        if self.count_error is not None:
            reported = self.count_error(stream(3), xp.asarray(counts, copy=True), self.experience)
            if np.shape(reported) != counts.shape:
                raise InputError("the count error must return an array of the shape of the counts")
            reported = xp.where(seen, xp.asarray(reported), 0)
        tie_breakers = stream(4).uniform(truth.shape)
        return Draws(truth, counts, reported, xp.where(seen, values, xp.nan), tie_breakers)

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as plain Python objects, ready for JSON; there are none for functions of your own."""
        return {own.name: _plain(getattr(self, own.name)) for own in fields(self)}


def check_reports(scenario: Scenario, drawn: Draws) -> None:
    """Refuse what a user's own noise may not draw, and what a user's own count error may not report."""
    if isinstance(scenario.noise, FunctionNoise) and not np.isfinite(_seen(drawn.values, drawn)).all():
        raise InputError(NOT_FINITE)
    if scenario.count_error is None or type(scenario.count_error) in PARTS["count_error"].values():
        return
    reported = _seen(drawn.reported, drawn)
    if not (np.isfinite(reported) & (reported > 0)).all():
        raise InputError("the count error must report a finite number above 0 for whatever was seen")


def _seen(numbers: Array, drawn: Draws) -> Array:
    return np.asarray(numbers)[np.asarray(drawn.counts) > 0]


def part(what: str, given: Any) -> Any:
    """Make a part of a scenario from what a user gave."""
    if isinstance(given, str):
        name, *rest = given.split(":")
        require_known(name, PARTS[what], what)
        make = PARTS[what][name]
        try:
            return make(*map(number_or_text, rest))
        except TypeError as error:
            raise InputError(f"{quoted(given)}: {name} takes {_parameters(make) or 'no numbers'}") from error
    if what == "prior" and isinstance(given, Sequence | np.ndarray):
        return FixedTruth(*given)
    if what == "experience" and isinstance(given, int | float | np.number):
        return ConstantCounts(float(given))
    if what == "experience" and isinstance(given, Sequence | np.ndarray):
        return GivenCounts(given)
    if what == "noise" and callable(given) and not isinstance(given, type):
        return FunctionNoise(given)
    kinds = (*PARTS[what].values(), *((FunctionNoise,) if what == "noise" else ()))
    hook = what == "count_error" and (given is None or callable(given))
    if hook or isinstance(given, kinds):
        return given
    raise InputError(f"the {what} can be {', '.join(PARTS[what])}, not {quoted(given)}")


def _parameters(make: Any) -> str:
    return " and ".join(own.name for own in fields(make))


def _plain(part: Any) -> Any:
    names = {type_: name for parts in PARTS.values() for name, type_ in parts.items()}
    if type(part) in names:
        return {"name": names[type(part)], **dataclasses.asdict(part)}
    if callable(part) or isinstance(part, FunctionNoise):
        raise InputError(
            "a function of your own, as noise or count error, cannot be told from another by its name; so a scenario "
            "with one cannot be kept in a file"
        )
    return part if part is None or isinstance(part, int | float | str | tuple) else repr(part)


_HIGH = Scenario(sigma=math.sqrt(1000))
SCENARIOS: Mapping[str, Scenario] = {
    "high-variance": _HIGH,
    "low-variance": Scenario(sigma=math.sqrt(10)),
    "count-noise": _HIGH.replace(count_error=Percentage(0.5)),
    "count-replacement": _HIGH.replace(count_error=Replacement(0.33)),
}
"""The conditions of the paper's four tables."""


def scenario(name: str | Scenario, **changes: Any) -> Scenario:
    """Return a scenario of the paper by its name, with changes.

    Examples
    --------
    >>> scenario("count-noise", voters=30).count_error
    Percentage(size=0.5)
    """
    if isinstance(name, Scenario):
        return name.replace(**changes)
    if not isinstance(name, str):
        raise InputError(f"a scenario is a Scenario or one of {', '.join(SCENARIOS)}, not {quoted(name)}")
    require_known(name, SCENARIOS, "scenario")
    return SCENARIOS[name].replace(**changes)
