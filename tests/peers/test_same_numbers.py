"""Where other libraries compute the same as we do; skipped where they are not installed (``make peers`` has them)."""

import numpy as np
import pytest

import veritally as vt

SEEDS = range(20)


def scores(profile, rule):
    return vt.evaluate(profile, [rule])[rule]


@pytest.fixture
def effects():
    """PyMARE's fixed effects: weighted least squares on a constant, a column for each alternative."""
    estimators = pytest.importorskip("pymare.estimators")

    def fit(values, variances):
        estimator = estimators.WeightedLeastSquares()
        estimator.fit(y=values, X=np.ones((len(values), 1)), v=variances)
        return estimator.params_["fe_params"][0]

    return fit


@pytest.fixture
def linear():
    return pytest.importorskip("pref_voting.profiles").Profile


@pytest.fixture
def with_ties():
    return pytest.importorskip("pref_voting.profiles_with_ties").ProfileWithTies


def drawn_values(rng):
    m, n = rng.integers(2, 30), rng.integers(2, 8)
    counts = rng.integers(1, 1000, (m, n)).astype(float)
    return rng.normal(size=(m, n)) * 40 / np.sqrt(counts) + rng.normal(size=n), counts


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_is_the_fixed_effect(effects, seed):
    rng = np.random.default_rng(seed)
    values, counts = drawn_values(rng)
    variances = rng.uniform(1, 50, values.shape[1]) ** 2 / counts  # σ of an alternative is the same to all who saw it
    ours = scores(vt.Profile(values=values, counts=counts), "mean")
    np.testing.assert_allclose(ours, effects(values, variances), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_is_the_fixed_effect_of_those_who_saw_it(effects, seed):
    rng = np.random.default_rng(seed)
    values, counts = drawn_values(rng)
    counts[1:] *= rng.random(counts[1:].shape) < 0.6
    counts[:, 0] = np.maximum(counts[:, 0], 1)
    seen = counts > 0
    ours = scores(vt.Profile(values=np.where(seen, values, np.nan), counts=counts), "mean")
    for j in range(values.shape[1]):
        own = seen[:, j]
        theirs = effects(values[own, j, None], 9 / counts[own, j, None])
        np.testing.assert_allclose(ours[j], theirs[0], rtol=1e-12, atol=1e-12)


def drawn_orders(rng):
    m, n = rng.integers(1, 30), rng.integers(2, 8)
    return rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1), rng.integers(1, 5, m)


@pytest.mark.parametrize("seed", SEEDS)
def test_borda_and_plurality_on_strict_rankings(linear, seed):
    orders, many = drawn_orders(np.random.default_rng(seed))
    theirs = linear(orders.tolist(), rcounts=many.tolist())
    ours = vt.Profile(order=orders, multiplicity=many)
    np.testing.assert_array_equal(scores(ours, "borda"), list(theirs.borda_scores().values()))
    np.testing.assert_array_equal(scores(ours, "plurality"), list(theirs.plurality_scores().values()))


def drawn_ranks(rng):
    """Ranks with ties of two alternatives or more; those of the first voter have a tie at the top."""
    m, n = rng.integers(1, 30), rng.integers(2, 8)
    ranks = rng.integers(1, n + 1, (m, n))
    ranks[0, :2] = 1
    return ranks, rng.integers(1, 5, m)


def ballots(ranks):
    return [{j: int(rank) for j, rank in enumerate(row) if rank > 0} for row in ranks]


@pytest.mark.parametrize("seed", SEEDS)
def test_borda_with_ties(with_ties, seed):
    """Their points are beaten less beaten by, ours beaten and half of those tied with: 2 · ours − M(n − 1)."""
    ranks, many = drawn_ranks(np.random.default_rng(seed))
    theirs = with_ties(ballots(ranks), rcounts=many.tolist()).borda_scores()
    ours = scores(vt.Profile(ranks=ranks, multiplicity=many), "borda")
    np.testing.assert_array_equal(2 * ours - many.sum() * (ranks.shape[1] - 1), list(theirs.values()))


@pytest.mark.parametrize("seed", SEEDS)
def test_plurality_with_ties(with_ties, seed):
    """They leave it undefined where favourites tie; where these share a point, it is ours."""
    ranks, many = drawn_ranks(np.random.default_rng(seed))
    theirs = with_ties(ballots(ranks), rcounts=many.tolist())
    with pytest.raises(ValueError, match="unique candidate in first place"):
        theirs.plurality_scores()
    ours = scores(vt.Profile(ranks=ranks, multiplicity=many), "plurality")
    np.testing.assert_allclose(ours, list(theirs.tops_scores(score_type="split").values()), rtol=1e-14)


def drawn_partial(rng):
    """Ranks of which some are blank, two at least in each ballot and the first ballot whole."""
    ranks, many = drawn_ranks(rng)
    blank = rng.random(ranks.shape) < 0.4
    blank[0] = blank[:, :2] = False
    return np.where(blank, 0, ranks), many


@pytest.mark.parametrize("seed", SEEDS)
def test_borda_with_blanks_below(with_ties, seed):
    """They put what is not ranked below, as we do for what was seen."""
    ranks, many = drawn_partial(np.random.default_rng(seed))
    n = ranks.shape[1]
    theirs = with_ties(ballots(ranks), rcounts=many.tolist(), candidates=list(range(n))).borda_scores()
    ours = scores(vt.Profile(ranks=ranks, multiplicity=many), "borda")
    np.testing.assert_array_equal(2 * ours - many.sum() * (n - 1), [theirs[j] for j in range(n)])


@pytest.mark.parametrize("seed", SEEDS)
def test_borda_with_the_unseen(with_ties, seed):
    """Theirs is then the sum of margins between what was ranked; ours the same up to a constant."""
    ranks, many = drawn_partial(np.random.default_rng(seed))
    n = ranks.shape[1]
    theirs = with_ties(ballots(ranks), rcounts=many.tolist(), candidates=list(range(n)))
    theirs.use_strict_preference()
    margins = np.sum(theirs.margin_matrix, axis=1)
    ours = scores(vt.Profile(ranks=ranks, counts=ranks > 0, multiplicity=many), "borda")
    np.testing.assert_allclose(2 * (ours - ours.mean()), margins, rtol=0, atol=1e-9)
