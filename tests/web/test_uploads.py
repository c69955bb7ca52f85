"""Vote files in place of voters: in every form, also where it must be said how they are read."""

import html
import json

import pytest
from click.testing import CliRunner
from forms import answer, send, stamp

import veritally as vt
from veritally.cli import cli

in_a_file = pytest.mark.parametrize("address", ["file"], indirect=True)
WIDE = b"voter,A,B,C\nann,1,2,3\nbo,2,1,3\ncy,2,1,3\n"
OWN = b"who,what,good\nu,A,7\nu,B,5\nw,A,6\nw,B,1\n"
SOME = b"# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n" + b"".join(
    f"# ALTERNATIVE NAME {k}: {name}\n".encode() for k, name in enumerate("ABC", 1)
)


def upload(client, name, content, **fields):
    """Send a vote file; return the link of its organiser."""
    given = {"stamp": stamp(client.get("/").text)} | fields
    response = client.post("/file", data=given, files={"file": (name, content)}, follow_redirects=False)
    assert response.status_code == 303, response.text
    return response.headers["location"].removesuffix("/answer")


def outcome(client, link):
    answer(client, link)
    return json.loads(client.get(f"{link}/answer.json").text)


@in_a_file
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("wide.csv", WIDE, {"ballots": "value"}),
        ("wide.csv", WIDE, {"ballots": "rank"}),
        ("wide.csv", WIDE, {"ballots": "value", "lower_is_better": True}),
        ("some.soi", SOME + b"2: 1,2\n1: 2,1,3\n", {"unranked": "below"}),
        ("own.csv", OWN, {"columns": {"voter": "who", "alternative": "what", "value": "good"}}),
    ],
)
def test_it_can_be_said_how_a_file_is_read(client, tmp_path, name, content, said):
    fields = {key: "yes" if value is True else value for key, value in said.items() if key != "columns"}
    if "columns" in said:
        fields["columns"] = "\n".join(f"{ours} = {theirs}" for ours, theirs in said["columns"].items())
    path = tmp_path / name
    path.write_bytes(content)
    expected = json.loads(json.dumps(vt.decide(vt.read(path, **said)).to_dict()))
    link = upload(client, name, content, **fields)
    assert outcome(client, link) == expected
    link = upload(client, name, content)  # the page asks, and is told afterwards
    if "problem" in outcome(client, link):
        assert "<details open>" in answer(client, link)
    send(client, f"{link}/answer", fields | {"act": "read"}, f"{link}/do")
    assert outcome(client, link) == expected
    page = answer(client, link)
    assert "<details open>" not in page
    assert "lower_is_better" not in said or 'value="yes" checked' in page


@in_a_file
def test_more_than_one_is_chosen_of_a_file(client):
    link = upload(client, "wide.csv", WIDE, ballots="value", choose="2")
    assert outcome(client, link)["chosen"] == ["C", "A"]
    assert "P(best 2)" in answer(client, link)


@in_a_file
def test_odd_ways_to_read_a_file_are_refused(client):
    for fields in (
        {"ballots": "novel"},
        {"unranked": "1"},
        {"columns": "voter"},
        {"columns": "x" * 2001},
        {"choose": "0"},
    ):
        given = {"stamp": stamp(client.get("/").text)} | fields
        assert client.post("/file", data=given, files={"file": ("wide.csv", WIDE)}).status_code == 400
    link = upload(client, "wide.csv", WIDE, ballots="value", columns="nonsense = A")
    assert "nonsense" in outcome(client, link)["problem"]
    problem = html.unescape(answer(client, upload(client, "wide.csv", WIDE)))
    assert ">wide.csv: " in problem  # named as it is called


@in_a_file
def test_many_decisions_say_which_is_which_and_notes_name_the_file_as_it_is_called(client):
    rows = [
        f"q{d},{judge},{model},{score}" for d in range(2) for judge in "uv" for model, score in (("A", 3 + d), ("B", 2))
    ]
    link = upload(client, "scores.csv", "\n".join(["decision,judge,model,score", *rows]).encode())
    assert [one["decision"] for one in outcome(client, link)] == ["q0", "q1"]
    page = html.unescape(answer(client, link))
    assert "scores.csv: judge is read as" in page
    assert "veritally-" not in page


@in_a_file
def test_many_decisions_are_answered_as_by_the_command(client, tmp_path):
    given = vt.Scenario(voters=3, alternatives=3, sigma=3.0, votes="rankings")
    path = tmp_path / "votes.csv"
    vt.write(vt.simulate(given, instances=25, seed=1).profile, path)
    link = upload(client, "votes.csv", path.read_bytes())
    lines = CliRunner().invoke(cli, ["decide", str(path), "--json"]).stdout.splitlines()
    assert outcome(client, link) == list(map(json.loads, lines))
    assert len(lines) == 25


@in_a_file
def test_a_tie_is_not_broken_by_the_order_of_names(client):
    for first, second in ("AB", "BA"):
        votes = f"voter,{first},{second}\nu,1,2\nv,2,1\n".encode()
        link = upload(client, "tied.csv", votes, ballots="rank")
        assert (outcome(client, link)["winner"], set(outcome(client, link)["winners"])) == (None, {"A", "B"})
        assert f"Tie: {first} and {second}" in answer(client, link)
