"""Fixtures for tests of files."""

import warnings

import numpy as np
import pytest

import veritally as vt
from support import assert_same


@pytest.fixture
def votes(tmp_path):
    """Write text to a file and read it."""

    def write_and_read(text, name="votes.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return vt.read(path, **options)

    return write_and_read


@pytest.fixture
def same_as_tidy(votes):
    """Read a form and the tidy table that says the same, require the same votes, and return what was noted."""

    def require_same(text, tidy, name="votes.csv", form=None, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = votes(text, name, **options, **(form or {}))
            expected = votes(tidy, "tidy.csv", **options)
        assert not [one for one in caught if not isinstance(one.message, vt.InputNote)]
        assert (set(found.voters), set(found.alternatives)) == (set(expected.voters), set(expected.alternatives))
        assert found.kind == expected.kind
        assert_same(found, expected)
        assert_same(expected, found)
        assert found.groups == expected.groups
        assert (found.items is None) == (expected.items is None)
        if found.items is not None:
            np.testing.assert_allclose(found.items.share or np.nan, expected.items.share or np.nan)
        return " ".join(str(one.message) for one in caught)

    return require_same
