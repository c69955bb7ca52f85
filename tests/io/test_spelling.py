"""Names: what is the same text is one name, and what only looks the same is remarked on."""

import warnings

import pandas as pd
import polars as pl
import pytest

import veritally as vt

RANKS = "voter,alternative,rank\n"
COMPOSED, APART = "caf\u00e9", "cafe\u0301"


def remarks(read, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        profile = read(*arguments, **options)
    return profile, [str(warning.message) for warning in caught]


FORMS = {
    "votes.csv": f"{RANKS}u,{COMPOSED},1\nu,B,2\nv,{APART},1\nv,B,2\n",
    "votes.jsonl": "".join(
        f'{{"voter":"{voter}","alternative":"{name}","rank":{rank}}}\n'
        for voter, name, rank in [("u", COMPOSED, 1), ("u", "B", 2), ("v ", f" {APART}", 1), ("v", "B\u00a0", 2)]
    ),
    "votes.orders": f"{COMPOSED} > B\n{APART} > B\n",
    "orders.csv": f"order\n{COMPOSED} > B\n{APART} > B\n",
    "arena.csv": f"judge,left,right,winner\nu,{COMPOSED},B,{APART}\nv,{APART},B,{COMPOSED}\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_unicode_form_and_outer_spaces_make_no_difference(votes, name):
    profile, found = remarks(votes, FORMS[name], name)
    assert profile.alternatives == (COMPOSED, "B")
    assert profile.ranks.tolist() == [[1, 2], [1, 2]]
    assert found == []


@pytest.mark.parametrize(
    "convert", [lambda table: table, lambda table: table.to_pandas(), lambda table: table.to_arrow()]
)
def test_frames_are_read_as_files_are(convert):
    table = pl.DataFrame({"voter": ["u", "u "], "alternative": [" A", "B"], "rank": [1, 2]})
    assert vt.read(convert(table)).alternatives == ("A", "B")
    assert table["alternative"].to_list() == [" A", "B"]
    with pytest.raises(vt.InputError, match="the frame, row 1: the voter is empty"):
        vt.read(convert(table.with_columns(voter=pl.Series(["u", " "]))))
    with pytest.raises(vt.InputError, match="row 2: voter 'u' and alternative 'A' appear twice"):
        vt.read(convert(pl.concat([table, table[:1]]).with_columns(alternative=pl.Series([" A", "B", "A"]))))


def test_columns_of_wide_tables_are_names_too():
    frame = pd.DataFrame({" A": [1, 2], APART: [2, 1]})
    assert vt.read(frame, ballots="rank").alternatives == ("A", COMPOSED)
    with pytest.raises(vt.InputError, match="the frame: the column A stands twice"):
        vt.read(pl.DataFrame({" A": [1], "A": [2], "B": [3]}), ballots="rank")


def test_names_that_would_be_one_in_a_file_are_not_written(tmp_path):
    for suffix in ("csv", "parquet", "orders"):
        with pytest.raises(vt.InputError, match="Unicode form or outer spaces would be one in a file"):
            vt.write(vt.Profile(order=[[COMPOSED, APART]]), tmp_path / f"votes.{suffix}")


def test_truths_are_matched_whatever_the_form():
    profile = vt.Profile(order=[[" A", APART]])
    assert vt.read_truth(pl.DataFrame({"alternative": ["A ", COMPOSED], "truth": [1, 2]}), profile).tolist() == [1, 2]


LOOKS = {
    "Cyrillic": ("A", "\u0410", "CYRILLIC CAPITAL LETTER A"),
    "Greek": ("Kappa", "\u039aappa", "GREEK CAPITAL LETTER KAPPA"),
    "full width": ("B2", "B\uff12", "FULLWIDTH DIGIT TWO"),
    "invisible": ("Ann", "An\u200bn", "ZERO WIDTH SPACE"),
    "at the end": ("Ann", "Ann\u00ad", "SOFT HYPHEN"),
    "hyphen": ("A-1", "A\u20131", "EN DASH"),
    "two foreign ones": ("caf\u00e9", "\u0441af\u00e9", "CYRILLIC SMALL LETTER ES"),
}


@pytest.mark.parametrize("case", LOOKS)
def test_look_alikes_are_remarked_on(votes, case):
    one, other, character = LOOKS[case]
    profile, found = remarks(votes, f"{RANKS}u,{one},1\nu,X,2\nv,{other},1\nv,X,2\n")
    assert profile.alternatives == (one, "X", other)
    (remark,) = found
    assert remark.startswith(f"voter 'v': the alternative {other!r} looks like {one!r} but has {character}; spell them")
    _, found = remarks(votes, f"{RANKS}{one},A,1\n{one},B,2\n{other},A,1\n{other},B,2\n")
    assert found == [remark.removeprefix("voter 'v': ").replace("alternative", "voter")]


def test_look_alikes_of_decisions_and_of_many(votes):
    text = "decision,voter,alternative,rank\np,u,A,1\np,u,B,2\n\u0440,u,A,1\n\u0440,u,\u0412,2\n\u0440,u,\uff22,3\n"
    _, found = remarks(votes, text)
    assert [remark.split(" looks")[0] for remark in found] == [
        "decision '\u0440', voter 'u': the alternative '\u0412'",
        "the decision '\u0440'",
    ]
    assert found[0].endswith("LETTER VE (and 1 more such); spell them the same if they are the same")


def test_look_alikes_in_preflib(votes):
    head = "# FILE NAME: x\n# NUMBER VOTERS: 1\n"
    names = "".join(f"# ALTERNATIVE NAME {j}: {name}\n" for j, name in enumerate([COMPOSED, APART], 1))
    _, (remark,) = remarks(votes, f"{head}{names}1: 1,2\n", "votes.soc")
    assert "looks like" in remark


@pytest.mark.parametrize(
    "names",
    [
        ("A", "a"),
        ("\u0410\u043d\u043d\u0430", "\u0418\u0440\u0438\u043d\u0430"),
        ("\u00e9", "e"),
        ("\u6771\u4eac", "\u4eac\u90fd"),
        ("\u03b1", "a"),
        ("O", "0"),
    ],
)
def test_names_in_any_script_are_not_suspected(votes, names):
    profile, found = remarks(votes, f"{RANKS}u,{names[0]},1\nu,{names[1]},2\n")
    assert (profile.alternatives, found) == (names, [])


def test_names_that_differ_only_in_capitals_or_spaces_are_remarked_on(votes):
    text = "voter,alternative,rank\nu,Protein design,1\nu,B,2\nv,protein  Design,1\nv,B,2\n"
    with pytest.warns(vt.InputWarning, match=r"the alternatives 'Protein design' and 'protein  Design' differ only in"):
        votes(text)
