"""Limits on requests: so many at once from an address or for a link, and so many a second after that."""

import time
from collections import OrderedDict

_MOST = 20_000  # names that are remembered


class Limit:
    """A bucket for each name, which holds ``most`` requests and fills up by ``each_second``."""

    def __init__(self, most: float, each_second: float) -> None:
        self._most, self._each_second = most, each_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> float:
        """Count a request; return the seconds to wait if it is one too many, else 0."""
        now = time.monotonic()
        left, when = self._left.pop(name, (self._most, now))
        left = min(self._most, left + (now - when) * self._each_second)
        allowed = left >= 1
        self._left[name] = (left - 1 if allowed else left, now)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._each_second
