"""What docs/add-a-rule.md says is enough to add a rule, is."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROPERTIES = "tests/rules/test_properties.py"


def with_the_rule(folder):
    """Copy the package and do to it what the page says."""
    file, imports, entry = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "add-a-rule.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    package = shutil.copytree(ROOT / "src" / "veritally", folder / "veritally")
    (package / "rules" / "dowdall.py").write_text(file.replace("  # doctest: +SKIP", ""), encoding="utf-8")
    registry = package / "registry.py"
    before, start, after = registry.read_text(encoding="utf-8").partition("_RULES = (\n")
    registry.write_text(f"{before}{imports}{start}{entry},\n{after}", encoding="utf-8")
    return package


def pytest_on(folder, *arguments):
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_rule_is_one_file_and_one_entry_and_the_whole_matrix_applies(tmp_path):
    package = with_the_rule(tmp_path)
    ran = pytest_on(tmp_path, PROPERTIES, package / "rules" / "dowdall.py", "-k", "dowdall or veto", "-rA")
    assert ran.returncode == 0, ran.stdout
    passed = {
        name: set(re.findall(rf"^PASSED .*::(\w+)\[{name}\]", ran.stdout, flags=re.M)) for name in ("dowdall", "veto")
    }
    assert passed["dowdall"] == passed["veto"]  # which takes the same votes, and ignores counts too
    assert len(passed["dowdall"]) >= 13
    assert "dowdall.Dowdall" in ran.stdout
