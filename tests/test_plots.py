"""Pictures of outcomes: what is shown, and what is written beside it."""

import re

import pytest

import veritally as vt

ORDER = [["A", "B", "C", "D", "E"], ["A", "C", "B", "D", "E"], ["B", "A", "C", "E", "D"]]
PROFILE = vt.Profile(order=ORDER, alternatives=["A", "B", "C", "D", "E"])


def words(path, outcome, **options):
    vt.plots.save(outcome, path, **options)
    return re.findall("<!-- (.*?) -->", path.read_text())


@pytest.mark.parametrize("rule", ["posterior", "borda"])
def test_top_shows_the_best_alone(tmp_path, rule):
    outcome = vt.decide(PROFILE, rule)
    drawn = words(tmp_path / "picture.svg", outcome, top=2, title="costs $5 or $6")
    assert [word for word in drawn if word in outcome.ordered] == outcome.ordered[:2]
    assert "costs $5 or $6" in drawn
    assert [word for word in words(tmp_path / "all.svg", outcome) if word in outcome.ordered] == outcome.ordered


def test_a_part_is_said_to_be_one(tmp_path):
    outcome = vt.decide(PROFILE)
    assert "estimate and 95% interval, the best 2 of 5" in words(tmp_path / "picture.svg", outcome, top=2)
    assert "estimate and 95% interval" in words(tmp_path / "picture.svg", outcome, top=5)


def test_where_several_are_chosen_the_bars_are_about_that(tmp_path):
    drawn = words(tmp_path / "picture.svg", vt.decide(PROFILE, choose=3))
    assert "P(among the best 3)" in drawn
    assert "P(best)" not in drawn
    assert "P(best)" in words(tmp_path / "picture.svg", vt.decide(PROFILE))
