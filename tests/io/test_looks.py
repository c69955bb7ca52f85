"""Single looks at items: means, counts, who saw the same, and what part of the noise belongs to items."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from veritally.io.components import components, share_of_items

LOOKS = """\
voter,alternative,item,value
u,A,p1,1
u,A,p2,2
u,A,p2,6
u,B,p1,5
v,A,p1,2
v,B,p1,4
v,B,p2,8
"""


def test_looks_become_means_and_counts(votes):
    profile = votes(LOOKS)
    assert profile.kind == "values"
    np.testing.assert_allclose(profile.values, [[3, 5], [2, 6]])
    np.testing.assert_array_equal(profile.counts, [[3, 1], [1, 2]])
    assert profile.items.names == ("p1", "p2")


def test_overlaps_are_those_of_the_definition(votes):
    overlap = votes(LOOKS).items.overlap(None, ("u", "v"), ("A", "B"))
    np.testing.assert_allclose(overlap[0], [[(1 + 4) / 9, 1 / 3], [1 / 3, 1]])
    np.testing.assert_allclose(overlap[1], [[1, 1 / 2], [1 / 2, 1 / 2]])


def test_lower_is_better_and_ranks_of_the_means(votes):
    np.testing.assert_allclose(votes(LOOKS, lower_is_better=True).values, [[-3, -5], [-2, -6]])
    ranked = votes(LOOKS, ballots="rank")
    np.testing.assert_array_equal(ranked.ranks, [[2, 1], [2, 1]])
    assert ranked.items is not None
    assert votes(LOOKS, ballots="top").items is not None


def test_decisions_have_their_own_looks(votes):
    text = "decision,voter,alternative,item,value,multiplicity,group\n" + "".join(
        f"{d},{i},{j},{s},{ord(d) + 2 * ord(i) % 7 + ord(j) + s},2,lab\n"
        for d in "de"
        for i in "uv"
        for j in "AB"
        for s in range(2)
    )
    batch = votes(text)
    assert batch.batch == (2,)
    assert set(batch.items.decisions) == {"d", "e"}
    np.testing.assert_array_equal(batch.multiplicity, np.full((2, 2), 2))
    assert batch.groups == {"u": "lab", "v": "lab"}
    one = batch.unstack()[1]
    assert one.items.decisions is None
    np.testing.assert_allclose(one.items.overlap(None, one.voters, one.alternatives), np.full((2, 2, 2), 0.5))
    again = vt.stack(batch.unstack(), decisions=["x", "y"])
    for name in "xy":
        np.testing.assert_allclose(again.items.overlap(name, ("u", "v"), ("A", "B")), np.full((2, 2, 2), 0.5))


def test_nothing_is_shared_where_nothing_was_seen_twice(votes):
    assert votes("voter,alternative,item,value\nu,A,1,2\nu,B,1,3\nv,A,2,2\nv,B,3,1\n").items is None


def test_items_without_a_name_are_seen_by_nobody_else(votes):
    items = votes("voter,alternative,item,value\nu,A,,2\nu,B,1,3\nv,A,,2\nv,B,1,1\n").items
    overlap = items.overlap(None, ("u", "v"), ("A", "B"))
    np.testing.assert_allclose(overlap, [np.eye(2), np.ones((2, 2))])


def test_items_of_comparisons_are_kept(votes):
    pairs = votes("worker,left,right,winner,item,times\nu,A,B,A,p1,2\nu,B,A,A,p2,1\nv,A,B,B,p1,1\nv,A,C,C,p1,0\n")
    assert pairs.items.share is None
    overlap = pairs.items.overlap(None, ("u", "v"), ("A", "B"))
    np.testing.assert_allclose(overlap, np.array([[[5 / 9, 2 / 3], [2 / 3, 1]]] * 2))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("voter,item,value\nu,1,2\n", "votes.csv: has the columns voter, item and value but no column alternative"),
        ("Voter,Item,Value,x\nu,1,2,3\n", "but no column alternative; add it"),
        ("voter,alternative,item,value,count\nu,A,1,2,3\n", "has a column count beside item, but a row is one look"),
        ("voter,alternative,item,value,confidence\nu,A,1,2,3\n", "has a column confidence beside item"),
        ("voter,alternative,item,value\nu,A,1,\n", "line 2: the value is empty; a row is one look"),
        ("voter,alternative,item,value\nu,A,1,inf\n", "line 2: the value is infinite"),
        ("voter,alternative,item,value\nu,A,1,2\nu,,1,2\n", "line 3: the alternative is empty"),
        (
            "voter,alternative,item,value,multiplicity\nu,A,1,2,1\nu,A,2,2,2\n",
            "line 3: voter 'u' had another multiplicity in a row before",
        ),
        (
            "voter,alternative,item,value,role\nu,A,1,2,left\nu,A,2,2,right\n",
            "line 3: voter 'u' and alternative 'A' had another role",
        ),
    ],
)
def test_bad_looks(votes, text, sentence):
    with pytest.raises(vt.InputError, match=sentence):
        votes(text)


# Components of variance


def simulated(random, share, leniency, alternatives=6, items=20, voters=8):
    """Draw looks with a known ρ by voters of whom some look at much more than others."""
    seen = random.random((alternatives, items, voters)) < np.linspace(0.1, 0.7, voters)
    j, s, i = np.nonzero(seen)
    effect = np.sqrt(share) * random.normal(size=(alternatives, items))
    values = 3 * random.normal(size=alternatives)[j] + leniency * random.normal(size=voters)[i] + effect[j, s]
    values += np.sqrt(1 - share) * random.normal(size=len(j))
    return values, j, np.unique(j * items + s, return_inverse=True)[1], i


@pytest.mark.parametrize("leniency", [0, 2])
@pytest.mark.parametrize("share", [0, 0.3, 0.8])
def test_components_are_unbiased(share, leniency):
    """Two means of 200 draws within 3.5 standard errors: a false alarm once in 2,000."""
    random = np.random.default_rng([int(10 * share), leniency])
    found = np.array([components(*simulated(random, share, leniency)) for _ in range(200)])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - [share, 1 - share]) < 3.5 * error).all()


def test_components_are_those_of_dense_projections():
    values, alternative, cell, voter = simulated(np.random.default_rng(5), 0.5, 1)
    marks = [np.eye(codes.max() + 1)[codes] for codes in (alternative, cell, voter)]

    def rest(*classes):
        design = np.hstack(classes)
        return np.eye(len(values)) - design @ np.linalg.pinv(design)

    left, least = rest(marks[0], marks[2]), rest(marks[1], marks[2])
    within = values @ least @ values / np.trace(least)
    between = (values @ left @ values - np.trace(left) * within) / np.trace(marks[1].T @ left @ marks[1])
    np.testing.assert_allclose(components(values, alternative, cell, voter), [between, within], rtol=1e-9)


@given(st.integers(0, 1000), st.floats(-100, 100), st.floats(0.01, 100))
def test_leniencies_levels_and_units_leave_no_trace(seed, level, unit):
    random = np.random.default_rng(seed)
    values, alternative, cell, voter = simulated(random, 0.4, 0)
    moved = unit * (values + level * random.normal(size=8)[voter] + level)
    share = share_of_items(values, alternative, cell, voter)
    assert share == pytest.approx(share_of_items(moved, alternative, cell, voter), abs=1e-6)


@pytest.mark.parametrize("leniency", [0, 1])
def test_the_share_of_a_table(leniency):
    """One large table: the standard deviation of the estimate over such tables is about 0.02."""
    values, alternative, cell, voter = simulated(np.random.default_rng(3), 0.4, leniency, 10, 60)
    table = pl.DataFrame({"voter": voter, "alternative": alternative, "item": cell, "value": values})
    assert vt.read(table).items.share == pytest.approx(0.4, abs=0.06)


def test_what_looks_do_not_tell(votes):
    """Two voters at one item of each alternative: it may be the truth as well."""
    items = votes("voter,alternative,item,value\nu,A,1,2\nu,B,1,3\nv,A,1,1\nv,B,1,1\n").items
    assert items.share is None


def test_equal_values_share_nothing(votes):
    text = "voter,alternative,item,value\n" + "".join(f"{i},{j},{s},1\n" for i in "uv" for j in "AB" for s in "12")
    assert votes(text).items.share == 0


def test_of_many_voters_those_with_the_most_looks_tell(monkeypatch):
    given = simulated(np.random.default_rng(1), 0.5, 1)
    whole = share_of_items(*given)
    monkeypatch.setattr("veritally.io.components._MOST_VOTERS", 4)
    some = share_of_items(*given)
    kept = np.isin(given[3], np.argsort(-np.bincount(given[3]))[:4])
    codes = [np.unique(x[kept], return_inverse=True)[1] for x in given[1:]]
    between, within = components(given[0][kept], *codes)
    assert some == pytest.approx(between / (between + within))
    assert some != whole


def test_harsh_judges_of_the_same_items_are_no_noise(tmp_path):
    """Where leniency differs by ten standard errors, the answer is nearly as sure as where it does not."""
    random = np.random.default_rng(7)
    truth, items = np.array([0.0, 0.6, 1.5]), random.normal(size=(3, 15))
    looks = [
        (f"judge {i}", f"model {j}", f"prompt {s}", truth[j] + items[j, s] + random.normal(), level)
        for i, level in enumerate((0.0, 3.0, -4.0))
        for j in range(3)
        for s in range(15)
    ]
    names = ("voter", "alternative", "item", "value")
    found = []
    for harsh in (0, 1):
        rows = [(voter, model, item, value + harsh * level) for voter, model, item, value, level in looks]
        found.append(vt.decide(vt.read(pl.DataFrame(rows, schema=names, orient="row"))).p_best)
    np.testing.assert_allclose(found[1], found[0], atol=0.1)
    assert found[0].max() > 0.9
