"""Write the pages that are made of the code and of what was measured: ``python docs/pages.py``."""

import csv
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

import veritally as vt
from veritally.cli import cli

DOCS = Path(__file__).parent
sys.path.append(str(DOCS))  # for who runs this file from elsewhere, as the tests do

from composition_tables import TABLES as COMPOSITION_TABLES  # noqa: E402
from formulas import typeset  # noqa: E402
from next_tables import TABLES  # noqa: E402

_SYMBOLS = r"""# Every rule

`veritally rules` prints this list. [Which rule should I use](which-rule.md) helps to choose. `python docs/pages.py`
makes this page from the docstrings of the rules.

The formulas share these symbols:

| symbol | meaning |
|---|---|
| $i$, $j$ | a voter, one of $m$, and an alternative, one of $n$ |
| $c_{ij}$ | how often voter $i$ has seen alternative $j$ |
| $\mu_j$ | the truth about alternative $j$ |
| $\sigma_j$ | the standard deviation of one observation of it |
| $\tau$ | the standard deviation of the truths |
| $x_{ij}$ | the mean of what the voter saw: normal around $\mu_j$ with variance $s_{ij}^2 = \sigma_j^2 / c_{ij}$ |
| $\varphi_{ij}$, $\Phi_{ij}$ | the density and the distribution function of $x_{ij}$ |
| $w_{ij}$ | what voter $i$ adds to the score of $j$; $\text{score}_j = \sum_i w_{ij}$ unless a formula differs |
| $V = 0$ | the place where all truths are equal |

The column "cost" says how the time grows with $m$ and $n$."""

_COMMANDS = """\
# The command

Look up the options of a command here. Each section is what `veritally COMMAND --help` prints. If the input is bad, a
command prints one sentence on standard error and exits with code 2.

`python docs/pages.py` writes this page."""

_CONDITIONS = ("high-variance", "low-variance", "count-noise", "count-replacement")
_VOTERS = 10
_MOST_BYTES, _MOST_TIMES = 2e9, 3  # that large files may need, and times what polars needs
_MEASURED = {
    "mean": "values",
    "posterior:votes=rankings": "rankings",
    "learned-universal": "rankings",
    "score:votes=rankings": "rankings",
    "borda-sqrt-count": "rankings",
    "normal-scores": "rankings",
    "pairwise": "rankings",
    "pairwise-normalized": "rankings",
    "borda": "rankings",
    "posterior:votes=top": "favourites",
    "top-gradient": "favourites",
    "top-zero": "favourites",
    "plurality": "favourites",
}


def rules() -> str:
    """Return the page of all rules; those that are made of the same share a section."""
    families: dict[type, list[vt.RuleInfo]] = {}
    for info in vt.rules():
        families.setdefault(info.implementation, []).append(info)
    return (
        "\n\n".join([_SYMBOLS, *(_family(implementation, infos) for implementation, infos in families.items())]) + "\n"
    )


def _family(implementation: type, infos: list[vt.RuleInfo]) -> str:
    title = ", ".join(info.name for info in infos if "+" not in info.name)
    head = ["| rule | also called | votes | parameters | cost | from |", "|---|---|---|---|---|---|"]
    rows = [_row(info) for info in infos]
    parameters = set(chain.from_iterable(info.parameters for info in infos))
    sections = filter(None, _sections(inspect.getdoc(implementation) or "", parameters))
    return "\n\n".join([f"## {title}", "\n".join(head + rows), *sections])


def _row(info: vt.RuleInfo) -> str:
    names, parameters = (" ".join(f"`{name}`" for name in some) for some in (info.aliases, info.parameters))
    return f"| `{info.name}` | {names} | {info.taken} | {parameters} | {info.cost} | {_linked(info.reference)} |"


def _sections(docstring: str, parameters: set[str]) -> Iterator[str]:
    """Turn a docstring into Markdown, with those of its parameters that a user can give."""
    body, *rest = re.split(r"^(\w+)\n-+\n", _linked(docstring), flags=re.MULTILINE)
    sections = {name: text.strip() for name, text in zip(rest[::2], rest[1::2], strict=True)}
    yield typeset(body.strip())
    described = re.findall(r"^(\w.*)\n((?:    .*\n?)+)", sections.get("Parameters", ""), flags=re.MULTILINE)
    yield "\n".join(f"- `{name}`: {typeset(' '.join(text.split()))}" for name, text in described if name in parameters)
    for part in sections.get("Examples", "").split("\n\n"):
        yield f"```python\n{part}\n\n```" if part.startswith(">>>") else typeset(part)


def _linked(text: str) -> str:
    """Write roles and code as Markdown does, and pages as links."""
    text = re.sub(r":\w+:(?=`)", "", text).replace("``", "`")
    return re.sub(r"`?docs/(\w+\.md)`?", r"[\1](\1)", text)


def commands() -> str:
    """Return the page of all commands."""
    top = click.Context(cli, info_name="veritally", terminal_width=86, **cli.context_settings)
    helps = {"veritally": cli.get_help(top)}
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        helps[f"veritally {name}"] = command.get_help(click.Context(command, parent=top, info_name=name))
    return "\n\n".join([_COMMANDS, *(f"## {name}\n\n```text\n{text}\n```" for name, text in helps.items())]) + "\n"


def which_rule() -> str:
    """Return the page on choosing a rule, its table of figures filled in anew."""
    return _filled((DOCS / "which-rule.md").read_text(encoding="utf-8"), "measured", "end", _measured())


def limits() -> str:
    """Return the page on limits, its tables of figures filled in anew."""
    page = (DOCS / "limits.md").read_text(encoding="utf-8")
    tables = {"sizes": _sizes(), "favourites": _favourites(), "known": _known(), "unknown": _unknown()}
    for name, table in (tables | {"pooled": _pooled(), "files": _files()}).items():
        page = _filled(page, name, f"end of {name}", table)
    return page


def composition() -> str:
    """Return the page on composing a group, its tables of figures filled in anew."""
    page = (DOCS / "composition.md").read_text(encoding="utf-8")
    for name, table in COMPOSITION_TABLES.items():
        page = _filled(page, name, f"end of {name}", table())
    return page


def odd_voters() -> str:
    """Return the page on odd voters, its tables of figures filled in anew."""
    page = (DOCS / "odd-voters.md").read_text(encoding="utf-8")
    tables = {"false": _false_alarms(), "unlike": _unlike(), "found": _found(), "positions": _positions()}
    tables["claims"] = _claims()
    for name, table in tables.items():
        page = _filled(page, name, f"end of {name}", table)
    return page


def panels() -> str:
    """Return the page on panels, its tables of figures filled in anew."""
    page = (DOCS / "panels.md").read_text(encoding="utf-8")
    for name, table in {"leniency": _leniency(), "groups": _groups(), "halves": _halves()}.items():
        page = _filled(page, name, f"end of {name}", table)
    return page


def next_looks() -> str:
    """Return the figures of what to ask next, filled in anew."""
    page = (DOCS / "next" / "README.md").read_text(encoding="utf-8")
    for name, table in TABLES.items():
        page = _filled(page, name, f"end of {name}", table())
    return page


def machines() -> str:
    """Return the page on many machines, its table of figures filled in anew."""
    page = (DOCS / "machines.md").read_text(encoding="utf-8")
    found = json.loads((DOCS.parent / "benchmarks" / "cluster.json").read_text(encoding="utf-8"))
    return _filled(page, "chunks", "end of chunks", _chunks(found))


def benchmarks() -> str:
    """Return the page of measured speed, its section on large files filled in anew."""
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    found = json.loads((DOCS.parent / "benchmarks" / "streams.json").read_text(encoding="utf-8"))
    return _filled(page, "large files", "end of large files", _large_files(found))


def _leniency() -> Iterable[str]:
    """Table how many of the best papers are chosen, by how much reviewers differ."""
    rows = _panel("leniency")
    found = {(row["method"], row["leniency"]): row for row in rows}
    spreads = list(dict.fromkeys(row["leniency"] for row in rows))
    yield f"| standard deviation of leniency | {' | '.join(map(str, spreads))} |"
    yield f"|---|{'---:|' * len(spreads)}"
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [f"{own['hits']:.2f} ± {own['hits_se']:.2f}" for own in (found[method, spread] for spread in spreads)]
        words = {"package": "values, posterior", "package, leniency 0": "values, posterior with leniency 0"}
        yield f"| {words.get(method, method)} | {' | '.join(cells)} |"


def _groups() -> Iterable[str]:
    """Table regret, loss and sureness with groups ignored, known and estimated."""
    yield "| condition | | regret | loss | said | right |"
    yield "|---|---|---:|---:|---:|---:|"
    shown = {
        "package, each its own": "no panel",
        "package, groups known, strength given": "panel, correlation given",
        "package, groups known, strength estimated": "panel, correlation estimated",
        "sampler, groups known": "sampler",
        "package, nothing known": "no panel, σ and ω not known",
        "package, groups known, nothing else": "panel, σ, ω and correlation not known",
    }
    rows = {(row["condition"], row["method"]): row for row in _panel("groups")}
    for condition in dict.fromkeys(condition for condition, _ in rows):
        title = condition
        for method, words in shown.items():
            if (row := rows.get((condition, method))) is None:
                continue
            numbers = f"{row['regret']:.3f} ± {row['regret_se']:.3f} | {row['loss']:.3f} ± {row['loss_se']:.3f}"
            yield f"| {title} | {words} | {numbers} | {row['said']:.3f} | {row['right']:.3f} |"
            title = ""


def _halves() -> Iterable[str]:
    """Table what groups that do not exist cost."""
    yield "| alternatives, σ² | regret, no groups | halves − no groups | said − right, no groups | … with halves |"
    yield "|---|---:|---:|---:|---:|"
    rows = {(row["condition"], row["method"]): row for row in _panel("halves")}
    for condition in dict.fromkeys(condition for condition, _ in rows):
        plain, halves = (
            rows[condition, f"package, {method}"] for method in ("no groups", "random halves, strength estimated")
        )
        more = halves["more than"]["package, no groups"]
        yield (
            f"| {plain['alternatives']}, {plain['sigma2']:g} | {plain['regret']:.4f} | {more['regret']:+.4f} ± "
            f"{more['regret_se']:.4f} | {plain['gap']:+.3f} | {halves['gap']:+.3f} |"
        )


def _large_files(found: dict[str, Any]) -> Iterator[str]:
    """Say and table what large files cost, beside what polars needs to read and group the same rows."""
    yield "## Large files"
    yield ""
    yield (
        f"`decide --out` with {found['cores']} processes, from the start of the first to the file of answers. The "
        "reference is polars, with as many threads, reading the same rows and grouping them by decision, or by voter "
        "for one decision. Memory is the sum of the most that each process had, to be at most "
        f"{_MOST_BYTES / 1e9:g} GB. `python benchmarks/streams.py` measures this, and `make pages` fills this section."
    )
    yield ""
    yield "| what | time | polars | ratio | at most | peak memory | polars | missed |"
    yield "|---|---:|---:|---:|---:|---:|---:|---|"
    for row in found["rows"]:
        missed = ["time"] if row["limited"] and row["ratio"] > _MOST_TIMES else []
        missed += ["memory"] if row["bytes"] > _MOST_BYTES else []
        times = f"{row['seconds']:.1f} s | {row['polars_seconds']:.1f} s | **{row['ratio']:.2g}**"
        memory = f"{row['bytes'] / 1e9:.2f} GB | {row['polars_bytes'] / 1e9:.2f} GB"
        limit = _MOST_TIMES if row["limited"] else ""
        yield f"| {row['what']} | {times} | {limit} | {memory} | {', '.join(missed)} |"


def _chunks(found: dict[str, Any]) -> Iterator[str]:
    """Say and table what chunks cost, by where they are done."""
    workers, quick = found["workers"], found["rows"][0]["dask"]
    fed = quick["cpu_workers"] / max(quick["cpu_scheduler"], quick["cpu_here"])
    yield (
        f"Chunks of `reproduce` in one process, in {workers} processes, and on a Dask cluster of {workers} workers "
        f"with one thread each, all on one machine with {found['cores']} cores: the quickest of {found['turns']} "
        f"turns. **Others used the machine meanwhile** (load {found['load']:.0f}), so trust the CPU time of a chunk "
        "before its seconds. Bytes are those that passed between this process and the scheduler, counted by a relay "
        "between the two; what passes between scheduler and workers is not counted. `python benchmarks/cluster.py` "
        "measures this, and `make pages` fills this section."
    )
    yield ""
    yield f"| chunks | | chunks a second per worker | beside one process | {_CPU} | sent a chunk | received |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in found["rows"]:
        title = f"{row['instances']:,} decisions × {row['voters']} voters × 10, {row['rules']} rules"
        alone = row["one process"]["chunks_a_second"]
        for name, where in {"one process": "one process", "processes": "processes here", "dask": "Dask"}.items():
            own, number = row[name], 1 if name == "one process" else workers
            rate = own["chunks_a_second"] / number
            cpu = [f"{1000 * own['cpu_workers']:,.0f} ms"]
            cpu += [
                f"{1000 * own[key]:.1f} ms" if key in own and number > 1 else ""
                for key in ("cpu_scheduler", "cpu_here")
            ]
            passed = [f"{row[key] / 1000:.1f} kB" if name == "dask" else "" for key in ("sent", "received")]
            how = where if number == 1 else f"{where}, {number} workers"
            yield f"| {title} | {how} | {rate:.3g} | {rate / alone:.2f} | {' | '.join([*cpu, *passed])} |"
            title = ""
    yield ""
    yield (
        f"By CPU time, one scheduler keeps about {fed:.0f} workers busy with the quick chunks of the first block, and "
        "many more with longer ones."
    )


_CPU = "CPU of workers | of the scheduler | of this process"


def _false_alarms() -> Iterable[str]:
    """Table in how many of a thousand files honest voters are found odd, the most of all conditions and votes."""
    rows = [row for row in _panel("oddities") if row["planted"] == "honest"]
    yield "| voters × alternatives | decisions per file | files | copies | contradiction | constant | absurd counts |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for m, n, d in dict.fromkeys((row["voters"], row["alternatives"], row["decisions"]) for row in rows):
        size = [row for row in rows if (row["voters"], row["alternatives"], row["decisions"]) == (m, n, d)]
        cells = []
        for kind in ("copies", "contradiction", "constant", "claims"):
            own = [row for row in size if kind in row]
            share = sum(row[kind] * row["instances"] for row in own) / max(1, sum(row["instances"] for row in own))
            most = max((row[kind] for row in own), default=0)
            cells.append(f"{1000 * share:.1f} (at most {1000 * most:.1f})" if own else "")
        files = sum(row["instances"] for row in size if "copies" in row)
        yield f"| {m} × {n} | {d} | {files:,} | {' | '.join(cells)} |"


def _unlike() -> Iterable[str]:
    """Table the same of honest voters who are not as the rules suppose."""
    yield "| honest voters | voters × alternatives | files | copies | contradiction |"
    yield "|---|---|---:|---:|---:|"
    for row in _panel("oddities"):
        if row["planted"].startswith("honest, "):
            size = f"{row['voters']} × {row['alternatives']} | {row['instances']}"
            shares = " | ".join(f"{row[kind]:.1%} ± {row[f'{kind}_se']:.1%}" for kind in ("copies", "contradiction"))
            yield f"| {row['planted'].removeprefix('honest, ')} | {size} | {shares} |"


def _found() -> Iterable[str]:
    """Table how many of the odd voters that were planted are found."""
    rows = [row for row in _panel("oddities") if not row["planted"].startswith("honest")]
    kinds, conditions = ("rankings", "values", "top"), ("high-variance", "low-variance")
    yield (
        "| planted | voters × alternatives | decisions | "
        + " | ".join(
            f"{'favourites' if votes == 'top' else votes}, {condition}" for votes in kinds for condition in conditions
        )
        + " |"
    )
    yield f"|---|---|---:|{'---:|' * 6}"
    cells = {
        (row["planted"], row["voters"], row["alternatives"], row["decisions"], row["votes"], row["condition"]): row
        for row in rows
    }
    for what in dict.fromkeys(key[:4] for key in cells if key[4] != "pairs"):
        own = [cells.get((*what, votes, condition)) for votes in kinds for condition in conditions]
        shares = ["–" if row is None else f"{row['found']:.0%}" for row in own]
        yield f"| {what[0]} | {what[1]} × {what[2]} | {what[3]} | {' | '.join(shares)} |"


def _positions() -> Iterable[str]:
    """Table how often who prefers the first place is found, and somebody else who does not."""
    yield "| one of ten prefers the first of two | comparisons per voter | found | others named, per 1,000 files |"
    yield "|---|---:|---:|---:|"
    for row in _panel("oddities"):
        if row["votes"] == "pairs":
            share = row["planted"].removeprefix("first preferred ")
            yield f"| {share} | {row['alternatives']} | {row['found']:.1%} | {1000 * row['false']:.1f} |"


def _claims() -> Iterable[str]:
    """Table what a claim of a million looks does."""
    yield "| claimant | decided by | regret | right | said − right |"
    yield "|---|---|---:|---:|---:|"
    order = ("nobody", "honest", "random", "reversed")
    for row in sorted(_panel("claims"), key=lambda row: order.index(row["claimant"])):
        gap = _error(row, "gap", 3, sign="+") if "gap" in row else ""
        figures = f"{_error(row, 'regret', 3)} | {_error(row, 'right', 3)} | {gap}"
        yield f"| {row['claimant']} | {row['asked']} | {figures} |"


def _panel(name: str) -> list[dict[str, Any]]:
    """Return what was measured about voters as they are."""
    return json.loads((DOCS / "panel" / f"{name}.json").read_text(encoding="utf-8"))


def _filled(page: str, start: str, end: str, lines: Iterable[str]) -> str:
    """Put lines between two marks of a page."""
    start, end = f"<!-- {start} -->\n", f"<!-- {end} -->"
    before, _, rest = page.partition(start)
    return before + start + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


def _sizes() -> Iterable[str]:
    """CPU seconds of each rule by size."""
    rows = json.loads((DOCS / "limits" / "sizes.json").read_text(encoding="utf-8"))
    seconds = {(row["rule"], row["voters"], row["alternatives"]): row["seconds"] for row in rows}
    sizes = list(dict.fromkeys((row["voters"], row["alternatives"]) for row in rows))
    yield f"| voters × alternatives | {' | '.join(f'{m:,} × {n}' for m, n in sizes)} |"
    yield f"|---|{'---:|' * len(sizes)}"
    for rule in dict.fromkeys(row["rule"] for row in rows):
        taken = [seconds.get((rule, *size)) for size in sizes]
        yield f"| {rule} | {' | '.join('–' if x is None else f'{x:.2g}' if x < 10 else f'{x:.0f}' for x in taken)} |"


def _favourites() -> Iterable[str]:
    """Table what is said of winners by favourites, and what is so."""
    yield "| voters × alternatives | seen | said | right | expected regret | regret |"
    yield "|---|---|---:|---:|---:|---:|"
    for row in json.loads((DOCS / "limits" / "favourites.json").read_text(encoding="utf-8")):
        low, high = row["experience"].split(":")[1:]
        seen = "once" if low == high else f"{low} to {high} times"
        yield (
            f"| {row['voters']} × {row['alternatives']} | {seen} | {row['said']:.2f} | {row['right']:.2f} ± "
            f"{row['right_se']:.2f} | {row['expected_regret']:.4f} | {row['regret']:.4f} ± {row['regret_se']:.4f} |"
        )


def _known() -> Iterable[str]:
    """Table how often intervals hold the truth, and winners are right, with σ and τ given."""
    rows = _rows("known")
    ratios = sorted({row["ratio"] for row in rows})
    cells = {(row["votes"], row["voters"], row["alternatives"], row["ratio"]): row for row in rows}
    yield f"| votes | voters × alternatives | {' | '.join(f'σ/τ = {ratio:g}' for ratio in ratios)} |"
    yield f"|---|---|{'---:|' * len(ratios)}"
    for votes, m, n in dict.fromkeys(key[:3] for key in cells):
        own = [cells[votes, m, n, ratio] for ratio in ratios]
        said = [f"{_error(row, 'coverage', 1, 100)}%<br>{row['said']:.3f}, {_error(row, 'right', 3)}" for row in own]
        yield f"| {'favourites' if votes == 'top' else votes} | {m} × {n} | {' | '.join(said)} |"


def _unknown() -> Iterable[str]:
    """Table what is said of winners, and what is so, with σ unknown; bold beyond what is aimed at."""
    yield "| seen | voters | σ/τ | said | right | said − right | loss − log 5 |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in _rows("unknown"):
        seen = "once" if row["most"] == 1 else f"1 to {row['most']} times"
        gap = _bold(_error(row, "gap", 3, sign="+"), abs(row["gap"]) > 0.05)
        loss = _bold(_error(row, "loss", 3, sign="+"), row["loss"] > 0.03)
        said = " | ".join(_error(row, name, 3) for name in ("said", "right"))
        yield f"| {seen} | {row['voters']} | {row['ratio']:g} | {said} | {gap} | {loss} |"


def _pooled() -> Iterable[str]:
    """Table what pooling the noise is worth where votes are simulated."""
    yield f"| voters × alternatives | σ/τ | noise | {_JUDGED} | loss − given |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for row in _rows("pooled"):
        ratio = f"{row['low']:g}" if row["low"] == row["high"] else f"{row['low']:g} to {row['high']:g}"
        for noise in ("given", "pooled", "each"):
            yield f"| {row['voters']} × {row['alternatives']} | {ratio} | {noise} | {_judged(row[noise])} |"


def _files() -> Iterable[str]:
    """Table what it is worth on real votes."""
    yield f"| data set | votes | noise | {_JUDGED} | loss − each |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for row in _rows("files"):
        for noise in ("each", "pooled"):
            yield f"| {row['dataset']} | {row['votes']} | {noise} | {_judged(row[noise])} |"


_JUDGED = "said | right | calibration error | expected by chance | loss"


def _judged(row: dict[str, float]) -> str:
    more = _error(row, "more", 4, sign="+") if "more" in row else ""
    said = f"{_error(row, 'said', 3)} | {_error(row, 'right', 3)}"
    return f"{said} | {_error(row, 'error', 3)} | {row['chance']:.3f} | {_error(row, 'loss', 4)} | {more}"


def _rows(name: str) -> list[dict[str, Any]]:
    """Return what ``benchmarks/sureness.py`` measured."""
    return json.loads((DOCS / "sureness" / f"{name}.json").read_text(encoding="utf-8"))


def _error(row: dict[str, Any], name: str, digits: int, unit: float = 1, sign: str = "") -> str:
    """Write a figure with its standard error."""
    return f"{unit * row[name]:{sign}.{digits}f} ± {unit * row[f'{name}_se']:.{digits}f}"


def _bold(text: str, whether: bool) -> str:
    return f"**{text}**" if whether else text


def _measured() -> Iterable[str]:
    """Regret in the paper's conditions, and growth of the cost."""
    regret = {}
    for folder in ("exact", "reproduction"):
        with (DOCS / folder / "results.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                regret[row["rule"], row["table"], int(row["voters"])] = float(row["regret"])
    cost = {info.name: info.cost for info in vt.rules()}
    yield f"| votes | rule | {' | '.join(_CONDITIONS)} | cost |"
    yield f"|---|---|{'---:|' * len(_CONDITIONS)}---|"
    for rule, votes in _MEASURED.items():
        name = rule.split(":")[0]
        cells = [f"{regret[rule, condition, _VOTERS]:.4f}" for condition in _CONDITIONS]
        yield f"| {votes} | `{name}` | {' | '.join(cells)} | {cost[name]} |"


PAGES = {"rules.md": rules, "commands.md": commands, "which-rule.md": which_rule, "limits.md": limits}
PAGES |= {"odd-voters.md": odd_voters, "panels.md": panels, "machines.md": machines}
PAGES |= {"composition.md": composition, "next/README.md": next_looks, "benchmarks.md": benchmarks}

if __name__ == "__main__":
    for page, text in PAGES.items():
        (DOCS / page).write_text(text(), encoding="utf-8")
