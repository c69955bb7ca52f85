"""The documentation: nothing is out of reach, stale, or shown otherwise than it is."""

import json
import re
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli
from veritally.planning.compositions import BALLOTS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = runpy.run_path(str(DOCS / "pages.py"))["PAGES"]


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_navigation_has_every_page_and_no_other():
    named = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    assert sorted(named) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda path: path.name)
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
        if path.is_relative_to(DOCS):  # else the site has no such page
            assert (path.parent / target).resolve().is_relative_to(DOCS), target


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_fresh(name):
    assert page(name) == GENERATED[name](), "make pages writes them anew"


def test_every_rule_has_a_formula_and_an_example():
    for section in page("rules.md").split("\n## ")[1:]:
        assert re.search(r"^\$\$.* = .*\$\$$", section, flags=re.MULTILINE), section
        assert "\n>>> " in section


def test_formulas_of_docstrings_are_typeset():
    formulas = runpy.run_path(str(DOCS / "formulas.py"))
    text = page("rules.md")
    assert re.findall(r"^\$\$(.*)\$\$$", text, flags=re.MULTILINE) == list(formulas["DISPLAYED"].values())
    plain = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$.*?\$|\]\(.*?\)", "", text, flags=re.DOTALL)
    assert not re.findall(r"\w\u0302?_\w|[√∫Σ]", plain), "docs/formulas.py lacks a formula"


def test_the_choice_of_a_rule_quotes_no_figure_but_those_that_are_filled_in():
    text = page("which-rule.md")
    assert not re.search(r"\d\.\d", re.sub("<!-- measured -->.*<!-- end -->", "", text, flags=re.DOTALL))
    for name in re.findall(r"^\|[^|]*\| `([\w-]+)`", text, flags=re.MULTILINE):
        assert vt.rule(name) is not None
    ratios = {row["scenario"]: row["ratio"] for row in json.loads(page("learned/grid.json"))}
    text = re.sub(r"\s+", " ", text)
    assert "In 19 other conditions, the regret of `learned-universal` is on average within two per cent" in text
    assert len(ratios) == 19
    assert sum(ratios.values()) / len(ratios) < 1.02
    assert "three per cent above, except where counts on one ballot are more than a hundredfold apart" in text
    assert max(ratio for name, ratio in ratios.items() if name != "far apart") < 1.035
    assert f"there it is {ratios['far apart'] - 1:.0%} above".replace("%", " per cent") in text


def test_calibration_is_what_the_page_says():
    rows = json.loads(page("learned/calibration.json"))
    told = sorted(row["error"] for row in rows if row["rule"] == "learned-universal")
    guessed = sorted(row["error"] for row in rows if row["rule"] != "learned-universal")
    assert len(told) == len(guessed) == 23
    assert told[-2] < 0.0095
    assert f"{told[-1]:.3f}" == "0.030"
    assert guessed[-5] < 0.0135
    text = re.sub(r"\s+", " ", page("learned.md"))
    assert "is 0.009 or less in all of these conditions but one" in text
    assert (
        f"seven voters ({guessed[-4]:.3f}), and two or three alternatives ({guessed[-3]:.3f} to {guessed[-1]:.3f})"
        in text
    )


def test_sureness_is_what_the_page_says():
    known, unknown, pooled = (json.loads(page(f"sureness/{name}.json")) for name in ("known", "unknown", "pooled"))
    assert all(0.92 <= row["coverage"] <= 0.97 for row in known)
    text = re.sub(r"\s+", " ", page("limits.md"))
    assert "On average over the four values, said is 0.02 to 0.04 below right" in text
    for most in (1, 50):
        for voters in (3, 8, 30):
            gaps = [row["gap"] for row in unknown if (row["most"], row["voters"]) == (most, voters)]
            assert len(gaps) == 4
            assert f"{-sum(gaps) / 4:.2f}" in ("0.02", "0.03", "0.04")
    assert max(row["pooled"]["more"] for row in pooled) < 0.02


def test_compositions_are_what_the_page_says():
    """Each sentence under "What holds", in its order, by paired differences of two standard errors where there are."""
    text = page("composition.md")
    for name in ("voters", "limit", "errors", "worth", "experience", "shares", "clones"):
        text = re.sub(f"<!-- {name} -->.*<!-- end of {name} -->", "", text, flags=re.DOTALL)
    assert not re.search(r"\d\.\d", text.replace("--omega 0.5", "")), "figures stand in tables, which are filled in"
    parts = ("voters", "errors", "experience", "shares")
    voters, errors, experience, shares = (json.loads(page(f"composition/{name}.json")) for name in parts)

    def curve(setting, votes):
        return {row["voters"]: row for row in setting["rows"] if row["votes"] == votes}

    for setting in voters:
        values, rankings, favourites = (curve(setting, votes) for votes in ("values", "rankings", "favourites"))
        best = values[1]["regret"]
        assert all(abs(row["regret"] - best) < 1e-9 for row in values.values())  # 1
        assert abs(rankings[1]["regret"] - best) + abs(favourites[1]["regret"] - best) < 1e-9  # 2
        several = [row["regret"] for m, row in rankings.items() if m > 3]
        assert min(several) > best  # 3
        assert max(several) - min(several) < (rankings[2]["regret"] - best) / 2
        assert favourites[3]["regret"] < favourites[10]["regret"] < favourites[50]["regret"]  # 4
        assert all(favourites[m]["regret"] > rankings[m]["regret"] for m in favourites if m > 1)
    little = curve(voters[0], "rankings")
    assert little[100]["regret"] + 2 * little[100]["se"] < little[2]["regret"] - 2 * little[2]["se"]
    for setting in experience:  # 5
        others = [row for row in setting["rows"] if row["known"] is not None]
        assert all(row["difference"] > 2 * row["difference_se"] for row in others if row["votes"] == "rankings")
        for row in others:
            if (row["votes"], row["specialists"], row["elsewhere"]) == ("favourites", 1, 0) and row["known"] in (3, 5):
                better = row["difference"] < -2 * row["difference_se"]
                assert better == (row["known"] == 5 or setting["sigma"] > 3)
    for setting in errors:  # 6
        falling = [row["regret"] for row in curve(setting, "values").values()]
        assert falling == sorted(falling, reverse=True)
        lowest = {
            votes: min(curve(setting, votes).values(), key=lambda row: row["regret"])["voters"] for votes in BALLOTS
        }
        assert lowest == {"values": 100, "rankings": 1 if setting["omega"] < 1 else 100, "favourites": 1}
    ten = {(row["votes"], row["elsewhere"]): row["regret"] for row in shares[1]["rows"]}
    assert ten["favourites", 0.0] < ten["favourites", 0.5] < ten["favourites", 0.1]
    assert ten["rankings", 0.5] == min(regret for (votes, _), regret in ten.items() if votes == "rankings")


def test_the_reference_has_every_public_name():
    assert sorted(re.findall(r"^::: veritally\.(?:\w+\.)*(\w+)$", page("api.md"), flags=re.MULTILINE)) == vt.__all__


def test_the_first_page_shows_what_is_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = page("index.md")
    assert text.split("```text\n")[1].split("```")[0] in Path("examples/clinics.csv").read_text()
    shown = re.findall(r"```console\n\$ veritally (.*)\n([^`]*)```", text)
    assert len(shown) == 2
    for command, expected in shown:
        printed = CliRunner().invoke(cli, command.split()).stdout
        assert [line.rstrip() for line in printed.splitlines()] == expected.splitlines()


def test_the_picture_of_the_first_page_is_that_of_the_example(tmp_path):
    """All its text; matplotlib draws it as shapes and keeps it in comments."""
    drawn = tmp_path / "clinics.svg"
    title = "Gamma has a 93% chance of being the best treatment"
    vt.plots.save(vt.decide(vt.read(ROOT / "examples" / "clinics.csv")), drawn, title=title)
    now, shown = (re.findall("<!-- (.*?) -->", path.read_text()) for path in (drawn, DOCS / "assets" / "clinics.svg"))
    assert now == shown
    assert (DOCS / "assets" / "clinics.svg").stat().st_size < 100_000


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda path: path.name)
def test_pages_install_from_the_folder(path):
    assert not re.search(r"pip install '?veritally", path.read_text(encoding="utf-8")), "no package index has it yet"
