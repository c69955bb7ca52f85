"""What the documentation gives to those who run the page."""

import json
import re
import urllib.request
from pathlib import Path

import pytest
from servers import Server

from veritally.cli.serve import serve

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
