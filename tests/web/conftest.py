"""Databases of both kinds, and the page as its users have it."""

import re

import pytest
from servers import Postgres, Server
from starlette.testclient import TestClient

from veritally.web.app import application
from veritally.web.store import Store


@pytest.fixture(scope="session")
def postgres():
    """Start a PostgreSQL server of our own."""
    try:
        server = Postgres()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    yield server
    server.remove()


@pytest.fixture(params=["file", "server"])
def address(request, tmp_path):
    """Return the address of an empty database: a file, then a database of a server."""
    if request.param == "file":
        return f"sqlite:///{tmp_path / 'page.db'}"
    name = "t" + re.sub(r"\W", "", str(tmp_path))[-40:].lower()
    return request.getfixturevalue("postgres").new_database(name)


@pytest.fixture
def store(address):
    store = Store(address)
    yield store
    store.close()


@pytest.fixture
def client(store):
    with TestClient(application(store), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Start a server of this module's own; return it with the store that it works on."""
    path = tmp_path_factory.mktemp("server") / "page.db"
    server = Server(path)
    server.store = Store(f"sqlite:///{path}")
    yield server
    server.store.close()
    assert not server.stop()
