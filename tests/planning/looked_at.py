"""Decisions whose looks are valued."""

import numpy as np
from scipy.special import ndtr

import veritally as vt
from veritally.planning.looks import Looks
from veritally.planning.situations import Situations


def simulated(votes, seed, voters=5, alternatives=5, sigma=5.0):
    given = vt.Scenario(voters=voters, alternatives=alternatives, sigma=sigma, votes=votes, experience="uniform:1:20")
    return vt.simulate(given, instances=1, seed=seed).profile.decision(0)


def situation(profile, **parameters):
    ((_, only),) = Situations.of(vt.decide(profile, tie_break="first", cap="none", **parameters)).each
    return only


def looks_at(cells, n, times):
    voter, at = (np.array(x) for x in zip(*cells, strict=True))
    number = np.full(len(cells), float(times))
    return Looks(voter, np.ones(len(cells), int), times * np.eye(n)[at], number, number)


def battles(seed, n=6, number=60, voters=4):
    rng = np.random.default_rng(seed)
    truth, pairs = rng.normal(size=n), np.zeros((voters, n, n))
    for _ in range(number):
        j, k = rng.choice(n, 2, replace=False)
        j, k = (j, k) if rng.random() < ndtr((truth[j] - truth[k]) / 2**0.5) else (k, j)
        pairs[rng.integers(voters), j, k] += 1
    return vt.Profile(pairs=pairs)
