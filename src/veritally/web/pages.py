"""Pages from templates, with rules for browsers: nothing from elsewhere, no code or style within the page."""

import base64
import secrets
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from veritally.web.decisions import FEWEST_HIDDEN
from veritally.web.kept import TOO_FEW
from veritally.web.numbers import written

HEADERS = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Pages:
    """The templates."""

    def __init__(self) -> None:
        loader = PackageLoader("veritally.web")
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        self._templates.filters["written"] = lambda given: given if isinstance(given, str) else written(given)
        self._templates.globals |= {
            "qr": _qr,
            "as_file": _as_file,
            "style": _style,
            "fewest": FEWEST_HIDDEN,
            "too_few": TOO_FEW,
        }

    def response(self, name: str, status: int = 200, **given: Any) -> Response:
        """Return a page."""
        nonce = secrets.token_urlsafe(16)
        rules = (
            f"default-src 'none'; style-src 'self' 'nonce-{nonce}'; script-src 'self'; img-src data:; "
            "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        page = self._templates.get_template(name).render(nonce=nonce, **given)
        return HTMLResponse(page, status, HEADERS | {"content-security-policy": rules})

    def report(self, title: str, found: dict[str, Any]) -> str:
        """Return the answer as one page that needs no other file."""
        return self._templates.get_template("report.html").render(title=title, found=found)


def _qr(link: str) -> str:
    """Return a link as a picture that a phone reads."""
    import segno

    try:
        return str(segno.make(link, error="m").svg_data_uri(scale=4, border=2))
    except segno.DataOverflowError:  # an address that no picture holds
        return "data:,"


def _as_file(text: str) -> str:
    """Return a text as an address from which it can be saved."""
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()


def _style() -> Markup:
    return Markup(files("veritally.document").joinpath("style.css").read_text("utf-8"))
