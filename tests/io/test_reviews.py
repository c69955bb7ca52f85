"""Exports of conference systems: the same votes as in the tidy table that says the same."""

import json

import polars as pl
import pytest

import veritally as vt

# OpenReview: notes as its interface returns them; version 2 has a value in each field of the content, version 1 has not

REVIEWS = [  # forum, paper, reviewer, rating, confidence
    ("zzR1Uskhj0", 12, "ab12", "6: marginally above the acceptance threshold", "3: You are fairly confident"),
    ("zzR1Uskhj0", 12, "Cd34", "8: accept, good paper", "4: You are confident"),
    ("yyQ2Vtlik1", 13, "ab12", "3: reject, not good enough", "4: You are confident"),
]
HEADER = "voter,alternative,value,confidence\n"


def note(forum, paper, sign, content):
    shared = {"id": f"{forum}{sign}", "forum": forum, "replyto": forum, "number": 1, "cdate": 1700000000000}
    return {**shared, "signatures": [f"ICLR.cc/2024/Conference/{sign.format(paper=paper)}"], "content": content}


def notes(version):
    wrap = (lambda text: {"value": text}) if version == 2 else (lambda text: text)
    who = "Submission{paper}/Reviewer_" if version == 2 else "Paper{paper}/AnonReviewer"
    found = [
        note(forum, paper, who + name, {"title": wrap("Review"), "rating": wrap(rating), "confidence": wrap(level)})
        for forum, paper, name, rating, level in REVIEWS
    ]
    answer = {"title": wrap("Thanks"), "comment": wrap("We agree.")}
    return [*found, note("zzR1Uskhj0", 12, "Submission{paper}/Authors", answer)]


def expected(version):
    who = "Submission{}/Reviewer_{}" if version == 2 else "Paper{}/AnonReviewer{}"
    rows = (
        f"{who.format(paper, name)},{forum},{rating.split(':')[0]},{level[0]}\n"
        for forum, paper, name, rating, level in REVIEWS
    )
    return HEADER + "".join(rows)


@pytest.mark.parametrize("version", [1, 2])
def test_openreview_notes(same_as_tidy, version):
    lines = "\n".join(map(json.dumps, notes(version)))
    said = same_as_tidy(lines, expected(version), "reviews.jsonl")
    assert "1 note that rates nothing is left out; signatures is read as voter, forum as alternative" in said
    same_as_tidy(json.dumps(notes(version), indent=1), expected(version), "reviews.json")
    same_as_tidy(json.dumps({"notes": notes(version), "count": 4}), expected(version), "answer.json")


def test_openreview_notes_flattened_to_csv(same_as_tidy):
    rows = [
        {
            "forum": one["forum"],
            "number": one["number"],
            "signatures": str(one["signatures"]),
            "content.rating.value": one["content"].get("rating", {}).get("value"),
            "content.confidence.value": one["content"].get("confidence", {}).get("value"),
            "content.title.value": "Review",
        }
        for one in notes(2)
    ]
    same_as_tidy(pl.DataFrame(rows).write_csv(), expected(2))


def test_openreview_reviewers_are_numbered_within_each_paper(same_as_tidy):
    text = "paper_id,title,reviewer_id,final_rating,original_rating,confidence,official_label\n"
    text += "x,One,AnonReviewer1,6,5,3: fairly,Reject\nx,One,AnonReviewer2,8,8,4: sure,Reject\n"
    text += "y,Two,AnonReviewer1,3,2,4: sure,Accept\n"
    tidy = HEADER + "x/AnonReviewer1,x,6,3\nx/AnonReviewer2,x,8,4\ny/AnonReviewer1,y,3,4\n"
    same_as_tidy(text, tidy)


def test_openreview_papers_are_called_by_their_number(same_as_tidy):
    text = "forum,number,title,reviewer,rating\nzzR1,12,One,~A_B1,6: weak accept\nyyQ2,13,Two,~A_B1,3: reject\n"
    tidy = "voter,alternative,value\n~A_B1,12,6\n~A_B1,13,3\n"
    assert "number is read as alternative" in same_as_tidy(text, tidy)


# EasyChair: review.csv of its data download

EASYCHAIR = """\
#,submission #,member #,member name,number,version,text,scores,{total}reviewer first name,reviewer last name,\
reviewer email,reviewer person #,date,time,attachment?
1,5,1,Ann Bee,1,1,"Good, but long","Overall evaluation: 2 (accept)
Reviewer's confidence: 4 (high)",{two},,,,2024-05-01,10:00,no
2,5,2,Cy Dee,2,1,Fine,"Overall evaluation: 1 (weak accept)
Reviewer's confidence: 3 (medium)",{one},,,,2024-05-01,11:00,no
3,5,2,Cy Dee,2,2,"Fine
indeed","Overall evaluation: 3 (strong accept)
Reviewer's confidence: 5 (expert)",{three},,,,2024-05-03,09:00,no
4,6,1,Ann Bee,1,1,No,"Overall evaluation: -2 (reject)
Reviewer's confidence: 3 (medium)",{minus}Eve,Eff,e@example.org,77,2024-05-02,10:00,no
"""
EASYCHAIR_TIDY = HEADER + "Ann Bee,5,2,4\nCy Dee,5,3,5\nEve Eff,6,-2,3\n"


@pytest.mark.parametrize("total", [True, False])
def test_easychair(same_as_tidy, total):
    scores = {"total": "total score,", "two": "2,", "one": "1,", "three": "3,", "minus": "-2,"}
    text = EASYCHAIR.format(**(scores if total else dict.fromkeys(scores, "")))
    said = same_as_tidy(text, EASYCHAIR_TIDY)
    assert "or else member name, are read as voter" in said
    assert "1 earlier version is left out, by version" in said
    assert ("total score" if total else "Overall evaluation") + " as value" in said


# HotCRP: Download > Reviews as CSV

HOTCRP = """\
paper,title,review,reviewername,email,Overall merit,Reviewer expertise,Paper summary
1,Votes,1A,Ann,ann@example.org,4,3,"A paper, on votes"
1,Votes,1B,Bo,bo@example.org,2,2,"Also, fine"
2,Scores,2A,Ann,ann@example.org,5,4,More
"""


def test_hotcrp(same_as_tidy):
    tidy = HEADER + "Ann,1,4,3\nBo,1,2,2\nAnn,2,5,4\n"
    said = same_as_tidy(HOTCRP, tidy)
    assert "reviewername is read as voter, paper as alternative, Overall merit as value, Reviewer expertise as" in said


def test_hotcrp_without_names(same_as_tidy):
    tidy = HEADER + "1A,1,4,3\n1B,1,2,2\n2A,2,5,4\n"
    text = HOTCRP.replace("reviewername,email,", "")
    for person in ("Ann,ann@example.org,", "Bo,bo@example.org,"):
        text = text.replace(person, "")
    assert "review is read as voter" in same_as_tidy(text, tidy)


def test_hotcrp_with_some_names(same_as_tidy):
    tidy = HEADER + "Ann,1,4,3\n1B,1,2,2\nAnn,2,5,4\n"
    text = HOTCRP.replace("Bo,bo@example.org,", ",,")
    assert "review is read as voter where no reviewer is named" in same_as_tidy(text, tidy)


def test_reviews_are_decided(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text(HOTCRP)
    with pytest.warns(vt.InputNote):
        assert vt.decide(vt.read(path), rule="mean").winner == "2"


# What the systems have in common

RATED = "paper,title,review,reviewername,Overall merit\n"


def read(tmp_path, text, **options):
    path = tmp_path / "reviews.csv"
    path.write_text(text)
    return vt.read(path, **options)


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_titles_are_kept_beside_the_numbers_of_papers(tmp_path):
    profile = read(tmp_path, RATED + "7,Fish,7A,ann,3\n8,Fowl,8A,ann,4\n8,Fowl,8B,bo,5\n")
    assert profile.alternatives == ("7", "8")
    assert profile.titles == {"7": "Fish", "8": "Fowl"}
    outcome = vt.decide(profile)
    assert outcome.to_frame()["title"].to_list() == ["Fowl", "Fish"]
    assert outcome.winner == "8"
    assert vt.decide(profile, "borda").profile.titles == profile.titles


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_papers_of_the_same_title_are_pointed_out(tmp_path):
    text = RATED + "7,Fish,7A,ann,3\n8,Fish,8A,bo,4\n9,Fowl,9A,bo,5\n"
    with pytest.warns(vt.InputWarning, match="'Fish' has several of the column paper: 7, 8; these are counted as one"):
        profile = read(tmp_path, text, columns={"alternative": "title"})
    assert profile.alternatives == ("Fish", "Fowl")


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_a_paper_that_nobody_rated_is_named(tmp_path):
    text = RATED + "7,Fish,7A,ann,3\n8,Fowl,8A,bo,\n9,Game,9A,bo,5\n"
    with pytest.warns(vt.InputWarning, match="nobody gave a value to 8, so it is left out"):
        assert read(tmp_path, text).alternatives == ("7", "9")


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_lines_are_those_of_an_editor(tmp_path):
    text = 'paper,reviewer,comment,rating\n7,ann,"one\ntwo\n",3\n8,ann,short,N/A\n7,bo,x,2\n8,bo,y,4\n'
    with pytest.raises(vt.InputError, match="line 5: 'N/A' in the column rating is not a number"):
        read(tmp_path, text)


def test_short_names_of_hotcrp_are_recognised(same_as_tidy):
    rows = "1,1A,Ann,1700000000,3,2\n1,1B,Bob,1700000001,4,3\n2,2A,Ann,1700000002,1,2\n"
    tidy = HEADER + "Ann,1,3,2\nBob,1,4,3\nAnn,2,1,2\n"
    same_as_tidy("paper,review,reviewername,submitted_at,OveMer,RevExp\n" + rows, tidy)


def test_numbers_with_a_point_and_words_are_numbers(same_as_tidy):
    rows = "1,Ann,3. Weak accept\n1,Bob,4. Accept\n2,Ann,1. Reject\n"
    same_as_tidy("paper,reviewer,Overall merit\n" + rows, "voter,alternative,value\nAnn,1,3\nBob,1,4\nAnn,2,1\n")


def test_a_review_that_is_there_twice_counts_once(votes):
    rows = "1,Ann,3,good\n1,Bob,4,fine\n2,Ann,1,bad\n1,Bob,4,fine\n"
    with pytest.warns(vt.InputNote, match="lines 3 and 5 are the same in all columns and count once"):
        profile = votes("paper,reviewer,rating,text\n" + rows)
    assert profile.shape == (2, 2)


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_reviews_that_differ_are_refused_with_both_lines(votes):
    rows = "1,Ann,3,good\n1,Bob,4,fine\n2,Ann,1,bad\n1,Bob,4,well\n"
    with pytest.raises(
        vt.InputError, match=r"line 5: voter 'Bob' and alternative '1' appear twice \(first in line 3\)"
    ):
        votes("paper,reviewer,rating,text\n" + rows)


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
@pytest.mark.parametrize("column", ["status", "decision_status"])
def test_what_is_withdrawn_is_pointed_out(votes, column):
    rows = "1,Ann,3,Active\n1,Bob,4,Active\n2,Ann,1,Withdrawn\n"
    with pytest.warns(vt.InputWarning, match=f"{column} says Withdrawn of 2, .* to leave it out: --without 2"):
        votes(f"paper,reviewer,rating,{column}\n{rows}")


def test_no_time_is_proposed_as_a_value_or_a_voter(votes):
    with pytest.raises(vt.InputError) as raised:
        votes("#,paper,who is it (name),submitted_at,how good\n1,7,Ann,1700000000,3\n2,8,Bob,1700000001,4\n")
    assert "voter=who is it (name),alternative=paper,value=how good" in str(raised.value)
