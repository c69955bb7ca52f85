"""Draw how the probability of a ranking is computed along the chain: ``python docs/chain.py``."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import veritally as vt

TRUTH = (0.8, 0.1, 0.5, -0.7)  # in the order of the ballot, best first: the second and third are the wrong way round
COUNTS = (4, 1, 3, 2)  # with sigma = 1
CUT = 0.2  # the t at which an area is shown

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "chain", "font.size": 9, "font.family": "sans-serif"}


def main() -> None:
    """Draw each step, from best to worst, and check that the last area is the probability."""
    t = np.linspace(-4, 3, 281)
    up = np.ones_like(t)
    figure, rows = plt.subplots(4, 1, figsize=(8.4, 6), sharex=True)
    for k, (row, truth, count) in enumerate(zip(rows, TRUTH, COUNTS, strict=True), start=1):
        density = np.sqrt(count / (2 * np.pi)) * np.exp(-count * (t - truth) ** 2 / 2)
        area = density * up
        steps = (area[1:] + area[:-1]) / 2 * (t[1] - t[0])
        above = np.append(np.cumsum(steps[::-1])[::-1], 0)
        _step(row, k, *(x[::4] for x in (t, density, up, area, above)))
        up = above
    expected = vt.likelihood.log_prob(vt.Profile(ranks=[[1, 2, 3, 4]], counts=[COUNTS]), truth=TRUTH)
    assert np.isclose(up[0], np.exp(expected[0]), rtol=1e-3)
    rows[0].set_title(
        "From best to worst: up(t) is the probability that all so far lie above t, in order", loc="left", fontsize=10
    )
    rows[-1].set_xlabel("t, on the scale of the means x")
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "assets" / "chain.svg", metadata={"Date": None})


def _step(row, k, t, density, up, area, above) -> None:
    """Draw one step: the density of x_k, what is above it, and their product."""
    last = k == len(TRUTH)
    shown = t >= (t[0] if last else CUT)
    row.fill_between(t, area, color="#b2dfdb")
    row.fill_between(t[shown], area[shown], color="#26a69a")
    row.plot(t, density, color="#555555", linewidth=1)
    row.plot(t, up, color="#d84315", linewidth=1, linestyle="--")
    if not last:
        row.axvline(CUT, color="#004d40", linewidth=0.8)
    now, after = "₁₂₃₄₅"[k - 1 : k + 1]
    found = (
        f"the whole area: P = {above[0]:.3f}"
        if last
        else f"the darker area: up{after} = {np.interp(CUT, t, above):.3f}"
    )
    text = f"x{now}: density φ{now} (grey)\nup{now} (dashed)\ntheir product (shaded)\n{found}"
    row.text(1.02, 0.9, text, transform=row.transAxes, va="top", linespacing=1.5)
    row.set_ylim(0, 1.15)
    row.set_yticks([0, 1])
    row.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        main()
