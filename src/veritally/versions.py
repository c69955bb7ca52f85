"""Versions of what computes, to be kept beside what it computed."""

import functools
import hashlib
import importlib
import importlib.metadata
import platform
from pathlib import Path


def versions(*names: str) -> dict[str, str]:
    """Return the versions of Python and of the named packages."""
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


@functools.cache
def fingerprint(*patterns: str) -> str:
    """Hash the source that results come from: files of this package, by patterns such as ``rules/*.py``."""
    digest = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(Path(__file__).parent.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # run from its source
        return str(getattr(importlib.import_module(name), "__version__", "source"))
