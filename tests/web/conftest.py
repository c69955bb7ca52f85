"""Databases of both kinds, and the page as its users have it: a server of its own, or a client without one."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from veritally.web.app import application
from veritally.web.store import Store

_POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@pytest.fixture(scope="session")
def postgres():
    """Start a PostgreSQL server of our own; return its address."""
    place = shutil.which("initdb") or (str(_POSTGRES[-1] / "initdb") if _POSTGRES else None)
    if place is None:
        pytest.skip("no PostgreSQL here; on Debian: apt-get install postgresql")
    tools = Path(place).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # the path of a socket must be short
    as_user = _for_postgres(folder)
    run = {"check": True, "capture_output": True, "cwd": folder, **as_user}
    subprocess.run([tools / "initdb", "-D", folder / "data", "-A", "trust", "-U", "page", "-E", "UTF8", "-N"], **run)
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    start = [tools / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", options, "start"]
    subprocess.run(start, **(run | {"capture_output": False, "stdout": subprocess.DEVNULL}))
    yield f"postgresql://page@/{{name}}?host={folder}"
    subprocess.run([tools / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop"], **run)
    shutil.rmtree(folder, ignore_errors=True)


def _for_postgres(folder):
    """Return how to run as somebody else if we are root, whom PostgreSQL refuses."""
    if os.getuid():
        return {}
    import pwd

    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user named postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid}


@pytest.fixture(params=["file", "server"])
def address(request, tmp_path):
    """Return the address of an empty database: a file, then a database of a server."""
    if request.param == "file":
        return f"sqlite:///{tmp_path / 'page.db'}"
    import psycopg

    server = request.getfixturevalue("postgres")
    name = "t" + re.sub(r"\W", "", str(tmp_path))[-40:].lower()
    with psycopg.connect(server.format(name="postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return server.format(name=name)


@pytest.fixture
def store(address):
    store = Store(address)
    yield store
    store.close()


@pytest.fixture
def client(store):
    with TestClient(application(store), raise_server_exceptions=False) as client:
        yield client


class Server:
    """``veritally serve`` in a process of its own, on a file."""

    def __init__(self, path, *options, **process):
        command = [sys.executable, "-m", "veritally", "serve", "--database", str(path), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **process)
        self.said = self.process.stdout.readline()
        found = re.search(r"http://localhost:(\d+)/", self.said)
        assert found, self.said + self.process.stderr.read()
        self.base = f"http://127.0.0.1:{found[1]}"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._close()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        return self._close()

    def _close(self):
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Start a server of this module's own; return it with the store that it works on."""
    path = tmp_path_factory.mktemp("server") / "page.db"
    server = Server(path)
    server.store = Store(f"sqlite:///{path}")
    yield server
    server.store.close()
    assert not server.stop()
