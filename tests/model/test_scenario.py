"""Scenarios: each part is distributed as it says, and what does not fit is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import veritally as vt
from veritally.model.scenario import SCENARIOS
from veritally.model.simulation import block_size, draws

BACKENDS = ("numpy", "jax")
RARE = 1e-4  # probability of a false alarm of each test of a distribution below; the seeds are fixed


def errors(noise, count, backend, instances=4000, sigma=2.0):
    """(mean − truth) of a constant number of observations, in standard deviations of one."""
    scenario = vt.Scenario(voters=3, alternatives=2, experience=count, noise=noise, sigma=sigma)
    trials = vt.simulate(scenario, instances=instances, seed=5, backend=backend)
    deviations = np.asarray(trials.profile.values) - np.asarray(trials.truth)[:, None, :]
    return deviations.ravel() / sigma


DRAW = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-math.sqrt(3), math.sqrt(3), shape),
    "laplace": lambda rng, shape: rng.laplace(scale=1 / math.sqrt(2), size=shape),
    "student:5": lambda rng, shape: rng.standard_t(5, shape) / math.sqrt(5 / 3),
}


@pytest.mark.parametrize(("count", "backend"), [(1, "numpy"), (2, "numpy"), (7, "numpy"), (3, "jax")])
@pytest.mark.parametrize("noise", DRAW)
def test_means_are_distributed_as_the_mean_of_so_many_observations(noise, count, backend):
    brute = DRAW[noise](np.random.default_rng(0), (40_000, count)).mean(axis=1)
    assert stats.ks_2samp(errors(noise, count, backend), brute).pvalue > RARE


@pytest.mark.parametrize("backend", BACKENDS)
def test_bernoulli_arms_are_binomial(backend):
    scenario = vt.Scenario(voters=50, alternatives=2, prior=(0.2, 0.7), noise="bernoulli:identity", experience=6)
    values = np.asarray(vt.simulate(scenario, instances=400, seed=1, backend=backend).profile.values)
    for j, p in enumerate((0.2, 0.7)):
        successes = np.rint(values[..., j] * 6).astype(int)
        np.testing.assert_allclose(values[..., j] * 6, successes, atol=1e-5)
        expected = stats.binom.pmf(range(7), 6, p) * successes.size
        assert stats.chisquare(np.bincount(successes.ravel(), minlength=7), expected).pvalue > RARE


@pytest.mark.parametrize(("link", "inverse"), [("logistic", stats.logistic.ppf), ("probit", stats.norm.ppf)])
def test_links_turn_the_prior_into_probabilities(link, inverse):
    scenario = vt.Scenario(noise=f"bernoulli:{link}", prior="normal:0.5:2")
    truth = vt.simulate(scenario, instances=1000).truth
    assert ((truth > 0) & (truth < 1)).all()
    assert stats.kstest(inverse(truth.ravel()), stats.norm(0.5, 2).cdf).pvalue > RARE


def test_prior():
    truth = vt.simulate(vt.Scenario(prior="normal:3:0.5"), instances=2000).truth
    assert stats.kstest(truth.ravel(), stats.norm(3, 0.5).cdf).pvalue > RARE
    fixed = vt.simulate(vt.Scenario(alternatives=3, prior=[3, 1, 2]), instances=4).truth
    assert fixed.tolist() == [[3, 1, 2]] * 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_experience(backend):
    def counts(experience):
        scenario = vt.Scenario(voters=20, alternatives=5, experience=experience)
        return np.asarray(vt.simulate(scenario, instances=300, seed=3, backend=backend).counts)

    uniform = counts("uniform:1:4")
    assert stats.chisquare(np.bincount(uniform.astype(int).ravel())[1:]).pvalue > RARE
    stratified = counts("stratified:2:9")
    assert stratified.min() == 2
    assert stratified.max() == 9
    highest = stratified.max(axis=-1).ravel()
    assert highest.mean() < counts("uniform:2:9").max(axis=-1).mean() - 1  # some voters have seen little of anything
    specialists = counts("specialists:2:40:1")
    assert ((specialists == 40).sum(axis=-1) == 2).all()
    assert ((specialists == 1).sum(axis=-1) == 3).all()
    assert stats.chisquare((specialists == 40).sum(axis=(0, 1))).pvalue > RARE


def test_given_experience():
    assert (vt.simulate(vt.Scenario(experience=4), instances=3).counts == 4).all()
    matrix = [[1, 0], [5, 2.5]]
    trials = vt.simulate(vt.Scenario(voters=2, alternatives=2, experience=matrix), instances=3)
    assert trials.counts.tolist() == [matrix] * 3


def test_what_is_not_seen_is_not_voted_on():
    trials = vt.simulate(vt.Scenario(voters=3, alternatives=3, experience="uniform:0:1"), instances=50)
    assert (np.isnan(trials.profile.values) == (trials.counts == 0)).all()
    assert (trials.counts == 0).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_count_errors(backend):
    plain = vt.simulate("high-variance", instances=200, seed=2, backend=backend)
    noisy = vt.simulate("count-noise", instances=200, seed=2, backend=backend)
    replaced = vt.simulate("count-replacement", instances=200, seed=2, backend=backend)
    for trials in (noisy, replaced):  # the votes come from the true counts, whatever is reported
        np.testing.assert_array_equal(trials.counts, plain.counts)
        np.testing.assert_array_equal(trials.profile.values, plain.profile.values)
    true, reported = (np.asarray(x) for x in (noisy.counts, noisy.profile.counts))
    assert (reported >= np.maximum(1, np.floor(true / 2))).all()
    assert (reported <= np.ceil(true * 1.5)).all()
    large = true >= 20
    assert reported[large].mean() == pytest.approx(true[large].mean(), rel=0.01)
    share = np.mean(np.asarray(replaced.profile.counts) != np.asarray(replaced.counts))
    assert share == pytest.approx(0.33 * 48 / 49, abs=4 * math.sqrt(0.22 / true.size))


@pytest.mark.parametrize("backend", BACKENDS)
def test_counts_of_a_given_matrix_are_replaced_by_those_of_other_voters(backend):
    matrix = [[1, 10, 0], [2, 20, 30], [3, 0, 40]]
    scenario = vt.Scenario(voters=3, alternatives=3, experience=matrix, count_error="replacement:1")
    reported = np.asarray(vt.simulate(scenario, instances=100, backend=backend).profile.counts)
    assert set(reported[:, 0, 0]) == {1, 2, 3}
    assert set(reported[:, 0, 1]) == {10, 20}  # a count of 0 would take the vote away
    assert set(reported[:, 0, 2]) == {0}


def test_any_function_may_misreport_counts():
    scenario = vt.Scenario(count_error=lambda random, counts, experience: counts + 1)
    trials = vt.simulate(scenario, instances=3)
    np.testing.assert_array_equal(trials.profile.counts, trials.counts + 1)


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (lambda random, counts, experience: counts[0], "the shape of the counts"),
        (lambda random, counts, experience: counts - counts, "a finite number above 0"),
        (lambda random, counts, experience: -counts, "a finite number above 0"),
        (lambda random, counts, experience: counts * np.nan, "a finite number above 0"),
    ],
)
def test_misreports_that_are_no_counts(reports, message):
    with pytest.raises(vt.InputError, match=message):
        vt.simulate(vt.Scenario(count_error=reports), instances=3)


def test_misreporting_in_place_leaves_the_truth_alone():
    def reports(random, counts, experience):
        counts += 1
        return counts

    trials = vt.simulate(vt.Scenario(count_error=reports), instances=3)
    np.testing.assert_array_equal(trials.profile.counts, trials.counts + 1)


def test_sigma_by_alternative():
    scenario = vt.Scenario(voters=200, alternatives=3, sigma=(1, 5, 10), experience=4)
    trials = vt.simulate(scenario, instances=100)
    spread = (trials.profile.values - trials.truth[:, None]).std(axis=(0, 1))
    np.testing.assert_allclose(spread, [0.5, 2.5, 5], rtol=0.03)


CUT = vt.Scenario(voters=200, alternatives=80, noise="uniform", experience="uniform:0:3", count_error="percentage")
BLOCKS = 3 * block_size(CUT)


@given(st.integers(0, BLOCKS - 1), st.integers(1, BLOCKS))
def test_an_instance_is_the_same_however_the_range_is_cut(first, last):
    first, last = min(first, last - 1), max(first + 1, last)
    whole = next_to_each_other(draws(CUT, 4, 0, BLOCKS))
    for one, expected in zip(next_to_each_other(draws(CUT, 4, first, last)), whole, strict=True):
        np.testing.assert_array_equal(one, expected[first:last])


@pytest.mark.slow
def test_an_instance_is_the_same_however_the_range_is_cut_in_jax():
    scenario = vt.Scenario(
        voters=4, alternatives=3, noise="student:4", experience="uniform:0:3", count_error="percentage"
    )
    whole = next_to_each_other(draws(scenario, 4, 0, 9, "jax"))
    for one, expected in zip(next_to_each_other(draws(scenario, 4, 3, 7, "jax")), whole, strict=True):
        np.testing.assert_array_equal(one, expected[3:7])


def next_to_each_other(pieces):
    return [np.concat(list(map(np.asarray, parts))) for parts in zip(*pieces, strict=True)]


def test_seeds():
    one, same, other = (vt.simulate("low-variance", instances=3, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.profile.values, same.profile.values)
    assert not (one.truth == other.truth).any()


@pytest.mark.parametrize("votes", ["values", "rankings", "top"])
def test_kinds_of_votes(votes):
    finest = vt.simulate("high-variance", instances=4, seed=1).profile
    profile = vt.simulate("high-variance", instances=4, seed=1, votes=votes).profile
    assert profile.kind == votes
    assert vt.Scenario(votes="rank").votes == "rankings"
    np.testing.assert_array_equal(profile.top, finest.top)


def test_the_papers_conditions():
    assert SCENARIOS["high-variance"].sigma ** 2 == pytest.approx(1000)
    assert SCENARIOS["low-variance"].sigma ** 2 == pytest.approx(10)
    assert all(s.alternatives == 10 and s.experience == vt.model.UniformCounts(1, 49) for s in SCENARIOS.values())


def test_to_dict_names_every_part():
    plain = vt.scenario("count-noise", experience="specialists:2:40:1").to_dict()
    assert plain["experience"] == {"name": "specialists", "known": 2, "many": 40, "few": 1}
    assert plain["count_error"] == {"name": "percentage", "size": 0.5}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"voters": 0}, "the number of voters must be a whole number, 1 or more, not 0"),
        ({"alternatives": 1}, "the number of alternatives must be a whole number, 2 or more"),
        ({"voters": 2.5}, "the number of voters must be a whole number"),
        ({"voters": 10**20}, "too many to simulate"),
        ({"sigma": 0}, "sigma must be a finite number"),
        ({"sigma": 1e-200}, "sigma must be a finite number"),
        ({"sigma": (1, 2)}, "sigma has 2 numbers for 10 alternatives"),
        ({"sigma": "wide"}, "sigma must be a finite number"),
        ({"sigma": ["a"] * 10}, "sigma must be a finite number"),
        ({"prior": "normal:0:0"}, "the sd of the prior"),
        ({"prior": "fixed:a:b"}, "a fixed truth must be a finite number"),
        ({"prior": [1, 2]}, "2 fixed truths for 10 alternatives"),
        ({"prior": "cauchy"}, "prior 'cauchy' is unknown"),
        ({"experience": "unifrom:1:5"}, "did you mean 'uniform'"),
        ({"experience": "uniform:5:1"}, "the highest count must be a whole number, from 5"),
        ({"experience": "uniform:1:9999999999"}, "the highest count must be a whole number"),
        ({"experience": "uniform:a:b"}, "whole number"),
        ({"experience": "constant:1:2"}, "constant takes count"),
        ({"experience": -1}, "the count must be a finite number from 0"),
        ({"experience": [[1, 2]]}, "the given counts are 1 × 2, but the scenario is 10 × 10"),
        ({"experience": [[1, -2]]}, "finite numbers, 0 or more"),
        ({"experience": "specialists:0"}, "a specialist knows must be a whole number, 1 or more"),
        ({"experience": "specialists:11"}, "specialists cannot know 11 of 10 alternatives"),
        ({"experience": {}}, "the experience can be uniform"),
        ({"noise": "student:2"}, "more than 2 degrees of freedom"),
        ({"noise": "bernoulli:loglog"}, "the link can be"),
        ({"noise": "bernoulli", "sigma": 2}, "Bernoulli arms have no sigma"),
        ({"noise": "bernoulli:identity"}, "fixed truths that are probabilities"),
        ({"noise": "uniform", "experience": 2.5}, "must be whole numbers"),
        ({"noise": "uniform", "experience": 3e9 // 2}, "up to 1000000"),
        ({"count_error": "percentage:2"}, "a percentage error .0.5 for ± 50%. must be a finite number from 0 to 1"),
        ({"count_error": "replacement:-1"}, "from 0 to 1"),
        ({"count_error": 3}, "the count_error can be"),
        ({"votes": "ranks"}, "votes can be values, differences, rankings, top"),
        ({"votes": "differences"}, "differences are votes on two alternatives"),
    ],
)
def test_what_does_not_fit_is_refused(fields, message):
    with pytest.raises(vt.InputError, match=message.replace("(", r"\(")):
        vt.Scenario(**fields)


def test_simulate_refuses():
    with pytest.raises(vt.InputError, match="did you mean 'high-variance'"):
        vt.simulate("high-varience")
    with pytest.raises(vt.InputError, match="a scenario has no voter;"):
        vt.simulate("high-variance", voter=3)
    with pytest.raises(vt.InputError, match="instances must be a whole number, 1 or more"):
        vt.simulate("high-variance", instances=0)
    with pytest.raises(vt.InputError, match="seed must be a whole number"):
        vt.simulate("high-variance", seed=-1)
    with pytest.raises(vt.InputError, match="the backend can be numpy or jax"):
        vt.simulate("high-variance", backend="torch")
    with pytest.raises(vt.InputError, match="seed must be a whole number, from 0 to 2147483647"):
        vt.simulate("high-variance", backend="jax", seed=2**31)


def test_single_precision_makes_no_ties():
    """Of numbers this close together, rounding makes some in a thousand ballots tie."""
    scenario = vt.Scenario(voters=50, alternatives=10, prior=[1.0] * 10, sigma=2e-3)
    values = np.sort(np.asarray(vt.simulate(scenario, instances=100, backend="jax").profile.values), axis=-1)
    assert values.dtype == np.float32
    assert not (values[..., 1:] == values[..., :-1]).any()


# Noise that is a function


def normal(random, shape):
    return random.normal(shape)


def exponential(random, shape):
    return random.gamma(np.ones(shape)) - 1


def sharing_draws(noise, counts, **fields):
    """The errors of means, over σ/√c."""
    scenario = vt.Scenario(voters=20, prior=[0] * 10, experience=counts, sigma=3, noise=noise, **fields)
    return np.ravel(vt.simulate(scenario, instances=100, seed=4).profile.values) * math.sqrt(counts) / 3


def test_normal_noise_may_be_a_function():
    own = sharing_draws(normal, 7)
    assert stats.kstest(own, "norm").pvalue > 1e-4  # a false alarm in 10,000 seeds
    np.testing.assert_array_equal(sharing_draws(normal, 1), sharing_draws("normal", 1))  # of one observation, the same


@pytest.mark.parametrize("counts", [1, 4, 25])
def test_means_of_skewed_noise_are_gamma(counts):
    """The sum of c exponentials is gamma of shape c."""
    expected = stats.gamma(counts, loc=-math.sqrt(counts), scale=1 / math.sqrt(counts))
    assert stats.kstest(sharing_draws(exponential, counts), expected.cdf).pvalue > 1e-4


def test_a_function_as_noise_runs_in_jax():
    scenario = vt.Scenario(voters=20, prior=[0] * 10, experience="uniform:0:4", noise=normal)
    trials = vt.simulate(scenario, instances=50, backend="jax")
    values, counts = (np.asarray(x) for x in (trials.profile.values, trials.counts))
    np.testing.assert_array_equal(np.isnan(values), counts == 0)
    seen = counts > 0
    assert stats.kstest(values[seen] * np.sqrt(counts[seen]), "norm").pvalue > 1e-4


def test_a_function_as_noise_can_be_compared_on_in_processes():
    settings = {"rules": ["mean", "borda"], "instances": 4000, "voters": 30, "experience": "uniform:1:3"}
    one, two = (vt.compare(vt.Scenario(noise=exponential), workers=w, **settings).rows() for w in (1, 2))
    assert one == two
    with pytest.raises(vt.InputError, match="cannot be sent to other processes; use one worker"):
        vt.compare(vt.Scenario(noise=lambda random, shape: 0), workers=2, **settings)


def test_rules_that_would_be_given_the_noise_refuse_a_function():
    settings = {"voters": 3, "experience": 2, "instances": 20}
    assert vt.compare(vt.Scenario(noise=exponential), rules=["posterior"], **settings).instances == 20
    with pytest.raises(vt.InputError, match="noise can be normal, laplace or student:FREEDOM here"):
        vt.compare(vt.Scenario(noise=exponential), rules=["posterior:noise=given"], **settings)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (lambda random, shape: random.normal(shape[1:]), r"must return an array of the shape \(.*\), not \(10, 10\)"),
        (lambda random, shape: 0.0, r"must return an array of the shape"),
        (lambda random, shape: "loud", "the noise must return numbers, not 'loud'"),
        (lambda random, shape: np.full(shape, np.nan), "the noise must return finite numbers"),
        (lambda random, shape: random.normal(shape) * np.inf, "the noise must return finite numbers"),
    ],
)
def test_noise_that_cannot_be_used(noise, message):
    with pytest.raises(vt.InputError, match=message):
        vt.simulate(vt.Scenario(noise=noise, experience="uniform:1:3"), instances=3)


def test_noise_that_is_not_finite_in_jax():
    scenario = vt.Scenario(voters=3, noise=lambda random, shape: random.normal(shape) / 0, experience=2)
    with pytest.raises(vt.InputError, match="the noise must return finite numbers"):
        vt.simulate(scenario, instances=3, backend="jax")


def test_noise_as_a_function_takes_whole_counts():
    with pytest.raises(vt.InputError, match="with this noise the counts must be whole numbers"):
        vt.Scenario(noise=normal, experience=2.5)
    with pytest.raises(vt.InputError, match="the noise can be normal, uniform"):
        vt.Scenario(noise=7)


def test_a_function_of_ones_own_has_no_key_in_a_ledger():
    for own in ({"noise": normal}, {"count_error": lambda random, counts, experience: counts}):
        with pytest.raises(vt.InputError, match="cannot be told from another by its name"):
            vt.Scenario(**own).to_dict()
