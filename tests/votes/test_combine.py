"""What is known of voters survives putting profiles together and taking them apart."""

import numpy as np
import pytest

import veritally as vt
from veritally.votes.items import Items


def ranking(*voters, loadings=None, alternatives=("A", "B")):
    """Return voters who rank, perhaps with errors that they share."""
    profile = vt.Profile(ranks=[[1, 2]] * len(voters), voters=voters, alternatives=alternatives)
    if loadings is None:
        return profile
    shared = np.asarray(loadings, dtype=float)
    return profile.with_ballots(profile.ballots.with_shared_errors(shared, np.sum(shared**2, axis=-1)))


def looking(voters, items, names=None, share=0.5):
    """Return voters who looked at A, each at one item."""
    found = Items(tuple(voters), ("A",) * len(voters), np.array(items), np.ones(len(voters)), None, share, names)
    return ranking(*voters).with_facts(items=found)


def test_groups_of_all_are_known():
    one, other = ranking("u", "v").with_facts(groups={"u": "x"}), ranking("w").with_facts(groups={"w": "y"})
    assert vt.concat([one, other, ranking("z")]).groups == {"u": "x", "w": "y"}
    assert vt.stack([ranking("z"), one]).groups == {"u": "x"}
    assert vt.stack([one, ranking("u").with_facts(groups={"u": "x"})]).groups == {"u": "x"}
    with pytest.raises(vt.InputError, match="voter 'u' is in the groups 'x' and 'y'"):
        vt.stack([one, ranking("u").with_facts(groups={"u": "y"})])


def test_shared_errors_of_different_profiles_are_different():
    one = ranking("u", "v", loadings=np.full((2, 2, 1), 0.5))
    other = ranking("w", "x", loadings=np.full((2, 2, 2), 0.3))
    both = vt.concat([one, ranking("z"), other]).ballots
    assert both.loadings.shape == (5, 2, 3)
    np.testing.assert_array_equal(both.loadings[:2], np.broadcast_to([0.5, 0, 0], (2, 2, 3)))
    np.testing.assert_array_equal(both.loadings[2], np.zeros((2, 3)))
    np.testing.assert_array_equal(both.loadings[3:], np.broadcast_to([0, 0.3, 0.3], (2, 2, 3)))
    np.testing.assert_allclose(both.sharing[:, 0], [0.25, 0.25, 0, 0.18, 0.18])


def test_decisions_of_a_batch_may_have_different_numbers_of_factors():
    one, other = ranking("u", loadings=[[[0.5], [0.5]]]), ranking("u", loadings=np.full((1, 2, 3), 0.1))
    batch = vt.stack([one, ranking("u"), other]).ballots
    assert batch.loadings.shape == (3, 1, 2, 3)
    np.testing.assert_array_equal(batch.loadings[0, 0], [[0.5, 0, 0]] * 2)
    np.testing.assert_array_equal(batch.loadings[1], np.zeros((1, 2, 3)))


def test_shared_errors_of_mixed_votes_are_in_all_parts():
    values = vt.Profile(values=[[1.0, 2.0]], voters=["w"], alternatives=["A", "B"])
    for several in (
        [ranking("u", loadings=[[[0.5], [0.5]]]), values],
        [values, ranking("u", loadings=[[[0.5], [0.5]]])],
    ):
        both = vt.concat(several).ballots
        assert both.kind == "mixed"
        assert all(part.loadings.shape == (2, 2, 1) for part in both.parts)
        np.testing.assert_array_equal(both.parts[0].loadings, both.parts[1].loadings)


def test_roles_are_matched_by_name():
    one = ranking("u").with_roles(np.array([[0.0, 1.0]]), ["left", "right"])
    other = ranking("v").with_roles(np.array([[0.0, -1.0]]), ["right"])
    both = vt.concat([other, ranking("w"), one])
    assert both.role_names == ("right", "left")
    np.testing.assert_array_equal(both.ballots.roles, [[0, -1], [-1, -1], [1, 0]])
    batch = vt.stack([one, other])
    assert batch.role_names == ("left", "right")
    np.testing.assert_array_equal(batch.ballots.roles, [[[0, 1]], [[1, -1]]])


def test_items_are_matched_by_name():
    one, other = looking("uv", [0, 1], ("p", "q"), 0.2), looking("w", [0], ("q",), 0.8)
    items = vt.concat([one, other]).items
    np.testing.assert_array_equal(items.overlap(None, ("u", "v", "w"), ("A",))[0], [[1, 0, 0], [0, 1, 1], [0, 1, 1]])
    assert items.share == pytest.approx(0.4)  # by looks
    nameless = vt.concat([looking("u", [0]), looking("w", [0])]).items
    np.testing.assert_array_equal(nameless.overlap(None, ("u", "w"), ("A",))[0], np.eye(2))


def test_items_of_voters_who_were_chosen_and_put_together_again():
    whole = looking("uvw", [0, 0, 1], ("p", "q"))
    again = vt.concat([whole.select(voters=["w"]), whole.select(voters=["u", "v"])])
    names = ("u", "v", "w"), ("A", "B")
    np.testing.assert_array_equal(again.items.overlap(None, *names), whole.items.overlap(None, *names))


def test_items_of_a_batch_belong_to_decisions():
    batch = vt.stack([looking("uv", [0, 0]), ranking("u", "v"), looking("uv", [0, 1])])
    assert [None if one.items is None else len(one.items.voters) for one in batch.unstack()] == [2, None, 2]
    np.testing.assert_array_equal(batch.items.overlap(0, ("u", "v"), ("A",))[0], np.ones((2, 2)))
    np.testing.assert_array_equal(batch.items.overlap(2, ("u", "v"), ("A",))[0], np.eye(2))


def test_groups_are_renamed_with_their_voters():
    profile = ranking("u", "v").with_facts(groups={"v": "x"})
    assert profile.renamed("d", "v", "a").groups == {"v2": "x"}
