"""How far a long computation has come, for whoever wants to show it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[float], None]) -> Iterator[None]:
    """Call the listener with the share of the work that is done, from 0 to 1, whenever that is reported.

    >>> with listening(print):
    ...     report(0.5)
    0.5
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def stretch(low: float, high: float) -> Iterator[None]:
    """Take what is reported within for the stretch of the whole work from ``low`` to ``high``.

    >>> with listening(print), stretch(0.5, 1.0):
    ...     report(0.5)
    0.75
    """
    listener = _listener.get()
    if listener is None:
        yield
        return
    with listening(lambda share: listener(low + (high - low) * share)):
        yield


def report(share: float) -> None:
    """Tell the listener, if there is one, what share of the work is done."""
    listener = _listener.get()
    if listener is not None:
        listener(share)
