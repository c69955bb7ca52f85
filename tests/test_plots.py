"""Pictures of outcomes: what is shown, and what is written beside it."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

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
    told = "in σ, the noise of one observation, with 95% interval"
    assert f"{told}, the best 2 of 5" in words(tmp_path / "picture.svg", outcome, top=2)
    assert told in words(tmp_path / "picture.svg", outcome, top=5)


def test_the_winner_stands_at_0_and_what_is_worse_to_its_left(tmp_path):
    ax = Figure().subplots()
    outcome = vt.decide(PROFILE)
    vt.plots.draw_belief(outcome, ax)
    points, order = ax.collections[1].get_offsets(), outcome.ordered_positions()
    np.testing.assert_array_equal(points[:, 0], -outcome.belief.distance[order])
    assert points[0, 0] == 0 > points[-1, 0]
    worse = set(outcome.ordered[1:]) - set(outcome.indistinct)
    lines = np.array(ax.collections[0].get_segments())[:, :, 0]
    np.testing.assert_array_equal(lines[:, 1] < 0, [name in worse for name in outcome.ordered])
    assert ax.get_xlabel().startswith("← worse than the winner, better →\n")
    values = vt.decide(vt.Profile(values=[[3, 1], [4, 1]]))
    assert "in the unit of the votes, with 95% interval" in words(tmp_path / "picture.svg", values)


def test_where_several_are_chosen_the_bars_are_about_that(tmp_path):
    drawn = words(tmp_path / "picture.svg", vt.decide(PROFILE, choose=3))
    assert "P(among the best 3)" in drawn
    assert "P(best)" not in drawn
    assert "P(best)" in words(tmp_path / "picture.svg", vt.decide(PROFILE))
