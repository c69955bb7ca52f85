"""The tables, and how a database of an earlier version becomes one of this version."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from veritally.errors import InputError

VERSION = 3
tables = sa.MetaData()

facts = sa.Table(
    "facts",
    tables,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
decisions = sa.Table(
    "decisions",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("setup", sa.JSON, nullable=False),
    sa.Column("organiser", sa.String(64), nullable=False, unique=True),  # hashes of the secrets in links
    sa.Column("open_link", sa.String(64), unique=True),
    sa.Column("answer_link", sa.String(64), unique=True),
    sa.Column("closed", sa.Boolean, nullable=False, default=False),
    sa.Column("saved", sa.Boolean, nullable=False, default=False),  # whether hidden ballots were, as single votes
    sa.Column("revision", sa.Integer, nullable=False, default=0),  # one more with each change of what is decided
    sa.Column("upload", sa.LargeBinary),  # a vote file, where there are no voters
    sa.Column("upload_name", sa.Text),
    sqlite_autoincrement=True,  # a number is never used again
)
alternatives = sa.Table(
    "alternatives",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("decision", sa.ForeignKey("decisions.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.UniqueConstraint("decision", "name"),
    sqlite_autoincrement=True,  # a number is never used again
)
voters = sa.Table(
    "voters",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("decision", sa.ForeignKey("decisions.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("name", sa.Text),  # none for one who came by the open link
    sa.Column("link", sa.String(64), nullable=False, unique=True),
    sa.Column("voted", sa.Boolean, nullable=False, default=False),
    sa.UniqueConstraint("decision", "name"),
    sqlite_autoincrement=True,  # a number is never used again
)
ballots = sa.Table(
    "ballots",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("decision", sa.ForeignKey("decisions.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("voter", sa.ForeignKey("voters.id", ondelete="CASCADE"), unique=True),  # none for a closed anonymous one
    sa.Column("given", sa.JSON, nullable=False),
    sqlite_autoincrement=True,  # a number is never used again
)
answers = sa.Table(
    "answers",
    tables,
    sa.Column("decision", sa.ForeignKey("decisions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("found", sa.JSON, nullable=False),
)


def _keep_no_statistics(connection: sa.Connection) -> None:
    """Let PostgreSQL keep no samples of what people wrote: they would outlive what is deleted."""
    if connection.dialect.name != "postgresql":
        return
    for column in (alternatives.c.name, voters.c.name, decisions.c.upload, decisions.c.upload_name):
        kind = column.type.compile(connection.dialect)  # to give it anew drops what there is
        changes = f"ALTER {column.name} TYPE {kind}, ALTER {column.name} SET STATISTICS 0"
        connection.execute(sa.text(f"ALTER TABLE {column.table.name} {changes}"))


def _add_saved(connection: sa.Connection) -> None:
    connection.execute(sa.text("ALTER TABLE decisions ADD COLUMN saved BOOLEAN DEFAULT false NOT NULL"))
    named, readable = (decisions.c.setup[name].as_boolean() for name in ("named", "readable"))
    hidden = sa.and_(decisions.c.upload.is_(None), named.is_(True), readable.is_(False))
    # Whether the votes of those that are closed were saved, nobody knows.
    connection.execute(sa.update(decisions).where(decisions.c.closed, hidden).values(saved=True))
    _keep_no_statistics(connection)


DELETIONS = facts.c.name.startswith("deleted ")


def note_deletion(connection: sa.Connection) -> None:
    """Note that the tables are to be written anew; by a row of its own, so that none waits for another."""
    connection.execute(sa.insert(facts).values(name=f"deleted {secrets.token_hex(8)}", value=""))


def in_order(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ballot with its alternatives in the order of their numbers.

    Voters see them in orders of their own, which would tell whose an anonymous ballot is.
    """
    return dict(sorted(given.items(), key=lambda own: int(own[0])))


def _put_ballots_in_order(connection: sa.Connection) -> None:
    for row in connection.execute(sa.select(ballots.c.id, ballots.c.given)).all():
        own = sa.update(ballots).where(ballots.c.id == row.id)
        connection.execute(own.values(given=in_order(row.given)))
    connection.execute(sa.delete(answers))  # some are of too few ballots to be shown
    note_deletion(connection)


# What makes version k + 1 of version k, at place k - 1. Versions only grow.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_add_saved, _put_ballots_in_order)


_STARTING = 0x7665726974616C6C  # a number for the lock of servers that start; "veritall"


def version(connection: sa.Connection) -> int | None:
    """Return the version of the tables, none if there are no tables; refuse those that are not ours, or newer."""
    names = sa.inspect(connection).get_table_names()
    if not names:
        return None
    columns = {column["name"] for column in sa.inspect(connection).get_columns("facts")} if "facts" in names else set()
    found = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "version")) if "value" in columns else None
    if found is None or not found.isdecimal() or int(found) < 1:
        raise InputError("the database is of another program; give one of its own. Nothing was changed")
    if int(found) > VERSION:
        raise InputError(f"the database is of version {found}, and this program knows {VERSION}; install a newer one")
    return int(found)


def prepare(connection: sa.Connection) -> str:
    """Make the tables, or bring them to this version; return the key that forms are stamped with."""
    if connection.dialect.name == "postgresql":  # one at a time; in a file, whoever writes is alone
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_STARTING)))
    before = version(connection)
    if before is None:
        key = secrets.token_hex(32)
        tables.create_all(connection)
        _keep_no_statistics(connection)
        connection.execute(
            sa.insert(facts), [{"name": "version", "value": str(VERSION)}, {"name": "key", "value": key}]
        )
        return key
    for step in MIGRATIONS[before - 1 :]:
        step(connection)
    if before < VERSION:
        connection.execute(sa.update(facts).where(facts.c.name == "version").values(value=str(VERSION)))
    return str(connection.scalar(sa.select(facts.c.value).where(facts.c.name == "key")))
