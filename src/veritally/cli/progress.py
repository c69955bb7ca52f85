"""Progress, shown when the wait is long enough to notice."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from rich.markup import escape

from veritally.cli.screen import say
from veritally.votes.labels import visible

_FELT = 2.0  # seconds
_STEP = 0.1  # of the work, after which a log gets a line


@contextmanager
def working(file: str) -> Iterator[None]:
    """Say on standard error that a file is being worked on, once that takes longer than a moment."""
    timer = threading.Timer(_FELT, lambda: say(f"Working on {Path(file).name} …", err=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def progress_bar(what: str) -> Iterator["ProgressDisplay"]:
    """Show how much is done and how much time is left: a bar on a terminal, a line now and then in a log.

    Yields a function that takes the share of the work that is done, and perhaps what else there is to say. Before
    anything else is printed on the way, its ``hide`` must be called. Of work that is over in a moment nothing is shown.
    """
    display = _Log(what) if sys.stderr is None or not sys.stderr.isatty() else _Bar(what)
    try:
        yield display
    finally:
        display.close()


class _Bar:
    """A bar on a terminal."""

    def __init__(self, what: str) -> None:
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
        self.what, self.start = visible(what), time.monotonic()
        self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.progress.add_task(escape(self.what), total=1.0)

    def __call__(self, share: float, note: str = "") -> None:
        text = f"{self.what} ({note})" if note else self.what
        self.progress.update(self.task, completed=share, description=escape(text))
        if time.monotonic() - self.start > _FELT:
            self.progress.start()

    def hide(self) -> None:
        """Leave the terminal to others until there is more to show."""
        self.progress.stop()

    def close(self) -> None:
        """Leave the terminal to others."""
        self.hide()


class _Log:
    """Lines for a log: one once the wait is felt, and one after each tenth of the work; none for what is over by then.

    What goes back, as a search that is tried again from another start does, gets no line until it has come further
    than before.
    """

    def __init__(self, what: str) -> None:
        self.what, self.start = what, time.monotonic()
        self.share = self.shown = 0.0
        self.before: float | None = None  # what an earlier run has done
        self.timer = threading.Timer(_FELT, self._first)
        self.timer.daemon = True
        self.timer.start()

    def hide(self) -> None:
        """Leave lines where they are."""

    def close(self) -> None:
        """Say no more."""
        self.timer.cancel()

    def __call__(self, share: float, note: str = "") -> None:
        if self.before is None or self.share >= 1 > share:  # another piece of work
            self.before, self.shown, self.start = share, share, time.monotonic()
        self.share = share
        spent = time.monotonic() - self.start
        if spent > _FELT and share < 1 and share - self.shown >= _STEP:
            self.timer.cancel()
            left = spent * (1 - share) / (share - self.before)
            also = f" ({note})" if note else ""
            say(f"{self.what}: {share:.0%} done, about {duration(left)} left{also}", err=True)
            self.shown = share

    def _first(self) -> None:
        """Say that there is work; how long it takes cannot be known yet."""
        say(f"{self.what}: {self.share:.0%} done" if round(self.share, 2) else f"{self.what} …", err=True)
        self.shown = max(self.shown, self.share)


ProgressDisplay: TypeAlias = _Bar | _Log
"""What shows how far work is."""


def duration(seconds: float) -> str:
    """Write a duration as a person would."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
