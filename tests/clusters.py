"""A real Dask cluster on this machine: a scheduler and workers, each a process of its own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


class Cluster:
    """A scheduler on a port that is free, and as many workers with one thread each as are added."""

    def __init__(self, folder, workers=0, **settings):
        self.folder, self._processes = Path(folder), []
        file = self.folder / "scheduler.json"
        self._environment = os.environ | settings | {"OPENBLAS_NUM_THREADS": "1"}
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        self.scheduler = self._start("scheduler", *options)
        while True:
            assert self.scheduler.poll() is None
            try:
                self.address = json.loads(file.read_text())["address"]
                break
            except (FileNotFoundError, ValueError):  # not there, or not whole
                time.sleep(0.05)
        self.workers = [self.add_worker() for _ in range(workers)]

    def add_worker(self):
        """Start a worker, which nobody restarts; it may take a moment until it works."""
        where = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder))
        return self._start("worker", self.address, *where)

    def _start(self, kind, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        process = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._processes.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self._processes):
            process.kill()
            process.wait()
