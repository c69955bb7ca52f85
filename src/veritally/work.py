"""Work in pieces: here, in processes of our own, or by any executor of ``concurrent.futures``.

Dask, Ray and MPI have such executors. There is no scheduler here: pieces are handed out a few ahead, and what comes
back is handed on. The same pieces give the same results wherever they are worked on.
"""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from multiprocessing.connection import wait as wait_for
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from veritally.checks import whole
from veritally.errors import InputError, LostError
from veritally.versions import versions

_AHEAD = 4  # pieces handed out for each worker
_UNKNOWN = 8  # workers, where an executor does not say how many it has
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")  # how many, of whom
_environment = threading.Lock()

P = TypeVar("P")
R = TypeVar("R")


def worked(
    function: Callable[[P], R],
    pieces: Iterable[P],
    workers: int = 1,
    executor: Executor | None = None,
    ahead: int = _AHEAD,
    ordered: bool = False,
) -> Iterator[tuple[P, R]]:
    """Yield each piece with what the function makes of it, as it is finished; ``ordered``, in the order of the pieces.

    Without an executor, in so many processes of our own; with 1, here and in order. Pieces are taken ``ahead`` of what
    was yielded, so many for each worker, so that an endless number of them needs little memory.
    """
    if executor is not None:
        yield from _by_executor(executor, _Alike(function), pieces, ahead, ordered)
        return
    pieces = iter(pieces)
    some = list(islice(pieces, 2))
    if workers < 2 or len(some) < 2:
        for piece in chain(some, pieces):
            yield piece, function(piece)
        return
    require_sendable((function, some[0]))
    with processes(workers) as pool:  # which end with this one
        yield from _by_executor(pool, function, chain(some, pieces), ahead, ordered)


def in_order(
    function: Callable[[P], R], pieces: Iterable[P], workers: int = 1, executor: Executor | None = None
) -> Iterator[R]:
    """Yield what the function makes of each piece, in the order of the pieces."""
    for _, result in worked(function, pieces, workers, executor, ordered=True):
        yield result


def require_sendable(work: Any) -> None:
    """Refuse what processes of our own could not be given."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            "this scenario, or a rule of your own, cannot be sent to other processes; use one worker"
        ) from error


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Yield so many processes of our own, for work that comes in several rounds; they end here, whatever they do."""
    pool = Processes(workers, multiprocessing.get_context("spawn"), end_with_parent)
    try:
        yield pool
    except BrokenProcessPool as error:
        remedy = "use fewer workers if memory is short, and put the main part of a script under"
        raise LostError(f"a worker process ended unexpectedly; {remedy} if __name__ == '__main__'") from error
    finally:  # also when interrupted, or when nobody wants the rest
        for process in pool.give_up():
            process.terminate()


class Processes(ProcessPoolExecutor):
    """Processes that leave interruptions to this one, and whose libraries leave the other cores to each other.

    How many threads libraries use, a user may say otherwise.
    """

    def give_up(self) -> list[BaseProcess]:
        """Take no more work, and wait for none; return the processes that are to be ended."""
        own = list((getattr(self, "_processes", None) or {}).values())
        self.shutdown(wait=False, cancel_futures=True)
        return own

    def submit(self, function: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:
        """Hand a piece of work out; for the first few, a process starts, which inherits what is set here."""
        with _environment, _uninterrupted():
            missing = [name for name in THREADS if name not in os.environ]
            os.environ.update(dict.fromkeys(missing, "1"))
            try:
                return super().submit(function, *arguments, **named)
            finally:
                for name in missing:
                    os.environ.pop(name, None)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interruption wait, here for a moment, in a process that starts now as long as it lives."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def workers_of(executor: Executor | None) -> int:
    """Return how many can work at a time; about, where an executor does not say."""
    return 1 if executor is None else getattr(executor, "_max_workers", None) or _UNKNOWN


def _by_executor(
    executor: Executor, function: Callable[[P], R], pieces: Iterable[P], ahead: int, ordered: bool
) -> Iterator[tuple[P, R]]:
    """Do so by an executor; what it still has when nobody wants the rest is called off."""
    waiting = iter(pieces)
    running: dict[Future[R], P] = {}
    try:
        while True:
            most = ahead * workers_of(executor)  # of a cluster it changes
            for piece in islice(waiting, max(0, most - len(running))):
                running[executor.submit(function, piece)] = piece
            if not running:
                return
            first = next(iter(running))
            for future in [first] if ordered else wait(running, return_when=FIRST_COMPLETED).done:
                if future.exception() is not None:  # of those that fail, the first is named, as where one works
                    for earlier in list(running):
                        yield running.pop(earlier), earlier.result()
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise
    except (BrokenExecutor, CancelledError) as error:
        problem = str(error) or "its work was called off"
        raise LostError(f"the executor was lost ({problem}); start it anew and go on") from error
    finally:
        for future in running:
            future.cancel()


@contextmanager
def executing(workers: Any, executor: Any) -> Iterator[Executor | None]:
    """Yield who works in several rounds: the executor, or so many processes of our own; None for this one."""
    executor, number = check_executor(executor), check_workers(workers)
    if executor is not None or number < 2:
        yield executor
        return
    with processes(number) as pool:  # they start when there is work for them
        yield pool


class _Alike:
    """A function that others do only with the same versions as here, so that they find the same."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.versions = function, _versions()

    def __call__(self, piece: Any) -> Any:
        own = _versions()
        for name, wanted in self.versions.items():
            if own[name] != wanted:
                problem = f"a worker has {name} {own[name]} and this process has {wanted}"
                raise InputError(f"{problem}, so that results would depend on where they are found; install the same")
        return self.function(piece)


@cache
def _versions() -> dict[str, str]:
    return versions("veritally", "numpy", "scipy")


def end_with_parent(*last: Callable[[], object]) -> None:
    """In a process of ours: leave interruptions to the parent, and do not outlive it, but do this at last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            wait_for([parent.sentinel])
        for do in last:
            do()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def check_workers(workers: Any) -> int:
    """Return how many processes to use; None for one a core."""
    if workers is not None:
        return whole(workers, "workers", least=1)
    try:
        return len(os.sched_getaffinity(0))  # the cores that this process may use
    except AttributeError:  # which not every system tells
        return os.cpu_count() or 1


def check_executor(executor: Any) -> Executor | None:
    """Refuse what is no executor."""
    if executor is not None and not isinstance(executor, Executor):
        problem = f"executor takes a concurrent.futures.Executor, not {type(executor).__name__}"
        raise InputError(f"{problem}; of a Dask client take client.get_executor()")
    return executor
