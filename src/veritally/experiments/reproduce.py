"""Reproducing the paper: measure its tables, and write results, report and figures into a folder."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any

from veritally.checks import usable_path
from veritally.document import to_html, to_latex, to_markdown
from veritally.experiments.figures import draw
from veritally.experiments.ledger import Ledger
from veritally.experiments.report import document
from veritally.experiments.tables import Plan, Reproduction, no_progress
from veritally.files import refuse_to_replace, write_together
from veritally.plots import COLUMN, PAGE

_FILES = ("results.csv", "results.parquet", "README.md", "report.html", "report.tex")  # beside figures
_CONFIGURATION = "configuration.json"


def reproduce(
    folder: str | PathLike[str],
    *,
    command: str = "vt.reproduce",
    force: bool = False,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] = no_progress,
    **settings: Any,
) -> Reproduction:
    """Reproduce the paper's tables, and write results, a report and figures to a folder.

    Parameters
    ----------
    folder
        The folder to write to. Finished chunks are kept there in ``chunks.jsonl``; call again to resume a run that was
        interrupted.
    command
        The command that the report names as its origin.
    force
        Whether to replace files in the folder that no earlier report wrote.
    workers
        The number of processes; None for one per core. It does not change the results.
    executor
        Who works instead, such as the executor of a Dask cluster, as in :func:`veritally.compare`.
    progress
        Called with the work done and the work to do.
    **settings
        ``tables``, ``voters`` and ``rules`` choose what to measure; ``rules`` are named as in
        :func:`veritally.compare`. ``instances``, ``seed`` and ``backend`` are as in :func:`veritally.compare`.
    """
    folder, plan = usable_path(folder), Plan.of(**settings)
    with Ledger(folder / "chunks.jsonl") as kept:
        if not force:
            _refuse_to_replace(folder, (*_FILES, _CONFIGURATION))
        reproduction = plan.measure(kept, workers, progress, executor)
        write_report(reproduction, folder, command, force)
    return reproduction


def write_report(reproduction: Reproduction, folder: Path, command: str, force: bool = False) -> None:
    """Write results, configuration, report and figures into a folder, all or nothing.

    Without matplotlib there are no figures. The configuration has a checksum of each file, by which the next report
    knows what it may replace; others it replaces only by ``force``.
    """
    frame = reproduction.to_frame()
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    pictures = _pictures(reproduction)
    blocks = document(reproduction, command, figures=bool(pictures))
    page = to_html(blocks, {name: drawn["svg"].decode() for name, drawn in pictures.items()})
    texts = (to_markdown(blocks), page, to_latex(blocks))
    files = dict(zip(_FILES, (frame.write_csv().encode(), parquet.getvalue(), *map(str.encode, texts)), strict=True))
    files |= {f"{name}.{suffix}": data for name, drawn in pictures.items() for suffix, data in drawn.items()}
    if not force:
        _refuse_to_replace(folder, (*files, _CONFIGURATION))
    configuration = {"command": command, **reproduction.configuration, "files": _checksums(folder, files)}
    text = json.dumps(configuration, indent=2, ensure_ascii=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / name: data for name, data in {_CONFIGURATION: text.encode(), **files}.items()})


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _checksums(folder: Path, files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return the checksum of each file, and of what it replaces, which stays if the process is killed now."""
    sums = {name: [_checksum(data)] for name, data in files.items()}
    for name, known in sums.items():
        if (folder / name).is_file() and (old := _checksum((folder / name).read_bytes())) not in known:
            known.append(old)
    return sums


def _refuse_to_replace(folder: Path, names: Iterable[str]) -> None:
    """Refuse to replace what is not as an earlier report left it."""
    try:
        configuration = json.loads((folder / _CONFIGURATION).read_bytes())
        written = {name: set(sums) for name, sums in configuration["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        written = {}

    def is_ours(path: Path) -> bool:
        return (
            bool(written) if path.name == _CONFIGURATION else _checksum(path.read_bytes()) in written.get(path.name, ())
        )

    for name in names:
        refuse_to_replace(folder / name, is_ours)


def _pictures(reproduction: Reproduction) -> Mapping[str, Mapping[str, bytes]]:
    """Draw each table for a page, and for one column of a paper."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return {}
    results, widths = list(reproduction.results()), {"": PAGE, "-column": COLUMN}
    return {
        f"{table}{suffix}": draw(results, table, width)
        for table in reproduction.tables
        for suffix, width in widths.items()
    }
