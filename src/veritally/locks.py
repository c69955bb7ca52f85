"""One process at a time, by a lock of the operating system, which ends with its holder, however that ends.

On a network file system it holds as far as that system has locks; where it has none, the work is refused.
"""

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from veritally.errors import InputError

_PATIENCE, _MOMENT = 100, 0.01  # times, seconds

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # bytes, where there is nothing to read: Windows keeps others from reading what is locked

    def _lock(file: BinaryIO) -> None:
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError from error
else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Have a file to this process alone, by a lock on a hidden file beside it; where another has it, say who."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        file = _locked(lock, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    try:
        try:
            file.truncate(0)
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            file.write(f"process {os.getpid()} on {platform.node()} since {since}".encode())
            file.flush()
        except OSError as error:  # of a disk that is full
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file; the lock is what counts
            lock.unlink()
        with suppress(OSError):  # what could not be written is tried again
            file.close()


def _locked(lock: Path, path: Path) -> BinaryIO:
    """Open and lock the file beside, again if its holder has removed it or not yet said who it is."""
    patience = _PATIENCE
    while True:
        with ExitStack() as stack:
            file = stack.enter_context(lock.open("a+b"))
            try:
                _lock(file)
                if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                    stack.pop_all()
                    return file
            except BlockingIOError:
                file.seek(0)
                holder = file.read().decode(errors="replace")
                if holder or not patience:
                    problem = f"in use by {holder or 'another process'}; wait until it ends"
                    raise InputError(f"{path}: {problem}, or choose another name") from None
                patience -= 1
                time.sleep(_MOMENT)
            except FileNotFoundError:
                pass
