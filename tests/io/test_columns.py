"""Columns with other names than ours: said, or recognised."""

from itertools import combinations

import polars as pl
import pytest

import veritally as vt

TIDY = "voter,alternative,value\nann,p1,6\nann,p2,3\nbo,p1,8\n"
ROWS = "ann,p1,6\nann,p2,3\nbo,p1,8\n"
HEADERS = [
    "reviewer,paper,rating",
    "Reviewer,Paper ID,Overall merit",
    "reviewer_name,submission,total score",
    "Rater,Candidate,Points",
    "annotator_id,Option,Score",
    "judge,model,grade",
    "Worker ID,system,overall_evaluation",
    "evaluator,proposal,Recommendation",
    "referee,applicant,Final rating",
    "assessor,item,score",
    "voter,paper,value",
    "reviewer,alternative,value",
    "signature,forum,rating",
]


@pytest.mark.parametrize("header", HEADERS)
def test_common_names_are_recognised(same_as_tidy, header):
    note = same_as_tidy(f"{header}\n{ROWS}", TIDY)
    for ours, yours in zip(("voter", "alternative", "value"), header.split(","), strict=True):
        assert ours == yours or f"{yours} as {ours}" in note or f"{yours} is read as {ours}" in note


def test_the_note_says_what_was_read_as_what(votes):
    with pytest.warns(vt.InputNote, match=r"csv: reviewer is read as voter, paper as alternative, rating as value$"):
        votes(f"reviewer,paper,rating\n{ROWS}")


def test_other_columns_are_left_aside_without_a_word(same_as_tidy):
    text = "reviewer,paper,rating,soundness,comment\nann,p1,6,1,good\nann,p2,3,2,bad\nbo,p1,8,3,very good\n"
    assert "soundness" not in same_as_tidy(text, TIDY)


def test_ranks_by_another_name(same_as_tidy):
    tidy = "voter,alternative,rank\nu,A,1\nu,B,2\nv,B,1\nv,A,2\n"
    assert "place as rank" in same_as_tidy("judge,candidate,place\nu,A,1st\nu,B,2nd\nv,B,1st\nv,A,2nd\n", tidy)


def test_single_looks(same_as_tidy):
    tidy = "voter,alternative,item,value\nj,A,q1,7\nj,B,q1,5\nj,A,q2,6\nj,B,q2,6\nk,A,q1,6\nk,B,q1,5\n"
    for header in ("judge,model,item,score", "judge,model,prompt,score", "rater,system,question_id,rating"):
        same_as_tidy(tidy.replace("voter,alternative,item,value", header), tidy)
    rows = [dict(zip(("judge", "model", "item", "score"), line.split(","), strict=True)) for line in tidy.split()[1:]]
    table = pl.DataFrame(rows).with_columns(pl.col("score").cast(pl.Int64))
    same_as_tidy(table.write_ndjson(), tidy, "verdicts.jsonl")
    same_as_tidy(table.write_json(), tidy, "verdicts.json")


CONFIDENT = "voter,alternative,value,confidence\nann,p1,6,3\nann,p2,3,4\nbo,p1,8,5\n"


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("Reviewer's confidence", "345"),
        ("confidence", ("3: fairly confident", "4: confident", "5: certain")),
        ("Reviewer expertise", ("Knowledgeable (3)", "Expert (4)", "Everything (5)")),
        ("expertise", ("3 (some)", "4 (much)", "5 (all)")),
    ],
)
def test_confidence(same_as_tidy, name, levels):
    rows = "".join(f"{row},{level}\n" for row, level in zip(ROWS.split(), levels, strict=True))
    assert "3, 4, 5 counts as 4.9, 8, 8.4" in same_as_tidy(f"reviewer,paper,rating,{name}\n{rows}", CONFIDENT)
    same_as_tidy(f"reviewer,paper,rating,{name}\n{rows}", CONFIDENT, confidence={3: 1, 4: 2, 5: 7})


def test_confidence_in_words_needs_a_map(votes, same_as_tidy):
    text = "reviewer,paper,rating,expertise\nann,p1,6,low\nann,p2,3,high\nbo,p1,8,high\n"
    with (
        pytest.warns(vt.InputNote),
        pytest.raises(vt.InputError, match=r"line 2: the confidence 'low' is not a whole number .* --confidence"),
    ):
        votes(text)
    tidy = text.replace("reviewer,paper,rating,expertise", "voter,alternative,value,confidence")
    same_as_tidy(text, tidy, confidence={"low": 1, "high": 3})
    same_as_tidy(text, TIDY, form={"columns": {"confidence": ""}})


def test_a_text_about_expertise_is_no_confidence(same_as_tidy):
    cells = [f"graph theory {k}" for k in range(10)]
    rows = [f"r{k},p{k % 2},{k}" for k in range(10)]
    text = "".join(f"{row},{cell}\n" for row, cell in zip(rows, cells, strict=True))
    same_as_tidy(f"reviewer,paper,rating,expertise\n{text}", "voter,alternative,value\n" + "\n".join(rows) + "\n")


# What may be meant


def test_names_and_addresses_of_the_same_people_are_one_role(votes):
    text = "reviewer email,reviewer id,reviewer name,paper,rating\na@x,1,ann,p1,6\na@x,1,ann,p2,3\nb@x,2,bo,p1,8\n"
    with pytest.warns(vt.InputNote, match="reviewer name is read as voter"):
        assert votes(text).voters == ("ann", "bo")


def test_a_column_that_is_empty_or_the_same_throughout_or_text_is_no_value(votes):
    text = "reviewer,paper,score,grade,rating,points\nann,p1,6,5,good,\nann,p2,3,5,bad,\nbo,p1,8,5,fine,\n"
    with pytest.warns(vt.InputNote, match="score as value"):
        assert votes(text).values[0].tolist() == [6, 3]
    with pytest.warns(vt.InputNote, match="score as value"):  # but the only one may be the same throughout
        votes("reviewer,paper,score\nann,p1,5\nann,p2,5\n")


def test_an_overall_score_goes_before_others(votes):
    with pytest.warns(vt.InputNote, match="overall merit as value"):
        assert votes("reviewer,paper,score,overall merit\nann,p1,6,1\nann,p2,3,2\n").values.tolist() == [[1, 2]]


def test_two_columns_that_may_be_meant(votes):
    text = "reviewer,paper,score,grade\nann,p1,6,1\nann,p2,3,2\n"
    with pytest.raises(vt.InputError, match="score and grade may both be the value; say which: --columns value=score"):
        votes(text)
    with pytest.warns(vt.InputNote, match="reviewer is read as voter, paper as alternative$"):
        assert votes(text, columns={"value": "grade"}).values.tolist() == [[1, 2]]
    with pytest.raises(vt.InputError, match="reviewer and annotator may both be the voter"):
        votes("reviewer,annotator,paper,score\na,x,p,1\na,y,q,2\n")


def test_our_names_go_before_others(votes):
    profile = votes("voter,alternative,value,reviewer,paper,note\nu,A,1,x,p,n\nu,B,2,y,q,m\n")
    assert (profile.voters, profile.alternatives) == (("u",), ("A", "B"))


def test_a_wide_table_may_have_alternatives_of_such_names(votes):
    assert votes("voter,Paper,System\nu,1,2\nv,2,1\n", ballots="rank").alternatives == ("Paper", "System")
    with pytest.warns(vt.InputWarning, match="Score, Points"):
        wide = votes("voter,Score,Points,A,B\nu,1,2,3,4\nv,2,1,3,4\n", ballots="rank")
    assert wide.alternatives == ("Score", "Points", "A", "B")
    both = votes("decision,voter,Paper,System\nd,u,1,2\ne,u,2,1\n", ballots="rank")
    assert set(both.alternatives) == {("Paper", "System")}


def test_numbered_reviewers_who_review_several_papers(same_as_tidy):
    rows = "1,11,6\n1,12,3\n2,11,8\n"
    same_as_tidy(f"reviewer,paper,rating\n{rows}", f"voter,alternative,value\n{rows}")


# What became of a paper is no decision of ours

DECIDED = "reviewer,paper,rating,decision\nann,p1,6,Accept (poster)\nann,p2,3,Reject\nbo,p1,8,Accept (poster)\n"


def test_what_became_of_a_paper_is_left_aside(same_as_tidy):
    assert "decision is left aside" in same_as_tidy(DECIDED, TIDY)


def test_other_decisions_stay(votes):
    with pytest.warns(vt.InputNote) as caught:
        profile = votes(DECIDED.replace("Accept (poster)", "track 1").replace("Reject", "track 1"))
    assert profile.decisions == ("track 1",)
    assert "left aside" not in str(caught[0].message)


# Versions


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("version", "9", "10"), ("last modified", "2024-01-02 10:00", "2024-02-01 09:00"), ("tmdate", "17", "18")],
)
def test_the_last_version_of_a_review_is_read(same_as_tidy, name, first, second):
    text = f"reviewer,paper,rating,{name}\nann,p1,6,{second}\nann,p1,1,{first}\nann,p2,3,{first}\nbo,p1,8,{first}\n"
    assert f"1 earlier version is left out, by {name}" in same_as_tidy(text, TIDY)


def test_without_a_version_the_same_review_twice_is_refused(votes):
    for more in ("", ",date\n", ",date\n"):
        text = f"reviewer,paper,rating{more or chr(10)}" + "".join(
            f"{row}{',01/02/2024' if more else ''}\n" for row in ("ann,p1,6", "ann,p1,5")
        )
        with pytest.warns(vt.InputNote), pytest.raises(vt.InputError, match="line 3: voter 'ann' and alternative 'p1'"):
            votes(text)


def test_reviews_that_were_not_written_are_left_out(same_as_tidy):
    note = same_as_tidy(f"reviewer,paper,rating\n{ROWS}bo,p2,\n", TIDY)
    assert "1 row without a value is left out" in note


# What the user says


def test_columns_are_mapped(same_as_tidy):
    said = {"voter": "Wer bewertet", "alternative": "was", "value": "wie viel"}
    assert same_as_tidy(f"Wer bewertet,was,wie viel\n{ROWS}", TIDY, form={"columns": said}) == ""
    same_as_tidy(f"WER BEWERTET,was,wie viel\n{ROWS}", TIDY, form={"columns": said})
    swapped = {"voter": "alternative", "alternative": "voter"}
    same_as_tidy(f"alternative,voter,value\n{ROWS}", TIDY, form={"columns": swapped})
    shadowed = f"reviewer,paper,rating,value\n{ROWS}".replace("\n", ",1\n").replace("value,1", "value")
    same_as_tidy(shadowed, TIDY, form={"columns": {"value": "rating"}})


def test_comparisons_orders_and_wide_tables_are_mapped(votes):
    pairs = {"left": "erstes", "right": "zweites", "winner": "besser", "times": "oft"}
    assert votes("erstes,zweites,besser,oft\nA,B,A,3\n", columns=pairs).pairs.tolist() == [[[0, 3], [0, 0]]]
    assert votes("wer,liste\nu,A > B\n", columns={"voter": "wer", "order": "liste"}).voters == ("u",)
    assert votes("wer,A,B\nu,1,2\n", columns={"voter": "wer"}, ballots="rank").voters == ("u",)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"voters": "wer"}, "columns has 'voters', which is not one of our names \\(decision, voter, alternative"),
        ({"voter": "who"}, "votes.csv: has no column 'who' for voter; its columns are wer, was, wie"),
        ({"voter": "wer", "alternative": "wer"}, "columns gives wer for voter and for alternative; give each column"),
        ([("voter", "wer")], "columns needs a dictionary such as"),
    ],
)
def test_bad_columns(votes, columns, sentence):
    with pytest.raises(vt.InputError, match=sentence):
        votes("wer,was,wie\nu,A,1\nu,B,2\n", columns=columns)


def test_columns_that_nobody_recognises(votes):
    with pytest.raises(
        vt.InputError, match=r"columns wer, was, wie; .* --columns voter=wer,alternative=was,value=wie$"
    ):
        votes("wer,was,wie\nu,A,1\nu,B,2\n")
    with pytest.raises(vt.InputError, match=r"--columns 'voter=reviewer,alternative=the thing,value=rating'$"):
        votes("rating,reviewer,the thing\n1,a,x\n2,a,y\n")


BATTLE = '{{"question": {}, "judge": "{}", "model_a": "{}", "model_b": "{}", "verdict": "{}"}}\n'
MAPPED = {
    "tidy": ("voter,alternative,rank\nu,A,1\nu,B,2\nv,B,1\nv,A,2\n", "voter alternative rank"),
    "reviews": (f"reviewer,paper,score,confidence\n{CONFIDENT.partition(chr(10))[2]}", "reviewer paper score"),
    "titles": ("reviewer,paper,title,rating\nu,1,X,6\nu,2,Y,3\nv,1,X,8\n", "reviewer paper rating"),
    "looks": ("judge,model,prompt,score\nu,A,q,7\nu,B,q,5\nu,A,r,6\nv,A,q,6\n", "judge model score prompt"),
    "log": (
        '{"judge": "u", "item": "q", "scores": {"A": 7, "B": 5}}\n{"judge": "v", "item": "q", "scores": {"A": 3}}\n',
        "judge _ _ item",
    ),
    "words": (
        "".join(
            f'{{"judge": "{judge}", "question": "{question}", "verdict": "{word}"}}\n'
            for judge, question, word in ("uqy", "vqn", "ury")
        ),
        "judge _ _ _ question",
    ),
    "wide": ("reviewer,A,B\nu,7,6\nv,4,-1\n", "reviewer"),
    "orders": ("juror,ballot\nu,A > B\nv,B > A\n", "juror _ _ _ _ ballot"),
    "comparisons": ("annotator,a,b,preferred\nu,X,Y,X\nv,Y,Z,tie\n", "annotator _ _ _ _ _ a b preferred"),
    "battles": (
        BATTLE.format(0, "u", "X", "Y", "A") + BATTLE.format(1, "v", "Y", "X", "tie"),
        "judge _ _ _ _ _ model_a model_b verdict",
    ),
}
MAPPED_ROLES = ("voter", "alternative", "value", "item", "decision", "order", "left", "right", "winner")


@pytest.mark.parametrize("form", MAPPED)
@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_some_columns_are_said_and_the_others_recognised(votes, form):
    text, names = MAPPED[form]
    name = "log.jsonl" if text.startswith("{") else "votes.csv"
    said = {role: own for role, own in zip(MAPPED_ROLES, names.split(), strict=False) if own != "_"}
    said = {"rank" if own == "rank" else role: own for role, own in said.items()}
    expected = votes(text, name)
    for number in range(1, len(said) + 1):
        for roles in combinations(said, number):
            if {"voter", "alternative", "value"} <= set(roles) and form in ("reviews", "looks"):
                continue  # a table that is complete without the others
            found = votes(text, name, columns={role: said[role] for role in roles})
            assert repr(found) == repr(expected)
            assert vt.to_frame(found).equals(vt.to_frame(expected))
            assert found.groups == expected.groups


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_a_title_that_is_said_to_be_the_alternative_and_stands_for_several(votes):
    text = "reviewer,paper,title,rating\nu,1,X,6\nu,2,Y,3\nv,3,X,8\n"
    with pytest.warns(vt.InputWarning, match="'X' has several of the column paper: 1, 3; these are counted as one"):
        votes(text, columns={"alternative": "title"})
