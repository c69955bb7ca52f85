"""The application: requests are limited, read and checked here; pages answer them in threads of their own."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from veritally.errors import InputError
from veritally.web import organiser, reader, voter
from veritally.web.answers import Answers
from veritally.web.database import trouble
from veritally.web.desk import NOWHERE, Asked, Desk, PageFunction
from veritally.web.kept import ClosedError
from veritally.web.limits import Limit, neighbourhood
from veritally.web.links import Stamps, hashed
from veritally.web.store import Store

LARGEST_FORM, LARGEST_FILE = 1_000_000, 20_000_000  # bytes
_FIELDS = 2000
_EVERY = 60  # seconds, in which what is overdue is closed, and what was deleted is forgotten
_TOO_MANY = "Too many requests at once. Wait a moment and try again."
_OLD = "This page is too old, or not ours. Open your link again; nothing was changed."
_SHOWN_AGAIN = (organiser.new, voter.vote, voter.join)  # if the page is old, with what was written on it
_log = logging.getLogger("veritally.web")

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Sent: TypeAlias = tuple[dict[str, str], tuple[str, bytes] | None]


def application(store: Store, *, seconds: float = 60.0, gigabytes: float = 4.0, demo: str = "") -> Starlette:
    """Return the application for a server.

    Parameters
    ----------
    store
        Where decisions are kept.
    seconds, gigabytes
        How long an answer may take, and how much memory.
    demo
        The secret of a link to an answer that everybody may see.
    """
    return _Application(Desk(store, Answers(store, seconds, gigabytes), Stamps(store.key), demo=demo)).made()


class _Application:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.by_address, self.of_anything = Limit(600, 100), Limit(3000, 500)  # a page comes with scripts and styles
        self.by_link, self.by_shared = Limit(60, 2), Limit(300, 30)  # a link is one person's, or many people's
        self.making = Limit(30, 0.2)  # of decisions and files, for each address

    def made(self) -> Starlette:
        def at(
            path: str, page: PageFunction, *methods: str, read: Callable[[Request], Awaitable[Sent]] = _form
        ) -> Route:
            return Route(path, self._answering(page, read), methods=list(methods or ("GET",)))

        routes = [
            at("/", organiser.start),
            at("/new", organiser.new, "GET", "POST"),
            at("/file", organiser.file, "POST", read=_file),
            at("/o/{secret}", organiser.organise),
            at("/o/{secret}/do", organiser.act, "POST"),
            at("/o/{secret}/{what}", reader.read_answer),
            at("/v/{secret}", voter.vote, "GET", "POST"),
            at("/v/{secret}/{what}", reader.read_answer),
            at("/j/{secret}", voter.join, "GET", "POST"),
            at("/a/{secret}", reader.read_answer),
            at("/a/{secret}/{what}", reader.read_answer),
            Route("/static/report.css", _resource("style.css", "text/css")),
            Route("/static/report.js", _resource("page.js", "text/javascript")),
            Mount("/static", _Static(directory=Path(__file__).parent / "static")),
        ]
        handlers: Mapping[Any, Any] = {
            HTTPException: self._refused,
            InputError: self._mistaken,
            sa.exc.SQLAlchemyError: self._not_kept,
            OSError: self._not_kept,
            Exception: self._failed,
        }
        made = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._life)
        made.add_middleware(_Gate, self._turned_away)
        made.router.redirect_slashes = False  # it fails where an address is no text, and repeats secrets
        return made

    @contextlib.asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(self.desk.store.decide_again)
        self.desk.answers.open(asyncio.get_running_loop())
        closing = asyncio.create_task(self._close_in_time())
        yield
        closing.cancel()
        self.desk.answers.close()
        with contextlib.suppress(OSError, sa.exc.SQLAlchemyError):  # it is tried again at the next start
            await asyncio.to_thread(self.desk.store.forget, at_once=True)

    async def _close_in_time(self) -> None:
        """Close decisions after their deadline, also if nobody looks, so that anonymous ballots lose their voters."""
        store = self.desk.store
        while True:
            try:
                for decision in await asyncio.to_thread(store.overdue):
                    with contextlib.suppress(ClosedError):  # it was deleted meanwhile
                        await asyncio.to_thread(store.close_overdue, decision)
                await asyncio.to_thread(store.forget)
            except Exception as problem:
                what = str(problem) if isinstance(problem, OSError) else type(problem).__name__
                _log.error("not closed, or not written anew; it is tried again in a minute: %s", what)
            await asyncio.sleep(_EVERY)

    def _answering(self, page: PageFunction, read: Callable[[Request], Awaitable[Sent]]) -> Handler:
        """Return what answers requests for a page; too many, foreign and unstamped ones are refused."""

        async def handle(request: Request) -> Response:
            secret = request.path_params.get("secret", "")
            self._admit(request, secret)
            form, file = await read(request) if request.method == "POST" else (None, None)
            stamp = "" if form is None else form.get("stamp", "")
            old = form is not None and not self.desk.stamps.holds(secret, stamp)
            if old and not (page in _SHOWN_AGAIN and self.desk.stamps.are_ours(secret, stamp)):
                raise HTTPException(403, _OLD)
            role, what = request.scope["path"].split("/")[1], request.path_params.get("what", "")
            asked = Asked(str(request.base_url), role, secret, what, form, file, _address(request), old)
            return await asyncio.to_thread(page, self.desk, asked)

        return handle

    def _admit(self, request: Request, secret: str) -> None:
        address = _address(request)
        wait = self.by_address.wait(address)
        if secret:  # hashed, since a wrong one may be of any length
            limit = self.by_shared if request.scope["path"][:3] in ("/j/", "/a/") else self.by_link
            wait = max(wait, limit.wait(f"{hashed(secret)} {address}"))
        if not secret and request.method == "POST":
            wait = max(wait, self.making.wait(address))
        if wait:
            raise HTTPException(429, _TOO_MANY, _later(wait))
        origin = request.headers.get("sec-fetch-site", "same-origin")
        if request.method == "POST" and origin not in ("same-origin", "none"):
            raise HTTPException(403, "This form was sent from another site. Open your link and send it from there.")

    def _turned_away(self, request: Request) -> Response | None:
        """Return what an address is told that asks too often, for whatever it is."""
        wait = self.of_anything.wait(_address(request))
        if not wait:
            return None
        response = self._say(429, "Not possible", _TOO_MANY)
        response.headers.update(_later(wait))
        return response

    # Refusals

    def _say(self, status: int, title: str, said: str) -> Response:
        return self.desk.pages.response("said.html", status, title=title, said=said)

    async def _refused(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        response = self._say(
            problem.status_code, "Not possible", NOWHERE if problem.status_code == 404 else problem.detail
        )
        response.headers.update(problem.headers or {})
        return response

    async def _mistaken(self, request: Request, problem: Exception) -> Response:
        return self._say(400, "Not possible", str(problem))

    async def _not_kept(self, request: Request, problem: Exception) -> Response:
        said = trouble(problem)
        _log.error("not kept: %s (%s)", said, type(problem).__name__)
        return self._say(503, "Not saved", said)

    async def _failed(self, request: Request, problem: Exception) -> Response:
        _log.error("failed: %s", type(problem).__name__, exc_info=problem)
        return self._say(500, "Something went wrong", "It was not your fault. Try again.")


class _Gate:
    """Lets requests in, or answers them itself; also those of which no page would hear."""

    def __init__(self, app: ASGIApp, turned_away: Callable[[Request], Response | None]) -> None:
        self._app, self._turned_away = app, turned_away

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._turned_away(Request(scope)) if scope["type"] == "http" else None
        await (response or self._app)(scope, receive, send)


class _Static(StaticFiles):
    """Scripts and styles, which are nothing else to a browser."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        response = super().file_response(*given, **named)
        response.headers["x-content-type-options"] = "nosniff"
        return response


def _later(wait: float) -> dict[str, str]:
    return {"retry-after": f"{wait + 1:.0f}"}


def _address(request: Request) -> str:
    return neighbourhood(request.client.host) if request.client else ""


def _resource(name: str, kind: str) -> Handler:
    """Return a page that is a file of the reports."""
    content = files("veritally.document").joinpath(name).read_bytes()

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"x-content-type-options": "nosniff"})

    return page


async def _form(request: Request) -> Sent:
    """Return the fields that were sent."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > LARGEST_FORM:
                raise HTTPException(413, "This is more than can be sent at once.")
            parts.append(part)
        text = b"".join(parts).decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS)), None
    except (ClientDisconnect, ValueError):
        raise HTTPException(400, "This form cannot be read. Open the page again and send it once more.") from None


async def _file(request: Request) -> Sent:
    """Return the fields and the file that were sent."""
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()) or int(length) > LARGEST_FILE:
        raise HTTPException(413, f"A vote file can have up to {LARGEST_FILE // 1_000_000} MB.")
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise HTTPException(415, "This is no form with a file. Open the page again and send it once more.")
    try:
        async with request.form(max_files=1, max_fields=10, max_part_size=LARGEST_FORM) as form:
            given = form.get("file")
            file = (given.filename, await given.read()) if isinstance(given, UploadFile) and given.filename else None
            return {name: value for name, value in form.items() if isinstance(value, str)}, file
    except ClientDisconnect:
        raise HTTPException(400, "The file did not arrive whole. Send it once more.") from None
