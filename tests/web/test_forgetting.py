"""What was deleted, and who gave an anonymous ballot, is in no byte of the database."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from veritally.web import database, schema
from veritally.web.decisions import Setup
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
    write_anew = database.Database._write_anew

    def slowly(self):
        done = write_anew(self)
        store.delete(store.by_organiser(other))
        return done

    with monkeypatch.context() as slow:
        slow.setattr(database.Database, "_write_anew", slowly)
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
