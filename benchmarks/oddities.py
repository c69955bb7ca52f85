"""How often honest voters are found odd, and how often odd ones: python benchmarks/oddities.py.

Votes come from the paper's conditions; odd voters are planted among them. Writes docs/panel/oddities.json, a row after
each measurement; rows that are there are kept. ``python docs/pages.py`` makes tables of them.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import Row, measure_rows

import veritally as vt
from veritally.votes.claims import believable
from veritally.votes.oddities.finding import odd_voters
from veritally.votes.oddities.position import position_lovers

RESULTS = Path(__file__).parents[1] / "docs" / "panel" / "oddities.json"
CONDITIONS = ("high-variance", "low-variance", "count-noise", "count-replacement")
QUICK = ((10, 10), (3, 10), (3, 3), (5, 4), (24, 2), (30, 10), (30, 60))  # voters × alternatives
LARGE = ((100, 10), (300, 10))
KINDS = ("copies", "contradiction", "constant")
COMMAND = "python benchmarks/oddities.py"
MANY, SOME = 2000, 400  # decisions, and files of several decisions or of planted voters
PLANTED = (  # what, voters, alternatives, decisions of a file
    *(("two equal ballots", m, n, d) for m, n, d in ((10, 10, 1), (10, 5, 1), (24, 2, 100), (10, 10, 20))),
    *(("two ballots that differ in 4%", m, n, d) for m, n, d in ((10, 10, 1), (30, 60, 1))),
    *(("ten of twelve equal", m, n, d) for m, n, d in ((12, 10, 1), (12, 5, 1), (12, 3, 1), (12, 3, 20))),
    *(("one reversed", m, n, d) for m, n, d in ((10, 10, 1), (10, 5, 1), (24, 2, 100), (10, 10, 20))),
    ("one constant", 10, 10, 1),
    ("one constant", 5, 4, 1),
)


def plan() -> Iterator[Row]:
    """Yield what to measure: quick sizes first."""
    for sizes, instances in ((QUICK, MANY), (LARGE, SOME)):
        for m, n in sizes:
            for condition in CONDITIONS:
                for votes in ("rankings", "values", "top"):
                    yield _row("honest", condition, votes, m, n, 1, instances)
    for condition in CONDITIONS[:2]:
        for planted, m, n, decisions in PLANTED:
            for votes in ("values",) if "constant" in planted else ("rankings", "values", "top"):
                yield _row(planted, condition, votes, m, n, decisions, SOME if decisions == 1 else SOME // 4)
        for votes in ("rankings", "values", "top"):
            yield _row("honest", condition, votes, 24, 2, 100, SOME // 2)
            yield _row("honest", condition, votes, 10, 10, 20, SOME // 2)
    for what in ("honest, skill differs", "honest, two tastes"):
        for m, n in ((10, 10), (20, 6), (12, 8)):
            yield _row(what, "low-variance", "rankings", m, n, 1, SOME)
    for m, n in (*QUICK, *LARGE):
        for condition in CONDITIONS:
            yield _row("honest", condition, "counts", m, n, 1, MANY)
    for share in (0.5, 0.7, 0.8, 0.9):
        for comparisons in (20, 50, 200):
            yield _row(f"first preferred in {share:.0%}", "", "pairs", 10, comparisons, 1, MANY)


def _row(planted: str, condition: str, votes: str, m: int, n: int, decisions: int, instances: int) -> Row:
    size = {"voters": m, "alternatives": n, "decisions": decisions, "instances": instances}
    return {"planted": planted, "condition": condition, "votes": votes, **size, "command": COMMAND}


def measure(row: Row) -> Row:
    """Return the share of files in which each kind of oddity is found, and in which the planted voters are."""
    if row["votes"] == "pairs":
        return _positions(row)
    m, n, d = row["voters"], row["alternatives"], row["decisions"]
    scenario = vt.scenario(row["condition"]).replace(voters=m, alternatives=n)
    values = vt.simulate(scenario, instances=row["instances"] * d, seed=23).profile
    if row["votes"] == "counts":
        _, claims = believable(values)
        return _share("claims", np.isin(np.arange(row["instances"]), list(claims)))
    found: dict[str, list[bool]] = {kind: [] for kind in (*KINDS, "found")}
    for start in range(0, row["instances"] * d, d):
        part = values.part(start, start + d) if d > 1 else values.decision(start)
        profile, odd = planted(part, row["planted"], np.random.default_rng(start))
        oddities = odd_voters(profile.coarsened(row["votes"]))
        for kind in KINDS:
            found[kind].append(any(oddity.what == kind for oddity in oddities))
        found["found"].append(
            bool(odd) and any(len(odd & set(oddity.voters)) >= min(2, len(odd)) for oddity in oddities)
        )
    wanted = KINDS if row["planted"].startswith("honest") else ("found",)
    return {name: x for kind in wanted for name, x in _share(kind, np.array(found[kind])).items()}


def planted(profile: vt.Profile, what: str, random: np.random.Generator) -> tuple[vt.Profile, set[int]]:
    """Return votes with odd voters among them, and who these are."""
    values, counts = np.array(profile.values), np.array(profile.counts)
    m = values.shape[-2]
    if what == "honest":
        return profile, set()
    if what.startswith("honest"):
        return _unlike(profile, what, random), set()
    if what == "one reversed":
        values[..., 0, :] *= -1
        return vt.Profile(values=values, counts=counts), {0}
    if what == "one constant":
        values[..., 0, :] = 3.0
        return vt.Profile(values=values, counts=counts), {0}
    copies = list(range(m - 9, m)) if what.startswith("ten") else [m - 1]
    for i in copies:
        values[..., i, :], counts[..., i, :] = values[..., 0, :], counts[..., 0, :]
    if "differ" in what:
        values[..., m - 1, :] = _nearly(values[..., 0, :], random)
    return vt.Profile(values=values, counts=counts), {0, *copies}


def _unlike(profile: vt.Profile, what: str, random: np.random.Generator) -> vt.Profile:
    """Return honest votes that are not as supposed: σ differs from voter to voter, or truths between two halves."""
    counts = np.array(profile.counts)
    m, n = counts.shape
    truth, sigma = random.standard_normal((1, n)), np.ones((m, 1))
    if what.endswith("skill differs"):
        sigma = np.exp(random.standard_normal((m, 1)))  # lognormal
    else:
        truth = np.where(np.arange(m)[:, None] < m // 2, truth, random.standard_normal((1, n)))
    return vt.Profile(values=truth + sigma / np.sqrt(counts) * random.standard_normal((m, n)), counts=counts)


def _nearly(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return values in which neighbours are swapped, so that 4% of the pairs differ."""
    order = list(np.argsort(values))
    pairs = len(order) * (len(order) - 1) // 2
    for _ in range(int(0.045 * pairs)):
        k = int(random.integers(len(order) - 1))
        order[k], order[k + 1] = order[k + 1], order[k]
    changed = np.empty_like(values)
    changed[order] = np.sort(values) + 1e-3  # no value is the same
    return changed


def _positions(row: Row) -> Row:
    """Ten voters compare so many random pairs each, of whom one prefers the first place."""
    random = np.random.default_rng(29)
    number, share = row["alternatives"], float(row["planted"].split()[-1].rstrip("%")) / 100
    first = random.binomial(number, 0.5, (row["instances"], row["voters"])).astype(float)
    first[:, 0] = random.binomial(number, share, row["instances"])
    lovers = np.array([position_lovers(own, np.full(len(own), number)) for own in first])
    return _share("found", lovers[:, 0] > 0) | _share("false", (lovers[:, 1:] != 0).any(axis=1))


def _share(name: str, happened: np.ndarray) -> Row:
    """Return a share, its standard error, and the end of its 95% interval where it never happened."""
    share, number = float(np.mean(happened)), len(happened)
    return {name: share, f"{name}_se": float(np.sqrt(share * (1 - share) / number)) or 3 / number}


if __name__ == "__main__":
    measure_rows(RESULTS, plan(), measure)
