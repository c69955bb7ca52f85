"""Answers of web forms."""

import pytest

import veritally as vt

GOOGLE = """\
Timestamp,Email Address,How good is it? [Plan A],How good is it? [Plan B],How good is it? [Plan C],Any comments?
1/15/2024 10:11:12,ann@example.org,5 - Excellent,3 - Fair,,Nice
1/15/2024 10:12:12,bo@example.org,4 - Good,1 - Poor,2 - Weak,
"""
GOOGLE_TIDY = """\
voter,alternative,value
ann@example.org,Plan A,5
ann@example.org,Plan B,3
bo@example.org,Plan A,4
bo@example.org,Plan B,1
bo@example.org,Plan C,2
"""
MICROSOFT = """\
ID,Start time,Completion time,Email,Name,Plan A,Plan B,Plan C
1,1/15/24 10:11:12,1/15/24 10:12:12,anonymous,Ann,1,2,3
2,1/15/24 10:11:12,1/15/24 10:12:12,anonymous,Bo,3,1,2
"""
RANKS = "voter,alternative,rank\n" + "".join(
    f"{who},Plan {name},{ranks[j]}\n" for who, ranks in (("Ann", "123"), ("Bo", "312")) for j, name in enumerate("ABC")
)


def test_a_grid_of_google_forms(same_as_tidy):
    said = same_as_tidy(GOOGLE, GOOGLE_TIDY, form={"ballots": "value"})
    assert "Email Address is read as voter, Plan A, Plan B, Plan C as alternatives" in said
    assert "Timestamp, Any comments? are left aside" in said


def test_a_microsoft_form(same_as_tidy):
    said = same_as_tidy(MICROSOFT, RANKS, form={"ballots": "rank"})
    assert "Name is read as voter" in said


@pytest.mark.parametrize("places", [("1st choice", "2nd choice", "3rd choice"), ("Rank 1", "Rank 2", "Rank 3")])
def test_cells_that_say_that_they_are_ranks(same_as_tidy, places):
    text = MICROSOFT
    for rank, place in enumerate(places, 1):
        text = text.replace(f"Ann,{rank}", f"Ann,{place}").replace(f"Bo,{rank}", f"Bo,{place}")
        text = text.replace(f",{rank},", f",{place},").replace(f",{rank}\n", f",{place}\n")
    text = text.replace(f"\n{places[1]},", "\n2,").replace(f"\n{places[0]},", "\n1,")
    same_as_tidy(text, RANKS)


def test_what_the_cells_leave_open_is_asked(votes):
    with pytest.warns(vt.InputNote), pytest.raises(vt.InputError, match="say whether these are ranks"):
        votes(MICROSOFT)


def test_answers_without_names_are_named_by_the_line(votes):
    text = MICROSOFT.replace("Ann", "").replace("Bo", "")
    with pytest.warns(vt.InputNote, match="Plan A, Plan B, Plan C are read as alternatives; ID, Start time"):
        assert votes(text, ballots="rank").voters == ("line 2", "line 3")


def test_several_questions_are_refused(votes):
    text = "Timestamp,Clarity [A],Clarity [B],Merit [A],Merit [B]\nx,1,2,1,2\n"
    with pytest.raises(vt.InputError, match="has several questions, such as 'Clarity' and 'Merit'; keep the columns"):
        votes(text, ballots="value")


@pytest.mark.filterwarnings("ignore::veritally.InputNote")
def test_a_number_that_is_about_the_person_is_pointed_out(votes):
    rows = "".join(f"{day}/3/2024,Person {day},{day % 5},{(day + 2) % 5},{day * 3}\n" for day in range(1, 8))
    with pytest.warns(vt.InputWarning, match="the column Years in the team is taken for an alternative"):
        profile = votes("Timestamp,What is your name?,Lisbon,Ghent,Years in the team\n" + rows, ballots="value")
    assert profile.voters[0] == "Person 1"
