"""Numbers in forms: as people write them, and as they read them again."""

import csv
import html
import io

import pytest
from forms import NEW, answer, numbers, send, set_up, vote

from veritally.web.numbers import read_number, written

in_a_file = pytest.mark.parametrize("address", ["file"], indirect=True)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0,125", 0.125),
        ("1,25", 1.25),
        ("1000,5", 1000.5),
        (" 7 ", 7),
        ("1.000", 1),
        ("1e3", 1000),
        ("1000000000", 1e9),
    ],
)
def test_numbers_are_read_with_point_or_comma(text, number):
    assert read_number(text, "it") == number


@in_a_file
@pytest.mark.parametrize(("text", "could_be"), [("1,000", "1000 or 1;"), ("12,345", "12345 or 12.345;")])
def test_a_comma_that_may_be_of_thousands_is_asked_about(client, text, could_be):
    _, (ada, _), _ = set_up(client, kind="scores", seen="number")
    number = numbers(client, f"/v/{ada}")["Bats"]
    for seen, score in ((text, "1"), ("1", text)):
        refused = send(client, f"/v/{ada}", {f"seen-{number}": seen, f"score-{number}": score, "act": "review"})
        assert refused.status_code == 400
        assert could_be in html.unescape(refused.text)
    assert could_be in send(client, "/new", NEW | {"words": f"none = 0\nlots = {text}"}).text


@in_a_file
def test_large_numbers_are_shown_as_they_were_written(client):
    organiser, (ada, _), _ = set_up(client, kind="scores", seen="number", unit="visits")
    number = numbers(client, f"/v/{ada}")["Bats"]
    fields = {f"seen-{number}": "1234567", f"score-{number}": "2500000.5"}
    review = send(client, f"/v/{ada}", fields | {"act": "review"}).text
    assert "1234567 visits" in review
    assert ">2500000.5<" in review
    send(client, f"/v/{ada}", fields | {"act": "submit"})
    assert "Bats: 2500000.5, seen: 1234567" in client.get(f"/o/{organiser}").text
    assert written(0.1) == "0.1"


@in_a_file
def test_a_word_has_one_count(client):
    refused = send(client, "/new", NEW | {"words": "none = 0\nlots = 5\nlots = 9"})
    assert refused.status_code == 400
    assert "'lots' stands there twice" in html.unescape(refused.text)


@in_a_file
def test_ranks_with_gaps_say_an_order_and_no_more(client):
    organiser, (ada, _), _ = set_up(client)
    vote(client, f"/v/{ada}", {"Bats": 3, "Water tests": 2, "=HYPERLINK(1)": 3})
    page = answer(client, f"/o/{organiser}")
    assert "ranks start at 1" not in page
    rows = csv.DictReader(io.StringIO(client.get(f"/o/{organiser}/votes.csv").text))
    assert {row["alternative"]: row["rank"] for row in rows} == {"Bats": "2", "Water tests": "1", "'=HYPERLINK(1)": "2"}
    assert client.get(f"/v/{ada}").text.count("<option selected>3") == 2  # as it was given
