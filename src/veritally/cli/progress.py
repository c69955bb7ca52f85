"""A sign of life where the wait may be felt."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

_FELT = 20_000_000  # bytes of votes that take about a second to read


def working(file: str) -> AbstractContextManager[Any]:
    """Show on a terminal's standard error that a large file is being worked on."""
    path = Path(file)
    try:
        felt = path.stat().st_size > _FELT
    except OSError:  # reading it will say what is wrong
        felt = False
    if not felt:
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"Working on {path.name} …")
