"""The application: each page reads what is sent, calls the library or the store, and shows what comes of it."""

import asyncio
import contextlib
import io
import json
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from veritally.errors import InputError
from veritally.web.answers import Answers, tidy_columns, tidy_rows
from veritally.web.decisions import (
    LONGEST_NAME,
    MOST_ALTERNATIVES,
    MOST_VOTERS,
    WORDS,
    Setup,
    clean_text,
    counted,
    read_ballot,
    read_names,
    read_setup,
    whole,
)
from veritally.web.limits import Limit
from veritally.web.links import Stamps, new_secret
from veritally.web.pages import HEADERS, Pages
from veritally.web.store import ClosedError, Decision, Store

LARGEST_FORM, LARGEST_FILE = 1_000_000, 20_000_000  # bytes
_FIELDS = 2000
_EVERY = 60  # seconds, in which decisions are closed that are overdue
_NOWHERE = "This link leads nowhere. It may be incomplete, or was replaced or deleted; ask whoever sent it to you."
_log = logging.getLogger("veritally.web")

Page = Callable[["Request"], Awaitable[Response]]


def application(store: Store, *, seconds: float = 60.0, demo: str = "") -> Starlette:
    """Return the application for a server; ``demo`` is the secret of a link to an answer that everybody may see."""
    return _Application(store, seconds, demo).made()


class _Application:
    def __init__(self, store: Store, seconds: float, demo: str) -> None:
        self.store, self.demo = store, demo
        self.answers = Answers(store, seconds)
        self.stamps = Stamps(store.key)
        self.pages = Pages()
        self.by_address, self.by_link = Limit(600, 100), Limit(60, 2)
        self.making = Limit(30, 0.2)  # of decisions and files, for each address

    def made(self) -> Starlette:
        def at(path: str, page: Page, *methods: str) -> Route:
            return Route(path, self._limited(page), methods=list(methods or ("GET",)))

        routes = [
            at("/", self.start),
            at("/new", self.new, "GET", "POST"),
            at("/file", self.file, "POST"),
            at("/o/{secret}", self.organise),
            at("/o/{secret}/do", self.act, "POST"),
            at("/o/{secret}/{what}", self.read_answer),
            at("/v/{secret}", self.vote, "GET", "POST"),
            at("/v/{secret}/{what}", self.read_answer),
            at("/j/{secret}", self.join, "GET", "POST"),
            at("/a/{secret}", self.read_answer),
            at("/a/{secret}/{what}", self.read_answer),
            Route("/static/report.css", _resource("style.css", "text/css")),
            Route("/static/report.js", _resource("page.js", "text/javascript")),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ]
        handlers: Mapping[Any, Any] = {
            HTTPException: self._refused,
            InputError: self._mistaken,
            sa.exc.SQLAlchemyError: self._not_kept,
            OSError: self._not_kept,
            Exception: self._failed,
        }
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=self._life)

    @contextlib.asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        closing = asyncio.create_task(self._close_in_time())
        yield
        closing.cancel()
        await self.answers.close()

    async def _close_in_time(self) -> None:
        """Close decisions after their deadline, also if nobody looks, so that anonymous ballots lose their voters."""
        while True:
            try:
                for decision in await asyncio.to_thread(self.store.overdue):
                    await self._ended(decision)
                await asyncio.to_thread(self.store.forget)
            except Exception as problem:
                _log.error("not closed: %s", type(problem).__name__)
            await asyncio.sleep(_EVERY)

    # Requests

    def _limited(self, page: Page) -> Page:
        """Refuse too many requests, and those that are too large."""

        async def handle(request: Request) -> Response:
            secret = request.path_params.get("secret", "")
            address = request.client.host if request.client else ""
            wait = max(self.by_address.wait(address), self.by_link.wait(f"{secret} {address}") if secret else 0.0)
            if not secret and request.method == "POST":
                wait = max(wait, self.making.wait(address))
            if wait:
                later = {"retry-after": f"{wait + 1:.0f}"}
                raise HTTPException(429, "Too many requests at once. Wait a moment and try again.", later)
            if request.method == "POST" and request.headers.get("sec-fetch-site", "same-origin") not in (
                "same-origin",
                "none",
            ):
                raise HTTPException(403, "This form was sent from another site. Open your link and send it from there.")
            return await page(request)

        return handle

    async def _form(self, request: Request, of: str) -> dict[str, str]:
        """Return what a form of this link holds."""
        body = await _body(request, LARGEST_FORM)
        try:
            pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_FIELDS)
        except ValueError:
            raise HTTPException(400, "This form cannot be read. Open the page again and send it once more.") from None
        form = dict(pairs)
        if not self.stamps.holds(of, form.get("stamp", "")):
            raise HTTPException(403, "This page is too old, or not ours. Open your link again; nothing was changed.")
        return form

    async def _decision(self, request: Request, find: Callable[[str], Decision | None]) -> Decision:
        decision = await asyncio.to_thread(find, request.path_params["secret"])
        if decision is None:
            raise HTTPException(404, _NOWHERE)
        return await self._ended(decision)

    async def _ended(self, decision: Decision) -> Decision:
        """Close a decision whose deadline has passed."""
        if decision.over and not decision.closed:
            await asyncio.to_thread(self.store.close_voting, decision)
            return decision._replace(closed=True)
        return decision

    def _page(self, request: Request, name: str, status: int = 200, **given: Any) -> Response:
        given.setdefault("stamp", self.stamps.stamp(request.path_params.get("secret", "")))
        return self.pages.response(name, status, **given)

    # Starting

    async def start(self, request: Request) -> Response:
        return self._page(request, "start.html", demo=self.demo)

    async def new(self, request: Request) -> Response:
        form: dict[str, str] = {}
        words = "\n".join(f"{word} = {count:g}" for word, count in WORDS.items())
        problem = ""
        if request.method == "POST":
            form = await self._form(request, "")
            try:
                setup = read_setup(form)
                names = read_names(form.get("alternatives", ""), "alternatives", MOST_ALTERNATIVES)
                people = read_names(form.get("voters", ""), "voters", MOST_VOTERS)
                _require_enough(setup, names, people)
            except InputError as mistake:
                problem = str(mistake)
            else:
                organiser, links = await asyncio.to_thread(self.store.create, setup, names, people)
                return self._links(request, setup, links, organiser)
        return self._page(request, "new.html", 400 if problem else 200, form=form, words=words, problem=problem)

    def _links(self, request: Request, setup: Setup, links: Mapping[str, str], organiser: str = "") -> Response:
        """Show links, once."""
        base = str(request.base_url)
        people = [(name, f"{base}v/{secret}") for name, secret in links.items() if name]
        joined = f"{base}j/{links['']}" if "" in links else ""
        every = [*people, *([("everybody", joined)] if joined else [])]
        table = _csv([{"voter": name, "link": link} for name, link in every], ("voter", "link"))
        own = f"{base}o/{organiser}" if organiser else ""
        return self._page(request, "links.html", setup=setup, people=people, join=joined, organiser=own, table=table)

    async def file(self, request: Request) -> Response:
        """Take a vote file in place of voters."""
        length = request.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST_FILE:
            raise HTTPException(413, f"A vote file can have up to {LARGEST_FILE // 1_000_000} MB.")
        async with request.form(max_files=1, max_fields=10, max_part_size=LARGEST_FORM) as form:
            given = form.get("file")
            if not self.stamps.holds("", str(form.get("stamp", ""))):
                raise HTTPException(403, "This page is too old, or not ours. Open it again; nothing was changed.")
            if not isinstance(given, UploadFile) or not given.filename:
                raise InputError("no file was sent; choose one")
            content, name = (
                await given.read(),
                clean_text(Path(given.filename).name, "the name of the file", LONGEST_NAME),
            )
        title = Path(name).stem or "Votes"
        organiser = await asyncio.to_thread(self.store.upload, title, name, content)
        return RedirectResponse(f"/o/{organiser}/answer", 303)

    # Organising

    async def organise(self, request: Request) -> Response:
        decision = await self._decision(request, self.store.by_organiser)
        return await self._organiser_page(request, decision)

    async def _organiser_page(self, request: Request, decision: Decision, **given: Any) -> Response:
        people = await asyncio.to_thread(self.store.people, decision)
        number = await asyncio.to_thread(self.store.number_of_ballots, decision)
        ballots = await asyncio.to_thread(self.store.given, decision) if decision.setup.readable else []
        link = f"/o/{request.path_params['secret']}"
        return self._page(
            request,
            "organise.html",
            decision=decision,
            people=people,
            number=number,
            ballots=ballots,
            link=link,
            **given,
        )

    async def act(self, request: Request) -> Response:
        """Do what the organiser asks for."""
        secret = request.path_params["secret"]
        form = await self._form(request, secret)
        decision = await self._decision(request, self.store.by_organiser)
        store, what = self.store, form.get("act", "")
        if what == "voters":
            people = read_names(form.get("voters", ""), "voters", MOST_VOTERS)
            return self._links(request, decision.setup, await asyncio.to_thread(store.add_voters, decision, people))
        if what == "renew":
            name, link = await asyncio.to_thread(
                store.renew, decision, whole(form.get("voter", ""), "the voter", 0, 1 << 31)
            )
            return self._links(request, decision.setup, {name: link})
        if what == "alternatives":
            names = read_names(form.get("alternatives", ""), "alternatives", MOST_ALTERNATIVES)
            await asyncio.to_thread(store.add_alternatives, decision, names)
        elif what == "copy":
            organiser, links = await asyncio.to_thread(store.copy, decision)
            return self._links(request, decision.setup, links, organiser)
        elif what == "share":
            link = await asyncio.to_thread(store.share, decision)
            shared = f"{request.base_url}a/{link}"
            return await self._organiser_page(request, decision._replace(shared=True), shared=shared)
        elif what == "unshare":
            await asyncio.to_thread(store.unshare, decision)
        elif what == "close":
            await asyncio.to_thread(store.close_voting, decision)
        elif what == "reopen":
            await asyncio.to_thread(store.reopen, decision)
        elif what == "delete" and form.get("sure") == "yes":
            await asyncio.to_thread(store.delete, decision)
            return self._page(
                request, "said.html", title="Deleted", said="The decision and all its ballots are deleted."
            )
        elif what == "delete":
            raise InputError("nothing was deleted; tick the box to say that you are sure")
        else:
            raise HTTPException(400, "This form asks for nothing that can be done here.")
        return RedirectResponse(f"/o/{secret}", 303)

    # Voting

    async def vote(self, request: Request) -> Response:
        secret = request.path_params["secret"]
        form = await self._form(request, secret) if request.method == "POST" else None
        voter = await asyncio.to_thread(self.store.by_voter, secret)
        if voter is None:
            raise HTTPException(404, _NOWHERE)
        decision = await self._ended(voter.decision)

        async def keep(given: Mapping[str, Any]) -> Response:
            await asyncio.to_thread(self.store.vote, voter, given)
            return RedirectResponse(f"/v/{secret}", 303)

        return await self._ballot(request, decision, form, voter.given, keep, person=voter.name or "", order=secret)

    async def join(self, request: Request) -> Response:
        secret = request.path_params["secret"]
        form = await self._form(request, secret) if request.method == "POST" else None
        decision = await self._decision(request, self.store.by_open_link)
        order = (form or {}).get("order", "")
        if len(order) != len(new_secret()):  # it also is the receipt, so that a ballot sent twice counts once
            order = new_secret()

        async def keep(given: Mapping[str, Any]) -> Response:
            await asyncio.to_thread(self.store.vote_by_open_link, decision, given, order)
            link = f"{request.base_url}v/{order}"
            return self._page(request, "receipt.html", decision=decision, receipt=link)

        return await self._ballot(request, decision, form, None, keep, person="", order=order, joined=True)

    async def _ballot(
        self,
        request: Request,
        decision: Decision,
        form: Mapping[str, str] | None,
        given: Mapping[str, Any] | None,
        keep: Callable[[Mapping[str, Any]], Awaitable[Response]],
        **shown: Any,
    ) -> Response:
        """Show a ballot to fill in, then to look over, and keep it."""
        alternatives = list(decision.alternatives)
        random.Random(shown["order"]).shuffle(alternatives)
        shown |= {"decision": decision, "alternatives": alternatives, "voted": given is not None}
        if decision.closed:
            return self._page(request, "closed.html", **shown)
        if form is None:  # whoever makes new links must not see a ballot that nobody else is to see
            filled = _filled(given) if decision.setup.readable or not shown["person"] else {}
            return self._page(request, "ballot.html", filled=filled, problem="", **shown)
        try:
            read = read_ballot(form, decision.setup, alternatives)
        except InputError as mistake:
            return self._page(request, "ballot.html", 400, filled=form, problem=str(mistake), **shown)
        if form.get("act") == "change":
            return self._page(request, "ballot.html", filled=form, problem="", **shown)
        if form.get("act") != "submit":
            return self._page(
                request, "review.html", filled=_filled(read), lines=_lines(read, decision, alternatives), **shown
            )
        try:
            response = await keep(read)
        except ClosedError as late:
            return self._page(request, "said.html", 409, title="Not taken", said=str(late))
        with contextlib.suppress(OSError, sa.exc.SQLAlchemyError):  # the ballot is kept, whatever comes after
            if (now := await asyncio.to_thread(self.store.by_number, decision.id)) is not None:
                self.answers.ask(now)
        return response

    # Answers

    async def read_answer(self, request: Request) -> Response:
        """Show the answer to whoever may see it, or hand it out as a file."""
        what = request.path_params.get("what", "answer")
        secret, role = request.path_params["secret"], request.url.path.split("/")[1]
        if role == "v":
            voter = await asyncio.to_thread(self.store.by_voter, secret)
            decision = None if voter is None or not voter.decision.setup.shown else await self._ended(voter.decision)
        else:
            find = self.store.by_organiser if role == "o" else self.store.by_answer
            decision = await self._decision(request, find)
        if decision is None:
            raise HTTPException(404, _NOWHERE)
        if what == "votes.csv" and role == "o":
            return await self._votes(decision)
        if what not in ("answer", "state", "answer.json", "report.html"):
            raise HTTPException(404, _NOWHERE)
        kept = await asyncio.to_thread(self.store.answer, decision)
        if kept is None or kept[0] != decision.revision:
            self.answers.ask(decision)
        revision, found = kept or (-1, {})
        busy = revision != decision.revision
        if what == "state":
            return Response(
                json.dumps({"revision": revision, "busy": busy}), media_type="application/json", headers=HEADERS
            )
        if what == "answer.json":
            return _attachment(json.dumps(found.get("json", []), indent=1), "answer.json")
        if what == "report.html":
            return _attachment(self.pages.report(decision.setup.title, found), "report.html")
        number = await asyncio.to_thread(self.store.number_of_ballots, decision)
        link = f"/{role}/{secret}"
        return self._page(
            request,
            "answer.html",
            decision=decision,
            found=found,
            busy=busy,
            revision=revision,
            number=number,
            link=link,
        )

    async def _votes(self, decision: Decision) -> Response:
        if not (decision.setup.readable or decision.closed):
            raise InputError("the votes can be saved when voting is closed: until then they would tell who gave which")
        if decision.upload is not None:
            return _attachment(await asyncio.to_thread(self.store.uploaded, decision), decision.upload)
        rows = tidy_rows(decision.setup, decision.alternatives, await asyncio.to_thread(self.store.given, decision))
        return _attachment(_csv(rows, tidy_columns(decision.setup)), "votes.csv")

    # Refusals

    async def _refused(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        said = _NOWHERE if problem.status_code == 404 else problem.detail
        response = self.pages.response("said.html", problem.status_code, title="Not possible", said=said)
        response.headers.update(problem.headers or {})
        return response

    async def _mistaken(self, request: Request, problem: Exception) -> Response:
        return self.pages.response("said.html", 400, title="Not possible", said=str(problem))

    async def _not_kept(self, request: Request, problem: Exception) -> Response:
        _log.error("not kept: %s", type(problem).__name__)
        said = "This could not be saved, and nothing was changed: the server's disk may be full. Try again in a while."
        return self.pages.response("said.html", 503, title="Not saved", said=said)

    async def _failed(self, request: Request, problem: Exception) -> Response:
        _log.error("failed: %s", type(problem).__name__, exc_info=problem)
        return self.pages.response(
            "said.html", 500, title="Something went wrong", said="It was not your fault. Try again."
        )


def _resource(name: str, kind: str) -> Page:
    """Return a page that is a file of the reports."""
    content = files("veritally.document").joinpath(name).read_bytes()

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"x-content-type-options": "nosniff"})

    return page


async def _body(request: Request, most: int) -> bytes:
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise HTTPException(413, "This is more than can be sent at once.")
            parts.append(part)
    except ClientDisconnect:
        raise HTTPException(400, "The request ended too early.") from None
    return b"".join(parts)


def _require_enough(setup: Setup, names: Sequence[str], people: Sequence[str]) -> None:
    if len(names) < 2:
        raise InputError("give at least two alternatives, one a line")
    if not people and not setup.limit:
        raise InputError("nobody could vote; name voters, one a line, or say how many may vote by an open link")
    if setup.choose >= len(names):
        raise InputError(f"{setup.choose} of {len(names)} alternatives are no choice; choose fewer")


def _filled(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a kept ballot as the fields of its form."""
    made: dict[str, str] = {}
    for number, own in (given or {}).items():
        for what in ("seen", "rank", "score"):
            if what in own:
                made[f"{what}-{number}"] = own[what] if isinstance(own[what], str) else f"{own[what]:.12g}"
        if own.get("favourite"):
            made["favourite"] = str(number)
    return made


def _lines(
    given: Mapping[str, Any], decision: Decision, alternatives: Sequence[tuple[int, str]]
) -> list[tuple[str, str, str]]:
    """Return a ballot in words, the best first: vote, name, how much was seen."""
    setup, rows = decision.setup, []
    for number, name in alternatives:
        own = given[str(number)]
        seen = own["seen"] if isinstance(own["seen"], str) else f"{own['seen']:g} {setup.unit}".strip()
        if "rank" in own:
            vote, key = f"{own['rank']}", (0, own["rank"])
        elif "score" in own:
            vote, key = f"{own['score']:g}", (0, -own["score"])
        elif own.get("favourite"):
            vote, key = "favourite", (0, 0)
        elif not counted(own["seen"], setup):
            vote, key = "not seen", (2, 0)
        else:
            vote, key = "no score" if setup.kind == "scores" else "below the others", (1, 0)
        rows.append((key, (vote, name, seen)))
    return [line for _, line in sorted(rows, key=lambda row: row[0])]


def _csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a table as CSV, in which no cell is a formula to a spreadsheet."""
    import polars as pl

    from veritally.io import text

    file = io.BytesIO()
    text.write(pl.DataFrame(list(rows), schema=list(columns), infer_schema_length=None), file, ".csv")
    return file.getvalue().decode()


def _attachment(content: str | bytes, name: str) -> Response:
    kind = {"csv": "text/csv", "json": "application/json", "html": "text/html"}.get(name.rsplit(".", 1)[-1].lower())
    plain = "".join(x if x.isascii() and (x.isalnum() or x in ".-_") else "_" for x in name)
    headers = HEADERS | {"content-disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type=kind or "application/octet-stream", headers=headers)
