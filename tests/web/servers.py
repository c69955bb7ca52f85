"""Servers that tests and benchmarks start: the page in a process of its own, and PostgreSQL."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_TOOLS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
MISSING = "no PostgreSQL here; on Debian: apt-get install postgresql"


class Server:
    """``veritally serve`` in a process of its own, on a file or a database of a server."""

    def __init__(self, database, *options, **process):
        command = [sys.executable, "-m", "veritally", "serve", "--database", str(database), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **process)
        self.said = self.process.stdout.readline()
        found = re.search(r"http://localhost:(\d+)/", self.said)
        assert found, self.said + self.process.stderr.read()
        self.port = int(found[1])
        self.base = f"http://127.0.0.1:{self.port}"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.close()

    def stop(self):
        """End the page as Ctrl-C does; return what it wrote to stderr."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        return self.close()

    def close(self):
        """Return what it wrote to stderr, once it has ended."""
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors


class Postgres:
    """A PostgreSQL server of our own, which listens to this machine's users alone.

    It writes through to the disk only if it is ``durable``, which tests do not need.
    """

    def __init__(self, durable=False):
        self._durable = durable
        place = shutil.which("initdb") or (str(_TOOLS[-1] / "initdb") if _TOOLS else None)
        if place is None:
            raise FileNotFoundError(MISSING)
        self._tools = Path(place).resolve().parent
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # the path of a socket must be short
        self._run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": self.folder, **_user(self.folder)}
        made = ["initdb", "-D", self.folder / "data", "-A", "trust", "-U", "page", "-E", "UTF8", "-N"]
        self._call(*made)
        self.start()

    def _call(self, tool, *rest):
        subprocess.run([self._tools / tool, *rest], **self._run)

    def start(self):
        fsync = "on" if self._durable else "off"
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync={fsync}"
        self._call("pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self):
        self._call("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, name):
        return f"postgresql://page@/{name}?host={self.folder}"

    def new_database(self, name):
        """Make an empty database; return its address."""
        import psycopg

        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.address(name)


def _user(folder):
    """Return how to run as somebody else if we are root, whom PostgreSQL refuses."""
    if os.getuid():
        return {}
    import pwd

    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        raise FileNotFoundError("PostgreSQL does not run as root, and there is no user named postgres") from None
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid}
