"""The committed reproduction says what it should."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import veritally as vt
from veritally.registry import rule_info

TABLES = ("high-variance", "low-variance", "count-noise", "count-replacement")
DOCS = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.fixture(scope="module")
def results():
    return pl.read_csv(DOCS / "results.csv")


def test_it_is_of_the_papers_size(results):
    assert results["instances"].unique().to_list() == [100_000]
    assert results.filter(pl.col("published").is_not_null()).height == 230
    assert results["table"].unique().len() == 4
    assert sorted(results["voters"].unique()) == [3, 10, 30, 100, 300]


def test_at_least_95_percent_of_the_published_cells_agree(results):
    known = results.filter(pl.col("z").is_not_null())
    assert (known["z"].abs() <= 3).mean() >= 0.95


def test_cells_that_do_not_agree_are_named(results):
    text = (DOCS / "README.md").read_text()
    for row in results.filter(pl.col("z").abs() > 3).iter_rows(named=True):
        assert f"`{row['rule']}` in {row['table']}" in text
        assert f"{row['regret']:.4f} instead of {row['published']:.4f} at {row['voters']}" in text
    assert "nothing is known" not in text


def test_every_figure_of_the_report_is_in_the_results(results):
    rows = {(row["table"], row["voters"], row["rule"]): row for row in results.iter_rows(named=True)}
    text = (DOCS / "README.md").read_text().replace("−", "-")
    found = 0
    for table, section in zip(TABLES, re.split(r"^## ", text, flags=re.MULTILINE)[2:6], strict=True):
        for rule, *cells in re.findall(r"^\| `(\S+)` " + 5 * r"\| (.*?) " + r"\|$", section, flags=re.MULTILINE):
            for voters, cell in zip((3, 10, 30, 100, 300), cells, strict=True):
                row = rows[table, voters, rule]
                measured = f"{row['regret']:.4f} ± {row['se']:.4f}"
                known = "" if row["z"] is None else f"<br>{row['published']:.4f} ({row['z']:+.1f})"
                assert cell.replace("**", "") == measured + known
                found += 1
    assert found == results.height


def test_the_configuration_is_whole():
    setting = json.loads((DOCS / "configuration.json").read_text())
    assert (
        setting["command"].startswith("veritally reproduce --instances 100000")
        or "--instances 100000" in setting["command"]
    )
    assert {"tables", "rules", "instances", "seed", "backend", "device", "versions"} <= set(setting)


def test_numpy_and_jax_agree(results):
    """As docs/experiments.md says."""
    both = results.join(pl.read_csv(DOCS / "results-numpy.csv"), on=["table", "voters", "rule"], suffix="_numpy")
    assert both.height == 480
    z = (both["regret"] - both["regret_numpy"]) / (both["se"] ** 2 + both["se_numpy"] ** 2).sqrt()
    assert z.abs().max() < 3
    far = [both.filter(pl.col(column).abs() > 3)["rule"].to_list() for column in ("z", "z_numpy")]
    assert far[0] == far[1]
    assert len(far[0]) == 7
    assert both["instances_numpy"].unique().to_list() == [100_000]


def test_learned_rules_are_as_good_as_the_published_one(results):
    """As docs/learned.md says: no row is worse than printed, and the universal one is better in every column."""
    printed = results.filter(pl.col("rule").is_in(["learned", "learned-noisy"]) & pl.col("published").is_not_null())
    assert printed.height == 30
    assert printed["z"].max() < 3
    best = printed.group_by("table", "voters").agg(pl.col("published").min())
    universal = results.filter(pl.col("rule") == "learned-universal").drop("published")
    assert (
        (universal.join(best, on=["table", "voters"]).select(pl.col("regret") < pl.col("published"))).to_series().all()
    )


def test_the_universal_network_is_near_the_posterior(results):
    exact = pl.read_csv(DOCS.parent / "exact" / "results.csv").filter(pl.col("rule") == "posterior:votes=rankings")
    universal = results.filter(pl.col("rule") == "learned-universal")
    both = universal.join(exact, on=["table", "voters"], suffix="_exact")
    ratios = both.with_columns(ratio=pl.col("regret") / pl.col("regret_exact"))
    assert ratios.height == 20
    assert ratios["ratio"].max() < 1.06
    assert ratios.group_by("table").agg(pl.col("ratio").mean())["ratio"].max() < 1.02


def figures_stand(page, report, least):
    """Say whether every figure with its error on a page, of which there are many, stands in a report."""
    told = re.findall(r"[+-]?\d\.\d+ ± \d\.\d+", page.read_text())
    return len(told) > least and all(figure in report for figure in told)


def test_figures_on_real_data_were_measured():
    """Those of docs/real-data.md stand in the report, and the report is what was measured."""
    real = DOCS.parent / "real"
    report = (real / "README.md").read_text()
    assert figures_stand(real.parent / "real-data.md", report, 80)
    for name in vt.datasets.names():
        for row in json.loads((real / f"{name}.json").read_text()):
            assert f"{row['regret']:.4f} ± {row['se']:.4f} | {row['accuracy']:.3f}" in report
    text = (real.parent / "real-data.md").read_text()
    using, better = {}, {}
    for name in vt.datasets.names():
        rows = json.loads((real / f"{name}.json").read_text())
        using[name] = [row for row in rows if rule_info(row["rule"].split(":")[0]).uses_counts and "counts" not in row]
        better[name] = [row["rule"] for row in using[name] if row["difference"] < -2 * row["difference_se"]]
    assert better["flights13"] == better["polls538"] == []
    assert better["llmfao"] == ["learned-universal"]
    assert f"one of {sum(len(own) for name, own in using.items() if name != 'mqm')} comparisons" in text
    assert f"{len(better['mqm'])} of {len(using['mqm'])} rules with counts" in text


def test_figures_of_other_libraries_were_measured():
    """Those of docs/benchmarks.md stand in the report, and the report is what was measured."""
    peers = DOCS.parent / "peers"
    report = (peers / "README.md").read_text()
    assert figures_stand(peers.parent / "benchmarks.md", report, 200)
    for row in json.loads((peers / "results.json").read_text()):
        assert f"| {row['method']} | {row['regret']:.4f} ± {row['se']:.4f} |" in report
