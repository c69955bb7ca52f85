"""What goes wrong: a server that is killed, a full disk, a damaged file, a database that goes away."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa
from forms import NEW, filled, send, stamp, submit
from servers import Server
from starlette.testclient import TestClient

from veritally.errors import InputError
from veritally.web import schema
from veritally.web.app import application
from veritally.web.decisions import Setup
from veritally.web.demo import make_demo
from veritally.web.kept import ClosedError
from veritally.web.store import Store

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
in_a_file = pytest.mark.parametrize("address", ["file"], indirect=True)
on_a_server = pytest.mark.parametrize("address", ["server"], indirect=True)


def decision_in(path, voters=8, **changes):
    """Make a decision in a file; return its organiser's secret, the voters' secrets and the alternatives' numbers."""
    store = Store(f"sqlite:///{path}")
    organiser, links = store.create(Setup("Load", **changes), ["x", "y", "z"], [f"v{k}" for k in range(voters)])
    numbers = [number for number, _ in store.by_organiser(organiser).alternatives]
    store.close()
    return organiser, list(links.values()), numbers


def order_kept(given, numbers):
    return tuple(given[str(number)]["rank"] for number in numbers)


def elsewhere(rng):
    """Return an address that has not come before, as a proxy tells it: else the page would have them wait."""
    return {"x-forwarded-for": f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"}


def keep_voting(base, link, numbers, seed, log, ended):
    """Vote again and again; write down each ballot before it is sent, and again when it is acknowledged.

    By the open link each ballot is of somebody else, and is sent twice, as by a second click.
    """
    rng = random.Random(seed)
    with httpx2.Client(base_url=base, timeout=5) as client:
        while not ended.is_set():
            order, receipt = tuple(rng.sample((1, 2, 3), 3)), f"{rng.getrandbits(128):032x}"
            try:
                page = client.get(link, headers=elsewhere(rng))
                fields = {"stamp": stamp(page.text), "act": "submit", "receipt": receipt} | filled(numbers, order)
                log.append((receipt, order, False))
                for _ in range(2 if link.startswith("/j/") else 1):
                    reply = client.post(link, data=fields, headers=elsewhere(rng))
                    if reply.status_code in (200, 303):
                        log.append((receipt, order, True))
            except httpx2.TransportError:
                return  # the server is gone


def acknowledged(logs):
    return sum(taken for log in logs.values() for *_, taken in log)


def possible(log):
    """Return the ballots that may be kept: the last that was acknowledged, or any that was sent after it."""
    last = max((k for k, (*_, taken) in enumerate(log) if taken), default=None)
    return {order for _, order, _ in log[last or 0 :]} | ({None} if last is None else set())


def running(*, parent):
    """Return the processes that a process started."""
    return Path(f"/proc/{parent}/task/{parent}/children").read_text().split()


def is_alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@linux
@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_no_acknowledged_ballot_is_lost_or_doubled_when_the_server_is_killed(tmp_path, kills):
    path, files = tmp_path / "page.db", tmp_path / "tmp"
    files.mkdir()
    organiser, (*secrets, join), numbers = decision_in(path, voters=4, limit=5000)
    rng, children, given = random.Random(kills), set(), {}
    logs = {f"/v/{secret}": [] for secret in secrets} | {f"/j/{join}": []}
    for turn in range(kills):
        server = Server(path, "--no-demo", "--behind-proxy", env=os.environ | {"TMPDIR": str(files)})
        ended, before = threading.Event(), acknowledged(logs)
        threads = [
            threading.Thread(target=keep_voting, args=(server.base, link, numbers, f"{turn} {link}", log, ended))
            for link, log in logs.items()
        ]
        for thread in threads:
            thread.start()
        wanted, end = before + rng.randint(5, 60), time.monotonic() + 60
        while acknowledged(logs) < wanted and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.1))
        children |= set(running(parent=server.process.pid))
        server.kill()
        ended.set()
        for thread in threads:
            thread.join()
        assert acknowledged(logs) >= wanted  # it was killed amid its work
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        store = Store(f"sqlite:///{path}")
        number = 0
        for secret in secrets:
            own = store.by_voter(secret).given
            kept = None if own is None else order_kept(own, numbers)
            assert kept in possible(logs[f"/v/{secret}"])
            logs[f"/v/{secret}"].append(("", kept, True))  # from here on it is that one
            number += own is not None
        given = {receipt: store.by_voter(receipt) for receipt, *_ in logs[f"/j/{join}"]}
        for receipt, order, taken in logs[f"/j/{join}"]:
            assert given[receipt] is not None or not taken
            assert given[receipt] is None or order_kept(given[receipt].given, numbers) == order
        number += sum(one is not None for one in given.values())
        assert store.number_of_ballots(store.by_organiser(organiser)) == number  # none twice
        store.close()
    assert any(given.values())
    assert children  # answers were being worked out
    end = time.monotonic() + 10
    while any(map(is_alive, children)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [number for number in children if is_alive(number)]
    assert not list(files.iterdir())


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder that is a disk of its own, and soon full."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    if os.getuid() or shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_a_sentence_to_the_voter(small_disk):
    path = small_disk / "page.db"
    _, (secret, *_), numbers = decision_in(path)
    store = Store(f"sqlite:///{path}")
    with TestClient(application(store), raise_server_exceptions=False) as client:
        assert "is in" in submit(client, f"/v/{secret}", filled(numbers, (1, 2, 3))).text
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(512))
        replies = [submit(client, f"/v/{secret}", filled(numbers, (3, 2, 1))) for _ in range(5)]
        assert replies[-1].status_code == 503
        assert "disk may be full" in replies[-1].text
        taken = [reply.status_code == 200 for reply in replies]
        last = (3, 2, 1) if any(taken) else (1, 2, 3)  # what fitted was kept whole
        assert order_kept(store.by_voter(secret).given, numbers) == last
        assert client.get(f"/v/{secret}").status_code == 200
        filler.unlink()
        assert "is in" in submit(client, f"/v/{secret}", filled(numbers, (2, 1, 3))).text
        assert order_kept(store.by_voter(secret).given, numbers) == (2, 1, 3)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@linux
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit (util-linux)")
def test_files_that_may_not_grow_are_a_sentence_to_the_voter(tmp_path):
    path = tmp_path / "page.db"
    _, (secret, *_), numbers = decision_in(path)
    server = Server(path, "--no-demo")
    limit = ["prlimit", "--pid", str(server.process.pid)]
    with httpx2.Client(base_url=server.base, follow_redirects=True) as client:
        assert "is in" in submit(client, f"/v/{secret}", filled(numbers, (1, 2, 3))).text
        subprocess.run([*limit, "--fsize=1024:unlimited"], check=True)
        full = submit(client, f"/v/{secret}", filled(numbers, (3, 2, 1)))
        assert full.status_code == 503
        assert "disk may be full" in full.text
        subprocess.run([*limit, "--fsize=unlimited:unlimited"], check=True)
        assert "is in" in submit(client, f"/v/{secret}", filled(numbers, (2, 1, 3))).text
    assert secret not in server.stop()


def damaged(path, how):
    """Damage a database as happens."""
    content = path.read_bytes()
    if how == "overwritten":
        path.write_bytes(content[:8192] + bytes(range(256)) * 80 + content[8192 + 256 * 80 :])
    elif how == "truncated":
        path.write_bytes(content[: len(content) // 2 + 100])
    elif how == "text":
        path.write_text("These are my notes, not a database.\n" * 100)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "newer":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE facts SET value = '99' WHERE name = 'version'")
            connection.commit()
    elif how in ("foreign", "foreign facts", "voters of others"):
        path.unlink()
        table = {"foreign": "songs", "foreign facts": "facts", "voters of others": "voters"}[how]
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE {table} (name TEXT, value TEXT)")
            connection.execute(f"INSERT INTO {table} VALUES ('a', 'b')")
            connection.commit()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("overwritten", "damaged"),
        ("truncated", "nothing was changed"),
        ("text", "not a database"),
        ("empty", "is empty"),
        ("newer", "is of version 99"),
        ("foreign", "of another program"),
        ("foreign facts", "of another program"),
        ("voters of others", "of another program"),
    ],
)
def test_a_damaged_file_is_named_and_left_alone(tmp_path, how, said):
    path = tmp_path / "page.db"
    decision_in(path, voters=100)
    damaged(path, how)
    before = path.read_bytes()
    with pytest.raises(InputError) as problem:
        Store(f"sqlite:///{path}")
    assert said in str(problem.value).lower()
    assert "\n" not in str(problem.value)
    assert path.read_bytes() == before
    assert all(not beside.stat().st_size for beside in tmp_path.glob("page.db-wal"))


def test_a_log_without_its_file_is_left_alone(tmp_path):
    path = tmp_path / "page.db"
    store = Store(f"sqlite:///{path}")
    store.create(Setup("In the log alone"), ["x", "y"], [])
    shutil.copy(f"{path}-wal", tmp_path / "kept")
    store.close()
    path.unlink()
    (tmp_path / "kept").rename(f"{path}-wal")
    before = Path(f"{path}-wal").read_bytes()
    with pytest.raises(InputError, match=r"is missing, but its log page\.db-wal is there"):
        Store(f"sqlite:///{path}")
    assert [each.name for each in tmp_path.iterdir()] == ["page.db-wal"]
    assert Path(f"{path}-wal").read_bytes() == before


@pytest.mark.parametrize("name", ["nowhere/page.db", "folder", "dangling"])
def test_places_where_no_file_can_be(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match=r"cannot be (opened|read|written)"):
        Store(f"sqlite:///{tmp_path / name}")


def test_a_file_of_an_odd_name(tmp_path):
    path = tmp_path / "a file?mode=memory#100%.db"
    decision_in(path)
    assert path.stat().st_size


def test_the_command_says_in_a_sentence_that_a_file_is_damaged(tmp_path):
    path = tmp_path / "page.db"
    path.write_text("These are my notes.\n" * 1000)
    command = [sys.executable, "-m", "veritally", "serve", "--database", str(path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "not a database" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert path.read_text() == "These are my notes.\n" * 1000


@in_a_file
def test_damage_while_it_runs_is_a_sentence(store, tmp_path):
    client = TestClient(application(store), raise_server_exceptions=False)
    _, links = store.create(Setup("Soon gone"), ["x", "y"], [f"v{k}" for k in range(200)])
    store.close()  # the log becomes part of the file; the next page opens it again
    secret = links["v1"]
    content = (tmp_path / "page.db").read_bytes()
    (tmp_path / "page.db").write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    reply = client.get(f"/v/{secret}")
    assert reply.status_code == 503
    assert "damaged" in reply.text
    assert secret not in reply.text


@in_a_file
def test_two_servers_on_one_file(tmp_path, address):
    path = tmp_path / "page.db"
    with ThreadPoolExecutor(2) as pool:  # at once, also at the very first start
        servers = list(pool.map(lambda _: Server(path), range(2)))
    organiser, secrets, numbers = decision_in(path, voters=4)
    try:
        shown = {re.search(r"/a/[\w-]+", httpx2.get(f"{server.base}/").text)[0] for server in servers}
        (example,) = shown
        assert all(httpx2.get(f"{server.base}{example}").status_code == 200 for server in servers)

        def vote(k):
            base = servers[k % 2].base
            with httpx2.Client(base_url=base, follow_redirects=True) as client:
                return submit(client, f"/v/{secrets[k // 2 % 4]}", filled(numbers, (1, 2, 3))).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(vote, range(40))) == {200}
    finally:
        said = [server.stop() for server in servers]
    assert said == ["", ""]
    store = Store(f"sqlite:///{path}")
    decision = store.by_organiser(organiser)
    assert store.number_of_ballots(decision) == 4
    assert decision.revision == 40
    store.close()


@on_a_server
def test_a_database_that_goes_away_comes_back(postgres, address):
    store = Store(address)
    organiser, links = store.create(Setup("Long", shown=True), ["x", "y", "z"], ["Ada"])
    numbers = [number for number, _ in store.by_organiser(organiser).alternatives]
    link = f"/v/{links['Ada']}"
    with TestClient(application(store), raise_server_exceptions=False) as client:
        assert "is in" in submit(client, link, filled(numbers, (1, 2, 3))).text
        mark = stamp(client.get(link).text)
        postgres.stop()
        try:
            gone = client.post(link, data={"stamp": mark, "act": "submit"} | filled(numbers, (3, 2, 1)))
        finally:
            postgres.start()
        assert gone.status_code == 503
        assert "does not answer" in gone.text
        assert "is in" in submit(client, link, filled(numbers, (2, 1, 3))).text
    assert order_kept(store.by_voter(links["Ada"]).given, numbers) == (2, 1, 3)
    store.close()


def test_a_database_that_holds_enough_takes_only_ballots(address):
    store = Store(address, gigabytes=0.012)  # of which PostgreSQL takes 8 MB for itself
    organiser, links = store.create(Setup("First"), ["x", "y", "z"], ["Ada"])
    decision = store.by_organiser(organiser)
    numbers = [number for number, _ in decision.alternatives]
    store.upload(Setup("Large"), "x.csv", os.urandom(3_000_000))
    large = store.upload(Setup("Large"), "x.csv", os.urandom(10_000_000))
    with TestClient(application(store), raise_server_exceptions=False) as client:
        file = {"file": ("x.csv", b"voter,alternative,rank\n")}
        sent = client.post("/file", data={"stamp": stamp(client.get("/").text)}, files=file)
        refused = [
            send(client, "/new", NEW),
            sent,
            send(client, f"/o/{organiser}", {"act": "copy"}, f"/o/{organiser}/do"),
        ]
        assert [reply.status_code for reply in refused] == [400] * 3
        assert all("no room for more" in reply.text for reply in refused)
        assert NEW["voters"] in refused[0].text  # nothing that was written is lost
        with pytest.raises(InputError, match="no room"):
            store.add_voters(decision, ["Ben"])
        assert "is in" in submit(client, f"/v/{links['Ada']}", filled(numbers, (1, 2, 3))).text
        store.delete(store.by_organiser(large))
        store.forget()
        assert send(client, "/new", NEW).status_code == 200
    store.close()


def test_servers_can_start_at_once(address):
    def start(_):
        store = Store(address)
        shown = make_demo(store)
        return store, shown

    with ThreadPoolExecutor(6) as pool:
        started = list(pool.map(start, range(6)))
    assert len({store.key for store, _ in started}) == 1
    (example,) = {shown for _, shown in started}
    assert all(store.by_answer(example) is not None for store, _ in started)
    assert len(started[0][0].given(started[0][0].demo())) == 7
    for store, _ in started:
        store.close()


def test_ballots_of_one_voter_at_once_count_once(store):
    organiser, links = store.create(Setup("Twice"), ["x", "y"], ["Ada"])
    voter = store.by_voter(links["Ada"])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: store.vote(voter, {"1": {"rank": k}}), range(40)))
    decision = store.by_organiser(organiser)
    assert store.number_of_ballots(decision) == 1
    assert decision.revision == 40


def test_a_ballot_changed_by_going_back_is_kept(store):
    """Whoever goes back in the browser and submits again is told that the ballot is in, so it must be."""
    _, links = store.create(Setup("Back", limit=1), ["x", "y"], [])
    decision = store.by_open_link(links[""])
    for rank in (1, 2):
        store.vote_by_open_link(decision, {"1": {"rank": rank}}, "r" * 32)
    assert [given for _, given in store.given(decision)] == [{"1": {"rank": 2}}]


def test_the_open_link_keeps_its_limit_if_all_come_at_once(store):
    _, links = store.create(Setup("Open", limit=5), ["x", "y"], [])
    decision = store.by_open_link(links[""])

    def vote(k):
        try:
            store.vote_by_open_link(decision, {"1": {"rank": 1}}, f"{k % 20:032}")  # each twice
        except ClosedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(vote, range(40)))
    assert store.number_of_ballots(decision) == 5
    assert len({k % 20 for k, kept in enumerate(taken) if kept}) == 5


def test_anonymous_voting_that_closes_while_ballots_come_in(store):
    organiser, links = store.create(Setup("Closing", named=False), ["x", "y"], [f"v{k}" for k in range(30)])
    decision = store.by_organiser(organiser)
    people = [store.by_voter(secret) for secret in links.values()]

    def vote(k):
        if k in (10, 11, 12):  # by the deadline, by several servers
            store.close_voting(decision)
            return None
        try:
            store.vote(people[k], {"1": {"rank": k}})
        except ClosedError:
            return None
        return k

    with ThreadPoolExecutor(8) as pool:
        taken = {k for k in pool.map(vote, range(30)) if k is not None}
    kept = [given["1"]["rank"] for _, given in store.given(store.by_organiser(organiser))]
    assert sorted(kept) == sorted(taken)
    assert all(store.by_voter(secret).given is None for secret in links.values())


def test_what_was_changed_meanwhile_stays(store):
    setup = Setup("Changed", deadline="2020-01-01T00:00", limit=1)
    organiser, _ = store.create(setup, ["x", "y"], [])
    before = store.by_organiser(organiser)
    store.raise_limit(before, 5)
    assert store.close_overdue(before).closed
    store.reopen(before)
    now = store.by_organiser(organiser)
    assert (now.setup.limit, now.setup.deadline, now.closed) == (5, "", False)
    assert not store.close_overdue(before).closed  # it has no deadline any more
    assert not store.by_organiser(organiser).closed
    store.close_voting(before)
    assert store.by_organiser(organiser).setup == now.setup


def test_only_what_is_overdue_is_read_to_be_closed(store):
    def make(**setup):
        return store.by_organiser(store.create(Setup("T", **setup), ["x", "y"], [])[0])

    late = {make(deadline="2020-01-01T00:00").id for _ in range(2)}
    for _ in range(20):
        make()
        make(deadline="2040-01-01T00:00")
    store.close_voting(make(deadline="2020-01-01T00:00"))
    asked = []
    sa.event.listen(store._database._engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert {decision.id for decision in store.overdue()} == late
    assert len(asked) < 10


def test_a_decision_that_is_deleted_while_it_is_answered(store):
    organiser, links = store.create(Setup("Gone"), ["x", "y"], ["Ada"])
    decision, voter = store.by_organiser(organiser), store.by_voter(links["Ada"])
    with ThreadPoolExecutor(8) as pool:
        kept = [pool.submit(store.keep_answer, decision, k, {"problem": "late"}) for k in range(20)]
        store.delete(decision)
        for each in kept:
            each.result()
    assert store.answer(decision) is None
    with pytest.raises(ClosedError, match="deleted"):
        store.vote(voter, {})
    with pytest.raises(ClosedError, match="deleted"):
        store.add_voters(decision, ["Ben"])


def test_a_database_of_an_earlier_version_is_brought_up_to_date(address, monkeypatch):
    store = Store(address)
    organiser, _ = store.create(Setup("Old", limit=1), ["x", "y"], [])
    store.close()
    steps = []

    def step(connection):
        steps.append(1)
        connection.execute(sa.text("CREATE TABLE further (id INTEGER)"))

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    for _ in range(2):
        store = Store(address)
        assert store.by_organiser(organiser).setup.title == "Old"
        store.close()
    assert steps == [1]


def test_the_first_version_becomes_this_one(address):
    store = Store(address)
    organiser, _ = store.create(Setup("Old"), ["x", "y"], ["Ada"])
    over = {}
    for setup in (Setup("Hidden"), Setup("Readable", readable=True), Setup("Anonymous", named=False)):
        over[setup.title], _ = store.create(setup, ["x", "y"], ["Ada"])
        store.close_voting(store.by_organiser(over[setup.title]))
    with store._database.write() as connection:
        connection.execute(sa.text("ALTER TABLE decisions DROP COLUMN saved"))
        connection.execute(sa.update(schema.facts).where(schema.facts.c.name == "version").values(value="1"))
    store.close()
    store = Store(address)
    assert not store.by_organiser(organiser).saved
    saved = {title: store.by_organiser(secret).saved for title, secret in over.items()}
    assert saved == {"Hidden": True, "Readable": False, "Anonymous": False}  # hidden votes may have been saved before
    other, links = store.create(Setup("New"), ["x", "y"], ["Ada", "Ben", "Cleo"])
    for secret in links.values():
        store.vote(store.by_voter(secret), {})
    store.close_voting(store.by_organiser(other))
    store.save_votes(store.by_organiser(other))
    assert store.by_organiser(other).saved
    store.close()


def test_a_migration_that_fails_changes_nothing(address, monkeypatch):
    Store(address).close()

    def step(connection):
        connection.execute(sa.text("CREATE TABLE further (id INTEGER)"))
        raise InputError("it cannot be done")

    with monkeypatch.context() as newer:
        newer.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
        newer.setattr(schema, "VERSION", schema.VERSION + 1)
        with pytest.raises(InputError, match="cannot be done"):
            Store(address)
    store = Store(address)
    with store._database.read() as connection:
        assert "further" not in sa.inspect(connection).get_table_names()
        assert schema.version(connection) == schema.VERSION
    store.close()
