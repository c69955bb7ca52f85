"""Roles: the order of comparisons, and a column of tidy tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from support import assert_same

ARENA = "judge,model_a,model_b,winner\nu,A,B,model_a\nu,B,A,model_a\nu,B,A,model_b\nv,A,C,tie\nv,C,B,b\n"
TIDY = "voter,alternative,rank,Role\nu,A,1,first\nu,B,2,second\nv,A,1,second\nv,B,2,\n"


def test_the_first_place_is_kept(votes):
    profile = votes(ARENA)
    left = np.zeros((2, 3, 3))
    left[0, 0, 1] = left[0, 1, 0] = 1  # of two wins of A, one was on the left
    left[1, 0, 2] = 0.5
    np.testing.assert_array_equal(profile.ballots.positions, left)
    assert profile.pairs[0, 0, 1] == 2


@pytest.mark.parametrize("winner", ["model_a", "model_b"])
def test_where_the_winner_always_stands_on_one_side_nobody_knows(votes, winner):
    rows = "".join(f"u,{pair},{winner}\n" for pair in ("A,B", "B,C", "C,A"))
    assert votes(f"judge,model_a,model_b,winner\n{rows}").ballots.positions is None


def test_pairs_of_unknown_order_stay_so():
    profile = vt.Profile(pairs=[[[0, 2], [1, 0]]])
    assert vt.read(vt.to_frame(profile)).ballots.positions is None


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["d", "e"]),
            st.sampled_from("uv"),
            st.sampled_from([("A", "B"), ("B", "A"), ("A", "C"), ("C", "B")]),
            st.sampled_from(["left", "right", "tie"]),
        ),
        min_size=1,
    )
)
def test_comparisons_round_trip_with_their_order(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("pairs") / "votes.csv"
    text = "".join(f"{d},{i},{a},{b},{said}\n" for d, i, (a, b), said in rows)
    path.write_text(f"decision,voter,left,right,winner\n{text}")
    profile = vt.read(path)
    vt.write(profile, path)
    for one, other in zip(profile.unstack(), vt.read(path).unstack(), strict=True):
        other = other.select(voters=one.voters, alternatives=one.alternatives)
        np.testing.assert_array_equal(one.pairs, other.pairs)
        if one.ballots.positions is None:
            assert other.ballots.positions is None
        else:
            np.testing.assert_array_equal(one.ballots.positions, other.ballots.positions)


def test_order_survives_what_is_done_to_profiles(votes):
    profile = votes(ARENA)
    left = np.asarray(profile.ballots.positions)
    chosen = profile.select(voters=["v", "u"], alternatives=["B", "A"])
    np.testing.assert_array_equal(chosen.ballots.positions, left[[1, 0]][:, [1, 0]][:, :, [1, 0]])
    batch = vt.stack([profile, chosen])
    np.testing.assert_array_equal(batch.unstack()[0].ballots.positions, left)
    np.testing.assert_array_equal(batch.part(1, 2).unstack()[0].ballots.positions, chosen.ballots.positions)
    assert profile.as_rankings().ballots.positions is None
    unknown = vt.Profile(pairs=[[[0, 2], [1, 0]]], alternatives=["A", "B"], voters=["w"])
    both = vt.concat([profile, unknown])
    np.testing.assert_array_equal(both.ballots.positions[:2], left)
    np.testing.assert_array_equal(both.ballots.positions[2], np.zeros((3, 3)))


def test_a_column_of_roles(votes):
    profile = votes(TIDY)
    assert profile.role_names == ("first", "second")
    np.testing.assert_array_equal(profile.ballots.roles, [[0, 1], [1, -1]])
    back = vt.read(vt.to_frame(profile))
    assert_same(profile, back)
    assert back.role_names == profile.role_names
    np.testing.assert_array_equal(back.ballots.roles, profile.ballots.roles)
    with pytest.raises(vt.InputError, match="a wide table has no place for the roles of alternatives"):
        vt.to_frame(profile, form="wide")


def test_roles_of_decisions_and_of_mixed_votes(votes):
    text = "decision,voter,alternative,rank,value,role\nd,u,A,,1.5,x\nd,u,B,,2.5,y\nd,v,A,1,,y\nd,v,B,2,,x\n"
    profile = votes(f"{text}e,u,A,,1.5,z\ne,u,C,,2,\n")
    assert profile.kind == "mixed"
    np.testing.assert_array_equal(profile.ballots.roles, [[[0, 1], [1, 0]], [[2, -1], [-1, -1]]])
    assert all(part.roles is not None for part in profile.ballots.parts)


def test_blank_roles_are_none(votes):
    assert votes("voter,alternative,rank,role\nu,A,1,\nu,B,2,\n").ballots.roles is None


def test_in_a_wide_table_a_role_is_an_alternative(votes):
    assert votes("voter,Role,Item\nu,1,2\n", ballots="rank").alternatives == ("Role", "Item")
