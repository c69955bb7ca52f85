"""The tables, and how a database of an earlier version becomes one of this version."""

import secrets
from collections.abc import Callable

import sqlalchemy as sa

from veritally.errors import InputError

VERSION = 1
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

# What makes version k + 1 of version k, at place k - 1. Versions only grow.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = ()


def prepare(connection: sa.Connection) -> str:
    """Make the tables, or bring them to this version; return the key that forms are stamped with."""
    if not sa.inspect(connection).has_table("facts"):
        key = secrets.token_hex(32)
        tables.create_all(connection)
        connection.execute(
            sa.insert(facts), [{"name": "version", "value": str(VERSION)}, {"name": "key", "value": key}]
        )
        return key
    known = {row.name: row.value for row in connection.execute(sa.select(facts))}
    version = int(known["version"])
    if version > VERSION:
        raise InputError(f"the database is of version {version}, and this program knows {VERSION}; install a newer one")
    for step in MIGRATIONS[version - 1 :]:
        step(connection)
    connection.execute(sa.update(facts).where(facts.c.name == "version").values(value=str(VERSION)))
    return str(known["key"])
