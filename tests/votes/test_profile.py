"""Profile: what goes in, what is said of it, and what comes out coarser, selected or put together."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import veritally as vt
from support import random_profile, values_profiles


def test_ranks_are_kept_as_midranks_of_what_was_seen():
    profile = vt.Profile(ranks=[[1, 5, 5, 0], [2.5, 2.5, 1, 4]], counts=[[1, 1, 1, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(profile.ranks, [[1, 2.5, 2.5, 0], [2.5, 2.5, 1, 4]])


def test_a_blank_is_below_what_was_ranked_if_seen_and_no_opinion_if_not():
    profile = vt.Profile(ranks=[[1, 0, 0], [1, 0, 0]], counts=[[1, 1, 1], [1, 1, 0]])
    np.testing.assert_array_equal(profile.ranks, [[1, 2.5, 2.5], [1, 2, 0]])


@pytest.mark.parametrize(
    "given",
    [
        {"order": [["B", "A"], ["A", ["B", "C"]]]},
        {"order": [["B", "A"], ["A", {"B", "C"}]], "alternatives": ["B", "A", "C"]},
        {"order": [["B", "A", None], ["A", None, None]], "alternatives": ["B", "A", "C"]},
        {"order": np.array([[0, 1, -1], [1, -1, -1]]), "alternatives": ["B", "A", "C"]},
        {"ranks": [[1, 2, 0], [3, 1, 3]], "alternatives": ["B", "A", "C"]},
        {"ranks": [[1, 2, None], [3, 1, 3]], "alternatives": ["B", "A", "C"]},
    ],
)
def test_orders_are_rankings(given):
    profile = vt.Profile(**given)
    assert profile.alternatives == ("B", "A", "C")
    np.testing.assert_array_equal(profile.ranks, [[1, 2, 3], [2.5, 1, 2.5]])


@pytest.mark.parametrize(
    "top", [["x", "y", "x"], np.array([0, 1, 0]), [[True, False], [False, True], [True, False]], jnp.array([0, 1, 0])]
)
def test_top_in_all_its_forms(top):
    names = ["x", "y"]
    profile = vt.Profile(top=top, alternatives=names)
    np.testing.assert_array_equal(profile.top, [[1, 0], [0, 1], [1, 0]])


def test_integers_are_positions_unless_the_alternatives_are_named_so():
    for votes in ({"top": [0, 0, 1]}, {"order": [[0, 1], [0, 1], [1, 0]]}):
        assert vt.decide(vt.Profile(**votes, alternatives=["x", "y"])).winner == "x"
        assert vt.decide(vt.Profile(**votes, alternatives=[1, 0])).winner == 0
    assert vt.Profile(order=[[101, 102], [102, 101]]).alternatives == (101, 102)
    assert vt.Profile(top=[0, 1], counts=[[1, 1, 1], [1, 1, 1]]).shape == (2, 3)
    assert vt.Profile(top=["A", "B"], counts=[[1], [2]]).counts.tolist() == [[1, 1], [2, 2]]


@pytest.mark.parametrize("top", [pd.Series(["A", None, "B"]), ["A", np.nan, "B"], pd.array(["A", None, "B"])])
def test_missing_favourites_of_all_kinds(top):
    with pytest.warns(vt.InputWarning, match="voter 1: no usable vote"):
        assert vt.Profile(top=top).alternatives == ("A", "B")


def test_masked_entries_are_blank():
    values = np.ma.array([[1.0, 999.0], [2.0, 1.0]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(vt.Profile(values=values).values, [[1, np.nan], [2, 1]])


def test_counts_in_the_padding_change_nothing():
    ranks = [[[1, 2, 3]], [[1, 2, 0]]]
    batch = vt.Profile(ranks=ranks, counts=np.ones((2, 1, 3)), alternatives=[[*"ABC"], [*"XY"]])
    np.testing.assert_array_equal(
        vt.decide(batch, "pairwise").scores[1, :2], vt.decide(batch.unstack()[1], "pairwise").scores
    )


def test_no_favourite_is_no_vote():
    with pytest.warns(vt.InputWarning, match="voter 1: no usable vote, ignored"):
        profile = vt.Profile(top=["x", None, "y"])
    np.testing.assert_array_equal(profile.top, [[1, 0], [0, 0], [0, 1]])
    with pytest.warns(vt.InputWarning, match="voter 0"):
        vt.Profile(top=[-1, 0, 1])


def test_coarsening_goes_from_values_to_top():
    profile = vt.Profile(values=[[1.0, 3.0], [2.0, 2.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(profile.as_differences().differences, [2, 0, np.nan])
    np.testing.assert_array_equal(profile.as_rankings().ranks, [[2, 1], [1.5, 1.5], [2, 1]])
    np.testing.assert_array_equal(profile.as_top().top, [[0, 1], [0.5, 0.5], [0, 1]])
    differences = vt.Profile(differences=[2.0, 0.0, -1.0])
    np.testing.assert_array_equal(differences.ranks, [[2, 1], [1.5, 1.5], [1, 2]])


@given(values_profiles())
def test_coarsening_by_steps_is_coarsening_at_once(profile):
    np.testing.assert_array_equal(profile.as_top().top, profile.as_rankings().as_top().top)
    assert profile.as_rankings().as_rankings().kind == "rankings"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vt.Profile(top=[0, 1]).as_rankings(), "favourites cannot become rankings"),
        (lambda: vt.Profile(ranks=[[1, 2]]).as_differences(), "differences need values for two alternatives"),
        (lambda: vt.Profile(values=[[1.0, 2, 3]]).as_differences(), "not values for 3"),
        (lambda: vt.Profile(ranks=[[1, 2]]).values, "these votes are rankings, not values"),
    ],
)
def test_nothing_becomes_finer(make, message):
    with pytest.raises(vt.InputError, match=message):
        make()


NAMES = {"alternatives": ["A", "B"], "voters": ["u", "v"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of ranks="),
        ({"ranks": [[1, 2]], "top": [0]}, "exactly one of ranks="),
        ({"ranks": [["first", "second"]]}, "ranks must be numbers"),
        ({"ranks": [[1, 2], [1]]}, "ranks must be numbers in a rectangular array"),
        ({"ranks": [1, 2]}, "a voter and an alternative axis"),
        ({"ranks": np.zeros((0, 3))}, "at least one voter"),
        ({"ranks": [[1], [1]]}, "a single alternative; a decision needs at least two"),
        ({"ranks": [[1, 2], [-1, 2]], **NAMES}, "voter 'v', alternative 'A': the rank is negative"),
        ({"ranks": [[1, 2], [np.inf, 2]], **NAMES}, "voter 'v', alternative 'A': the rank is infinite"),
        ({"values": [[1, 2], [np.inf, 2]], **NAMES}, "voter 'v', alternative 'A': the value is infinite"),
        ({"differences": [1.0, -np.inf], **NAMES}, "voter 'v': the difference is infinite"),
        ({"ranks": [[1, 2]], "counts": [[1, -1]]}, "voter 0, alternative 1: the count is negative"),
        ({"ranks": [[1, 2]], "counts": [[1, np.nan]]}, "the count is missing"),
        ({"ranks": [[1, 2]], "counts": [[1, np.inf]]}, "the count is infinite"),
        ({"ranks": [[1, 2]], "counts": [["few", "many"]]}, "counts must be numbers"),
        ({"ranks": [[1, 2]], "counts": [[1, 2, 3]]}, r"counts have the shape \(1, 3\); these votes need \(1, 2\)"),
        (
            {"ranks": [[1, 2]], "counts": [[1, 0]]},
            "voter 0, alternative 1: a vote for an alternative this voter never saw",
        ),
        ({"values": [[1, 0]], "counts": [[1, 0]]}, "never saw"),
        ({"top": [1], "counts": [[1, 0]]}, "never saw"),
        ({"differences": [1.0], "counts": [[1, 0]]}, "never saw"),
        ({"ranks": [[1, 2]], "multiplicity": [-1]}, "voter 0: the multiplicity must be a finite number"),
        ({"ranks": [[1, 2]], "multiplicity": [np.nan]}, "the multiplicity must be a finite number"),
        ({"ranks": [[1, 2]], "multiplicity": [1, 2]}, "multiplicity has the shape"),
        (
            {"ranks": [[1, 2]], "alternatives": ["A"]},
            "number of alternative names is 1, but there are 2 alternatives",
        ),
        ({"ranks": [[1, 2]], "alternatives": ["A", "A"]}, "the alternative name 'A' appears twice"),
        ({"ranks": [[1, 2], [1, 2]], "voters": ["u", "u"]}, "the voter name 'u' appears twice"),
        ({"ranks": [[1, 2]], "decisions": ["d"]}, "decision names need one batch axis"),
        ({"ranks": [[1, 2]], "alternatives": 5}, "alternative names must be a list of names"),
        ({"ranks": [[1, 2]], "voters": [{}]}, "voter names must be a list of names"),
        ({"ranks": [[1, 2]], "counts": [[1, 10**400]]}, "counts must be numbers"),
        ({"ranks": np.array([["2020-01-01", "2021-01-01"]], dtype="datetime64[D]")}, "ranks must be numbers"),
        ({"values": [[1j, 2]]}, "values must be numbers"),
        ({"ranks": np.ones((0, 1, 2))}, "at least one voter"),
        ({"top": [-2, 0]}, "positions go from 0"),
        ({"order": 5}, "order must be a list of alternatives"),
        ({"order": [None]}, "order must be a list of alternatives"),
        ({"top": [["A", "B"], "A"]}, "one name or position per voter"),
        ({"ranks": [[[1, 2]]] * 2, "alternatives": [["A", "B"], ["A"]]}, "decision 1: there is a single alternative"),
        ({"ranks": [[[1, 2]]], "voters": [["u"], ["v"]]}, "names for 2 decisions do not fit a batch"),
        ({"order": [["A", "B"], ["A", "Bee"]], "alternatives": ["A", "Bea"]}, "'B' is unknown"),
        (
            {"order": [["A", "Bee"]], "alternatives": ["A", "Bea"]},
            "voter 0: alternative 'Bee' is unknown; did you mean 'Bea'",
        ),
        ({"order": [["A", "B", "A"]]}, "voter 0 lists 'A' twice"),
        ({"order": np.array([[0, 0, 1]])}, "listed twice"),
        ({"order": np.array([[0, 2]]), "alternatives": ["A", "B"]}, "positions go from 0 to 1"),
        ({"top": ["A", "C"], "alternatives": ["A", "B"]}, "alternative 'C' is unknown; choose one of 'A', 'B'"),
        ({"top": ["?"], "alternatives": [f"P{j}" for j in range(30)]}, "choose one of 'P0', .* 'P19' and 10 more"),
        ({"top": [0, 5], "alternatives": ["A", "B"]}, "voter 1: alternative 5 is unknown"),
        ({"top": [[0.5, 0.5]]}, "one name or position per voter"),
    ],
)
def test_messages_of_the_door(arguments, message):
    with pytest.raises(vt.InputError, match=message):
        vt.Profile(**arguments)


def test_messages_name_the_decision():
    ranks = np.array([[[1, 2]], [[-1, 2]]])
    with pytest.raises(vt.InputError, match="decision 'second', voter 0, alternative 0: the rank is negative"):
        vt.Profile(ranks=ranks, decisions=["first", "second"])
    with pytest.raises(vt.InputError, match=r"decision \(1,\), voter 0"):
        vt.Profile(ranks=ranks)


def test_profiles_cannot_be_changed():
    ranks = np.array([[1.0, 2.0]])
    values = np.array([[1.0, 2.0]])
    profile = vt.Profile(values=values)
    with pytest.raises(AttributeError):
        profile.kind = "top"
    with pytest.raises(ValueError, match="read-only"):
        profile.values[0, 0] = 9
    values[0, 0] = 9
    assert profile.values[0, 0] == 1
    counts, multiplicity = np.ones((1, 2)), np.ones(1)
    profile = vt.Profile(ranks=ranks, counts=counts, multiplicity=multiplicity)
    counts[0, 0] = multiplicity[0] = 9
    assert profile.counts[0, 0] == profile.multiplicity[0] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_read_only_input_taken(dtype):
    values = np.array([[1, 2]], dtype=dtype)
    values.flags.writeable = False
    profile = vt.Profile(values=values)
    assert profile.values.dtype == profile.counts.dtype == profile.ranks.dtype == profile.top.dtype == dtype


@pytest.mark.parametrize(
    ("kind", "rule"),
    [("values", "mean"), ("differences", "difference"), ("rankings", "pairwise"), ("top", "top-zero")],
)
def test_jax_arrays_are_kept(kind, rule):
    values = jnp.array([[1.0, 2.0], [3.0, 1.0]])
    given = {
        "values": {"values": values},
        "differences": {"differences": values[:, 1] - values[:, 0]},
        "rankings": {"ranks": jnp.array([[2, 1], [1, 2]])},
        "top": {"top": jnp.array([1, 0])},
    }[kind]
    profile = vt.Profile(**given, counts=jnp.ones((2, 2)))
    assert all(isinstance(x, jax.Array) for x in profile.ballots.arrays)
    assert isinstance(profile.as_top().top, jax.Array)
    assert isinstance(vt.decide(profile, rule).scores, jax.Array)
    assert vt.decide(profile, rule).explain().winner in (0, 1)
    assert isinstance(profile.select(voters=[1]).counts, jax.Array)
    assert isinstance(vt.concat([profile, profile]).counts, jax.Array)
    assert isinstance(vt.stack([profile, profile]).counts, jax.Array)


def test_len_names_and_words():
    profile = vt.Profile(ranks=[[1, 2, 3]] * 4, alternatives="ABC")
    assert len(profile) == 4
    assert profile.voters == (0, 1, 2, 3)
    assert profile.alternatives == ("A", "B", "C")
    assert repr(profile) == "Profile(4 voters, 3 alternatives, rankings)"
    assert "2 × 5 decisions" in repr(random_profile(0, batch=(2, 5)))


def test_selecting_closes_the_ranks():
    profile = vt.Profile(ranks=[[1, 2, 3], [3, 2, 1]], alternatives=["A", "B", "C"], voters=["u", "v"])
    part = profile.select(voters=["v"], alternatives=["C", "A"])
    assert (part.voters, part.alternatives) == (("v",), ("C", "A"))
    np.testing.assert_array_equal(part.ranks, [[1, 2]])
    np.testing.assert_array_equal(profile.as_top().select(alternatives=["B", "C"]).top, [[0, 0], [0, 1]])
    turned = vt.Profile(differences=[1.0, 2.0]).select(alternatives=[1, 0])
    np.testing.assert_array_equal(turned.differences, [-1, -2])


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"alternatives": ["A"]}, "a single alternative would be left"),
        ({"voters": []}, "no voter would be left"),
        ({"voters": ["w"]}, "voter 'w' is unknown"),
        ({"voters": ["u", "u"]}, "the voter name 'u' appears twice"),
        ({"alternatives": ["A", "A"]}, "the alternative name 'A' appears twice"),
    ],
)
def test_selecting_says_what_is_wrong(selection, message):
    profile = vt.Profile(ranks=[[1, 2], [2, 1]], alternatives=["A", "B"], voters=["u", "v"])
    with pytest.raises(vt.InputError, match=message):
        profile.select(**selection)


def test_concat_matches_alternatives_by_name():
    first = vt.Profile(ranks=[[1, 2]], alternatives=["A", "B"], counts=[[3, 4]])
    second = vt.Profile(ranks=[[1, 2]], alternatives=["C", "A"], counts=[[5, 6]])
    both = vt.concat([first, second])
    assert both.alternatives == ("A", "B", "C")
    assert both.voters == (0, 1)
    np.testing.assert_array_equal(both.counts, [[3, 4, 0], [6, 0, 5]])
    np.testing.assert_array_equal(both.ranks, [[1, 2, 0], [2, 0, 1]])


@pytest.mark.parametrize(
    ("profiles", "message"),
    [
        ([], "no profiles to combine"),
        ([vt.Profile(ranks=[[1, 2]], voters=["u"])] * 2, "the voter name 'u' appears twice"),
        ([vt.stack([vt.Profile(ranks=[[1, 2]])] * 2)] * 2, "have different names"),
        ([random_profile(0, batch=(2,)), random_profile(0, batch=(3,))], "same batch axes"),
        ([vt.Profile(ranks=[[[1, 2]]], decisions=[name]) for name in "pq"], "the same decisions"),
        (
            [vt.Profile(differences=[1.0], alternatives=[*"AB"]), vt.Profile(differences=[1.0], alternatives=[*"BA"])],
            "same two alternatives in the same order",
        ),
    ],
)
def test_concat_says_what_is_wrong(profiles, message):
    with pytest.raises(vt.InputError, match=message):
        vt.concat(profiles)


MIXED = [
    vt.Profile(values=[[1.0, np.nan, 2.0]], counts=[[3, 0, 4]], alternatives=[*"ABC"], voters=["u"]),
    vt.Profile(order=[["C", "B", "A"]], counts=[[5, 6, 7]], alternatives=[*"ABC"], voters=["v"], multiplicity=[2]),
    vt.Profile(top=["A", "D"], alternatives=[*"AD"], voters=["w", "x"]),
]


def test_concat_of_different_kinds_is_mixed():
    both = vt.concat(MIXED)
    assert both.kind == "mixed"
    assert both.voters == ("u", "v", "w", "x")
    assert both.alternatives == ("A", "B", "C", "D")
    np.testing.assert_array_equal(both.counts, [[3, 0, 4, 0], [5, 6, 7, 0], [1, 0, 0, 1], [1, 0, 0, 1]])
    np.testing.assert_array_equal(both.multiplicity, [1, 2, 1, 1])
    np.testing.assert_array_equal(both.ranks, [[2, 0, 1, 0], [3, 2, 1, 0], [1, 0, 0, 2], [2, 0, 0, 1]])
    again = vt.concat([vt.concat(MIXED[:2]), MIXED[2]])
    for one, other in zip(both.ballots.arrays, again.ballots.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_differences_mix_with_others_about_the_same_pair():
    pair = {"alternatives": [*"AB"]}
    both = vt.concat([vt.Profile(differences=[1.0, -2.0], **pair), vt.Profile(ranks=[[1, 2]], **pair)])
    assert both.kind == "mixed"
    np.testing.assert_array_equal(both.ranks, [[2, 1], [1, 2], [1, 2]])


def test_kinds_do_not_matter_for_what_is_coarser():
    both = vt.concat(MIXED)
    coarse = vt.concat([profile.coarsened("rankings") for profile in MIXED[:2]])
    part = both.select(voters=["u", "v"], alternatives=[*"ABC"])
    np.testing.assert_array_equal(vt.decide(part, "pairwise").scores, vt.decide(coarse, "pairwise").scores)


@pytest.mark.parametrize("kind", ["values", "mixed", "rankings", "top"])
def test_stack_and_unstack_are_inverse(kind):
    singles = [random_profile(seed, voters=3 + seed, alternatives=4 - seed, kind=kind) for seed in range(3)]
    batch = vt.stack(singles, decisions=["a", "b", "c"])
    assert batch.shape == (3, 5, 4)
    assert batch.decision_names == ("a", "b", "c")
    for single, back in zip(singles, batch.unstack(), strict=True):
        assert (back.voters, back.alternatives) == (single.voters, single.alternatives)
        for one, other in zip(single.ballots.arrays, back.ballots.arrays, strict=True):
            np.testing.assert_array_equal(one, other)


def test_differences_stack_too():
    batch = vt.stack([vt.Profile(differences=[1.0, 2.0]), vt.Profile(differences=[-1.0])])
    assert [outcome.winner for outcome in vt.decide(batch, "difference").unstack()] == [1, 0]


def test_favourites_of_a_padded_batch():
    batch = vt.Profile(top=np.array([[0, 1], [2, -1]]), alternatives=[[*"AB"], [*"XYZ"]], voters=[["u", "v"], ["w"]])
    assert batch.shape == (2, 2, 3)
    assert [outcome.winners for outcome in vt.decide(batch, "plurality").unstack()] == [["A", "B"], ["Z"]]


def test_padding_by_names_is_silent_and_selection_from_it_refused():
    ranks = np.array([[[1, 2, 3], [3, 2, 1]], [[1, 2, 0], [0, 0, 0]]])
    batch = vt.Profile(ranks=ranks, alternatives=[["A", "B", "C"], ["X", "Y"]], voters=[["u", "v"], ["w"]])
    assert batch.warnings == ()
    assert batch.unstack()[1].alternatives == ("X", "Y")
    with pytest.raises(vt.InputError, match="select from one decision at a time"):
        batch.select(voters=["u"])
    with pytest.raises(vt.InputError, match="single decision"):
        batch.unstack()[0].unstack()
    with pytest.raises(vt.InputError, match="not batches"):
        vt.stack([batch])
    with pytest.raises(vt.InputError, match="the number of decision names is 1, but there are 2"):
        vt.stack(batch.unstack(), decisions=["one"])


def test_voters_without_a_vote_are_ignored_with_a_warning():
    with pytest.warns(vt.InputWarning, match=r"voter 'v': no usable vote, ignored"):
        profile = vt.Profile(ranks=[[1, 2], [0, 0]], voters=["u", "v"])
    assert vt.decide(profile).warnings == profile.warnings
    np.testing.assert_array_equal(vt.decide(profile, "plurality").scores, [1, 0])
    with pytest.warns(vt.InputWarning, match=r"voter 0; voter 1; voter 2 and 2 more: no usable vote"):
        vt.Profile(ranks=[[0, 0]] * 5 + [[1, 2]])


@pytest.mark.parametrize(
    ("ranks", "counts", "pointed_out"),
    [
        ([[0, 1, 2], [1, 0, 2]], None, True),
        ([[0, 1, 2], [1, 0, 2], [1, 2, 1]], None, True),
        ([[0, 1, 2], [0, 0, 2]], None, True),
        ([[0, 1, 2], [0.5, 0.5, 2]], None, True),
        ([[0, 1, 2], [0, 0, 1]], None, False),  # one names two of three, the other a favourite
        ([[0, 1, 0], [1, 0, 0]], None, False),
        ([[0, 1], [1, 0]], None, False),
        ([[0, 1, 2], [1, 2, 3]], None, False),  # here 0 is what it means
        ([[0, 1, 2], [1, 0, 2]], [[0, 5, 5], [5, 0, 5]], False),
        ([[np.nan, 1, 2], [1, np.nan, 2]], None, False),
    ],
)
def test_ranks_that_start_at_zero_are_pointed_out(ranks, counts, pointed_out):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vt.Profile(ranks=ranks, counts=counts)
    assert ["add 1 if ranks start at 0" in str(warning.message) for warning in caught] == [True] * pointed_out


def test_ranks_from_zero_are_noticed_in_partial_ballots():
    ranks, counts = (
        [[0, 1, 2, np.nan], [np.nan, 0, 2, 1], [1, 0, np.nan, np.nan]],
        [[3, 3, 3, 0], [0, 1, 1, 1], [1, 1, 0, 0]],
    )
    with pytest.warns(vt.InputWarning, match="add 1 if ranks start at 0"):
        vt.Profile(ranks=ranks, counts=counts)
    vt.Profile(ranks=[[0, 1, 2, np.nan], [1, 2, 3, np.nan]], counts=[[3, 3, 3, 0]] * 2)  # one left the first unranked


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        (vt.Profile(ranks=[[1, 2], [2, 1]]), "values"),
        (vt.Profile(ranks=[[1, 2], [2, 1]]), "differences"),
        (vt.Profile(top=[0, 1]), "values"),
        (vt.Profile(differences=[1.0, 2.0]), "values"),
        (vt.Profile(values=[[1.0, 2.0]]), "pairs"),
    ],
)
def test_votes_cannot_be_made_finer(profile, kind):
    with pytest.raises(vt.InputError, match=f"cannot become {kind}: votes can be made coarser, not finer"):
        profile.coarsened(kind)


def test_favourites_are_rankings_of_two_tiers():
    ranks = vt.Profile(top=[2, 0], alternatives=[*"ABC"]).coarsened("rankings").ranks
    np.testing.assert_array_equal(ranks, [[2.5, 2.5, 1], [1, 2.5, 2.5]])


def test_kinds_and_sizes_that_do_not_fit_are_refused():
    with pytest.raises(vt.InputError, match="no votes of the kind 'scores'"):
        vt.Profile(ranks=[[1, 2]]).coarsened("scores")
    with pytest.raises(vt.InputError, match="differences are for two alternatives, and there are 3"):
        vt.Profile(values=[[1.0, 2, 3]]).coarsened("differences")


def test_orders_that_leave_one_out_are_no_ranks_from_zero():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile = vt.Profile(order=[["A", "B"], ["B", "C"]])
    np.testing.assert_array_equal(profile.ranks, [[1, 2, 3], [3, 1, 2]])
