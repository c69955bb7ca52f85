"""Sweeps: at each level what comparing there alone gives."""

import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from matplotlib.figure import Figure

import veritally as vt
from veritally.experiments.lines import Line, draw_lines, mark_levels, name_ends, spread

RULES = ["mean", "borda", "pairwise", "top-zero"]
SETTINGS = {"rules": RULES, "instances": 300, "seed": 3}


@pytest.fixture(scope="module")
def sweep():
    return vt.compare("low-variance", vary={"voters": [3, 10, 30]}, **SETTINGS)


def test_each_level_is_a_comparison_of_its_own(sweep):
    for voters in (3, 10, 30):
        assert sweep.at(voters).rows() == vt.compare("low-variance", voters=voters, **SETTINGS).rows()
    assert sweep.rows() == [{"voters": m, **row} for m in (3, 10, 30) for row in sweep.at(m).rows()]


def test_levels_of_one_size_share_their_draws():
    settings = {"experience": 1, "voters": 4, "rules": ["borda", "plurality"], "instances": 200}
    noisy = vt.compare(vt.Scenario(), vary={"sigma": [1, np.float64(1.0000001)]}, **settings)
    one, other = (noisy.at(level).summary.totals for level in noisy.levels)
    np.testing.assert_array_equal(one, other)
    assert one[0].min() > 0


def test_workers_change_nothing():
    settings = {"vary": {"voters": [100, 3]}, "instances": 3000, "rules": ["mean", "borda"]}
    shares = []
    one = vt.compare("high-variance", workers=1, progress=shares.append, **settings)
    two = vt.compare("high-variance", workers=2, **settings)
    assert one.rows() == two.rows()
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) > 4


def test_in_jax():
    settings = {"vary": {"voters": [2, 3]}, "instances": 200, "rules": ["mean", "borda"]}
    rows, others = (vt.compare("high-variance", backend=name, **settings).rows() for name in ("numpy", "jax"))
    keyed = {(row["voters"], row["rule"]): row for row in others}
    for row in rows:  # 4 standard errors: false alarms in 6 of 100,000
        other = keyed[row["voters"], row["rule"]]
        assert abs(row["regret"] - other["regret"]) < 4 * np.hypot(row["se"], other["se"])


def test_a_frame_has_a_row_for_each_level_and_rule(sweep):
    frame = sweep.to_frame("pandas")
    assert list(frame["voters"].unique()) == [3, 10, 30]
    assert list(frame.columns) == ["voters", *sweep.at(3).to_frame().columns]
    own = frame[(frame["voters"] == 10) & (frame["rule"] == "mean")].iloc[0]
    borda = frame[(frame["voters"] == 10) & (frame["rule"] == "borda")].iloc[0]
    assert own["difference"] == pytest.approx(own["regret"] - borda["regret"])
    assert own["difference_se"] < np.hypot(own["se"], borda["se"])  # paired


def test_tables(sweep):
    table = sweep.table()
    assert table.header == ["voters", "3", "10", "30"]
    assert [row[0].lines[0] for row in table.rows] == list(sweep.rules)
    best = {(row["voters"], row["rule"]) for row in sweep.rows() if row["best"]}
    bold = {
        (int(level), row[0].lines[0])
        for row in table.rows
        for level, cell in zip(table.header[1:], row[1:], strict=True)
        if cell.bold
    }
    assert bold == best
    latex = sweep.to_latex("accuracy")
    assert latex.startswith("\\begin{tabular}{lrrr}\n\\toprule\nvoters & 3 & 10 & 30 \\\\ \\midrule")
    accuracy = next(row for row in sweep.rows() if (row["voters"], row["rule"]) == (3, "mean"))["accuracy"]
    assert re.search(rf"^mean & \\textbf\{{{accuracy:.2f}", latex, flags=re.MULTILINE)
    assert "may be the lowest at its level" in sweep._repr_html_()
    empty = {row[0].lines[0]: row[1].lines[0] for row in sweep.table("difference").rows}
    assert empty["borda"] == ""
    assert repr(sweep) == "Sweep(4 rules, voters: 3, 10, 30)"


def test_levels_may_be_texts_and_rules_are_those_of_all():
    sweep = vt.compare(vt.Scenario(voters=3), vary={"alternatives": [2, 3]}, instances=10)
    assert "majority" in vt.compare(vt.Scenario(voters=3, alternatives=2), instances=10).rules
    assert "majority" not in sweep.rules
    assert {row["alternatives"] for row in sweep.rows()} == {2, 3}
    sweep = vt.compare(vt.Scenario(voters=3), vary={"experience": [10, "uniform:1:9"]}, rules=["mean"], instances=10)
    assert sweep.levels == ("10", "uniform:1:9")
    assert (
        sweep.at("10").rows() == vt.compare(vt.Scenario(voters=3, experience=10), rules=["mean"], instances=10).rows()
    )


def test_it_stays_as_it_is(sweep):
    with pytest.raises(FrozenInstanceError):
        sweep.levels = ()
    assert isinstance(sweep.comparisons, tuple)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"voters": []}, "there is no level of voters"),
        ({"voters": [3, 3]}, "voters has the level 3 twice"),
        ({"sigma": [1, 1.0]}, "sigma has the level 1.0 twice"),
        ({"voters": [3], "sigma": [1]}, "one quantity at a time, as in .*, not 2"),
        ({}, "one quantity at a time, as in .*, not 0"),
        ({"votes": ["values"]}, "vary can be of voters, alternatives, .*, not 'votes'"),
        ({"voters": 3}, "give the levels of voters as a list"),
        ({"noise": "normal"}, "give the levels of noise as a list"),
        ({"sigma": [(1, 2)]}, r"the levels of sigma must be numbers or texts, not \(1, 2\)"),
        ({"alternatives": [3]}, "alternatives is varied, so it cannot also be 4"),
        ({"voters": [0]}, "the number of voters must be a whole number"),
        ([3, 10], "vary takes a quantity and its levels"),
        ("voters", "vary takes a quantity and its levels"),
    ],
)
def test_messages(vary, message):
    with pytest.raises(vt.InputError, match=message):
        vt.compare(vt.Scenario(), vary=vary, alternatives=4, instances=5)


def test_only_scenarios_can_be_varied(sweep):
    with pytest.raises(vt.InputError, match="vary is for scenarios"):
        vt.compare(vt.simulate("low-variance", instances=3), vary={"voters": [3]})
    with pytest.raises(vt.InputError, match="vary is for scenarios"):
        vt.compare(vt.Profile(ranks=[[1, 2]]), truth=[1, 2], vary={"voters": [3]})
    with pytest.raises(vt.InputError, match="the rule majority needs rankings of 2 alternatives"):
        vt.compare(vt.Scenario(), vary={"alternatives": [2, 3]}, rules=["majority"])
    with pytest.raises(vt.InputError, match="voters has no level 4; there are 3, 10, 30"):
        sweep.at(4)
    with pytest.raises(vt.InputError, match="a sweep shows regret, accuracy, correlation, difference, not 'z'"):
        sweep.table("z")


# Pictures


@pytest.mark.parametrize("width", [3.3, 8])
def test_names_of_lines_overlap_neither_each_other_nor_the_lines(width):
    with_size = Figure(figsize=(width, 0.69 * width), layout="constrained")
    ax = with_size.subplots()
    lines = [Line(f"rule {k}", [3, 10, 30], [1, 0.5, 0.1 + 0.001 * k], [0.1] * 3, "black") for k in range(12)]
    draw_lines(ax, lines)
    mark_levels(ax, [3, 10, 30], ["3", "10", "30"])
    name_ends(ax, lines)
    with_size.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 12
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert min(box.x0 for box in boxes) > ax.get_window_extent().x1  # beside the axes
    assert max(box.x1 for box in boxes) <= with_size.bbox.x1
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_heights_move_as_little_as_possible():
    np.testing.assert_allclose(spread(np.array([0.1, 0.9]), 0.3), [0.1, 0.9])  # nothing to do
    np.testing.assert_allclose(spread(np.array([0.5, 0.5]), 0.3), [0.35, 0.65])  # to both sides alike
    np.testing.assert_allclose(spread(np.array([1.0, 1.0]), 0.3), [0.7, 1.0])  # not beyond the end


def test_bands_are_two_standard_errors():
    ax = Figure().subplots()
    draw_lines(ax, [Line("a", [1, 2], [4, 5], [0.5, 1], "black")])
    corners = {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices.tolist()}
    assert corners == {(1, 3), (1, 5), (2, 3), (2, 7)}
    assert ax.get_xscale() == ax.get_yscale() == "linear"
    low, high = ax.get_ylim()
    assert low == 0
    assert high > 7


def test_a_single_level_has_bars_of_two_standard_errors():
    ax = Figure().subplots()
    draw_lines(ax, [Line("a", [1], [4], [0.5], "black")])
    (bar,) = ax.containers[0].lines[2]
    np.testing.assert_allclose(bar.get_segments()[0], [[1, 3], [1, 5]])


@pytest.mark.parametrize("width", [3.3, 8])
def test_a_picture_is_as_wide_as_was_asked(sweep, tmp_path, width):
    sweep.plot(tmp_path / "sweep.svg", width=width)
    drawn = (tmp_path / "sweep.svg").read_text()
    assert f'width="{72 * width:g}pt"' in drawn
    assert {*RULES, sweep.about} <= set(re.findall("<!-- (.*?) -->", drawn))
    with pytest.raises(vt.InputError, match="the width of a picture in inches"):
        sweep.plot(tmp_path / "sweep.svg", width=0.1)


def test_levels_that_are_texts_stand_side_by_side(tmp_path):
    sweep = vt.compare(vt.Scenario(voters=3), vary={"noise": ["normal", "laplace"]}, rules=["mean"], instances=10)
    sweep.plot(tmp_path / "sweep.svg", width=3.3)
    assert {"normal", "laplace", "noise", "mean"} <= set(
        re.findall("<!-- (.*?) -->", (tmp_path / "sweep.svg").read_text())
    )


def test_a_picture_has_the_best_six_rules_and_all_that_were_named(tmp_path):
    def drawn(**settings):
        sweep = vt.compare("low-variance", vary={"voters": [3, 10]}, instances=50, **settings)
        sweep.plot(tmp_path / "sweep.svg")
        texts = set(re.findall("<!-- (.*?) -->", (tmp_path / "sweep.svg").read_text()))
        assert texts & set(sweep.rules) == set(sweep.drawn)
        number = f"{len(sweep.drawn)} of {len(sweep.rules)} rules"
        assert any(number in text for text in texts) == (len(sweep.drawn) < len(sweep.rules))
        return sweep

    sweep = drawn()
    assert len(sweep.rules) > 6
    assert sweep.drawn == sweep.rules[:6]
    worst = sweep.rules[-1]
    assert drawn(baseline=worst).drawn == (*sweep.rules[:5], worst)
    assert drawn(rules=iter(sweep.rules[-9:])).drawn == sweep.rules[-9:]
    assert drawn(rules=",".join(sweep.rules[-9:])).drawn == sweep.rules[-9:]
    assert drawn(rules=["all", worst]).drawn == (*sweep.rules[:5], worst)
