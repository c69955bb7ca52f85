"""The page under load: ``make bench-web`` prints it, and records it in docs/benchmarks.md and benchmarks/web.json.

500 voters, each from an address of its own, open their links, look their ballots over and submit them, 50 a second
for a minute, while the answer is open in a browser. All of it stays on this machine. Times are compared with the same
requests to an idle server, since machines differ. It fails if an answer is an error, if a ballot is lost or doubled, if
pages become slow, or if memory grows.
"""

import argparse
import asyncio
import html
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from page import put_section

from veritally.web.decisions import Setup
from veritally.web.store import Store

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "web"))
from servers import Postgres, Server  # noqa: E402

VOTERS, ALTERNATIVES, EACH_SECOND = 500, 10, 50
IDLE = 25  # ballots, one after the other
SLOWEST, GROWTH = 20, 1.2  # times the median of an idle server; times the memory of the first half
SEEN = ("a little", "some", "a lot")


class Browser:
    """Asks for pages from an address of its own, and writes down how long each took."""

    def __init__(self, port, address, replies):
        self._port, self._address, self._replies = port, address, replies

    async def __aenter__(self):
        own = (self._address, 0)
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=own)
        return self

    async def __aexit__(self, *_):
        self._writer.close()

    async def ask(self, path, fields=None):
        """Return the status and the page."""
        body = b"" if fields is None else urlencode(fields).encode()
        lines = [f"{'GET' if fields is None else 'POST'} {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}"]
        if fields is not None:
            lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
        start = time.perf_counter()
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1])
        page = (await self._reader.readexactly(length)).decode()
        status = int(head.split()[1])
        self._replies.append((time.perf_counter() - start, status, path.split("/")[1]))
        return status, page


async def vote(browser, secret, numbers, rng):
    """Vote as people do: open the link, fill the ballot in, look it over, submit it, see that it is in."""
    link = f"/v/{secret}"
    _, page = await browser.ask(link)
    ranked = rng.sample(numbers, rng.randint(2, len(numbers)))
    seen = {number: rng.choice(SEEN) for number in ranked}
    fields = {f"rank-{number}": rank for rank, number in enumerate(ranked, 1)}
    fields |= {f"seen-{number}": word for number, word in seen.items()}
    _, page = await browser.ask(link, hidden(page) | fields | {"act": "review"})
    status, _ = await browser.ask(link, hidden(page) | {"act": "submit"})
    if status != 303:
        return None
    await browser.ask(link)
    kept = {str(number): {"seen": seen.get(number, "not at all")} for number in numbers}
    for rank, number in enumerate(ranked, 1):
        kept[str(number)]["rank"] = rank
    return kept


def hidden(page):
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in found}


async def follow(open_browser, link, end):
    """Keep the answer open, and look for newer ones as the script of the page does; return how many were shown."""
    shown = 0

    async def ask(path):
        async with open_browser() as browser:  # a server hangs up on who says nothing for a while
            return (await browser.ask(path))[1]

    while time.monotonic() < end:
        page = await ask(f"{link}/answer")
        revision, wait = re.search(r'data-revision="([^"]+)"', page)[1], 1.0 if 'data-busy="yes"' in page else 5.0
        shown += 1
        while time.monotonic() + wait < end:
            await asyncio.sleep(wait)
            state = json.loads(await ask(f"{link}/state"))
            if str(state["revision"]) != revision:
                break
            wait = min(wait * 1.5, 10.0) if state["busy"] else 5.0
        else:
            return shown
    return shown


def memory(process):
    """Return the bytes that the server and its worker have in memory."""
    total = 0
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for number in (str(process), *children):
        try:
            status = Path(f"/proc/{number}/status").read_text()
        except OSError:  # it has just ended
            continue
        total += 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])
    return total


async def watch(process, end, samples):
    while time.monotonic() < end:
        samples.append(memory(process))
        await asyncio.sleep(0.5)


async def load(server, organiser, links, numbers, seconds):
    rng, idle, busy, memories, kept = random.Random(1), [], [], [], {}
    secrets = list(links.values())

    async def visit(k, replies):
        address = f"127.0.{1 + k // 250}.{1 + k % 250}"
        async with Browser(server.port, address, replies) as browser:
            ballot = await vote(browser, secrets[k], numbers, random.Random(rng.random()))
        if ballot is not None:
            kept[secrets[k]] = ballot

    for k in range(5):
        await visit(k, [])  # the first pages of a server are slower
    await asyncio.sleep(5)  # until it is idle
    for k in range(IDLE):
        await visit(k, idle)
        await asyncio.sleep(0.1)
    await asyncio.sleep(5)
    start = time.monotonic()
    end = start + seconds
    watching = asyncio.create_task(watch(server.process.pid, end, memories))
    reading = asyncio.create_task(follow(lambda: Browser(server.port, "127.0.9.1", busy), f"/o/{organiser}", end))
    visits = []
    for k in range(int(seconds * EACH_SECOND)):
        await asyncio.sleep(max(0.0, start + k / EACH_SECOND - time.monotonic()))
        visits.append(asyncio.create_task(visit(k % len(secrets), busy)))
    problems = [problem for problem in await asyncio.gather(*visits, return_exceptions=True) if problem]
    took = time.monotonic() - start
    shown = await reading
    await watching
    return idle, busy, memories, kept, problems, shown, took


def measure(database, seconds):
    """Return what was measured on a database."""
    file = "://" not in str(database)
    store = Store(f"sqlite:///{database}" if file else database)
    names = [f"Poster {k}" for k in range(1, ALTERNATIVES + 1)]
    setup = Setup("Best poster", readable=True, shown=True)
    organiser, links = store.create(setup, names, [f"Voter {k}" for k in range(1, VOTERS + 1)])
    numbers = [number for number, _ in store.by_organiser(organiser).alternatives]
    server = Server(database, "--no-demo")
    try:
        idle, busy, memories, kept, problems, shown, took = asyncio.run(
            load(server, organiser, links, numbers, seconds)
        )
    finally:
        said = server.stop()
    wrong = sum(store.by_voter(secret).given != ballot for secret, ballot in kept.items())
    stored = store.number_of_ballots(store.by_organiser(organiser))
    store.close()
    times = sorted(seconds for seconds, _, _ in busy)
    usual, slow = statistics.median(seconds for seconds, _, _ in idle), times[int(0.99 * len(times))]
    halves = [statistics.median(part) for part in (memories[: len(memories) // 2], memories[len(memories) // 2 :])]
    return {
        "ballots": int(seconds * EACH_SECOND),
        "seconds": took,
        "requests": len(busy),
        "errors": sum(status not in (200, 303) for _, status, _ in busy) + len(problems),
        "voters": len(kept),
        "stored": stored,
        "lost_or_changed": wrong + max(0, len(kept) - stored),
        "doubled": max(0, stored - len(kept)),
        "answers_shown": shown,
        "slow_to_idle": slow / usual,
        "median_to_idle": statistics.median(times) / usual,
        "memory_second_half_to_first": halves[1] / halves[0],
        "idle_median_ms": 1000 * usual,
        "median_ms": 1000 * statistics.median(times),
        "slow_ms": 1000 * slow,
        "slowest_ms": 1000 * times[-1],
        "memory_mb": [half / 1e6 for half in halves],
        "said": said,
    }


def failures(found):
    """Return what is not as it should be."""
    checks = {
        "errors": found["errors"] == 0,
        "lost ballots": found["lost_or_changed"] == 0,
        "doubled ballots": found["doubled"] == 0,
        "slow pages": found["slow_to_idle"] <= SLOWEST,
        "growing memory": found["memory_second_half_to_first"] <= GROWTH,
        "no new answers": found["answers_shown"] >= 2,
    }
    return [name for name, good in checks.items() if not good]


def row(name, found):
    missed = "; ".join(failures(found)) or "none"
    return (
        f"| {name} | {found['ballots']} | {found['requests']} | {found['errors']} | {found['lost_or_changed']} | "
        f"{found['doubled']} | {found['median_to_idle']:.2f} | **{found['slow_to_idle']:.1f}** | "
        f"{found['memory_second_half_to_first']:.2f} | {missed} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=["SQLite", "PostgreSQL"])
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "PostgreSQL":
            results["SQLite"] = measure(Path(folder) / "page.db", options.seconds)
        if options.only != "SQLite":
            try:
                postgres = Postgres(durable=True)
            except FileNotFoundError as missing:
                print(missing)
            else:
                try:
                    results["PostgreSQL"] = measure(postgres.new_database("page"), options.seconds)
                finally:
                    postgres.remove()
    print(json.dumps(results, indent=1))
    if options.only is None and options.seconds >= 60:
        record(results)
    missed = [f"{name}: {what}" for name, found in results.items() for what in failures(found)]
    sys.exit("; ".join(missed) if missed else 0)


def record(results):
    """Write the figures down."""
    (ROOT / "benchmarks" / "web.json").write_text(json.dumps(results, indent=1) + "\n")
    table = "\n".join(
        [
            "| database | ballots | requests | errors | lost | doubled | median | slowest 1% | memory | missed |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *(row(name, found) for name, found in results.items()),
        ]
    )
    put_section(
        ROOT / "docs" / "benchmarks.md",
        "the page under load",
        "## The page under load\n\n"
        f"{VOTERS} voters open their links, look their ballots over, submit them and come back to change them, "
        f"{EACH_SECOND} a second for a minute, on {ALTERNATIVES} alternatives, with the answer open in a browser. "
        "Each comes from an address of its own, and all of it runs on one machine with "
        f"{os.cpu_count()} cores: the page, the process that works answers out, the voters, and the database. Times "
        "are multiples of the median time of the same requests to an idle server: 99% must be within "
        f"{SLOWEST}. Memory is that of the second half of the minute against the first, at most {GROWTH}. "
        f"`make bench-web` measures this and rewrites this section.\n\n{table}\n",
    )


if __name__ == "__main__":
    main()
