"""Vote files and frames: the same votes whichever way they come, and one sentence for what cannot be read."""

import io
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from support import assert_same, random_profile, read_or_complain, values_profiles

HEADER = "voter,alternative,rank,count\n"
VOTES = HEADER + "u,A,1,5\nu,B,2,5\nv,A,,2\nv,B,1,3\nv,C,2,1\n"


def test_a_file_says_what_was_seen_and_ranked(votes):
    profile = votes(VOTES)
    assert (profile.voters, profile.alternatives) == (("u", "v"), ("A", "B", "C"))
    np.testing.assert_array_equal(profile.counts, [[5, 5, 0], [2, 3, 1]])
    np.testing.assert_array_equal(profile.ranks, [[1, 2, 0], [3, 1, 2]])


def test_without_counts_a_row_is_a_sighting(votes):
    profile = votes("voter,alternative,rank\nu,A,1\nu,B,\nv,A,2\nv,B,1\nv,C,3\n")
    np.testing.assert_array_equal(profile.counts, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(profile.ranks, [[1, 2, 0], [2, 1, 3]])


def test_value_is_the_vote_unless_told_otherwise(votes):
    text = "voter,alternative,rank,value\nu,A,1,0.5\nu,B,2,0.9\n"
    with pytest.warns(vt.InputWarning, match="say which is the vote: --ballots value or --ballots rank"):
        assert votes(text).kind == "values"
    assert votes(text, ballots="rank").ranks.tolist() == [[1, 2]]
    assert votes(text, ballots="value").ranks.tolist() == [[2, 1]]
    with pytest.warns(vt.InputWarning, match="say which is the vote"):
        assert votes(text, ballots="top").top.tolist() == [[0, 1]]
    assert votes(text, lower_is_better=True).ranks.tolist() == [[1, 2]]


def test_multiplicity_and_other_columns(votes):
    profile = votes("note,voter,alternative,rank,multiplicity\nx,u,A,1,3\ny,u,B,2,3\nz,v,B,1,0.5\n,v,A,2,0.5\n")
    np.testing.assert_array_equal(profile.multiplicity, [3, 0.5])


def test_many_decisions_in_one_file_in_any_order(votes):
    profile = votes("decision,voter,alternative,rank\nq,u,A,1\np,u,X,1\nq,u,B,2\np,w,Y,1\np,w,X,2\nq,w,A,2\nq,w,C,1\n")
    assert profile.decisions == ("q", "p")
    first, second = profile.unstack()
    assert (first.voters, first.alternatives) == (("u", "w"), ("A", "B", "C"))
    assert (second.voters, second.alternatives) == (("u", "w"), ("X", "Y"))
    np.testing.assert_array_equal(first.ranks, [[1, 2, 0], [2, 0, 1]])
    np.testing.assert_array_equal(second.ranks, [[1, 0], [2, 1]])


@pytest.mark.parametrize(
    "text", [VOTES.replace(",", ";"), VOTES.replace(",", "\t"), VOTES.replace("\n", "\r\n"), "\ufeff" + VOTES]
)
def test_separators_line_ends_and_byte_order_marks(votes, text):
    assert votes(text).alternatives == ("A", "B", "C")


def test_blank_lines_capitals_and_decimal_commas(votes):
    profile = votes("Voter;Alternative;VALUE;Count\nu;A;1,5;2\n\nu;B;2,25;3\n;;;\n\n")
    assert profile.values.tolist() == [[1.5, 2.25]]
    with pytest.raises(vt.InputError, match="line 4: 'x' in the column value is not a number"):
        votes("voter,alternative,value\nu,A,1\n\nu,B,x\n")


def test_json_lines_with_a_byte_order_mark(votes):
    lines = '\ufeff{"voter":"u","alternative":"A","rank":1}\n{"voter":"u","alternative":"B","rank":2}\n'
    assert votes(lines, name="votes.jsonl").alternatives == ("A", "B")


def test_carriage_returns_alone_end_lines(votes):
    assert votes(VOTES.replace("\n", "\r")).alternatives == ("A", "B", "C")


def test_neither_vote_nor_count_is_not_seen(votes):
    profile = votes(HEADER + "u,A,1,2\nu,B,2,2\nu,C,,\nv,C,1,1\nv,A,2,1\n")
    np.testing.assert_array_equal(profile.counts, [[2, 2, 0], [1, 0, 1]])


def test_an_empty_value_column_leaves_the_vote_to_the_ranks(votes):
    assert votes("voter,alternative,value,rank\nu,A,,1\nu,B,,2\n").kind == "rankings"


def test_content_goes_before_the_suffix(tmp_path):
    vt.write(random_profile(0), tmp_path / "votes.parquet")
    (tmp_path / "votes.parquet").rename(tmp_path / "votes.csv")
    assert len(vt.read(tmp_path / "votes.csv")) == 20


def test_spaces_around_names_and_numbers_do_not_matter(votes):
    profile = votes("voter , alternative,rank\nu , A, 1\n u,B ,2 \n")
    assert (profile.voters, profile.alternatives) == (("u",), ("A", "B"))


def test_standard_input_is_recognised_by_its_content(monkeypatch):
    table = pl.read_csv(io.BytesIO(VOTES.encode()))
    parquet, lines = io.BytesIO(), io.BytesIO()
    table.write_parquet(parquet)
    table.write_ndjson(lines)
    for data in (VOTES.encode(), parquet.getvalue(), lines.getvalue()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert vt.read("-").ranks.tolist() == [[1, 2, 0], [3, 1, 2]]


@pytest.mark.parametrize("convert", [lambda t: t, lambda t: t.lazy(), lambda t: t.to_pandas(), lambda t: t.to_arrow()])
def test_frames_of_three_kinds(convert):
    table = pl.read_csv(io.BytesIO(VOTES.encode()))
    profile = vt.read(convert(table))
    np.testing.assert_array_equal(profile.ranks, [[1, 2, 0], [3, 1, 2]])
    np.testing.assert_array_equal(profile.counts, [[5, 5, 0], [2, 3, 1]])


def test_pandas_categories_and_numbered_voters():
    frame = pd.DataFrame({"voter": [7, 7], "alternative": pd.Categorical(["A", "B"]), "rank": [1, None]})
    profile = vt.read(frame)
    assert (profile.voters, profile.alternatives) == (("7",), ("A", "B"))
    assert isinstance(vt.read(pa.Table.from_pandas(frame)), vt.Profile)


@pytest.mark.parametrize("frame", [pd.DataFrame({"voter": ["u", None], "alternative": ["A", "B"], "rank": [1, 2]})])
def test_a_missing_name_in_pandas_is_empty(frame):
    with pytest.raises(vt.InputError, match="row 1: the voter is empty"):
        vt.read(frame)


def test_pandas_nullable_numbers():
    frame = pd.DataFrame({"voter": ["u", "u"], "alternative": ["A", "B"], "rank": pd.array([1, None], dtype="Int64")})
    np.testing.assert_array_equal(vt.read(frame).ranks, [[1, 2]])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
@given(profile=values_profiles(), kind=st.sampled_from(["values", "rankings", "top"]))
def test_round_trip(tmp_path_factory, suffix, profile, kind):
    profile = {"values": lambda: profile, "rankings": profile.as_rankings, "top": profile.as_top}[kind]()
    path = tmp_path_factory.mktemp("votes") / f"votes{suffix}"
    vt.write(profile, path)
    assert_same(profile, vt.read(path, ballots={"values": "value", "rankings": "rank", "top": "top"}[kind]))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_round_trip_of_batches_and_multiplicities(tmp_path, suffix):
    singles = [random_profile(seed, voters=3, alternatives=3 + seed) for seed in range(2)]
    singles[0] = vt.Profile(ranks=singles[0].ranks, counts=singles[0].counts, multiplicity=[1, 2.5, 3])
    path = tmp_path / f"votes{suffix}"
    vt.write(vt.stack(singles, decisions=["one", "two"]), path)
    back = vt.read(path)
    assert back.decisions == ("one", "two")
    for one, other in zip(singles, back.unstack(), strict=True):
        assert_same(one, other)


def test_nobody_and_nothing_is_forgotten(tmp_path):
    with pytest.warns(vt.InputWarning):
        profile = vt.Profile(ranks=[[1, 2, 0], [0, 0, 0]], counts=[[1, 1, 0], [1, 1, 1]])
    vt.write(profile, tmp_path / "votes.csv")
    with pytest.warns(vt.InputWarning):
        assert_same(profile, vt.read(tmp_path / "votes.csv"))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2,25"], [1.5, 2.25]),
        (["1,250", "0,75"], [1.25, 0.75]),  # the second is clear, so the first is
        (["0,500", "0,125"], [0.5, 0.125]),
        (["1234,567", "2"], [1234.567, 2]),
        ([",5", "-1,5"], [0.5, -1.5]),
        (["1.250", "0.75"], [1.25, 0.75]),
    ],
)
def test_decimal_commas_that_are_clear(votes, cells, values):
    text = f"voter;alternative;value\nu;A;{cells[0]}\nu;B;{cells[1]}\n"
    assert votes(text).values.tolist() == [values]
    wide = f"voter;{cells[0]};X\n" + "".join(f"{voter};{cell};1\n" for voter, cell in zip("uv", cells, strict=True))
    profile = votes(wide, ballots="value")
    assert (profile.values[:, 0].tolist(), profile.alternatives) == (values, (cells[0], "X"))


def test_a_comma_that_is_no_number_in_a_name_or_note(votes):
    profile = votes("voter;alternative;value;note\n1,250;2,500;1,5;1,250\n1,250;3,500;2;\n")
    assert (profile.voters, profile.alternatives) == (("1,250",), ("2,500", "3,500"))


@pytest.mark.parametrize("name", ["votes.csv", "votes"])
def test_a_blank_is_a_field_too(votes, name):
    text = 'voter,alternative,count,rank\nu,A,5,1\nu,B,5,\n"v\n,,",B,2,1\n,,,\n\n"v\n,,",A,3,""\n'
    assert votes(text, name).voters == ("u", "v\n,,")
    with pytest.raises(vt.InputError, match="line 5: has 2 fields where the header has 4; leave a field empty"):
        votes(HEADER + 'u,A,1,1\n"u, v",B,1,1\n\nu,"B,\nC"\nu,D,2,1\n', name)


def test_a_file_that_may_be_cut_off(votes):
    text = HEADER + "u,A,1,1\nu,B,2,3\n"
    with pytest.raises(vt.InputError, match="line 4: has 3 fields where the header has 4"):
        votes(text + "u,C,3")
    cut = "voter,alternative,rank\nu,A,1\nu,B,"
    with pytest.warns(vt.InputWarning, match=r"votes.csv, line 3: the rank is empty here alone, .* was it cut off\?"):
        votes(cut)
    votes(cut + "\n")
    votes("voter,alternative,rank\nu,A,\nu,B,1\nu,C,")
    with pytest.raises(vt.InputError, match="is not one JSON object a line"):
        votes('{"voter":"u","alternative":"A","rank":1}\n{"voter":"u","alternative":"B","ra', "votes.jsonl")


@pytest.mark.parametrize("second", ['"rank": 1, "rank": 2', '"rank" :1, "note": {"x": 1}, "rank":2'])
def test_a_key_that_stands_twice(votes, second):
    first = '{"voter": "u", "alternative": "A", "rank": 2, "note": "\\"rank\\": \\"rank\\":"}\n'
    with pytest.raises(vt.InputError, match=r"votes.jsonl, row 2: the key 'rank' stands twice; give each key once"):
        votes(first + '\n{"voter": "u", "alternative": "B", ' + second + "}\n", "votes.jsonl")


def test_keys_of_objects_within_objects_may_be_the_same(votes):
    lines = [
        f'{{"voter": "u", "alternative": "{a}", "rank": 1, "x": {{"rank": 1}}, "y": {{"rank": 2}}}}\n' for a in "AB"
    ]
    assert votes("".join(lines), "votes.jsonl").alternatives == ("A", "B")


MESSAGES = {
    "thousands": ("voter;alternative;value\nu;A;990\nu;B;1,250\n", "line 3: '1,250' .* may be 1250 or 1.250; write it"),
    "thousands in counts": (
        "voter;alternative;value;count\nu;A;1,5;1,000\nu;B;2,5;990\n",
        "line 2: '1,000' in the column count is not a number: it may be 1000 or 1.000",
    ),
    "thousands of thousands": (
        "voter;alternative;value\nu;A;1,5\nu;B;1,250,000\n",
        "line 3: '1,250,000' .* not a number",
    ),
    "thousands with points": (
        "voter;alternative;value\nu;A;1.250\nu;B;0,75\n",
        "line 3: '0,75' .* decimals with a point",
    ),
    "both marks": ("voter;alternative;value\nu;A;1.250,5\nu;B;0,75\n", "line 2: '1.250,5' .* thousands without a mark"),
    "thousands in quotes": (
        'voter,alternative,value\nu,A,990\nu,B,"1,250"\n',
        "line 3: '1,250' .* may be 1250 or 1.250",
    ),
    "too few fields": (HEADER + "u,A,1,1\nu,B\nu,C,3,1\n", "line 3: has 2 fields where the header has 4"),
    "missing columns": (
        "name,score\nA,1\n",
        "found the columns name, score; needs voter, alternative and value or rank",
    ),
    "no vote column": ("voter,alternative\nu,A\n", "found the columns voter, alternative; needs"),
    "empty": ("", "the vote file is empty"),
    "blank": (" \n\n", "the vote file is empty"),
    "header only": (HEADER, "has a header but no rows"),
    "text rank": (HEADER + "u,A,first,1\nu,B,2,1\n", r"votes.csv, line 2: 'first' in the column rank is not a number"),
    "text count": (HEADER + "u,A,1,1\nu,B,2,many\n", r"line 3: 'many' in the column count is not a number"),
    "negative count": (HEADER + "u,A,1,1\nu,B,2,-4\n", "voter 'u', alternative 'B': the count is negative"),
    "infinite count": (HEADER + "u,A,1,1\nu,B,2,inf\n", "voter 'u', alternative 'B': the count is infinite"),
    "NaN count": (HEADER + "u,A,1,1\nu,B,2,nan\n", "voter 'u', alternative 'B': the count is missing"),
    "empty count": (HEADER + "u,A,1,1\nu,B,2,\n", "voter 'u', alternative 'B': the count is missing"),
    "negative rank": (HEADER + "u,A,-1,1\nu,B,2,1\n", "voter 'u', alternative 'A': the rank is negative"),
    "twice": (HEADER + "u,A,1,1\nu,B,2,1\nu,A,3,1\n", "line 4: voter 'u' and alternative 'A' appear twice"),
    "never seen": (
        HEADER + "u,A,1,1\nu,B,2,0\n",
        "voter 'u', alternative 'B': a vote for an alternative this voter never saw",
    ),
    "single": (HEADER + "u,A,1,1\nv,A,1,1\n", "a single alternative"),
    "not UTF-8": (HEADER.encode() + b"u,A,1,1\nu,\xff\xfe,2,1\n", "line 3: the bytes are not UTF-8"),
    "NUL": (HEADER.encode() + b"u,A\0,1,1\n", "line 2: NUL bytes"),
    "ragged": (HEADER + "u,A,1,1,9,9,9\n", "not a well-formed table"),
    "column twice": ("voter,alternative,rank,rank\nu,A,1,1\n", "the column rank stands twice"),
    "workbook": (b"PK\x03\x04 and so on", "is a workbook or archive; save the table as CSV"),
    "UTF-16": (VOTES.encode("utf-16"), "is UTF-16 text; save the table as CSV"),
    "array": ("[1, 2]", "is a JSON array, but not of objects; write one JSON object for each row"),
    "no voter": (HEADER + "u,A,1,1\n,B,2,1\n", "line 3: the voter is empty"),
    "no multiplicity": ("voter,alternative,rank,multiplicity\nu,A,1,2\nu,B,2,\n", "line 3: the multiplicity is empty"),
    "multiplicity": (
        "voter,alternative,rank,multiplicity\nu,A,1,2\nu,B,2,3\n",
        "line 3: voter 'u' has different multiplicities",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_messages_of_files(votes, case):
    text, message = MESSAGES[case]
    with pytest.raises(vt.InputError, match=message) as caught:
        votes(text)
    assert "\n" not in str(caught.value)
    assert "votes.csv" in str(caught.value)


def test_messages_of_other_sources(votes, tmp_path):
    with pytest.raises(vt.InputError, match="there is no such file"):
        vt.read(tmp_path / "missing.csv")
    with pytest.raises(vt.InputError, match="is a folder; give a vote file; decide --out takes a folder of Parquet"):
        vt.read(tmp_path)
    (tmp_path / "b.parquet").touch()
    (tmp_path / "a.parquet").touch()
    with pytest.raises(vt.InputError, match=r"is a folder; give a vote file, such as .*a\.parquet; decide --out"):
        vt.read(tmp_path)
    with pytest.raises(vt.InputError, match="not a readable Parquet file"):
        votes(b"PAR1 and then nonsense", name="votes.parquet")
    with pytest.raises(vt.InputError, match="is not one JSON object a line"):
        votes('{"voter": "u", \n', name="votes.jsonl")
    with pytest.raises(vt.InputError, match="cannot read votes from int"):
        vt.read(7)
    with pytest.raises(vt.InputError, match="ballots can be value, rank or top"):
        votes(VOTES, ballots="best")
    with pytest.raises(vt.InputError, match="lower-is-better is about values"):
        votes(VOTES, lower_is_better=True)
    with pytest.raises(vt.InputError, match="needs voter, alternative and value"):
        votes(VOTES, ballots="value")
    with pytest.raises(vt.InputError, match=r"row 2: 'x' in the column rank is not a number"):
        votes(
            '{"voter":"u","alternative":"A","rank":"1"}\n{"voter":"u","alternative":"B","rank":"x"}\n', name="v.jsonl"
        )
    with pytest.raises(vt.InputError, match="the frame, row 0: the voter is empty"):
        vt.read(pl.DataFrame({"voter": [None, "u"], "alternative": ["A", "B"], "rank": [1, 2]}))
    names = {"alternative": ["A"], "rank": [1]}
    with pytest.raises(vt.InputError, match="the column voter holds List"):
        vt.read(pl.DataFrame({"voter": [["u"]], **names}))
    with pytest.raises(vt.InputError, match="the column rank holds Boolean"):
        vt.read(pl.DataFrame({"voter": ["u"], "alternative": ["A"], "rank": [True]}))
    with pytest.raises(vt.InputError, match="two columns have the same name"):
        vt.read(pd.DataFrame([[1, 2]], columns=["voter", "voter"]))
    rows = [("p", f"v{i}", a) for i in range(9000) for a in "AB"] + [
        (f"d{i}", "v", a) for i in range(9000) for a in "AB"
    ]
    uneven = pl.DataFrame(rows, schema=["decision", "voter", "alternative"], orient="row").with_columns(rank=1)
    with pytest.raises(vt.InputError, match="write the answers to a file"):
        vt.read(uneven)
    with pytest.raises(vt.InputError, match="the column rank holds List"):
        vt.read(pl.DataFrame({"voter": ["u"], "alternative": ["A"], "rank": [[1]]}))


def test_a_damaged_parquet_file_is_one_sentence(tmp_path):
    path = tmp_path / "votes.parquet"
    vt.write(random_profile(0), path)
    data = bytearray(path.read_bytes())
    data[40:80] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(vt.InputError, match="not a readable Parquet file") as caught:
        vt.read(path)
    assert "\n" not in str(caught.value)


def test_a_misspelt_column_is_pointed_out(votes):
    with pytest.warns(vt.InputWarning, match="the column counts is ignored; if it is meant as count, rename it"):
        profile = votes(VOTES.replace("count", "counts"))
    assert profile.counts.max() == 1


def test_writing_says_what_is_wrong(tmp_path):
    profile = random_profile(0)
    with pytest.raises(vt.InputError, match="cannot tell the format"):
        vt.write(profile, tmp_path / "votes.xyz")
    with pytest.raises(vt.InputError, match="cannot be written"):
        vt.write(profile, tmp_path / "missing" / "votes.csv")
    with pytest.raises(vt.InputError, match="write takes a Profile, not Outcome"):
        vt.write(vt.decide(profile), tmp_path / "votes.csv")
    with pytest.raises(vt.InputError, match="one column for decisions"):
        vt.write(random_profile(0, batch=(2, 2)), tmp_path / "votes.csv")
    with pytest.raises(vt.InputError, match="would be one in a file"):
        vt.write(vt.Profile(order=[[" A", "A"]]), tmp_path / "votes.csv")
    with pytest.raises(vt.InputError, match="differences alone cannot be written"):
        vt.write(vt.Profile(differences=[1.0]), tmp_path / "votes.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["votes.csv", "votes.jsonl", "votes.parquet", "votes"])
@given(data=st.one_of(st.binary(max_size=60), st.binary(max_size=40).map(lambda tail: VOTES.encode() + tail)))
@pytest.mark.filterwarnings("ignore::veritally.InputWarning")
def test_any_bytes_give_a_profile_or_an_error_of_one_sentence(tmp_path_factory, name, data):
    path = tmp_path_factory.mktemp("bytes") / name
    path.write_bytes(data)
    assert "\n" not in read_or_complain(path)


def test_alternatives_keep_their_order(tmp_path):
    profile = vt.simulate(vt.Scenario(voters=4, alternatives=5, experience="specialists:2:1:0"), instances=20).profile
    vt.write(profile.renamed("d", "v", "a"), tmp_path / "votes.csv")
    assert set(vt.read(tmp_path / "votes.csv").alternatives) == {("a1", "a2", "a3", "a4", "a5")}
    with pytest.raises(vt.InputError, match="rename one decision at a time"):
        vt.stack([vt.Profile(top=["A", "B"]), vt.Profile(top=["A", "B", "C"])]).renamed("d", "v", "a")


def test_large_counts_are_written_as_they_are(tmp_path):
    vt.write(vt.Profile(values=[[1.0, 2.0]], counts=[[1e20, 5]]), tmp_path / "votes.csv")
    assert vt.read(tmp_path / "votes.csv").counts.tolist() == [[1e20, 5]]


def test_decisions_that_would_be_one_are_not_written(tmp_path):
    batch = vt.stack([vt.Profile(top=[0, 1]), vt.Profile(top=[0, 1])], decisions=[1, "1"])
    with pytest.raises(vt.InputError, match="would be one in a file"):
        vt.write(batch, tmp_path / "votes.csv")


def test_a_table_without_counts_but_with_other_numbers_is_noticed(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("voter,alternative,rank,n\nu,A,1,9\nu,B,2,9\nv,B,1,1\nv,A,2,1\n")
    with pytest.warns(vt.InputWarning, match="no column count, so all count the same; if n is meant"):
        vt.read(path)


def test_a_line_that_is_no_json_is_named(votes):
    good = '{"voter": "a", "alternative": "A", "value": 1}\n'
    with pytest.raises(vt.InputError, match="line 3: is not one JSON object a line"):
        votes(good + good.replace("A", "B") + "{bad\n", name="votes.jsonl")
