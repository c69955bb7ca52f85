"""One trial: a file made from a seed and a number, read, and judged by what comes of it."""

import atexit
import io
import json
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from click.testing import CliRunner
from corpus import BARE, COUNTS, SAID, TABLES, TIDY, TRUTHS, VOTES
from corpus import table as table_of
from mutators import parquet, some_bytes, some_cells, some_columns, some_entries, some_json

import veritally as vt
from veritally.cli import cli
from veritally.io.truth import read_truth
from veritally.learned.models import model
from veritally.learned.weights import save
from veritally.votes.description import describe

_LONGEST = 1500  # characters of a sentence
_QUICK = ("borda", "plurality", "veto", "majority", "score", "top-zero")
_BESIDES = ("Warning: ", "Note: ", "Working on ", "Deciding ", "This takes ")  # lines that may stand beside an error
_APART: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}  # click 8.1
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".orders", ".soc", ".toi")


class Case(NamedTuple):
    """A file, or a frame, and how it is used."""

    use: str
    suffix: str
    data: bytes
    options: dict[str, Any]


class ProblemError(Exception):
    """What came of a file is neither a result nor a sentence."""


def trial(seed: int, number: int, folder: Path) -> str:
    """Make a file and use it; return ``result`` or ``sentence``, or raise."""
    random = Random(f"{seed}/{number}")
    case = made(random)
    path = folder / f"{seed}-{number}{case.suffix}"
    path.write_bytes(case.data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", vt.InputWarning)
        try:
            _USES[case.use](random, path, case)
        except vt.InputError as error:
            require_sentence(str(error))
            verdict = "sentence"
        else:
            verdict = "result"
    path.unlink()  # what was a problem stays
    return verdict


def made(random: Random) -> Case:
    """Draw a file and what to do with it."""
    kind = random.choices(("votes", "table", "truth", "counts", "weights"), (60, 22, 8, 5, 5))[0]
    if kind == "table":
        text = random.choice(TABLES)
        table = table_of(text)
        for _ in range(random.randrange(5)):
            table = some_columns(random, table)
        return _table(random, table, _options(random, SAID.get(text, {})))
    if kind == "weights":
        return Case("weights", ".safetensors", _weights(random), {"rule": "learned"})
    if kind == "counts":
        return Case("counts", ".csv", _broken(random, ".csv", COUNTS.encode()), {})
    seed = random.choice(VOTES if kind == "votes" else TRUTHS)
    data = _broken(random, seed.suffix, seed.data)
    if kind == "truth":
        return Case(random.choice(("truth", "truth", "compare")), seed.suffix, data, {})
    use = random.choices(("read", "check", "decide", "stdin"), (60, 15, 15, 10))[0]
    suffix = random.choice((*_SUFFIXES, ".txt")) if random.random() < 0.1 else seed.suffix
    return Case(use, suffix, data, _options(random, seed.options))


def _table(random: Random, table: pl.DataFrame, options: dict[str, Any]) -> Case:
    data = parquet(random, table)
    if random.random() < 0.4:
        return Case(random.choice(("pandas", "polars", "pyarrow")), ".parquet", data, options)
    for _ in range(random.choice((0, 0, 0, 1, 3))):
        data = some_bytes(random, data)
    return Case(random.choice(("read", "check")), ".parquet", data, options)


def _broken(random: Random, suffix: str, data: bytes) -> bytes:
    structured = {".jsonl": some_json, ".xlsx": some_bytes}.get(suffix, some_cells)
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 2, 6))):
        data = random.choice((structured, structured, structured, some_bytes))(random, data)
    if random.random() < 0.03:
        data += random.choice(VOTES).data
    return data


def _options(random: Random, options: dict[str, str]) -> dict[str, Any]:
    drawn = dict(options)
    if random.random() < 0.15:
        drawn["ballots"] = random.choice(("value", "rank", "top"))
    if random.random() < 0.05:
        drawn["unranked"] = random.choice(("below", "unknown"))
    if random.random() < 0.05:
        drawn["lower_is_better"] = True
    return drawn


@cache
def scratch() -> Path:
    """Return a folder for files that nobody looks at; it goes with the process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


def require_sentence(text: str) -> None:
    """Require one line that a person can read."""
    if "\n" in text or "Traceback" in text or not 10 < len(text) < _LONGEST:
        raise ProblemError(f"no sentence: {text[:300]!r}")


# What may be done with a file; each returns, or raises what it came to


def _read(random: Random, path: Path, case: Case) -> None:
    _used(random, vt.read(path, **case.options), path)


def _used(random: Random, profile: Any, path: Path) -> None:
    """Require a profile that can be described, written and read again."""
    if not isinstance(profile, vt.Profile):
        raise ProblemError(f"no profile: {profile!r}")
    describe(profile)
    written = scratch() / f"written{random.choice(_SUFFIXES)}"
    with suppress(vt.InputError):  # not every file can hold all votes
        vt.write(profile, written)
        vt.read(written, unranked="unknown" if written.suffix in (".soc", ".toi") else None)


def _frame(random: Random, path: Path, case: Case) -> None:
    table = pl.read_parquet(io.BytesIO(case.data))
    if case.use != "polars":
        with suppress(Exception):  # what this library cannot hold is read as it is
            table = table.to_pandas() if case.use == "pandas" else table.to_arrow()
    _used(random, vt.read(table, **case.options), path)


def _counts(random: Random, path: Path, case: Case) -> None:
    _used(random, vt.read(table_of(BARE), ballots="value", counts=path), path)


def _command(random: Random, path: Path, case: Case) -> None:
    asked: list[str] = []
    for name, value in case.options.items():
        asked += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    source = "-" if case.use == "stdin" else str(path)
    if case.use == "check":
        asked = [word for word in asked if word != "--lower-is-better"]
        _ran(["check", source, *asked], case.data)
        return
    shown = random.choice(([], ["--json"], ["--explain"]))
    result = _ran(["decide", source, "--rule", random.choice(_QUICK), *asked, *shown], case.data)
    if shown == ["--json"]:
        for line in result.stdout.splitlines():
            json.loads(line, parse_constant=_no_number)


def _compare(random: Random, path: Path, case: Case) -> None:
    votes = scratch() / "votes.csv"
    votes.write_text(TIDY)
    _ran(["compare", "--votes", str(votes), "--truth", str(path), "--rules", "borda,mean"], b"")


def _ran(arguments: list[str], data: bytes) -> Any:
    """Run the command; an error has to be one line, and is raised as what it was."""
    result = CliRunner(**_APART).invoke(cli, arguments, input=data)
    if result.exit_code not in (0, 2) or not isinstance(result.exception, SystemExit | None):
        raise ProblemError(f"exit {result.exit_code}: {result.exception!r}") from result.exception
    if result.exit_code == 2:
        lines = [line for line in result.stderr.splitlines() if not line.startswith(_BESIDES)]
        if len(lines) != 1 or not lines[0].startswith("Error: "):
            raise ProblemError(f"no sentence: {result.stderr[:300]!r}")
        raise vt.InputError(lines[0])
    return result


def _no_number(text: str) -> None:
    raise ProblemError(f"{text} in JSON")


def _truth(random: Random, path: Path, case: Case) -> None:
    read_truth(path, vt.read(table_of(TIDY)))


@cache
def _model() -> Any:
    return model("learned", "deepsets")


def _weights(random: Random) -> bytes:
    """Return weights with another card, other numbers, or broken bytes."""
    found = _model()
    card, arrays = found.card, dict(found.parameters)
    for _ in range(random.choice((0, 0, 1, 2))):
        card = some_entries(random, card)
    name = random.choice([*arrays])
    match random.randrange(6):
        case 0:
            arrays[name] = arrays[name] * np.float32(random.choice((0, -1, 1e10, 1e30, 1e38)))
        case 1:
            arrays[name] = arrays[name].astype(random.choice((np.float64, np.int32)))
        case 2:
            arrays[random.choice((name, "more"))] = np.zeros((2, 3), dtype=np.float32)
        case 3:
            del arrays[name]
    path = scratch() / "weights.safetensors"
    with np.errstate(all="ignore"):
        save(path, arrays, {"veritally": json.dumps(card)})
    data = path.read_bytes()
    return some_bytes(random, data) if random.random() < 0.2 else data


def _decide(random: Random, path: Path, case: Case) -> None:
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[9, 9, 9], [1, 1, 40]])
    vt.decide(profile, rule="learned", model=str(path)).to_json()


_USES = {
    "read": _read,
    "pandas": _frame,
    "polars": _frame,
    "pyarrow": _frame,
    "counts": _counts,
    "check": _command,
    "decide": _command,
    "stdin": _command,
    "compare": _compare,
    "truth": _truth,
    "weights": _decide,
}
