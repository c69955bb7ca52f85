"""Profiles of pref_voting; the package is not among those for development, since it needs an older NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from support import values_profiles

profiles = pytest.importorskip("pref_voting.profiles")
with_ties = pytest.importorskip("pref_voting.profiles_with_ties")


@given(profile=values_profiles(counts=(0, 1)), data=st.data())
def test_round_trip(profile, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(profile), max_size=len(profile)))
    names = ["Ann", "Bob", "Cyd", "Dan", "Eve"][: profile.shape[1]]
    profile = vt.Profile(ranks=profile.ranks, counts=profile.counts, multiplicity=weights, alternatives=names)
    back = vt.from_pref_voting(profile.to_pref_voting(), unranked="unknown")
    assert back.alternatives == profile.alternatives
    for one, other in zip(back.ballots.arrays, profile.ballots.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_margins_are_those_of_the_votes():
    profile = vt.Profile(order=[["A", "B", "C"], ["C", "A", "B"]], multiplicity=[3, 2], counts=[[9, 9, 9], [1, 2, 3]])
    linear = profile.to_pref_voting()
    assert isinstance(linear, profiles.Profile)
    assert (linear.margin(0, 1), linear.margin(1, 2), linear.cmap[2]) == (5, 1, "C")
    tied = vt.Profile(order=[["A", ["B", "C"]]], multiplicity=[2]).to_pref_voting()
    assert isinstance(tied, with_ties.ProfileWithTies)
    assert (tied.margin(0, 1), tied.margin(1, 2)) == (2, 0)


def test_messages():
    partial = with_ties.ProfileWithTies([{0: 1, 1: 2}, {2: 1}])
    with pytest.raises(vt.InputError, match="ProfileWithTies of pref_voting: some leave alternatives unranked"):
        vt.from_pref_voting(partial)
    np.testing.assert_array_equal(vt.from_pref_voting(partial, unranked="below").ranks, [[1, 2, 3], [2.5, 2.5, 1]])
    with pytest.raises(vt.InputError, match="takes a profile of rankings of pref_voting, not int"):
        vt.from_pref_voting(7)
    with pytest.raises(vt.InputError, match="voter 0: the multiplicity has to be a whole number"):
        vt.Profile(order=[["A", "B"]], multiplicity=[0.5]).to_pref_voting()
    with pytest.raises(vt.InputError, match="there is none"):
        vt.Profile(order=[["A", "B"]], multiplicity=[0]).to_pref_voting()
    with pytest.raises(vt.InputError, match="a single decision"):
        vt.stack([vt.Profile(order=[["A", "B"]])]).to_pref_voting()
