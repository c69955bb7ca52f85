"""``veritally decide --out``: answers in a file, of any number of decisions."""

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from veritally.cli.progress import progress_bar
from veritally.cli.screen import say, stop
from veritally.cluster import connected
from veritally.errors import InputError, InputNote, InputWarning, LostError
from veritally.panel.verdicts import sentences
from veritally.report.sentences import common_noise
from veritally.streams.decisions import SKIP, UndecidedError
from veritally.streams.parts import folder_of
from veritally.streams.run import decide_file

_SAID = 20  # warnings
_SETTLED = {
    None: "all that tie are chosen; --tie-break random draws among them",
    "first": "--tie-break first gave them to the alternative that comes first",
    "random": "--tie-break random drew who is chosen",
}
_NAMES_AND_NUMBERS = re.compile(r"'[^']*'|\d[\d.,]*")


def _first_of_each(messages: Iterable[str]) -> list[str]:
    """Return the first of those warnings that differ only in names and numbers, as those of pieces do."""
    alike: dict[str, list[str]] = {}
    for message in messages:
        alike.setdefault(_NAMES_AND_NUMBERS.sub("", message), []).append(message)
    return [first + (f" (and {len(rest):,} more like this)" if rest else "") for first, *rest in alike.values()]


def decide_to_file(file: str, out: str, others: Mapping[str, Any], cluster: str | None, **asked: Any) -> None:
    """Decide a file, write the answers, and say what was done."""
    for option, given in others.items():
        if given:
            raise InputError(f"{option} is for answers that are printed; leave it out, or --out")
    done, early = 0.0, set[str]()

    def report(share: float) -> None:
        nonlocal done
        done = share
        show(share)

    def warn(message: str, kind: type[InputWarning]) -> None:
        early.add(message)
        warnings.warn(message, kind, stacklevel=1)

    try:
        with connected(cluster) as executor, progress_bar(f"Deciding {Path(file).name}") as show:
            written = decide_file(file, out, **asked, executor=executor, progress=report, warn=warn)
    except UndecidedError as error:
        raise InputError(str(error).replace(SKIP, "; --on-error skip leaves it out")) from error
    except (KeyboardInterrupt, LostError) as error:
        kept = folder_of(Path(out))
        if not kept.exists():
            raise
        text = f"{done:.0%} is done and kept in {kept}; to resume, give the same command again"
        if isinstance(error, KeyboardInterrupt):
            stop(text)
        say(text, err=True)
        raise
    for note in _first_of_each(one for one in written.notes if one not in early):
        warnings.warn(note, InputNote, stacklevel=1)
    said = _first_of_each(one for one in written.warnings if one not in early)
    for message in said[:_SAID]:
        warnings.warn(message, InputWarning, stacklevel=1)
    if len(said) > _SAID:
        warnings.warn(f"{len(said) - _SAID:,} more warnings are not shown", InputWarning, stacklevel=1)
    number = "1 decision" if written.decisions == 1 else f"{written.decisions:,} decisions"
    every = written.files + written.other_files
    read = f", from {written.files:,} of {every:,} files (those that end in .parquet)" if written.other_files else ""
    decided = written.decisions - written.failed
    apart = f", {decided:,} decided, {written.failed:,} not" if written.failed else ""
    say(f"{number} by {written.rule}{read}{apart}: {written.path}")
    if written.tied:
        ties = f"{written.tied:,} of {decided:,} decisions {'ties' if written.tied == 1 else 'tie'}"
        say(f"{ties if decided > 1 else 'The decision ties'}; {_SETTLED[asked['tie_break']]}")
    for noise in written.pooled_noise:
        say(common_noise(noise))
    if written.panel is not None:
        say(f"By a panel of {len(written.panel.voters)} voters, learned from {written.panel.decisions:,} decisions:")
        for line in sentences(written.panel):
            say(line)
    if written.failed:
        say(f"{written.failed:,} could not be decided; the column error says why", err=True)
