"""The house: imports point one way, and the start stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "veritally"

# Each storey may import from those below it, and from itself.
STOREYS = (
    {"errors"},
    {"arrays", "checks", "cluster", "document", "files", "locks", "progress", "versions", "work"},
    {"votes"},
    {"model"},
    {"likelihood"},
    {"inference"},
    {"rules"},
    {"learned", "panel"},
    {"draws", "explain", "outcome", "records"},
    {"origins", "registry"},
    {"citation", "decide"},
    {"planning"},
    {"io", "plots", "datasets", "experiments"},
    {"learning"},
    {"streams"},
    {"report"},
    {"inspect_ai", "web"},
    {"cli"},
)


def rooms():
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or not path.stem.startswith("__"))


def storey(room):
    return next(level for level, names in enumerate(STOREYS) if room in names)


@pytest.mark.parametrize("path", rooms(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    own = storey(path.relative_to(SOURCE).parts[0].removesuffix(".py"))
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("veritally."):
            assert storey(node.module.split(".")[1]) <= own, f"{path.name} imports {node.module}"


SUMS = ("cardinal", "exact", "pairwise", "positional", "sums", "top")


def test_the_numerics_know_no_library_by_name():
    for path in (SOURCE / "rules" / f"{name}.py" for name in SUMS):
        names = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not names & {"numpy", "jax", "scipy"}, path.name


@pytest.mark.parametrize("path", rooms(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_arrays_knows_jax_by_name(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            imported |= {str(own.value).split(".")[0] for own in node.args if isinstance(own, ast.Constant)}
    assert "jax" not in imported or path.parent == SOURCE / "arrays"


def test_messages_quote_no_more_than_a_line_holds():
    """What a user gave stands in messages by way of ``quoted``; a representation alone may be of any length."""
    for path in set(rooms()) - {SOURCE / "errors.py", SOURCE / "model" / "simulation.py"}:
        whole = [
            node.lineno
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FormattedValue) and node.conversion == ord("r")
        ]
        assert not whole, f"{path.name}, line {whole[0]}"


def test_import_brings_no_heavy_package():
    code = "import sys, veritally; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "matplotlib", "polars", "pandas", "narwhals", "scipy", "rich", "click", "preflibtools"} & set(
        loaded
    )


EXTRAS = {
    "jax": ("jax", "vt.simulate('high-variance', instances=1, backend='jax')"),
    "train": ("jax", "vt.train('x.safetensors')"),
    "plot": ("matplotlib", "from veritally.plots import save; save(vt.decide(vt.Profile(ranks=[[1, 2]])), 'x.png')"),
    "inspect-ai": ("inspect_ai", "vt.inspect_ai.combined()"),
    "preflib": ("preflibtools", "vt.write(vt.Profile(ranks=[[1, 2]]), 'x.soc')"),
    "arviz": ("arviz", "vt.decide(vt.Profile(ranks=[[1, 2]])).to_arviz()"),
    "excel": ("fastexcel", "from veritally.io.excel import read; read(b'', 'x.xlsx')"),
    "cluster": ("distributed", "from veritally.cluster import connected; connected('tcp://x:1').__enter__()"),
    "pref-voting": ("pref_voting", "vt.Profile(ranks=[[1, 2]]).to_pref_voting()"),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_says_what_to_install(extra):
    package, use = EXTRAS[extra]
    code = f"import sys; sys.modules[{package!r}] = None\nimport veritally as vt; {use}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install 'veritally[{extra}]'" in result.stderr
