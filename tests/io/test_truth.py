"""Truth files."""

import numpy as np
import polars as pl
import pytest

import veritally as vt


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
@pytest.mark.parametrize("batched", [True, False])
def test_round_trip(suffix, batched, tmp_path):
    trials = vt.simulate("high-variance", instances=3, voters=4, experience="uniform:0:3")
    profile = trials.profile if batched else trials.profile.decision(0)
    truth = trials.truth if batched else trials.truth[0]
    vt.write(profile, tmp_path / f"votes.{suffix}")
    vt.write_truth(truth, profile, tmp_path / f"truth.{suffix}")
    read = vt.read(tmp_path / f"votes.{suffix}")
    assert vt.read_truth(tmp_path / f"truth.{suffix}", read).tolist() == truth.tolist()
    ours = vt.compare(profile, truth=truth, rules=["mean"]).rows()
    assert vt.compare(read, truth=tmp_path / f"truth.{suffix}", rules=["mean"]).rows()[0]["regret"] == ours[0]["regret"]


def test_rows_are_matched_by_name():
    profile = vt.stack([vt.Profile(top=["A", "B"]), vt.Profile(top=["B", "C", "A"])], decisions=["p", "q"])
    frame = pl.DataFrame(
        {"Truth": [1, 2, 3, 4, 5], "alternative": [*"CBABA"], "decision": [*"qqqpp"], "note": ["x"] * 5}
    )
    np.testing.assert_array_equal(vt.read_truth(frame, profile), [[5, 4, np.nan], [2, 1, 3]])


def test_spare_truths_are_ignored_with_a_warning():
    profile = vt.Profile(top=["A", "B"])
    frame = pl.DataFrame({"alternative": ["A", "B", "C"], "truth": [1, 2, 3]})
    with pytest.warns(vt.InputWarning, match="1 truths are for what does not stand in the votes, such as alternative"):
        assert vt.read_truth(frame, profile).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alternative,quality\nA,1\n", "needs alternative, truth"),
        ("alternative,truth\nA,1\n", "there is no truth for alternative 'B'"),
        ("alternative,truth\nA,1\nB,2\nA,3\n", "line 4: alternative 'A' stands twice"),
        ("alternative,truth\nA,1\nB,good\n", "line 3: 'good' in the column truth is not a number"),
        ("alternative,truth\nA,1\nB,\n", "line 3: the truth of alternative 'B' is missing"),
        ("alternative,truth\nA,1\n,2\n", "line 3: the alternative is empty"),
        ("decision,alternative,truth\np,A,1\nq,B,2\n", "the votes have no column decision"),
        ("alternative,truth\nA,1\nB,1e300\n", "line 3: the truth of alternative 'B' is infinite or too large"),
        ("alternative,truth\n", "has a header but no rows; it needs a row for each alternative"),
        ("", "the truth file is empty"),
    ],
)
def test_errors(text, message, tmp_path):
    (tmp_path / "truth.csv").write_text(text)
    with pytest.raises(vt.InputError, match=message):
        vt.read_truth(tmp_path / "truth.csv", vt.Profile(top=["A", "B"]))


def test_blank_lines_and_double_columns(tmp_path):
    (tmp_path / "truth.csv").write_text("alternative,truth,Truth\nA,1,9\n,,\nB,2,9\n")
    assert vt.read_truth(tmp_path / "truth.csv", vt.Profile(top=["A", "B"])).tolist() == [1, 2]
    (tmp_path / "truth.jsonl").write_text('{"alternative": ["A"], "truth": 1}\n')
    with pytest.raises(vt.InputError, match="not names"):
        vt.read_truth(tmp_path / "truth.jsonl", vt.Profile(top=["A", "B"]))


def test_a_truth_that_does_not_fit_is_not_written(tmp_path):
    with pytest.raises(vt.InputError, match="the truth has the shape"):
        vt.write_truth(np.zeros(3), vt.Profile(top=["A", "B"]), tmp_path / "truth.csv")
    assert not list(tmp_path.iterdir())
