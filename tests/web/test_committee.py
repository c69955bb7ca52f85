"""The page: whole decisions by requests alone, as a browser without JavaScript sends them."""

import asyncio
import csv
import datetime
import html
import io
import json
import re
import threading
import time
from types import SimpleNamespace
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from forms import NEW, answer, ballot, links, numbers, send, set_up, stamp, vote
from starlette.testclient import TestClient

from veritally.errors import InputError
from veritally.web import links as links_module
from veritally.web.answers import Answers, unclear
from veritally.web.app import application
from veritally.web.decisions import Setup, clean_text
from veritally.web.demo import make_demo
from veritally.web.schema import facts
from veritally.web.store import Store

in_a_file = pytest.mark.parametrize("address", ["file"], indirect=True)  # what is asked of the file itself


def test_a_whole_decision(client):
    organiser, (ada, ben), _ = set_up(client)
    assert "0 of 2 have voted" in client.get(f"/o/{organiser}").text
    assert "Ballot of <b>Ada</b>" in client.get(f"/v/{ada}").text
    response = vote(client, f"/v/{ada}", {"Bats": 1, "Water tests": 2})
    assert "Your ballot is in" in response.text
    vote(client, f"/v/{ben}", {"Bats": 1, "=HYPERLINK(1)": 2}, seen="a little")
    page = client.get(f"/o/{organiser}").text
    assert "2 of 2 have voted" in page
    assert "&lt;b&gt;poster&lt;/b&gt;" in page
    assert "<b>poster</b>" not in page
    found = answer(client, f"/o/{organiser}")
    assert "Bats" in found
    assert "Ada" in found
    assert "Water tests" in answer(client, f"/v/{ada}")
    rows = list(csv.DictReader(io.StringIO(client.get(f"/o/{organiser}/votes.csv").text)))
    assert rows[0] == {"voter": "Ada", "alternative": "Bats", "rank": "1", "count": "10.0"}
    assert {row["alternative"] for row in rows} == {"Bats", "Water tests", "'=HYPERLINK(1)"}
    outcome = json.loads(client.get(f"/o/{organiser}/answer.json").text)
    assert outcome["winner"] == "Bats"
    assert "Bats" in client.get(f"/o/{organiser}/report.html").text


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost:8000", True),
        ("127.0.0.1", True),
        ("[::1]:80", True),
        ("10.0.0.7", False),
        ("vote.example.org", False),
    ],
)
def test_links_that_work_on_this_machine_only_say_so(store, host, local):
    with TestClient(application(store), base_url=f"http://{host}") as client:
        made = send(client, "/new", NEW).text
        organiser = f"/o/{links(made, 'o')[0]}"
        added = send(client, organiser, {"act": "voters", "voters": "Cleo"}, f"{organiser}/do").text
        shared = send(client, organiser, {"act": "share"}, f"{organiser}/do").text
    assert [("on this machine only" in page) for page in (made, added, shared)] == [local] * 3


def test_a_ballot_can_be_changed_until_voting_closes(client):
    organiser, (ada, _), _ = set_up(client)
    vote(client, f"/v/{ada}", {"Bats": 1, "Water tests": 2})
    vote(client, f"/v/{ada}", {"Bats": 2, "Water tests": 1})
    rows = list(csv.DictReader(io.StringIO(client.get(f"/o/{organiser}/votes.csv").text)))
    assert [(row["alternative"], row["rank"]) for row in rows] == [("Bats", "2"), ("Water tests", "1")]
    late = ballot(client, f"/v/{ada}", {"Bats": 1}) | {"stamp": stamp(client.get(f"/v/{ada}").text), "act": "submit"}
    send(client, f"/o/{organiser}", {"act": "close"}, f"/o/{organiser}/do")
    assert "Voting is over" in client.post(f"/v/{ada}", data=late).text
    assert list(csv.DictReader(io.StringIO(client.get(f"/o/{organiser}/votes.csv").text))) == rows
    send(client, f"/o/{organiser}", {"act": "reopen"}, f"/o/{organiser}/do")
    assert "selected>2</option>" in client.get(f"/v/{ada}").text


def test_a_deadline_passes(client, store):
    soon = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M")
    organiser, (ada, _), _ = set_up(client, deadline=soon)
    assert "Voting ends at" in client.get(f"/v/{ada}").text
    past = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M")
    decision = store.by_organiser(organiser)
    store._set(decision, setup=decision.setup.to_dict() | {"deadline": past})
    assert "Voting is over" in client.get(f"/v/{ada}").text


def test_what_is_overdue_is_closed_also_if_nobody_looks(store):
    setup = Setup("Late", named=False, deadline="2020-01-01T00:00", limit=1)
    organiser, _ = store.create(setup, ["x", "y"], [])
    with TestClient(application(store)):
        end = time.monotonic() + 20
        while not store.by_organiser(organiser).closed and time.monotonic() < end:
            time.sleep(0.05)
    assert store.by_organiser(organiser).closed


def test_the_open_link_gives_receipts_up_to_its_limit(client):
    organiser, _, (join,) = set_up(client, voters="", limit="2")
    receipts = []
    for rank in (1, 2):
        response = vote(client, f"/j/{join}", {"Bats": rank, "Water tests": 3 - rank})
        receipts += links(response.text, "v")
        if rank == 1:
            third = ballot(client, f"/j/{join}", {"Bats": 1}) | {"stamp": stamp(client.get(f"/j/{join}").text)}
    assert "no more can" in client.get(f"/j/{join}").text
    late = client.post(f"/j/{join}", data=third | {"act": "submit"})  # whose ballot was open already
    assert late.status_code == 409
    assert "no more can" in late.text
    vote(client, f"/v/{receipts[1]}", {"Bats": 1, "Water tests": 2})
    rows = list(csv.DictReader(io.StringIO(client.get(f"/o/{organiser}/votes.csv").text)))
    assert sorted(row["rank"] for row in rows if row["alternative"] == "Bats") == ["1", "1"]


def test_an_organiser_lets_more_people_vote_by_the_open_link(client):
    organiser, _, (join,) = set_up(client, voters="", limit="1")
    page = f"/o/{organiser}"
    vote(client, f"/j/{join}", {"Bats": 1, "Water tests": 2})
    assert "1 of up to 1 people have voted by the open link" in client.get(page).text
    for refused in ("1", "0", "5001", "x"):
        assert send(client, page, {"act": "limit", "limit": refused}, f"{page}/do").status_code == 400
    send(client, page, {"act": "limit", "limit": "2"}, f"{page}/do")
    assert vote(client, f"/j/{join}", {"Bats": 1, "Water tests": 2}).status_code == 200
    assert "2 of up to 2 people" in client.get(page).text
    closed, _, _ = set_up(client)
    none = send(client, f"/o/{closed}", {"act": "limit", "limit": "2"}, f"/o/{closed}/do")
    assert "no open link" in none.text


def test_names_that_stand_twice_are_told(client):
    made = send(client, "/new", NEW | {"voters": "Ada\nBen\n Ada ", "alternatives": "Bats\nIce\nBats"})
    assert len(links(made.text, "v")) == 2
    assert "Ada stood there more than once; one link was made." in made.text
    assert "Bats stood there more than once; voters see it once." in made.text
    assert "Ben stood" not in made.text
    page = f"/o/{links(made.text, 'o')[0]}"
    added = send(client, page, {"act": "voters", "voters": "Cleo\nAda"}, f"{page}/do")
    assert "Ada had a link before" in added.text


@in_a_file
def test_so_many_links_that_they_have_no_pictures_say_so(client):
    for number in (100, 101):
        made = send(client, "/new", NEW | {"voters": "\n".join(f"v{k}" for k in range(number))}).text
        assert ("QR code" in made.split("A link for each voter")[1].split("<ul")[0]) == (number > 100)
        assert made.count("as a QR code") == (number if number <= 100 else 0)


def test_links_open_in_a_new_tab_and_a_new_one_is_asked_for_twice(client):
    made = send(client, "/new", NEW | {"limit": "3"}).text
    opened = re.findall(r'<a class="link"[^>]*>', made)
    assert len(opened) == 4
    assert all('target="_blank" rel="noopener"' in link for link in opened)
    assert "Reloading this page makes another decision" in made
    page = client.get(f"/o/{links(made, 'o')[0]}").text
    assert len(re.findall(r"<details><summary[^>]*>New link</summary>.*?the old one stops working", page)) == 2


def test_anonymous_ballots_lose_their_voters_when_voting_closes(client, store):
    organiser, (ada, ben), _ = set_up(client, ballots="anonymous")
    vote(client, f"/v/{ada}", {"Bats": 1, "Water tests": 2})
    vote(client, f"/v/{ben}", {"Bats": 2, "Water tests": 1})
    send(client, f"/o/{organiser}", {"act": "close"}, f"/o/{organiser}/do")
    decision = store.by_organiser(organiser)
    assert [store.by_voter(secret).given for secret in (ada, ben)] == [None, None]
    assert len(store.given(decision)) == 2
    assert "Ada" not in client.get(f"/o/{organiser}/votes.csv").text
    assert "Ada" not in answer(client, f"/o/{organiser}")
    again = send(client, f"/o/{organiser}", {"act": "reopen"}, f"/o/{organiser}/do")
    assert again.status_code == 400
    assert store.by_organiser(organiser).closed


def test_ballots_of_named_voters_are_not_shown_unless_voters_were_told(client):
    organiser, (ada, *others), _ = set_up(client, ballots="named", voters="Ada\nBen\nCleo")
    assert "but not what" in client.get(f"/v/{ada}").text
    for secret in (ada, *others):
        vote(client, f"/v/{secret}", {"Bats": 1, "Water tests": 2})
    assert "rank 1" not in client.get(f"/o/{organiser}").text
    assert "selected>1</option>" not in client.get(f"/v/{ada}").text  # whoever made the link could look
    for page in ("", "/answer"):
        assert "votes.csv" not in client.get(f"/o/{organiser}{page}").text
    assert "when voting is closed" in client.get(f"/o/{organiser}").text
    refused = client.get(f"/o/{organiser}/votes.csv").text
    assert "when voting is closed" in refused
    assert f'href="/o/{organiser}"' in refused
    send(client, f"/o/{organiser}", {"act": "close"}, f"/o/{organiser}/do")
    assert "votes.csv" not in client.get(f"/o/{organiser}").text
    assert client.get(f"/o/{organiser}/votes.csv").status_code == 400  # until it is asked for, and said what follows
    saved = send(client, f"/o/{organiser}", {"act": "save"}, f"/o/{organiser}/do")
    assert saved.headers["content-disposition"].startswith("attachment")
    assert "Bats" in saved.text
    assert "Ada" not in saved.text
    assert client.get(f"/o/{organiser}/votes.csv").text == saved.text


def test_two_files_of_hidden_votes_cannot_be_compared(client):
    """Else an organiser who closes, saves and opens again after each ballot would read whose it is."""
    organiser, (ada, ben, cleo), _ = set_up(client, ballots="named", voters="Ada\nBen\nCleo")
    page = f"/o/{organiser}"
    for secret in (ada, ben, cleo):
        vote(client, f"/v/{secret}", {"Bats": 1, "Water tests": 2})
    early = send(client, page, {"act": "save"}, f"{page}/do")
    assert early.status_code == 400
    assert "when voting is closed" in early.text
    for turn in range(2):
        send(client, page, {"act": "close"}, f"{page}/do")
        assert "voting cannot be opened again" in client.get(page).text
        if turn == 0:
            send(client, page, {"act": "reopen"}, f"{page}/do")
            assert "Voting is open" in client.get(page).text
    send(client, page, {"act": "save"}, f"{page}/do")
    assert 'value="reopen"' not in client.get(page).text
    refused = send(client, page, {"act": "reopen"}, f"{page}/do")
    assert refused.status_code == 400
    assert "its votes were saved" in refused.text.lower()
    assert "Voting is over" in client.get(f"/v/{ben}").text


@pytest.mark.parametrize("ballots", ["named", "anonymous"])
def test_who_gave_a_hidden_ballot_is_thanked_and_can_vote_again(client, store, ballots):
    organiser, (ada, _), _ = set_up(client, ballots=ballots)
    link = f"/v/{ada}"
    thanks = vote(client, link, {"Bats": 1, "Water tests": 2})
    assert "Your ballot is in" in thanks.text
    assert "<legend>" not in thanks.text
    again = client.post(link, data={"stamp": stamp(thanks.text), "act": "again"})
    assert "a new one replaces it" in again.text
    assert "selected" not in again.text
    fields = dict.fromkeys(re.findall(r'name="(seen-\d+)"', again.text), "a lot")
    fields |= {name.replace("seen", "rank"): "1" for name in fields}
    review = client.post(link, data={"stamp": stamp(again.text), "act": "review"} | fields)
    assert "1 (tied)" in review.text
    client.post(link, data={"stamp": stamp(again.text), "act": "submit"} | fields)
    ((_, given),) = store.given(store.by_organiser(organiser))
    assert {own["rank"] for own in given.values()} == {1}


def test_an_organiser_changes_copies_shares_and_deletes(client, store, tmp_path):
    organiser, (ada, _), _ = set_up(client)
    page = f"/o/{organiser}"
    added = send(client, page, {"act": "voters", "voters": "Cleo\nAda"}, f"{page}/do")
    assert len(links(added.text, "v")) == 1
    send(client, page, {"act": "alternatives", "alternatives": "Moss"}, f"{page}/do")
    assert "Moss" in client.get(f"/v/{ada}").text
    number = store.people(store.by_organiser(organiser))[0][0]
    renewed = send(client, page, {"act": "renew", "voter": str(number)}, f"{page}/do")
    assert client.get(f"/v/{ada}").status_code == 404
    (ada,) = links(renewed.text, "v")
    vote(client, f"/v/{ada}", {"Moss": 1, "Bats": 2})
    shared = links(send(client, page, {"act": "share"}, f"{page}/do").text, "a")[0]
    assert "Moss" in answer(client, f"/a/{shared}")
    send(client, page, {"act": "unshare"}, f"{page}/do")
    assert client.get(f"/a/{shared}").status_code == 404
    copied = links(send(client, page, {"act": "copy"}, f"{page}/do").text, "o")[0]
    assert "0 of 3 have voted" in client.get(f"/o/{copied}").text
    kept = send(client, page, {"act": "delete"}, f"{page}/do")
    assert "nothing was deleted" in kept.text.lower()
    assert f'href="{page}"' in kept.text  # the way back
    send(client, page, {"act": "delete", "sure": "yes"}, f"{page}/do")
    assert client.get(page).status_code == 404
    assert client.get(f"/v/{ada}").status_code == 404


@in_a_file
def test_what_is_deleted_is_not_in_the_file(client, store, tmp_path):
    organiser, _, _ = set_up(client, title="Remarkable-Title", voters="Unforgettable Person", ballots="named")
    page = f"/o/{organiser}"
    send(client, page, {"act": "delete", "sure": "yes"}, f"{page}/do")
    store.forget()
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert b"Remarkable-Title" not in content, path
        assert b"Unforgettable" not in content, path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": " "}, "the title is missing"),
        ({"alternatives": "one"}, "at least two alternatives"),
        ({"voters": ""}, "nobody could vote"),
        ({"words": "none\nlots = 3"}, "has no count"),
        ({"choose": "3"}, "are no choice"),
        ({"choose": "x"}, "must be a whole number"),
        ({"words": "not at all = 1\na lot = 3"}, "let it count for 0"),
        ({"deadline": "soon"}, "must be a date and a time"),
        ({"deadline": "2020-01-01T00:00"}, "the deadline has passed"),
        ({"kind": "novel"}, "is no kind of ballot"),
        ({"limit": "999999"}, "must be between"),
    ],
)
def test_mistakes_of_organisers_are_sentences(client, changes, said):
    response = send(client, "/new", NEW | changes)
    assert response.status_code == 400
    assert said in html.unescape(response.text).lower()
    assert "Bats" in response.text or "one" in response.text  # nothing that was written is lost


def test_mistakes_of_voters_are_sentences(client):
    _, (ada, _), _ = set_up(client)
    link = f"/v/{ada}"
    by_name = numbers(client, link)
    empty = send(client, link, {"act": "submit"})
    assert "Rank at least one" in empty.text
    unseen = send(
        client, link, {f"rank-{by_name['Bats']}": "1", f"seen-{by_name['Bats']}": "not at all", "act": "submit"}
    )
    assert "but have not seen it" in unseen.text
    odd = send(client, link, {f"rank-{by_name['Bats']}": "1", f"seen-{by_name['Bats']}": "loads", "act": "submit"})
    assert "must be one of" in odd.text


def test_everybody_can_say_that_they_saw_nothing(client):
    _, (ada, _), _ = set_up(client, words="some = 3\na lot = 10")
    words = re.findall(r'<option value="([^"]+)"', client.get(f"/v/{ada}").text)
    assert words[:3] == ["not at all", "some", "a lot"]
    assert "Your ballot is in" in vote(client, f"/v/{ada}", {"Bats": 1}).text  # the others were not seen


def test_scores_and_favourites_with_numbers(client):
    for kind, field in (("scores", "score"), ("favourite", "favourite")):
        organiser, (ada, _), _ = set_up(client, kind=kind, seen="number", unit="hours")
        link = f"/v/{ada}"
        by_name = numbers(client, link)
        fields = {f"seen-{by_name['Bats']}": "12", f"seen-{by_name['Water tests']}": "3"}
        if kind == "scores":
            fields |= {f"score-{by_name['Bats']}": "7,5", f"score-{by_name['Water tests']}": "-2"}
        else:
            fields["favourite"] = by_name["Bats"]
        send(client, link, fields | {"act": "submit"})
        rows = list(csv.DictReader(io.StringIO(client.get(f"/o/{organiser}/votes.csv").text)))
        assert [row["count"] for row in rows] == ["12.0", "3.0"]
        outcome = json.loads(answer(client, f"/o/{organiser}") and client.get(f"/o/{organiser}/answer.json").text)
        assert outcome["winner"] == "Bats", field


def test_scores_stay_between_the_lowest_and_the_highest(client, store):
    organiser, (ada, _), _ = set_up(client, kind="scores", lowest="0", highest="10")
    link = f"/v/{ada}"
    assert "from 0 to 10" in client.get(link).text
    number = numbers(client, link)["Bats"]
    for score in ("10,5", "-1"):
        refused = send(client, link, {f"seen-{number}": "some", f"score-{number}": score, "act": "review"})
        assert refused.status_code == 400
        assert "must be from 0 to 10" in refused.text
    kept = send(client, link, {f"seen-{number}": "some", f"score-{number}": "9,5", "act": "submit"})
    assert 'value="9.5"' in kept.text
    old = store.by_organiser(organiser).setup.to_dict()
    del old["lowest"], old["highest"]  # as an earlier version kept it
    store._set(store.by_organiser(organiser), setup=old)
    assert store.by_organiser(organiser).setup.range == ""
    for wrong in ({"lowest": "5", "highest": "5"}, {"lowest": "low"}):
        assert send(client, "/new", NEW | {"kind": "scores"} | wrong).status_code == 400


def test_a_vote_file_leads_to_the_answer(client):
    content = b"voter,alternative,rank,count\na,x,1,3\na,y,2,3\nb,x,1,2\nb,y,2,2\n"
    given = {"stamp": stamp(client.get("/").text)}
    response = client.post("/file", data=given, files={"file": ("votes.csv", content)}, follow_redirects=False)
    link = response.headers["location"].removesuffix("/answer")
    assert "x" in answer(client, link)
    assert client.get(f"{link}/votes.csv").content == content
    page = client.get(link).text
    assert "only way to delete it" in page
    assert not re.search("ballot|voting|voters", page, re.IGNORECASE)
    bad = client.post(
        "/file", data=given, files={"file": ("votes.csv", b"nothing,here\n1,2\n")}, follow_redirects=False
    )
    assert "column" in answer(client, bad.headers["location"].removesuffix("/answer"))


@in_a_file
def test_a_hundred_ballots_lead_to_two_answers(client, store, monkeypatch):
    """While one is worked out, those who come ask for one more: of all that came by then."""
    worked_out, go_on = [], threading.Event()

    async def found(self, decision):
        worked_out.append(decision.revision)
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return {"problem": "none"}

    monkeypatch.setattr(Answers, "_found", found)
    people = [f"v{k}" for k in range(100)]
    organiser, secrets, _ = set_up(client, voters="\n".join(people), shown="")
    for secret in secrets:
        fields = ballot(client, f"/v/{secret}", {"Bats": 1})
        assert send(client, f"/v/{secret}", fields | {"act": "submit"}).status_code == 200
    go_on.set()
    assert "None" in answer(client, f"/o/{organiser}")
    assert store.answered(store.by_organiser(organiser)) == 100
    assert len(worked_out) == 2
    assert worked_out[1] == 100


@in_a_file
def test_who_asks_for_many_answers_does_not_keep_others_waiting(store, monkeypatch):
    worked_out, go_on = [], threading.Event()

    async def found(self, decision):
        worked_out.append(decision.id)
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return {"problem": "none"}

    monkeypatch.setattr(Answers, "_found", found)
    greedy = [store.upload(Setup("Large"), "x.csv", b"x") for _ in range(25)]
    other = store.upload(Setup("Small"), "x.csv", b"x")
    page = application(store)
    with TestClient(page, client=("192.0.2.1", 1)) as client:
        for secret in greedy:
            client.get(f"/o/{secret}/state")
        client = TestClient(page, client=("192.0.2.2", 1))
        client.get(f"/o/{other}/state")
        go_on.set()
        answer(client, f"/o/{other}")
    assert store.by_organiser(other).id in worked_out[:3]  # after the one at work, and one more of the first
    assert len(worked_out) <= 20 + 1


def test_what_nobody_has_seen_is_named(client):
    organiser, (ada, ben), _ = set_up(client)
    vote(client, f"/v/{ada}", {"Bats": 1, "Water tests": 2})
    assert "Not seen by anybody yet: =HYPERLINK(1)." in answer(client, f"/o/{organiser}")
    assert "Not seen by anybody yet: =HYPERLINK(1)." in client.get(f"/o/{organiser}/report.html").text
    assert client.get(f"/o/{organiser}/answer.json").json()["unseen"] == ["=HYPERLINK(1)"]
    vote(client, f"/v/{ben}", {"=HYPERLINK(1)": 1})
    assert "Not seen by anybody" not in answer(client, f"/o/{organiser}")


def test_an_answer_that_is_not_clear_says_so_first(client):
    organiser, (ada, ben), _ = set_up(client)
    vote(client, f"/v/{ada}", {"Bats": 1, "Water tests": 2, "=HYPERLINK(1)": 3})
    vote(client, f"/v/{ben}", {"Bats": 3, "Water tests": 2, "=HYPERLINK(1)": 1}, seen="some")
    page = answer(client, f"/o/{organiser}")
    assert re.search(r"Too close to call: .* is in front, but has only a \d\d% chance of being best\.", page)


def test_in_which_words_an_answer_is_not_clear():
    one = {"winner": "x", "p_best": {"x": 0.18, "y": 0.17}}
    assert unclear([one]) == "Too close to call: x is in front, but has only an 18% chance of being best."
    assert unclear([one | {"p_best": {"x": 0.5}}]) == ""
    assert unclear([one, one]) == unclear([]) == unclear([{"winner": "x"}]) == ""
    two = {"winner": "x", "chosen": ["x", "y"], "p_best": {"x": 0.9}, "p_chosen": {"x": 0.9, "y": 0.004}}
    assert unclear([two]).endswith("y is in front, but has only a chance of less than 1% of being among the best 2.")


def test_the_example_is_there_from_the_first_start_on(store):
    shown = make_demo(store)
    again = make_demo(store)
    assert again == shown  # so that a second server on the same database does not take it away
    with TestClient(application(store, demo=again)) as client:
        assert again in client.get("/").text
        assert "Cheap water tests" in answer(client, f"/a/{again}")


def test_every_page_forbids_what_is_not_ours(client):
    organiser, (ada, _), _ = set_up(client)
    for path in ("/", "/new", f"/o/{organiser}", f"/v/{ada}", f"/o/{organiser}/answer", "/v/nothing"):
        response = client.get(path)
        rules = response.headers["content-security-policy"]
        assert "default-src 'none'" in rules
        assert "unsafe" not in rules
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        assert not re.search(r"<[^>]+ (style|on\w+)=", response.text), path
        assert "<script>" not in response.text


def test_forms_need_a_stamp_of_their_own_page(client):
    organiser, (ada, ben), _ = set_up(client)
    foreign = stamp(client.get(f"/v/{ben}").text)
    for given in ("", "x.y", foreign):
        response = client.post(f"/v/{ada}", data={"stamp": given, "act": "submit"})
        assert response.status_code == 403
    response = client.post(f"/o/{organiser}/do", data={"stamp": foreign, "act": "delete", "sure": "yes"})
    assert response.status_code == 403
    elsewhere = client.post("/new", data=NEW, headers={"sec-fetch-site": "cross-site"})
    assert elsewhere.status_code == 403


@in_a_file
def test_what_was_open_for_days_is_shown_again_filled_in(client, store, monkeypatch):
    organiser, (ada, _), (join,) = set_up(client, limit="3", title="Before")
    pages = {path: stamp(client.get(path).text) for path in (f"/v/{ada}", f"/j/{join}", "/new", f"/o/{organiser}")}
    fields = {path: ballot(client, path, {"Bats": 2}) | {"act": "submit"} for path in (f"/v/{ada}", f"/j/{join}")}
    now = time.time()
    monkeypatch.setattr(links_module, "time", SimpleNamespace(time=lambda: now + 3 * 86400))
    for path, given in fields.items():
        shown = client.post(path, data=given | {"stamp": pages[path]})
        assert shown.status_code == 400
        assert "open for more than a day" in shown.text
        assert "<option selected>2</option>" in shown.text
        assert store.number_of_ballots(store.by_organiser(organiser)) == (path[1] == "j")
        assert "ballot is in" in client.post(path, data=given | {"stamp": stamp(shown.text)}).text
    shown = client.post("/new", data=NEW | {"title": "Much to write", "stamp": pages["/new"]})
    assert "open for more than a day" in shown.text
    assert 'value="Much to write"' in shown.text
    assert send(client, "/new", NEW).status_code == 200
    late = client.post(f"/o/{organiser}/do", data={"stamp": pages[f"/o/{organiser}"], "act": "close"})
    assert late.status_code == 403


def test_secrets_do_not_stand_in_for_each_other(client):
    organiser, (ada, _), (join,) = set_up(client, limit="5")
    for role, own in (("o", organiser), ("v", ada), ("j", join)):
        for other in "ovja":
            expected = 200 if role == other else 404
            assert client.get(f"/{other}/{own}").status_code == expected
        for broken in (own[:-1], own + "A", own.swapcase(), "", "%00", "..%2f..%2fetc"):
            assert client.get(f"/{role}/{broken}").status_code in (404, 405)


@in_a_file
def test_secrets_are_not_in_the_database(client, tmp_path):
    organiser, people, joined = set_up(client, limit="5")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (organiser, *people, *joined):
        assert secret.encode() not in content


def test_what_is_too_large_is_refused(client):
    response = client.post(
        "/new", content=b"x" * 2_000_000, headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert response.status_code == 413
    response = client.post("/file", content=b"x", headers={"content-length": "99999999"})
    assert response.status_code == 413


def test_too_many_requests_are_told_to_wait(client):
    _, (ada, _), _ = set_up(client)
    replies = [client.get(f"/v/{ada}") for _ in range(80)]
    assert replies[0].status_code == 200
    assert replies[-1].status_code == 429
    assert int(replies[-1].headers["retry-after"]) >= 1


def test_many_people_behind_one_address_share_an_open_link(client):
    _, _, (join,) = set_up(client, voters="", limit="200")
    assert {client.get(f"/j/{join}").status_code for _ in range(200)} == {200}


def test_a_ballot_sent_twice_by_the_open_link_counts_once(client, store):
    organiser, _, (join,) = set_up(client, voters="", limit="5")
    link = f"/j/{join}"
    fields = ballot(client, link, {"Bats": 1, "Water tests": 2})
    review = send(client, link, fields | {"act": "review"})
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', review.text))
    once, twice = (client.post(link, data=hidden | {"act": "submit"}) for _ in range(2))
    assert links(once.text, "v") == links(twice.text, "v")
    assert store.number_of_ballots(store.by_organiser(organiser)) == 1


def test_receipts_outlive_anonymous_ballots(client):
    organiser, _, (join,) = set_up(client, voters="", limit="5", ballots="anonymous")
    for _ in range(3):
        (receipt,) = links(vote(client, f"/j/{join}", {"Bats": 1, "Water tests": 2}).text, "v")
    late = {"stamp": stamp(client.get(f"/v/{receipt}").text), "act": "submit"}
    send(client, f"/o/{organiser}", {"act": "close"}, f"/o/{organiser}/do")
    assert "Voting is over. Your ballot is in." in client.get(f"/v/{receipt}").text
    assert "The one that you gave before counts." in client.post(f"/v/{receipt}", data=late).text
    assert "Bats" in answer(client, f"/v/{receipt}")


@pytest.mark.parametrize("ballots", ["named", "anonymous"])
def test_a_few_hidden_ballots_tell_nothing(client, ballots):
    """With one or two, the answer and the saved votes would tell who gave which."""
    organiser, people, _ = set_up(client, ballots=ballots, voters="Ada\nBen\nCleo")
    page = f"/o/{organiser}"
    assert "no answer before 3 have voted" in client.get(f"/v/{people[0]}").text
    for k, secret in enumerate(people):
        vote(client, f"/v/{secret}", {"Bats": 1, "Water tests": 2})
        text = answer(client, page)
        assert ("Fewer than 3 have voted" in text) == (k < 2)
        assert ("Not seen by anybody" in text) == (k == 2)  # it would tell what the first have seen
        assert ("winner" in client.get(f"{page}/answer.json").json()) == (k == 2)
    other, (ada, _), _ = set_up(client, ballots=ballots)
    vote(client, f"/v/{ada}", {"Bats": 1, "Water tests": 2})
    send(client, f"/o/{other}", {"act": "close"}, f"/o/{other}/do")
    for refused in (
        send(client, f"/o/{other}", {"act": "save"}, f"/o/{other}/do"),
        client.get(f"/o/{other}/votes.csv"),
    ):
        assert refused.status_code == 400
        assert "Bats" not in refused.text


def test_numbers_are_never_used_again(store):
    """Else a link to what was deleted could become one to somebody else's decision."""
    one, _ = store.create(Setup("One", limit=1), ["x", "y"], [])
    first = store.by_organiser(one)
    store.delete(first)
    other, _ = store.create(Setup("Other", limit=1), ["x", "y"], [])
    assert store.by_organiser(other).id > first.id
    store.keep_answer(first, 0, {"problem": "late"})
    assert store.answer(store.by_organiser(other)) is None


@in_a_file
def test_the_file_is_for_its_owner_alone(store, tmp_path):
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


@pytest.mark.parametrize(
    "fields",
    [
        {"deadline": "0001-01-01T00:00+01:00"},
        {"deadline": "9999-12-31T23:59-01:00"},
        {"words": "\n".join(f"w{k} = {k}" for k in range(100))},
        {"limit": "9" * 5000},
        {"choose": "²"},
        {"title": "\0\ud800"},
    ],
)
def test_odd_input_is_never_our_fault(client, fields):
    response = client.post(
        "/new",
        content="&".join(
            f"{quote(name)}={quote(value, errors='surrogatepass')}"
            for name, value in ({"stamp": stamp(client.get("/new").text)} | NEW | fields).items()
        ),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert response.status_code in (200, 400)


def test_odd_voters_of_odd_decisions_are_refused(client):
    organiser, _, _ = set_up(client)
    for voter in ("²", "9" * 30, "9" * 5000, "-1", "999"):
        response = send(client, f"/o/{organiser}", {"act": "renew", "voter": voter}, f"/o/{organiser}/do")
        assert response.status_code == 400


def test_downloads_are_not_kept_by_browsers(client):
    organiser, (ada, _), _ = set_up(client)
    vote(client, f"/v/{ada}", {"Bats": 1})
    for what in ("votes.csv", "answer.json", "report.html", "state"):
        headers = client.get(f"/o/{organiser}/{what}").headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


def test_a_form_of_the_open_link_cannot_take_the_place_of_another_voter(client, store):
    organiser, (ada,), (join,) = set_up(client, voters="Ada", limit="5")
    _, _, (other,) = set_up(client, voters="", limit="5")
    receipt = links(vote(client, f"/j/{other}", {"Bats": 1}).text, "v")[0]
    for taken in (ada, receipt):
        fields = ballot(client, f"/j/{join}", {"Bats": 1}) | {"act": "submit", "receipt": taken}
        refused = send(client, f"/j/{join}", fields)
        assert refused.status_code == 409
        assert "open the link again" in refused.text
    fields = ballot(client, f"/j/{join}", {"Bats": 1}) | {"act": "submit", "receipt": "/" * 32}
    assert "/v//" not in send(client, f"/j/{join}", fields).text
    assert store.number_of_ballots(store.by_organiser(organiser)) == 1


def test_answers_of_another_version_and_those_not_found_are_worked_out_anew(store):
    organiser, _ = store.create(Setup("T"), ["x", "y"], ["Ada"])
    decision = store.by_organiser(organiser)
    store.decide_again()
    store.keep_answer(decision, decision.revision, {"problem": "no answer was found in 60 seconds"})
    store.decide_again()
    assert store.answer(decision) is None
    store.keep_answer(decision, decision.revision, {"html": "<p>x</p>", "json": []})
    store.decide_again()
    assert store.answer(decision) is not None
    with store._database.write() as connection:
        connection.execute(sa.update(facts).where(facts.c.name == "answers of").values(value="0.0.1"))
    store.decide_again()
    assert store.answer(decision) is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Jean\u00a0Dupont", "Jean Dupont"),
        ("山田\u3000太郎", "山田 太郎"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u200db\u200c", "ab"),
        ("é\u200d\u200dé\u2060", "éé"),
        (" \u200d", ""),
    ],
)
def test_names_keep_what_is_seen(given, kept):
    assert clean_text(given, "the name", 200) == kept


@in_a_file
def test_ballots_with_too_many_ties_are_answered_by_a_quicker_rule(store):
    names = [f"paper {k}" for k in range(40)]
    organiser, made = store.create(Setup("T", readable=True), names, [f"V{k}" for k in range(5)])
    decision = store.by_organiser(organiser)
    for secret in made.values():
        given = {
            str(number): {"seen": "some", "rank": 1 + k // 8} for k, (number, _) in enumerate(decision.alternatives)
        }
        store.vote(store.by_voter(secret), given)
    with TestClient(application(store, seconds=12)) as client:
        page = answer(client, f"/o/{organiser}", 100)
        assert "by the quicker rule learned-universal" in page
        outcome = json.loads(client.get(f"/o/{organiser}/answer.json").text)
        assert outcome["rule"] == "learned-universal"
        assert set(outcome["winners"]) <= set(names[:8])
        assert "quicker rule" in client.get(f"/o/{organiser}/report.html").text


def test_what_is_said_of_a_single_alternative(client):
    organiser, (ada, _), _ = set_up(client)
    vote(client, f"/v/{ada}", {"Bats": 1})
    page = answer(client, f"/o/{organiser}")
    assert "Only Bats was seen so far, and there is nothing to compare it with." in page
    assert "Not seen by anybody yet: Water tests, =HYPERLINK(1)." in page


@in_a_file
def test_what_comes_too_late_is_refused_in_its_own_words(store):
    organiser, _ = store.create(Setup("T", named=False), ["x", "y"], ["Ada"])
    decision = store.by_organiser(organiser)
    store.close_voting(decision)
    with pytest.raises(InputError, match="voting is over; no alternatives were added"):
        store.add_alternatives(decision, ["z"])
    with pytest.raises(InputError, match="nobody can be added"):
        store.add_voters(decision, ["Ben"])


@in_a_file
def test_without_room_there_is_no_example(address):
    store = Store(address, gigabytes=1e-6)
    assert make_demo(store) == ""
    store.close()
