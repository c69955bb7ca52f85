"""How sure ``posterior`` is beside how often it is right: python benchmarks/sureness.py known|unknown|pooled|files.

Writes docs/sureness/<name>.json, a row after each measurement; rows that are there are kept. ``python docs/pages.py``
makes tables of them.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from decisions import draw
from rows import Row, measure_rows

import veritally as vt
from veritally.experiments.measures import ClusteredMeasures

FOLDER = Path(__file__).parents[1] / "docs" / "sureness"
_AT_ONCE = 10  # decisions
_BINS = 10
_LEAST = 1e-3  # of a probability whose logarithm is taken
_TIMES = 500  # that decisions are drawn again, for what chance does to a calibration error


class Said(NamedTuple):
    """What is said of decisions, ``(decision, ...)``."""

    winner: np.ndarray
    p_best: np.ndarray
    low: np.ndarray
    high: np.ndarray


def ask(pool: ProcessPoolExecutor, rule: Any, ballots: Any) -> Said:
    """Ask a rule about many decisions, some at a time."""
    starts = range(0, len(ballots.mask), _AT_ONCE)
    parts = (ballots.map(itemgetter(slice(start, start + _AT_ONCE))) for start in starts)
    found = list(pool.map(partial(_ask, rule), parts))
    return Said(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _ask(rule: Any, ballots: Any) -> Said:
    fit = rule.fit(ballots)
    belief = rule.belief(ballots, fit, 0)
    return Said(fit.winner, belief.p_best, belief.low, belief.high)


class Judged(NamedTuple):
    """What comes of each decision.

    Attributes
    ----------
    said, right
        How surely the winner is said to be the best, and whether it is.
    loss
        −log P(best) of the truly best.
    cluster
        Decisions that may err together.
    """

    said: np.ndarray
    right: np.ndarray
    loss: np.ndarray
    cluster: np.ndarray

    @classmethod
    def of(cls, said: Said, truth: np.ndarray, cluster: Any = None) -> "Judged":
        """Compare with the truth."""
        best, every = np.nanargmax(truth, axis=-1), np.arange(len(truth))
        return cls(
            said.p_best[every, said.winner],
            (said.winner == best).astype(float),
            -np.log(np.maximum(said.p_best[every, best], _LEAST)),
            every if cluster is None else np.unique(cluster, return_inverse=True)[1],
        )

    def mean(self, name: str, measured: np.ndarray) -> Row:
        """Return a mean with its standard error."""
        error = ClusteredMeasures.of(measured[None, None], self.cluster.tolist()).errors[0, 0]
        return {name: float(np.mean(measured)), f"{name}_se": float(error)}

    def winners(self) -> Row:
        """Return how sure the winners are, how often they are right, and the difference."""
        return self.mean("said", self.said) | self.mean("right", self.right) | self.mean("gap", self.said - self.right)

    def calibration(self) -> Row:
        """Return the mean distance between said and right over bins of what is said, and what chance alone gives."""
        random = np.random.default_rng(0)
        place = np.minimum((self.said * _BINS).astype(int), _BINS - 1)
        clusters = np.max(self.cluster) + 1
        apart, number = np.zeros((clusters, _BINS)), np.bincount(self.cluster)
        np.add.at(apart, (self.cluster, place), self.said - self.right)
        times = random.multinomial(clusters, np.full(clusters, 1 / clusters), _TIMES)
        again = np.sum(np.abs(times @ apart), axis=-1) / (times @ number)
        lucky = self.said - (random.random((_TIMES, len(self.said))) < self.said)
        chance = [np.sum(np.abs(np.bincount(place, one, _BINS))) / len(place) for one in lucky]
        return {
            "error": float(np.sum(np.abs(np.sum(apart, axis=0))) / len(place)),
            "error_se": float(np.std(again)),
            "chance": float(np.mean(chance)),
        }


def known() -> Iterator[Row]:
    """Yield where σ and τ are given."""
    for votes in ("rankings", "top"):
        for alternatives in (5, 10):
            for voters in (8, 30, 60):
                for ratio in (0.3, 1.0, 3.0, 30.0):
                    yield _row(voters, alternatives, ratio, 50, 200) | {"votes": votes}


def unknown() -> Iterator[Row]:
    """Yield where σ is not given."""
    for most in (50, 1):
        for voters in (3, 8, 30):
            for ratio in (0.3, 3.0, 30.0, 300.0):
                yield _row(voters, 5, ratio, most, 400) | {"votes": "rankings"}


def _row(voters: int, alternatives: int, ratio: float, most: int, instances: int) -> Row:
    return {"voters": voters, "alternatives": alternatives, "ratio": ratio, "most": most, "instances": instances}


def one_noise(parameters: Callable[[Row], Row], pool: ProcessPoolExecutor, row: Row) -> Row:
    """Return how sure winners are, how often 95% intervals hold the truth, and the loss beyond that of no idea."""
    seed = [row["voters"], row["alternatives"], row["most"], round(10 * row["ratio"])]
    sizes = row["instances"], row["voters"], row["alternatives"]
    truth, profile = draw(*sizes, row["ratio"], most=row["most"], votes=row["votes"], seed=seed)
    said = ask(pool, vt.rule("posterior", **parameters(row)), profile.ballots)
    judged = Judged.of(said, truth)
    away = truth - np.mean(truth, axis=-1, keepdims=True)
    covered = np.mean((said.low <= away) & (away <= said.high), axis=-1)
    loss = judged.mean("loss", judged.loss - np.log(row["alternatives"]))
    return judged.mean("coverage", covered) | judged.winners() | loss


def pooled() -> Iterator[Row]:
    """Yield batches of decisions whose noise is the same, and differs."""
    for voters, alternatives in ((15, 2), (5, 3), (10, 10)):
        for low, high in ((3.0, 3.0), (1.0, 10.0)):
            yield {"voters": voters, "alternatives": alternatives, "low": low, "high": high, "instances": 1000}


def many_noises(pool: ProcessPoolExecutor, row: Row) -> Row:
    """Return how sure winners are if σ is given, found for all decisions together, and for each."""
    sizes = row["instances"], row["voters"], row["alternatives"]
    sigma = np.exp(np.random.default_rng(sizes).uniform(np.log(row["low"]), np.log(row["high"]), row["instances"]))
    truth, profile = draw(*sizes, sigma, most=10, seed=[*sizes, 1])
    ballots = profile.ballots
    told = ballots.with_counts(ballots.counts / sigma[:, None, None] ** 2)  # which says the same as σ
    found = {"given": ask(pool, vt.rule("posterior", sigma=1.0, tau=1.0), told)}
    found |= {scale: ask(pool, _prepared(scale, ballots), ballots) for scale in ("pooled", "each")}
    return _beside(found, truth)


def files() -> Iterator[Row]:
    """Yield data sets, with their values and with the rankings by these."""
    for name in ("polls538", "flights13"):
        for votes in ("values", "rankings"):
            yield {"dataset": name, "votes": votes}


def real(pool: ProcessPoolExecutor, row: Row) -> Row:
    """Return how sure winners are if the noise is found for all decisions together, and for each."""
    dataset = vt.datasets.load(row["dataset"])
    ballots = dataset.profile.coarsened(row["votes"]).ballots
    found = {scale: ask(pool, _prepared(scale, ballots), ballots) for scale in ("each", "pooled")}
    return {"instances": len(ballots.mask)} | _beside(found, dataset.truth, dataset.clusters)


def _prepared(scale: str, ballots: Any) -> Any:
    return vt.rule("posterior", scale=scale).prepared(ballots)


def _beside(found: dict[str, Said], truth: np.ndarray, clusters: Any = None) -> Row:
    """Judge several ways, each with its loss beyond that of the first."""
    judged = {name: Judged.of(said, truth, clusters) for name, said in found.items()}
    first = next(iter(judged.values()))
    return {
        name: own.winners()
        | own.calibration()
        | own.mean("loss", own.loss)
        | ({} if own is first else own.mean("more", own.loss - first.loss))
        for name, own in judged.items()
    }


WHAT: dict[str, tuple[Callable[[], Iterator[Row]], Callable[[ProcessPoolExecutor, Row], Row]]] = {
    "known": (known, partial(one_noise, lambda row: {"sigma": row["ratio"], "tau": 1.0})),
    "unknown": (unknown, partial(one_noise, lambda _: {})),
    "pooled": (pooled, many_noises),
    "files": (files, real),
}


def main(name: str) -> None:
    """Measure what is not there yet."""
    plan, measure = WHAT[name]
    with ProcessPoolExecutor() as pool:
        measure_rows(FOLDER / f"{name}.json", plan(), partial(measure, pool))


if __name__ == "__main__":
    main(sys.argv[1])
