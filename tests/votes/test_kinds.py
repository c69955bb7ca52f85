"""What every kind of votes can do: take voters and alternatives, pad, coarsen, and never refine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import veritally as vt
from veritally.likelihood import derivatives, log_prob
from veritally.votes.kinds import KINDS, by_kind, kind_named
from veritally.votes.rankings import Rankings
from veritally.votes.values import Values

pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputWarning")
NAMES = [*"ABCD"]


def values(seed, m=5, n=4):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (m, n)) * (rng.random((m, n)) < 0.8)
    counts[:, :2] = np.maximum(counts[:, :2], 1)
    given = np.where(counts > 0, np.round(rng.normal(size=(m, n)), 1), np.nan)
    names = {"voters": [f"{seed}-{i}" for i in range(m)], "alternatives": NAMES[:n]}
    return vt.Profile(values=given, counts=counts, multiplicity=rng.choice([1.0, 2.0, 0.5], m), **names)


def pairs(seed, m=5, n=4):
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 3, (m, n, n)) * (1 - np.eye(n))
    times[:, 0, 1] += 1
    return vt.Profile(pairs=times, voters=[f"{seed}+{i}" for i in range(m)], alternatives=NAMES[:n])


MADE = {
    "pairs": pairs(1),
    "values": values(2),
    "differences": values(3, n=2).as_differences(),
    "rankings": values(4).as_rankings(),
    "top": values(5).as_top(),
    "mixed": vt.concat([values(6), pairs(7), values(8).as_rankings(), values(9).as_top()]),
    "mixed differences": vt.concat([values(10, n=2).as_differences(), values(11, n=2).as_rankings()]),
}
every = pytest.mark.parametrize("name", MADE)


def same(one, other):
    assert type(one) is type(other)
    for x, y in zip(one.arrays, other.arrays, strict=True):
        np.testing.assert_array_equal(x, y)


def coarser(ballots):
    """The kinds to which ballots can be coarsened."""
    for kind in KINDS[KINDS.index(ballots.kind) + 1 :]:
        if kind != "differences" or ballots.counts.shape[-1] == 2:
            yield kind


def test_no_kind_is_forgotten():
    assert {profile.kind for profile in MADE.values()} == set(KINDS)
    assert [kind_named(kind).kind for kind in KINDS] == list(KINDS)


@every
def test_padded_and_trimmed_is_as_before(name):
    ballots = MADE[name].ballots
    m, n = ballots.counts.shape
    wide = ballots.padded(m + 2, n + 3)
    assert wide.counts.shape == (m + 2, n + 3)
    same(wide.trimmed(m, n), ballots)
    same(wide.stacked(3).map(lambda x: x[1]).trimmed(m, n), ballots)


@every
def test_padding_says_nothing(name):
    profile = MADE[name]
    truth = np.linspace(-1, 1, profile.shape[-1])
    wide = vt.Profile.trusted(profile.ballots.padded(len(profile) + 2, profile.shape[-1] + 3))
    found = derivatives(wide, truth=[*truth, 7, 8, 9])
    expected = derivatives(profile, truth=truth)
    for x, y in zip(found, expected, strict=True):
        inside = x[tuple(slice(size) for size in y.shape)]
        np.testing.assert_allclose(inside, y, rtol=1e-9, atol=1e-9)
        assert np.abs(x).sum() == pytest.approx(np.abs(y).sum())


@every
def test_taking_commutes_with_coarsening(name):
    ballots = MADE[name].ballots
    n = ballots.counts.shape[-1]
    chosen = [1, 0] if n == 2 else [3, 0, 2]
    voters = [4, 0, 2]
    for kind in coarser(ballots):
        coarse = ballots.coarsened(kind)
        for index in (np.array(voters), slice(1, 4)):
            same(ballots.take_voters(index).coarsened(kind), coarse.take_voters(index))
        same(ballots.padded(20, n).coarsened(kind), coarse.padded(20, n))
        if kind == "rankings" and "pairs" not in {part.kind for part in ballots.parts}:  # whose shares change
            same(ballots.select(voters, chosen).coarsened(kind), coarse.select(voters, chosen))


@every
def test_finer_votes_cannot_be_made(name):
    ballots = MADE[name].ballots
    for kind in KINDS[: KINDS.index(ballots.kind)]:
        if kind_named(kind).measured:
            with pytest.raises(vt.InputError, match=f"{ballots.kind} cannot become {kind}: votes can be made coarser"):
                ballots.coarsened(kind)


@every
def test_a_batch_is_as_its_decisions(name):
    ballots = MADE[name].ballots
    batch = ballots.stacked(2)
    for kind in coarser(ballots):
        same(batch.coarsened(kind).map(lambda x: x[1]), ballots.coarsened(kind))
    for attribute in ("looks", "anchored", "effective_multiplicity"):
        np.testing.assert_array_equal(getattr(batch, attribute)[0], getattr(ballots, attribute))
    for method in ("above", "compared", "distinctions", "says_something"):
        np.testing.assert_array_equal(getattr(batch, method)()[0], getattr(ballots, method)())
    places = np.array([[0, 1], [3, 2]])
    for d in range(2):
        same(batch.take_voters(places).map(lambda x, d=d: x[d]), ballots.take_voters(places[d]))


@every
def test_each_voter_is_a_decision(name):
    profile = MADE[name]
    truth = np.linspace(-1, 1, profile.shape[-1])
    alone = profile.ballots.each_voter()
    assert alone.counts.shape == (len(profile), 1, profile.shape[-1])
    apart = log_prob(vt.Profile.trusted(alone), truth=truth)
    np.testing.assert_allclose(apart[:, 0], log_prob(profile, truth=truth), rtol=1e-9)


@every
def test_leaving_one_out_is_selecting_the_others(name):
    ballots = MADE[name].ballots
    m, n = ballots.counts.shape
    left = ballots.leaving_out(range(ballots.counts.shape[-2]))
    for i in range(m):
        others = [k for k in range(m) if k != i]
        kept = ballots.select(others, range(n))
        own = left.map(lambda x, i=i: x[i])
        assert own.multiplicity[i] == 0
        np.testing.assert_array_equal(own.mask, kept.mask)
        same(own.select(others, range(n)), kept)


@every
def test_other_counts_are_shared_as_the_old_ones(name):
    ballots = MADE[name].ballots
    same(ballots.with_counts(ballots.counts), ballots)
    np.testing.assert_allclose(ballots.with_counts(3 * ballots.counts).counts, 3 * ballots.counts)


@every
def test_they_are_trees_of_arrays_in_jax(name):
    ballots = MADE[name].ballots
    doubled = jax.jit(lambda given: given.weighed(2 * given.multiplicity))(ballots.map(jnp.asarray))
    assert type(doubled) is type(ballots)
    np.testing.assert_allclose(doubled.multiplicity, 2 * ballots.multiplicity)
    coarse = jax.jit(lambda given: given.coarsened("top").votes)(ballots.map(jnp.asarray))
    np.testing.assert_allclose(coarse, ballots.coarsened("top").votes, rtol=1e-6)


def test_log_probabilities_of_mixed_votes_are_those_of_their_parts():
    profile = MADE["mixed"]
    truth = np.linspace(-1, 1, 4)
    expected = sum(log_prob(vt.Profile.trusted(part), truth=truth) for part in profile.ballots.parts)
    np.testing.assert_allclose(log_prob(profile, truth=truth), expected)


def test_mixed_votes_become_as_simple_as_they_are():
    mixed = MADE["mixed"].ballots
    assert mixed.simplest() is not mixed.parts[0]
    assert {type(part) for part in mixed.simplest().parts} == {type(part) for part in mixed.parts}
    for i, part in enumerate(mixed.parts):
        voters = np.flatnonzero(part.counts.any(axis=-1))
        own = mixed.take_voters(voters)
        assert type(own.simplest()) is type(part)
        same(own.simplest(), part.take_voters(voters))
        assert own.composition() == 2**i
    assert mixed.part(Values) is mixed.parts[1]
    assert mixed.parts[1].part(Rankings) is None


def test_differences_among_more_alternatives_are_about_the_first_two():
    pair = vt.Profile(differences=[1.0, -0.5], alternatives=[*"AB"], voters=["u", "v"])
    ranks = vt.Profile(order=[["C", "A", "B"]], alternatives=[*"ABC"], voters=["w"])
    both = vt.concat([pair, ranks])
    np.testing.assert_array_equal(both.ranks, [[2, 1, 0], [1, 2, 0], [2, 3, 1]])
    truth = [0.1, 0.7, -0.2]
    expected = [*log_prob(pair, truth=truth[:2]), *log_prob(ranks, truth=truth)]
    np.testing.assert_allclose(log_prob(both, truth=truth), expected)
    np.testing.assert_array_equal(both.select(alternatives=["A", "C"]).ranks, [[1, 0], [1, 0], [2, 1]])
    with pytest.raises(vt.InputError, match="keep these first"):
        both.select(alternatives=["C", "A", "B"])
    with pytest.raises(vt.InputError, match="same two alternatives in the same order"):
        vt.concat([ranks.select(alternatives=["C", "A"]), pair])


def test_coarsening_for_several_rules_ranks_once():
    ballots = MADE["values"].ballots
    made = by_kind(ballots, [None, "top", "rankings"])
    assert made[None] is ballots
    same(made["top"], ballots.coarsened("top"))
    same(made["rankings"], ballots.coarsened("rankings"))


def test_the_arrays_of_a_caller_stay_writeable():
    for form, given in {"pairs": [[[0.0, 1], [2, 0]]], "values": [[1.0, 2]], "ranks": [[1.0, 2]]}.items():
        own = np.array(given)
        vt.Profile(**{form: own})
        assert own.flags.writeable
