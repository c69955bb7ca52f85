"""What is said of voters, and what that is worth: python benchmarks/panel.py groups|halves|leniency|mqm|time|report.

Writes docs/panel/<name>.json, a row after each measurement; rows that are there are kept. ``report`` puts them together
in docs/panel/README.md. Each part takes some minutes on two cores; ``--decisions N`` takes fewer, for a look, and
``--without-package`` leaves out what the package makes of panels and of leniency. The sampler that the package is
compared with is that of the tests.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from decisions import draw as draw_profile
from harsh_reviewers import CHOSEN, DEVIATIONS, METHODS, PANELS, hits
from paired import beside, judged, mean, means
from panel_report import report
from rows import Row, measure_rows
from shared_errors import CONDITIONS, VOTERS, Belief, Condition, Votes, borda, draw, sampled

import veritally as vt

FOLDER = Path(__file__).parents[1] / "docs" / "panel"
_PROCESSES = os.cpu_count() or 1
_DECISIONS = 2000
_ALONE = 10  # decisions, one after the other
_OF_SAMPLER = {"sampler, groups known": "known", "sampler, each its own": "own", "sampler, no such errors": "none"}
_REFERENCES = ("sampler, groups known", "sampler, no such errors")
_OF_PACKAGE = (
    "package, each its own",
    "package, groups known, strength given",
    "package, groups known, strength estimated",
)
_BY_DEFAULT = ("package, nothing known", "package, groups known, nothing else")
_OF_HALVES = ("package, no groups", "package, random halves, strength estimated")


# Groups


class Groups:
    """Measurements on rankings of voters who share errors, with what others are compared with, found once."""

    def __init__(self, pool: Executor, decisions: int) -> None:
        self.pool, self.decisions = pool, decisions
        self.found: dict[tuple[str, str], dict[str, np.ndarray]] = {}

    def plan(self, package: bool) -> Iterator[Row]:
        """Yield the conditions, each with all ways to decide."""
        for condition in CONDITIONS:
            methods = ("borda", *_OF_SAMPLER, *(_OF_PACKAGE if package else ()))
            yield from ({"condition": condition.name, "method": own, "instances": self.decisions} for own in methods)
        for condition in CONDITIONS if package else ():
            for own in _BY_DEFAULT:
                yield {"condition": condition.name, "method": own, "instances": self.decisions // 2}

    def measure(self, row: Row) -> Row:
        """Return regret, loss, said and right, and by how much they are more than with groups known or ignored."""
        condition = next(own for own in CONDITIONS if own.name == row["condition"])
        own = self._judged(condition, row["method"], row["instances"])
        others = {
            name: beside(own, self._judged(condition, name, row["instances"]))
            for name in _REFERENCES
            if name != row["method"]
        }
        return means(own) | {"more than": others}

    def _judged(self, condition: Condition, method: str, decisions: int) -> dict[str, np.ndarray]:
        key = condition.name, method
        if key not in self.found or len(self.found[key]["regret"]) < decisions:
            votes = draw(condition, self.decisions).part(0, decisions)
            if method == "borda":
                belief = borda(votes)
            elif method in _OF_SAMPLER:
                belief = sampled(self.pool, condition, _OF_SAMPLER[method], votes)
            else:
                belief = decided(self.pool, condition, method, votes)
            self.found[key] = judged(belief, votes.truth)
        return {name: measured[:decisions] for name, measured in self.found[key].items()}


class Halves(Groups):
    """The same votes without any shared errors, in which random halves are said to share some."""

    def plan(self, package: bool) -> Iterator[Row]:
        """Yield the conditions, without and with halves; the first and the third are the same without groups."""
        for place in (0, 1, 3) if package else ():
            for method in _OF_HALVES:
                yield {"condition": CONDITIONS[place].name, "method": method, "instances": self.decisions}

    def measure(self, row: Row) -> Row:
        """Return regret, loss, said and right, and by how much they are more than without groups."""
        condition = next(own for own in CONDITIONS if own.name == row["condition"]).without_groups()
        own, plain = (self._judged(condition, method, row["instances"]) for method in (row["method"], _OF_HALVES[0]))
        more = {} if row["method"] == _OF_HALVES[0] else {"more than": {_OF_HALVES[0]: beside(own, plain)}}
        return {"alternatives": condition.alternatives, "sigma2": condition.sigma2} | means(own) | more


def decided(pool: Executor, condition: Condition, method: str, votes: Votes) -> Belief:
    """Ask the package about each decision by itself."""
    found = list(pool.map(partial(_decided, condition, method, votes), range(len(votes.truth)), chunksize=50))
    winner, p_best = zip(*found, strict=True)
    return Belief(np.array(winner), np.stack(p_best))


def _decided(condition: Condition, method: str, votes: Votes, d: int) -> tuple[int, np.ndarray]:
    counts = votes.counts[d]
    given: dict[str, Any] = {}
    if method not in _BY_DEFAULT:
        given = {"sigma": condition.sigma2**0.5, "tau": 1.0}
        if condition.omega2:
            given["omega"] = condition.omega2**0.5
    if "halves" in method:
        order = np.random.default_rng(d).permutation(VOTERS).tolist()
        given["panel"] = vt.Panel({"one": order[: VOTERS // 2], "other": order[VOTERS // 2 :]})
    elif "groups known" in method:
        groups = {str(g): [i for i, own in enumerate(condition.group) if own == g] for g in condition.several}
        noise = condition.sigma2 / np.exp(np.mean(np.log(counts)))
        strength = condition.omega2 / (condition.omega2 + noise) if "given" in method else "estimated"
        given["panel"] = vt.Panel(groups, correlation=strength)
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):
        outcome = vt.decide(vt.Profile(ranks=votes.ranks[d], counts=counts), tie_break="first", **given)
        return int(outcome.winner), np.asarray(outcome.p_best)


# Harsh reviewers


def leniency(package: bool) -> Iterator[Row]:
    """Yield how much reviewers differ, and how papers are chosen."""
    for deviation in DEVIATIONS:
        for method in METHODS:
            if package or not method.startswith("package"):
                yield {"leniency": deviation, "method": method, "instances": PANELS}


def chosen(pool: Executor, row: Row) -> Row:
    """Return how many of the truly best are chosen, and how many more than by a model that knows the variances."""
    own, best = (_hits(pool, method, row["leniency"], row["instances"]) for method in (row["method"], "mixed model"))
    return {"of": CHOSEN} | mean("hits", own) | mean("more", own - best)


def _hits(pool: Executor, method: str, deviation: float, panels: int) -> np.ndarray:
    if method.startswith("rankings"):
        deviation = 0.0  # since a constant changes no order
    return _hits_once(pool, method, deviation, panels)


@cache
def _hits_once(pool: Executor, method: str, deviation: float, panels: int) -> np.ndarray:
    return np.array(list(pool.map(partial(hits, method, deviation), range(panels), chunksize=20)))


# Translators


def mqm(package: bool) -> Iterator[Row]:
    """Yield ways to decide which translation is best."""
    yield {"rule": "mean"}
    if package:
        yield {"rule": "posterior", "leniency": 0}
        yield {"rule": "posterior", "leniency": "default"}


def translations(row: Row) -> Row:
    """Return regret, loss, said and right, and by how much the regret is more than that of the mean, by set."""
    dataset = vt.datasets.load("mqm")
    own = _judged_translations(row, dataset)
    others = {"mean": {"rule": "mean"}, "posterior, leniency 0": {"rule": "posterior", "leniency": 0}}
    more: dict[str, Any] = {}
    for name, other in others.items():
        plain = _judged_translations(other, dataset)
        more |= {name: beside(own, plain, dataset.clusters), f"{name}, decisions apart": beside(own, plain)}
    return {"instances": len(dataset.truth), **means(own, dataset.clusters), "more than": more}


def _judged_translations(row: Row, dataset: Any) -> dict[str, np.ndarray]:
    given = {} if row.get("leniency", "default") == "default" else {"leniency": row["leniency"]}
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):
        outcome = vt.decide(dataset.profile, row["rule"], tie_break="first", **given)
        scores = np.where(np.isnan(dataset.truth), -np.inf, outcome.scores)
        p_best = np.full(scores.shape, np.nan) if row["rule"] == "mean" else np.asarray(outcome.belief.p_best)
    return judged(Belief(np.argmax(scores, axis=-1), p_best), dataset.truth)


# Time


def seconds(package: bool) -> Iterator[Row]:
    """Yield sizes, and whether noise and strength are given."""
    for votes, voters, alternatives in (("rankings", 12, 6), ("rankings", 10, 10), ("values", 25, 40)):
        for noise, at_once in (("given", 200), ("given", 1), ("unknown", 1)):
            size = {"votes": votes, "voters": voters, "alternatives": alternatives, "noise": noise}
            for strength in (0.5, "estimated") if package else ():
                yield size | {"at once": at_once, "strength": strength}


def timed(row: Row) -> Row:
    """Return seconds of a core for a decision without and with groups, the best of three in turn, and their ratio.

    With P(best), for which votes without groups may be sampled, and for the estimates alone.
    """
    voters = row["voters"]
    _, profile = draw_profile(200, voters, row["alternatives"], 3.0, votes=row["votes"], seed=1)
    profiles = [profile] if row["at once"] == 200 else profile.unstack()[:_ALONE]
    given: dict[str, Any] = {"sigma": 3.0, "tau": 1.0} if row["noise"] == "given" else {}
    groups = {"one": list(range(voters // 2)), "other": list(range(voters // 2, voters))}
    panel = vt.Panel(groups, correlation=row["strength"])
    both = [[_seconds(profiles, own) for own in (given, given | {"panel": panel})] for _ in range(3)]
    (fit, plain), (own_fit, own) = np.min(both, axis=0) / max(len(profiles), row["at once"])
    estimates = {"estimates without": float(fit), "estimates": float(own_fit), "estimates times": float(own_fit / fit)}
    return {"without": float(plain), "seconds": float(own), "times": float(own / plain)} | estimates


def _seconds(profiles: list[vt.Profile], given: dict[str, Any]) -> tuple[float, float]:
    """Return the time that estimates take, and the same with P(best)."""
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):
        started = time.process_time()
        outcomes = [vt.decide(profile, tie_break="first", **given) for profile in profiles]
        estimated = time.process_time()
        for outcome in outcomes:
            _ = outcome.p_best
        return estimated - started, time.process_time() - started


def main() -> None:
    """Measure what is not there yet, or report."""
    parser = argparse.ArgumentParser(description="What is said of voters, and what that is worth.")
    parser.add_argument("name", choices=("groups", "halves", "leniency", "mqm", "time", "report"))
    parser.add_argument("--decisions", type=int, default=_DECISIONS)
    parser.add_argument("--without-package", action="store_true")
    given = parser.parse_args()
    if given.name == "report":
        (FOLDER / "README.md").write_text(report(FOLDER))
        return
    with ProcessPoolExecutor(_PROCESSES) as pool:
        groups = (Halves if given.name == "halves" else Groups)(pool, given.decisions)
        parts: dict[str, tuple[Callable[[bool], Iterator[Row]], Callable[[Row], Row]]] = {
            "groups": (groups.plan, groups.measure),
            "halves": (groups.plan, groups.measure),
            "leniency": (leniency, partial(chosen, pool)),
            "mqm": (mqm, translations),
            "time": (seconds, timed),
        }
        plan, measure = parts[given.name]
        measure_rows(FOLDER / f"{given.name}.json", plan(not given.without_package), measure)


if __name__ == "__main__":
    main()
