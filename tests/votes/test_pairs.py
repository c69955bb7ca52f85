"""Pairs: how often a voter preferred the one to the other."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import veritally as vt
from veritally.likelihood import derivatives, log_likelihood

PAIRS = st.integers(2, 5).flatmap(
    lambda n: arrays(
        float, st.tuples(st.integers(1, 4), st.just(n), st.just(n)), elements=st.sampled_from([0, 0, 1, 2.5])
    )
)
pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputWarning")
TOLD = {"sigma": 1.5, "tau": 1.0}


def profile_of(pairs):
    pairs = pairs * (1 - np.eye(pairs.shape[-1]))
    pairs[0, 0, 1] += 1
    return vt.Profile(pairs=pairs)


def one_by_one(profile):
    """Return each comparison as a ballot of its own on two alternatives that were seen once."""
    i, j, k = np.nonzero(profile.pairs)
    ranks = np.zeros((len(i), profile.shape[-1]))
    ranks[range(len(i)), j], ranks[range(len(i)), k] = 1, 2
    return vt.Profile(ranks=ranks, counts=ranks > 0, multiplicity=profile.pairs[i, j, k])


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("pairwise", {}),
        ("pairwise-normalized", {}),
        ("score", {}),
        ("mle", {}),
        ("posterior", {**TOLD, "estimate": "mode"}),
    ],
)
@given(pairs=PAIRS)
def test_they_count_like_ballots_on_two_alternatives(rule, told, pairs):
    profile = profile_of(pairs)
    found, expected = (vt.decide(one, rule, **told) for one in (profile, one_by_one(profile)))
    assert found.alternatives == expected.alternatives
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4, atol=1e-6)


@given(pairs=PAIRS, seed=st.integers(0, 99))
def test_derivatives_are_those_of_the_log_likelihood(pairs, seed):
    profile = profile_of(pairs)
    truth = np.random.default_rng(seed).normal(size=profile.shape[-1])
    found = derivatives(profile, truth=truth, sigma=1.3)
    assert log_likelihood(one_by_one(profile), truth=truth, sigma=1.3) == pytest.approx(found.log_prob.sum())
    step = 1e-5 * np.eye(len(truth))
    ends = [[derivatives(profile, truth=truth + sign * one, sigma=1.3) for sign in (1, -1)] for one in step]
    slope = np.stack([(up.log_prob - down.log_prob) / 2e-5 for up, down in ends], axis=-1)
    bend = np.stack([(up.gradient - down.gradient) / 2e-5 for up, down in ends], axis=-1)
    np.testing.assert_allclose(found.gradient, slope, atol=1e-6)
    np.testing.assert_allclose(found.curvature, bend, atol=1e-6)


@given(pairs=PAIRS)
def test_counts_and_shares_are_those_of_the_comparisons(pairs):
    profile = profile_of(pairs)
    own = profile.pairs
    np.testing.assert_allclose(profile.counts, own.sum(axis=-1) + own.sum(axis=-2))
    won = np.where(profile.counts > 0, own.sum(axis=-1) / np.maximum(profile.counts, 1e-300), np.nan)
    np.testing.assert_allclose(profile.values, won)
    np.testing.assert_array_equal(profile.ranks, vt.Profile(values=won, counts=profile.counts).ranks)


@given(pairs=PAIRS, other=PAIRS)
def test_batches_selections_and_sums(pairs, other):
    one, two = profile_of(pairs), profile_of(other)
    batch = vt.stack([one, two])
    for single, part in zip((one, two), batch.unstack(), strict=True):
        np.testing.assert_array_equal(single.pairs, part.pairs)
    together = vt.decide(batch, "posterior", **TOLD, estimate="mode")
    for single, part in zip((one, two), together.unstack(), strict=True):
        np.testing.assert_allclose(
            vt.decide(single, "posterior", **TOLD, estimate="mode").scores, part.scores, atol=1e-6
        )
    both = vt.concat([one, two])
    np.testing.assert_allclose(both.pairs.sum(), one.pairs.sum() + two.pairs.sum())
    first = both.select(alternatives=[1, 0])
    np.testing.assert_allclose(first.pairs[0], one.pairs[0][np.ix_([1, 0], [1, 0])])


def test_the_posterior_says_how_sure_it_is():
    """P(best) beside direct integration over a grid, for two alternatives that won 7 and 3 comparisons."""
    profile = vt.Profile(pairs=[[[0, 7], [3, 0]]])
    apart = np.linspace(-8, 8, 4001)
    logs = np.array([log_likelihood(profile, truth=[d / 2, -d / 2]) for d in apart]) - apart**2 / 4  # of N(0, 2)
    weight = np.exp(logs - logs.max())
    assert vt.decide(profile, sigma=1, tau=1).p_best[0] == pytest.approx(
        weight[apart > 0].sum() / weight.sum(), abs=0.02
    )


@pytest.mark.parametrize(
    ("rule", "told"),
    [("pairwise", {}), pytest.param("posterior", {**TOLD, "estimate": "mode"}, marks=pytest.mark.slow)],
)
def test_the_same_in_jax(rule, told):
    pairs = np.random.default_rng(1).integers(0, 4, (6, 4, 4)) * (1 - np.eye(4))
    plain, other = vt.Profile(pairs=pairs), vt.Profile(pairs=jax.numpy.asarray(pairs))
    scores = (vt.decide(profile, rule, **told).scores for profile in (other, plain))
    np.testing.assert_allclose(*scores, atol=1e-3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [[1, 2], [3, 4]]}, "not the shape"),
        ({"pairs": [[[0, 1, 2], [1, 0, 2]]]}, "not the shape"),
        ({"pairs": [[[1, 2], [1, 0]]]}, "voter 0, alternative 0: compared with itself"),
        ({"pairs": [[[0, -1], [1, 0]]]}, "the number of comparisons must be finite, 0 or more"),
        ({"pairs": [[[0, 1], [1, 0]]], "counts": [[1, 1]]}, "leave counts= out"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(vt.InputError, match=message):
        vt.Profile(**given)


def test_doubtful_counts_and_other_votes_are_refused():
    profile = vt.Profile(pairs=[[[0, 2], [1, 0]]])
    for told in ({"count_error": "percentage:0.5"}, {"noise": "laplace"}, {"cap": 2}, {"omega": "estimated"}):
        with pytest.raises(vt.InputError, match="do not apply; leave them out"):
            vt.decide(profile, **told)
    with pytest.raises(vt.InputError, match="do not apply; leave them out"):
        log_likelihood(profile, truth=[0, 1], noise="laplace")


@given(pairs=PAIRS)
def test_who_made_the_comparisons_does_not_matter(pairs):
    """Not even where σ has to be found."""
    profile = profile_of(pairs)
    alone = vt.Profile(pairs=profile.pairs.sum(axis=0, keepdims=True))
    found, expected = (vt.decide(one, estimate="mode").scores for one in (profile, alone))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_doubtful_names():
    """An alternative that has a word for its name is still itself."""
    pairs = np.zeros((1, 3, 3))
    pairs[0, 0, 1], pairs[0, 1, 0], pairs[0, 2, 1] = 2.5, 0.5, 3
    profile = vt.Profile(pairs=pairs, alternatives=["right", "left", "tie"], multiplicity=[3])
    again = vt.read(vt.to_frame(profile)).select(alternatives=profile.alternatives)
    np.testing.assert_array_equal(again.pairs, profile.pairs)
    assert again.multiplicity.tolist() == [3]


@given(pairs=PAIRS, seed=st.integers(0, 99))
def test_log_likelihoods_of_pairs_and_other_votes_add_up(pairs, seed):
    pairs = profile_of(pairs)
    n = pairs.shape[-1]
    ranks = vt.Profile(values=np.random.default_rng(seed).normal(size=(3, n))).as_rankings()
    truth = np.random.default_rng(seed).normal(size=n)
    both = vt.concat([pairs, ranks])
    assert (both.kind, len(both)) == ("mixed", len(pairs) + 3)
    apart = log_likelihood(pairs, truth=truth) + log_likelihood(ranks, truth=truth)
    assert log_likelihood(both, truth=truth) == pytest.approx(apart)
    np.testing.assert_array_equal(both.ranks, np.concat([pairs.ranks, ranks.ranks]))


def test_pairs_and_other_votes_decide_together():
    """At the mode the pull of the prior is what all votes pull, whatever their kind."""
    pairs = vt.Profile(pairs=[[[0, 2, 1], [1, 0, 3], [0, 1, 0]]], voters=["u"])
    ranks = vt.Profile(ranks=[[3, 1, 2]], voters=["v"])
    outcome = vt.decide([pairs, ranks], sigma=1, tau=1, estimate="mode")
    gradient = derivatives(outcome.profile, truth=outcome.scores).gradient
    np.testing.assert_allclose(gradient.sum(axis=0), outcome.scores, atol=1e-6)
    assert vt.decide([pairs, ranks]).winner == 1


def test_rules_are_compared_on_them():
    random = np.random.default_rng(0)
    truth = random.normal(size=(30, 4))
    sides = truth[:, None, :, None] - truth[:, None, None, :] + random.normal(size=(30, 5, 4, 4)) * 2
    profile = vt.Profile(pairs=np.triu(sides > 0, 1) + np.tril(np.swapaxes(np.triu(sides <= 0, 1), -1, -2)))
    found = vt.compare(profile, truth=truth, rules=["pairwise", "posterior", "mean", "borda"])
    assert {row["rule"]: row["votes"] for row in found.rows()}["pairwise"] == "pairs"
    with pytest.raises(vt.InputError, match="leave placebo out"):
        vt.compare(profile, truth=truth, rules=["pairwise"], placebo=1)
