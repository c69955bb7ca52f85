"""Hooks of mkdocs, for what neither Markdown nor the theme does."""

import re
from typing import TYPE_CHECKING, Any

from formulas import inline

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page


def on_page_content(html: str, page: "Page", **_: Any) -> str:
    """Typeset formulas of docstrings and take their roles away, ``:func:`decide```; an empty cell heads no column."""
    html = inline(html, r'<span class="arithmatex">\({}\)</span>'.format) if page.file.src_uri == "api.md" else html
    html = re.sub(r":(?:attr|class|data|func|meth|mod):(?=<code>)", "", html)
    return re.sub(r"<th(?: [^>]*)?></th>", "<td></td>", html)


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search dialog for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def on_post_template(output: str, template_name: str, **_: Any) -> str:
    """Leave out the page for unknown addresses: only a server would show it, and it does not open from disk."""
    return "" if template_name == "404.html" else output
