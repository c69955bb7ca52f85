"""The picture of docs/next: python benchmarks/next_figure.py draws regret.svg from curves.json."""

import io
import json
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from veritally.plots import COLOURS

FOLDER = Path(__file__).parents[1] / "docs" / "next"
NAMES = {
    "next": "by worth",
    "top-two": "top-two Thompson",
    "rejects": "successive rejects",
    "balanced": "balanced",
    "random": "random",
    "uncertainty": "uncertainty",
}


def main() -> None:
    """Draw mean regret against looks, a panel for each condition."""
    curves = json.loads((FOLDER / "curves.json").read_text())
    with matplotlib.rc_context({"axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "next"}):
        figure = Figure(figsize=(9, 6), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        for ax, (condition, own) in zip(axes, curves.items(), strict=True):
            looks = np.array(own["looks"])
            for colour, (name, label) in zip(COLOURS, NAMES.items(), strict=False):
                width = 2.2 if name == "next" else 1.1
                ax.plot(looks, own[name], color=colour, linewidth=width, label=label, zorder=3 if name == "next" else 2)
            band = 2 * np.array(own["paired"])
            low, high = np.array(own["next"]) - band, np.array(own["next"]) + band
            ax.fill_between(looks, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
            ax.set_title(condition, loc="left", fontsize="medium")
            ax.set_ylim(bottom=0)
            ax.set_xlim(0, looks[-1])
        for ax in axes[3:]:
            ax.set_xlabel("looks")
        for ax in axes[::3]:
            ax.set_ylabel("regret")
        axes[2].legend(frameon=False, fontsize="small")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Creator": "Made by veritally", "Date": None})
    (FOLDER / "regret.svg").write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
