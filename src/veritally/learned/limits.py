"""Limits: what a network was trained on, and what lies outside of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.ballots import Ballots

_NAMES = {"voters": "voters", "alternatives": "alternatives", "counts": "counts", "sigma": "σ/τ"}


@dataclass(frozen=True)
class Limits:
    """From where to where numbers were trained on: voters, alternatives, counts, σ/τ (``sigma``)."""

    ranges: Mapping[str, tuple[float, float]]

    def crossed(self, ballots: Ballots, ratio: tuple[float, ...] = ()) -> Any:
        """Say which decisions lie outside, ``(...)``; ``ratio`` is σ/τ as far as it is told."""
        outside = np.zeros(ballots.mask.shape[:-1], dtype=bool)
        for name, (low, high) in self._found(ballots, ratio).items():
            least, most = self.ranges[name]
            outside = outside | (low < least) | (high > most)
        return outside

    def remarks(self, ballots: Ballots, ratio: tuple[float, ...] = ()) -> list[str]:
        """Say of a single decision what lies outside, and what to do."""
        parts = []
        for name, ends in self._found(ballots, ratio).items():
            (low, high), (least, most) = map(float, ends), self.ranges[name]
            if low < least or high > most:
                here = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                parts.append(f"{_NAMES[name]} {here} (trained on {least:g} to {most:g})")
        if not parts:
            return []
        return [f"outside of what the network learned: {'; '.join(parts)}; the rule posterior has no such limits"]

    def _found(self, ballots: Ballots, ratio: tuple[float, ...]) -> dict[str, tuple[Any, Any]]:
        """Return the lowest and the highest of each, by decision."""
        counts, times = np.asarray(ballots.counts), np.asarray(ballots.multiplicity)
        seen = (counts > 0) & (times > 0)[..., None]
        voters = np.sum(np.where(seen.any(axis=-1), times, 0), axis=-1)
        alternatives = np.sum(np.asarray(ballots.mask), axis=-1)
        least = np.min(counts, axis=(-2, -1), initial=np.inf, where=seen)
        most = np.max(counts, axis=(-2, -1), initial=0, where=seen)
        found = {"voters": (voters, voters), "alternatives": (alternatives, alternatives), "counts": (least, most)}
        if ratio:
            each, known = np.broadcast_to(ratio, ballots.mask.shape), np.asarray(ballots.mask)
            lowest = np.min(each, axis=-1, initial=np.inf, where=known)
            found["sigma"] = lowest, np.max(each, axis=-1, initial=0, where=known)
        return {name: ends for name, ends in found.items() if name in self.ranges}
