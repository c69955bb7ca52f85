"""Decisions to measure with: truths N(0, 1), counts spread evenly from 1 on, and votes by what was seen."""

from typing import Any

import numpy as np

import veritally as vt


def draw(
    decisions: int,
    voters: int,
    alternatives: int,
    sigma: Any,
    *,
    most: int = 50,
    votes: str = "rankings",
    seed: Any = 0,
) -> tuple[np.ndarray, vt.Profile]:
    """Return truths and votes; σ is one number, or one for each decision."""
    random = np.random.default_rng(seed)
    shape = decisions, voters, alternatives
    truth = random.standard_normal((decisions, alternatives))
    counts = random.integers(1, most, shape, endpoint=True).astype(float)
    error = np.reshape(sigma, (-1, 1, 1)) / np.sqrt(counts) * random.standard_normal(shape)
    return truth, vt.Profile(values=truth[:, None] + error, counts=counts).coarsened(votes)
