"""What a learned panel says of its voters, for people to read."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from veritally.arrays import Array
from veritally.panel.learned import LearnedPanel
from veritally.votes.labels import first_few

What: TypeAlias = Literal["copies", "random", "reversed"]

_CLEAR = 1.96  # standard errors
_FAINT = 0.15  # of the variance of what a voter says: less is not more than noise
_NEEDED = 0.05  # of what the panel is worth: who adds more tells something
_PAIRS = 5  # of voters who err together that are named
_ALIKE = 0.3  # correlation of errors from which on it is worth naming


@dataclass(frozen=True)
class Verdict:
    """What is to be known of some voters.

    Attributes
    ----------
    what
        ``copies``, ``random`` (tells nothing) or ``reversed`` (systematically wrong, but useful).
    voters
        Their names.
    sentence
        The same for people to read.
    """

    what: What
    voters: tuple[str, ...]
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        return {"what": self.what, "voters": list(self.voters), "sentence": self.sentence}


def verdicts(panel: LearnedPanel) -> list[Verdict]:
    """Name copies first, then voters who tell nothing, then those who are systematically wrong but useful."""
    found = []
    for own in panel.copies:
        turned = [name for name in own if name in panel.opposite]
        but = f" ({first_few(turned, 3)} the opposite)" if turned else ""
        alike = f"{first_few(own, 8)} vote nearly alike{but}: together they count for little more than one voter."
        found.append(Verdict("copies", own, alike))
    signal = panel.slope**2 + np.sum(panel.loadings**2, axis=-1)
    unclear = np.abs(panel.slope) < _CLEAR * panel.slope_error
    whole, without = worth(panel)
    faint = unclear & (signal / (1 + signal) < _FAINT) & (without > (1 - _NEEDED) * whole)
    wrong = panel.slope + _CLEAR * panel.slope_error < 0
    if faint.any():
        own = _named(panel, faint)
        found.append(Verdict("random", own, f"{first_few(own, 8)}: what they say tells next to nothing."))
    if wrong.any() and panel.answers:
        own = _named(panel, wrong)
        said = "systematically wrong, and useful for it: their votes are turned round"
        found.append(Verdict("reversed", own, f"{first_few(own, 8)}: {said}."))
    return found


def _named(panel: LearnedPanel, chosen: Array) -> tuple[str, ...]:
    return tuple(name for name, one in zip(panel.voters, chosen, strict=True) if one)


def worth(panel: LearnedPanel) -> tuple[float, Array]:
    """Return how many independent voters like its best the panel is worth at a typical count, and without each."""
    own = 1 + panel.omega**2
    covariance = panel.loadings @ panel.loadings.T + own * np.eye(len(panel.voters))
    best = float(np.max(panel.slope**2 / np.diag(covariance)))
    whole = _information(panel.slope, covariance)
    without = np.empty(len(panel.voters))
    for i in range(len(panel.voters)):
        rest = np.arange(len(panel.voters)) != i
        without[i] = _information(panel.slope[rest], covariance[np.ix_(rest, rest)])
    return (whole / best, without / best) if best > 0 else (0.0, 0 * without)


def _information(slope: Array, covariance: Array) -> float:
    """Return aᵀ C⁻¹ a."""
    return float(slope @ np.linalg.solve(covariance, slope)) if len(slope) else 0.0


def together(panel: LearnedPanel) -> list[tuple[str, str, float, float]]:
    """Return pairs of voters who err together, the strongest first, with the correlation and its standard error."""
    first, second = np.triu_indices(len(panel.voters), k=1)
    size = np.abs(panel.correlation[first, second])
    order = [k for k in np.argsort(-size) if size[k] >= _ALIKE][:_PAIRS]
    return [
        (
            panel.voters[first[k]],
            panel.voters[second[k]],
            float(panel.correlation[first[k], second[k]]),
            float(panel.correlation_error[first[k], second[k]]),
        )
        for k in order
    ]


def leaning_of(panel: LearnedPanel) -> tuple[str, Array, Array] | None:
    """Return what the leaning of voters is called, its size and its standard error; None where there is none."""
    if panel.role_source == "all":
        spread = panel.leaning[:, 0] - np.mean(panel.leaning[:, 0])
        return "leniency", spread * panel.noise, panel.leaning_error[:, 0] * panel.noise
    if panel.role_source == "position":
        return "towards first", panel.leaning[:, 0], panel.leaning_error[:, 0]
    if len(panel.roles) == 2:
        apart = panel.leaning[:, 1] - panel.leaning[:, 0]
        return f"towards {panel.roles[1]}", apart, np.sum(panel.leaning_error, axis=-1)
    return None


def voter_rows(panel: LearnedPanel) -> list[dict[str, Any]]:
    """Return a row for each voter, the most skilled first."""
    _, without = worth(panel)
    named: dict[str, list[str]] = {}
    for verdict in verdicts(panel):
        for name in verdict.voters:
            named.setdefault(name, []).append(verdict.what)
    leaning = leaning_of(panel)
    mean = float(np.mean(panel.slope))
    rows = []
    for i in np.argsort(-panel.slope, kind="stable"):
        error = float(panel.slope_error[i])
        away = float(panel.slope[i]) - mean
        row: dict[str, Any] = {
            "voter": panel.voters[i],
            "decisions": int(panel.votes_by[i]),
            "skill": float(panel.slope[i]),
            "skill_low": float(panel.slope[i]) - _CLEAR * error,
            "skill_high": float(panel.slope[i]) + _CLEAR * error,
            "against_average": "better" if away > _CLEAR * error else "worse" if away < -_CLEAR * error else "",
        }
        if leaning is not None:
            row["leaning"], row["leaning_error"] = float(leaning[1][i]), float(leaning[2][i])
            row["leaning_is"] = leaning[0]
        row["worth_without"] = float(without[i])
        row["verdict"] = ", ".join(named.get(panel.voters[i], []))
        rows.append(row)
    return rows


def sentences(panel: LearnedPanel) -> list[str]:
    """Say what is worth knowing, the most important first."""
    lines = [] if panel.assumption is None else [f"Note: {panel.assumption}."]
    lines += [verdict.sentence for verdict in verdicts(panel)]
    pairs = [f"{one} with {other} ({rho:.2f} ± {error:.2f})" for one, other, rho, error in together(panel)]
    if pairs:
        lines.append(f"Who errs with whom (correlation of errors): {'; '.join(pairs)}.")
    whole, without = worth(panel)
    least = np.argsort(without)[:3]
    named = ", ".join(f"{panel.voters[i]} {without[i]:.1f}" for i in least)
    lines.append(f"The panel is worth {whole:.1f} independent voters like its best. Without {named}.")
    if panel.levels:
        levels = ", ".join(f"{level} counts as {count:.2g}" for level, count in panel.levels.items())
        lines.append(f"Confidence: {levels}.")
    if panel.checked is not None:
        own = panel.checked
        right = f"right in {own['right']:.0%} ± {own['right_error']:.0%}, said {own['said']:.0%}"
        loss = f"log loss {own['log_loss']:.3f} ± {own['log_loss_error']:.3f}"
        beside = f"The same votes without the panel: right in {own['right_without']:.0%}."
        lines.append(f"On {own['answers']:.0f} answers that were held out: {right}, {loss}. {beside}")
    if not panel.converged:
        lines.append("The search did not arrive; more decisions or answers may help.")
    return lines
