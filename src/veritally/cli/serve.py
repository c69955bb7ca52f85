"""``veritally serve``: the page."""

from pathlib import Path

import click

from veritally.cli.screen import say
from veritally.errors import InputError

_MISSING = "the page needs further packages; install them with: pip install 'veritally[web]'"


@click.command()
@click.option("--database", default="veritally.db", show_default=True, help="A file, or postgresql://… for a server.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--behind-proxy", is_flag=True, help="Believe what a proxy on this machine says of address and protocol.")
@click.option("--seconds", default=60.0, show_default=True, help="How long an answer may take.")
@click.option("--demo/--no-demo", default=True, show_default=True, help="Show an example to newcomers.")
@click.option("--browse", is_flag=True, help="Open the page in a browser.")
def serve(database: str, host: str, port: int, behind_proxy: bool, seconds: float, demo: bool, browse: bool) -> None:
    """Let a committee vote on a page and read the answer there.

    The page listens on this machine alone. To let others in, put a proxy with TLS in front and add --behind-proxy.
    """
    try:
        import uvicorn

        from veritally.web.app import application
        from veritally.web.demo import make_demo
        from veritally.web.store import Store
    except ModuleNotFoundError as missing:
        raise InputError(f"{_MISSING} ({missing.name})") from missing
    address = database if "://" in database else f"sqlite:///{Path(database).absolute()}"
    if "://" not in database and not Path(database).absolute().parent.is_dir():
        raise InputError(f"--database {database}: there is no folder {Path(database).absolute().parent}")
    store = Store(address)
    shown = make_demo(store) if demo else ""
    where = f"http://{'localhost' if host in ('127.0.0.1', '::1') else host}:{port}/"
    say(f"The page is at {where} (end it with Ctrl-C)")
    if host not in ("127.0.0.1", "::1", "localhost") and not behind_proxy:
        say("Others can reach it without encryption. Put a proxy with TLS in front, and add --behind-proxy.", err=True)
    if browse:
        click.launch(where)
    try:
        uvicorn.run(
            application(store, seconds=seconds, demo=shown),
            host=host,
            port=port,
            access_log=False,  # addresses of pages are secrets
            log_level="warning",
            proxy_headers=behind_proxy,
            forwarded_allow_ips="127.0.0.1,::1" if behind_proxy else None,
            server_header=False,
        )
    finally:
        store.close()
