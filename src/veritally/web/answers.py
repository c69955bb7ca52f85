"""Answers, worked out in a process of their own, one at a time, and only the latest that is asked for."""

import asyncio
import contextlib
import json
import logging
import multiprocessing
import multiprocessing.util
import os
import secrets
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from veritally.errors import InputError, InputWarning
from veritally.web.decisions import Setup, counted
from veritally.web.kept import TOO_FEW, Decision
from veritally.web.store import Store
from veritally.web.turns import Turns
from veritally.work import Processes, end_with_parent

_log = logging.getLogger("veritally.web")
_FRAME = "the frame: "  # what readers call the rows of a decision
_MOST_WAITING, _MOST_OF_ONE = 1000, 20  # decisions; of those that one address asks for
_ELSEWHERE = "save the votes and use the command"
_EXACT, _QUICK = "posterior", "learned-universal"


def tidy_rows(
    setup: Setup, alternatives: Sequence[tuple[int, str]], given: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Return ballots as rows of a tidy vote file: a row for each voter and each alternative that the voter saw.

    Ranks have no gaps there, since they say an order and no more.
    """
    rows = []
    for voter, ballot in given:
        ranks = sorted({own["rank"] for own in ballot.values() if "rank" in own})
        for number, name in alternatives:
            own = ballot.get(str(number), {})
            count = counted(own.get("seen", 0.0), setup)
            if setup.kind == "scores":
                vote, seen = own.get("score"), "score" in own  # a score that is left out is no opinion
            else:
                vote, seen = 1 if own.get("favourite") else None, True
                if "rank" in own:
                    vote = 1 + ranks.index(own["rank"])
            if count > 0 and seen:
                rows.append(dict(zip(tidy_columns(setup), (voter, name, vote, count), strict=True)))
    return rows


def tidy_columns(setup: Setup) -> tuple[str, ...]:
    """Return the columns of these rows."""
    return ("voter", "alternative", "value" if setup.kind == "scores" else "rank", "count")


def worked_out(
    setup: Setup,
    rows: Sequence[Mapping[str, Any]],
    upload: tuple[str, Path, bytes] | None,
    rule: str = _EXACT,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the answer, ready to be kept: the report as HTML without styles, and the outcome as JSON.

    A file that was sent comes with its name, where to put it, and its content. ``notes`` come first among those of the
    report.
    """
    import polars as pl

    import veritally as vt
    from veritally.decide import pools_noise
    from veritally.document import to_fragment
    from veritally.registry import rule_info
    from veritally.report.answer import Origin, document

    if upload is not None:
        upload[1].write_bytes(upload[2])  # a full disk is no property of the file, so it is tried again
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", InputWarning)
        try:
            profile = (
                vt.read(pl.DataFrame(list(rows), infer_schema_length=None))
                if upload is None
                else _read(upload[1], setup.reading)
            )
            choose = min(setup.choose, profile.shape[-1])
            decisions = profile.batch[0] if profile.batch else 1
            pooled = pools_noise(rule_info(rule), {}, None, decisions)  # as by the command
            parameters: dict[str, Any] = {"scale": "pooled"} if pooled else {}
            outcome = vt.decide(profile, rule=rule, choose=choose, **parameters)
            said = [_as_called(str(remark.message), upload) for remark in remarks]
            blocks = document(outcome, Origin(setup.title, notes=[*notes, *said]))
            page, rules = to_fragment(blocks[1:])  # the page has the title already
            found = [json.loads(line) for line in outcome.to_json().splitlines()]
        except InputError as problem:
            return {"problem": _as_called(str(problem), upload)}
        except MemoryError:
            return {"problem": f"an answer needs more memory than it may have here; {_ELSEWHERE}", "heavy": True}
        except Exception as problem:  # anything else must not be worked out again and again
            return {"problem": f"no answer was found ({type(problem).__name__}); {_ELSEWHERE}"}
    return {"html": page, "rules": rules, "json": found}


def unseen(
    setup: Setup, alternatives: Sequence[tuple[int, str]], given: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[str]:
    """Return the alternatives that nobody has seen."""
    return [
        name
        for number, name in alternatives
        if not any(counted(ballot.get(str(number), {}).get("seen", 0.0), setup) for _, ballot in given)
    ]


def _too_little(decision: Decision, ballots: int, blank: Sequence[str]) -> str:
    """Return in words why there is no answer yet; nothing if there is enough for one."""
    if not ballots:
        return "nobody has voted yet"
    if decision.too_few(ballots):
        return TOO_FEW
    seen = [name for _, name in decision.alternatives if name not in blank]
    return f"only {seen[0]} was seen so far, and there is nothing to compare it with" if len(seen) == 1 else ""


def unclear(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Return in words that a decision is too close to call; nothing if it is clear, or one of many."""
    if len(outcomes) != 1:
        return ""
    (outcome,) = outcomes
    chosen = outcome.get("chosen") or [outcome["winner"]]
    chances = outcome.get("p_chosen") or outcome.get("p_best")
    if not chances or None in chosen:
        return ""
    least = min(chosen, key=lambda name: float(chances[name]))
    chance, aim = round(float(chances[least]), 2), "best" if len(chosen) == 1 else f"among the best {len(chosen)}"
    if chance >= 0.5:
        return ""
    return f"Too close to call: {least} is in front, but has only {_a_chance(chance)} of being {aim}."


def _a_chance(chance: float) -> str:
    percent = round(100 * chance)
    article = "an" if percent in (8, 11, 18) else "a"
    return f"{article} {percent}% chance" if percent else "a chance of less than 1%"


def _as_called(text: str, upload: tuple[str, Path, bytes] | None) -> str:
    """Name a file as the user does."""
    return text.removeprefix(_FRAME) if upload is None else text.replace(str(upload[1]), upload[0])


def _read(path: Path, reading: Mapping[str, Any]) -> Any:
    import veritally as vt

    try:
        return vt.read(path, **reading)
    finally:
        path.unlink()


class Answers:
    """Works out answers as ballots come in.

    While one is worked out, any number of new ballots ask for one more, not for one each. Addresses take turns.

    Parameters
    ----------
    store
        Where decisions are kept.
    seconds, gigabytes
        How long an answer may take, and how much memory.
    """

    def __init__(self, store: Store, seconds: float, gigabytes: float) -> None:
        self._store, self._seconds, self._gigabytes = store, seconds, gigabytes
        self._running: dict[int, asyncio.Task[None]] = {}
        self._asking: Counter[str] = Counter()
        self._worker: Processes | None = None
        self._folder = Path()  # for files of the worker, which makes it
        self._turns = Turns()
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to work, in this loop."""
        self._loop = loop

    def ask(self, decision: Decision, address: str) -> None:
        """Ask for the answer to a decision as it stands, from any thread, for somebody at this address.

        If too many wait, it is not taken; whoever looks at the page asks again.
        """
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._start, decision, address)

    def close(self) -> None:
        """End all work."""
        self._loop = None
        for task in list(self._running.values()):
            task.cancel()
        self._stop()

    def _start(self, decision: Decision, address: str) -> None:
        most = len(self._running) < _MOST_WAITING and self._asking[address] < _MOST_OF_ONE
        if decision.id not in self._running and most:
            task = asyncio.create_task(self._work(decision, address))
            self._running[decision.id] = task
            self._asking[address] += 1
            task.add_done_callback(lambda done: self._ended(decision.id, address, done))

    def _ended(self, number: int, address: str, done: asyncio.Task[None]) -> None:
        self._running.pop(number, None)
        self._asking[address] -= 1
        if not self._asking[address]:
            del self._asking[address]
        if not done.cancelled() and (problem := done.exception()) is not None:
            _log.error("no answer: %s", type(problem).__name__)

    async def _work(self, asked: Decision, address: str) -> None:
        decision: Decision | None = asked
        while decision is not None:
            if await asyncio.to_thread(self._store.answered, decision) == decision.revision:
                return
            async with self._turns.turn(address):  # of all decisions, one at a time
                found = await self._found(decision)
            await asyncio.to_thread(self._store.keep_answer, decision, decision.revision, found)
            decision = await asyncio.to_thread(self._store.by_number, decision.id)  # as it stands now

    async def _found(self, decision: Decision) -> dict[str, Any]:
        """Return the exact answer, or that of a quicker rule if the exact one asks for too much."""
        found = await self._found_by(_EXACT, decision)
        if not found.get("heavy"):
            return found
        note = (
            f"This answer is by the quicker rule {_QUICK}, and so its chances are rougher: the exact one needs more "
            "time or memory than it may have here. Ballots with many ties take the longest."
        )
        quick = await self._found_by(_QUICK, decision, [note])
        return found if "problem" in quick else quick | {"quick": note}

    async def _found_by(self, rule: str, decision: Decision, notes: Sequence[str] = ()) -> dict[str, Any]:
        given = await asyncio.to_thread(self._store.given, decision)
        rows = await asyncio.to_thread(tidy_rows, decision.setup, decision.alternatives, given)
        told = given and not decision.too_few(len(given))  # what was seen tells of ballots, too
        blank = await asyncio.to_thread(unseen, decision.setup, decision.alternatives, given) if told else []
        if decision.upload is None and (problem := _too_little(decision, len(given), blank)):
            return {"problem": problem, "unseen": blank, "ballots": len(given)}
        if self._worker is None:
            self._folder = Path(tempfile.gettempdir(), f"veritally-{secrets.token_hex(16)}")
            spawn = multiprocessing.get_context("spawn")
            self._worker = Processes(1, spawn, _prepare_worker, (self._gigabytes, self._folder))
        upload = None
        if decision.upload is not None:
            suffix = Path(decision.upload).suffix.lower()
            path = self._folder / f"votes{suffix if suffix[1:].isalnum() and len(suffix) < 10 else '.csv'}"
            upload = (decision.upload, path, await asyncio.to_thread(self._store.uploaded, decision))
        work = asyncio.get_running_loop().run_in_executor(
            self._worker, worked_out, decision.setup, rows, upload, rule, notes
        )
        try:
            found: dict[str, Any] = await asyncio.wait_for(work, self._seconds)
            return found | {"unseen": blank, "ballots": len(given)}
        except TimeoutError:
            self._stop()
            return {"problem": f"no answer was found in {self._seconds:g} seconds; {_ELSEWHERE}", "heavy": True}
        except BrokenProcessPool:
            self._stop()
            ended = "the process that works answers out ended, perhaps for want of memory"
            return {"problem": f"{ended}; {_ELSEWHERE}", "heavy": True}

    def _stop(self) -> None:
        """End the process, also in the middle of its work, and remove its files."""
        worker, self._worker = self._worker, None
        if worker is not None:
            for process in worker.give_up():
                with contextlib.suppress(OSError):
                    process.kill()
                    process.join(1)  # or it could still write
            shutil.rmtree(self._folder, ignore_errors=True)


def _prepare_worker(gigabytes: float, folder: Path) -> None:
    """Let pages go first, bound the memory, and end with the server however it ends."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):  # where the system knows them
        import resource

        os.nice(19)
        limit = int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    folder.mkdir(mode=0o700)
    multiprocessing.util.Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=1)
    end_with_parent(lambda: shutil.rmtree(folder, ignore_errors=True))  # the parent had no time to, if it was killed
