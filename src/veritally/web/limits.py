"""Limits on requests: so many at once from an address or for a link, and so many a second after that."""

import ipaddress
import time
from collections import OrderedDict

_MOST = 20_000  # names that are remembered


def neighbourhood(address: str) -> str:
    """Return what counts as one address: of IPv6 the first half, since whoever has one address has all of these."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # not an address, as in tests
        return address
    if found.version == 4:
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))


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
