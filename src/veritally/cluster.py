"""A running Dask cluster as an executor; needs the extra ``cluster``.

Dask hands the work out, and does again elsewhere what a lost worker had. Here is what it leaves open: a wait that would
have no end, because the scheduler does not answer or all workers are gone, ends in a sentence.
"""

import asyncio
import logging
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from veritally.errors import InputError, LostError, quoted, short

_ANSWER = 10.0  # seconds within which a scheduler answers at first
_PATIENCE = 60.0  # the same later, when it may be busy, and within which there is a worker
_GLANCE = 1.0  # between two looks at who is there
_CLOSING = 5.0
_TALKERS = ("distributed", "tornado")  # whose lines about lost connections are for those who run clusters


@contextmanager
def connected(address: str | None) -> Iterator[Executor | None]:
    """Yield an executor whose work is done by the workers of the Dask scheduler at an address; None for no address.

    Scheduler and workers need the same versions of veritally, NumPy and SciPy as this process. It is an
    :class:`InputError` if the scheduler is lost, if it has no workers for a minute, or if a piece of work ends several
    workers one after the other. Work that is not done at the end is called off.

    Examples
    --------
    >>> from veritally.cluster import connected
    >>> with connected("tcp://127.0.0.1:8786") as executor:  # doctest: +SKIP
    ...     vt.compare("low-variance", instances=100_000, executor=executor)
    """
    if address is None:
        yield None
        return
    try:
        import distributed
    except ImportError as error:
        raise InputError("a cluster needs Dask: pip install 'veritally[cluster]'") from error
    with _quiet():
        client = _client(distributed, address)
        try:
            with _Cluster(client, address) as cluster:
                yield cluster
        finally:
            with suppress(Exception):  # of a scheduler that is lost
                client.close(timeout=_CLOSING)


def _client(distributed: Any, address: str) -> Any:
    """Connect to a scheduler."""
    try:
        with ThreadPoolExecutor(1) as thread:  # notebooks have a loop of their own in this one
            thread.submit(asyncio.run, _answered(distributed, address)).result()
        with warnings.catch_warnings():
            # Of other versions than ours: those that results depend on are compared with each piece of work.
            warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
            return distributed.Client(address, timeout=_ANSWER, set_as_default=False)
    except Exception as error:  # each protocol has its own
        remedy = "start one with `dask scheduler`, and give the address that it prints, such as tcp://127.0.0.1:8786"
        raise InputError(f"no Dask scheduler answers at {quoted(address)}; {remedy}") from error


async def _answered(distributed: Any, address: str) -> None:
    """Ask who is there: a client would wait without end for who says nothing."""
    secrets = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(_ANSWER), distributed.rpc(address, connection_args=secrets) as scheduler:
        await scheduler.identity()


class _Cluster(Executor):
    """An executor of a Dask client in which no wait is without an end."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address, self._connection = client, address, client.scheduler_comm
        self._executor = client.get_executor(pure=False)
        self._lock, self._waiting = threading.Lock(), set[Future[Any]]()
        self._lost: str | None = None
        self._threads, self._worked = 0, False
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def _max_workers(self) -> int:
        """How many pieces can be worked on at a time, as the executors of ``concurrent.futures`` call it."""
        return max(1, self._threads)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Hand a piece of work out."""
        made: Future[Any] = Future()
        with self._lock:
            self._waiting.add(made)
        if self._lost is None:
            try:
                with warnings.catch_warnings():  # rows of votes are sent once, which is no reason to send them before
                    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                    theirs = self._executor.submit(function, *arguments, **named)
            except (TypeError, pickle.PicklingError) as error:
                with self._lock:
                    self._waiting.discard(made)
                problem = "this scenario, or a rule of your own, cannot be sent to a cluster"
                raise InputError(f"{problem}; use one worker here") from error
            except Exception:  # the client is closed
                self._lose(self._gone)
            else:
                theirs.add_done_callback(partial(self._pass_on, made))
                made.add_done_callback(lambda made: made.cancelled() and theirs.cancel())
        if self._lost is not None:
            self._lose(self._lost)
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Look at the cluster no more."""
        self._over.set()

    @property
    def _gone(self) -> str:
        return (
            f"the Dask scheduler at {quoted(self._address)} was lost; start it and its workers again, and repeat this"
        )

    @property
    def _deserted(self) -> str:
        start = f"start some with `dask worker {short(self._address)}`, and repeat this"
        if self._worked:
            problem = f"all workers of the Dask scheduler at {quoted(self._address)} ended"
            return f"{problem}; see why in their logs, since they need the same packages as here, and {start}"
        return f"the Dask scheduler at {quoted(self._address)} has no workers; {start}"

    def _pass_on(self, made: Future[Any], theirs: Future[Any]) -> None:
        """Hand on what came of a piece of work."""
        if theirs.cancelled() and not made.cancelled():  # not by us: Dask does so when it loses the scheduler
            self._lose(self._gone)
            return
        with self._lock:
            if made not in self._waiting:
                return
            self._waiting.remove(made)
        if not made.set_running_or_notify_cancel():
            return
        error = theirs.exception()
        if error is None:
            self._worked = True
            made.set_result(theirs.result())
        else:
            made.set_exception(self._explained(error))

    def _explained(self, error: BaseException) -> BaseException:
        """Return a sentence in place of an error that is the cluster's and not of the work."""
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker):
            problem = f"workers of the cluster ended over one piece of work ({error.allowed_failures + 1} in a row)"
            return LostError(f"{problem}; give them more memory, and see what their logs say")
        missing = next((one for one in (error, error.__cause__) if isinstance(one, ImportError)), None)
        if missing is not None or "deserialization" in str(error):
            found = "" if missing is None else f" ({missing})"
            remedy = "install the same packages for its scheduler and workers as here"
            return InputError(f"the cluster cannot read this work{found}; {remedy}")
        return error

    def _lose(self, problem: str) -> None:
        """Let all that is waited for end in a sentence."""
        with self._lock:
            self._lost, waiting, self._waiting = problem, self._waiting, set()
        for made in waiting:
            if made.set_running_or_notify_cancel():
                made.set_exception(LostError(problem))

    def _watch(self) -> None:
        """Look at the cluster now and then, until it is lost or no longer of use."""
        alone = 0.0
        while not self._over.is_set():
            try:
                found = self._client.sync(self._client.scheduler.ncores, callback_timeout=_PATIENCE)
                lost = self._client.scheduler_comm is not self._connection  # what was handed out is forgotten
            except Exception:  # whatever is wrong with the connection
                lost = True
            if lost:
                self._lose(self._gone)
                break
            self._threads, self._worked = sum(found.values()), self._worked or bool(found)
            alone = 0.0 if found else alone + _GLANCE
            if alone > _PATIENCE:
                self._lose(self._deserted)
                break
            self._over.wait(_GLANCE)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what Dask logs, which would stand between the lines of a command."""
    names = [name for name in list(logging.root.manager.loggerDict) if name.split(".")[0] in _TALKERS]
    loggers = [logger for logger in map(logging.getLogger, names) if not logger.disabled]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False
