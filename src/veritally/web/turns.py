"""Turns: one at a time, and whoever asks for much waits behind those who ask for little."""

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator


class Turns:
    """A lock that goes round among names, so that no name keeps the others waiting for more than one turn each."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for the turn of this name, and have it."""
        if self._taken:
            mine = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(name, deque()).append(mine)
            try:
                await mine
            except asyncio.CancelledError:
                if not mine.cancelled():  # it had just got the turn
                    self._hand_on()
                raise
        self._taken = True
        try:
            yield
        finally:
            self._hand_on()

    def _hand_on(self) -> None:
        while self._waiting:
            name, own = self._waiting.popitem(last=False)
            next_one = own.popleft()
            if own:
                self._waiting[name] = own  # behind the others
            if not next_one.done():  # it was not called off
                next_one.set_result(None)
                return
        self._taken = False
