"""The database behind the page: a SQLite file or a PostgreSQL server, opened, checked, and made to forget."""

import os
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa

from veritally.errors import InputError
from veritally.web.schema import prepare, tables

_WAIT = 10_000  # milliseconds for another write to end
_FILE, _SERVER = "sqlite:///", "postgresql+psycopg://"
_DAMAGED = "the database is damaged; stop the page and restore a copy of the database. Nothing was changed"


class Database:
    """Transactions that read or write, and what else a database has to do.

    Parameters
    ----------
    address
        ``sqlite:///FILE`` or ``postgresql://…``.

    Attributes
    ----------
    key
        What forms are stamped with.
    """

    def __init__(self, address: str) -> None:
        for scheme in ("postgresql://", "postgres://"):  # psycopg 3, not the driver that SQLAlchemy takes for these
            if address.startswith(scheme):
                address = _SERVER + address.removeprefix(scheme)
        if address.startswith(_FILE):
            _make_private(address.removeprefix(_FILE))
        try:
            # A problem must not tell ballots or links: no parameters in its text.
            self._engine = sa.create_engine(address, pool_pre_ping=True, hide_parameters=True)
        except ModuleNotFoundError as missing:
            raise InputError(
                f"--database needs a further package ({missing.name}); "
                "install it with: pip install 'veritally[postgresql]'"
            ) from None
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError) as problem:
            raise InputError(f"--database cannot be used ({problem}); give a file or postgresql://…") from None
        self._is_file, self._remembers = self._engine.dialect.name == "sqlite", False
        if self._is_file:
            sa.event.listen(self._engine, "connect", _set_up_file)
            sa.event.listen(self._engine, "begin", _begin)
        self._writer = self._engine.execution_options(writing=True)
        try:
            with self.write() as connection:
                if self._is_file and connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
                    raise InputError(_DAMAGED)
                self.key = bytes.fromhex(prepare(connection))
        except sa.exc.DatabaseError as problem:
            raise InputError(f"the database cannot be opened ({_one_line(problem)}); nothing was changed") from None

    def read(self) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that reads."""
        return self._engine.connect()

    def write(self) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that writes, and keep what it did if no problem comes up."""
        return self._writer.begin()

    def forget(self, now: bool = True) -> None:
        """Let nothing that was deleted stay in the files.

        A file is cleaned at once; if somebody reads it just then, and on a server, which must write its tables anew,
        it is done at the next call without ``now``.
        """
        if now and not self._is_file:
            self._remembers = True
        elif self._is_file and (now or self._remembers):
            with self.read() as connection:
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").first()
            self._remembers = busy is None or bool(busy[0])
        elif self._remembers:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f"SET lock_timeout = {_WAIT}")
                for table in tables.sorted_tables:
                    connection.exec_driver_sql(f"VACUUM (FULL) {table.name}")
                connection.exec_driver_sql("RESET lock_timeout")
            self._remembers = False

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def is_damaged(problem: BaseException) -> bool:
    """Say whether a problem is that of a file that holds no whole database."""
    return "malformed" in str(problem) or "not a database" in str(problem)


def _make_private(path: str) -> None:
    """Make a file that is for its owner alone, if there is none."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as problem:
        raise InputError(
            f"--database {path} cannot be written ({problem.strerror}); give a file in a folder of yours"
        ) from None


def _set_up_file(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's event begins transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_WAIT}")
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction; one that writes waits for its turn before it reads."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writing") else "BEGIN")


def _one_line(problem: sa.exc.DatabaseError) -> str:
    return " ".join(str(problem.orig).split())
