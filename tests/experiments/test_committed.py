"""The committed reproduction says what it should."""

import json
from pathlib import Path

import polars as pl
import pytest

DOCS = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.fixture(scope="module")
def results():
    return pl.read_csv(DOCS / "results.csv")


def test_it_is_of_the_papers_size(results):
    assert results["instances"].unique().to_list() == [100_000]
    assert results.filter(pl.col("published").is_not_null()).height == 200
    assert results["table"].unique().len() == 4
    assert sorted(results["voters"].unique()) == [3, 10, 30, 100, 300]


def test_at_least_95_percent_of_the_published_cells_agree(results):
    known = results.filter(pl.col("z").is_not_null())
    assert (known["z"].abs() <= 3).mean() >= 0.95


def test_cells_that_do_not_agree_are_named(results):
    text = (DOCS / "README.md").read_text()
    for row in results.filter(pl.col("z").abs() > 3).iter_rows(named=True):
        assert f"`{row['rule']}` in {row['table']}" in text
        assert f"{row['regret']:.4f} for {row['published']:.4f} at {row['voters']}" in text
    assert "nothing is known" not in text


def test_every_figure_in_the_report_is_in_the_results(results):
    text = (DOCS / "README.md").read_text()
    for row in results.iter_rows(named=True):
        assert f"{row['regret']:.4f} ± {row['se']:.4f}" in text


def test_the_configuration_is_whole():
    setting = json.loads((DOCS / "configuration.json").read_text())
    assert (
        setting["command"].startswith("veritally reproduce --instances 100000")
        or "--instances 100000" in setting["command"]
    )
    assert {"tables", "voters", "rules", "instances", "seed", "backend", "versions"} <= set(setting)


def test_numpy_and_jax_agree(results):
    """As docs/experiments.md says."""
    both = results.join(pl.read_csv(DOCS / "results-numpy.csv"), on=["table", "voters", "rule"], suffix="_numpy")
    assert both.height == 500
    z = (both["regret"] - both["regret_numpy"]) / (both["se"] ** 2 + both["se_numpy"] ** 2).sqrt()
    assert z.abs().max() < 3
    assert both["instances_numpy"].unique().to_list() == [100_000]
