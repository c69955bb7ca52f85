"""``veritally serve``: the page."""

import ipaddress
import signal
import socket
import sys
from pathlib import Path

import click

from veritally.cli.screen import say
from veritally.errors import InputError, quoted

_HERE = "127.0.0.1,::1"
_MISSING = "the page needs further packages; install them with: pip install 'veritally[web]'"


@click.command()
@click.option("--database", default="veritally.db", show_default=True, help="A file, or postgresql://… for a server.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--behind-proxy",
    is_flag=False,
    flag_value=_HERE,
    metavar="[ADDRESS]",
    help="Believe what a proxy says of address and protocol: one on this machine, or at an address or network.",
)
@click.option("--seconds", default=60.0, show_default=True, help="How long an answer may take.")
@click.option("--gigabytes", default=4.0, show_default=True, help="How much memory an answer may take.")
@click.option(
    "--database-gigabytes",
    default=10.0,
    show_default=True,
    help="How much the database may hold before new decisions and files are refused.",
)
@click.option("--demo/--no-demo", default=True, show_default=True, help="Show an example to newcomers.")
@click.option("--browse", is_flag=True, help="Open the page in a browser.")
def serve(
    database: str,
    host: str,
    port: int,
    behind_proxy: str | None,
    seconds: float,
    gigabytes: float,
    database_gigabytes: float,
    demo: bool,
    browse: bool,
) -> None:
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
    limits = {"--seconds": seconds, "--gigabytes": gigabytes, "--database-gigabytes": database_gigabytes}
    for name, value in limits.items():
        if not 0 < value <= 1e6:
            raise InputError(f"{name} must be above 0 and at most a million, not {value:g}")
    trusted = None if behind_proxy is None else _proxies(behind_proxy)
    listening = _listening(host, port)
    address = database if "://" in database else f"sqlite:///{Path(database).absolute()}"
    store = Store(address, database_gigabytes)
    shown = make_demo(store) if demo else ""
    at_home = host in ("127.0.0.1", "::1", "localhost")
    where = f"http://{'localhost' if at_home else host}:{listening.getsockname()[1]}/"
    say(f"The page is at {where} (end it with Ctrl-C)")
    if not at_home and not behind_proxy:
        say("Others can reach it without encryption. Put a proxy with TLS in front, and add --behind-proxy.", err=True)
    if browse:
        click.launch(where)
    config = uvicorn.Config(
        application(store, seconds=seconds, gigabytes=gigabytes, demo=shown),
        access_log=False,  # addresses of pages are secrets
        log_level="warning",
        proxy_headers=trusted is not None,
        forwarded_allow_ips=trusted,
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    sys.setswitchinterval(0.0005)  # seconds; pages that wait for the database soon have their turn again
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises it again, which would end all at once
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # it is how the page ends
    finally:
        store.close()


def _proxies(text: str) -> str:
    """Return the addresses and networks whose word is taken; refuse what names no proxy, or everybody."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        try:
            named = ipaddress.ip_network(part).prefixlen > 0
        except ValueError:
            named = False
        if not named:
            raise InputError(
                f"--behind-proxy: {quoted(part)} names no proxy; give its IP address or network, such as 10.0.0.0/8"
            )
    return ",".join(parts)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port that is taken is known before anything is made."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as problem:
        raise InputError(
            f"nothing can listen at {host}, port {port} ({problem.strerror}); give another --port or --host"
        ) from None
    # Else each page waits 40 ms between its headers and its text. asyncio does not set it on sockets of ours.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
