"""Trials that go wrong in every way there is, for the runner to notice."""

import os
import signal
from pathlib import Path

WRONG = {3: "KeyError", 5: "ends the process (SIGSEGV)", 7: "TimeoutError", 9: "MemoryError", 11: "hangs", 12: "exit 1"}


def trial(seed: int, number: int, folder: Path) -> str:
    match number:
        case 3:
            raise KeyError("voter")
        case 5:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 7:
            while True:
                pass
        case 9:
            bytearray(1 << 40)
        case 11:
            signal.pause()
        case 12:
            os._exit(1)
    return "sentence" if number % 2 else "result"
