"""What every page works with: the store, the answers, the templates; and what was asked for."""

import io
import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.responses import Response

from veritally.errors import InputError
from veritally.web.answers import Answers
from veritally.web.kept import Decision
from veritally.web.links import Stamps
from veritally.web.pages import HEADERS, Pages
from veritally.web.store import Store

OPEN_LONG = "this page was open for more than a day, so nothing was saved yet; look it over and send it again"
NOWHERE = "This link leads nowhere. It may be incomplete, or was replaced or deleted; ask whoever sent it to you."


@dataclass(frozen=True)
class Asked:
    """What a browser asked for.

    Attributes
    ----------
    base
        The address of this server, as the browser knows it.
    role, secret, what
        The parts of the path: whose link it is, its secret, and what is wanted of it.
    form
        What was sent, stamped by the page of this link; none if nothing was sent.
    file
        The name and the content of a file that was sent.
    address
        What counts as one address, of who asks.
    old
        Whether the page was open for so long that what was sent should be looked over.
    """

    base: str
    role: str = ""
    secret: str = ""
    what: str = ""
    form: Mapping[str, str] | None = None
    file: tuple[str, bytes] | None = None
    address: str = ""
    old: bool = False

    @property
    def link(self) -> str:
        """Return the address that was opened, less what is wanted of it."""
        return f"/{self.role}/{self.secret}"

    @property
    def local(self) -> bool:
        """Say whether links with this address work on this machine alone."""
        try:
            host = urlsplit(self.base).hostname or ""
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:  # a name
            return False


@dataclass(frozen=True)
class Desk:
    """What pages work with. They run in threads, many at a time."""

    store: Store
    answers: Answers
    stamps: Stamps
    pages: Pages = field(default_factory=Pages)
    demo: str = ""

    def show(self, asked: Asked, name: str, status: int = 200, **given: Any) -> Response:
        """Return a page whose forms are stamped."""
        return self.pages.response(name, status, stamp=self.stamps.stamp(asked.secret), local=asked.local, **given)

    def refusal(self, asked: Asked, mistake: InputError) -> Response:
        """Return a page that says why something cannot be done, with a way back to the decision."""
        return self.show(asked, "said.html", 400, title="Not possible", said=str(mistake), back=asked.link)

    def decision(self, asked: Asked, find: Callable[[str], Decision | None]) -> Decision:
        """Return the decision that a link is of."""
        decision = find(asked.secret)
        if decision is None:
            raise HTTPException(404, NOWHERE)
        return self.ended(decision)

    def ended(self, decision: Decision) -> Decision:
        """Close a decision whose deadline has passed."""
        return self.store.close_overdue(decision) if decision.over and not decision.closed else decision


PageFunction: TypeAlias = Callable[[Desk, Asked], Response]


def csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a table as CSV, in which no cell is a formula to a spreadsheet, also to one that splits at semicolons."""
    import polars as pl

    from veritally.io import text

    file = io.BytesIO()
    table = pl.DataFrame(list(rows), schema=list(columns), infer_schema_length=None)
    after_semicolon = rf"(;\s*)({text.FORMULA})"
    table = table.with_columns(pl.col(pl.String).str.replace_all(after_semicolon, "${1}'${2}"))
    text.write(table, file, ".csv")
    return file.getvalue().decode()


def attachment(content: str | bytes, name: str) -> Response:
    """Return a file to save."""
    kind = {"csv": "text/csv", "json": "application/json", "html": "text/html"}.get(name.rsplit(".", 1)[-1].lower())
    plain = "".join(x if x.isascii() and (x.isalnum() or x in ".-_") else "_" for x in name)
    headers = HEADERS | {"content-disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type=kind or "application/octet-stream", headers=headers)
