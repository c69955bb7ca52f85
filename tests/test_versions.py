"""The versions that pyproject.toml declares are those that make test-oldest installs."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def declared():
    """The requirements of the library, and of the extras that the tests are run with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own = next(Requirement(text) for text in extras["dev"] if text.startswith("veritally["))
    texts = [*project["dependencies"], *extras["dev"], *(text for extra in own.extras for text in extras[extra])]
    return {one.name: one.specifier for one in map(Requirement, texts) if one.name != own.name}


def test_the_oldest_versions_are_the_declared_ones():
    lines = [line for line in (ROOT / "constraints-oldest.txt").read_text().splitlines() if not line.startswith("#")]
    oldest = {one.name: one.specifier for one in map(Requirement, lines)}
    for name, specifier in declared().items():
        (least,), (exact,) = specifier, oldest[name]
        assert (least.operator, exact.operator) == (">=", "=="), name
        assert Version(least.version) == Version(exact.version), name


def test_both_ends_have_an_environment_of_their_own():
    makefile, ignored = ((ROOT / name).read_text() for name in ("Makefile", ".gitignore"))
    for end in ("oldest", "newest"):
        assert f"test-{end}: .venv-{end}/installed" in makefile
        assert f".venv-{end}/" in ignored.splitlines()
