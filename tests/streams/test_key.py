"""What is kept is used again for the same work alone: the key knows all that answers depend on."""

import importlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from veritally.registry import rule_info
from veritally.rules.info import RuleInfo
from veritally.rules.pref_voting import PrefVoting
from veritally.rules.sums import Encoder, SumRule
from veritally.streams.key import key_of

OWN = """
from dataclasses import dataclass
import veritally as vt
@dataclass(frozen=True)
class Own(vt.Encoder):
    def __call__(self, ballots):
        return vt.Encoding(ballots.votes * {factor})
"""


@dataclass(frozen=True)
class Weighed(Encoder):
    weights: Any

    def __call__(self, ballots):
        raise NotImplementedError


def key(rule, **parameters):
    return key_of((), rule_info(rule), parameters)


def test_weights_are_known_by_what_they_are(tmp_path):
    file = tmp_path / "own.safetensors"
    file.write_bytes(b"one")
    one = key("learned", model=str(file))
    file.write_bytes(b"two")
    assert key("learned", model=str(file)) != one


def test_own_rules_are_known_by_their_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    keys = set()
    for factor in (1, 2):
        (tmp_path / "rule_of_mine.py").write_text(OWN.format(factor=factor))
        module = importlib.import_module("rule_of_mine")
        keys |= {key(SumRule(module.Own(), "rankings")), key(RuleInfo("own", "rankings", "", module.Own))}
    assert len(keys) == 4


def test_every_number_of_a_large_array_counts():
    weights = np.arange(5000.0)
    others = weights.copy()
    others[2500] = 0
    assert key(SumRule(Weighed(weights), "rankings")) == key(SumRule(Weighed(weights.copy()), "rankings"))
    assert key(SumRule(Weighed(weights), "rankings")) != key(SumRule(Weighed(others), "rankings"))


def test_methods_of_pref_voting_are_known_by_its_version(monkeypatch):
    keys = set()
    rule = RuleInfo("p", "rankings", "", PrefVoting, instance=PrefVoting("pref_voting.copeland"))
    for version in ("1.0", "1.1"):
        known = {"pref_voting": version}
        monkeypatch.setattr("importlib.metadata.version", lambda name, known=known: known.get(name, "0"))
        keys.add(key_of((), rule, {}))
    assert len(keys) == 2


KEYS = """
from veritally.registry import rules
from veritally.streams.key import key_of
print(*(hash(key_of((), rule, {"sigma": [1.0]})) for rule in rules()))
"""


def test_other_processes_find_the_same_keys():
    command = [sys.executable, "-c", KEYS]
    found = [
        subprocess.run(command, capture_output=True, check=True, text=True, env={"PYTHONHASHSEED": "0"}).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("different", [{"sigma": 2.0}, {"tau": 1.0}, {"sigma": [1.0]}], ids=str)
def test_parameters_are_part_of_it(different):
    assert key("posterior", **different) != key("posterior", sigma=1.0)
