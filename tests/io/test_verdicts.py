"""Logs of judges and of model arenas."""

import json

import polars as pl
import pytest

import veritally as vt

ITEMS = ("q1", "q2", "q3")


def lines(rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


def test_scores_of_several_are_single_looks(same_as_tidy):
    scores = {"gpt": {"A": 7, "B": 5}, "claude": {"A": 6.5, "B": 6}}
    rows = [
        {"judge": judge, "item": item, "scores": {name: score + k for name, score in own.items()}, "reason": "so"}
        for judge, own in scores.items()
        for k, item in enumerate(ITEMS)
    ]
    rows[0]["scores"]["C"] = 9
    looks = [f"{row['judge']},{name},{row['item']},{score}\n" for row in rows for name, score in row["scores"].items()]
    tidy = "voter,alternative,item,value\n" + "".join(looks)
    assert "judge is read as voter, scores as value" in same_as_tidy(lines(rows), tidy, "log.jsonl")
    same_as_tidy(json.dumps(rows), tidy, "log.json")


def test_scores_without_items_are_votes(same_as_tidy):
    rows = [{"rater": "u", "ratings": {"A": 7, "B": 5}}, {"rater": "v", "ratings": {"A": 3}}]
    same_as_tidy(lines(rows), "voter,alternative,value\nu,A,7\nu,B,5\nv,A,3\n", "log.jsonl")


RANKINGS = {("x", "q1"): "BAC", ("x", "q2"): "ABC", ("y", "q1"): "BC", ("y", "q2"): "CBA"}


def test_each_ranking_is_a_ballot_and_each_judge_a_group(same_as_tidy):
    rows = [{"judge": judge, "item": item, "ranking": list(order)} for (judge, item), order in RANKINGS.items()]
    tidy = "voter,alternative,rank,group\n" + "".join(
        f'"{judge}, {item}",{name},{rank},{judge}\n'
        for (judge, item), order in RANKINGS.items()
        for rank, name in enumerate(order, 1)
    )
    said = same_as_tidy(lines(rows), tidy, "log.jsonl")
    assert "ranking is read as ranks, best first; each judge and item is a voter, and each judge a group" in said


def test_rankings_of_one_judge_have_no_group(votes):
    rows = [{"judge": "x", "item": item, "ranking": ["B", "A"]} for item in ITEMS]
    with pytest.warns(vt.InputNote):
        profile = votes(lines(rows), "log.jsonl")
    assert (profile.voters, profile.groups) == (("x, q1", "x, q2", "x, q3"), None)


def test_one_ranking_for_each_person_is_that_of_the_person(same_as_tidy):
    rows = [{"voter": "u", "ranking": ["B", "A"]}, {"voter": "v", "ranking": ["A", "B"]}]
    same_as_tidy(lines(rows), "voter,alternative,rank\nu,B,1\nu,A,2\nv,A,1\nv,B,2\n", "log.jsonl")


def test_the_winner_among_candidates_is_a_favourite(same_as_tidy):
    winners = {("x", "q1"): "B", ("x", "q2"): "tie", ("y", "q1"): "C", ("y", "q2"): "A"}
    rows = [
        {"judge": judge, "item": item, "candidates": ["A", "B", "C"], "winner": winner}
        for (judge, item), winner in winners.items()
    ]
    tidy = "voter,alternative,rank,group\n" + "".join(
        f'"{judge}, {item}",{name},{1 if winner in (name, "tie") else ""},{judge}\n'
        for (judge, item), winner in winners.items()
        for name in "ABC"
    )
    same_as_tidy(lines(rows), tidy, "log.jsonl")


def test_the_winner_of_two_candidates_is_a_comparison(same_as_tidy):
    rows = [
        {"judge": "x", "item": "q1", "candidates": ["A", "B"], "winner": "B"},
        {"judge": "x", "item": "q2", "candidates": ["B", "A"], "winner": "tie"},
        {"judge": "y", "item": "q1", "candidates": ["C", "A"], "winner": "C"},
    ]
    pairs = "voter,left,right,winner,item\nx,A,B,B,q1\nx,B,A,tie,q2\ny,C,A,C,q1\n"
    same_as_tidy(lines(rows), pairs, "log.jsonl")


def test_bad_verdicts(votes):
    row = {"judge": "x", "item": "q1", "candidates": ["A", "B", "C"], "winner": "D"}
    with pytest.raises(vt.InputError, match="row 1: has the winner 'D', who is none of the candidates; name one"):
        votes(lines([row]), "log.jsonl")
    with pytest.raises(vt.InputError, match="no column says whose ranking these are; say which: --columns voter=llm"):
        votes(lines([{"llm": "x", "ranking": ["A", "B"]}]), "log.jsonl")
    with pytest.raises(vt.InputError, match="alternative 'A' appear twice"), pytest.warns(vt.InputNote):
        votes(lines([{"judge": "x", "ranking": ["A", "A"]}]), "log.jsonl")


# Battles

BATTLES = [("u", "A", "B", 1), ("u", "B", "C", 0.5), ("v", "A", "C", 0), ("w", "C", "A", 0.5)]
PLAIN = "voter,left,right,winner\n" + "".join(
    f"{voter},{a},{b},{ {1: a, 0: b, 0.5: 'tie'}[score] }\n" for voter, a, b, score in BATTLES
)
WORDS = [
    ("model_a", "both_bad", "model_b"),
    ("model_a", "tie (bothbad)", "model_b"),
    ("A", "bothbad", "B"),
    ("left", "neither", "right"),
    ("first", "draw", "second"),
    ("1", "equal", "2"),
    ("model_1", "both", "model_2"),
    ("Option A", "Tie", "Option B"),
]
SIDES = ["model_a,model_b", "left,right", "option_a,option_b", "Model 1,Model 2", "candidate_a,candidate_b", "a,b"]
OUTCOMES = ["winner", "label", "result", "Outcome", "preferred", "preference", "choice", "vote"]


@pytest.mark.parametrize("words", WORDS)
def test_outcomes(same_as_tidy, words):
    if words[0] == "A":  # which is an alternative here
        words = ("a", "bothbad", "b")
    rows = "".join(f"{voter},x{a},x{b},{words[int(2 - 2 * score)]}\n" for voter, a, b, score in BATTLES)
    tidy = "voter,left,right,winner\n" + "".join(
        f"{voter},x{a},x{b},{ {1: f'x{a}', 0: f'x{b}', 0.5: 'tie'}[score] }\n" for voter, a, b, score in BATTLES
    )
    same_as_tidy("judge_hash,model_a,model_b,winner\n" + rows, tidy)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_columns_of_battles(same_as_tidy, sides, outcome):
    same_as_tidy(PLAIN.replace("voter,left,right,winner", f"user_id,{sides},{outcome}"), PLAIN)


def test_a_word_that_is_a_name_means_the_alternative(votes):
    profile = votes("judge,left,right,winner\nu,2,1,1\n")
    assert profile.pairs.tolist() == [[[0, 0], [1, 0]]]
    with pytest.raises(vt.InputError, match="line 3: the winner is '1'; it can be 'B', 'C' or tie, or left, right"):
        votes("judge,left,right,winner\nu,2,1,1\nu,B,C,1\n")


def test_one_hot_outcomes(same_as_tidy):
    marks = {1: "1,0,0", 0: "0,1,0", 0.5: "0,0,1"}
    rows = "".join(f'{voter},{k},{a},{b},"[""hi""]",{marks[s]}\n' for k, (voter, a, b, s) in enumerate(BATTLES))
    header = "annotator,id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie\n"
    assert "winner_tie are read as winner" in same_as_tidy(header + rows, PLAIN)


def test_conversations_are_ignored(same_as_tidy):
    talk = [{"role": "user", "content": "hi"}]
    rows = [
        {
            "question_id": k,
            "model_a": a,
            "model_b": b,
            "winner": {1: "model_a", 0: "model_b", 0.5: "both_bad"}[score],
            "judge_hash": voter,
            "conversation_a": talk,
            "conversation_b": talk,
            "turn": 1,
            "tstamp": 1.5,
        }
        for k, (voter, a, b, score) in enumerate(BATTLES)
    ]
    assert "judge_hash is read as voter" in same_as_tidy(lines(rows), PLAIN, "battles.jsonl")
    same_as_tidy(json.dumps(rows), PLAIN, "battles.json")


def test_battles_without_voters_are_of_one(votes):
    assert votes("id,model_a,model_b,winner\n1,A,B,model_a\n2,A,B,both_bad\n").voters == ("everyone",)


def test_a_wide_table_of_such_names_is_none_of_battles(votes):
    frame = pl.DataFrame({"voter": ["u", "v"], "A": [1, 2], "B": [2, 1], "choice": [3, 3]})
    assert vt.read(frame, ballots="rank").alternatives == ("A", "B", "choice")


def test_an_order_by_another_name(same_as_tidy):
    tidy = "voter,order\nu,A > B\nv,B > A = C\n"
    assert "ranking is read as order, judge as voter" in same_as_tidy(
        tidy.replace("voter,order", "judge,ranking"), tidy
    )


def words(judges=("gpt", "claude", "llama"), questions=30):
    return [
        {"judge": judge, "question": f"q{k}", "verdict": "yes" if (k + i) % 3 else "no"}
        for k in range(questions)
        for i, judge in enumerate(judges)
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_one_word_for_each_question_is_a_favourite_among_the_words(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    path.write_text(lines(words()) if suffix == ".jsonl" else pl.DataFrame(words()).write_csv())
    with pytest.warns(vt.InputNote, match="verdict is read as favourite among no, yes, judge as voter, question as"):
        profile = vt.read(path)
    assert profile.shape == (30, 3, 2)
    assert profile.decision(0).alternatives == ("no", "yes")
    assert profile.decision(0).ranks[:, 0].tolist() == [1.0, 2.0, 2.0]


def spoilt(number=1, text="ERROR: timeout"):
    """A log of 300 verdicts, of which some are another text, and as many are empty."""
    rows = words(questions=100)
    for row in rows[:number]:
        row["verdict"] = text
    for row in rows[number : 2 * number]:
        row["verdict"] = None
    return rows


def test_an_error_message_among_verdicts_is_pointed_out(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(lines(spoilt()))
    with pytest.warns(vt.InputWarning) as caught:
        profile = vt.read(log)
    warning, note = (str(one.message) for one in caught)
    assert warning == (
        f"{log}: 'ERROR: timeout' stands in 1 of 299 verdicts, and an alternative in every decision, which takes "
        "longer; if it is an error message, leave it out by --verdicts no,yes"
    )
    assert note.endswith("; 1 verdict is empty and left out")
    assert profile.decision(0).alternatives == ("ERROR: timeout", "no", "yes")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (spoilt(1)[:150], "few verdicts"),
        (spoilt(2, "unsure"), "2 of 298 are more than 0.5%"),
        ([{**row, "verdict": "yes" if k else "no"} for k, row in enumerate(words(questions=100))], "one usual word"),
    ],
    ids=["few", "not so rare", "nearly all alike"],
)
def test_rare_verdicts_are_not_pointed_out_without_reason(tmp_path, rows, why):
    (tmp_path / "log.jsonl").write_text(lines(rows))
    with pytest.warns(vt.InputNote) as caught:
        vt.read(tmp_path / "log.jsonl")
    assert not [one for one in caught if not issubclass(one.category, vt.InputNote)], why


def test_words_that_are_no_verdicts_are_left_out_where_that_is_said(tmp_path):
    log, clean = tmp_path / "log.jsonl", tmp_path / "clean.jsonl"
    log.write_text(lines(spoilt()))
    clean.write_text(lines(spoilt()[2:]))
    with pytest.warns(vt.InputNote) as caught:
        profile, expected = vt.read(log, verdicts=["yes", "no"]), vt.read(clean)
    assert "1 verdict is empty and left out; 1 verdict is another word and left out" in str(caught[0].message)
    assert profile.decision(0).alternatives == ("yes", "no")
    theirs = vt.decide(expected, "pairwise").to_frame()
    ours = vt.decide(profile, "pairwise").to_frame()
    assert (
        ours.select("decision", "alternative", "score")
        .sort(pl.all())
        .equals(theirs.select("decision", "alternative", "score").sort(pl.all()))
    )


def test_decisions_without_a_verdict_are_named(tmp_path):
    """Else answers would lack some questions, and nothing would say so."""
    rows = words(questions=30)
    for row in rows:
        if row["question"] == "q7":
            row["verdict"] = "ERROR"
    (tmp_path / "log.jsonl").write_text(lines(rows))
    with pytest.warns(vt.InputNote, match="no verdict is left of 1 decision, which is left out: q7"):
        profile = vt.read(tmp_path / "log.jsonl", verdicts=["yes", "no"])
    assert profile.batch == (29,)
    table = pl.DataFrame(rows)
    table.write_parquet(tmp_path / "log.parquet")
    written = vt.decide_file(tmp_path / "log.parquet", tmp_path / "a.csv", "pairwise", verdicts=["yes", "no"])
    assert written.decisions == 29
    assert f"{tmp_path / 'log.parquet'}: 1 decision has no verdict, and no answer" in written.notes


def test_very_many_error_messages_are_a_sentence(tmp_path):
    rows = words(questions=200)
    for k in range(15):
        rows[7 * k]["verdict"] = f"ERROR: no answer to request {k}"
    (tmp_path / "log.jsonl").write_text(lines(rows))
    said = "verdict has 17 different words; all but 15 of 600 are no, yes; leave the others out by --verdicts no,yes$"
    with pytest.raises(vt.InputError, match=said):
        vt.read(tmp_path / "log.jsonl")


@pytest.mark.parametrize(
    ("verdicts", "problem"),
    [
        (["yes"], r"two or more different words.*not \['yes'\]"),
        (["yes", "yes"], "two or more different words"),
        ("yes", "takes a list of words"),
        (["right", "wrong"], "no verdict is right, wrong; there are no, yes"),
    ],
)
def test_verdicts_that_cannot_be_are_refused(tmp_path, verdicts, problem):
    (tmp_path / "log.jsonl").write_text(lines(words()))
    with pytest.raises(vt.InputError, match=problem):
        vt.read(tmp_path / "log.jsonl", verdicts=verdicts)


@pytest.mark.parametrize(
    "text", ["voter,alternative,rank\nu,A,1\nu,B,2\n", "voter,order\nu,A > B\n", "voter,left,right,winner\nu,A,B,A\n"]
)
def test_verdicts_are_refused_where_there_are_none(votes, text):
    with pytest.raises(vt.InputError, match=r"verdicts are words such as yes and no, .*; leave them out$"):
        votes(text, verdicts=["A", "B"])


def test_a_verdict_given_twice_counts_once(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [
        {"judge": row["judge"], "decision": row["question"], "ranking": [row["verdict"], "maybe"]} for row in words()
    ]
    path.write_text(lines([*rows, rows[4]]))
    with pytest.warns(vt.InputNote, match="1 repeated verdict is left out"):
        assert vt.read(path).shape == (30, 3, 3)
    path.write_text(lines([*rows, rows[4] | {"ranking": ["maybe", "yes"]}]))
    with pytest.raises(vt.InputError, match="row 91: 'claude' has another verdict on 'q1' than in row 5; keep one"):
        vt.read(path)
