"""What check says, and how much work it takes to find it out."""

import numpy as np
import pytest

import veritally as vt
from veritally.votes import description
from veritally.votes.description import describe
from veritally.votes.items import Items


def seen_once(names):
    """A profile in which each of two voters has alternatives of its own, but for one they share."""
    values = np.full((2, len(names) + 1), np.nan)
    values[0], values[1, -1] = np.arange(len(names) + 1), 1
    return vt.Profile(values=values, counts=~np.isnan(values), alternatives=[*names, "what both of them saw"])


@pytest.mark.parametrize("slip", ["paracetamol", "paracetmaol", "paracetamoll", "paracetemol", "paracetaml"])
def test_a_slip_of_one_letter_is_pointed_out(slip):
    name = "paracetamol" if slip != "paracetamol" else "Paracetamol"
    odd = describe(seen_once([slip, "ibuprofen", name])).oddities
    assert f"{slip} (another is named {name})" in odd[0]
    assert "ibuprofen (" not in odd[0]


def test_short_names_that_differ_in_a_letter_are_names_of_their_own():
    assert "another" not in describe(seen_once(["arm 1", "arm 2", "arm 3"])).oddities[0]


def test_looking_for_misspellings_takes_each_name_once(monkeypatch):
    looked_at = []
    slips = description._slips
    monkeypatch.setattr(description, "_slips", lambda name: looked_at.append(name) or slips(name))
    describe(seen_once([f"candidate number {k}" for k in range(300)]))
    assert 301 <= len(looked_at) <= 310


def test_names_without_end_are_no_trouble():
    odd = describe(seen_once(["x" * 1_000_000, "x" * 999_999, "paracetamol", "paracetaml"])).oddities
    assert "paracetamol (another is named paracetaml)" in odd[0]


def test_counts_beyond_all_measure_are_described():
    counts = [[1e308, 1e308], [1e-300, 1e-300], [1e-300, 1e-300]]
    odd = describe(vt.Profile(ranks=[[1, 2]] * 3, counts=counts, voters=["u", "v", "w"])).oddities
    assert any(text.startswith("voter u claims up to 1e+308 observations") for text in odd)
    several = describe(
        vt.Profile(ranks=[[1, 2]] * 5, counts=[[1e6] * 2] * 2 + [[1, 1]] * 3, voters=[*"uvwxy"])
    ).oddities
    assert any(text.startswith("voters u, v claim up to 1,000,000 times the median count") for text in several)
    assert not any("claims" in text for text in describe(vt.Profile(ranks=[[1, 2]], counts=[[1e308, 1e308]])).oddities)


def test_groups_and_items_have_a_line_where_there_are_any():
    plain = vt.Profile(ranks=[[1, 2]] * 4, voters=["u", "v", "w", "x"], alternatives=["A", "B"])
    assert not {"Groups", "Items"} & dict(describe(plain).lines()).keys()
    items = Items(("u", "v", "w"), ("A", "A", "B"), np.array([0, 0, 1]), np.array([1.0, 1.0, 2.0]), None, 0.25)
    known = plain.with_facts(groups={"u": "lab", "v": "lab", "w": "shop", "away": "shop"}, items=items)
    lines = dict(describe(known).lines())
    assert lines["Groups"] == "2, of 1 to 2 voters; 1 in none"
    assert lines["Items"] == (
        "2, looked at 2 times for each alternative on average; 25% of the noise of a look comes from the item"
    )
    assert dict(describe(vt.stack([plain, known])).lines())["Groups"] == "2, of 1 to 2 voters; 1 in none"
