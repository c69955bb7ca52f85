"""Which papers to accept: a programme committee whose reviewers know different fields.

committee.csv is made up. Nine reviewers took 3 to 8 of twelve papers. A value is a score from 1 to 10; a count is how
many papers of that paper's field the reviewer has read.

    python examples/programme_committee.py [PICTURE]
"""

import sys
from pathlib import Path

import veritally as vt
from veritally.inference.belief import percent

picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
places = 4

# Some reviewers are harsher than others. How much is found out, and taken out of their scores.
profile = vt.read(Path(__file__).with_name("committee.csv"))
outcome = vt.decide(profile, choose=places)
print(f"Reviewers' leniency differs by {outcome.details['leniency']:.1f} points (standard deviation)")

# How sure it is: the probability that a paper is among the best four.
chances = dict(zip(outcome.alternatives, outcome.p_chosen, strict=True))
border = outcome.cut.borderline  # from 5% to 95%
print("Accept:", ", ".join(f"{paper} ({percent(chances[paper])})" for paper in outcome.chosen))
print("Borderline:", ", ".join(f"{paper} ({percent(chances[paper])})" for paper in border))

# Whose votes decided the last place.
why = outcome.explain()
pulls = [f"{reviewer} ({pull:+.2f})" for reviewer, pull in why.contributions.items()]
print(f"Last in: {why.winner}, ahead of {why.runner_up} by {why.lead:.2f}")
print(f"Most for that: {', '.join(pulls[:2])}; most against it: {', '.join(pulls[:-3:-1])}")


def exchanged(chosen: list[str]) -> str:
    """Say which papers would come in for which."""
    new, old = set(chosen) - set(outcome.chosen), set(outcome.chosen) - set(chosen)
    return f"{', '.join(sorted(new))} instead of {', '.join(sorted(old))}"


for reviewer, chosen in why.pivotal.items():
    print(f"Without {reviewer}: {exchanged(chosen)}")
if why.counts_mattered:
    print(f"If all knew all fields equally well: {exchanged(why.equal_counts)}")

title = f"Accept {', '.join(outcome.chosen)};\n{len(border)} papers are borderline (5–95%)"
vt.plots.save(outcome, picture, title=title)
