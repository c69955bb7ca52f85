"""Voters who contradict all others, score everything alike, or love the first place; and where it is said."""

import itertools
import json

import numpy as np
import pytest

import veritally as vt
from veritally.votes.description import describe
from veritally.votes.oddities.contradiction import _LAMBDAS, _log_mean
from veritally.votes.oddities.finding import odd_voters
from veritally.votes.oddities.position import counted, position_lovers


def kinds(profile):
    return {oddity.what: set(oddity.voters) for oddity in odd_voters(profile)}


def honest(decisions=1, voters=9, alternatives=8, sigma=0.3, seed=0):
    random = np.random.default_rng(seed)
    truth = random.standard_normal((decisions, 1, alternatives))
    return truth + sigma * random.standard_normal((decisions, voters, alternatives))


def test_a_reversed_voter_is_found():
    values = honest()[0]
    values[3] *= -1
    assert kinds(vt.Profile(values=values).as_rankings()) == {"contradiction": {3}}


def test_a_reversed_voter_of_many_small_decisions_is_found():
    values = honest(decisions=40, alternatives=2)
    values[:, 3] *= -1
    profile = vt.Profile(values=values).as_rankings()
    assert kinds(profile) == {"contradiction": {3}}
    assert kinds(profile.decision(0)) == {}


def test_a_random_voter_is_not():
    values = honest(decisions=30)
    values[:, 3] = np.random.default_rng(1).standard_normal((30, 8))
    assert kinds(vt.Profile(values=values).as_rankings()) == {}


@pytest.mark.parametrize("tiers", [(1, 1, 1, 1), (1, 3), (2, 2), (1, 2, 1)])
def test_differences_from_a_fixed_order_are_counted_exactly(tiers):
    """The generating function is the mean over all ballots with these tiers, by enumeration."""
    midranks = np.repeat(np.cumsum(tiers) - (np.array(tiers) - 1) / 2, tiers)
    ballots = np.array(sorted(set(itertools.permutations(midranks))))
    pairs = list(itertools.combinations(range(4), 2))
    differing = np.array([sum(own[j] > own[k] for j, k in pairs) for own in ballots])
    expected = np.log(np.mean(np.exp(_LAMBDAS * differing[:, None]), axis=0))
    np.testing.assert_allclose(_log_mean(ballots[:1])[0], expected, rtol=1e-9)


def test_a_constant_scorer_is_found_and_a_short_ballot_is_not_one():
    values = honest()[0]
    values[2] = 3.0
    assert kinds(vt.Profile(values=values)) == {"constant": {2}}
    scale = np.clip(np.round(honest(alternatives=3)[0]), -1, 1)
    scale[2] = 1.0
    assert "constant" not in kinds(vt.Profile(values=scale))


def test_a_constant_scorer_in_each_decision_alone_is_none():
    values = honest(decisions=20, alternatives=3)
    values[:, 2] = np.arange(20)[:, None]
    assert "constant" not in kinds(vt.Profile(values=values))
    values[:, 2] = 4.0
    assert kinds(vt.Profile(values=values)) == {"constant": {2}}


def compared(lean):
    """Comparisons of six voters in random order, the last of whom prefers the first place with that probability."""
    random = np.random.default_rng(4)
    truth = random.standard_normal(5)
    pairs, positions = np.zeros((2, 6, 5, 5))
    for voter in range(6):
        for _ in range(60):
            a, b = random.choice(5, 2, replace=False)
            better = random.random() < 1 / (1 + np.exp(2 * (truth[b] - truth[a])))
            first = better if voter < 5 else random.random() < lean
            j, k = (a, b) if first else (b, a)
            pairs[voter, j, k] += 1
            positions[voter, j, k] += first
    return pairs, positions


@pytest.mark.parametrize(("lean", "word"), [(0.9, "first"), (0.1, "second"), (0.5, None)])
def test_a_lover_of_one_place_is_found(lean, word):
    pairs, positions = compared(lean)
    profile = vt.Profile(pairs=pairs, voters=[*"abcdef"])
    profile = profile.with_ballots(profile.ballots.with_positions(positions))
    found = [oddity for oddity in odd_voters(profile) if oddity.what == "position"]
    assert [oddity.voters for oddity in found] == ([] if word is None else [("f",)])
    assert all(f"preferred the {word} of two" in oddity.sentence for oddity in found)


def test_who_always_sees_the_better_one_first_loves_no_place():
    pairs = np.zeros((3, 2, 2))
    pairs[:, 0, 1] = 50
    assert not position_lovers(*counted(pairs, pairs.copy())).any()


def test_what_is_odd_is_said_by_check_and_decide_once():
    values = honest(voters=10, alternatives=10, sigma=3.0)[0]
    values[7] = values[2]
    profile = vt.Profile(values=values).as_rankings()
    (sentence,) = (oddity.sentence for oddity in odd_voters(profile))
    assert sentence.startswith("voters 2 and 7 cast the same ballot, more alike than the others' votes explain")
    assert sentence in describe(profile).oddities
    for rule in ("borda", "posterior"):
        with pytest.warns(vt.InputWarning, match="cast the same ballot") as caught:
            outcome = vt.decide(profile, rule, **({"sigma": 3, "tau": 1} if rule == "posterior" else {}))
        assert len(caught) == 1
        assert outcome.warnings == (sentence,)
        assert json.loads(outcome.to_json())["warnings"] == [sentence]
    batch = vt.stack([profile] * 3)
    with pytest.warns(vt.InputWarning, match="cast the same ballot") as caught:
        outcome = vt.decide(batch, "borda")
    assert len(caught) == 1
    assert outcome.warnings == (sentence,)
    assert all(one.warnings == () for one in outcome.unstack())


def test_an_oddity_is_plain_data():
    values = honest()[0]
    values[3] *= -1
    (oddity,) = odd_voters(vt.Profile(values=values).as_rankings())
    assert oddity.to_dict() == {"what": "contradiction", "voters": ["3"], "sentence": oddity.sentence}
