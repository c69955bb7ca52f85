"""Batches decided in pieces, and what is heard on the way."""

from importlib import import_module

import numpy as np
import pytest

import veritally as vt
from support import random_profile
from veritally.outcome import WarningLines
from veritally.progress import listening

decide_module = import_module("veritally.decide")  # as `from veritally import decide` is the function

TIED = vt.Profile(order=[[*"AB"], [*"BA"]])
APART = vt.Profile(ranks=[[1, 2, 0, 0], [0, 0, 1, 2]], counts=[[1, 1, 0, 0], [0, 0, 1, 1]], alternatives=[*"ABCD"])


def pieces(profile, monkeypatch, at_once=2, **given):
    monkeypatch.setattr(decide_module, "_MOST_AT_ONCE", at_once)
    return [question.outcome() for question in decide_module.questions(profile, **given)]


def test_pieces_say_what_the_whole_says(monkeypatch):
    profiles = [random_profile(seed, voters=3 + seed, alternatives=2 + seed) for seed in range(5)]
    batch = vt.stack(profiles, decisions=[*"vwxyz"])
    whole = vt.decide(batch, sigma=1, tau=1)
    parts = pieces(batch, monkeypatch, sigma=1, tau=1)
    assert [part.profile.batch[0] for part in parts] == [2, 2, 1]
    named = [pair for part in parts for pair in part.singles()]
    for (name, one), (other, expected) in zip(named, whole.singles(), strict=True):
        assert (name, one.ranking, one.voters) == (other, expected.ranking, expected.voters)
        np.testing.assert_allclose(one.scores, expected.scores, atol=1e-9)
        np.testing.assert_allclose(one.p_best, expected.p_best, atol=1e-6)


def test_noise_is_pooled_over_all_pieces(monkeypatch):
    batch = vt.stack([random_profile(seed, voters=3 + seed % 3, alternatives=2) for seed in range(22)])
    whole = vt.decide(batch, scale="pooled")
    parts = pieces(batch, monkeypatch, at_once=8, scale="pooled")
    assert [part.profile.batch[0] for part in parts] == [8, 8, 6]
    for part in parts:
        assert part.pooled_noise == whole.pooled_noise
    singles = [one for part in parts for _, one in part.singles()]
    for one, (_, expected) in zip(singles, whole.singles(), strict=True):
        np.testing.assert_allclose(one.scores, expected.scores, atol=1e-9)
        np.testing.assert_allclose(one.p_best, expected.p_best, atol=1e-9)
        np.testing.assert_allclose(one.scale, expected.scale, rtol=1e-9)
    assert abs(whole.p_best - vt.decide(batch).p_best).max() > 0.05


def test_ties_are_broken_alike(monkeypatch):
    batch = vt.stack([TIED] * 9)
    told = {"sigma": 1, "tau": 1, "tie_break": "random", "seed": 3}
    parts = pieces(batch, monkeypatch, **told)
    assert [winner for part in parts for winner in part.winner] == vt.decide(batch, **told).winner


@pytest.mark.parametrize("given", [{"rule": "borda"}, {"omega": "estimated"}, {"count_error": "replacement:0.1"}])
def test_what_goes_together_stays_together(given, monkeypatch):
    assert len(pieces(random_profile(1, 3, 3, batch=(4,)), monkeypatch, **given)) == 1


def test_each_remark_is_made_once(monkeypatch):
    batch = vt.stack([APART] * 5, decisions=[*"abcde"])
    parts = pieces(batch, monkeypatch, sigma=1, tau=1)
    with pytest.warns(vt.InputWarning, match="no votes compare"):
        whole = vt.decide(batch, sigma=1, tau=1)
    lines = WarningLines()
    for part in parts:
        lines.add(part)
    assert lines.lines() == whole.rule_warnings
    assert len(whole.rule_warnings) == 1


def test_progress_is_heard():
    heard = []
    with listening(heard.append):
        vt.decide(random_profile(1, 3, 3))
    assert heard == sorted(heard)
    assert len(heard) > 5
    assert 0 <= heard[0] < heard[-1] <= 1


def test_a_decision_without_evidence_is_refused_before_any_is_decided():
    with pytest.warns(vt.InputWarning, match="no usable vote"):
        empty = vt.Profile(ranks=[[0, 0]], counts=[[0, 0]])
    with pytest.raises(vt.InputError, match="decision 1: no voter has a vote"):
        decide_module.questions(vt.stack([TIED, empty]), sigma=1, tau=1)


def test_parameters_are_checked_for_all_decisions_together():
    other = vt.Profile(ranks=[[1, 2]], alternatives=["A", "C"])
    with pytest.raises(vt.InputError, match="needs decisions with the same alternatives"):
        decide_module.questions(vt.stack([TIED, other]), sigma=[1, 2], tau=1)
