"""Fixtures for tests of the command."""

import pytest


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """No sign of life on a slow machine, so that what is printed does not depend on how long it took."""
    monkeypatch.setattr("veritally.cli.progress._FELT", 3600.0)
