"""The worked examples: what they print and draw is what docs/examples.md shows."""

import re
import runpy
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "examples.md"
LARGEST = 100_000  # bytes of a picture in the documentation
ANSWERS = {
    "programme_committee": "Accept: Paper D (91%), ",
    "model_judges": "Best: GPT 4, P(best) = ",
    "judge_panel": "ember, ember-mini vote nearly alike",
    "polls": "A poll of 10,000 is then worth 189 answers",
}


def words(picture):
    """Return all text of an SVG picture, which matplotlib draws as shapes and keeps in comments."""
    return re.findall("<!-- (.*?) -->", picture.read_text())


def test_none_is_forgotten():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_examples_answer_their_question(name, tmp_path, monkeypatch, capsys):
    picture = tmp_path / f"{name}.svg"
    script = ROOT / "examples" / f"{name}.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), str(picture)])
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert ANSWERS[name] in printed
    assert textwrap.indent(printed, "    ") in DOCUMENT.read_text()
    shown = DOCUMENT.parent / "examples" / f"{name}.svg"
    assert words(picture) == words(shown)
    assert f"](examples/{name}.svg)" in DOCUMENT.read_text()
    assert shown.stat().st_size < LARGEST
    assert list(tmp_path.iterdir()) == [picture]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path):
    assert len(path.read_text().splitlines()) <= 60
