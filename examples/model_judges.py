"""Which language model is best: judges who each saw some of the models, some often and some once.

The comparisons are those of LLMFAO by Dmitry Ustalov (CC BY 4.0), which come with the package.

    python examples/model_judges.py [PICTURE]
"""

import sys
import warnings
from pathlib import Path

import veritally as vt

picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")

# A row says which of two answers a judge preferred; all comparisons of a judge are one vote.
comparisons = vt.datasets.load("llmfao").table("comparisons")
profile = vt.read(comparisons)
print(f"{len(comparisons):,} comparisons of {profile.shape[1]} models by {profile.shape[0]} judges")

warnings.simplefilter("ignore", vt.InputWarning)  # what there is to warn of is printed
outcome = vt.decide(profile)
for remark in outcome.warnings:
    print(f"Mind: {remark}")
best = outcome.winner
chance = dict(zip(outcome.alternatives, outcome.p_best, strict=True))[best]
print(f"Best: {best}, P(best) = {chance:.0%}")
print(f"Not clearly worse: {', '.join(outcome.indistinct)}")
print(f"There is a 95% chance that the best is among {len(outcome.credible)} models")

# Why no surer than that, and whether it hangs on one judge.
seen = profile.counts[:, profile.alternatives.index(best)]
print(f"{best} was seen in {seen.sum():.0f} comparisons, by {(seen > 0).sum()} judges")
print(f"Judges without whom another model would win: {', '.join(outcome.explain().pivotal) or 'none'}")

title = f"{best} has a {chance:.0%} chance of being best; {len(outcome.indistinct)} models are not clearly worse"
vt.plots.save(outcome, picture, title=title, top=10)
