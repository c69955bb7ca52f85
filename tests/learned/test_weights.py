"""Weights in files: whole, foreign and damaged ones."""

import json
import re

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

import veritally as vt
from veritally.learned.models import SHIPPED, model
from veritally.learned.weights import load, save

ARRAYS = {
    "one": np.arange(6, dtype=np.float32).reshape(2, 3),
    "two": np.array(3.5),
    "three": np.zeros((0, 4), dtype=np.int64),
}


def test_the_reference_implementation_reads_what_is_written(tmp_path):
    save(tmp_path / "w.safetensors", ARRAYS, {"about": "ü"})
    found = safetensors.numpy.load_file(tmp_path / "w.safetensors")
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape


def test_what_the_reference_implementation_writes_is_read(tmp_path):
    safetensors.numpy.save_file(ARRAYS, tmp_path / "w.safetensors", {"about": "ü"})
    found, about = load(tmp_path / "w.safetensors")
    assert about == {"about": "ü"}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "w.safetensors"
    save(path, ARRAYS, {})
    return path, path.read_bytes()


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(vt.InputError, match=re.escape(str(path))) as error:
        load(path)
    assert "\n" not in str(error.value)


def test_a_file_cut_off_anywhere_is_refused(content):
    path, whole = content
    for length in range(len(whole)):
        refused(path, whole[:length])
    refused(path, whole + b"x")


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(content, data):
    refused(content[0], data)


HEADERS = (
    "[]",
    "3",
    "{",
    '{"a": 1}',
    '{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
    '{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}}',
    '{"a": {"dtype": "F32", "shape": [1e3], "data_offsets": [0, 4]}}',
    '{"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 4]}}',
    '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}',
    '{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}, "__metadata__": {"x": 3}}',
    "[" * 100_000,
)


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_headers_that_lie_are_refused(content, header):
    refused(content[0], len(header).to_bytes(8, "little") + header.encode() + b"\0\0\0\0")


def test_a_changed_bit_is_noticed(content):
    path, whole = content
    for place in (-1, -9):
        refused(path, whole[:place] + bytes([whole[place] ^ 1]) + (whole[place + 1 :] if place < -1 else b""))


def test_arrays_that_overlap_are_refused(content):
    entry = '{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}'
    header = f'{{"a": {entry}, "b": {entry}}}'
    refused(content[0], len(header).to_bytes(8, "little") + header.encode() + b"\0" * 8)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    save(tmp_path / "w.safetensors", {"a": np.array([1.0, np.nan])}, {})
    with pytest.raises(vt.InputError, match="not finite"):
        load(tmp_path / "w.safetensors")


def test_foreign_weights_are_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    save(path, ARRAYS, {"format": "pt"})
    with pytest.raises(vt.InputError, match="contains no weights of a learned rule"):
        model(path, "deepsets")


def test_weights_that_do_not_fit_their_card_are_refused(tmp_path):
    found = model("learned", "deepsets")
    card = json.loads(json.dumps(found.card))
    card["lesson"]["configuration"]["width"] = 32
    path = tmp_path / "w.safetensors"
    save(path, found.parameters, {"veritally": json.dumps(card)})
    with pytest.raises(vt.InputError, match="do not fit"):
        model(path, "deepsets")


@pytest.mark.parametrize("card", ["{}", '{"lesson": {"network": "other"}}', '{"lesson": []}', "3", "{"])
def test_cards_that_say_nothing_are_refused(tmp_path, card):
    path = tmp_path / "w.safetensors"
    save(path, ARRAYS, {"veritally": card})
    with pytest.raises(vt.InputError, match="contains no weights"):
        model(path, "deepsets")


def test_a_card_with_limits_that_are_none_is_refused(tmp_path):
    found = model("learned", "deepsets")
    for voters in ("many", [], [1], None, [None, 3], [1, 10**400]):
        card = found.card | {"lesson": found.card["lesson"] | {"voters": voters}}
        path = tmp_path / "w.safetensors"
        save(path, found.parameters, {"veritally": json.dumps(card)})
        with pytest.raises(vt.InputError, match="contains no weights"):
            model(path, "deepsets")


HISTORIES = (
    {"steps": "many"},
    {"steps": 1.5},
    {"seed": None},
    {"loss": "low"},
    {"loss": 10**400},
    {"curve": [[1, 2]]},
    {"curve": [[1, 2, "x"]]},
    {"curve": 3},
    {"held_out": [1]},
    {"held_out": {"a": {"loss": None}}},
    {"versions": {"numpy": 2}},
    {"versions": None},
)


@pytest.mark.parametrize("history", HISTORIES, ids=range(len(HISTORIES)))
def test_a_card_that_does_not_say_how_weights_came_about_is_refused(tmp_path, history):
    found = model("learned", "deepsets")
    path = tmp_path / "w.safetensors"
    save(path, found.parameters, {"veritally": json.dumps(found.card | history)})
    with pytest.raises(vt.InputError, match="contains no weights"):
        model(path, "deepsets")


@pytest.mark.parametrize(("rule", "network"), [("learned", "deepsets"), ("learned-universal", "universal")])
def test_weights_too_large_to_compute_with_are_named(tmp_path, rule, network):
    found = model(rule, network)
    path = tmp_path / "w.safetensors"
    huge = {name: np.where(x < 0, -3e38, 3e38).astype(np.float32) for name, x in found.parameters.items()}
    save(path, huge, {"veritally": json.dumps(found.card)})
    profile = vt.Profile(ranks=[[1, 2, 3, 4, 5]] * 5, counts=[[9, 9, 9, 9, 9]] * 5)
    for votes in (profile, vt.stack([profile, profile])):
        with pytest.raises(vt.InputError, match=f"^{re.escape(str(path))}: with these weights scores are not finite; "):
            vt.decide(votes, rule=rule, model=str(path))


def test_a_file_that_changes_is_read_anew(tmp_path):
    path = tmp_path / "w.safetensors"
    found = model("learned", "deepsets")
    found.save(path)
    before = model(path, "deepsets")
    assert model(path, "deepsets") is before
    model("learned-noisy", "deepsets").save(path)
    assert not np.array_equal(model(path, "deepsets").parameters["encoder.0.w"], before.parameters["encoder.0.w"])


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_have_cards(name):
    network = "universal" if name.endswith("universal") else "deepsets"
    found = model(name, network)
    assert found.card["steps"] > 0
    assert found.card["curve"][-1][0] == found.card["steps"]
    assert found.card["versions"]["jax"]
    assert sum(x.nbytes for x in found.parameters.values()) < 4e6


def test_the_other_network_is_refused():
    with pytest.raises(vt.InputError, match="use it with --rule learned-universal"):
        vt.decide(vt.Profile(ranks=[[1, 2]]), rule="learned", model="learned-universal")
