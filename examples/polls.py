"""What a poll of 10,000 is worth: an election in which the largest poll spoke against most others.

The polls are those of FiveThirtyEight's pollster ratings (CC BY 4.0), which come with the package.

    python examples/polls.py [PICTURE]
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import veritally as vt

picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
told = {"sigma": 50, "tau": 10}  # points: of one answer around a share, of the first two's shares around their mean

dataset = vt.datasets.load("polls538")
primaries = dataset.table("votes").filter(pl.col("decision").str.starts_with("2016_Pres-R"))
wisconsin = vt.read(primaries.filter(decision="2016_Pres-R_WI").drop("decision"))
cruz, trump = (name.removeprefix(f"cand{j}:") for j, name in enumerate(wisconsin.alternatives, 1))

# How much pollsters differ however many they ask: what the 23 primaries of that year say, without their results.
omega = float(vt.decide(vt.read(primaries), **told, omega="estimated").belief.omega[0])
worth = {asked: 1 / (1 / asked + (omega / told["sigma"]) ** 2) for asked in (400, 10_000)}
print(f"Pollsters differ by {omega:.1f} points, however many they ask.")
print(f"A poll of 10,000 is then worth {worth[10_000]:.0f} answers, one of 400 is worth {worth[400]:.0f}.")

for case, apart in (("sampling is the only error", {}), ("pollsters also differ", {"omega": omega})):
    outcome = vt.decide(wisconsin, **told, **apart)
    lead, chance = outcome.scores @ [1, -1], outcome.p_best[0]
    print(f"If {case}, {cruz} leads {trump} by {lead:.1f} points, with a {chance:.0%} chance of being ahead.")
result = dataset.table("truth").filter(decision="2016_Pres-R_WI")["truth"]
print(f"It came out as {result[0]:.1f} to {result[1]:.1f} per cent.")

# Each poll by how many were asked, and where 95% of polls would lie.
figure = Figure(figsize=(8, 5.5), layout="constrained")
ax = figure.subplots()
asked, leads = wisconsin.counts[:, 0], wisconsin.values @ [1, -1]
sizes = np.geomspace(300, 12_000)
for extra, colour, label in ((omega, "#D6E6F2", "if pollsters also differ"), (0, "#8FBAD9", "by sampling alone")):
    reach = 1.96 * np.sqrt(2 * (told["sigma"] ** 2 / sizes + extra**2))
    ax.fill_between(sizes, lead - reach, lead + reach, color=colour, label=f"where 95% of polls lie {label}")
ax.axhline(lead, color="#0072B2", label=f"estimate: {lead:.1f} points")
ax.scatter(asked, leads, color="black", zorder=3, label="a poll")
ax.annotate(f"{asked.max():,.0f} asked", (asked.max(), leads[asked.argmax()]), (0, 8), textcoords="offset points")
ax.set(xscale="log", xlim=(300, 12_000), xlabel="people asked", ylabel=f"{cruz}'s lead over {trump}, in points")
ax.set_xticks([400, 1000, 2000, 5000, 10_000], ["400", "1,000", "2,000", "5,000", "10,000"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=2, frameon=False)
title = f"A poll of 10,000 is worth {worth[10_000]:.0f} answers: {cruz} is ahead with a {chance:.0%} chance,"
subtitle = f"though the largest of {len(asked)} polls says otherwise (Republican primary in Wisconsin, 2016)"
figure.suptitle(f"{title}\n{subtitle}", x=0.01, ha="left")
figure.savefig(picture, dpi=150)
