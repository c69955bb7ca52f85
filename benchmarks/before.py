"""The time inference takes, now and before it was rewritten; ``make bench`` records it in docs/benchmarks.md.

The commit before is checked out beside, and both run in turn in processes of their own: CPU seconds of one thread, the
quickest of three turns.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from decisions import draw
from page import put_section

import veritally as vt

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "before.json"
BEFORE = "6926926"  # the last commit whose inference found the mode first, and σ by Laplace's method
TURNS = 3
LONG = 30.0  # seconds, from which on one turn will do
ENOUGH = 0.5  # seconds, up to which work is repeated within a turn
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}

GIVEN = {"sigma": 10.0, "tau": 1.0}
SIZES = {(10, 10): 200, (24, 2): 200, (3, 3): 200, (30, 60): 4}  # voters × alternatives: decisions of a batch
SURE = ((10, 10), (24, 2), (3, 3))
ALONE = 5  # decisions that are decided one by one
UNANIMOUS = 10_000.0  # the counts of those who all say the same
Work = Callable[[], object]


def works(now: bool) -> Iterator[tuple[str, int, Work]]:
    """Yield what to time: its name, by how much to divide, and the work. Some could not be done before."""
    given, unknown = vt.rule("posterior", **GIVEN), vt.rule("posterior")
    for (m, n), size in SIZES.items():
        profile = draw(max(size, ALONE), m, n, GIVEN["sigma"])[1]
        number = ALONE if n < 60 else 1
        singles = [profile.decision(d).ballots for d in range(number)]
        batch = profile.part(0, size).ballots
        for name, rule in (("given", given), ("unknown", unknown)):
            yield f"{name}, 1 × ({m} × {n})", number, lambda rule=rule, own=singles: [rule.fit(one) for one in own]
            if now or n < 60 or rule is given:
                yield f"{name}, {size} × ({m} × {n})", 1, lambda rule=rule, own=batch: rule.fit(own)
        if (m, n) in SURE and now:
            yield f"belief, {size} × ({m} × {n})", 1, _belief(given, batch)
        elif (m, n) in SURE:  # of a single decision only
            asked = [_belief(given, one) for one in singles]
            yield f"belief, {size} × ({m} × {n})", ALONE / size, lambda asked=asked: [ask() for ask in asked]
    long = draw(1, 10, 100, GIVEN["sigma"])[1].decision(0).ballots
    yield "given, 10 × 100", 1, lambda: given.fit(long)
    yield "unknown, 10 × 100", 1, lambda: unknown.fit(long)
    if now:
        mixed, others = _unanimous(1000, 10)
        for name, rule in (("given", given), ("unknown", unknown)):
            yield f"{name}, with unanimous", 1, lambda rule=rule: rule.fit(mixed)
            yield f"{name}, without", 1, lambda rule=rule: rule.fit(others)
        many = draw(1000, 24, 2, GIVEN["sigma"])[1].ballots
        for name, rule in (("given", given), ("pooled", vt.rule("posterior", scale="pooled"))):
            yield f"{name}, with P(best)", 1, lambda rule=rule: rule.belief(many, rule.fit(many), 0)


def _belief(rule: Any, ballots: Any) -> Work:
    fit = rule.fit(ballots)
    return lambda: rule.belief(ballots, fit, 0)


def _unanimous(decisions: int, number: int) -> tuple[Any, Any]:
    """Return decisions of 10 × 10 of which some are unanimous, evenly spread, and the others alone."""
    profile = draw(decisions, 10, 10, GIVEN["sigma"])[1]
    ranks, counts = np.array(profile.ranks), np.array(profile.counts)
    chosen = np.linspace(0, decisions - 1, number).astype(int)
    ranks[chosen], counts[chosen] = np.arange(1, 11), UNANIMOUS
    others = np.delete(ranks, chosen, axis=0), np.delete(counts, chosen, axis=0)
    return tuple(vt.Profile(ranks=r, counts=c).ballots for r, c in ((ranks, counts), others))


def table(now: dict[str, float], before: dict[str, float]) -> Iterator[dict[str, Any]]:
    """Yield what is compared with what, with the most that the ratio is to be."""

    def line(what: str, work: str, against: str, other: str, most: str, when: dict[str, float]) -> dict[str, Any]:
        return {"what": what, "now": now[work], "against": against, "other": when[other], "most": most} | {
            "before": before.get(work)
        }

    for (m, n), size in SIZES.items():
        for batch in (f"1 × ({m} × {n})", f"{size} × ({m} × {n})"):
            same = f"σ and τ given, {batch}, before"
            yield line(f"σ unknown, {batch}", f"unknown, {batch}", same, f"given, {batch}", "4", before)
    for (m, n), size in SIZES.items():
        batch = f"{size} × ({m} × {n})"
        most = "0.6" if (m, n) == (10, 10) else ""
        yield line(f"σ and τ given, {batch}", f"given, {batch}", "the same before", f"given, {batch}", most, before)
    for m, n in SURE:
        batch = f"{SIZES[m, n]} × ({m} × {n})"
        what = f"P(best), intervals and pairs, {batch}"
        yield line(what, f"belief, {batch}", "the estimates, now", f"given, {batch}", "1/2", now)
        yield line(what, f"belief, {batch}", "the estimates, before", f"given, {batch}", "", before)
    for name, said in (("given", "σ and τ given"), ("unknown", "σ unknown")):
        what = f"{said}, 1,000 × (10 × 10), 10 of them unanimous with counts of 10,000"
        yield line(what, f"{name}, with unanimous", "the 990 others", f"{name}, without", "1.3", now)
    what = "pooled noise, 1,000 × (24 × 2), estimates and P(best)"
    yield line(what, "pooled, with P(best)", "the same, σ and τ given", "given, with P(best)", "3", now)
    what, same = "σ unknown, 10 rankings of 100 alternatives", "σ and τ given, before"
    yield line(what, "unknown, 10 × 100", same, "given, 10 × 100", "5", before)


def written(lines: list[dict[str, Any]]) -> str:
    """Write the table in Markdown."""
    parts = [
        "| what | now | reference | reference time | ratio | at most | the same before |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for line in lines:
        earlier = "" if line["before"] is None else _seconds(line["before"])
        times = f"{_seconds(line['now'])} | {line['against']} | {_seconds(line['other'])}"
        ratio, most = line["now"] / line["other"], line["most"]
        missed = ", missed" if most and ratio > Fraction(most) else ""
        parts.append(f"| {line['what']} | {times} | **{ratio:.2g}** | {most}{missed} | {earlier} |")
    return "\n".join(parts)


def _seconds(x: float) -> str:
    return f"{1000 * x:.2g} ms" if x < 0.0995 else f"{x:.2f} s" if x < 10 else f"{x:.0f} s"


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Have a commit in a folder of its own for a while."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def has(commit: str) -> bool:
    """Say whether the history has a commit."""
    try:
        command = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def measure(now: bool, known: list[str]) -> dict[str, float]:
    """Return the CPU seconds of what is not known yet."""
    found = {}
    for name, number, work in works(now):
        if name in known:
            continue
        times: list[float] = []
        while not times or (sum(times) < ENOUGH and len(times) < 5):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        found[name] = min(times) / number
    return found


def main() -> None:
    """Run both in turn, and record."""
    if not has(BEFORE):
        print(f"There is no commit {BEFORE} here, before inference was rewritten, so there is nothing to compare with.")
        return
    best: dict[str, dict[str, float]] = {"now": {}, "before": {}}
    with checked_out(BEFORE) as other:
        for _ in range(TURNS):
            for when, root in (("now", ROOT), ("before", other)):
                known = [name for name, seconds in best[when].items() if seconds > LONG]
                command = [sys.executable, __file__, when, json.dumps(known)]
                environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(root / "src")}
                printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
                for name, seconds in json.loads(printed).items():
                    best[when][name] = min(seconds, best[when].get(name, seconds))
    lines = list(table(**best))
    RESULTS.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n")
    print(written(lines))
    put_section(ROOT / "docs" / "benchmarks.md", "before", section(lines))


def section(lines: list[dict[str, Any]]) -> str:
    """Write the section of the page."""
    return (
        "## Before and after\n\n"
        f"How much faster did inference become when it was rewritten? *Before* is commit {BEFORE}. Some references are "
        "not the same work: the aim for unknown σ is a multiple of the earlier time with σ given.\n\n"
        "- Times are CPU times of one thread, both versions in turn, the quickest of three. Work that takes more than "
        f"{LONG:.0f} s is measured once.\n"
        "- Truths are N(0, 1), counts are 1 to 50, and votes are rankings of means with σ = 10.\n"
        "- 200 × (24 × 2) means 200 decisions by 24 voters on 2 alternatives.\n"
        f"- Times of one decision are the mean of {ALONE}, each decided separately; for 30 × 60, that of the first.\n"
        "- *The same before* is the earlier time for the work of the first column, if it was measured. P(best) was "
        f"computed for one decision at a time then, so that figure is {ALONE} of them, scaled.\n\n"
        f"`make bench` measures this and rewrites this section.\n\n{written(lines)}"
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1] == "now", json.loads(sys.argv[2]))))
    else:
        main()
