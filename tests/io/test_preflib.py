"""PrefLib's files: what preflibtools writes we read, and the other way round."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preflibtools.instances import OrdinalInstance

import veritally as vt
from support import values_profiles

HEADER = """# FILE NAME: election.toi
# TITLE: An election
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 5
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bob: the second
# ALTERNATIVE NAME 3: Cyd
"""
COMPLETE = HEADER + "3: 1,2,3\n2: 3,{1,2}\n"
PARTIAL = HEADER + "3: 1,2\n2: 3\n"


def ballots(profile):
    """How many say what, whoever they are."""
    said = Counter()
    for ranks, counts, many in zip(profile.ranks, profile.counts, profile.multiplicity, strict=True):
        said[tuple(ranks), tuple(counts)] += many
    return said


@given(profile=values_profiles(counts=(0, 1)), data=st.data())
def test_round_trip(tmp_path_factory, profile, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(profile), max_size=len(profile)))
    names = ["Ann", "Bob, the second", "{3}", "# 4", "5: Eve"][: profile.shape[1]]
    profile = vt.Profile(ranks=profile.ranks, counts=profile.counts, multiplicity=weights, alternatives=names)
    strict = all(len(tier) == 1 for order in profile.order for tier in order)
    complete = bool(np.all(profile.counts > 0))
    suffix = f".{'s' if strict else 't'}o{'c' if complete else 'i'}"
    path = tmp_path_factory.mktemp("preflib") / f"votes{suffix}"
    vt.write(profile, path)
    instance = OrdinalInstance(str(path))
    assert (instance.infer_type(), instance.num_voters) == (suffix[1:], sum(weights))
    back = vt.read(path, unranked=None if complete else "unknown")
    assert back.alternatives == tuple(names)
    assert ballots(back) == ballots(profile)


def test_what_preflibtools_writes_is_read(tmp_path):
    instance = OrdinalInstance()
    instance.append_vote_map({((1,), (2, 3)): 4, ((3,), (1,), (2,)): 1})
    instance.write(str(tmp_path / "votes.toc"))
    profile = vt.read(tmp_path / "votes.toc")
    assert profile.alternatives == ("Alternative 1", "Alternative 2", "Alternative 3")
    np.testing.assert_array_equal(profile.ranks, [[1, 2.5, 2.5], [2, 3, 1]])
    np.testing.assert_array_equal(profile.multiplicity, [4, 1])


def test_the_caller_says_what_unranked_means(votes):
    assert votes(COMPLETE, "votes.toc").voters == ("order 1", "order 2")
    with pytest.raises(vt.InputError, match=r"say that these are below .* or that they have no opinion"):
        votes(PARTIAL, "votes.soi")
    np.testing.assert_array_equal(votes(PARTIAL, "votes.soi", unranked="below").ranks, [[1, 2, 3], [2.5, 2.5, 1]])
    np.testing.assert_array_equal(votes(PARTIAL, "votes.soi", unranked="unknown").ranks, [[1, 2, 0], [0, 0, 1]])
    assert votes(PARTIAL, "votes", unranked="below", ballots="top").top.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_an_order_that_stands_twice_adds_up(votes):
    profile = votes(HEADER + "\n1: 1,2,3\n# a remark\n1: 2,1,3\n3: 1, 2, 3\n", "votes.soc")
    np.testing.assert_array_equal(profile.multiplicity, [4, 1])


def test_a_file_that_is_cut_off_is_remarked_on(votes):
    with pytest.warns(vt.InputWarning, match="the header says 5 voters, but the orders are those of 3"):
        votes(HEADER + "3: 1,2,3\n", "votes.soc")


MESSAGES = {
    "no order": (HEADER + "3: 1,2,3\n2: 1;2\n", "votes.toi, line 11: '2: 1;2' is not an order such as 3: 1,{2,4},3"),
    "open braces": (HEADER + "3: 1,{2,3\n", "line 10: '3: 1,{2,3' is not an order"),
    "header alone": (HEADER, "has no orders"),
    "no number": (HEADER.replace("VOTERS: 5", "VOTERS: many") + "1: 1,2,3\n", "is not a PrefLib file of orders"),
    "unknown": (HEADER + "5: 1,2,4\n", "an order lists alternative 4, which the header does not name"),
    "twice": (HEADER + "5: 1,2,1\n", "an order lists 'Ann' twice"),
    "same name": (COMPLETE.replace("Cyd", "Ann"), "two alternatives have the name 'Ann'"),
    "a single one": ("# ALTERNATIVE NAME 1: Ann\n# NUMBER VOTERS: 1\n1: 1\n", "there is a single alternative"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_messages(votes, case):
    text, message = MESSAGES[case]
    with pytest.raises(vt.InputError) as caught:
        votes(text, "votes.toi")
    assert message in str(caught.value)


def test_what_the_format_cannot_hold_is_refused(tmp_path):
    refused = {
        "hold no counts": vt.Profile(order=[["A", "B"]], counts=[[1, 2]]),
        "tied, which .soc cannot hold; write .toc or .toi": vt.Profile(order=[[["A", "B"]]]),
        "not seen all, which .soc cannot hold; write .soi or .toi": vt.Profile(
            order=[["A", "B"], ["C", "A"]], alternatives=["A", "B", "C"], counts=[[1, 1, 0], [1, 0, 1]]
        ),
        "voter 0: the multiplicity has to be a whole number": vt.Profile(order=[["A", "B"]], multiplicity=[0.5]),
        "cannot stand in a PrefLib file": vt.Profile(order=[["A", "B\nC"]]),
    }
    for message, profile in refused.items():
        with pytest.raises(vt.InputError) as caught:
            vt.write(profile, tmp_path / "votes.soc")
        assert message in str(caught.value)


def test_counts_are_not_for_preflib(votes):
    with pytest.raises(vt.InputError, match="counts is not for PrefLib files"):
        votes(COMPLETE, "votes.toc", counts=vt.to_frame(vt.Profile(order=[["A", "B"]])))


def test_values_become_their_order_and_counts_may_be_dropped(tmp_path):
    profile = vt.Profile(values=[[0.5, 2, -1]], counts=[[3, 4, 5]], alternatives=["A", "B", "C"])
    vt.write(profile, tmp_path / "votes.soc", drop_counts=True)
    assert vt.read(tmp_path / "votes.soc").order == [[["B"], ["A"], ["C"]]]
