"""Calibration, as the benchmarks measure it: whether what is said to be best with 70% is best in 70% of the cases."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from veritally.errors import InputError

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def calibration(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("calibration")


def test_it_counts_every_alternative(calibration):
    found = calibration.calibrate("low-variance", instances=40, voters=3, alternatives=4, votes="rankings")
    assert sum(found.number) == 160
    assert sum(found.happened) == 40
    assert sum(found.said) == pytest.approx(40)
    assert found.error < 5 * found.chance


def test_the_error_is_a_mean_distance(calibration):
    found = calibration.Calibration((0.5, 3.0), (1.0, 2.0), (2.0, 4.0))
    assert found.error == pytest.approx(1.5 / 6)
    assert np.isclose(next(found.rows())["said"], 0.25)


def test_networks_are_calibrated_on_what_voters_report(calibration):
    options = {"instances": 40, "voters": 5}
    each = [
        calibration.calibrate("high-variance", "learned-universal", votes=votes, **options)
        for votes in ("rankings", "top")
    ]
    assert each[0] != each[1]
    with pytest.raises(InputError, match="needs rankings, but voters report top"):
        calibration.calibrate("high-variance", "learned", votes="top", instances=2)
    with pytest.raises(InputError, match="gives no probabilities"):
        calibration.calibrate("high-variance", "borda", instances=2)
