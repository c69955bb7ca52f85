"""What looks are worth, against brute force: simulate the looks, decide again, average."""

import numpy as np
import pytest
from looked_at import battles, looks_at, simulated, situation
from scipy.special import ndtr, ndtri
from scipy.stats import spearmanr

import veritally as vt
from veritally.planning.looks import Looks

# Votes that are simulated again and again look odd to those who look for copies and reversed voters.
pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputWarning")


def gibbs(ranks, counts, sigma, chains, rng, sweeps=50):
    """Draw truths (chain, n) and the means behind rankings (chain, voter, n), from their exact posterior, τ = 1."""
    deviation, order = sigma / np.sqrt(counts), np.argsort(ranks, axis=1)
    means = np.tile(-ranks.astype(float) / 2, (chains, 1, 1))
    for _ in range(sweeps):
        precision = 1 + np.sum(deviation**-2.0, axis=0)
        truth = np.sum(means / deviation**2, axis=1) / precision
        truth = truth + rng.normal(size=truth.shape) / np.sqrt(precision)
        for i, row in enumerate(order):
            for place, j in enumerate(row):
                high = means[:, i, row[place - 1]] if place else np.inf
                low = means[:, i, row[place + 1]] if place < len(row) - 1 else -np.inf
                start, end = (ndtr((x - truth[:, j]) / deviation[i, j]) for x in (low, high))
                u = np.clip(start + (end - start) * rng.random(chains), 1e-12, 1 - 1e-12)
                means[:, i, j] = truth[:, j] + deviation[i, j] * ndtri(u)
    return truth, means


def decided_again(profiles, winner, sigma):
    scores = np.asarray(vt.decide(profiles, sigma=sigma, tau=1.0, cap="none").scores)
    gains = np.max(scores, axis=1) - scores[:, winner]
    return np.mean(gains), np.std(gains) / len(gains) ** 0.5


def brute_force_rankings(profile, cells, times, sigma, rng, chains, choose=1):
    """Return by how much the truth of what is chosen then is higher, and the error of that.

    What is decided again is not asked: it does not know the former ballot, and takes the new one for more than it is.
    """
    ranks, counts = np.asarray(profile.ballots.votes), np.asarray(profile.counts)
    truth, means = gibbs(ranks, counts, sigma, chains, rng)
    now = np.argsort(-np.asarray(vt.decide(profile, sigma=sigma, tau=1.0, tie_break="first").scores))[:choose]
    noise, found = rng.normal(size=chains), []
    for i, j in cells:
        seen = truth[:, j] + sigma / np.sqrt(times) * noise
        own = means[:, i].copy()
        own[:, j] = (counts[i, j] * own[:, j] + times * seen) / (counts[i, j] + times)
        new, more = np.tile(ranks, (chains, 1, 1)).astype(float), np.array(counts)
        new[:, i] = np.argsort(np.argsort(-own, axis=1), axis=1) + 1
        more[i, j] += times
        again = vt.Profile(ranks=new, counts=np.tile(more, (chains, 1, 1)))
        then = np.argsort(-np.asarray(vt.decide(again, sigma=sigma, tau=1.0, cap="none").scores), axis=1)[:, :choose]
        known = expected_truths(np.concat([means[:, :i], own[:, None], means[:, i + 1 :]], axis=1), more, sigma)
        gains = np.sum(np.take_along_axis(known, then, axis=1), axis=1) - np.sum(known[:, now], axis=1)
        found.append((np.mean(gains), np.std(gains) / chains**0.5))
    return np.array(found)


def expected_truths(means, counts, sigma):
    """Return what truths are expected by whoever knows voters' means, ``(chain, voter, n)``, τ = 1."""
    told = counts / sigma**2
    return np.sum(told * means, axis=1) / (1 + np.sum(told, axis=0))


def brute_force_values(profile, cells, times, sigma, rng, chains):
    values, counts = np.asarray(profile.ballots.votes), np.asarray(profile.counts)
    outcome = vt.decide(profile, sigma=sigma, tau=1.0)
    known = outcome.fit.posterior.moments
    root = np.linalg.cholesky(np.linalg.inv(known.precision[0]))
    truth = known.mean[0] + rng.normal(size=(chains, len(root))) @ root.T
    winner, noise, found = int(np.argmax(outcome.scores)), rng.normal(size=chains), []
    for i, j in cells:
        seen = truth[:, j] + sigma / np.sqrt(times) * noise
        new, more = np.tile(values, (chains, 1, 1)), np.array(counts)
        new[:, i, j] = (counts[i, j] * values[i, j] + times * seen) / (counts[i, j] + times)
        more[i, j] += times
        found.append(decided_again(vt.Profile(values=new, counts=np.tile(more, (chains, 1, 1))), winner, sigma))
    return np.array(found)


def brute_force_pairs(profile, cells, times, sigma, rng, chains):
    outcome = vt.decide(profile, sigma=sigma, tau=1.0, tie_break="first")
    own, n = situation(profile, sigma=sigma, tau=1.0).knowledge, profile.shape[-1]
    truth = own.truths + rng.normal(size=(chains, n)) @ np.linalg.cholesky(own.spread).T
    winner, luck, found = int(np.argmax(outcome.scores)), rng.random((chains, times)), []
    for j, k in cells:
        wins = np.sum(luck < ndtr((truth[:, j] - truth[:, k]) / (2**0.5 * sigma))[:, None], axis=1)
        new = np.tile(np.asarray(profile.ballots.votes), (chains, 1, 1, 1))
        new[:, 0, j, k] += wins
        new[:, 0, k, j] += times - wins
        found.append(decided_again(vt.Profile(pairs=new), winner, sigma))
    return np.array(found)


def valued(votes, seed, chains, **choose):
    """Return what looks are worth by us and by brute force, both no less than brute force can tell from nothing."""
    brute, sigma, times = BRUTE[votes]
    profile = battles(seed) if votes == "pairs" else simulated(votes, seed, sigma=sigma)
    own = situation(profile, sigma=sigma, tau=1.0, **choose)
    if votes == "pairs":
        cells = [(j, k) for j in range(6) for k in range(j)]
        added = np.stack([times * np.isin(np.arange(6), pair) for pair in cells]).astype(float)
        number = np.full(len(cells), float(times))
        ours = own.gains(Looks(np.zeros(len(cells), int), np.ones(len(cells), int), added, number, number))
    else:
        cells = [(i, j) for i in range(5) for j in range(5)]
        ours = own.gains(looks_at(cells, 5, times))
    found = brute(profile, cells, times, sigma, np.random.default_rng(seed), chains, **choose)
    least = 3 * np.max(found[:, 1]) + 1e-4
    return np.maximum(ours, least), np.maximum(found[:, 0], least)


BRUTE = {
    "rankings": (brute_force_rankings, 5.0, 10),
    "values": (brute_force_values, 20.0, 30),
    "pairs": (brute_force_pairs, 1.0, 10),
}


@pytest.mark.parametrize(("votes", "seeds"), [("rankings", [3, 4]), ("values", [5, 6, 7]), ("pairs", [0, 3])])
def test_values_of_looks_are_those_of_brute_force(votes, seeds):
    ours, found = (np.concat(x) for x in zip(*(valued(votes, seed, 250) for seed in seeds), strict=True))
    assert spearmanr(ours, found).statistic >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("votes", "choose"), [("rankings", {}), ("rankings", {"choose": 2}), ("values", {}), ("pairs", {})]
)
def test_values_of_looks_are_those_of_brute_force_in_many_decisions(votes, choose):
    pairs = [valued(votes, seed, 1500, **choose) for seed in range(2, 14)]
    ours, found = (np.concat(x) for x in zip(*pairs, strict=True))
    assert spearmanr(ours, found).statistic >= 0.95
