"""The page of benchmarks: each program writes its own section."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def put_section(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from page import put_section

    return put_section


def test_sections_keep_each_other(put_section, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n")
    put_section(page, "one", "first")
    put_section(page, "two", "second\n")
    put_section(page, "one", "third")
    one, two = "<!-- one -->\nthird\n<!-- end of one -->\n", "<!-- two -->\nsecond\n<!-- end of two -->\n"
    assert page.read_text() == f"# Title\n\n{one}\n{two}"


def test_the_page_has_all_sections():
    page = (BENCHMARKS.parent / "docs" / "benchmarks.md").read_text()
    for name in ("speed", "before", "peers"):
        assert page.count(f"<!-- {name} -->") == page.count(f"<!-- end of {name} -->") == 1
