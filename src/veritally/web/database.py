"""The database behind the page: a SQLite file or a PostgreSQL server, opened, checked, and made to forget."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from veritally.errors import InputError
from veritally.web.schema import DELETIONS, facts, prepare, tables, version

_WAIT = 10_000  # milliseconds for a server
_TURN = 120_000  # and for another write to a file to end; to write it anew takes 4 to 11 seconds for each gigabyte
_SMALL = 100_000_000  # bytes
_TIMES = 1.5  # the size of a file, that must be free on its disk to write it anew
_FILE, _SERVER = "sqlite:///", "postgresql+psycopg://"
_MOMENT = 2.0  # seconds in which another page that has just begun a file writes to it
_DAMAGED = "the database is damaged; stop the page and restore a copy of the database. Nothing was changed"
_NO_ANSWER = "The server's database does not answer. Try again in a while, and look whether your change was saved."
_NOT_WHOLE = "The server's database is damaged, and nothing was changed. Tell whoever runs it."
_NO_ROOM = (
    "this server has no room for more decisions, voters or files, and takes ballots alone; "
    "ask whoever runs it, or delete what is not needed any more"
)
_FULL = "This could not be saved, and nothing was changed: the server's disk may be full. Try again in a while."


class Database:
    """Transactions that read or write, and what else a database has to do.

    Parameters
    ----------
    address
        ``sqlite:///FILE`` or ``postgresql://…``.
    gigabytes
        How much it may hold before nothing large is taken any more.

    Attributes
    ----------
    key
        What forms are stamped with.
    """

    def __init__(self, address: str, gigabytes: float) -> None:
        self._most = int(gigabytes * 1e9)
        where: str | sa.URL
        for scheme in ("postgresql://", "postgres://"):  # psycopg 3, not the driver that SQLAlchemy takes for these
            if address.startswith(scheme):
                address = _SERVER + address.removeprefix(scheme)
        if address.startswith(_FILE):
            path = address.removeprefix(_FILE)
            if not _made(path):
                _check_file(path)
            where = sa.URL.create("sqlite", database=path)  # whatever its name, also with a question mark
        else:
            where = address
        try:
            # A problem must not tell ballots or links: no parameters in its text.
            self._engine = sa.create_engine(
                where,
                pool_pre_ping=True,
                hide_parameters=True,
                json_deserializer=_json,
                connect_args={"connect_timeout": _WAIT // 1000} if address.startswith(_SERVER) else {},
            )
        except ModuleNotFoundError as missing:
            raise InputError(
                f"--database needs a further package ({missing.name}); "
                "install it with: pip install 'veritally[postgresql]'"
            ) from None
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError) as problem:
            raise InputError(f"--database cannot be used ({problem}); give a file or postgresql://…") from None
        self._is_file = self._engine.dialect.name == "sqlite"
        self._path = Path(self._engine.url.database or "") if self._is_file else None
        self._log_is_full = self._is_file  # of what a page that was killed had no time to empty
        if self._is_file:
            sa.event.listen(self._engine, "connect", _set_up_file)
            sa.event.listen(self._engine, "begin", _begin)
        self._writer = self._engine.execution_options(writing=True)
        try:
            with self.write() as connection:
                self.key = bytes.fromhex(prepare(connection))
        except sa.exc.DatabaseError as problem:
            self.close()
            raise InputError(f"the database cannot be opened ({_one_line(problem)}); nothing was changed") from None
        except OSError:
            self.close()
            raise InputError(_DAMAGED) from None
        except InputError:
            self.close()
            raise

    def read(self) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that reads."""
        return self._engine.connect()

    def write(self) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that writes, and keep what it did if no problem comes up."""
        return self._writer.begin()

    def require_room(self, connection: sa.Connection) -> None:
        """Refuse what anybody could send again and again until the disk is full, and ballots had no room."""
        if not self.has_room(connection):
            raise InputError(_NO_ROOM)

    def has_room(self, connection: sa.Connection) -> bool:
        """Whether there is room for more than ballots."""
        if self._is_file:
            pages, free, size = (
                int(connection.exec_driver_sql(f"PRAGMA {name}").scalar() or 0)
                for name in ("page_count", "freelist_count", "page_size")
            )
            held = (pages - free) * size
        else:
            held = connection.scalar(sa.select(sa.func.pg_database_size(sa.func.current_database()))) or 0
        return bool(held <= self._most)

    @property
    def is_small(self) -> bool:
        """Whether it is written anew within a moment."""
        return self._path is not None and self._path.stat().st_size <= _SMALL

    def forget(self) -> None:
        """Write the tables anew if anything was deleted: parts of it may stand in what is free in their pages."""
        with self.read() as connection:
            deletions = connection.scalars(sa.select(facts.c.name).where(DELETIONS)).all()
        if deletions:
            with self._alone() as connection:
                if self._path is None:
                    _write_tables_anew(connection)
                else:
                    self._write_file_anew(connection, self._path)
            with self.write() as connection:  # not those that came meanwhile
                connection.execute(sa.delete(facts).where(facts.c.name.in_(deletions)))
        if self._log_is_full:
            self._empty_log()

    def _alone(self) -> sa.Connection:
        return self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def _write_file_anew(self, connection: sa.Connection, path: Path) -> None:
        self._log_is_full = True
        if shutil.disk_usage(path.parent).free < _TIMES * path.stat().st_size:  # else ballots would have no room
            raise OSError("there is too little room on the disk to write the database anew")
        try:
            connection.exec_driver_sql("VACUUM")
        except sa.exc.SQLAlchemyError:
            self._empty_log()  # of what was written so far
            raise

    def _empty_log(self) -> None:
        with self._alone() as connection:  # nobody else may write meanwhile, so it does not wait long for who reads
            connection.exec_driver_sql("PRAGMA busy_timeout=1000")
            try:
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").first()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={_TURN}")
        self._log_is_full = busy is None or bool(busy[0])

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _write_tables_anew(connection: sa.Connection) -> None:
    connection.exec_driver_sql(f"SET lock_timeout = {_WAIT}")
    try:
        for table in tables.sorted_tables:
            connection.exec_driver_sql(f"VACUUM (FULL) {table.name}")
    finally:
        connection.exec_driver_sql("RESET lock_timeout")  # others use the connection after this


def trouble(problem: BaseException) -> str:
    """Return a sentence for users on a problem of the database."""
    text = str(problem)
    if any(sign in text for sign in ("malformed", "not a database", "decode to UTF-8")):
        return _NOT_WHOLE
    return _FULL if isinstance(problem, OSError) or "disk" in text.lower() else _NO_ANSWER


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise OSError("malformed JSON in the database") from None


def _made(path: str) -> bool:
    """Make a file that is for its owner alone, if there is none; say whether it was made."""
    log = Path(f"{path}-wal")
    if log.exists() and not os.path.lexists(path):  # in this order, since another server may just begin
        raise InputError(
            f"--database {path} is missing, but its log {log.name} is there, and may hold ballots; "
            "put the file back, or move the log away to begin anew. Nothing was changed"
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return True
    except FileExistsError:
        return False
    except OSError as problem:
        raise InputError(
            f"--database {path} cannot be written ({problem.strerror}); give a file in a folder of yours"
        ) from None


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as problem:
        raise InputError(f"--database {path} cannot be read ({problem.strerror}); give a file of yours") from None


def _check_file(path: str) -> None:
    """Refuse a file that is not a whole database of ours, before anything is written to it."""
    end = time.monotonic() + _MOMENT
    while not Path(path).is_dir() and _size(path) == 0:
        if time.monotonic() > end:
            raise InputError(f"--database {path} is empty; restore a copy, or delete it to begin anew")
        time.sleep(0.05)
    where = f"{Path(path).absolute().as_uri()}?mode=ro"
    reader = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(where, uri=True), poolclass=sa.NullPool)
    try:
        with reader.connect() as connection:
            if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
                raise InputError(_DAMAGED)
            version(connection)
    except sa.exc.DatabaseError as problem:
        raise InputError(f"the database cannot be opened ({_one_line(problem)}); nothing was changed") from None


def _set_up_file(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's event begins transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_TURN}")
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction; one that writes waits for its turn before it reads."""
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writing") else "BEGIN")


def _one_line(problem: sa.exc.DatabaseError) -> str:
    return " ".join(str(problem.orig).split())
