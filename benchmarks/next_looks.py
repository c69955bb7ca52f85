"""Does it pay to ask by what looks are worth? python benchmarks/next_looks.py [CONDITION …], all where none is named.

Decisions are replayed from nothing: each policy says what to look at, sees what the same look would show any other, and
what it would choose by then is held against the truth. Writes docs/next/results.json, curves.json and regret.svg; then
``python docs/pages.py`` puts them into docs/next/README.md. All of it takes half an hour of one core.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import next_figure
import numpy as np
import polars as pl
from paired import mean
from policies import balanced, best_by_gain, by_gain, by_plan, others
from replays import Belief, Recorded, Simulated, World, designs, regrets
from rows import Row

import veritally as vt

FOLDER = Path(__file__).parents[1] / "docs" / "next"
LEVEL = 0.2  # of regret, to which looks are counted
SURE = (0.8, 0.95)
_SEED = 23
_LOW, _HIGH = math.sqrt(10), math.sqrt(1000)  # σ of the paper's conditions, with τ = 1
_RESAMPLED = 500
_POINTS = 60  # of a curve that is kept
_ROUND, _PART = 25, 5  # comparisons of llmfao, and how many of them are planned at a time
_MOST = 10_000  # looks after which nobody waits for being sure
_A_ROUND = 10  # looks that a plan of next_looks itself is asked for at once
_GROWTH = 20  # looks made per look that the next is decided for, where being sure takes many


def simulated(sigma: float, verdicts: bool, budget: int, again: int) -> Row:
    """Measure the paper's conditions, 10 alternatives."""
    world = Simulated(200, 10, sigma, verdicts, _SEED)
    return measured({"": world}, budget, again)


def planned(verdicts: bool, budget: int) -> Row:
    """Measure plans of next_looks itself, in rounds, beside the loop of these replays and beside balanced looks."""
    world, started = Simulated(200, 10, _LOW, verdicts, _SEED), time.perf_counter()
    policies = {
        "plan": by_plan(world, budget, _A_ROUND),
        "next": by_gain(_SEED, 1 + verdicts),
        "balanced": balanced(_SEED),
    }
    curves = {name: regrets(world, policy, budget) for name, policy in policies.items()}
    areas = {name: np.mean(curve, axis=-1) for name, curve in curves.items()}
    found: Row = {"replays": len(world.truth), "budget": budget, "round": _A_ROUND}
    found["ways"] = {
        name: mean("area", areas[name])
        | {"looks": needed(np.mean(curves[name], axis=0))}
        | relative(curves[name], curves["balanced"])
        | mean("less", areas[name] - areas["balanced"])
        | mean("plan", areas["plan"] - areas[name])
        for name in curves
    }
    return found | {"seconds": round(time.perf_counter() - started)}


def llmfao() -> Row:
    """Measure on the ten models of llmfao that were compared most, in rounds."""
    table = vt.datasets.load("llmfao").table("comparisons")
    names = pl.concat([table["left"], table["right"]]).value_counts(sort=True).head(10)["left"].sort().to_list()
    place = {name: k for k, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    records: dict[tuple[int, int], list[float]] = {}
    for left, right, winner in table.select("left", "right", "winner").iter_rows():
        if left in place and right in place:
            sign = {"left": 1.0, "right": -1.0, "tie": 0.0}[winner]
            one, two = place[left], place[right]
            wins[one, two] += (1 + sign) / 2
            wins[two, one] += (1 - sign) / 2
            records.setdefault((min(one, two), max(one, two)), []).append(sign if one < two else -sign)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vt.InputWarning)  # that these are many comparisons of one voter
        outcome = vt.decide(vt.Profile(pairs=wins[None], alternatives=names))
    assert outcome.belief is not None
    sigma, truth = float(outcome.belief.sigma[0]), np.asarray(outcome.scores)
    every = designs(len(names), True)
    pairs = [(int(np.argmax(h)), int(np.argmin(h))) for h in every]
    asked = [k for k, pair in enumerate(pairs) if pair in records]
    looks = [np.array(records[pairs[k]]) for k in asked]
    world = Recorded(looks, np.tile(truth, (50, 1)), every[asked], sigma * math.sqrt(2), True, 1.0, _SEED)
    about = {"sigma": sigma, "comparisons": int(wins.sum()), "pairs": len(asked)}
    return about | measured({"": world}, 1000, _PART, _ROUND)


def mqm() -> Row:
    """Measure on the sets of mqm: a look is a segment that one rater marked."""
    worlds: dict[str, World] = {}
    for (name,), table in vt.datasets.load("mqm").table("looks").sort("set").group_by("set", maintain_order=True):
        looks = [-own["points"].to_numpy() for _, own in table.sort("system").group_by("system", maintain_order=True)]
        truth = np.array([np.mean(x) for x in looks])
        middle, spread = float(np.mean(truth)), float(np.std(truth, ddof=1))
        noise = float(np.sqrt(np.mean([np.var(x) for x in looks])))
        truths = np.tile(truth - middle, (50, 1))
        records = [x - middle for x in looks]
        worlds[str(name)] = Recorded(records, truths, designs(len(looks), False), noise, False, spread, _SEED)
    return measured(worlds, 1000, 1)


def measured(worlds: dict[str, World], budget: int, again: int, a_round: int = 1) -> Row:
    """Return what comes of each policy, over all worlds."""
    curves: dict[str, list[np.ndarray]] = {}
    started = time.perf_counter()
    for world in worlds.values():
        policies = {"next": by_gain(_SEED, again)} | others(_SEED, budget, world.truth.shape[1])
        for name, policy in policies.items():
            curves.setdefault(name, []).append(regrets(world, policy, budget, a_round))
    every = {name: np.concat(found) for name, found in curves.items()}
    return compared(every, budget, a_round) | {"seconds": round(time.perf_counter() - started)}


def compared(every: dict[str, np.ndarray], budget: int, a_round: int) -> Row:
    """Return areas under curves of regret, ``(replay, round)``, the looks needed, and differences, paired."""
    areas = {name: np.mean(curve, axis=-1) for name, curve in every.items()}
    best = min((name for name in areas if name != "next"), key=lambda name: float(np.mean(areas[name])))
    found: Row = {"replays": len(areas[best]), "budget": budget, "round": a_round, "best": best}
    found |= mean("more", areas["next"] - areas[best])
    found["policies"] = {
        name: mean("area", areas[name])
        | mean("end", every[name][:, -1])
        | mean("more", areas["next"] - areas[name])
        | {"looks": needed(np.mean(every[name], axis=0), a_round)}
        for name in every
    }
    found |= relative(every["next"], every["balanced"])
    points = np.unique(np.linspace(0, budget // a_round, _POINTS + 1).round().astype(int))
    error = np.std(every["next"] - every["balanced"], axis=0, ddof=1) / math.sqrt(found["replays"])
    found["curves"] = {"looks": (points * a_round).tolist(), "paired": np.round(error[points], 5).tolist()}
    found["curves"] |= {name: np.round(np.mean(curve, axis=0)[points], 5).tolist() for name, curve in every.items()}
    return found


def needed(curve: np.ndarray, a_round: int = 1) -> int | None:
    """Return the looks after which the mean regret is first at most the level."""
    there = np.flatnonzero(curve <= LEVEL)
    return int(there[0]) * a_round if len(there) else None


def relative(ours: np.ndarray, theirs: np.ndarray) -> Row:
    """Return the looks that ours needs as a share of those that theirs needs; the error by resampling replays."""
    whole = needed(np.mean(ours, axis=0)), needed(np.mean(theirs, axis=0))
    if not all(whole):
        return {}
    random, shares = np.random.default_rng(_SEED), []
    for _ in range(_RESAMPLED):
        weight = np.bincount(random.integers(len(ours), size=len(ours)), minlength=len(ours)) / len(ours)
        one, two = needed(weight @ ours), needed(weight @ theirs)
        if one and two:
            shares.append(one / two)
    return {"share": whole[0] / whole[1], "share_se": float(np.std(shares))}


def sureness(verdicts: bool) -> Row:
    """Return what is said and what is right where looking stops as soon as the winner is sure enough, 1,000 replays."""
    world, started = Simulated(1000, 10, _LOW, verdicts, _SEED + 1), time.perf_counter()
    belief, every = Belief.before(world), np.arange(1000)
    right = np.argmax(world.truth, axis=-1)
    stops = {level: np.full((3, 1000), np.nan) for level in SURE}  # said, right, looks
    action, looks, random = np.zeros(1000, dtype=int), 0, np.random.default_rng(_SEED)
    while looks < _MOST:
        going = np.flatnonzero(np.isnan(stops[max(SURE)][0]))
        if not len(going):
            break
        action[going] = best_by_gain(belief.take(going), random)
        for _ in range(max(1, looks // _GROWTH)):
            belief.learn(action, world.shown(action, belief.counts[every, action]))
            looks += 1
        winner = np.argmax(belief.mean[going], axis=-1)
        said = belief.take(going).p_best()[np.arange(len(going)), winner]
        for level, kept in stops.items():
            now = (said >= level) & np.isnan(kept[0, going])
            kept[:, going[now]] = said[now], winner[now] == right[going[now]], np.full(now.sum(), looks)
    rows = []
    for level, kept in stops.items():
        own = kept[:, ~np.isnan(kept[0])]
        row = {"level": level, "stopped": own.shape[1], "looks": float(np.median(own[2]))}
        rows.append(row | mean("said", own[0]) | mean("right", own[1]) | mean("gap", own[0] - own[1]))
    return {"replays": 1000, "most": _MOST, "levels": rows, "seconds": round(time.perf_counter() - started)}


CONDITIONS: dict[str, Callable[[], Row]] = {
    "values, low variance": lambda: simulated(_LOW, False, 500, 1),
    "comparisons, low variance": lambda: simulated(_LOW, True, 1000, 2),
    "values, high variance": lambda: simulated(_HIGH, False, 10_000, 20),
    "comparisons, high variance": lambda: simulated(_HIGH, True, 10_000, 100),
    "llmfao": llmfao,
    "mqm": mqm,
    "plans, values": lambda: planned(False, 500),
    "plans, comparisons": lambda: planned(True, 1000),
    "sureness of values": lambda: sureness(False),
    "sureness of comparisons": lambda: sureness(True),
}


def main(names: list[str]) -> None:
    """Measure, and write after each."""
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        row = CONDITIONS[name]()
        curves = row.pop("curves", None)
        for file, own in (("results", row), ("curves", curves)):
            path = FOLDER / f"{file}.json"
            whole = json.loads(path.read_text()) if path.exists() else {}
            if own is not None:
                whole[name] = own
            path.write_text(json.dumps({key: whole[key] for key in CONDITIONS if key in whole}, indent=1) + "\n")
        print(name, json.dumps(row), flush=True)
    next_figure.main()


if __name__ == "__main__":
    main(sys.argv[1:] or list(CONDITIONS))
