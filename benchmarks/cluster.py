"""Chunks a second in one process, in processes, and on a Dask cluster: python benchmarks/cluster.py [--turns 3].

The chunks are those of ``reproduce``. The cluster is a scheduler and two workers of one thread each on this machine;
all that this process says to the scheduler, and hears from it, passes through a relay that counts bytes. Each way has
its turns, one after the other, and the quickest counts; the first chunks of each, with the start of what works, are not
counted. CPU seconds are those that the system counts for each process. Writes benchmarks/cluster.json, from which `make
pages` fills docs/machines.md.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import argparse
import json
import pickle
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from veritally.cluster import connected
from veritally.experiments.chunks import Chunk, run_chunks
from veritally.experiments.tables import Plan
from veritally.work import processes

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
from clusters import Cluster  # noqa: E402

WORKERS = 2
COLUMNS: tuple[dict[str, Any], ...] = (
    {"voters": [30], "rules": ["borda", "pairwise", "mean"], "instances": 200_000},
    {"voters": [100], "instances": 4_000},  # all rules but the slow ones
)
Row = dict[str, Any]


class Relay:
    """Hands on what passes between its own address and another one, and counts bytes."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("tcp://").split(":")
        self._target, self.sent, self.received = (host, int(port)), 0, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            here, _ = self._server.accept()
            there = socket.create_connection(self._target)
            threading.Thread(target=self._pump, args=(here, there, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(there, here, False), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, out: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
                if out:
                    self.sent += len(data)
                else:
                    self.received += len(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:  # one of them has hung up
            pass


def chunks(column: dict[str, Any]) -> list[Chunk]:
    """Return the chunks of a column of a table."""
    return [chunk for cell in Plan.of(tables=["low-variance"], **column).cells.values() for chunk in cell]


def seconds_of(*others: psutil.Process) -> list[float]:
    """Return the CPU seconds of processes so far."""
    return [sum(one.cpu_times()[:2]) for one in others]


def timed(work: list[Chunk], executor: Executor | None, others: list[psutil.Process]) -> tuple[float, list[float]]:
    """Do all chunks; return how long it took, and the CPU seconds of this process and others."""
    list(run_chunks(work[:WORKERS], 1, executor))  # imports, and what is kept
    watched = [psutil.Process(), *others]
    before, start = seconds_of(*watched), time.perf_counter()
    list(run_chunks(work, 1, executor))
    took = time.perf_counter() - start
    return took, [now - then for now, then in zip(seconds_of(*watched), before, strict=True)]


@contextmanager
def own_processes() -> Iterator[tuple[Executor, list[psutil.Process]]]:
    """Start processes, so that they are there when time is taken."""
    with processes(WORKERS) as pool:
        list(pool.map(time.sleep, [0.5] * WORKERS))
        yield pool, psutil.Process().children()


def measure(column: dict[str, Any], relay: Relay, cluster: Cluster, turns: int) -> Row:
    """Return what a column of a table costs in each way."""
    work, best = chunks(column), dict[str, tuple[float, list[float]]]()
    sent = received = 0

    def keep(name: str, found: tuple[float, list[float]]) -> None:
        best[name] = min(best.get(name, found), found)

    for _ in range(turns):
        keep("one process", timed(work, None, []))
        with own_processes() as (pool, others):
            keep("processes", timed(work, pool, others))
        with connected(relay.address) as executor:
            executor._client.wait_for_workers(WORKERS)
            before = relay.sent, relay.received
            others = [psutil.Process(one.pid) for one in (cluster.scheduler, *cluster.workers)]
            keep("dask", timed(work, executor, others))
            sent, received = relay.sent - before[0], relay.received - before[1]
    number = len(work)
    row: Row = {"voters": column["voters"][0], "rules": len(work[0].rule_set.labels), "chunks": number}
    row["instances"] = work[0].stop - work[0].start
    for name, (took, cpu) in best.items():
        row[name] = {"chunks_a_second": number / took, "cpu_here": cpu[0] / number}
        if name == "dask":
            row[name] |= {"cpu_scheduler": cpu[1] / number, "cpu_workers": sum(cpu[2:]) / number}
        else:
            row[name] |= {"cpu_workers": sum(cpu[1:]) / number if cpu[1:] else cpu[0] / number}
    counted = number + WORKERS  # those that are not timed passed too
    row |= {"sent": sent / counted, "received": received / counted}
    row |= {"chunk_pickled": len(pickle.dumps(work[0])), "sums_pickled": len(pickle.dumps(work[0].run()))}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory() as folder, Cluster(folder, workers=WORKERS) as cluster:
        relay = Relay(cluster.address)
        rows = [measure(column, relay, cluster, turns) for column in COLUMNS]
    found = {"cores": os.cpu_count(), "workers": WORKERS, "turns": turns, "load": os.getloadavg()[1], "rows": rows}
    (ROOT / "benchmarks" / "cluster.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
