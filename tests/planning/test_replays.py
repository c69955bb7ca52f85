"""Replays of decisions, as the benchmarks make them: beliefs, policies, and what they value looks at."""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest

import veritally as vt
from veritally.arrays import ndtr
from veritally.planning.situations import Situations

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def replays(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("replays")


@pytest.fixture
def policies(replays):
    return importlib.import_module("policies")


def belief_of(replays, profile, verdicts, noise, **parameters):
    """Return what the package believes of one decision, as one replay."""
    outcome = vt.decide(profile, "posterior", tie_break="first", **parameters)
    known = Situations.of(outcome).each[0][1].knowledge
    designs = replays.designs(profile.shape[-1], verdicts)
    counts = np.zeros((1, len(designs)), dtype=int)
    return replays.Belief(known.truths[None], known.spread[None], counts, designs, noise, verdicts)


def offered(plan, sizes):
    """Return the gains of offers by what is looked at and how often."""
    return {(look.alternatives, look.looks): look.gain for look in plan.offers if look.looks in sizes}


@pytest.mark.filterwarnings("ignore:1 voter made about")
@pytest.mark.parametrize("verdicts", [False, True])
def test_looks_are_valued_as_the_package_values_them(replays, policies, verdicts):
    """With what the package believes, whose prior leaves the common mean open."""
    known = {"sigma": 3.0, "tau": 1.0}
    if verdicts:
        profile = vt.Profile(pairs=[[[0, 5, 7, 2], [3, 0, 4, 4], [1, 4, 0, 3], [6, 4, 2, 0]]])
    else:
        profile = vt.Profile(values=[[0.3, -0.2, 0.4, -1.0]], counts=[[20, 5, 9, 14]])
    plan = vt.next_looks(profile, budget=400, newcomers=False, **known)
    belief = belief_of(replays, profile, verdicts, 3.0 * math.sqrt(2 if verdicts else 1), **known)
    own, unit = policies.gains(belief)[0], 3.0 if verdicts else 1.0  # comparisons are valued in σ
    found = offered(plan, policies.BLOCKS)
    assert len(found) == own.size
    for design, gains in zip(belief.designs, own, strict=True):
        at = tuple(np.flatnonzero(design).tolist())
        theirs = [found[at, block] for block in policies.BLOCKS]
        np.testing.assert_allclose(gains / unit, theirs, rtol=1e-6, atol=1e-9)


def test_a_belief_has_the_exact_moments_after_a_verdict(replays):
    """By a grid over the two truths."""
    world = replays.Simulated(1, 2, 1.5, True, 0)
    belief = replays.Belief.before(world)
    belief.learn(np.array([0]), np.array([-1.0]))
    line = np.linspace(-7, 7, 701)
    one, two = np.meshgrid(line, line, indexing="ij")
    weight = np.exp(-(one**2 + two**2) / 2) * ndtr((two - one) / world.noise)
    weight /= weight.sum()
    mean = np.array([np.sum(weight * one), np.sum(weight * two)])
    np.testing.assert_allclose(belief.mean[0], mean, atol=1e-9)
    np.testing.assert_allclose(belief.covariance[0, 0, 1], np.sum(weight * one * two) - mean[0] * mean[1], atol=1e-9)
    np.testing.assert_allclose(belief.covariance[0, 0, 0], np.sum(weight * one**2) - mean[0] ** 2, atol=1e-9)


def test_the_same_look_shows_all_policies_the_same(replays):
    world = replays.Simulated(50, 3, 1.0, False, 4)
    action, time = np.full(50, 2), np.full(50, 7)
    first = world.shown(action, time)
    world.shown(np.zeros(50, dtype=int), time)
    assert np.array_equal(first, world.shown(action, time))
    luck = replays.uniform(1, np.arange(200)[:, None], np.arange(100))
    assert abs(luck.mean() - 0.5) < 4 * math.sqrt(1 / 12 / luck.size)  # false alarm: 1 in 16,000


def test_records_are_gone_through_once_before_any_again(replays):
    records = [np.arange(5.0), np.arange(3.0) + 10]
    world = replays.Recorded(records, np.zeros((4, 2)), np.eye(2), 1.0, False, 1.0, 0)
    for action, own in enumerate(records):
        shown = [world.shown(np.full(4, action), np.full(4, k)) for k in range(len(own))]
        assert np.array_equal(np.sort(shown, axis=0), np.repeat(own[:, None], 4, axis=1))
        assert np.isin(world.shown(np.full(4, action), np.full(4, 90)), own).all()


@pytest.mark.parametrize(("verdicts", "number", "budget", "a_round"), [(False, 60, 120, 1), (True, 120, 200, 5)])
def test_looks_by_worth_beat_random_ones(replays, policies, verdicts, number, budget, a_round):
    """By more than three paired standard errors, in low variance; every other policy runs and learns something."""
    world = replays.Simulated(number, 10, math.sqrt(10), verdicts, 5)
    ours = replays.regrets(world, policies.by_gain(5, a_round), budget, a_round)
    found = {
        name: replays.regrets(world, policy, budget, a_round) for name, policy in policies.others(5, budget, 10).items()
    }
    assert {curve.shape for curve in found.values()} == {ours.shape} == {(number, budget // a_round + 1)}
    for name, curve in found.items():
        assert curve[:, -1].mean() < 0.7 * curve[:, 0].mean(), name
    less = (found["random"] - ours).mean(axis=-1)
    assert less.mean() > 3 * less.std(ddof=1) / math.sqrt(len(less))


def test_where_nothing_is_worth_anything_the_closest_challenger_is_looked_at(replays, policies):
    for verdicts in (False, True):
        world = replays.Simulated(1, 3, 1.0, verdicts, 0)
        belief = replays.Belief.before(world)
        belief.mean, belief.covariance = np.array([[0.0, 100.0, 50.0]]), np.diag([1e-4, 2e-4, 1e-4])[None]
        chosen = policies.best_by_gain(belief, np.random.default_rng(0))[0]
        assert list(np.flatnonzero(belief.designs[chosen])) == ([1, 2] if verdicts else [1])
