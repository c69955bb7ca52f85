"""The exact rules in experiments, and what their committed results say."""

from pathlib import Path

import polars as pl
import pytest

from veritally.document import to_markdown
from veritally.errors import InputError
from veritally.experiments.claims import best_rivals
from veritally.experiments.report import document
from veritally.experiments.rule_set import Entry, RuleSet
from veritally.experiments.tables import measure_tables
from veritally.model.known import KnownParameters
from veritally.model.scenario import SCENARIOS

RESULTS = Path(__file__).parents[2] / "docs" / "exact" / "results.csv"


def regrets(table, rule):
    """Committed regrets by the number of voters."""
    rows = pl.read_csv(RESULTS).filter((pl.col("table") == table) & (pl.col("rule") == rule))
    return dict(zip(rows["voters"], rows["regret"], strict=True))


def test_committed_posterior_is_below_all_published_rules_where_variance_is_low():
    ours = regrets("low-variance", "posterior:votes=rankings")
    published = [regrets("low-variance", rule) for rule in ("borda", "borda+", "pairwise", "pairwise-normalized")]
    for voters, most in ((3, 0.94), (10, 0.9), (30, 0.9), (100, 0.9)):
        assert ours[voters] <= most * min(one[voters] for one in published)


@pytest.mark.parametrize("table", SCENARIOS)
def test_committed_posterior_is_below_the_pairwise_rules(table):
    ours = regrets(table, "posterior:votes=rankings")
    for rule in ("pairwise", "pairwise-normalized"):
        assert all(ours[voters] < regret for voters, regret in regrets(table, rule).items())


def test_entries_are_told_what_they_may_know():
    known = KnownParameters.of(SCENARIOS["count-noise"])
    assert known.count_range == (1.0, 49.0)
    rule = Entry.of("posterior:votes=rankings").make(known, 0)
    assert (rule.sigma, rule.tau, rule.votes) == (known.sigma, 1.0, "rankings")
    assert rule.count_error == known.count_error
    kept = Entry.of("posterior:sigma=estimated:counts=believed").make(known, 0)
    assert (kept.sigma, kept.tau, kept.count_error) == (None, None, None)
    with pytest.raises(InputError, match="and only if it takes them"):
        Entry.of("borda:votes=rankings")
    assert RuleSet.of("exact", "values", 10).kinds == {"rankings", "top"}


def test_a_report_puts_the_posterior_beside_the_best(tmp_path):
    rules = ["borda", "pairwise", "posterior:votes=rankings"]
    measured = measure_tables(tmp_path / "c.jsonl", tables=["low-variance"], voters=[3], rules=rules, instances=30)
    best, published = best_rivals(measured, "low-variance", 3, "posterior:votes=rankings", "rankings")
    means = dict(zip(measured.rules, measured.sums["low-variance", 3].means[0], strict=True))
    assert best.difference == pytest.approx(
        means["posterior:votes=rankings"] - min(means["borda"], means["pairwise"]), abs=1e-12
    )
    assert published is not None
    assert "## The exact posterior" in to_markdown(document(measured, "command", figures=False))
