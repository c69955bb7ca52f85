"""The data sets that come along."""

import hashlib

import numpy as np
import pytest

import veritally as vt

# Rows and SHA-256 of each table as CSV.
TABLES = {
    ("flights13", "votes"): (8020, "b84d8c1dbe8f8880"),
    ("flights13", "truth"): (600, "08dcdbfad2f83c18"),
    ("llmfao", "votes"): (57689, "a9c7ae3ba2525957"),
    ("llmfao", "truth"): (1180, "5e91134f10b6e86f"),
    ("llmfao", "comparisons"): (8931, "523db10ed920b1ed"),
    ("mqm", "votes"): (3761, "c23ee75e672ceb38"),
    ("mqm", "truth"): (1802, "d08d58cf19f39ad8"),
    ("mqm", "looks"): (27560, "afbc4a9c69aad872"),
    ("polls538", "votes"): (13652, "64b26637fd6fc928"),
    ("polls538", "truth"): (2000, "1bf145e60a437849"),
}


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_tables_are_whole(name, table):
    found = vt.datasets.load(name).table(table)
    digest = hashlib.sha256(found.write_csv().encode()).hexdigest()
    assert (found.height, digest[:16]) == TABLES[name, table]


@pytest.mark.parametrize(
    ("name", "shape", "clusters"),
    [
        ("flights13", (152, 14, 7), 42),
        ("llmfao", (20, 124, 59), 20),
        ("mqm", (151, 8, 13), 4),
        ("polls538", (1000, 42, 2), 25),
    ],
)
def test_votes_truth_and_clusters_fit(name, shape, clusters):
    dataset = vt.datasets.load(name)
    assert dataset.profile.shape == shape
    assert dataset.truth.shape == (shape[0], shape[2])
    assert (len(dataset.clusters), len(set(dataset.clusters))) == (shape[0], clusters)
    exists = np.broadcast_to(dataset.profile.alternative_labels.existing(), dataset.truth.shape)
    np.testing.assert_array_equal(~np.isnan(dataset.truth), exists)
    assert not dataset.truth.flags.writeable
    assert vt.datasets.load(name) is dataset


def test_the_votes_of_a_split_are_the_comparisons_of_half_of_the_pairs():
    """As SOURCE.md says."""
    dataset = vt.datasets.load("llmfao")
    one, judged = dataset.profile.decision(3), dataset.table("comparisons")
    pairs = np.unique(judged["id"])
    half = judged.filter(judged["id"].is_in(np.random.default_rng(3).permutation(pairs)[: len(pairs) // 2].tolist()))
    model = one.alternatives.index("Weaver 12k")
    shown = half.filter((half["left"] == "Weaver 12k") | (half["right"] == "Weaver 12k"))
    assert one.counts[:, model].sum() == shown.height
    won = ((shown["winner"] == "left") == (shown["left"] == "Weaver 12k")) & (shown["winner"] != "tie")
    score = won.sum() + (shown["winner"] == "tie").sum() / 2
    assert np.nansum(one.values[:, model] * one.counts[:, model]) == pytest.approx(score, abs=0.1)  # four decimals


@pytest.mark.parametrize("name", vt.datasets.names())
def test_each_says_where_it_comes_from(name):
    dataset = vt.datasets.load(name)
    assert dataset.source.startswith(f"# {name}: ")
    assert dataset.licence in dataset.source
    assert "Beware" in dataset.source
    assert repr(dataset) == f"Dataset({name}: {dataset.summary})"


def test_every_rule_of_one_pass_takes_them():
    for name in ("flights13", "polls538"):  # missing cells, ties, two alternatives
        rows = vt.compare(vt.datasets.load(name)).rows()
        assert all(np.isfinite([row["regret"], row["se"], row["difference_se"]]).all() for row in rows)
    rows = vt.compare(vt.datasets.load("llmfao"), rules=["borda", "pairwise-normalized", "mean", "score"]).rows()
    assert {row["clusters"] for row in rows} == {20}


def test_what_is_not_there():
    with pytest.raises(vt.InputError, match="no data set 'polls'; choose one of flights13, llmfao, mqm, polls538"):
        vt.datasets.load("polls")
    with pytest.raises(vt.InputError, match="the data set flights13 has no table 'comparisons'"):
        vt.datasets.load("flights13").table("comparisons")
