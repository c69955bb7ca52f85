"""Fixtures for tests of files."""

import pytest

import veritally as vt


@pytest.fixture
def votes(tmp_path):
    """Write text to a file and read it."""

    def write_and_read(text, name="votes.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return vt.read(path, **options)

    return write_and_read
