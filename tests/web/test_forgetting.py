"""What was deleted, and who gave an anonymous ballot, is in no byte of the database."""

import itertools
import json
import random
import re
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from forms import vote
from starlette.testclient import TestClient

from veritally.web import database, schema
from veritally.web.app import application
from veritally.web.decisions import Setup
from veritally.web.links import hashed
from veritally.web.store import Store

in_a_file = pytest.mark.parametrize("address", ["file"], indirect=True)
on_a_server = pytest.mark.parametrize("address", ["server"], indirect=True)
NAMES = [f"Unforgettable Person {k}" for k in range(50)]


def asked(store, statement):
    with store._database.read() as connection:
        return connection.scalar(sa.text(statement))


def on_disk(store, postgres, table):
    """Return the bytes of a table of a server."""
    with store._database._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("CHECKPOINT")
        place = connection.scalar(sa.text(f"SELECT pg_relation_filepath('{table}')"))
    return Path(postgres.folder, "data", place).read_bytes()


@on_a_server
def test_tables_of_a_server_are_written_anew(store, postgres):
    organiser, _ = store.create(Setup("T"), ["x", "y"], NAMES)
    store.delete(store.by_organiser(organiser))
    assert b"Unforgettable" in on_disk(store, postgres, "voters")
    store.forget()
    assert b"Unforgettable" not in on_disk(store, postgres, "voters")
    assert asked(store, "SELECT pg_relation_size('voters')") == 0


@on_a_server
def test_a_server_keeps_no_samples_of_names(store, address):
    store.create(Setup("T"), ["x", "y"], NAMES)
    store.upload(Setup("U"), "Unforgettable.csv", b"Unforgettable")

    def look():
        with store._database._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE")
        return asked(store, "SELECT string_agg(s::text, '') FROM pg_stats s WHERE schemaname = 'public'")

    assert "Unforgettable" not in look()
    with store._database.write() as connection:  # as an earlier version was
        connection.execute(sa.text("ALTER TABLE decisions DROP COLUMN saved"))
        for column in ("voters ALTER name", "decisions ALTER upload_name", "decisions ALTER upload"):
            connection.execute(sa.text(f"ALTER TABLE {column} SET STATISTICS 100"))
        connection.execute(sa.update(schema.facts).where(schema.facts.c.name == "version").values(value="1"))
    assert "Unforgettable" in look()
    Store(address).close()
    assert "Unforgettable" not in look()


@on_a_server
def test_what_is_deleted_while_the_tables_are_written_anew_is_forgotten_next(store, postgres, monkeypatch):
    one, other = (store.create(Setup("T"), ["x", "y"], names)[0] for names in (["Ada"], NAMES))
    store.delete(store.by_organiser(one))
    write_anew = database._write_tables_anew

    def slowly(connection):
        done = write_anew(connection)
        store.delete(store.by_organiser(other))
        return done

    with monkeypatch.context() as slow:
        slow.setattr(database, "_write_tables_anew", slowly)
        store.forget()
    assert b"Unforgettable" in on_disk(store, postgres, "voters")
    store.forget()
    assert b"Unforgettable" not in on_disk(store, postgres, "voters")


@on_a_server
def test_tables_that_cannot_be_written_anew_are_tried_again(store, postgres, monkeypatch):
    monkeypatch.setattr(database, "_WAIT", 50)
    organiser, _ = store.create(Setup("T"), ["x", "y"], NAMES)
    store.delete(store.by_organiser(organiser))
    with store._database.read() as reader:
        reader.execute(sa.text("LOCK TABLE voters IN ACCESS SHARE MODE"))
        with pytest.raises(sa.exc.DBAPIError):
            store.forget()
    assert {asked(store, "SHOW lock_timeout") for _ in range(3)} == {"0"}
    store.forget()
    assert b"Unforgettable" not in on_disk(store, postgres, "voters")


def vote_by(store, secret, rank):
    voter = store.by_voter(secret)
    first, second = (str(number) for number, _ in voter.decision.alternatives)
    store.vote(voter, {first: {"seen": f"word {rank:04}", "rank": 1}, second: {"seen": "some", "rank": 2}})


def voted_by(store, table, number=100):
    """Let many vote anonymously, one after the other, and close; return the table in the order that it has then."""
    setup = Setup("Secret", named=False, limit=number)
    organiser, links = store.create(setup, ["x", "y"], [f"v{k}" for k in range(number)])
    decision = store.by_organiser(organiser)
    for k, secret in enumerate(list(links.values())[:number]):
        vote_by(store, secret, k)
    for k in range(number):
        store.vote_by_open_link(decision, {}, f"{k:032}")
    store.close_voting(decision)
    with store._database.read() as connection:
        return decision, connection.execute(sa.select(table).order_by(table.c.id)).all()


def test_anonymous_ballots_are_not_in_the_order_of_voting(store):
    _, rows = voted_by(store, schema.ballots)
    words = [next(iter(row.given.values()))["seen"] for row in rows if row.given]
    assert sorted(words) == [f"word {k:04}" for k in range(100)]
    assert is_shuffled(words)
    assert {row.voter for row in rows} == {None}


def test_receipts_of_anonymous_ballots_are_not_in_the_order_of_voting(store):
    _, rows = voted_by(store, schema.voters)
    places = {hashed(f"{k:032}"): k for k in range(100)}
    receipts = [places[row.link] for row in rows if row.name is None]
    assert sorted(receipts) == list(range(100))
    assert is_shuffled(receipts)


def is_shuffled(values):
    """Say whether a hundred are in no order: of 99 neighbours 49.5 are, give or take 2.9; this fails by 7 of these."""
    return 29 < sum(one < other for one, other in itertools.pairwise(values)) < 70


@in_a_file
def test_no_byte_tells_who_gave_an_anonymous_ballot(store, tmp_path):
    """Each ballot stands in the file once, in no order, and the log, which had them as they came, is empty."""
    voted_by(store, schema.ballots)
    store.forget()
    content = (tmp_path / "page.db").read_bytes()
    words = [int(word) for word in re.findall(rb"word (\d{4})", content)]
    assert sorted(words) == list(range(100))
    assert is_shuffled(words)
    assert (tmp_path / "page.db-wal").read_bytes() == b""


@in_a_file
@pytest.mark.parametrize("seed", [3, 4])
def test_nothing_stays_in_what_is_free_in_pages_of_the_file(store, tmp_path, seed):
    """Ballots of all sizes, changed often and beside those of another decision, move between pages and leave copies."""
    rng, marks, last = random.Random(seed), itertools.count(100_000_000), {}

    def given(decision):
        rows = decision.alternatives[: rng.randint(1, 10)]
        return {str(number): {"seen": next(marks), "rank": 1, "text": "é" * rng.randint(0, 30)} for number, _ in rows}

    names = [f"alternative {k}" for k in range(10)]
    secret, other = (
        store.create(Setup("T", named=named, limit=1000), names, [f"Person {named} {k}" for k in range(400)])
        for named in (False, True)
    )
    decision = store.by_organiser(secret[0])
    receipts = [f"{k:032}" for k in range(300)]
    links = [secret[1][f"Person False {k}"] for k in range(400)] + receipts
    for k in range(2500):
        link = rng.choice(links)
        last[link] = ballot = given(decision)
        if link in receipts:
            store.vote_by_open_link(decision, ballot, link)
        else:
            store.vote(store.by_voter(link), ballot)
        if k % 3 == 0:
            voter = store.by_voter(other[1][f"Person True {rng.randrange(400)}"])
            last[voter.id] = ballot = given(voter.decision)
            store.vote(voter, ballot)

    def marked():
        return Counter(map(int, re.findall(rb"(?<![0-9a-f])1000\d{5}", (tmp_path / "page.db").read_bytes())))

    def kept():
        return Counter(own["seen"] for ballot in last.values() for own in ballot.values())

    store.close_voting(decision)
    store.forget()
    assert marked() == kept()
    store.delete(decision)
    store.forget()
    last = {key: ballot for key, ballot in last.items() if isinstance(key, int)}
    assert marked() == kept()
    assert b"Person False" not in (tmp_path / "page.db").read_bytes()


def test_kept_ballots_do_not_tell_in_which_order_a_voter_saw_them(store):
    """Each voter sees alternatives in an order by the link, which an organiser has."""
    names = [f"Poster {k}" for k in range(6)]
    organiser, links = store.create(Setup("Secret", named=False, limit=5), names, [f"v{k}" for k in range(5)])
    decision = store.by_organiser(organiser)
    with TestClient(application(store)) as client:
        for link in [f"/v/{secret}" for name, secret in links.items() if name] + [f"/j/{links['']}"] * 5:
            assert vote(client, link, dict.fromkeys(names, 1)).is_success
    store.close_voting(decision)
    with store._database.read() as connection:
        texts = connection.scalars(sa.select(sa.cast(schema.ballots.c.given, sa.Text))).all()
    assert len(texts) == 10
    assert {tuple(json.loads(text)) for text in texts} == {tuple(str(number) for number, _ in decision.alternatives)}


def test_ballots_of_an_earlier_version_are_put_in_one_order(store, address):
    _, links = store.create(Setup("T", named=False), ["x", "y"], ["Ada"])
    voter = store.by_voter(links["Ada"])
    one, two = (str(number) for number, _ in voter.decision.alternatives)
    store.vote(voter, {one: {"seen": "some", "rank": 1}, two: {"seen": "some", "rank": 2}})
    store.keep_answer(voter.decision, 1, {"json": []})
    mixed = {two: {"seen": "some", "rank": 2}, one: {"seen": "some", "rank": 1}}
    with store._database.write() as connection:
        connection.execute(sa.update(schema.ballots).values(given=mixed))
        connection.execute(sa.update(schema.facts).where(schema.facts.c.name == "version").values(value="2"))
    Store(address).close()
    assert store.answer(voter.decision) is None  # it may be of too few to be shown
    assert list(store.by_voter(links["Ada"]).given) == [one, two]
    assert store.by_voter(links["Ada"]).given == mixed


@in_a_file
def test_a_log_that_somebody_reads_is_emptied_later(address, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_WAIT", 50)
    store = Store(address)
    with store._database.read() as reader:
        reader.execute(sa.select(schema.facts)).all()
        setup = Setup("Secret", named=False)
        organiser, links = store.create(setup, ["x", "y"], ["Ada"])
        vote_by(store, links["Ada"], 1)
        store.close_voting(store.by_organiser(organiser))
        store.forget()
    assert b"word 0001" in (tmp_path / "page.db-wal").read_bytes()
    store.forget()
    assert (tmp_path / "page.db-wal").read_bytes() == b""
    store.close()


def test_many_can_delete_at_once(store):
    made = [store.create(Setup("T"), ["x", "y"], ["Ada"])[0] for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda organiser: store.delete(store.by_organiser(organiser)), made))
    assert asked(store, "SELECT count(*) FROM decisions") == 0
    store.forget()
    assert asked(store, "SELECT count(*) FROM facts WHERE name LIKE 'deleted %'") == 0


@in_a_file
def test_who_reads_the_file_does_not_keep_voters_waiting(store):
    organiser, links = store.create(Setup("Secret", named=False), ["x", "y"], ["Ada"])
    _, others = store.create(Setup("Open"), ["x", "y"], ["Ben"])
    store.close_voting(store.by_organiser(organiser))
    with store._database.read() as reader:
        reader.execute(sa.select(schema.facts)).all()
        start = time.monotonic()
        store.forget()
        store.vote(store.by_voter(others["Ben"]), {})
        assert time.monotonic() - start < 20  # it is 1 s, and 120 s where the log is waited for as others are
    assert store.by_voter(links["Ada"]).decision.closed


@in_a_file
def test_a_file_is_not_written_anew_where_the_disk_has_no_room(store, monkeypatch):
    organiser, _ = store.create(Setup("Secret", named=False), ["x", "y"], ["Ada"])
    store.close_voting(store.by_organiser(organiser))
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
        with pytest.raises(OSError, match="too little room"):
            store.forget()
    assert asked(store, "SELECT count(*) FROM facts WHERE name LIKE 'deleted %'") == 1  # it is tried again
    store.forget()
    assert asked(store, "SELECT count(*) FROM facts WHERE name LIKE 'deleted %'") == 0


@in_a_file
def test_a_file_is_written_through_and_overwritten(store):
    for begin in (store._database.read, store._database.write):
        with begin() as connection:
            found = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("synchronous", "journal_mode", "foreign_keys", "secure_delete")
            }
        assert found == {"synchronous": 2, "journal_mode": "wal", "foreign_keys": 1, "secure_delete": 1}
