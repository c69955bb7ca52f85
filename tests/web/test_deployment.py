"""What the documentation gives to those who run the page."""

import json
import re
import signal
import sqlite3
import tomllib
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from servers import Server

from veritally.cli import cli
from veritally.cli.serve import serve
from veritally.web.decisions import Setup
from veritally.web.store import Store

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"


def command(name):
    text = (DEPLOY / name).read_text()
    if name == "Containerfile":
        return json.loads(re.search(r"^CMD (.*)$", text, re.MULTILINE)[1])
    return re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1].split()


@pytest.mark.parametrize("name", ["Containerfile", "veritally.service"])
def test_commands_are_understood(name):
    program, verb, *options = command(name)
    assert (Path(program).name, verb) == ("veritally", "serve")
    given = serve.make_context("serve", options, help_option_names=["-h", "--help"]).params  # as cli has
    assert given["behind_proxy"]
    assert Path(given["database"]).is_absolute()


def test_a_container_holds_what_is_installed_and_no_database():
    root = DEPLOY.parents[1]
    lines = re.findall(r"^COPY (.*)$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    copied = {name for line in lines for name in line.split()[:-1]}
    assert all((root / name).exists() for name in copied)
    project = tomllib.loads((root / "pyproject.toml").read_text())
    (package,) = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = {project["project"]["readme"], *project["project"]["license-files"], package.split("/")[0]}
    assert copied == needed | {"pyproject.toml", "constraints.txt"}


@pytest.mark.parametrize(
    ("option", "scheme"),
    [([], "http"), (["--behind-proxy"], "https"), (["--behind-proxy=10.0.0.0/8"], "http")],
    ids=["no proxy", "a proxy here", "a proxy elsewhere"],
)
def test_a_proxy_is_believed_only_where_it_is_said_to_be(tmp_path, option, scheme):
    server = Server(tmp_path / "page.db", "--no-demo", *option)
    try:
        page = urllib.request.urlopen(f"{server.base}/new").read().decode()
        stamp = re.search(r'name="stamp" value="([^"]+)"', page)[1]
        form = f"stamp={stamp}&title=T&alternatives=x%0Ay&limit=3".encode()
        sent = urllib.request.Request(f"{server.base}/new", form, {"X-Forwarded-Proto": "https"})
        assert f'href="{scheme}://127.0.0.1' in urllib.request.urlopen(sent).read().decode()
    finally:
        server.stop()


@pytest.mark.parametrize("given", ["banana", "*", "10.0.0.1/8", "0.0.0.0/0", "127.0.0.1,", ""])
def test_a_proxy_is_named_by_its_address(tmp_path, given):
    said = CliRunner().invoke(cli, ["serve", f"--behind-proxy={given}", "--database", str(tmp_path / "page.db")])
    assert said.exit_code
    assert "names no proxy" in said.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_when_it_is_told_to_end_everything_is_in_the_file(tmp_path, sign):
    server = Server(tmp_path / "page.db")
    urllib.request.urlopen(server.base).close()  # it runs
    assert (tmp_path / "page.db-wal").exists()
    server.process.send_signal(sign)
    assert server.process.wait(20) == 0
    assert not server.close()
    assert [path.name for path in tmp_path.iterdir()] == ["page.db"]  # no log is left
    with sqlite3.connect(tmp_path / "page.db") as file:
        assert file.execute("SELECT count(*) FROM ballots").fetchone() == (7,)  # of the example


def test_a_decision_is_deleted_as_the_page_says(tmp_path):
    text = (DEPLOY.parent / "run-the-page.md").read_text()
    statement = re.search(r'sqlite3 page.db "(PRAGMA foreign_keys.*)"$', text, re.MULTILINE)[1]
    store = Store(f"sqlite:///{tmp_path / 'page.db'}")
    gone, links = store.create(Setup("Best poster"), ["x", "y"], ["Ada"])
    kept, _ = store.create(Setup("Best paper"), ["x", "y"], ["Ben"])
    voter = store.by_voter(links["Ada"])
    store.vote(voter, {str(number): {"seen": "some", "rank": 1} for number, _ in voter.decision.alternatives})
    with sqlite3.connect(tmp_path / "page.db") as file:
        file.executescript(statement)
        left = {name: file.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("voters", "ballots")}
    assert left == {"voters": 1, "ballots": 0}
    assert store.by_organiser(gone) is None
    assert store.by_organiser(kept) is not None
    store.close()
