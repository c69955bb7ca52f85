"""Wide tables, orders and comparisons: the same votes in other forms, and one sentence for what cannot be read."""

import datetime
import io
import sys
import unicodedata
from collections import defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from support import assert_same, random_profile, read_or_complain, values_profiles

TIDY = "voter,alternative,rank\nu,A,1\nu,B,2\n"
WIDE = "voter,A,B,C,A_count,B_count,C_count\nu,1,2,,5,5,0\nv,,1,2,2,3,1\n"
ORDERS = "# Of a panel\nA (5) > B (5)\n\n2: B (3) > C (1) > A (2)  # twice\n"
ARENA = "judge,model_a,model_b,winner\nu,A,B,model_a\nu,B,C,tie (bothbad)\nv,A,C,C\nv,C,A,b\n"
SUFFIXES = [".csv", ".tsv", ".parquet", ".jsonl"]
BALLOTS = {"values": "value", "rankings": "rank", "top": "rank"}


def of_kind(profile, kind):
    return {"values": lambda: profile, "rankings": profile.as_rankings, "top": profile.as_top}[kind]()


# Wide tables


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(profile=values_profiles(), kind=st.sampled_from(list(BALLOTS)))
def test_wide_tables_round_trip(tmp_path_factory, suffix, profile, kind):
    profile = of_kind(profile, kind)
    path = tmp_path_factory.mktemp("wide") / f"votes{suffix}"
    vt.write(profile, path, form="wide")
    back = vt.read(path, ballots=BALLOTS[kind])
    assert_same(profile, back.as_top() if kind == "top" else back)


@pytest.mark.parametrize("form", ["tidy", "wide"])
@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
@given(profile=values_profiles())
def test_frames_round_trip(profile, backend, form):
    assert_same(profile, vt.read(vt.to_frame(profile, backend, form), ballots="value"))


@pytest.mark.parametrize("form", ["tidy", "wide"])
def test_batches_and_multiplicities_round_trip(tmp_path, form):
    singles = [random_profile(seed, voters=3, alternatives=3 + seed) for seed in range(2)]
    half = [vt.Profile(ranks=one.ranks, counts=one.counts / 2, multiplicity=[1, 2.5, 3]) for one in singles[:1]]
    vt.write(vt.stack(half + singles, decisions=["half", "one", "two"]), tmp_path / "votes.csv", form=form)
    back = vt.read(tmp_path / "votes.csv", ballots="rank")
    assert back.decisions == ("half", "one", "two")
    for one, other in zip(half + singles, back.unstack(), strict=True):
        assert_same(one, other)


def test_a_wide_table_says_what_was_seen_and_ranked(votes):
    profile = votes(WIDE, ballots="rank")
    assert (profile.voters, profile.alternatives) == (("u", "v"), ("A", "B", "C"))
    np.testing.assert_array_equal(profile.counts, [[5, 5, 0], [2, 3, 1]])
    np.testing.assert_array_equal(profile.ranks, [[1, 2, 0], [3, 1, 2]])


def test_without_counts_a_blank_is_unseen_unless_said_to_be_below(votes):
    text = "A,B,C\n1,2,\n,1,2\n"
    np.testing.assert_array_equal(votes(text, ballots="rank").ranks, [[1, 2, 0], [0, 1, 2]])
    np.testing.assert_array_equal(votes(text, ballots="rank", unranked="below").ranks, [[1, 2, 3], [3, 1, 2]])
    assert votes(text, ballots="rank").voters == ("line 2", "line 3")


def test_ranks_that_start_at_0_are_remarked_on(votes):
    with pytest.warns(vt.InputWarning, match="add 1 if ranks start at 0"):
        votes("A,B,C\n0,1,2\n2,0,1\n", ballots="rank")


def test_counts_of_a_second_table_are_matched_by_voter(votes, tmp_path):
    text = "voter;A;B\nu;0,5;2\nv;-1;1\n"
    (tmp_path / "counts.csv").write_text("Voter,B,A\nv,4,3\nu,2,1\n")
    profile = votes(text, counts=tmp_path / "counts.csv")
    np.testing.assert_array_equal(profile.values, [[0.5, 2], [-1, 1]])
    np.testing.assert_array_equal(profile.counts, [[1, 2], [3, 4]])
    by_row = votes(text, counts=pd.DataFrame({"A": [1, 3], "B": [2, 4]}))
    np.testing.assert_array_equal(by_row.counts, profile.counts)


def test_values_are_told_by_a_minus_or_by_what_is_said(votes):
    assert votes("A,B\n-1,2\n").kind == "values"
    assert votes("A,B\n3,2\n", lower_is_better=True).values.tolist() == [[-3, -2]]
    assert votes("A,B\n3,2\n", ballots="value").values.tolist() == [[3, 2]]


def test_a_column_that_is_blank_in_a_decision_is_not_of_it(votes):
    profile = votes("decision,voter,A,B,C\np,u,1,2,\nq,u,1,,2\nq,v,2,,1\n", ballots="rank")
    assert profile.alternatives == (("A", "B"), ("A", "C"))
    assert profile.voters == (("u",), ("u", "v"))


# Orders

NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters=">=\0\r\n#"), min_size=1, max_size=6)
    .map(lambda name: unicodedata.normalize("NFC", name.strip()))
    .filter(bool),
    min_size=5,
    max_size=5,
    unique=True,
)


@given(
    profile=values_profiles(alternatives=(5, 5)),
    kind=st.sampled_from(list(BALLOTS)),
    names=st.one_of(
        NAMES, st.just(["B", "1: B", "10:30", "1:30", "A (1984)"]), st.just(["A (3)", "3: B", "C#", "D:", "(E) f"])
    ),
    data=st.data(),
)
@pytest.mark.filterwarnings("ignore:.*looks like:veritally.InputWarning")
def test_orders_round_trip(tmp_path_factory, profile, kind, names, data):
    weights = data.draw(st.lists(st.sampled_from([1, 1, 2, 0.25]), min_size=len(profile), max_size=len(profile)))
    votes, counts = of_kind(profile, kind).ballots[:2]
    given = {"values": {"values": votes}, "rankings": {"ranks": votes}, "top": {"top": votes > 0}}[kind]
    profile = vt.Profile(**given, counts=counts, multiplicity=weights, alternatives=names)
    path = tmp_path_factory.mktemp("orders") / "votes.orders"
    vt.write(profile, path)
    back = vt.read(path, ballots="top" if kind == "top" else None)
    back = back.select(alternatives=names)
    expected = profile.as_top() if kind == "top" else profile.as_rankings()
    for one, other in zip(expected.ballots.arrays, back.ballots.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


@given(profile=values_profiles())
def test_a_column_of_orders_round_trips(profile):
    profile = profile.as_rankings()
    tiers = [" > ".join("=".join(map(str, tier)) for tier in order) for order in profile.order]
    frame = pl.DataFrame({"decision": "d", "voter": map(str, profile.voters), "order": tiers, "multiplicity": 2})
    (back,) = vt.read(frame).unstack()
    back = back.select(alternatives=map(str, profile.alternatives))
    np.testing.assert_array_equal(back.ranks, profile.ranks)
    np.testing.assert_array_equal(back.counts, profile.counts > 0)
    np.testing.assert_array_equal(back.multiplicity, 2)


def test_orders_say_who_is_better_and_how_much_was_seen(votes):
    for name in ("votes.orders", "votes.txt", "votes"):
        profile = votes(ORDERS, name)
        assert (profile.voters, profile.alternatives) == (("line 2", "line 4"), ("A", "B", "C"))
        np.testing.assert_array_equal(profile.ranks, [[1, 2, 0], [3, 1, 2]])
        np.testing.assert_array_equal(profile.counts, [[5, 5, 0], [2, 3, 1]])
        np.testing.assert_array_equal(profile.multiplicity, [1, 2])


def test_what_an_order_leaves_out_is_unknown_unless_said_to_be_below(votes):
    text = "A > B = C > D\n3: A > B\n"
    np.testing.assert_array_equal(votes(text, "votes.orders").ranks, [[1, 2.5, 2.5, 4], [1, 2, 0, 0]])
    np.testing.assert_array_equal(votes(text, "votes.orders", unranked="below").ranks[1], [1, 2, 3.5, 3.5])
    assert votes(text, "votes.orders", ballots="top").top.tolist() == [[1, 0, 0, 0]] * 2


def test_years_in_brackets_are_doubted(votes):
    films = "Dune (1984) > Alien (1979)\n3: Alien (1979) = Dune (1984)\n"
    with pytest.warns(
        vt.InputWarning, match=r"votes.orders, line 1: the numbers in brackets .* as in Dune \(1984\) \(1\)"
    ):
        votes(films, "votes.orders")
    with pytest.warns(vt.InputWarning, match="orders.csv, line 2: the numbers in brackets"):
        votes("order\n" + films.replace("3: ", ""), "orders.csv")
    named = votes("Dune (1984) (1) > Alien (1979) (1)\n", "votes.orders")
    assert named.alternatives == ("Dune (1984)", "Alien (1979)")


@pytest.mark.parametrize(
    "text",
    [
        "A (2000) > B (2000)\n",
        "A (1900) > B (2000)\nA (2001) > B (1950)\n",
        "A (1984) > B (40)\n",
        "2: A > B\nB > A\n",
        "12: 30 > 15\n3: 15 > 30\n",
        "1: 10:30 > 11:15\n2: 11:15 > 10:30\n",
        "A > 10:30 = 9:15\n",
        "2:A > B\n3 : B > A\n",
    ],
)
def test_numbers_in_orders_that_are_clear(votes, text):
    assert len(votes(text, "votes.orders").alternatives) > 1


def test_standard_input_may_hold_orders(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ORDERS.encode())))
    assert vt.read("-").alternatives == ("A", "B", "C")


# Comparisons


def loop(rows):
    """Values and counts by voter and alternative, one comparison after the other."""
    scores = defaultdict(list)
    for voter, a, b, outcome in rows:
        scores[voter, a].append(outcome)
        scores[voter, b].append(1 - outcome)
    return scores


PAIR = st.permutations(["A", "B", "C", "D"]).map(lambda names: names[:2])
COMPARISONS = st.lists(st.tuples(st.sampled_from("uvw"), PAIR, st.sampled_from([0, 0.5, 1])), min_size=1, max_size=30)
DIALECTS = {
    "worker,left,right,label": lambda a, b: ("right", "tie", "left"),
    "judge,Model_A,Model_B,Winner": lambda a, b: ("model_b", "tie (bothbad)", "model_a"),
    "voter,left,right,winner": lambda a, b: (b, "TIE", a),
    "worker,model_a,model_b,label": lambda a, b: ("b", "Tie", "a"),
}


@pytest.mark.parametrize("header", DIALECTS)
@given(rows=COMPARISONS)
def test_comparisons_are_means_and_counts(header, rows):
    words = DIALECTS[header]
    table = [(voter, a, b, words(a, b)[int(2 * outcome)]) for voter, (a, b), outcome in rows]
    profile = vt.read(pl.DataFrame(table, schema=header.split(","), orient="row"))
    expected = loop((voter, a, b, outcome) for voter, (a, b), outcome in rows)
    for i, voter in enumerate(profile.voters):
        for j, alternative in enumerate(profile.alternatives):
            scores = expected.pop((voter, alternative), [])
            assert profile.counts[i, j] == len(scores)
            np.testing.assert_allclose(profile.values[i, j], np.mean(scores) if scores else np.nan, atol=1e-12)
    assert not expected


@given(rows=COMPARISONS, suffix=st.sampled_from(["csv", "tsv", "parquet", "jsonl"]))
def test_pairs_round_trip(tmp_path_factory, rows, suffix):
    table = [(voter, a, b, (b, "tie", a)[int(2 * outcome)]) for voter, (a, b), outcome in rows]
    profile = vt.read(pl.DataFrame(table, schema=["voter", "left", "right", "winner"], orient="row"))
    assert profile.kind == "pairs"
    path = tmp_path_factory.mktemp("pairs") / f"pairs.{suffix}"
    vt.write(profile, path)
    again = vt.read(path).select(voters=profile.voters, alternatives=profile.alternatives)
    np.testing.assert_array_equal(again.pairs, profile.pairs)


def test_comparisons_without_voters_are_of_one(votes):
    profile = votes("id,left,right,winner\n1,A,B,left\n2,B,A,left\n")
    assert (len(profile), profile.values.tolist(), profile.counts.tolist()) == (1, [[0.5, 0.5]], [[2, 2]])


def test_a_misspelt_voter_is_pointed_out(votes):
    with pytest.warns(vt.InputWarning, match="the column juge is ignored; if it is meant as judge, rename it"):
        assert len(votes("juge,model_a,model_b,winner\nu,A,B,a\nv,A,B,b\n")) == 1
    with pytest.warns(vt.InputNote, match="reviewer is read as voter, A, B as alternatives"):
        assert votes("reviewer,A,B\nu,1,2\nv,2,1\n", ballots="rank").voters == ("u", "v")


def test_comparisons_may_be_read_as_orders(votes):
    assert votes(ARENA, ballots="rank").order == [[["A"], ["C"], ["B"]], [["A", "C"]]]
    assert votes(ARENA, ballots="top").top.tolist() == [[1, 0, 0], [0.5, 0, 0.5]]


def test_comparisons_of_many_decisions(votes):
    profile = votes("decision,judge,model_a,model_b,winner\np,u,A,B,a\nq,u,C,D,b\n")
    assert profile.alternatives == (("A", "B"), ("C", "D"))


# What cannot be read or written

MESSAGES = {
    "ranks or values": ("w.csv", "A,B\n1,2\n", {}, "say whether these are ranks .* or values"),
    "top of what": ("w.csv", "A,B\n1,2\n", {"ballots": "top"}, "say whether these are ranks"),
    "column without a name": ("w.csv", ",A,B\n0,1,2\n", {"ballots": "value"}, "a column has no name"),
    "text in a cell": ("w.csv", "voter,A,B\nu,1,2\nv,1,x\n", {}, "w.csv, line 3: 'x' in the column B is not a number"),
    "some counts": ("w.csv", "A,B,A_count\n1,2,3\n", {"ballots": "rank"}, "there is a column A_count but no B_count"),
    "lower ranks": ("w.csv", "A,B\n1,2\n", {"ballots": "rank", "lower_is_better": True}, "is about values"),
    "voter twice": ("w.csv", "voter,A,B\nu,1,2\nu,1,2\n", {"ballots": "rank"}, "line 3: voter 'u' stands twice"),
    "no voter": ("w.csv", "voter,A,B\nu,1,2\n,1,2\n", {"ballots": "rank"}, "line 3: the voter is empty"),
    "negative count": (
        "w.csv",
        "voter,A,B,A_count,B_count\nu,1,2,3,-4\n",
        {"ballots": "rank"},
        "voter 'u', alternative 'B': the count is negative",
    ),
    "in a decision": (
        "w.csv",
        "decision,voter,A,B\np,u,1,2\nq,v,-1,2\n",
        {"ballots": "rank"},
        "w.csv, decision 'q': voter 'v', alternative 'A': the rank is negative",
    ),
    "both say what was seen": ("w.csv", WIDE, {"ballots": "rank", "unranked": "below"}, "not for votes with counts"),
    "unranked of a tidy table": ("v.csv", TIDY, {"unranked": "below"}, "unranked is not for tidy tables"),
    "counts of a tidy table": ("v.csv", TIDY, {"counts": pl.DataFrame({"A": [1]})}, "counts is not for tidy tables"),
    "other columns": ("w.csv", WIDE, {"counts": pl.DataFrame({"A": [1]})}, "the frame: has no column B"),
    "other rows": ("w.csv", "A,B\n1,2\n", {"counts": pl.DataFrame({"A": [1, 2], "B": [1, 2]})}, "has 2 rows of counts"),
    "other voters": (
        "w.csv",
        "voter,A,B\nu,1,2\n",
        {"counts": pl.DataFrame({"voter": ["v"], "A": [1], "B": [1]})},
        "the frame: has no counts of voter 'u'",
    ),
    "time of day": (
        "v.orders",
        "10:30 > 11:15\n",
        {},
        "line 1: '10:30' may be a name, or '30' said by 10 voters; begin",
    ),
    "name or number": (
        "v.orders",
        "# films\nAlien (2) > 2001: A Space Odyssey (1)\n2001: A Space Odyssey (1) > Alien (3)\n",
        {},
        "line 3: '2001: A Space Odyssey' may be a name, .* as in '1: 2001: A Space Odyssey'",
    ),
    "time in a table": ("o.csv", "order\n9:15 > A\n", {}, "o.csv, line 2: '9:15' may be a name"),
    "thousands in a cell": ("w.csv", "A;B\n1,250;990\n2;3\n", {"ballots": "value"}, "line 2: '1,250' in the column A"),
    "unranked": ("v.csv", TIDY, {"unranked": "last"}, "unranked can be below or unknown, not 'last'"),
    "no name": ("v.orders", "A > B\nA >= B\n", {}, "v.orders, line 2: a name is missing in 'A >= B'"),
    "name twice": ("v.orders", "A > B = A\n", {}, "line 1: lists 'A' twice"),
    "no count": ("v.orders", "A (1) > B (2)\nA > B (2)\n", {}, "line 2: 'A' has no count"),
    "count of 0": (
        "v.orders",
        "A (1) > B (0)\n",
        {},
        "voter 'line 1', alternative 'B': a vote for an alternative this",
    ),
    "below with counts": ("v.orders", "A (1) > B (2)\n", {"unranked": "below"}, "not for orders with counts"),
    "comments only": ("v.orders", "# A > B\n", {}, "has comments but no orders"),
    "orders as values": ("v.orders", "A > B\n", {"ballots": "value"}, "holds orders and no values"),
    "a single one": ("v.orders", "A\n", {}, "there is a single alternative"),
    "multiplicity twice": ("o.csv", "order,multiplicity\n2: A > B,1\n", {}, "line 2: the multiplicity stands twice"),
    "orders of numbers": ("o.jsonl", '{"order": 1}\n', {}, "the column order holds Int64, not text"),
    "outcome": (
        "c.csv",
        "left,right,winner\nA,B,maybe\n",
        {},
        "c.csv, line 2: the winner is 'maybe'; it can be 'A', 'B' or",
    ),
    "no outcome": ("c.csv", "left,right,winner\nA,B,\n", {}, "line 2: the winner is empty"),
    "itself": ("c.csv", "left,right,winner\nA,A,tie\n", {}, "line 2: compares 'A' with itself"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_messages(votes, case):
    name, text, options, message = MESSAGES[case]
    with pytest.raises(vt.InputError, match=message) as caught:
        votes(text, name, **options)
    assert "\n" not in str(caught.value)


def test_what_a_form_cannot_hold_is_refused(tmp_path):
    batch = random_profile(0, batch=(2,))
    mixed = vt.concat(
        [vt.Profile(top=["A", "B"], voters=["u", "v"]), vt.Profile(values=[[1, 2]], alternatives=["A", "B"])]
    )
    refused = [
        ("v.orders", batch, "holds orders of one decision"),
        ("v.orders", vt.Profile(order=[["A > B", "C"]]), "'A > B' cannot stand in an order"),
        ("v.orders", vt.Profile(ranks=[[1, 2, 0]], counts=[[1, 1, 0]]), "nobody saw 2"),
    ]
    for name, profile, message in refused:
        with pytest.raises(vt.InputError, match=message):
            vt.write(profile, tmp_path / name)
    with pytest.raises(vt.InputError, match="mixed votes as a tidy table"):
        vt.write(mixed, tmp_path / "v.csv", form="wide")
    for names in (["A", "Rank"], ["A", "A_count"]):
        with pytest.raises(vt.InputError, match=f"named '{names[1]}' cannot be a column"):
            vt.write(vt.Profile(order=[names]), tmp_path / "v.csv", form="wide")
    with pytest.raises(vt.InputError, match="form can be tidy or wide"):
        vt.write(mixed, tmp_path / "v.csv", form="long")
    with pytest.raises(vt.InputError, match="is not a table"):
        vt.write(mixed, tmp_path / "v.orders", form="wide")
    with pytest.raises(vt.InputError, match="order is for a single decision"):
        _ = batch.order
    assert list(tmp_path.iterdir()) == []


def test_counts_may_be_dropped(tmp_path):
    vt.write(vt.Profile(order=[["A", "B"]], counts=[[3, 4]]), tmp_path / "v.orders", drop_counts=True)
    assert (tmp_path / "v.orders").read_text() == "A > B\n"


PREFLIB = "# FILE NAME: x\n# NUMBER VOTERS: 3\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n1: 1,2\n2: {1,2}\n"
VALID = {
    ".csv": WIDE,
    ".tsv": ARENA,
    ".jsonl": '{"order": "A > B"}\n',
    ".orders": ORDERS,
    ".txt": ORDERS,
} | dict.fromkeys((".soc", ".soi", ".toc", ".toi"), PREFLIB)


def mutated(text):
    """Valid bytes with a piece cut out and another put in."""
    place, piece = (
        st.integers(0, len(text)),
        st.binary(max_size=8) | st.sampled_from([b"\n", b",", b":", b"(", b"0", b"#", b"="]),
    )
    return st.builds(lambda i, j, new: text[:i] + new + text[max(i, j) :], place, place, piece)


@pytest.mark.parametrize("suffix", VALID)
@given(
    data=st.data(), ballots=st.sampled_from([None, "rank", "value", "top"]), unranked=st.sampled_from([None, "below"])
)
@pytest.mark.filterwarnings("ignore::veritally.InputWarning")
def test_any_bytes_give_a_profile_or_an_error_of_one_sentence(tmp_path_factory, suffix, data, ballots, unranked):
    path = tmp_path_factory.mktemp("bytes") / f"votes{suffix}"
    path.write_bytes(data.draw(st.one_of(st.binary(max_size=60), mutated(VALID[suffix].encode()))))
    assert "\n" not in read_or_complain(path, ballots=ballots, unranked=unranked)


def test_columns_of_a_pandas_frame_may_have_numbers_for_names():
    frame = pd.DataFrame([["u", 1.0, -2.0], ["v", 2.0, 1.0]], columns=["voter", 0, 1])
    profile = vt.read(frame)
    assert profile.alternatives == ("0", "1")
    np.testing.assert_array_equal(profile.values, [[1, -2], [2, 1]])


@pytest.mark.parametrize("names", [["voter", 1, "1"], ["voter", "a", "a"]])
def test_columns_of_a_frame_that_have_one_name_are_refused(names):
    with pytest.raises(vt.InputError, match="the frame: two columns have the same name; name each column once"):
        vt.read(pd.DataFrame([["u", 1.0, -2.0]], columns=names))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("column", ["voter", "alternative", "decision", "value", "count", "multiplicity"])
def test_durations_are_neither_names_nor_numbers(library, column):
    given = {"decision": ["d", "d"], "voter": ["u", "u"], "alternative": ["A", "B"], "value": [1, 2]}
    given[column] = [datetime.timedelta(1), datetime.timedelta(2)]
    refused = rf"the frame: the column {column} holds Duration.*, not (names|numbers)"
    older = "cannot read votes from DataFrame"  # polars before 1.24 takes no durations of pandas
    with pytest.raises(vt.InputError, match=f"{refused}|{older}"):
        vt.read(library(given))
