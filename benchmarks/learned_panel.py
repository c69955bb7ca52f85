"""What a panel learned from earlier decisions is worth: python benchmarks/learned_panel.py polls|groups|mqm|llmfao.

Writes docs/panel/learned-<part>.json, a row after each measurement; rows that are there are kept. The last row of some
parts puts the others together; take it out to have it made anew. What is learned makes votes and answers together most
probable (their joint likelihood); no part of it aims at log loss or regret.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from paired import beside, judged, means
from rows import Row, measure_rows, read_rows
from shared_errors import Belief

import veritally as vt
from veritally.io.truth import read_truth

FOLDER = Path(__file__).parents[1] / "docs" / "panel"
Judged = dict[str, np.ndarray]


def decided(profile: vt.Profile, truth: np.ndarray, **given: Any) -> Judged:
    """Return what comes of each decision; winners are among the alternatives whose truth is known."""
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):
        outcome = vt.decide(profile, tie_break="first", **given)
        p_best = np.asarray(outcome.p_best)
        scores = np.where(np.isnan(truth), -np.inf, np.asarray(outcome.scores))
    return judged(Belief(np.argmax(scores, axis=-1), p_best), truth)


def learned(profile: vt.Profile, answers: np.ndarray, **given: Any) -> tuple[vt.LearnedPanel, Row]:
    """Learn a panel, and say how that went."""
    started = time.perf_counter()
    panel = vt.learn_panel(profile, answers, **given)
    facts = {"seconds": round(time.perf_counter() - started, 1), "converged": panel.converged}
    return panel, facts | {"voters": len(panel.voters), "factors": panel.loadings.shape[1]}


def compared(found: dict[str, Judged], clusters: Any, others: tuple[str, ...]) -> Row:
    """Return means of all methods, and by how much they are more than those of others, paired."""
    made: Row = {}
    for name, own in found.items():
        made[name] = means(own, clusters)
        more = {other: beside(own, found[other], clusters) for other in others if other != name and other in found}
        made[name]["more than"] = more
    return made


def one_row(found: dict[str, Judged]) -> Row:
    """Return how many decisions there are, and means of what comes of them by method."""
    some = next(iter(found.values()))
    by_method = {
        name: {key: round(float(np.mean(x)), 6) for key, x in own.items() if key != "gap"}
        for name, own in found.items()
    }
    return {"instances": len(some["regret"]), "means": by_method}


def all_rows(path: Path, key: str, others: tuple[str, ...]) -> Row:
    """Put rows together: means over all decisions, with standard errors by row.

    A standard error by clusters needs only their sums, so each decision is taken to be as the mean of its row.
    """
    rows = [row for row in read_rows(path) if "means" in row]
    number = [row["instances"] for row in rows]
    names = rows[0]["means"]
    found = {
        name: {what: np.repeat([row["means"][name][what] for row in rows], number) for what in rows[0]["means"][name]}
        for name in names
    }
    for own in found.values():
        own["gap"] = own["said"] - own["right"]
    clusters = np.repeat([str(row[key]) for row in rows], number)
    return {"instances": int(sum(number)), "clusters": len(rows), "methods": compared(found, clusters, others)}


# Polls


_YEARS = tuple(str(year) for year in range(2004, 2023, 2))  # the few contests of odd years go with the next


def polls() -> Iterator[Row]:
    """Yield the years whose contests are decided after learning from all earlier ones."""
    yield from ({"year": year} for year in (*_YEARS, "all"))


def contests(path: Path, row: Row) -> Row:
    """Return how contests of a year are decided, with the panel of the years before and without."""
    if row["year"] == "all":
        return all_rows(path, "year", ("pooled",))
    data, every, years = _polls()
    before, now = np.flatnonzero(years < row["year"]), every[years[every] == row["year"]]
    panel, facts = learned(data.profile.rows(before), data.truth[before], factors=1)
    found = {"panel": decided(data.profile.rows(now), data.truth[now], panel=panel)}
    own = years[every] == row["year"]
    for name, omega in (("pooled", None), ("pooled, omega estimated", "estimated")):
        found[name] = {key: x[own] for key, x in _without_panel(omega).items()}
    return {"learned from": len(before), **facts, **one_row(found)}


def _polls() -> tuple[vt.datasets.Dataset, np.ndarray, np.ndarray]:
    """Return all contests, the places of those from 2004 on, and the even year each one goes with."""
    data = vt.datasets.load("polls538")
    years = np.array(data.clusters, dtype=int)
    return data, np.flatnonzero(years >= 2004), (years + years % 2).astype(str)


@cache
def _without_panel(omega: str | None) -> Judged:
    """Decide the contests of all years at once, as the command does."""
    data, every, _ = _polls()
    given = {} if omega is None else {"omega": omega}
    return decided(data.profile.rows(every), data.truth[every], scale="pooled", **given)


# Groups


_VOTERS, _ALTERNATIVES, _MOST = 12, 6, 10  # looks
_GROUP = np.repeat(np.eye(3), 4, axis=0)  # (voter, factor): three groups of four, each with an error of its own
_LEARNED, _ANSWERED, _NEW = 300, 60, 200  # decisions
_KNOWN = "parameters known"


def groups() -> Iterator[Row]:
    """Yield seeds: voters of unequal skill, and their decisions."""
    yield from ({"seed": seed, "factors": [3]} for seed in range(5))  # "auto" takes about four times as long


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, vt.Profile]:
    """Draw slopes, truths and rankings; numbers are in units of the noise of one look."""
    random = np.random.default_rng((seed, 31))
    slope = random.normal(1, 0.5, _VOTERS)
    decisions = _LEARNED + _NEW
    truth = random.normal(size=(decisions, _ALTERNATIVES))
    counts = random.integers(1, _MOST + 1, (decisions, _VOTERS, _ALTERNATIVES))
    shared = np.einsum("if,dfj->dij", _GROUP, random.normal(size=(decisions, 3, _ALTERNATIVES)))
    seen = slope[:, None] * truth[:, None] + shared + random.normal(size=counts.shape) / np.sqrt(counts)
    ranks = 1 + np.argsort(np.argsort(-seen, axis=-1), axis=-1)
    return slope, truth, vt.Profile(ranks=ranks, counts=counts, voters=[f"voter {i}" for i in range(_VOTERS)])


def shared_in_groups(path: Path, row: Row) -> Row:
    """Return how new decisions are decided, with panels learned and known and without."""
    slope, truth, profile = draw(row["seed"])
    some, new = profile.rows(np.arange(_LEARNED)), profile.rows(np.arange(_LEARNED, _LEARNED + _NEW))
    answers = np.where(np.arange(_LEARNED)[:, None] < _ANSWERED, truth[:_LEARNED], np.nan)
    found, facts = {}, {}
    for factors in row["factors"]:
        name = f"panel, factors {factors}"
        panel, facts[name] = learned(some, answers, factors=factors)
        found[name] = decided(new, truth[_LEARNED:], panel=panel)
        root = panel.typical_count**0.5
        facts[name]["slopes off by"] = float(np.sqrt(np.mean((panel.slope / root - slope) ** 2)))
    zero = np.zeros(_VOTERS)
    known = replace(
        panel, slope=slope * root, slope_error=zero, loadings=_GROUP * root, loading_variance=zero, omega=0.0
    )
    found[_KNOWN] = decided(new, truth[_LEARNED:], panel=replace(known, mean_loadings=np.zeros(3)))
    found["no panel"] = decided(new, truth[_LEARNED:], scale="pooled")
    facts = {"learned from": _LEARNED, "answers": _ANSWERED, "learning": facts, "instances": _NEW}
    return facts | {"methods": compared(found, None, (_KNOWN, "no panel"))}


# Translators


def mqm() -> Iterator[Row]:
    """Yield how a panel is learned."""
    yield from ({"factors": factors, "seeds": seeds} for factors, seeds in (("auto", 3), (0, 3)))


def translations(path: Path, row: Row) -> Row:
    """Return how each half of the blocks is decided with the panel of the other half, averaged over random halves.

    Answers are fitted to the other blocks of the half that is learned from, so nothing of the tested half is in them.
    """
    data = vt.datasets.load("mqm")
    of = pl.col("decision").str.split("/").list.first()
    votes = data.table("votes").with_columns(pl.concat_str(of, pl.lit(" "), "voter").alias("voter"), of.alias("set"))
    profile = vt.read(votes.drop("set"))
    truth = read_truth(data.table("truth"), profile)
    sets = np.array(data.clusters)
    every: dict[str, list[Judged]] = {"panel": [], "pooled": [], "each": []}
    facts = []
    for seed in range(row["seeds"]):
        random, first = np.random.default_rng((seed, 32)), np.zeros(len(sets), dtype=bool)
        for name in np.unique(sets):
            own = random.permutation(np.flatnonzero(sets == name))
            first[own[: len(own) // 2]] = True
        parts: dict[str, list[tuple[np.ndarray, Judged]]] = {name: [] for name in every}
        for half in (first, ~first):
            some, new = np.flatnonzero(half), np.flatnonzero(~half)
            panel, fact = learned(profile.rows(some), _fitted(votes, profile, some), factors=row["factors"])
            facts.append(fact)
            for name, given in (("panel", {"panel": panel}), ("pooled", {"scale": "pooled"}), ("each", {})):
                parts[name].append((new, decided(profile.rows(new), truth[new], **given)))
        for name, both in parts.items():
            order = np.argsort(np.concat([places for places, _ in both]))
            every[name].append({key: np.concat([own[key] for _, own in both])[order] for key in both[0][1]})
    found = {
        name: {key: np.mean([own[key] for own in many], axis=0) for key in many[0]} for name, many in every.items()
    }
    others = ("pooled", "each")
    apart, by_set = compared(found, None, others), compared(found, sets, others)
    return {"instances": len(sets), "learning": facts, "decisions apart": apart, "by set": by_set}


def _fitted(votes: pl.DataFrame, profile: vt.Profile, places: np.ndarray) -> np.ndarray:
    """Return the effect of each system in an additive fit of rater and system to the other blocks at these places."""
    names = [profile.decision_names[d] for d in places]
    some = votes.filter(pl.col("decision").is_in(names))
    made = np.full((len(places), profile.shape[-1]), np.nan)
    for d, name in enumerate(names):
        own = some.filter((pl.col("set") == name.split("/")[0]) & (pl.col("decision") != name))
        raters, systems = (
            np.unique(own[column].to_numpy(), return_inverse=True) for column in ("voter", "alternative")
        )
        table = np.concat([np.eye(len(raters[0]))[raters[1]], np.eye(len(systems[0]))[systems[1]]], axis=1)
        root = np.sqrt(own["count"].to_numpy())
        effects = np.linalg.lstsq(table * root[:, None], own["value"].to_numpy() * root, rcond=None)[0]
        by_name = dict(zip(systems[0], effects[len(raters[0]) :], strict=True))
        labels = profile.alternative_labels.at(places[d])
        made[d, : len(labels)] = [by_name.get(label, np.nan) for label in labels]
    return made


# Models compared by crowd workers


_MODELS = 30  # most compared
_LESSONS, _TESTS = 20, 5  # decisions of a third
_PEERS = os.environ.get("PEERS_PYTHON")  # of an environment that has crowd-kit


def llmfao() -> Iterator[Row]:
    """Yield seeds of splits."""
    yield from ({"seed": seed} for seed in (*range(6), "all"))


def leaderboards(path: Path, row: Row) -> Row:
    """Split pairs of answers in three: to learn from, to decide by, and for the truth.

    Answers of a decision that is learned from are mean scores in the others of its third. Then the first two thirds
    together predict the comparisons of the last one.
    """
    if row["seed"] == "all":
        return all_rows(path, "seed", ("pooled", "each")) | {"predicted": _all_predicted(path)}
    table = vt.datasets.load("llmfao").table("comparisons")
    sides = pl.concat([table.select(model=column) for column in ("left", "right")])
    top = sides.group_by("model").len().sort("len", "model", descending=True)["model"].head(_MODELS)
    table = table.filter(pl.col("left").is_in(top.implode()) & pl.col("right").is_in(top.implode()))
    ids = np.random.default_rng((row["seed"], 33)).permutation(table["id"].unique().sort().to_numpy())
    some, new, last = (table.filter(pl.col("id").is_in(own.tolist())) for own in np.array_split(ids, 3))
    lessons, tests = _cut(some, ids, _LESSONS), _cut(new, ids, _TESTS)
    profile = vt.read(lessons.drop("id"))
    names = profile.decision_names
    answers = np.stack(
        [_scores(lessons.filter(pl.col("decision") != name), profile, d) for d, name in enumerate(names)]
    )
    decisions = vt.read(tests.drop("id"))
    truth = np.stack([_scores(last, decisions, d) for d in range(decisions.batch[0])])
    panel, facts = learned(profile, answers, factors="auto")
    found = {
        name: decided(decisions, truth, **given)
        for name, given in (("panel", {"panel": panel}), ("pooled", {"scale": "pooled"}), ("each", {}))
    }
    both = pl.concat([some, new])
    return {**facts, **one_row(found), **_beside_peers(tests, decisions, truth, both, last, panel)}


def _cut(table: pl.DataFrame, ids: np.ndarray, number: int) -> pl.DataFrame:
    """Return comparisons as votes in so many decisions; those of the same answers stay together."""
    place = {int(own): f"d{k % number:02}" for k, own in enumerate(ids)}
    decision = pl.col("id").replace_strict(place, return_dtype=pl.String)
    voter = pl.concat_str(pl.lit("w"), "worker")
    return table.select("id", decision.alias("decision"), voter.alias("voter"), "left", "right", "winner").sort(
        "decision"
    )


def _scores(table: pl.DataFrame, profile: vt.Profile, d: int) -> np.ndarray:
    """Return the mean score of each alternative of a decision: 1 for a win, 0.5 for a tie."""
    won = pl.col("winner").replace_strict({"left": 1.0, "tie": 0.5, "right": 0.0}, return_dtype=pl.Float64)
    sides = pl.concat([table.select(model="left", score=won), table.select(model="right", score=1 - won)])
    by_name = dict(sides.group_by("model").agg(pl.col("score").mean()).iter_rows())
    made = np.full(profile.shape[-1], np.nan)
    labels = profile.alternative_labels.at(d)
    made[: len(labels)] = [by_name.get(label, np.nan) for label in labels]
    return made


def _beside_peers(
    tests: pl.DataFrame,
    decisions: vt.Profile,
    truth: np.ndarray,
    both: pl.DataFrame,
    last: pl.DataFrame,
    panel: vt.LearnedPanel,
) -> Row:
    """Return regret of crowd-kit on the same votes, and how well everybody predicts comparisons that were left out."""
    whole = vt.read(_cut(both, both["id"].unique().to_numpy(), 1).drop("id", "decision"))
    predictions = {}
    with warnings.catch_warnings(action="ignore", category=vt.InputWarning):
        for name, given in (("panel", {"panel": panel}), ("no panel", {})):
            scores = vt.decide(whole, tie_break="first", **given).scores
            predictions[name] = _predicted(dict(zip(whole.alternatives, scores, strict=True)), both, last)
    regret = {}
    if _PEERS:
        tables = [tests.filter(pl.col("decision") == name) for name in decisions.decision_names]
        tables = [own.rename({"voter": "worker"}) for own in tables] + [both]
        given = json.dumps([own.select("worker", "left", "right", "winner").to_dict(as_series=False) for own in tables])
        script = Path(__file__).parent / "noisy_bradley_terry.py"
        asked = subprocess.run([_PEERS, script], input=given, capture_output=True, text=True, check=True)
        answered = json.loads(asked.stdout)
        for key, name in (("False", "crowd-kit"), ("True", "crowd-kit, slope mended")):
            winners = [_winner(own[key], decisions, d) for d, own in enumerate(answered[:-1])]
            regret[name] = [float(np.nanmax(own) - own[place]) for own, place in zip(truth, winners, strict=True)]
            predictions[name] = _predicted(answered[-1][key], both, last)
    return {"regret of peers": regret, "predicted": predictions}


def _winner(scores: dict[str, float], decisions: vt.Profile, d: int) -> int:
    labels = decisions.alternative_labels.at(d)
    return int(np.argmax([scores.get(str(label), -np.inf) for label in labels]))


def _predicted(scores: dict[Any, float], known: pl.DataFrame, left_out: pl.DataFrame) -> Row:
    """Return accuracy and log loss for comparisons without ties, by a logistic function of the difference of scores.

    Its scale is fitted to the known comparisons, for all methods alike.
    """
    from scipy.optimize import minimize_scalar

    def differences(table: pl.DataFrame) -> np.ndarray:
        decisive = table.filter(pl.col("winner") != "tie")
        sign = np.where(decisive["winner"].to_numpy() == "left", 1, -1)
        by_name = {str(name): float(score) for name, score in scores.items()}
        middle = float(np.mean(list(by_name.values())))
        left, right = ([by_name.get(name, middle) for name in decisive[side]] for side in ("left", "right"))
        return sign * (np.array(left) - np.array(right))

    train, test = differences(known), differences(left_out)
    unit = float(np.std(train)) or 1.0
    scale = minimize_scalar(lambda x: np.mean(np.logaddexp(0, -x * train / unit)), bounds=(0, 20), method="bounded").x
    right = np.where(test > 0, 1.0, np.where(test < 0, 0.0, 0.5))
    loss = np.logaddexp(0, -scale * test / unit)
    return {"comparisons": len(test), "right": float(np.mean(right)), "loss": float(np.mean(loss))}


def _all_predicted(path: Path) -> Row:
    """Return how well comparisons are predicted and the regret of peers, over splits, beside the panel."""
    rows = [row for row in read_rows(path) if "means" in row]
    made: Row = {}
    for name in rows[0]["predicted"]:
        own = {key: np.array([row["predicted"][name][key] for row in rows]) for key in ("right", "loss")}
        panel = {key: np.array([row["predicted"]["panel"][key] for row in rows]) for key in ("right", "loss")}
        if name in rows[0]["regret of peers"]:
            own["regret"] = np.array([np.mean(row["regret of peers"][name]) for row in rows])
            panel["regret"] = np.array([row["means"]["panel"]["regret"] for row in rows])
        made[name] = means(own) | {"more than panel": means({key: own[key] - panel[key] for key in own})}
    return made


def main() -> None:
    """Measure what is not there yet."""
    parts: dict[str, tuple[Callable[[], Iterator[Row]], Callable[[Path, Row], Row]]] = {
        "polls": (polls, contests),
        "groups": (groups, shared_in_groups),
        "mqm": (mqm, translations),
        "llmfao": (llmfao, leaderboards),
    }
    parser = argparse.ArgumentParser(description="What a learned panel is worth.")
    parser.add_argument("name", choices=tuple(parts))
    plan, measure = parts[parser.parse_args().name]
    path = FOLDER / f"learned-{parser.parse_args().name}.json"
    measure_rows(path, plan(), lambda row: measure(path, row))


if __name__ == "__main__":
    main()
