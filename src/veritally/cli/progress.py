"""A sign of life where the wait may be felt."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from veritally.cli.screen import say

_FELT = 2.0  # seconds
_STEP = 0.1  # of the work, after which a log gets a line


@contextmanager
def working(file: str) -> Iterator[None]:
    """Say on standard error that a file is being worked on, once that takes longer than a moment."""
    hint = "what takes longest: σ and τ to be estimated, counts or noise that need a mixture, long ties, many decisions"
    timer = threading.Timer(_FELT, lambda: say(f"Working on {Path(file).name} … ({hint})", err=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def bar(what: str) -> Iterator[Callable[..., None]]:
    """Show how much is done and how much time is left: a bar on a terminal, a line now and then in a log.

    Yields a function that takes the share of the work that is done, and perhaps what else there is to say.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield _Log(what)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share, note="": progress.update(
            task, completed=share, description=f"{what} ({note})" if note else what
        )


class _Log:
    """Lines for a log; none for what is over within two seconds."""

    def __init__(self, what: str) -> None:
        self.what, self.said = what, 0.0
        self.before: float | None = None  # what an earlier run has done

    def __call__(self, share: float, note: str = "") -> None:
        if self.before is None or share < self.said:  # another piece of work
            self.before, self.said, self.start = share, share, time.monotonic()
        spent = time.monotonic() - self.start
        if spent > 2 and share < 1 and share - self.said >= _STEP:
            left = spent * (1 - share) / (share - self.before)
            also = f" ({note})" if note else ""
            say(f"{self.what}: {share:.0%} done, about {_duration(left)} left{also}", err=True)
            self.said = share


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
