"""What is inferred where voters share errors: against a Gibbs sampler, and of values against algebra.

The package matches moments of a normal, and that is off by a little whatever it does; how much is allowed is stated in
posterior standard deviations (means), relatively (deviations) and absolutely (P(best)), beside three standard errors of
the sampler. What votes other than values do not tell, the common level of the truths, is taken out of both.
"""

import numpy as np
import pytest
from algebra import conditioned
from gibbs import Comparisons, Rankings, Sampler, Values, summary
from scipy import optimize, special

import veritally as vt
from veritally.votes.items import Items

ERRORS = 3
CHAINS, SWEEPS, WARM_UP = 200, 800, 100
# Mean, deviation, P(best). Independent voters are off by as much on the same votes.
NEAR = (0.03, 0.04, 0.02)
OF_FAVOURITES = (0.03, 0.10, 0.02)  # which leave the rest more askew
ROUGHLY = (0.3, 0.06, 0.03)  # where the mode of truths and errors, and the curvature there, have to do


# What is said of a panel, as a model


def shared_model(counts, each, correlation, sigma, omega=0.0):
    """Return own variances and loadings of voters who share errors, ``(1, voter, alternative[, factor])``.

    ``each`` says by how much, ``(voter, factor)``, at a correlation of 1. At the geometric mean count, the variance of
    an error, σ²/c̄ + ω², stays as it is: what is shared takes the place of ω² first and then of a part of σ².
    """
    counts, each = np.asarray(counts, dtype=float), np.asarray(each, dtype=float)
    seen = counts > 0
    typical = np.exp(np.mean(np.log(counts[seen])))
    shared = correlation * (sigma**2 / typical + omega**2)
    part = shared * np.sum(each**2, axis=1)[:, None]
    taken = np.maximum(part - omega**2, 0) * typical / sigma**2
    own = (1 - taken) * sigma**2 / np.where(seen, counts, 1) + np.maximum(omega**2 - part, 0)
    loadings = np.broadcast_to(np.sqrt(shared) * each[:, None], (*counts.shape, each.shape[1]))
    return own[None], loadings[None]


def members(groups, voters):
    """Return who belongs to which group, ``(voter, group)``."""
    return np.array([[voter in group for group in groups.values()] for voter in voters], dtype=float)


def tiers_of(ranks, counts):
    """Return tiers without gaps, as the sampler takes them: what was seen and not ranked comes last."""
    found = np.full(np.shape(ranks), -1)
    for i, (own, seen) in enumerate(zip(np.asarray(ranks, dtype=float), np.asarray(counts) > 0, strict=True)):
        own = np.where(own > 0, own, np.inf)
        found[i, seen] = np.unique(own[seen], return_inverse=True)[1]
    return found[None]


# Votes


GROUPS = {"lab": [0, 1, 2], "office": [3, 4]}
KERNEL = np.array([1.0, 0.9, 0.8, 0.3, -0.4, 0.0])


def drawn(seed, n=4, m=6, most=9):
    """Return ranks and counts of voters of whom the first three err together."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, most, (m, n)).astype(float)
    error = np.r_[np.repeat(random.standard_normal((1, n)), 3, axis=0), random.standard_normal((m - 3, n))]
    x = 0.4 * random.standard_normal(n) + 0.8 * error + random.standard_normal((m, n)) / np.sqrt(counts)
    return x, counts


def ranked(x):
    return (-x).argsort(axis=-1).argsort(axis=-1) + 1.0


def rankings_case(ranks, counts, correlation, sigma, omega=0.0, groups=GROUPS):
    model = shared_model(counts, members(groups, range(len(ranks))), correlation, sigma, omega)
    given = {"sigma": sigma, "tau": 1.0} | ({"omega": omega} if omega else {})
    profile = vt.Profile(ranks=ranks, counts=counts)
    return profile, vt.Panel(groups, correlation=correlation), [Rankings(tiers_of(ranks, counts), *model)], given


def full(correlation, seed, omega=0.0):
    x, counts = drawn(seed)
    return rankings_case(ranked(x), counts, correlation, 1.5, omega)


def all_together():
    x, counts = drawn(3)
    return rankings_case(ranked(x), counts, 0.7, 2.0, groups={"all": list(range(6))})


def ties():
    _, counts = drawn(4)
    ranks = [[1, 2, 2, 4], [1, 1, 3, 4], [1, 2, 3, 3], [2, 1, 4, 3], [1, 1, 1, 4], [4, 2, 1, 2]]
    return rankings_case(ranks, counts, 0.6, 1.5)


def partial_ballots():
    _, counts = drawn(5)
    ranks = np.array([[1, 2, 0, 3], [0, 1, 2, 3], [1, 0, 0, 2], [2, 1, 3, 0], [1, 2, 3, 4], [0, 0, 2, 1]])
    return rankings_case(ranks, np.where(ranks > 0, counts, 0), 0.6, 1.0)


def lists_of_the_best():
    """What was seen and not ranked stands below what was ranked."""
    _, counts = drawn(6)
    ranks = [[1, 2, 0, 0], [1, 2, 0, 0], [2, 1, 0, 0], [0, 1, 2, 3], [1, 2, 3, 4], [0, 0, 1, 0]]
    return rankings_case(ranks, counts, 0.5, 1.0)


def favourites():
    _, counts = drawn(7)
    top = [0, 0, 0, 1, 2, 1]
    tiers = (np.array(top)[:, None] != np.arange(4)).astype(int)[None]
    model = shared_model(counts, members(GROUPS, range(6)), 0.6, 1.0)
    profile = vt.Profile(top=top, counts=counts, alternatives=list(range(4)))
    return profile, vt.Panel(GROUPS, correlation=0.6), [Rankings(tiers, *model)], {"sigma": 1.0, "tau": 1.0}


def kernel(correlation=0.8):
    """Voters who are alike by one factor, some the other way round."""
    x, counts = drawn(8)
    similarity = np.outer(KERNEL, KERNEL) + np.diag(1 - KERNEL**2)
    model = shared_model(counts, np.c_[KERNEL], correlation, 1.5)
    # What a voter has in common with nobody is the voter's own, and the first has nothing of its own beside the factor.
    panel = vt.Panel(similarity=similarity, correlation=correlation)
    return (
        vt.Profile(ranks=ranked(x), counts=counts),
        panel,
        [Rankings(tiers_of(ranked(x), counts), *model)],
        {"sigma": 1.5, "tau": 1.0},
    )


def pairs():
    random = np.random.default_rng(9)
    x, _ = drawn(9, n=3)
    voter = np.repeat(np.arange(6), 5)
    order = np.array([random.permutation(3)[:2] for _ in voter])
    look = x[voter[:, None], order] + random.standard_normal(order.shape)
    order = np.where(look[:, :1] > look[:, 1:], order, order[:, ::-1])
    times = np.zeros((6, 3, 3))
    np.add.at(times, (voter, order[:, 0], order[:, 1]), 1)
    model = shared_model(np.ones((6, 3)), members(GROUPS, range(6)), 0.5, 1.0)  # a comparison is a look at both
    block = Comparisons(voter[None], order[None, :, 0], order[None, :, 1], *model)
    return vt.Profile(pairs=times), vt.Panel(GROUPS, correlation=0.5), [block], {"sigma": 1.0, "tau": 1.0}


def names(number, letter):
    return [f"{letter}{i}" for i in range(number)]


def mixed():
    """Three rank, three give values, and a group has voters of both."""
    x, counts = drawn(10)
    voters, groups = names(6, "v"), {"lab": ["v0", "v1", "v3"], "office": ["v2", "v5"]}
    variance, loadings = shared_model(counts, members(groups, voters), 0.6, 1.2)
    profile = vt.concat(
        [
            vt.Profile(ranks=ranked(x[:3]), counts=counts[:3], voters=voters[:3]),
            vt.Profile(values=x[3:], counts=counts[3:], voters=voters[3:]),
        ]
    )
    blocks = [
        Rankings(tiers_of(ranked(x[:3]), counts[:3]), variance[:, :3], loadings[:, :3]),
        Values(x[None, 3:], variance[:, 3:], loadings[:, 3:]),
    ]
    return profile, vt.Panel(groups, correlation=0.6), blocks, {"sigma": 1.2, "tau": 1.0}


def looks(seed, m=4, n=3, number=6):
    """Who saw which items how often, ``(voter, alternative, item)``."""
    random = np.random.default_rng(seed)
    times = random.integers(0, 3, (m, n, number)).astype(float)
    times[..., 0] += 1
    return times


def items_panel(times, share):
    """Return the panel, and own variances and loadings in units of σ: an item is a factor."""
    i, j, s = np.nonzero(times)
    items = Items(tuple(i.tolist()), tuple(j.tolist()), s, times[i, j, s])
    counts = times.sum(axis=-1)
    own = (1 - share) / counts
    return (
        vt.Panel(items=items, correlation=share),
        counts,
        own[None],
        np.sqrt(share) * (times / counts[..., None])[None],
    )


def items_ranked():
    random = np.random.default_rng(12)
    panel, counts, own, loadings = items_panel(looks(11), 0.5)
    ranks = ranked(random.standard_normal(3) + random.standard_normal((4, 3)))
    sigma = 1.4
    block = Rankings(tiers_of(ranks, counts), sigma**2 * own, sigma * loadings)
    return vt.Profile(ranks=ranks, counts=counts), panel, [block], {"sigma": sigma, "tau": 1.0}


CASES = {
    "groups": (lambda: full(0.6, 0), NEAR),
    "groups, weakly": (lambda: full(0.35, 0), NEAR),
    "groups, strongly": (lambda: full(0.9, 2), NEAR),
    "groups that share all of omega": (lambda: full(0.5, 1, omega=0.5), NEAR),
    "groups that share some of omega": (lambda: full(0.3, 1, omega=1.0), NEAR),
    "all together": (all_together, NEAR),
    "a kernel": (kernel, NEAR),
    "ties": (ties, NEAR),
    "partial ballots": (partial_ballots, NEAR),
    "lists of the best": (lists_of_the_best, NEAR),
    "favourites": (favourites, OF_FAVOURITES),
    "items": (items_ranked, NEAR),
    "pairs": (pairs, ROUGHLY),
    "rankings and values": (mixed, NEAR),
}


def deviations_of(outcome, centre):
    """Return posterior standard deviations, of the truths or of how they differ from their mean."""
    covariance = np.linalg.inv(np.asarray(outcome.fit.posterior.moments.precision)[0])
    return np.sqrt(np.diag(centre @ covariance @ centre.T))


@pytest.mark.parametrize("case", CASES)
def test_as_the_sampler(case):
    make, (near_mean, near_deviation, near_best) = CASES[case]
    profile, panel, blocks, given = make()
    n = profile.shape[-1]
    anchored = any(isinstance(block, Values) for block in blocks)
    centre = np.eye(n) - (0 if anchored else 1 / n)
    sampler = Sampler(blocks, tau=given["tau"], chains=CHAINS, seed=1, flat_mean=anchored)
    (mean, mean_error), (deviation, deviation_error), (best, best_error) = summary(sampler, SWEEPS, WARM_UP, centre)
    outcome = vt.decide(profile, panel=panel, tie_break="first", **given)
    scores = centre @ np.asarray(outcome.scores)
    assert np.all(np.abs(scores - mean[0]) <= near_mean * deviation[0] + ERRORS * mean_error[0])
    own = deviations_of(outcome, centre)
    assert np.all(np.abs(own - deviation[0]) <= near_deviation * deviation[0] + ERRORS * deviation_error[0])
    assert np.all(np.abs(np.asarray(outcome.p_best) - best[0]) <= near_best + ERRORS * best_error[0])


@pytest.mark.parametrize("case", CASES)
def test_the_panel_matters(case):
    """Without it, means or P(best) are off by more than is allowed above: the cases can tell."""
    make, (near_mean, _, near_best) = CASES[case]
    profile, panel, _, given = make()
    with_panel = vt.decide(profile, panel=panel, tie_break="first", **given)
    without = vt.decide(profile, tie_break="first", **given)
    deviation = deviations_of(with_panel, np.eye(profile.shape[-1]))
    moved = np.max(np.abs(with_panel.scores - without.scores) / deviation)
    assert moved > 2 * near_mean or np.max(np.abs(with_panel.p_best - without.p_best)) > 2 * near_best


# Values, exactly


@pytest.mark.parametrize("omega", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.9])
def test_values_of_groups(correlation, omega):
    x, counts = drawn(13)
    x[0, 1] = x[4, 2] = np.nan
    counts = np.where(np.isnan(x), 0, counts)
    own, loadings = shared_model(counts, members(GROUPS, range(6)), correlation, 1.3, omega)
    mean, covariance = conditioned(x, own[0], loadings[0], 0.8)
    given = {"sigma": 1.3, "tau": 0.8, "leniency": 0.0} | ({"omega": omega} if omega else {})
    outcome = vt.decide(vt.Profile(values=x, counts=counts), panel=vt.Panel(GROUPS, correlation=correlation), **given)
    np.testing.assert_allclose(outcome.scores, mean, rtol=1e-9, atol=1e-9)
    precision = np.asarray(outcome.fit.posterior.moments.precision)[0]
    np.testing.assert_allclose(np.linalg.inv(precision), covariance, rtol=1e-8, atol=1e-9)


def test_values_of_a_kernel():
    """With two factors that leave nothing unexplained."""
    x, counts = drawn(14)
    each = np.c_[KERNEL * 0.8, [0.0, 0.3, -0.5, 0.7, 0.6, 0.0]]
    similarity = each @ each.T
    np.fill_diagonal(similarity, 1)
    own, loadings = shared_model(counts, each, 0.7, 1.3)
    mean, covariance = conditioned(x, own[0], loadings[0], 0.8)
    panel = vt.Panel(similarity=similarity, correlation=0.7)
    outcome = vt.decide(vt.Profile(values=x, counts=counts), panel=panel, sigma=1.3, tau=0.8, leniency=0.0)
    # A kernel is taken apart to a hundredth of a correlation.
    np.testing.assert_allclose(outcome.scores, mean, atol=0.03 * np.sqrt(np.diag(covariance)).min())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_values_of_items(share):
    random = np.random.default_rng(15)
    panel, counts, own, loadings = items_panel(looks(15), share)
    x, sigma = random.standard_normal((4, 3)), 1.7
    mean, covariance = conditioned(x, sigma**2 * own[0], sigma * loadings[0], 0.8)
    outcome = vt.decide(vt.Profile(values=x, counts=counts), panel=panel, sigma=sigma, tau=0.8, leniency=0.0)
    np.testing.assert_allclose(outcome.scores, mean, rtol=1e-9, atol=1e-9)
    precision = np.asarray(outcome.fit.posterior.moments.precision)[0]
    np.testing.assert_allclose(np.linalg.inv(precision), covariance, rtol=1e-8, atol=1e-9)


def test_three_voters_on_the_same_items():
    """Ten looks each at the same ten items, half of the noise the items': of precision 15, not 12 nor 30 looks."""
    times = np.ones((3, 2, 10))
    panel, counts, _, _ = items_panel(times, 0.5)
    x, tau = np.array([[1.0, 0.0], [0.5, 0.2], [0.9, -0.1]]), 1.0
    outcome = vt.decide(vt.Profile(values=x, counts=counts), panel=panel, sigma=1.0, tau=tau, leniency=0.0)
    covariance = np.linalg.inv(np.asarray(outcome.fit.posterior.moments.precision)[0])
    apart = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert 2 / apart - tau**-2 == pytest.approx(15, rel=1e-12)


def test_pairs_are_decided_by_the_mode_of_truths_and_shared_errors():
    profile, panel, (block,), given = pairs()
    voter, winner, loser = block.voter[0], block.winner[0], block.loser[0]
    variance, loadings = block.variance[0], block.loadings[0]

    def height(theta):
        mu, b = theta[:3], theta[3:].reshape(2, 3)
        z = mu + np.einsum("ijf,fj->ij", loadings, b)
        apart = z[voter, winner] - z[voter, loser]
        deviation = np.sqrt(variance[voter, winner] + variance[voter, loser])
        return np.sum(theta**2) / 2 - np.sum(special.log_ndtr(apart / deviation))

    found = optimize.minimize(height, np.zeros(9), tol=1e-10)
    outcome = vt.decide(profile, panel=panel, **given)
    np.testing.assert_allclose(outcome.scores, found.x[:3], atol=1e-4)
