"""Versions of what computes, to be kept beside what it computed."""

import importlib
import importlib.metadata
import platform


def versions(*names: str) -> dict[str, str]:
    """Return the versions of Python and of the named packages."""
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # run from its source
        return str(getattr(importlib.import_module(name), "__version__", "source"))
