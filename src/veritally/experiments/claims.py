"""What the paper's text claims, checked by paired differences on the same instances."""

from collections.abc import Sequence
from dataclasses import dataclass

from veritally.experiments.published import published
from veritally.experiments.rule_set import BEST_OF, Entry
from veritally.experiments.tables import Reproduction

CLEAR = 2.0  # standard errors beyond which a difference is clear
_NAMED = 3  # comparisons that speak against a claim

_ANONYMOUS = (
    ("pairwise", "borda"),
    ("pairwise-normalized", "borda"),
    ("top-lower-bound", "plurality"),
    ("top-zero", "plurality"),
    ("top-monte-carlo", "plurality"),
)
_RANKINGS = ("borda", "borda+", "pairwise", "pairwise-normalized")
_TOPS = ("plurality", "plurality+", "top-lower-bound", "top-zero", "top-monte-carlo")
CLAIMS: dict[str, tuple[tuple[str, str], ...]] = {
    "The rules derived in the paper beat the anonymous baselines": _ANONYMOUS,
    "The zero approximation beats the lower bound": (("top-zero", "top-lower-bound"),),
    "Pairwise rules beat plurality rules": tuple((one, other) for one in _RANKINGS for other in _TOPS),
}
FEW, MANY, LIMIT = "top-monte-carlo", "top-monte-carlo:samples=1000", "top-gradient"


@dataclass(frozen=True)
class PairedDifference:
    """The difference between the regrets of two rules in one cell."""

    table: str
    voters: int
    rule: str
    other: str
    difference: float
    se: float
    other_regret: float

    @property
    def z(self) -> float:
        """The difference in standard errors; 0 where the rules never differ."""
        return self.difference / self.se if self.se > 0 else 0.0

    @property
    def numbers(self) -> str:
        """The difference with its standard error."""
        return f"{self.difference:+.5f} ± {self.se:.5f}".replace("-", "−")

    def __str__(self) -> str:
        return f"`{self.rule}` less `{self.other}` in {self.table} at {self.voters} voters: {self.numbers}"


EXACT = {"rankings": "posterior:votes=rankings", "top": "posterior:votes=top"}
"""The exact rule for each kind of votes."""


def best_rivals(
    reproduction: Reproduction, table: str, voters: int, rule: str, kind: str
) -> tuple[PairedDifference, PairedDifference | None]:
    """Return paired differences of a rule to the best other that sees the same votes, and to the best published."""
    # All other rules that see these votes, and are not left to find σ out; the lowest regret first.
    seeing = [
        name for name in reproduction.rules if name != rule and Entry.of(name).votes == kind and "estimated" not in name
    ]
    regrets = reproduction.sums[table, voters].means[0]
    order = sorted(seeing, key=lambda name: float(regrets[reproduction.rules.index(name)]))
    # Those of the paper, variants of its families included.
    printed = {name for place, m, name in published() if (place, m) == (table, voters)}
    theirs = [name for name in order if name in printed or any(name.startswith(family) for family in BEST_OF)]
    best = _difference(reproduction, table, voters, rule, order[0])
    assert best is not None
    return best, _difference(reproduction, table, voters, rule, theirs[0]) if theirs else None


def paired_differences(reproduction: Reproduction, pairs: Sequence[tuple[str, str]]) -> list[PairedDifference]:
    """Return the differences between the rules of each pair in every cell that has both."""
    each = (_difference(reproduction, *cell, *pair) for cell in reproduction.sums for pair in pairs)
    return [found for found in each if found is not None]


def _difference(reproduction: Reproduction, table: str, voters: int, rule: str, other: str) -> PairedDifference | None:
    """Return the difference between two rules in a cell; None unless both were measured."""
    r, s = (reproduction.position(table, voters, name) for name in (rule, other))
    if r is None or s is None:
        return None
    sums = reproduction.sums[table, voters]
    difference, error = sums.differences(s)
    return PairedDifference(table, voters, rule, other, float(difference[r]), float(error[r]), float(sums.means[0, s]))


def verdict(differences: Sequence[PairedDifference]) -> str:
    """Say in how many cells the first rule of a pair is lower, in how many clearly, and where it is not."""
    lower = [one for one in differences if one.z < 0]
    clear = sum(one.z < -CLEAR for one in differences)
    text = f"lower in {len(lower)} of {len(differences)} comparisons, by more than {CLEAR:g} standard errors in {clear}"
    others = sorted((one for one in differences if one.z >= 0), key=lambda one: -one.z)
    if not others:
        return text
    above = sum(one.z > CLEAR for one in others)
    named = "; ".join(map(str, others[:_NAMED])) + ("; …" if len(others) > _NAMED else "")
    return f"{text}; higher by as much in {above or 'none'}. Not lower: {named}"
