"""``veritally panel``: whom to trust, learned from many decisions."""

import json
from pathlib import Path
from typing import Any

import click

from veritally.cli.options import (
    cluster_option,
    file_options,
    force_option,
    lower_is_better_option,
    refuse_both,
    workers_option,
)
from veritally.cli.progress import progress_bar, working
from veritally.cli.saving import require_files
from veritally.cli.screen import say, stop
from veritally.cluster import connected
from veritally.errors import InputError, InputNote
from veritally.io.votes import read
from veritally.panel.base import LEARNED
from veritally.progress import listening

_RECURRING = 5  # alternatives in all decisions, up to which they may be roles
_EXAMPLES = """\b
Examples:
  veritally panel votes.csv --answers answers.csv --out panel.json
  veritally panel verdicts.jsonl --answers gold.csv --roles alternatives --check 5
  veritally panel votes.csv --plot panel.svg --table panel.csv
  veritally decide new.csv --panel panel.json
"""


@click.command(epilog=_EXAMPLES, short_help="Learn whom to trust from many decisions.")
@click.argument("file")
@click.option(
    "--answers",
    metavar="FILE",
    help="What is known of the answers: columns decision and best, or decision, alternative and truth. A few are "
    "enough to begin with; without any, the truth is what the voters have in common.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Save the panel, for decide --panel: .json"
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Save a picture: skill against leaning, and who errs with whom.",
)
@click.option("--table", type=click.Path(dir_okay=False), metavar="FILE", help="Save what is printed of voters: .csv")
@click.option(
    "--roles",
    type=click.Choice(["alternatives"]),
    help="Voters may lean to an alternative by its name, where the same alternatives recur, such as yes and no.",
)
@click.option("--factors", metavar="auto | N", default="auto", help="How many errors voters share. Default: auto.")
@click.option(
    "--check", type=click.IntRange(min=2), metavar="FOLDS", help="Predict answers that are held out, in so many parts."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the start of the search.")
@workers_option
@cluster_option
@click.option("--ballots", type=click.Choice(["value", "rank", "top"]), help="What the votes are.")
@file_options
@lower_is_better_option
@force_option
def panel(
    file: str,
    answers: str | None,
    out: str | None,
    plot: str | None,
    table: str | None,
    roles: Any,
    factors: str,
    check: int | None,
    as_json: bool,
    seed: int,
    workers: int | None,
    cluster: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Learn from the decisions in FILE how good voters are, how they lean, and who errs with whom.

    Several processes, or a cluster, work where votes are rankings of three or more; other votes are learned from here.
    An interrupted search goes on where it stopped, if --out is given and the command is repeated.
    """
    from veritally.learning import learn_panel
    from veritally.panel.verdicts import sentences, verdicts, voter_rows, worth

    refuse_both(workers, cluster)
    number: Any = factors if factors == "auto" else _whole(factors)
    require_files(plot, force, (out, ".json", LEARNED.encode()), (table, ".csv", b"voter,decisions,skill"))
    with working(file):
        profile = read(file, **options)
    _suggest_roles(profile, roles)
    state = None if out is None else f"{out}.state"
    if state is not None and Path(state).exists():
        say(f"Going on from {state}, if the votes are the same", err=True)
    try:
        with (
            connected(cluster) as executor,
            progress_bar(f"Learning from {Path(file).name}") as show,
            listening(show),
        ):
            learned = learn_panel(
                profile,
                answers,
                factors=number,
                roles=roles,
                check=check or 0,
                seed=seed,
                state=state,
                workers=workers,
                executor=executor,
            )
    except KeyboardInterrupt:
        kept = "nothing is kept; with --out it could go on later" if state is None else "repeat the command to go on"
        stop(f"Stopped; {kept}")
    if out is not None:
        learned.write(out)
        say(f"Saved {out}", err=True)
    if plot is not None:
        from veritally.plots import save_panel

        save_panel(learned, plot)
        say(f"Saved {plot}", err=True)
    if table is not None:
        learned.to_frame().write_csv(table)
        say(f"Saved {table}", err=True)
    if as_json:
        shown = {
            "voters": voter_rows(learned),
            "worth": worth(learned)[0],
            "verdicts": [verdict.to_dict() for verdict in verdicts(learned)],
            "decisions": learned.decisions,
            "answers": learned.answers,
            "assumption": learned.assumption,
            "checked": learned.checked,
            "converged": learned.converged,
        }
        say(json.dumps(shown, ensure_ascii=False))
        return
    _print(learned, sentences(learned), voter_rows(learned))


def _print(learned: Any, lines: list[str], rows: list[dict[str, Any]]) -> None:
    """Print a line for each voter, and what is to be known."""
    from veritally.panel.verdicts import leaning_of

    known = f"{learned.answers:,} with answers" if learned.answers else "no answers"
    say(f"Panel of {len(learned.voters)} voters, learned from {learned.decisions:,} decisions ({known})")
    leaning = leaning_of(learned)
    width = max(5, *(len(row["voter"]) for row in rows))
    head = f"{'voter':{width}}  {'decisions':>9}  {'skill':>6}  {'95% interval':>14}  {'average':>7}"
    head += "" if leaning is None else f"  {leaning[0]:>16}"
    say(head + "  without  ")
    for row in rows:
        interval = f"{row['skill_low']:.2f} to {row['skill_high']:.2f}"
        line = f"{row['voter']:{width}}  {row['decisions']:9,}  {row['skill']:6.2f}  {interval:>14}"
        line += f"  {row['against_average']:>7}"
        if leaning is not None:
            line += f"  {row['leaning']:+8.2f} ± {row['leaning_error']:.2f}".rjust(18)
        say(f"{line}  {row['worth_without']:7.1f}  {row['verdict']}".rstrip())
    say("Skill: how strongly a voter follows the truth, in units of the voter's own noise; 0 is chance.")
    say("Average: clearly better or worse than the average voter. Without: what the panel is worth without the voter.")
    if leaning is not None and leaning[0] != "leniency":
        say(f"{leaning[0][0].upper()}{leaning[0][1:]}: what a voter adds there; below 0 for the other one.")
    for line in lines:
        say(line)


def _suggest_roles(profile: Any, roles: str | None) -> None:
    """Point out that alternatives recur, so that voters may lean to one."""
    import warnings

    labels = profile.alternative_labels
    if roles is not None or profile.ballots.roles is not None or not profile.batch or labels.names is None:
        return
    every = {name for own in labels.names for name in own} if labels.each else set(labels.names)
    two_way = profile.kind == "pairs" and profile.shape[-1] == 2
    if len(every) <= _RECURRING and (two_way or profile.kind not in ("pairs", "values")):
        names = ", ".join(map(str, sorted(every, key=str)))
        warnings.warn(
            f"the same alternatives recur ({names}); add --roles alternatives if voters may lean to one of them",
            InputNote,
            stacklevel=1,
        )


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--factors takes auto or a whole number, not {text}") from None
