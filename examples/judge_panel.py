"""Which of nine model judges to trust: from raw logs, and answers to some questions, to a verdict on each judge.

The logs are made up: 400 yes-no questions, with the answers to 150 of them.

    python examples/judge_panel.py [PICTURE]
"""

import sys
import warnings
from pathlib import Path

import veritally as vt
from veritally.panel.verdicts import sentences

here = Path(__file__).parent
picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
warnings.simplefilter("ignore", vt.InputWarning)  # what there is to warn of is printed

# Each line of the log is one verdict: question, judge, and the answers in the judge's order.
votes = vt.read(here / "judge_log.jsonl", columns={"decision": "question"})
panel = vt.learn_panel(votes, here / "judge_answers.csv", roles="alternatives")
print(f"{len(panel.voters)} judges, {panel.decisions} questions, {panel.answers} with answers")
for judge in panel.to_frame().iter_rows(named=True):
    skill = f"skill {judge['skill']:z4.1f} ({judge['skill_low']:z4.1f} to {judge['skill_high']:z4.1f})"
    print(f"{judge['voter']:10}  {skill}  leans to yes by {judge['leaning']:z4.1f}  {judge['verdict']}".rstrip())
for line in sentences(panel):
    print(line)

# A question whose answer is not known.
question = votes.decision(206)
yes = question.alternatives.index("yes")
ayes = int((question.ranks[:, yes] == 1).sum())
for how, outcome in (("counted alike", vt.decide(question)), ("by the panel", vt.decide(question, panel=panel))):
    print(f"{ayes} of {len(question.voters)} say yes; {how}, yes is right with {outcome.p_best[yes]:.0%}")
vt.plots.save_panel(panel, picture)
