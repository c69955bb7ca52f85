"""Other processes, for tests of what several do at once."""

import subprocess
import sys
from contextlib import contextmanager

HOLD = "import sys; from pathlib import Path; from veritally.locks import held\n"
HOLD += "with held(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


@contextmanager
def holder(path):
    """Another process that has a file until its standard input ends, or it is killed."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
