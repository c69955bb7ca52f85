"""Attacks: wrong secrets, broken requests and hostile files never fail the page, nor show another's data."""

import asyncio
import base64
import csv
import gzip
import html
import io
import json
import random
import re
import socket
import time
import zipfile
from collections import Counter
from urllib.parse import quote, urlencode

import httpx2
import pytest
from servers import Server
from starlette.testclient import TestClient

from veritally.web import app
from veritally.web import links as links_module
from veritally.web.answers import worked_out
from veritally.web.app import application
from veritally.web.decisions import Setup
from veritally.web.limits import Limit, neighbourhood
from veritally.web.store import Store

FORM = {"content-type": "application/x-www-form-urlencoded"}
MARKER = "Marker-of-another-decision"
NAMES = ["Bats", "Water"]
VOTES = b"voter,alternative,rank,count\na,x,1,3\na,y,2,3\nb,x,1,2\nb,y,2,2\n"
ADDRESSES = iter(range(10**9))
in_a_file = pytest.mark.parametrize("address", ["file"], indirect=True)


class Page:
    """A decision of somebody else's, with marks all over; and one of the attacker's own."""

    def __init__(self, store):
        self.store = store
        self.victim, links = store.create(
            Setup(f"{MARKER} title", text=f"{MARKER} text", readable=True, shown=True, limit=9),
            [f"{MARKER} one", f"{MARKER} two"],
            [f"{MARKER} voter"],
        )
        self.victims = (self.victim, *links.values())
        self.organiser, links = store.create(Setup("Own", readable=True, shown=True, limit=4000), NAMES, ["Ada"])
        self.voter, self.join = links["Ada"], links[""]
        decision = store.by_organiser(self.organiser)
        self.ada = store.people(decision)[0][0]
        self.shared = store.share(decision)
        self.numbers = [number for number, _ in decision.alternatives]
        self.file = store.upload(Setup("votes"), "votes.csv", VOTES)
        self.application = application(store)

    def give_answers(self):
        """Keep an answer to each decision, so that its pages show one."""
        for secret in (self.organiser, self.file):
            decision = self.store.by_organiser(secret)
            found = worked_out(Setup("x"), list(csv.DictReader(io.StringIO(VOTES.decode()))), None)
            assert found["html"]
            self.store.keep_answer(decision, decision.revision, found)

    def refresh(self):
        """Make links anew that an attack took back, and open voting again."""
        decision = self.store.by_organiser(self.organiser)
        if decision.closed:
            self.store.reopen(decision)
        if self.store.by_answer(self.shared) is None:
            self.shared = self.store.share(decision)
        if self.store.by_voter(self.voter) is None:
            self.voter = self.store.renew(decision, self.ada)[1]

    def stamp(self, secret):
        return links_module.Stamps(self.store.key).stamp(secret)

    def ask(self, method, path, body=b"", headers=(), stamp=None):
        """Send a request past any server, from an address that never came before; return status, headers, text."""
        secret = [*path.split("?")[0].split("/"), "", ""][2]
        if stamp is not None:
            body = f"stamp={self.stamp(secret)}&".encode() + body
        return asyncio.run(_call(self.application, method, path, body, list(headers)))


async def _call(application, method, path, body, headers):
    raw = path.encode("utf-8", "surrogatepass")
    k = next(ADDRESSES)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path.split("?")[0],
        "raw_path": raw,
        "query_string": raw.partition(b"?")[2],
        "root_path": "",
        "headers": [(b"host", b"page.example"), *headers],
        "client": (f"10.{k >> 16 & 255}.{k >> 8 & 255}.{k & 255}", 1),
        "server": ("127.0.0.1", 80),
    }
    parts = [body[k : k + 65536] for k in range(0, len(body), 65536)] or [b""]
    sent, answer = iter(range(len(parts))), {"status": 0, "headers": [], "body": b""}

    async def receive():
        k = next(sent, None)
        if k is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts[k], "more_body": k + 1 < len(parts)}

    async def send(message):
        if message["type"] == "http.response.start":
            answer["status"], answer["headers"] = message["status"], message["headers"]
        else:
            answer["body"] += message.get("body", b"")

    await application(scope, receive, send)
    return answer["status"], dict(answer["headers"]), answer["body"].decode("utf-8", "replace")


@pytest.fixture
def page(store):
    return Page(store)


def routes(page):
    """Every route that takes a secret: its place, its methods, and a secret that opens it."""
    return [
        ("/o/{}", ("GET",), page.organiser),
        ("/o/{}/do", ("POST",), page.organiser),
        *((f"/o/{{}}/{what}", ("GET",), page.organiser) for what in ("answer", "state", "answer.json", "report.html")),
        ("/o/{}/votes.csv", ("GET",), page.organiser),
        ("/v/{}", ("GET", "POST"), page.voter),
        *((f"/v/{{}}/{what}", ("GET",), page.voter) for what in ("answer", "state", "answer.json", "report.html")),
        ("/j/{}", ("GET", "POST"), page.join),
        ("/a/{}", ("GET",), page.shared),
        *((f"/a/{{}}/{what}", ("GET",), page.shared) for what in ("answer", "state", "answer.json", "report.html")),
    ]


def test_every_route_refuses_secrets_that_are_not_its_own(page):
    own = {page.organiser, page.voter, page.join, page.shared}
    for place, methods, secret in routes(page):
        foreign = own - {secret}
        wrong = [secret[:-1], secret[:5], secret + "x", secret.swapcase(), "A" * 32, "é" * 32, "\0", "x" * 60_000]
        for bad in (*foreign, *wrong):
            for method in methods:
                status, _, text = page.ask(method, place.format(bad), stamp=method == "POST" or None, headers=())
                assert status == 404, (place, bad[:40])
                assert MARKER not in text
                assert secret not in text
        for method in methods:
            status, _, text = page.ask(method, place.format(secret), b"act=review", stamp=method == "POST" or None)
            assert status in (200, 400), place


def test_secrets_that_were_taken_back_open_nothing(page):
    store = page.store
    decision = store.by_organiser(page.organiser)
    store.renew(decision, store.people(decision)[0][0])
    assert page.ask("GET", f"/v/{page.voter}")[0] == 404
    assert page.ask("POST", f"/v/{page.voter}", b"act=submit", stamp=True)[0] == 404
    store.unshare(decision)
    assert page.ask("GET", f"/a/{page.shared}")[0] == 404
    store.delete(decision)
    for place, methods, secret in routes(page):
        for method in methods:
            status, _, text = page.ask(method, place.format(secret), b"act=delete&sure=yes", stamp=True)
            assert status == 404, place
            assert "Own" not in text


def test_stamps_grow_old(page, monkeypatch):
    stamps = links_module.Stamps(page.store.key)
    stamp = stamps.stamp("x")
    now = time.time()
    for hours, holds in ((0, True), (23, True), (25, False), (-1, False)):
        monkeypatch.setattr(links_module.time, "time", lambda hours=hours: now + hours * 3600)
        assert stamps.holds("x", stamp) is holds
    monkeypatch.undo()
    for odd in (
        "",
        ".",
        "f" * 5000,
        "f" * 5000 + ".x",
        "-1.x",
        "١.x",
        "\ud800.x",
        stamp[:-1],
        stamp.upper(),
        stamp[1:],
    ):
        assert not stamps.holds("x", odd)
        status, _, _ = page.ask("POST", f"/v/{page.voter}", f"stamp={quote(odd, errors='surrogatepass')}".encode())
        assert status == 403


def fields_of(page):
    return [f"seen-{page.numbers[0]}", f"rank-{page.numbers[0]}", f"rank-{page.numbers[1]}", "act", "receipt", "title"]


ODD = [
    "NaN", "inf", "-inf", "1e400", "-1e400", "1e308", "0x10", "1_0", "١٢", "²", "½", "−1", "1,5", "9" * 5000,
    "\0", "a\0b", "\ud800", "\u202egnp.exe", "\u200b\u200d\ufeff", "e\u0301" * 50, "<script>alert(1)</script>",
    "'; DROP TABLE voters; --", "{{7*7}}", "${7*7}", "%s%n", "../../etc/passwd", "=1+1", "@SUM(A1)",
    "\r\nSet-Cookie: a=b", "submit", "review", "change", "a lot", "1", "2", "yes", "delete", "", " ", "\n\n",
    "💥" * 300,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["ranking", "scores", "favourite"])
def test_odd_values_are_refused_or_kept_as_they_are(page, kind):
    organiser, links = page.store.create(Setup("Odd", kind=kind, words={}, readable=True), NAMES, ["Ada"])
    numbers = [number for number, _ in page.store.by_organiser(organiser).alternatives]
    for value in ODD:
        for field in ("seen", "rank", "score", "favourite"):
            fields = {f"seen-{numbers[0]}": "3", f"rank-{numbers[0]}": "1", f"score-{numbers[0]}": "1", "act": "submit"}
            fields[f"{field}-{numbers[0]}" if field != "favourite" else field] = value
            body = urlencode(fields, errors="surrogatepass").encode()
            status, _, text = page.ask("POST", f"/v/{links['Ada']}", body, stamp=True)
            assert status in (303, 400), (field, value)
            assert "<script>alert" not in text
            assert "49" not in re.findall(r'value="(49)"', text)
    given = page.store.by_voter(links["Ada"]).given
    assert json.dumps(given, allow_nan=False)


MARKS = "=+-@＝＋－＠\t\r"  # with which a spreadsheet begins to calculate


def test_odd_names_are_cleaned_escaped_and_safe_in_spreadsheets(page):
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x","y")']
    formulas += ["Cyd;=2+5", "Cyd;'=2+5", "Cyd; -1;@x", "Cyd;x", "＝1+1", "Cyd;＋1"]
    fields = {
        "title": "<img src=x onerror=alert(1)>\u202e",
        "alternatives": "\n".join([*formulas, "a\u200bb", "ab", "\u202eabc", "é", "e\u0301"]),
        "voters": "\n".join([*formulas, "<b>Eve</b>"]),
        "ballots": "readable",
    }
    status, _, text = page.ask("POST", "/new", urlencode(fields).encode(), stamp=True)
    assert status == 200
    assert "<img src=x" not in text
    assert "<b>Eve</b>" not in text
    assert "\u202e" not in text
    table = base64.b64decode(
        re.search(r"data:text/csv;charset=utf-8;base64,([\w+/=]+)", html.unescape(text))[1]
    ).decode()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == len(formulas) + 1 - 1  # "\t=1" has an empty first column
    assert len({row["voter"] for row in rows}) == len(rows)
    assert not [cell for cell in by_semicolons(table) if cell[:1] in set(MARKS)]
    assert not [row for row in rows if row["voter"][0] in MARKS]
    assert rows[-4]["voter"] == "Cyd;x"
    organiser = re.search(r"/o/([\w-]+)", text)[1]
    decision = page.store.by_organiser(organiser)
    names = [name for _, name in decision.alternatives]
    assert names.count("ab") == 1
    assert "abc" in names
    assert names.count("é") == 1
    assert "e\u0301" not in names
    for voter in re.findall(r"/v/([\w-]+)", text)[:2]:
        given = {f"rank-{number}": "1" for number, _ in decision.alternatives}
        given |= {f"seen-{number}": "a lot" for number, _ in decision.alternatives} | {"act": "submit"}
        assert page.ask("POST", f"/v/{voter}", urlencode(given).encode(), stamp=True)[0] == 303
    _, headers, votes = page.ask("GET", f"/o/{organiser}/votes.csv")
    assert b"attachment" in headers[b"content-disposition"]
    cells = [cell for row in csv.reader(io.StringIO(votes)) for cell in row]
    assert not [cell for cell in (*cells, *by_semicolons(votes)) if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]


def by_semicolons(table):
    """Return the cells of a table as a spreadsheet has them where commas are decimal."""
    return [cell.strip() for row in csv.reader(io.StringIO(table), delimiter=";") for cell in row]


def multipart(*parts, boundary="b"):
    return b"".join(f"--{boundary}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Starlette leaves files of broken forms to be collected
def test_malformed_bodies_are_refused(page):
    disposition = b'Content-Disposition: form-data; name="file"; filename="v.csv"\r\n\r\n'
    kind = (b"content-type", b"multipart/form-data; boundary=b")
    whole = multipart(disposition + b"a,b")
    bodies = [
        (whole, (b"content-type", b"multipart/form-data")),
        (whole, (b"content-type", b"multipart/form-data; boundary=")),
        (whole, (b"content-type", b"multipart/form-data; boundary=\xff\xfe")),
        (whole, (b"content-type", b"multipart/form-data; boundary=" + b"x" * 5000)),
        (whole, (b"content-type", b"multipart/form-data; boundary=b; charset=nonsense")),
        (whole, (b"content-type", b"multipart/form-data; boundary=b; charset=rot13")),
        (whole, (b"content-type", b"application/json")),
        (whole[:-10], kind),
        (whole[:20], kind),
        (b"--b\r\n\r\n\r\n--b--", kind),
        (b"--c\r\n" + whole, kind),
        (multipart(b"Content-Disposition: form-data\r\n\r\nx"), kind),
        (multipart(b"Content-Disposition: form-data; name=\xff\r\n\r\nx"), kind),
        (multipart(b'Content-Disposition: form-data; name="stamp"\r\n\r\n' + b"x" * 1_100_000), kind),
        (multipart(*[b'Content-Disposition: form-data; name="a"\r\n\r\nx'] * 50), kind),
        (multipart(*[disposition + b"x"] * 5), kind),
        (multipart(b"X: " + b"y" * 200_000 + b"\r\n" + disposition), kind),
        (multipart(b"X: y\r\n" * 20_000 + disposition), kind),
        (b"", kind),
        (b"\0" * 1000, kind),
        (b"a=b&" * 100_000, (b"content-type", b"application/x-www-form-urlencoded")),
    ]
    for body, header in bodies:
        headers = [header, (b"content-length", str(len(body)).encode())]
        status, _, text = page.ask("POST", "/file", body, headers)
        assert status in (400, 403, 413, 415), (body[:50], header, status)
        assert "Traceback" not in text
    for length in ((), [(b"content-length", b"-1")], [(b"content-length", b"\xb2")], [(b"content-length", b"9" * 30)]):
        assert page.ask("POST", "/file", whole, [kind, *length])[0] == 413
    assert page.ask("POST", "/new", b"a=b&" * 3000)[0] == 400
    assert page.ask("POST", "/new", b"x" * 1_000_001)[0] == 413
    packed = gzip.compress(urlencode({"title": "x" * 10_000_000}).encode())
    assert page.ask("POST", "/new", packed, [(b"content-encoding", b"gzip")])[0] == 403  # it is not unpacked


def test_fields_given_twice_count_once(page):
    first, second = page.numbers
    body = f"rank-{first}=1&rank-{first}=2&seen-{first}=a+lot&act=review&act=submit".encode()
    assert page.ask("POST", f"/v/{page.voter}", body, stamp=True)[0] == 303
    assert page.store.by_voter(page.voter).given[str(first)]["rank"] == 2
    assert "rank" not in page.store.by_voter(page.voter).given[str(second)]


def everywhere(page):
    """Every route, also those without a secret, and those of a file."""
    own = [("/", ("GET",), ""), ("/new", ("GET", "POST"), ""), ("/file", ("POST",), "")]
    own += [(f"/static/{name}", ("GET",), "") for name in ("page.js", "report.css")]
    parts = ("", "/answer", "/state", "/answer.json", "/report.html", "/votes.csv")
    own += [(f"/o/{{}}{part}", ("GET",), page.file) for part in parts]
    return [*routes(page), *own, ("/o/{}/do", ("POST",), page.file), ("/o/{}", ("GET",), page.organiser)]


def fuzzed(page, rng):
    """Return a random request: something near to what a browser sends; and the route that it is near to."""
    ways = [(method, place, secret) for place, methods, secret in everywhere(page) for method in methods]
    method, place, secret = rng.choice(ways + [way for way in ways if way[0] == "POST"] * 3)
    path = place.format(secret)
    if rng.random() < 0.25:  # another link, another end
        secret = rng.choice([page.organiser, page.voter, page.join, page.shared, "x", rng.choice(ODD), secret[:-1]])
        ends = ["", "/", "/do", "/answer", "/state", "/answer.json", "/votes.csv", "/" + rng.choice(ODD)]
        path = f"/{rng.choice(['o', 'v', 'j', 'a', 'new', 'file', '%00', rng.choice(ODD)])}/{secret}{rng.choice(ends)}"
    if rng.random() < 0.1:
        path = "".join(x if rng.random() < 0.97 else chr(rng.randrange(0x3000)) for x in path)
    path = "/" + path.lstrip("/") + (f"?{rng.choice(ODD)}" if rng.random() < 0.1 else "")
    if rng.random() < 0.1:
        method = rng.choice(["HEAD", "PUT", "DELETE", "OPTIONS", "X" * 50, "GET", "POST"])
    fields = fuzzed_fields(page, rng, place)
    if rng.random() < 0.95:
        fields["stamp"] = page.stamp(secret)
    as_file = rng.random() < (0.9 if place == "/file" else 0.05)
    body = multipart(*fuzzed_parts(fields, rng)) if as_file else urlencode(fields, errors="surrogatepass").encode()
    if rng.random() < 0.1:
        body = bytes(x if rng.random() < 0.95 else rng.randrange(256) for x in body)
    headers = [(b"content-length", str(len(body)).encode())] if rng.random() < 0.9 else []
    headers += [(b"content-type", b"multipart/form-data; boundary=b")] if as_file else []
    for name in (b"content-type", b"sec-fetch-site", b"range", b"if-none-match", b"accept-encoding", b"cookie"):
        if rng.random() < 0.05:
            some = [
                b"multipart/form-data; boundary=x",
                b"same-origin",
                b"bytes=0-1,5-2",
                b"\xff\xfe",
                b"*",
                b"a" * 3000,
            ]
            headers.append((name, rng.choice(some)))
    if rng.random() < 0.1:
        headers.append((b"host", rng.choice([b"", b"[::1", b"a/b", b"a@b:c", b"\xff", b"x" * 3000, b"a b"])))
    return method, path, body, headers, (place, secret == page.file)


def fuzzed_fields(page, rng, place):
    """Return what a form of this place may send, with something odd in it."""
    names = [*fields_of(page), "alternatives", "voters", "voter", "limit", "deadline", "words", "seen", "kind"]
    names += ["choose", "ballots", "unranked", "columns", "lower_is_better"]
    acts = ["voters", "renew", "copy", "share", "unshare", "alternatives", "reopen", "close", "limit", "save", "read"]
    fields = {"title": "T", "alternatives": "x\ny", "voters": "Eve", "voter": str(page.ada), "limit": "9"}
    fields = fields if place in ("/new", "/o/{}/do") else {}
    fields |= {f"seen-{number}": "a lot" for number in page.numbers} | {f"rank-{page.numbers[1]}": "1"}
    if rng.random() < 0.6:
        fields |= {rng.choice(names): rng.choice([*ODD, *NAMES]) for _ in range(rng.randrange(4))}
    if rng.random() < 0.9:
        fields["act"] = rng.choice(acts if place.startswith("/o/") else ["submit", "submit", "review", "again"])
    return fields


def fuzzed_parts(fields, rng):
    """Return the parts of a form with a file."""
    for name, value in fields.items():
        yield f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode("utf-8", "surrogatepass")
    name = rng.choice(["votes.csv", "votes.csv", "a.json", "b.xlsx", "c.soc", *ODD])
    content = rng.choice([VOTES, b"", b"\0", HOSTILE["names.csv"](), HOSTILE["odd.soc"](), rng.randbytes(500)])
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    yield head.encode("utf-8", "surrogatepass") + content


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Starlette leaves files of broken forms to be collected
@pytest.mark.parametrize(("number", "least"), [(400, 1), pytest.param(10_000, 50, marks=pytest.mark.slow)])
def test_fuzzed_requests_never_fail_nor_show_what_is_anothers(page, number, least):
    rng = random.Random(number)
    page.give_answers()
    seen, accepted = Counter(), Counter()
    for k in range(number):
        page.refresh()
        method, path, body, headers, near = fuzzed(page, rng)
        status, sent, text = page.ask(method, path, body, headers)
        assert 200 <= status < 500, (k, method, path, body, headers, text)
        assert MARKER not in text, (k, method, path)
        assert not any(secret in text for secret in page.victims)
        if b"content-security-policy" in sent:
            assert sent[b"referrer-policy"] == b"no-referrer"
        seen[status] += 1
        accepted[method, *near] += status < 400
    assert {200, 303, 400, 403, 404, 405} <= set(seen)
    assert seen[404] < number / 3
    for place, methods, secret in everywhere(page):
        for method in methods:
            assert accepted[method, place, secret == page.file] >= least, (method, place)
    assert page.store.number_of_ballots(page.store.by_organiser(page.organiser)) >= least
    victim = page.store.by_organiser(page.victim)
    assert victim.revision == 0
    assert not page.store.number_of_ballots(victim)


@pytest.mark.parametrize("host", [b"", b"[::1", b"a/b", b"x/o", b"a@b:c", b"\xff", b"a b", b"page.example:99999"])
def test_odd_hosts_do_not_change_what_a_link_is_for(page, host):
    for path in (f"/v/{page.voter}", f"/v/{page.voter}/", f"/o/{page.organiser}"):
        status, headers, _ = asyncio.run(_call(page.application, "GET", path, b"", [(b"host", host)]))
        assert status in (200, 404)
        assert headers[b"referrer-policy"] == b"no-referrer"


@pytest.mark.parametrize(
    "path", ["%00", "..%2f..%2fapp.py", "..%5c", "x" * 5000, "é", "a\0b", "../app.py", "//etc/passwd"]
)
def test_static_files_are_ours_alone(page, path):
    assert page.ask("GET", f"/static/{path}")[0] == 404


@in_a_file
def test_scripts_styles_and_what_there_is_not_are_limited_and_no_pages(store, monkeypatch):
    monkeypatch.setattr(app, "Limit", lambda most, each_second: Limit(most / 100, each_second / 10_000))
    client = TestClient(application(store))
    for path, status in (("/static/page.js", 200), ("/static/report.css", 200), ("/static/x", 404), ("/nothing", 404)):
        reply = client.get(path)
        assert reply.status_code == status
        assert reply.headers["x-content-type-options"] == "nosniff"
    assert [client.get("/nothing").status_code for _ in range(26 + 4)] == [404] * 26 + [429] * 4
    assert client.get("/static/page.js").status_code == 429
    assert int(client.get("/nothing").headers["retry-after"]) >= 1


def raw(port, *pieces, wait=2.0):
    """Send bytes; return what comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        answer = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answer += part
        except OSError:
            pass
        return answer


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "page.db"
    server = Server(path, "--no-demo", "--seconds", "20", "--gigabytes", "1.5")
    server.path = path
    yield server
    if server.process.poll() is None:
        server.stop()


def test_broken_bytes_on_a_socket_do_not_stop_the_server(server):
    rng = random.Random(1)
    good = b"POST /new HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    odd = [
        b"\0" * 100,
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        good + b"Content-Length: 10\r\n\r\nabc",
        good + b"Content-Length: -5\r\n\r\nabc",
        good + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        good + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        good + b"Transfer-Encoding: chunked\r\n\r\n5\r\nstamp\r\n0\r\n\r\n",
        good + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        good + b"Transfer-Encoding: chunked\r\n\r\n" + b"fffff\r\n" + b"x" * 0xFFFFF + b"\r\n0\r\n\r\n",
        good + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /v/x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"GET /%ff%fe%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
    template = good + b"Content-Length: 20\r\n\r\nstamp=x&act=submit&a=b"
    for _ in range(200):
        changed = bytearray(template)
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        odd.append(bytes(changed[: rng.randrange(1, len(changed) + 1)]))
    for piece in odd:
        answer = raw(server.port, piece)
        assert not re.match(rb"HTTP/1.1 5", answer), (piece[:80], answer[:200])
    assert httpx2.get(f"{server.base}/").status_code == 200


def workbook(*rows):
    """Return a spreadsheet of these rows of XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="rId1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>'
            '<sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        with archive.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'<worksheet xmlns="{main}"><sheetData>'.encode())
            for row in rows:
                sheet.write(row)
            sheet.write(b"</sheetData></worksheet>")
    return file.getvalue()


def zip_bomb():
    """Return a spreadsheet of some hundred kilobytes that is a hundred megabytes."""
    return workbook(*[b'<row><c t="str"><v>' + b"a" * 30 + b"</v></c></row>"] * 1_700_000)


def wide_claim():
    """Return a spreadsheet whose two cells lie as far apart as can be."""
    return workbook(
        b'<row r="1"><c r="A1" t="str"><v>voter</v></c></row>',
        b'<row r="1048576"><c r="XFD1048576" t="str"><v>x</v></c></row>',
    )


HOSTILE = {
    "bomb.xlsx": zip_bomb,
    "claim.xlsx": wide_claim,
    "deep.json": lambda: b"[" * 1_000_000,
    "deeper.jsonl": lambda: b'{"a":' * 200_000,
    "surrogate.json": lambda: (
        rb'[{"voter":"\ud800","alternative":"x","rank":1},{"voter":"b","alternative":"\u0000","rank":1}]'
    ),
    "huge.parquet": lambda: b"PAR1" + b"\xff" * 100 + (0x7FFFFFF0).to_bytes(4, "little") + b"PAR1",
    "nul.csv": lambda: b"voter,alternative,rank\n" + b"\0" * 1000,
    "wide.csv": lambda: b"voter," + b"a," * 300_000 + b"\n",
    "names.csv": lambda: b"voter,alternative,rank\nv," + b"<script>alert(1)</script>" + b",1\nv,y,2\n",
    "long.csv": lambda: b"voter,alternative,rank\n" + b"v,x,1\n" * 200_000,
    "odd.soc": lambda: b"# NUMBER ALTERNATIVES: 99999999999\n# NUMBER VOTERS: 1\n1: 1,2\n",
    "noise.bin": lambda: random.Random(1).randbytes(100_000),
}


def test_hostile_files_do_not_stop_the_server(server):
    links = {}
    with httpx2.Client(base_url=server.base, timeout=30) as client:
        stamp = re.search(r'name="stamp" value="([^"]+)"', client.get("/").text)[1]
        for name, content in HOSTILE.items():
            sent = client.post("/file", data={"stamp": stamp}, files={"file": (name, content())})
            assert sent.status_code == 303, name
            links[name] = sent.headers["location"].removesuffix("/answer")
            assert client.get(sent.headers["location"]).status_code == 200  # it asks for the answer
        waiting, end = set(links), time.monotonic() + 60
        while waiting and time.monotonic() < end:
            time.sleep(0.6)  # a link may ask twice a second
            waiting = {name for name in waiting if client.get(f"{links[name]}/state").json()["busy"]}
        assert not waiting
        assert "want of memory" in client.get(f"{links['claim.xlsx']}/answer").text
        for name, link in links.items():
            for what in ("answer", "report.html", "answer.json", "votes.csv"):
                reply = client.get(f"{link}/{what}")
                assert reply.status_code == 200, (name, what)
                if what in ("answer", "report.html"):
                    assert "<script>alert" not in reply.text
                else:
                    assert reply.headers["x-content-type-options"] == "nosniff"
                    assert reply.headers["content-disposition"].startswith("attachment")
                assert "/tmp" not in reply.text, (name, what)
    assert server.process.poll() is None


def test_secrets_are_in_no_log_error_page_or_referrer(server):
    store = Store(f"sqlite:///{server.path}")
    page = Page(store)
    secrets = (page.organiser, page.voter, page.join, page.shared)
    with httpx2.Client(base_url=server.base) as client:
        for role, secret in zip("ovja", secrets, strict=True):
            for path in (f"/{role}/{secret}x", f"/{role}/{secret}/nothing", f"/x/{secret}", f"/{role}/{secret}/a/b"):
                for reply in (client.get(path), client.post(path, data={"stamp": "x"})):
                    assert reply.status_code in (403, 404, 405)
                    assert secret not in reply.text
                    assert reply.headers["referrer-policy"] == "no-referrer"
            raw(server.port, f"GET /{role}/{secret} HTTP/1.1\r\nHost: \0\r\n\r\n".encode())
            raw(server.port, f"POST /{role}/{secret} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc".encode())
        Page(store)  # so that the server looks into the file again
        store.close()
        content = server.path.read_bytes()
        server.path.write_bytes(b"\xa5" * len(content))  # now every page is an error
        for wal in server.path.parent.glob("page.db-wal"):
            wal.write_bytes(b"")
        replies = [client.get(f"/{role}/{secret}") for role, secret in zip("ovja", secrets, strict=True)]
    assert any(reply.status_code == 503 for reply in replies)
    assert all(reply.status_code in (200, 404, 503) for reply in replies)
    said = server.stop()
    assert not any(secret in said for secret in secrets)
    assert "damaged" in said


@in_a_file
def test_limits_hold_for_whoever_has_many_addresses(store):
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1")
    assert neighbourhood("2001:db8::1") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("fe80::1%eth0") == neighbourhood("fe80::2")
    assert neighbourhood("192.0.2.1") != neighbourhood("192.0.2.2")
    assert neighbourhood("::ffff:192.0.2.1") == neighbourhood("192.0.2.1")
    page = application(store)
    clients = [TestClient(page, client=(f"2001:db8::{k}", 1)) for k in range(4)]
    replies = [clients[k % 4].get(f"/v/{'x' * 30_000}").status_code for k in range(80)]
    assert set(replies[:60]) == {404}
    assert 429 in replies[60:]
