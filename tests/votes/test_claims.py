"""Absurd counts: taken for the largest of the others, and nothing else is changed."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import veritally as vt
from veritally.cli import cli
from veritally.votes.claims import believable

ORDERS = [[*"ABC"], [*"ABC"], [*"BAC"], [*"CBA"]]
COUNTS = [[20, 20, 20], [9, 9, 9], [5, 30, 5], [1e6, 1e6, 1]]
TAKEN = [*COUNTS[:3], [30, 30, 1]]
LIAR = vt.Profile(order=ORDERS, counts=COUNTS, voters=[*"uvwx"])
SAID = "voter x claims up to 1,000,000 observations, more than 100 times as many as anybody else: counted as 30"


@pytest.mark.parametrize("rule", ["posterior", "borda", "case4", "mle", "learned-universal"])
def test_they_are_taken_for_the_largest_of_the_others(rule):
    given = {"sigma": 3} if rule == "case4" or rule == "mle" else {}
    with pytest.warns(vt.InputWarning, match=SAID) as caught:
        outcome = vt.decide(LIAR, rule, **given)
    assert len(caught) == 1
    assert outcome.parameters == given
    honest = vt.decide(vt.Profile(order=ORDERS, counts=TAKEN), rule, **given)
    np.testing.assert_array_equal(outcome.scores, honest.scores)
    assert json.loads(outcome.to_json(explain=True))["warnings"] == [*outcome.warnings]


def test_cap_none_believes_them_whatever_the_rule():
    for rule in ("posterior", "borda", "mean"):
        profile = LIAR if rule != "mean" else vt.Profile(values=[[3, 2, 1]] * 3 + [[1, 2, 3]], counts=COUNTS)
        outcome = vt.decide(profile, rule, cap="none")
        assert outcome.parameters == {"cap": "none"}
        assert outcome.warnings == ()
        np.testing.assert_array_equal(outcome.profile.counts, COUNTS)


def test_a_number_keeps_its_meaning():
    outcome = vt.decide(LIAR, sigma=3, tau=1, cap=1000)
    assert outcome.warnings == ()
    honest = vt.decide(vt.Profile(order=ORDERS, counts=np.minimum(COUNTS, 1000)), sigma=3, tau=1, cap="none")
    np.testing.assert_allclose(outcome.scores, honest.scores, atol=1e-9)


@given(arrays(float, (3, 4, 3), elements=st.floats(0.5, 50)), st.lists(st.booleans(), min_size=3, max_size=3))
def test_of_a_batch_only_absurd_decisions_change(counts, absurd):
    counts = np.array(counts)
    counts[absurd, 1] = 50 * 100 + 1
    profile = vt.Profile(ranks=[[[1, 2, 3]] * 4] * 3, counts=counts)
    taken, said = believable(profile)
    assert sorted(said) == list(np.flatnonzero(absurd))
    if not any(absurd):
        assert taken is profile
    for d in range(3):
        most = counts[d, [0, 2, 3]].max() if absurd[d] else np.inf
        np.testing.assert_array_equal(taken.counts[d], np.minimum(counts[d], most))


@pytest.mark.parametrize(
    "counts",
    [
        [[1e6], [1]],  # who of two is right
        [[1e6], [1], [0]],
        [[1e6], [2e4], [1]],  # there is another like it
        [[100], [1], [1]],  # not more than a hundredfold
    ],
)
def test_what_is_not_absurd_beside_two_others_stays(counts):
    counts = np.array(counts) * np.ones(2)
    profile = vt.Profile(ranks=np.where(counts > 0, [1.0, 2.0], 0), counts=counts) if counts.all() else None
    if profile is None:
        with pytest.warns(vt.InputWarning, match="no usable vote"):
            profile = vt.Profile(ranks=np.where(counts > 0, [1.0, 2.0], 0), counts=counts)
    assert believable(profile) == (profile, {})


def test_an_absent_voter_claims_nothing_and_is_nobody_to_compare_with():
    counts = [[1e6, 1e6], [1, 1], [1, 1], [1, 1]]
    ranks = [[1, 2]] * 4
    for multiplicity, absurd in (([1, 1, 1, 1], True), ([0, 1, 1, 1], False), ([1, 1, 0, 0], False)):
        profile = vt.Profile(ranks=ranks, counts=counts, multiplicity=multiplicity)
        assert bool(believable(profile)[1]) == absurd


def test_pairs_are_comparisons_that_were_made():
    pairs = np.zeros((3, 2, 2))
    pairs[:, 0, 1] = [100_000, 1, 1]
    profile = vt.Profile(pairs=pairs)
    assert believable(profile) == (profile, {})
    mixed = vt.concat([profile, vt.Profile(ranks=[[1, 2]] * 3, counts=[[1e6] * 2, [1] * 2, [2] * 2], voters=[*"uvw"])])
    taken, said = believable(mixed)
    assert list(said) == [0]
    np.testing.assert_array_equal(taken.ballots.parts[0].counts, mixed.ballots.parts[0].counts)
    np.testing.assert_array_equal(np.max(taken.ballots.parts[1].counts, axis=1)[3:], [2, 1, 2])


def test_the_command_says_so_and_believes_if_told(tmp_path):
    path = tmp_path / "votes.csv"
    vt.write(LIAR, path)
    result = CliRunner().invoke(cli, ["decide", str(path)])
    assert SAID in result.output
    believed = CliRunner().invoke(cli, ["decide", str(path), "--cap", "none", "--rule", "borda"])
    assert believed.exit_code == 0
    assert "claims" not in believed.output
    refused = CliRunner().invoke(cli, ["decide", str(path), "--cap", "all"])
    assert refused.exit_code == 2
    assert "--cap" in refused.output


def test_pieces_say_what_the_whole_says():
    batch = vt.stack([LIAR, vt.Profile(order=ORDERS, counts=TAKEN, voters=[*"uvwx"]), LIAR], decisions=[*"abc"])
    with pytest.warns(vt.InputWarning, match="decisions 'a', 'c': " + SAID):
        whole = vt.decide(batch, "borda")
    assert [len(one.warnings) for one in whole.unstack()] == [1, 0, 1]
