"""What the paper published of its four tables."""

import functools
import json
import math
from importlib.resources import files
from typing import Any

from veritally.errors import InputError
from veritally.experiments.rule_set import BEST_OF
from veritally.registry import rule_info

_ROUNDING = 1e-4 / math.sqrt(12)  # standard deviation of what printing four decimals takes off


@functools.cache
def paper() -> dict[str, Any]:
    """Return what the paper published: ``tables``, their ``voters`` and ``alternatives``, and ``instances``."""
    return dict(json.loads(files("veritally.experiments").joinpath("published.json").read_text()))


def published() -> dict[tuple[str, int, str], float]:
    """Return the published regrets of our rules, by table, number of voters and canonical name.

    >>> published()["high-variance", 3, "pairwise"]
    1.176
    """
    cells: dict[tuple[str, int, str], float] = {}
    for table, rows in paper()["tables"].items():
        for label, regrets in rows.items():
            try:
                rule = label if label in BEST_OF else rule_info(label).name
            except InputError:  # a rule that is not here
                continue
            cells |= {(table, m, rule): regret for m, regret in zip(paper()["voters"], regrets, strict=True)}
    return cells


def z_score(regret: float, se: float, instances: int, printed: float) -> float:
    """Return how many standard errors lie between a measured and a published regret, those of both counted.

    That of the published one is taken from the spread measured here, over as many instances as the paper has, and the
    four decimals it was printed with.
    """
    theirs = se * math.sqrt(instances / paper()["instances"])
    return (regret - printed) / math.hypot(se, theirs, _ROUNDING)
