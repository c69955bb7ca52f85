"""Files in which some voters give values and others rank."""

import numpy as np

import veritally as vt

TEXT = (
    "voter,alternative,value,rank,count\n"
    "u,A,3,,5\nu,B,1,,5\nu,C,2,,5\n"
    "v,A,,2,4\nv,B,,1,4\nv,C,,,4\n"
    "w,A,7,1,2\nw,B,6,2,2\n"
)


def test_voters_give_values_or_ranks(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(TEXT)
    profile = vt.read(path)
    assert profile.kind == "mixed"
    values = vt.Profile(
        values=[[3, 1, 2], [7, 6, np.nan]],
        counts=[[5, 5, 5], [2, 2, 0]],
        alternatives=["A", "B", "C"],
        voters=["u", "w"],
    )
    ranks = vt.Profile(ranks=[[2, 1, 0]], counts=[[4, 4, 4]], alternatives=["A", "B", "C"], voters=["v"])
    expected = vt.decide([values, ranks], sigma=2, tau=1)
    np.testing.assert_allclose(vt.decide(profile, sigma=2, tau=1).scores, expected.scores, atol=1e-9)
    np.testing.assert_array_equal(profile.ranks, [[1, 3, 2], [2, 1, 3], [1, 2, 0]])


def test_mixed_votes_round_trip(tmp_path):
    path, again = tmp_path / "votes.csv", tmp_path / "again.parquet"
    path.write_text(TEXT)
    profile = vt.read(path)
    vt.write(profile, again)
    back = vt.read(again)
    assert (back.voters, back.alternatives) == (profile.voters, profile.alternatives)
    for one, other in zip(back.ballots.arrays, profile.ballots.arrays, strict=True):
        np.testing.assert_array_equal(one, other)
