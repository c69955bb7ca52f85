"""What to cite: nothing that a rule names is missing, and the software is called as elsewhere."""

import re
import tomllib
from pathlib import Path

import pytest

import veritally as vt
from veritally import registry
from veritally.citation import bibliography, references

ROOT = Path(__file__).parents[1]


def keys(text):
    return re.findall(r"^@\w+\{(\w+),$", text, flags=re.MULTILINE)


def test_every_work_that_a_rule_names_has_an_entry_and_every_entry_is_named():
    of_others = registry._pref_voting_info("pref_voting.copeland")  # which is there without the package
    named = {key for info in (*vt.rules(), of_others) for key in references(info.reference)}
    assert named | {"veritally"} == set(bibliography())


def test_every_year_in_a_reference_is_that_of_a_work():
    for info in vt.rules():
        assert len(references(info.reference)) == len(re.findall(r"\d{4}", info.reference)), info.reference


def test_an_entry_is_of_the_author_and_year_that_its_key_says():
    for key, entry in bibliography().items():
        assert entry.endswith("\n}")
        assert entry.count("{") == entry.count("}")
        if key != "veritally":
            author, year = re.fullmatch(r"([a-z]+)(\d{4})", key).groups()
            assert author in entry.split("author = ")[1].splitlines()[0].lower()
            assert f"year = {{{year}}}" in entry


def test_the_paper_and_the_software_come_first_and_nothing_twice():
    assert keys(vt.cite()) == ["pitis2020", "veritally"]
    assert keys(vt.cite("case4", "pairwise", "borda")) == ["pitis2020", "veritally", "thurstone1927", "borda1781"]
    assert keys(vt.cite("posterior", "learned"))[2:] == ["minka2001", "thurstone1927", "zaheer2017"]
    with pytest.raises(vt.InputError, match="did you mean borda"):
        vt.cite("brda")


def test_it_agrees_with_the_citation_file():
    told = dict(re.findall(r"^(\w+): (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    software = bibliography()["veritally"]
    assert told["version"] == project["version"]
    assert f"Version {told['version']}}}" in software
    assert told["title"] == project["name"]
    assert f"{{{told['title']}: {told['abstract'].removesuffix('.')}}}" in software
    for text in re.findall(r"(?:title|-names?|  - name): \"?([^\"\n]+)", (ROOT / "CITATION.cff").read_text()):
        assert text in vt.cite()
