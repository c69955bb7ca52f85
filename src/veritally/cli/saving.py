"""What ``decide`` saves beside what it prints: reports and a picture."""

import hashlib
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from veritally.checks import usable_path
from veritally.cli.screen import say
from veritally.errors import InputError
from veritally.files import refuse_to_replace, require_other, require_place
from veritally.outcome import Outcome


@dataclass(frozen=True)
class Files:
    """The files that a user asks for."""

    reports: tuple[str, ...]
    plot: str | None
    top: int | None
    title: str | None

    @property
    def wanted(self) -> bool:
        """Whether there are any."""
        return bool(self.reports) or self.plot is not None

    def check(self, force: bool) -> None:
        """Refuse what cannot be saved, before there is any work to lose."""
        if self.top is not None and self.plot is None:
            raise InputError("--top says how much a picture shows; give --plot FILE, too")
        if self.title is not None and not self.wanted:
            raise InputError("--title is for a report or picture; give --report FILE or --plot FILE, too")
        if self.plot is not None:
            from veritally.plots import require_picture

            require_picture(self.plot, force)
        for path in self.reports:
            from veritally.report.writing import require_report

            require_report(path, force)

    def save(self, outcome: Outcome, file: str, sum_of_file: str, notes: Sequence[str]) -> None:
        """Save all of them."""
        if self.plot is not None:
            from veritally.plots import save

            save(outcome, self.plot, title=self.title, top=self.top)
            say(f"Saved {self.plot}", err=True)
        for path in self.reports:
            from veritally.report.writing import write_report

            write_report(
                outcome,
                path,
                title=self.title or "",
                source="standard input" if file == "-" else Path(file).name,
                checksum=sum_of_file,
                command=shlex.join(["veritally", *sys.argv[1:]]),
                notes=notes,
            )
            say(f"Saved {path}", err=True)


def require_files(plot: str | None, force: bool, *others: tuple[str | None, str, bytes]) -> None:
    """Refuse what cannot be saved, before there is any work to lose.

    ``others`` are paths, each with the ending that it must have, and what stands in a file that may be replaced.
    """
    if plot is not None:
        from veritally.plots import require_picture

        require_picture(plot, force)
        require_place(plot)
    for path, suffix, mark in others:
        if path is None:
            continue
        if Path(path).suffix.lower() != suffix:
            raise InputError(f"{path}: choose a name that ends in {suffix}")
        require_place(path)
        if not force:
            refuse_to_replace(Path(path), partial(_has, mark))


def require_others(written: Iterable[str | None], read: Mapping[str, str | None], what_is_written: str) -> None:
    """Refuse to save over the files that it is made of; ``read`` has them by what they say."""
    for path in written:
        for what, file in read.items():
            if path is not None and file is not None:
                require_other(usable_path(path), [Path(file)], what, what_is_written)


def _has(mark: bytes, path: Path) -> bool:
    return mark in path.read_bytes()


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Keep what is warned of, for a report, and warn of it afterwards as usual."""
    notes: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield notes
    finally:
        for warning in caught:
            notes.append(str(warning.message))
            warnings.warn(warning.message, stacklevel=2)


def checksum(file: str) -> str:
    """Return the SHA-256 of a file, before anything is written; nothing for what can be read only once."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if Path(file).is_file() else ""
