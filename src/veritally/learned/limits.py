"""Limits: what a network was trained on, and what lies outside of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.ballots import Ballots

_NAMES = {"voters": "voters", "alternatives": "alternatives", "counts": "counts", "sigma": "σ/τ"}
_NAMES |= {"contrast": "counts that differ by a factor of"}
_EDGE = 3  # of the most alternatives of a panel, the part below which hardly any decisions were drawn


@dataclass(frozen=True)
class Limits:
    """From where to where numbers were trained on: voters, alternatives, counts, their ``contrast``, σ/τ (``sigma``).

    Where training was on ``panels``, up to so many voters and alternatives each, how many voters depends on how many
    alternatives.
    """

    ranges: Mapping[str, tuple[float, float]]
    panels: tuple[tuple[int, int], ...] = ()

    def crossed(self, ballots: Ballots, ratio: tuple[float, ...] = ()) -> Any:
        """Say which decisions lie outside, ``(...)``; ``ratio`` is σ/τ as far as it is told."""
        outside = np.zeros(ballots.mask.shape[:-1], dtype=bool)
        for name, (low, high) in self._found(ballots, ratio).items():
            least, most = self._range(name, ballots)
            outside = outside | (low < least) | (high > most)
        return outside

    def remarks(self, ballots: Ballots, ratio: tuple[float, ...] = ()) -> list[str]:
        """Say of a single decision what lies outside, and what to do."""
        parts = []
        for name, ends in self._found(ballots, ratio).items():
            (low, high), (least, most) = map(float, ends), map(float, self._range(name, ballots))
            if low < least or high > most:
                here = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                parts.append(f"{_NAMES[name]} {here} (trained on {least:g} to {most:g})")
        if not parts:
            return []
        return [f"outside of what the network learned: {'; '.join(parts)}; the rule posterior has no such limits"]

    def _range(self, name: str, ballots: Ballots) -> tuple[Any, Any]:
        """Return from where to where, by decision."""
        least, most = self.ranges[name]
        if name != "voters" or not self.panels:
            return least, most
        n = np.sum(np.asarray(ballots.mask), axis=-1)
        here = [np.where((size // _EDGE < n) & (n <= size), voters, 0) for voters, size in self.panels]
        found = np.max(here, axis=0)
        return least, np.where(found > 0, found, most)

    def _found(self, ballots: Ballots, ratio: tuple[float, ...]) -> dict[str, tuple[Any, Any]]:
        """Return the lowest and the highest of each, by decision."""
        counts, times = np.asarray(ballots.counts), np.asarray(ballots.multiplicity)
        seen = (counts > 0) & (times > 0)[..., None]
        voters = np.sum(np.where(seen.any(axis=-1), times, 0), axis=-1)
        alternatives = np.sum(np.asarray(ballots.mask), axis=-1)
        least = np.min(counts, axis=(-2, -1), initial=np.inf, where=seen)
        most = np.max(counts, axis=(-2, -1), initial=0, where=seen)
        contrast = np.where(most > 0, most / np.where(most > 0, least, 1), 1)
        found = {"voters": (voters, voters), "alternatives": (alternatives, alternatives), "counts": (least, most)}
        found["contrast"] = contrast, contrast
        if ratio:
            found["sigma"] = min(ratio), max(ratio)
        return {name: ends for name, ends in found.items() if name in self.ranges}
