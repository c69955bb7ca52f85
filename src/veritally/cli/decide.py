"""``veritally decide``: votes in, decision out."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from warnings import warn

import click

from veritally.cli.gate import Gate
from veritally.cli.options import (
    cluster_option,
    file_options,
    force_option,
    groups_option,
    lower_is_better_option,
    parse_sigma,
    refuse_both,
)
from veritally.cli.plugins import plugin_option
from veritally.cli.progress import ProgressDisplay, duration, progress_bar, working
from veritally.cli.saving import Files, checksum, kept_warnings, require_others
from veritally.cli.screen import say
from veritally.decide import Question, pools_noise, questions
from veritally.errors import InputError, InputWarning, quoted
from veritally.io.votes import read
from veritally.outcome import Outcome, TieBreak, WarningLines
from veritally.panel.files import read_panel
from veritally.progress import listening
from veritally.registry import DEFAULT, rule_info
from veritally.votes.labels import find
from veritally.votes.profile import Profile
from veritally.votes.rankings import Ordinal

_LEARN = "learn"  # a panel from the votes themselves
_TRIED = 5.0  # seconds, before which nobody can tell how long it takes
_LONG = 30.0  # seconds left, for which people would like to know a quicker way
_FIT = 0.6  # of the work that is done before it is found out how sure the answer is, about

_EXAMPLES = """\b
Examples:
  veritally decide votes.csv
  veritally decide votes.parquet --rule case4 --sigma 3.5 --explain
  veritally decide votes.csv --count-error replacement:0.1 --cap 100
  veritally decide papers.csv --choose 10 --report papers.html --report papers.csv
  veritally decide judges.jsonl --require-sure 0.9 && ./release.sh
  veritally decide delays.csv --lower-is-better --plot delays.png
  veritally decide ratings.csv --ballots value --counts looks.csv
  veritally decide election.soi --unranked below
  veritally decide reviews.csv --columns voter=member,value='total score'
  veritally decide reviews.csv --confidence low:1,medium:3,high:8
  cat votes.jsonl | veritally decide - --json
  veritally decide parts/ --rule pairwise --out answers.parquet      # any number of decisions
"""


@click.command(epilog=_EXAMPLES, short_help="Decide the votes in a file.")
@click.argument("file")
@click.option("--choose", type=click.IntRange(min=1), default=1, metavar="K", help="How many alternatives to choose.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write a report to show: .html (one page, no network needed), .md, or .csv (a table). May be given twice.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Save a picture: intervals and P(best), or each voter's part in the scores.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="K", help="Show only the best K in the picture.")
@click.option("--title", metavar="TEXT", help="The title of the report and the picture.")
@click.option(
    "--out",
    type=click.Path(),
    metavar="FILE",
    help="Write the answers to a file: .parquet, .csv, .tsv or .jsonl. FILE may then be a folder of Parquet files, and "
    "hold any number of decisions, or one decision by any number of voters. To resume what was interrupted, give the "
    "same command again.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes, with --out. Default: one per core.")
@cluster_option
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="With --out: what a decision that cannot be decided does. Skipped ones have an error as their answer.",
)
@click.option(
    "--best-only",
    is_flag=True,
    help="With --out: write only the rows of what is chosen; with --tie-break random, one for each decision.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (one a line for many decisions).")
@click.option("--explain", is_flag=True, help="Add each voter's part in it, and what would change it.")
@click.option(
    "--require-sure",
    "required",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="PROBABILITY",
    help="Exit with code 1 if the answer (of many decisions, any one) is less sure than this, and say what is missing. "
    "Sure means: each chosen alternative is among the best with at least this probability.",
)
@click.option(
    "--ballots",
    type=click.Choice(["value", "rank", "top"]),
    help="Which column is the vote, or what the cells of a wide table are. With top, only favourites count.",
)
@file_options
@lower_is_better_option
@groups_option
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Leave out a voter, all voters of a group, or an alternative, to see what that changes. May be given several "
    "times.",
)
@click.option(
    "--panel",
    type=click.Path(dir_okay=False),
    metavar="FILE | learn",
    help="Which voters share errors: a JSON file that veritally panel or vt.Panel wrote; for posterior. With --out, "
    "learn learns it first.",
)
@click.option(
    "--answers", metavar="FILE", help="With --panel learn: what is known of the answers, as veritally panel takes it."
)
@click.option("--rule", metavar="NAME", help="The rule, by name or paper label. Default: posterior.")
@click.option(
    "--sigma",
    multiple=True,
    metavar="NUMBER | NAME=NUMBER",
    help="Standard deviation of one observation; to give one per alternative, N,N,… or NAME=NUMBER for each. Default: "
    "posterior and learned-universal estimate it.",
)
@click.option(
    "--tau",
    type=float,
    metavar="NUMBER",
    help="Standard deviation of true quality; for posterior and learned-universal.",
)
@click.option(
    "--scale",
    metavar="pooled | each | NUMBER",
    help="σ/τ: pooled over all decisions of the file, one for each, or a number; for posterior. Default: pooled for 20 "
    "decisions or more, unless --sigma or --tau is given.",
)
@click.option(
    "--cap",
    metavar="NUMBER | none",
    help="The largest count that is believed; for posterior and mle. Default: a voter's counts that exceed all others "
    "a hundredfold are cut to the largest of the others. With none, all counts are believed; for every rule.",
)
@click.option(
    "--count-error",
    metavar="SPEC",
    help="How counts may be wrong: percentage:SIZE or replacement:PROBABILITY; for posterior and learned-universal. "
    "Without a number, posterior estimates it.",
)
@click.option(
    "--omega",
    metavar="NUMBER | estimated",
    help="Standard deviation of errors that do not shrink with the count, such as a pollster's method; for posterior.",
)
@click.option(
    "--noise",
    metavar="SPEC",
    help="The distribution of one observation: normal, laplace or student:FREEDOM; for posterior.",
)
@click.option(
    "--leniency",
    metavar="NUMBER | estimated",
    help="Standard deviation of voters' leniency: a number together with --sigma, or 0 for none; for posterior. "
    "Default: estimated if voters gave values to different alternatives.",
)
@click.option(
    "--doubt",
    type=float,
    metavar="PROBABILITY",
    help="Probability (up to 0.5) that a ballot is meaningless. It limits what a single ballot can do; for posterior, "
    "except with values.",
)
@click.option(
    "--model", type=click.Path(dir_okay=False), metavar="FILE", help="Weights made by veritally train; for learned."
)
@click.option(
    "--tie-break",
    type=click.Choice(["error", "first", "random"]),
    help="How to settle a tie. Default: report it as a tie.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="For random tie-breaks, stochastic rules and the draws that chances come from: another seed moves these "
    "by about half a percentage point.",
)
@click.option("--samples", type=click.IntRange(min=1), help="Draws per voter, for top-monte-carlo.")
@click.option(
    "--points", metavar="N,N,…", help="Points for each position, as many as alternatives, best first; for positional."
)
@click.option("--set", "own", multiple=True, metavar="NAME=VALUE", help="A parameter of a rule of your own.")
@plugin_option
@force_option
def decide(
    file: str,
    rule: str | None,
    sigma: tuple[str, ...],
    tau: float | None,
    scale: str | None,
    cap: str | None,
    count_error: str | None,
    omega: str | None,
    noise: str | None,
    leniency: str | None,
    doubt: float | None,
    panel: str | None,
    answers: str | None,
    model: str | None,
    ballots: Any,
    columns: dict[str, str] | None,
    counts: str | None,
    unranked: Any,
    confidence: dict[str, float] | None,
    verdicts: list[str] | None,
    groups: str | None,
    without: tuple[str, ...],
    choose: int,
    lower_is_better: bool,
    tie_break: Any,
    seed: int,
    out: str | None,
    workers: int | None,
    cluster: str | None,
    on_error: Any,
    best_only: bool,
    samples: int | None,
    points: str | None,
    own: tuple[str, ...],
    as_json: bool,
    explain: bool,
    reports: tuple[str, ...],
    plot: str | None,
    top: int | None,
    title: str | None,
    required: float | None,
    force: bool,
) -> None:
    """Decide the votes in FILE (CSV, TSV, Excel, Parquet, JSON or JSON Lines; - for standard input).

    FILE has one row per voter and alternative, with the columns voter, alternative, rank and/or value, and optionally
    count (how much the voter saw of the alternative). Other common names are recognised: reviewer, paper, rating.
    Review exports, battle logs, judge logs, forms exports, comparisons, a column per alternative, orders such as
    A > B = C and PrefLib's files are read as well: see docs/formats.md. If in doubt, veritally check FILE says what was
    understood.
    """
    parameters = _given(
        sigma=parse_sigma(*sigma) if sigma else None,
        points=None if points is None else points.split(","),
        omega=_number_or("estimated", omega, "--omega"),
        samples=samples,
        tau=tau,
        scale=_scale(scale),
        cap=_number_or("none", cap, "--cap"),
        count_error=count_error,
        noise=noise,
        leniency=_number_or("estimated", leniency, "--leniency"),
        doubt=doubt,
        model=model,
    ) | dict(map(_setting, own))
    if panel is not None and groups is not None:
        raise InputError("--panel and --groups both say who belongs together; give one of them")
    sources = {"the votes": file, "the counts": counts, "known answers": answers, "the panel": panel, "groups": groups}
    require_others((out, plot, *reports), sources, "the answer")
    if out is not None:
        from veritally.cli.answers import decide_to_file

        others = {"--json": as_json, "--explain": explain, "--report": reports, "--plot": plot, "--without": without}
        others |= {"--require-sure": required is not None, "--groups": groups, "--counts": counts}
        refuse_both(workers, cluster)
        others |= {"--title": title, "--top": top}
        decide_to_file(
            file,
            out,
            others,
            cluster,
            rule=rule,
            panel=panel if panel in (None, _LEARN) else read_panel(panel),
            answers=answers,
            choose=choose,
            tie_break=tie_break,
            seed=seed,
            on_error=on_error,
            ballots=ballots,
            lower_is_better=lower_is_better,
            unranked=unranked,
            confidence=confidence,
            columns=columns,
            verdicts=verdicts,
            workers=workers,
            best_only=best_only,
            force=force,
            **parameters,
        )
        return
    only_out = workers is not None or cluster is not None or on_error != "stop" or best_only
    if only_out or answers is not None or panel == _LEARN:
        options = "--workers, --cluster, --on-error, --best-only, --answers and --panel learn"
        raise InputError(f"{options} are for --out FILE; give that, too")
    files, gate = Files(reports, plot, top, title), Gate(required)
    files.check(force)
    sum_of_file = checksum(file) if files.reports else ""
    with working(file), kept_warnings() as notes:
        profile = read(
            file,
            ballots=ballots,
            lower_is_better=lower_is_better,
            counts=counts,
            unranked=unranked,
            groups=groups,
            confidence=confidence,
            columns=columns,
            verdicts=verdicts,
        )
    if without:
        profile = _without(profile, without)
    said = None if panel is None else read_panel(panel)
    decisions = profile.batch[0] if profile.batch else 1
    if pools_noise(rule_info(DEFAULT if rule is None else rule), parameters, said, decisions):
        parameters["scale"] = "pooled"
    settled: TieBreak = tie_break or "error"
    with working(file):  # of many decisions, some tell the noise of all
        asked = questions(profile, rule, panel=said, choose=choose, tie_break=settled, seed=seed, **parameters)
    if files.wanted and len(asked) > 1:  # a picture or report is of all
        asked = [Question.of(profile, rule, choose, settled, seed, parameters, said)]
    with progress_bar(f"Deciding {Path(file).name}") as show:
        outcomes: Iterable[Outcome] = gate.passing(_decided(asked, show))
        if files.wanted or tie_break == "error":  # and nothing is printed before it is known that nothing is tied
            outcomes = kept = list(outcomes)
        if tie_break == "error":
            _ = [outcome.chosen for outcome in kept]
        outcomes = iter(outcomes)
        try:
            _print(outcomes, profile, as_json, explain, lower_is_better)
            sys.stdout.flush()
        except BrokenPipeError:  # somebody has read enough, as head does; what is to be checked or saved goes on
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            _ = [None for _ in outcomes]
    if files.wanted:
        with working(file):  # what would change the choice takes some decisions more
            files.save(kept[0], file, sum_of_file, notes)
    gate.close()


def _without(profile: Profile, names: tuple[str, ...]) -> Profile:
    """Leave out voters, whole groups of them, or alternatives."""
    if profile.batch == (1,):
        profile = profile.decision(0)
    if profile.voter_labels.each or profile.alternative_labels.each:
        raise InputError("--without is for one decision, and these have names of their own; decide them one by one")
    groups: dict[str, set[str]] = {}
    for voter, group in (profile.groups or {}).items():
        groups.setdefault(str(group), set()).add(str(voter))
    voters = [str(name) for name in profile.voters]
    alternatives = [str(name) for name in profile.alternatives]
    gone: set[str] = set()
    dropped: set[str] = set()
    for name in names:
        if name in voters:
            gone.add(name)
        elif name in groups:
            gone |= groups[name]
        elif name in alternatives:
            dropped.add(name)
        else:
            find(name, {known: i for i, known in enumerate([*voters, *groups, *alternatives])}, "voter")
    kept = [name for name in profile.alternatives if str(name) not in dropped]
    return profile.select(
        voters=[name for name in profile.voters if str(name) not in gone], alternatives=kept if dropped else None
    )


def _setting(text: str) -> tuple[str, float | str]:
    """Read ``NAME=VALUE``; values are numbers where they can be."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--set takes NAME=VALUE, not {quoted(text)}")
    try:
        return name, float(value)
    except ValueError:
        return name, value


def _given(**parameters: Any) -> dict[str, Any]:
    """Return the parameters that a user gave."""
    return {name: value for name, value in parameters.items() if value is not None}


def _print(outcomes: Iterable[Outcome], profile: Profile, as_json: bool, explain: bool, lower_is_better: bool) -> None:
    """Print outcomes as they come."""
    if as_json:
        for outcome in outcomes:
            click.echo(outcome.to_json(explain=explain))
        return
    from veritally.cli.outcomes import print_outcomes

    if lower_is_better:
        click.echo("Values are negated, since lower is better.")
    print_outcomes(outcomes, profile, explain)


def _decided(asked: list[Question], show: ProgressDisplay) -> Iterator[Outcome]:
    """Decide one question after the other; show how far it is, and say how it would be quicker if it takes long."""
    start, hinted = time.monotonic(), False

    def follow(done: int, share: float) -> None:
        nonlocal hinted
        whole = (done + share) / len(asked)
        show(whole)
        left = (time.monotonic() - start) * (1 - whole) / whole if whole else 0.0
        if left > _LONG and not hinted and time.monotonic() - start > _TRIED:
            hinted = True
            show.hide()
            say(f"This takes about {duration(left)} more.{_quicker(asked[0])}", err=True)

    lines = WarningLines()
    for done, question in enumerate(asked):
        with listening(lambda share, done=done: follow(done, _FIT * share)):  # type: ignore[misc]
            outcome = question.outcome()
        follow(done, _FIT)
        _ = outcome.belief
        show.hide()
        if len(asked) == 1:
            _warn(outcome.rule_warnings)
        else:
            lines.add(outcome)
        yield outcome
    _warn(lines.lines())


def _quicker(question: Question) -> str:
    """Name quicker ways to decide, if there are any."""
    ways = []
    if question.info.name == "posterior" and question.parameters.keys().isdisjoint({"sigma", "tau", "scale"}):
        ways.append("--sigma with --tau, if you know how noisy one observation is beside the spread of the truths")
    if question.info.name == "posterior" and isinstance(question.profile.ballots, Ordinal):
        ways.append("--rule learned-universal")
    return f" Quicker: {', or '.join(ways)}." if ways else ""


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        warn(warning, InputWarning, stacklevel=2)


def _scale(text: str | None) -> str | float | None:
    """Read pooled, each, or a number."""
    try:
        return text if text in (None, "pooled", "each") else float(str(text))
    except ValueError:
        raise InputError(f"--scale takes pooled, each or a number, not {quoted(text)}") from None


def _number_or(word: str, text: str | None, option: str) -> float | str | None:
    """Read a number, or a word that may stand in its place."""
    if text in (None, word):
        return text
    try:
        return float(str(text))
    except ValueError:
        raise InputError(f"{option} takes a number, or {word}, not {quoted(text)}") from None
