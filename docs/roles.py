"""A hook of mkdocs: docstrings name things by roles, ``:func:`decide```, which Markdown does not know."""

import re
from typing import Any


def on_page_content(html: str, **_: Any) -> str:
    """Leave the name and take the role away."""
    return re.sub(r":(?:attr|class|data|func|meth|mod):(?=<code>)", "", html)
