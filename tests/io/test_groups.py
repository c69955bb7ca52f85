"""Groups of voters: in a column of the votes, in a table of its own, and written back."""

import json

import polars as pl
import pytest

import veritally as vt
from support import assert_same

TIDY = "voter,alternative,value,group\nu,A,1.5,lab\nu,B,2.5,lab\nv,A,3,lab\nv,B,1,lab\nw,A,2,\nw,B,4,\n"
GROUPS = {"u": "lab", "v": "lab"}
FORMS = {
    "tidy": (TIDY, {}),
    "capitals": (TIDY.replace("group", "Group"), {}),
    "wide": ("voter,A,B,group\nu,1.5,2.5,lab\nv,3,1,lab\nw,2,4,\n", {"ballots": "value"}),
    "orders": ("voter,group,order\nu,lab,B > A\nv,lab,A > B\nw,,B > A\n", {}),
    "comparisons": ("worker,left,right,winner,group\nu,A,B,B\nv,A,B,A\nw,B,A,B\n", {}),
    "looks": ("voter,alternative,item,value,group\nu,A,1,2,lab\nu,A,2,1,lab\nv,A,1,1,lab\nv,B,1,3,lab\nw,B,2,1,\n", {}),
}
FORMS["comparisons"] = ("worker,left,right,winner,group\nu,A,B,B,lab\nv,A,B,A,lab\nw,B,A,B,\n", {})


@pytest.mark.parametrize("form", FORMS)
def test_a_column_says_the_group_of_each_voter(votes, form):
    text, options = FORMS[form]
    assert votes(text, **options).groups == GROUPS


def test_voters_without_names_are_known_by_their_rows(votes):
    assert votes("A,B,group\n1.5,2,x\n3,1,x\n1,1,\n", ballots="value").groups == {"line 2": "x", "line 3": "x"}


def test_a_group_is_no_alternative(votes):
    assert votes("voter,group,A,B\nu,1,2,3\nv,1,3,2\n", ballots="value").alternatives == ("A", "B")


def test_blank_groups_are_none(votes):
    assert votes("voter,alternative,rank,group\nu,A,1,\nu,B,2,\n").groups is None


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("voter,alternative,rank,group\nu,A,1,x\nu,B,2,y\n", "line 3: voter 'u' is in the group 'y' here and in"),
        ("voter,alternative,rank,group\nu,A,1,x\nu,B,2,\n", "line 3: voter 'u' is in no group here and in the group"),
        (
            "decision,voter,alternative,rank,group\nd,u,A,1,x\nd,u,B,2,x\ne,u,A,1,y\ne,u,B,2,y\n",
            "line 4: voter 'u' is in the group 'y' here",
        ),
        ("worker,left,right,winner,group\nu,A,B,A,x\nu,A,B,B,y\n", "line 3: voter 'u' is in the group 'y'"),
        ("decision,voter,A,B,group\nd,u,1,2,x\ne,u,1,2,y\n", "line 3: voter 'u' is in the group 'y'"),
    ],
)
def test_a_voter_has_one_group(votes, text, where):
    with pytest.raises(vt.InputError, match=where):
        votes(text, ballots="rank" if "A,B,group" in text else None)


@pytest.mark.parametrize("form", ["tidy", "wide"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_groups_are_written_back(votes, tmp_path, form, suffix):
    profile = votes(TIDY)
    vt.write(profile, tmp_path / f"back{suffix}", form=form)
    back = vt.read(tmp_path / f"back{suffix}", ballots="value")
    assert_same(profile, back)
    assert back.groups == GROUPS


def test_groups_of_comparisons_and_of_batches_are_written_back(votes):
    pairs = votes(FORMS["comparisons"][0])
    assert vt.read(vt.to_frame(pairs)).groups == GROUPS
    other = votes("voter,alternative,value\ny,A,1.5\ny,C,2\n")
    batch = vt.stack([other, votes(TIDY)], decisions=["first", "second"])
    for form in ("tidy", "wide"):
        assert vt.read(vt.to_frame(batch, form=form), ballots="value").groups == GROUPS


def test_a_table_of_groups(votes, tmp_path):
    profile = votes("voter,alternative,rank\nu,A,1\nu,B,2\nv,A,2\nv,B,1\nw,A,1\nw,B,2\n")
    (tmp_path / "groups.csv").write_text("Voter,GROUP,city\nv,lab,Ulm\nu,lab,Bonn\nv,lab,\nnobody,lab,\nw,,\n")
    with pytest.warns(vt.InputWarning, match="has 'nobody', who does not vote under that name"):
        named = vt.read(vt.to_frame(profile), groups=tmp_path / "groups.csv")
    assert named.groups == GROUPS
    frame = pl.DataFrame({"voter": ["u", "v"], "group": ["lab", "lab"]})
    assert vt.read(vt.to_frame(profile), groups=frame).groups == GROUPS


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("voter,group\nu,x\nu,y\n", "groups.csv, line 3: voter 'u' is in the group 'y' here"),
        ("voter,group\nx,x\ny,x\n", "groups.csv: none of its voters votes, such as 'x', while 'u' does"),
        ("voter,squad\nu,x\n", "groups.csv: found the columns voter, squad; a file of groups needs voter and group"),
        ("voter,group\n", "groups.csv: has a header but no rows"),
        ("voter,group\n,x\n", "groups.csv, line 2: the voter is empty"),
    ],
)
def test_bad_tables_of_groups(votes, tmp_path, table, sentence):
    (tmp_path / "groups.csv").write_text(table)
    with pytest.raises(vt.InputError, match=sentence):
        votes("voter,alternative,rank\nu,A,1\nu,B,2\n", groups=tmp_path / "groups.csv")


def test_groups_that_look_alike_are_remarked_on(votes):
    with pytest.warns(vt.InputWarning, match="the groups 'Lab' and 'lab' differ only in capitals"):
        votes("voter,alternative,rank,group\nu,A,1,Lab\nu,B,2,Lab\nv,A,2,lab\nv,B,1,lab\n")


def test_groups_stand_in_one_place(votes):
    with pytest.raises(vt.InputError, match="the votes have groups themselves"):
        votes(TIDY, groups=pl.DataFrame({"voter": ["u"], "group": ["x"]}))


def test_a_file_of_groups_may_have_other_common_names(tmp_path):
    path = tmp_path / "labs.csv"
    path.write_text("Reviewer,Lab\nu,north\nv,north\n")
    votes = pl.DataFrame({"voter": ["u", "u", "v", "v"], "alternative": ["A", "B"] * 2, "rank": [1, 2, 2, 1]})
    assert vt.read(votes, groups=path).groups == {"u": "north", "v": "north"}


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_judges_who_rank_at_many_items_can_be_put_into_families(tmp_path):
    log = tmp_path / "log.jsonl"
    rows = [{"judge": judge, "item": k, "ranking": ["A", "B", "C"]} for judge in ("j1", "j2", "j3") for k in range(2)]
    log.write_text("\n".join(map(json.dumps, rows)))
    families = pl.DataFrame({"judge": ["j1", "j2"], "family": ["f", "f"]})
    groups = vt.read(log, groups=families).groups
    assert groups == {f"{judge}, {k}": "j3" if judge == "j3" else "f" for judge in ("j1", "j2", "j3") for k in range(2)}
    log.write_text("\n".join(json.dumps(row | {"group": "g"}) for row in rows))
    assert set(vt.read(log).groups.values()) == {"g"}
