"""Secrets in links: whoever has one may do what it is for. Only their hashes are kept."""

import hashlib
import hmac
import secrets
import time

_BYTES = 24  # 192 bits
_HOURS = 24  # for which a form can be sent


def new_secret() -> str:
    """Return a secret for a link."""
    return secrets.token_urlsafe(_BYTES)


def hashed(secret: str) -> str:
    """Return what is kept of a secret. It is too long to be guessed, so one round is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Stamps:
    """Stamps for forms: a page that this server made for this link, not long ago."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def stamp(self, of: str) -> str:
        """Return a stamp for the form of a link."""
        now = f"{int(time.time()):x}"
        return f"{now}.{self._sign(of, now)}"

    def holds(self, of: str, stamp: str) -> bool:
        """Say whether a stamp is of this link, and not too old."""
        when = stamp.partition(".")[0]
        return self.are_ours(of, stamp) and -60 <= time.time() - int(when, 16) <= _HOURS * 3600

    def are_ours(self, of: str, stamp: str) -> bool:
        """Say whether a stamp is of this link, however old."""
        when, _, signed = stamp.partition(".")
        return hmac.compare_digest(self._sign(of, when).encode(), signed.encode("utf-8", "surrogatepass"))

    def _sign(self, of: str, when: str) -> str:
        text = f"{hashed(of)}|{when}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()
