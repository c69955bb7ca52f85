"""Measurements as rows of a JSON file, written after each; rows that are there are not measured again."""

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def measure_rows(path: Path, plan: Iterable[Row], measure: Callable[[Row], Row]) -> None:
    """Measure what is planned and not there yet; a row with another number of instances is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = read_rows(path)
    for row in plan:
        if any(all(other.get(key) == row[key] for key in row if key != "instances") for other in done):
            continue
        done.append(row | measure(row))
        path.write_text(json.dumps(done, indent=1) + "\n")
        print({key: _short(value) for key, value in done[-1].items() if key != "rows"}, flush=True)


def read_rows(path: Path) -> list[Row]:
    """Return what was measured."""
    return json.loads(path.read_text()) if path.exists() else []


def _short(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) and math.isfinite(value) else value
